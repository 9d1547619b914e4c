"""Splits a reply into the text of each token, so that log-probabilities can be shown beside the words.

Needs only the LM's tokenizer; opens no model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gre_bench.core.errors import LMError
from gre_bench.core.pretrained import located
from gre_bench.core.resources import resource
from gre_bench.core.settings import EvaluationLMSettings
from gre_bench.lm.adapter_folder import read_adapter
from gre_bench.lm.ngram.segmentation import split

Pieces = Callable[[str, Sequence[int]], list[str] | None]


def pieces_of(settings: EvaluationLMSettings) -> Pieces | None:
    """Returns a function that splits a reply of the LM in *settings* into the text of each token.

    The function takes the reply's text and the ids of its tokens. The function returns one string for each id, or None
    if the ids do not fit the text. If this machine has no tokenizer for the LM, `pieces_of` itself returns None.
    """
    if settings.backend == "cache-ngram":
        return _words
    folder = settings.folder
    if settings.backend == "gem-smollm2":
        folder = folder or resource("data", "evaluation_lm", "gem-smollm2")
    try:
        folder = folder and located(folder, "lm")
        if folder and not (folder / "tokenizer.json").is_file() and (adapter := read_adapter(folder)):
            folder = adapter.base
    except LMError:
        return None
    if folder is None or not (folder / "tokenizer.json").is_file():
        return None
    try:
        from tokenizers import Tokenizer
    except ImportError:
        return None
    return _decoded(Tokenizer.from_file(str(folder / "tokenizer.json")).decode)


def _words(text: str, ids: Sequence[int]) -> list[str] | None:
    spelled = split(text)
    if len(spelled.written) != len(ids):
        return None
    return [gap + word for gap, word in zip(spelled.gaps, spelled.written, strict=True)]


def _decoded(decode: Callable[..., str]) -> Pieces:
    """Returns a function that splits a reply into the text of each token, by means of *decode*.

    *decode* is the tokenizer's function from token ids to text. A token's text is what the token adds to the decoded
    reply. The text is empty for a token that ends in the middle of a character.
    """

    def pieces(_text: str, ids: Sequence[int]) -> list[str]:
        pieces_so_far, before = [], ""
        for end in range(1, len(ids) + 1):
            whole = decode(list(ids[:end]), skip_special_tokens=True)
            whole = before if whole.endswith("\ufffd") else whole
            pieces_so_far.append(whole.removeprefix(before))
            before = whole
        return pieces_so_far

    return pieces

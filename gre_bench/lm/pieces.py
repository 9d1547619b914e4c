"""Splits a reply into the text of each token, so that log-probabilities can be shown beside words.

Only the tokenizer is needed; no model is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gre_bench.core.errors import LMError
from gre_bench.core.pretrained.cache import located
from gre_bench.core.resources import resource
from gre_bench.core.settings import EvaluationLMSettings
from gre_bench.lm.adapter_folder import read_adapter
from gre_bench.lm.ngram.segmentation import split

Pieces = Callable[[str, Sequence[int]], list[str] | None]


def pieces_of(settings: EvaluationLMSettings) -> Pieces | None:
    """Returns a function that splits a reply into the text of each token.

    Returns None if this machine has no tokenizer for the LM of *settings*. The function takes the reply's text and
    token ids. The function returns one piece of text for each id, or None if the text and the ids do not belong
    together.
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
    """Returns a function that gives each token the text that it adds to the decoded reply.

    A token that ends inside a character adds the empty text.
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

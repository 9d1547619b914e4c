"""A reply as the pieces of text that its tokens stand for, so that log-probabilities can be read beside words.

No model is opened: the tokenizer alone says it.
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
    """What takes a reply's text and token ids apart for this evaluation LM; None where its tokenizer is not at hand.

    The pieces are as many as the ids; None where text and ids do not belong together.
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
    """Each token gets what the decoded text grows by; one that ends inside a character gives it to the next."""

    def pieces(_text: str, ids: Sequence[int]) -> list[str]:
        found, before = [], ""
        for end in range(1, len(ids) + 1):
            whole = decode(list(ids[:end]), skip_special_tokens=True)
            whole = before if whole.endswith("\ufffd") else whole
            found.append(whole.removeprefix(before))
            before = whole
        return found

    return pieces

"""Does a paper fit an LM's context, with its prompt and its longest reply? Known before anything is spent.

Tokens are counted by the model's tokenizer where the models file names one that is on this machine. Elsewhere they are
estimated from characters, as a range: on 114 papers of ICLR 2022 a tokenizer of 49,152 tokens had 2.9 to 4.0 characters
a token (5% to 95%), and larger vocabularies have more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

from gre_bench.catalogs.models import Model
from gre_bench.core.errors import LMError
from gre_bench.core.pretrained.cache import located
from gre_bench.core.records import Chat, Paper

OverLong = Literal["refuse", "truncate"]
Verdict = Literal["fits", "may_not_fit", "does_not_fit", "unknown"]

FEWEST, MOST = 4.2, 2.9
"""Characters a token where tokens are fewest, and where they are most."""
TEMPLATE_TOKENS = 64
"""Left for the chat template."""
_HEADING = re.compile(
    r"(?:#{1,4} +\S.{0,80}|(?:\d{1,2}(?:\.\d{1,2}){0,3}|[IVX]{1,5})\.? +[A-Z][^\n]{0,80}"
    r"|(?:introduction|background|related works?|preliminaries|methods?|methodology|experiments?|experimental setup"
    r"|evaluation|results|analysis|discussion|limitations|conclusions?)\.?)",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(?:\d|[IVX])")


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of a text: *fewest* to *most*, equal where a tokenizer counted them."""

    fewest: int
    most: int

    def __str__(self) -> str:
        return f"{self.fewest:,}" if self.fewest == self.most else f"{self.fewest:,} to {self.most:,}"


Counter = Callable[[str], Tokens]


def counter(model: Model) -> tuple[Counter, str]:
    """What counts the tokens of a text as *model* reads it, and on what that rests.

    `LMError` if the models file names a tokenizer that cannot be opened.
    """
    if model.tokenizer is None:
        return estimated, "estimated from characters"
    encode = _tokenizer(located(Path(model.tokenizer), "lm"))
    return (lambda text: Tokens(found := encode(text), found)), f"counted by the tokenizer of {model.tokenizer}"


def estimated(text: str) -> Tokens:
    """The range of tokens of *text* by its characters."""
    return Tokens(int(len(text) / FEWEST), int(len(text) / MOST) + 1)


def room(model: Model, reply: int) -> int | None:
    """Tokens left for a prompt beside a *reply* of that many tokens; None where the context is not known."""
    return None if model.context is None else model.context - reply - TEMPLATE_TOKENS


def verdict(tokens: Tokens, left: int | None) -> Verdict:
    """Whether a prompt of *tokens* fits where *left* are left."""
    if left is None:
        return "unknown"
    return "fits" if tokens.most <= left else "does_not_fit" if tokens.fewest > left else "may_not_fit"


def cut(paper: Paper, chat: Callable[[str], Chat], count: Counter, left: int) -> Paper | None:
    """*paper* without its last sections, as many as it takes for its *chat* to have at most *left* tokens.

    Where not even the first section fits it ends behind a paragraph. None if title and abstract alone do not fit.
    """

    def fits(text: str) -> bool:
        asked = chat(replace(paper, text=text).whole)
        return count(asked.system + asked.user).most <= left

    text = paper.text or ""
    if fits(text):
        return paper
    for borders in (sections(text), paragraphs(text)):
        place = _last(borders, lambda end: fits(text[:end].rstrip()))
        if place:
            return replace(paper, text=text[:place].rstrip())
    return None


def sections(text: str) -> list[int]:
    """Where the sections of *text* begin, the first one left out: a heading on a line of its own."""
    starts = [found.start() for found in re.finditer(r"^.{1,90}$", text, re.MULTILINE) if _is_heading(found[0].strip())]
    return [start for start in starts if start]


def paragraphs(text: str) -> list[int]:
    """Where the paragraphs of *text* end."""
    return [found.start() for found in re.finditer(r"\n\s*\n", text)]


def _is_heading(line: str) -> bool:
    if not _HEADING.fullmatch(line):
        return False
    # "2 Of these models," is a sentence: a numbered heading ends in no mark.
    return not (_NUMBERED.match(line) and line[-1] in ",;:.")


def _last(borders: Sequence[int], fits: Callable[[int], bool]) -> int | None:
    """The last of the rising *borders* that *fits*, by halving; None if none does."""
    low, high = 0, len(borders)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if fits(borders[middle]) else (low, middle)
    return borders[low - 1] if low else None


@lru_cache(maxsize=8)
def _tokenizer(folder: Path) -> Callable[[str], int]:
    try:
        from tokenizers import Tokenizer

        found = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except ImportError as error:
        raise LMError(
            "a tokenizer is named in the models file, and tokenizers is not installed: pip install 'gre-bench[lm]'"
        ) from error
    except Exception as error:
        raise LMError(f"tokenizer {folder}: {' '.join(str(error).split())[:200]}") from None
    found.no_truncation()
    return lambda text: len(found.encode(text).ids)

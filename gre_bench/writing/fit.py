"""Checks whether a paper, the prompt around it and the longest reply together fit into an LM's context.

The check comes before any request is paid for. If the models file names a tokenizer for the LM, the tokens are counted
with this tokenizer. Otherwise the number of tokens is estimated, as a range, from the number of characters. For 114
papers of ICLR 2022, a tokenizer with a vocabulary of 49,152 had 2.9 to 4.0 characters per token (5th to 95th
percentile). Larger vocabularies have more characters per token.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

from gre_bench.catalogs.models import Model
from gre_bench.core.errors import LMError
from gre_bench.core.pretrained import locate_model
from gre_bench.core.records import Chat, Paper

OverLong = Literal["refuse", "truncate"]
Verdict = Literal["fits", "may_not_fit", "does_not_fit", "unknown"]

FEWEST, MOST = 4.2, 2.9
"""The characters per token that give the lowest and the highest estimate of the number of tokens."""
TEMPLATE_TOKENS = 64
_HEADING = re.compile(
    r"(?:#{1,4} +\S.{0,80}|(?:\d{1,2}(?:\.\d{1,2}){0,3}|[IVX]{1,5})\.? +[A-Z][^\n]{0,80}"
    r"|(?:introduction|background|related works?|preliminaries|methods?|methodology|experiments?|experimental setup"
    r"|evaluation|results|analysis|discussion|limitations|conclusions?)\.?)",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(?:\d|[IVX])")


@dataclass(frozen=True, slots=True)
class TokenRange:
    """The number of tokens of a text, from *fewest* to *most*; both are equal if a tokenizer counted them."""

    fewest: int
    most: int

    def __str__(self) -> str:
        return f"{self.fewest:,}" if self.fewest == self.most else f"{self.fewest:,} to {self.most:,}"


Counter = Callable[[str], TokenRange]


def choose_token_counter(model: Model) -> tuple[Counter, str]:
    """Returns a token counter for *model*, and a text that says how it counts; raises `LMError` for a bad tokenizer."""
    if model.tokenizer is None:
        return estimate_token_range, "estimated from characters"
    encode = _load_token_counter(locate_model(Path(model.tokenizer), "lm"))
    return (lambda text: TokenRange(length := encode(text), length)), f"counted by the tokenizer of {model.tokenizer}"


def estimate_token_range(text: str) -> TokenRange:
    return TokenRange(int(len(text) / FEWEST), int(len(text) / MOST) + 1)


def tokens_left_for_prompt(model: Model, reply: int) -> int | None:
    """Returns how many tokens a prompt may have if the reply has *reply* tokens; None: the context is unknown."""
    return None if model.context is None else model.context - reply - TEMPLATE_TOKENS


def judge_fit(tokens: TokenRange, left: int | None) -> Verdict:
    """Returns whether *tokens* fit into *left* tokens; ``may_not_fit`` if its *fewest* do and its *most* do not.

    Returns ``unknown`` if *left* is None.
    """
    if left is None:
        return "unknown"
    return "fits" if tokens.most <= left else "does_not_fit" if tokens.fewest > left else "may_not_fit"


def cut_paper_to_fit(paper: Paper, chat: Callable[[str], Chat], count: Counter, left: int) -> Paper | None:
    """Returns *paper* with as many of its first sections as fit into a prompt of at most *left* tokens.

    If the first section alone is too long, the paper is cut after a paragraph. Returns None if even the first paragraph
    is too long. *chat*: makes the prompt from the paper's text. *count*: counts tokens.
    """

    def fits(text: str) -> bool:
        prompt = chat(replace(paper, text=text).whole)
        return count(prompt.system + prompt.user).most <= left

    text = paper.text or ""
    if fits(text):
        return paper
    for borders in (find_section_starts(text), find_paragraph_ends(text)):
        # If the text up to a border fits, so does the text up to every earlier border.
        fitting = borders[: bisect_left(borders, True, key=lambda end: not fits(text[:end].rstrip()))]
        if fitting and fitting[-1]:
            return replace(paper, text=text[: fitting[-1]].rstrip())
    return None


def find_section_starts(text: str) -> list[int]:
    """Returns the indices in *text* of headings on their own lines, in ascending order; the index 0 is left out."""
    starts = [match.start() for match in re.finditer(r"^.{1,90}$", text, re.MULTILINE) if _is_heading(match[0].strip())]
    return [start for start in starts if start]


def find_paragraph_ends(text: str) -> list[int]:
    """Returns the indices in *text* at which paragraphs end, in ascending order; the last paragraph is left out."""
    return [match.start() for match in re.finditer(r"\n\s*\n", text)]


def _is_heading(line: str) -> bool:
    # "2 Of these models," is a sentence: a numbered heading has no final punctuation.
    return bool(_HEADING.fullmatch(line)) and not (_NUMBERED.match(line) and line[-1] in ",;:.")


@lru_cache(maxsize=8)
def _load_token_counter(folder: Path) -> Callable[[str], int]:
    try:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except ImportError as error:
        raise LMError(
            "the models file names a tokenizer, but tokenizers is not installed: pip install 'gre-bench[lm]'"
        ) from error
    except Exception as error:
        raise LMError(f"tokenizer {folder}: {' '.join(str(error).split())[:200]}") from None
    tokenizer.no_truncation()
    return lambda text: len(tokenizer.encode(text).ids)

"""A check of flaws by words alone, beside the scores of an evaluation LM."""

from __future__ import annotations

import re
from functools import lru_cache

from gre_bench.core.judgments import OPENINGS

_WORD = re.compile(r"[\w.,%-]*\w")
_EMPTY = re.compile(
    r"(?:a|an|and|another|are|as|at|be|because|between|both|but|by|for|from|given|has|have|in|is|it|its|"
    r"no|not|of|on|one|only|or|paper|place|since|such|text|that|the|there|this|to|was|were|which|while|who|with|would)"
)


def share_of_words(review: str, description: str) -> float:
    """Returns the share of the content words of *description* that *review* has; both are judgments."""
    wanted = _words(description)
    return len(wanted & _words(review)) / len(wanted) if wanted else 0.0


@lru_cache(maxsize=4096)
def _words(text: str) -> frozenset[str]:
    for opening in OPENINGS:
        text = text.replace(opening, " ")
    return frozenset(word for word in map(str.lower, _WORD.findall(text)) if not _EMPTY.fullmatch(word))

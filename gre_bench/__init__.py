"""GRE-bench: the yearly benchmark of how well language models review research papers.

In a notebook::

    >>> import gre_bench
    >>> lm = gre_bench.open_lm("cache-ngram")
    >>> human = gre_bench.judgments(
    ...     "Strengths: The proofs are clear. Weaknesses: The baselines are missing."
    ... )
    >>> mine = gre_bench.judgments(
    ...     "I like the clear proofs, but the comparison lacks baselines."
    ... )
    >>> round(gre_bench.score(lm, mine, human).nats, 1)
    3.7

The names below are the public API; each is imported at its first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gre_bench.api import Score, compare, judgments, leaderboard, open_lm, pairs, publish, rank, remove, score, why

__all__ = [
    "Score", "compare", "judgments", "leaderboard", "open_lm", "pairs", "publish", "rank", "remove", "score", "why",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gre_bench import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Shared by writers of changes: the prompts of each task, which texts can be changed, and which replies are usable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gre_bench.changes.catalog import CHANGES, WriterTask, check
from gre_bench.changes.material import ChangeInput
from gre_bench.core.errors import ChangeError, ReplyError
from gre_bench.core.records import Written

PROMPTS: Mapping[str, tuple[str, ...]] = {
    "completion": ("completion",),
    "abstract_only": ("abstract_only",),
    "rephrase": ("rephrase",),
    "elongation": ("summary_strengths", "summary_weaknesses"),
}
"""Task → the prompts for an LM (Xu et al. 2025, D.3.2, D.3.3, D.4.1, D.4.2)."""

LONGEST_SUMMARY = 60
"""Most words in a line of strengths or weaknesses; a longer one is no concise summary."""

SHORTEST_REPHRASING = 1 / 3
LONGEST_REPHRASING = 3
"""The largest accepted ratio of words, rephrased to original or the reverse; beyond it, the reply is a comment or a
stub.
"""


def answered(
    task: WriterTask, items: Sequence[ChangeInput], write: Callable[[Sequence[ChangeInput]], list[Written]]
) -> list[Written]:
    """Returns the result of *write* for the changeable *items*, and the reason for each item that cannot be changed."""
    change = next(change.name for change in CHANGES.values() if change.task == task)
    results: dict[int, Written] = {}
    for index, item in enumerate(items):
        try:
            check(change, "review", item)
        except ChangeError as error:
            results[index] = Written(item.key, None, error.code, str(error))
    able = [index for index in range(len(items)) if index not in results]
    results |= dict(zip(able, write([items[index] for index in able]) if able else (), strict=True))
    return [results[index] for index in range(len(items))]


def one_line(reply: str) -> str:
    """Returns a summary as a phrase within a sentence; raises `ReplyError` if it is not one line of moderate length."""
    lines = [line.strip() for line in reply.splitlines() if line.strip()]
    if len(lines) != 1 or len(lines[0].split()) > LONGEST_SUMMARY:
        raise ReplyError(f"no_summary: {len(lines)} lines, instead of one of at most {LONGEST_SUMMARY} words")
    return lines[0].rstrip(" .")


def rephrased(reply: str, text: str) -> str:
    """Returns a rephrased *text*; raises `ReplyError` if it is far shorter or longer, as refusals and comments are."""
    share = len(reply.split()) / max(1, len(text.split()))
    if not SHORTEST_REPHRASING <= share <= LONGEST_REPHRASING:
        raise ReplyError(f"no_rephrasing: {share:.2f} times the words of the review")
    return reply.strip()

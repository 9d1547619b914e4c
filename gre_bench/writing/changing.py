"""Helpers for all writers that change reviews: they check which reviews can be changed and which replies are usable."""

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
"""The largest number of words in a line of strengths or weaknesses; a longer one is no concise summary."""

SHORTEST_REPHRASING = 1 / 3
LONGEST_REPHRASING = 3
"""The smallest and largest accepted ratio of words, rephrased to original.

Outside this range, the reply is a stub or a comment.
"""


def answered(
    task: WriterTask, items: Sequence[ChangeInput], write: Callable[[Sequence[ChangeInput]], list[Written]]
) -> list[Written]:
    """Changes those of *items* that *task* can change; returns one result for each item, in their order.

    *write* changes the items that it gets, and returns one result for each. An item that cannot be changed gets the
    code and the message of its `ChangeError` as its result.
    """
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
    """Returns the LM's summary *reply* without its final full stop, so that it can stand within a sentence.

    Raises `ReplyError` if the summary is not one line of at most `LONGEST_SUMMARY` words.
    """
    lines = [line.strip() for line in reply.splitlines() if line.strip()]
    if len(lines) != 1 or len(lines[0].split()) > LONGEST_SUMMARY:
        raise ReplyError(f"no_summary: {len(lines)} lines, instead of one of at most {LONGEST_SUMMARY} words")
    return lines[0].rstrip(" .")


def rephrased(reply: str, text: str) -> str:
    """Returns *reply*, which rephrases *text*, without white space at its ends.

    Raises `ReplyError` if *reply* has less than a third or more than three times the words of *text*. Such a reply is
    probably a refusal or a comment.
    """
    share = len(reply.split()) / max(1, len(text.split()))
    if not SHORTEST_REPHRASING <= share <= LONGEST_REPHRASING:
        raise ReplyError(f"no_rephrasing: {share:.2f} times the words of the review")
    return reply.strip()

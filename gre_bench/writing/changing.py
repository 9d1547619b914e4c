"""What writers of changes share: the prompts of each task, who is able to be changed, which replies will do."""

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
"""The prompts that an LM is given for each task (Xu et al. 2025, D.3.2, D.3.3, D.4.1, D.4.2)."""

LONGEST_SUMMARY = 60
"""Words of a line of strengths or weaknesses, at most; more is no summary in one concise line."""

SHORTEST_REPHRASING = 1 / 3
LONGEST_REPHRASING = 3
"""Words of a rephrased review against those of the review; outside, it is an answer of another kind, or a stub."""


def answered(
    task: WriterTask, items: Sequence[ChangeInput], write: Callable[[Sequence[ChangeInput]], list[Written]]
) -> list[Written]:
    """What *write* makes of the *items* that can be changed; for the others the reason why they cannot."""
    change = next(change.name for change in CHANGES.values() if change.task == task)
    found: dict[int, Written] = {}
    for place, item in enumerate(items):
        try:
            check(change, "review", item)
        except ChangeError as error:
            found[place] = Written(item.key, None, error.code, str(error))
    able = [place for place in range(len(items)) if place not in found]
    found |= dict(zip(able, write([items[place] for place in able]) if able else (), strict=True))
    return [found[place] for place in range(len(items))]


def one_line(reply: str) -> str:
    """A summary as a phrase within a sentence; `ReplyError` if it is more than one line of moderate length."""
    lines = [line.strip() for line in reply.splitlines() if line.strip()]
    if len(lines) != 1 or len(lines[0].split()) > LONGEST_SUMMARY:
        raise ReplyError(f"no_summary: {len(lines)} lines, where one of at most {LONGEST_SUMMARY} words was asked for")
    return lines[0].rstrip(" .")


def rephrased(reply: str, text: str) -> str:
    """A rephrased *text*; `ReplyError` if it is far shorter or longer, as refusals and comments are."""
    share = len(reply.split()) / max(1, len(text.split()))
    if not SHORTEST_REPHRASING <= share <= LONGEST_REPHRASING:
        raise ReplyError(f"no_rephrasing: {share:.2f} times the words of the review")
    return reply.strip()

"""Writers by rule: they need no LM, cost nothing and write the same text every time.

They replace LMs where no LM is available.

- ``rule`` writes everything except reviews.
- ``rule-2`` only rephrases, in another style than ``rule``.
- ``extractive-full`` and ``extractive-abstract`` write reviews.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gre_bench.changes.catalog import CHANGES, WriterTask, check
from gre_bench.changes.edits import elongated
from gre_bench.changes.material import ChangeInput
from gre_bench.core.errors import ChangeError, SettingsError
from gre_bench.core.records import Paper, Written
from gre_bench.writing.rules import changed_reviews, extractive, judgments, synopsis
from gre_bench.writing.rules.synopsis import assw_text

RULE = "rule"
EXTRACTIVE: dict[str, extractive.Kind] = {"extractive-full": "full", "extractive-abstract": "abstract"}
"""The writers of reviews by rule, which serve as controls, each with what it reads."""

STYLES = {RULE: 1, "rule-2": 2}
"""Writer by rule that can rephrase → its style."""

NAMES = (RULE, *EXTRACTIVE, *(name for name in STYLES if name != RULE))

_IDENTITIES = {"judgments": judgments.WRITER, "assw": synopsis.WRITER, **changed_reviews.WRITERS}


class RuleTextWriter:
    """A `TextWriter` by rule. *name* is one of `NAMES`.

    `identity`, `reviews` and `changed` raise `SettingsError` if this writer cannot do the task.
    """

    def __init__(self, name: str):
        self.name = name

    def identity(self, task: str) -> str:
        if task == "rephrase":
            return changed_reviews.REPHRASERS[self._style(task)]
        if self.name in STYLES and self.name != RULE:
            raise SettingsError(f"writer {self.name} only rephrases; for {task} take {RULE} or a model")
        return _IDENTITIES.get(task, f"{self.name}-1")

    def judgments(self, reviews: Sequence[tuple[str, str]]) -> list[Written]:
        return [_by_rule(item, judgments.judgments_of(text), "no_judgments") for item, text in reviews]

    def assw(self, papers: Sequence[Paper]) -> list[Written]:
        return [_by_rule(paper.paper_id, _assw_of(paper), "no_text") for paper in papers]

    def reviews(self, papers: Sequence[Paper]) -> list[Written]:
        if self.name not in EXTRACTIVE:
            raise SettingsError(f"writer {self.name} writes no reviews; reviewers by rule: {', '.join(EXTRACTIVE)}")
        return [_review(paper, EXTRACTIVE[self.name]) for paper in papers]

    def changed(self, task: WriterTask, items: Sequence[ChangeInput]) -> list[Written]:
        style = 0 if task in changed_reviews.WRITERS else self._style(task)
        return answered(task, items, lambda able: [_changed(task, item, style) for item in able])

    def _style(self, task: str) -> int:
        if self.name not in STYLES:
            known = ", ".join(STYLES)
            raise SettingsError(f"writer {self.name} cannot do the task {task}; writers by rule that can: {known}")
        return STYLES[self.name]


def answered(
    task: WriterTask, items: Sequence[ChangeInput], write: Callable[[Sequence[ChangeInput]], list[Written]]
) -> list[Written]:
    """Lets *write* change those of *items* that *task* can change; the others get the code of their `ChangeError`."""
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


def _changed(task: WriterTask, item: ChangeInput, style: int) -> Written:
    if task == "completion":
        return _by_rule(item.key, changed_reviews.completed(item), "no_text")
    if task == "abstract_only":
        return _by_rule(item.key, changed_reviews.review_of(item.title, item.abstract or ""), "no_review")
    if task == "rephrase":
        return _by_rule(item.key, changed_reviews.rephrased(item.text, style), "no_text")
    strengths, weaknesses = changed_reviews.summaries_of(item.text)
    if not strengths or not weaknesses:
        lacking = "strengths" if not strengths else "weaknesses"
        return Written(item.key, None, "no_summary", f"no {lacking} were found by rule")
    return Written(item.key, elongated(item, strengths, weaknesses), "ok")


def _review(paper: Paper, kind: extractive.Kind) -> Written:
    if not (paper.text if kind == "full" else paper.abstract):
        return Written(paper.paper_id, None, "no_text" if kind == "full" else "no_abstract")
    review = extractive.review_of(paper.title, paper.abstract, paper.text, kind)
    return _by_rule(paper.paper_id, review, "no_review")


def _assw_of(paper: Paper) -> str:
    if not paper.text and not paper.abstract:
        return ""
    strengths, weaknesses = synopsis.assw_of(paper.abstract, paper.text or "")
    return assw_text(strengths, weaknesses) if strengths or weaknesses else ""


def _by_rule(item: str, text: str, problem: str) -> Written:
    return Written(item, text, "ok") if text else Written(item, None, problem)

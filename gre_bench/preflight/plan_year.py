"""Estimates what the board of a year will take: fetch, texts, scores, and the validation of new metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gre_bench.core.settings import Settings
from gre_bench.pipeline.changes import chosen_changes, maker
from gre_bench.pipeline.validation_records import expected_verdicts
from gre_bench.preflight.plan_ahead import JUDGMENT_TOKENS, PROMPT_TOKENS, REVIEW_TOKENS, Writing, plan_ahead
from gre_bench.writing.catalog import by_rule


def plan_year(settings: Settings, state: Path, rates: Path | None = None) -> dict[str, Any]:
    """Returns what `plan_ahead` returns, with the validation of metrics without a record added to the work.

    *rates*: as in `plan_ahead`. The plan's ``verdicts`` say which metrics have a record, by names alone.
    """
    new = [row["metric"] for row in expected_verdicts(settings, state) if row["verdict"] == "missing"]
    changes = list(chosen_changes(settings)) if new else []

    def validation_work(papers: int) -> tuple[list[Writing], int]:
        forms = settings.scoring.model_copy(update={"metrics": tuple(new)}).with_chance if new else ()
        return _texts(settings, changes, papers), papers * len(changes) * settings.edition.likely_references * len(
            forms
        )

    plan = plan_ahead(settings, state, rates, more=validation_work)
    return plan | {"validation": {"metrics": new, "changes": changes}}


def _texts(settings: Settings, changes: list[str], papers: int) -> list[Writing]:
    """Returns the texts that LMs would write for a validation.

    These are changed human reviews, and the judgments of the changed reviews.
    """
    reads = REVIEW_TOKENS + PROMPT_TOKENS
    makers = [(change, maker(settings.validation, change)) for change in changes]
    texts = [Writing(f"reviews changed by {change}", name, papers, reads, REVIEW_TOKENS)
             for change, name in makers if not by_rule(name)]  # fmt: skip
    judge = settings.writing.judgments
    if changes and judge and not by_rule(judge) and settings.validation.level == "review":
        count = papers * len(changes)
        texts.append(Writing("judgments of changed reviews", judge, count, reads, JUDGMENT_TOKENS))
    return texts

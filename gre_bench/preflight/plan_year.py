"""Estimates what the board of a year will take: fetch, texts, scores, and the validation of new metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gre_bench.core.settings import Settings
from gre_bench.pipeline.changes import chosen_changes, maker
from gre_bench.pipeline.validation_records import known_for
from gre_bench.preflight.plan_ahead import JUDGMENT_TOKENS, PROMPT_TOKENS, REVIEW_TOKENS, Writing, plan_ahead
from gre_bench.writing.catalog import by_rule


def plan_year(settings: Settings, state: Path, rates: Path | None = None) -> dict[str, Any]:
    """Returns what `plan_ahead` returns, with the validation of metrics without a record added to the work.

    A metric has a record if some validation record states the same metric, evaluation LM and writer by name. The run
    itself is stricter and compares whole signatures. *rates*: as in `plan_ahead`.
    """
    unvalidated = _unvalidated(settings, state)
    changes = list(chosen_changes(settings)) if unvalidated else []

    def validation_work(papers: int) -> tuple[list[Writing], int]:
        forms = settings.scoring.model_copy(update={"metrics": tuple(unvalidated)}).with_chance if unvalidated else ()
        return _texts(settings, changes, papers), papers * len(changes) * 2 * len(forms)

    plan = plan_ahead(settings, state, rates, more=validation_work)
    return plan | {"validation": {"metrics": unvalidated, "changes": changes}}


def _unvalidated(settings: Settings, state: Path) -> list[str]:
    lm, writer = settings.evaluation_lm, settings.writing.judgments
    name = lm.folder.name if lm.folder else lm.backend
    return [metric for metric in settings.scoring.metrics if not known_for(state, metric, name, writer)]


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

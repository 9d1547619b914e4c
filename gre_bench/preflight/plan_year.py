"""What the board of a year will take: fetch, texts, scores, and the validation of what was never validated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gre_bench.core.settings import Settings
from gre_bench.pipeline.changes import chosen_changes, maker
from gre_bench.pipeline.validation_records import known_for
from gre_bench.preflight.plan_ahead import JUDGMENT_TOKENS, PROMPT_TOKENS, REVIEW_TOKENS, Writing, plan_ahead
from gre_bench.writing.catalog import by_rule


def plan_year(settings: Settings, state: Path, rates: Path | None = None) -> dict[str, Any]:
    """`plan_ahead` with the validation of the metrics that have none with this evaluation LM and writer.

    Which those are is judged by names; the run itself goes by signatures.
    """
    new = _unvalidated(settings, state)
    changes = list(chosen_changes(settings)) if new else []

    def more(papers: int) -> tuple[list[Writing], int]:
        forms = settings.scoring.model_copy(update={"metrics": tuple(new)}).with_chance if new else ()
        return _texts(settings, changes, papers), papers * len(changes) * 2 * len(forms)

    found = plan_ahead(settings, state, rates, more=more)
    return found | {"validation": {"metrics": new, "changes": changes}}


def _unvalidated(settings: Settings, state: Path) -> list[str]:
    lm, writer = settings.evaluation_lm, settings.writing.judgments
    name = lm.folder.name if lm.folder else lm.backend
    return [metric for metric in settings.scoring.metrics if not known_for(state, metric, name, writer)]


def _texts(settings: Settings, changes: list[str], papers: int) -> list[Writing]:
    """What LMs would write: the changes of the human reviews, and the judgments of what was changed."""
    reads = REVIEW_TOKENS + PROMPT_TOKENS
    made = [(change, maker(settings.validation, change)) for change in changes]
    found = [Writing(f"reviews changed by {change}", name, papers, reads, REVIEW_TOKENS)
             for change, name in made if not by_rule(name)]  # fmt: skip
    judge = settings.writing.judgments
    if changes and judge and not by_rule(judge) and settings.validation.level == "review":
        texts = papers * len(changes)
        found.append(Writing("judgments of changed reviews", judge, texts, reads, JUDGMENT_TOKENS))
    return found

"""Fits a copying mixture over an evaluation LM."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prefect import flow

from gre_bench.core.settings import EvaluationLMSettings
from gre_bench.flows.tune_evaluation_lm import texts_apart
from gre_bench.pipeline.runs.endings import ended
from gre_bench.tasks import steps
from gre_bench.tasks.protocol import Steps


@dataclass(frozen=True, slots=True)
class Rows:
    """Human *judgments* by *writer* (None: any): rows to *train* on, and rows on which to *choose* the mixture."""

    judgments: Path
    train: str
    choose: str
    writer: str | None = None


@flow(name="tune-mixture", flow_run_name="mixture", persist_result=False)
def tune_mixture(rows: Rows, lm: EvaluationLMSettings, out: Path) -> dict[str, Any]:
    """Fits the copying mixture over *lm* into *out*; returns its scores on held-out papers."""
    return ended(fit_mixture, rows, lm, out, steps.under_prefect())


def fit_mixture(rows: Rows, lm: EvaluationLMSettings, out: Path, run: Steps) -> dict[str, Any]:
    """Runs `tune_mixture` with the given steps."""
    papers, kept = texts_apart(rows.judgments, rows.train, rows.choose, rows.writer)
    figures = run.fit_mixture(lm, out, papers, kept)
    return {"folder": str(out), "counted_on": len(papers), "chosen_on": len(kept), "held_out": figures}

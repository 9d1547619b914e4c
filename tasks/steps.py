"""Every Prefect task, in pipeline order. Plain values in, plain values out, over a batch; none opens the store.

`undecorated` gives the same functions without Prefect: everything works with them too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks.errors import GreBenchError
from tasks.lm.catalog import open_lm
from tasks.metrics.catalog import RECIPES
from tasks.metrics.gem import Gem, Scored, signature
from tasks.records import Case, LMIdentity, Signature, SpanLogprob
from tasks.settings import EvaluationLMSettings, ScoringSettings

if TYPE_CHECKING:
    from tasks.tuning.cache_ngram import HeldOut

HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class MetricWork:
    """Cases of one metric that are due."""

    metric: str
    signature_id: str
    cases: tuple[Case, ...]


def _worth_retrying(_task: Any, _run: Any, state: Any) -> bool:
    """Faults of the moment are tried again; what the user must mend is not."""
    return not isinstance(state.result(raise_on_failure=False), GreBenchError)


@task(name="sign metrics", tags=["evaluation-lm"], timeout_seconds=HOUR, cache_policy=NO_CACHE, persist_result=False)
def sign_metrics(
    lm: EvaluationLMSettings, scoring: ScoringSettings, writer: str
) -> tuple[LMIdentity, dict[str, Signature]]:
    """Identity of the evaluation LM, and the signature of each metric's scores."""
    identity = open_lm(lm).identity
    return identity, {metric: signature(metric, identity, scoring, writer) for metric in scoring.metrics}


@task(
    name="score papers",
    task_run_name="score {name}",
    tags=["evaluation-lm"],
    retries=2,
    retry_delay_seconds=[2, 20],
    retry_condition_fn=_worth_retrying,
    timeout_seconds=6 * HOUR,
    cache_policy=NO_CACHE,
    persist_result=False,
)
def score_papers(
    name: str,
    lm: EvaluationLMSettings,
    scoring: ScoringSettings,
    works: Sequence[MetricWork],
    known: Mapping[str, SpanLogprob],
) -> Scored:
    """Scores of all *works* of some papers; *known* spans (by address) are not computed again."""
    evaluation_lm = open_lm(lm)
    spans = dict(known)
    scores = []
    for work in works:
        scored = Gem(RECIPES[work.metric], evaluation_lm, scoring, work.signature_id).score(work.cases, spans)
        scores += scored.scores
        spans |= scored.spans
    return Scored(scores, {place: span for place, span in spans.items() if place not in known})


@task(
    name="show leaderboard",
    tags=["report"],
    retries=1,
    timeout_seconds=300,
    cache_policy=NO_CACHE,
    persist_result=False,
)
def show_leaderboard(edition: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """The leaderboard as a Prefect table artifact, ``leaderboard-<edition>``."""
    from prefect.artifacts import create_table_artifact

    table = [{name: "" if value is None else value for name, value in row.items()} for row in rows]
    key = "leaderboard-" + "".join(mark if mark.isalnum() else "-" for mark in edition.lower())
    create_table_artifact(key=key, table=table, description=f"GRE-bench {edition}: mean scores in nats")


@task(
    name="train cache-ngram", tags=["training"], timeout_seconds=6 * HOUR, cache_policy=NO_CACHE, persist_result=False
)
def train_cache_ngram(papers: Sequence[Sequence[str]], kept: Sequence[Sequence[str]] | None, folder: Path) -> HeldOut:
    """Trains the evaluation LM on the judgments of *papers*, writes it to *folder*, gives its held-out figures."""
    from tasks.tuning.cache_ngram import save, train

    model, figures = train(papers, kept)
    save(model, folder)
    return figures


def undecorated() -> SimpleNamespace:
    """The steps as plain functions: no engine, no server, no artifacts."""
    return SimpleNamespace(
        sign_metrics=sign_metrics.fn,
        score_papers=score_papers.fn,
        show_leaderboard=lambda edition, rows: None,
        train_cache_ngram=train_cache_ngram.fn,
    )

"""Tasks that compute the signatures of metrics, and score papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gre_bench.core.metrics import EXAMINER, Recipe, recipe_of
from gre_bench.core.records import LMIdentity, Signature, SpanLogprob
from gre_bench.core.settings import ScoringSettings
from gre_bench.lm.catalog import open_lm
from gre_bench.metrics.scoring import NOTHING, Metric, MetricWork, Scored, score, signature
from gre_bench.tasks.examine import grader_of
from gre_bench.tasks.policy import RETRIED, step
from gre_bench.tasks.protocol import Backends
from gre_bench.writing.catalog import open_examiner

if TYPE_CHECKING:
    from gre_bench.examiners.examiner import Examiner


@step("sign metrics", None, 1, "evaluation-lm")
def sign_metrics(
    backends: Backends, scoring: ScoringSettings, writer: str, assw_writer: str | None = None
) -> tuple[LMIdentity, dict[str, Signature]]:
    """Returns the identity of the evaluation LM, and metric → signature for each metric of *scoring*.

    The identity is the placeholder `NOTHING` if no metric uses the evaluation LM. *writer*, *assw_writer*: the
    identities of the writers of judgments and of author-stated strengths and weaknesses.
    """
    recipes = {name: recipe_of(name) for name in scoring.metrics}
    by_logprobs = any(recipe.formula for recipe in recipes.values())
    identity = open_lm(backends.evaluation_lm).identity if by_logprobs else NOTHING
    return identity, {
        name: signature(recipe, identity if recipe.formula else _identity(recipe, backends, scoring), scoring, writer,
                        assw_writer)
        for name, recipe in recipes.items()
    }  # fmt: skip


def _identity(recipe: Recipe, backends: Backends, scoring: ScoringSettings) -> LMIdentity:
    """Returns the identity of the backend that the metric *recipe* uses instead of an evaluation LM."""
    if recipe.asks == "embedder":
        from gre_bench.lm.embedders import open_embedder

        return open_embedder(backends.embedder).identity
    if recipe.name.startswith(EXAMINER):
        from gre_bench.examiners.metric import check_metric

        examiner = _examiner(recipe, scoring)
        check_metric(examiner)
        return grader_of(examiner, scoring.examiner, backends.writer_context)[1]
    if recipe.asks == "writer":
        from gre_bench.metrics.lm_examiner import PROMPT

        return open_examiner(scoring.examiner, backends.writer_context).identity(PROMPT)
    from gre_bench.metrics.overlap import measure_of

    return replace(NOTHING, engine_version=measure_of(recipe).identity)


def _opened(recipe: Recipe, signature_id: str, backends: Backends, scoring: ScoringSettings) -> Metric:
    """Opens the metric that *recipe* describes; the metric must be one that uses no evaluation LM."""
    if recipe.asks == "embedder":
        from gre_bench.lm.embedders import open_embedder
        from gre_bench.metrics.bertscore import BertScore

        return BertScore(open_embedder(backends.embedder), signature_id, tokens=recipe.name == "bertscore_tokens")
    if recipe.name.startswith(EXAMINER):
        from gre_bench.examiners.metric import ExaminerMetric

        examiner = _examiner(recipe, scoring)
        return ExaminerMetric(examiner, grader_of(examiner, scoring.examiner, backends.writer_context)[0], signature_id)
    if recipe.asks == "writer":
        from gre_bench.metrics.lm_examiner import LMExaminer

        opened = open_examiner(scoring.examiner, backends.writer_context)
        return LMExaminer(opened.writer, opened.sampling, signature_id)
    from gre_bench.metrics.overlap import Overlap, measure_of

    return Overlap(measure_of(recipe), signature_id)


def _examiner(recipe: Recipe, scoring: ScoringSettings) -> Examiner:
    """Returns the examiner in *scoring* that the metric *recipe* names.

    Raises `SettingsError` if the examiner's options conflict.
    """
    from gre_bench.examiners.examiner import examiner_of

    name = recipe.name.removeprefix(EXAMINER)
    return examiner_of(scoring.examiners[name], f"scoring.examiners.{name}")


@step("score papers", "score {name}", 6, "evaluation-lm", **RETRIED)
def score_papers(
    name: str, backends: Backends, scoring: ScoringSettings, works: Sequence[MetricWork],
    known: Mapping[str, SpanLogprob],
) -> Scored:  # fmt: skip
    """Returns the scores of *works*, which hold the cases of some papers, grouped by metric.

    A case is the texts of one (paper, candidate, reference).

    - *name*: a name for these papers, shown in the name of the Prefect task run.
    - *known*: digest of a prediction → its log-probabilities, which need not be computed again.
    """

    def other(recipe: Recipe, signature_id: str) -> Metric:
        return _opened(recipe, signature_id, backends, scoring)

    return score(works, scoring, lambda: open_lm(backends.evaluation_lm), other, known)

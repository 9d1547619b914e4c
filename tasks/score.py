"""Tasks that compute the signatures of metrics and score papers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from gre_bench.core.metrics import EXAMINER, Recipe, find_recipe
from gre_bench.core.records import LMIdentity, Signature, SpanLogprob
from gre_bench.core.settings import ScoringSettings
from gre_bench.lm.opening import open_lm
from gre_bench.metrics.scoring import NOTHING, Metric, MetricCases, ScoringResult, build_signature, score
from gre_bench.tasks.backends import Backends
from gre_bench.tasks.examine import build_grader
from gre_bench.tasks.policy import RETRIED, make_step
from gre_bench.writing.writers import open_examiner


@make_step("sign metrics", None, 1, "evaluation-lm")
def sign_metrics(
    backends: Backends, scoring: ScoringSettings, writer: str, assw_writer: str | None = None
) -> tuple[LMIdentity, dict[str, Signature]]:
    """Returns the identity of the evaluation LM (`NOTHING` if no metric uses one), and metric → signature.

    *writer*, *assw_writer*: the identities of the writers of judgments and of author-stated strengths and weaknesses.
    """
    recipes = {name: find_recipe(name) for name in scoring.metrics}
    by_logprobs = any(recipe.formula for recipe in recipes.values())
    identity = open_lm(backends.evaluation_lm).identity if by_logprobs else NOTHING
    return identity, {
        name: build_signature(
            recipe,
            identity if recipe.formula else _open_other_backend(recipe, backends, scoring)[0],
            scoring,
            writer,
            assw_writer,
        )
        for name, recipe in recipes.items()
    }


def _open_other_backend(
    recipe: Recipe, backends: Backends, scoring: ScoringSettings
) -> tuple[LMIdentity, Callable[[str], Metric]]:
    """Opens what the metric *recipe* scores with instead of an evaluation LM.

    Returns its identity, and a function that takes a signature id and returns the metric.
    """
    if recipe.asks == "embedder":
        from gre_bench.lm.embedders import open_embedder
        from gre_bench.metrics.bertscore import BertScore

        embedder, tokens = open_embedder(backends.embedder), recipe.name == "bertscore_tokens"
        return embedder.identity, lambda signed: BertScore(embedder, signed, tokens=tokens)
    if recipe.name.startswith(EXAMINER):
        from gre_bench.examiners.examiner import parse_examiner
        from gre_bench.examiners.grading import ExaminerMetric, check_usable_as_metric

        name = recipe.name.removeprefix(EXAMINER)
        examiner = parse_examiner(scoring.examiners[name], f"scoring.examiners.{name}")
        check_usable_as_metric(examiner)
        grader, identity = build_grader(examiner, scoring.examiner, backends.writer_context)
        return identity, lambda signed: ExaminerMetric(examiner, grader, signed)
    if recipe.asks == "writer":
        from gre_bench.metrics.lm_examiner import PROMPT, LMExaminer

        opened = open_examiner(scoring.examiner, backends.writer_context)
        return opened.identity(PROMPT), lambda signed: LMExaminer(opened.writer, opened.sampling, signed)
    from gre_bench.metrics.overlap import OverlapMetric, load_measure

    measure = load_measure(recipe)
    return replace(NOTHING, engine_version=measure.identity), lambda signed: OverlapMetric(measure, signed)


@make_step("score papers", "score {name}", 6, "evaluation-lm", **RETRIED)
def score_papers(
    name: str, backends: Backends, scoring: ScoringSettings, works: Sequence[MetricCases],
    known: Mapping[str, SpanLogprob],
) -> ScoringResult:  # fmt: skip
    """Returns the scores of *works*, each of which holds the cases of one metric on some papers.

    A case consists of the texts of one paper, one candidate and one reference. *name*: the name of these
    papers in the task run's name. *known*: digest of a prediction → its log-probabilities, if already computed.
    """

    def open_other_metric(recipe: Recipe, signature_id: str) -> Metric:
        return _open_other_backend(recipe, backends, scoring)[1](signature_id)

    return score(works, scoring, lambda: open_lm(backends.evaluation_lm), open_other_metric, known)

"""Computes the scores of cases by several metrics, and the scores' signatures.

Most metrics combine log-probabilities of an evaluation LM, in nats, each summed over the tokens of a review.

In the formulas, x is the candidate's review, y is the reference, and x' is the candidate's review of another paper.

    GEM and its variants (Xu et al. 2025, §3):  log P(y | x, synopsis) − log P(y | absent, synopsis)
    their specific forms:                       log P(y | x, synopsis) − log P(y | x', synopsis)
    beyond another review z:                    log P(y | x, z) − log P(y | z)
    BARTScore (Yuan et al. 2021; Xu et al., D.1):
        recall = log P(y | x), precision = log P(x | y), F1 = (recall + precision)/2

No score is divided by the length of y. The variants of GEM differ in the synopsis, and in whether they read judgments
or original reviews. In a score beyond another review, z takes the place of the synopsis. The score is the information
about y that a review x adds to z: I(X; Y | Z) for an LM that knows the distribution. By the chain rule, it is the
information of x and z together less the information of z alone. BARTScore uses GEM's prompt without a synopsis.

A specific form measures how much more information a review gives about y than the same candidate's review of another
paper does. Without a synopsis, and with an LM that knows the candidate's distribution, its mean is I(X; Y) + L(X; Y):
mutual plus lautum information (Palomar & Verdú 2008). Garbling a review never raises this sum. On a board, however, one
LM scores all candidates, and does not know the distribution of each. Then only GEM guarantees that garbling never
raises the mean. In simulations with known answers (``tests/simulations``), the mean of a specific form can rise a
little when one review is replaced by another.

Predictions that several metrics or candidates need are computed once. For example, GEM's second term does not depend on
the candidate, and BARTScore's recall is the first term of GEM-raw. The evaluation LM gets all predictions for a paper
in one call.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Protocol

from gre_bench.core import judgments
from gre_bench.core.errors import SpanError
from gre_bench.core.judgments import prepare_judgments
from gre_bench.core.metrics import Recipe, find_recipe
from gre_bench.core.records import Case, LMIdentity, Prediction, Problem, Score, Signature, SpanLogprob, make_score
from gre_bench.core.settings import ScoringSettings
from gre_bench.lm.protocol import EvaluationLM, collect_and_clear_remarks, compute_checked_span_logprobs
from gre_bench.prompts.library import content_address, load

RAW_CUT = 10_000
"""The number of characters to which the code of Xu et al. cuts an original review. Here, leading white space is removed
first."""

Parts = Sequence[tuple[str, Prediction]]
"""The predictions from which a score is computed, each with its content address."""

Answers = Mapping[str, SpanLogprob | SpanError]
"""Content address of a prediction → the evaluation LM's answer."""


def build_predictions(recipe: Recipe, case: Case, settings: ScoringSettings) -> tuple[Prediction, ...]:
    """Returns the predictions that the score of *case* needs, in the order that `combine_logprobs` expects.

    With x, x' and y as in the module's docstring, each formula needs these predictions: ``pmi``: y given x, and y given
    no review. ``specific``: y given x, and y given x'. ``recall``: y given x. ``precision``: x given y. ``f1``: those
    of ``recall`` and ``precision``.

    Args:
        recipe: the metric; its score must be defined by a formula.
        case: the texts as they are stored; this function cuts and folds them.
        settings: the form of judgments, the prompt, and whether texts are folded to ASCII.
    """
    x, y = _prepare_text(case.candidate, case, settings), _prepare_text(case.reference, case, settings)
    given = _apply_ascii_fold(case.synopsis, settings) if case.synopsis is not None else None
    prompt = choose_prompt_name(recipe, settings)
    if recipe.formula == "specific":
        elsewhere = _prepare_text(case.moved or "", case, settings)
        return Prediction(x, given, y, prompt), Prediction(elsewhere, given, y, prompt)
    if recipe.formula == "pmi":
        uncut = case.source == "review" and settings.authors_compat
        marginal_y = _apply_ascii_fold(case.reference, settings) if uncut else y
        return Prediction(x, given, y, prompt), Prediction(None, given, marginal_y, prompt)
    recall, precision = Prediction(x, None, y, prompt), Prediction(y, None, x, prompt)
    return {"recall": (recall,), "precision": (precision,), "f1": (recall, precision)}[recipe.formula or ""]


def choose_prompt_name(recipe: Recipe, settings: ScoringSettings) -> str:
    """Returns the name of the prompt for *recipe*: the one in *settings*, or its variant for ``beyond`` synopses."""
    return f"{settings.prompt}_beyond" if recipe.synopsis == "beyond" else settings.prompt


def combine_logprobs(recipe: Recipe, totals: Sequence[float]) -> float:
    """Returns a case's score in nats.

    Args:
        recipe: the metric; its score must be defined by a formula.
        totals: the log-probability of each prediction from `build_predictions`, in nats, in the same order.
    """
    return totals[0] - totals[1] if recipe.formula in ("pmi", "specific") else sum(totals) / len(totals)


def collect_predictions(recipe: Recipe, cases: Iterable[Case], settings: ScoringSettings) -> dict[str, Prediction]:
    """Returns content address → prediction for all predictions of *cases*; an address is a hash of prompt and texts."""
    return {content_address(term): term for case in cases for term in build_predictions(recipe, case, settings)}


def compute_missing_logprobs(
    lm: EvaluationLM, predictions: Mapping[str, Prediction], known: Answers | None = None
) -> dict[str, SpanLogprob | SpanError]:
    """Makes *lm* score, in one call, the *predictions* without an answer in *known*.

    Returns content address → answer for these predictions.
    """
    due = {part_address: term for part_address, term in predictions.items() if part_address not in (known or {})}
    return dict(zip(due, compute_checked_span_logprobs(lm, list(due.values())), strict=True)) if due else {}


def _describe_empty_text(recipe: Recipe, parts: Parts) -> str | None:
    """Returns which text of a case is blank, such as ``the candidate's text``, or None. Blank texts give no score."""
    first = parts[0][1]
    x, y = (first.reply, first.x) if recipe.formula == "precision" else (first.x, first.reply)
    if not (x or "").strip():
        return "the candidate's text"
    if recipe.formula == "specific" and not (parts[1][1].x or "").strip():
        return "the candidate's text on another paper"
    return None if (y or "").strip() else "the reference's text"


def _prepare_text(text: str, case: Case, settings: ScoringSettings) -> str:
    if case.source == "review":
        whole = _apply_ascii_fold(text, settings)
        return whole if len(whole) <= RAW_CUT else whole.lstrip()[:RAW_CUT]
    return judgments.prepare_judgments(text, settings.form, settings.ascii_fold)


def _apply_ascii_fold(text: str, settings: ScoringSettings) -> str:
    return judgments.fold_to_ascii(text) if settings.ascii_fold else text


NOTHING = LMIdentity("none", "none", "none", dtype="none")
"""The identity in signatures of metrics that use no LM and no embedder."""

MOVES, CHANCE_SEED = "moved-1", 0
"""The name, for signatures, of the rule that moves reviews to other papers (`plan_moves`), and the rule's seed."""

_SYNOPSIS_WRITERS = {"none": "none", "categories": "the item's own categories", "paper": "the paper's own text"}
_OF_SCORER = ("dtype", "quantisation", "attention", "template_digest", "engine_version")


def build_signature(
    recipe: Recipe, scorer: LMIdentity, settings: ScoringSettings, writer: str, assw_writer: str | None = None
) -> Signature:
    """Returns the signature of scores: everything that they depend on besides the texts that are scored.

    Args:
        recipe: the metric.
        scorer: the evaluation LM or embedder, or `NOTHING`.
        settings: the form, cut, folding and prompt.
        writer: the identity of the writer of judgments.
        assw_writer: the identity of the writer of author-stated strengths and weaknesses; None if no metric reads them.
    """
    reads_judgments = recipe.source == "judgments"
    by_logprobs = recipe.formula is not None
    cut = f"{RAW_CUT} characters {'in the conditional only' if settings.authors_compat else 'in both terms'}"
    synopsis = _SYNOPSIS_WRITERS.get(recipe.synopsis) or assw_writer or "none"
    if recipe.synopsis == "beyond":
        synopsis = " and ".join(settings.beyond)
    if recipe.synopsis == "abstract":
        synopsis = f"the paper's own {' and '.join(settings.synopsis_of)}"
    return Signature(
        metric=recipe.name,
        prompt_sha256=load(choose_prompt_name(recipe, settings)).sha256 if by_logprobs else "none",
        evaluation_lm=scorer.name,
        lm_digest=scorer.digest,
        writer=signature_writer_name(recipe, writer),
        synopsis_writer=synopsis,
        form=settings.form if reads_judgments else "original",
        text_cut=cut if by_logprobs and not reads_judgments else "none",
        ascii_fold=settings.ascii_fold,
        chance=f"{MOVES}, seed {CHANCE_SEED}" if recipe.formula == "specific" else "none",
        **{name: getattr(scorer, name) for name in _OF_SCORER},
    )


def signature_writer_name(recipe: Recipe, writer: str) -> str:
    """Returns the name that a signature gives the writer whose judgments *recipe* reads."""
    return writer if recipe.source == "judgments" else "none (original reviews)"


class Metric(Protocol):
    """A metric that can score cases: `score` returns one `Score` for each case, in order."""

    def score(self, cases: Sequence[Case]) -> list[Score]: ...


@dataclass(frozen=True, slots=True)
class MetricCases:
    """The cases that one metric must score."""

    metric: str
    signature_id: str
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class ScoringResult:
    """The result of scoring: one score per case, and *remarks* on how the evaluation LM deviated from its settings.

    *spans*: content address → log-probability, for the predictions computed in this call.
    """

    scores: list[Score]
    spans: dict[str, SpanLogprob]
    remarks: tuple[str, ...] = ()


def score(
    works: Sequence[MetricCases],
    settings: ScoringSettings,
    evaluation_lm: Callable[[], EvaluationLM],
    other: Callable[[Recipe, str], Metric],
    known: Mapping[str, SpanLogprob],
) -> ScoringResult:
    """Returns the scores of all cases in *works*.

    Args:
        works: the cases of each metric.
        settings: how texts are prepared, and the prompt.
        evaluation_lm: opens the evaluation LM if a metric needs it. The LM gets all predictions for a paper in one
            call.
        other: opens a metric that needs no evaluation LM, given its recipe and signature id.
        known: content address → log-probability, for predictions that need not be computed again.

    Returns:
        One score per case, and the log-probabilities computed in this call. If the LM could not score a case, the case
        has a `Problem` in place of a value.
    """
    scores: list[Score] = []
    spans: dict[str, SpanLogprob] = {}
    by_paper: dict[str, list[tuple[Recipe, str, Case]]] = defaultdict(list)
    recipes = [find_recipe(work.metric) for work in works]
    for work, recipe in zip(works, recipes, strict=True):
        for case in work.cases if recipe.formula else ():
            by_paper[case.paper_id].append((recipe, work.signature_id, case))
    lm = evaluation_lm() if any(recipe.formula for recipe in recipes) else None
    for items in by_paper.values():
        assert lm is not None
        parts = [
            [(content_address(term), term) for term in build_predictions(recipe, case, settings)]
            for recipe, _, case in items
        ]
        fresh = compute_missing_logprobs(lm, dict(chain.from_iterable(parts)), known)
        answers = {**known, **fresh}
        for (recipe, signature_id, case), of_case in zip(items, parts, strict=True):
            given = [answers[part_address] for part_address, _ in of_case]
            failed = next((answer for answer in given if isinstance(answer, SpanError)), None)
            totals = [answer.total for answer in given if isinstance(answer, SpanLogprob)]
            result: float | Problem
            if empty := _describe_empty_text(recipe, of_case):
                result = Problem("empty_text", f"{empty} is empty after it was cut and folded")
            elif failed:
                result = Problem(failed.code, str(failed), failed.final, failed.broken)
            else:
                result = combine_logprobs(recipe, totals)
            scores.append(make_score(signature_id, case, result, tuple(part_address for part_address, _ in of_case)))
        spans |= {name: answer for name, answer in fresh.items() if isinstance(answer, SpanLogprob)}
    for work, recipe in zip(works, recipes, strict=True):
        if not recipe.formula:
            read = [_prepare_case(case, settings) for case in work.cases]
            scores += other(recipe, work.signature_id).score(read)
    return ScoringResult(scores, spans, collect_and_clear_remarks(lm) if lm else ())


def _prepare_case(case: Case, settings: ScoringSettings) -> Case:
    """Returns *case* with its texts folded to ASCII, and without lines that are no judgments, if *settings* say so."""
    form = settings.form if case.source == "judgments" else "as_written"
    texts: dict[str, Any] = {
        name: prepare_judgments(getattr(case, name), form, settings.ascii_fold) for name in ("candidate", "reference")
    }
    return replace(case, **texts)

"""GEM and its variants: pointwise mutual information by an evaluation LM, in nats (Xu et al. 2025, §3).

    score(x, y) = log P(y | x, synopsis) − log P(y | absent, synopsis)

summed over the tokens of y, never divided by its length. The marginal does not depend on the candidate: it is
computed once and reused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tasks import judgments
from tasks.errors import SpanError
from tasks.lm.protocol import EvaluationLM, checked
from tasks.metrics.catalog import RECIPES, Recipe
from tasks.prompts.library import address, load
from tasks.records import Case, LMIdentity, Prediction, Problem, Score, Signature, SpanLogprob
from tasks.settings import ScoringSettings

PROMPT = "predict_judgments"
RAW_CUT = 10_000
"""Characters of an original review that gem_raw reads (the authors' code)."""


_SYNOPSIS_WRITERS = {"none": "none", "abstract": "the paper's own abstract"}


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores of some cases, one each, and the spans that were computed for them, by address.

    *remarks*: what the evaluation LM did otherwise than asked.
    """

    scores: list[Score]
    spans: dict[str, SpanLogprob]
    remarks: tuple[str, ...] = ()


def signature(
    metric: str, lm: LMIdentity, settings: ScoringSettings, writer: str, assw_writer: str | None = None
) -> Signature:
    """All that the scores of *metric* depend on besides their texts."""
    recipe = RECIPES[metric]
    reads_judgments = recipe.source == "judgments"
    both = "in the conditional only" if settings.authors_compat else "in both terms"
    return Signature(
        metric=metric,
        prompt_sha256=load(PROMPT).sha256,
        evaluation_lm=lm.name,
        lm_digest=lm.digest,
        dtype=lm.dtype,
        quantisation=lm.quantisation,
        attention=lm.attention,
        template_digest=lm.template_digest,
        writer=writer if reads_judgments else "none (original reviews)",
        synopsis_writer=_SYNOPSIS_WRITERS.get(recipe.synopsis) or assw_writer or "none",
        form=settings.form if reads_judgments else "original",
        text_cut="none" if reads_judgments else f"{RAW_CUT} characters {both}",
        ascii_fold=settings.ascii_fold,
        engine_version=lm.engine_version,
    )


def terms(case: Case, settings: ScoringSettings) -> tuple[Prediction, Prediction]:
    """The conditional and the marginal prediction of *case*."""
    x, y = _prepared(case.candidate, case, settings), _prepared(case.reference, case, settings)
    given = _folded(case.synopsis, settings) if case.synopsis is not None else None
    uncut = case.source == "review" and settings.authors_compat
    marginal_y = _folded(case.reference, settings) if uncut else y
    return Prediction(x, given, y, PROMPT), Prediction(None, given, marginal_y, PROMPT)


def addresses(cases: Sequence[Case], settings: ScoringSettings) -> list[str]:
    """Content addresses of all predictions that *cases* need."""
    return list(dict.fromkeys(address(term) for case in cases for term in terms(case, settings)))


Answers = Mapping[str, SpanLogprob | SpanError]
"""What an evaluation LM said, by address."""


def ask(
    lm: EvaluationLM, cases: Iterable[Case], settings: ScoringSettings, known: Answers
) -> dict[str, SpanLogprob | SpanError]:
    """Answers to all that *cases* need and is not *known*, asked in one call: what they share is computed once."""
    due = {address(term): term for case in cases for term in terms(case, settings)}
    due = {place: term for place, term in due.items() if place not in known}
    return dict(zip(due, map(checked, lm.logprob(list(due.values()))), strict=True)) if due else {}


class Gem:
    """A `Metric`: scores cases; what is *known* (by address) is not asked again."""

    needs_reference = True

    def __init__(self, recipe: Recipe, lm: EvaluationLM, settings: ScoringSettings, signature_id: str):
        self.reads = recipe.source
        self.lm = lm
        self.settings = settings
        self.signature_id = signature_id

    def score(self, cases: Sequence[Case], known: Answers | None = None) -> list[Score]:
        """One score or problem for each of *cases*, in order."""
        answers = {**(known or {}), **ask(self.lm, cases, self.settings, known or {})}
        return [self._score(case, answers) for case in cases]

    def _score(self, case: Case, answers: Answers) -> Score:
        conditional, marginal = terms(case, self.settings)
        places = address(conditional), address(marginal)
        ids = self.signature_id, case.paper_id, case.candidate_id, case.reference_id
        if empty := _empty(conditional):
            what = f"{case.name}: nothing is left of {empty} once it is cut and folded"
            return Score(*ids, None, Problem("empty_text", what))
        found = [answers[place] for place in places]
        for error in found:
            if isinstance(error, SpanError):
                return Score(*ids, None, Problem(error.code, f"{case.name}: {error}", error.final, error.broken))
        return Score(*ids, found[0].total - found[1].total, None, *places)


def _empty(conditional: Prediction) -> str | None:
    """Which text of a prepared pair is blank; such a pair is missing data, not a score of zero."""
    if not (conditional.x or "").strip():
        return "the candidate's text"
    return None if conditional.reply.strip() else "the reference's text"


def _prepared(text: str, case: Case, settings: ScoringSettings) -> str:
    if case.source == "review":
        return _folded(text, settings)[:RAW_CUT]
    return judgments.prepared(text, settings.form, settings.ascii_fold)


def _folded(text: str, settings: ScoringSettings) -> str:
    return judgments.folded(text) if settings.ascii_fold else text

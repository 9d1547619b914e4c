"""Scores the cases of several metrics; the evaluation LM gets all predictions of a paper together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Protocol

from gre_bench.core.judgments import prepared
from gre_bench.core.metrics import Recipe, recipe_of
from gre_bench.core.records import Case, Score, SpanLogprob
from gre_bench.core.settings import ScoringSettings
from gre_bench.lm.protocol import EvaluationLM, take_remarks
from gre_bench.metrics.logprobs import addressed, ask, score_of


class Metric(Protocol):
    """A metric that can score cases: `score` returns one `Score` for each case, in order."""

    def score(self, cases: Sequence[Case]) -> list[Score]: ...


@dataclass(frozen=True, slots=True)
class MetricWork:
    """The cases to score by one metric: *metric* is its name, *signature_id* the id of the scores' signature."""

    metric: str
    signature_id: str
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """The result of scoring.

    - *scores*: one score for each case.
    - *spans*: content address → log-probability, for the predictions computed in this call.
    - *remarks*: how the evaluation LM deviated from its settings.
    """

    scores: list[Score]
    spans: dict[str, SpanLogprob]
    remarks: tuple[str, ...] = ()


def score(
    works: Sequence[MetricWork],
    settings: ScoringSettings,
    evaluation_lm: Callable[[], EvaluationLM],
    other: Callable[[Recipe, str], Metric],
    known: Mapping[str, SpanLogprob],
) -> Scored:
    """Returns the scores of all *works*.

    - *evaluation_lm*: opens the evaluation LM, if a metric needs it. The LM gets all predictions of a paper in one
      call, so it may compute shared texts once.
    - *other*: opens a metric that needs no evaluation LM, from its recipe and signature id.
    - *known*: content address → log-probability, for predictions that need not be computed again.
    """
    by_logprobs = [work for work in works if recipe_of(work.metric).formula]
    scored = _by_logprobs(by_logprobs, settings, evaluation_lm(), known) if by_logprobs else Scored([], {})
    for work in works:
        recipe = recipe_of(work.metric)
        if not recipe.formula:
            read = [_as_read(case, settings) for case in work.cases]
            scored.scores.extend(other(recipe, work.signature_id).score(read))
    return scored


def _as_read(case: Case, settings: ScoringSettings) -> Case:
    """Returns *case* with its texts as a metric reads them.

    If *settings* say so, the texts are folded to ASCII, and stray lines are removed from judgments.
    """
    form = settings.form if case.source == "judgments" else "as_written"
    texts = {name: prepared(getattr(case, name), form, settings.ascii_fold) for name in ("candidate", "reference")}
    return replace(case, **texts)


def _by_logprobs(
    works: Sequence[MetricWork], settings: ScoringSettings, lm: EvaluationLM, known: Mapping[str, SpanLogprob]
) -> Scored:
    scores: list[Score] = []
    spans: dict[str, SpanLogprob] = {}
    by_paper: dict[str, list[tuple[MetricWork, Case]]] = defaultdict(list)
    for work in works:
        for case in work.cases:
            by_paper[case.paper_id].append((work, case))
    for cases in by_paper.values():
        parts = [addressed(recipe_of(work.metric), case, settings) for work, case in cases]
        fresh = ask(lm, dict(chain.from_iterable(parts)), known)
        answers = {**known, **fresh}
        scores += [
            score_of(recipe_of(work.metric), work.signature_id, case, case_parts, answers)
            for (work, case), case_parts in zip(cases, parts, strict=True)
        ]
        spans |= {address: answer for address, answer in fresh.items() if isinstance(answer, SpanLogprob)}
    return Scored(scores, spans, take_remarks(lm))

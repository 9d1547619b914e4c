"""Cases of several metrics to scores: what asks an evaluation LM is asked together, paper by paper."""

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
    """Scores cases: one score or problem for each, in order."""

    def score(self, cases: Sequence[Case]) -> list[Score]: ...


@dataclass(frozen=True, slots=True)
class MetricWork:
    """Cases of one metric that are due."""

    metric: str
    signature_id: str
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores of some cases, one each, and the spans that were computed for them, by address.

    *remarks*: what the evaluation LM did otherwise than asked.
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
    """Scores of all *works*; *known* spans are not computed again.

    *evaluation_lm* is opened if a metric asks it, and asked once for each paper: it may compute once what its texts
    share. *other* opens a metric, given its recipe and signature, that asks something else.
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
    """*case* with its texts as the settings say that they are read: folded, in their form."""
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
            score_of(recipe_of(work.metric), work.signature_id, case, of, answers)
            for (work, case), of in zip(cases, parts, strict=True)
        ]
        spans |= {place: answer for place, answer in fresh.items() if isinstance(answer, SpanLogprob)}
    return Scored(scores, spans, take_remarks(lm))

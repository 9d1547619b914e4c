"""Grades items by the replies of an LM: one grade or one problem for each item.

If a reply cannot be read, the chat is sent again with another seed. If no reply can be read, the item gets no score but
a problem with the reason. There is no default score.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gre_bench.core.errors import SettingsError
from gre_bench.core.records import Problem, Sampling, Writer
from gre_bench.examiners import answers
from gre_bench.examiners.aggregation import approximation, aspect_mean
from gre_bench.examiners.asking import FREE, ChatOutcome, Cost, ask
from gre_bench.examiners.examiner import Examiner
from gre_bench.examiners.wordings import Item, chats, filter_chat

TOP_P = 0.1
"""Top-p of all requests (Kim et al. 2023, §5.1)."""
SHORT, LONG = 64, 1000
"""Token limits: of a reply that is a score alone, and of one with reasons or aspects."""


@dataclass(frozen=True, slots=True)
class Grade:
    """The grade of one item: either a *value* on the examiner's scale, or the *problem* that replaces it.

    - *parts*: the score of each aspect, by its name; the name ``overall`` stands for the text as a whole.
    - *rationales*: the reasons that the LM gave, by aspect.
    - *filtered*: whether the LM called the text redundant, which gives it the lowest score.
    - *mass*: for the aggregation logprob, the total probability of the declared scores, by aspect.
    - *cost*: the replies and tokens that the grade took.
    """

    item_id: str
    value: float | None
    problem: Problem | None = None
    parts: dict[str, float] = field(default_factory=dict)
    rationales: dict[str, str] = field(default_factory=dict)
    filtered: bool = False
    mass: dict[str, float] = field(default_factory=dict)
    cost: Cost = FREE

    def __post_init__(self) -> None:
        if (self.value is None) == (self.problem is None):
            raise ValueError(f"a grade has a value or a problem, not both or neither: {self}")


def samplings(examiner: Examiner, base: Sampling | None = None) -> list[Sampling]:
    """Returns the sampling options of each request for one chat.

    The aggregation ``approximation`` sends several requests at temperature 1, each with its own seed. The other
    aggregations send one request at temperature 0. *base* holds the LM's own options. An option that is None in *base*
    stays None. The token limit of *base* counts if it is higher than the default.
    """
    base = base or Sampling(0.0, SHORT if examiner.form.bare else LONG, TOP_P)
    heat = 1.0 if examiner.aggregation == "approximation" else 0.0
    sampling = replace(
        base,
        temperature=None if base.temperature is None else heat,
        top_p=None if base.top_p is None and base.temperature is None else TOP_P,
        max_tokens=max(base.max_tokens, SHORT if examiner.form.bare else LONG),
    )
    return [replace(sampling, seed=seed) for seed in range(examiner.times)] if examiner.times > 1 else [sampling]


def grade(examiner: Examiner, items: Sequence[Item], asker: Writer | None, base: Sampling | None = None) -> list[Grade]:
    """Grades *items* by the replies of the LM *asker*; returns one grade per item, in order, before binning.

    This covers the aggregations direct and approximation. *asker* may be None for the random baseline only. *base*
    holds the LM's own sampling options. Raises `SettingsError` for the aggregation logprob, or if *asker* is missing.
    """
    if examiner.form.answer == "nothing":
        return [_random(examiner, item) for item in items]
    if examiner.aggregation == "logprob":
        raise SettingsError(f"examiner {examiner.name} needs an evaluation LM, or a writer that gives probabilities")
    if asker is None:
        raise SettingsError(f"examiner {examiner.name} needs an LM to ask")
    verdicts = redundant(examiner, items, asker, base)
    results: dict[int, Grade] = {}
    for index, (item, filter_outcome) in enumerate(zip(items, verdicts, strict=True)):
        if filter_outcome is not None and filter_outcome.read is not False:
            results[index] = filtered(examiner, item, filter_outcome)
    due = [index for index in range(len(items)) if index not in results]
    asking = [chat for index in due for chat in chats(examiner, items[index])]
    each = len(examiner.aspects)
    by_sampling = [
        ask(asker, asking, sampling, lambda text: _read(examiner, text)) for sampling in samplings(examiner, base)
    ]
    for turn, index in enumerate(due):
        mine = [[outcomes[turn * each + part] for outcomes in by_sampling] for part in range(each)]
        before = verdict.cost if (verdict := verdicts[index]) else FREE
        results[index] = _graded(examiner, items[index], mine, before)
    return [results[index] for index in range(len(items))]


def redundant(
    examiner: Examiner, items: Sequence[Item], asker: Writer, base: Sampling | None = None
) -> list[ChatOutcome[bool] | None]:
    """Asks the LM *asker* whether the text of each item is redundant; returns one outcome per item.

    If the setting *filtering* of *examiner* is off, nothing is asked, and each outcome is None. *base* holds the LM's
    own sampling options.
    """
    if not examiner.filtering:
        return [None] * len(items)
    plain = examiner.model_copy(update={"aggregation": "direct", "samples": None, "mass": None})
    [sampling] = samplings(plain, base)
    return list(ask(asker, [filter_chat(examiner, item) for item in items], sampling, answers.yes_or_no))


def filtered(examiner: Examiner, item: Item, verdict: ChatOutcome[bool]) -> Grade:
    """Returns the grade of an *item* that did not pass the filter of redundant texts.

    *verdict* is the outcome of the filter's chat. If the LM called the text redundant, the grade is the lowest score.
    If the LM gave no usable answer, the grade holds that problem.
    """
    if isinstance(verdict.read, Problem):
        return Grade(
            item.item_id, None, replace(verdict.read, message=f"filter: {verdict.read.message}"), cost=verdict.cost
        )
    return Grade(item.item_id, examiner.form.scale.low, filtered=True, cost=verdict.cost)


def _read(examiner: Examiner, text: str) -> dict[str, float]:
    """Returns the scores in the reply *text*, by the name of the aspect.

    If the template asks about one aspect at a time, the reply has one score, which is returned under an empty name.
    """
    form = examiner.form
    if form.answer == "aspects":
        return answers.aspects(text, form.scale, form.aspects, repeats=form.repeats)
    return {"": answers.score(text, form.scale)}


def _graded(
    examiner: Examiner, item: Item, outcomes: list[list[ChatOutcome[dict[str, float]]]], filter_cost: Cost
) -> Grade:
    """Returns the grade of *item* from the outcomes of its chats.

    - *outcomes*: for each aspect, the outcomes of its samples.
    - *filter_cost*: the cost of the chat that filtered redundant texts; it is added to the cost of the others.
    """
    cost = sum((sample.cost for part in outcomes for sample in part), filter_cost)
    parts: dict[str, float] = {}
    reasons: dict[str, str] = {}
    for aspect, samples in zip(examiner.aspects, outcomes, strict=True):
        read = [sample.read for sample in samples if isinstance(sample.read, dict)]
        problem = _first_problem(samples, aspect)
        if problem and (not read or not problem.final):
            return Grade(item.item_id, None, problem, cost=cost)
        for name in read[0]:
            parts[name or aspect or "overall"] = approximation([scores[name] for scores in read])
        if examiner.form.rationale and (why := answers.rationale(samples[0].text)):
            reasons[aspect or "overall"] = why
    return Grade(item.item_id, aspect_mean(list(parts.values())), None, parts, reasons, cost=cost)


def _first_problem(samples: list[ChatOutcome[dict[str, float]]], aspect: str | None) -> Problem | None:
    """Returns the first problem among *samples*, the outcomes for one *aspect*; None if there is none.

    The aspect's name is put before the problem's message. Problems that the next run may solve come before final
    problems.
    """
    problems = sorted(
        (sample.read for sample in samples if isinstance(sample.read, Problem)), key=lambda problem: problem.final
    )
    if not problems:
        return None
    return replace(problems[0], message=f"{aspect}: {problems[0].message}") if aspect else problems[0]


def _random(examiner: Examiner, item: Item) -> Grade:
    """Returns a random grade, uniform on the examiner's scale (Kotonya et al. 2023, Table 8).

    The item's id seeds the random number, so an item always gets the same grade.
    """
    value = random.Random(f"random examiner {item.item_id}").uniform(examiner.form.scale.low, examiner.form.scale.high)
    return Grade(item.item_id, value, parts={"overall": value})

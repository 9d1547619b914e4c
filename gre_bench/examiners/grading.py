"""Grades items with an LM that writes: one grade or one problem for each item.

An unreadable reply is requested again with another seed. If the last one is unreadable too, the grade is missing, with
its reason, and is counted. There is no default score.
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
"""The top-p of all sampled replies (Kim et al. 2023, §5.1)."""
SHORT, LONG = 64, 1000
"""Token limits of a reply that is a score alone, and of one with reasons or aspects."""


@dataclass(frozen=True, slots=True)
class Grade:
    """The grade of one item, or the problem that replaces it: exactly one of the two.

    *parts*: the score of each aspect (``overall`` for the text as a whole). *filtered*: the LM called the text
    redundant, so it gets the lowest score. *mass*: with logprob, the total probability of the declared scores, by
    aspect.
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
    """Returns the sampling of each request: one at temperature 0, or *n* at temperature 1 with a seed each.

    *base* holds the model's own sampling: values that it omits (None) stay omitted, and its token limit is kept if
    higher.
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
    """Returns one grade or problem for each of *items*, in order, before binning.

    For the aggregations direct and approximation. *asker* is None only for the random baseline, which asks no LM.
    """
    if examiner.form.answer == "nothing":
        return [_random(examiner, item) for item in items]
    if examiner.aggregation == "logprob":
        raise SettingsError(f"examiner {examiner.name} needs an evaluation LM, or a writer that gives probabilities")
    if asker is None:
        raise SettingsError(f"examiner {examiner.name} needs an LM to ask")
    verdicts = redundant(examiner, items, asker, base)
    results: dict[int, Grade] = {}
    for index, (item, asked) in enumerate(zip(items, verdicts, strict=True)):
        if asked is not None and asked.read is not False:
            results[index] = filtered(examiner, item, asked)
    due = [index for index in range(len(items)) if index not in results]
    asking = [chat for index in due for chat in chats(examiner, items[index])]
    each = len(examiner.aspects)
    said = [ask(asker, asking, sampling, lambda text: _read(examiner, text)) for sampling in samplings(examiner, base)]
    for turn, index in enumerate(due):
        mine = [[one[turn * each + part] for one in said] for part in range(each)]
        before = verdict.cost if (verdict := verdicts[index]) else FREE
        results[index] = _graded(examiner, items[index], mine, before)
    return [results[index] for index in range(len(items))]


def redundant(
    examiner: Examiner, items: Sequence[Item], asker: Writer, base: Sampling | None = None
) -> list[ChatOutcome[bool] | None]:
    """Returns whether the LM calls each text redundant; None for each if the examiner does not filter."""
    if not examiner.filtering:
        return [None] * len(items)
    plain = examiner.model_copy(update={"aggregation": "direct", "samples": None, "mass": None})
    [sampling] = samplings(plain, base)
    return list(ask(asker, [filter_chat(examiner, item) for item in items], sampling, answers.yes_or_no))


def filtered(examiner: Examiner, item: Item, asked: ChatOutcome[bool]) -> Grade:
    """Returns the grade of an *item* that the filter called redundant, or could not judge."""
    if isinstance(asked.read, Problem):
        return Grade(item.item_id, None, replace(asked.read, message=f"filter: {asked.read.message}"), cost=asked.cost)
    return Grade(item.item_id, examiner.form.scale.low, filtered=True, cost=asked.cost)


def _read(examiner: Examiner, text: str) -> dict[str, float]:
    """Returns the scores in a reply: of all aspects, or of the requested one."""
    form = examiner.form
    if form.answer == "aspects":
        return answers.aspects(text, form.scale, form.aspects, repeats=form.repeats)
    return {"": answers.score(text, form.scale)}


def _graded(examiner: Examiner, item: Item, said: list[list[ChatOutcome[dict[str, float]]]], before: Cost) -> Grade:
    """Returns the grade of *item* from the replies about each aspect; *before* is the filter's cost."""
    cost = sum((sample.cost for part in said for sample in part), before)
    parts: dict[str, float] = {}
    reasons: dict[str, str] = {}
    for aspect, samples in zip(examiner.aspects, said, strict=True):
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
    """Returns the first problem among *samples*; one that may pass comes before a final one, so the next run tries
    again.
    """
    problems = sorted(
        (sample.read for sample in samples if isinstance(sample.read, Problem)), key=lambda problem: problem.final
    )
    if not problems:
        return None
    return replace(problems[0], message=f"{aspect}: {problems[0].message}") if aspect else problems[0]


def _random(examiner: Examiner, item: Item) -> Grade:
    """Grades at random: uniform over the scale, always equal for an item (Kotonya et al. 2023, Table 8)."""
    value = random.Random(f"random examiner {item.item_id}").uniform(examiner.form.scale.low, examiner.form.scale.high)
    return Grade(item.item_id, value, parts={"overall": value})

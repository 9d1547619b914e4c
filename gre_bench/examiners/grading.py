"""Combines several scores of one text, or the probabilities of its possible scores, into one score.

The three aggregations are those of Kim et al. 2023, §4.2:

    direct         the score that the LM states
    logprob        Σ p(sᵢ)·sᵢ over the declared scores (eq. 1); ``normalised`` divides it by Σ p(sᵢ), ``raw`` does not
    approximation  Σ g(sᵢ)·sᵢ, where g(sᵢ) is the share of sᵢ in n samples (eq. 2 and 3)

The declared scores are those that the prompt lists. p(sᵢ) is the probability that the reply is sᵢ and then ends. The
reply "10" therefore does not count as the reply "1", and the declared scores exclude each other.

Sends chats to an LM, reads a value from each reply, and counts the cost.

A chat is sent again if its reply cannot be read.

Grades items by the replies of an LM: one grade or one problem for each item.

If a reply cannot be read, the chat is sent again with another seed. If no reply can be read, the item gets no score but
a problem with the reason. There is no default score.

Binning makes close scores equal (Kim et al. 2023, §4.4), so that noise does not rank them.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Literal, TypeVar

import numpy as np

from gre_bench.core.errors import ReplyError, SettingsError
from gre_bench.core.records import Chat, Problem, Reply, Sampling, Writer
from gre_bench.core.replies import without_thinking
from gre_bench.examiners import answers
from gre_bench.examiners.answers import hallucinated_answers
from gre_bench.examiners.examiner import Binning, Examiner, Item, chats, filter_chat

Mass = Literal["normalised", "raw"]


@dataclass(frozen=True, slots=True)
class Weighted:
    """A mean score, weighted by the probability of each declared score.

    - *score*: the weighted mean.
    - *mass*: the total probability that the reply is one of the declared scores, from 0 to 1.
    """

    score: float
    mass: float


def logprob(logprobs: Sequence[float], scores: Sequence[float], mass: Mass = "normalised") -> Weighted:
    """Returns the mean of *scores*, each weighted by its probability.

    - *logprobs*: the log-probability of each score, in nats.
    - *mass*: ``normalised`` divides the weighted sum by the total probability; ``raw`` leaves the sum as it is.

    The largest log-probability is subtracted first, because a base model may give all declared scores together a
    probability of only e⁻⁵⁰. Raises `ValueError` for unequal lengths or a log-probability that is not finite.
    """
    if len(logprobs) != len(scores) or not scores:
        raise ValueError(f"{len(scores)} scores but {len(logprobs)} log-probabilities")
    if not all(map(math.isfinite, logprobs)):
        raise ValueError("a log-probability is not finite")
    top = max(logprobs)
    weights = [math.exp(value - top) for value in logprobs]
    total = math.exp(top) * math.fsum(weights)
    mean = math.fsum(weight * score for weight, score in zip(weights, scores, strict=True)) / math.fsum(weights)
    return Weighted(mean if mass == "normalised" else total * mean, total)


def approximation(samples: Sequence[float]) -> float:
    """Returns the mean of *samples*, the scores that the LM gave in several replies to the same chat.

    The mean is computed as Σ g(s)·s, where g(s) is the share of the score s among the samples.
    """
    shares = {score: count / len(samples) for score, count in Counter(samples).items()}
    return math.fsum(share * score for score, share in shares.items())


def aspect_mean(parts: Sequence[float]) -> float:
    """Returns the unweighted mean of *parts*, the scores of the aspects (Kim et al. 2023, §5.1)."""
    return math.fsum(parts) / len(parts)


RETRIES = 2
"""Number of times that a chat is sent again, with another seed, if its reply cannot be read."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cost:
    """The number of replies and tokens that grading took.

    - *replies*: the number of replies received.
    - *unparsable*: the number of replies that could not be read.
    - *prompt_tokens*, *reply_tokens*: the numbers of tokens, as the endpoint states them.
    - *hallucinated*: the number of replies with an "Answer:" that nobody requested.
    """

    replies: int = 0
    unparsable: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0
    hallucinated: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.replies + other.replies,
            self.unparsable + other.unparsable,
            self.prompt_tokens + other.prompt_tokens,
            self.reply_tokens + other.reply_tokens,
            self.hallucinated + other.hallucinated,
        )


FREE = Cost()


@dataclass(frozen=True, slots=True)
class ChatOutcome(Generic[T]):
    """The outcome of one chat, after all attempts.

    - *read*: the value read from the last reply, or the problem if no value could be read.
    - *cost*: the cost of all attempts.
    - *text*: the last reply without the LM's thinking; empty if there was no usable reply.
    """

    read: T | Problem
    cost: Cost
    text: str = ""


def ask(asker: Writer, chats: Sequence[Chat], sampling: Sampling, read: Callable[[str], T]) -> list[ChatOutcome[T]]:
    """Sends each of *chats* to the LM *asker*, and returns one outcome per chat, in the same order.

    *read* turns the text of a reply into a value. If *read* raises `ReplyError`, the chat is sent again with another
    seed, at most `RETRIES` times.
    """
    outcomes: list[ChatOutcome[T]] = [ChatOutcome(Problem("not_asked", "not asked"), Cost())] * len(chats)
    due = list(range(len(chats)))
    for attempt in range(RETRIES + 1):
        if not due:
            break
        seed = (sampling.seed or 0) + 1000 * attempt
        replies = asker.write([chats[index] for index in due], replace(sampling, seed=seed) if attempt else sampling)
        again = []
        for index, reply in zip(due, replies, strict=True):
            outcome = _outcome(reply, read)
            outcomes[index] = replace(outcome, cost=outcomes[index].cost + outcome.cost)
            if outcome.cost.unparsable:
                again.append(index)
        due = again
    return outcomes


def _outcome(reply: Reply, read: Callable[[str], T]) -> ChatOutcome[T]:
    cost = Cost(reply.text is not None, 0, reply.prompt_tokens or 0, reply.reply_tokens or 0)
    if reply.outcome not in ("ok", "cut") or not reply.text:
        return ChatOutcome(Problem(reply.outcome, reply.detail or reply.outcome, reply.final), cost)
    text, _ = without_thinking(reply.text)
    cost = replace(cost, hallucinated=int(hallucinated_answers(text) > 0))
    if reply.outcome == "cut":
        # The last word may be cut: "10" of 100.
        text = text[: len(text) - len(text.split()[-1])] if text.split() and not text[-1].isspace() else text
    try:
        return ChatOutcome(read(text), cost, text)
    except ReplyError as error:
        problem = f"the reply cannot be read ({error}): {' '.join(text.split())[:80]!r}"
        return ChatOutcome(Problem("unparsable", problem), replace(cost, unparsable=1), text)


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


@dataclass(frozen=True, slots=True)
class Binned:
    """The result of binning a list of scores.

    - *values*: the scores after binning, in their original order.
    - *before*, *after*: the numbers of distinct scores before and after binning.
    """

    values: list[float]
    before: int
    after: int


def binned(values: Sequence[float], binning: Binning, low: float, high: float) -> Binned:
    """Returns *values*, each replaced by the middle (``equal_width``) or the mean (``quantile``) of its bin.

    Bins of equal width divide the scale from *low* to *high*. Quantile bins never separate equal values, so there may
    be fewer bins than *binning* requests. Kim et al. do not state their bins, only the results: 36 distinct scores
    became 10, and 46 became 13. Raises `ValueError` if a value is off the scale.
    """
    if not all(low <= value <= high for value in values):
        raise ValueError(f"a value is outside {low:g} to {high:g}")
    if binning.method == "equal_width":
        out = _equal_width(values, binning.bins, low, high)
    else:
        out = _quantile(values, binning.bins)
    return Binned(out, len(set(values)), len(set(out)))


def bin_grades(examiner: Examiner, grades: Sequence[Grade]) -> tuple[list[Grade], Binned]:
    """Bins the values of *grades* as the settings of *examiner* say.

    Returns the grades with their new values, and the `Binned` values of all grades that have one. If the settings have
    no binning, the grades stay unchanged.
    """
    values = [grade.value for grade in grades if grade.value is not None]
    if examiner.binning is None:
        return list(grades), Binned(values, len(set(values)), len(set(values)))
    bins = binned(values, examiner.binning, examiner.form.scale.low, examiner.form.scale.high)
    new = iter(bins.values)
    return [grade if grade.value is None else replace(grade, value=next(new)) for grade in grades], bins


def _equal_width(values: Sequence[float], bins: int, low: float, high: float) -> list[float]:
    width = (high - low) / bins
    indices = [min(bins - 1, math.floor((value - low) / width)) for value in values]
    return [low + (index + 0.5) * width for index in indices]


def _quantile(values: Sequence[float], bins: int) -> list[float]:
    if not values:
        return []
    numbers = np.asarray(values, dtype=np.float64)
    edges = np.unique(np.quantile(numbers, np.arange(1, bins) / bins))
    indices = np.searchsorted(edges, numbers, side="left")
    means = {index: float(numbers[indices == index].mean()) for index in np.unique(indices).tolist()}
    return [means[index] for index in indices.tolist()]

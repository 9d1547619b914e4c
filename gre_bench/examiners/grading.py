"""Grades texts (items) by an LM's replies, or by the probabilities of possible replies.

If a reply cannot be parsed, the chat is repeated with another seed. If no reply can be parsed, the item gets a problem
with the reason instead of a grade. There is no default grade.

Several scores, or the probabilities of possible scores, are aggregated as in Kim et al. 2023, §4.2:

    direct         the score that the LM states
    logprob        Σ p(sᵢ)·sᵢ over the declared scores (eq. 1); ``normalised`` divides it by Σ p(sᵢ), ``raw`` does not
    approximation  Σ g(sᵢ)·sᵢ, where g(sᵢ) is the share of sᵢ in n samples (eq. 2 and 3)

The declared scores are the scores that the prompt lists; a spelling is a declared score as the reply writes it. p(sᵢ)
is the probability that the reply is sᵢ and then ends. So the reply "10" does not count as the reply "1", and the
declared scores are mutually exclusive.

The probabilities come from an evaluation LM, or from the likeliest tokens that an endpoint lists at each position of
one reply. In the second case, the probability of the score in the reply is the product over its tokens. For any other
score, the endpoint can list only the first token. That is enough if this token is the whole score and no other declared
score begins with it. Otherwise the score counts as impossible. The endpoint does not say whether the reply would have
ended after a score. If a longer declared score begins with the same token (1 and 10), the tokens listed at the next
position decide.

Binning makes close scores equal (Kim et al. 2023, §4.4), so that noise does not rank them.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import fmean
from typing import TypeVar

import numpy as np

from gre_bench.core import asking
from gre_bench.core.asking import FREE, ChatCost, ChatOutcome
from gre_bench.core.errors import ReplyError, SettingsError, SpanError
from gre_bench.core.records import (
    Case,
    Chat,
    Completion,
    LMIdentity,
    Problem,
    Sampling,
    Score,
    SpanLogprob,
    Writer,
    digest,
    explain_missing_text,
    make_score,
)
from gre_bench.core.replies import without_thinking
from gre_bench.examiners import answers
from gre_bench.examiners.examiner import (
    Binning,
    Examiner,
    GradingItem,
    Mass,
    build_grading_chats,
    build_redundant_text_filter_chat,
)
from gre_bench.examiners.templates import Scale
from gre_bench.lm.protocol import ChatLM, compute_checked_span_logprobs

TOP_P = 0.1
"""The top-p of all requests (Kim et al. 2023, §5.1)."""
SHORT, LONG = 64, 1000
"""Token limits of a reply that is only a score, and of a reply with reasons or aspects."""

YES_NO = ("Yes", "No")
TOGETHER = 2048
"""How many replies, approximately, are scored in one call, to limit memory. Replies to one chat stay together."""

T = TypeVar("T")
Question = tuple[Chat, Sequence[str]]
"""A chat and its possible replies."""


@dataclass(frozen=True, slots=True)
class Grade:
    """The grade of one item: either a *value* on the examiner's scale, or the *problem* that replaces it.

    - *parts*, *rationales*: aspect → score, and aspect → reasons; ``overall`` is the text as a whole.
    - *filtered*: whether the LM called the text redundant, which gives it the lowest score.
    - *mass*: if the aggregation is ``logprob``, aspect → total probability of the declared scores.
    """

    item_id: str
    value: float | None
    problem: Problem | None = None
    parts: dict[str, float] = field(default_factory=dict)
    rationales: dict[str, str] = field(default_factory=dict)
    filtered: bool = False
    mass: dict[str, float] = field(default_factory=dict)
    cost: ChatCost = FREE

    def __post_init__(self) -> None:
        if (self.value is None) == (self.problem is None):
            raise ValueError(f"a grade has a value or a problem, not both or neither: {self}")


@dataclass(frozen=True, slots=True)
class WeightedScore:
    """The aggregated *score* of one aspect. *mass*: the total probability of the declared scores, from 0 to 1."""

    score: float
    mass: float


def compute_logprob_weighted_score(
    logprobs: Sequence[float], scores: Sequence[float], mass: Mass = "normalised"
) -> WeightedScore:
    """Returns Σ p(s)·s over *scores*, divided by Σ p(s) if *mass* is ``normalised``.

    *logprobs*: the log-probability of each score, in nats. The largest of them is subtracted first, because the total
    probability may be as small as e⁻⁵⁰ with a base model. Raises `ValueError` for unequal lengths, or a log-probability
    that is not finite.
    """
    if len(logprobs) != len(scores) or not scores:
        raise ValueError(f"{len(scores)} scores but {len(logprobs)} log-probabilities")
    if not all(map(math.isfinite, logprobs)):
        raise ValueError("a log-probability is not finite")
    top = max(logprobs)
    weights = [math.exp(value - top) for value in logprobs]
    total = math.exp(top) * math.fsum(weights)
    mean = math.fsum(weight * score for weight, score in zip(weights, scores, strict=True)) / math.fsum(weights)
    return WeightedScore(mean if mass == "normalised" else total * mean, total)


def average_sampled_scores(samples: Sequence[float]) -> float:
    """Returns Σ g(s)·s over the scores s of several replies to the same chat; g(s) is the share of s in *samples*."""
    shares = {score: count / len(samples) for score, count in Counter(samples).items()}
    return math.fsum(share * score for score, share in shares.items())


def list_sampling_settings(examiner: Examiner, base: Sampling | None = None) -> list[Sampling]:
    """Returns the sampling options of each request for one chat.

    *base*: the LM's own options. The aggregation ``approximation`` sends several requests at temperature 1, each with
    its own seed. Other aggregations send one request at temperature 0. But a temperature of None in *base* stays None.
    Top-p is `TOP_P`, or None if *base* has neither temperature nor top-p. The token limit is that of *base* or the
    default, whichever is higher.
    """
    limit = SHORT if examiner.form.bare else LONG
    base = base or Sampling(0.0, limit, TOP_P)
    heat = 1.0 if examiner.aggregation == "approximation" else 0.0
    sampling = replace(
        base,
        temperature=None if base.temperature is None else heat,
        top_p=None if base.top_p is None and base.temperature is None else TOP_P,
        max_tokens=max(base.max_tokens, limit),
    )
    return [replace(sampling, seed=seed) for seed in range(examiner.times)] if examiner.times > 1 else [sampling]


def choose_filter_sampling(examiner: Examiner, base: Sampling | None = None) -> Sampling:
    """Returns the sampling options of the chat that filters redundant texts: one request for any aggregation."""
    return list_sampling_settings(examiner.model_copy(update={"aggregation": "direct"}), base)[0]


def ask_and_parse(
    asker: Writer, chats: Sequence[Chat], sampling: Sampling, read: Callable[[str], T]
) -> list[ChatOutcome[T]]:
    """Sends each of *chats* to the LM *asker*, and returns one outcome per chat, in the same order.

    *read*: parses a reply without the LM's thinking; returns a value, or raises `ReplyError`.
    """

    def parse_reply(reply: Completion) -> ChatOutcome[T]:
        cost = ChatCost(int(reply.text is not None), 0, reply.prompt_tokens or 0, reply.reply_tokens or 0)
        if reply.outcome not in ("ok", "cut") or not reply.text:
            return ChatOutcome(Problem(reply.outcome, reply.detail or reply.outcome, reply.final), cost)
        text, _ = without_thinking(reply.text)
        cost = replace(cost, hallucinated=int(answers.count_hallucinated_answers(text) > 0))
        if reply.outcome == "cut":
            # The last word may be truncated: "10" instead of "100".
            text = text[: len(text) - len(text.split()[-1])] if text.split() and not text[-1].isspace() else text
        try:
            return ChatOutcome(read(text), cost, text)
        except ReplyError as error:
            problem = f"the reply cannot be read ({error}): {' '.join(text.split())[:80]!r}"
            return ChatOutcome(Problem("unparsable", problem), replace(cost, unparsable=1), text)

    return asking.request_chat_outcomes(asker, chats, sampling, parse_reply, step=1000)


def grade_by_replies(
    examiner: Examiner, items: Sequence[GradingItem], asker: Writer | None, base: Sampling | None = None
) -> list[Grade]:
    """Grades *items* by the replies of the LM *asker*; returns one grade per item, in order, before binning.

    *asker*: None only for the random baseline. *base*: the LM's own sampling options. Raises `SettingsError` if the
    examiner's aggregation is ``logprob``, or if *asker* is missing.
    """
    form = examiner.form
    if form.answer == "nothing":
        # Kotonya et al. 2023, Table 8. The item's id is the random seed, so an item always gets the same grade.
        numbers = (random.Random(f"random examiner {item.item_id}") for item in items)
        values = [number.uniform(form.scale.low, form.scale.high) for number in numbers]
        return [Grade(item.item_id, value, parts={"overall": value}) for item, value in zip(items, values, strict=True)]
    if examiner.aggregation == "logprob":
        raise SettingsError(f"examiner {examiner.name} needs an evaluation LM, or a writer that gives probabilities")
    if asker is None:
        raise SettingsError(f"examiner {examiner.name} needs an LM to ask")

    def parse_scores(text: str) -> dict[str, float]:
        """Returns aspect → score in a reply; the aspect of a score without a name is ""."""
        if form.answer == "aspects":
            return answers.parse_aspect_scores(text, form.scale, form.aspects, repeats=form.repeats)
        return {"": answers.score(text, form.scale)}

    results, due = grade_redundant_items(examiner, items, asker, base)
    all_chats = [chat for index in due for chat in build_grading_chats(examiner, items[index])]
    by_sampling = [
        ask_and_parse(asker, all_chats, sampling, parse_scores) for sampling in list_sampling_settings(examiner, base)
    ]
    each = len(examiner.aspects)
    for turn, (index, filter_cost) in enumerate(due.items()):
        mine = [[outcomes[turn * each + part] for outcomes in by_sampling] for part in range(each)]
        results[index] = _grade_from_outcomes(examiner, items[index], mine, filter_cost)
    return [results[index] for index in range(len(items))]


def grade_redundant_items(
    examiner: Examiner, items: Sequence[GradingItem], asker: Writer, base: Sampling | None = None
) -> tuple[dict[int, Grade], dict[int, ChatCost]]:
    """Asks the LM *asker* which *items* are redundant; without a filter, none is.

    Returns two dicts: index → grade of each redundant item (or item whose chat failed), and index → cost of the chat
    about each other item.
    """
    if not examiner.filtering:
        return {}, dict.fromkeys(range(len(items)), FREE)
    questions = [build_redundant_text_filter_chat(examiner, item) for item in items]
    verdicts = ask_and_parse(asker, questions, choose_filter_sampling(examiner, base), answers.parse_yes_or_no)
    grades = {
        index: grade_filtered_item(examiner, items[index], verdict)
        for index, verdict in enumerate(verdicts)
        if verdict.read is not False
    }
    return grades, {index: verdict.cost for index, verdict in enumerate(verdicts) if index not in grades}


def grade_filtered_item(examiner: Examiner, item: GradingItem, verdict: ChatOutcome[bool]) -> Grade:
    """Returns the grade of a redundant item, which is the lowest score, or the problem of the filter's chat.

    *verdict*: whether the item is redundant, or the problem.
    """
    if isinstance(verdict.read, Problem):
        problem = replace(verdict.read, message=f"filter: {verdict.read.message}")
        return Grade(item.item_id, None, problem, cost=verdict.cost)
    return Grade(item.item_id, examiner.form.scale.low, filtered=True, cost=verdict.cost)


def _grade_from_outcomes(
    examiner: Examiner, item: GradingItem, outcomes: list[list[ChatOutcome[dict[str, float]]]], filter_cost: ChatCost
) -> Grade:
    """Returns the grade of *item*. *outcomes*: for each aspect, the outcomes of its samples (replies to the same chat).

    If a sample has a problem that is not final, the item gets that problem. Samples with a final problem are left out;
    if an aspect has no other samples, the item gets the final problem.
    """
    cost = sum((sample.cost for part in outcomes for sample in part), filter_cost)
    parts: dict[str, float] = {}
    reasons: dict[str, str] = {}
    for aspect, samples in zip(examiner.aspects, outcomes, strict=True):
        read = [sample.read for sample in samples if isinstance(sample.read, dict)]
        problems = [sample.read for sample in samples if isinstance(sample.read, Problem)]
        problem = min(problems, key=lambda problem: problem.final, default=None)
        if problem and (not read or not problem.final):
            message = f"{aspect}: {problem.message}" if aspect else problem.message
            return Grade(item.item_id, None, replace(problem, message=message), cost=cost)
        for name in read[0]:
            parts[name or aspect or "overall"] = average_sampled_scores([scores[name] for scores in read])
        if examiner.form.rationale and (why := answers.extract_rationale(samples[0].text)):
            reasons[aspect or "overall"] = why
    return Grade(item.item_id, fmean(parts.values()), None, parts, reasons, cost=cost)


@dataclass(frozen=True, slots=True)
class BinnedScores:
    """Scores after binning, in their original order; *before*, *after*: the numbers of distinct scores."""

    values: list[float]
    before: int
    after: int


def bin_scores(values: Sequence[float], binning: Binning, low: float, high: float) -> BinnedScores:
    """Returns *values*, each replaced by the middle (``equal_width``) or the mean (``quantile``) of its bin.

    Bins of equal width divide the scale from *low* to *high*. Quantile bins never separate equal values, so there may
    be fewer bins than requested. Kim et al. do not state their bins, only the results: 36 distinct scores became 10,
    and 46 became 13. Raises `ValueError` if a value is off the scale.
    """
    if not all(low <= value <= high for value in values):
        raise ValueError(f"a value is outside {low:g} to {high:g}")
    bins = binning.bins
    if binning.method == "equal_width":
        width = (high - low) / bins
        out = [low + (min(bins - 1, math.floor((value - low) / width)) + 0.5) * width for value in values]
    elif values:
        numbers = np.asarray(values, dtype=np.float64)
        edges = np.unique(np.quantile(numbers, np.arange(1, bins) / bins))
        indices = np.searchsorted(edges, numbers, side="left")
        means = {index: float(numbers[indices == index].mean()) for index in np.unique(indices).tolist()}
        out = [means[index] for index in indices.tolist()]
    else:
        out = []
    return BinnedScores(out, len(set(values)), len(set(out)))


def bin_grades(examiner: Examiner, grades: Sequence[Grade]) -> tuple[list[Grade], BinnedScores]:
    """Returns *grades*, binned according to *examiner*, and the binned scores of all grades that have a value."""
    values = [grade.value for grade in grades if grade.value is not None]
    if examiner.binning is None:
        return list(grades), BinnedScores(values, len(set(values)), len(set(values)))
    bins = bin_scores(values, examiner.binning, examiner.form.scale.low, examiner.form.scale.high)
    new = iter(bins.values)
    return [grade if grade.value is None else replace(grade, value=next(new)) for grade in grades], bins


@dataclass(frozen=True, slots=True)
class Token:
    """A token of an endpoint's reply.

    *shown*: the likeliest tokens at the same position, each with its probability; the reply's token is always included.
    """

    text: str
    shown: tuple[tuple[str, float], ...]


def grade_by_lm(examiner: Examiner, items: Sequence[GradingItem], lm: ChatLM) -> list[Grade]:
    """Grades *items* by the evaluation LM *lm*; returns one grade per item, in order.

    The probability of a declared score is P(score and end of turn | chat). The aggregation ``direct`` takes the
    likeliest score. The filter calls a text redundant if Yes is likelier than No. Raises `SettingsError` if the
    aggregation is ``approximation``, or if the template asks for anything but one of the declared scores.
    """
    scale = _require_declared_scale(examiner)
    if examiner.aggregation == "approximation":
        raise SettingsError(f"examiner {examiner.name}: an evaluation LM cannot write, so nothing can be sampled")
    questions: list[Question] = [
        (chat, scale.spellings) for item in items for chat in build_grading_chats(examiner, item)
    ]
    filters = (
        [(build_redundant_text_filter_chat(examiner, item), YES_NO) for item in items] if examiner.filtering else []
    )
    spans = _compute_reply_logprobs([*questions, *filters], lm)
    each = len(examiner.aspects)
    grades = []
    for index, item in enumerate(items):
        if filters:
            odds = spans[len(questions) + index]
            verdict = ChatOutcome(odds if isinstance(odds, Problem) else odds[0] > odds[1])
            if verdict.read is not False:
                grades.append(grade_filtered_item(examiner, item, verdict))
                continue
        grades.append(_grade_from_logprobs(examiner, item, spans[index * each : (index + 1) * each]))
    return grades


def grade_by_endpoint(
    examiner: Examiner, items: Sequence[GradingItem], asker: Writer, writer: Writer, base: Sampling | None = None
) -> list[Grade]:
    """Grades *items* by the likeliest tokens of an endpoint; returns one grade per item, in order.

    *asker*: returns replies with the likeliest tokens (`gre_bench.writing.http_writer.LogprobWriter`). *writer*:
    returns plain replies, for the filter of redundant texts. *base*: the LM's own sampling options. Raises
    `SettingsError` if the template asks for anything but one of the declared scores.
    """
    scale, mass = _require_declared_scale(examiner), examiner.mass or "normalised"
    grades, due = grade_redundant_items(examiner, items, writer, base)
    all_chats = [chat for index in due for chat in build_grading_chats(examiner, items[index])]
    [sampling] = list_sampling_settings(examiner, base)
    outcomes = iter(
        ask_and_parse(asker, all_chats, sampling, lambda document: weighted(tokens_of(document), scale, mass))
    )
    for index, filter_cost in due.items():
        mine = {name: next(outcomes) for name in _list_aspect_names(examiner)}
        cost = sum((answer.cost for answer in mine.values()), filter_cost)
        problem = next((answer.read for answer in mine.values() if isinstance(answer.read, Problem)), None)
        seen = {name: answer.read for name, answer in mine.items() if not isinstance(answer.read, Problem)}
        if problem:
            grades[index] = Grade(items[index].item_id, None, problem, cost=cost)
        else:
            grades[index] = _grade_from_weighted_scores(items[index], seen, cost)
    return [grades[index] for index in range(len(items))]


def _require_declared_scale(examiner: Examiner) -> Scale:
    form = examiner.form
    if not form.bare or not form.scale.declared:
        raise SettingsError(
            f"examiner {examiner.name}: template {form.name} does not ask for a declared score alone, "
            "so scores have no probabilities"
        )
    return form.scale


def _compute_reply_logprobs(questions: Sequence[Question], lm: ChatLM) -> list[list[float] | Problem]:
    """Returns for each question the log-probabilities of its replies in nats, or the first problem among them."""
    results: list[list[float] | Problem] = []
    due: list[Question] = []
    for index, question in enumerate(questions, 1):
        due.append(question)
        if index < len(questions) and sum(len(replies) for _, replies in due) < TOGETHER:
            continue
        spans = iter(
            compute_checked_span_logprobs(
                lm, [replace(chat, reply=reply) for chat, replies in due for reply in replies]
            )
        )
        for chat, replies in due:
            mine = [next(spans) for _ in replies]
            error = next((span for span in mine if isinstance(span, SpanError)), None)
            if error is not None:
                results.append(Problem(error.code, f"{chat.user[:40]!r}: {error}", error.final, error.broken))
            else:
                results.append([span.total for span in mine if isinstance(span, SpanLogprob)])
        due = []
    return results


def _grade_from_logprobs(examiner: Examiner, item: GradingItem, answers: list[list[float] | Problem]) -> Grade:
    """Returns the grade of *item*. *answers*: for each aspect, the declared scores' log-probabilities, or a problem."""
    scale, seen = examiner.form.scale, {}
    for name, logprobs in zip(_list_aspect_names(examiner), answers, strict=True):
        if isinstance(logprobs, Problem):
            return Grade(item.item_id, None, replace(logprobs, message=f"{name}: {logprobs.message}"))
        seen[name] = compute_logprob_weighted_score(logprobs, scale.values, examiner.mass or "normalised")
        if examiner.aggregation != "logprob":
            seen[name] = replace(seen[name], score=scale.values[logprobs.index(max(logprobs))])
    return _grade_from_weighted_scores(item, seen)


def _grade_from_weighted_scores(item: GradingItem, seen: Mapping[str, WeightedScore], cost: ChatCost = FREE) -> Grade:
    parts = {name: each.score for name, each in seen.items()}
    mass = {name: each.mass for name, each in seen.items()}
    return Grade(item.item_id, fmean(parts.values()), None, parts, mass=mass, cost=cost)


def _list_aspect_names(examiner: Examiner) -> list[str]:
    return [aspect or "overall" for aspect in examiner.aspects]


def tokens_of(document: str) -> list[Token]:
    """Returns the tokens in *document*, a reply of `LogprobWriter`.

    Raises `ReplyError` if the joined tokens do not begin with the first 20 characters of the reply's text.
    """
    tree = json.loads(document)
    tokens = []
    for each in tree["tokens"]:
        shown = {token: math.exp(logprob) for token, logprob in each["top"]}
        shown.setdefault(each["token"], math.exp(each["logprob"]))
        tokens.append(Token(each["token"], tuple(shown.items())))
    spelt = "".join(token.text for token in tokens)
    if not spelt.strip().startswith(tree["text"].strip()[:20]):
        raise ReplyError("tokens_do_not_spell_the_reply")
    return tokens


def compute_score_probabilities(tokens: Sequence[Token], spellings: Sequence[str]) -> dict[str, float]:
    """Returns spelling → probability that the reply is exactly that spelling of a score.

    Only probabilities that *tokens* show are counted. *spellings*: all declared scores as the reply writes them.
    """
    return {spelling: _compute_spelling_probability(tokens, 0, spelling, spelling, spellings) for spelling in spellings}


def weighted(tokens: Sequence[Token], scale: Scale, mass: Mass = "normalised") -> WeightedScore:
    """Returns the mean of the declared scores of *scale*, weighted by the probabilities that *tokens* show.

    With *mass* ``normalised``, this is Σ p(s)·s / Σ p(s); with ``raw``, it is Σ p(s)·s. Raises `ReplyError` if the
    tokens do not show the probability of any declared score. Also raises it if the reply does not begin with the score
    that it states, as in "1 to 5, so 4".
    """
    shares = compute_score_probabilities(tokens, scale.spellings)
    total = math.fsum(shares.values())
    if total <= 0:
        raise ReplyError("no_declared_score_among_the_likeliest_tokens")
    _check_begins_with_score("".join(token.text for token in tokens).strip(), scale)
    product = math.fsum(shares[spelling] * value for spelling, value in scale.declared)
    return WeightedScore(product / total if mass == "normalised" else product, total)


def _check_begins_with_score(text: str, scale: Scale) -> None:
    """Raises `ReplyError` if the reply *text* states a score, but does not begin with it.

    Also raises it if *text* begins with a declared score, but states no score clearly.
    """
    worth = {spelling.lower(): value for spelling, value in scale.declared}
    longest_first = "|".join(map(re.escape, sorted(worth, key=len, reverse=True)))
    begins = re.match(longest_first, text, re.IGNORECASE)
    try:
        stated = answers.score(text, scale)
    except ReplyError:
        if begins:
            raise
        return
    if not begins or worth[begins[0].lower()] != stated:
        raise ReplyError("begins_with_another_score")


def _compute_spelling_probability(
    tokens: Sequence[Token], start: int, rest: str, whole: str, spellings: Sequence[str]
) -> float:
    """Returns the probability, as far as *tokens* show it, that the reply goes on with *rest* and then ends.

    *whole*: a declared score. *rest*: the part of *whole* that the tokens before *start* do not contain. *start*: the
    index of the token at which *rest* begins.
    """
    seen = 0.0
    for text, share in tokens[start].shown if start < len(tokens) else ():
        if not text:
            continue  # an end-of-turn token without text
        piece = text.lstrip() if rest == whole else text
        own = text == tokens[start].text
        if piece == rest:
            seen += share * _compute_ending_probability(tokens, start + 1 if own else None, whole, spellings)
        elif own and rest.startswith(piece):
            seen += share * _compute_spelling_probability(tokens, start + 1, rest[len(piece) :], whole, spellings)
    return seen


def _compute_ending_probability(
    tokens: Sequence[Token], following: int | None, whole: str, spellings: Sequence[str]
) -> float:
    """Returns the probability, as far as *tokens* show it, that the reply ends after the score *whole*.

    Only a digit, or the continuation of a longer declared score, counts as not ending.

    *following*: the index of the token after the score; None if the reply does not contain the score *whole*.
    """
    longer = [spelling[len(whole) :] for spelling in spellings if spelling != whole and spelling.startswith(whole)]
    if following is None or following >= len(tokens):
        return 0.0 if following is None and longer else 1.0
    goes_on = [
        share
        for text, share in tokens[following].shown
        if text[:1].isdigit() or (text and any(end.startswith(text) for end in longer))
    ]
    return max(0.0, 1.0 - math.fsum(goes_on))


Grader = Callable[[Sequence[GradingItem]], list[Grade]]


def grading_identity(
    examiner: Examiner, writer: str | None = None, base: Sampling | None = None, lm: LMIdentity | None = None
) -> LMIdentity:
    """Returns what signatures contain in place of an evaluation LM: the identity of *examiner* with the LM that grades.

    The LM is the evaluation LM *lm*, or a writer with the identity *writer* and the sampling options *base*.
    """
    description = f"examiner {examiner.identity}"
    if lm is not None:
        return replace(lm, engine_version=f"{lm.engine_version}, {description}")
    description += f", sampling {digest([asdict(sampling) for sampling in list_sampling_settings(examiner, base)])[:8]}"
    return LMIdentity(writer or "none", digest(writer or "none"), description, dtype="none")


def check_usable_as_metric(examiner: Examiner) -> None:
    """Raises `SettingsError` unless *examiner* grades reviews, each independently of the others."""
    if examiner.item != "review":
        raise SettingsError(f'examiner {examiner.name} is for summaries: as a metric, set item = "review"')
    if examiner.binning and examiner.binning.method != "equal_width":
        raise SettingsError(
            f"examiner {examiner.name}: quantile bins depend on the other graded texts; "
            'as a metric, set binning.method = "equal_width"'
        )


class ExaminerMetric:
    """A `Metric` that scores each case by the grade of the candidate's text; it needs no reference."""

    needs_reference = False

    def __init__(self, examiner: Examiner, grader: Grader, signature_id: str):
        check_usable_as_metric(examiner)
        self.examiner = examiner
        self.grader = grader
        self.signature_id = signature_id

    def score(self, cases: Sequence[Case]) -> list[Score]:
        lacks = [explain_missing_text(case) for case in cases]
        able = [case for case, lack in zip(cases, lacks, strict=True) if lack is None]
        items = [GradingItem(case.name, case.synopsis or "", case.candidate) for case in able]
        graded = iter(bin_grades(self.examiner, self.grader(items) if items else [])[0])
        scores = []
        for case, lack in zip(cases, lacks, strict=True):
            grade = Grade(case.name, None, lack) if lack else next(graded)
            result = grade.problem if grade.value is None else grade.value
            assert result is not None
            scores.append(make_score(self.signature_id, case, result))
        return scores

"""Grades items by the probabilities of the declared scores instead of by replies.

The probabilities come from an evaluation LM, or from the likeliest tokens that an endpoint lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gre_bench.core.errors import SettingsError, SpanError
from gre_bench.core.records import Chat, Problem, Sampling, SpanLogprob, Writer
from gre_bench.examiners import top_logprobs
from gre_bench.examiners.aggregation import aspect_mean, logprob
from gre_bench.examiners.asking import FREE, ChatOutcome, ask
from gre_bench.examiners.examiner import Examiner
from gre_bench.examiners.grading import Grade, filtered, redundant, samplings
from gre_bench.examiners.scales import Scale
from gre_bench.examiners.top_logprobs import Seen
from gre_bench.examiners.wordings import Item, chats, filter_chat
from gre_bench.lm.protocol import ChatLM, checked

YES_NO = ("Yes", "No")
TOGETHER = 2048
"""Number of replies that are scored in one call, which bounds the memory; replies to one chat share its prompt."""


@dataclass(frozen=True, slots=True)
class Showing:
    """The details behind a grade that was computed from the probabilities that an endpoint lists.

    *seen* holds the score of each aspect with its bounds, by the name of the aspect.
    """

    item_id: str
    seen: dict[str, Seen]


def grade_by_lm(examiner: Examiner, items: Sequence[Item], lm: ChatLM) -> list[Grade]:
    """Grades *items* by the evaluation LM *lm*; returns one grade per item, in order.

    The probability of a declared score is P(score and end of turn | chat). The aggregation direct takes the likeliest
    score. The filter calls a text redundant if Yes is likelier than No. Raises `SettingsError` for the aggregation
    approximation, or if the template declares no scores.
    """
    scale = _scale(examiner)
    if examiner.aggregation == "approximation":
        raise SettingsError(f"examiner {examiner.name}: an evaluation LM cannot write, so nothing can be sampled")
    spellings = scale.spellings
    asking = [(chat, spellings) for item in items for chat in chats(examiner, item)]
    filters = [(filter_chat(examiner, item), YES_NO) for item in items] if examiner.filtering else []
    spans = _spans([*asking, *filters], lm)
    each = len(examiner.aspects)
    grades = []
    for index, item in enumerate(items):
        answers = spans[len(asking) + index] if filters else None
        verdict = (
            ChatOutcome(answers if isinstance(answers, Problem) else answers[0] > answers[1], FREE) if answers else None
        )
        if verdict is not None and verdict.read is not False:
            grades.append(filtered(examiner, item, verdict))
        else:
            grades.append(_weighed(examiner, item, spans[index * each : (index + 1) * each]))
    return grades


def grade_by_endpoint(
    examiner: Examiner, items: Sequence[Item], asker: Writer, base: Sampling | None = None, writer: Writer | None = None
) -> tuple[list[Grade], list[Showing]]:
    """Grades *items* by the likeliest tokens of an endpoint; returns one grade per item, and the details of each score.

    - *asker*: returns replies with the tokens listed (`gre_bench.writing.http_writer.LogprobWriter`).
    - *base*: the LM's own sampling options.
    - *writer*: returns plain replies; only the filter of redundant texts asks it.

    Raises `SettingsError` if the template declares no scores, or if the filter has no writer.
    """
    scale = _scale(examiner)
    if examiner.filtering and writer is None:
        raise SettingsError(f"examiner {examiner.name}: the filter needs a writer of plain replies")
    verdicts = redundant(examiner, items, writer or asker, base)
    due = [index for index, verdict in enumerate(verdicts) if verdict is None or verdict.read is False]
    asking = [chat for index in due for chat in chats(examiner, items[index])]
    [sampling] = samplings(examiner, base)

    def read(document: str) -> Seen:
        return top_logprobs.weighted(top_logprobs.tokens_of(document), scale, examiner.mass or "normalised")

    each = len(examiner.aspects)
    outcomes = ask(asker, asking, sampling, read)
    grades = {
        index: filtered(examiner, items[index], verdict)
        for index, verdict in enumerate(verdicts)
        if verdict is not None and verdict.read is not False
    }
    showings = []
    for turn, index in enumerate(due):
        mine = dict(zip(_names(examiner), outcomes[turn * each : (turn + 1) * each], strict=True))
        cost = sum((answer.cost for answer in mine.values()), verdict.cost if (verdict := verdicts[index]) else FREE)
        problem = next((answer.read for answer in mine.values() if isinstance(answer.read, Problem)), None)
        if problem is not None:
            grades[index] = Grade(items[index].item_id, None, problem, cost=cost)
            continue
        seen = {name: answer.read for name, answer in mine.items() if not isinstance(answer.read, Problem)}
        parts = {name: answer.score for name, answer in seen.items()}
        grades[index] = Grade(
            items[index].item_id,
            aspect_mean(list(parts.values())),
            None,
            parts,
            mass={name: answer.mass for name, answer in seen.items()},
            cost=cost,
        )
        showings.append(Showing(items[index].item_id, seen))
    return [grades[index] for index in range(len(items))], showings


def _scale(examiner: Examiner) -> Scale:
    form = examiner.form
    if not form.bare or not form.scale.declared:
        raise SettingsError(
            f"examiner {examiner.name}: template {form.name} does not ask for a declared score alone, "
            "so scores have no probabilities"
        )
    return form.scale


def _spans(asking: Sequence[tuple[Chat, Sequence[str]]], lm: ChatLM) -> list[list[float] | Problem]:
    """Returns, for each chat, the log-probabilities of its possible replies in nats, or the first problem among them.

    *asking* holds pairs (chat, its possible replies).
    """
    results: list[list[float] | Problem] = []
    due: list[tuple[Chat, Sequence[str]]] = []
    for index, question in enumerate(asking, 1):
        due.append(question)
        if index == len(asking) or sum(len(replies) for _, replies in due) >= TOGETHER:
            results += _logprobs(due, lm)
            due = []
    return results


def _logprobs(asking: Sequence[tuple[Chat, Sequence[str]]], lm: ChatLM) -> list[list[float] | Problem]:
    scored = [replace(chat, reply=reply) for chat, replies in asking for reply in replies]
    spans = map(checked, lm.logprob(scored))
    results: list[list[float] | Problem] = []
    for chat, replies in asking:
        mine = [next(spans) for _ in replies]
        errors = [span for span in mine if isinstance(span, SpanError)]
        if errors:
            error = errors[0]
            results.append(Problem(error.code, f"{chat.user[:40]!r}: {error}", error.final, error.broken))
        else:
            results.append([span.total for span in mine if isinstance(span, SpanLogprob)])
    return results


def _weighed(examiner: Examiner, item: Item, answers: list[list[float] | Problem]) -> Grade:
    scale, parts, mass = examiner.form.scale, {}, {}
    for name, logprobs in zip(_names(examiner), answers, strict=True):
        if isinstance(logprobs, Problem):
            return Grade(item.item_id, None, replace(logprobs, message=f"{name}: {logprobs.message}"))
        weighted_score = logprob(logprobs, scale.values, examiner.mass or "normalised")
        likeliest = scale.values[logprobs.index(max(logprobs))]
        parts[name] = weighted_score.score if examiner.aggregation == "logprob" else likeliest
        mass[name] = weighted_score.mass
    return Grade(item.item_id, aspect_mean(list(parts.values())), None, parts, mass=mass)


def _names(examiner: Examiner) -> list[str]:
    return [aspect or "overall" for aspect in examiner.aspects]

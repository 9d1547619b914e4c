"""Grades from probabilities: of each declared score by an evaluation LM, or of the tokens that an endpoint shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gre_bench.core.errors import SettingsError, SpanError
from gre_bench.core.records import Chat, Problem, Sampling, SpanLogprob, Writer
from gre_bench.examiners import top_logprobs
from gre_bench.examiners.aggregation import aspect_mean, logprob
from gre_bench.examiners.asking import FREE, Asked, ask
from gre_bench.examiners.examiner import Examiner
from gre_bench.examiners.grading import Grade, filtered, redundant, samplings
from gre_bench.examiners.scales import Scale
from gre_bench.examiners.top_logprobs import Seen
from gre_bench.examiners.wordings import Item, chats, filter_chat
from gre_bench.lm.chats import ChatLM
from gre_bench.lm.protocol import checked

YES_NO = ("Yes", "No")
TOGETHER = 2048
"""Replies handed to an evaluation LM at once: those of a chat share their prompt, and memory stays bounded."""


@dataclass(frozen=True, slots=True)
class Showing:
    """What an endpoint did not show of an item's scores, by aspect."""

    item_id: str
    seen: dict[str, Seen]


def grade_by_lm(examiner: Examiner, items: Sequence[Item], lm: ChatLM) -> list[Grade]:
    """One grade or problem for each of *items*, in order, from log P(score and end of turn | chat) of each score.

    Aggregation direct takes the likeliest declared score. The filter says Yes where that is likelier than No.
    """
    scale = _scale(examiner)
    if examiner.aggregation == "approximation":
        raise SettingsError(f"examiner {examiner.name}: an evaluation LM writes nothing that could be sampled")
    spellings = scale.spellings
    asking = [(chat, spellings) for item in items for chat in chats(examiner, item)]
    filters = [(filter_chat(examiner, item), YES_NO) for item in items] if examiner.filtering else []
    found = _spans([*asking, *filters], lm)
    each = len(examiner.aspects)
    grades = []
    for place, item in enumerate(items):
        said = found[len(asking) + place] if filters else None
        verdict = Asked(said if isinstance(said, Problem) else said[0] > said[1], FREE) if said else None
        if verdict is not None and verdict.read is not False:
            grades.append(filtered(examiner, item, verdict))
        else:
            grades.append(_weighed(examiner, item, found[place * each : (place + 1) * each]))
    return grades


def grade_by_endpoint(
    examiner: Examiner, items: Sequence[Item], asker: Writer, base: Sampling | None = None, writer: Writer | None = None
) -> tuple[list[Grade], list[Showing]]:
    """One grade or problem for each of *items*, in order, and what the endpoint did not show of each graded one.

    *asker* writes documents of tokens (`gre_bench.writing.logprob_writer`); *writer*, which writes plainly, is asked by
    the filter.
    """
    scale = _scale(examiner)
    if examiner.filtering and writer is None:
        raise SettingsError(f"examiner {examiner.name}: the filter needs a writer of plain replies")
    verdicts = redundant(examiner, items, writer or asker, base)
    due = [place for place, verdict in enumerate(verdicts) if verdict is None or verdict.read is False]
    asking = [chat for place in due for chat in chats(examiner, items[place])]
    [sampling] = samplings(examiner, base)

    def read(document: str) -> Seen:
        return top_logprobs.weighted(top_logprobs.tokens_of(document), scale, examiner.mass or "normalised")

    each = len(examiner.aspects)
    said = ask(asker, asking, sampling, read)
    grades = {
        place: filtered(examiner, items[place], verdict)
        for place, verdict in enumerate(verdicts)
        if verdict is not None and verdict.read is not False
    }
    showings = []
    for turn, place in enumerate(due):
        mine = dict(zip(_names(examiner), said[turn * each : (turn + 1) * each], strict=True))
        cost = sum((one.cost for one in mine.values()), verdict.cost if (verdict := verdicts[place]) else FREE)
        problem = next((one.read for one in mine.values() if isinstance(one.read, Problem)), None)
        if problem is not None:
            grades[place] = Grade(items[place].item_id, None, problem, cost=cost)
            continue
        seen = {name: one.read for name, one in mine.items() if not isinstance(one.read, Problem)}
        parts = {name: one.score for name, one in seen.items()}
        grades[place] = Grade(
            items[place].item_id,
            aspect_mean(list(parts.values())),
            None,
            parts,
            mass={name: one.mass for name, one in seen.items()},
            cost=cost,
        )
        showings.append(Showing(items[place].item_id, seen))
    return [grades[place] for place in range(len(items))], showings


def _scale(examiner: Examiner) -> Scale:
    form = examiner.form
    if not form.bare or not form.scale.declared:
        raise SettingsError(f"examiner {examiner.name}: no reply to template {form.name} is a declared score alone")
    return form.scale


def _spans(asking: Sequence[tuple[Chat, Sequence[str]]], lm: ChatLM) -> list[list[float] | Problem]:
    """Log-probabilities of the replies of each chat, in nats, or the first problem among them."""
    found: list[list[float] | Problem] = []
    due: list[tuple[Chat, Sequence[str]]] = []
    for place, one in enumerate(asking, 1):
        due.append(one)
        if place == len(asking) or sum(len(replies) for _, replies in due) >= TOGETHER:
            found += _asked(due, lm)
            due = []
    return found


def _asked(asking: Sequence[tuple[Chat, Sequence[str]]], lm: ChatLM) -> list[list[float] | Problem]:
    scored = [replace(chat, reply=reply) for chat, replies in asking for reply in replies]
    spans = map(checked, lm.logprob(scored))
    found: list[list[float] | Problem] = []
    for chat, replies in asking:
        mine = [next(spans) for _ in replies]
        errors = [span for span in mine if isinstance(span, SpanError)]
        if errors:
            error = errors[0]
            found.append(Problem(error.code, f"{chat.user[:40]!r}: {error}", error.final, error.broken))
        else:
            found.append([span.total for span in mine if isinstance(span, SpanLogprob)])
    return found


def _weighed(examiner: Examiner, item: Item, said: list[list[float] | Problem]) -> Grade:
    scale, parts, mass = examiner.form.scale, {}, {}
    for name, logprobs in zip(_names(examiner), said, strict=True):
        if isinstance(logprobs, Problem):
            return Grade(item.item_id, None, replace(logprobs, message=f"{name}: {logprobs.message}"))
        found = logprob(logprobs, scale.values, examiner.mass or "normalised")
        likeliest = scale.values[logprobs.index(max(logprobs))]
        parts[name] = found.score if examiner.aggregation == "logprob" else likeliest
        mass[name] = found.mass
    return Grade(item.item_id, aspect_mean(list(parts.values())), None, parts, mass=mass)


def _names(examiner: Examiner) -> list[str]:
    return [aspect or "overall" for aspect in examiner.aspects]

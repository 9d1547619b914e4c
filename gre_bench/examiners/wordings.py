"""Assembles the prompt of an examiner from its parts, and fills in the source and the graded text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from gre_bench.core.records import Chat, digest
from gre_bench.examiners.examiner import Examiner
from gre_bench.prompts.library import load

_FIELD = re.compile(r"\{(\w+)\}")
COARSE = ("relevance", "consistency", "fluency", "coherence")
"""The order of the aspects in a prompt about all of them (Kotonya et al. 2023, Table 3)."""
ADJECTIVES = {"coherence": "coherent", "consistency": "consistent", "fluency": "fluent", "relevance": "relevant"}


@dataclass(frozen=True, slots=True)
class Item:
    """A text to grade.

    - *source*: the text that was summarised, or the paper that was reviewed.
    - *text*: the summary or the review.
    """

    item_id: str
    source: str
    text: str


@dataclass(frozen=True, slots=True)
class Wording:
    """A prompt whose only open fields are ``{source}`` and ``{text}``; *system* and *user* are its two messages."""

    system: str
    user: str


def chats(examiner: Examiner, item: Item) -> list[Chat]:
    """Returns the chats that grade *item*, one for each of the examiner's aspects."""
    values = {"source": item.source, "text": item.text}
    return [_filled(wording(examiner, aspect), values) for aspect in examiner.aspects]


def filter_chat(examiner: Examiner, item: Item) -> Chat:
    """Returns the chat that asks whether the text of *item* is redundant (Kim et al. 2023, Table 18)."""
    prompt = load(f"dsba/{examiner.item}/filtering")
    return _filled(Wording(prompt.system, prompt.user), {"text": item.text})


def sha256(examiner: Examiner) -> str:
    """Returns the digest of all prompts of *examiner*.

    Examiners that differ only in the aggregation have the same digest.
    """
    if examiner.form.answer == "nothing":
        return digest([])
    worded = [wording(examiner, aspect) for aspect in examiner.aspects]
    filtering = [load(f"dsba/{examiner.item}/filtering").sha256] if examiner.filtering else []
    return digest([[each.system, each.user] for each in worded] + filtering)


def kinds(examiner: Examiner) -> set[str]:
    """Returns how close the parts of the examiner's prompts are to the papers.

    - ``verbatim``: as a paper prints it.
    - ``completed``: cut short in the paper, and completed here.
    - ``derived``: adapted from a printed prompt.
    """
    return {load(name).kind for aspect in examiner.aspects for name in files(examiner, aspect).values()}


@cache
def wording(examiner: Examiner, aspect: str | None) -> Wording:
    """Returns the prompt of *examiner* about one *aspect*, or about the text as a whole if *aspect* is None."""
    names = files(examiner, aspect)
    prompt = load(names["frame"])
    parts = {part: load(name).user for part, name in names.items() if part not in ("frame", "description")}
    parts["instructions"] = examiner.instructions or ""
    parts["description"] = load(names["description"]).user + "\n" if "description" in names else ""
    parts["criteria"] = "\n".join(text for part, text in parts.items() if part.startswith("criteria"))
    parts["demonstration"] = parts["demonstration"] + "\n" if "demonstration" in parts else ""
    named = aspect or f"{', '.join(COARSE[:-1])}, and {COARSE[-1]}"
    parts["aspect"], parts["Aspect"] = named, aspect.capitalize() if aspect else "Overall"
    several = f"{', '.join(ADJECTIVES[adjective] for adjective in COARSE[:-1])} and coherent"
    parts["adjective"] = ADJECTIVES.get(aspect or "", several)
    user = prompt.user.replace("{description}\n", "{description}")
    for _ in range(2):  # steps and frames name the aspect, so a part may hold a field itself
        user = _FIELD.sub(lambda field: parts.get(field[1], field[0]), user)
    return Wording(prompt.system, user)


def files(examiner: Examiner, aspect: str | None) -> dict[str, str]:
    """Returns the prompt files that make up the prompt about *aspect*, by their role in it, such as ``frame``.

    If *aspect* is None, the prompt is about the text as a whole.
    """
    folder, form = f"dsba/{examiner.item}", examiner.form
    frame = form.prompt.format(item=examiner.item)
    names = {"frame": f"{frame}_fine" if examiner.template == "base" and aspect else frame}
    if criteria := examiner.chosen_criteria:
        # Numbered, so that the criteria of several aspects stay in order.
        for index, each in enumerate((aspect,) if aspect else COARSE):
            names[f"criteria{index}"] = f"{folder}/criteria/{criteria}_{each}"
    if examiner.template in ("human", "model"):
        own = examiner.template == "human" and examiner.steps == "complex"
        names |= {} if own else {"description": f"{folder}/descriptions/{examiner.template}_{examiner.description}"}
        steps = f"{folder}/steps/{examiner.template}_{examiner.steps}"
        names["steps"] = steps if examiner.template == "human" else f"{steps}_{aspect or 'overall'}"
    if examiner.demonstration != "none":
        names["demonstration"] = f"{folder}/demonstrations/{examiner.demonstration}_{aspect}"
    return names


def _filled(worded: Wording, values: dict[str, str]) -> Chat:
    return Chat(worded.system, _FIELD.sub(lambda field: values.get(field[1], field[0]), worded.user))

"""What an examiner says to the LM: the parts of its prompt put together, and the texts filled in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from gre_bench.core.records import Chat, digest
from gre_bench.examiners.examiner import Examiner
from gre_bench.prompts.library import load

_FIELD = re.compile(r"\{(\w+)\}")
COARSE = ("relevance", "consistency", "fluency", "coherence")
"""The order in which a prompt that takes the aspects together names them (Kotonya et al. 2023, Table 3)."""
ADJECTIVES = {"coherence": "coherent", "consistency": "consistent", "fluency": "fluent", "relevance": "relevant"}


@dataclass(frozen=True, slots=True)
class Item:
    """A text to be graded: a summary of its *source*, or a review of the paper that is its *source*."""

    item_id: str
    source: str
    text: str


@dataclass(frozen=True, slots=True)
class Wording:
    """A prompt with nothing open but the fields source and text."""

    system: str
    user: str


def chats(examiner: Examiner, item: Item) -> list[Chat]:
    """The chats that grade *item*, one for each of the examiner's aspects."""
    values = {"source": item.source, "text": item.text}
    return [_filled(wording(examiner, aspect), values) for aspect in examiner.aspects]


def filter_chat(examiner: Examiner, item: Item) -> Chat:
    """The chat that asks whether the text of *item* is redundant (Kim et al. 2023, Table 18)."""
    prompt = load(f"dsba/{examiner.item}/filtering")
    return _filled(Wording(prompt.system, prompt.user), {"text": item.text})


def sha256(examiner: Examiner) -> str:
    """Digest of all prompt text that reaches the LM; the same for examiners that differ in aggregation alone."""
    if examiner.form.answer == "nothing":
        return digest([])
    worded = [wording(examiner, aspect) for aspect in examiner.aspects]
    filtering = [load(f"dsba/{examiner.item}/filtering").sha256] if examiner.filtering else []
    return digest([[each.system, each.user] for each in worded] + filtering)


def kinds(examiner: Examiner) -> set[str]:
    """Which kinds its prompt is made of: verbatim, completed (where a paper breaks a text off) or derived."""
    return {load(name).kind for aspect in examiner.aspects for name in files(examiner, aspect).values()}


@cache
def wording(examiner: Examiner, aspect: str | None) -> Wording:
    """The prompt about one *aspect* (None: the text as a whole)."""
    names = files(examiner, aspect)
    prompt = load(names["frame"])
    parts = {part: load(name).user for part, name in names.items() if part not in ("frame", "description")}
    parts["instructions"] = examiner.instructions or ""
    parts["description"] = load(names["description"]).user + "\n" if "description" in names else ""
    parts["criteria"] = "\n".join(text for part, text in parts.items() if part.startswith("criteria"))
    parts["demonstration"] = parts["demonstration"] + "\n" if "demonstration" in parts else ""
    named = aspect or f"{', '.join(COARSE[:-1])}, and {COARSE[-1]}"
    parts["aspect"], parts["Aspect"] = named, aspect.capitalize() if aspect else "Overall"
    several = f"{', '.join(ADJECTIVES[one] for one in COARSE[:-1])} and coherent"
    parts["adjective"] = ADJECTIVES.get(aspect or "", several)
    user = prompt.user.replace("{description}\n", "{description}")
    for _ in range(2):  # steps and frames name the aspect, so that a part may hold a field
        user = _FIELD.sub(lambda field: parts.get(field[1], field[0]), user)
    return Wording(prompt.system, user)


def files(examiner: Examiner, aspect: str | None) -> dict[str, str]:
    """The prompt files by the part they play about *aspect*."""
    folder, form = f"dsba/{examiner.item}", examiner.form
    frame = form.prompt.format(item=examiner.item)
    names = {"frame": f"{frame}_fine" if examiner.template == "base" and aspect else frame}
    if criteria := examiner.chosen_criteria:
        # Numbered, so that criteria of several aspects stand in the order in which they are named.
        for place, each in enumerate((aspect,) if aspect else COARSE):
            names[f"criteria{place}"] = f"{folder}/criteria/{criteria}_{each}"
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

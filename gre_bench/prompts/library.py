"""Loads prompts and renders predictions: the only module that combines texts and prompts."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from gre_bench.core.errors import PromptError
from gre_bench.core.records import Chat, Prediction, digest

FOLDER = Path(__file__).parent
_FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as its file states it: its *source*, its texts *system* and *user*, and the *fields* of the user's text.

    *absent* is the text for a field without a value.
    """

    name: str
    source: str
    kind: str
    system: str
    user: str
    fields: tuple[str, ...]
    absent: str

    @property
    def sha256(self) -> str:
        """The digest of everything that the LM reads of the prompt."""
        return digest([self.system, self.user, self.absent])


@cache
def load(name: str) -> Prompt:
    """Returns the prompt *name*, which includes its folder, if any (``pre/summary/pairwise``).

    Raises `PromptError` if there is none or its fields do not match its text.
    """
    path = FOLDER / f"{name}.toml"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in path.parent.glob("*.toml")))
        raise PromptError(f"no prompt {name!r}; the prompts are: {known or 'none in that folder'}")
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    fields = tuple(table["fields"])
    used = set(_FIELD.findall(table["user"]))
    if used != set(fields):
        raise PromptError(f"prompt {name!r} declares {sorted(fields)} but its text uses {sorted(used)}")
    return Prompt(name, table["source"], table["kind"], table["system"], table["user"], fields, table.get("absent", ""))


def render(prediction: Prediction | Chat) -> Chat:
    """Returns *prediction* as system, user and reply messages (Xu et al. 2025, C.2).

    A field whose value is None gets the prompt's text *absent*. A chat is returned unchanged, because examiners score
    replies to prompts made from several files.
    """
    if isinstance(prediction, Chat):
        return prediction
    prompt = load(prediction.prompt)
    values = {"synopsis": prediction.synopsis, "x": prediction.x}
    user = _FIELD.sub(lambda field: _value(prompt, values, field[1]), prompt.user)
    return Chat(prompt.system, user, prediction.reply)


def fill(name: str, **values: str) -> Chat:
    """Returns the prompt *name* with *values* in its fields, for an LM to answer.

    Raises `PromptError` unless *values* are exactly those of its fields.
    """
    prompt = load(name)
    if set(values) != set(prompt.fields):
        raise PromptError(f"prompt {name!r} takes {sorted(prompt.fields)}, got {sorted(values)}")
    return Chat(prompt.system, _FIELD.sub(lambda field: values[field[1]], prompt.user))


@lru_cache(maxsize=8192)
def address(prediction: Prediction) -> str:
    """Returns the content address of *prediction*: 32 hex digits that depend on all its texts and its prompt's text.

    Results are cached, because scoring asks for the same addresses again.
    """
    return digest([_sha256(prediction.prompt), prediction.synopsis, prediction.x, prediction.reply])[:32]


@cache
def _sha256(name: str) -> str:
    return load(name).sha256


def _value(prompt: Prompt, values: dict[str, str | None], field: str) -> str:
    value = values[field]
    return prompt.absent if value is None else value

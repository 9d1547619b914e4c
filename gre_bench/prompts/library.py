"""Loads prompts and fills their fields, to let the evaluation LM predict a text or to ask an LM for a reply.

Installed packages add prompts as entry points of the group ``gre_bench.prompts``: each names a `Prompt`.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from gre_bench.core.errors import PromptError
from gre_bench.core.extensions import Catalogue
from gre_bench.core.records import Chat, Prediction, digest

FOLDER = Path(__file__).parent
_FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt, as its file states it.

    *kind*: how close the prompt is to its *source*: ``verbatim``, ``completed``, ``derived`` or ``own``. *fields*: the
    names in braces in *user*, which are replaced by texts. *absent*: replaces a field whose value is None.
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
        """The SHA-256 of the prompt's own texts: *system*, *user* and *absent*."""
        return digest([self.system, self.user, self.absent])


ADDED = Catalogue[Prompt]("gre_bench.prompts", {}, lambda name, entry: isinstance(entry, Prompt) and entry.name == name)


@cache
def load(name: str) -> Prompt:
    """Returns the prompt from the file ``NAME.toml``, which may be in a folder, or from an installed package.

    Raises `PromptError` if there is no such prompt, or if its list of fields does not match its text.
    """
    path = FOLDER / f"{name}.toml"
    if path.is_file():
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        texts = table["system"], table["user"], tuple(table["fields"]), table.get("absent", "")
        prompt = Prompt(name, table["source"], table["kind"], *texts)
    elif name in ADDED:
        prompt = ADDED[name]
    else:
        known = ", ".join(sorted(file.stem for file in path.parent.glob("*.toml")))
        raise PromptError(f"no prompt {name!r}; the prompts are: {known or 'none in that folder'}")
    used = set(_FIELD.findall(prompt.user))
    if used != set(prompt.fields):
        raise PromptError(f"prompt {prompt.name!r} declares {sorted(prompt.fields)} but its text uses {sorted(used)}")
    return prompt


@cache
def find_prompt_by_digest(sha256: str) -> Prompt | None:
    """Returns the prompt with the hash *sha256*, shipped or from an installed package; None if there is none."""
    shipped = (path.relative_to(FOLDER).with_suffix("").as_posix() for path in sorted(FOLDER.rglob("*.toml")))
    return next((prompt for prompt in map(load, (*shipped, *ADDED)) if prompt.sha256 == sha256), None)


def render(prediction: Prediction | Chat) -> Chat:
    """Returns the messages of *prediction*: system, user and reply (Xu et al. 2025, C.2); a chat is returned unchanged.

    A field whose value is None is replaced by the prompt's *absent*.
    """
    if isinstance(prediction, Chat):
        return prediction
    prompt = load(prediction.prompt)
    given = {"synopsis": prediction.synopsis, "x": prediction.x}
    values = {name: prompt.absent if text is None else text for name, text in given.items()}
    return Chat(prompt.system, _FIELD.sub(lambda field: values[field[1]], prompt.user), prediction.reply)


def fill_prompt(name: str, **values: str) -> Chat:
    """Returns the prompt *name* as a chat with its fields filled by *values*.

    Raises `PromptError` if the names in *values* are not those of the prompt's fields.
    """
    prompt = load(name)
    if set(values) != set(prompt.fields):
        raise PromptError(f"prompt {name!r} takes {sorted(prompt.fields)}, got {sorted(values)}")
    return Chat(prompt.system, _FIELD.sub(lambda field: values[field[1]], prompt.user))


@lru_cache(maxsize=8192)
def content_address(prediction: Prediction) -> str:
    """Returns the content address of *prediction*: 32 hex digits of the SHA-256 of its texts and its prompt."""
    return digest([_hash_prompt(prediction.prompt), prediction.synopsis, prediction.x, prediction.reply])[:32]


@cache
def _hash_prompt(name: str) -> str:
    return load(name).sha256

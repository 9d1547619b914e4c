"""Rosters: the models that a year's boards rank, and the settings that these boards share.

A roster is a file of ``data/rosters``, or one of your own. ``roster = "NAME"`` in a settings file stands for the groups
of settings that the roster holds. The settings file and ``--set`` override them.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gre_bench.core import strict
from gre_bench.core.errors import SettingsError
from gre_bench.core.resources import resource

METRICS = ("gem", "gem_s_abstract", "gem_s_assw")
"""Metrics of a roster that names none."""


class RosterModel(BaseModel):
    """One model: its *name* in the models file, its shipped *guideline*, and its *sampling* on this roster."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    guideline: str | None = Field(default=None, min_length=1)
    sampling: dict[str, float | int | str] = {}


class Roster(BaseModel):
    """A roster file. *controls* are candidates made by rule.

    The other fields are groups of the settings, each with the settings that the file states.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    about: str = Field(min_length=1)
    model: tuple[RosterModel, ...] = ()
    controls: tuple[str, ...] = ()
    writing: dict[str, Any] = {}
    evaluation_lm: dict[str, Any] = {}
    scoring: dict[str, Any] = {}
    validation: dict[str, Any] = {}

    def tree(self) -> dict[str, Any]:
        """Returns the settings that the roster stands for: group → setting → value."""
        names = [f"{one.name}@{one.guideline}" if one.guideline else one.name for one in self.model]
        sampling = {one.name: one.sampling for one in self.model if one.sampling}
        writing: dict[str, Any] = {"candidates": [*names, *self.controls]}
        writing |= {"sampling": sampling} if sampling else {}
        tree = {"evaluation_lm": dict(self.evaluation_lm), "validation": dict(self.validation)}
        tree = {name: group for name, group in tree.items() if group}
        return tree | {"writing": writing | self.writing, "scoring": {"metrics": list(METRICS)} | self.scoring}


def roster_names() -> list[str]:
    """Returns the names of the shipped rosters."""
    return sorted(path.stem for path in resource("data", "rosters").glob("*.toml"))


def roster_file(name: str, beside: Path) -> Path:
    """Returns the file of the roster *name*: a shipped one by its name, else a path relative to the folder *beside*."""
    if not name.endswith(".toml"):
        return resource("data", "rosters", f"{name}.toml")
    return beside / name


def roster_tree(file: Path) -> dict[str, Any]:
    """Returns the settings that the roster *file* stands for; raises `SettingsError` for an unusable file."""
    try:
        roster = Roster.model_validate(strict.load_toml(file.read_text(encoding="utf-8")))
    except FileNotFoundError:
        name = file.stem if file.parent == resource("data", "rosters") else file
        known = ", ".join(roster_names())
        raise SettingsError(f"no roster {name}; name one of {known}, or a file of your own, NAME.toml") from None
    except (OSError, UnicodeDecodeError, strict.TOMLDecodeError) as error:
        raise SettingsError(f"roster {file} cannot be read: {error}") from None
    except ValidationError as error:
        fault = error.errors()[0]
        raise SettingsError(f"roster {file}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}") from None
    named = Counter(one.name for one in roster.model)
    for (name, guideline), times in Counter((one.name, one.guideline) for one in roster.model).items():
        if times > 1:
            raise SettingsError(f"roster {file}: {name} occurs twice" + (f" with {guideline}" if guideline else ""))
    for one in roster.model:
        if one.sampling and named[one.name] > 1:
            raise SettingsError(f"roster {file}: {one.name} has its own sampling, so it may occur only once")
    return roster.tree()


def merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Returns *below* with the groups of *above* laid over it, key by key."""
    found = dict(below)
    for name, value in above.items():
        mine = found.get(name)
        found[name] = mine | value if isinstance(mine, dict) and isinstance(value, dict) else value
    return found

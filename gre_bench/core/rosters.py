"""Rosters: lists of the models that a year's boards rank, with the settings that these boards share.

A roster is a shipped file in ``data/rosters`` or a user's own file. A settings file selects it with
``roster = "NAME"``. The roster's settings then apply, except those that the settings file or ``--set`` overrides.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from gre_bench.core import strict
from gre_bench.core.errors import SettingsError
from gre_bench.core.resources import locate_resource

METRICS = ("gem", "gem_s_abstract", "gem_s_assw")
"""The metrics of a roster that does not name any."""


class RosterModel(BaseModel, frozen=True, extra="forbid", defer_build=True):
    """One model of a roster, by its name in the models file.

    *guideline*: the name of a shipped guideline that the model is given.
    *sampling*: sampling settings, such as ``temperature``, that override the models file.
    """

    name: str = Field(min_length=1)
    guideline: str | None = Field(default=None, min_length=1)
    sampling: dict[str, float | int | str] = {}


class Roster(BaseModel, frozen=True, extra="forbid", defer_build=True):
    """The contents of a roster file.

    *about*: what the roster is for. *model*: the models to rank. *controls*: candidates that write reviews by rule,
    without an LM. The other fields are settings.
    """

    about: str = Field(min_length=1)
    model: tuple[RosterModel, ...] = ()
    controls: tuple[str, ...] = ()
    writing: dict[str, Any] = {}
    evaluation_lm: dict[str, Any] = {}
    scoring: dict[str, Any] = {}
    validation: dict[str, Any] = {}

    def to_settings_tree(self) -> dict[str, Any]:
        names = [f"{model.name}@{model.guideline}" if model.guideline else model.name for model in self.model]
        sampling = {model.name: model.sampling for model in self.model if model.sampling}
        writing: dict[str, Any] = {"candidates": [*names, *self.controls]}
        writing |= {"sampling": sampling} if sampling else {}
        tree = {name: group for name in ("evaluation_lm", "validation") if (group := dict(getattr(self, name)))}
        return tree | {"writing": writing | self.writing, "scoring": {"metrics": list(METRICS)} | self.scoring}


def list_roster_names() -> list[str]:
    return sorted(path.stem for path in locate_resource("data", "rosters").glob("*.toml"))


def find_roster_file(name: str, beside: Path) -> Path:
    """Returns the file of the roster *name*: a shipped roster, or a path ``*.toml`` relative to the folder *beside*."""
    return beside / name if name.endswith(".toml") else locate_resource("data", "rosters", f"{name}.toml")


def load_roster_tree(file: Path) -> dict[str, Any]:
    """Returns group → setting → value of the roster *file*; raises `SettingsError` if it is missing or invalid."""
    try:
        roster = Roster.model_validate(strict.read_toml_with_title(file, "roster"))
    except FileNotFoundError:
        name = file.stem if file.parent == locate_resource("data", "rosters") else file
        known = ", ".join(list_roster_names())
        raise SettingsError(f"no roster {name}; name one of {known}, or a file of your own, NAME.toml") from None
    except ValidationError as error:
        raise SettingsError(f"roster {file}: {strict.format_validation_faults(error)[0]}") from None
    named = Counter(model.name for model in roster.model)
    for (name, guideline), times in Counter((model.name, model.guideline) for model in roster.model).items():
        if times > 1:
            raise SettingsError(f"roster {file}: {name} occurs twice" + (f" with {guideline}" if guideline else ""))
    for model in roster.model:
        if model.sampling and named[model.name] > 1:
            raise SettingsError(f"roster {file}: {model.name} has its own sampling, so it may occur only once")
    return roster.to_settings_tree()


def merge_settings(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Returns the settings *below* (group → setting → value), overridden by the settings *above*."""
    tree = dict(below)
    for name, value in above.items():
        mine = tree.get(name)
        tree[name] = mine | value if isinstance(mine, dict) and isinstance(value, dict) else value
    return tree

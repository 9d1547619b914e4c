"""The published experiments: one settings file each in ``deployments/papers``, with a table ``[experiment]``.

The table says what the experiment is, which command runs the file, which files its user has to give, and beside which
published tables the result stands. The rest of the file is what that command reads.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gre_bench.core import strict
from gre_bench.core.errors import SettingsError
from gre_bench.core.resources import EXPERIMENT, PAPERS, resource, settings_file

Command = Literal[
    "refresh", "validate", "agree", "symmetry", "examiners", "guidelines compare", "guidelines quality",
    "guidelines generate",
]  # fmt: skip


class Experiment(BaseModel):
    """A published experiment; *path* is its settings file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Path
    paper: str = Field(min_length=1, description="authors and year")
    title: str = Field(min_length=1, description="what was done")
    command: Command = Field(description="what runs the file")
    published: tuple[str, ...] = Field(default=(), description="published tables that the result stands beside")
    items: int = Field(ge=1, description="papers, proposals, restaurants, summaries or reviews, as published")
    reviews: int | None = Field(default=None, ge=1, description="reviews among them, where that is published")
    sources: int | None = Field(
        default=None, ge=1, description="sources of the texts, for pairs of texts of one source"
    )
    billions: float | None = Field(default=None, gt=0, description="parameters of the evaluation LM")
    files: dict[str, str] = Field(default={}, description="option or setting, and which file it takes")
    lms: dict[str, Any] = Field(default={}, description="options of a study of guidelines: models, conditions, ...")
    note: str = ""

    @property
    def name(self) -> str:
        """Returns the name that ``--settings`` takes, such as ``papers/004_board``."""
        return f"{PAPERS}/{self.path.stem}"

    @property
    def call(self) -> str:
        """The command line that runs it, with the files to give; of a study of guidelines with all it is told."""
        given = [f"--set {key}=FILE" if "." in key else key if key == "NOTES" else f"{key} FILE" for key in self.files]
        told = [f"--{name.rstrip('s')} {value}" for name, values in self.lms.items() for value in _all(values)]
        return " ".join(["gre-bench", self.command, *(told or ["--settings", self.name]), *given])


def _all(values: Any) -> list[Any]:
    return values if isinstance(values, list) else [values]


def experiments(names: tuple[str, ...] = ()) -> list[Experiment]:
    """The experiments *names*, all shipped ones if there are none, by file name; `SettingsError` in one line."""
    if names:
        return [experiment_of(Path(name)) for name in names]
    return [experiment_of(path) for path in sorted(resource("deployments", PAPERS).glob("*.toml"))]


def experiment_of(given: Path) -> Experiment:
    """The experiment of the settings file *given*, or that it names (``papers/004_board``, ``004_board``)."""
    path = settings_file(given)
    if not path.is_file():
        path = settings_file(Path(PAPERS) / given)
    try:
        tree = strict.load_toml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        known = ", ".join(one.stem for one in sorted(resource("deployments", PAPERS).glob("*.toml")))
        raise SettingsError(f"no published experiment {given}; there are: {known}") from None
    except (OSError, UnicodeDecodeError, strict.TOMLDecodeError) as error:
        raise SettingsError(f"settings file {path} cannot be read: {error}") from None
    if not isinstance(tree.get(EXPERIMENT), dict):
        raise SettingsError(f"{path} has no table [{EXPERIMENT}]: it is no published experiment")
    try:
        return Experiment.model_validate({**tree[EXPERIMENT], "path": path})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise SettingsError(f"{path}, [{EXPERIMENT}] {place}: {first['msg']}") from None

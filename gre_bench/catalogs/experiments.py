"""The published experiments that can be run: one settings file for each, in ``deployments/papers``.

The table ``[experiment]`` of a file describes the experiment: the command that runs it, the files that the user must
give, and the published tables to compare the result with. The rest of the file is the settings of that command.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gre_bench.core import strict
from gre_bench.core.errors import SettingsError
from gre_bench.core.resources import EXPERIMENT, PAPERS, resource, settings_file

Command = Literal[
    "refresh", "study validate", "study agree", "study symmetry", "study examiners compare", "study guidelines compare",
    "study guidelines quality", "study guidelines generate",
]  # fmt: skip


class Experiment(BaseModel):
    """A published experiment, as the table ``[experiment]`` of its settings file, *path*, describes it.

    *files*: option or setting, such as ``sources.notes`` → what the file holds. *lms*: the name of each option in the
    plural, such as ``models`` → its values. *note*: a remark for readers. None: not published.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Path
    paper: str = Field(min_length=1, description="authors and year")
    title: str = Field(min_length=1, description="what was done")
    command: Command = Field(description="command that runs the file")
    published: tuple[str, ...] = Field(default=(), description="published tables to compare the result with")
    items: int = Field(ge=1, description="papers, proposals, restaurants, summaries or reviews, as published")
    reviews: int | None = Field(default=None, ge=1, description="number of reviews, if published")
    sources: int | None = Field(
        default=None, ge=1, description="number of sources, for pairs of texts about one source"
    )
    billions: float | None = Field(default=None, gt=0, description="parameters of the evaluation LM")
    files: dict[str, str] = Field(default={}, description="files that the user gives, by option or setting")
    lms: dict[str, Any] = Field(default={}, description="options of a guideline study: models, conditions, ...")
    note: str = ""

    @property
    def name(self) -> str:
        """Returns the name that ``--settings`` takes, such as ``papers/004_board``."""
        return f"{PAPERS}/{self.path.stem}"

    @property
    def calls(self) -> list[str]:
        """Returns the command lines that run the experiment, with ``FILE`` in place of each file that the user gives.

        For a guideline study, a command line contains every option, and each group has a command line of its own. For
        all other commands, it contains ``--settings`` and the experiment's name.
        """
        files = [f"--set {key}=FILE" if "." in key else key if "FILE" in key else f"{key} FILE" for key in self.files]
        options = [f"--{name.rstrip('s')} {value}" for name, values in self.lms.items() if name != "groups"
                   for value in (values if isinstance(values, list) else [values])]  # fmt: skip
        words = ["gre-bench", self.command, *(options or ["--settings", self.name])]
        groups = [[f"--group {group}"] for group in self.lms.get("groups", ())] or [[]]
        return [" ".join([*words, *group, *files]) for group in groups]


def experiments(names: tuple[str, ...] = ()) -> list[Experiment]:
    """Returns the experiments *names*, or all shipped ones; raises `SettingsError` for an unknown one."""
    if names:
        return [experiment_of(Path(name)) for name in names]
    return [experiment_of(path) for path in sorted(resource("deployments", PAPERS).glob("*.toml"))]


def experiment_of(given: Path) -> Experiment:
    """Returns the experiment *given*, which is the path of a settings file or the name of a shipped experiment.

    ``papers/004_board`` and ``004_board`` name the same shipped experiment. Raises `SettingsError` if there is no such
    file, or if the file has no valid table ``[experiment]``.
    """
    path = settings_file(given)
    if not path.is_file():
        path = settings_file(Path(PAPERS) / given)
    try:
        tree = strict.read_table(path, "settings file")
    except FileNotFoundError:
        known = ", ".join(file.stem for file in sorted(resource("deployments", PAPERS).glob("*.toml")))
        raise SettingsError(f"no published experiment {given}; there are: {known}") from None
    if not isinstance(tree.get(EXPERIMENT), dict):
        raise SettingsError(f"{path} has no table [{EXPERIMENT}]: it is no published experiment")
    try:
        return Experiment.model_validate({**tree[EXPERIMENT], "path": path})
    except ValidationError as error:
        raise SettingsError(f"{path}, [{EXPERIMENT}] {strict.faults(error)[0]}") from None

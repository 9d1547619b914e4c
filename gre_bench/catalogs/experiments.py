"""The published experiments that can be run: one settings file for each, in ``deployments/papers``.

The table ``[experiment]`` of a file describes the experiment; the rest is the settings of its command.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from gre_bench.core import strict
from gre_bench.core.resources import EXPERIMENT, PAPERS, resource

Command = Literal[
    "refresh", "study validate", "study agree", "study symmetry", "study examiners compare", "study guidelines compare",
    "study guidelines quality", "study guidelines generate",
]  # fmt: skip


class Experiment(BaseModel, frozen=True, extra="forbid"):
    """A published experiment, as the table ``[experiment]`` of its settings file, *path*, describes it.

    *files*: option or setting, such as ``sources.notes`` → what the file holds. *lms*: the name of each option in the
    plural, such as ``models`` → its values. None: not published.
    """

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
        """The name that ``--settings`` takes, such as ``papers/004_board``."""
        return f"{PAPERS}/{self.path.stem}"

    @property
    def calls(self) -> list[str]:
        """The command lines that run the experiment, with ``FILE`` in place of each file that the user gives.

        For a guideline study, they contain every option, and each group has a line of its own.
        """
        files = [f"--set {key}=FILE" if "." in key else key if "FILE" in key else f"{key} FILE" for key in self.files]
        options = [f"--{name.rstrip('s')} {value}" for name, values in self.lms.items() if name != "groups"
                   for value in (values if isinstance(values, list) else [values])]  # fmt: skip
        words = ["gre-bench", self.command, *(options or ["--settings", self.name])]
        groups = [[f"--group {group}"] for group in self.lms.get("groups", ())] or [[]]
        return [" ".join([*words, *group, *files]) for group in groups]


def experiments() -> list[Experiment]:
    """Returns the shipped experiments, by the names of their files."""
    return [
        Experiment.model_validate({**strict.read_table(path, "settings file")[EXPERIMENT], "path": path})
        for path in sorted(resource("deployments", PAPERS).glob("*.toml"))
    ]

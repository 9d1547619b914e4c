"""Finds the files that come with the program: data, SQL, settings files, and the tested versions of dependencies."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

PAPERS = "papers"
"""Folder of ``deployments/`` with the published experiments."""
EXPERIMENT = "experiment"
"""Table of a settings file that names its published experiment; runs do not read it."""
PACKAGE = Path(__file__).resolve().parents[1]


def resource(name: Literal["data", "sql", "deployments", "constraints.txt"], *parts: str) -> Path:
    """Returns the path of a file or folder that comes with the program, in a checkout and in an installation."""
    return _folder(PACKAGE, name).joinpath(*parts)


@cache
def _folder(package: Path, name: str) -> Path:
    return (package / name).resolve()


def settings_names() -> list[str]:
    """Returns the names of the settings files in ``deployments/``, such as ``demo`` and ``papers/004_board``."""
    folder = resource("deployments")
    return [path.relative_to(folder).with_suffix("").as_posix()
            for pattern in ("*.toml", f"{PAPERS}/*.toml") for path in sorted(folder.glob(pattern))]  # fmt: skip


def settings_file(given: Path) -> Path:
    """Returns the path of the settings file *given*: a file, or the name of a shipped one such as ``papers/004_board``.

    Returns *given* unchanged if it is an existing file, or if no shipped file has that name.
    """
    if given.is_file() or given.parent not in (Path(), Path(PAPERS)):
        return given
    named = resource("deployments", *given.parent.parts, f"{given.name.removesuffix('.toml')}.toml")
    return named if named.is_file() else given

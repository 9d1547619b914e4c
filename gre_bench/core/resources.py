"""Finds the files that come with the program: data, SQL, settings files, and the tested versions of dependencies."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, Literal

PAPERS = "papers"
"""The folder in ``deployments/`` that holds the settings of the published experiments."""
PACKAGE = Path(__file__).resolve().parents[1]


def locate_resource(name: Literal["data", "sql", "deployments", "constraints.txt"], *parts: str) -> Path:
    """Returns the path of a file or folder that comes with the program, in a checkout or an installation."""
    return _resolve_package_folder(PACKAGE, name).joinpath(*parts)


@cache
def _resolve_package_folder(package: Path, name: str) -> Path:
    return (package / name).resolve()


def load_patterns(name: str) -> dict[str, Any]:
    """Returns the contents of ``data/rules/NAME.toml``, with all placeholders in its patterns filled in.

    A placeholder ``<PART>``, in capitals, stands for the pattern *PART* of the file's table ``parts``.
    """
    import tomllib

    tree = tomllib.loads(locate_resource("data", "rules", f"{name}.toml").read_text("utf-8"))

    def fill_in_parts(value: Any) -> Any:
        if isinstance(value, str):
            return re.sub("<([A-Z]{2,})>", lambda part: fill_in_parts(tree["parts"][part[1]]), value)
        if isinstance(value, list):
            return [fill_in_parts(item) for item in value]
        return {key: fill_in_parts(item) for key, item in value.items()}

    return fill_in_parts(tree)


@cache
def load_word_lists() -> dict[str, list[str]]:
    """Returns the lists of ``data/rules/words.txt``: name → words."""
    text = re.sub("(?m)^#.*", "", locate_resource("data", "rules", "words.txt").read_text("utf-8"))
    blocks = (block.partition("]\n") for block in text.split("[")[1:])
    return {name: words.split() for name, _, words in blocks}


def list_settings_names() -> list[str]:
    """Returns the names of the settings files in ``deployments/``, such as ``demo`` and ``papers/004_board``."""
    folder = locate_resource("deployments")
    return [path.relative_to(folder).with_suffix("").as_posix()
            for pattern in ("*.toml", f"{PAPERS}/*.toml") for path in sorted(folder.glob(pattern))]  # fmt: skip


def find_settings_file(given: Path) -> Path:
    """Returns the path of the settings file *given*: a path, or a name in ``deployments/``, as ``papers/004_board``.

    Returns *given* unchanged if it is an existing file, or if ``deployments/`` has no file of that name.
    """
    if given.is_file() or given.parent not in (Path(), Path(PAPERS)):
        return given
    named = locate_resource("deployments", *given.parent.parts, f"{given.name.removesuffix('.toml')}.toml")
    return named if named.is_file() else given

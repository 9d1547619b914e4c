"""Adds the reference pages to the site while it is built, made from the code, so that they cannot disagree with it.

MkDocs calls `on_files`. Each page is a plain function that returns Markdown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from code_pages import commands_page, python_page
from figures import rates_of_flaws
from picture import rooms_picture
from prompt_pages import prompts_page
from records import measurements_page, stale
from settings_pages import deployments_page, settings_page
from table_pages import tables_page

PAGES: dict[str, Callable[[], str]] = {
    "reference/commands.md": commands_page,
    "reference/deployments.md": deployments_page,
    "reference/measurements.md": measurements_page,
    "reference/prompts.md": prompts_page,
    "reference/python.md": python_page,
    "reference/settings.md": settings_page,
    "reference/tables.md": tables_page,
}


def on_files(files: Any, config: Any) -> Any:
    """Adds the reference pages, the picture of the rooms and the figures to the *files* of the site.

    Raises RuntimeError if a page differs from the records of its tables.
    """
    if differing := stale():
        raise RuntimeError(f"{', '.join(differing)}: other than their records; python docs/hooks/records.py --write")
    from mkdocs.structure.files import File

    for name, page in PAGES.items():
        files.append(File.generated(config, name, content=page()))
    files.append(File.generated(config, "images/rooms.svg", content=rooms_picture()))
    files.append(File.generated(config, "images/flaws.svg", content=rates_of_flaws()))
    return files

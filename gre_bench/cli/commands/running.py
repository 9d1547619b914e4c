"""Functions that commands share: settings, edition and exit code of a run, named files, and confirmation."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from gre_bench.core.errors import SettingsError, StoreError
from gre_bench.core.records import parse_edition_key
from gre_bench.core.resources import locate_resource
from gre_bench.reports.signatures import resolve_edition
from gre_bench.store import Store, missing_edition_error
from gre_bench.store.queries import LAST_SETTINGS

if TYPE_CHECKING:
    from gre_bench.core.settings import BudgetSettings, Settings

DONE, FAULT, BAD_INPUT, INCOMPLETE = 0, 1, 2, 3
DEMO = locate_resource("deployments", "demo.toml")


def choose_exit_code(summary: dict[str, Any]) -> int:
    """Returns the exit code for the outcome in *summary*, the summary of a run."""
    return {"done": DONE, "unchanged": DONE, "fault": FAULT}.get(summary["outcome"], INCOMPLETE)


def load_run_settings(file: Path | None, edition: str | None, overrides: list[str] | None, state: Path) -> Settings:
    """Returns the settings of a run, loaded from *file* and changed by *overrides* (texts ``key=value``).

    Without *file*, they are the settings of the last refresh of *edition*. Without *file* and *edition*, they are the
    settings of the demo. Raises `SettingsError` for a missing file or a wrong setting.
    """
    from gre_bench.core.settings import load, load_recorded_settings

    changes = list(overrides or [])
    if edition is None:
        return load(file or DEMO, tuple(changes))
    for own in parse_edition_key(edition).overrides:
        key = own.partition("=")[0]
        if stated := [text for text in changes if text.partition("=")[0].strip() == key and text != own]:
            raise SettingsError(f"--edition {edition} and --set {stated[0]} name two editions; leave one of them out")
        changes.append(own)
    if file is not None:
        return load(file, tuple(changes))
    store, rows = Store(state, edition), []
    if store.exists:
        store.refuse_if_from_release()
        try:
            rows = store.read(LAST_SETTINGS)
        except StoreError:  # the readers' copy cannot be used
            with store.lock("look at the last settings"):
                rows = store.rows(LAST_SETTINGS)
    return load_recorded_settings(json.loads(rows[0]["settings"]) if rows else {}, tuple(changes))


def load_study_budget(limits: list[str] | None, settings: BudgetSettings | None = None) -> BudgetSettings:
    """Returns a study's budget: the budget *settings*, changed by *limits*, which are texts ``budget.KEY=VALUE``."""
    from gre_bench.core.settings import BudgetSettings, load_budget_settings

    return load_budget_settings(settings or BudgetSettings(), tuple(limits or ()))


def open_stored_edition(edition: str | None, state: Path) -> Store:
    """Returns the store of *edition*, or of the only edition in *state* if *edition* is None.

    Raises `SettingsError`, with a list of the existing editions, if there is no such edition.
    """
    store = Store(state, resolve_edition(edition, state))
    if not store.exists:
        raise missing_edition_error(state, store.key)
    return store


def parse_named_files(pairs: list[str] | None, option: str = "") -> dict[str, Path]:
    """Returns name → file. *pairs*: texts of the form ``NAME=FILE``.

    Raises `SettingsError` for a text of another form or a repeated name. The message begins with *option*, the name of
    the option that takes the texts.
    """
    files: dict[str, Path] = {}
    for pair in pairs or ():
        name, equals, file = pair.partition("=")
        if not (name and equals and file):
            raise SettingsError(f"{option} {pair}: write it as NAME=FILE".strip())
        if name in files:
            raise SettingsError(f"{option} {name} is there twice".strip())
        files[name] = Path(file)
    return files


def check_output_folder(folder: Path) -> Path:
    """Returns *folder*, which may be missing; raises `SettingsError` if it is a file."""
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{folder} is a file; name a folder")
    return folder


def ask_for_confirmation(change: str) -> None:
    """Asks the user to confirm *change*, a description of what will happen.

    Raises `SettingsError` if the user declines, or if standard input is not a terminal.
    """
    if not sys.stdin or not sys.stdin.isatty():
        raise SettingsError(f"{change}: say that you mean it with --yes")
    if not typer.confirm(f"{change}?", err=True):
        raise SettingsError("nothing was changed")

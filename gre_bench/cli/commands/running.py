"""Functions that commands share.

They cover a run's settings, edition, budget, confirmation, progress bar and exit code.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from gre_bench.cli.views import screen
from gre_bench.core import settings as configuration
from gre_bench.core.errors import SettingsError, StoreError
from gre_bench.core.resources import resource
from gre_bench.core.settings import BudgetSettings, Settings
from gre_bench.reports.signatures import the_edition
from gre_bench.store import Store, no_edition
from gre_bench.store.queries import LAST_SETTINGS

DONE, FAULT, BAD_INPUT, INCOMPLETE = 0, 1, 2, 3
OUTCOMES = {"done": DONE, "incomplete": INCOMPLETE, "fault": FAULT}
DEMO = resource("deployments", "demo.toml")


def ended(summary: dict[str, Any]) -> typer.Exit:
    """Returns the `typer.Exit` whose exit code fits the outcome in *summary*, the summary of a run."""
    return typer.Exit(OUTCOMES.get(summary["outcome"], INCOMPLETE))


def settings_of(file: Path | None, edition: str | None, overrides: list[str] | None, state: Path) -> Settings:
    """Returns the settings of a run: those of *file*, changed by *overrides* (texts ``key=value``).

    Without *file*, the settings are those of the last refresh of *edition*. Without *file* and *edition*, they are
    those of the demo. Raises `SettingsError` for a missing file or a wrong setting.
    """
    changes = list(overrides or [])
    if edition is not None:
        changes += [f"edition.{key}={value}" for key, value in configuration.edition_parts(edition).items()]
    if file is None and edition is not None:
        last = _last_settings(Store(state, edition))
        return configuration.load_over(json.loads(last) if last else {}, tuple(changes))
    return configuration.load(file or DEMO, tuple(changes))


def study_budget(limits: list[str] | None, settings: BudgetSettings | None = None) -> BudgetSettings:
    """Returns the budget of a study: that of *settings*, changed by *limits* from the command line.

    If *settings* is None, the budget has only these limits. Raises `SettingsError` for a limit that is not written as
    ``budget.KEY=VALUE``.
    """
    return configuration.budget_of(settings or BudgetSettings(), tuple(limits or ()))


def stored_edition(edition: str | None, state: Path) -> Store:
    """Returns the store of *edition*; if that is None, of the only edition in *state*.

    Raises `SettingsError` if there is no such edition, or if *edition* is None and there are several. The message lists
    the editions in *state*.
    """
    store = Store(state, the_edition(edition, state))
    if not store.exists:
        raise no_edition(state, store.key)
    return store


def named_files(pairs: list[str] | None, option: str = "") -> dict[str, Path]:
    """Returns the files that *pairs* name, by name; each pair is a text ``NAME=FILE``.

    Raises `SettingsError` for a malformed pair or a repeated name. The message begins with *option*, the name of the
    option that takes the pairs.
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


def folder_to_write(folder: Path) -> Path:
    """Returns *folder*, which may be missing; raises `SettingsError` if it is a file."""
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{folder} is a file; name a folder")
    return folder


def confirm(change: str) -> None:
    """Asks the user to confirm *change*, a description of what will happen.

    Raises `SettingsError` if the user declines, or if standard input is not a terminal.
    """
    if not sys.stdin or not sys.stdin.isatty():
        raise SettingsError(f"{change}: say that you mean it with --yes")
    if not typer.confirm(f"{change}?", err=True):
        raise SettingsError("nothing was changed")


@contextmanager
def progress_bar(store: Store, quiet: bool, engine: bool = False) -> Iterator[None]:
    """Shows the progress of the run on *store* until the block ends.

    Nothing is shown if *quiet*, or without a terminal. *engine*: whether Prefect runs it, whose server starts first.
    """
    if quiet or not screen.err.is_terminal:
        yield
        return
    from gre_bench.cli.views.bar import drawn

    with drawn(store, "starting Prefect's server" if engine else "starting"):
        yield


def _last_settings(store: Store) -> str | None:
    """Returns the settings of the edition's last refresh as JSON; None if it has never been refreshed.

    The settings are read from the copy for readers. If that cannot be used, they are read from the store itself.
    """
    if not store.exists:
        return None
    store.refuse_loaded()
    try:
        rows = store.read(LAST_SETTINGS)
    except StoreError:
        with store.lock("look at the last settings"):
            rows = store.rows(LAST_SETTINGS)
    return rows[0]["settings"] if rows else None

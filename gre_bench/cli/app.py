"""The command line ``gre-bench``. Each command imports its heavy libraries itself, so that ``--help`` stays fast."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer

from gre_bench.cli import stopping
from gre_bench.cli.commands import imports, models, options, papers, study
from gre_bench.cli.commands.board import history, leaderboard, view
from gre_bench.cli.commands.compare import compare
from gre_bench.cli.commands.fetch import fetch, plan, year
from gre_bench.cli.commands.groups import Commands, TopGroup
from gre_bench.cli.commands.new import new
from gre_bench.cli.commands.publish import publish, verify
from gre_bench.cli.commands.rank import rank, remove
from gre_bench.cli.commands.refresh import demo, doctor, refresh, status
from gre_bench.cli.commands.running import BAD_INPUT, FAULT, INCOMPLETE
from gre_bench.cli.commands.sql import PASS_DASHES, sql
from gre_bench.cli.commands.why import why
from gre_bench.cli.views import screen
from gre_bench.core.errors import (
    MEND,
    NO_MEMORY,
    GreBenchError,
    LMError,
    LockedError,
    Paused,
    PromptError,
    ServiceDown,
    SettingsError,
    SourceError,
    Stopped,
    UnfinishedError,
    fault_of_a_path,
    fault_of_the_machine,
)
from gre_bench.store import interrupted

EXIT_CODES = (
    "Exit codes: 0 done · 1 fault (a broken evaluation LM, a damaged store, a bug) · 2 bad input (one line says what "
    "and what to do) · 3 incomplete (work is left or the edition is busy: run it again) · 130 stopped by hand. "
    "Whatever the code, finished work is kept."
)
PANELS: dict[str, dict[str, Callable[..., Any] | typer.Typer]] = {
    "Use": {
        "demo": demo, "rank": rank, "leaderboard": leaderboard, "why": why, "compare": compare, "history": history,
        "sql": sql, "view": view,
    },
    "Run": {
        "new": new, "fetch": fetch, "refresh": refresh, "year": year, "plan": plan, "import": imports.app,
        "remove": remove, "status": status, "papers": papers.app,
    },
    "Publish": {"publish": publish, "verify": verify},
    "Study": {"study": study.app},
    "Operate": {"models": models.app, "doctor": doctor},
}  # fmt: skip
"""The commands and groups under each heading of ``--help``, in its order."""


class Program(TopGroup):
    """The top-level group of commands; ``--help`` lists the commands in the order of `PANELS`."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.commands = {name: self.commands[name] for entries in PANELS.values() for name in entries}


app = Commands(
    "GRE-bench: how well do language models review papers? A candidate's reviews are scored by the information that "
    "they give about human reviews (GEM, in nats). No gold standard is needed.",
    cls=Program,
    epilog=EXIT_CODES,
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        screen.say(f"gre-bench {version('gre-bench')}")
        raise typer.Exit


@app.callback()
def program(
    context: typer.Context,
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    state: options.State = Path("state"),
    no_prefect: options.NoPrefect = False,
    wait: options.Wait = 0.0,
    as_json: options.Json = False,
) -> None:
    """Declares the options of the program itself, and keeps what is given for the command that follows."""
    context.obj = {"state": state, "no_prefect": no_prefect, "wait": wait, "as_json": as_json}


for _panel, _entries in PANELS.items():
    for _name, _entry in _entries.items():
        if isinstance(_entry, typer.Typer):
            app.add_typer(_entry, name=_name, rich_help_panel=_panel)
        else:
            _settings = PASS_DASHES if _entry is sql else None
            app.command(_name, rich_help_panel=_panel, context_settings=_settings)(_entry)


@stopping.listening()
def main() -> None:
    """Runs the command line, and ends the process with an exit code.

    An expected failure prints one line on standard error.
    """
    try:
        screen.settle_encoding()
        try:
            app()
        finally:
            # A full disk shows when the output is flushed.
            if sys.stdout:
                sys.stdout.flush()
    except GreBenchError as error:
        screen.error(str(error))
        sys.exit(exit_code(error))
    except BrokenPipeError:
        # The reader has left. Without this, Python would try to write the rest when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        path_fault, machine_fault = fault_of_a_path(error), fault_of_the_machine(error)
        if not (line := path_fault or machine_fault):
            raise
        screen.error(line)
        sys.exit(BAD_INPUT if path_fault else FAULT)
    except MemoryError:
        screen.error(f"{NO_MEMORY}; {MEND}")
        sys.exit(FAULT)
    except (KeyboardInterrupt, Stopped):
        stopping.end()
    except Exception as error:
        if not (interrupted(error) or isinstance(error, typer.Abort)):
            raise
        stopping.end()


def exit_code(error: GreBenchError) -> int:
    """Returns the exit code of *error*: 2 if the user must correct something, 3 if a later run may succeed, else 1."""
    if isinstance(error, LockedError | Paused | ServiceDown | UnfinishedError):
        return INCOMPLETE
    return BAD_INPUT if isinstance(error, SettingsError | SourceError | PromptError | LMError) else FAULT


if __name__ == "__main__":
    main()

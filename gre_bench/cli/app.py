"""The command line ``gre-bench``. For speed, it imports only the module of the command that is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from gre_bench.cli import stopping
from gre_bench.cli.commands import options
from gre_bench.cli.commands.groups import CommandApp, TopLevelGroup
from gre_bench.cli.commands.running import BAD_INPUT, FAULT, INCOMPLETE
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
    describe_machine_fault,
    describe_path_fault,
)
from gre_bench.store import is_interruption

EXIT_CODES = (
    "Exit codes: 0 done · 1 fault (a broken evaluation LM, a damaged store, a bug) · 2 bad input (one line says what "
    "and what to do) · 3 incomplete (work is left or the edition is busy: run it again) · 130 stopped by hand. "
    "Whatever the exit code, finished work is kept."
)
PANELS: dict[str, dict[str, str]] = {
    "Use": {
        "demo": "refresh", "rank": "rank", "leaderboard": "leaderboard", "why": "why", "compare": "compare",
        "history": "leaderboard", "sql": "sql", "view": "leaderboard",
    },
    "Run": {
        "new": "new", "fetch": "venue_years", "refresh": "refresh", "year": "venue_years", "plan": "venue_years",
        "import": "imports", "remove": "rank", "status": "refresh", "papers": "papers",
    },
    "Publish": {"publish": "publish", "submit": "submit", "verify": "publish"},
    "Study": {"study": "study"},
    "Operate": {"models": "evaluation_lms", "doctor": "refresh"},
}  # fmt: skip
"""Heading of ``--help`` → the commands and groups under it, in order, each with its module in `cli.commands`.

A module contains either a function with the command's name or a group with the name ``app``.
"""


class TopLevelGroupInPanelOrder(TopLevelGroup):
    """The top-level group of commands; ``--help`` lists the commands in the order of `PANELS`."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.commands = {
            name: self.commands[name] for entries in PANELS.values() for name in entries if name in self.commands
        }


def _print_version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version

        screen.say(f"gre-bench {version('gre-bench')}")
        raise typer.Exit


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
    """Declares the options of the program itself, and stores their values for the command that follows."""
    context.obj = {"state": state, "no_prefect": no_prefect, "wait": wait, "as_json": as_json}


def build_program(names: Collection[str] | None = None) -> CommandApp:
    """Returns the program with the commands *names* (None: all commands), and imports only their modules."""
    app = CommandApp(
        "GRE-bench: how well do language models review papers? A candidate's reviews are scored by the information "
        "that they give about human reviews (GEM, in nats). No gold standard is needed.",
        cls=TopLevelGroupInPanelOrder,
        epilog=EXIT_CODES,
    )
    app.callback()(program)
    for panel, entries in PANELS.items():
        for name, module in entries.items():
            if names is None or name in names:
                _add_command_or_group(app, name, import_module(f"gre_bench.cli.commands.{module}"), panel)
    return app


def _add_command_or_group(app: CommandApp, name: str, module: ModuleType, panel: str) -> None:
    work = getattr(module, name, None)
    if work is None:
        app.add_typer(module.app, name=name, rich_help_panel=panel)
    else:
        # A query may begin with an SQL comment (--), which looks like an option.
        settings = {"ignore_unknown_options": True} if name == "sql" else None
        app.command(name, rich_help_panel=panel, context_settings=settings)(work)


@cache
def __getattr__(name: str) -> Any:
    """Returns the program with all commands as the attribute ``app``."""
    if name == "app":
        return build_program()
    raise AttributeError(name)


def _find_named_command() -> Collection[str] | None:
    """Returns the first word of the command line if it is a command; None otherwise, such as for --help."""
    first = sys.argv[1] if len(sys.argv) > 1 else ""
    return (first,) if any(first in entries for entries in PANELS.values()) else None


@stopping.handle_signals()
def main() -> None:
    """Runs the command line, and ends the process with an exit code.

    An expected failure prints one line on standard error.
    """
    try:
        screen.escape_unencodable_output()
        try:
            build_program(_find_named_command())()
        finally:
            # A full disk causes an error only when the output is flushed.
            if sys.stdout:
                sys.stdout.flush()
    except GreBenchError as error:
        screen.print_error(str(error) + _explain_state_option(str(error)))
        sys.exit(choose_error_exit_code(error))
    except BrokenPipeError:
        # The reader has closed the pipe. Without this, Python would try to write the rest when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        path_fault, machine_fault = describe_path_fault(error), describe_machine_fault(error)
        if not (line := path_fault or machine_fault):
            raise
        screen.print_error(line)
        sys.exit(BAD_INPUT if path_fault else FAULT)
    except MemoryError:
        screen.print_error(f"{NO_MEMORY}; {MEND}")
        sys.exit(FAULT)
    except (KeyboardInterrupt, Stopped):
        stopping.print_stopped_and_exit()
    except Exception as error:
        if not (is_interruption(error) or isinstance(error, typer.Abort)):
            raise
        stopping.print_stopped_and_exit()


def _explain_state_option(message: str) -> str:
    """Returns the end of an error *message* that names a command: the option --state that this command needs, too.

    It is empty if the message names no command or has the option, or if this command was called without it.
    """
    words = [word for text in sys.argv[1:] for word in (text.split("=", 1) if text.startswith("--state=") else [text])]
    folder = next((words[place + 1] for place, word in enumerate(words[:-1]) if word == "--state"), None)
    if folder is None or "gre-bench " not in message or "--state" in message:
        return ""
    return f" (with{screen.format_state_option(Path(folder))})" if screen.format_state_option(Path(folder)) else ""


def choose_error_exit_code(error: GreBenchError) -> int:
    """Returns the exit code of *error*: 2 if the user must correct something, 3 if a later run may succeed, else 1."""
    if isinstance(error, LockedError | Paused | ServiceDown | UnfinishedError):
        return INCOMPLETE
    return BAD_INPUT if isinstance(error, SettingsError | SourceError | PromptError | LMError) else FAULT


if __name__ == "__main__":
    main()

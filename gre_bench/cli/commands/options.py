"""The options and arguments that several commands share, each described once, and their shell completions.

Most commands take their edition as the argument EDITION. A command has the option --edition instead in two cases: its
argument is something else, or a settings file may name the edition. A short flag means the same in every command.
`PROGRAM` has the options of the program itself, which may come before or after a command's name.
"""

from __future__ import annotations

import os
from copy import copy
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from gre_bench.cli.views.formats import Format
from gre_bench.core.errors import GreBenchError


def option(spelling: str, help: str, default: Any = ..., **more: Any) -> Any:
    """Returns an option; *spelling* has its flags and its value's name, such as ``--out -o FOLDER`` or ``--again``.

    It is required if there is no *default*, here or in the signature. *more* is passed to `typer.Option`.
    """
    words = spelling.split()
    flags = [word for word in words if word.startswith("-")]
    return typer.Option(default, *flags, metavar=None if words[-1] in flags else words[-1], help=help, **more)


def argument(name: str, help: str, default: Any = ..., **more: Any) -> Any:
    """Returns an argument, which is required if there is no *default*; *more* is passed to `typer.Argument`."""
    return typer.Argument(default, metavar=name, help=help, **more)


def _complete_editions(ctx: Any, args: list[str], incomplete: str) -> list[str]:
    """Returns the editions in the state folder (--state, GRE_BENCH_STATE or ``state``); none if it is unreadable."""
    from gre_bench.store import find_editions

    state = ctx.params.get("state") or ctx.find_root().params.get("state")
    state = state or os.environ.get("GRE_BENCH_STATE") or "state"
    try:
        return sorted(find_editions(Path(state)))
    except (GreBenchError, OSError):
        return []


def _complete_metrics(ctx: Any, args: list[str], incomplete: str) -> list[str]:
    from gre_bench.core.metrics import METRICS

    return list(METRICS)


def _parse_licence(text: str | None) -> str | None:
    from gre_bench.pipeline.importing import parse_licence

    return parse_licence(text)


EDITIONS: dict[str, Any] = {"autocompletion": _complete_editions}
METRICS: dict[str, Any] = {"autocompletion": _complete_metrics}
_ANY = "Edition, such as ICLR-2025"

_PANEL: dict[str, Any] = {"rich_help_panel": "Options of commands, before or after the command's name"}
_WAIT = "How long to wait if another process is writing the edition; default: not at all."
State = Annotated[
    Path, option("--state FOLDER", "Folder that keeps everything a run makes.", envvar="GRE_BENCH_STATE", **_PANEL)
]
NoPrefect = Annotated[bool, option("--no-prefect", "Run as plain functions, without Prefect.", **_PANEL)]
Wait = Annotated[float, option("--wait SECONDS", _WAIT, show_default=False, **_PANEL)]
Json = Annotated[bool, option("--json", "Print JSON instead of tables.", **_PANEL)]
PROGRAM: dict[str, Any] = {"state": State, "no_prefect": NoPrefect, "wait": Wait, "as_json": Json}
"""Parameter → option."""


def redeclare_program_option(name: str) -> Any:
    """Returns the option *name* of `PROGRAM` for use in a command: hidden in its help, and None if it is not given."""
    kind, stated = get_args(PROGRAM[name])
    stated = copy(stated)
    stated.hidden, stated.envvar = True, None
    return Annotated[kind | None, stated]


Form = Annotated[
    Format, option("--format -f FORMAT", "table, json, csv, markdown or parquet; table and markdown round numbers.")
]
Out = Annotated[Path | None, option("--out -o FILE", "File to write instead of standard output.")]
Figures = Annotated[Path | None, option("--figures FOLDER", "Write the pictures into this folder, as SVG.")]
Yes = Annotated[bool, option("--yes -y", "Do not ask for confirmation.")]

TheEdition = Annotated[str, argument("EDITION", f"{_ANY}.", **EDITIONS)]
OneEdition = Annotated[str | None, argument("EDITION", f"{_ANY}; not needed if there is only one.", **EDITIONS)]
AnyEdition = Annotated[str | None, argument("EDITION", f"{_ANY}; default: all.", **EDITIONS)]
Edition = Annotated[str | None, option("--edition -e EDITION", "Edition: VENUE-YEAR or VENUE-YEAR-SAMPLE.", **EDITIONS)]
IntoEdition = Annotated[str, option("--edition -e EDITION", "Edition to add to, such as ICLR-2025.", **EDITIONS)]

SettingsFile = Annotated[
    Path | None, option("--settings -s FILE", "TOML file of settings, or the name of an included one: demo, gpu, ...")
]
Set = Annotated[list[str] | None, option("--set KEY=VALUE", "One setting, as group.key=value; repeatable.")]
Budget = Annotated[list[str] | None, option("--set KEY=VALUE", "One limit, such as budget.usd=5; repeatable.")]
Limit = Annotated[int | None, option("--limit N", "Only the first N papers of the sample (a pilot).", min=1)]
DryRun = Annotated[bool, option("--dry-run", "Estimate work, time and cost; change nothing.")]
RetryFailed = Annotated[bool, option("--retry-failed", "Try again the texts and scores marked as failed.")]
Seed = Annotated[int, option("--seed N", "Seed of the random choices.", min=0)]

Metric = Annotated[list[str] | None, option("--metric -m METRIC", "Only this metric; repeatable.", **METRICS)]
Writer = Annotated[str | None, option("--writer NAME", "Who wrote the judgments, if the file does not say.")]
Columns = Annotated[
    list[str] | None,
    option(
        '--columns FIELD="HEADER"',
        "Column of the file that holds a field, such as review or paper_id; repeat it for several.",
    ),
]
Where = Annotated[
    list[str] | None, option("--where COLUMN=VALUE", "Only rows with this value in the column; repeatable.")
]
Licence = Annotated[
    str | None,
    option(
        "--licence NAME",
        "Licence of these texts, such as 'CC BY 4.0'; default: unknown, and releases withhold them.",
        callback=_parse_licence,
    ),
]
Rows = Annotated[str | None, option("--rows FIRST:END", "Only rows whose column `row` is in this range.")]
NotesFile = Annotated[Path, argument("FILE", "OpenReview notes, one per line (.jsonl or .jsonl.gz), API v1 or v2.")]
UnverifiedVenue = Annotated[
    bool, option("--unverified-venue", "Accept a venue-year whose note format is only known from documentation.")
]
Papers = Annotated[str | None, option("--papers N|FILE", "Papers of the sample; default: 300. Or a file of ids.")]
PapersFile = Annotated[
    Path | None, option("--papers-file FILE", "Papers with their texts, in the format of import papers.")
]
ModelsFile = Annotated[Path | None, option("--models-file FILE", "Catalogue of models; default: data/models.toml.")]
Model = Annotated[list[str] | None, option("--model NAME", "Model of the catalogue; repeatable.")]
StudyName = Annotated[str | None, option("--name NAME", "Name of the study, for its files.")]

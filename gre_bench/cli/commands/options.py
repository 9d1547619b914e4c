"""The options and arguments that several commands share, each described once.

Most commands name their edition by the argument EDITION. A command has the option --edition instead in two cases: its
argument is something else, or a settings file may name the edition. A short flag means the same in every command.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gre_bench.cli.commands import completion
from gre_bench.cli.views.board_formats import Format

State = Annotated[
    Path,
    typer.Option(
        "--state", metavar="FOLDER", envvar="GRE_BENCH_STATE", help="Folder that keeps everything a run makes."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Wait = Annotated[
    float,
    typer.Option(
        "--wait",
        metavar="SECONDS",
        show_default=False,
        help="How long to wait if another process is writing the edition; default: not at all.",
    ),
]
NoPrefect = Annotated[bool, typer.Option("--no-prefect", help="Run as plain functions, without Prefect.")]
Form = Annotated[
    Format,
    typer.Option(
        "--format",
        "-f",
        metavar="FORMAT",
        help="table, json, csv, markdown or parquet; table and markdown round numbers.",
    ),
]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE", help="File to write instead of standard output.")
]
Figures = Annotated[
    Path | None, typer.Option("--figures", metavar="FOLDER", help="Write the figures into this folder (SVG and PNG).")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]

_EDITION = {"metavar": "EDITION", "autocompletion": completion.editions}
TheEdition = Annotated[str, typer.Argument(**_EDITION, help="Edition, such as ICLR-2025.")]
OneEdition = Annotated[
    str | None, typer.Argument(**_EDITION, help="Edition, such as ICLR-2025; not needed if there is only one.")
]
AnyEdition = Annotated[str | None, typer.Argument(**_EDITION, help="Edition, such as ICLR-2025; default: all.")]
Edition = Annotated[
    str | None, typer.Option("--edition", "-e", **_EDITION, help="Edition: VENUE-YEAR or VENUE-YEAR-SAMPLE.")
]
IntoEdition = Annotated[str, typer.Option("--edition", "-e", **_EDITION, help="Edition to add to, such as ICLR-2025.")]

SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--settings", "-s", metavar="FILE", help="TOML file of settings, or the name of an included one: demo, gpu, ..."
    ),
]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="One setting, as group.key=value; repeatable.")
]
Budget = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="One limit, such as budget.usd=5; repeatable."),
]
Limit = Annotated[
    int | None, typer.Option("--limit", metavar="N", min=1, help="Only the first N papers of the sample (a pilot).")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Estimate work, time and cost; change nothing.")]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Try again the texts and scores marked as failed.")]
Again = Annotated[bool, typer.Option("--again", help="Fetch everything again, and report what changed.")]

Metric = Annotated[
    list[str] | None,
    typer.Option(
        "--metric", "-m", metavar="METRIC", autocompletion=completion.metrics, help="Only this metric; repeatable."
    ),
]
Writer = Annotated[
    str | None,
    typer.Option("--writer", metavar="NAME", help="Who wrote the judgments, if the file does not say."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns", metavar='FIELD="HEADER"',
        help="Column of the file that holds a field, such as review or paper_id; repeat it for several.",
    ),
]  # fmt: skip
Licence = Annotated[
    str | None,
    typer.Option(
        "--licence",
        metavar="NAME",
        help="Licence of these texts, such as 'CC BY 4.0'; default: unknown, and releases withhold them.",
    ),
]
Rows = Annotated[
    str | None,
    typer.Option("--rows", metavar="FIRST:END", help="Only rows whose column `row` is in this range."),
]
Pdfs = Annotated[
    Path | None, typer.Option("--pdfs", metavar="FOLDER", help="Folder with the papers' PDFs, <paper id>.pdf.")
]
NotesFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="OpenReview notes, one per line (.jsonl or .jsonl.gz), API v1 or v2.")
]
UnverifiedVenue = Annotated[
    bool,
    typer.Option("--unverified-venue", help="Accept a venue-year whose note format is only known from documentation."),
]
Papers = Annotated[
    str | None,
    typer.Option("--papers", metavar="N|FILE", help="Papers of the sample; default: 300. Or a file of ids."),
]
PapersFile = Annotated[
    Path | None,
    typer.Option("--papers-file", metavar="FILE", help="Papers with their texts, in the format of import papers."),
]
ModelsFile = Annotated[
    Path | None, typer.Option("--models-file", metavar="FILE", help="Catalogue of models; default: data/models.toml.")
]
Model = Annotated[
    list[str] | None,
    typer.Option("--model", metavar="NAME", help="Model of the catalogue; repeatable."),
]
StudyName = Annotated[str | None, typer.Option("--name", metavar="NAME", help="Name of the study, for its files.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of the random choices.")]

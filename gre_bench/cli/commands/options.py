"""The options of ``gre-bench``, each described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXIT_CODES = (
    "Exit codes: 0 done · 1 fault (a broken evaluation LM, a damaged store, a bug) · 2 bad input (one line says what "
    "and what to do) · 3 incomplete (pairs are still missing or the edition is busy: run it again) · 130 stopped by "
    "hand. Whatever the code, what was done is kept."
)

State = Annotated[
    Path, typer.Option("--state", envvar="GRE_BENCH_STATE", help="Folder that keeps everything a run makes.")
]
Edition = Annotated[str | None, typer.Option("--edition", "-e", help="Edition: VENUE-YEAR or VENUE-YEAR-SAMPLE.")]
IntoEdition = Annotated[str, typer.Option("--edition", "-e", help="Edition to add them to, such as ICLR-2025.")]
OneEdition = Annotated[
    str | None, typer.Argument(help="Edition, such as ICLR-2025; the only one there is, if not given.")
]
AnyEdition = Annotated[str | None, typer.Argument(help="Edition, such as ICLR-2025; all of them, if not given.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of tables.")]
Wait = Annotated[float, typer.Option("--wait", help="Seconds to wait while another process writes the edition.")]
Engine = Annotated[
    bool, typer.Option("--prefect/--no-prefect", help="Run under the Prefect engine, or as plain functions.")
]
SettingsFile = Annotated[
    Path | None,
    typer.Option("--settings", "-s", help="TOML file of settings, or the name of a shipped one, such as demo or gpu."),
]
Set = Annotated[list[str] | None, typer.Option("--set", help="One setting, group.key=value; repeatable.")]
Budget = Annotated[
    list[str] | None,
    typer.Option("--set", help="One bound, such as budget.usd=5 or budget.models.NAME.requests=200; repeatable."),
]
Candidate = Annotated[list[str] | None, typer.Option("--candidate", "-c", help="Add just this candidate; repeatable.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Only the first N papers of the sample (a pilot).")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be done and how long it takes; change nothing.")
]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Try finally failed pairs again.")]
Metric = Annotated[list[str] | None, typer.Option("--metric", "-m", help="Only this metric; repeatable.")]
PapersFile = Annotated[
    Path, typer.Argument(help=".jsonl, .csv or .parquet with paper_id and optional title, abstract, text, row.")
]
ReviewsFile = Annotated[
    Path,
    typer.Argument(
        help=".jsonl, .csv or .parquet with paper_id, candidate, and review and/or judgments; or a folder of texts, "
        "each named by its paper: <paper id>.txt or .md."
    ),
]
InspectLogs = Annotated[
    Path, typer.Argument(metavar="LOGS", help="A log of inspect_ai (.eval or .json), or a folder of logs.")
]
InspectBy = Annotated[
    str | None, typer.Option("--as", help="Candidate on the board, where the logs are of one model; else its model.")
]
Epoch = Annotated[
    int | None, typer.Option("--epoch", min=1, help="Take this epoch's reviews; else the first epoch that has one.")
]
New = Annotated[bool, typer.Option("--new", help="Start the edition if it is not there yet.")]
By = Annotated[str | None, typer.Option("--as", help="Candidate whose reviews these are, where the file names none.")]
ByHumans = Annotated[bool, typer.Option("--human", help="These are human reviews, where the file names no candidate.")]
NotesFile = Annotated[Path, typer.Argument(help="OpenReview notes, one a line (.jsonl or .jsonl.gz), API v1 or v2.")]
Texts = Annotated[Path | None, typer.Option("--text", help="Papers' texts (.parquet, .csv or .jsonl: paper_id, text).")]
Pdfs = Annotated[Path | None, typer.Option("--pdfs", help="Folder with the papers' PDFs, <paper id>.pdf.")]
UnverifiedVenue = Annotated[
    bool, typer.Option("--unverified-venue", help="Accept a venue-year whose notes nobody here has seen yet.")
]
Rows = Annotated[str | None, typer.Option("--rows", help="FIRST:END, only rows whose column row is in that range.")]
JudgmentsBy = Annotated[
    str | None, typer.Option("--writer", help="Who wrote the judgments, where the file does not say.")
]
MakePapers = Annotated[bool, typer.Option("--make-papers", help="Make a bare paper for each paper id not yet known.")]
JudgmentsFile = Annotated[
    Path, typer.Option("--judgments", help="Reviews with judgments, in the format of import reviews.")
]
JudgmentsFiles = Annotated[
    list[Path],
    typer.Option("--judgments", help="Reviews with judgments, in the format of import reviews; repeatable."),
]
TrainRows = Annotated[str, typer.Option("--train", help="FIRST:END, rows to train on.")]
TrainRowsOfEach = Annotated[
    list[str], typer.Option("--train", help="FIRST:END, rows to train on: once for each --judgments, in their order.")
]
ChooseRows = Annotated[
    str | None,
    typer.Option("--choose", help="FIRST:END, rows to choose the weights on; else a sixth of the training papers."),
]
Out = Annotated[Path, typer.Option("--out", help="Folder for the model.")]
OnlyWriter = Annotated[str | None, typer.Option("--writer", help="Only judgments by this writer.")]
Base = Annotated[Path, typer.Option("--base", help="Model to start from: its folder, or a name of gre-bench models.")]
KeptRows = Annotated[
    str | None,
    typer.Option("--choose", help="FIRST:END, rows of the first --judgments that the loss is measured on, not learnt."),
]
AbstractsFile = Annotated[
    Path | None, typer.Option("--papers", help="Papers' abstracts, in the format of import papers; brings in GEM-S.")
]
TuningFile = Annotated[
    Path | None, typer.Option("--settings", "-s", help="TOML file of training settings; else those of the paper.")
]
TuningSet = Annotated[list[str] | None, typer.Option("--set", help="One training setting, key=value; repeatable.")]
Full = Annotated[bool, typer.Option("--full", help="Train all weights instead of an adapter (method=full).")]
MixtureRows = Annotated[
    str, typer.Option("--choose", help="FIRST:END, rows not learnt from; the mixture is fitted to them.")
]
CountRows = Annotated[str, typer.Option("--train", help="FIRST:END, rows to count document frequencies on.")]
MixedFolder = Annotated[Path, typer.Option("--lm", help="Model whose log-probabilities are mixed: its folder or name.")]
MixtureOut = Annotated[Path, typer.Option("--out", help="Folder for the mixture, such as MODEL/mixture.")]
LMSet = Annotated[
    list[str] | None, typer.Option("--set", help="One setting of evaluation_lm, such as dtype=bfloat16; repeatable.")
]

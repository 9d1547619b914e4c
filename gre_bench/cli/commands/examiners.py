"""``gre-bench examiners``: which way of asking an LM to grade a text follows human scores most closely?"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated

import typer

from gre_bench.cli.commands import options
from gre_bench.cli.views import screen
from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.pipeline.runs.prefect_engine import perform, settle

DONE, INCOMPLETE = 0, 3

Items = Annotated[
    Path | None,
    typer.Option("--items", help="Texts with human scores, .tsv or .csv: SRC, HYP, Score, optionally id and model_id."),
]
Settings = Annotated[
    Path | None,
    typer.Option("--settings", "-s", help="TOML file of the study's settings; try: examiners."),
]
Layouts = Annotated[
    list[str] | None,
    typer.Option("--layout", help="Only the rows of this published table, such as 001_table1; repeatable."),
]
Models = Annotated[
    list[str] | None, typer.Option("--model", "-m", help="Model of the models file, instead of those of the settings.")
]
ModelsFile = Annotated[Path | None, typer.Option("--models", help="Models file; data/models.toml if not given.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Only the first N texts.")]
Name = Annotated[
    str | None, typer.Option("--name", help="Name of the study; its files are in state/studies/examiners.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be asked for and what it may cost.")]
Again = Annotated[bool, typer.Option("--retry-failed", help="Ask for refused and empty replies anew.")]
Filled = Annotated[list[str], typer.Argument(help="NAME=FILE, a sheet of rationales that is filled in.")]

app = typer.Typer(help="Hold examiners (LMs asked to grade a text) against human scores.")


@app.callback(invoke_without_command=True, epilog=options.EXIT_CODES)
def examiners(
    context: typer.Context,
    items: Items = None,
    edition: options.Edition = None,
    settings: Settings = None,
    layouts: Layouts = None,
    models: Models = None,
    models_file: ModelsFile = None,
    limit: Limit = None,
    name: Name = None,
    bounds: options.Budget = None,
    dry_run: DryRun = False,
    again: Again = False,
    engine: options.Engine = True,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Hold examiners against human scores of texts: of a file (--items), or of an edition's reviews (--edition).

    Replies are kept in state/replies: a study that was stopped goes on by the same command, and one that is asked
    for more examiners or LMs pays for these only. Bounds stand in the settings ([budget]) or in --set budget.KEY=VALUE.
    """
    if context.invoked_subcommand:
        return
    if items is None and edition is None and settings is None:
        print(context.get_help())
        return
    settle(state)
    from gre_bench.cli.views.examiners import show, show_estimate
    from gre_bench.core.settings import budget_of
    from gre_bench.flows.examiner_study import examiner_study, study
    from gre_bench.studies.examiners.estimate import estimate
    from gre_bench.studies.examiners.job import ExaminerJob
    from gre_bench.studies.examiners.settings import StudySettings, load_study
    from gre_bench.tasks import steps

    chosen = load_study(settings) if settings else StudySettings()
    if layouts:
        chosen = chosen.model_copy(update={"layouts": tuple(layouts), "examiners": {}, "generated": {}})
        chosen = chosen.model_copy(update={"panel": None, "pairwise": None})
    if models:
        chosen = chosen.model_copy(update={"models": tuple(dict.fromkeys(models))})
    if models_file:
        chosen = chosen.model_copy(update={"models_file": models_file})
    chosen = chosen.model_copy(update={"budget": budget_of(chosen.budget, tuple(bounds or ()))})
    job = ExaminerJob(name or edition or (items.stem if items else "study"), chosen, items, edition, limit, again,
                      state.resolve())  # fmt: skip
    if dry_run:
        found = estimate(job)
        return screen.print_json(found) if as_json else show_estimate(found)
    summary = perform(engine, lambda: examiner_study(job), lambda: study(job, steps.undecorated()))
    screen.print_json(summary) if as_json else show(summary)
    raise typer.Exit(DONE if summary["outcome"] == "done" else INCOMPLETE)


@app.command("errors", epilog=options.EXIT_CODES)
def errors(filled: Filled, as_json: options.Json = False) -> None:
    """Shares of errors in rationales, from filled sheets, in the layout of Table 9 of Kim et al. 2023."""
    from gre_bench.cli.views.examiners import show_sheet
    from gre_bench.examiners.results.error_sheet import shares
    from gre_bench.examiners.results.tables import error_table
    from gre_bench.studies.examiners.tables import published_sheet

    found = {}
    for item in filled:
        name, there, file = item.partition("=")
        if not there or not name or not file:
            raise SettingsError(f"{item}: write it as NAME=FILE")
        try:
            with Path(file).open(encoding="utf-8-sig", newline="") as lines:
                found[name] = shares(list(csv.DictReader(lines)))
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise SourceError(f"{file} cannot be read: {error}") from None
        except SourceError as error:
            raise SourceError(f"{file}: {error}") from None
    screen.print_json(found) if as_json else show_sheet(published_sheet(error_table(found)))

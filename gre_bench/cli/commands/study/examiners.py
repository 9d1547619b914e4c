"""``gre-bench study examiners``: tests which ways of asking an LM to grade texts come closest to human scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gre_bench.cli.commands import options
from gre_bench.cli.commands.groups import Commands
from gre_bench.cli.commands.running import ended, named_files, study_budget
from gre_bench.cli.views import screen
from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.pipeline.runs.prefect_engine import configure_prefect, perform

Items = Annotated[
    Path | None,
    typer.Option(
        "--items", metavar="FILE",
        help="Texts with human scores, .tsv or .csv: SRC, HYP, Score, optionally id and model_id.",
    ),
]  # fmt: skip
StudySettings = Annotated[
    Path | None,
    typer.Option("--settings", "-s", metavar="FILE", help="TOML file of the study's settings; try: examiners."),
]
Layouts = Annotated[
    list[str] | None,
    typer.Option(
        "--layout", metavar="NAME", help="Only the rows of this published table, such as 001_table1; repeatable."
    ),
]
Limit = Annotated[int | None, typer.Option("--limit", metavar="N", min=1, help="Only the first N texts.")]
Filled = Annotated[
    list[str], typer.Argument(metavar="NAME=FILE", help="A sheet of rationales that a human has filled in.")
]

app = Commands("Compare LMs that grade texts with human scores.")


@app.command("compare", no_args_is_help=True)
def compare(
    items: Items = None,
    edition: options.Edition = None,
    settings: StudySettings = None,
    layouts: Layouts = None,
    models: options.Model = None,
    models_file: options.ModelsFile = None,
    limit: Limit = None,
    name: options.StudyName = None,
    bounds: options.Budget = None,
    dry_run: options.DryRun = False,
    again: options.RetryFailed = False,
    no_prefect: options.NoPrefect = False,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Compare ways of asking an LM to grade texts.

    The texts are those of a file (--items), or an edition's graded reviews (--edition). Replies are kept in
    state/replies. If a study is stopped, the same command continues it. If examiners or LMs are added, only these are
    paid for. Limits are the budget of the settings, or --set budget.KEY=VALUE.
    """
    if items is None and edition is None and settings is None:
        raise SettingsError("name what to grade: --items FILE, or --edition EDITION; see --help")
    configure_prefect(state)
    from gre_bench.cli.views.examiners import show, show_estimate
    from gre_bench.flows.examiner_study import examiner_study, study
    from gre_bench.studies.examiners.inputs import StudySettings as Chosen
    from gre_bench.studies.examiners.inputs import load_study
    from gre_bench.studies.examiners.job import ExaminerJob, estimate
    from gre_bench.tasks import steps

    chosen = load_study(settings) if settings else Chosen()
    if layouts:
        chosen = chosen.model_copy(update={"layouts": tuple(layouts), "examiners": {}, "generated": {}})
        chosen = chosen.model_copy(update={"panel": None, "pairwise": None})
    if models:
        chosen = chosen.model_copy(update={"models": tuple(dict.fromkeys(models))})
    if models_file:
        chosen = chosen.model_copy(update={"models_file": models_file})
    chosen = chosen.model_copy(update={"budget": study_budget(bounds, chosen.budget)})
    job = ExaminerJob(name or edition or (items.stem if items else "study"), chosen, items, edition, limit, again,
                      state.resolve())  # fmt: skip
    if dry_run:
        plan = estimate(job)
        return screen.print_json(plan) if as_json else show_estimate(plan)
    summary = perform(not no_prefect, lambda: examiner_study(job), lambda: study(job, steps.undecorated()))
    screen.print_json(summary) if as_json else show(summary)
    raise ended(summary)


@app.command("errors")
def errors(filled: Filled, as_json: options.Json = False) -> None:
    """Count the errors in rationales, from filled sheets.

    The table has the layout of table 9 of Kim et al. 2023.
    """
    from gre_bench.cli.views.examiners import show_sheet
    from gre_bench.examiners.tables import error_table, shares
    from gre_bench.ingest.records.row_files import read_all_rows

    error_shares = {}
    for name, file in named_files(filled).items():
        try:
            error_shares[name] = shares([row for _, row in read_all_rows(file)[0]])
        except SourceError as error:
            raise SourceError(f"{file}: {error}") from None
    screen.print_json(error_shares) if as_json else show_sheet(error_table(error_shares))

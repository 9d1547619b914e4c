"""``gre-bench study examiners``: tests which ways of asking an LM to grade texts come closest to human scores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE
from rich.console import Console

from gre_bench.cli.commands import options
from gre_bench.cli.commands.groups import CommandApp, CommandResult
from gre_bench.cli.commands.options import argument, option
from gre_bench.cli.commands.running import choose_exit_code, load_study_budget, parse_named_files
from gre_bench.cli.views import screen
from gre_bench.cli.views.screen import say
from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.terminal import counted
from gre_bench.pipeline.runs.prefect_engine import configure_prefect, run_with_or_without_prefect

if TYPE_CHECKING:
    from gre_bench.examiners.rater_results import TextTable

SHOWN = 40
"""Number of reasons to print; tables.md has all of them."""
WIDE = 200
"""Width of a table in characters if the output is not a terminal."""

app = CommandApp("Compare LMs that grade texts with human scores.")


@app.command("compare", no_args_is_help=True)
def compare(
    *,
    state: Path,
    items: Path | None = option(
        "--items FILE", "Texts with human scores, .tsv or .csv: SRC, HYP, Score, optionally id and model_id.", None
    ),
    edition: options.Edition = None,
    settings: Path | None = option("--settings -s FILE", "TOML file of the study's settings; try: examiners.", None),
    layouts: list[str] | None = option(
        "--layout NAME", "Only the rows of this published table, such as 001_table1; repeatable.", None
    ),
    models: options.Model = None,
    models_file: options.ModelsFile = None,
    limit: int | None = option("--limit N", "Only the first N texts.", None, min=1),
    name: options.StudyName = None,
    bounds: options.Budget = None,
    dry_run: options.DryRun = False,
    again: options.RetryFailed = False,
    no_prefect: bool,
) -> CommandResult:
    """Compare ways of asking an LM to grade texts.

    The texts come from a file (--items), or are an edition's graded reviews (--edition). Replies are kept in
    state/replies. If a study is stopped, the same command continues it. If examiners or LMs are added, only their
    requests are paid for. Limits are the budget of the settings, or --set budget.KEY=VALUE.
    """
    if items is None and edition is None and settings is None:
        raise SettingsError("name what to grade: --items FILE, or --edition EDITION; see --help")
    configure_prefect(state)
    from gre_bench.studies.examiners.comparison import compare
    from gre_bench.studies.examiners.inputs import StudySettings as Chosen
    from gre_bench.studies.examiners.inputs import load_study
    from gre_bench.studies.examiners.study import ExaminerJob, estimate_study_cost

    chosen = load_study(settings) if settings else Chosen()
    if layouts:
        chosen = chosen.model_copy(update={"layouts": tuple(layouts), "examiners": {}, "generated": {}})
        chosen = chosen.model_copy(update={"panel": None, "pairwise": None})
    if models:
        chosen = chosen.model_copy(update={"models": tuple(dict.fromkeys(models))})
    if models_file:
        chosen = chosen.model_copy(update={"models_file": models_file})
    chosen = chosen.model_copy(update={"budget": load_study_budget(bounds, chosen.budget)})
    name = name or edition or (items.stem if items else "study")
    job = ExaminerJob(name, chosen, items, edition, limit, again, state.resolve())
    if dry_run:
        return CommandResult(estimate_study_cost(job), _show_estimate)

    def run_flow() -> dict[str, Any]:
        from gre_bench.flows.examiner_study import examiner_study

        return examiner_study(job)

    summary = run_with_or_without_prefect(not no_prefect, run_flow, lambda: compare(job))
    return CommandResult(summary, _show_study_results, choose_exit_code(summary))


@app.command("errors")
def errors(
    *, filled: list[str] = argument("NAME=FILE", "A sheet of rationales that a human has filled in.")
) -> CommandResult:
    """Count the errors in rationales (an LM's reasons for grades).

    The table has the layout of table 9 of Kim et al. 2023.
    """
    from gre_bench.examiners.rater_results import build_error_table, compute_error_shares
    from gre_bench.ingest.records.row_files import read_rows_without_refusals

    error_shares = {}
    for name, file in parse_named_files(filled).items():
        try:
            error_shares[name] = compute_error_shares([row for _, row in read_rows_without_refusals(file)[0]])
        except SourceError as error:
            raise SourceError(f"{file}: {error}") from None
    return CommandResult(error_shares, lambda shares: _show_text_table(build_error_table(shares)))


def _show_study_results(summary: dict[str, Any]) -> None:
    from gre_bench.examiners.rater_results import TextTable

    say(f"{summary['study']}: {counted(summary['texts'], 'text')} on {summary['sources']} sources")
    for row in summary["tables"]:
        _show_text_table(TextTable(**row))
    lacking = summary["lacking"]
    screen.say_nonempty(lacking[:SHOWN], "without a grade: ")
    if len(lacking) > SHOWN:
        say(f"and {len(lacking) - SHOWN} more such lines in tables.md")
    say(f"grades, outcomes, tables and sheets for rationales: {summary['folder']}")
    screen.say_nonempty([summary["message"]])


def _show_text_table(sheet: TextTable) -> None:
    screen.print_grid(
        sheet.heads, sheet.rows, left=sheet.left, fold=True, to=None if screen.out.is_terminal else Console(width=WIDE),
        title=sheet.title, box=SIMPLE, padding=(0, 1, 0, 0),
    )  # fmt: skip
    screen.say_nonempty(sheet.notes)


def _show_estimate(plan: dict[str, Any]) -> None:
    from gre_bench.cli.views.study_screens import show_planned_requests

    say(f"{counted(plan['texts'], 'text')}, {plan['excluded']} of them excluded; {plan['examiners']} examiners")
    show_planned_requests(plan)

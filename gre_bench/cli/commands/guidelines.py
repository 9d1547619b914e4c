"""``gre-bench guidelines``: do reviewer guidelines bring an LM's ratings closer to those of human reviewers?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from gre_bench.cli.commands import guideline_options as asked
from gre_bench.cli.commands import options
from gre_bench.cli.views import screen
from gre_bench.core.errors import SettingsError
from gre_bench.pipeline.runs.prefect_engine import perform, settle

DONE, INCOMPLETE = 0, 3

app = typer.Typer(
    help="Compare the guidelines under which LMs review, by how close their ratings come to human ratings; find good "
    "human reviews, and make guidelines from them.",
)


@app.callback(invoke_without_command=True)
def guidelines(
    context: typer.Context,
    reviews: asked.Reviews = None,
    name: asked.Name = None,
    seed: asked.Seed = 0,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Compare guidelines. With --reviews DIR: reviews that were written elsewhere; nothing is asked of any model."""
    if context.invoked_subcommand:
        if reviews is not None:
            raise SettingsError("--reviews is for reviews written elsewhere; leave it out, or the command after it")
        return
    if reviews is None:
        print(context.get_help())
        return
    settle(state)
    from gre_bench.flows.compare_guidelines import compare_given

    _finish(compare_given(name or reviews.resolve().name, reviews, state.resolve(), seed), as_json)


@app.command("compare", epilog=options.EXIT_CODES)
def compare(
    models: asked.Models = None,
    conditions: asked.Conditions = None,
    own: asked.Guidelines = None,
    edition: options.Edition = None,
    papers: asked.Papers = None,
    ratings: asked.Ratings = None,
    models_file: asked.ModelsFile = None,
    limit: options.Limit = None,
    name: asked.Name = None,
    seed: asked.Seed = 0,
    bounds: options.Budget = None,
    dry_run: asked.DryRun = False,
    again: asked.Again = False,
    engine: options.Engine = True,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Have models rate papers under guidelines, and hold the ratings against the mean human ratings.

    Replies are kept in state/replies: a study that was stopped goes on by the same command, and one that is asked
    for more conditions or models pays for these only.
    """
    settle(state)
    from gre_bench.flows.compare_guidelines import GuidelineJob, compare_guidelines, estimate
    from gre_bench.flows.compare_guidelines import compare as plain
    from gre_bench.tasks import steps

    job = GuidelineJob(
        name or edition or (papers.stem if papers else "study"), tuple(dict.fromkeys(models or ())),
        tuple(conditions or ()), papers, ratings, edition, _files(own or ()), models_file, limit, again, seed,
        state.resolve(), _budget(bounds),
    )  # fmt: skip
    if dry_run:
        found = estimate(job)
        return screen.print_json(found) if as_json else _show_estimate(found)
    summary = perform(engine, lambda: compare_guidelines(job), lambda: plain(job, steps.undecorated()))
    _finish(summary, as_json)


@app.command("quality", epilog=options.EXIT_CODES)
def quality(
    notes: asked.Notes,
    edition: asked.Venue,
    judge: asked.Judge = None,
    without_dates: asked.WithoutDates = False,
    size: asked.Size = 30,
    seed: asked.Seed = 0,
    models_file: asked.ModelsFile = None,
    unverified_venue: options.UnverifiedVenue = False,
    name: asked.Name = None,
    bounds: options.Budget = None,
    dry_run: asked.DryRun = False,
    again: asked.Again = False,
    engine: options.Engine = True,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Judge human reviews by five criteria, 2 to 17 points, and draw the groups Good (17), Middle (11), Bad (up to 6).

    Two criteria are rules (date, length), three are judged by a model. Where a field, a date or a verdict is missing
    the total is not computable, and the review is in no group.
    """
    settle(state)
    from gre_bench.cli.views.guidelines import show_quality
    from gre_bench.flows.review_quality import QualityJob, estimate, judged, review_quality
    from gre_bench.tasks import steps

    job = QualityJob(name or f"quality-{edition}", notes, edition, judge, not without_dates, size, seed, models_file,
                     unverified_venue, again, state.resolve(), _budget(bounds))  # fmt: skip
    if dry_run:
        plan = estimate(job)
        return screen.print_json(plan) if as_json else _show_models(plan)
    found = perform(engine, lambda: review_quality(job), lambda: judged(job, steps.undecorated()))
    screen.print_json(found) if as_json else show_quality(found)
    raise typer.Exit(DONE if found["outcome"] == "done" else INCOMPLETE)


@app.command("generate", epilog=options.EXIT_CODES)
def generate(
    name: asked.StudyName,
    group: asked.GroupName,
    model: asked.OneModel,
    out: asked.OutFile,
    models_file: asked.ModelsFile = None,
    bounds: options.Budget = None,
    again: asked.Again = False,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Make a guideline from a group of the reviews that `quality` drew: a checklist that imitates those reviewers.

    Use it with: gre-bench guidelines compare --guideline mine=FILE --condition mine --condition mine+rubric
    """
    settle(state)
    from gre_bench.flows.review_quality import generate as make
    from gre_bench.studies.guidelines.results import KIND
    from gre_bench.tasks import steps
    from gre_bench.writing.catalog import Desk, study_account

    account = study_account(KIND, name)
    desk = Desk(state.resolve() / "replies", models_file, again, account=account, budget=_budget(bounds))
    found = make(name, group, model, out, desk, steps.undecorated(), state.resolve())
    if as_json:
        return screen.print_json(found)
    screen.say(f"{out}: a guideline by {model} from {found['reviews']} reviews of group {group}")


def _files(own: list[str] | tuple[str, ...]) -> dict[str, Path]:
    files = {}
    for item in own:
        name, found, file = item.partition("=")
        if not found or not file:
            raise SettingsError(f"--guideline {item}: write it as NAME=FILE")
        if name in files:
            raise SettingsError(f"--guideline {name} is there twice")
        files[name] = Path(file)
    return files


def _budget(bounds: list[str] | None) -> Any:
    """The bounds that are asked for; the study's own runs add up."""
    from gre_bench.core.settings import BudgetSettings, budget_of

    return budget_of(BudgetSettings(), tuple(bounds or ()))


def _finish(summary: dict[str, Any], as_json: bool) -> None:
    from gre_bench.cli.views.guidelines import show

    screen.print_json(summary) if as_json else show(summary)
    raise typer.Exit(DONE if summary["outcome"] == "done" else INCOMPLETE)


def _show_estimate(found: dict[str, Any]) -> None:
    screen.say(f"{found['papers']} papers under {', '.join(found['conditions'])}; {found['without_text']} have no text")
    _show_models(found)


def _show_models(found: dict[str, Any]) -> None:
    from gre_bench.cli.views.studies import show_models

    show_models(found)

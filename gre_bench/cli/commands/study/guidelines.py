"""``gre-bench study guidelines``: tests whether reviewer guidelines bring an LM's ratings closer to human ratings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gre_bench.cli.commands import options
from gre_bench.cli.commands.groups import Commands
from gre_bench.cli.commands.running import ended, named_files, study_budget
from gre_bench.cli.commands.study import guideline_options as option
from gre_bench.cli.views import screen
from gre_bench.core.errors import SettingsError
from gre_bench.core.terminal import counted
from gre_bench.pipeline.runs.prefect_engine import configure_prefect, perform

app = Commands("Compare reviewer guidelines, and make them from good reviews.")


@app.command("compare", no_args_is_help=True)
def compare(
    models: options.Model = None,
    conditions: option.Conditions = None,
    own: option.Guidelines = None,
    edition: options.Edition = None,
    papers: options.PapersFile = None,
    ratings: option.Ratings = None,
    reviews: option.GivenReviews = None,
    models_file: options.ModelsFile = None,
    limit: options.Limit = None,
    name: options.StudyName = None,
    bounds: options.Budget = None,
    dry_run: options.DryRun = False,
    again: options.RetryFailed = False,
    no_prefect: options.NoPrefect = False,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Compare models' ratings under guidelines with human ratings.

    Replies are kept in state/replies. If a study is stopped, the same command continues it. If conditions or models are
    added, only these are paid for. With --reviews it compares existing ratings, and asks no model.
    """
    configure_prefect(state)
    if reviews is not None:
        if models or conditions or own or edition or papers or ratings:
            raise SettingsError("--reviews asks no model: leave out the models, conditions, papers and ratings")
        from gre_bench.flows.compare_guidelines import compare_given

        return _finish(compare_given(name or reviews.resolve().name, reviews, state.resolve(), 0), as_json)
    from gre_bench.flows.compare_guidelines import GuidelineJob, compare_guidelines, estimate
    from gre_bench.flows.compare_guidelines import compare as plain
    from gre_bench.tasks import steps

    job = GuidelineJob(
        name or edition or (papers.stem if papers else "study"), tuple(dict.fromkeys(models or ())),
        tuple(conditions or ()), papers, ratings, edition, named_files(own, "--guideline"), models_file, limit, again,
        0, state.resolve(), study_budget(bounds),
    )  # fmt: skip
    if dry_run:
        plan = estimate(job)
        return screen.print_json(plan) if as_json else _show_estimate(plan)
    summary = perform(not no_prefect, lambda: compare_guidelines(job), lambda: plain(job, steps.undecorated()))
    _finish(summary, as_json)


@app.command("quality")
def quality(
    notes: options.NotesFile,
    edition: option.VenueYear,
    judge: option.Judge = None,
    without_dates: option.WithoutDates = False,
    models_file: options.ModelsFile = None,
    unverified_venue: options.UnverifiedVenue = False,
    bounds: options.Budget = None,
    dry_run: options.DryRun = False,
    again: options.RetryFailed = False,
    no_prefect: options.NoPrefect = False,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Grade human reviews by five criteria; sample three groups.

    The groups are good (17 points), middle (11) and bad (6 or fewer). Two criteria are rules (date, length); a model
    judges the other three. If a field, a date or a verdict is missing, a review has no total and no group.
    """
    configure_prefect(state)
    from gre_bench.cli.views.guidelines import show_quality
    from gre_bench.flows.review_quality import QualityJob, estimate, judged, review_quality
    from gre_bench.tasks import steps

    job = QualityJob(
        f"quality-{edition}", notes, edition, judge, not without_dates, models_file=models_file,
        unverified_venue=unverified_venue, again=again, state=state.resolve(), budget=study_budget(bounds),
    )  # fmt: skip
    if dry_run:
        plan = estimate(job)
        return screen.print_json(plan) if as_json else _show_models(plan)
    summary = perform(not no_prefect, lambda: review_quality(job), lambda: judged(job, steps.undecorated()))
    screen.print_json(summary) if as_json else show_quality(summary)
    raise ended(summary)


@app.command("generate")
def generate(
    name: option.StudyName,
    group: option.GroupName,
    model: option.OneModel,
    out: option.GuidelineFile,
    models_file: options.ModelsFile = None,
    bounds: options.Budget = None,
    again: options.RetryFailed = False,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Make a guideline that imitates a group of reviewers.

    The group is one that `study guidelines quality` sampled. The guideline is a checklist. Use it with `gre-bench study
    guidelines compare --guideline mine=FILE --condition mine --condition mine+rubric`.
    """
    configure_prefect(state)
    from gre_bench.flows.review_quality import generate as make
    from gre_bench.studies.guidelines.results import KIND
    from gre_bench.tasks import steps
    from gre_bench.writing.catalog import WriterContext, study_account

    account = study_account(KIND, name)
    writer_context = WriterContext(
        state.resolve() / "replies", models_file, again, account=account, budget=study_budget(bounds)
    )
    report = make(name, group, model, out, writer_context, steps.undecorated(), state.resolve())
    if as_json:
        return screen.print_json(report)
    screen.say(f"{out}: a guideline by {model} from {counted(report['reviews'], 'review')} of group {group}")


def _finish(summary: dict[str, Any], as_json: bool) -> None:
    from gre_bench.cli.views.guidelines import show

    screen.print_json(summary) if as_json else show(summary)
    raise ended(summary)


def _show_estimate(plan: dict[str, Any]) -> None:
    screen.say(
        f"{counted(plan['papers'], 'paper')} under {', '.join(plan['conditions'])}; {plan['without_text']} have no text"
    )
    _show_models(plan)


def _show_models(plan: dict[str, Any]) -> None:
    from gre_bench.cli.views.studies import show_models

    show_models(plan)

"""``gre-bench study guidelines``: tests whether reviewer guidelines bring an LM's ratings closer to human ratings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.box import SIMPLE

from gre_bench.cli.commands import options
from gre_bench.cli.commands.groups import CommandApp, CommandResult
from gre_bench.cli.commands.options import EDITIONS, option
from gre_bench.cli.commands.running import choose_exit_code, load_study_budget, parse_named_files
from gre_bench.cli.views.screen import escape, print_grid, say, say_nonempty
from gre_bench.cli.views.study_screens import show_planned_requests
from gre_bench.core.errors import SettingsError
from gre_bench.core.terminal import counted
from gre_bench.pipeline.runs.prefect_engine import configure_prefect, run_with_or_without_prefect
from gre_bench.store import Row

app = CommandApp("Compare reviewer guidelines, and make them from good reviews.")


@app.command("compare", no_args_is_help=True)
def compare(
    *,
    state: Path,
    models: options.Model = None,
    conditions: list[str] | None = option(
        "--condition NAME",
        "none; arr, neurips, iclr (as instructions); good, middle, bad, these three also with +rubric; or the "
        "name of a --guideline. Repeatable; default: none and each --guideline.",
        None,
    ),
    own: list[str] | None = option(
        "--guideline NAME=FILE",
        "A guideline of your own; arr_official, neurips_official and iclr_official fill table 1.",
        None,
    ),
    edition: options.Edition = None,
    papers: options.PapersFile = None,
    ratings: Path | None = option(
        "--ratings FILE", "Human ratings: .tsv with paper_id and one rating per column.", None
    ),
    reviews: Path | None = option(
        "--reviews FOLDER",
        "Ask no model; read existing reviews: human_ratings.tsv (paper_id, then one human rating per column, "
        "optionally decision) and llm_reviews.parquet or .jsonl (paper_id, model, Overall, optionally run; texts "
        "in Summary, Strengths, Weaknesses, Questions, Limitations or review). Each run is a condition.",
        None,
    ),
    models_file: options.ModelsFile = None,
    limit: options.Limit = None,
    name: options.StudyName = None,
    bounds: options.Budget = None,
    dry_run: options.DryRun = False,
    again: options.RetryFailed = False,
    no_prefect: bool,
) -> CommandResult:
    """Compare models' ratings under guidelines with human ratings.

    A condition is a guideline, or none, in the prompt for reviews. Replies are kept in state/replies. If a study is
    stopped, the same command continues it. If conditions or models are added, only their requests are paid for. With
    --reviews it compares existing ratings, without requests to models.
    """
    configure_prefect(state)
    if reviews is not None:
        if models or conditions or own or edition or papers or ratings:
            raise SettingsError("--reviews asks no model: leave out the models, conditions, papers and ratings")
        from gre_bench.studies.guideline_comparison import compare_guidelines_of_given_reviews

        summary = compare_guidelines_of_given_reviews(name or reviews.resolve().name, reviews, state.resolve())
        return CommandResult(summary, _show_comparison, choose_exit_code(summary))
    from gre_bench.studies import guideline_comparison
    from gre_bench.studies.guideline_comparison import GuidelineJob

    job = GuidelineJob(
        name or edition or (papers.stem if papers else "study"),
        tuple(dict.fromkeys(models or ())),
        tuple(conditions or ()),
        papers,
        ratings,
        edition,
        parse_named_files(own, "--guideline"),
        models_file,
        limit,
        again,
        state.resolve(),
        load_study_budget(bounds),
    )
    if dry_run:
        return CommandResult(guideline_comparison.estimate_comparison_cost(job), _show_estimate)

    def run_flow() -> Row:
        from gre_bench.flows.compare_guidelines import compare_guidelines

        return compare_guidelines(job)

    summary = run_with_or_without_prefect(
        not no_prefect, run_flow, lambda: guideline_comparison.run_guideline_comparison(job)
    )
    return CommandResult(summary, _show_comparison, choose_exit_code(summary))


@app.command("quality")
def quality(
    *,
    state: Path,
    notes: options.NotesFile,
    edition: str = option("--edition -e EDITION", "Venue and year of the notes, such as ICLR-2024.", **EDITIONS),
    judge: str | None = option(
        "--judge NAME", "Model that judges references and consistency; default: rules only.", None
    ),
    models_file: options.ModelsFile = None,
    unverified_venue: options.UnverifiedVenue = False,
    bounds: options.Budget = None,
    dry_run: options.DryRun = False,
    again: options.RetryFailed = False,
    no_prefect: bool,
) -> CommandResult:
    """Grade human reviews by five criteria; sample three groups.

    The groups are good (17 points), middle (11) and bad (6 or fewer). Rules check two criteria (date, length); a model
    judges the other three. A review that cannot be rated by all five has no total and no group.
    """
    configure_prefect(state)
    from gre_bench.studies.review_quality import QualityJob, estimate_grading_cost, grade

    job = QualityJob(
        f"quality-{edition}", notes, edition, judge, models_file=models_file,
        unverified_venue=unverified_venue, again=again, state=state.resolve(), budget=load_study_budget(bounds),
    )  # fmt: skip
    if dry_run:
        return CommandResult(estimate_grading_cost(job), show_planned_requests)

    def run_flow() -> Row:
        from gre_bench.flows.review_quality import review_quality

        return review_quality(job)

    summary = run_with_or_without_prefect(not no_prefect, run_flow, lambda: grade(job))
    return CommandResult(summary, _show_review_quality_groups, choose_exit_code(summary))


@app.command("generate")
def generate(
    *,
    state: Path,
    name: str = option("--name NAME", "Name of the study that sampled the groups."),
    group: str = option("--group GROUP", "good, middle or bad; or of one criterion alone, such as good.review_length."),
    model: str = option("--model NAME", "Model of the catalogue that makes the guideline."),
    out: Path = option("--out -o FILE", "File to write the guideline to."),
    models_file: options.ModelsFile = None,
    bounds: options.Budget = None,
    again: options.RetryFailed = False,
) -> CommandResult:
    """Make a guideline that imitates a group of reviewers.

    The group is one that `study guidelines quality` sampled. The guideline is a checklist. Use it with `gre-bench study
    guidelines compare --guideline mine=FILE --condition mine --condition mine+rubric`.
    """
    configure_prefect(state)
    from gre_bench.studies.guidelines import KIND
    from gre_bench.studies.review_quality import generate_group_guideline as make
    from gre_bench.writing.writers import WriterContext, study_account

    account = study_account(KIND, name)
    writer_context = WriterContext(
        state.resolve() / "replies", models_file, again, account=account, budget=load_study_budget(bounds)
    )
    report = make(name, group, model, out, writer_context, state.resolve())
    counts = counted(report["reviews"], "review")
    return CommandResult(report, lambda _: say(f"{out}: a guideline by {model} from {counts} of group {group}"))


def _show_estimate(plan: Row) -> None:
    papers, conditions = counted(plan["papers"], "paper"), ", ".join(plan["conditions"])
    say(f"{papers} under {conditions}; {plan['without_text']} have no text")
    show_planned_requests(plan)


def _show_comparison(summary: Row) -> None:
    from gre_bench.guidelines.rmse_tables import build_tables
    from gre_bench.studies import guidelines as results

    outcomes, measure = results.parse_outcomes(summary), results.parse_rmse_reference(summary)
    for table in build_tables(outcomes):
        lines = []
        for line in table.lines:
            style = ("[dim]", "[/dim]") if line.published else ("", "")
            labels = [escape(label) for label in line.labels]
            labels[0] += " (published)" if line.published else ""
            ends = ("[bold]", "[/bold]"), ("[underline]", "[/underline]")
            cells = [*labels, *(results.format_marked_cell(line, name, *ends) for name in table.columns)]
            lines.append([f"{style[0]}{cell}{style[1]}" for cell in cells])
        _show_table(table.title, (*table.heads, *table.columns), lines, len(table.heads), marked=True)
    say_nonempty((results.LEGEND, *results.format_rmse_reference(measure)))
    _show_table("How close to the human means", results.CLOSE, map(results.format_closeness_cells, outcomes))
    title = "Ratings given, and how the reviews are worded"
    _show_table(title, results.GIVEN, results.yield_rating_distribution_rows(outcomes, measure))
    say(results.WORDS)
    say_nonempty(results.list_missing_ratings(outcomes), "without a rating: ")
    for model, rows in summary["differences"].items():
        _show_rmse_differences(model, rows)
    say(f"ratings, outcomes, tables and the picture: {summary['folder']}")
    say_nonempty((summary.get("note"), summary["message"]))


def _show_review_quality_groups(summary: Row) -> None:
    points = ((name, grade, count) for name, counts in summary["points"].items() for grade, count in counts.items())
    heads = ("Criterion", "Points or why not", "Reviews")
    _show_table(f"{summary['reviews']} reviews by criterion", heads, points)
    if summary["median_characters"] is not None:
        say(f"median length: {summary['median_characters']:g} characters")
    say(f"total computable: {summary['computable']}; not computable: {summary['not_computable']}")
    if summary["totals"]:
        say("totals: " + ", ".join(f"{total}: {count}" for total, count in summary["totals"].items()))
    for group, members in summary["groups"].items():
        say(f"group {escape(group)}: {members['reviews']} reviews, {len(members['drawn'])} sampled")
    say(f"points of every review, and the groups: {summary['folder']}")
    say_nonempty([summary["message"]])


def _show_rmse_differences(model: str, rows: Sequence[Row]) -> None:
    lines = []
    for row in rows:
        rmse = row["rmse"]
        tested = ["–" if row[name] is None else f"{row[name]:.2g}" for name in ("p", "p_holm")]
        number = f"{rmse['value']:+.2f} ({rmse['low']:+.2f}, {rmse['high']:+.2f})"
        lines.append((row["first"], row["second"], number, *tested, row["papers"]))
    title = f"{model}: RMSE of the first less that of the second, on the papers that both rate"
    _show_table(title, ("First", "Second", "Difference", "p", "p (Holm)", "Papers"), lines)


def _show_table(
    title: str, heads: Sequence[str], rows: Iterable[Sequence[object]], left: int = 2, marked: bool = False
) -> None:
    print_grid(heads, rows, left=left, fold=True, marked=marked, title=title, box=SIMPLE)

"""``gre-bench study``: commands that test metrics, evaluation LMs, references and guidelines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gre_bench.cli.commands import examiners, options, study_guidelines
from gre_bench.cli.commands.groups import CommandApp, CommandResult
from gre_bench.cli.commands.options import option
from gre_bench.cli.commands.running import check_output_folder, choose_exit_code
from gre_bench.cli.commands.study_flaws import flaws
from gre_bench.cli.views.bar import show_run_progress
from gre_bench.core.settings import Settings
from gre_bench.pipeline.runs.prefect_engine import configure_prefect, run_with_or_without_prefect
from gre_bench.reports.signatures import resolve_edition
from gre_bench.store import Store

if TYPE_CHECKING:
    from gre_bench.pipeline.runs.job import Job

LIKELY = 0.5
"""The least likelihood at which a reference counts as written by an LM."""

app = CommandApp("Test metrics, evaluation LMs, references and guidelines.")


@contextmanager
def _open_study_job(chosen: Settings, state: Path, quiet: bool, retry_failed: bool = False) -> Iterator[Job]:
    """Yields the job of a study, and shows a progress bar until the block ends."""
    configure_prefect(state)
    with show_run_progress(Store(state, chosen.edition.edition), quiet):
        from gre_bench.pipeline.runs.job import Job

        yield Job(chosen, state.resolve(), retry_failed=retry_failed)


@app.command()
def validate(
    chosen: Settings,
    state: Path,
    no_prefect: bool,
    quiet: bool,
    retry_failed: options.RetryFailed = False,
    figures: options.Figures = None,
    certificate: bool = option("--certificate", "Tell from which degree on each metric notices harm.", False),
) -> CommandResult:
    """Test metrics on degraded and manipulated reviews.

    A metric passes if every degradation of human reviews lowers it and no manipulation raises it. The verdict holds
    for one metric with one evaluation LM and one writer, and every board of that combination shows it. With
    --certificate, reviews are harmed in ten degrees instead (validation.degrees), to find the smallest degree that each
    metric detects.
    """
    from gre_bench.cli.views.study_screens import show_certificates, show_validation

    if figures is not None:
        check_output_folder(figures)
    with _open_study_job(chosen, state, quiet, retry_failed) as job:
        from gre_bench.pipeline.refreshing import check_job_and_name_candidates
        from gre_bench.pipeline.validating import validate as plain

        def flow() -> Any:
            from gre_bench.flows.validate_metrics import validate_metrics

            return validate_metrics(chosen, state.resolve(), retry_failed=retry_failed)

        check_job_and_name_candidates(job)
        if certificate:
            from gre_bench.studies.certificate import certify_metrics, draw_certificates

            summary = certify_metrics(job)
            if figures is not None:
                title = f"{summary['edition']}: scores by degree of harm"
                draw_certificates(summary["certificates"], figures / "certificate.svg", title)
            return CommandResult(summary, show_certificates, choose_exit_code(summary))
        summary = run_with_or_without_prefect(not no_prefect, flow, lambda: plain(job))
    if figures is not None:
        from gre_bench.metrics.validation import plot_effects

        plot_effects(summary["effects"], figures / "effects.svg", f"{summary['edition']}: effects of changes")
    return CommandResult(summary, show_validation, choose_exit_code(summary))


@app.command()
def agree(
    chosen: Settings, state: Path, no_prefect: bool, quiet: bool, retry_failed: options.RetryFailed = False
) -> CommandResult:
    """Correlate metrics with human grades of reviews.

    Import the grades first, with `gre-bench import graded`. A review's score is its mean score against the other
    reviews of the same item. Intervals resample items with their reviews. There are three more coefficients: within
    items, at fixed length, and minus the coefficient of length alone.
    """
    from gre_bench.cli.views.study_screens import show_human_grade_agreement

    with _open_study_job(chosen, state, quiet, retry_failed) as job:
        from gre_bench.pipeline.agreeing import score_and_correlate_with_grades as plain
        from gre_bench.pipeline.refreshing import check_job_and_name_candidates

        def flow() -> Any:
            from gre_bench.flows.agree_with_humans import agree_with_humans

            return agree_with_humans(chosen, state.resolve(), retry_failed)

        check_job_and_name_candidates(job)
        summary = run_with_or_without_prefect(not no_prefect, flow, lambda: plain(job))
    return CommandResult(summary, show_human_grade_agreement, choose_exit_code(summary))


@app.command()
def symmetry(chosen: Settings, state: Path, quiet: bool) -> CommandResult:
    """Check that P(x)P(y|x) and P(y)P(x|y) agree for human reviews.

    Scores all ordered pairs of an edition's human reviews by GEM, and gives Spearman's ρ with intervals over papers (Xu
    et al. 2025, A.5).
    """
    from gre_bench.cli.views.study_screens import show_symmetry

    with _open_study_job(chosen, state, quiet) as job:
        from gre_bench.studies.symmetry import check_symmetry

        summary = check_symmetry(job)
    return CommandResult(summary, show_symmetry, choose_exit_code(summary))


@app.command()
def references(
    *,
    state: Path,
    quiet: bool,
    edition: options.OneEdition = None,
    metric: options.Metric = None,
    likelihood: Path | None = option(
        "--likelihood FILE", "CSV of review_id,likelihood: how likely an LM wrote it.", None
    ),
) -> CommandResult:
    """Test which order of candidates holds under AI references.

    Scores each LM candidate against the reviews of all other LM candidates, by the headline metric, and stores the
    scores. For each pair of candidates, gives the share of AI-written references up to which their order holds. Also
    gives their order without the references that are most similar to LM reviews. Gives the leads over the human
    baseline, too, when one human reviewer at a time is left out.
    """
    configure_prefect(state)
    from gre_bench.cli.views.study_screens import show_reference_dependence

    store = Store(state, resolve_edition(edition, state))
    with show_run_progress(store, quiet):
        from gre_bench.studies.references import measure_reference_dependence

        report = measure_reference_dependence(state.resolve(), store.key, metric, likelihood, LIKELY)
    return CommandResult(report, show_reference_dependence, choose_exit_code(report))


@app.command()
def committee(
    *, state: Path, quiet: bool, edition: options.OneEdition = None, metric: options.Metric = None
) -> CommandResult:
    """Measure the joint information of a board's LM reviewers.

    Scores the joined reviews of ranked LM candidates, by the headline metric, and stores the scores. Also measures what
    a human review adds to all of them. On one half of the papers, the reviewer that adds most is chosen next; the curve
    is measured on the other half. Then the halves change roles.
    """
    configure_prefect(state)
    from gre_bench.cli.views.study_screens import show_committee

    store = Store(state, resolve_edition(edition, state))
    with show_run_progress(store, quiet):
        from gre_bench.studies.committee import study_reviewer_committee

        report = study_reviewer_committee(state.resolve(), store.key, metric)
    return CommandResult(report, show_committee, choose_exit_code(report))


app.command()(flaws)


@app.command()
def points(chosen: Settings, state: Path, quiet: bool) -> CommandResult:
    """Compare the information of labelled points with their labels.

    A point is a single remark of a review. Scores each imported point alone, and what its review loses without it,
    against the other human reviews of its paper. Gives the AUC of every score for every label, with intervals over
    papers, and of length, position and stance.
    """
    from gre_bench.cli.views.study_screens import show_label_aucs

    with _open_study_job(chosen, state, quiet) as job:
        from gre_bench.studies.points import score_labelled_points

        summary = score_labelled_points(job)
    return CommandResult(summary, show_label_aucs, choose_exit_code(summary))


app.add_typer(study_guidelines.app, name="guidelines")
app.add_typer(examiners.app, name="examiners")

"""``gre-bench study flaws``: plants flaws in papers and tests whether reviews mention them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from gre_bench.cli.commands import options
from gre_bench.cli.commands.groups import CommandResult
from gre_bench.cli.commands.options import option
from gre_bench.cli.commands.refresh import estimate_refresh, run_refresh
from gre_bench.cli.commands.running import choose_exit_code, load_run_settings
from gre_bench.cli.views import screen
from gre_bench.cli.views.board_screen import show_flaw_detection
from gre_bench.cli.views.screen import say
from gre_bench.core.terminal import counted
from gre_bench.pipeline.runs.prefect_engine import configure_prefect


def flaws(
    *,
    state: Path,
    quiet: bool,
    settings: options.SettingsFile = None,
    edition: options.Edition = None,
    override: options.Set = None,
    papers: int = option("--papers N", "Papers to plant flaws in.", 60, min=2),
    seed: options.Seed = 0,
    folder: Path | None = option(
        "--flaws FOLDER", "Your flaws, one TOML file each.", None, exists=True, file_okay=False
    ),
    script: list[str] | None = option(
        "--script WORDS-SHARE", "Reviewer by rule: plain-50 names 50% of the flaws plainly; repeatable.", None
    ),
    dry_run: bool = option("--dry-run", "Plant flaws, and estimate work, time and cost of the rest.", False),
    no_prefect: bool,
) -> CommandResult:
    """Plant flaws in papers and test whether reviews mention them.

    Makes a separate edition, EDITION-flaws, with four versions of each paper: with a flaw, with another flaw,
    unchanged, and after a harmless edit. Its candidates review and are scored as in any refresh. The board of EDITION
    then shows how well the reviews detect flaws. Planted texts are never released.
    """
    configure_prefect(state)
    from gre_bench.pipeline.runs.job import Job
    from gre_bench.studies.flaws import (
        SCRIPTS,
        FlawStudy,
        build_flaw_job,
        compute_flaw_results,
        create_edition_with_flaws,
        write_results,
    )

    chosen = load_run_settings(settings, edition, override, state)
    study = FlawStudy(chosen.edition.edition, papers, seed, folder, tuple(script) if script else SCRIPTS)
    job = build_flaw_job(Job(chosen, state.resolve()), study)
    is_new = not job.store.exists
    record = create_edition_with_flaws(job, study)
    report = {"edition": study.edition.key, "planted": record}
    if dry_run:
        plan = estimate_refresh(job.settings, state, None, None, False)
        if is_new:  # a dry run stores nothing, because the next run may use other papers
            job.store.discard()

        def show_plan(_: Any) -> None:
            _show_planted_flaws(study.edition.key, record)
            screen.print_estimate(plan)

        return CommandResult(report | {"plan": plan}, show_plan)
    summary = run_refresh(job.settings, state, engine=not no_prefect, quiet=quiet)
    results = compute_flaw_results(job, record)
    ending = {name: summary[name] for name in ("outcome", "message")}
    file = write_results(job, study, results)

    def print_answer(_: Any) -> None:
        _show_planted_flaws(study.edition.key, record)
        show_flaw_detection(results)
        say(f"{ending['outcome']}: {ending['message']}".rstrip(": "))
        say(f"results: {file}; gre-bench leaderboard {study.source.key} tells them in a line")

    return CommandResult(report | ending | {"results": results}, print_answer, choose_exit_code(summary))


def _show_planted_flaws(edition: str, record: Mapping[str, Any]) -> None:
    flaws = [place["flaw"] for places in record["papers"].values() for place in places[:2]]
    number = {name: flaws.count(name) for name in sorted(set(flaws))}
    say(f"{edition}: {counted(len(record['papers']), 'paper')}, four texts each", style="bold")
    say("planted: " + ", ".join(f"{count} {name}" for name, count in number.items()))
    for reason, count in record["left_out"].items():
        say(f"left out: {counted(count, 'paper')}, {reason}")
    by_flaw = groupby(record["not_plantable"], key=lambda row: row["flaw"])
    refused = [f"{flaw} " + ", ".join(f"{row['papers']} {row['reason']}" for row in rows) for flaw, rows in by_flaw]
    if refused:
        say("not plantable, by papers tried: " + "; ".join(refused), style="dim")
    for line in record.get("refused", ()):
        say(f"refused: {line}", style="yellow")

"""``gre-bench study flaws``: measures whether reviews tell of flaws that were planted in their papers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gre_bench.cli.commands import options
from gre_bench.cli.commands.run.refresh import estimated, run_refresh
from gre_bench.cli.commands.running import ended, settings_of
from gre_bench.cli.views import screen
from gre_bench.cli.views.known_answers import show_correctness, show_planting
from gre_bench.pipeline.runs.prefect_engine import configure_prefect

Number = Annotated[int, typer.Option("--papers", metavar="N", min=2, help="Papers to plant flaws in.")]
Folder = Annotated[
    Path | None,
    typer.Option("--flaws", metavar="FOLDER", exists=True, file_okay=False, help="Your flaws, one TOML file each."),
]
Scripts = Annotated[
    list[str] | None,
    typer.Option("--script", metavar="WORDS-SHARE", help="Scripted reviewer, such as plain-50; repeatable."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Plant flaws, and estimate work, time and cost of the rest.")]


def flaws(
    edition: options.Edition = None,
    override: options.Set = None,
    papers: Number = 60,
    seed: options.Seed = 0,
    folder: Folder = None,
    script: Scripts = None,
    dry_run: DryRun = False,
    no_prefect: options.NoPrefect = False,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Plant flaws in papers and test whether reviews tell of them.

    Makes an edition of its own, EDITION-flaws, with each paper four times: with a flaw, with another one, as it is, and
    after a harmless edit. Its candidates review and are scored as in any refresh. The board of EDITION then says what
    their reviews tell. Planted texts are never released.
    """
    configure_prefect(state)
    from gre_bench.pipeline.runs.job import Job
    from gre_bench.studies.flaws import SCRIPTS, FlawStudy, job_of, plant_edition, study_results, write_results
    from gre_bench.tasks import steps

    chosen = settings_of(None, edition, override, state)
    study = FlawStudy(chosen.edition.edition, papers, seed, folder, tuple(script) if script else SCRIPTS)
    job = job_of(Job(chosen, state.resolve()), study)
    record = plant_edition(job, study, steps.undecorated())
    report = {"edition": study.edition.key, "planted": record}
    if dry_run:
        plan = estimated(job.settings, state, None, None, False)
        if as_json:
            return screen.print_json(report | {"plan": plan})
        show_planting(study.edition.key, record)
        return screen.estimate(plan)
    summary = run_refresh(job.settings, state, engine=not no_prefect, quiet=as_json)
    results = study_results(job, record)
    ending = {name: summary[name] for name in ("outcome", "message")}
    file = write_results(job, study, results)
    if as_json:
        screen.print_json(report | ending | {"results": results})
    else:
        show_planting(study.edition.key, record)
        show_correctness(results)
        screen.say(f"{ending['outcome']}: {ending['message']}".rstrip(": "))
        screen.say(f"results: {file}; gre-bench leaderboard {study.source.key} tells them in a line")
    raise ended(summary)

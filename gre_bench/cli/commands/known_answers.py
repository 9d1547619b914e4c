"""``gre-bench study known-answers`` and ``flaws``: check scores where the answer is known."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from gre_bench.cli.commands import options
from gre_bench.cli.commands.groups import Answer
from gre_bench.cli.commands.options import option
from gre_bench.cli.commands.refresh import estimated, run_refresh
from gre_bench.cli.commands.running import FAULT, code_of, folder_to_write, settings_of
from gre_bench.cli.views import screen
from gre_bench.cli.views.bar import progress
from gre_bench.cli.views.board import show_correctness
from gre_bench.cli.views.screen import grid, say
from gre_bench.core.errors import SettingsError
from gre_bench.core.terminal import counted
from gre_bench.pipeline.runs.prefect_engine import configure_prefect

FILE, PICTURE = "known-answers.json", "bias.svg"
TITLES = {"gem": "GEM, I(X; Y)", "gem_s_abstract": "GEM-S, I(X; Y | S)"}


def known_answers(
    *,
    quiet: bool,
    simulations: int = option("--simulations N", "Simulations to sample.", 2000, min=1, max=1_000_000),
    papers: int = option("--papers N", "Papers to sample in each simulation.", 300, min=2, max=100_000),
    seed: int = option("--seed N", "Seed of the random choices.", 0, min=0, max=1_000_000),
    out: Path | None = option("--out -o FOLDER", f"Folder for {FILE} and the figure {PICTURE}.", None),
    processes: int | None = option("--processes N", "Processes; default: as many as cores.", None, min=1),
) -> Answer:
    """Check scoring where the exact mutual information is known.

    Scores reviews of simulations. An evaluation LM that knows the simulation must give I(X; Y), and I(X; Y | S) with a
    synopsis. Intervals must cover the truth at their level. A garbled candidate must not score higher than the
    original, or by at most ε = KL(truth ‖ LM). The bias of trained LMs is given by the number of their training papers.

    The exit code is 1 if an answer is wrong. That is: a wrong order or exact value; an interval by paper or of paired
    differences that misses its level by more than 2 points; or a test against chance that misses by more than 1 point.
    """
    from gre_bench.studies.known_answers import known_answers as check

    if out is not None:
        folder_to_write(out)
    with progress("simulations and lessons", quiet, unit="") as update:
        report = check(simulations, papers, seed, processes, True, lambda done, due: update(completed=done, total=due))
    if out is not None:
        _write(report, out)

    def show(_: Any) -> None:
        _show_answers(report)
        if out is not None:
            say(f"written to {out}: {FILE}" + (f", {PICTURE}" if report["bias"] else ""))

    return Answer(report, show, 0 if _is_right(report) else FAULT)


def _is_right(report: dict[str, Any]) -> bool:
    """Returns whether all answers are right; the flat interval may miss its level, as it ignores papers."""
    exact = all(row["holds"] for row in (*report["exactness"], *report["ordering"]))
    chance = all(row["verdict"] != "outside" for row in report["chance"])
    covered = all(row["interval"] == "flat" or row["verdict"] != "outside" for row in report["coverage"])
    return exact and chance and covered


def _write(report: dict[str, Any], out: Path) -> None:
    from gre_bench.studies.known_answers import chart

    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / FILE).write_text(json.dumps(report, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        if rows := [row for row in report["bias"] if row["mean"] is not None]:
            chart(rows, TITLES).save(out / PICTURE)
    except OSError as error:
        raise SettingsError(f"cannot write to {out}: {error.strerror}") from None


def _show_answers(report: dict[str, Any]) -> None:
    say(
        f"{report['simulations']} simulations, {report['papers']} papers with two references each; nats; "
        f"seed {report['seed']}"
    )
    _table("Exact evaluation LM: the expected score is the information", ("metric", "information", "largest error"), [
        (TITLES[row["metric"]], f"{row['mean_information']:.4f}", f"{row['largest_error']:.0e}")
        for row in report["exactness"]
    ])  # fmt: skip
    heads = "metric", "what", "interval", "nominal", "holds the truth", "± 2 points", "mean width"
    _table("Coverage: how often an interval holds the truth", heads, [
        (TITLES[row["metric"]], row["quantity"], row["interval"], f"{row['nominal']:.0%}",
         f"{row['covered']:.1%} ± {row['standard_error']:.1%}", row["verdict"],
         f"{row['mean_width']:.3f}")
        for row in report["coverage"]
    ])  # fmt: skip
    say("flat: the published interval; it treats the two pairs of a paper as independent, which they are not")
    if any(row["interval"] == "paired" and row["verdict"] == "outside" for row in report["coverage"]):
        say("paired: where garbling leaves a review as it was the difference is 0, so few papers are too few")
    heads = "metric", "LM", "garbled higher", "at most by", "mean ε", "beyond ε", "beyond printed ε"
    _table("Order: simulations in which a garbled candidate is expected to score higher", heads, [
        (TITLES[row["metric"]], row["lm"], row["garbled_higher"], f"{max(row['largest_excess'], 0):.3f}",
         f"{row['mean_epsilon']:.3f}", row["beyond_allowed"], row["beyond_printed"])
        for row in report["ordering"]
    ])  # fmt: skip
    say("ε: largest KL(truth ‖ LM), which the proof of Prop. 3.1 needs; the proposition prints KL(LM ‖ truth)")
    heads = "metric", "candidate", "mean effect", "called above or below", "expected", "agrees"
    _table("Chance: how often a candidate is called above or below it at 5%", heads, [
        (TITLES[row["metric"]], row["candidate"], f"{row['mean_effect']:.3f}",
         f"{row['rejected']:.1%} ± {row['standard_error']:.1%}", f"{row['expected']:.1%}", row["verdict"])
        for row in report["chance"]
    ])  # fmt: skip
    if report["bias"]:
        heads = "metric", "LM", "papers", "simulations", "bias", "from", "to", "marginal error", "conditional error"
        _table("Learnt LMs: expected score − information = marginal error − conditional error", heads, [
            (TITLES[row["metric"]], row["lm"], row["papers"], row["simulations"], *(
                "" if row[part] is None else f"{row[part]:+.3f}"
                for part in ("mean", "least", "largest", "marginal_error", "conditional_error")
            ))
            for row in report["bias"]
        ])  # fmt: skip
        for row in report["bias"]:
            if row["failed"]:
                say(f"{row['metric']}, {row['lm']}, {row['papers']} papers: {row['failed']} failed, {row['reason']}")


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    screen.out.print(f"\n{screen.escape(title)}", style="bold", highlight=False)
    left = ("metric", "what", "interval", "LM", "± 2 points", "candidate", "agrees")
    grid(heads, rows, left=left, padding=(0, 2, 0, 0))


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
    script: list[str] | None = option("--script WORDS-SHARE", "Scripted reviewer, such as plain-50; repeatable.", None),
    dry_run: bool = option("--dry-run", "Plant flaws, and estimate work, time and cost of the rest.", False),
    no_prefect: options.NoPrefect = False,
) -> Answer:
    """Plant flaws in papers and test whether reviews tell of them.

    Makes an edition of its own, EDITION-flaws, with each paper four times: with a flaw, with another one, as it is, and
    after a harmless edit. Its candidates review and are scored as in any refresh. The board of EDITION then says what
    their reviews tell. Planted texts are never released.
    """
    configure_prefect(state)
    from gre_bench.pipeline.runs.job import Job
    from gre_bench.studies.flaws import SCRIPTS, FlawStudy, job_of, plant_edition, study_results, write_results
    from gre_bench.tasks import steps

    chosen = settings_of(settings, edition, override, state)
    study = FlawStudy(chosen.edition.edition, papers, seed, folder, tuple(script) if script else SCRIPTS)
    job = job_of(Job(chosen, state.resolve()), study)
    is_new = not job.store.exists
    record = plant_edition(job, study, steps.undecorated())
    report = {"edition": study.edition.key, "planted": record}
    if dry_run:
        plan = estimated(job.settings, state, None, None, False)
        if is_new:  # a dry run fixes nothing: the next one may ask for other papers
            job.store.discard()

        def show_plan(_: Any) -> None:
            _show_planting(study.edition.key, record)
            screen.estimate(plan)

        return Answer(report | {"plan": plan}, show_plan)
    summary = run_refresh(job.settings, state, engine=not no_prefect, quiet=quiet)
    results = study_results(job, record)
    ending = {name: summary[name] for name in ("outcome", "message")}
    file = write_results(job, study, results)

    def show(_: Any) -> None:
        _show_planting(study.edition.key, record)
        show_correctness(results)
        say(f"{ending['outcome']}: {ending['message']}".rstrip(": "))
        say(f"results: {file}; gre-bench leaderboard {study.source.key} tells them in a line")

    return Answer(report | ending | {"results": results}, show, code_of(summary))


def _show_planting(edition: str, record: Mapping[str, Any]) -> None:
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

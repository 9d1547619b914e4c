"""``gre-bench study known-answers``: checks scores and intervals on simulations whose answers are known."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from gre_bench.cli.commands import options
from gre_bench.cli.commands.running import folder_to_write
from gre_bench.cli.views import screen
from gre_bench.cli.views.known_answers import TITLES, show
from gre_bench.core.errors import SettingsError

FILE, PICTURE = "known-answers.json", "bias.svg"

Simulations = Annotated[
    int, typer.Option("--simulations", metavar="N", min=1, max=1_000_000, help="Simulations to sample.")
]
Papers = Annotated[
    int, typer.Option("--papers", metavar="N", min=2, max=100_000, help="Papers to sample in each simulation.")
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, max=1_000_000, help="Seed of the random choices.")]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FOLDER", help=f"Folder for {FILE} and the figure {PICTURE}.")
]
Processes = Annotated[
    int | None, typer.Option("--processes", metavar="N", min=1, help="Processes; default: as many as cores.")
]


def known_answers(
    simulations: Simulations = 2000,
    papers: Papers = 300,
    seed: Seed = 0,
    out: Out = None,
    processes: Processes = None,
    as_json: options.Json = False,
) -> None:
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
    with _bar(as_json) as on_done:
        report = check(simulations, papers, seed, processes, True, on_done)
    if out is not None:
        _write(report, out)
    if as_json:
        screen.print_json(report)
    else:
        show(report)
        if out is not None:
            screen.say(f"written to {out}: {FILE}" + (f", {PICTURE}" if report["bias"] else ""))
    raise typer.Exit(0 if _is_right(report) else 1)


def _is_right(report: dict[str, Any]) -> bool:
    """Returns whether all answers in *report* are right; the coverage of the flat interval does not count.

    The flat interval treats the pairs of a paper as independent, so it may miss its level.
    """
    exact = all(row["holds"] for row in (*report["exactness"], *report["ordering"]))
    chance = all(row["verdict"] != "outside" for row in report["chance"])
    covered = all(row["interval"] == "flat" or row["verdict"] != "outside" for row in report["coverage"])
    return exact and chance and covered


def _write(report: dict[str, Any], out: Path) -> None:
    from gre_bench.studies.simulations.findings import chart

    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / FILE).write_text(json.dumps(report, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        if rows := [row for row in report["bias"] if row["mean"] is not None]:
            chart(rows, TITLES).save(out / PICTURE)
    except OSError as error:
        raise SettingsError(f"cannot write to {out}: {error.strerror}") from None


@contextmanager
def _bar(quiet: bool) -> Iterator[Any]:
    if quiet or not screen.err.is_terminal:
        yield lambda done, due: None
        return
    columns = TextColumn("simulations and lessons"), BarColumn(), TimeElapsedColumn(), TextColumn("remaining")
    with Progress(*columns, TimeRemainingColumn(), console=screen.err, transient=True) as progress:
        bar = progress.add_task("", total=None)
        yield lambda done, due: progress.update(bar, completed=done, total=due)

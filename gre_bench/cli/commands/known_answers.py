"""``gre-bench known-answers``: does scoring give the information that is there, do intervals hold it?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from gre_bench.cli.views import screen
from gre_bench.cli.views.known_answers import TITLES, show
from gre_bench.core.errors import SettingsError

EXIT_CODES = (
    "Exit codes: 0 every answer is right · 1 one is not (an order or an exact value is wrong, an interval by paper or "
    "of paired differences misses its level by more than 2 points, or the test against chance its by more than 1) · "
    "2 bad input · 130 stopped by hand."
)
FILE, PICTURE = "known-answers.json", "bias.svg"

Worlds = Annotated[int, typer.Option("--worlds", min=1, max=1_000_000, help="Worlds to draw.")]
Papers = Annotated[int, typer.Option("--papers", min=2, max=100_000, help="Papers drawn in each world.")]
Seed = Annotated[int, typer.Option("--seed", min=0, max=1_000_000, help="Seed of the worlds.")]
Out = Annotated[Path | None, typer.Option("--out", help=f"Folder for {FILE} and the picture {PICTURE}.")]
Learn = Annotated[bool, typer.Option("--learn/--no-learn", help="Also teach LMs in the worlds and show their bias.")]
Processes = Annotated[int | None, typer.Option("--processes", min=1, help="Processes; as many as cores if not given.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of tables.")]


def register(app: typer.Typer) -> None:
    """Adds the command to *app*."""
    app.command("known-answers", epilog=EXIT_CODES)(known_answers)


def known_answers(
    worlds: Worlds = 2000,
    papers: Papers = 300,
    seed: Seed = 0,
    out: Out = None,
    learn: Learn = True,
    processes: Processes = None,
    as_json: Json = False,
) -> None:
    """Score reviews of finite worlds, where the mutual information is exact, and hold the product against it.

    An evaluation LM that knows the world must give I(X; Y), and I(X; Y | S) with a synopsis; intervals must hold the
    truth at their level; a garbled candidate must not score higher, or by ε at most where the LM is off by KL(truth ‖
    LM) = ε. Learnt LMs show their bias by the papers they learnt from.
    """
    from gre_bench.studies.known_answers import known_answers

    if out is not None and out.exists() and not out.is_dir():
        raise SettingsError(f"--out {out} is a file; name a folder")
    with _bar(as_json) as on_done:
        found = known_answers(worlds, papers, seed, processes, learn, on_done)
    if out is not None:
        _write(found, out)
    if as_json:
        screen.print_json(found)
    else:
        show(found)
        if out is not None:
            screen.say(f"written to {out}: {FILE}" + (f", {PICTURE}" if found["bias"] else ""))
    raise typer.Exit(0 if _is_right(found) else 1)


def _is_right(found: dict[str, Any]) -> bool:
    """Whether all that must hold does. The flat interval need not: it takes the pairs of a paper for independent."""
    exact = all(row["holds"] for row in (*found["exactness"], *found["ordering"]))
    chance = all(row["verdict"] != "outside" for row in found["chance"])
    covered = all(row["interval"] == "flat" or row["verdict"] != "outside" for row in found["coverage"])
    return exact and chance and covered


def _write(found: dict[str, Any], out: Path) -> None:
    from gre_bench.studies.simulations.picture import chart

    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / FILE).write_text(json.dumps(found, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        if drawn := [row for row in found["bias"] if row["mean"] is not None]:
            chart(drawn, TITLES).save(out / PICTURE)
    except OSError as error:
        raise SettingsError(f"cannot write to {out}: {error.strerror}") from None


@contextmanager
def _bar(quiet: bool) -> Iterator[Any]:
    if quiet or not screen.err.is_terminal:
        yield lambda done, due: None
        return
    columns = TextColumn("worlds and lessons"), BarColumn(), TimeElapsedColumn(), TextColumn("remaining")
    with Progress(*columns, TimeRemainingColumn(), console=screen.err, transient=True) as progress:
        bar = progress.add_task("", total=None)
        yield lambda done, due: progress.update(bar, completed=done, total=due)

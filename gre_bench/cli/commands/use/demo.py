"""``gre-bench demo``: scores the sample edition and shows its board."""

from __future__ import annotations

from pathlib import Path

from gre_bench.cli.commands import options
from gre_bench.cli.commands.run.refresh import run_refresh
from gre_bench.cli.commands.running import DEMO, ended
from gre_bench.cli.views import board, screen
from gre_bench.core.settings import load
from gre_bench.store import Store

NEXT = (
    "next: gre-bench leaderboard --all   # the other boards; --details: behind them",
    "      gre-bench view   # the board as a page, in a browser",
    "      gre-bench rank REVIEWS.csv --edition {edition} --as NAME   # your model",
)


def demo(
    no_prefect: options.NoPrefect = False,
    wait: options.Wait = 0.0,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Score the 30 sample papers and show the board. No key or GPU."""
    summary = run_refresh(load(DEMO), state, wait=wait, engine=not no_prefect, quiet=as_json)
    if as_json:
        screen.print_json(summary)
    else:
        board.summary(summary, Store(state, summary["edition"]), brief=True)
        for line in NEXT:
            screen.say(line.format(edition=summary["edition"]))
    raise ended(summary)

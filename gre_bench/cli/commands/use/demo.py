"""``gre-bench demo``: scores the sample edition and shows its board."""

from __future__ import annotations

from pathlib import Path

from gre_bench.cli.commands import options
from gre_bench.cli.commands.run.refresh import run_refresh
from gre_bench.cli.commands.running import DEMO, ended
from gre_bench.cli.views import board, screen
from gre_bench.core.settings import load
from gre_bench.store import Store


def demo(
    no_prefect: options.NoPrefect = False,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Score the 30 sample papers and show the board. No key or GPU."""
    summary = run_refresh(load(DEMO), state, engine=not no_prefect, quiet=as_json)
    if as_json:
        screen.print_json(summary)
    else:
        board.summary(summary, Store(state, summary["edition"]), brief=True)
        board.next_steps(summary["edition"], state)
    raise ended(summary)

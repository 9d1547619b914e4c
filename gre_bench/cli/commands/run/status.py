"""``gre-bench status``: shows the progress of each edition and study. It never waits for a run."""

from __future__ import annotations

from pathlib import Path

from gre_bench.cli.commands import options
from gre_bench.cli.views import screen
from gre_bench.store import Store, find_editions, no_edition


def status(
    edition: options.AnyEdition = None, state: options.State = Path("state"), as_json: options.Json = False
) -> None:
    """Show the progress and spending of editions and studies.

    Each has what is done, running and missing, its cost, and the rest of its budget. The command never waits for a run.
    """
    from gre_bench.cli.views.studies import show_study
    from gre_bench.pipeline.runs import spending, studies

    editions = []
    for key in [edition] if edition else find_editions(state):
        store = Store(state, key)
        if not store.exists:
            raise no_edition(state, key)
        current = store.status() or {"edition": key, "state": "new", "metrics": [], "message": "nothing was run yet"}
        if current["state"] == "running" and not store.is_being_written():
            current |= {"state": "cut short", "message": f"run it again: gre-bench refresh --edition {key}"}
        editions.append(current | {"edition": store.key} | spending.account(store))
    rows = [] if edition else studies.study_rows(state)
    if as_json:
        return screen.print_json([*editions, *rows])
    if not editions:
        screen.say(f"no editions in {state.absolute()}; try: gre-bench refresh")
    for current in editions:
        screen.status(current)
    for row in rows:
        show_study(row)

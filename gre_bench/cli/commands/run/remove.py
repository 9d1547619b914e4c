"""``gre-bench remove``: removes a candidate and its scores from an edition."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from gre_bench.cli.commands import options
from gre_bench.cli.commands.running import confirm, settings_of, stored_edition
from gre_bench.cli.views import screen
from gre_bench.cli.views.screen import say
from gre_bench.core.terminal import counted
from gre_bench.store import Row

TheCandidate = Annotated[
    str, typer.Argument(metavar="CANDIDATE", help="Candidate, or the end of its name after a slash.")
]


def remove(
    edition: options.TheEdition,
    candidate: TheCandidate,
    yes: options.Yes = False,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Remove a candidate from an edition, with all its scores.

    Its reviews and their judgments are removed too. The human baseline and the controls cannot be removed. Published
    releases do not change.
    """
    from gre_bench.pipeline.own_reviews import find_candidate
    from gre_bench.pipeline.own_reviews import remove as remove_from

    store = stored_edition(edition, state)
    chosen = settings_of(None, edition, None, state)
    match = find_candidate(store, candidate)
    name = match["candidate"]
    if not yes:
        confirm(f"remove {name} from {store.key}: {_counts(match, ('review', 'score'))}")
    report = remove_from(store, chosen, state.resolve(), name)
    if as_json:
        return screen.print_json(report)
    counts = _counts(report, ("review", "judgment", "score"))
    say(f"removed {name} from {store.key}: {counts}; the others' ranks were tested again")
    for note in report["notes"]:
        say(f"note: {note}")


def _counts(report: Row, nouns: Sequence[str]) -> str:
    return ", ".join(counted(report[f"{noun}s"], noun) for noun in nouns)

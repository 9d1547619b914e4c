"""``gre-bench rank`` and ``gre-bench remove``: one's own reviews on a board that is there, and off it again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from gre_bench.cli.commands import options
from gre_bench.cli.views import screen
from gre_bench.cli.views.one_candidate import say, show_one, show_understood
from gre_bench.core.errors import SettingsError
from gre_bench.core.settings import Settings
from gre_bench.pipeline.runs.prefect_engine import settle
from gre_bench.store import Store, no_edition

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="Reviews: .jsonl, .csv or .parquet with paper_id and review (or judgments); or a folder of texts, "
        "<paper id>.txt or .md.",
    ),
]
On = Annotated[str, typer.Option("--on", help="Edition that has a board, such as ICLR-2025.")]
Name = Annotated[str, typer.Option("--as", help="Name on the board; of a file with several candidates, which of them.")]
Replace = Annotated[
    bool, typer.Option("--replace", help="Put the file's reviews in the place of all that the candidate has there.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask whether to go on.")]
TheEdition = Annotated[str, typer.Argument(metavar="EDITION", help="Edition, such as ICLR-2025.")]
TheCandidate = Annotated[str, typer.Argument(metavar="CANDIDATE", help="Candidate, or the end of its name after a /.")]


def register(app: typer.Typer, settings_of: Any, drawn: Any, exit_codes: dict[str, int]) -> None:
    """Adds the commands to *app*."""

    @app.command(epilog=options.EXIT_CODES)
    def rank(
        file: File,
        edition: On,
        name: Name,
        replace: Replace = False,
        yes: Yes = False,
        writer: options.JudgmentsBy = None,
        override: options.Set = None,
        wait: options.Wait = 0.0,
        state: options.State = Path("state"),
        as_json: options.Json = False,
    ) -> None:
        """Rank your own reviews on an edition's board: import them, score them, and say where they stand.

        Reviews need judgments by the writer of the edition: from the file, or written here as the edition's last
        refresh had them written. Where neither is possible it stops before anything is scored, and says what it needs.
        """
        store, chosen = _there(edition, state, override, settings_of)
        if replace and not yes and store.read("candidate_counts", candidate=name)[0]["reviews"]:
            _confirm(f"replace all reviews and scores of {name} in {store.key}")
        settle(state)
        from gre_bench.flows.annual_refresh import refresh, usable
        from gre_bench.pipeline.own_reviews import bring
        from gre_bench.pipeline.removal import own_name
        from gre_bench.pipeline.runs.job import Job
        from gre_bench.tasks import steps

        job = usable(Job(chosen, state.resolve(), (own_name(name),), wait_s=wait, texts_first=True))
        run = steps.undecorated()
        job, taken = bring(store, job, run, file, name, writer, replace)
        if not as_json:
            show_understood(taken)
        with drawn(store, as_json):
            summary = refresh(job, run)
        from gre_bench.reports.one_candidate import one_candidate

        found = one_candidate(store, name)
        if as_json:
            screen.print_json({"understood": taken, "summary": summary, **found})
        else:
            show_one(found)
            if summary["outcome"] != "done":
                say(f"{summary['outcome']}: {summary['message']}")
        raise typer.Exit(exit_codes[summary["outcome"]])

    @app.command(epilog=options.EXIT_CODES)
    def remove(
        edition: TheEdition,
        candidate: TheCandidate,
        yes: Yes = False,
        wait: options.Wait = 0.0,
        state: options.State = Path("state"),
        as_json: options.Json = False,
    ) -> None:
        """Take a candidate out of an edition, with its reviews, their judgments and all that was scored for it.

        The human baseline and the controls stay. Releases that were published keep what they hold.
        """
        from gre_bench.pipeline.removal import found, remove

        store, chosen = _there(edition, state, None, settings_of)
        there = found(store, candidate)
        name = there["candidate"]
        if not yes:
            _confirm(f"remove {name} from {store.key}: {there['reviews']} reviews, {there['scores']} scores")
        told = remove(store, chosen, state.resolve(), name, wait)
        if as_json:
            return screen.print_json(told)
        counts = ", ".join(f"{told[what]:,} {what}" for what in ("reviews", "judgments", "scores"))
        say(f"removed {name} from {store.key}: {counts}; the others' ranks were tested again")
        for note in told["notes"]:
            say(f"note: {note}")


def _there(edition: str, state: Path, override: list[str] | None, settings_of: Any) -> tuple[Store, Settings]:
    """The edition's store and the settings of its last refresh; `SettingsError` if it is not there."""
    store = Store(state, edition)
    if not store.exists:
        raise no_edition(state, store.key)
    return store, settings_of(None, edition, override, state)


def _confirm(what: str) -> None:
    """Goes on where the user says so; `SettingsError` where nobody can be asked, or says no."""
    if not sys.stdin or not sys.stdin.isatty():
        raise SettingsError(f"{what}: say that you mean it with --yes")
    if not typer.confirm(f"{what}?", err=True):
        raise SettingsError("nothing was changed")

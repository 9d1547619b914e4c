"""``gre-bench leaderboard``: shows an edition's board. It never waits for a run."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gre_bench.board.words import answer, headline, headline_lacks
from gre_bench.cli.commands import options
from gre_bench.cli.commands.running import folder_to_write
from gre_bench.cli.views import screen
from gre_bench.cli.views.board import show_leaderboard, show_uncovered
from gre_bench.cli.views.board_details import show_examples, show_outcomes
from gre_bench.cli.views.board_formats import Format, show_written, write
from gre_bench.cli.views.board_strata import show_strata
from gre_bench.cli.views.known_answers import show_correctness
from gre_bench.core.errors import SettingsError
from gre_bench.reports.correctness import correctness_of
from gre_bench.reports.correctness import line as correctness_line
from gre_bench.reports.signatures import headline_metric, shown_signatures, the_edition
from gre_bench.store import Store
from gre_bench.store.queries import (
    CLEAN_GAP,
    EXPOSURES,
    JUDGED_EXAMPLES,
    LEADERBOARD,
    OUTCOMES,
    SAMPLED_STRATA,
    SEPARATION,
    STRATA,
    UNCOVERED,
)


class Board(StrEnum):
    clean = "clean"
    all = "all"


Which = Annotated[
    Board,
    typer.Option(
        "--board", help="clean: no rank for models that may have read the reviews; all: a rank for every model."
    ),
]
Every = Annotated[bool, typer.Option("--all", help="Print the boards of all metrics and groups in full.")]
Details = Annotated[bool, typer.Option("--details", help="Also length, cost, contamination, scores by kind of paper.")]


IN_A_TEXT = (
    "metric", "rank", "candidate", "group_name", "score", "low", "high", "vs_human", "p", "above_chance", "scored",
    "expected", "unranked",
)  # fmt: skip
"""The columns of a board in Markdown, which people read; the other formats have all columns."""


def leaderboard(
    edition: options.OneEdition = None,
    metric: options.Metric = None,
    board: Which = Board.clean,
    every: Every = False,
    details: Details = False,
    form: options.Form = Format.table,
    out: options.Out = None,
    figures: options.Figures = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Show an edition's board: who leads, scores and ranks.

    The answer comes first: who leads, who is not told apart, who is not ranked. Then comes the board of the headline
    metric, and a line for each other one. The command never waits for a run. With
    --figures it writes the figures of the board instead, and prints their names.
    """
    store = Store(state, the_edition(edition, state))
    if figures is not None:
        if metric or out or form is not Format.table:
            raise SettingsError("--figures draws the whole board: leave out --metric, --format and --out")
        from gre_bench.reports.publishing import plot_edition

        return show_written(plot_edition(store, folder_to_write(figures)), store.key, as_json)
    signatures = shown_signatures(store, metric)
    ids = [row["signature_id"] for row in signatures]
    rows = store.read(LEADERBOARD, signature_ids=ids, board=board.value)
    if form is not Format.table:
        return write(rows, list(IN_A_TEXT if form is Format.markdown else rows[0]), form, out, state)
    wanted = None if metric else headline_metric(store)
    separations, gaps = store.read(SEPARATION, signature_ids=ids), store.read(CLEAN_GAP, signature_ids=ids)
    exposures, uncovered = store.read(EXPOSURES), store.read(UNCOVERED, signature_ids=ids)
    if as_json:
        first, lacking = headline(rows, wanted), headline_lacks(rows, wanted)
        own = [row for row in rows if row["signature_id"] == first]
        first_board = {"metric": own[0]["metric"], "answer": answer(own)} | ({"lacks": lacking} if lacking else {})
        report = {"edition": store.key, "headline": first_board,
                 "signatures": signatures, "rows": rows, "separation": separations,
                 "exposures": exposures, "contamination_gap": gaps, "outcomes": store.read(OUTCOMES),
                 "uncovered": uncovered, "papers": store.read(SAMPLED_STRATA),
                 "strata": store.read(STRATA, signature_ids=ids),
                 "correctness": correctness_of(store)}  # fmt: skip
        return screen.print_json(report)
    gaps = gaps if board is Board.clean else ()
    show_leaderboard(store.key, rows, signatures, separations, exposures, gaps, details, wanted, every or bool(metric))
    show_uncovered(uncovered)
    measured = correctness_of(store)
    screen.say(correctness_line(measured))
    if details:
        if measured:
            show_correctness(measured)
        show_examples(store.read(JUDGED_EXAMPLES, writers=sorted({row["writer"] for row in signatures})))
        show_outcomes(store.read(OUTCOMES))
        metrics = {row["signature_id"]: row["metric"] for row in signatures}
        show_strata(store.read(SAMPLED_STRATA), store.read(STRATA, signature_ids=ids), metrics)

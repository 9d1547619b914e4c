"""Draws the rows of a board for notebooks, and formats boards as Markdown for Prefect."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from gre_bench.board.family import read_candidate_orders_by_signature
from gre_bench.board.words import (
    COLUMNS,
    CONTROLS,
    RANKED_APART,
    CandidateOrder,
    choose_headline_signature,
    describe_candidate,
    describe_scoring_lm,
    format_score,
    summarise_board,
)
from gre_bench.core.metrics import SPECIFIC, find_recipe
from gre_bench.core.terminal import counted, format_markdown_cell, format_markdown_table
from gre_bench.pipeline.runs.job import Job
from gre_bench.plots.drawing import SAID, IntervalRow, compute_axis_span, draw_intervals
from gre_bench.store import Store
from gre_bench.store.queries import LEADERBOARD, PLANNED_SIGNATURES, LeaderboardRow
from gre_bench.tasks import steps

SIX = COLUMNS[:6]


def draw_board_svg(rows: Sequence[Mapping[str, Any]], title: str) -> str:
    """Returns scores and 90% intervals of *rows*, a board of one metric, as SVG; "" for fewer than two scores.

    A row has *candidate*, *kind*, *score*, *low* and *high*; the last three may be None.
    """
    shown = [
        IntervalRow(
            row["candidate"],
            row["score"],
            format_score(row["score"]),
            row["low"],
            row["high"],
            row["kind"],
            SAID.get(row["kind"], ""),
        )
        for row in rows
        if row["score"] is not None
    ]
    if len(shown) < 2:
        return ""
    ends = [end for row in shown for end in (row.at, row.low, row.high) if end is not None]
    human = next((row for row in shown if row.look == "human"), None)
    band = (human.low, human.high) if human and human.low is not None and human.high is not None else None
    axis, centre = f"lines: 90% intervals{'; band: human' * bool(band)}", human.at if human else None
    return draw_intervals(shown, compute_axis_span(ends), axis, title=title, centre=centre, band=band)


def create_board_artifact(store: Store, job: Job, signature_ids: list[str]) -> None:
    """Shows the boards of *signature_ids* as a Prefect artifact."""
    rows = store.rows(LEADERBOARD, signature_ids=signature_ids)
    lms = {row["signature_id"]: row["evaluation_lm"] for row in store.read(PLANNED_SIGNATURES)}
    more = f"Next: `gre-bench leaderboard {store.key}` has notes and cautions."
    orders = read_candidate_orders_by_signature(store.rows, rows)
    steps.show_leaderboard(store.key, format_boards_markdown(rows, orders, lms, job.settings.board.headline, more))


def format_boards_markdown(
    rows: Sequence[LeaderboardRow],
    orders: Mapping[str, Sequence[CandidateOrder]],
    lms: Mapping[str, str],
    wanted: str | None = None,
    more: str = "",
) -> str:
    """Returns the boards of *rows* as Markdown.

    Each board has a sentence, six columns and its validation; the first board also has a picture. A metric's specific
    form has no board of its own, because the metric's board shows its scores as *above chance*.

    - *orders*: signature → the order of candidates by each evaluation LM. *lms*: signature → evaluation LM.
    - *wanted*: the metric that the settings name as headline; its board comes first.
    - *more*: text after the first board.
    """
    specific = {row["metric"] + SPECIFIC for row in rows}
    rows = [row for row in rows if row["metric"] not in specific]
    boards = {name: list(own) for name, own in groupby(rows, key=lambda row: row["signature_id"])}
    if not boards:
        return "No pair has a score yet."
    first = choose_headline_signature(rows, wanted)
    parts = []
    for name in (first, *(other for other in boards if other != first)):
        for group, members in groupby(boards[name], key=lambda row: row["group_name"]):
            own: list[Any] = [row | {"group_name": None} for row in members]
            own.sort(key=lambda row: row["kind"] == "control")
            human = [describe_candidate(row) for row in own if row["kind"] == "human" and row["score"] is not None]
            recipe = find_recipe(own[0]["metric"])
            title = f"{recipe.title} in {recipe.unit}, {counted(own[0]['sampled'], 'paper')}"
            apart = format_markdown_cell(f", group {group}, {RANKED_APART}") if group else ""
            parts += [f"## {format_markdown_cell(title)}{apart}"]
            parts += [format_markdown_cell(summarise_board(own, orders.get(name, ())))]
            if name == first and not group and (picture := draw_board_svg(own, title)):
                parts += [
                    f"![{format_markdown_cell(title)}](data:image/svg+xml;base64,{base64.b64encode(picture.encode()).decode()})"
                ]
            parts += [
                _format_board_table(own),
                format_markdown_cell("; ".join([describe_scoring_lm(lms[name], own[0]["validation"]), *human])),
            ]
            if name == first and not group:
                meanings = "; ".join(f"{column.head}: {column.meaning}" for column in SIX[2:])
                controls = f" {CONTROLS}" if any(row["kind"] == "control" for row in own) else ""
                parts += [format_markdown_cell(f"{meanings}.{controls}"), more]
    return "\n\n".join(filter(None, parts))


def _format_board_table(rows: Sequence[LeaderboardRow]) -> str:
    names = (row["candidate"] + " (control)" * (row["kind"] == "control") for row in rows)
    shown: list[Any] = [row | {"candidate": name} for row, name in zip(rows, names, strict=True)]
    cells = ([format_markdown_cell(column.cell(row)) for column in SIX] for row in shown)
    return "\n".join(
        format_markdown_table([column.head for column in SIX], cells, [c.head != "candidate" for c in SIX])
    )

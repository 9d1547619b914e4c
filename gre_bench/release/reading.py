"""Reads the contents of a page, using only the release's database and manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import duckdb

from gre_bench.board.words import answer, headline_lacks
from gre_bench.core.terminal import counted
from gre_bench.ranking.exposure import learnt_line
from gre_bench.release.database import rows
from gre_bench.release.names import page_of
from gre_bench.release.pages.board import Board, Entry
from gre_bench.release.pages.claims import exposed, flags, order
from gre_bench.release.pages.contents import PairOutcome, PaperLine
from gre_bench.store import Row, fetch
from gre_bench.store.queries import CLEAN_GAP, EXPOSURES, CleanGapRow, ExposureRow

_ABOUT = (
    ("evaluation LM", "evaluation_lm"), ("its digest", "lm_digest"), ("precision", "dtype"),
    ("quantisation", "quantisation"), ("judgments by", "writer"), ("synopsis by", "synopsis_writer"),
    ("form of the judgments", "form"), ("text cut", "text_cut"), ("prompt SHA-256", "prompt_sha256"),
    ("engine", "engine_version"), ("signature", "signature_id"),
)  # fmt: skip


def boards(connection: duckdb.DuckDBPyConnection, wanted: str | None = None) -> tuple[Board, ...]:
    """Returns the boards of a release in the order of the page; *connection* is to the release's database.

    *wanted*: the metric that the settings name as headline. If it has no board, the first board's answer says so.
    """
    signatures = {row["signature_id"]: row for row in rows(connection, "signatures")}
    board_rows = rows(connection, "boards")
    exposures = fetch(connection, EXPOSURES)
    gaps = {row["signature_id"]: row for row in fetch(connection, CLEAN_GAP, signature_ids=list(signatures))}
    ordered = [
        _board(signatures[signature_id], list(group), exposures, gaps.get(signature_id))
        for signature_id, group in groupby(board_rows, key=lambda row: row["signature_id"])
    ]
    if lacking := headline_lacks(board_rows, wanted):  # pyright: ignore[reportArgumentType]
        ordered[0] = replace(ordered[0], answer=f"{ordered[0].answer} {lacking}")
    return tuple(ordered)


def _board(
    signature: Row, board_rows: Sequence[Row], exposures: Sequence[ExposureRow], gap: CleanGapRow | None
) -> Board:
    auc = signature["auc"]
    tied = {name for row in board_rows if row["tied"] for name in (row["candidate"], row["next_candidate"])}
    without = f"; {counted(signature['auc_left_out'], 'learnt paper')} left out" if signature["auc_left_out"] else ""
    auc_text = (
        f"{auc:.3f} ({signature['auc_low']:.3f} to {signature['auc_high']:.3f}{without})" if auc is not None else ""
    )
    return Board(
        metric=signature["metric"],
        title=board_rows[0]["metric_title"] or signature["metric"],
        unit=board_rows[0]["unit"] or "",
        entries=tuple(_entry(row, row["candidate"] in tied, signature["writer"]) for row in board_rows),
        signature_id=signature["signature_id"],
        answer=answer(board_rows),  # pyright: ignore[reportArgumentType]
        validation=board_rows[0]["validation"],
        auc=auc_text,
        order=tuple(order(board_rows)),
        exposed=tuple(exposed(signature, exposures, gap)),
        about=tuple(
            (title, value)
            for title, value in (
                *((title, str(signature[name])) for title, name in _ABOUT if signature[name] is not None),
                ("learnt from these papers", learnt_line(signature, exposures) or "none"),
            )
            if value != "none"
        ),
        place=board_rows[0]["metric_place"] or 0,
        papers=min((row["papers"] for row in board_rows if row["papers"] and row["rank"] is not None), default=None),
    )


def _entry(row: Row, tied: bool, writer: str) -> Entry:
    own = ("candidate", "kind", "low", "high", "rank")
    later = ("rank_low", "rank_high", "words", "extrapolated", "usd", "conflict", "above_chance", "above_chance_high",
             "surely_above_chance")  # fmt: skip
    contamination = row.get("contamination")
    tokens = [row[name] for name in ("prompt_tokens", "reply_tokens") if row.get(name) is not None]
    return Entry(
        **{name: row[name] for name in own},  # pyright: ignore[reportArgumentType]
        **{name: row.get(name) for name in later},  # pyright: ignore[reportArgumentType]
        mean=row["score"],
        difference=row["vs_human"],
        difference_low=row["vs_human_low"],
        difference_high=row["vs_human_high"],
        tied=tied,
        at_length=None if row.get("extrapolated") else row.get("at_length"),
        contamination=contamination if contamination != "none" else None,
        p=row["p"],
        tokens=sum(tokens) if tokens else None,
        unparsable=row["unparsable"] / row["judged"] if row.get("judged") else None,
        scored=row["scored"],
        expected=0 if row["planned"] == row["excluded"] else row["expected"],
        family=row["model_family"],
        parameters=row["parameters"],
        cutoff=row["knowledge_cutoff"],
        released=row["model_released"],
        group=row.get("group_name"),
        flags=tuple(flags(row, writer)),
        href=f"candidates/{page_of(row['candidate'])}",
    )


def papers(connection: duckdb.DuckDBPyConnection) -> tuple[PaperLine, ...]:
    """Returns a line for each paper on the boards, sorted by id; *connection* is to the release's database."""
    return tuple(
        PaperLine(
            row["paper_id"], f"papers/{page_of(row['paper_id'])}", row["title"] or None, row["scored"],
            row["planned"], row["human"], row["best"], row["best_candidate"],
        )
        for row in rows(connection, "papers")
    )  # fmt: skip


def remarks_on_hidden_boards(about: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns one remark for each board that the release hides, with the reason; *about* is the release's manifest."""
    return tuple(
        f"Not shown: {row['metric']}, whose validation with this evaluation LM and writer is {row['verdict']}: "
        f"{row['detail']}."
        for row in about.get("hidden_boards", ())
    )


def remarks(shown_boards: Sequence[Board]) -> tuple[str, ...]:
    """Returns remarks to read before the boards: a warning if a count model made the scores, else nothing."""
    if any(value.startswith("cache-ngram") for board in shown_boards for _, value in board.about):
        return ("The evaluation LM is cache-ngram, a small count model: its scores compare with each other only, not "
                "with GEM by a large LM.",)  # fmt: skip
    return ()


def outcomes(connection: duckdb.DuckDBPyConnection) -> tuple[PairOutcome, ...]:
    """Returns the number of pairs for each board and outcome; every planned pair is counted once."""
    return tuple(
        PairOutcome(row["title"], row["state"], row["reason"], row["pairs"], tuple(row["candidates"]), row["example"])
        for row in rows(connection, "outcomes")
    )

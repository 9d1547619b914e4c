"""Writes one page per candidate: facts, scores by metric, best and worst papers, judgments, an example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb

from gre_bench.core.records import HUMAN
from gre_bench.release.pages.board_data import Values, average_by_paper, compute_lead_by_paper
from gre_bench.release.pages.board_page import (
    Board,
    BoardEntry,
    Flag,
    build_page_file_name,
    format_billions,
    format_number_without_plus,
)
from gre_bench.release.pages.rendering import render_page
from gre_bench.release.public_tables import run_page_query
from gre_bench.store import Row

STATED = ("Maker", "Size", "Came out", "Knowledge cutoff", "Price")
"""Facts about a model that its page lists as unknown if the models file does not state them."""
EXTREMES = 5
"""How many of the best and of the worst papers are shown."""


def write_candidate_pages(
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    name: str,
    edition: str,
    boards: Sequence[Board],
    values: Mapping[str, Values],
    papers: Sequence[Row],
) -> None:
    """Writes a page for every candidate of *boards* to the new *folder*.

    *connection*: a connection to the release's database. *name*: the release's name. *values*: the scores by signature,
    candidate and (paper, reference).
    """
    folder.mkdir()
    lines = {paper["paper_id"]: paper for paper in papers}
    examples = {row["candidate"]: row for row in run_page_query(connection, "examples")}
    kinds = {
        key: list(group)
        for key, group in groupby(run_page_query(connection, "judgment_kinds"), lambda r: r["candidate"])
    }
    candidates = run_page_query(connection, "candidates")
    human = next((row["candidate"] for row in candidates if row["kind"] == "human"), None)
    for row in candidates:
        candidate = row["candidate"]
        on_boards = [(board, entry) for board in boards for entry in board.entries if entry.candidate == candidate]
        first = next((board for board, entry in on_boards if entry.mean is not None), None)
        warnings: dict[Flag, list[str]] = {}
        for board, entry in on_boards:
            for flag in entry.flags:
                warnings.setdefault(flag, []).append(board.title)
        scored = _list_papers(values[first.signature_id], candidate, human, lines) if first else []
        contents = {
            "name": candidate,
            "kind": row["kind"],
            "card": _list_facts(row, on_boards[0][1] if on_boards else None),
            "on_boards": [{"board": board, "entry": entry} for board, entry in on_boards],
            "papers_of_boards": {board.title: board.papers for board, _ in on_boards if board.papers},
            "warnings": warnings,
            "papers": scored,
            "best": scored[:EXTREMES],
            "worst": scored[EXTREMES:][::-1][:EXTREMES],
            "by": first.title if first else "",
            "kinds": list(_count_judgment_openings(kinds.get(candidate, ()), kinds.get(HUMAN, ()))),
            "example": examples.get(candidate),
            "human": human if candidate != human else None,
        }
        text = render_page("candidate.html", ("page.js",), "", name=name, edition=edition, candidate=contents)
        (folder / build_page_file_name(candidate)).write_text(text, encoding="utf-8")


def _list_facts(row: Row, entry: BoardEntry | None) -> list[tuple[str, str]]:
    """Returns the facts about a candidate as (name, value); for a model, the last one names the unknown facts."""
    model = row["kind"] == "model"
    maker, slash, _ = (row["entry"] or "").partition("/")
    protocol = row["candidate"].partition("+")[2] if model else ""
    prices = [row["price_in"], row["price_out"]]
    read_usd, written_usd = (format_number_without_plus(price) for price in prices)
    facts = [
        ("Kind", {"human": "human baseline: one human review a paper", "control": "control"}.get(row["kind"], "model")),
        ("How it is made", row["change"]),
        ("Note", row["note"]),
        ("Maker", maker if slash else None),
        ("Model", row["entry"] or row["model"] if (row["entry"] or row["model"]) != row["candidate"] else None),
        ("Family", row["family"]),
        (
            "Size",
            f"{format_billions(row['parameters'])}, an estimate if the model is closed" if row["parameters"] else None,
        ),
        ("Came out", row["released"]),
        ("Knowledge cutoff", row["knowledge_cutoff"]),
        ("Price", f"{read_usd} USD read, {written_usd} USD written, per million tokens"
         if None not in prices else None),
        ("Prompt", row["prompt"]),
        ("Protocol", protocol.replace("+", ", ")),
        ("Guideline", row["guideline"]),
        ("Group", entry.group if entry else None),
        ("These reviews", {"contaminated": "shown before its cutoff", "clean": "shown after its cutoff",
                           "unknown": "the day they were first shown is not known" if row["knowledge_cutoff"]
                           else "its cutoff is not known"}.get(entry.contamination or "") if entry else None),
    ]  # fmt: skip
    unknown = [name.lower() for name, value in facts if name in STATED and not value] if model else []
    return [*((name, str(value)) for name, value in facts if value),
            *((("Unknown", ", ".join(unknown)),) if unknown else ())]  # fmt: skip


def _list_papers(values: Values, candidate: str, human: str | None, lines: Mapping[str, Row]) -> list[dict[str, Any]]:
    """Returns one row per paper: *paper*, mean *score* and *lead* over the human baseline, largest lead first.

    Papers without a lead come last. If no paper has a lead, as on the page of the human baseline itself, papers are
    sorted by score. *lines*: paper id → the paper's row.
    """
    ahead = compute_lead_by_paper(values[candidate], values.get(human or "", {})) if candidate != human else {}
    scored = [{"paper": lines[paper], "score": score, "lead": ahead.get(paper)}
              for paper, score in average_by_paper(values[candidate]).items()]  # fmt: skip
    return sorted(scored, key=lambda item: (item["lead"] is None and bool(ahead),
                      -(item["lead"] if ahead and item["lead"] is not None else item["score"])))  # fmt: skip


def _count_judgment_openings(own: Sequence[Row], human: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """Yields one row per writer: how often each opening, such as "The reviewer questions", begins its judgments.

    *reviews*: the number of the candidate's reviews. *uses*: tuples (opening, mean number per review of the candidate,
    mean number per human review). The last number is None if the writer has made no judgments of human reviews.
    """
    beside = {row["writer"]: row for row in human}
    for row in own:
        other = beside.get(row["writer"])
        uses = [
            (opening, count / row["reviews"], other["lines"][index] / other["reviews"] if other else None)
            for index, (opening, count) in enumerate(zip(row["openings"], row["lines"], strict=True))
        ]
        yield {"writer": row["writer"], "reviews": row["reviews"], "uses": uses}

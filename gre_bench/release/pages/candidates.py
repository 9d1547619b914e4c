"""One page a candidate: its card, its scores by metric, its best and worst papers, its judgments, an example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb

from gre_bench.release.database import rows
from gre_bench.release.names import page_of
from gre_bench.release.pages.board import Board, Entry, Flag
from gre_bench.release.pages.contents import PaperLine
from gre_bench.release.pages.notation import billions, plain
from gre_bench.release.pages.pair_values import Values, by_paper, leads
from gre_bench.release.pages.rendering import candidate_page
from gre_bench.store import Row

STATED = ("Maker", "Size", "Came out", "Knowledge cutoff", "Price")
"""What of a model is called unknown where nobody states it."""
EXTREMES = 5
"""Papers shown as best, and as worst."""


@dataclass(frozen=True, slots=True)
class Under:
    """A candidate under one metric: the board it stands on and its line there."""

    board: Board
    entry: Entry


@dataclass(frozen=True, slots=True)
class OnPaper:
    """A candidate's mean score on a paper; *lead*: over the human baseline on the same references."""

    paper: PaperLine
    score: float
    lead: float | None


@dataclass(frozen=True, slots=True)
class Kinds:
    """How a candidate's judgments by *writer* open: per review, its own and the human baseline's."""

    writer: str
    reviews: int
    lines: tuple[tuple[str, float, float | None], ...]


@dataclass(frozen=True, slots=True)
class CandidatePage:
    """What the page of a candidate shows. *card*: pairs of a name and what is known."""

    name: str
    kind: str
    card: tuple[tuple[str, str], ...]
    under: tuple[Under, ...]
    papers: tuple[OnPaper, ...]
    by: str
    kinds: tuple[Kinds, ...] = ()
    example: Mapping[str, Any] | None = None
    human: str | None = None

    @property
    def warnings(self) -> dict[Flag, list[str]]:
        """Each warning once, with the metrics that it is about."""
        found: dict[Flag, list[str]] = {}
        for one in self.under:
            for flag in one.entry.flags:
                found.setdefault(flag, []).append(one.board.title)
        return found

    @property
    def best(self) -> tuple[OnPaper, ...]:
        """The papers where it leads furthest."""
        return self.papers[:EXTREMES]

    @property
    def worst(self) -> tuple[OnPaper, ...]:
        """Those where it is furthest behind, which are none of the best."""
        return self.papers[EXTREMES:][::-1][:EXTREMES]


def write_candidates(
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    name: str,
    edition: str,
    boards: Sequence[Board],
    values: Mapping[str, Values],
    papers: Sequence[PaperLine],
) -> None:
    """Writes the page of every candidate of the *boards* into the new *folder*."""
    folder.mkdir()
    lines = {paper.paper_id: paper for paper in papers}
    examples = {row["candidate"]: row for row in rows(connection, "examples")}
    kinds = {key: list(group) for key, group in groupby(rows(connection, "judgment_kinds"), lambda r: r["candidate"])}
    found = rows(connection, "candidates")
    human = next((row["candidate"] for row in found if row["kind"] == "human"), None)
    for row in found:
        candidate = row["candidate"]
        under = tuple(
            Under(board, entry) for board in boards for entry in board.entries if entry.candidate == candidate
        )
        first = next((one for one in under if one.entry.mean is not None), None)
        page = CandidatePage(
            name=candidate,
            kind=row["kind"],
            card=tuple(_card(row, under[0].entry if under else None)),
            under=under,
            papers=tuple(_on_papers(values[first.board.signature_id], candidate, human, lines)) if first else (),
            by=first.board.title if first else "",
            kinds=tuple(_kinds(kinds.get(candidate, ()), kinds.get(human or "", ()))),
            example=examples.get(candidate),
            human=human if candidate != human else None,
        )
        (folder / page_of(candidate)).write_text(candidate_page(name, edition, page), encoding="utf-8")


def _card(row: Row, entry: Entry | None) -> list[tuple[str, str]]:
    """What is known of a candidate; what is not known of a model, in one line."""
    model = row["kind"] == "model"
    maker, slash, _ = (row["entry"] or "").partition("/")
    protocol = row["candidate"].partition("+")[2] if model else ""
    prices = [row["price_in"], row["price_out"]]
    known = [
        ("Kind", {"human": "human baseline: one human review a paper", "control": "control"}.get(row["kind"], "model")),
        ("How it is made", row["change"]),
        ("Note", row["note"]),
        ("Maker", maker if slash else None),
        ("Model", row["entry"] or row["model"] if (row["entry"] or row["model"]) != row["candidate"] else None),
        ("Family", row["family"]),
        ("Size", billions(row["parameters"]) or None),
        ("Came out", row["released"]),
        ("Knowledge cutoff", row["knowledge_cutoff"]),
        ("Price", f"{plain(prices[0])} USD read, {plain(prices[1])} USD written, per million tokens"
         if None not in prices else None),
        ("Prompt", row["prompt"]),
        ("Protocol", protocol.replace("+", ", ")),
        ("Guideline", row["guideline"]),
        ("Group", entry.group if entry else None),
        ("These reviews", {"contaminated": "shown before its cutoff", "clean": "shown after its cutoff",
                           "unknown": "the day they were first shown is not known" if row["knowledge_cutoff"]
                           else "its cutoff is not known"}.get(entry.contamination or "") if entry else None),
    ]  # fmt: skip
    unknown = [name.lower() for name, value in known if name in STATED and not value] if model else []
    return [*((name, str(value)) for name, value in known if value),
            *((("Unknown", ", ".join(unknown)),) if unknown else ())]  # fmt: skip


def _on_papers(values: Values, candidate: str, human: str | None, lines: Mapping[str, PaperLine]) -> list[OnPaper]:
    """Its papers, where it leads the human baseline furthest first; of the baseline itself by score."""
    ahead = leads(values[candidate], values.get(human or "", {})) if candidate != human else {}
    found = [OnPaper(lines[paper], score, ahead.get(paper)) for paper, score in by_paper(values[candidate]).items()]
    return sorted(found, key=lambda one: (one.lead is None and bool(ahead), -(one.lead if ahead and one.lead is not None
                                          else one.score)))  # fmt: skip


def _kinds(own: Sequence[Row], human: Sequence[Row]) -> list[Kinds]:
    beside = {row["writer"]: row for row in human}
    found = []
    for row in own:
        other = beside.get(row["writer"])
        lines = tuple(
            (opening, count / row["reviews"], other["lines"][place] / other["reviews"] if other else None)
            for place, (opening, count) in enumerate(zip(row["openings"], row["lines"], strict=True))
        )
        found.append(Kinds(row["writer"], row["reviews"], lines))
    return found

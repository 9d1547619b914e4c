"""Writes one page per candidate: facts, scores by metric, best and worst papers, judgments, an example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb

from gre_bench.release.database import rows
from gre_bench.release.pages.board import Board, Entry, Flag, PaperLine, billions, page_of, plain
from gre_bench.release.pages.board_data import Values, by_paper, leads
from gre_bench.release.pages.rendering import candidate_page
from gre_bench.store import Row

STATED = ("Maker", "Size", "Came out", "Knowledge cutoff", "Price")
"""Facts about a model that its card lists as unknown if the models file does not state them."""
EXTREMES = 5
"""Number of papers shown as best, and as worst."""


@dataclass(frozen=True, slots=True)
class OnBoard:
    """A candidate's entry on the board of one metric."""

    board: Board
    entry: Entry


@dataclass(frozen=True, slots=True)
class OnPaper:
    """A candidate's mean score on a paper.

    *lead*: the mean difference from the human baseline on the same references; None if no reference has both scores.
    """

    paper: PaperLine
    score: float
    lead: float | None


@dataclass(frozen=True, slots=True)
class OpeningUses:
    """How often a candidate's judgments use each of the four openings, such as *The reviewer criticizes*.

    *writer*: the writer of the judgments. *reviews*: number of the candidate's reviews. *uses*: for each opening
    (opening, uses per candidate's review, uses per human review). Uses per human review are None if human reviews have
    no judgments by this writer.
    """

    writer: str
    reviews: int
    uses: tuple[tuple[str, float, float | None], ...]


@dataclass(frozen=True, slots=True)
class CandidatePage:
    """The contents of a candidate's page.

    - *card*: facts about the candidate, as names and values. *on_boards*: the candidate's entry on each board.
    - *papers*: the candidate's scores by paper, the largest lead over the human baseline first.
    - *by*: the title of the board with the scores in *papers*.
    - *kinds*: how often the candidate's judgments use each opening, for each writer.
    - *example*: one of the candidate's reviews, with judgments.
    - *human*: name of the human baseline; None on the page of the human baseline.
    """

    name: str
    kind: str
    card: tuple[tuple[str, str], ...]
    on_boards: tuple[OnBoard, ...]
    papers: tuple[OnPaper, ...]
    by: str
    kinds: tuple[OpeningUses, ...] = ()
    example: Mapping[str, Any] | None = None
    human: str | None = None

    @property
    def warnings(self) -> dict[Flag, list[str]]:
        """Returns the warnings about the candidate, each with the titles of the boards that show the warning."""
        titles: dict[Flag, list[str]] = {}
        for row in self.on_boards:
            for flag in row.entry.flags:
                titles.setdefault(flag, []).append(row.board.title)
        return titles

    @property
    def best(self) -> tuple[OnPaper, ...]:
        """Returns the first `EXTREMES` of *papers*, where the candidate leads most over the human baseline."""
        return self.papers[:EXTREMES]

    @property
    def worst(self) -> tuple[OnPaper, ...]:
        """Returns the last `EXTREMES` of *papers*, the worst paper first, without the papers in `best`."""
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
    """Writes the page of every candidate of *boards* to the new *folder*.

    *connection*: to the release's database. *name*: the name of the release. *values*: the scores by signature,
    candidate and (paper, reference).
    """
    folder.mkdir()
    lines = {paper.paper_id: paper for paper in papers}
    examples = {row["candidate"]: row for row in rows(connection, "examples")}
    kinds = {key: list(group) for key, group in groupby(rows(connection, "judgment_kinds"), lambda r: r["candidate"])}
    candidates = rows(connection, "candidates")
    human = next((row["candidate"] for row in candidates if row["kind"] == "human"), None)
    for row in candidates:
        candidate = row["candidate"]
        on_boards = tuple(
            OnBoard(board, entry) for board in boards for entry in board.entries if entry.candidate == candidate
        )
        first = next((item for item in on_boards if item.entry.mean is not None), None)
        page = CandidatePage(
            name=candidate,
            kind=row["kind"],
            card=tuple(_card(row, on_boards[0].entry if on_boards else None)),
            on_boards=on_boards,
            papers=tuple(_on_papers(values[first.board.signature_id], candidate, human, lines)) if first else (),
            by=first.board.title if first else "",
            kinds=tuple(_kinds(kinds.get(candidate, ()), kinds.get(human or "", ()))),
            example=examples.get(candidate),
            human=human if candidate != human else None,
        )
        (folder / page_of(candidate)).write_text(candidate_page(name, edition, page), encoding="utf-8")


def _card(row: Row, entry: Entry | None) -> list[tuple[str, str]]:
    """Returns the known facts about a candidate as names and values; for a model, one line lists the unknown facts.

    *row*: the candidate in the database. *entry*: its entry on a board; None if it is on no board.
    """
    model = row["kind"] == "model"
    maker, slash, _ = (row["entry"] or "").partition("/")
    protocol = row["candidate"].partition("+")[2] if model else ""
    prices = [row["price_in"], row["price_out"]]
    facts = [
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
    unknown = [name.lower() for name, value in facts if name in STATED and not value] if model else []
    return [*((name, str(value)) for name, value in facts if value),
            *((("Unknown", ", ".join(unknown)),) if unknown else ())]  # fmt: skip


def _on_papers(values: Values, candidate: str, human: str | None, lines: Mapping[str, PaperLine]) -> list[OnPaper]:
    """Returns the scores of *candidate* by paper, sorted by the lead over the human baseline, largest first.

    Papers without a lead come last. If no paper has a lead, as on the page of the human baseline itself, papers are
    sorted by score. *human*: name of the human baseline; None if there is none. *lines*: the papers by id.
    """
    ahead = leads(values[candidate], values.get(human or "", {})) if candidate != human else {}
    scored = [OnPaper(lines[paper], score, ahead.get(paper)) for paper, score in by_paper(values[candidate]).items()]
    return sorted(scored, key=lambda item: (item.lead is None and bool(ahead),
                      -(item.lead if ahead and item.lead is not None else item.score)))  # fmt: skip


def _kinds(own: Sequence[Row], human: Sequence[Row]) -> list[OpeningUses]:
    beside = {row["writer"]: row for row in human}
    kinds = []
    for row in own:
        other = beside.get(row["writer"])
        lines = tuple(
            (opening, count / row["reviews"], other["lines"][index] / other["reviews"] if other else None)
            for index, (opening, count) in enumerate(zip(row["openings"], row["lines"], strict=True))
        )
        kinds.append(OpeningUses(row["writer"], row["reviews"], lines))
    return kinds

"""Makes a release of an edition: built beside its place, sealed, moved there in one step, then pointed to.

    database → pieces → Parquet → figures → page → papers' pages → manifest → place → ledger → latest

A publisher that is killed anywhere leaves the earlier release as it was; the next one clears what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tasks.release.board import Contents
from tasks.release.database import Additions, opened, write_database, write_parquet
from tasks.release.drawing import drawn, write_figures
from tasks.release.history import histories
from tasks.release.manifest import digest_of, read, seal
from tasks.release.papers import write_papers
from tasks.release.pieces import Pieces, add_pieces
from tasks.release.reading import boards, papers, remarks, validations
from tasks.release.rendering import board_page
from tasks.release.shelf import Shelf
from tasks.store import now

DATABASE, TABLES, FIGURES, PAGE, PAPERS = "release.duckdb", "tables", "figures", "index.html", "papers"


@dataclass(frozen=True, slots=True)
class Publication:
    """What is published: the readable copy of an edition, what explains it, and what it rests on.

    *everything*: all texts, whatever their licence, for a release that is not passed on. *again*: even if no table
    has changed since the latest release.
    """

    source: Path
    additions: Additions
    is_free: Callable[[str | None], bool]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    pieces_of: Pieces | None = None
    everything: bool = False
    again: bool = False


@dataclass(frozen=True, slots=True)
class Published:
    """A release and its digest; *new* is False where the latest one holds the same tables already."""

    name: str
    folder: Path
    digest: str
    new: bool
    tables: Mapping[str, int]


def publish(shelf: Shelf, publication: Publication, at: Callable[[str], None] = lambda step: None) -> Published:
    """The new release on *shelf*; *at* is told each step before it begins. `LockedError` if somebody else is at it."""
    with shelf.lock():
        at("database")
        latest = shelf.point()
        name = shelf.next_name()
        room = shelf.room(name)
        counts = write_database(
            publication.source, room / DATABASE, publication.additions, publication.is_free, publication.everything
        )
        at("pieces")
        counts["pieces"] = add_pieces(room / DATABASE, publication.pieces_of)
        at("parquet")
        write_parquet(room / DATABASE, room / TABLES)
        at("page")
        created = now()
        about = {
            "release": name,
            "edition": shelf.edition,
            "created_at": created.isoformat(timespec="seconds"),
            "texts": "all: not to be passed on" if publication.everything else "where their licence allows it",
            **publication.provenance,
            "tables": counts,
        }
        _write_pages(shelf, room, name, about, at)
        at("manifest")
        digest = seal(room, about)
        if latest and not publication.again and _same(shelf.folder / latest, room):
            shelf.drop(room)
            return Published(latest, shelf.folder / latest, digest_of(shelf.folder / latest), False, counts)
        at("place")
        folder = shelf.place(room, name)
        at("ledger")
        shelf.say("published", name, {"digest": digest})
        at("latest")
        shelf.point()
        at("done")
        return Published(name, folder, digest, True, counts)


def _write_pages(shelf: Shelf, room: Path, name: str, about: Mapping[str, Any], at: Callable[[str], None]) -> None:
    with opened(room / DATABASE) as connection:
        found = boards(connection)
        contents = Contents(
            name=name,
            edition=shelf.edition,
            published=f"release {name.rpartition('-')[2]} of {about['created_at'][:10]}",
            boards=found,
            facts=_facts(found, about),
            lead="How much a review tells about what human reviewers of the same paper wrote, measured without a gold "
            "standard: the more predictable a review makes theirs, the higher its score.",
            remarks=remarks(found),
            validations=validations(connection),
            histories=histories(shelf, room / DATABASE),
            papers=papers(connection),
            errata=tuple((entry["at"][:10], entry["release"], entry["text"]) for entry in shelf.entries()
                         if entry["what"] != "published"),
            provenance=_provenance(about),
        )  # fmt: skip
        at("figures")
        pictures = drawn(found)
        write_figures(pictures, room / FIGURES)
        by_board = [pictures.of(board) for board in found]
        at("index")
        page = board_page(contents, by_board, pictures.ranks or "", pictures.colours)
        (room / PAGE).write_text(page, encoding="utf-8")
        at("papers")
        write_papers(connection, room / PAPERS, name, shelf.edition, found)


def _facts(found: Any, about: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    names = {entry.candidate for board in found for entry in board.entries if entry.kind == "model"}
    pairs = max((entry.expected or 0 for board in found for entry in board.entries), default=0)
    shown = (("Models", len(names)), ("Metrics", len(found)), ("Papers", about.get("papers", 0)),
             ("Pairs per candidate", pairs))  # fmt: skip
    return tuple((name, f"{count:,}") for name, count in shown if count)


def _provenance(about: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    lines = [("made", about["created_at"]), ("program", f"gre-bench {about.get('program', {}).get('version', '')}")]
    lines += [("texts", about["texts"])]
    lines += [("snapshot", one["digest"]) for one in about.get("snapshots", ())]
    lines += [(f"seed of {name}", str(seed)) for name, seed in about.get("seeds", {}).items()]
    lines += [("tables", ", ".join(f"{name} {count:,}" for name, count in about["tables"].items() if count))]
    lines += [("files", f"{DATABASE}, {TABLES}/*.parquet, manifest.json with the SHA-256 of each; "
               "gre-bench verify reads them again")]  # fmt: skip
    return tuple(lines)


def _same(old: Path, new: Path) -> bool:
    """Whether two releases hold the same tables, of the same program."""
    one, other = read(old), read(new)
    tables = ({name: file["sha256"] for name, file in manifest["files"].items() if name.startswith(f"{TABLES}/")}
              for manifest in (one, other))  # fmt: skip
    return (
        next(tables) == next(tables) and one.get("program") == other.get("program") and one["texts"] == other["texts"]
    )

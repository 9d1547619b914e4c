"""Writes the pages and tables that a release of an edition would have now."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from gre_bench.catalogs import models
from gre_bench.core.errors import SettingsError, UnfinishedError
from gre_bench.core.metrics import METRICS
from gre_bench.core.settings import Settings, load_over
from gre_bench.ingest.snapshot import may_publish
from gre_bench.lm.catalog import pieces_of
from gre_bench.ranking import published
from gre_bench.release.database import add_pieces, opened, write_database
from gre_bench.release.figures import Drawings, drawn, write_figures
from gre_bench.release.pages.board import Board, Entry
from gre_bench.release.pages.rendering import board_page
from gre_bench.release.publishing import DATABASE
from gre_bench.release.site import boards, write_site
from gre_bench.reports.publishing import additions, provenance
from gre_bench.store import Store, now
from gre_bench.store.queries import BOARD_SETTINGS, CURRENT_SIGNATURES, SignatureRow


def database_of(store: Store, folder: Path, everything: bool = False) -> Path:
    """Writes the database that a release of the edition would have now to *folder*; returns its path.

    *everything*: include all texts, whatever their licence. Raises `UnfinishedError` if the edition has no board.
    """
    copy, database, settings = folder / store.read_file.name, folder / DATABASE, _settings(store)
    signatures = _signatures(store)
    store.copy.copy_to(copy)
    made_of = additions(store, settings, signatures)
    write_database(copy, database, made_of, may_publish, everything, settings.writing.licence)
    copy.unlink()
    return database


def write_edition_pages(store: Store, folder: Path, everything: bool = False) -> None:
    """Writes the pages of an edition as it is now to *folder*, without a release.

    *everything*: include all texts, whatever their licence. Raises `UnfinishedError` if the edition has no board.
    """
    database, settings = database_of(store, folder, everything), _settings(store)
    add_pieces(database, pieces_of(settings.evaluation_lm))
    made = now().isoformat(timespec="seconds")
    about = {
        "release": store.key,
        "edition": store.key,
        "created_at": made,
        "published": f"not published; as of {made[:16].replace('T', ' ')} UTC",
        "texts": "all: not to be passed on" if everything else "where their licence allows it",
        **provenance(store, settings, _signatures(store)),
    }
    with opened(database) as connection:
        write_site(connection, folder, about, figures=False)
    database.unlink()


def _settings(store: Store) -> Settings:
    planned_with = store.read(BOARD_SETTINGS)
    return load_over(json.loads(planned_with[0]["settings"])) if planned_with else Settings()


def _signatures(store: Store) -> list[SignatureRow]:
    signatures = store.read(CURRENT_SIGNATURES)
    if not signatures:
        raise UnfinishedError(f"edition {store.key} has no board yet; run: gre-bench refresh --edition {store.key}")
    return signatures


_SIZE = published.SIZE


def plot_edition(store: Store, out: Path) -> list[Path]:
    """Writes the figures of the edition's boards to the folder *out*, as SVG and PNG; returns the files.

    Raises `SettingsError` if the drawing packages are not installed, `UnfinishedError` if the edition has no board.
    """
    return write_figures(_drawn(_boards(store)), out, png=True)


def plot_table(table: str, out: Path) -> list[Path]:
    """Writes the figures of the published board *table* and a page with them to the folder *out*; returns the files.

    A published table has no intervals, no human baseline and no dates, so none are plotted. Raises `SettingsError` if
    the drawing packages are not installed, or if *table* is not a board.
    """
    if published.kind(table) != "board":
        raise SettingsError(f"{table} is no board; boards are: table6, table7, table10")
    boards = printed_boards(table)
    pictures = _drawn(boards)
    written = write_figures(pictures, out, png=True)
    contents = {
        "name": table,
        "edition": "ICLR 2023, as published",
        "published": f"Xu et al. 2025, {table.replace('table', 'table ')}",
        "boards": boards,
        "lead": "The scores that Xu et al. print for GRE-bench, drawn by this program.",
        "remarks": (
            "The table prints neither intervals nor the human baseline nor dates: none are drawn, and no difference "
            "between two models is tested.",
            "Sizes of closed models are estimates from unofficial sources.",
        ),
        "provenance": (("source", "Xu et al. 2025, Benchmarking LLMs' Judgments with No Gold Standard, ICLR 2025"),
                       ("table", table)),
    }  # fmt: skip
    page = board_page(contents, pictures)
    out.mkdir(parents=True, exist_ok=True)
    (out / "index.html").write_text(page, encoding="utf-8")
    return [out / "index.html", *written]


def _drawn(boards: tuple[Board, ...]) -> Drawings:
    """Returns the figures of *boards*; raises `SettingsError` if the drawing packages cannot draw them."""
    pictures = drawn(boards)
    if pictures.problem:
        raise SettingsError(pictures.problem)
    return pictures


def _boards(store: Store) -> tuple[Board, ...]:
    """Returns the boards that a release of the edition would show now."""
    with TemporaryDirectory(prefix="gre-bench-") as folder, opened(database_of(store, Path(folder))) as connection:
        return boards(connection)


def printed_boards(table: str) -> tuple[Board, ...]:
    """Returns the boards of a published table, one per metric, in the order of the catalogue."""
    figures = published.load(table)
    sizes = {figure.item: figure.value for figure in figures if figure.metric == _SIZE}
    known = models.load()
    boards = []
    for metric in (name for name in METRICS if any(figure.metric == name for figure in figures)):
        scored = sorted((item for item in figures if item.metric == metric), key=lambda item: -item.value)
        entries = tuple(
            Entry(
                figure.item,
                "model",
                figure.value,
                rank=1 + sum(other.value > figure.value for other in scored),
                family=known[figure.item].family if figure.item in known else None,
                parameters=sizes.get(figure.item),
            )
            for figure in scored
        )
        boards.append(Board(metric, METRICS[metric].title, METRICS[metric].unit, entries, validation=""))
    return tuple(boards)

"""Figures of a board as files: of an edition, of a release, of a board that was printed."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from gre_bench.catalogs import models
from gre_bench.core.errors import SettingsError, UnfinishedError
from gre_bench.core.settings import Settings
from gre_bench.ingest.snapshot.publication import may_publish
from gre_bench.metrics.catalog import METRICS
from gre_bench.ranking import published
from gre_bench.release.database import opened, write_database
from gre_bench.release.figures.drawing import Drawings, drawn, write_figures
from gre_bench.release.pages.board import Board, Entry
from gre_bench.release.pages.contents import Contents
from gre_bench.release.pages.rendering import board_page
from gre_bench.release.publishing import DATABASE
from gre_bench.release.reading import boards
from gre_bench.reports.publishing import additions, shelf_of
from gre_bench.store import Store, find_editions

_SIZE = published.SIZE


def plotted(what: str, out: Path, state: Path) -> list[Path]:
    """Writes the figures of *what* (edition, release, published board) into *out*; the files.

    `SettingsError` where nothing can draw.
    """
    if what in published.tables():
        return _of_table(what, out)
    return write_figures(_drawn(_boards(what, state)), out, png=True)


def _drawn(found: tuple[Board, ...]) -> Drawings:
    """The figures of *found*; `SettingsError` where nothing can draw them."""
    pictures = drawn(found)
    if pictures.problem:
        raise SettingsError(pictures.problem)
    return pictures


def _boards(what: str, state: Path) -> tuple[Board, ...]:
    if (Path(what) / DATABASE).is_file():
        return _of_release(Path(what))
    if what in find_editions(state):
        return _of_edition(Store(state, what))
    try:
        shelf, name = shelf_of(what, state / "releases")
    except SettingsError:
        known = ", ".join(find_editions(state)) or "none yet"
        raise SettingsError(f"no edition, release or published board {what!r}; editions in {state}: {known}") from None
    return _of_release(shelf.folder / name)


def _of_release(folder: Path) -> tuple[Board, ...]:
    if not (folder / DATABASE).is_file():
        raise SettingsError(f"no release in {folder}")
    with opened(folder / DATABASE) as connection:
        return boards(connection)


def _of_edition(store: Store) -> tuple[Board, ...]:
    """As a release of the edition would show it now."""
    signatures = store.read("current_signatures")
    if not signatures:
        raise UnfinishedError(f"edition {store.key} has no board yet; run: gre-bench refresh --edition {store.key}")
    with TemporaryDirectory(prefix="gre-bench-") as folder:
        copy, database = Path(folder) / store.read_file.name, Path(folder) / DATABASE
        store.copy.copy_to(copy)
        write_database(copy, database, additions(store, Settings(), signatures), may_publish)
        with opened(database) as connection:
            return boards(connection)


def _of_table(table: str, out: Path) -> list[Path]:
    """Figures and board of a published table, which prints neither intervals nor the human baseline nor dates."""
    if published.kind(table) != "board":
        raise SettingsError(f"{table} is no board; boards are: table6, table7, table10")
    found = printed_boards(table)
    pictures = _drawn(found)
    written = write_figures(pictures, out, png=True)
    contents = Contents(
        name=table,
        edition="ICLR 2023, as published",
        published=f"Xu et al. 2025, {table.replace('table', 'table ')}",
        boards=found,
        lead="The scores that Xu et al. print for GRE-bench, drawn by this program.",
        remarks=(
            "The table prints neither intervals nor the human baseline nor dates: none are drawn, and no difference "
            "between two models is tested.",
            "Sizes of closed models are estimates from unofficial sources.",
        ),
        provenance=(("source", "Xu et al. 2025, Benchmarking LLMs' Judgments with No Gold Standard, ICLR 2025"),
                    ("table", table)),
    )  # fmt: skip
    page = board_page(contents, pictures)
    out.mkdir(parents=True, exist_ok=True)
    (out / "index.html").write_text(page, encoding="utf-8")
    return [out / "index.html", *written]


def printed_boards(table: str) -> tuple[Board, ...]:
    """The boards of a published table, one a metric, in the order of the catalogue."""
    figures = published.load(table)
    sizes = {figure.item: figure.value for figure in figures if figure.metric == _SIZE}
    known = models.load()
    found = []
    for metric in (name for name in METRICS if any(figure.metric == name for figure in figures)):
        scored = sorted((one for one in figures if one.metric == metric), key=lambda one: -one.value)
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
        found.append(Board(metric, METRICS[metric].title, METRICS[metric].unit, entries, validation=""))
    return tuple(found)

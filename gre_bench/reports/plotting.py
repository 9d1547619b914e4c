"""Figures of a board as files: of an edition, or of a board that was printed."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from gre_bench.catalogs import models
from gre_bench.core.errors import SettingsError
from gre_bench.core.metrics import METRICS
from gre_bench.ranking import published
from gre_bench.release.database import opened
from gre_bench.release.figures.drawing import Drawings, drawn, write_figures
from gre_bench.release.pages.board import Board, Entry
from gre_bench.release.pages.contents import Contents
from gre_bench.release.pages.rendering import board_page
from gre_bench.release.reading import boards
from gre_bench.reports.edition_pages import database_of
from gre_bench.store import Store

_SIZE = published.SIZE


def plot_edition(store: Store, out: Path) -> list[Path]:
    """Writes the figures of the edition's board into *out*, as SVG and PNG; the files.

    `SettingsError` where the packages that draw are not installed.
    """
    return write_figures(_drawn(_boards(store)), out, png=True)


def plot_table(table: str, out: Path) -> list[Path]:
    """Writes the figures of a published board into *out*, and the board as a page; the files.

    The table prints neither intervals nor the human baseline nor dates. `SettingsError` as for `plot_edition`, and for
    a table that is no board.
    """
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


def _drawn(found: tuple[Board, ...]) -> Drawings:
    """The figures of *found*; `SettingsError` where nothing can draw them."""
    pictures = drawn(found)
    if pictures.problem:
        raise SettingsError(pictures.problem)
    return pictures


def _boards(store: Store) -> tuple[Board, ...]:
    """As a release of the edition would show it now."""
    with TemporaryDirectory(prefix="gre-bench-") as folder, opened(database_of(store, Path(folder))) as connection:
        return boards(connection)


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

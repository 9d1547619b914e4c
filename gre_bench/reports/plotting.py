"""Writes the figures of an edition's boards, or of a published table."""

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
    contents = Contents(
        name=table,
        edition="ICLR 2023, as published",
        published=f"Xu et al. 2025, {table.replace('table', 'table ')}",
        boards=boards,
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

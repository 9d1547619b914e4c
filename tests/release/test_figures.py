"""Figures of boards, those of the published tables among them."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.release.figures import CHARACTER, LINE, POINT, SHAPES, drawn, families, placed, write_figures
from gre_bench.release.pages.board import Board, Entry, across, as_csv, page_of, span_of, ticks
from gre_bench.reports.publishing import printed_boards
from tests.conftest import ROOT
from tests.release.made_up import EDITION


def test_the_published_board_is_drawn_with_its_own_numbers_and_without_what_it_lacks(tmp_path, call):
    code, out, _ = call("compare", "--published", "table6", "--figures", tmp_path, "--json")
    written = [Path(name) for name in json.loads(out)]
    assert code == 0
    page = (tmp_path / "index.html").read_text()
    with (ROOT / "data" / "published" / "table6.csv").open(encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["metric"] != "parameters_billion"]
    assert len(rows) == 60
    for row in rows:
        assert f">{float(row['value']):+.2f}<".replace("-", "−") in page, row
    assert "neither intervals nor the human baseline nor dates" in page
    assert 'class="band"' not in page and 'class="range"' not in page and "±" not in page
    figures = ("gem_by_size", "gem_s_abstract_by_size", "gem_s_assw_by_size", "ranks")
    files = {f"{name}.{ending}" for name in figures for ending in ("svg", "png")}
    assert {path.name for path in written} == {"index.html"} | files
    for path in written:
        if path.suffix == ".png":
            assert path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 10_000
    # Every model with a size once, and no style that a strict policy refuses.
    svg = (tmp_path / "gem_by_size.svg").read_text()
    assert len(re.findall(r'aria-roledescription="point"', svg)) == 20
    assert "style=" not in svg and "<script" not in svg and "currentColor" not in svg and "claude-3-opus" in svg


def test_ranks_of_the_published_board_are_those_of_its_scores():
    boards = printed_boards("table6")
    assert [board.metric for board in boards] == ["gem", "gem_s_abstract", "gem_s_assw"]
    for board in boards:
        assert [entry.mean for entry in board.entries] == sorted((entry.mean for entry in board.entries), reverse=True)
        assert board.entries[0].rank == 1 and len(board.entries) == 20
        assert board.human is None and all(entry.family for entry in board.entries)


def test_the_human_band_and_the_intervals_are_drawn_where_there_are_some():
    entries = (
        Entry("human", "human", 3.0, 2.5, 3.5, rank=2),
        Entry("a/big", "model", 4.0, 3.5, 4.5, rank=1, family="A", parameters=70),
        Entry("b/small", "model", 1.0, 0.5, 1.5, rank=3, family="B", parameters=7),
        Entry("c/unsized", "model", 0.5, 0.2, 0.9, rank=4, family="B"),
    )
    found = drawn([Board("gem", "GEM", "nats", entries)])
    assert list(found.pictures) == [("gem", "size")] and found.ranks is None
    svg = found.pictures["gem", "size"]
    assert "human baseline" in svg and svg.count('aria-roledescription="point"') == 2
    caption = " ".join(re.findall(r">([^<]+)</", svg))
    assert "Not drawn: 1 model without that figure." in caption
    assert "90% intervals" in caption


@pytest.mark.parametrize("name", ["examiner.fast", "examiner.a/b", "examiner.../up", "examiner.ein Prüfer"])
def test_the_figures_of_an_examiners_board_are_files_in_their_folder(tmp_path, name):
    entries = tuple(
        Entry(f"x/{place}", "model", place, rank=place, family="X", parameters=place + 1.0) for place in (1, 2)
    )
    boards = [Board(metric, metric, "points", entries) for metric in (name, "examiner.a-b")]
    written = write_figures(drawn(boards), tmp_path / "figures")
    assert len(set(written)) == 2 and {path.parent for path in written} == {tmp_path / "figures"}
    assert set((tmp_path / "figures").iterdir()) == set(written) and set(tmp_path.iterdir()) == {tmp_path / "figures"}
    assert all(re.fullmatch(r"examiner\.[A-Za-z0-9._-]+_by_size\.svg", path.name) for path in written)


def test_families_are_told_apart_without_colour():
    boards = [Board("gem", "GEM", "nats", tuple(Entry(f"m{n}", "model", n, family=f"F{n:02d}") for n in range(40)))]
    marks = families(boards)
    assert len({(mark.colour, mark.shape) for mark in marks.values()}) == 40
    assert len({mark.shape for mark in list(marks.values())[: len(SHAPES)]}) == len(SHAPES)


spans = st.tuples(st.floats(-300, 300), st.floats(0.05, 1e4)).map(lambda two: (two[0], two[0] + two[1]))


@given(spans)
def test_an_axis_has_a_few_round_ticks_inside_it(span):
    found = ticks(span)
    assert 2 <= len(found) <= 5
    assert all(span[0] < tick < span[1] for tick in found) and found == sorted(found)
    step = found[1] - found[0]
    assert f"{step:.0e}"[0] in "125" and all(abs(tick / step - round(tick / step)) < 1e-4 for tick in found)
    assert all(0 < float(across(tick, span).rstrip("%")) < 100 for tick in found)


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-2", "@x", "plain", 'a "quoted", name'])
def test_a_name_in_a_boards_csv_is_never_a_formula(text):
    board = Board("gem", "GEM", "nats", (Entry(text, "model", -1.5, low=-2.0, high=-1.0, rank=1),))
    (row,) = csv.DictReader(io.StringIO(as_csv(board)))
    assert row["candidate"].lstrip("'") == text and not row["candidate"].startswith(("=", "+", "-", "@"))
    assert (float(row["score"]), float(row["low"]), row["vs_human"]) == (-1.5, -2.0, "")


def test_who_cannot_draw_is_told_what_to_install(own, call, monkeypatch):
    for name in ("altair", "vl_convert"):
        monkeypatch.setitem(sys.modules, name, None)
    install = "altair is not installed: pip install 'gre-bench[plots]'"
    code, out, err = call("publish", EDITION, "--again", "--state", own)
    assert code == 0 and f"without figures: {install}" in out + err
    code, out, err = call("leaderboard", EDITION, "--figures", own / "figures", "--state", own)
    assert code == 2 and install in err and not (own / "figures").exists()


def test_a_board_is_drawn_whole_or_not_at_all(own, call):
    code, out, err = call("leaderboard", EDITION, "--figures", own / "f", "--metric", "gem", "--state", own)
    assert (code, out) == (2, "") and "--figures draws the whole board" in err
    code, out, err = call("compare", "--published", "table6", "--published", "table7", "--figures", own / "f")
    assert (code, out) == (2, "") and "--figures draws one published board" in err
    code, out, err = call("compare", "--published", "table1", "--figures", own / "f")
    assert (code, out) == (2, "") and "table1 is no board" in err
    (own / "file").touch()
    code, out, err = call("compare", "--published", "table6", "--figures", own / "file")
    assert (code, out) == (2, "") and "file is a file; name a folder" in err
    assert not (own / "f").exists()


points = st.tuples(st.floats(0, 400), st.floats(0, 300))


@given(st.lists(st.tuples(points, st.text("abcdefgh-", min_size=1, max_size=24)), max_size=25))
def test_a_label_never_covers_another_label_or_a_point(found):
    spots, names = [spot for spot, _ in found], [name for _, name in found]
    boxes = []
    for label in placed(spots, names, 400, 300):
        wide = CHARACTER * len(names[label.index])
        left = spots[label.index][0] + label.dx - {"left": 0.0, "right": wide, "center": wide / 2}[label.align]
        middle = spots[label.index][1] + label.dy
        boxes.append((label.index, left, middle - LINE / 2, left + wide, middle + LINE / 2))
    for place, left, top, right, bottom in boxes:
        for other, x0, y0, x1, y1 in boxes:
            assert other == place or right <= x0 or x1 <= left or bottom <= y0 or y1 <= top
        for other, (x, y) in enumerate(spots):
            assert other == place or right <= x - POINT or x + POINT <= left or bottom <= y - POINT or y + POINT <= top
    if len(found) == 1 and len(names[0]) * CHARACTER < 180:
        assert len(boxes) == 1


@given(st.lists(st.text(min_size=1), unique=True, max_size=20))
def test_pages_of_papers_have_plain_names_and_never_share_one(ids):
    names = [page_of(one) for one in ids]
    assert len({name.lower() for name in names}) == len(ids)
    assert all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,80}\.html", name) for name in names)


def test_a_board_is_a_figure_of_its_main_group_best_first_and_none_of_human_reviews_alone():
    human = Entry("human", "human", 5.0, 4.0, 6.0, rank=1)
    models = (("lab/worse", 3.0, None), ("lab/better", 4.0, None), ("other/apart", 9.0, "apart"))
    entries = [Entry(name, "model", mean, mean - 1, mean + 1, group=group) for name, mean, group in models]
    picture = drawn((Board("gem", "GEM", "nats", (entries[0], human, *entries[1:])),)).files()["gem_scores"]
    places = [picture.index(f">{name}<") for name in ("human", "better", "worse")]
    assert places == sorted(places) and "apart" not in picture
    assert drawn([Board("gem", "GEM", "nats", (human,))]).files() == {}


@given(st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), max_size=8))
def test_an_axis_holds_zero_and_all_values_with_a_margin_on_both_sides(values):
    low, high = span_of(values)
    assert all(low < value < high for value in (0.0, *values))
    assert high - low <= 1.2 * (max((*values, 0.0)) - min((*values, 0.0)) or 1.0)

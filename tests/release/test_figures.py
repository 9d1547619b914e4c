"""Figures of boards, those of the published tables among them."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.release.figures import SHAPES, assign_family_marks, board_picture, write_figures
from gre_bench.release.pages.board_page import Board, BoardEntry, build_page_file_name, format_board_csv
from gre_bench.reports.publish_editions import build_published_boards
from tests.conftest import ROOT
from tests.release.made_up import EDITION

SVG = "{http://www.w3.org/2000/svg}"


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
    names = {"gem_scores.svg", "gem_s_abstract_scores.svg", "gem_s_assw_scores.svg"}
    assert {path.name for path in written} == {"index.html"} | names
    for name in names:
        picture = (tmp_path / name).read_text()
        assert picture.count('class="dot"') == 20 and 'class="range"' not in picture and "intervals" not in picture
    assert page.count('"parameters":') == 60  # what the page's script draws scores against


def test_ranks_of_the_published_board_are_those_of_its_scores():
    boards = build_published_boards("table6")
    assert [board.metric for board in boards] == ["gem", "gem_s_abstract", "gem_s_assw"]
    for board in boards:
        assert [entry.mean for entry in board.entries] == sorted((entry.mean for entry in board.entries), reverse=True)
        assert board.entries[0].rank == 1 and len(board.entries) == 20
        assert board.human is None and all(entry.family for entry in board.entries)


def test_a_picture_has_a_row_for_each_score_in_the_boards_order_and_says_what_each_is():
    entries = (
        BoardEntry("a/big", "model", 4.0, 3.5, 4.5, rank=1),
        BoardEntry("human", "human", 3.0, 2.5, 3.5, rank=2),
        BoardEntry("b/small", "model", 1.0, 0.5, 1.5, rank=3, group="quis"),
        BoardEntry("c/seen", "model", 5.0, 4.2, 5.9),
        BoardEntry("generic", "control", 0.0, -0.1, 0.1),
        BoardEntry("d/unscored", "model", None),
    )
    root = ET.fromstring(board_picture(Board("gem", "GEM", "nats", entries)))
    rows = [node for node in root.iter(SVG + "svg") if node.get("class") in ("model", "human", "control")]
    assert [" ".join("".join(node.itertext()).split()) for node in rows] == [
        "big +4.00", "human baseline +3.00", "seen no rank +5.00", "generic control +0.00", "small +1.00",
    ]  # fmt: skip
    texts = ["".join(node.itertext()).strip() for node in root.iter(SVG + "text")]
    assert (
        texts.index("generic control")
        < texts.index("group quis: not comparable with the rows above")
        < texts.index("small")
    )
    (band,) = (node for node in root.iter(SVG + "rect") if node.get("class") == "band")
    (own,) = (node for node in rows[1].iter(SVG + "line") if node.get("class") == "range")
    assert band.get("x") == own.get("x1")
    assert float(band.get("x")[:-1]) + float(band.get("width")[:-1]) == pytest.approx(
        float(own.get("x2")[:-1]), abs=0.02
    )
    assert [node.get("y") for node in root.iter(SVG + "rect") if node.get("class") == "tint"] == [rows[1].get("y")]
    assert board_picture(Board("gem", "GEM", "nats", entries[:1])) == ""


def test_makers_are_named_where_two_candidates_have_one_name():
    entries = [BoardEntry(name, "model", 1.0, rank=1) for name in ("one/m", "two/m", "two/n")]
    texts = [
        node.text for node in ET.fromstring(board_picture(Board("gem", "GEM", "", tuple(entries)))).iter(SVG + "text")
    ]
    assert {"one/m", "two/m", "n"} <= set(texts)


def test_what_names_and_titles_say_stays_text_in_a_picture():
    nasty = "A\x1b[2J<&\x00\x0c\"'><script>alert(1)</script>"
    entries = tuple(
        BoardEntry(f"m/{n}{nasty}", "model", float(n), n - 0.5, n + 0.5, group=nasty, href=nasty) for n in (1, 2)
    )
    for layout in ("file", "wide", "narrow"):
        root = ET.fromstring(board_picture(Board("gem", nasty, nasty, entries), layout))
        assert not list(root.iter(SVG + "script"))


@pytest.mark.parametrize("name", ["examiner.fast", "examiner.a/b", "examiner.../up", "examiner.ein Prüfer"])
def test_the_figures_of_an_examiners_board_are_files_in_their_folder(tmp_path, name):
    entries = tuple(
        BoardEntry(f"x/{place}", "model", place, rank=place, family="X", parameters=place + 1.0) for place in (1, 2)
    )
    boards = [Board(metric, metric, "points", entries) for metric in (name, "examiner.a-b")]
    written = write_figures(boards, tmp_path / "figures")
    assert len(set(written)) == 2 and {path.parent for path in written} == {tmp_path / "figures"}
    assert set((tmp_path / "figures").iterdir()) == set(written) and set(tmp_path.iterdir()) == {tmp_path / "figures"}
    assert all(re.fullmatch(r"examiner\.[A-Za-z0-9._-]+_scores\.svg", path.name) for path in written)


def test_families_are_told_apart_without_colour():
    boards = [
        Board("gem", "GEM", "nats", tuple(BoardEntry(f"m{n}", "model", n, family=f"F{n:02d}") for n in range(40)))
    ]
    marks = assign_family_marks(boards)
    assert len({(mark.colour, mark.shape) for mark in marks.values()}) == 40
    assert len({mark.shape for mark in list(marks.values())[: len(SHAPES)]}) == len(SHAPES)


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-2", "@x", "plain", 'a "quoted", name'])
def test_a_name_in_a_boards_csv_is_never_a_formula(text):
    board = Board("gem", "GEM", "nats", (BoardEntry(text, "model", -1.5, low=-2.0, high=-1.0, rank=1),))
    (row,) = csv.DictReader(io.StringIO(format_board_csv(board)))
    assert row["candidate"].lstrip("'") == text and not row["candidate"].startswith(("=", "+", "-", "@"))
    assert (float(row["score"]), float(row["low"]), row["vs_human"]) == (-1.5, -2.0, "")


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


@given(st.lists(st.text(min_size=1), unique=True, max_size=20))
def test_pages_of_papers_have_plain_names_and_never_share_one(ids):
    names = [build_page_file_name(one) for one in ids]
    assert len({name.lower() for name in names}) == len(ids)
    assert all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,80}\.html", name) for name in names)

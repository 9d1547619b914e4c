"""The pictures: what stands in them, and that a file needs nothing beside it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.metrics.validation import plot_effects
from gre_bench.plots.drawing import (
    COLOURS,
    NAME,
    Curve,
    IntervalRow,
    compute_axis_span,
    compute_ticks,
    draw_curve_panels,
    draw_intervals,
    format_position,
)
from tests.conftest import ROOT

SVG = "{http://www.w3.org/2000/svg}"
ROWS = ["a heading", IntervalRow("one", 1.0, "+1.00", 0.5, 1.5), IntervalRow("two", 2.0, "+2.00")]


def texts(picture: str) -> list[str]:
    return ["".join(node.itertext()).strip() for node in ET.fromstring(picture).iter(SVG + "text")]


spans = st.tuples(st.floats(-300, 300), st.floats(0.05, 1e4)).map(lambda two: (two[0], two[0] + two[1]))


@given(spans)
def test_an_axis_has_a_few_round_ticks_inside_it(span):
    found = compute_ticks(span)
    assert 2 <= len(found) <= 5
    assert all(span[0] < tick < span[1] for tick in found) and found == sorted(found)
    step = found[1] - found[0]
    assert f"{step:.0e}"[0] in "125" and all(abs(tick / step - round(tick / step)) < 1e-4 for tick in found)
    assert all(0 < float(format_position(tick, span).rstrip("%")) < 100 for tick in found)


@given(st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), max_size=8))
def test_an_axis_holds_zero_and_all_values_with_a_margin_on_both_sides(values):
    low, high = compute_axis_span(values)
    assert all(low < value < high for value in (0.0, *values))
    assert high - low <= 1.2 * (max((*values, 0.0)) - min((*values, 0.0)) or 1.0)


def test_a_file_has_its_colours_for_light_and_dark_and_asks_for_nothing():
    for picture in (
        draw_intervals(ROWS, (0, 3), "nats"),
        draw_curve_panels({"": [Curve("loss", [(0, 3), (1, 2)])]}, "step", "nats"),
    ):
        assert (
            picture.startswith("<svg ") and "var(" not in picture and "@media (prefers-color-scheme: dark)" in picture
        )
        assert not re.search(r"<script|<image|@import|url\(|style=|href", picture)
        root = ET.fromstring(picture)
        assert root.get("viewBox") and not root.get("width").endswith("%")


def test_a_picture_on_a_page_has_no_style_of_its_own_and_fills_the_width():
    for layout in ("wide", "narrow"):
        picture = draw_intervals(ROWS, (0, 3), "nats", layout=layout)
        assert "<style" not in picture and "style=" not in picture and ET.fromstring(picture).get("width") == "100%"


def test_files_and_pages_have_the_same_colours():
    css = (ROOT / "gre_bench/release/pages/templates/page.css").read_text()
    for side, block in enumerate(re.findall(r"{([^}]*)}", css)[:2]):
        found = dict(re.findall(r"--(\w+): (#\w+)", block))
        assert {name: found[name] for name in COLOURS} == {name: pair[side] for name, pair in COLOURS.items()}


@given(st.text("ab/-", min_size=1, max_size=90), st.sampled_from(["", "control", "baseline"]))
def test_a_name_and_its_note_have_room_and_keep_both_ends(name, note):
    row = IntervalRow(name, 1.0, "+1.00", note=note)
    (shown,) = (
        text
        for text in texts(draw_intervals([row], (0, 2), "nats"))
        if text not in ("+1.00", "nats", "0.5", "1", "1.5")
    )
    assert len(shown) <= NAME["file"] and shown.endswith(note) and shown[:4] == f"{name} {note}".strip()[:4]


def test_an_interval_runs_from_its_low_to_its_high_end_and_a_heading_is_a_row():
    root = ET.fromstring(draw_intervals(ROWS, (0.0, 4.0), "nats"))
    (line,) = (node for node in root.iter(SVG + "line") if node.get("class") == "range")
    assert (line.get("x1"), line.get("x2")) == ("12.50%", "37.50%")
    assert [node.get("cx") for node in root.iter(SVG + "circle")] == ["25.00%", "50.00%"]
    assert texts(draw_intervals(ROWS, (0, 4), "nats")).count("a heading") == 1


def test_a_curve_goes_down_where_its_values_do_and_leaves_out_what_is_not_finite():
    points = [(0, 3.0), (1, float("nan")), (2, 1.0), (3, float("inf"))]
    root = ET.fromstring(draw_curve_panels({"": [Curve("loss", points)]}, "step", "nats a token", title="A run"))
    (line,) = root.iter(SVG + "polyline")
    (x0, y0), (x1, y1) = (map(float, point.split(",")) for point in line.get("points").split())
    assert x0 < x1 and y0 < y1
    assert {"A run", "loss", "nats a token against step"} <= set(
        texts(draw_curve_panels({"": [Curve("loss", points)]}, "step", "nats a token", title="A run"))
    )


@pytest.mark.parametrize("panels", [{}, {"nobody": []}, {"a": [Curve("one", [(1, 1)])], "b": [Curve("one", [])]}])
def test_a_picture_of_little_is_a_picture(panels):
    ET.fromstring(draw_curve_panels(panels, "rating", "% of papers"))


def test_effects_stand_under_their_changes_with_verdicts_and_those_without_an_effect_are_left_out(tmp_path):
    common = {"change": "sentence_deletion", "family": "degradation"}
    rows = [
        {**common, "metric": "bleu", "d": 0.1, "low": -0.1, "high": 0.3, "verdict": "fail"},
        {**common, "metric": "gem", "d": -1.5, "low": -1.7, "high": -1.3, "verdict": "pass"},
        {**common, "metric": "meteor", "d": None, "low": None, "high": None, "verdict": "undecided"},
    ]
    shown = texts(plot_effects(rows, tmp_path / "new" / "effects.svg", "effects").read_text())
    places = [
        shown.index(text) for text in ("Sentence Deletion (degradation)", "GEM pass", "−1.50", "BLEU fail", "+0.10")
    ]
    assert places == sorted(places) and "METEOR undecided" not in shown

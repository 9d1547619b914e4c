"""Labelled points: which columns are labels, which review a point is of, and which rows are refused."""

from __future__ import annotations

import csv

import pytest

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.records import Review
from gre_bench.ingest.records.points import ordered_labels, points_from

REVIEWS = {
    review.review_id: review for review in (Review("h1", "p1", "human", "text"), Review("m1", "p1", "model", "text"))
}
HEAD = ("paper_id", "review_id", "candidate", "point", "correct", "weight", "verdict")


def read(tmp_path, *rows, known=(), orders=(), head=HEAD):
    path = tmp_path / "points.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    points = {point.point_id: point for point in known}
    return points_from(path, points, REVIEWS, {"p1", "p2"}, ordered_labels(orders))


def test_labels_are_columns_of_numbers_and_of_words_in_a_stated_order(tmp_path):
    points, imported = read(
        tmp_path,
        ("p1", "h1", "", "No baseline.", "yes", "0.5", "valid"),
        ("p1", "", "model", "No variance.", "No", "", "unsure"),
        ("p2", "", "other", "Too long.", "", "2", "wrong"),
        orders=("verdict=wrong,unsure,valid",),
    )
    assert [point.labels for point in points] == [
        {"correct": 1.0, "weight": 0.5, "verdict": 2.0}, {"correct": 0.0, "verdict": 1.0}, {"weight": 2.0, "verdict": 0.0},
    ]  # fmt: skip
    assert [(point.review_id, point.candidate, point.place) for point in points] == [
        ("h1", "human", 1), ("m1", "model", 1), (None, "other", 1),
    ]  # fmt: skip
    assert "label correct: 2 points, 1 blank" in imported.notes
    assert any(line.startswith("1 point of 1 review that the edition does not have") for line in imported.notes)
    _, unordered = read(tmp_path, ("p1", "h1", "", "No baseline.", "", "", "valid"))
    assert "verdict" in unordered.ignored_columns


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (("p9", "h1", "", "No baseline.", "1", "", ""), "paper p9 is not known; import it first"),
        (("p1", "h9", "", "No baseline.", "1", "", ""), "paper p1 has no review h9"),
        (("p2", "h1", "", "No baseline.", "1", "", ""), "paper p2 has no review h1"),
        (("p1", "", "human", "No baseline.", "1", "", ""), "whose point it is is missing"),
        (("p1", "", "", "No baseline.", "1", "", ""), "whose point it is is missing"),
        (("p1", "h1", "model", "No baseline.", "1", "", ""), "review h1 is by human, not by model"),
        (("p1", "h1", "", " ", "1", "", ""), "point is missing"),
        (("p1", "h1", "", "No baseline.", "perhaps", "", ""), "correct is perhaps: no number"),
        (("p1", "h1", "", "No baseline.", "nan", "", ""), "correct is nan: no number"),
        (("p1", "h1", "", "No baseline.", "1", "", "bad"), "verdict is bad, which is none of wrong, valid"),
    ],
)
def test_a_row_that_says_no_point_or_no_label_is_refused_by_name(tmp_path, row, reason):
    good = ("p1", "h1", "", "Too short.", "0", "", "wrong")
    points, imported = read(tmp_path, good, row, orders=("verdict=wrong,valid",))
    assert len(points) == 1 and imported.added == 1
    (refusal,) = imported.refusals
    assert refusal.number == 2 and reason in refusal.reason


def test_a_label_of_yes_and_no_has_no_other_number_and_its_first_cell_may_be_of_no_kind(tmp_path):
    cells = ("n/a", "yes", "no", "1", "7", "-1")
    points, imported = read(tmp_path, *(("p1", "h1", "", f"Point {cell}.", cell, "", "") for cell in cells))
    assert [point.labels["correct"] for point in points] == [1.0, 0.0, 1.0]
    assert [refusal.number for refusal in imported.refusals] == [1, 5, 6]
    assert "correct is 7, which is none of true, yes, false, no, 1, 0" in imported.refusals[1].reason


def test_a_point_again_is_known_gets_further_labels_and_never_another_label(tmp_path):
    known, _ = read(tmp_path, ("p1", "h1", "", "No baseline.", "1", "", ""))
    points, imported = read(
        tmp_path,
        ("p1", "h1", "", "No  baseline.", "1", "", ""),
        ("p1", "h1", "", "No baseline.", "", "3", ""),
        ("p1", "h1", "", "No baseline.", "0", "", ""),
        ("p1", "h1", "", "No code.", "0", "", ""),
        known=known,
    )
    assert (imported.unchanged, imported.added, len(imported.refusals)) == (1, 2, 1)
    assert "already there with another correct" in imported.refusals[0].reason
    assert [(point.place, dict(point.labels)) for point in points] == [
        (1, {"correct": 1.0, "weight": 3.0}), (2, {"correct": 0.0}),
    ]  # fmt: skip


def test_a_file_without_points_and_an_order_without_its_column_are_one_line(tmp_path):
    with pytest.raises(SourceError, match=r'no column point; perhaps --columns point="comment"'):
        read(tmp_path, ("p1", "No baseline."), head=("paper_id", "comment"))
    with pytest.raises(SettingsError, match="points.csv has no such column; its other columns: correct"):
        read(tmp_path, ("p1", "h1", "x", "1"), head=(*HEAD[:2], "point", "correct"), orders=("truth=no,yes",))
    for text in ("verdict", "verdict=wrong", "verdict=a,a", "=a,b", "verdict=a,,b"):
        with pytest.raises(SettingsError, match="write LABEL=WORST"):
            ordered_labels([text])

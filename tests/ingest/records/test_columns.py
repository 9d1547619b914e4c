"""Columns under any header are found, or asked for; an id is matched however it is spelt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core.errors import SettingsError
from gre_bench.ingest.records.columns import ColumnNames, PaperIds, UnsureError, as_id, stated, with_fields
from gre_bench.ingest.records.tables import REVIEW_COLUMNS

LONG = "The method is sound, but the evaluation has too few seeds and no strong baseline to compare with. "


def read(cells, columns=(), guess=True, papers=("P1", "P2"), wanted=REVIEW_COLUMNS):
    rows = [(number, dict(cells) | {"n": number}) for number in (1, 2)]
    reading = ColumnNames(stated(columns), guess)
    table, _, line = with_fields("f.csv", rows, [*cells, "n"], wanted, reading, PaperIds(papers))
    return table[0][1], line


def test_columns_are_found_by_what_their_cells_hold():
    row, line = read({"Submission": "p1.pdf", "Anything": LONG, "Track": "main"})
    assert (row["paper_id"], row["review"]) == ("p1.pdf", LONG)
    assert line == 'paper_id is "Submission"; review is "Anything"'


def test_the_parts_of_a_review_are_joined_under_their_headers():
    row, _ = read({"id": "P1", "Strengths": LONG, "Main weaknesses": LONG * 2, "Abstract": LONG})
    assert row["review"] == f"Strengths:\n{LONG}\n\nMain weaknesses:\n{LONG * 2}"


def test_what_is_unclear_is_asked_for_and_can_be_stated():
    cells = {"id": "P1", "First": LONG, "Second": LONG}
    with pytest.raises(UnsureError, match=r'unclear which column holds the review.*--columns review="First"') as unsure:
        read(cells)
    assert unsure.value.choices == ["First", "Second"]
    row, _ = read(cells, ["review=second", "review=First"])
    assert row["review"] == f"Second:\n{LONG}\n\nFirst:\n{LONG}"


def test_a_column_of_numbers_is_no_review_and_no_papers_mean_no_id():
    with pytest.raises(UnsureError, match="no column names the papers that are known"):
        read({"Reviewer #": "1", "What": LONG})


def test_a_number_of_a_reviewer_is_a_slot_only_if_it_tells_the_reviews_of_a_paper_apart():
    rows = [(n, {"id": "P1", "review": LONG, "Reviewer #": str(n)}) for n in (1, 2)]
    how = ["id", "review", "Reviewer #"], REVIEW_COLUMNS, ColumnNames({}, True), None
    table, _, _ = with_fields("f", rows, *how)
    assert [row["slot"] for _, row in table] == ["1", "2"]
    same = [(n, row | {"Reviewer #": "7"}) for n, row in rows]
    table, headers, _ = with_fields("f", same, *how)
    assert "Reviewer #" in headers
    assert "slot" not in table[0][1]


@pytest.mark.parametrize(("cell", "rating"), [("6: weak accept", 6), ("4.5", 4.5), (3, 3)])
def test_a_rating_is_the_number_that_its_cell_begins_with(cell, rating):
    assert read({"id": "P1", "review": LONG, "Score": cell})[0]["rating"] == rating


def test_without_guessing_only_case_and_blanks_may_differ():
    row, line = read({"Paper ID": "P1", "REVIEW": LONG, "Score": "6"}, guess=False)
    assert (row["paper_id"], row["review"], line) == ("P1", LONG, None)
    assert "rating" not in row


@pytest.mark.parametrize("pair", ["review", "=x", "review=", "colour=blue"])
def test_a_pair_of_another_form_is_one_line(pair):
    with pytest.raises(SettingsError, match=r'write FIELD="HEADER"; fields: paper_id'):
        stated([pair])


def test_a_stated_header_that_no_file_has_is_one_line():
    reading = ColumnNames(stated(["review=Text", "rating=Zz"]))
    with_fields("f", [(1, {"text": "x"})], ["text"], REVIEW_COLUMNS, reading, None)
    with pytest.raises(SettingsError, match='--columns rating="Zz": no file here has a column of that name'):
        reading.check_used()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("P-01", "P-01"), ("p 01.PDF", "P-01"), ("papers/P-01.txt", "P-01"), ("7.0", "007"), (7, "007"), ("0", None),
        ("https://openreview.net/forum?id=aBc", "aBc"), ("abc", "aBc"), ("x", None), (None, None), (True, None),
        ("Same", None), ("same", "same"),
    ],
)  # fmt: skip
def test_an_id_is_matched_however_it_is_spelt(written, meant):
    assert PaperIds(["P-01", "007", "aBc", "SAME", "same"]).meant(written) == meant


def test_a_name_in_part_means_the_longest_id_that_it_begins_with():
    ids = PaperIds(["p1", "p1-2"])
    assert ids.meant("p1-2-review3", in_part=True) == "p1-2"
    assert ids.meant("p1_review", in_part=True) == "p1"
    assert ids.meant("p12", in_part=True) is None


@given(st.lists(st.from_regex(r"[A-Za-z0-9_-]{1,12}", fullmatch=True), min_size=1, unique_by=str.casefold))
def test_every_id_means_itself_with_and_without_an_ending(names):
    ids = PaperIds(names)
    for name in names:
        assert ids.meant(name) == name
        assert as_id(f"folder/{name}.pdf") == name.strip("-")

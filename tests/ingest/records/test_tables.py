"""Import: what is taken, what is known already, what is refused and why; no row is lost; columns under any name."""

from __future__ import annotations

import csv
import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.records import Judgments, Paper, Review
from gre_bench.ingest.records.cells import read_prose, shorten_cell
from gre_bench.ingest.records.columns import (
    ColumnOptions,
    PaperIdMatcher,
    UnclearColumnsError,
    make_valid_id,
    parse_stated_columns,
    rename_to_fields,
)
from gre_bench.ingest.records.tables import (
    REVIEW_COLUMNS,
    parse_ordered_labels,
    read_new_papers,
    read_new_points,
    read_new_reviews,
)
from tests.one_line import one_line

REVIEW = {"paper_id": "p1", "review_id": "r1", "candidate": "human", "review": "Good paper."}
REVIEW |= {"judgments": "The reviewer appreciates it.", "writer": "w"}


def jsonl(tmp_path, *rows):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def imported(tmp_path, *rows, known=(), judged=(), papers=("p1",), by="human", **options):
    return read_new_reviews(
        jsonl(tmp_path, *rows),
        {review.review_id: review for review in known},
        {(item.review_id, item.writer): item.text for item in judged},
        papers,
        by=by,
        **options,
    )


@pytest.mark.parametrize(
    ("row", "review_id"),
    [
        ({"paper_id": "p1", "slot": 3}, "p1:3"),
        ({"paper_id": "p1", "candidate": "gpt"}, "p1:gpt"),
        ({"paper_id": 17, "slot": 1}, "17:1"),
        ({"paper_id": "-_E9ibRUQ1iq", "slot": 1}, "-_E9ibRUQ1iq:1"),
    ],
)
def test_a_review_without_an_id_is_named_by_its_place(tmp_path, row, review_id):
    (review,) = imported(tmp_path, row | {"review": "x"}, papers=("p1", "17", "-_E9ibRUQ1iq")).reviews
    assert review.review_id == review_id


def test_a_review_with_judgments_is_taken_which_may_be_a_list_of_lines_and_their_writer_an_option(tmp_path):
    taken = imported(tmp_path, REVIEW | {"slot": 2, "rating": 6, "extra": 1})
    assert taken.reviews == [Review("r1", "p1", "human", "Good paper.", 2, 6.0)]
    assert taken.judgments == [Judgments("r1", "w", "The reviewer appreciates it.")]
    assert (taken.ignored_columns, taken.refusals) == (("extra",), [])
    row = {"paper_id": "p1", "candidate": "m", "judgments": ["The reviewer suggests a.", "The reviewer questions b."]}
    taken = imported(tmp_path, row, writer="given")
    assert taken.judgments == [Judgments("p1:m", "given", "The reviewer suggests a.\nThe reviewer questions b.")]
    assert taken.reviews[0].text is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"paper_id": None}, "paper_id is missing"),
        ({"paper_id": "  "}, "paper_id is missing"),
        ({"paper_id": "a\nb"}, "paper_id may hold"),
        ({"paper_id": "unknown"}, "paper unknown is not known; import it first"),
        ({"review": " ", "judgments": ""}, "empty review"),
        ({"review": None, "judgments": None}, "empty review"),
        ({"review": 5}, "review is not text"),
        ({"review_id": None}, "needs a review_id or a slot"),
        ({"writer": None}, "no writer"),
        ({"candidate": "other-paper"}, "belongs to a built-in control"),
        ({"candidate": "x" * 201}, "candidate may hold"),
        ({"slot": 1.5}, "not a whole number"),
        ({"rating": "good"}, "rating is not a number"),
        ({"judgments": [1, 2]}, "judgments is not text"),
        ({"slot": 2**40}, "slot is not a number of at most"),
        ({"rating": 10**400}, "rating is not a number of at most"),
        ({"writer": "fixed"}, "a writer cannot be called fixed"),
        ({"writer": "x\u001b[2J"}, "a writer cannot be called"),
        ({"review": "\ud800"}, "not valid Unicode"),
        ("{oops", "not JSON"),
        ("[" * 200_000, "not JSON"),
        ("[1]", "not a JSON object"),
    ],
)
def test_a_row_that_cannot_be_used_is_refused_with_its_reason(tmp_path, changes, reason):
    row = changes if isinstance(changes, str) else REVIEW | changes
    taken = imported(tmp_path, row, REVIEW | {"review_id": "good"})
    assert [review.review_id for review in taken.reviews] == ["good"]
    assert len(taken.refusals) == 1
    assert reason in taken.refusals[0].reason
    assert taken.refusals[0].number == 1


def test_of_one_id_the_same_changes_nothing_other_content_is_refused_and_judgments_of_a_second_writer_join(tmp_path):
    taken = imported(tmp_path, REVIEW, REVIEW)
    again = imported(tmp_path, REVIEW, known=taken.reviews, judged=taken.judgments)
    assert (len(taken.reviews), taken.unchanged) == (1, 1)
    assert (again.reviews, again.judgments, again.unchanged, again.refusals) == ([], [], 1, [])
    others = {"review": "Other text."}, {"judgments": "The reviewer questions it."}
    second = REVIEW | {"writer": "v", "judgments": "The reviewer suggests c."}
    taken = imported(tmp_path, REVIEW, *(REVIEW | other for other in others), second)
    assert [refusal.reason for refusal in taken.refusals] == [
        "review id r1 is already there with other content",
        "judgments of w for this review are already there, and differ",
    ]
    assert [review.text for review in taken.reviews] == ["Good paper."]
    assert [item.writer for item in taken.judgments] == ["w", "v"]
    model = {"paper_id": "p1", "candidate": "m", "review": "x"}
    slot = {"paper_id": "p1", "slot": 1, "review": "x"}
    rows = [row | {"review_id": name} for row, name in ((model, "a"), (model, "b"), (slot, "c"), (slot, "d"))]
    taken = imported(tmp_path, *rows)
    assert [refusal.reason for refusal in taken.refusals] == [
        "candidate m already has review a of paper p1",
        "slot 1 already has review c of paper p1",
    ]


def test_unknown_papers_are_made_when_asked_and_rows_are_chosen(tmp_path):
    numbers = (0, 1, 2, 3, "1", None)
    rows = [{"row": number, "paper_id": f"p{n}", "slot": 1, "review": "x"} for n, number in enumerate(numbers)]
    taken = imported(tmp_path, *rows, papers=(), make_papers=True, rows=range(1, 3))
    assert taken.papers == [Paper("p1", source_row=1), Paper("p2", source_row=2), Paper("p4", source_row=1)]
    assert [refusal.number for refusal in taken.refusals] == [6], "a row without a number"
    assert taken.row_counts.startswith("6 rows: 3 used · 2 not chosen · row 6: row is not a whole number")


def test_parquet_is_read_with_its_nulls_lists_and_index(tmp_path):
    path = tmp_path / "rows.parquet"
    lines = ["The reviewer suggests a.", "The reviewer suggests b."]
    nothing = REVIEW | {"review_id": "r2", "slot": None, "judgments": None, "writer": None}
    for table in (
        pd.DataFrame(rows := [REVIEW | {"slot": 1, "judgments": lines}, nothing]),
        pd.DataFrame(rows).set_index("paper_id"),
    ):
        table.to_parquet(path)
        taken = read_new_reviews(path, {}, {}, ["p1"])
        assert [(review.review_id, review.slot) for review in taken.reviews] == [("r1", 1), ("r2", None)]
        assert [judgments.text for judgments in taken.judgments] == ["\n".join(lines)]
    pd.DataFrame([REVIEW])[:0].to_parquet(path)
    with pytest.raises(SourceError, match="has columns and no row"):
        read_new_reviews(path, {}, {}, ["p1"])


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b'{"review": "x"}\n', "has no column paper_id; columns there: review; columns read: paper_id, review_id"),
        (b'{"review": "x", "forum": "p"}\n', 'has no column paper_id; perhaps --columns paper_id="forum"; columns there'),
        (b'{"paper_id": "p", "text": "x"}\n', 'has no column review; perhaps --columns review="text"; columns there'),
        (b'{"paper_id": "p1", "review": "x"}\n', "there is no column row"),
    ],
)  # fmt: skip
def test_a_file_without_its_columns_is_one_line(tmp_path, content, part):
    (tmp_path / "rows.jsonl").write_bytes(content)
    with one_line(part, kind=SourceError):
        read_new_reviews(tmp_path / "rows.jsonl", {}, {}, [], rows=range(3))


def test_papers_are_taken_known_or_refused(tmp_path):
    rows = [{"paper_id": "p1", "title": "T", "abstract": "A", "row": 3}, {"paper_id": "p2", "title": "New"}]
    path = jsonl(tmp_path, *rows, {"paper_id": "p2", "title": "Other"}, {"title": "none"})
    taken = read_new_papers(path, {"p1": Paper("p1", "T", "A", None, 3)})
    assert taken.papers == [Paper("p2", "New")]
    assert taken.unchanged == 1
    assert [(refusal.item, refusal.reason) for refusal in taken.refusals] == [
        ("paper p2", "this paper id is already there with other content"),
        ("paper ?", "paper_id is missing"),
    ]


text = st.one_of(st.none(), st.text(max_size=5))
cells = {
    "paper_id": st.sampled_from(["p1", "p2", "zz", "", None, 3]),
    "slot": st.one_of(st.integers(0, 3), st.text(max_size=2)),
    "review": text,
    "judgments": text,
    "candidate": st.sampled_from(["human", "m", None]),
    "writer": st.sampled_from(["w", None]),
}


@given(st.lists(st.fixed_dictionaries({}, optional=cells), max_size=12))
def test_every_row_is_taken_known_or_refused(tmp_path_factory, rows):
    path = jsonl(tmp_path_factory.mktemp("rows"), {"paper_id": "p1", "slot": 9, "review": "first"}, *rows)
    taken = read_new_reviews(path, {}, {}, ["p1", "p2"], by="human")
    assert taken.added + taken.unchanged + len(taken.refusals) + taken.empty == 1 + len(rows)


def test_what_is_missing_is_filled_in_and_what_differs_is_refused(tmp_path):
    first = imported(tmp_path, {"paper_id": "p1", "review_id": "r1", "candidate": "gpt", "review": "Good paper."})
    row = {"paper_id": "p1", "review_id": "r1", "judgments": "The reviewer appreciates it.", "writer": "w", "rating": 7}
    more = imported(tmp_path, row, known=first.reviews, by=None)
    assert more.reviews == [Review("r1", "p1", "gpt", "Good paper.", None, 7.0)]
    assert [item.review_id for item in more.judgments] == ["r1"]
    path = jsonl(tmp_path, {"paper_id": "p1", "abstract": "A"}, {"paper_id": "p1", "title": "T"})
    taken = read_new_papers(path, {"p1": Paper("p1", source_row=4)})
    assert taken.papers == [Paper("p1", "T", "A", None, 4)]
    assert (taken.added, taken.refusals) == (2, [])


def test_nobody_s_review_becomes_human_by_accident(tmp_path):
    bare = {"paper_id": "p1", "review": "Good paper."}
    for row in (bare, bare | {"review_id": "mine"}, bare | {"slot": 1}):
        with pytest.raises(SourceError, match="nothing says whose reviews these are"):
            imported(tmp_path, row, by=None)
        assert [one.candidate for one in imported(tmp_path, row, by="gpt").reviews] == ["gpt"]
    with pytest.raises(SourceError, match=r"no column candidate; perhaps --columns candidate=.model."):
        imported(tmp_path, bare | {"model": "gpt"}, by=None)
    taken = imported(tmp_path, bare | {"candidate": None}, bare | {"candidate": "gpt"}, by=None)
    assert [one.candidate for one in taken.reviews] == ["gpt"] and "names no candidate" in taken.refusals[0].reason


def test_a_folder_of_texts_is_one_review_a_paper(tmp_path):
    for name, text in {"p1.txt": "One.", "p2.md": "Two.", "p3.txt": " ", "p4.pdf": "%PDF", ".hidden": "x"}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "p5.txt").write_bytes(b"\xff")
    taken = read_new_reviews(tmp_path, {}, {}, ["p1", "p2", "p3"], by="m")
    assert [(one.review_id, one.text) for one in taken.reviews] == [("p1:m", "One."), ("p2:m", "Two.")]
    reasons = "; ".join(refusal.reason for refusal in taken.refusals)
    assert all(part in reasons for part in ("not a text", "not UTF-8", "empty review"))
    (tmp_path / "none").mkdir()
    with pytest.raises(SourceError, match="no text in folder /.*none: expected <paper id>.txt"):
        read_new_reviews(tmp_path / "none", {}, {}, [], by="m")


@pytest.mark.parametrize(
    ("table", "ignored"),
    [
        ("Paper_ID,Review\np1,own\n", ()),
        (" paper id ,REVIEW\np1,own\n", ()),
        ("paper_id,Review,review\np1,other,own\n", ("Review",)),
    ],
)
def test_columns_are_found_whatever_their_case_and_that_of_the_right_case_counts(tmp_path, table, ignored):
    (tmp_path / "rows.csv").write_text(table)
    taken = read_new_reviews(tmp_path / "rows.csv", {}, {}, ("p1",), by="mine")
    assert ([review.text for review in taken.reviews], taken.ignored_columns) == (["own"], ignored)
    (tmp_path / "rows.csv").write_text("paper_id,Model,review\np1,a,x\np1,b,y\n")
    with pytest.raises(SourceError, match="reviews of 2 candidates"):
        read_new_reviews(tmp_path / "rows.csv", {}, {}, ("p1",), by="mine", only=True)


LONG = "The method is sound, but the evaluation has too few seeds and no strong baseline to compare with. "


def found(cells, columns=(), guess=True, papers=("P1", "P2"), wanted=REVIEW_COLUMNS):
    rows = [(number, dict(cells) | {"n": number}) for number in (1, 2)]
    reading = ColumnOptions(parse_stated_columns(columns), guess)
    table, _, line = rename_to_fields("f.csv", rows, [*cells, "n"], wanted, reading, PaperIdMatcher(papers))
    row = table[0][1]
    return row | ({"review": read_prose(row, "review")} if "review" in row else {}), line


def test_columns_are_found_by_what_their_cells_hold_and_parts_of_a_review_are_joined_under_their_headers():
    row, line = found({"Submission": "p1.pdf", "Anything": LONG, "Track": "main"})
    assert (row["paper_id"], row["review"]) == ("p1.pdf", LONG)
    assert line == 'paper_id is "Submission"; review is "Anything"'
    row, _ = found({"id": "P1", "Strengths": LONG, "Main weaknesses": LONG * 2, "Abstract": LONG})
    assert row["review"] == f"Strengths:\n{LONG}\n\nMain weaknesses:\n{LONG * 2}"


def test_what_is_unclear_is_asked_for_and_can_be_stated_and_without_guessing_only_case_and_blanks_may_differ():
    row, line = found({"Paper ID": "P1", "REVIEW": LONG, "Score": "6"}, guess=False)
    assert (row["paper_id"], row["review"], line, "rating" in row) == ("P1", LONG, None, False)
    cells = {"id": "P1", "First": LONG, "Second": LONG}
    with pytest.raises(
        UnclearColumnsError, match=r'unclear which column holds the review.*--columns review="First"'
    ) as unsure:
        found(cells)
    assert [item.choices for item in unsure.value.unclear] == [["First", "Second"]]
    row, _ = found(cells, ["review=second", "review=First"])
    assert row["review"] == f"Second:\n{LONG}\n\nFirst:\n{LONG}"
    with pytest.raises(UnclearColumnsError, match="no column names the papers that are known"):
        found({"Reviewer #": "1", "What": LONG})


def test_a_number_of_a_reviewer_is_a_slot_only_if_it_tells_the_reviews_of_a_paper_apart():
    rows = [(n, {"id": "P1", "review": LONG, "Reviewer #": str(n)}) for n in (1, 2)]
    how = ["id", "review", "Reviewer #"], REVIEW_COLUMNS, ColumnOptions({}, True), None
    table, _, _ = rename_to_fields("f", rows, *how)
    assert [row["slot"] for _, row in table] == ["1", "2"]
    same = [(n, row | {"Reviewer #": "7"}) for n, row in rows]
    table, headers, _ = rename_to_fields("f", same, *how)
    assert "Reviewer #" in headers
    assert "slot" not in table[0][1]


def test_a_pair_of_another_form_or_a_stated_header_that_no_file_has_is_one_line():
    for pair in ("review", "=x", "review=", "colour=blue"):
        with pytest.raises(SettingsError, match=r'write FIELD="HEADER"; fields: paper_id'):
            parse_stated_columns([pair])
    reading = ColumnOptions(parse_stated_columns(["review=Text", "rating=Zz"]))
    rename_to_fields("f", [(1, {"text": "x"})], ["text"], REVIEW_COLUMNS, reading, None)
    with pytest.raises(SettingsError, match='--columns rating="Zz": no file here has a column of that name'):
        reading.require_all_headers_used()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("P-01", "P-01"), ("p 01.PDF", "P-01"), ("papers/P-01.txt", "P-01"), ("7.0", "007"), (7, "007"), ("0", None),
        ("https://openreview.net/forum?id=aBc", "aBc"), ("abc", "aBc"), ("x", None), (None, None), (True, None),
        ("Same", None), ("same", "same"),
    ],
)  # fmt: skip
def test_an_id_is_matched_however_it_is_spelt(written, meant):
    assert PaperIdMatcher(["P-01", "007", "aBc", "SAME", "same"]).match_known_id(written) == meant


@given(st.lists(st.from_regex(r"[A-Za-z0-9_-]{1,12}", fullmatch=True), min_size=1, unique_by=str.casefold))
def test_every_id_means_itself_with_and_without_an_ending_and_a_name_in_part_the_longest_that_begins_it(names):
    parts = PaperIdMatcher(["p1", "p1-2"])
    meant = [parts.match_known_id(name, in_part=True) for name in ("p1-2-review3", "p1_review", "p12")]
    assert meant == ["p1-2", "p1", None]
    ids = PaperIdMatcher(names)
    for name in names:
        assert ids.match_known_id(name) == name
        assert make_valid_id(f"folder/{name}.pdf") == name.strip("-")


def test_ids_that_differ_in_letters_outside_ascii_stay_apart():
    names = ["机器-1", "视觉-1", "ж1", "1", "Müller-1", "Moller-1"]
    assert len({make_valid_id(name) for name in names}) == len(names)
    ids = PaperIdMatcher([make_valid_id("机器-1")])
    assert ids.match_known_id("机器-1.pdf") == make_valid_id("机器-1") and ids.match_known_id("视觉-1") is None


def test_two_ids_that_become_one_are_refused(tmp_path):
    path = tmp_path / "papers.csv"
    path.write_text("paper_id,title,abstract\na b,One,An abstract.\na?b,Two,Another.\n")
    imported = read_new_papers(path, {}, reading=ColumnOptions({}, True))
    assert [paper.title for paper in imported.papers] == ["One"]
    assert "a?b and a b both become a-b" in imported.refusals[0].reason


POINTED = {"h1": Review("h1", "p1", "human", "text"), "m1": Review("m1", "p1", "model", "text")}
HEAD = ("paper_id", "review_id", "candidate", "point", "correct", "weight", "verdict")


def read_points(tmp_path, *rows, known=(), orders=(), head=HEAD):
    path = tmp_path / "points.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    points = {point.point_id: point for point in known}
    return read_new_points(path, points, POINTED, {"p1", "p2"}, parse_ordered_labels(orders))


def test_labels_are_columns_of_numbers_and_of_words_in_a_stated_order(tmp_path):
    points, imported = read_points(
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
    _, unordered = read_points(tmp_path, ("p1", "h1", "", "No baseline.", "", "", "valid"))
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
    points, imported = read_points(tmp_path, good, row, orders=("verdict=wrong,valid",))
    assert len(points) == 1 and imported.added == 1
    (refusal,) = imported.refusals
    assert refusal.number == 2 and reason in refusal.reason


def test_a_label_of_yes_and_no_has_no_other_number_and_its_first_cell_may_be_of_no_kind(tmp_path):
    cells = ("n/a", "yes", "no", "1", "7", "-1")
    points, imported = read_points(tmp_path, *(("p1", "h1", "", f"Point {cell}.", cell, "", "") for cell in cells))
    assert [point.labels["correct"] for point in points] == [1.0, 0.0, 1.0]
    assert [refusal.number for refusal in imported.refusals] == [1, 5, 6]
    assert "correct is 7, which is none of true, yes, false, no, 1, 0" in imported.refusals[1].reason


def test_a_point_again_is_known_gets_further_labels_and_never_another_label(tmp_path):
    known, _ = read_points(tmp_path, ("p1", "h1", "", "No baseline.", "1", "", ""))
    points, imported = read_points(
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
        read_points(tmp_path, ("p1", "No baseline."), head=("paper_id", "comment"))
    with pytest.raises(SettingsError, match="points.csv has no such column; its other columns: correct"):
        read_points(tmp_path, ("p1", "h1", "x", "1"), head=(*HEAD[:2], "point", "correct"), orders=("truth=no,yes",))
    for text in ("verdict", "verdict=wrong", "verdict=a,a", "=a,b", "verdict=a,,b"):
        with pytest.raises(SettingsError, match="write LABEL=WORST"):
            parse_ordered_labels([text])


@pytest.mark.parametrize(
    ("value", "form"),
    [("'-1,5", "'-1,5"), ("it's", "it's"), ("7-8", "7-8"), (6.5, "6.5"), ("", "?"), ("a\nb", r"a\nb")],
)
def test_a_message_shows_a_cell_as_it_is_written(value: object, form: str) -> None:
    assert shorten_cell(value) == form

"""Import: what is taken, what is known already, what is refused and why; no row is lost."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core.errors import SourceError
from gre_bench.core.records import Judgments, Paper, Review
from gre_bench.ingest.records.tables import papers_from, reviews_from
from tests.one_line import one_line

REVIEW = {"paper_id": "p1", "review_id": "r1", "candidate": "human", "review": "Good paper."}
REVIEW |= {"judgments": "The reviewer appreciates it.", "writer": "w"}


def jsonl(tmp_path, *rows):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def imported(tmp_path, *rows, known=(), judged=(), papers=("p1",), by="human", **options):
    return reviews_from(
        jsonl(tmp_path, *rows),
        {review.review_id: review for review in known},
        {(item.review_id, item.writer): item.text for item in judged},
        papers,
        by=by,
        **options,
    )


def test_a_review_with_judgments_is_taken(tmp_path):
    taken = imported(tmp_path, REVIEW | {"slot": 2, "rating": 6, "extra": 1})
    assert taken.reviews == [Review("r1", "p1", "human", "Good paper.", 2, 6.0)]
    assert taken.judgments == [Judgments("r1", "w", "The reviewer appreciates it.")]
    assert taken.ignored_columns == ("extra",)
    assert not taken.refusals


@pytest.mark.parametrize(
    ("row", "review_id"),
    [
        ({"paper_id": "p1", "slot": 3, "review": "x"}, "p1:3"),
        ({"paper_id": "p1", "candidate": "gpt", "review": "x"}, "p1:gpt"),
        ({"paper_id": 17, "slot": 1, "review": "x"}, "17:1"),
        ({"paper_id": "-_E9ibRUQ1iq", "slot": 1, "review": "x"}, "-_E9ibRUQ1iq:1"),
    ],
)
def test_a_review_without_an_id_is_named_by_its_place(tmp_path, row, review_id):
    (review,) = imported(tmp_path, row, papers=("p1", "17", "-_E9ibRUQ1iq")).reviews
    assert review.review_id == review_id


def test_judgments_may_be_a_list_of_lines_and_their_writer_an_option(tmp_path):
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


def test_the_same_row_again_changes_nothing(tmp_path):
    taken = imported(tmp_path, REVIEW, REVIEW)
    again = imported(tmp_path, REVIEW, known=taken.reviews, judged=taken.judgments)
    assert (len(taken.reviews), taken.unchanged) == (1, 1)
    assert (again.reviews, again.judgments, again.unchanged, again.refusals) == ([], [], 1, [])


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (REVIEW | {"review": "Other text."}, "review id r1 is already there with other content"),
        (REVIEW | {"judgments": "The reviewer questions it."}, "judgments of w for this review are already there, and differ"),
    ],
)  # fmt: skip
def test_a_duplicate_id_with_other_content_is_refused(tmp_path, second, reason):
    taken = imported(tmp_path, REVIEW, second)
    assert [refusal.reason for refusal in taken.refusals] == [reason]
    assert taken.reviews[0].text == "Good paper."


def test_a_candidate_has_one_review_a_paper_and_a_slot_one_review(tmp_path):
    model = {"paper_id": "p1", "candidate": "m", "review": "x"}
    slot = {"paper_id": "p1", "slot": 1, "review": "x"}
    rows = [row | {"review_id": name} for row, name in ((model, "a"), (model, "b"), (slot, "c"), (slot, "d"))]
    taken = imported(tmp_path, *rows)
    assert [refusal.reason for refusal in taken.refusals] == [
        "candidate m already has review a of paper p1",
        "slot 1 already has review c of paper p1",
    ]


def test_judgments_of_a_second_writer_join_the_review(tmp_path):
    taken = imported(tmp_path, REVIEW, REVIEW | {"writer": "v", "judgments": "The reviewer suggests c."})
    assert len(taken.reviews) == 1
    assert [item.writer for item in taken.judgments] == ["w", "v"]


def test_unknown_papers_are_made_when_asked_and_rows_are_chosen(tmp_path):
    rows = [{"row": n, "paper_id": f"p{n}", "slot": 1, "review": "x"} for n in range(4)]
    taken = imported(tmp_path, *rows, papers=(), make_papers=True, rows=range(1, 3))
    assert taken.papers == [Paper("p1", source_row=1), Paper("p2", source_row=2)]


def test_parquet_is_read_with_its_nulls_lists_and_index(tmp_path):
    path = tmp_path / "rows.parquet"
    lines = ["The reviewer suggests a.", "The reviewer suggests b."]
    nothing = REVIEW | {"review_id": "r2", "slot": None, "judgments": None, "writer": None}
    for table in (
        pd.DataFrame(rows := [REVIEW | {"slot": 1, "judgments": lines}, nothing]),
        pd.DataFrame(rows).set_index("paper_id"),
    ):
        table.to_parquet(path)
        taken = reviews_from(path, {}, {}, ["p1"])
        assert [(review.review_id, review.slot) for review in taken.reviews] == [("r1", 1), ("r2", None)]
        assert [judgments.text for judgments in taken.judgments] == ["\n".join(lines)]
    pd.DataFrame([REVIEW])[:0].to_parquet(path)
    with pytest.raises(SourceError, match="has columns and no row"):
        reviews_from(path, {}, {}, ["p1"])


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
        reviews_from(tmp_path / "rows.jsonl", {}, {}, [], rows=range(3))


def test_papers_are_taken_known_or_refused(tmp_path):
    path = jsonl(
        tmp_path,
        {"paper_id": "p1", "title": "T", "abstract": "A", "row": 3},
        {"paper_id": "p2", "title": "New"},
        {"paper_id": "p2", "title": "Other"},
        {"title": "none"},
    )
    known = Paper("p1", "T", "A", None, 3)
    taken = papers_from(path, {"p1": known})
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
    taken = reviews_from(path, {}, {}, ["p1", "p2"], by="human")
    assert taken.added + taken.unchanged + len(taken.refusals) == 1 + len(rows)


def test_what_is_missing_is_filled_in_and_what_differs_is_refused(tmp_path):
    first = imported(tmp_path, {"paper_id": "p1", "review_id": "r1", "candidate": "gpt", "review": "Good paper."})
    row = {"paper_id": "p1", "review_id": "r1", "judgments": "The reviewer appreciates it.", "writer": "w", "rating": 7}
    more = imported(tmp_path, row, known=first.reviews, by=None)
    assert more.reviews == [Review("r1", "p1", "gpt", "Good paper.", None, 7.0)]
    assert [item.review_id for item in more.judgments] == ["r1"]
    path = jsonl(tmp_path, {"paper_id": "p1", "abstract": "A"}, {"paper_id": "p1", "title": "T"})
    taken = papers_from(path, {"p1": Paper("p1", source_row=4)})
    assert taken.papers == [Paper("p1", "T", "A", None, 4)]
    assert (taken.added, taken.refusals) == (2, [])


def test_a_row_without_a_row_number_is_refused_when_rows_are_chosen(tmp_path):
    rows = [{"row": value, "paper_id": f"p{n}", "slot": 1, "review": "x"} for n, value in enumerate([1, "1", None, 9])]
    taken = imported(tmp_path, *rows, papers=(), make_papers=True, rows=range(0, 5))
    assert [paper.paper_id for paper in taken.papers] == ["p0"]
    assert [refusal.number for refusal in taken.refusals] == [2, 3]


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
    taken = reviews_from(tmp_path, {}, {}, ["p1", "p2", "p3"], by="m")
    assert [(one.review_id, one.text) for one in taken.reviews] == [("p1:m", "One."), ("p2:m", "Two.")]
    reasons = "; ".join(refusal.reason for refusal in taken.refusals)
    assert all(part in reasons for part in ("not a text", "not UTF-8", "empty review"))
    (tmp_path / "none").mkdir()
    with pytest.raises(SourceError, match="no text in folder /.*none: expected <paper id>.txt"):
        reviews_from(tmp_path / "none", {}, {}, [], by="m")


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
    taken = reviews_from(tmp_path / "rows.csv", {}, {}, ("p1",), by="mine")
    assert ([review.text for review in taken.reviews], taken.ignored_columns) == (["own"], ignored)


def test_candidates_in_a_column_of_another_case_are_never_taken_as_one(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("paper_id,Model,review\np1,a,x\np1,b,y\n")
    with pytest.raises(SourceError, match="reviews of 2 candidates"):
        reviews_from(path, {}, {}, ("p1",), by="mine", only=True)

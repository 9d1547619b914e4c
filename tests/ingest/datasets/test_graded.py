"""Graded reviews: columns, grades, sections, ids; every row is added, unchanged or refused; the real file."""

from __future__ import annotations

import csv
import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.catalogs.domains import load_domain
from gre_bench.core.errors import SourceError
from gre_bench.core.records import Paper, Review
from gre_bench.ingest.datasets.graded import read_grade, read_graded_reviews
from gre_bench.ingest.records.cells import RefusedError
from tests.conftest import real
from tests.one_line import one_line

ROTTEN = "review-quality", "rottenreviews.csv.gz"
ROW = {"item_id": "p1", "review_id": "r1", "review": "A clear plan.", "grade": "B", "title": "T", "abstract": "A"}


def written(tmp_path, *rows, kind="jsonl"):
    path = tmp_path / f"graded.{kind}"
    if kind == "csv":
        with path.open("w", newline="") as file:
            table = csv.DictWriter(file, sorted({key for row in rows for key in row}))
            table.writeheader()
            table.writerows(rows)
    else:
        path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def graded(tmp_path, *rows, kind="jsonl", domain="proposals", papers=(), known=(), **options):
    return read_graded_reviews(
        written(tmp_path, *rows, kind=kind),
        {paper.paper_id: paper for paper in papers},
        {review.review_id: review for review in known},
        load_domain(domain),
        **options,
    )


@pytest.mark.parametrize(
    ("value", "grade"),
    [("A", 3.0), ("B", 2.0), ("C", 1.0), (" A ", 3.0), (85, 85.0), ("85", 85.0), ("72.5", 72.5), (0, 0.0), (-1, -1.0),
     (None, None), ("", None), ("  ", None),
     *((other, RefusedError) for other in ("D", "a", "A+", "NaN", "inf", "1e400", 10**400)),
     *((other, RefusedError) for other in (float("nan"), float("inf"), True, [3], {}))],
)  # fmt: skip
def test_a_grade_is_a_number_or_the_place_of_its_name_and_any_other_is_refused_and_named(value, grade):
    if grade is RefusedError:
        with pytest.raises(RefusedError, match=r"^grade .* is not a number, nor one of C, B, A$"):
            read_grade({"grade": value}, "grade", ("C", "B", "A"))
    else:
        assert read_grade({"grade": value}, "grade", ("C", "B", "A")) == grade


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_a_row_is_an_item_and_its_graded_review(tmp_path, kind):
    found = graded(tmp_path, ROW | {"rating": 4, "text": "Body.", "extra": 1}, kind=kind)
    assert found.layout == "graded"
    assert found.imported.papers == [Paper("p1", "T", "A", "Body.")]
    assert found.imported.reviews == [Review("r1", "p1", "human", "A clear plan.", None, 4.0, 2.0)]
    assert found.imported.ignored_columns == ("extra",)


def test_sections_are_joined_under_the_headings_of_the_domain(tmp_path):
    parts = {"strengths": "Clear.\n", "weaknesses": None, "suggestions": "Start small.", "review": None}
    assert graded(tmp_path, ROW | parts).imported.reviews[0].text == (
        "Strengths of the project:\nClear.\n\nIdeas for improvement or specific directions:\nStart small."
    )
    assert graded(tmp_path, ROW | parts | {"grade": 1}, domain="review-quality").imported.reviews[0].text == (
        "Strengths:\nClear.\n\nSuggestions:\nStart small."
    )


def test_a_review_is_named_by_its_id_its_reviewer_or_its_number(tmp_path):
    for row, review_id in (
        ({"review_id": "own"}, "own"),
        ({"review_id": None, "reviewer": "Mathieu d’Aquin"}, "p1:Mathieu-dAquin"),
        ({"review_id": None, "reviewer": "Toni-Šušak"}, "p1:Toni-Susak"),
        ({"review_id": 7}, "7"),
    ):
        assert graded(tmp_path, ROW | row).imported.reviews[0].review_id == review_id
    rows = [{"item_id": name, "review": f"{n}", "grade": n} for n, name in enumerate(("a", "a", "b", "a"))]
    found = graded(tmp_path, *rows).imported
    assert [review.review_id for review in found.reviews] == ["a:1", "a:2", "b:1", "a:3"]
    again = graded(tmp_path, *rows, papers=found.papers, known=found.reviews).imported
    assert (again.reviews, again.unchanged, again.refusals) == ([], 4, [])


def test_title_and_abstract_need_to_stand_in_one_row_of_an_item(tmp_path):
    bare = {"item_id": "p1", "review_id": "r2", "review": "Second.", "grade": "A"}
    other = ROW | {"item_id": "p2", "review_id": "r3"}
    for rows in ((ROW, bare), (bare, ROW)):
        found = graded(tmp_path, *rows, other)
        assert found.imported.papers == [Paper("p1", "T", "A"), Paper("p2", "T", "A")]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"item_id": None}, "item_id is missing"),
        ({"item_id": "a b"}, "item_id may hold"),
        ({"review": " "}, "empty review"),
        ({"review": 7}, "review is not text"),
        ({"review_id": "a b"}, "review_id may hold"),
        ({"grade": "E"}, "grade E is not a number, nor one of C, B, A"),
        ({"rating": "good"}, "rating good is not a number"),
        ({"strengths": "Clear."}, "it has a review and strengths, weaknesses, suggestions"),
        ({"abstract": "Other"}, "this paper id is already there with other content"),
        ({"review_id": "r1"}, "review id r1 is already there with other content"),
    ],
)
def test_a_row_that_cannot_be_used_is_refused_with_its_reason(tmp_path, changes, reason):
    found = graded(tmp_path, ROW, ROW | {"review_id": "r2", "review": "More."} | changes).imported
    assert [review.review_id for review in found.reviews] == ["r1"]
    assert [(refusal.number, reason in refusal.reason) for refusal in found.refusals] == [(2, True)]


CELLS = {
    "item_id": ["p1", "p2", "", 3, None],
    "review_id": ["a", "b", None],
    "review": ["x", "y", "", None, 1],
    "grade": [1, 2.5, None, "?", "3"],
    "title": ["T", "U", None],
}
OPTIONAL = {name: st.sampled_from(values) for name, values in CELLS.items()}


@given(st.lists(st.fixed_dictionaries({}, optional=OPTIONAL), max_size=10))
def test_every_row_is_added_unchanged_or_refused(tmp_path_factory, rows):
    rows = [ROW | {"grade": 1}, *rows]
    found = graded(tmp_path_factory.mktemp("graded"), *rows).imported
    assert found.added + found.unchanged + len(found.refusals) + found.empty == len(rows)


def test_another_column_of_grades_needs_an_edition_of_its_own_and_names_can_be_given_the_worst_first(tmp_path):
    row = ROW | {"grade": 1, "clarity": 5}
    first = graded(tmp_path, row).imported
    second = graded(tmp_path, row, papers=first.papers, known=first.reviews, grade_column="clarity").imported
    assert [refusal.reason for refusal in second.refusals] == [
        "review r1 has grade 1 already; other grades need a separate edition"
    ]
    assert graded(tmp_path, row, grade_column="clarity").imported.reviews[0].grade == 5.0
    rows = [ROW | {"review_id": name, "grade": name} for name in ("low", "high")]
    found = graded(tmp_path, *rows, grades=("low", "middle", "high")).imported
    assert [review.grade for review in found.reviews] == [1.0, 3.0]
    assert "name such grades" in graded(tmp_path, *rows, domain="review-quality").imported.refusals[0].reason


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("g.csv", b"item_id,grade\np,A\n", "there is no item_id with a review"),
        ("g.csv", b"item_id,review\np,x\n", "there is no column grade; name the grades' with --grade-column"),
        ("g.jsonl", b'{"item_id": "p", "review": "x", "grade": "A"}\n{"item_id": "p", "review": "y", "grade": 3}\n',
         "some grades are names and some are numbers"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_one_line(tmp_path, name, content, part):
    (tmp_path / name).write_bytes(content)
    with one_line(part, kind=SourceError):
        read_graded_reviews(tmp_path / name, {}, {}, load_domain("proposals"))


@pytest.mark.shared
def test_the_real_file_gives_all_reviews_with_their_human_grades_in_any_column():
    found = read_graded_reviews(real(*ROTTEN), {}, {}, load_domain("review-quality"))
    assert (found.layout, len(found.imported.papers), len(found.imported.reviews)) == ("rottenreviews", 97, 300)
    assert found.imported.refusals == []
    sizes = Counter(Counter(review.paper_id for review in found.imported.reviews).values())
    assert sizes == {1: 10, 2: 26, 3: 19, 4: 32, 5: 7, 6: 3}
    grades = [review.grade for review in found.imported.reviews]
    assert (min(grades), max(grades), sum(grades) / 300) == (12.0, 100.0, pytest.approx(69.87))
    assert all(paper.title and paper.abstract for paper in found.imported.papers)
    names = ("unfactual", "partially factual", "factual")
    found = read_graded_reviews(
        real(*ROTTEN), {}, {}, load_domain("review-quality"), "Human_Factuality", names
    ).imported
    assert Counter(review.grade for review in found.reviews) == {3.0: 189, 2.0: 78, 1.0: 33}

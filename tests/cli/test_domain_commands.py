"""Other domains by the command line: what is imported, what is told, and every mistake in one line."""

from __future__ import annotations

import json
from functools import partial

import pytest

from gre_bench.store import Store
from gre_bench.store.queries import REVIEWS, SYNOPSES
from tests.conftest import ROOT, real

YELP = (str(ROOT / "data" / "sample_yelp" / "business.json"), str(ROOT / "data" / "sample_yelp" / "reviews.json"))
LOWER = ("--restaurants", "12", "--reviews-each", "3", "--min-reviews", "3", "--min-characters", "300")
PROPOSALS = str(ROOT / "data" / "sample_proposals" / "proposals.jsonl")
DONE, BAD_INPUT = 0, 2


@pytest.fixture
def call(call):
    """Runs ``gre-bench import``."""
    return partial(call, "import")


def test_the_sample_restaurants_come_in_with_their_categories(call, tmp_path):
    code, out, err = call("yelp", *YELP, "--edition", "YELP-2024", "--new", *LOWER)
    assert (code, err) == (DONE, "")
    assert "12 papers, 36 reviews, 12 synopses added, 0 known already, 0 refused" in out
    assert "left out: 3 reviews of fewer than 300 characters" in out
    store = Store(tmp_path / "state", "YELP-2024")
    with store.lock("look"):
        synopses = store.rows(SYNOPSES, kind="categories", writer="given")
        assert len(synopses) == 12 and all("Restaurants" in row["text"] for row in synopses)
    code, out, _ = call("yelp", *YELP, "--edition", "YELP-2024", "--new", *LOWER)
    assert code == DONE and "nothing added, 36 known already, 0 refused" in out


def test_the_terms_of_the_paper_are_the_defaults_and_too_few_reviews_are_one_line(call):
    code, out, err = call("yelp", *YELP, "--edition", "YELP-2024", "--new")
    assert (code, out, err.count("\n")) == (BAD_INPUT, "", 1)
    assert "none of the 12 restaurants of business.json has 50 reviews of 1000 characters in reviews.json" in err


def test_the_sample_proposals_come_in_with_their_grades(call, tmp_path):
    code, out, err = call("graded", PROPOSALS, "--edition", "PROPOSALS-2024", "--new", "--json")
    report = json.loads(out)
    assert (code, err, report["papers"], report["reviews"], report["refused"]) == (DONE, "", 12, 54, 0)
    assert report["notes"] == ["read as graded, domain proposals, grades from column grade"]
    store = Store(tmp_path / "state", "PROPOSALS-2024")
    with store.lock("look"):
        assert {row["grade"] for row in store.rows(REVIEWS)} == {1.0, 2.0, 3.0}


def test_what_has_no_reference_or_no_grade_and_a_column_that_is_not_read_are_told(call, tmp_path):
    rows = [
        {"item_id": "a", "review": "One.", "grade": 1, "group": "g"},
        {"item_id": "b", "review": "Two.", "grade": 2},
        {"item_id": "b", "review": "Three."},
        {"item_id": "b", "review": "Four.", "grade": "?"},
    ]
    file = tmp_path / "graded.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, err = call("graded", str(file), "--edition", "G-2024", "--new")
    assert code == BAD_INPUT
    assert "1 items have one review: no reference" in out
    assert "1 reviews have no grade: they serve as references only" in out
    assert "columns not read: group" in out
    assert "row 4, review b: grade ? is not a number" in err


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("yelp", "none.json", "none.json", "--edition", "Y-2024", "--new"), "no file none.json"),
        (
            ("yelp", *YELP, "--edition", "Y-2024", "--new", "--min-reviews", "2"),
            "3 reviews each of 300 restaurants with at least 2",
        ),
        (("graded", "none.csv", "--edition", "G-2024", "--new"), "no file none.csv"),
        (
            ("graded", PROPOSALS, "--edition", "G-2024", "--new", "--domain", "films"),
            "no domain 'films'; the domains are: peer-",
        ),
        (("graded", PROPOSALS, "--edition", "G-2024", "--new", "--grade-column", "mark"), "there is no column mark"),
        (("graded", PROPOSALS, "--edition", "G2024"), "edition 'G2024' is not written as VENUE-YEAR"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(call, arguments, part):
    code, out, err = call(*arguments)
    assert (code, out, err.count("\n")) == (BAD_INPUT, "", 1)
    assert part in err


@pytest.mark.shared
def test_the_real_graded_reviews_come_in_by_their_own_columns(call):
    rotten = real("review-quality", "rottenreviews.csv.gz")
    code, out, _ = call("graded", str(rotten), "--edition", "RQ-2024", "--new")
    assert code == DONE
    assert "97 papers, 300 reviews added, 0 known already, 0 refused" in out
    assert "read as rottenreviews, domain review-quality, grades from column Human_Overall_Quality" in out
    assert "10 items have one review: no reference" in out
    assert "and 63 more" in out

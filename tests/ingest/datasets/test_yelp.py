"""Yelp: who is drawn, from which lines, and where every other line went."""

from __future__ import annotations

import gzip
import json
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.records import Paper, Review, Synopsis
from gre_bench.ingest.datasets.yelp import SampleCriteria, sample_restaurants

SMALL = SampleCriteria(restaurants=2, reviews_each=2, min_reviews=3, min_characters=20)


def business(name, categories="Thai, Restaurants", **more):
    return {"business_id": name, "name": name.title(), "city": "X", "stars": 4.0, "categories": categories} | more


def review(at, number, text="Long enough to be counted as long.", **more):
    return {"review_id": f"{at}-{number}", "business_id": at, "user_id": "u", "stars": 4.0, "text": text} | more


def files(tmp_path, businesses, reviews):
    paths = tmp_path / "business.json", tmp_path / "review.json"
    for path, rows in zip(paths, (businesses, reviews), strict=True):
        path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return paths


def drawn(tmp_path, businesses, reviews, terms=SMALL, papers=(), known=()):
    return sample_restaurants(
        *files(tmp_path, businesses, reviews),
        {paper.paper_id: paper for paper in papers},
        {one.review_id: one for one in known},
        terms,
    )


def accounted(taken):
    """Lines of the reviews' file that ended somewhere."""
    left = sum(count for what, count in taken.left_out.items() if "reviews of" in what and what[:4] != "rest")
    return taken.added + taken.unchanged + left + sum(refusal.item.startswith("review") for refusal in taken.refusals)


def test_a_restaurant_is_a_paper_with_its_categories_as_synopsis(tmp_path):
    taken = drawn(tmp_path, [business("a")], [review("a", n, stars=n) for n in range(3)])
    assert taken.papers == [Paper("a", "A")]
    assert taken.synopses == [Synopsis("a", "categories", "Thai, Restaurants")]
    first, _ = taken.reviews
    stars = float(first.review_id[-1])
    assert first == Review(first.review_id, "a", "human", "Long enough to be counted as long.", None, stars)
    assert taken.left_out["restaurants asked for that are not there"] == 1


def test_fifty_long_reviews_are_fifty_of_a_thousand_characters_each(tmp_path):
    businesses = [business("enough"), business("short"), business("few")]
    rows = [review("enough", n, "é" * 1000) for n in range(50)]
    rows += [review("short", n, "é" * 999) for n in range(60)]  # 1,998 bytes
    rows += [review("few", n, "x" * 1000) for n in range(49)]
    taken = drawn(tmp_path, businesses, rows, SampleCriteria())
    assert [paper.paper_id for paper in taken.papers] == ["enough"]
    assert len(taken.reviews) == 3
    assert taken.left_out["reviews of fewer than 1000 characters"] == 60
    assert taken.left_out["reviews of restaurants with fewer than 50 reviews of 1000 characters"] == 49
    assert taken.left_out["further reviews of drawn restaurants"] == 47


def test_a_business_that_is_no_restaurant_is_left_out(tmp_path):
    others = (None, "", "Hair Salons", "Restaurants & Bars", "restaurants")
    businesses = [business(f"a{n}", other) for n, other in enumerate(others)]
    rows = [review(name, n) for name in ("a0", "a1", "a2", "a3", "a4", "b") for n in range(3)]
    taken = drawn(tmp_path, [*businesses, business("b", "Bars, Restaurants")], rows)
    assert [paper.paper_id for paper in taken.papers] == ["b"]
    assert taken.left_out["businesses that are not in the category Restaurants"] == 5
    assert taken.left_out["reviews of businesses that are not in the category Restaurants"] == 15


@given(st.permutations(range(16)), st.integers(0, 2))
@settings(max_examples=25)
def test_the_draw_follows_from_the_seed_whatever_the_order_and_every_line_ends_somewhere(tmp_path_factory, order, seed):
    folder = tmp_path_factory.mktemp("yelp")
    rows = [review(name, n) for name in "abcd" for n in range(4)]
    terms = SampleCriteria(2, 2, 3, 20, seed=seed)
    straight = drawn(folder, [business(name) for name in "abcd"], rows, terms)
    mixed = drawn(folder, [business(name) for name in "dbca"], [rows[place] for place in order], terms)
    assert {one.review_id for one in mixed.reviews} == {one.review_id for one in straight.reviews}
    assert (len(straight.papers), len(straight.reviews), accounted(mixed)) == (2, 4, 16)


def test_another_seed_draws_others_and_gzipped_files_give_the_same(tmp_path):
    businesses = [business(f"b{n}") for n in range(12)]
    rows = [review(f"b{n}", k) for n in range(12) for k in range(3)]
    samples = (drawn(tmp_path, businesses, rows, SampleCriteria(2, 2, 3, 20, seed=n)).papers for n in range(8))
    assert len({frozenset(paper.paper_id for paper in papers) for papers in samples}) > 4
    plain = drawn(tmp_path, businesses, rows)
    packed = []
    for path in files(tmp_path, businesses, rows):
        packed.append(path.with_suffix(".json.gz"))
        packed[-1].write_bytes(gzip.compress(path.read_bytes()))
    assert sample_restaurants(*packed, {}, {}, SMALL) == plain
    packed[1].write_bytes(packed[1].read_bytes()[:-12])
    with pytest.raises(SourceError, match=r"review.json.gz cannot be read after line 0: "):
        sample_restaurants(*packed, {}, {}, SMALL)


def test_the_same_again_changes_nothing_and_another_name_or_categories_are_refused_with_their_reviews(tmp_path):
    rows = [review("a", n) for n in range(3)]
    first = drawn(tmp_path, [business("a")], rows)
    paths = files(tmp_path, [business("a")], rows)
    known = {"a": first.papers[0]}, {review.review_id: review for review in first.reviews}
    again = sample_restaurants(*paths, *known, SMALL, {"a": "Thai, Restaurants"})
    assert (again.papers, again.reviews, again.synopses, again.unchanged, again.refusals) == ([], [], [], 2, [])
    other = sample_restaurants(*paths, *known, SMALL, {"a": "Restaurants"})
    assert {refusal.reason for refusal in other.refusals} == {"this restaurant is already there with other categories"}
    taken = drawn(tmp_path, [business("a")], [review("a", n) for n in range(3)], papers=[Paper("a", "Other")])
    assert (taken.papers, taken.reviews, taken.synopses) == ([], [], [])
    assert {refusal.reason for refusal in taken.refusals} == {"this paper id is already there with other content"}
    assert len(taken.refusals) == 2


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"review_id": "a-9", oops                  ', "not JSON"),
        ('["a list that is long enough to be looked at"]', "not a JSON object"),
        (review("a", 9, review_id=None), "review_id is missing"),
        (review("a", 9, business_id="a b"), "business_id may hold"),
        (review("a", 9, text=None), "text is missing"),
        (review("a", 9, text=7), "text is not text"),
        (review("a", 9, stars="four"), "stars is not a number"),
        (review("a", 0), "review a-0 was there before"),
    ],
)
def test_a_review_that_cannot_be_used_is_refused_with_its_place(tmp_path, line, reason):
    taken = drawn(tmp_path, [business("a")], [*(review("a", n) for n in range(3)), line])
    assert [(refusal.number, refusal.item) for refusal in taken.refusals] == [(4, "review on line 4")]
    assert reason in taken.refusals[0].reason
    assert len(taken.reviews) == 2 and accounted(taken) == 4


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("{oops", "not JSON"),
        (business("a", business_id=""), "business_id is missing"),
        (business("a"), "business a was there before"),
        (business("z", categories=["Thai"]), "categories is not text"),
    ],
)
def test_a_business_that_cannot_be_used_is_refused_with_its_place(tmp_path, row, reason):
    taken = drawn(tmp_path, [business("a"), row], [review("a", n) for n in range(3)])
    assert (taken.refusals[0].number, taken.refusals[0].item) == (2, "business on line 2")
    assert reason in taken.refusals[0].reason


def test_a_file_of_another_kind_and_terms_that_cannot_hold_end_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr("gre_bench.ingest.datasets.yelp.MOST_REFUSED", 5)
    with pytest.raises(SourceError, match=r"review.json: more than 5 lines cannot be used \(line 6: not JSON"):
        drawn(tmp_path, [business("a")], ["something else that is long enough"] * 9)

    for terms in ((0, 3, 50, 1000), (300, 0, 50, 1000), (300, 3, 2, 1000), (300, 3, 50, 0)):
        with pytest.raises(SettingsError, match="cannot be drawn"):
            SampleCriteria(*terms)


def test_memory_does_not_grow_with_the_texts(tmp_path):
    businesses = [business(f"b{n}") for n in range(20)]
    path = files(tmp_path, businesses, [])[1]
    with path.open("w") as file:
        for n in range(9000):
            file.write(json.dumps(review(f"b{n % 20}", n, "x" * 2000)) + "\n")
    tracemalloc.start()
    taken = sample_restaurants(tmp_path / "business.json", path, {}, {}, SampleCriteria(5, 3, 50, 1000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(taken.reviews) == 15
    assert peak < path.stat().st_size / 8

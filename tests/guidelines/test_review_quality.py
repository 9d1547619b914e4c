"""The five criteria of a good review: points by rule, points by an LM, totals that may not be computable, groups."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core.errors import ReplyError
from gre_bench.core.records import Problem
from gre_bench.guidelines.quality_points import (
    CRITERIA,
    DAY_MS,
    GROUPS,
    NAMES,
    FieldedReview,
    ReviewQuality,
    choose_quality_group,
    compute_date_points,
    compute_mean_review_date,
    compute_median_length,
    compute_review_qualities,
    count_field_characters,
    grade_length,
    sample_review_ids_by_group,
)

FIELDS = {
    "summary": "s" * 10, "strengths": "t" * 20, "weaknesses": "w" * 30, "questions": "q" * 40, "rating": "6: weak",
    "soundness": "3 good", "presentation": "2 fair", "contribution": "3 good",
}  # fmt: skip
REFERENCES = """Two items apply.

```yaml
"suggests_references": true,
"reference_count": 2,
"points_out_missing_citations": true,
"quality_score": 2,
"reasoning": "names two papers: A and B",
"reference_quality": "high"
```"""


def test_dates_and_lengths_have_the_printed_points():
    """The cut-offs of appendix A.2, each met exactly and just passed."""
    dates = {0: 5, 1.5: 5, 2: 5, 2.0001: 4, 5: 4, 5.0001: 3, 10: 3, 10.0001: 2, 20: 2, 20.0001: 1, 400: 1}
    for sign in (1, -1):
        assert {days: compute_date_points(round(sign * days * DAY_MS), Fraction(0)) for days in dates} == dates
    sizes = {0: 1, 50: 1, 51: 2, 80: 2, 81: 3, 100: 3, 120: 3, 121: 4, 150: 4, 151: 5, 10_000: 5}
    assert {size: grade_length(size, Fraction(100)) for size in sizes} == sizes


def test_a_cut_off_is_met_exactly_where_floats_would_miss_it():
    assert 1.2 * 35 < 42.0000001 and grade_length(42, Fraction(35)) == 3
    assert grade_length(3, Fraction(5, 2)) == 3
    assert 0.8 * 2.5 == 2.0 and grade_length(2, Fraction(5, 2)) == 2


def review(name="r", written_ms=0, **fields):
    return FieldedReview(name, f"paper of {name}", {**FIELDS, **fields}, written_ms)


def without(name, *fields):
    return FieldedReview(name, "p", {key: value for key, value in FIELDS.items() if key not in fields}, 0)


def test_the_length_counts_four_fields_and_the_median_and_the_mean_date_are_over_all_reviews_that_have_one():
    assert count_field_characters(review()) == 100
    assert count_field_characters(review(questions="")) == 60
    assert count_field_characters(without("r", "questions")) is None
    assert compute_median_length([review(), review(questions=""), without("x", "summary")]) == 80
    assert compute_median_length([without("x", "summary")]) is None
    assert compute_mean_review_date([review(written_ms=0), review(written_ms=3), FieldedReview("x", "p")]) == Fraction(
        3, 2
    )
    assert compute_mean_review_date([FieldedReview("x", "p")]) is None


def verdicts(*reviews, points=(3, 2, 2)):
    return {(item.review_id, name): score for item in reviews for name, score in zip(CRITERIA, points, strict=True)}


def test_the_total_is_the_sum_of_all_five():
    long, middle, short = review("long", summary="s" * 1000), review("middle"), review("short", questions="")
    found = compute_review_qualities([long, middle, short], verdicts(long, middle, short))
    assert [quality.total for quality in found] == [17, 15, 14]
    assert [quality.group for quality in found] == ["good", None, None]
    assert list(found[0].points) == list(NAMES)
    late = review("late", 10**12, summary="", strengths="", weaknesses="", questions="")
    assert compute_review_qualities([middle, late], verdicts(middle, late, points=(0, 0, 0)))[1].total == 2


@pytest.mark.parametrize(("lacking", "criteria"), [
    (("soundness",), {"subscore_consistency"}), (("rating",), {"content_consistency", "subscore_consistency"}),
    (("questions",), {"review_length", "reference_quality"}),
    (("strengths",), {"review_length", "reference_quality", "content_consistency"}),
])  # fmt: skip
def test_a_missing_field_makes_the_total_not_computable_and_never_smaller(lacking, criteria):
    one = without("r", *lacking)
    quality = compute_review_qualities([one, review("other")], verdicts(one))[0]
    assert (quality.total, quality.group) == (None, None)
    assert set(quality.lacking) == criteria
    assert all(problem.code == "no_field" and lacking[0] in problem.message for problem in quality.lacking.values())


def test_a_missing_date_or_verdict_makes_the_total_not_computable():
    one = FieldedReview("r", "p", FIELDS, None)
    assert compute_review_qualities([one, review("other")], verdicts(one))[0].lacking.keys() == {"submission_date"}
    quality = compute_review_qualities([review()], {})[0]
    assert (quality.total, {problem.code for problem in quality.lacking.values()}) == (None, {"not_asked"})


def test_groups_are_17_then_11_then_6_or_less():
    assert {total: choose_quality_group(total) for total in range(2, 18)} == {
        **dict.fromkeys(range(2, 7), "bad"), **dict.fromkeys(range(7, 11)), 11: "middle",
        **dict.fromkeys(range(12, 17)), 17: "good",
    }  # fmt: skip
    for total in (1, 18):
        with pytest.raises(ValueError, match="not between"):
            choose_quality_group(total)


def constructed(total, name):
    """A review with the *total*, put together from the least of each criterion upwards."""
    points, left = dict.fromkeys(NAMES, 0) | {"submission_date": 1, "review_length": 1}, total - 2
    for criterion, most in zip(NAMES, (5, 5, 3, 2, 2), strict=True):
        more = min(left, most - points[criterion])
        points[criterion] += more
        left -= more
    return ReviewQuality(name, "p", points)


def test_thirty_of_each_group_are_drawn_with_a_seed_and_all_of_a_smaller_one():
    qualities = [constructed(2 + place % 16, f"r{place:04}") for place in range(1600)]
    assert {quality.total for quality in qualities} == set(range(2, 18))
    drawn = sample_review_ids_by_group(qualities, seed=1)
    assert {group: len(ids) for group, ids in drawn.items()} == dict.fromkeys(GROUPS, 30)
    totals = {quality.review_id: quality.total for quality in qualities}
    assert {totals[name] for name in drawn["good"]} == {17}
    assert {totals[name] for name in drawn["middle"]} == {11}
    assert {totals[name] for name in drawn["bad"]} == {2, 3, 4, 5, 6}
    assert (
        drawn
        == sample_review_ids_by_group(list(reversed(qualities)), seed=1)
        != sample_review_ids_by_group(qualities, seed=2)
    )
    few = sample_review_ids_by_group(qualities[:64])
    assert {group: len(few[group]) for group in ("good", "middle", "bad")} == {"good": 4, "middle": 4, "bad": 20}


def test_a_group_of_one_criterion_has_the_ends_of_that_criterion_whatever_the_others_are():
    qualities = list(map(constructed, range(2, 18), map(str, range(16))))
    points, drawn = (
        {quality.review_id: quality.points for quality in qualities},
        sample_review_ids_by_group(qualities, size=16),
    )
    for criterion, (least, most) in zip(NAMES, ((1, 5), (1, 5), (0, 3), (0, 2), (0, 2)), strict=True):
        for side, end in (("good", most), ("bad", least)):
            assert drawn[f"{side}.{criterion}"] == sorted(n for n, given in points.items() if given[criterion] == end)
    lone = ReviewQuality("r", "p", {"review_length": 5, "submission_date": Problem("no_date", "no date")})
    assert [group for group, ids in sample_review_ids_by_group([lone]).items() if ids] == ["good.review_length"]


@given(st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 5000)), min_size=1, max_size=20))
def test_every_total_lies_between_2_and_17(rows):
    reviews = [review(f"r{place}", date, summary="x" * size) for place, (date, size) in enumerate(rows)]
    for low, points in ((2, (0, 0, 0)), (9, (3, 2, 2))):
        for quality in compute_review_qualities(reviews, verdicts(*reviews, points=points)):
            assert low <= quality.total <= low + 8 <= 17


def test_each_criterion_asks_about_the_fields_that_its_listing_names():
    one = review(summary="SUM", strengths="STR", weaknesses="WEA", questions="QUE", rating="RAT")
    asked = {name: criterion.chat(one).user for name, criterion in CRITERIA.items()}
    assert "Summary: SUM\nStrengths: STR\nWeaknesses: WEA\nQuestions: QUE\n" in asked["reference_quality"]
    assert "# REVIEW:\nRating: RAT\n" in asked["content_consistency"] and "QUE" not in asked["content_consistency"]
    scores = "Rating: RAT\nSoundness: 3 good\nPresentation: 2 fair\nContribution: 3 good\n"
    assert scores in asked["subscore_consistency"]
    assert [criterion.most for criterion in CRITERIA.values()] == [3, 2, 2]


@pytest.mark.parametrize("reply", [
    REFERENCES, REFERENCES.replace('",\n', '"\n').replace(",\n", "\n"),
    f"<think>\nquality_score: 0\n</think>\n{REFERENCES}",
    f"```yaml\nquality_score: 0\n```\nI correct myself.\n{REFERENCES}",
])  # fmt: skip
def test_the_printed_form_with_its_commas_is_read(reply):
    assert CRITERIA["reference_quality"].points(reply) == 2


@pytest.mark.parametrize(("score", "word"), [(2, "consistent"), (1, "somewhat inconsistent"), (0, "inconsistent")])
def test_a_score_and_its_word_are_read(score, word):
    for name in ("content_consistency", "subscore_consistency"):
        assert CRITERIA[name].points(f'quality_score: {score}\nreasoning: "so: it is"\n{name}: "{word}"') == score


CONSISTENT = "content_consistency: consistent"


@pytest.mark.parametrize(("reply", "code"), [
    ("", "no_score"), ("The review is consistent: 2 points.", "no_score"), ("- 2\n- consistent", "no_yaml"),
    ("quality_score: [1, 2", "no_yaml"), ("quality_score: 2", "contradiction"),
    ("quality_score: 2\ncontent_consistency: inconsistent", "contradiction"),
    *((f"quality_score: {score}\n{CONSISTENT}", "no_score") for score in ("true", "0/1/2", "1.5")),
    (f"quality_score: 3\n{CONSISTENT}", "score_off_scale"),
    ("quality_score: -1\ncontent_consistency: inconsistent", "score_off_scale"),
    (f"quality_score: 2\nquality_score: 0\n{CONSISTENT}", "no_yaml"),
    (f"a: &x [1]\nb: *x\nquality_score: 2\n{CONSISTENT}", "no_yaml"),
    (f"quality_score: !!python/object/apply:os.system ['true']\n{CONSISTENT}", "no_yaml"),
    (f"quality_score: 2\nreasoning: it says: no\n{CONSISTENT}", "no_yaml"), ("[" * 1000, "no_yaml"),
    (f"date: 2001-99-99\nquality_score: 2\n{CONSISTENT}", "no_yaml"), ("x" * 50_000, "no_yaml"),
])  # fmt: skip
def test_a_reply_that_is_not_as_asked_is_refused(reply, code):
    with pytest.raises(ReplyError, match=f"^{code}"):
        CRITERIA["content_consistency"].points(reply)


def test_the_other_fields_of_the_reference_reply_have_their_types():
    for bad in ('reference_count": -1', 'reference_count": some'):
        with pytest.raises(ReplyError, match="^bad_field: reference_count"):
            CRITERIA["reference_quality"].points(REFERENCES.replace('reference_count": 2', bad))


@given(st.text(alphabet="{}[]:,-&*!|>'\"#%@` \nabquality_score012", max_size=200))
def test_no_reply_breaks_the_reading(reply):
    for criterion in CRITERIA.values():
        with pytest.raises(ReplyError):
            criterion.points(reply)

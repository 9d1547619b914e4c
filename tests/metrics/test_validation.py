"""Effects from planned pairs: what is paired, what length explains, what stays open."""

from __future__ import annotations

import math

import pytest

from gre_bench.core.records import Case
from gre_bench.core.settings import ValidationSettings
from gre_bench.metrics.validation import compute_perturbation_effects, count_candidate_words

SETTINGS = ValidationSettings(resamples=400)
PAPERS = 30


def rows(candidate, value_of, state="scored"):
    return [
        {
            "candidate_id": candidate, "paper_id": f"p{paper}", "reference_id": f"r{reference}", "state": state,
            "value": value_of(paper, reference) if state == "scored" else None, "reason": None,
        }
        for paper in range(PAPERS)
        for reference in (1, 2)
    ]  # fmt: skip


def words(**by_candidate):
    return {
        (name, f"p{paper}", f"r{reference}"): count(paper)
        for name, count in by_candidate.items()
        for paper in range(PAPERS)
        for reference in (1, 2)
    }


def human(paper, reference):
    return paper % 7 + 0.3 * reference


def test_pairs_are_matched_by_paper_and_reference_and_the_rest_is_counted():
    after = rows("c", lambda paper, reference: human(paper, reference) - 1 - paper % 3)[:40]
    found = compute_perturbation_effects(rows("human", human), {"sentence_deletion": after}, {}, SETTINGS)
    row = found["sentence_deletion"]
    assert (row.pairs, row.planned, row.papers) == (40, 40, 20)
    assert row.d < 0 and row.verdict == "pass" and row.paper_verdict == "pass"
    assert row.mean_after < row.mean_before


def three_humans():
    """Scores that are 3·log(words) and a term of paper and reference: the baseline's, its half's, the references'.

    The longer the reviews of a paper, the worse the paper: over papers, scores fall with length.
    """
    count = {
        "human": lambda paper: 100 + 20 * paper,
        "half": lambda paper: 50 + 10 * paper,
        "review:r1": lambda paper: 80 + 25 * paper,
        "review:r2": lambda paper: 130 + 12 * paper,
    }

    def scored(name):
        noise = [0.3 * ((7 * paper + len(name)) % 5) for paper in range(PAPERS)]
        return rows(name, lambda paper, reference: 3 * math.log(count[name](paper)) - paper + reference + noise[paper])

    others = [
        *(row for row in scored("review:r1") if row["reference_id"] == "r2"),
        *(row for row in scored("review:r2") if row["reference_id"] == "r1"),
    ]
    return scored("human"), scored("half"), others, words(**count)


def test_a_fall_that_length_alone_explains_is_gone_with_length_held_fixed_by_two_human_reviews_of_one_reference():
    before, after, others, count = three_humans()
    row = compute_perturbation_effects(before, {"sentence_deletion": after}, count, SETTINGS, others)[
        "sentence_deletion"
    ]
    assert row.length_low < 0 < row.length_high and abs(row.length_d) < 0.3 * abs(row.d)
    # Over papers, scores fall with length; pooled over them, the slope had the wrong sign.
    row = compute_perturbation_effects(before, {"sentence_deletion": after}, count, SETTINGS)["sentence_deletion"]
    assert row.d < 0 and row.length_d is None


def test_holm_is_over_the_degradations_alone():
    worse = rows("c", lambda paper, reference: human(paper, reference) - 0.05 * (paper % 4))
    better = rows("c", lambda paper, reference: human(paper, reference) + 0.05 * (paper % 4))
    changes = {"sentence_deletion": worse, "completion": worse, "injection": better}
    found = compute_perturbation_effects(rows("human", human), changes, {}, SETTINGS)
    assert found["sentence_deletion"].p_holm == pytest.approx(2 * found["sentence_deletion"].p)
    assert found["injection"].p_holm is None


def test_what_has_no_pair_or_never_varies_is_open_with_its_reason_or_left_out_if_it_is_ours():
    none = [row | {"state": "excluded", "value": None, "reason": "no_abstract"} for row in rows("c", human)]
    found = compute_perturbation_effects(
        rows("human", human), {"abstract_only": none, "copied_abstract": none}, {}, SETTINGS
    )
    assert set(found) == {"abstract_only"}
    assert found["abstract_only"].verdict == "undecided"
    assert found["abstract_only"].problem.endswith("no_abstract")
    flat = rows("human", lambda paper, reference: 1.0)
    found = compute_perturbation_effects(
        flat, {"sentence_deletion": rows("c", lambda paper, reference: 1.0)}, {}, SETTINGS
    )
    assert found["sentence_deletion"].d is None
    assert "do not vary" in found["sentence_deletion"].problem


def test_lengths_are_words_of_the_candidates_text():
    assert count_candidate_words([Case("p", "c", "r", "review", "one two  three", "y")]) == {("c", "p", "r"): 3}


@pytest.mark.parametrize(
    ("lost", "state", "verdict"),
    [(1, "failed", "pass"), (2, "failed", "undecided"), (2, "missing", "undecided"), (2, "excluded", "pass")],
)
def test_a_change_passes_only_if_98_in_100_of_the_pairs_it_can_be_made_of_are_scored(lost, state, verdict):
    # 60 pairs: one lost leaves 98.3%, two leave 96.7%.
    after = rows("c", lambda paper, reference: human(paper, reference) - 1 - paper % 3)
    after[:lost] = rows("c", human, state)[:lost]
    row = compute_perturbation_effects(rows("human", human), {"sentence_deletion": after}, {}, SETTINGS)[
        "sentence_deletion"
    ]
    assert (row.pairs, row.verdict) == (60 - lost, verdict)


def test_pairs_that_lack_their_reference_before_and_after_are_not_lost_by_the_change():
    before, after = rows("human", human), rows("c", lambda paper, reference: human(paper, reference) - 1 - paper % 3)
    before[:10], after[:10] = rows("human", human, "failed")[:10], rows("c", human, "failed")[:10]
    found = compute_perturbation_effects(before, {"sentence_deletion": after}, {}, SETTINGS)
    assert (found["sentence_deletion"].pairs, found["sentence_deletion"].verdict) == (50, "pass")

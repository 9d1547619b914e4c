"""Planning: every (paper, candidate, reference) is due, excluded or failed, never left out."""

from __future__ import annotations

import pytest

from gre_bench.core.controls import CONTROLS, GENERIC_JUDGMENTS, pick_item_half_a_list_away
from gre_bench.core.errors import SettingsError
from gre_bench.core.metrics import METRICS
from gre_bench.core.records import HUMAN, Candidate, Paper
from gre_bench.metrics.cases import (
    ReviewWithJudgments,
    SampledPaper,
    choose_writer_for_sampled_papers,
    plan_edition_pairs,
)

HUMANS = Candidate(HUMAN, "human")
MODEL = Candidate("m", "model", "m")


def response(name: str, text: str | None = "original", judged: str | None = "The reviewer appreciates it."):
    return ReviewWithJudgments(name, text, {"w": judged} if judged else {})


def entries(count: int = 4, abstract: str | None = "An abstract."):
    return [
        SampledPaper(
            Paper(f"p{n}", abstract=abstract),
            response(f"h{n}", judged=f"The reviewer questions {n}."),
            (response(f"a{n}"), response(f"b{n}")),
            {"m": response(f"m{n}")},
            {"abstract": abstract} if abstract else {},
        )
        for n in range(count)
    ]


@pytest.mark.parametrize("metric", METRICS)
def test_every_pair_is_planned_once(metric):
    candidates = [HUMANS, *CONTROLS.values(), MODEL]
    planned = plan_edition_pairs(entries(), candidates, METRICS[metric], "w")
    keys = {(pair.paper_id, pair.candidate_id, pair.reference_id) for pair in planned}
    assert len(planned) == len(keys) == 4 * 4 * (2 if METRICS[metric].needs_reference else 1)
    assert all((pair.state == "due") == (pair.case is not None) == (pair.reason is None) for pair in planned)


def test_other_paper_is_the_human_half_the_edition_further_on():
    planned = plan_edition_pairs(entries(), [CONTROLS["other-paper"]], METRICS["gem"], "w")
    assert [pair.case.candidate for pair in planned[::2]] == [f"The reviewer questions {n}." for n in (2, 3, 0, 1)]
    assert [pick_item_half_a_list_away(range(300), place) for place in (0, 149, 150, 299)] == [150, 299, 0, 149]
    assert all(pick_item_half_a_list_away(range(size), place) != place for size in range(2, 9) for place in range(size))
    # A pilot takes the first papers, and the same other paper.
    assert plan_edition_pairs(entries(), [CONTROLS["other-paper"]], METRICS["gem"], "w", limit=2) == planned[:4]


def test_generic_is_the_fixed_text_under_judgments_and_excluded_under_original_reviews():
    planned = plan_edition_pairs(entries(), [CONTROLS["generic"]], METRICS["gem"], "w")
    assert {pair.case.candidate for pair in planned} == {GENERIC_JUDGMENTS}
    raw = plan_edition_pairs(entries(), [CONTROLS["generic"]], METRICS["gem_raw"], "w")
    assert {(pair.state, pair.reason) for pair in raw} == {("excluded", "no_original_review")}


def test_synopsis_is_the_abstract_only_where_the_metric_says_so():
    assert plan_edition_pairs(entries(), [MODEL], METRICS["gem_s_abstract"], "w")[0].case.synopsis == "An abstract."
    assert plan_edition_pairs(entries(), [MODEL], METRICS["gem"], "w")[0].case.synopsis is None
    without = plan_edition_pairs(entries(abstract=None), [MODEL], METRICS["gem_s_abstract"], "w")
    assert {(pair.state, pair.reason) for pair in without} == {("excluded", "no_abstract")}


@pytest.mark.parametrize(
    ("review", "reference", "metric", "reason"),
    [
        (response("m", judged=None), response("a"), "gem", "no_judgments"),
        (response("m", judged="No opening."), response("a"), "gem", "no_judgments"),
        (ReviewWithJudgments("m", "t", {"v": "The reviewer suggests."}), response("a"), "gem", "no_judgments"),
        (response("m", text=None), response("a"), "gem_raw", "no_original_review"),
        (response("m"), response("a", judged=None), "gem", "reference: no_judgments"),
    ],
)
def test_a_missing_text_fails_the_pair_with_its_reason(review, reference, metric, reason):
    entry = SampledPaper(Paper("p"), response("h"), (reference,), {"m": review})
    (pair,) = plan_edition_pairs([entry], [MODEL], METRICS[metric], "w")
    # What a reference lacks counts against no candidate.
    assert (pair.state, pair.reason) == ("excluded" if reason.startswith("reference") else "failed", reason)


def test_a_pair_whose_review_nobody_supplied_has_not_failed():
    entry = SampledPaper(Paper("p"), response("h"), (response("a"),), {})
    (pair,) = plan_edition_pairs([entry], [MODEL], METRICS["gem"], "w")
    assert (pair.state, pair.reason) == ("waiting", "no_review")


def test_the_writer_must_be_clear():
    both = ReviewWithJudgments("h", "x", {"v": "The reviewer suggests.", "w": "The reviewer suggests."})
    mixed = [SampledPaper(Paper("p"), both, (both,), {})]
    assert choose_writer_for_sampled_papers(mixed, "v") == "v"
    assert choose_writer_for_sampled_papers(entries(), None) == "w"
    with pytest.raises(SettingsError, match="several writers"):
        choose_writer_for_sampled_papers(mixed, None)
    with pytest.raises(SettingsError, match="no judgments by writer x; available writers: v, w"):
        choose_writer_for_sampled_papers(mixed, "x")

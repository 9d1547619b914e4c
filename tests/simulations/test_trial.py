"""Known answers: the product's scoring and intervals against exact information, over many simulations."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from gre_bench.studies.known_answers import coverage, exactness, known_answers, ordering, score_cases
from gre_bench.studies.simulations.simulation import (
    REVIEWS,
    SYNOPSES,
    all_cases,
    case_of,
    conditional_information,
    exact_lm,
    information,
    random_simulation,
    sample_papers,
)
from gre_bench.studies.simulations.trial import Covered, Ordered, Trial, excess, look_up, run_trial, score_table


def cases_of(papers, with_synopsis, garbled=0):
    """One case per paper and reference, for the candidate whose review was garbled *garbled* times."""
    return [
        case_of(int(papers.synopses[paper]) if with_synopsis else None, int(x), int(y), f"p{paper}", f"r{index}")
        for paper, x in enumerate(papers.candidates[:, garbled])
        for index, y in enumerate(papers.references[paper])
    ]


def by(rows, **wanted):
    (row,) = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    return row


SIMULATIONS = 120


def test_cases_of_papers_are_of_judgments_two_a_paper():
    papers = sample_papers(random_simulation(1), 3, seed=1, garblings=2)
    cases = cases_of(papers, with_synopsis=True, garbled=2)
    assert [(case.paper_id, case.reference_id) for case in cases] == [
        (f"p{p}", f"r{r}") for p in range(3) for r in range(2)
    ]
    assert all(case.source == "judgments" and case.synopsis in SYNOPSES for case in cases)
    assert cases[0].candidate == REVIEWS[papers.candidates[0, 2]]
    assert [case.synopsis for case in cases_of(papers, with_synopsis=False)] == [None] * 6
    assert (len(all_cases(False)), len(all_cases(True))) == (64, 192)


@pytest.fixture(scope="module")
def found():
    return known_answers(simulations=SIMULATIONS, papers=100, seed=1, processes=1, learn=False)


def test_the_exact_lm_s_expected_score_is_the_information_to_rounding(found):
    for row in found["exactness"]:
        assert row["holds"] and row["largest_error"] < 1e-12 and row["mean_information"] > 0.1


def test_scores_of_drawn_papers_converge_to_the_information_by_the_product_s_own_scoring():
    """Case by case through the pipeline, GEM and GEM-S: the mean over many papers is within 3.5 standard errors."""
    simulation = random_simulation(11)
    papers = sample_papers(simulation, 1500, seed=1)
    truths = {"gem": information(simulation.joint()), "gem_s_abstract": conditional_information(simulation.joint())}
    for metric, with_synopsis in (("gem", False), ("gem_s_abstract", True)):
        scores = np.array(score_cases(metric, exact_lm(simulation), cases_of(papers, with_synopsis))).reshape(-1, 2)
        error = scores.mean(axis=1).std(ddof=1) / math.sqrt(len(scores))
        assert abs(scores.mean() - truths[metric]) < 3.5 * error < 0.1
        table = score_table(metric, exact_lm(simulation), score_cases)
        assert np.allclose(scores, look_up(table, papers, 0))


def test_the_synopsis_takes_away_what_it_tells():
    """GEM and GEM-S differ by as much as the information that the exact LM gives of each."""
    simulations = [random_simulation(seed) for seed in range(100)]
    gaps = [information(simulation.joint()) - conditional_information(simulation.joint()) for simulation in simulations]
    assert np.mean(gaps) > 0.02
    trial = run_trial(4, 10, score_cases)
    exact = {one.metric: one.scores[0] for one in trial.ordered if one.lm == "exact"}
    assert exact["gem"] == pytest.approx(information(random_simulation(4).joint()))
    assert exact["gem_s_abstract"] == pytest.approx(conditional_information(random_simulation(4).joint()))


def test_intervals_by_paper_and_of_paired_differences_cover_and_flat_ones_cover_less(found):
    """120 simulations: the standard error is 2.7 points, so the bounds are loose; 2,000 are tried below."""
    for row in found["coverage"]:
        low = 0.74 if row["interval"] == "flat" else 0.83
        assert low < row["covered"] < 0.96, row
    for metric in ("gem", "gem_s_abstract"):
        of = {"metric": metric, "quantity": "information"}
        flat, by_paper = (by(found["coverage"], **of, interval=name) for name in ("flat", "by paper"))
        assert flat["covered"] < by_paper["covered"] and flat["mean_width"] < by_paper["mean_width"]


def test_no_garbling_is_expected_to_score_higher_than_proposition_3_1_allows(found):
    for row in found["ordering"]:
        assert row["holds"] and row["beyond_allowed"] == 0, row
        if row["lm"] == "exact":
            assert row["garbled_higher"] == 0 and row["largest_excess"] < 0


def test_the_bound_is_needed_and_only_in_the_direction_of_the_proof(found):
    """Some garblings do score higher by LMs that are off, and by far more than KL(LM ‖ truth) in most blind simulations."""
    assert by(found["ordering"], metric="gem", lm="noisy")["garbled_higher"] > 0
    blind = by(found["ordering"], metric="gem", lm="blind")
    assert blind["garbled_higher"] == SIMULATIONS and blind["beyond_printed"] > 0.75 * SIMULATIONS
    assert blind["largest_excess"] > 0.1


def test_a_wrong_lm_a_wrong_order_and_a_narrow_interval_are_found_out():
    covered = [Covered("gem", "q", "by paper", 1.0, 0.0, 0.5 + place % 10) for place in range(2000)]
    (row,) = coverage([Trial(0, 1, 1, {}, (one,), ()) for one in covered])
    assert (row["covered"], row["verdict"]) == (0.9, "inside")
    narrow = [Covered("gem", "q", "by paper", 1.0, 0.0, 0.5 + place % 7) for place in range(2000)]
    assert coverage([Trial(0, 1, 1, {}, (one,), ()) for one in narrow])[0]["verdict"] == "outside"
    few = [Covered("gem", "q", "by paper", 1.0, 0.0, 0.5 + place % 7) for place in range(20)]
    assert coverage([Trial(0, 1, 1, {}, (one,), ()) for one in few])[0]["verdict"] == "unsure"
    wrong = Trial(0, 1, 1, {"gem": 0.1, "gem_s_abstract": 0.0}, (), (Ordered("gem", "exact", (1.0, 1.2), 0.1, 0.0),))
    assert [row["holds"] for row in exactness([wrong])] == [False, True]
    (row,) = ordering([wrong])
    assert (row["holds"], row["beyond_allowed"], row["beyond_printed"]) == (False, 1, 1)


def test_what_is_above_chance_is_mutual_and_lautum_information_for_an_lm_that_knows_the_candidate():
    for seed in range(50):
        simulation = random_simulation(seed)
        joint = simulation.joint().sum(axis=0)
        apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
        lautum = float((apart * np.log(apart / joint)).sum())
        table = score_table("gem", exact_lm(simulation), score_cases)
        assert excess(table, simulation.joint()) == pytest.approx(information(simulation.joint()) + lautum, abs=1e-12)


def test_garbling_at_random_lowers_what_is_above_chance_and_only_a_sly_exchange_of_reviews_may_raise_it():
    """GEM's proposition does not cover it: 59 of 500 simulations have such an exchange, worth 0.06 nats at most."""
    sly = 0
    for seed in range(100):
        simulation = random_simulation(seed)
        table = score_table("gem", exact_lm(simulation), score_cases)
        own = excess(table, simulation.joint())
        assert all(excess(table, simulation.joint(simulation.garbled(steps))) < own for steps in (1, 2, 3))
        sly += excess(table, simulation.joint(simulation.evading())) > own
    assert 0 < sly < 25


def test_the_scoring_of_the_product_gives_what_is_above_chance():
    """Case by case, each with the review of another paper: the mean is within 3.5 standard errors of the known one."""
    simulation = random_simulation(11)
    papers = sample_papers(simulation, 1500, seed=1)
    cases = cases_of(papers, False)
    beside = [replace(case, moved=cases[place ^ 2].candidate) for place, case in enumerate(cases)]
    scores = np.array(score_cases("gem_specific", exact_lm(simulation), beside)).reshape(-1, 4).mean(axis=1)
    truth = excess(score_table("gem", exact_lm(simulation), score_cases), simulation.joint())
    assert abs(scores.mean() - truth) < 3.5 * scores.std(ddof=1) / math.sqrt(len(scores)) < 0.2


def test_the_test_against_chance_keeps_its_level_and_finds_what_it_should(found):
    """120 simulations: standard errors are 2 and 4 points, so the bounds are loose; 2,000 are tried below."""
    for row in found["chance"]:
        allowed = 0.05 if row["candidate"] == "knows nothing" else 0.12
        assert abs(row["rejected"] - row["expected"]) < allowed, row
        assert (row["mean_effect"] > 0) == (row["candidate"] == "knows something")


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_over_2000_simulations_intervals_cover_at_nominal_within_two_points():
    found = known_answers(simulations=2000, papers=300, seed=0, learn=False)
    for row in found["coverage"]:
        if row["interval"] != "flat":
            assert abs(row["covered"] - row["nominal"]) <= 0.02, row
        else:
            assert row["verdict"] == "outside" and row["covered"] < row["nominal"], row
    assert all(row["holds"] for row in (*found["exactness"], *found["ordering"]))
    for row in found["chance"]:
        assert row["verdict"] != "outside", row

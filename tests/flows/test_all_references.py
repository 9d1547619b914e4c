"""Every human review of a paper as a reference: ``edition.references = "all"``."""

from __future__ import annotations

import shutil
import statistics

import pytest
from pydantic import ValidationError

from gre_bench.checks.plan_ahead import plan_fetch_and_refresh
from gre_bench.cli.views.board_screen import describe_reference_counts
from gre_bench.core.errors import SettingsError
from gre_bench.core.settings import EditionSettings
from gre_bench.pipeline.refreshing import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.store import Store
from gre_bench.store.queries import CURRENT_SIGNATURES, LEADERBOARD
from tests.flows.refreshing import EDITION, demo, query, use
from tests.scripted_lms import OverlapLM


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    state = tmp_path_factory.mktemp("all") / "state"
    refresh(Job(asked(), state))
    return state


def asked(*overrides):
    use(OverlapLM())
    return demo('edition.references="all"', "scoring.metrics=['gem']", *overrides)


def test_models_and_controls_meet_every_human_review_and_the_human_candidate_all_others(state):
    reviews = dict(query(state, "select paper_id, count(*) from reviews where candidate = 'human' group by all"))
    assert set(reviews.values()) == {4, 5}
    pairs = query(state, "select candidate_id, paper_id, count(*) from plan group by all")
    for candidate, paper, count in pairs:
        assert count == reviews[paper] - (candidate == "human"), (candidate, paper)
    own = "select count(*) from plan p join sample s on s.role = 'candidate' and s.review_id = p.reference_id "
    assert query(state, own + "where p.candidate_id = 'human'") == [(0,)]
    # A drawn sample keeps its references.
    with pytest.raises(SettingsError, match="was drawn with references = all, the settings ask for 2"):
        refresh(Job(asked("edition.references=2"), state))


def test_papers_weigh_alike_and_the_human_candidate_is_ranked_on_its_own_pairs(state):
    values = query(state, "select candidate_id, paper_id, value from pairs where state = 'scored' order by all")
    rows = query(state, "select candidate, score, expected, scored, unranked, low, high from leaderboard")
    board = {row[0]: row[1:] for row in rows}
    for candidate in ("human", "other-paper"):
        papers = {}
        for name, paper, value in values:
            if name == candidate:
                papers.setdefault(paper, []).append(value)
        means = [statistics.fmean(scores) for scores in papers.values()]
        mean, expected, scored, unranked, low, high = board[candidate]
        assert mean == pytest.approx(statistics.fmean(means)) and expected == scored
        error = statistics.stdev(means) / len(means) ** 0.5
        assert high - low == pytest.approx(2 * 1.7530503556925547 * error)  # Student's t, 15 degrees of freedom, 90%
        assert (unranked is None) == (candidate == "human")
    pair_mean = statistics.fmean(value for name, _, value in values if name == "human")
    assert board["human"][0] != pytest.approx(pair_mean, abs=1e-6)


def test_a_difference_to_the_human_candidate_uses_the_references_of_both(state):
    vs_human = "select vs_human, vs_human_papers from leaderboard where candidate = 'other-paper'"
    ((difference, papers),) = query(state, vs_human)
    rows = query(state, "select candidate_id, paper_id, reference_id, value from pairs where state = 'scored'")
    scores = {row[:3]: row[3] for row in rows}
    leads = {}
    for (name, paper, reference), value in scores.items():
        if name == "other-paper" and ("human", paper, reference) in scores:
            leads.setdefault(paper, []).append(value - scores["human", paper, reference])
    assert papers == len(leads) == 16
    assert difference == pytest.approx(statistics.fmean(map(statistics.fmean, leads.values())))


def test_the_references_a_paper_are_counted_on_the_papers_that_the_metric_reads(state, tmp_path):
    shutil.copytree(state, tmp_path / "state")
    every = dict(query(state, "select paper_id, count(*) from plan where candidate_id = 'generic' group by all"))
    left_out = sorted(every)[:10]
    excluded = "update plan set state = 'excluded', reason = 'no_abstract' where paper_id in ({})"
    query(tmp_path / "state", excluded.format(", ".join(f"'{paper}'" for paper in left_out)))
    store = Store(tmp_path / "state", EDITION)
    with store.lock("test"):
        ids = [row["signature_id"] for row in store.rows(CURRENT_SIGNATURES)]
        line = describe_reference_counts(store.rows(LEADERBOARD, signature_ids=ids))
    mean = statistics.fmean(count for paper, count in every.items() if paper not in left_out)
    assert f"every human review, {mean:.1f} a paper; the human baseline all but its own, {mean - 1:.1f}" in line


def test_a_plan_prices_every_reference(tmp_path):
    two, every = (plan_fetch_and_refresh(asked(f"edition.references={n}"), tmp_path) for n in ("2", "'all'"))
    assert every["scoring"]["pairs"] > 1.5 * two["scoring"]["pairs"]
    assert "4 human reviews a paper: every one is a reference" in every["assumed"]
    assert not any("reference" in line for line in two["assumed"])


@pytest.mark.parametrize(
    ("given", "fewest"),
    [({}, 3), ({"references": 1}, 2), ({"references": 4}, 5), ({"references": "all"}, 3),
     ({"references": 2, "min_reviews": 4}, 4), ({"references": "all", "min_reviews": 2}, 2)],
)  # fmt: skip
def test_a_paper_needs_its_references_and_a_human_candidate(given, fewest):
    assert EditionSettings(**given).effective_min_reviews == fewest


@pytest.mark.parametrize(
    ("given", "message"),
    [({"references": 0}, "references"), ({"references": "most"}, "references"),
     ({"references": 3, "min_reviews": 3}, "3 references and the human candidate are 4 reviews; min_reviews is 3"),
     ({"references": "all", "roles": "slots"}, "name them in reference_slots")],
)  # fmt: skip
def test_references_that_cannot_be_are_refused(given, message):
    with pytest.raises(ValidationError, match=message):
        EditionSettings(**given)

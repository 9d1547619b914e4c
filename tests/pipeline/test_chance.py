"""Candidates against their own reviews of other papers: planned, scored, tested, shown. The sample edition."""

from __future__ import annotations

import json
import math
import shutil
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from gre_bench.checks.dry_run import estimate_refresh_cost
from gre_bench.core.controls import GENERIC, OTHER_PAPER
from gre_bench.core.records import HUMAN
from gre_bench.pipeline.runs.job import Job
from gre_bench.pipeline.validating import validate
from gre_bench.ranking.rank_statistics import ScoredPairs, collect_text_lengths, scores_at_human_length
from gre_bench.ranking.reference_dependence import shifts_by_lm_likelihood
from gre_bench.stats.effects import adjust_by_holm
from gre_bench.stats.intervals import clustered_test
from gre_bench.stats.length import estimate_length_slope
from gre_bench.stats.pair_tests import run_candidate_tests
from gre_bench.store import Store
from gre_bench.store.queries import ANCHORED, CURRENT_SIGNATURES
from tests.cli.calling import shown
from tests.conftest import SIXTEEN
from tests.flows.refreshing import (
    EDITION,
    add_reviews,
    assert_same,
    demo,
    query,
    refreshed,
    reviews_by,
    run,
    tables,
    use,
)  # fmt: skip
from tests.scripted_lms import OverlapLM

ON = ("scoring.chance=true", 'scoring.metrics=["gem", "gem_s_abstract"]')


def like_humans(model: str, turn: int = 0) -> list[dict]:
    """A review of each paper in the words of a human one; by *turn* it stands on a paper that many places further on."""
    human: dict[str, str] = {}
    for line in (SIXTEEN / "reviews.jsonl").read_text().splitlines():
        row = json.loads(line)
        human.setdefault(row["paper_id"], row["judgments"])
    texts = [human[row["paper_id"]] for row in reviews_by(model)]
    return [row | {"judgments": texts[place - turn]} for place, row in enumerate(reviews_by(model))]


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """The sample edition scored by chance, which nobody may change: without reviews that somebody brought."""
    state = tmp_path_factory.mktemp("begun")
    use(OverlapLM())
    run(state, *ON)
    return state


@pytest.fixture(scope="module")
def state(begun, tmp_path_factory):
    state = shutil.copytree(begun, tmp_path_factory.mktemp("chance") / "state")
    use(OverlapLM())
    add_reviews(state, like_humans("knows"))
    add_reviews(state, like_humans("knows-nothing", turn=1))
    run(state, *ON)
    return state


def scores(state, metric: str) -> dict[tuple[str, str, str], float]:
    rows = query(
        state,
        "select candidate_id, paper_id, reference_id, value from pairs join signatures using (signature_id) "
        f"where metric = '{metric}' and state = 'scored'",
    )
    return {row[:3]: row[3] for row in rows}


def moved(state) -> dict[tuple[str, str], tuple[str, str]]:
    rows = query(state, "select candidate_id, paper_id, review_id, swap from moved")
    return {row[:2]: row[2:] for row in rows}


def board(state, columns: str, metric: str = "gem") -> dict[str, tuple]:
    rows = query(state, f"select candidate, {columns} from board where board = 'clean' and metric = '{metric}'")
    return {row[0]: row[1:] for row in rows}


def test_the_boards_above_chance_is_the_mean_of_the_specific_pairs_by_exchange(state):
    own, specific, exchanges = scores(state, "gem"), scores(state, "gem_specific"), moved(state)
    rows = query(state, "select candidate_id, c.chance, above, above_low, above_high, papers "
                        "from chance c join signatures s using (signature_id) where s.metric = 'gem'")  # fmt: skip
    said = board(state, "above_chance, above_chance_low, above_chance_high")
    assert {name: tuple(values[1:4]) for name, *values in rows} == said
    for name, chance, above, low, high, papers in rows:
        keys = [key for key in specific if key[0] == name]
        units = [exchanges.get(key[:2], ("", key[1]))[1] for key in keys]
        interval = clustered_test([specific[key] for key in keys], units)
        assert (above, low, high) == pytest.approx((interval.value, interval.low, interval.high))
        assert chance == pytest.approx(sum(own[key] - specific[key] for key in keys) / len(keys))
        assert papers == 16
    # The specific board has the same interval, though it is read from the view.
    assert board(state, "score, low, high", "gem_specific") == {
        name: pytest.approx(values) for name, values in said.items()
    }


def test_who_knows_nothing_of_its_papers_is_at_chance_and_who_does_is_above(state):
    said = board(state, "surely_above_chance, above_chance, score")
    assert said["knows"][0] and said[HUMAN][0]
    assert not said["knows-nothing"][0] and said["knows-nothing"][1] < said["knows"][1] / 3
    assert not said[OTHER_PAPER][0] and said[GENERIC][:2] == (False, 0.0)


def test_tests_against_chance_are_of_the_one_family_of_the_board(state):
    rows = query(state, "select candidate, above_chance_p, above_chance_p_holm, tests from leaderboard "
                        "where metric = 'gem' and rank is not null order by rank")  # fmt: skip
    pairs = query(
        state,
        "select value, paper_id, candidate_id, reference_id from pairs join signatures using (signature_id) "
        "join candidates using (candidate_id) where metric = 'gem' and state = 'scored' and kind <> 'control'",
    )
    between = run_candidate_tests(*zip(*pairs, strict=True))
    family = adjust_by_holm([*(test.p for test in between), *(row[1] for row in rows)])
    assert [row[2] for row in rows] == pytest.approx(family[len(between) :])
    assert {row[3] for row in rows} == {len(between) + len(rows)}
    unranked = query(state, "select above_chance_p_holm from leaderboard where candidate = 'other-paper'")
    assert set(unranked) == {(None,)}


def test_the_plan_and_the_dry_run_count_what_is_scored_by_chance(tmp_path):
    use(OverlapLM())
    job = Job(demo(*ON), tmp_path / "state")
    found = estimate_refresh_cost(job, tmp_path / "scratch")
    pairs = {row["metric"]: row["planned"] for row in found["metrics"]}
    assert pairs == {"gem": 96, "gem_specific": 96, "gem_s_abstract": 96, "gem_s_abstract_specific": 96}
    assert found["due"] == sum(pairs.values())
    off = estimate_refresh_cost(Job(demo(ON[1]), tmp_path / "state"), tmp_path / "other")
    assert {row["metric"] for row in off["metrics"]} == {"gem", "gem_s_abstract"}


def test_reviews_that_come_later_change_the_moves_and_what_was_scored_by_others_is_scored_anew(begun, tmp_path):
    use(OverlapLM())
    whole, grown = (shutil.copytree(begun, tmp_path / name) for name in ("whole", "grown"))
    rows = reviews_by("model-a")
    add_reviews(grown, rows[:9])
    run(grown, *ON)
    early = moved(grown)
    add_reviews(grown, rows[9:])
    add_reviews(whole, rows)
    for state in (whole, grown):
        run(state, *ON)
    assert early != {key: value for key, value in moved(grown).items() if key in early}
    assert moved(grown) == moved(whole)
    assert scores(grown, "gem_specific") == pytest.approx(scores(whole, "gem_specific"))


def test_a_pilot_after_the_whole_edition_moves_nothing_elsewhere(state):
    use(OverlapLM())
    before = moved(state), scores(state, "gem_specific")
    run(state, *ON, limit=4)
    assert (moved(state), scores(state, "gem_specific")) == before


def test_a_run_that_is_stopped_half_way_ends_with_the_tables_of_an_undisturbed_one(begun, tmp_path):
    class Stops(OverlapLM):
        calls = 0

        def logprob(self, predictions):
            self.calls += 1
            if self.calls == 3:
                raise KeyboardInterrupt
            return super().logprob(predictions)

    use(Stops())
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "stopped", *ON, "run.chunk_papers=4")
    use(OverlapLM())
    run(tmp_path / "stopped", *ON, "run.chunk_papers=4")
    assert_same(tables(tmp_path / "stopped"), tables(begun))


def test_a_specific_metric_that_the_settings_name_is_a_board_of_its_own(tmp_path):
    use(OverlapLM())
    run(tmp_path, 'scoring.metrics=["gem_specific"]', limit=2)
    assert [row["metric"] for row in Store(tmp_path, EDITION).read(CURRENT_SIGNATURES)] == ["gem_specific"]


def test_boards_explanations_comparisons_and_histories_tell_what_is_above_chance(state, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")

    def told(*asked):
        code, said = shown(*asked, "--state", state)
        assert code == 0, said
        return said

    board_said = told("leaderboard", EDITION)
    assert "above chance" in board_said and "specific in nats" not in board_said
    assert f"{EDITION} · GEM, specific in nats" in told("leaderboard", EDITION, "--metric", "gem_specific")
    why = told("why", EDITION, "knows", "--metric", "gem_specific", "--paper", "s02")
    assert "given its review of another paper" in why and "DOES NOT HOLD" not in why
    found = json.loads(told("compare", "knows", "knows-nothing", "--edition", EDITION, "--json"))["candidates"]
    specific, by_paper = scores(state, "gem_specific"), defaultdict(list)
    for (name, paper, reference), value in specific.items():
        if name == "knows":
            by_paper[paper].append(value - specific["knows-nothing", paper, reference])
    expected = sum(sum(values) / len(values) for values in by_paper.values()) / len(by_paper)
    assert found[0]["above_chance"]["difference"] == pytest.approx(expected)
    rows = json.loads(told("history", "--json"))["rows"]
    (row,) = (row for row in rows if (row["candidate"], row["metric"]) == ("knows", "gem"))
    assert row["above_chance"] == pytest.approx(board(state, "above_chance")["knows"][0])


def test_a_specific_metric_is_validated_like_any_other(tmp_path):
    """What a change does to every review alike, a review of another paper has too: the specific form does not rise."""
    use(OverlapLM())
    asked = demo('scoring.metrics=["gem", "gem_specific"]', "validation.level=judgments", "validation.resamples=200")
    found = validate(Job(asked, tmp_path))
    metrics = {row["metric"]: row for row in found["metrics"]}
    assert set(metrics) == {"gem", "gem_specific"}
    # Two references a paper are scored against each other too, to learn how GEM depends on length.
    references = 2 * found["papers"]
    assert metrics["gem"]["planned"] == metrics["gem_specific"]["planned"] + references
    assert metrics["gem_specific"]["missing"] == metrics["gem_specific"]["failed"] == 0
    assert {row["metric"] for row in found["verdicts"]} == {"gem", "gem_specific"}


def test_chance_can_be_left_out_and_brings_one_text_more_for_each_pair_beside_the_scores_of_an_edition(tmp_path):
    """The conditional on the own review is known already; of the generic control both are the same.

    A moved review of other-paper may be the human review that stands there by chance too, which is asked once.
    """
    state = refreshed(tmp_path)
    nothing = dict.fromkeys((HUMAN, OTHER_PAPER, GENERIC), (None, None))
    assert board(state, "above_chance, surely_above_chance") == nothing
    assert query(state, "select count(*) from moved") == [(0,)]
    before, lm = scores(state, "gem"), use(OverlapLM())
    run(state, "scoring.chance=true", 'scoring.metrics=["gem"]')
    assert 2 * 16 < len(lm.asked) <= 2 * 2 * 16
    assert scores(state, "gem") == before and scores(state, "gem_specific").keys() == before.keys()


def swap_graph(values, *labels) -> tuple[float, int]:
    """The sandwich with plain numpy: two papers depend on each other if they share an exchange of either side."""
    residual, sides = np.array([*values]) - np.mean([*values]), [list(side) for side in labels]
    squares, sizes = [], []
    for side in (*sides, list(zip(*sides, strict=True))):
        same = np.array([[one == other for other in side] for one in side])
        sizes.append(len(set(side)))
        squares.append(sizes[-1] / (sizes[-1] - 1) * residual @ same @ residual)
    return math.sqrt(max(squares[0] + squares[1] - squares[2], squares[2])) / len(residual), min(sizes[:2])


def specific_leads(state, name: str) -> dict[str, float]:
    specific, by_paper = scores(state, "gem_specific"), defaultdict(list)
    for (candidate, paper, reference), value in specific.items():
        if candidate == name and (HUMAN, paper, reference) in specific:
            by_paper[paper].append(value - specific[HUMAN, paper, reference])
    return {paper: float(np.mean(values)) for paper, values in by_paper.items()}


def labels(state, name: str, papers) -> list[str]:
    exchanges = moved(state)
    return [exchanges.get((name, paper), ("", paper))[1] for paper in papers]


def test_a_difference_to_the_human_baseline_that_has_chance_in_it_is_tested_by_the_exchanges_of_both(state):
    said = board(state, "vs_human, vs_human_low, vs_human_high, vs_human_units, p_alone", "gem_specific")
    assert len(said) == 5
    for name, (mean, low, high, units, p) in said.items():
        if name == HUMAN:
            continue
        leads = specific_leads(state, name)
        error, size = swap_graph(leads.values(), labels(state, name, leads), labels(state, HUMAN, leads))
        assert size < len(leads), "reviews were exchanged"
        half = stats.t.ppf(0.95, size - 1) * error
        value = np.mean(list(leads.values()))
        assert (mean, low, high) == pytest.approx((value, value - half, value + half)), name
        assert (units, p) == (size, pytest.approx(2 * stats.t.sf(abs(value) / error, size - 1))), name
    rows = {row["candidate"]: row for row in Store(state, EDITION).read(
        ANCHORED, anchors=[HUMAN], signature_ids=[id for (id,) in query(state, "select signature_id from signatures")])
        if row["metric"] == "gem_specific"}  # fmt: skip
    for name in ("knows", OTHER_PAPER):
        assert (rows[name]["low"], rows[name]["high"], rows[name]["units"]) == said[name][1:4]


def test_a_stratum_of_scores_above_chance_has_the_intervals_of_the_swap_graph_within_it(state, tmp_path):
    state = shutil.copytree(state, tmp_path / "state")
    store = Store(state, EDITION)
    with store.lock("test"), store.transaction() as run:
        run.execute("insert into paper_strata select paper_id, 'half', paper_id < 's11' from papers")
        run.execute("insert into snapshots values ('digest', 'folder', now())")
        store.fill_board()
        rows = run.execute(
            "select candidate, score, low, high, vs_human, vs_human_low, vs_human_high from strata "
            "join signatures using (signature_id) where metric = 'gem_specific' and stratum = 'half' and value = 'true'"
        ).fetchall()
    assert {row[0] for row in rows} == {HUMAN, "knows", "knows-nothing"}
    specific = scores(state, "gem_specific")
    for name, score, low, high, difference, *ends in rows:
        by_paper = defaultdict(list)
        for (candidate, paper, _), value in specific.items():
            if candidate == name and paper < "s11":
                by_paper[paper].append(value)
        means = [np.mean(values) for values in by_paper.values()]
        own = labels(state, name, by_paper)
        error, units = swap_graph(means, own, own)
        half = stats.t.ppf(0.95, units - 1) * error
        assert (score, low, high) == pytest.approx((np.mean(means), np.mean(means) - half, np.mean(means) + half))
        if name != HUMAN:
            leads = {paper: lead for paper, lead in specific_leads(state, name).items() if paper < "s11"}
            error, units = swap_graph(leads.values(), labels(state, name, leads), labels(state, HUMAN, leads))
            half = stats.t.ppf(0.95, units - 1) * error
            assert ends == pytest.approx([difference - half, difference + half])


def test_scores_above_chance_at_the_human_length_have_intervals_by_exchange(state):
    specific, exchanges = scores(state, "gem_specific"), moved(state)
    rows = [(name, paper, reference, value, exchanges.get((name, paper), ("", paper))[1])
            for (name, paper, reference), value in specific.items() if name in (HUMAN, "knows")]  # fmt: skip
    pairs = ScoredPairs(*map(list, zip(*rows, strict=True)))
    words = {(row[0], row[1]): 20 + 3 * index % 41 for index, row in enumerate(rows)}
    _, found = scores_at_human_length(pairs, words)
    _, plain = scores_at_human_length(replace(pairs, units=()), words)
    for name, interval in found.items():
        assert interval.value == plain[name].value and interval.units == len(
            set(labels(state, name, {row[1] for row in rows}))
        )
    # With slope and lengths held fixed, the influence of a paper is its mean score's alone.
    even = dict.fromkeys(words, 50) | {(HUMAN, rows[0][1]): 51, ("knows", rows[0][1]): 50}
    at, found = scores_at_human_length(pairs, even)
    texts = collect_text_lengths(pairs, even)
    slope = estimate_length_slope(texts.values, texts.words, texts.papers, candidates=texts.candidates)
    papers = list(slope.influence)
    for name, interval in found.items():
        mine = {
            paper: (value, math.log(count))
            for candidate, paper, value, count in zip(
                texts.candidates, texts.papers, texts.values, texts.words, strict=True
            )
            if candidate == name
        }
        moved_values = np.array([mine[paper][0] - slope.value * mine[paper][1] for paper in papers])
        away = np.mean([length for _, length in mine.values()]) - math.log(at)
        influence = moved_values - moved_values.mean() - len(papers) * away * np.array([*slope.influence.values()])
        error, units = swap_graph(influence, labels(state, name, papers), labels(state, name, papers))
        half = stats.t.ppf(0.95, units - 1) * error
        assert (interval.low, interval.high) == pytest.approx((interval.value - half, interval.value + half))


def test_leads_without_a_reviewer_of_a_metric_above_chance_are_by_exchange(state):
    use(OverlapLM())
    asked = ("study", "references", EDITION, "-m", "gem_specific", "--json")
    code, text = shown(*asked, "--state", state)
    assert code == 0, text
    (found,) = json.loads(text)["metrics"]
    place_of = dict(query(state, "select review_id, place from sample where role = 'reference'"))
    specific = scores(state, "gem_specific")
    leads = {key[1:]: value - specific[HUMAN, *key[1:]] for key, value in specific.items() if key[0] == "knows"}
    full, rest = defaultdict(list), defaultdict(list)
    for (paper, reference), lead in leads.items():
        full[paper].append(lead)
        if place_of[reference] != 1:
            rest[paper].append(lead)
    change = [np.mean(rest[paper]) - np.mean(full[paper]) for paper in rest]
    error, units = swap_graph(change, labels(state, "knows", rest), labels(state, HUMAN, rest))
    half = stats.t.ppf(0.95, units - 1) * error
    (row,) = (row for row in found["reviewers"] if (row["what"], row["candidate"]) == ("without reviewer 1", "knows"))
    assert (row["low"], row["high"]) == pytest.approx((np.mean(change) - half, np.mean(change) + half))
    assert found["line"] is None and found["orders"] == [], "no stand-ins where chance is in the scores"


def test_strata_of_references_above_chance_are_by_exchange(state):
    specific, exchanges = scores(state, "gem_specific"), moved(state)
    rows = [(*key, value, exchanges.get(key[:2], ("", key[1]))[1]) for key, value in specific.items()
            if key[0] in (HUMAN, "knows")]  # fmt: skip
    pairs = ScoredPairs(*map(list, zip(*rows, strict=True)))
    place_of = dict(query(state, "select review_id, place from sample where role = 'reference'"))
    likelihood = {name: float(place == 1) for name, place in place_of.items()}
    (row,) = shifts_by_lm_likelihood(pairs, likelihood, 0.5)
    sides = {high: {paper: value - specific[HUMAN, paper, reference]
                    for (name, paper, reference), value in specific.items()
                    if name == "knows" and likelihood[reference] == high} for high in (0.0, 1.0)}  # fmt: skip
    means = {high: np.mean(list(side.values())) for high, side in sides.items()}
    papers = list(sides[0.0])
    influence = [(sides[1.0][paper] - means[1.0]) - (sides[0.0][paper] - means[0.0]) for paper in papers]
    error, units = swap_graph(influence, labels(state, "knows", papers), labels(state, HUMAN, papers))
    half = stats.t.ppf(0.95, units - 1) * error
    gap = means[1.0] - means[0.0]
    assert (row.shift, row.low, row.high) == pytest.approx((gap, gap - half, gap + half))

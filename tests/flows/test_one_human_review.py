"""Papers with one human review: it is the reference, and there is no human candidate where there is no other."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from gre_bench.cli.views.board_screen import describe_reference_counts
from gre_bench.core import settings
from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.pipeline.refreshing import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.store import Store
from gre_bench.store.queries import CURRENT_SIGNATURES, LEADERBOARD, SEPARATION
from tests.cli.calling import call
from tests.conftest import ROOT, real
from tests.flows.refreshing import EDITION, ONE_REVIEW, demo, one_review, query, use
from tests.scripted_lms import OverlapLM

ALONE = "No human candidate, and no AUC: each paper has one human review here, which is the reference."


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return one_review(tmp_path_factory.mktemp("one") / "state")


@pytest.fixture
def shown(alone, monkeypatch):
    """Calls the program on the edition with one human review a paper."""
    monkeypatch.setenv("GRE_BENCH_STATE", str(alone))
    return call


def board(state, metric="gem"):
    """Candidate → its row on the board of *metric*; and the AUCs."""
    store = Store(state, EDITION)
    ids = [row["signature_id"] for row in store.read(CURRENT_SIGNATURES) if row["metric"] == metric]
    return {row["candidate"]: row for row in store.read(LEADERBOARD, signature_ids=ids)}, store.read(
        SEPARATION, signature_ids=ids
    )


def pairs_of(state):
    return Counter(name for (name,) in query(state, "select candidate_id from pairs where state = 'scored'"))


def test_the_only_human_review_is_the_reference_and_no_candidate(alone):
    rows, separations = board(alone)
    assert rows.keys() == {"model-a", "model-b", "other-paper", "generic"}
    references = query(
        alone,
        "select count(*), count(distinct p.paper_id) from plan p join reviews r on r.review_id = reference_id "
        "where candidate_id = 'model-a' and r.candidate = 'human'",
    )
    assert references == [(32, 16)]  # of GEM and of its excess over chance
    for name in ("model-a", "model-b"):
        row = rows[name]
        assert (row["scored"], row["expected"], row["unranked"], row["vs_human"]) == (16, 16, None, None)
        assert row["above_chance"] > 0 and row["tests"] == 3
    assert rows["other-paper"]["above_chance_low"] < 0 < rows["other-paper"]["above_chance_high"]
    assert (separations, describe_reference_counts(list(rows.values()))) == ([], ALONE)


def test_the_human_baseline_is_compared_on_the_papers_with_a_second_review(tmp_path):
    state = one_review(tmp_path, 6)
    rows, separations = board(state)
    human, model = rows["human"], rows["model-a"]
    # On each of the six papers its review is scored against the other one, and models against both.
    assert (human["scored"], human["expected"], human["papers"], human["unranked"]) == (6, 6, 6, None)
    assert (model["scored"], model["expected"], model["papers"], model["vs_human_papers"]) == (22, 22, 16, 6)
    assert human["above_chance"] > 0 and [row["same_pairs"] for row in separations] == [6]
    assert describe_reference_counts(list(rows.values())) == (
        "references: every human review, 1.4 a paper; the human baseline all but its own, 1.0 on the 6 papers with a "
        "second one. Differences to it use the references of both."
    )
    # Its review of a paper exchanges places only with another on which it is a candidate.
    moved = query(state, "select paper_id from moved where candidate_id = 'human'")
    assert {paper for (paper,) in moved} == {
        paper for (paper,) in query(state, "select distinct paper_id from plan where candidate_id = 'human'")
    }


def test_too_few_second_reviews_leave_the_other_candidates_tested(tmp_path):
    rows, _ = board(one_review(tmp_path, 3))
    assert "human" not in rows and rows["model-a"]["expected"] == 19
    assert rows["model-a"]["untested"] is None and rows["model-a"]["tests"] == 3
    assert "too few papers have a second human review" in (describe_reference_counts(list(rows.values())) or "")


def test_a_metric_that_can_score_no_reference_stops_the_run(tmp_path):
    with pytest.raises(SourceError, match="gem can score no human review"):
        one_review(tmp_path, 0, judged=False)


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (("leaderboard", EDITION), 0, ALONE),
        (("leaderboard", EDITION, "--details", "--all"), 0, ALONE),
        (("why", EDITION, "model-a"), 0, "best and worst 5 of 16 papers, by score"),
        (
            ("why", EDITION, "human"),
            2,
            "gem has no pair of candidate human (where papers have one human review each, it",
        ),
        (("compare", "model-a", "human", "--edition", EDITION), 2, "gem has no pair of candidate human (where papers"),
        (("compare", "model-a", "model-b", "--edition", EDITION), 0, "model-a against model-b"),
        (("history",), 2, "no candidate on the same pairs as human; --anchor names another"),
        (("history", "--anchor", "model-b"), 0, "difference to model-b"),
        (("study", "references", EDITION), 2, "has no score of the human baseline, which leads are over (where papers"),
    ],
)
def test_every_screen_does_without_a_human_row_or_says_why_not(shown, monkeypatch, arguments, code, line):
    monkeypatch.setenv("COLUMNS", "80")
    ended, out, said = shown(*arguments)
    told = " ".join(f"{out} {said}".split())
    assert (ended, line in told) == (code, True), told
    assert "nan" not in told.lower().split() and "None" not in told
    assert not [row for row in out.splitlines() if len(row) > 80 and " " in row.strip()]


def test_a_validation_has_no_human_review_to_change(alone):
    from gre_bench.pipeline.validating import validate

    chosen = demo(f"sources.reviews={alone / 'reviews.jsonl'}", *ONE_REVIEW, "validation.level=judgments")
    with pytest.raises(SettingsError, match="cannot validate gem: its papers have one human review each"):
        validate(Job(chosen, alone))


def test_a_release_without_a_human_row_is_made_again_from_its_own_pairs(shown, tmp_path):
    code, _, said = shown("publish", EDITION, "--out", tmp_path, "--all-texts")
    assert code == 0, said
    (folder,) = tmp_path.glob("*-r1")
    code, _, said = shown("verify", folder, "--again")
    assert code == 0, said
    page = (folder / "index.html").read_text()
    assert ALONE in page and "Grey band" not in page
    candidate = (folder / "candidates" / "model-a.html").read_text()
    assert "Grey band" not in candidate and "a human review" in candidate


def test_a_file_ranked_on_the_board_is_not_compared_with_human(shown, alone, tmp_path):
    rows = [json.loads(line) for line in (alone / "reviews.jsonl").read_text().splitlines()]
    mine = [
        {name: row[name] for name in ("paper_id", "judgments", "writer")} for row in rows
        if row["candidate"] == "model-a"
    ]  # fmt: skip
    file = tmp_path / "mine.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in mine))
    use(OverlapLM())
    code, out, said = shown("rank", file, "--edition", EDITION, "--as", "mine")
    assert code == 0, said
    assert "papers by score" in out and "human --edition" not in out and "vs human" not in out
    shown("remove", EDITION, "mine", "--yes")


def test_a_plan_counts_one_reference_a_paper_and_no_human_candidate():
    one, two = (settings.load(ROOT / "deployments" / "own.toml", (f"edition.min_reviews={n}",)) for n in (1, 2))
    assert (one.edition.likely_references, two.edition.likely_references) == (0, 3)
    assert one.edition.estimate_pairs_per_paper(3) == 3


@pytest.mark.shared
def test_agents4science_makes_a_board_of_its_own_reviewers_in_one_command(tmp_path):
    notes = real("openreview", "agents4science2025.notes.jsonl.gz")
    chosen = settings.load(ROOT / "deployments" / "agents4science2025.toml", (f"sources.notes={notes}",))
    summary = refresh(Job(chosen, tmp_path))
    assert (summary["outcome"], summary["papers"]) == ("done", 79)
    store = Store(tmp_path, "Agents4Science-2025")
    ids = [row["signature_id"] for row in store.read(CURRENT_SIGNATURES) if row["metric"] == "gem"]
    rows = {row["candidate"]: row for row in store.read(LEADERBOARD, signature_ids=ids)}
    ranked = [name for name, row in rows.items() if row["rank"] is not None]
    assert sorted(ranked) == ["AIRev1", "AIRev2", "AIRev3"] and "human" not in rows
    assert {name: rows[name]["papers"] for name in ranked} == dict.fromkeys(ranked, 79)
    assert all(rows[name]["above_chance_low"] > 25 for name in ranked)
    assert rows["AIRevCorrectness"]["unranked"] == "only 1 of 79 pairs scored"
    assert describe_reference_counts(list(rows.values())) == ALONE

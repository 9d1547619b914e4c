"""``gre-bench study committee`` on the sample edition: what LM reviewers tell together, recomputed from the texts."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from scipy import stats

from gre_bench.core.records import Prediction
from gre_bench.ranking.committees import compute_committee_curve, sort_members, split_into_random_halves
from gre_bench.release.loading import load_release
from gre_bench.store import Store
from tests.cli.calling import shown
from tests.flows.refreshing import EDITION, add_reviews, query, refreshed, reviews_by, run, use
from tests.scripted_lms import OverlapLM

MODELS = ("model-a", "model-b", "model-c")
SHARED = "The reviewer questions the seeds."
STORED = "select * exclude (run_id) from committees order by all"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The sample with reviews by three models that quote the references' words, and share a line."""
    state = refreshed(tmp_path_factory.mktemp("committee"))
    use(OverlapLM())
    words = dict(query(state, "select r.paper_id, string_agg(j.text, ' ' order by r.review_id) from judgments j "
                              "join reviews r using (review_id) where r.candidate = 'human' group by all"))  # fmt: skip
    random = np.random.default_rng(1)
    for place, name in enumerate(MODELS, 1):
        rows = []
        for row in reviews_by(name):
            known = sorted(set(words.get(row["paper_id"], "a paper").split()))
            said = random.choice(known, min(len(known), 6 * place), replace=False)
            rows.append(row | {"judgments": f"The reviewer criticizes {' '.join(said)}.\n{SHARED}"})
        add_reviews(state, rows)
    run(state, "run.chunk_papers=2")
    return state


@pytest.fixture(scope="module")
def state(made):
    use(OverlapLM())
    code, text = shown("study", "committee", EDITION, "-m", "gem", "--state", made)
    assert code == 0, text
    return made


def test_the_curve_is_that_of_the_texts_in_plain_numpy(state):
    """The greedy order on either half, the mean and t interval on the other, and what a human review adds."""
    judged = dict(query(state, "select review_id, text from judgments"))
    by = {(paper, name): review for paper, name, review in query(
        state, "select paper_id, candidate, review_id from reviews where candidate like 'model-%' union all "
               "select paper_id, 'human', review_id from sample where role = 'candidate'")}  # fmt: skip
    references: dict[str, list[str]] = {}
    for paper, review in query(state, "select paper_id, review_id from sample where role = 'reference' order by all"):
        references.setdefault(paper, []).append(review)

    def told(names: list[str], paper: str) -> float:
        lines = [line for name in sorted(names) for line in judged[by[paper, name]].splitlines() if line.strip()]
        text = "\n".join(dict.fromkeys(lines))
        spans = [[OverlapLM.span(Prediction(x, None, judged[each])).total for each in references[paper]]
                 for x in (text, None)]  # fmt: skip
        return float(np.mean(np.array(spans[0]) - np.array(spans[1])))

    papers = sorted(references)
    places = np.random.default_rng(0).permutation(len(papers))
    sides = [[papers[k] for k in sorted(half)] for half in np.array_split(places, 2)]
    found = json.loads(shown("study", "committee", EDITION, "-m", "gem", "--state", state, "--json")[1])["metrics"][0]
    gains: list[list[float]] = [[] for _ in range(4)]
    added = []
    for chosen_on, measured_on in (sides, sides[::-1]):
        order: list[str] = []
        for _ in MODELS:
            left = [name for name in MODELS if name not in order]
            order.append(max(left, key=lambda name: np.mean([told([*order, name], paper) for paper in chosen_on])))
        added.append(order)
        for k in range(3):
            gains[k] += [told(order[: k + 1], paper) for paper in measured_on]
        gains[3] += [told([*MODELS, "human"], paper) - told(list(MODELS), paper) for paper in measured_on]
    for step, values in zip((*found["curve"]["steps"], found["curve"]["human"]), gains, strict=True):
        low, high = stats.t.interval(0.9, len(values) - 1, np.mean(values), stats.sem(values))
        assert [step[name] for name in ("value", "low", "high")] == pytest.approx([np.mean(values), low, high])
    assert [step["added"] for step in found["curve"]["steps"]] == [list(pair) for pair in zip(*added, strict=True)]
    assert gains[0] != gains[2] and found["curve"]["papers"] == len(papers)
    assert found["curve"]["repeats"] == 2 * sum(map(len, references.values())), "the shared line, twice a case"
    assert found["curve"]["left_out"] == {}


def test_a_stopped_study_goes_on_and_a_finished_one_scores_nothing(state, made, tmp_path):
    before = query(state, STORED)
    lm = OverlapLM()
    use(lm)
    assert shown("study", "committee", EDITION, "-m", "gem", "--state", state)[0] == 0
    assert query(state, STORED) == before
    shutil.copytree(made, tmp_path / "again")
    store = Store(tmp_path / "again", EDITION)
    with store.lock("test"):
        with store.transaction() as connection:
            connection.execute("delete from committees where members = 'model-a and model-b and model-c'")
        store.copy_for_readers()
    assert shown("study", "committee", EDITION, "-m", "gem", "--state", tmp_path / "again")[0] == 0
    assert query(tmp_path / "again", STORED) == before


def test_board_json_page_and_release_have_the_curve_and_a_scores_only_release_reads_it(state, tmp_path):
    asked = ("leaderboard", EDITION, "--metric", "gem", "--json", "--state")
    found = json.loads(shown(*asked, state)[1])["committee"]
    assert [step["reviewers"] for step in found["steps"]] == [1, 2, 3]
    shutil.copytree(state, tmp_path / "state")
    code, text = shown("publish", EDITION, "--scores-only", "--state", tmp_path / "state", "--out", tmp_path / "out")
    assert code == 0, text
    (folder,) = (tmp_path / "out").glob("*-r1")
    page = (folder / "index.html").read_text()
    assert "A committee of 3 LM reviewers tells" in page and "human adds to all" in page
    assert (folder / "figures" / "gem_committee.svg").is_file()
    assert shown("verify", folder, "--again")[0] == 0
    load_release(folder, tmp_path / "loaded")
    assert json.loads(shown(*asked, tmp_path / "loaded")[1])["committee"] == found
    assert shown("study", "committee", EDITION, "-m", "gem", "--state", tmp_path / "loaded")[0] == 0


def test_who_is_removed_is_in_no_committee_and_its_predictions_go(state, tmp_path):
    shutil.copytree(state, tmp_path / "state")
    assert shown("remove", EDITION, "model-c", "--yes", "--state", tmp_path / "state")[0] == 0
    left = {row[0] for row in query(tmp_path / "state", "select distinct members from committees")}
    assert left <= {"model-a and model-b"}
    used = "select unnest(predictions) as id from scores union select unnest(predictions) from committees"
    spans = "select prediction as id from spans"
    for first, second in ((used, spans), (spans, used)):
        assert query(tmp_path / "state", f"({first}) except ({second})") == []
    said = shown("leaderboard", EDITION, "--metric", "gem", "--json", "--state", tmp_path / "state")[1]
    assert json.loads(said)["committee"] is None


def test_a_paper_with_a_committee_too_long_for_the_lm_is_left_out_of_both_halves():
    papers = [f"p{k:02d}" for k in range(12)]
    random = np.random.default_rng(2)
    told = {who: dict(zip(papers, random.normal(len(who), 1, 12), strict=True)) for who in
            map(lambda names: sort_members(*names), (["a"], ["b"], ["a", "b"], ["a", "b", "human"]))}  # fmt: skip
    whole = compute_committee_curve(told, ["a", "b"], papers)
    assert whole and whole.papers == 12
    del told[sort_members("a", "b", "human")]["p03"]
    assert compute_committee_curve(told, ["a", "b"], papers) is None, "a score is lacking"
    less = compute_committee_curve(told, ["a", "b"], papers, {"p03"})
    assert less and less.papers == 11 and "p03" in {name for half in split_into_random_halves(papers) for name in half}


def test_the_metrics_that_are_named_are_studied(made, tmp_path):
    use(OverlapLM())
    shutil.copytree(made, tmp_path / "state")
    named = ("gem", "gem_s_abstract")
    asked = [part for name in named for part in ("-m", name)]
    report = json.loads(shown("study", "committee", EDITION, *asked, "--state", tmp_path / "state", "--json")[1])
    assert tuple(row["metric"] for row in report["metrics"]) == named

"""What a board claims: ranks with their tests, contamination, lengths, costs. The sample edition, scripted LM."""

from __future__ import annotations

import json
import math
import shutil

import numpy as np
import pytest
from scipy import stats

from gre_bench.catalogs import models
from gre_bench.pipeline.ranking import compute_text_cost, find_rank_group
from gre_bench.stats.effects import adjust_by_holm
from gre_bench.store import Store
from gre_bench.store.queries import CLEAN_GAP, CURRENT_SIGNATURES, LEADERBOARD
from tests.cli.calling import shown
from tests.flows.refreshing import EDITION, add_reviews, query, refreshed, reviews_by, run, use
from tests.scripted_lms import OverlapLM

LONG = "\nThe reviewer criticizes the baselines of paper {n}.\nThe reviewer suggests an ablation of part {n}."


def wordier(model: str) -> list[dict]:
    """Reviews with two judgments more, on every paper but s03."""
    rows = [row for row in reviews_by(model) if row["paper_id"] != "s03"]
    return [row | {"judgments": row["judgments"] + LONG.format(n=row["paper_id"][1:])} for row in rows]


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    state = refreshed(tmp_path_factory.mktemp("standings"))
    use(OverlapLM())
    add_reviews(state, reviews_by("model-a"))
    add_reviews(state, wordier("openai/gpt-4o"))
    # Learnt until July 2025; the reviews of SAMPLE 2026 came out in November 2025, those of 2024 earlier.
    models_file = cut_off(state, {"model-a": "2025-07-31", "late": "2025-12-31"})
    add_reviews(state, [row | {"judgments": row["judgments"] + " Late."} for row in reviews_by("late")])
    run(state, models_file)
    return state


def cut_off(state, cutoffs: dict[str, str]) -> str:
    """The setting of a models file with the last day of the training texts of each model."""
    entry = '[[model]]\nname = "{0}"\nendpoint = "http://127.0.0.1:1/v1"\nmodel = "{0}"\nknowledge_cutoff = {1}\n'
    file, prices = state / "models.toml", "price_in = 2.0\nprice_out = 10.0\n"
    file.write_text("\n".join(entry.format(name, cutoff) + prices for name, cutoff in cutoffs.items()))
    return f"writing.models={file}"


def board(state, columns: str, where: str = "true") -> list[tuple]:
    return query(state, f"select candidate, {columns} from leaderboard where metric = 'gem' and {where} order by rank")


def by_paper(state, candidate: str) -> dict[tuple[str, str], float]:
    rows = query(
        state,
        "select paper_id, reference_id, value from pairs join signatures using (signature_id) "
        f"where metric = 'gem' and candidate_id = '{candidate}' and state = 'scored'",
    )
    return {(paper, reference): value for paper, reference, value in rows}


def paired(state, one: str, other: str):
    a, b = by_paper(state, one), by_paper(state, other)
    differences: dict[str, list[float]] = {}
    for key in a.keys() & b.keys():
        differences.setdefault(key[0], []).append(a[key] - b[key])
    return stats.ttest_1samp([np.mean(values) for values in differences.values()], 0)


def test_each_rank_stands_on_students_test_by_paper_with_holm_over_all_pairs_of_the_ranked(state):
    rows = board(state, "next_candidate, next_p, p, tied, tests", "rank is not null")
    names = [row[0] for row in rows]
    assert set(names) == {"human", "model-a"}
    tests = {(one, other): paired(state, one, other) for k, one in enumerate(names) for other in names[k + 1 :]}
    adjusted = dict(zip(tests, adjust_by_holm([test.pvalue for test in tests.values()]), strict=True))
    first = rows[0]
    assert first[1] == names[1]
    assert first[2] == pytest.approx(adjusted[names[0], names[1]], rel=1e-6)
    assert (first[4], first[5]) == (first[2] >= 0.05, len(tests))
    assert rows[-1][1:3] == (None, None)


def test_a_contaminated_candidate_is_ranked_on_the_whole_board_alone(state):
    ((_, rank, unranked, contamination),) = board(state, "rank, unranked, contamination", "candidate = 'late'")
    assert (rank, contamination) == (None, "contaminated")
    assert unranked == "contaminated: learnt until 2025-12-31, reviews of 2025-11-11"
    whole = query(state, "select candidate, rank, tests from board where board = 'all' and metric = 'gem' order by 1")
    assert {("late", True), ("human", True), ("generic", False)} <= {(name, bool(rank)) for name, rank, _ in whole}
    assert {tests for _, rank, tests in whole if rank} == {3}
    found = dict(board(state, "contamination"))
    assert (found["human"], found["model-a"], found["generic"]) == ("none", "clean", "none")


def test_the_line_on_contaminated_candidates_names_them(state):
    told = " ".join(shown("leaderboard", "--metric", "gem", "--state", state)[1].split())
    assert "Contaminated candidates, which have no rank here (late), score" in told
    store = Store(state, EDITION)
    ids = [row["signature_id"] for row in store.read(CURRENT_SIGNATURES)]
    assert {tuple(row["candidates"]) for row in store.read(CLEAN_GAP, signature_ids=ids)} == {("late",)}


def test_where_every_model_of_a_group_is_contaminated_the_board_ranks_them_and_compares_no_groups(tmp_path):
    state = refreshed(tmp_path)
    use(OverlapLM())
    cutoffs = {"model-a": "2025-12-31", "late": "2025-12-31", "apart": "2024-12-31"}
    add_reviews(state, [row for name in cutoffs for row in reviews_by(name)])
    run(state, cut_off(state, cutoffs), 'board.groups={others=["apart"]}')
    rows = {name: row for name, *row in board(state, "rank is not null, unranked, contamination")}
    assert rows["model-a"] == rows["late"] == [True, None, "contaminated"]
    assert rows["apart"] == [True, None, "clean"]
    told = shown("leaderboard", "--metric", "gem", "--state", state)[1]
    assert "all 2 models may have read these reviews (contaminated)" in told
    assert "contaminated models score" not in told


def test_each_group_has_ranks_of_its_own_and_is_shown_apart(tmp_path):
    use(OverlapLM())
    run(tmp_path, "scoring.metrics=['gem']", limit=4)
    for number, name in enumerate(("lab/a", "lab/b", "model-a", "model-b")):
        more = "\nThe reviewer suggests more." * number
        add_reviews(tmp_path, [row | {"judgments": row["judgments"] + more} for row in reviews_by(name)])
    run(
        tmp_path,
        "scoring.metrics=['gem']",
        "board.groups={lab=['lab/*']}",
        "board.notes={human='paraphrased'}",
        limit=4,
    )
    store = Store(tmp_path, EDITION)
    ids = [row["signature_id"] for row in store.read(CURRENT_SIGNATURES)]
    rows = {row["candidate"]: row for row in store.read(LEADERBOARD, signature_ids=ids)}
    main = {name: row["rank"] for name, row in rows.items() if row["group_name"] is None and row["rank"]}
    lab = {name: row["rank"] for name, row in rows.items() if row["group_name"] == "lab"}
    assert sorted(main) == ["human", "model-a", "model-b"] and set(main.values()) <= {1, 2, 3}
    assert sorted(lab) == ["lab/a", "lab/b"] and set(lab.values()) <= {1, 2}
    assert rows["lab/a"]["tests"] == rows["model-a"]["tests"] == 1 + 3, "one family of all groups"
    assert {rows[name]["next_candidate"] for name in lab} <= {"lab/a", "lab/b", None}
    code, text = shown("leaderboard", EDITION, "--state", tmp_path)
    assert (
        code == 0
        and "group lab, ranked only with each other, as this board's settings say (--all): " in text
        and "lab/b" not in text
        and "paraphrased" in text
    )
    code, text = shown("leaderboard", EDITION, "--all", "--state", tmp_path)
    assert code == 0 and "group lab, ranked only with each other, as" in text and "lab/b" in text


def test_humans_and_controls_belong_to_no_group():
    groups = {"first": ("*",), "second": ("model-a",)}
    assert [find_rank_group(name, groups) for name in ("human", "generic", "model-a")] == [None, None, "first"]


def test_lengths_are_in_words_of_the_judgments_and_the_human_score_stays_at_the_human_length(state):
    # An incomplete candidate has its length, but no rank.
    ((_, rank, unranked, words, at),) = board(state, "rank, unranked, words, at_length", "candidate = 'openai/gpt-4o'")
    assert (rank, unranked) == (None, "only 30 of 32 pairs scored")
    assert math.isfinite(at)
    fewer = board(state, "words", "candidate = 'model-a'")[0][1]
    assert words > fewer
    texts = [row["judgments"] for row in reviews_by("model-a")]
    assert fewer == pytest.approx(np.mean([len(text.split()) for text in texts]))
    ((_, mean, at, human_words),) = board(state, "score, at_length, human_words", "kind = 'human'")
    assert at == pytest.approx(mean)
    lengths = query(state, "select j.text from sample s join judgments j using (review_id) where role = 'candidate'")
    assert human_words == pytest.approx(np.exp(np.mean([np.log(len(text.split())) for (text,) in lengths])))
    # What was imported has a price that nobody knows.
    assert {row[1:] for row in board(state, "asked, prompt_tokens, usd", "candidate = 'model-a'")} == {(0, None, None)}


def test_a_score_at_a_length_that_a_candidate_never_wrote_at_is_marked(state, tmp_path):
    rows = board(state, "human_words, shortest, longest, extrapolated", "kind <> 'control'")
    assert len(rows) > 2
    for name, at, shortest, longest, extrapolated in rows:
        texts = {row["judgments"] for row in reviews_by(name)} if name == "model-a" else set()
        counts = [len(text.split()) for text in texts] or [shortest, longest]
        assert (shortest, longest, extrapolated) == (min(counts), max(counts), not min(counts) <= at <= max(counts))
    assert ("human", False) in [(row[0], row[4]) for row in rows]
    shutil.copytree(state / "editions", tmp_path / "editions")
    store = Store(tmp_path, EDITION)
    with store.lock("test"):
        with store.transaction() as connection:
            connection.execute("update lengths set shortest = 5000, longest = 6000 where candidate_id = 'model-a'")
        store.copy_for_readers()
    assert "blank: it would be a guess" in shown("leaderboard", EDITION, "--details", "--state", tmp_path)[1]
    told = json.loads(shown("leaderboard", EDITION, "--json", "--state", tmp_path)[1])
    marked = {row["candidate"] for row in told["rows"] if row["extrapolated"]}
    assert marked == {"model-a", *(row[0] for row in rows if row[4])}


def test_no_claim_of_order_outlives_new_scores(state, tmp_path):
    shutil.copytree(state / "editions", tmp_path / "editions")
    add_reviews(tmp_path, reviews_by("model-b"))

    class Stops(OverlapLM):
        def logprob(self, predictions):
            raise KeyboardInterrupt

    use(Stops())
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path)
    use(OverlapLM())
    assert query(tmp_path, "select count(*) from rank_statistics") == [(0,)]
    run(tmp_path)
    assert query(tmp_path, "select count(*) > 0 from rank_statistics") == [(True,)]


def test_tokens_and_money_are_those_of_reviews_and_judgments_at_the_listed_prices():
    known = models.load()
    asked = {"asked": 10, "unusable": 1, "unstated": 0, "prompt_tokens": 2_000_000, "reply_tokens": 100_000}
    review = asked | {"task": "review", "writer": "openai/gpt-4o@2024-05-13 · prompt 00 · sampling 00"}
    price = known["openai/gpt-4o"]
    expected = 2 * price.price_in + 0.1 * price.price_out
    judged = {"asked": 10, "unusable": 0, "unstated": 10, "prompt_tokens": None, "reply_tokens": None}
    by_rule = judged | {"task": "judgments", "writer": "rule-judgments-4"}
    found = compute_text_cost([review, by_rule], known, "review")
    assert (found["asked"], found["unusable"], found["prompt_tokens"]) == (20, 1, 2_000_000)
    assert found["usd"] == pytest.approx(expected)
    assert compute_text_cost([review | {"unstated": 1}], known, "review")["usd"] is None
    assert compute_text_cost([review | {"writer": "somebody@1"}], known, "review")["usd"] is None
    assert compute_text_cost([by_rule], known, "review")["usd"] is None
    assert compute_text_cost([by_rule], known, "judgments")["usd"] == 0

"""Candidates through the years, and two of one edition: only what is paired is compared."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from gre_bench.board.years import compute_changes_between_editions, tabulate_candidates_by_edition
from gre_bench.cli.views import screen
from gre_bench.cli.views.comparison import show_candidate_comparison
from gre_bench.pipeline.importing import import_reviews
from gre_bench.pipeline.runs.job import record_run
from gre_bench.store import Store
from tests.cli.calling import shown
from tests.flows.refreshing import EDITION, add_reviews, demo, query, reviews_by, run, use
from tests.scripted_lms import OverlapLM

NEXT = "SAMPLE-2027"


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """The sample edition, and the same reviews drawn with another seed as another year's."""
    use(OverlapLM())
    state = tmp_path_factory.mktemp("history")
    later = ("edition.year=2027", "edition.seed=1")
    run(state, "scoring.metrics=['gem']")
    run(state, "scoring.metrics=['gem']", *later)
    twin = [
        row | {"judgments": row["judgments"] + "\nThe reviewer suggests a baseline."} for row in reviews_by("model-b")
    ]
    add_reviews(state, reviews_by("model-a") + twin)
    store = Store(state, NEXT)
    with store.lock("import"), record_run(store, "import", demo(*later), shown=False) as progress:
        import_reviews(store, progress.run_id, state / "rows.jsonl")
        progress.end("done")
    run(state, "scoring.metrics=['gem']")
    run(state, "scoring.metrics=['gem']", *later)
    return state


@pytest.fixture
def call(state):
    return lambda *arguments: shown(*arguments, "--state", state)


def leads(state, edition: str, candidate: str, anchor: str = "human") -> np.ndarray:
    rows = query(
        state,
        "select avg(c.value - h.value) from pairs c join pairs h using (signature_id, paper_id, reference_id) "
        f"where c.candidate_id = '{candidate}' and h.candidate_id = '{anchor}' group by paper_id",
        edition,
    )
    return np.array([row[0] for row in rows])


def test_years_compare_by_the_change_of_the_difference_to_the_human_baseline(call, state):
    code, shown = call("history", "--json")
    assert code == 0
    found = json.loads(shown)
    assert {(row["edition"], row["candidate"], row["kind"]) for row in found["rows"]} == {
        (edition, name, kind)
        for edition in (EDITION, NEXT)
        for kind, names in (("model", ("model-a", "model-b")), ("control", ("generic", "other-paper")))
        for name in names
    }
    for row in found["changes"]:
        assert (row["from"], row["to"]) == (EDITION, NEXT)
        one, other = (leads(state, edition, row["candidate"]) for edition in (EDITION, NEXT))
        expected = stats.ttest_ind(other, one, equal_var=False)
        assert (row["value"], row["p"]) == pytest.approx((other.mean() - one.mean(), expected.pvalue), rel=1e-6)
        assert row["p"] <= row["p_holm"] <= 2 * row["p"] + 1e-12
    assert len(found["changes"]) == 2


def test_another_anchor_is_another_difference(call, state):
    found = json.loads(call("history", "--anchor", "model-a", "--json")[1])
    rows = {row["candidate"]: row for row in found["rows"] if row["edition"] == EDITION}
    assert {name for name, row in rows.items() if row["kind"] != "control"} == {"human", "model-b"}
    assert rows["model-b"]["difference"] == pytest.approx(leads(state, EDITION, "model-b", "model-a").mean())


ROW = {"metric": "gem", "candidate": "a", "kind": "model", "venue": "V", "difference": 1.0, "se": 0.1,
       "papers": 30, "units": 30}  # fmt: skip


def test_two_signatures_and_two_samples_are_two_histories():
    one, *others = (
        ROW | {"year": 1, "edition": edition, "signature_id": signature}
        for edition, signature in (("V-2024", "s1"), ("V-2025", "s2"), ("V-2025-pilot", "s1"), ("V-2025", "s1"))
    )
    assert [len(compute_changes_between_editions([one, other])) for other in others] == [0, 0, 1]
    assert compute_changes_between_editions([line | {"kind": "control"} for line in (one, others[-1])]) == []


def test_years_that_compare_stand_side_by_side_and_others_apart():
    rows = [
        ROW | {"candidate": name, "edition": f"V-{year}{sample}", "year": year, "signature_id": signature, "difference": value}
        for name, year, sample, signature, value in (
            ("a", 2024, "", "s1", 1.0), ("b", 2024, "", "s1", 2.0), ("a", 2025, "", "s1", 3.0),
            ("a", 2025, "", "s2", 1.0), ("a", 2025, "-pilot", "s1", 1.0),
        )
    ]  # fmt: skip
    tables = tabulate_candidates_by_edition(rows)
    assert [(one["sample"], one["signature_id"], one["editions"]) for one in tables] == [
        ("main", "s1", ["V-2024", "V-2025"]), ("main", "s2", ["V-2025"]), ("pilot", "s1", ["V-2025-pilot"]),
    ]  # fmt: skip
    lines = {line["candidate"]: [year and year["difference"] for year in line["years"]] for line in tables[0]["lines"]}
    assert lines == {"a": [1.0, 3.0], "b": [2.0, None]} and [*lines] == ["a", "b"], "the best of the last year first"


def test_a_column_is_a_year_and_few_papers_are_told(call):
    code, shown = call("history")
    head = next(line for line in shown.splitlines() if line.startswith("candidate"))
    assert code == 0 and EDITION in head and NEXT in head
    assert shown.count("difference to human, paired by paper") == 1, "two years that compare stood apart"
    (line,) = [line for line in shown.splitlines() if line.startswith("model-a ")]
    assert line.count("±") >= 2
    assert f"{EDITION}: few papers: 16." in shown and f"{NEXT}: few papers: 16." in shown


def test_a_candidate_without_a_rank_is_in_the_history_with_the_reason(call, state):
    add_reviews(state, reviews_by("lab/half", range(1, 9)))
    run(state, "scoring.metrics=['gem']")
    found = json.loads(call("history", "--json")[1])
    (row,) = [row for row in found["rows"] if row["candidate"] == "lab/half"]
    assert row["unranked"] and row["papers"] == 8 and found["few"][EDITION] == 16
    assert "no rank: only 16 of 32 pairs scored" in " ".join(call("history")[1].split())
    anchored = json.loads(call("history", EDITION, "--anchor", "half", "--json")[1])
    assert anchored["anchors"] == ["lab/half"], "an anchor by the end of its name"


def test_two_candidates_are_compared_on_the_pairs_that_both_have(call, state):
    code, shown = call("compare", "model-b", "model-a", "--edition", EDITION, "--json")
    (row,) = json.loads(shown)["candidates"]
    found = leads(state, EDITION, "model-b", "model-a")
    assert code == 0
    assert (row["difference"], row["p"]) == pytest.approx((found.mean(), stats.ttest_1samp(found, 0).pvalue))
    assert (row["won"], row["lost"]) == ((found > 0).sum(), (found < 0).sum())
    assert [paper["difference"] for paper in row["most"]] == pytest.approx(sorted(found[found > 0])[::-1][:3])
    assert [paper["difference"] for paper in row["least"]] == pytest.approx(sorted(found[found < 0])[:3])
    told = call("compare", "model-b", "model-a", "--edition", EDITION, "--details")[1]
    assert f"corrected for the board's {row['board']['tests']} tests" in told and "alone, for one question" in told


def test_the_corrected_p_of_a_comparison_is_the_one_of_the_board(call):
    rows = json.loads(call("leaderboard", EDITION, "--metric", "gem", "--json")[1])["rows"]
    for row in (row for row in rows if row["p"] is not None):
        shown = call("compare", row["candidate"], "human", "--edition", EDITION, "--metric", "gem", "--json")[1]
        (found,) = json.loads(shown)["candidates"]
        board = found["board"]
        assert (board["p_holm"], board["tests"]) == (pytest.approx(row["p"]), row["tests"])


def test_a_paper_that_a_candidate_lost_is_never_among_its_best():
    tests = {"difference": -2.0, "low": -3.0, "high": -1.0, "p": 0.03, "papers": 9, "sign_p": 0.004, "median": -2.0,
             "trimmed": -2.0}  # fmt: skip
    row = tests | {
        "metric": "gem", "problem": None, "validated": True, "validation": "validated on ICLR-2020",
        "evaluation_lm": "lm", "other_lms": [], "won": 0, "lost": 9, "most": [], "chance": None, "above_chance": None,
        "least": [{"paper_id": "s1", "difference": -4.0}], "board": {"p_holm": 0.09, "tests": 6},
        "notes": ["", ""],
    }  # fmt: skip
    with screen.out.capture() as captured:
        about = {"compared": ["a", "human"], "edition": EDITION, "candidates": [row]}
        show_candidate_comparison(about, details=True)
    told = " ".join(captured.get().split())
    assert "a leads on no paper" in told and "human leads most on: s1 by 4.00" in told
    assert "not told apart on the board (p 0.090, corrected for the board's 6 tests); human scores" in told
    assert (
        "human scores higher if this is the only question asked (p 0.030), by 2.00 nats (90% interval 1.00 to 3.00)"
        in told
    )


def told_of(*rows, notes=("", "")) -> str:
    """Returns the words of the screen for rows of *metric*, corrected p, whether validated, and other LMs."""
    row = {"problem": None, "evaluation_lm": "lm", "difference": 2.0, "low": 1.0, "high": 3.0, "p": 0.001, "papers": 40,
           "won": 30, "lost": 10}  # fmt: skip
    told = [
        row | {"metric": metric, "validated": is_validated, "other_lms": others,
               "validation": "validated on ICLR-2020" if is_validated else "unvalidated: fail on ICLR-2020",
               "board": {"p_holm": p, "tests": 6, "surely_ahead": "a"}, "notes": notes}
        for metric, p, is_validated, others in rows
    ]  # fmt: skip
    with screen.out.capture() as captured:
        show_candidate_comparison({"compared": ["a", "human"], "edition": EDITION, "candidates": told})
    return " ".join(captured.get().split())


def test_a_comparison_says_who_scores_higher_how_sure_what_is_unvalidated_and_what_human_is():
    told = told_of(("gem_s_abstract", 0.002, True, []), ("gem", 0.001, False, []), notes=["", "human: a note"])
    assert "GEM-S (abstract): a scores higher (p 0.002, corrected for the board's 6 tests), by 2.00 nats" in told
    assert "(90% interval 1.00 to 3.00), on 30 of 40 papers GEM: no order, not validated (failed on ICLR-2020)" in told
    assert (
        "scored by lm: validated on ICLR-2020 Only one evaluation LM has scored this." in told
        and "human: a note" in told
    )
    assert "chance" not in told


def test_a_second_evaluation_lm_says_what_it_says_of_the_two():
    other = {"evaluation_lm": "second", "leader": "human", "p": 0.4, "board": {"p_holm": 0.9, "tests": 6}}
    told = told_of(("gem_s_abstract", 0.002, True, [other]))
    assert "on 30 of 40 papers; by second, not told apart on the board (p 0.900, corrected" in told
    assert "Only one evaluation LM" not in told


def test_a_metric_that_is_not_validated_orders_nobody_even_if_it_is_asked_for():
    told = told_of(("gem", 0.001, False, []))
    assert "GEM: no order, not validated (failed on ICLR-2020); a has the higher mean by 2.00 nats" in told
    assert "scores higher" not in told


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (
            ("history", "--anchor", "nobody"),
            "no history to show (SAMPLE-2026: no candidate on the same pairs as nobody",
        ),
        (("compare", "model-a", "human"), "gre-bench compare A B --edition EDITION"),
        (("compare", "model-a", "--edition", EDITION), "compares two candidates"),
        (("compare", "model-a", "nobody", "--edition", EDITION), "has no candidate nobody; known, nearest first:"),
    ],
)
def test_what_is_not_there_is_one_line(call, arguments, part):
    code, line = call(*arguments)
    assert (code, part in line) == (2, True)

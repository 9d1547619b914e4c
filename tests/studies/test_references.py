"""``gre-bench study hygiene`` on the sample edition: new scores against candidates' reviews, and nothing kept."""

from __future__ import annotations

import json

import pytest

from gre_bench.core.records import Prediction
from tests.cli.calling import shown
from tests.flows.refreshing import EDITION, add_reviews, query, refreshed, reviews_by, run, use
from tests.scripted_lms import OverlapLM


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    state = refreshed(tmp_path_factory.mktemp("hygiene"))
    use(OverlapLM())
    add_reviews(state, reviews_by("model-a"))
    add_reviews(
        state, [row | {"judgments": f"The reviewer suggests {row['paper_id']}."} for row in reviews_by("model-b")]
    )
    run(state)
    return state


@pytest.fixture
def call(state):
    use(OverlapLM())

    return lambda *arguments: shown("study", "hygiene", EDITION, *arguments, "--state", state)


def test_a_candidate_gains_most_by_its_own_references_and_nothing_is_kept(call, state):
    before = query(state, "select count(*) from scores")
    code, shown = call("-m", "gem", "--candidate", "model-a", "--papers", "5", "--json")
    assert code == 0
    (found,) = json.loads(shown)["metrics"]
    swap = {row["candidate"]: row for row in found["swap"]}
    assert set(swap) == {"model-a", "model-b"} and {row["papers"] for row in swap.values()} == {5}
    assert swap["model-a"]["upper_bound"] and not swap["model-b"]["upper_bound"]
    assert swap["model-a"]["shift"] > swap["model-b"]["shift"]
    assert {row["what"] for row in found["reviewers"]} == {"without reviewer 1", "without reviewer 2"}
    assert query(state, "select count(*) from scores") == before


def test_the_score_against_a_swapped_reference_is_the_metrics_own(call, state):
    (found,) = json.loads(call("-m", "gem", "--candidate", "model-b", "--papers", "1", "--json")[1])["metrics"]
    (row,) = [row for row in found["swap"] if row["candidate"] == "model-a"]
    ((first, human),) = query(
        state, "select paper_id, text from sample join judgments using (review_id) where position = 0 and place = 0"
    )
    texts = {item["paper_id"]: item["judgments"] for item in reviews_by("model-a")}
    reference = f"The reviewer suggests {first}."

    def score(x: str) -> float:
        return (
            OverlapLM.span(Prediction(x, None, reference)).total
            - OverlapLM.span(Prediction(None, None, reference)).total
        )

    assert (row["papers"], row["low"]) == (1, None)
    assert row["shift"] == pytest.approx(0.1 * (score(texts[first]) - score(human) - row["lead"]))


def test_strata_come_from_a_file(call, state, tmp_path):
    references = query(state, "select review_id, place from sample where role = 'reference'")
    file = tmp_path / "likelihood.csv"
    file.write_text(
        "review_id,likelihood\n" + "".join(f"{name},{0.9 if place == 1 else 0.2}\n" for name, place in references)
    )
    (found,) = json.loads(call("-m", "gem", "--papers", "0", "--likelihood", file, "--json")[1])["metrics"]
    assert (found["swap"], {row["candidate"] for row in found["strata"]}) == ([], {"model-a", "model-b"})
    assert "an LM likely wrote" in call("-m", "gem", "--papers", "0", "--likelihood", file)[1]


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("review_id,score\na,1\n", "row 1: needs review_id and a number in likelihood"),
        ("review_id,likelihood\na," + "x" * 200_000 + "\n", "row 1: "),
        ("review_id,likelihood\na,nan\n", "row 1: the likelihood is no finite number"),
        ("review_id,likelihood\n", "has columns and no row"),
    ],
)
def test_a_file_that_says_nothing_is_one_line(call, tmp_path, content, part):
    file = tmp_path / "likelihood.csv"
    file.write_text(content)
    code, line = call("-m", "gem", "--papers", "0", "--likelihood", file)
    assert (code, part in line, "\n" in line) == (2, True, False)


def test_an_unknown_intruder_and_another_evaluation_lm_are_one_line_each(call):
    code, line = call("--candidate", "nobody")
    assert (code, "no model nobody on its board; there are: model-a, model-b" in line) == (2, True)
    use(OverlapLM("scripted-other"))
    code, line = call("-m", "gem", "--papers", "2")
    assert (code, "scripted-overlap then, scripted-other now" in line) == (2, True)

"""``gre-bench compare A B --edition EDITION`` of two evaluation LMs: orders compare, scores never stand side by side."""

from __future__ import annotations

import json

import pytest
from scipy import stats

from tests.cli.calling import shown
from tests.flows.refreshing import EDITION, add_reviews, query, reviews_by, run, use
from tests.scripted_lms import OverlapLM


class FirstWordsLM(OverlapLM):
    """Tells apart by words too, but looks at the first dozen of x alone; all numbers ten times as large."""

    @staticmethod
    def span(prediction):
        given = set(f"{prediction.x or ''}".lower().split()[:12])
        logprobs = [-10.0 if word.lower() in given else -40.0 for word in prediction.reply.split()]
        return type(OverlapLM.span(prediction))(sum(logprobs), tuple(range(len(logprobs))), tuple(logprobs))


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    state = tmp_path_factory.mktemp("lms")
    use(OverlapLM())
    run(state, "scoring.metrics=['gem']")
    twin = [
        row | {"judgments": row["judgments"] + "\nThe reviewer suggests a baseline."} for row in reviews_by("model-b")
    ]
    add_reviews(state, reviews_by("model-a") + twin)
    run(state, "scoring.metrics=['gem', 'gem_raw']")
    use(FirstWordsLM("scripted-first-words"))
    run(state, "scoring.metrics=['gem']")
    return state


@pytest.fixture
def call(state):
    return lambda *arguments: shown("compare", *arguments, "--state", state)


LMS = ("scripted-overlap", "scripted-first-words")


def test_two_lms_named_or_by_their_signatures_are_compared_on_the_pairs_that_both_have_scored(call, state):
    code, shown = call(*LMS, "--edition", EDITION, "--json")
    assert code == 0
    (row,) = json.loads(shown)["evaluation_lms"]
    assert (row["metric"], row["differ_in"], row["problem"]) == ("gem", {}, None)
    assert [lm["evaluation_lm"] for lm in row["lms"]] == list(LMS)
    assert {line["candidate"] for line in row["candidates"]} == {"human", "model-a", "model-b"}
    for line in row["candidates"]:
        pairs = query(
            state,
            "select a.value, b.value from pairs a join pairs b using (paper_id, candidate_id, reference_id) where "
            f"candidate_id = '{line['candidate']}' and a.signature_id = '{row['signature_ids'][0]}' and "
            f"b.signature_id = '{row['signature_ids'][1]}' and a.state = 'scored' and b.state = 'scored'",
        )
        assert line["pairs"] == len(pairs) > 20
        assert line["spearman"] == pytest.approx(stats.spearmanr(*zip(*pairs, strict=True))[0])
    order = row["order"]
    assert sum(order[key] for key in ("both", "only_first", "only_second", "neither")) + len(order["contradict"]) == 3
    assert -1 <= row["agreement"]["low"] <= row["agreement"]["high"] <= 1
    told = {key for line in row["candidates"] for key in line}
    assert told == {"candidate", "pairs", "ranks", "leads", "spearman"}, "no score of one beside a score of the other"
    code, printed = call(*LMS, "--edition", EDITION)
    assert code == 0 and "1 is scripted-overlap, 2 is" in printed and "lead by 1" in printed
    ids = row["signature_ids"]
    code, printed = call(ids[0][:8], ids[1], "--edition", EDITION, "--json")
    assert code == 0 and json.loads(printed)["evaluation_lms"][0]["signature_ids"] == ids


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ((LMS[0], LMS[0]), "one signature named twice"),
        ((*LMS, "--metric", "gem_raw"), "have no metric in common among gem_raw"),
        ((LMS[0], "model-a"), "has no candidate scripted-overlap; known, nearest first:"),
        ((LMS[0], "no-such-lm"), "has no scores by no-such-lm; known: "),
        (("model-a",), "compares two candidates"),
    ],
)
def test_what_does_not_compare_is_one_line(call, arguments, part):
    code, line = call(*arguments, "--edition", EDITION)
    assert (code, part in line, "\n" in line) == (2, True, False), line

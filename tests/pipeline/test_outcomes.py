"""What became of what LMs were asked, by candidate, purpose and LM: on the board, as JSON and in the status."""

from __future__ import annotations

import json
import shutil
from functools import partial

import pytest

from gre_bench.flows.annual_refresh import refresh
from gre_bench.store import Store
from gre_bench.store.queries import OUTCOMES
from gre_bench.tasks import steps
from gre_bench.writing import http_writer
from tests.cli.calling import shown
from tests.flows.refreshing import EDITION, use, with_papers_read
from tests.pipeline.runs.test_bounds import LM, of_edition
from tests.scripted_lms import OverlapLM
from tests.servers.scripted_chat import MODEL, scripted_chat, written

KINDS = ("ok", "cut", "refused", "empty", "unparsable", "rate_limited", "failed", "not_asked")


@pytest.fixture(scope="module")
def edition(tmp_path_factory):
    """Three papers: one review refused, one cut; no judgments of the other two; a grade that is always refused; 429 for synopses."""
    state = tmp_path_factory.mktemp("outcomes") / "state"
    use(OverlapLM())
    reviews = iter(["refusal", "length", "ok"])

    def due(body):
        system = body["messages"][0]["content"]
        if "<summary> tags" in system:
            return next(reviews)
        refused = {"<strengths_claimed_by_the_paper>": "429", "<overall_score>": "filter"}
        return next((what for tag, what in refused.items() if tag in system), None)

    def write(body):
        system, user = (part["content"] for part in body["messages"])
        mine = "It is good that" in user or "appreciates clarity" in user
        return "No." if "summarize each evaluation" in system and mine else written(body)

    impatient = partial(http_writer.RetryPolicy, attempts=1, first_wait_s=0.01, concurrency=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(http_writer, "RetryPolicy", impatient)
        with scripted_chat(when=due, write=write) as server:
            refresh(of_edition(with_papers_read(state), server.url), steps.undecorated())
        yield state


def counted(rows):
    """The kinds that there are, by candidate and purpose."""
    assert all(row["asked"] == sum(row[kind] for kind in KINDS) for row in rows)
    assert {row["model"] for row in rows} == {f"{LM}@{MODEL}"}
    return {(row["candidate"], row["purpose"]): {kind: row[kind] for kind in KINDS if row[kind]} for row in rows}


def test_every_outcome_is_counted_by_candidate_purpose_and_lm(edition):
    found = counted(Store(edition, EDITION).read(OUTCOMES))
    assert found[LM, "reviews"] == {"ok": 1, "cut": 1, "refused": 1}
    assert found[LM, "judgments"] == {"unparsable": 2}
    # Of further papers too: those whose human review stands in for another one's as a control.
    for whose in ("human", "references"):
        assert found[whose, "judgments"].keys() == {"ok"} and found[whose, "judgments"]["ok"] >= 3
    assert found[None, "synopses"] == {"rate_limited": 3}
    assert found["human", "grades of lm_examiner"] == {"refused": 3}
    # The whole of it on the board, as a table and as JSON, and in the status.
    told = shown("leaderboard", "--details", "--state", edition)[1]
    table = [line.split() for line in told[told.index("Requests to LMs and their outcomes") :].splitlines()]
    head = next(words for words in table if "candidate" in words)
    assert head == ["candidate", "purpose", "LM", "asked", "ok", "cut", "refused", "unparsable", "rate", "limited"]
    assert any(words[:2] == [LM, "reviews"] and words[-5:] == ["1", "1", "1", "0", "0"] for words in table)
    as_json, status = (json.loads(shown(name, "--json", "--state", edition)[1]) for name in ("leaderboard", "status"))
    assert counted(as_json["outcomes"]) == counted(status[0]["outcomes"]) == found
    # Requests, not texts: after two in a row that came to nothing the endpoint is left alone.
    assert status[0]["spent_by_model"][LM]["outcomes"]["rate_limited"] == 2
    # Judgments that could not be read are judged reviews that say nothing: their share stands on the board.
    row = next(row for row in as_json["rows"] if row["candidate"] == LM and row["metric"] == "gem")
    assert (row["judged"], row["unparsable"]) == (2, 2)


def test_a_problem_that_passed_is_counted_no_more(edition, tmp_path):
    edition = shutil.copytree(edition, tmp_path / "state")
    with scripted_chat() as server:
        refresh(of_edition(edition, server.url), steps.undecorated())
    found = counted(Store(edition, EDITION).read(OUTCOMES))
    assert found[None, "synopses"] == {"ok": 3} and found[LM, "reviews"] == {"ok": 1, "cut": 1, "refused": 1}

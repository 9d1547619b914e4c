"""LMExaminer over real HTTP: what a reply is read as, what is asked again, and that nothing ever stands for a score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.catalogs.models import Model
from gre_bench.core.asking import RETRIES
from gre_bench.core.errors import ReplyError
from gre_bench.core.records import Case, Sampling, Score
from gre_bench.metrics.lm_examiner import LMExaminer, build_examiner_chat, parse_overall_score
from gre_bench.writing.archive import ReplyArchive
from gre_bench.writing.http_writer import HttpWriter, RetryPolicy
from tests.one_line import one_line
from tests.servers.chat import MODEL, ScriptedChat, scripted_chat

CASE = Case("p1", "c1", "none", "review", "The review is here.", "", "The whole paper.")
QUICK = RetryPolicy(concurrency=2, timeout_s=60.0, attempts=2, first_wait_s=0.01, longest_wait_s=1.0)


def examiner(server: ScriptedChat, folder: Path, sampling: Sampling = Sampling()) -> LMExaminer:
    model = Model(name="scripted", endpoint=server.url, model=MODEL)
    return LMExaminer(HttpWriter(model, ReplyArchive(folder / "archive"), QUICK), sampling, "sig")


def saying(*texts: str) -> Callable[[dict], str]:
    """A server's writing: *texts*, one a request, the last for ever."""
    left = list(texts)
    return lambda body: left.pop(0) if len(left) > 1 else left[0]


READ = [
    ("<overall_score>7</overall_score>", 7),
    ("<overall_score>\n\n7.5\n\n</overall_score>", 7.5),
    ("<overall_score>0</overall_score>", 0),
    ("<overall_score> 10.0 </overall_score>", 10),
    ("<overall_score>8/10</overall_score>", 8),
    ("<Overall_Score>3</OVERALL_SCORE>", 3),
    ("<analysis>\nI would give 9.\n</analysis>\n\n<overall_score>\n4\n</overall_score>\nI hope this helps: 10!", 4),
    ("<overall_score>3</overall_score>, that is <overall_score> 3 </overall_score>", 3),
    ("<think>\n<overall_score>9</overall_score>\n</think>\n<overall_score>1</overall_score>", 1),
    ("<overall_score>6</overall_score>\n<overall_score>", 6),
]
NOT_READ = [
    ("", "no <overall_score> in the reply"),
    ("The review deserves 8 of 10.", "no <overall_score>"),
    ("<overall_score>8", "no <overall_score>"),
    ("<score>8</score>", "no <overall_score>"),
    ("<overall_score></overall_score>", "must hold a number from 0 to 10, not ''"),
    ("<overall_score>11</overall_score>", "must hold a number from 0 to 10, not '11'"),
    ("<overall_score>10.5</overall_score>", "must hold a number"),
    ("<overall_score>-1</overall_score>", "must hold a number"),
    ("<overall_score>80/100</overall_score>", "must hold a number"),
    ("<overall_score>7-8</overall_score>", "must hold a number"),
    ("<overall_score>eight</overall_score>", "must hold a number from 0 to 10, not 'eight'"),
    ("<overall_score>nan</overall_score>", "must hold a number"),
    ("<overall_score>٧</overall_score>", "must hold a number"),
    ("<overall_score>1e1</overall_score>", "must hold a number"),
    # A second one is refused, readable or not: one may be the review's.
    (
        "First <overall_score>2</overall_score>, no, rather <overall_score>3</overall_score>",
        "several <overall_score>: '2' and '3'",
    ),
    (
        "<overall_score>2</overall_score>\nThe review itself says <overall_score>10</overall_score>.",
        "several <overall_score>",
    ),
    ("<overall_score>7</overall_score> <overall_score>none</overall_score>", "from 0 to 10, not 'none'"),
    ("<think>\n<overall_score>9</overall_score>", "no <overall_score>"),
]


@pytest.mark.parametrize(("text", "value"), READ)
def test_the_score_is_the_number_in_the_closed_tags(text, value):
    assert parse_overall_score(text) == value


@pytest.mark.parametrize(("text", "said"), NOT_READ)
def test_what_is_no_score_is_none(text, said):
    with one_line(said, kind=ReplyError):
        parse_overall_score(text)


@given(st.text(st.sampled_from("<>/overall_score 0123456789.\n"), max_size=80), st.integers(0, 100))
def test_any_chatter_before_the_score_is_passed_over(chatter, tenths):
    assert parse_overall_score(f"{chatter}<overall_score>{tenths / 10}</overall_score>") == tenths / 10


def test_hostile_replies_are_read_in_linear_time():
    opened = "<overall_score>"
    for text in (opened * 100_000, opened + " " * 1_000_000, opened + "1" * 1_000_000 + "</overall_score>"):
        with pytest.raises(ReplyError, match="^.{1,200}$"):
            parse_overall_score(text)


def test_the_examiner_is_asked_about_the_whole_paper_and_the_original_review():
    asked = build_examiner_chat(CASE)
    assert asked.system.startswith("You are an expert tasked with evaluating the quality of a review")
    assert asked.user == "[Paper]\n\nThe whole paper.\n\n[Review]\n\nThe review is here."


def test_a_review_is_graded_over_http(tmp_path):
    write = saying("<analysis>\nGood.\n</analysis>\n\n<overall_score>\n7.5\n</overall_score>")
    with scripted_chat(write=write) as server:
        metric = examiner(server, tmp_path)
        assert not metric.needs_reference
        assert metric.score([CASE]) == [Score("sig", "p1", "c1", "none", 7.5)]
        (body,) = server.requests
        assert [message["content"] for message in body["messages"]] == [
            build_examiner_chat(CASE).system,
            build_examiner_chat(CASE).user,
        ]
        assert body["temperature"] == 0.0 and "seed" not in body
        assert metric.score([CASE])[0].value == 7.5
        assert server.count == 1


def test_each_case_has_the_grade_of_its_own_review_in_the_order_of_the_cases(tmp_path):
    cases = [replace(CASE, candidate_id=f"c{count}", candidate="It is not good. " * count) for count in (6, 3, 30, 6)]
    with scripted_chat(then="thinking") as server:
        scores = examiner(server, tmp_path).score(cases)
        assert [(score.candidate_id, score.value) for score in scores] == [("c6", 2), ("c3", 1), ("c30", 10), ("c6", 2)]
        assert server.count == 3


def test_a_reply_that_cannot_be_read_is_asked_for_with_other_seeds(tmp_path):
    write = saying("Eight.", "<overall_score>8 of 10</overall_score>", "<overall_score>8</overall_score>")
    with scripted_chat(write=write) as server:
        (score,) = examiner(server, tmp_path, Sampling(0.3, 500, seed=5)).score([CASE])
        assert score.value == 8
        assert [body["seed"] for body in server.requests] == [5, 6, 7]
        assert {(body["temperature"], body["max_tokens"]) for body in server.requests} == {(0.3, 500)}


def test_what_is_never_read_is_missing_and_never_five_and_it_alone_is_asked_for_again(tmp_path):
    good = replace(CASE, candidate_id="c2", candidate="Another.")
    with scripted_chat(write=saying("I would rather not give a number.")) as server:
        metric = examiner(server, tmp_path)
        (score,) = metric.score([CASE])
        assert score.value is None
        assert (score.problem.code, score.problem.final) == ("unparsable", True)
        assert score.problem.message == "paper p1, candidate c1, reference none: no <overall_score> in the reply"
        assert server.count == 1 + RETRIES
        server.write = saying("<overall_score>5.0</overall_score>")
        failed, graded = metric.score([CASE, good])
        assert (failed.problem.code, graded.value) == ("unparsable", 5.0)
        assert server.count == 2 + RETRIES

        def answer(body):
            bad = "bad" in body["messages"][-1]["content"] and body.get("seed") != 2
            return "Hm." if bad else "<overall_score>6</overall_score>"

        server.write = answer
        server.requests.clear()
        cases = [replace(CASE, candidate_id=name, candidate=name) for name in ("fine", "bad", "finer")]
        assert [score.value for score in metric.score(cases)] == [6, 6, 6]
        assert [body.get("seed") for body in server.requests].count(None) == 3
        assert [body["seed"] for body in server.requests if "seed" in body] == [1, 2]


PROBLEMS = [
    # behaviour, code, final, requests, part of the message
    ("refusal", "refused", True, 1, "I cannot review this."),
    ("empty", "empty", True, 2, "no text"),
    ("length", "unparsable", True, 3, "no <overall_score> in the reply, which was cut at the token limit"),
    ("500", "failed", False, 2, "gave up after 2 attempts"),
    ("reset", "failed", False, 2, "connection to the endpoint failed"),
]


@pytest.mark.parametrize(("behaviour", "code", "final", "requests", "said"), PROBLEMS, ids=[row[0] for row in PROBLEMS])
def test_a_misbehaving_endpoint_becomes_a_problem_that_says_whether_to_try_again(
    tmp_path, behaviour, code, final, requests, said
):
    with scripted_chat(then=behaviour) as server:
        (score,) = examiner(server, tmp_path).score([CASE])
        assert (score.problem.code, score.problem.final, server.count) == (code, final, requests)
        assert score.problem.message.startswith("paper p1, candidate c1, reference none: ")
        assert said in score.problem.message and "\n" not in score.problem.message


@pytest.mark.parametrize(
    ("case", "code", "said"),
    [
        (replace(CASE, synopsis=None), "no_paper", "there is no text of the paper"),
        (replace(CASE, synopsis=" \n"), "no_paper", "there is no text of the paper"),
        (replace(CASE, candidate=" \n"), "empty_text", "the candidate's text is empty"),
    ],
)
def test_nothing_is_asked_without_a_paper_or_a_review(tmp_path, case, code, said):
    with scripted_chat() as server:
        (score,) = examiner(server, tmp_path).score([case])
        assert (score.problem.code, score.problem.final, server.count) == (code, True, 0)
        assert said in score.problem.message

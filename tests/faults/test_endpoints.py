"""Whatever the endpoint of an LM does: nothing is lost, nothing asked without end, and a healthy one makes it good."""

from __future__ import annotations

import time
from functools import partial

import pytest

from gre_bench.lm.opening import open_cached_lm
from tests.faults import endpoints
from tests.faults.endpoints import ATTEMPTS, CODES, outcomes, reasons, refresh, some_chats, texts
from tests.faults.invariants import assert_accounted, assert_readable, assert_undisturbed
from tests.flows.refreshing import tables
from tests.servers.chat import scripted_chat
from tests.servers.scripted_vllm import scripted_vllm

slow = pytest.mark.night
LONGEST_S = 280.0
"""A run at a misbehaving endpoint ends sooner, however busy the machine is."""
TOO_LONG = ("slow", "slow_for_ever", "drip", "drip_500", "endless_500")


def slowly(names: str, most: int, outcome: str):
    """A row for each of *names*: behaviour, most requests a chat, outcome of its requests or texts."""
    return [pytest.param(name, most, outcome, marks=slow) for name in names.split()]


PASSING = [
    ("429", ATTEMPTS, "rate_limited"),
    *slowly("408 409 500 501 502 503 504 529 reset slow_for_ever drip drip_500 endless_500", ATTEMPTS, "failed"),
    *slowly("truncated error_200_busy", ATTEMPTS, "failed"),
    *slowly("html half_json nothing types error_200 400 422", 1, "failed"),
]
STOPPING = ["401", "402", "403", "404", "redirect", "quota"]
FINAL = [
    ("refusal", 1, "refused"),
    *slowly("filter flagged policy", 1, "refused"),
    *slowly("empty null thinking_unclosed", 2, "empty"),
    *slowly("too_long", 1, "failed"),
    *slowly("echo repeat", 2, "unparsable"),
]
AS_IF_SOUND = ["plain_type", "thinking", "thinking_field"]


@pytest.fixture(autouse=True)
def hurried(monkeypatch, request):
    behaviour = request.node.callspec.params.get("behaviour") if hasattr(request.node, "callspec") else None
    endpoints.hurry(monkeypatch, endpoints.SOON_S if behaviour in TOO_LONG else endpoints.TIMEOUT_S)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Tables of a refresh at a healthy endpoint, and the number of its requests."""
    state = tmp_path_factory.mktemp("undisturbed")
    with scripted_chat() as server:
        assert refresh(state, server).code == 0
        return tables(state), server.count


@pytest.mark.parametrize(("behaviour", "most", "outcome"), PASSING)
def test_what_may_pass_ends_the_run_incomplete_and_a_healthy_endpoint_completes_it(
    behaviour, most, outcome, undisturbed, tmp_path, trial
):
    expected, asked = undisturbed
    trial(f"LM endpoint: {behaviour}, for ever", "ends, bounded requests, incomplete (3); healed: tables equal")
    sent = left_incomplete(tmp_path, behaviour, asked * most)
    assert outcomes(tmp_path) == {outcome: sent}
    assert_readable(tmp_path)
    heal(tmp_path, expected, asked)


@pytest.mark.parametrize(
    "behaviour", ["500", *(pytest.param(name, marks=slow) for name in ("reset", "429", "truncated", "html"))]
)
def test_what_passes_for_some_chats_costs_its_neighbours_nothing(behaviour, undisturbed, tmp_path, trial):
    expected, asked = undisturbed
    trial(f"LM endpoint: {behaviour}, for some chats", "incomplete (3); healed: tables equal, only the rest asked")
    left_incomplete(tmp_path, behaviour, ATTEMPTS * asked, when=partial(some_chats, behaviour))
    good = outcomes(tmp_path)["ok"]
    heal(tmp_path, expected, asked - good)


@pytest.mark.parametrize("behaviour", STOPPING)
@slow
def test_what_every_chat_would_meet_is_asked_no_more_than_once_a_thread(behaviour, undisturbed, tmp_path, trial):
    expected, asked = undisturbed
    trial(f"LM endpoint: {behaviour}, for ever", "asked once a thread and stage; incomplete (3); healed: tables equal")
    left_incomplete(tmp_path, behaviour, 3 * 8)
    heal(tmp_path, expected, asked)


@pytest.mark.parametrize(("behaviour", "most", "outcome"), FINAL)
def test_what_is_final_is_not_asked_again_until_a_user_says_so(behaviour, most, outcome, undisturbed, tmp_path, trial):
    expected, asked = undisturbed
    trial(f"LM endpoint: {behaviour}, for some chats", "done, failed with the reason; --retry-failed: tables equal")
    unread = outcome == "unparsable"  # what a candidate writes is its review, whatever it is

    def when(body):
        return None if unread and for_a_review(body) else some_chats(behaviour, body)

    with scripted_chat(when=when) as server:
        found = refresh(tmp_path, server)
        assert (found.code, found.outcome) == (0, "done"), found
        assert server.count <= asked * most
    assert_accounted(tmp_path, done=True)
    assert outcome in texts(tmp_path) and (unread or outcome in outcomes(tmp_path))
    assert ("failed", outcome) in reasons(tmp_path)
    with scripted_chat() as server:
        assert refresh(tmp_path, server).code == 0
        assert server.count == 0, "what is final was asked for again"
        found = refresh(tmp_path, server, "--retry-failed")
        assert (found.code, server.count <= asked) == (0, True)
    assert_undisturbed(tmp_path, expected)


def for_a_review(body):
    return "<summary> tags" in body["messages"][0]["content"]


@pytest.mark.parametrize("behaviour", ["refusal", "empty", "too_long"])
@slow
def test_an_endpoint_that_refuses_everything_leaves_one_line_and_a_way_back(behaviour, undisturbed, tmp_path, trial):
    expected, _ = undisturbed
    trial(f"LM endpoint: {behaviour}, for ever", "one line, exit code 2, or done; --retry-failed: tables equal")
    with scripted_chat(then=behaviour) as server:
        found = refresh(tmp_path, server)
        assert found.code in (0, 2) and "\n" not in found.line.strip(), found
    with scripted_chat() as server:
        assert refresh(tmp_path, server, "--retry-failed").code == 0
    assert_undisturbed(tmp_path, expected)


@pytest.mark.parametrize("behaviour", ["echo", "repeat", "huge", "length"])
@slow
def test_whatever_a_candidate_writes_is_its_review_and_ends_with_a_score_or_a_reason(behaviour, tmp_path, trial):
    trial(f"LM endpoint: {behaviour} in place of reviews", "every pair ends; a second run asks nothing")
    with scripted_chat(when=lambda body: behaviour if for_a_review(body) else None) as server:
        found = refresh(tmp_path, server)
        assert found.code == 0, found
        asked = server.count
        assert refresh(tmp_path, server).code == 0 and server.count == asked
    assert_accounted(tmp_path, done=True)
    assert_readable(tmp_path)
    if behaviour in ("repeat", "length"):
        assert texts(tmp_path)["cut"] == 2


@pytest.mark.parametrize("behaviour", AS_IF_SOUND)
@slow
def test_an_answer_that_is_only_odd_is_an_answer(behaviour, undisturbed, tmp_path, trial):
    expected, asked = undisturbed
    trial(f"LM endpoint: {behaviour}, for ever", "done, tables equal")
    with scripted_chat(then=behaviour) as server:
        assert (refresh(tmp_path, server).code, server.count) == (0, asked)
    if behaviour != "thinking":
        assert_undisturbed(tmp_path, expected)
    assert_accounted(tmp_path, done=True)


@pytest.mark.parametrize(
    "stated",
    ["0", "0.2", "-5", "nan", "inf", "1e309", "86400", "9" * 30, "soon", "", "Thu, 01 Jan 1970 00:00:00 GMT",
     "Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 -0000", "Mon, 99 Foo 99999", "1_0", "0x10"],
)  # fmt: skip
@slow
def test_a_wait_that_an_endpoint_asks_for_is_bounded_however_absurd(stated, undisturbed, tmp_path, trial):
    expected, asked = undisturbed
    trial("LM endpoint: 429 for ever with a Retry-After", "ends, bounded requests, incomplete; healed: tables equal")
    left_incomplete(tmp_path, "429", ATTEMPTS * asked, retry_after=stated)
    heal(tmp_path, expected, asked)


@slow
def test_a_dead_endpoint_is_not_asked_for_every_text_of_a_large_edition(tmp_path, trial):
    trial("LM endpoint: 503 for ever, many texts", "requests bounded whatever the number of texts")
    counts = []
    for papers in (4, 16):
        with scripted_chat(then="503") as server:
            found = refresh(tmp_path / str(papers), server, sets=("writing.chunk=4",), limit=papers)
            assert found.code == CODES["incomplete"]
            assert_accounted(tmp_path / str(papers), done=False)
            counts.append(server.count)
    assert counts[1] <= 2 * counts[0], counts


@slow
def test_an_endpoint_that_comes_and_goes_is_asked_in_all_as_often_as_a_healthy_one_and_for_what_it_failed(
    undisturbed, tmp_path, trial
):
    expected, asked = undisturbed
    trial("LM endpoint: each of 20 behaviours once, then healthy", "tables equal after at most three runs")
    script = ("429", "500", "reset", "html", "nothing", "half_json", "truncated", "types", "503", "error_200_busy") * 2
    with scripted_chat(*script) as server:
        codes = [refresh(tmp_path, server).code for _ in range(3)]
        assert codes[-1] == 0, codes
        assert server.count <= asked + len(script)
    assert_undisturbed(tmp_path, expected)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    """A tokenizer alone, as one has it of a model that is served elsewhere."""
    pytest.importorskip("transformers", reason="the evaluation LM needs the extra `lm`")
    from tests.lm.chat_models import build_tokenizer

    folder = tmp_path_factory.mktemp("tokenizers") / "llama3"
    build_tokenizer("llama3").save_pretrained(folder)
    return folder


VLLM = [
    # behaviour, outcome of the run, reason of the pairs that it spoils
    *((name, "incomplete", "no_answer") for name in ("reset", "500", "429", "slow", "html", "half")),
    *((name, "fault", "not_finite") for name in ("nan", "nan_500", "null")),
    *((name, "fault", "misaligned") for name in ("short", "shifted", "bare")),
    *((name, "fault", name) for name in ("positive", "all_zero")),
    ("400", "fault", "refused_request"),
    ("long", "done", "too_long"),
]


@pytest.mark.parametrize(("behaviour", "outcome", "reason"), VLLM, ids=[row[0] for row in VLLM])
@slow
def test_whatever_the_server_of_the_evaluation_lm_does_no_score_is_made_of_it(
    behaviour, outcome, reason, tokenizer, tmp_path, trial
):
    trial(f"vLLM server: {behaviour}, from mid-run on", "fault or incomplete, no such score; healed: tables equal")
    with scripted_vllm(given="absent") as server:
        assert score(tmp_path / "undisturbed", tokenizer, server).code == 0
        server.requests.clear()
        server.script = ["ok"] * 12  # the trial and some of the scores
        server.then = behaviour
        began = time.monotonic()
        found = score(tmp_path / "state", tokenizer, server)
        assert time.monotonic() - began < LONGEST_S
        assert (found.outcome, found.code) == (outcome, {**CODES, "done": 0}[outcome]), found
        assert any(why == reason for _, why in reasons(tmp_path / "state")), reasons(tmp_path / "state")
        assert_accounted(tmp_path / "state", done=outcome != "incomplete")
        assert_readable(tmp_path / "state")
    with scripted_vllm(given="absent") as server:
        retry = () if outcome == "incomplete" else ("--retry-failed",)
        assert score(tmp_path / "state", tokenizer, server, *retry).code == 0
    assert_undisturbed(tmp_path / "state", tables(tmp_path / "undisturbed"))


def score(state, tokenizer, server, *more):
    """A refresh of given judgments, scored by *server*."""
    chosen = (f"evaluation_lm.endpoint={server.url}", f"evaluation_lm.folder={tokenizer}", "evaluation_lm.backend=vllm", "evaluation_lm.revision=r1",
              "evaluation_lm.dtype=float32", "scoring.metrics=['gem']")  # fmt: skip
    open_cached_lm.cache_clear()
    return endpoints.refresh_by(chosen, 2, state, *more)


def left_incomplete(state, behaviour, most, **how):
    """A refresh at an endpoint that behaves so, or as *how* says: incomplete, in one line; the requests, *most* at most."""
    began = time.monotonic()
    # Who takes for ever is given up before the answer comes.
    always = {} if "when" in how else {"then": "slow" if behaviour == "slow_for_ever" else behaviour}
    pause_s = 2 * endpoints.SOON_S if behaviour == "slow_for_ever" else 0.0
    with scripted_chat(pause_s=pause_s, **always, **how) as server:
        found = refresh(state, server)
        assert time.monotonic() - began < LONGEST_S
        assert (found.code, found.outcome) == (CODES["incomplete"], "incomplete"), found
        assert "\n" not in found.summary["message"] and "run it again" in found.summary["message"]
        assert 0 < server.count <= most
    assert_accounted(state, done=False)
    return server.count


def heal(state, expected, most):
    """A refresh at a healthy endpoint, by which all is as if nothing had been; at most *most* requests."""
    with scripted_chat() as server:
        found = refresh(state, server)
        assert (found.code, found.outcome) == (0, "done"), found
        assert server.count <= most, (server.count, most)
    assert_undisturbed(state, expected)

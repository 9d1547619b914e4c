"""Writing over HTTP: what each behaviour of an endpoint becomes, how often it is asked, what is never told."""

from __future__ import annotations

import logging
import os
import socket
import time
import traceback
from pathlib import Path

import pytest

from gre_bench.catalogs.models import Model
from gre_bench.core.errors import LMError
from gre_bench.core.records import Chat, Sampling
from gre_bench.http.lm_requests import LARGEST_PROBLEM, BodyCollector
from gre_bench.writing.archive import ReplyArchive
from gre_bench.writing.http_writer import LARGEST_BODY, HttpWriter, RetryPolicy, parse_completion_response
from tests.forks import CONTEXT
from tests.holds import LONGEST_S, wait_for
from tests.servers.chat import MODEL, ScriptedChat, scripted_chat

CANARY = "sk-canary-0123456789abcdef"
CHAT = Chat("system", "user")
QUICK = RetryPolicy(concurrency=4, timeout_s=60.0, attempts=3, first_wait_s=0.02, longest_wait_s=2.0)


def entry(server: ScriptedChat | str, **more) -> Model:
    url = server if isinstance(server, str) else server.url
    return Model(**{"name": "scripted", "endpoint": url, "model": MODEL} | more)


def writer(server: ScriptedChat | str, folder: Path, retry_policy: RetryPolicy = QUICK, **more) -> HttpWriter:
    return HttpWriter(entry(server, **more), ReplyArchive(folder / "archive"), retry_policy)


def chats(count: int) -> list[Chat]:
    return [Chat("system", f"user {place}") for place in range(count)]


ONE_ANSWER = [
    # behaviour, outcome, final, requests, part of the text or of the detail
    ("ok", "ok", True, 1, "scripted model read"),
    ("thinking", "ok", True, 1, "scripted model read"),
    ("thinking_field", "ok", True, 1, "scripted model read"),
    ("surrogate", "ok", True, 1, "appreciates ? x."),
    ("odd", "ok", True, 1, "The reviewer"),
    ("length", "cut", True, 1, "The reviewer appreciates clarity.\nThe revi"),
    ("refusal", "refused", True, 1, "I cannot review this."),
    ("filter", "refused", True, 1, "content_filter"),
    ("policy", "refused", True, 1, "the prompt was refused"),
    ("flagged", "refused", True, 1, "the prompt was refused: moderated"),
    ("empty", "empty", True, 2, "no text"),
    ("null", "empty", True, 2, "no text"),
    ("thinking_unclosed", "empty", True, 2, "no text (44 characters of thinking)"),
    ("too_long", "failed", True, 1, "the prompt is too long for the model"),
    ("413", "failed", True, 1, "too long"),
    ("400", "failed", False, 1, "endpoint error 400: scripted 400"),
    ("422", "failed", False, 1, "endpoint error 422"),
    ("401", "failed", False, 1, "endpoint refused the key (401)"),
    ("402", "failed", False, 1, "no credit"),
    ("403", "failed", False, 1, "endpoint refused access (403)"),
    ("404", "failed", False, 1, "endpoint or model not found (404)"),
    ("redirect", "failed", False, 1, "correct its base URL"),
    ("quota", "rate_limited", False, 1, "no quota left"),
    ("html", "failed", False, 1, "an HTML page"),
    ("half_json", "failed", False, 1, "malformed JSON"),
    ("error_200", "failed", False, 1, "provider fell over"),
    ("408", "failed", False, 3, "gave up after 3 attempts: endpoint error 408"),
    ("409", "failed", False, 3, "endpoint error 409"),
    ("500", "failed", False, 3, "gave up after 3 attempts: endpoint error 500: scripted 500"),
    ("503", "failed", False, 3, "endpoint error 503"),
    ("error_200_busy", "failed", False, 3, "provider is busy"),
    ("429", "rate_limited", False, 3, "gave up after 3 attempts: endpoint error 429"),
    ("reset", "failed", False, 3, "connection to the endpoint failed"),
    ("truncated", "failed", False, 3, "connection to the endpoint failed"),
]


@pytest.mark.parametrize(
    ("behaviour", "outcome", "final", "requests", "part"), ONE_ANSWER, ids=[row[0] for row in ONE_ANSWER]
)
def test_a_behaviour_becomes_a_reply(tmp_path, behaviour, outcome, final, requests, part):
    with scripted_chat(then=behaviour) as server:
        asking = writer(server, tmp_path)
        (reply,) = asking.write([CHAT], Sampling())
        assert (reply.outcome, reply.final, server.count) == (outcome, final, requests)
        assert part in (reply.text if reply.text is not None else reply.detail)
        assert (reply.text is None) == (outcome not in ("ok", "cut"))
        assert "\n" not in reply.detail and not reply.archived
        if final:
            (again,) = asking.write([CHAT], Sampling())
            assert (again.archived, again.text, again.outcome) == (True, reply.text, outcome)
            assert server.count == requests
        else:
            asking.write([CHAT], Sampling())
            assert server.count == 2 * requests


def test_what_passes_by_itself_is_asked_again(tmp_path):
    passing = ("429", "500", "reset", "empty", "error_200_busy")
    with scripted_chat(*(one for name in passing for one in (name, "ok"))) as server:
        asking = writer(server, tmp_path)
        assert [asking.write([chat], Sampling())[0].outcome for chat in chats(5)] == ["ok"] * 5
        assert server.count == 10


@pytest.mark.parametrize("behaviour", ["slow", "drip"])
def test_an_answer_that_takes_too_long_is_given_up(tmp_path, behaviour):
    hurried = RetryPolicy(timeout_s=0.3, attempts=2, first_wait_s=0.01)
    with scripted_chat(then=behaviour) as server:
        if behaviour == "slow":
            server.until = lambda _: False
        started = time.monotonic()
        (reply,) = writer(server, tmp_path, hurried).write([CHAT], Sampling())
        assert time.monotonic() - started < 60, "either would take minutes"
        assert (reply.outcome, reply.final, server.count) == ("failed", False, 2)
        assert "no answer in 0.3 s" in reply.detail


def test_nobody_at_the_endpoint_is_transient_and_says_so(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    (reply,) = writer(url, tmp_path).write([CHAT], Sampling())
    assert (reply.outcome, reply.final) == ("failed", False)
    assert "refused" in reply.detail


def test_thinking_tokens_and_the_model_are_read(tmp_path):
    with scripted_chat("thinking", "thinking_field", "ok", "odd") as server:
        asking = writer(server, tmp_path)
        in_text, in_field, stated, odd = (asking.write([chat], Sampling())[0] for chat in chats(4))
    assert in_text.text == in_field.text == "The scripted model read 6 characters."
    assert (in_text.thinking, in_field.thinking) == (len("<think>\nLet me see.\n</think>"), len("Let me see."))
    assert (stated.model, stated.prompt_tokens, stated.reply_tokens) == (MODEL, 3, 9)
    assert (odd.model, odd.prompt_tokens, odd.reply_tokens) == ("", None, None)


def test_an_unclosed_block_cut_by_the_limit_is_not_asked_again():
    answer = parse_completion_response(
        b'{"choices": [{"finish_reason": "length", "message": {"content": "<think> on and on"}}]}'
    )
    assert (answer.reply.outcome, answer.again) == ("empty", False)
    assert "the limit was reached (17 characters" in answer.reply.detail


def test_a_body_without_end_is_not_read_to_its_end():
    parts = iter([b"x" * 2**20] * (LARGEST_BODY // 2**20 + 9))
    body = BodyCollector(LARGEST_BODY, 60.0)
    assert not all(body.add(part, success=True) for part in parts)
    assert body.too_large == "an answer of more than 32 MiB" and len(list(parts)) == 8
    problem = BodyCollector(LARGEST_BODY, 60.0)
    assert not all(problem.add(b"x" * 2**10, success=False) for _ in range(10_000))
    assert len(problem.content) <= LARGEST_PROBLEM + 2**10 and not problem.too_large


@pytest.mark.parametrize(("behaviour", "detail"), [("ok", "answered with more than 0 MiB"), ("400", "scripted 400")])
def test_an_answer_larger_than_the_largest_is_not_asked_for_again(tmp_path, monkeypatch, behaviour, detail):
    monkeypatch.setattr("gre_bench.writing.http_writer.LARGEST_BODY", 9)
    with scripted_chat(then=behaviour) as server:
        (reply,) = writer(server, tmp_path).write([CHAT], Sampling())
        assert (reply.outcome, reply.final, server.count) == ("failed", False, 1) and detail in reply.detail


@pytest.mark.parametrize(("sampling", "more", "sent"), [
    (Sampling(), {}, {"temperature": 0.0, "max_tokens": 4000}),
    (Sampling(None, 9, 0.1, 3), {}, {"max_tokens": 9, "top_p": 0.1, "seed": 3}),
    (Sampling(None), {"limit_as": "max_completion_tokens"}, {"max_completion_tokens": 4000}),
])  # fmt: skip
def test_what_is_none_is_left_out_and_the_limit_has_the_model_s_name(tmp_path, sampling, more, sent):
    with scripted_chat() as server:
        writer(server, tmp_path, **more).write([CHAT], sampling)
        (body,) = server.requests
    messages = [{"role": "system", "content": "system"}, {"role": "user", "content": "user"}]
    assert body == {"model": MODEL, "messages": messages} | sent


def test_retry_after_is_waited_for_by_all_threads(tmp_path):
    with scripted_chat("429", retry_after="0.6") as server:
        replies = writer(server, tmp_path, RetryPolicy(concurrency=1, first_wait_s=0.01)).write(chats(3), Sampling())
        assert [reply.outcome for reply in replies] == ["ok"] * 3
        assert server.times[1] - server.times[0] >= 0.6
    with scripted_chat("429", "ok", retry_after="0.6") as server:
        wide = RetryPolicy(concurrency=2, first_wait_s=0.01)
        writer(server, tmp_path / "wide", wide).write(chats(6), Sampling())
        late = [moment for moment in server.times[2:] if moment - server.times[0] < 0.55]
        assert len(late) <= 1


def test_a_wait_beyond_all_patience_is_not_waited_for(tmp_path):
    with scripted_chat(then="429", retry_after="3600") as server:
        (reply,) = writer(server, tmp_path).write([CHAT], Sampling())
        assert (reply.outcome, reply.final, server.count) == ("rate_limited", False, 1)
        assert "endpoint asks to wait 3600 s" in reply.detail


@pytest.mark.parametrize(("behaviour", "part", "most"), [
    ("401", "refused the key", QUICK.concurrency), ("403", "refused access", QUICK.concurrency),
    ("404", "not found", QUICK.concurrency), ("quota", "no quota", QUICK.concurrency),
    ("redirect", "redirects", QUICK.concurrency), ("500", "", 3 * QUICK.concurrency * QUICK.attempts),
])  # fmt: skip
def test_what_every_chat_would_meet_stops_the_batch(tmp_path, behaviour, part, most):
    with scripted_chat(then=behaviour) as server:
        replies = writer(server, tmp_path).write(chats(60), Sampling())
        assert server.count <= most
    assert all(not reply.final and reply.text is None and part in reply.detail for reply in replies)


def test_one_bad_chat_does_not_take_its_neighbours_down(tmp_path):
    bad = {"user 3": "500", "user 5": "400", "user 7": "html", "user 11": "reset"}
    with scripted_chat(when=lambda body: bad.get(body["messages"][-1]["content"])) as server:
        replies = writer(server, tmp_path).write(chats(20), Sampling())
    assert [place for place, reply in enumerate(replies) if reply.outcome != "ok"] == [3, 5, 7, 11]


def test_replies_come_in_the_order_of_their_chats_and_equal_chats_are_asked_once(tmp_path):
    asked = [Chat("system", "x" * (1 + place % 7)) for place in range(30)]
    with scripted_chat() as server:
        server.until = lambda _: server.peak >= QUICK.concurrency
        replies = writer(server, tmp_path).write(asked, Sampling())
        assert server.count == 7
        assert server.peak == QUICK.concurrency
    read = [f"The scripted model read {len(chat.user)} characters." for chat in asked]
    assert [reply.text for reply in replies] == read


def test_no_chats_no_requests(tmp_path):
    assert writer("http://127.0.0.1:9/v1", tmp_path, key_env="NOT_SET").write([], Sampling()) == []


def test_a_text_that_no_request_can_carry_does_not_raise(tmp_path):
    with scripted_chat() as server:
        (reply,) = writer(server, tmp_path).write([Chat("s\ud800", "u\udfff\x00")], Sampling())
    assert reply.outcome == "ok"


def test_another_sampling_model_or_revision_is_another_request(tmp_path):
    with scripted_chat() as server:
        for seed, more in ((None, {}), (1, {}), (None, {"name": "other"}), (None, {"revision": "2"}), (None, {})):
            writer(server, tmp_path, **more).write([CHAT], Sampling(seed=seed))
        assert server.count == 4


def test_the_same_revision_at_another_endpoint_is_the_same_writer(tmp_path):
    with scripted_chat() as first, scripted_chat() as second:
        here = writer(first, tmp_path, revision="r1", model="a")
        there = writer(second, tmp_path, revision="r1", model="vendor/a")
        assert here.identity == there.identity == "scripted@r1"
        here.write([CHAT], Sampling())
        assert there.write([CHAT], Sampling())[0].archived
        assert second.count == 0


# -- nothing paid is bought twice --


def asked_apart(url: str, folder: Path, count: int) -> None:
    """What another process does; its exit code is how many replies it found in the archive."""
    asking = HttpWriter(entry(url), ReplyArchive(folder), RetryPolicy(concurrency=4))
    os._exit(sum(reply.archived for reply in asking.write(chats(count), Sampling())))


def test_after_a_kill_at_work_only_what_was_under_way_is_asked_again(tmp_path):
    with scripted_chat() as server:
        server.until = lambda number: number <= 14
        process = CONTEXT.Process(target=asked_apart, args=(server.url, tmp_path, 40))
        process.start()
        wait_for(lambda: server.count == 18, process)
        process.kill()
        process.join()
        server.until, before = None, server.count
        replies = HttpWriter(entry(server), ReplyArchive(tmp_path), QUICK).write(chats(40), Sampling())
        assert all(reply.outcome == "ok" for reply in replies)
        archived = sum(reply.archived for reply in replies)
        assert (before, archived) == (18, 14)  # one a thread was under way
        assert server.count - before == 40 - archived


def test_two_processes_at_the_same_chats_buy_each_reply_once(tmp_path):
    with scripted_chat(pause_s=0.02) as server:
        processes = [CONTEXT.Process(target=asked_apart, args=(server.url, tmp_path, 12)) for _ in range(2)]
        for process in processes:
            process.start()
        for process in processes:
            process.join(LONGEST_S)
        assert server.count == 12 and sum(process.exitcode for process in processes) == 12


def test_without_room_for_replies_no_more_are_bought(tmp_path, monkeypatch):
    def full(*_args):
        raise OSError(28, "No space left on device")

    with scripted_chat() as server:
        full_writer = writer(server, tmp_path)
        monkeypatch.setattr("gre_bench.writing.archive.os.replace", full)
        replies = full_writer.write(chats(40), Sampling())
        assert server.count <= QUICK.concurrency
    assert sum(reply.outcome == "ok" for reply in replies) == server.count
    lost = [reply for reply in replies if reply.outcome != "ok"]
    assert all("No space left on device" in reply.detail and not reply.final for reply in lost)


# -- the key --


def test_a_missing_key_is_one_line_and_nothing_is_sent_but_archived_replies_need_none(tmp_path, monkeypatch):
    monkeypatch.delenv("SCRIPTED_KEY", raising=False)
    with scripted_chat() as server:
        with pytest.raises(LMError, match="model scripted needs an API key: set the environment variable SCRIPTED_KEY"):
            writer(server, tmp_path, key_env="SCRIPTED_KEY").write([CHAT], Sampling())
        assert server.count == 0
        monkeypatch.setenv("SCRIPTED_KEY", CANARY)
        writer(server, tmp_path, key_env="SCRIPTED_KEY").write([CHAT], Sampling())
        monkeypatch.delenv("SCRIPTED_KEY")
        assert writer(server, tmp_path, key_env="SCRIPTED_KEY").write([CHAT], Sampling())[0].archived


def test_the_key_is_sent_to_its_endpoint_and_told_to_nobody_else(tmp_path, monkeypatch, caplog, capfd):
    monkeypatch.setenv("SCRIPTED_KEY", f" {CANARY}\n")
    caplog.set_level(logging.DEBUG)
    told = []
    said = ("ok", "401", "echo_key", "reset", "500", "html", "echo_key_escaped")
    with scripted_chat(*said, then="echo_key_401") as server:
        for chat in chats(7):
            each = writer(server, tmp_path, RetryPolicy(attempts=1), key_env="SCRIPTED_KEY")
            told += [repr(each), repr(each.model), *map(repr, each.write([chat], Sampling()))]
        told += map(repr, each.write(chats(30), Sampling()))
        assert {headers["authorization"] for headers in server.headers} == {f"Bearer {CANARY}"}
    parts = ("bad request with Bearer [key]", "text='Bearer [key]'", "refused the key (401)")
    assert all(part in "".join(told) for part in parts)
    monkeypatch.setenv("SCRIPTED_KEY", f"{CANARY} and more")
    try:
        writer(server, tmp_path, key_env="SCRIPTED_KEY").write(chats(9), Sampling())
    except LMError:
        told.append(traceback.format_exc())
    assert "is not an API key" in told[-1]
    files = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    for text in (*told, caplog.text, *capfd.readouterr(), *files):
        assert "sk-c" not in text


def test_the_account_of_the_environment_is_not_sent_to_an_endpoint_without_a_key(tmp_path, monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, CANARY)
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"Authorization: Bearer {CANARY}")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with scripted_chat() as server:
        (reply,) = writer(server, tmp_path).write([CHAT], Sampling())
        assert reply.outcome == "ok"
        assert "canary" not in str(server.headers) and "authorization" not in server.headers[0]

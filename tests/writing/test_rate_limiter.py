"""The rate limiter of an endpoint, by the server's own clock: what goes at once, how soon, over models, processes and kills."""

from __future__ import annotations

import json
import threading
import time
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.catalogs.models import RateLimits, load
from gre_bench.core.errors import BudgetReached, StoreError
from gre_bench.core.records import Chat, Sampling
from gre_bench.core.settings import BudgetSettings
from gre_bench.writing.http_writer import HttpWriter
from gre_bench.writing.rate_limiter import RateLimiter
from gre_bench.writing.writers import WriterContext
from tests.forks import CONTEXT
from tests.holds import wait_for
from tests.servers.chat import MODEL, scripted_chat

ENTRY = '[[model]]\nname = "{name}"\nendpoint = "{url}"\nmodel = "{model}"\n'


def limited(folder: Path, url: str, **limits) -> None:
    """A models file with two models at one endpoint and its limits."""
    text = "".join(ENTRY.format(name=name, url=url, model=MODEL) for name in ("one", "two"))
    stated = (
        [f'[[endpoint]]\nurl = "{url}/"', *(f"{name} = {value}" for name, value in limits.items())] if limits else []
    )
    (folder / "models.toml").write_text("\n".join([text, *stated]))


def ask(folder: Path, name: str, numbers: range, **bounds) -> list[str]:
    """What became of the chats *numbers* asked of the model *name*, as any run asks it."""
    writer_context = WriterContext(folder / "replies", folder / "models.toml", budget=BudgetSettings(**bounds))
    writer = writer_context.writer(load(writer_context.models)[name], HttpWriter)
    return [reply.outcome for reply in writer.write([Chat("system", f"user {n}") for n in numbers], Sampling())]


def owed(folder: Path) -> dict[str, float]:
    """The debt of the only rate limiter as it stands on disk, none before there is one."""
    file = next((folder / "endpoints").rglob("pace.json"), None)
    text = file.read_text() if file else ""
    return json.loads(text) if text else {"requests": 0.0}


@pytest.mark.parametrize("kind", [threading.Thread, CONTEXT.Process])
def test_two_models_at_one_endpoint_share_its_places_and_its_pace(tmp_path, kind):
    with scripted_chat() as server:
        server.until = lambda _: server.peak >= 3
        limited(tmp_path, server.url, concurrency=3, requests_per_minute=2400)
        began = time.monotonic()
        both = [kind(target=ask, args=(tmp_path, name, range(15))) for name in ("one", "two")]
        for each in both:
            each.start()
        for each in both:
            each.join()
        assert (server.count, server.peak) == (30, 3)
        # Whatever holds a request up only makes it later: the bound is exact.
        assert all(moment - began >= place * 60 / 2400 for place, moment in enumerate(sorted(server.times)))


@pytest.mark.parametrize(("limits", "most"), [({}, 8), ({"concurrency": 20}, 20)])
def test_an_endpoint_is_asked_as_many_at_a_time_as_it_has_places_and_eight_where_none_are_stated(
    tmp_path, limits, most
):
    with scripted_chat() as server:
        server.until = lambda _: server.peak >= most
        limited(tmp_path, server.url, **limits)
        assert ask(tmp_path, "one", range(2 * most)) == ["ok"] * 2 * most
        assert server.peak == most


def test_tokens_are_counted_as_the_endpoint_states_them(tmp_path):
    """The server writes 100 tokens for each prompt of 3: at 60,000 a minute, a tenth of a second each."""
    with scripted_chat(write=lambda body: "a" * 400) as server:
        limited(tmp_path, server.url, concurrency=1, tokens_per_minute=60_000)
        began = time.monotonic()
        ask(tmp_path, "one", range(10))
    # One request goes before its reply is known; each further one after the replies before it.
    assert all(moment - began >= place * 0.100 for place, moment in enumerate(server.times))


def test_a_killed_process_leaves_its_place_to_others_and_the_pace_it_owes(tmp_path):
    with scripted_chat() as server:
        server.until = lambda number: number > 1
        limited(tmp_path, server.url, concurrency=1, requests_per_minute=20)
        asking = CONTEXT.Process(target=ask, args=(tmp_path, "one", range(1)))
        asking.start()
        wait_for(lambda: server.count, asking)
        asking.kill()
        asking.join()
        left = owed(tmp_path)
        assert left["requests"] == pytest.approx(3.0)
        ask(tmp_path, "two", range(1))
        assert time.time() - left["at"] >= 3.0 and server.count == 2


def test_a_wait_that_the_endpoint_asks_for_binds_all_models_and_the_next_run(tmp_path):
    with scripted_chat("429", retry_after="0.7") as server:
        limited(tmp_path, server.url, concurrency=4)
        first = threading.Thread(target=ask, args=(tmp_path, "one", range(1)))
        first.start()
        while owed(tmp_path)["requests"] < 0.5 and server.count < 2:
            time.sleep(0.005)
        ask(tmp_path, "two", range(1))
        first.join()
        assert all(moment - server.times[0] >= 0.7 for moment in server.times[1:]) and server.count == 3


def test_who_waits_for_a_turn_is_stopped_at_once_by_a_bound(tmp_path):
    with scripted_chat() as server:
        limited(tmp_path, server.url, requests_per_minute=60)
        began = time.monotonic()
        with pytest.raises(BudgetReached):
            ask(tmp_path, "one", range(200), requests=2)
        assert server.count == 2 and time.monotonic() - began < 100, "two hundred turns would take as many seconds"


class Waited(threading.Event):
    """Lets a request start at once, and says how long it would have waited."""

    def wait(self, timeout=None):
        self.seconds = timeout
        return False


def turn(rate_limiter: RateLimiter, tokens: int = 0) -> float:
    """The seconds that a request with *tokens* has to wait."""
    with rate_limiter.wait_for_turn(tokens, over := Waited()) as may:
        assert may
    return over.seconds


SENT = st.lists(st.tuples(st.integers(0, 500), st.integers(-50, 500), st.floats(0, 90)), max_size=12)


@given(SENT, st.floats(1, 6000), st.floats(100, 1e6))
def test_what_is_owed_is_what_was_sent_less_the_time_that_passed(tmp_path_factory, sent, per_minute, tokens_per_minute):
    limits = RateLimits(requests_per_minute=per_minute, tokens_per_minute=tokens_per_minute)
    folder, moment = tmp_path_factory.mktemp("gate"), 1e9
    requests = tokens = 0.0
    with pytest.MonkeyPatch.context() as clock:
        for size, more, passed in sent:
            moment += passed
            clock.setattr(time, "time", partial(float, moment))
            requests, tokens = max(0.0, requests - passed), max(0.0, tokens - passed)
            rate_limiter = RateLimiter("http://host/v1", limits, folder, 8)  # a new one: nothing is kept in memory
            assert turn(rate_limiter, size) == pytest.approx(max(requests, tokens), abs=1e-5)
            rate_limiter.correct_tokens(more)
            requests, tokens = requests + 60 / per_minute, max(0.0, tokens + (size + more) * 60 / tokens_per_minute)


@pytest.mark.parametrize("ahead", [-86_400.0, 86_400.0])
def test_a_clock_that_jumps_neither_stops_the_gate_nor_breaks_it(tmp_path, monkeypatch, ahead):
    rate_limiter = RateLimiter("http://host/v1", RateLimits(requests_per_minute=600), tmp_path, 8)
    turn(rate_limiter)
    moment = time.time()
    monkeypatch.setattr(time, "time", lambda: moment + ahead)
    assert turn(rate_limiter) <= 0.1


@pytest.mark.parametrize("content", ["", "{", "[]", '{"at": 1}', '{"at": "x", "requests": 0, "tokens": 0}'])
def test_a_torn_pace_is_none(tmp_path, content):
    rate_limiter = RateLimiter("http://host/v1", RateLimits(requests_per_minute=60), tmp_path, 8)
    turn(rate_limiter)
    (rate_limiter.folder / "pace.json").write_text(content)
    assert turn(rate_limiter) == 0.0


def test_a_gate_that_cannot_be_kept_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="the rate limiter .* cannot be used: Not a directory"):
        turn(RateLimiter("http://host/v1", RateLimits(), tmp_path / "file", 8))


def test_limits_are_no_part_of_who_a_model_is(tmp_path):
    limited(tmp_path, "http://h/v1", concurrency=2)
    known = load(tmp_path / "models.toml")
    assert known["one"].limits == known["two"].limits == RateLimits(concurrency=2)
    assert "limits" not in known["one"].model_dump()

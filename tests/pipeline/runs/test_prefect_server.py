"""What is the Prefect server's fault and what is not, and how long it is waited for; on loopback."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest
from prefect.concurrency.asyncio import ConcurrencySlotAcquisitionError
from prefect.settings import (
    PREFECT_API_URL,
    PREFECT_CLIENT_MAX_RETRIES,
    get_current_settings,
    temporary_settings,
)

from gre_bench.core.errors import ServiceDown, SettingsError, Stopped
from gre_bench.pipeline.runs import prefect_engine
from gre_bench.pipeline.runs.job import ending
from gre_bench.pipeline.runs.prefect_engine import answering, await_server
from tests.servers.processes import closed_port


class Healthy(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *asked: object) -> None:
        pass


@pytest.fixture
def api() -> Iterator[str]:
    """Address of something that says it is well."""
    with HTTPServer(("127.0.0.1", 0), Healthy) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        with temporary_settings({PREFECT_API_URL: f"http://127.0.0.1:{server.server_port}/api"}):
            yield f"http://127.0.0.1:{server.server_port}/api"
        server.shutdown()
        thread.join()


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    """What was waited, in seconds; the time goes on by just that."""
    waited: list[float] = []

    class Clock:
        sleep = staticmethod(waited.append)
        monotonic = staticmethod(lambda: sum(waited))

    monkeypatch.setattr(prefect_engine, "time", Clock)
    return waited


@contextmanager
def absent() -> Iterator[None]:
    with temporary_settings({PREFECT_API_URL: f"http://127.0.0.1:{closed_port()}/api"}):
        yield


def unreached(url: str) -> httpx.ConnectError:
    return httpx.ConnectError("refused", request=httpx.Request("POST", url))


def test_what_the_server_did_not_answer_is_one_line_and_the_run_stopped(api):
    for error in (
        unreached(f"{api}/flow_runs/"),
        ConcurrencySlotAcquisitionError("none\nto be had"),
        RuntimeError("Failed to reach API"),
    ):
        assert ending(error)[0] == "stopped"
        with pytest.raises(ServiceDown, match="what was done is kept") as caught, answering():
            raise error
        assert api in str(caught.value) and "\n" not in str(caught.value)


def test_what_is_not_the_servers_fault_is_left_to_fly(api):
    elsewhere = unreached("http://127.0.0.1:9/v1/completions")
    for error in (
        elsewhere,
        RuntimeError("a bug"),
        SettingsError("wrong"),
        httpx.InvalidURL("none"),
        httpx.ReadError("of nobody"),
    ):
        assert ending(error)[0] in ("fault", "refused")
        with pytest.raises(type(error)) as caught, answering():
            raise error
        assert caught.value is error


def test_a_server_that_answers_is_not_waited_for(api, clock):
    before = PREFECT_CLIENT_MAX_RETRIES.value()
    await_server()
    assert (sum(clock), PREFECT_CLIENT_MAX_RETRIES.value()) == (0, before)


def test_a_silent_server_is_waited_for_a_minute_and_then_nothing_is_tried_twice(clock):
    with absent():
        await_server()
        assert 60 <= sum(clock) < 70
        assert PREFECT_CLIENT_MAX_RETRIES.value() == 0


@pytest.mark.parametrize("error", [Stopped("SIGINT"), ConcurrencySlotAcquisitionError("none")], ids=["by hand", "lost"])
def test_a_server_is_not_waited_for_where_waiting_is_over(error, clock):
    with absent():
        await_server(error)
        assert (sum(clock), PREFECT_CLIENT_MAX_RETRIES.value()) == (0, 0)


def test_retries_are_those_of_before_when_a_run_is_over(api, clock):
    before = PREFECT_CLIENT_MAX_RETRIES.value()
    assert before > 0
    with answering():
        get_current_settings().client.max_retries = 0
        assert PREFECT_CLIENT_MAX_RETRIES.value() == 0
    assert PREFECT_CLIENT_MAX_RETRIES.value() == before

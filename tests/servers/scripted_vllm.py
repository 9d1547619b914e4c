"""A scripted vLLM server for tests: real HTTP on loopback, numbers by rule, faults on order.

It serves ``/v1/models``, ``/version``, ``/v1/completions`` with ``prompt_logprobs`` and ``/inference/v1/generate`` with
``prompt_logprob_token_ids``, in the shapes of vLLM 0.32. The log-probability of a token depends on the tokens up to it
(`rule`). Each request for scores takes the next behaviour of the script, and *then* after its end: ok, a status, or a
stunt. If a test sets ``until``, request number n (from 1) is answered only once ``until(n)`` is true.
"""

from __future__ import annotations

import base64
import io
import json
import socket
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

import numpy

from tests.holds import hold_until

Given = Literal["yes", "absent", "disabled", "old_runner", "ignored", "drops", "wrong", "rounded"]
REFUSALS = {
    "absent": (404, "Not Found"),
    "disabled": (403, "Scale-out endpoints are disabled. Restart vllm serve with --enable-scale-out to enable them."),
    "old_runner": (400, "prompt_logprob_token_ids requires the V2 model runner (VLLM_USE_V2_MODEL_RUNNER=1)."),
}
ROUNDED = 0.01
"""How many nats the two kinds of request differ by on a server that rounds."""
LIKELIEST = 7
"""The token that the server states besides the requested one."""


def rule(ids: Sequence[int]) -> list[float]:
    """Returns log-probabilities of all *ids* but the first, each from the tokens up to it; float32, as vLLM's."""
    state, found = 0, []
    for place, token in enumerate(ids):
        state = zlib.crc32(struct.pack("<Q", token), state)
        if place:
            found.append(float(numpy.float32(-0.75 - 8 * state / 2**32)))
    return found


class ScriptedVLLM(ThreadingHTTPServer):
    """The server and its record: ``asked`` (paths and bodies), ``headers`` (of each), ``peak`` (most at one time)."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, script: tuple[str, ...], options: dict[str, Any]):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = list(script)
        self.then: str = options.get("then", "ok")
        self.when: Callable[[list[int]], str | None] | None = options.get("when")
        self.given: Given = options.get("given", "yes")
        self.served: dict[str, int | None] = options.get("served", {"tiny": 2048})
        self.version: str = options.get("version", "0.32.0")
        self.pause_s: float = options.get("pause_s", 0.0)
        self.retry_after: str | None = options.get("retry_after")
        self.until: Callable[[int], bool] | None = None
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.headers: list[dict[str, str]] = []
        self.peak = self._open = 0
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def count(self, path: str) -> int:
        return sum(asked == path for asked, _ in self.asked)

    def may_go(self, number: int) -> bool:
        """Whether request *number* may be answered now."""
        return self.until is None or self.until(number)

    def enter(self, path: str, body: dict[str, Any], headers: dict[str, str], ids: list[int]) -> tuple[int, str]:
        """Records the request; returns its number and the behaviour for it."""
        with self._lock:
            self.asked.append((path, body))
            self.headers.append(headers)
            self._open += 1
            self.peak = max(self.peak, self._open)
            due = self.when(ids) if self.when else None
            return len(self.asked), due or (self.script.pop(0) if self.script else self.then)

    def leave(self) -> None:
        with self._lock:
            self._open -= 1

    def handle_error(self, request, client_address) -> None:
        """Ignores a client that hangs up, which tests do on purpose."""


@contextmanager
def scripted_vllm(*script: str, **options: Any) -> Iterator[ScriptedVLLM]:
    """Yields a running server; *options*: then, when, given, served, version, pause_s, retry_after."""
    server = ScriptedVLLM(script, options)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ScriptedVLLM

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing."""

    def do_GET(self) -> None:
        if self.path == "/version":
            return self._send(200, {"version": self.server.version})
        if self.path != "/v1/models":
            return self._refuse(404, "Not Found")
        entries = [{"id": name, "object": "model", "max_model_len": size} for name, size in self.server.served.items()]
        self._send(200, {"object": "list", "data": entries})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        given = self.path == "/inference/v1/generate"
        if not given and self.path != "/v1/completions":
            return self._refuse(404, "Not Found")
        if given and self.server.given in REFUSALS:
            self.server.asked.append((self.path, body))
            return self._refuse(*REFUSALS[self.server.given])
        ids = body["token_ids"] if given else body["prompt"]
        headers = {name.lower(): value for name, value in self.headers.items()}
        number, due = self.server.enter(self.path, body, headers, ids)
        try:
            hold_until(partial(self.server.may_go, number))
            time.sleep(self.server.pause_s)
            if due.isdigit():
                more = {"Retry-After": self.server.retry_after} if self.server.retry_after else {}
                return self._refuse(int(due), f"scripted {due}", **more)
            if due in ("reset", "slow", "html", "half", "long", "key", "nan_500", "list"):
                return getattr(self, f"_{due}")(body)
            if body["model"] not in self.server.served:
                return self._refuse(404, f"The model `{body['model']}` does not exist.")
            self._send(200, self._given(body, due) if given else self._whole(body, due))
        finally:
            self.server.leave()

    def _given(self, body: dict[str, Any], due: str) -> dict[str, Any]:
        asked = body["sampling_params"]
        start, rows = asked["prompt_logprob_start"], asked["prompt_logprob_token_ids"]
        ids = body["token_ids"]
        assert len(rows) == len(ids) - 1 - start and [row[0] for row in rows] == ids[start + 1 :]
        scores = numpy.array(rule(ids)[start:], dtype=numpy.float32)[:, None]
        dropped = self.server.given == "drops" and not asked["skip_reading_prefix_cache"]
        if self.server.given == "wrong":
            scores = numpy.roll(scores, 1)
        if self.server.given == "rounded":
            scores = scores - numpy.float32(ROUNDED)
        if self.server.given == "ignored" or dropped:
            return {"prompt_token_id_logprobs": None, "choices": []}
        spoilt = {"nan": scores * numpy.nan, "short": scores[1:], "objects": scores.astype(str), "wide": scores.T}
        with io.BytesIO() as file:
            numpy.save(file, spoilt.get(due, scores), allow_pickle=False)
            text = base64.b64encode(file.getvalue()).decode()
        return {"prompt_token_id_logprobs": "no base64" if due == "garbled" else text, "choices": []}

    def _whole(self, body: dict[str, Any], due: str) -> dict[str, Any]:
        ids, logprobs = body["prompt"], rule(body["prompt"])
        places: list[Any] = [None]
        for token, value in zip(ids[1:], logprobs, strict=True):
            entry = {str(token): {"logprob": value, "rank": 3, "decoded_token": "x"}}
            if body["prompt_logprobs"]:
                entry.setdefault(str(LIKELIEST), {"logprob": -0.7, "rank": 1, "decoded_token": "y"})
            places.append(entry)
        last = str(ids[-1])
        if due == "short":
            places = places[:-1]
        elif due == "shifted":
            places = [None, *places[:-1]]
        elif due == "bare":
            return {"choices": [{"index": 0, "text": "x"}]}
        elif due == "logits":
            places = [place and {token: {"logprob": 9.5} for token in place} for place in places]
        elif due == "all_zero":
            places = [place and {token: {"logprob": 0.0} for token in place} for place in places]
        elif due != "ok":
            value = {"nan": float("nan"), "null": None, "positive": 0.5, "floor": -9999.0, "text": "-1.5"}[due]
            places[-1] = {last: {"logprob": value}}
        return {"model": body["model"], "choices": [{"index": 0, "text": "x", "prompt_logprobs": places}]}

    def _reset(self, body: dict) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def _slow(self, body: dict) -> None:
        time.sleep(30.0)

    def _html(self, body: dict) -> None:
        self._raw(200, b"<!DOCTYPE html><title>A gateway</title>", "text/html")

    def _half(self, body: dict) -> None:
        content = json.dumps(self._whole(body, "ok")).encode()
        self._raw(200, content[: len(content) // 2], length=len(content))
        self.close_connection = True

    def _long(self, body: dict) -> None:
        self._refuse(400, "This model's maximum context length is 128 tokens. However, your request has 300.")

    def _key(self, body: dict) -> None:
        self._refuse(400, f"bad request with {self.headers['Authorization']}")

    def _nan_500(self, body: dict) -> None:
        self._refuse(500, "Out of range float values are not JSON compliant: nan")

    def _list(self, body: dict) -> None:
        self._send(200, [1, 2])

    def _refuse(self, status: int, said: str, **headers: str) -> None:
        error = {"message": said, "type": "BadRequestError", "param": None, "code": status}
        self._send(status, {"error": error}, **headers)

    def _send(self, status: int, tree: object, **headers: str) -> None:
        self._raw(status, json.dumps(tree).encode(), **headers)

    def _raw(
        self, status: int, content: bytes, kind: str = "application/json", length: int | None = None, **headers: str
    ):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content) if length is None else length))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

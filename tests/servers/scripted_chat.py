"""A scripted chat server for tests: real HTTP on loopback, with answers and faults on order.

It serves ``POST /v1/chat/completions`` and ``GET /v1/models``. Each request takes the next behaviour of the script, and
*then* after its end; *when* may choose by the request's body instead. A behaviour is ok, a status ("500", "429", ...)
or one of `Handler.STUNTS`. The written text depends only on the model's name and the prompt. If a test sets ``until``,
request number n (from 1) is answered only once ``until(n)`` is true.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote

from tests.holds import hold_until

MODEL = "scripted-chat"
_SENTENCE = re.compile(r"[^.!?\n]+")
_TAG = re.compile(r"<[^<>\n]{1,60}>")


class ScriptedChat(ThreadingHTTPServer):
    """The server and its record: ``requests`` (bodies), ``headers`` (of each), ``peak`` (most requests at one time)."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(
        self,
        script: tuple[str, ...],
        then: str,
        when: Callable[[dict], str | None] | None,
        retry_after: str | None,
        pause_s: float,
        write: Callable[[dict], str] | None = None,
        logprobs: Callable[[dict], list[dict]] | None = None,
    ):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.then, self.when = list(script), then, when
        self.retry_after, self.pause_s = retry_after, pause_s
        self.write, self.logprobs = write or written, logprobs
        self.elsewhere = "http://127.0.0.1:9/"
        self.until: Callable[[int], bool] | None = None
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.peak = self._open = 0
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def count(self) -> int:
        return len(self.requests)

    def may_go(self, number: int) -> bool:
        """Whether request *number* may be answered now."""
        return self.until is None or self.until(number)

    def enter(self, body: dict[str, Any], headers: dict[str, str]) -> tuple[int, str]:
        """Records the request; returns its number and the behaviour for it."""
        with self._lock:
            self.requests.append(body)
            self.headers.append(headers)
            self.times.append(time.monotonic())
            self._open += 1
            self.peak = max(self.peak, self._open)
            due = self.when(body) if self.when else None
            return len(self.requests), due or (self.script.pop(0) if self.script else self.then)

    def leave(self) -> None:
        with self._lock:
            self._open -= 1

    def handle_error(self, request, client_address) -> None:
        """Ignores a client that hangs up, which tests do on purpose."""


@contextmanager
def scripted_chat(
    *script: str,
    then: str = "ok",
    when: Callable[[dict], str | None] | None = None,
    retry_after: str | None = "0.05",
    pause_s: float = 0.0,
    write: Callable[[dict], str] | None = None,
    logprobs: Callable[[dict], list[dict]] | None = None,
) -> Iterator[ScriptedChat]:
    """Yields a running server. *pause_s* passes before each answer, and each 429 states *retry_after*.

    *write* replaces the function that writes replies. The server's ``elsewhere`` is the target of redirects. *logprobs*
    returns the log-probabilities for requests that ask for them.
    """
    server = ScriptedChat(script, then, when, retry_after, pause_s, write, logprobs)
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
    server: ScriptedChat

    STUNTS = (
        "reset",
        "slow",
        "drip",
        "drip_slowly",
        "truncated",
        "half_json",
        "html",
        "empty",
        "null",
        "refusal",
        "filter",
        "thinking",
        "thinking_unclosed",
        "thinking_field",
        "length",
        "error_200",
        "error_200_busy",
        "echo_key",
        "echo_key_401",
        "echo_key_escaped",
        "surrogate",
        "redirect",
        "redirect_away",
        "quota",
        "flagged",
        "too_long",
        "policy",
        "odd",
        "types",
        "echo",
        "repeat",
        "nothing",
        "plain_type",
        "huge",
        "drip_500",
        "endless_500",
        "echo_key_text",
        "echo_key_base64",
        "echo_key_quoted",
        "echo_key_429",
    )

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing."""

    def do_GET(self) -> None:
        if self.path != "/v1/models":
            return self._send(404, {"error": {"message": "no such page"}})
        self._send(
            200, {"object": "list", "data": [{"id": MODEL, "object": "model", "created": 0, "owned_by": "tests"}]}
        )

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/chat/completions":
            return self._send(404, {"error": {"message": "no such page"}})
        number, due = self.server.enter(body, {name.lower(): value for name, value in self.headers.items()})
        try:
            hold_until(partial(self.server.may_go, number))
            time.sleep(self.server.pause_s)
            if due.isdigit():
                more = {"Retry-After": self.server.retry_after} if due == "429" and self.server.retry_after else {}
                self._send(int(due), {"error": {"message": f"scripted {due}", "code": f"scripted_{due}"}}, **more)
            elif due == "ok":
                self._complete(body)
            else:
                assert due in self.STUNTS, due
                getattr(self, f"_{due}")(body)
        finally:
            self.server.leave()

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

    def _complete(self, body: dict, text: str | None = "", finish: str = "stop", **message: object) -> None:
        tree = completion(body, self.server.write(body) if text == "" else text, finish, **message)
        if body.get("logprobs") and self.server.logprobs:
            tree["choices"][0]["logprobs"] = {"content": self.server.logprobs(body)}
        self._send(200, tree)

    def _reset(self, body: dict) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def _slow(self, body: dict) -> None:
        time.sleep(1.0)
        self._complete(body)

    def _drip(self, body: dict, pause_s: float = 0.05) -> None:
        self._raw(200, b" ", length=10000)
        for _ in range(2000):
            time.sleep(pause_s)
            self.wfile.write(b" ")
        self.close_connection = True

    def _drip_slowly(self, body: dict) -> None:
        self._drip(body, pause_s=1.0)

    def _truncated(self, body: dict) -> None:
        content = json.dumps(completion(body, written(body))).encode()
        self._raw(200, content[: len(content) // 2], length=len(content))
        self.close_connection = True

    def _half_json(self, body: dict) -> None:
        content = json.dumps(completion(body, written(body))).encode()
        self._raw(200, content[: len(content) // 2])

    def _html(self, body: dict) -> None:
        self._raw(200, b"<!DOCTYPE html><title>Verifying your browser</title>", "text/html")

    def _empty(self, body: dict) -> None:
        self._complete(body, " \n")

    def _null(self, body: dict) -> None:
        self._complete(body, None)

    def _refusal(self, body: dict) -> None:
        self._complete(body, None, refusal="I cannot review this.")

    def _filter(self, body: dict) -> None:
        self._complete(body, "The rev", "content_filter")

    def _thinking(self, body: dict) -> None:
        self._complete(body, f"<think>\nLet me see.\n</think>\n\n{written(body)}")

    def _thinking_unclosed(self, body: dict) -> None:
        self._complete(body, "<think>\nLet me see. The reviewer appreciates")

    def _thinking_field(self, body: dict) -> None:
        self._complete(body, reasoning_content="Let me see.")

    def _length(self, body: dict) -> None:
        ours = self.server.write is written
        self._complete(body, "The reviewer appreciates clarity.\nThe revi" if ours else "", "length")

    def _error_200(self, body: dict) -> None:
        self._send(200, {"error": {"message": "provider fell over", "code": "provider_error"}})

    def _error_200_busy(self, body: dict) -> None:
        self._send(200, {"error": {"message": "provider is busy", "code": 503}})

    def _echo_key(self, body: dict) -> None:
        self._send(400, {"error": {"message": f"bad request with {self.headers['Authorization']}"}})

    def _echo_key_401(self, body: dict) -> None:
        self._send(401, {"error": {"message": f"{'x' * 150} {self.headers['Authorization']}"}})

    def _echo_key_escaped(self, body: dict) -> None:
        text = "".join(f"\\u{ord(mark):04x}" for mark in self.headers["Authorization"])
        self._raw(200, json.dumps(completion(body, "@")).replace("@", text).encode())

    def _echo_key_text(self, body: dict) -> None:
        said = self.headers["Authorization"]
        self._send(
            200, completion(body | {"model": said}, f"The reviewer appreciates {said}.\n{self.server.write(body)}")
        )

    def _echo_key_base64(self, body: dict) -> None:
        said = base64.b64encode(self.headers["Authorization"].encode()).decode()
        self._send(200, completion(body, f"The reviewer appreciates {said}.\n{self.server.write(body)}"))

    def _echo_key_quoted(self, body: dict) -> None:
        self._send(400, {"error": {"message": f"bad request ?auth={quote(self.headers['Authorization'], safe='')}"}})

    def _echo_key_429(self, body: dict) -> None:
        self._send(429, {"error": self.headers["Authorization"]}, **{"Retry-After": "0"})

    def _surrogate(self, body: dict) -> None:
        self._complete(body, "The reviewer appreciates \ud800 x.")

    def _redirect(self, body: dict) -> None:
        self._send(307, {}, Location="/elsewhere")

    def _redirect_away(self, body: dict) -> None:
        self._send(308, {}, Location=f"{self.server.elsewhere}/chat/completions")

    def _echo(self, body: dict) -> None:
        self._complete(body, "\n\n".join(item["content"] for item in body["messages"]))

    def _repeat(self, body: dict) -> None:
        self._complete(body, "and so on " * 20_000, "length")

    def _nothing(self, body: dict) -> None:
        self._raw(200, b"")

    def _plain_type(self, body: dict) -> None:
        self._raw(200, json.dumps(completion(body, self.server.write(body))).encode(), "text/plain; charset=latin-1")

    def _huge(self, body: dict) -> None:
        self._complete(body, "word " * 2**21)

    def _types(self, body: dict) -> None:
        self._send(200, {"choices": {"0": "no list"}, "usage": "much", "model": ["m"], "error": 0})

    def _drip_500(self, body: dict) -> None:
        self._raw(500, b"{", length=100_000)
        for _ in range(600):
            time.sleep(0.05)
            self.wfile.write(b" ")
        self.close_connection = True

    def _endless_500(self, body: dict) -> None:
        self._raw(500, b"{", length=2**40)
        with contextlib.suppress(OSError):
            while True:
                self.wfile.write(b" " * 2**20)
        self.close_connection = True

    def _quota(self, body: dict) -> None:
        self._send(429, {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}})

    def _flagged(self, body: dict) -> None:
        self._send(
            403, {"error": {"message": "moderated", "code": 403, "metadata": {"flagged_input": "x", "reasons": []}}}
        )

    def _too_long(self, body: dict) -> None:
        self._send(400, {"error": {"message": "This model's maximum context length is 8192 tokens.", "code": 400}})

    def _policy(self, body: dict) -> None:
        self._send(400, {"error": {"message": "The prompt triggered the policy.", "code": "content_filter"}})

    def _odd(self, body: dict) -> None:
        self._send(
            200,
            {
                "choices": [
                    {"message": {"content": [{"type": "text", "text": "The reviewer"}, 3]}, "finish_reason": {}}
                ],
                "usage": [],
                "model": 7,
                "error": None,
            },
        )


def completion(body: dict, text: str | None, finish: str = "stop", **message: object) -> dict[str, Any]:
    """Returns a chat completion as the protocol defines it."""
    prompt = sum(len(item["content"]) for item in body["messages"])
    return {
        "id": "scripted",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
        ],
        "usage": {"prompt_tokens": prompt // 4, "completion_tokens": len(text or "") // 4},
    }


def written(body: dict) -> str:
    """Returns the scripted model's answer, by the task that the system message sets."""
    system = next((item["content"] for item in body["messages"] if item["role"] == "system"), "")
    user = body["messages"][-1]["content"]
    if "summarize each evaluation in the review" in system:
        return _judgments(user)
    if "<summary> tags" in system:
        return _review(user, body["model"])
    if "<strengths_claimed_by_the_paper>" in system:
        return _assw(user)
    if "<overall_score>" in system:
        return _grade(user)
    if "completing missing sentences" in system:
        return user.replace("[There is one missing sentence]", "There is more to be said here.")
    if "with only the abstract" in system:
        return _from_abstract(user)
    if "rewriting a peer review" in system:
        return re.sub(r"\bis\b", "is indeed" if body["model"] == MODEL else "is surely", user)
    if "please identify two key" in system:
        found = _sentences(user) or ["nothing"]
        return f"{_short(found[0])} and {_short(found[-1])}."
    return f"The scripted model read {len(user)} characters."


def _judgments(review: str) -> str:
    """Returns one judgment for each sentence of the review, at most 20."""
    lines = [f"The reviewer {_verb(sentence)} {_short(sentence)}." for sentence in _sentences(_TAG.sub("\n", review))]
    return "\n".join(lines[:20]) or "There is nothing to summarize."


def _review(paper: str, model: str) -> str:
    """Returns a tagged review made of the paper's sentences; another *model* picks others."""
    found = _sentences(paper) or ["The paper is empty"]
    ranked = sorted(found, key=lambda sentence: hashlib.sha256(f"{model}\n{sentence}".encode()).digest())
    picked = [_short(ranked[place % len(ranked)]) for place in range(10)]
    strengths = "\n".join(
        f"{n}. It is good that {text}.\n   - The paper says so." for n, text in enumerate(picked[:4], 1)
    )
    weaknesses = "\n".join(
        f"{n}. It lacks evidence that {text}.\n   - More is needed." for n, text in enumerate(picked[4:8], 1)
    )
    questions = "\n".join(f"{n}. Why is it that {text}?" for n, text in enumerate(picked[8:], 1))
    return (
        f"<summary>\n{found[0]}.\n</summary>\n\n<strengths>\n{strengths}\n</strengths>\n\n"
        f"<weaknesses>\n{weaknesses}\n</weaknesses>\n\n<questions>\n{questions}\n</questions>"
    )


def _assw(paper: str) -> str:
    found = _sentences(paper)
    weak = [sentence for sentence in found if _verb(sentence) == "criticizes"][:3]
    strong = [sentence for sentence in found if sentence not in weak][:4]
    lists = ["\n\n".join(f"{sentence}." for sentence in part) for part in (strong or ["None stated"], weak)]
    names = ("strengths_claimed_by_the_paper", "weaknesses_claimed_by_the_paper")
    return "\n\n".join(f"<{name}>\n{text}\n</{name}>" for name, text in zip(names, lists, strict=True))


def _grade(user: str) -> str:
    """Returns an examiner's answer: a point for every three sentences of the review, 10 at most."""
    points = min(10.0, len(_sentences(user.rpartition("[Review]")[2])) / 3)
    return (
        f"<analysis>\nIt was read.\n</analysis>\n\n<overall_assessment>\nIt is a review.\n</overall_assessment>\n\n"
        f"<overall_score>\n{points:.1f}\n</overall_score>"
    )


def _from_abstract(abstract: str) -> str:
    found = [_short(sentence) for sentence in _sentences(abstract)] or ["the abstract is empty"]
    parts = (
        "Summary Of The Paper",
        "Strength And Weaknesses",
        "Clarity, Quality, Novelty And Reproducibility",
        "Summary Of The Review",
    )
    return "\n\n".join(f"{name}:\n\nIt is good that {found[place % len(found)]}." for place, name in enumerate(parts))


def _sentences(text: str) -> list[str]:
    found = (" ".join(sentence.split()) for sentence in _SENTENCE.findall(text))
    return [sentence for sentence in found if sentence.count(" ") >= 2]


def _verb(sentence: str) -> str:
    words = set(re.findall(r"[a-z]+", sentence.lower()))
    if words & {"why", "how", "what", "whether", "unclear", "question"}:
        return "questions"
    if words & {"should", "could", "suggest", "recommend", "add"}:
        return "suggests"
    if words & {"lack", "lacks", "weak", "weakness", "limited", "not", "missing", "limitation", "limitations", "poor"}:
        return "criticizes"
    return "appreciates"


def _short(sentence: str) -> str:
    return " ".join(sentence.split()[:12]).lower()

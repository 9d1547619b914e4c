"""A scripted OpenAI-compatible chat server: real HTTP on loopback, with answers and faults on demand.

Tests use it. Users with a clone can use it to try writing without a model: ``python -m tests.servers.chat``.
It serves ``POST /v1/chat/completions`` and ``GET /v1/models``. A behaviour is ok, a status ("500", "429", ...), one of
`REPLIES` or `TEXTS`, or a method ``do_...`` of `ChatHandler`. The written text depends only on the model's name and the
prompt.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import hashlib
import json
import re
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import quote

from tests.servers.scripted import Handler, Scripted, serve_in_thread, wait_until_stopped

MODEL = "scripted-chat"
NO_PAGE = {"error": {"message": "no such page"}}
_SENTENCE = re.compile(r"[^.!?\n]+")
_TAG = re.compile(r"<[^<>\n]{1,60}>")


class ScriptedChat(Scripted):
    """The server. ``requests``: the bodies of the requests. ``elsewhere``: the target of redirects."""

    def __init__(
        self,
        script: tuple[str, ...],
        retry_after: str | None = "0.05",
        write: Callable[[dict], str] | None = None,
        logprobs: Callable[[dict], list[dict]] | None = None,
        **more: Any,
    ):
        super().__init__(ChatHandler, script, **more)
        self.retry_after, self.write, self.logprobs = retry_after, write or written, logprobs
        self.elsewhere = "http://127.0.0.1:9/"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def count(self) -> int:
        return len(self.requests)


def scripted_chat(*script: str, **options: Any) -> AbstractContextManager[ScriptedChat]:
    """Yields a running server. Its options are those of `Scripted`, and

    - *retry_after*: the header Retry-After of each 429.
    - *write*: the function that writes replies, instead of `written`.
    - *logprobs*: the function that returns the log-probabilities for requests that ask for them.
    """
    return serve_in_thread(ScriptedChat(script, **options))


REPLIES: dict[str, tuple[int, object]] = {
    "error_200": (200, {"error": {"message": "provider fell over", "code": "provider_error"}}),
    "error_200_busy": (200, {"error": {"message": "provider is busy", "code": 503}}),
    "types": (200, {"choices": {"0": "no list"}, "usage": "much", "model": ["m"], "error": 0}),
    "odd": (200, {
        "choices": [{"message": {"content": [{"type": "text", "text": "The reviewer"}, 3]}, "finish_reason": {}}],
        "usage": [], "model": 7, "error": None,
    }),
    "quota": (429, {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}),
    "flagged": (403, {"error": {"message": "moderated", "code": 403,
                                "metadata": {"flagged_input": "x", "reasons": []}}}),
    "too_long": (400, {"error": {"message": "This model's maximum context length is 8192 tokens.", "code": 400}}),
    "policy": (400, {"error": {"message": "The prompt triggered the policy.", "code": "content_filter"}}),
}  # fmt: skip
"""Behaviour → status and JSON."""
TEXTS: dict[str, tuple[str | None, str, dict[str, str]]] = {
    "empty": (" \n", "stop", {}),
    "null": (None, "stop", {}),
    "refusal": (None, "stop", {"refusal": "I cannot review this."}),
    "filter": ("The rev", "content_filter", {}),
    "thinking_unclosed": ("<think>\nLet me see. The reviewer appreciates", "stop", {}),
    "thinking_field": ("", "stop", {"reasoning_content": "Let me see."}),
    "surrogate": ("The reviewer appreciates \ud800 x.", "stop", {}),
    "repeat": ("and so on " * 20_000, "length", {}),
    "huge": ("word " * 2**21, "stop", {}),
}
"""Behaviour → (text of the completion, or empty for the usual text; finish reason; further fields of the message)."""


class ChatHandler(Handler):
    server: ScriptedChat

    def do_GET(self) -> None:
        models = [{"id": MODEL, "object": "model", "created": 0, "owned_by": "tests"}]
        known = self.path == "/v1/models"
        self.send(200 if known else 404, {"object": "list", "data": models} if known else NO_PAGE)

    def do_POST(self) -> None:
        body = json.loads(self.read())
        if self.path != "/v1/chat/completions":
            return self.send(404, NO_PAGE)
        with self.server.behaviour(body, self.headers, body) as due:
            if due.isdigit():
                more = {"Retry-After": self.server.retry_after} if due == "429" and self.server.retry_after else {}
                self.send(int(due), {"error": {"message": f"scripted {due}", "code": f"scripted_{due}"}}, **more)
            elif due in REPLIES:
                self.send(*REPLIES[due])
            elif due in TEXTS:
                text, finish, message = TEXTS[due]
                self.complete(body, text, finish, **message)
            else:
                getattr(self, f"do_{due}")(body)

    def complete(self, body: dict, text: str | None = "", finish: str = "stop", **message: object) -> None:
        tree = completion(body, self.server.write(body) if text == "" else text, finish, **message)
        if body.get("logprobs") and self.server.logprobs:
            tree["choices"][0]["logprobs"] = {"content": self.server.logprobs(body)}
        self.send(200, tree)

    do_ok = complete

    def do_reset(self, _: dict) -> None:
        self.reset()

    def do_slow(self, body: dict) -> None:
        time.sleep(1.0)
        self.complete(body)

    def do_drip(self, _: dict, pause_s: float = 0.05, status: int = 200) -> None:
        self.raw(status, b"{" if status == 500 else b" ", length=100_000)
        for _ in range(2000):
            time.sleep(pause_s)
            self.wfile.write(b" ")

    def do_drip_slowly(self, body: dict) -> None:
        self.do_drip(body, pause_s=1.0)

    def do_drip_500(self, body: dict) -> None:
        self.do_drip(body, status=500)

    def do_endless_500(self, _: dict) -> None:
        self.raw(500, b"{", length=2**40)
        with contextlib.suppress(OSError):
            while True:
                self.wfile.write(b" " * 2**20)

    def do_truncated(self, body: dict) -> None:
        content = json.dumps(completion(body, written(body))).encode()
        self.raw(200, content[: len(content) // 2], length=len(content))

    def do_half_json(self, body: dict) -> None:
        content = json.dumps(completion(body, written(body))).encode()
        self.raw(200, content[: len(content) // 2])

    def do_html(self, _: dict) -> None:
        self.raw(200, b"<!DOCTYPE html><title>Verifying your browser</title>", "text/html")

    def do_nothing(self, _: dict) -> None:
        self.raw(200, b"")

    def do_plain_type(self, body: dict) -> None:
        self.raw(200, json.dumps(completion(body, self.server.write(body))).encode(), "text/plain; charset=latin-1")

    def do_thinking(self, body: dict) -> None:
        self.complete(body, f"<think>\nLet me see.\n</think>\n\n{written(body)}")

    def do_length(self, body: dict) -> None:
        ours = self.server.write is written
        self.complete(body, "The reviewer appreciates clarity.\nThe revi" if ours else "", "length")

    def do_echo(self, body: dict) -> None:
        self.complete(body, "\n\n".join(item["content"] for item in body["messages"]))

    def do_redirect(self, _: dict) -> None:
        self.send(307, {}, Location="/elsewhere")

    def do_redirect_away(self, _: dict) -> None:
        self.send(308, {}, Location=f"{self.server.elsewhere}/chat/completions")

    def do_echo_key(self, _: dict) -> None:
        self.send(400, {"error": {"message": f"bad request with {self.headers['Authorization']}"}})

    def do_echo_key_401(self, _: dict) -> None:
        self.send(401, {"error": {"message": f"{'x' * 150} {self.headers['Authorization']}"}})

    def do_echo_key_429(self, _: dict) -> None:
        self.send(429, {"error": self.headers["Authorization"]}, **{"Retry-After": "0"})

    def do_echo_key_quoted(self, _: dict) -> None:
        self.send(400, {"error": {"message": f"bad request ?auth={quote(self.headers['Authorization'], safe='')}"}})

    def do_echo_key_escaped(self, body: dict) -> None:
        text = "".join(f"\\u{ord(mark):04x}" for mark in self.headers["Authorization"])
        self.raw(200, json.dumps(completion(body, "@")).replace("@", text).encode())

    def do_echo_key_text(self, body: dict) -> None:
        said = self.headers["Authorization"]
        text = f"The reviewer appreciates {said}.\n{self.server.write(body)}"
        self.send(200, completion(body | {"model": said}, text))

    def do_echo_key_base64(self, body: dict) -> None:
        said = base64.b64encode(self.headers["Authorization"].encode()).decode()
        self.send(200, completion(body, f"The reviewer appreciates {said}.\n{self.server.write(body)}"))


def completion(body: dict, text: str | None, finish: str = "stop", **message: object) -> dict[str, Any]:
    """Returns a chat completion as the protocol defines it."""
    read, wrote = sum(len(item["content"]) for item in body["messages"]) // 4, len(text or "") // 4
    return {
        "id": "scripted",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
        ],
        "usage": {"prompt_tokens": read, "completion_tokens": wrote, "total_tokens": read + wrote},
    }


def written(body: dict) -> str:
    """Returns the scripted model's answer to the task in the system message of *body*."""
    system = next((item["content"] for item in body["messages"] if item["role"] == "system"), "")
    user = body["messages"][-1]["content"]
    if "summarize each evaluation in the review" in system:
        return _judgments(user)
    if "<summary> tags" in system:
        return _review(user, body["model"])
    if "<strengths_claimed_by_the_paper>" in system:
        return _write_assw(user)
    if "<overall_score>" in system:
        return _grade(user)
    if "completing missing sentences" in system:
        return user.replace("[There is one missing sentence]", "There is more to be said here.")
    if "with only the abstract" in system:
        return _write_review_of_abstract(user)
    if "rewriting a peer review" in system:
        return re.sub(r"\bis\b", "is indeed" if body["model"] == MODEL else "is surely", user)
    if "please identify two key" in system:
        found = _sentences(user) or ["nothing"]
        return f"{_shorten(found[0])} and {_shorten(found[-1])}."
    return f"The scripted model read {len(user)} characters."


def _judgments(review: str) -> str:
    """Returns one judgment per sentence of the review, at most 20."""
    lines = [f"The reviewer {_verb(sentence)} {_shorten(sentence)}." for sentence in _sentences(_TAG.sub("\n", review))]
    return "\n".join(lines[:20]) or "There is nothing to summarize."


def _review(paper: str, model: str) -> str:
    """Returns a tagged review made of sentences of the paper; another *model* picks other sentences."""
    found = _sentences(paper) or ["The paper is empty"]
    ranked = sorted(found, key=lambda sentence: hashlib.sha256(f"{model}\n{sentence}".encode()).digest())
    picked = [_shorten(ranked[place % len(ranked)]) for place in range(10)]
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


def _write_assw(paper: str) -> str:
    found = _sentences(paper)
    weak = [sentence for sentence in found if _verb(sentence) == "criticizes"][:3]
    strong = [sentence for sentence in found if sentence not in weak][:4]
    lists = ["\n\n".join(f"{sentence}." for sentence in part) for part in (strong or ["None stated"], weak)]
    names = ("strengths_claimed_by_the_paper", "weaknesses_claimed_by_the_paper")
    return "\n\n".join(f"<{name}>\n{text}\n</{name}>" for name, text in zip(names, lists, strict=True))


def _grade(user: str) -> str:
    """Returns an examiner's answer: one point for every three sentences of the review, at most 10 points."""
    points = min(10.0, len(_sentences(user.rpartition("[Review]")[2])) / 3)
    return (
        f"<analysis>\nIt was read.\n</analysis>\n\n<overall_assessment>\nIt is a review.\n</overall_assessment>\n\n"
        f"<overall_score>\n{points:.1f}\n</overall_score>"
    )


def _write_review_of_abstract(abstract: str) -> str:
    found = [_shorten(sentence) for sentence in _sentences(abstract)] or ["the abstract is empty"]
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


def _shorten(sentence: str) -> str:
    return " ".join(sentence.split()[:12]).lower()


def main(arguments: list[str] | None = None) -> int:
    """Serves until the process is stopped; returns the exit code: 2, with a one-line message, if the port is taken."""
    methods = (name.removeprefix("do_") for name in vars(ChatHandler) if name.startswith("do_") and name.islower())
    known = sorted({*REPLIES, *TEXTS, *methods})
    parser = argparse.ArgumentParser(
        prog="python -m tests.servers.chat",
        description="Serve a model that writes by rule, at an OpenAI-compatible endpoint on this machine, until stopped. "
        "It needs no key.",
    )
    add = parser.add_argument
    add("--port", metavar="N", type=int, default=4712, help="0: a free one (4712, as tests/servers/models.toml says)")
    add(
        "--then",
        metavar="BEHAVIOUR",
        default="ok",
        help=f"how it answers: a status such as 429, or {', '.join(known)} (ok)",
    )
    add("--pause", metavar="S", type=float, default=0.0, help="seconds before each answer (0)")
    asked = parser.parse_args(arguments)
    if not (asked.then in known or re.fullmatch("[45][0-9][0-9]", asked.then)) or asked.pause < 0:
        parser.error(f"--then is a status such as 429, or one of {', '.join(known)}; --pause is at least 0")
    try:
        server = ScriptedChat((), then=asked.then, pause_s=asked.pause, port=asked.port)
    except (OSError, OverflowError) as error:
        parser.error(f"port {asked.port} cannot be served: {error}; name another with --port")
    with serve_in_thread(server):
        print(f"{MODEL}: {server.url}")
        wait_until_stopped()
    print(f"stopped; requests: {server.count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

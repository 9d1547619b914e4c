"""Reads the response of an OpenAI-compatible chat endpoint as a `Reply`.

Any field of the response may be absent or malformed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gre_bench.core.records import Outcome, Reply
from gre_bench.core.replies import without_thinking
from gre_bench.http.client import passes

LONGEST_DETAIL = 200
STOPPING = {
    401: "endpoint refused the key (401)",
    402: "the account has no credit left (402)",
    403: "endpoint refused access (403)",
    404: "endpoint or model not found (404)",
}
"""HTTP statuses that every other request would get as well, each with its message."""

_CUT = {"length", "max_tokens"}
_FILTERED = {"content_filter", "safety", "prohibited_content", "recitation"}
_BROKEN_OFF = {"error", "abort", "insufficient_system_resource"}
_TOO_LONG = {"context_length_exceeded", "string_above_max_length"}
_TOO_LONG_SAID = ("maximum context length", "prompt is too long", "maximum model length",
                  "exceeds the maximum number of tokens", "must be <=")  # fmt: skip
_POLICY = {"content_filter", "content_policy_violation"}
_NO_QUOTA = "insufficient_quota"


@dataclass(frozen=True, slots=True)
class CompletionResult:
    """The reply to a request, and what the client should do next.

    - *again*: whether to repeat the request.
    - *wait_s*: the seconds to wait before the repeat; None if the endpoint states none.
    - *stop*: whether to stop all requests to the endpoint, because every other request would fail too.
    """

    reply: Reply
    again: bool = False
    wait_s: float | None = None
    stop: bool = False


def unanswered_request(
    detail: str, *, again: bool = False, stop: bool = False, wait_s: float | None = None, outcome: Outcome = "failed"
) -> CompletionResult:
    """Returns the result of a request to which the LM gave no answer, for the reason *detail*.

    Its reply is not final, so a later run sends the request again. *again*, *stop*, *wait_s*: see `CompletionResult`.
    """
    return CompletionResult(Reply(outcome, None, one_line(detail), final=False), again, wait_s, stop)


def read_completion(body: bytes) -> CompletionResult:
    """Reads *body*, the content of a response with HTTP status 200; the content may still state an error."""
    tree = _parsed(body)
    if isinstance(tree, str):
        kind = "an HTML page" if body.lstrip()[:1] == b"<" else "malformed JSON"
        return unanswered_request(f"endpoint answered with {kind} (200, {len(body)} bytes)")
    choices = tree.get("choices") if isinstance(tree, Mapping) else None
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}
    for holder in (tree, choice):
        if error := _error(holder):
            return read_problem(error.get("code"), holder)
    message = _part(choice, "message")
    if message is None:
        return unanswered_request("endpoint answered without a message (200)")
    finish = str(choice.get("finish_reason") or "").lower()
    text, thinking = without_thinking(_sound(_content(message.get("content"))))
    thinking += max(len(_content(message.get(name))) for name in ("reasoning_content", "reasoning"))
    usage = _part(tree, "usage") or {}
    more = {
        "model": one_line(_sound(_content(tree.get("model") if isinstance(tree, Mapping) else None))),
        "thinking": thinking,
        "prompt_tokens": _tokens(usage.get("prompt_tokens")),
        "reply_tokens": _tokens(usage.get("completion_tokens")),
    }
    refusal = _content(message.get("refusal"))
    if refusal or finish in _FILTERED:
        detail = one_line(_sound(refusal) or f"stopped by the endpoint: {finish}")
        return CompletionResult(Reply("refused", None, detail, **more))
    if finish in _BROKEN_OFF:
        return unanswered_request(f"endpoint cut the reply off: {finish}")
    if not text.strip():
        why = "no text before the limit was reached" if finish in _CUT else "no text"
        detail = f"{why} ({thinking} characters of thinking)"
        return CompletionResult(Reply("empty", None, detail, **more), again=finish not in _CUT)
    return CompletionResult(Reply("cut" if finish in _CUT else "ok", text, **more))


def read_problem(status: object, body: object, wait_s: float | None = None) -> CompletionResult:
    """Reads an error response. If the prompt was refused or too long, the reply is final.

    - *status*: the HTTP status. If a response with status 200 states an error, *status* is the code of that error.
    - *body*: the content of the response, as bytes or parsed.
    - *wait_s*: the waiting time in seconds that the Retry-After header states; None if there is no such header.
    """
    if isinstance(body, bytes):
        body = _parsed(body)
    error = _error(body)
    code, message = str(error.get("code")), str(error.get("message") or "")
    status = status if isinstance(status, int) and not isinstance(status, bool) else 0
    detail = f"endpoint error {status or 'without a number'}: {message or body}"
    if code in _POLICY or (status == 403 and "flagged_input" in (_part(error, "metadata") or {})):
        return CompletionResult(Reply("refused", None, one_line(f"the prompt was refused: {message}")))
    too_long = status in (400, 422) and any(words in message.lower() for words in _TOO_LONG_SAID)
    if status == 413 or code in _TOO_LONG or too_long:
        return CompletionResult(Reply("failed", None, one_line(f"the prompt is too long for the model: {message}")))
    if code == _NO_QUOTA:
        return unanswered_request("the account has no quota left (429)", stop=True, outcome="rate_limited")
    if status in STOPPING:
        return unanswered_request(f"{STOPPING[status]}{': ' if message else ''}{message}", stop=True)
    if 300 <= status < 400:
        return unanswered_request(f"endpoint redirects ({status}): correct its base URL", stop=True)
    if status == 429:
        return unanswered_request(detail, again=True, wait_s=wait_s, outcome="rate_limited")
    return unanswered_request(detail, again=passes(status), wait_s=wait_s)


def one_line(text: str) -> str:
    """Returns *text* as one line of at most `LONGEST_DETAIL` characters, without control characters."""
    line = re.sub(r"[\x00-\x20\x7f-\x9f\u2028\u2029]+", " ", text[: 4 * LONGEST_DETAIL]).strip()
    return line if len(line) <= LONGEST_DETAIL else line[: LONGEST_DETAIL - 1] + "…"


def _content(content: object) -> str:
    """Returns the text of a message's *content*: a text, or a list of parts. Parts without text are left out."""
    if isinstance(content, list):
        return "".join(_content(part.get("text")) for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""


def _sound(text: str) -> str:
    """Returns *text* with each lone surrogate replaced by ``?``, because files cannot hold lone surrogates."""
    return text.encode("utf-8", "replace").decode()


def _tokens(count: object) -> int | None:
    return count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 2**31 else None


def _parsed(body: bytes) -> object:
    """Returns *body* parsed as JSON, or decoded as text if it is not JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body.decode("utf-8", "replace")


def _error(body: object) -> Mapping[str, Any]:
    """Returns the error in *body*, a parsed response, as a mapping; empty if *body* states no error.

    Some servers state the error as an object, some as a text, some as entries at the top level.
    """
    if not isinstance(body, Mapping):
        return {}
    error = body.get("error")
    if isinstance(error, str) and error:
        return {"message": error}
    return _part(body, "error") or (body if body.get("object") == "error" else {})


def _part(tree: object, name: str) -> Mapping[str, Any] | None:
    part = tree.get(name) if isinstance(tree, Mapping) else None
    return part if isinstance(part, Mapping) else None

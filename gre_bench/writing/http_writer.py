"""A writer that sends chats to a real LM: any OpenAI-compatible chat endpoint.

A request is retried only after a transient fault (`gre_bench.http.lm_requests`), with the delay that the endpoint asks
for. After a bounded number of attempts, the writer returns a `Completion` that is not final: it is not archived, so a
later run sends the request again. The whole batch stops after a fault that would affect every chat: a refused key, an
unknown model, a dead endpoint.

A chat whose reply is in the archive is not sent. Every final reply is archived before `write` returns. Each request
first waits for the endpoint's rate limiter, and is then counted in the budget. When the budget reaches a limit, the
requests in flight finish, and then `BudgetReached` is raised.
"""

from __future__ import annotations

import email.utils
import json
import math
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from gre_bench.catalogs.models import Model
from gre_bench.core.errors import BudgetReached, StoreError
from gre_bench.core.records import Chat, Completion, Outcome, Sampling
from gre_bench.core.replies import without_thinking
from gre_bench.http.lm_requests import (
    BatchGate,
    HttpClient,
    RetryPolicy,
    is_transient_status,
    map_in_threads,
    parse_retry_after,
)
from gre_bench.writing.archive import ReplyArchive, request_digest
from gre_bench.writing.rate_limiter import RateLimiter
from gre_bench.writing.spend_log import ModelBudget, estimate_tokens, tokens_of

if TYPE_CHECKING:
    from pathlib import Path

LARGEST_BODY = 32 * 2**20
"""The largest accepted response, in bytes."""

TOP = 20
"""How many alternative tokens are requested at each position; endpoints usually return no more."""

CHECK_TIMEOUT_S = 10.0
LARGEST_LIST = 4 * 2**20


class HttpWriter:
    """A `Writer` that sends chats to the LM *model*, an entry of the models file.

    The API key is needed only when `write` gets a chat without an archived reply. *again*: whether to repeat a request
    whose archived reply has no text. *model_budget*: the budget that requests are charged to, if any. *rate_limiters*:
    the folder that holds a rate limiter for each endpoint; None: no rate limiter.
    """

    def __init__(
        self,
        model: Model,
        archive: ReplyArchive,
        retry_policy: RetryPolicy | None = None,
        again: bool = False,
        model_budget: ModelBudget | None = None,
        rate_limiters: Path | None = None,
    ):
        self.model, self.archive, self.again, self.model_budget = model, archive, again, model_budget
        retry_policy = retry_policy or RetryPolicy()
        concurrency = model.limits.concurrency or retry_policy.concurrency
        self.retry_policy = replace(retry_policy, concurrency=concurrency)
        self.rate_limiter = (
            RateLimiter(model.server, model.limits, rate_limiters, concurrency) if rate_limiters else None
        )
        self._client: HttpClient | None = None

    def __repr__(self) -> str:
        return f"HttpWriter({self.identity})"

    @property
    def identity(self) -> str:
        """The identity of the model, which is part of signatures and of the digest of every request."""
        return self.model.identity

    def write(self, chats: Sequence[Chat], sampling: Sampling) -> list[Completion]:
        """Returns one reply for each of *chats*, in the same order; sends equal chats only once.

        Before sending, raises `LMError` if the API key is missing, and `StoreError` if the archive cannot be read.
        Raises `BudgetReached` if a limit of the budget stopped the batch; the replies received by then are archived.
        """
        sound = [_replace_surrogates_in_chat(chat) for chat in chats]
        requests = [request_digest(self.identity, chat, sampling) for chat in sound]
        replies = {request: self._get_archived_reply(request) for request in dict.fromkeys(requests)}
        due = {request: chat for request, chat in zip(requests, sound, strict=True) if replies[request] is None}
        if due:
            client = self._client = self._client or self._open_client()
            gate: BatchGate[Completion] = BatchGate(max(2, self.retry_policy.concurrency))
            with self.model_budget.count_hours() if self.model_budget else nullcontext():
                fresh = map_in_threads(
                    lambda item: self._get_or_request_reply(item[0], item[1], sampling, client, gate),
                    due.items(),
                    self.retry_policy.concurrency,
                    lambda: gate.stop_with_shared_result(build_unanswered_attempt("interrupted").reply),
                )
                replies |= zip(due, fresh, strict=True)
            if gate.bound is not None:
                raise gate.bound
        return [cast(Completion, replies[request]) for request in requests]

    def answered(self, chats: Sequence[Chat], sampling: Sampling) -> list[bool]:
        """Returns for each of *chats* whether the archive holds a reply that `write` would use; sends nothing."""
        replies = [
            self.archive.get(request_digest(self.identity, _replace_surrogates_in_chat(chat), sampling))
            for chat in chats
        ]
        return [reply is not None and not (self.again and _has_no_text(reply)) for reply in replies]

    def set_aside(self, chats: Sequence[Chat], sampling: Sampling) -> None:
        """Renames the archived replies that answer *chats*, so that *chats* are sent again; no reply is deleted."""
        for chat in chats:
            self.archive.set_aside(request_digest(self.identity, _replace_surrogates_in_chat(chat), sampling))

    def _get_archived_reply(self, request: str) -> Completion | None:
        reply = self.archive.get(request)
        if self.again and reply is not None and _has_no_text(reply):
            self.archive.set_aside(request)
            return None
        return reply

    def _get_or_request_reply(
        self, request: str, chat: Chat, sampling: Sampling, client: HttpClient, gate: BatchGate[Completion]
    ) -> Completion:
        """Returns the reply from the archive or the LM; it is not final if the batch stopped or the archive failed."""
        if gate.stopped is not None:
            return gate.stopped
        try:
            with self.archive.lock_request(request):
                return self.archive.get(request) or self._request_reply(request, chat, sampling, client, gate)
        except StoreError as error:
            gate.stop_with_shared_result(reply := build_unanswered_attempt(str(error)).reply)
            return reply

    def _request_reply(
        self, request: str, chat: Chat, sampling: Sampling, client: HttpClient, gate: BatchGate[Completion]
    ) -> Completion:
        """Sends *chat* until the LM replies or no further attempt is worthwhile; returns the last reply.

        A final reply is archived before its cost is logged. If the process is killed in between, only the record of the
        cost is lost. If the archive or the log cannot be written, the batch stops, so that no further reply is paid
        for.
        """
        prompt_tokens, empty = estimate_tokens(chat.system + chat.user), False
        for attempt in count():
            if not gate.wait_until_ready():
                break
            with ExitStack() as sending:
                enter, limiter, budget = sending.enter_context, self.rate_limiter, self.model_budget
                if limiter and not enter(limiter.wait_for_turn(prompt_tokens, gate.over)):
                    break
                try:
                    if budget and not enter(budget.count_request(chat, sampling, gate.over)):
                        break
                except BudgetReached as bound:
                    return gate.stop_with_shared_result(build_unanswered_attempt(str(bound)).reply, bound)
                began = time.monotonic()
                answer = self._send_request(chat, sampling, client)
                seconds = time.monotonic() - began
                second_empty, empty = empty, empty or answer.reply.outcome == "empty"
                again = answer.again and not (second_empty and answer.reply.outcome == "empty")
                wait_s = self.retry_policy.compute_wait_s(attempt, answer.wait_s) if again else None
                with _stop_on_store_error(gate):
                    if wait_s is None:
                        self.archive.put(request, answer.reply)
                with _stop_on_store_error(gate):
                    if budget:
                        budget.record_spending(chat, answer.reply, seconds)
            if self.rate_limiter:
                self.rate_limiter.correct_tokens(sum(tokens_of(chat, answer.reply)) - prompt_tokens)
            if answer.stop:
                gate.stop_with_shared_result(answer.reply)
            if not again:
                gate.record_and_check_endpoint_down(lost=False)
            if not again or (wait_s is None and answer.reply.final):
                return answer.reply
            if wait_s is None:
                return self._build_failed_reply(answer, attempt, gate)
            if self.rate_limiter and answer.wait_s:
                self.rate_limiter.delay_requests(answer.wait_s)
            gate.wait(wait_s, answer.wait_s)
        return cast(Completion, gate.stopped)

    def _build_failed_reply(self, answer: CompletionAttempt, attempt: int, gate: BatchGate[Completion]) -> Completion:
        """Returns the reply for a chat whose last attempt failed, with the reason why the writer gives up."""
        too_long = answer.wait_s is not None and answer.wait_s > self.retry_policy.longest_wait_s
        why = f"endpoint asks to wait {answer.wait_s:.0f} s" if too_long else f"gave up after {attempt + 1} attempts"
        reply = replace(answer.reply, detail=shorten_to_one_line(f"{why}: {answer.reply.detail}"))
        if gate.record_and_check_endpoint_down(lost=True):
            gate.stop_with_shared_result(reply)
        return reply

    def _send_request(self, chat: Chat, sampling: Sampling, client: HttpClient) -> CompletionAttempt:
        """Sends one request and returns the result; a transport fault is part of the result."""
        body = {"model": self.model.model, "messages": _build_messages(chat), **self._build_parameters(sampling)}
        answer = client.send("POST", "/chat/completions", body)
        if "Timeout" in answer.fault:
            return build_unanswered_attempt(f"endpoint gave no answer in {self.retry_policy.timeout_s:g} s", again=True)
        if answer.fault and answer.status is not None:
            return build_unanswered_attempt(f"endpoint answered with more than {LARGEST_BODY // 2**20} MiB")
        if answer.status is None:
            return build_unanswered_attempt(f"connection to the endpoint failed: {answer.reason}", again=True)
        if not 200 <= answer.status < 300:
            result = parse_error_response(answer.status, answer.body, parse_retry_after(answer.headers))
        else:
            result = self._parse_response(answer.body)
        # JSON escapes may have hidden the key in the body.
        texts = {name: client.mask_api_key(getattr(result.reply, name) or "") for name in ("text", "detail", "model")}
        kept: dict[str, Any] = {name: text for name, text in texts.items() if text}
        return replace(result, reply=replace(result.reply, **kept))

    def _parse_response(self, body: bytes) -> CompletionAttempt:
        """Parses the content of a response; subclasses that request more than text override this method."""
        return parse_completion_response(body)

    def _build_parameters(self, sampling: Sampling) -> dict[str, Any]:
        parameters = {
            "temperature": sampling.temperature,
            self.model.limit_as: sampling.max_tokens,
            "top_p": sampling.top_p,
            "seed": sampling.seed,
        }
        return {name: value for name, value in parameters.items() if value is not None}

    def _open_client(self) -> HttpClient:
        """Opens the client. Only OpenAI's own endpoint gets the organisation and project from the environment."""
        headers = {}
        if urlsplit(self.model.endpoint).hostname == "api.openai.com":
            names = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
            headers = {name: value for name, variable in names.items() if (value := os.environ.get(variable))}
        policy = self.retry_policy
        return HttpClient(
            self.model.endpoint, self.model.read_api_key(), policy.timeout_s, LARGEST_BODY, policy.concurrency, headers
        )


@contextmanager
def _stop_on_store_error(gate: BatchGate[Completion]) -> Iterator[None]:
    """Stops the batch if the archive or the spend log cannot be written in the ``with`` block."""
    try:
        yield
    except StoreError as error:
        gate.stop_with_shared_result(build_unanswered_attempt(str(error)).reply)


def _build_messages(chat: Chat) -> list[dict[str, str]]:
    system = [{"role": "system", "content": chat.system}] if chat.system else []
    return [*system, {"role": "user", "content": chat.user}]


def _has_no_text(reply: Completion) -> bool:
    """Whether *reply* has no text: the LM refused, the reply is empty, or the request failed."""
    return reply.outcome in ("refused", "empty", "failed")


def _replace_surrogates_in_chat(chat: Chat) -> Chat:
    return Chat(replace_lone_surrogates(chat.system), replace_lone_surrogates(chat.user))


class LogprobWriter(HttpWriter):
    """An `HttpWriter` that also returns the log-probabilities of the reply's tokens and of the likeliest alternatives.

    The `text` of each reply is a JSON document: ``{"text": the reply, "tokens": [{"token": ..., "logprob": ..., "top":
    [[token, logprob], ...]}, ...]}``. Whether the sampling temperature affects the log-probabilities depends on the
    endpoint.
    """

    @property
    def identity(self) -> str:
        return f"{self.model.identity} · top {TOP} log-probabilities"

    def _build_parameters(self, sampling: Sampling) -> dict[str, Any]:
        return {**super()._build_parameters(sampling), "logprobs": True, "top_logprobs": TOP}

    def _parse_response(self, body: bytes) -> CompletionAttempt:
        answer = parse_completion_response(body)
        if answer.reply.outcome not in ("ok", "cut"):
            return answer
        tokens = _parse_tokens(json.loads(body))
        if not tokens:
            problem = "endpoint returns no log-probabilities of its tokens"
            return replace(answer, reply=replace(answer.reply, outcome="failed", text=None, detail=problem))
        document = json.dumps({"text": answer.reply.text, "tokens": tokens}, ensure_ascii=False)
        # Only the first tokens of a reply are read, so a truncated reply is as good as a complete one.
        return replace(answer, reply=replace(answer.reply, outcome="ok", text=document))


def _parse_tokens(tree: Any) -> list[dict[str, Any]]:
    """Returns the tokens of a parsed response in the format of `LogprobWriter`; [] if any token is unusable."""
    try:
        content = tree["choices"][0]["logprobs"]["content"]
        return [
            {
                "token": _read_token_text(each["token"]),
                "logprob": _bound_logprob(each["logprob"]),
                "top": [
                    [_read_token_text(other["token"]), _bound_logprob(other["logprob"])]
                    for other in each["top_logprobs"] or []
                ],
            }
            for each in content
        ]
    except (KeyError, IndexError, TypeError, ValueError):
        return []


def _read_token_text(token: object) -> str:
    if not isinstance(token, str):
        raise TypeError("a token is no text")
    return replace_lone_surrogates(token)


def _bound_logprob(value: object) -> float:
    """Returns the log-probability *value*, or -9999 if it is lower; endpoints write -9999 for an impossible token.

    Raises `ValueError` if *value* is not a number, or is above 0 by more than a rounding error.
    """
    number = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
    if not number <= 1e-6:
        raise ValueError("not a log-probability")
    return max(number, -9999.0)


@dataclass(frozen=True, slots=True)
class EndpointCheck:
    """The result of checking an endpoint.

    *status*: the HTTP status; None if the endpoint did not respond. *trouble*: the name of the error if there was no
    response, else empty. *lists*: the names of the endpoint's models; None if it did not list them. *ahead_s*: the
    seconds by which this machine's clock is ahead of the endpoint's; None if unknown.
    """

    status: int | None
    trouble: str = ""
    lists: tuple[str, ...] | None = None
    ahead_s: float | None = None


def check_endpoint(model: Model) -> EndpointCheck:
    """Sends ``GET /models`` with the API key to *model*'s endpoint; raises `LMError` if the key is missing."""
    client = HttpClient(model.endpoint, model.read_api_key(), CHECK_TIMEOUT_S, LARGEST_LIST)
    answer = client.send("GET", "/models")
    if answer.fault:
        return EndpointCheck(None, answer.fault)
    try:
        lists = tuple(str(entry["id"]) for entry in json.loads(answer.body)["data"]) if answer.status == 200 else None
    except (ValueError, KeyError, TypeError, RecursionError):
        lists = None
    try:
        ahead = time.time() - email.utils.parsedate_to_datetime(answer.headers.get("date", "")).timestamp()
    except (ValueError, TypeError, OverflowError):
        ahead = None
    return EndpointCheck(answer.status, "", lists, ahead)


LONGEST_DETAIL = 200
STOPPING = {
    401: "endpoint refused the key (401)",
    402: "the account has no credit left (402)",
    403: "endpoint refused access (403)",
    404: "endpoint or model not found (404)",
}
"""HTTP status → message, for the statuses that every other request would get, too."""

_CUT = {"length", "max_tokens"}
_FILTERED = {"content_filter", "safety", "prohibited_content", "recitation"}
_BROKEN_OFF = {"error", "abort", "insufficient_system_resource"}
_TOO_LONG = {"context_length_exceeded", "string_above_max_length"}
_TOO_LONG_SAID = ("maximum context length", "prompt is too long", "maximum model length",
                  "exceeds the maximum number of tokens", "must be <=")  # fmt: skip
_POLICY = {"content_filter", "content_policy_violation"}
_NO_QUOTA = "insufficient_quota"


@dataclass(frozen=True, slots=True)
class CompletionAttempt:
    """The reply to a request, and what the client should do next.

    *again*: whether to repeat the request. *wait_s*: the seconds to wait first; None if the endpoint states none.
    *stop*: whether to stop all requests to the endpoint, because every other request would fail too.
    """

    reply: Completion
    again: bool = False
    wait_s: float | None = None
    stop: bool = False


def build_unanswered_attempt(
    detail: str, *, again: bool = False, stop: bool = False, wait_s: float | None = None, outcome: Outcome = "failed"
) -> CompletionAttempt:
    """Returns the result of a request that got no reply, for the reason *detail*; it is not final."""
    return CompletionAttempt(Completion(outcome, None, shorten_to_one_line(detail), final=False), again, wait_s, stop)


def parse_completion_response(body: bytes) -> CompletionAttempt:
    """Parses *body*, the content of a response with HTTP status 200; the content may still state an error."""
    tree = _parse_body(body)
    if isinstance(tree, str):
        kind = "an HTML page" if body.lstrip()[:1] == b"<" else "malformed JSON"
        return build_unanswered_attempt(f"endpoint answered with {kind} (200, {len(body)} bytes)")
    choices = tree.get("choices") if isinstance(tree, Mapping) else None
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}
    for holder in (tree, choice):
        if error := _find_error(holder):
            return parse_error_response(error.get("code"), holder)
    message = _get_mapping(choice, "message")
    if message is None:
        return build_unanswered_attempt("endpoint answered without a message (200)")
    finish = str(choice.get("finish_reason") or "").lower()
    text, thinking = without_thinking(replace_lone_surrogates(_join_content_parts(message.get("content"))))
    thinking += max(len(_join_content_parts(message.get(name))) for name in ("reasoning_content", "reasoning"))
    usage = _get_mapping(tree, "usage") or {}
    more = {
        "model": shorten_to_one_line(
            replace_lone_surrogates(_join_content_parts(tree.get("model") if isinstance(tree, Mapping) else None))
        ),
        "thinking": thinking,
        "prompt_tokens": _parse_count(usage.get("prompt_tokens")),
        "reply_tokens": _parse_count(usage.get("completion_tokens")),
    }
    refusal = _join_content_parts(message.get("refusal"))
    if refusal or finish in _FILTERED:
        detail = shorten_to_one_line(replace_lone_surrogates(refusal) or f"stopped by the endpoint: {finish}")
        return CompletionAttempt(Completion("refused", None, detail, **more))
    if finish in _BROKEN_OFF:
        return build_unanswered_attempt(f"endpoint cut the reply off: {finish}")
    if not text.strip():
        why = "no text before the limit was reached" if finish in _CUT else "no text"
        detail = f"{why} ({thinking} characters of thinking)"
        return CompletionAttempt(Completion("empty", None, detail, **more), again=finish not in _CUT)
    return CompletionAttempt(Completion("cut" if finish in _CUT else "ok", text, **more))


def parse_error_response(status: object, body: object, wait_s: float | None = None) -> CompletionAttempt:
    """Parses an error response. If the prompt was refused or too long, the reply is final.

    *status*: the HTTP status, or the error code stated in a response with status 200. *body*: the content, as bytes or
    parsed. *wait_s*: the seconds that the Retry-After header states, if there is one.
    """
    if isinstance(body, bytes):
        body = _parse_body(body)
    error = _find_error(body)
    code, message = str(error.get("code")), str(error.get("message") or "")
    status = status if isinstance(status, int) and not isinstance(status, bool) else 0
    detail = f"endpoint error {status or 'without a number'}: {message or body}"
    if code in _POLICY or (status == 403 and "flagged_input" in (_get_mapping(error, "metadata") or {})):
        return CompletionAttempt(Completion("refused", None, shorten_to_one_line(f"the prompt was refused: {message}")))
    too_long = status in (400, 422) and any(words in message.lower() for words in _TOO_LONG_SAID)
    if status == 413 or code in _TOO_LONG or too_long:
        return CompletionAttempt(
            Completion("failed", None, shorten_to_one_line(f"the prompt is too long for the model: {message}"))
        )
    if code == _NO_QUOTA:
        return build_unanswered_attempt("the account has no quota left (429)", stop=True, outcome="rate_limited")
    if status in STOPPING:
        return build_unanswered_attempt(f"{STOPPING[status]}{': ' if message else ''}{message}", stop=True)
    if 300 <= status < 400:
        return build_unanswered_attempt(f"endpoint redirects ({status}): correct its base URL", stop=True)
    if status == 429:
        return build_unanswered_attempt(detail, again=True, wait_s=wait_s, outcome="rate_limited")
    return build_unanswered_attempt(detail, again=is_transient_status(status), wait_s=wait_s)


def shorten_to_one_line(text: str) -> str:
    line = re.sub(r"[\x00-\x20\x7f-\x9f\u2028\u2029]+", " ", text[: 4 * LONGEST_DETAIL]).strip()
    return line if len(line) <= LONGEST_DETAIL else line[: LONGEST_DETAIL - 1] + "…"


def _join_content_parts(content: object) -> str:
    """Returns the text of a message's *content*, a string or a list of parts; parts without text are left out."""
    if isinstance(content, list):
        return "".join(_join_content_parts(part.get("text")) for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""


def replace_lone_surrogates(text: str) -> str:
    """Returns *text* with each lone surrogate replaced by ``?``, because UTF-8 cannot encode it."""
    return text.encode("utf-8", "replace").decode()


def _parse_count(count: object) -> int | None:
    return count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 2**31 else None


def _parse_body(body: bytes) -> object:
    """Returns *body* parsed as JSON, or decoded as text if it is not JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body.decode("utf-8", "replace")


def _find_error(body: object) -> Mapping[str, Any]:
    """Returns the error that a parsed response states in ``error`` or at its top level; {} if there is none."""
    if not isinstance(body, Mapping):
        return {}
    error = body.get("error")
    if isinstance(error, str) and error:
        return {"message": error}
    return _get_mapping(body, "error") or (body if body.get("object") == "error" else {})


def _get_mapping(tree: object, name: str) -> Mapping[str, Any] | None:
    part = tree.get(name) if isinstance(tree, Mapping) else None
    return part if isinstance(part, Mapping) else None

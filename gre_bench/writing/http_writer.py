"""A writer that sends chats to a real LM: any OpenAI-compatible chat endpoint, through the `openai` client.

The client's own retries are off. This module repeats a request only after a transient fault (`gre_bench.http.retry`),
and waits as long as the endpoint asks. After a bounded number of attempts it returns a `Reply` that is not final. The
whole batch stops after a fault that every chat would meet: a refused key, an unknown model, a dead endpoint.

A chat whose reply is in the archive is not sent. Every final reply is archived before `write` returns. Each request
first waits for the endpoint's rate limiter and is then counted in the budget. When the budget reaches a limit, the
requests in flight end normally, and then `BudgetReached` is raised.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Self, cast
from urllib.parse import urlsplit

from gre_bench.catalogs.models import Model
from gre_bench.core.errors import BudgetReached, StoreError
from gre_bench.core.records import Chat, Reply, Sampling
from gre_bench.http.masking import SHORTEST_SECRET, masked
from gre_bench.http.retry import RetryPolicy, retry_after
from gre_bench.writing.archive import ReplyArchive, request_digest
from gre_bench.writing.batch import Batch
from gre_bench.writing.budget import ModelBudget, estimated, tokens_of
from gre_bench.writing.completion import CompletionResult, one_line, read_completion, read_problem, unanswered_request
from gre_bench.writing.rate_limiter import RateLimiter
from gre_bench.writing.threads import by_threads

if TYPE_CHECKING:
    import ssl
    from pathlib import Path

    from openai import OpenAI

LARGEST_BODY = 32 * 2**20
"""Largest accepted response, in bytes."""


@cache
def _certificates(from_environment: bool) -> ssl.SSLContext:
    """Returns the trusted certificates, also those of environment variables if *from_environment*; loads them once."""
    import httpx2

    return httpx2.create_ssl_context(trust_env=from_environment)


class HttpWriter:
    """A `Writer` that sends chats to the LM *model*, an entry of the models file; `open` explains the options."""

    def __init__(
        self,
        model: Model,
        archive: ReplyArchive,
        retry_policy: RetryPolicy | None = None,
        again: bool = False,
        model_budget: ModelBudget | None = None,
        rate_limiters: Path | None = None,
    ):
        self.again = again
        self.model_budget = model_budget
        self.model = model
        self.archive = archive
        retry_policy = retry_policy or RetryPolicy()
        self.retry_policy = replace(retry_policy, concurrency=model.limits.concurrency or retry_policy.concurrency)
        self.rate_limiter = (
            None
            if rate_limiters is None
            else RateLimiter(model.endpoint, model.limits, rate_limiters, self.retry_policy.concurrency)
        )
        self._client: OpenAI | None = None
        self._key: str | None = None
        self._headers: dict[str, Any] = {}

    @classmethod
    def open(
        cls,
        model: Model,
        archive: ReplyArchive,
        again: bool = False,
        model_budget: ModelBudget | None = None,
        rate_limiters: Path | None = None,
    ) -> Self:
        """Opens the writer of *model*. The API key is needed only when `write` gets a chat without an archived reply.

        - *archive*: the reply archive.
        - *again*: whether the LM is asked again if its archived reply has no text.
        - *model_budget*: the budget to which requests are charged; None means that requests are not counted.
        - *rate_limiters*: the folder that holds a rate limiter for each endpoint; None means no rate limiter.
        """
        return cls(model, archive, again=again, model_budget=model_budget, rate_limiters=rate_limiters)

    def __repr__(self) -> str:
        return f"HttpWriter({self.identity})"

    @property
    def identity(self) -> str:
        """The identity of the model. It is part of signatures and of the digest of every request."""
        return self.model.identity

    def write(self, chats: Sequence[Chat], sampling: Sampling) -> list[Reply]:
        """Returns one reply for each of *chats*, in the same order; sends equal chats only once.

        Before sending, raises `LMError` if the API key is missing, and `StoreError` if the archive cannot be read.
        Raises `BudgetReached` if a limit of the budget stopped the batch; the replies received before are archived.
        """
        sound = [Chat(_sound(chat.system), _sound(chat.user)) for chat in chats]
        requests = [request_digest(self.identity, chat, sampling) for chat in sound]
        replies = {request: self._archived(request) for request in dict.fromkeys(requests)}
        due = {request: chat for request, chat in zip(requests, sound, strict=True) if replies[request] is None}
        if due:
            self._open()
            batch = Batch(self.retry_policy)
            counted = self.model_budget.working() if self.model_budget else nullcontext()
            with counted:
                fresh = by_threads(
                    lambda item: self._answer(item[0], item[1], sampling, batch),
                    due.items(),
                    self.retry_policy.concurrency,
                    lambda: batch.stop(unanswered_request("interrupted").reply),
                )
                replies |= zip(due, fresh, strict=True)
            if batch.bound is not None:
                raise batch.bound
        return [cast(Reply, replies[request]) for request in requests]

    def answered(self, chats: Sequence[Chat], sampling: Sampling) -> list[bool]:
        """Returns, for each of *chats*, whether the archive holds a reply that `write` would use; sends nothing."""
        requests = [request_digest(self.identity, Chat(_sound(chat.system), _sound(chat.user)), sampling)
                    for chat in chats]  # fmt: skip
        replies = [self.archive.get(request) for request in requests]
        return [reply is not None and not (self.again and _without_text(reply)) for reply in replies]

    def set_aside(self, chats: Sequence[Chat], sampling: Sampling) -> None:
        """Renames the archived replies to *chats*, so that the LM is asked again; the old replies stay on disk."""
        for chat in chats:
            sound = Chat(_sound(chat.system), _sound(chat.user))
            self.archive.set_aside(request_digest(self.identity, sound, sampling))

    def _archived(self, request: str) -> Reply | None:
        reply = self.archive.get(request)
        if self.again and reply is not None and _without_text(reply):
            self.archive.set_aside(request)
            return None
        return reply

    def _answer(self, request: str, chat: Chat, sampling: Sampling, batch: Batch) -> Reply:
        """Returns the reply to *chat*, from the archive or from the LM. *request* is the digest of the request.

        If the batch was stopped or the archive fails, returns a reply that states the reason and is not final.
        """
        reply = batch.stopped
        if reply is not None:
            return reply
        try:
            with self.archive.asking(request):
                reply = self.archive.get(request)
                if reply is None:
                    reply = self._ask(request, chat, sampling, batch)
        except StoreError as error:
            reply = unanswered_request(str(error)).reply
            batch.stop(reply)
        return reply

    def _ask(self, request: str, chat: Chat, sampling: Sampling, batch: Batch) -> Reply:
        """Sends *chat* until the LM answers or no further attempt is worthwhile; returns the last reply."""
        empty = False
        for attempt in range(self.retry_policy.attempts):
            if not batch.ready():
                return cast(Reply, batch.stopped)
            try:
                answer = self._passed(request, chat, sampling, batch, empty)
            except BudgetReached as bound:
                batch.pause(bound, unanswered_request(str(bound)).reply)
                return cast(Reply, batch.stopped)
            if answer is None:
                return cast(Reply, batch.stopped)
            if answer.stop:
                batch.stop(answer.reply)
            empty = empty or answer.reply.outcome == "empty"
            if not answer.again:
                batch.answered()
                return answer.reply
            seconds = self.retry_policy.wait(attempt, answer.wait_s)
            if seconds is None:
                return self._given_up(request, answer, attempt, batch)
            if self.rate_limiter and answer.wait_s:
                self.rate_limiter.hold(answer.wait_s)
            batch.wait(seconds, answer.wait_s)
        raise AssertionError("the last attempt has no wait")

    def _given_up(self, request: str, answer: CompletionResult, attempt: int, batch: Batch) -> Reply:
        """Returns the reply to a chat after its last attempt, which ended with *answer*.

        *attempt* is the index of the last attempt, from 0. A final reply is archived. If the reply is not final, its
        detail states why the writer gives up, and the chat counts as failed.
        """
        if answer.reply.final:
            self._archive(request, answer.reply, batch)
            return answer.reply
        waits_too_long = answer.wait_s is not None and answer.wait_s > self.retry_policy.longest_wait_s
        why = (
            f"endpoint asks to wait {answer.wait_s:.0f} s"
            if waits_too_long
            else f"gave up after {attempt + 1} attempts"
        )
        reply = replace(answer.reply, detail=one_line(f"{why}: {answer.reply.detail}"))
        batch.given_up(reply)
        return reply

    def _passed(
        self, request: str, chat: Chat, sampling: Sampling, batch: Batch, empty: bool
    ) -> CompletionResult | None:
        """Waits for the rate limiter, sends one request and returns the result; None if the batch stops while waiting.

        *empty* is true if an earlier attempt for this chat got an empty reply. A second empty reply is final.
        """
        prompt_tokens = estimated(chat.system + chat.user)
        passing: AbstractContextManager[bool] = nullcontext(True)
        if self.rate_limiter:
            passing = self.rate_limiter.passing(prompt_tokens, batch.over)
        with passing as through:
            if not through:
                return None
            answer = self._paid(request, chat, sampling, batch, empty)
        if self.rate_limiter:
            self.rate_limiter.add(sum(tokens_of(chat, answer.reply)) - prompt_tokens)
        return answer

    def _paid(self, request: str, chat: Chat, sampling: Sampling, batch: Batch, empty: bool) -> CompletionResult:
        """Sends one request, archives its reply if that is final, and charges the request to the budget.

        If a limit of the budget is already reached, raises `BudgetReached` and sends nothing.
        """
        if self.model_budget is None:
            return self._kept(request, self._send(chat, sampling), batch, empty)
        self.model_budget.take()
        began = time.monotonic()
        answer = self._send(chat, sampling)
        seconds = time.monotonic() - began
        answer = self._kept(request, answer, batch, empty)
        try:
            self.model_budget.pay(chat, answer.reply, seconds)
        except StoreError as error:
            batch.stop(unanswered_request(str(error)).reply)  # buy nothing more if its cost cannot be recorded
        return answer

    def _kept(self, request: str, answer: CompletionResult, batch: Batch, empty: bool) -> CompletionResult:
        """Masks the API key in *answer*, archives the reply if the reply is final, and returns the masked answer.

        *empty* is true if an earlier attempt for this chat got an empty reply. A second empty reply is final. The reply
        is archived before its cost is logged. If the process is killed between these two steps, the log lacks a cost,
        but no paid reply is lost.
        """
        answer = replace(answer, reply=self._without_key(answer.reply))
        if answer.reply.outcome == "empty":
            answer = replace(answer, again=answer.again and not empty)
        if not answer.again:
            self._archive(request, answer.reply, batch)
        return answer

    def _archive(self, request: str, reply: Reply, batch: Batch) -> None:
        """Archives *reply*. If the archive cannot be written, stops the batch, so that no further reply is bought."""
        try:
            self.archive.put(request, reply)
        except StoreError as error:
            batch.stop(unanswered_request(str(error)).reply)

    def _send(self, chat: Chat, sampling: Sampling) -> CompletionResult:
        """Sends one request and returns the result. Transport faults raise no error; the result states them."""
        import httpx2
        import openai

        until = time.monotonic() + self.retry_policy.timeout_s
        try:
            client: Any = self._client
            with client.chat.completions.with_streaming_response.create(
                model=self.model.model,
                messages=_messages(chat),
                extra_headers=self._headers,
                **self._parameters(sampling),
            ) as response:
                body = _read(response.iter_bytes(), until)
        except openai.APIStatusError as error:
            keyless_body = self._keyless(error.response.content)
            return read_problem(error.status_code, keyless_body, retry_after(error.response.headers))
        except (openai.APITimeoutError, httpx2.TimeoutException, TimeoutError):
            return unanswered_request(f"endpoint gave no answer in {self.retry_policy.timeout_s:g} s", again=True)
        except (openai.APIConnectionError, httpx2.HTTPError) as error:
            return unanswered_request(f"connection to the endpoint failed: {error.__cause__ or error}", again=True)
        if body is None:
            return unanswered_request(f"endpoint answered with more than {LARGEST_BODY // 2**20} MiB")
        return self._completion(self._keyless(body))

    def _completion(self, body: bytes) -> CompletionResult:
        """Reads *body*, the content of a response with HTTP status 200.

        Subclasses that request more than text override this method.
        """
        return read_completion(body)

    def _parameters(self, sampling: Sampling) -> dict[str, Any]:
        parameters = {
            "temperature": sampling.temperature,
            self.model.limit_as: sampling.max_tokens,
            "top_p": sampling.top_p,
            "seed": sampling.seed,
        }
        return {name: value for name, value in parameters.items() if value is not None}

    def _open(self) -> None:
        """Opens the client if it is not yet open.

        The environment may name an OpenAI organisation and project. The client sends their names to OpenAI's own
        endpoint only.
        """
        if self._client is not None:
            return
        import httpx2
        import openai

        from gre_bench.http.body_limits import LARGEST_PROBLEM, limited

        host = urlsplit(self.model.endpoint).hostname or ""
        own = host in ("localhost", "127.0.0.1", "::1")
        self._key = self.model.key()
        self._headers = {"Authorization": f"Bearer {self._key}" if self._key else openai.omit}
        if host != "api.openai.com":
            self._headers |= {"OpenAI-Organization": openai.omit, "OpenAI-Project": openai.omit}
        timeout = httpx2.Timeout(self.retry_policy.timeout_s, connect=min(10.0, self.retry_policy.timeout_s))
        limits = httpx2.Limits(max_connections=self.retry_policy.concurrency)
        # A proxy of the environment must not come between this program and an endpoint on the same machine.
        bounds = {"response": [limited(LARGEST_BODY + LARGEST_PROBLEM, self.retry_policy.timeout_s)]}
        transport = httpx2.Client(
            verify=_certificates(not own),
            timeout=timeout,
            limits=limits,
            trust_env=not own,
            follow_redirects=False,
            event_hooks=bounds,
        )
        self._client = openai.OpenAI(
            api_key=self._key or "none",
            base_url=self.model.endpoint,
            max_retries=0,
            timeout=timeout,
            http_client=transport,
        )

    def _keyless(self, body: bytes) -> bytes:
        """Returns *body* with the API key masked, because an endpoint may repeat the key in its response.

        The key must be masked before any text is shortened. A key that was cut in half would not be found.
        """
        if not self._secret():
            return body
        return masked(body.decode("latin-1"), [self._key or ""], "[key]").encode("latin-1")

    def _without_key(self, reply: Reply) -> Reply:
        """Returns *reply* with the API key masked in its texts.

        JSON escapes in the response can hide the key from `_keyless`, which reads the raw bytes.
        """
        if not self._secret():
            return reply
        clean = {
            name: masked(value, [self._key or ""], "[key]")
            for name in ("text", "detail", "model")
            if (value := getattr(reply, name))
        }
        return replace(reply, **clean)

    def _secret(self) -> bool:
        return self._key is not None and len(self._key) >= SHORTEST_SECRET


def _without_text(reply: Reply) -> bool:
    """Whether *reply* holds no text: the LM refused, the reply is empty, or the request failed."""
    return reply.outcome in ("refused", "empty", "failed")


def _messages(chat: Chat) -> list[dict[str, str]]:
    system = [{"role": "system", "content": chat.system}] if chat.system else []
    return [*system, {"role": "user", "content": chat.user}]


def _read(chunks: Iterable[bytes], until: float) -> bytes | None:
    """Returns the *chunks* of a response joined; None if they exceed `LARGEST_BODY` bytes.

    Raises `TimeoutError` if the response is incomplete at the time *until*, in seconds of ``time.monotonic``.
    """
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > LARGEST_BODY:
            return None
        if time.monotonic() > until:
            raise TimeoutError
    return bytes(body)


def _sound(text: str) -> str:
    """Returns *text* with each lone surrogate replaced by ``?``, because requests cannot hold lone surrogates."""
    return text.encode("utf-8", "replace").decode()

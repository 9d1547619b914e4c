"""Writing by a real LM: any OpenAI-compatible chat endpoint, over the `openai` client.

The client's own retries are off. Ours try again only what passes by itself (408, 409, 429, 5xx, no connection,
no answer in time), wait as long as the endpoint says, and give up after a bounded number of attempts
with a transient `Reply`. What would fail for every chat (a refused key, an unknown model, a dead
endpoint) stops the batch. Every final reply is archived before `write` returns, and looked up before anything is sent.
Each request is taken off a budget before it is sent: at a bound what is in flight ends, and `BudgetReached` says so.
"""

from __future__ import annotations

import email.utils
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tasks.errors import BudgetReached, StoreError
from tasks.models import Model
from tasks.records import Chat, Reply, Sampling
from tasks.writing.archive import ReplyArchive, request_digest
from tasks.writing.batch import Batch, Patience
from tasks.writing.completion import Answer, one_line, read_completion, read_problem, trouble
from tasks.writing.meter import Meter

if TYPE_CHECKING:
    from openai import OpenAI

LARGEST_BODY = 32 * 2**20
SHORTEST_SECRET = 8
"""A shorter key is a placeholder: taking it out of replies would only mangle them."""


class HttpWriter:
    """A `Writer` for one entry of the models file."""

    def __init__(self, model: Model, archive: ReplyArchive, patience: Patience | None = None, again: bool = False,
                 meter: Meter | None = None):
        self.again = again
        self.meter = meter
        self.model = model
        self.archive = archive
        self.patience = patience or Patience()
        self._client: OpenAI | None = None
        self._key: str | None = None
        self._headers: dict[str, Any] = {}

    @classmethod
    def open(cls, model: Model, archive: ReplyArchive, again: bool = False, meter: Meter | None = None) -> HttpWriter:
        """The writer of *model*; nothing is sent, and no key is needed, before there is something to ask.

        *again*: refusals and empty replies in the archive are not taken for an answer. *meter*: who pays; nobody
        counts if None.
        """
        return cls(model, archive, again=again, meter=meter)

    def __repr__(self) -> str:
        return f"HttpWriter({self.identity})"

    @property
    def identity(self) -> str:
        return self.model.identity

    def write(self, chats: Sequence[Chat], sampling: Sampling) -> list[Reply]:
        """One reply for each of *chats*, same order; equal chats are asked once.

        `LMError` if the key is missing, before anything is sent; `StoreError` if the archive cannot be read;
        `BudgetReached` if a bound kept something from being sent: what was answered until then is archived.
        """
        sound = [Chat(_sound(chat.system), _sound(chat.user)) for chat in chats]
        requests = [request_digest(self.identity, chat, sampling) for chat in sound]
        replies = {request: self._archived(request) for request in dict.fromkeys(requests)}
        due = {request: chat for request, chat in zip(requests, sound, strict=True) if replies[request] is None}
        if due:
            self._open()
            batch = Batch(self.patience)
            counted = self.meter.working() if self.meter else nullcontext()
            with counted, ThreadPoolExecutor(self.patience.concurrency, "writer") as threads:
                try:
                    found = threads.map(lambda item: self._answer(*item, sampling, batch), due.items())
                    replies |= zip(due, found, strict=True)
                except BaseException:
                    batch.stop(trouble("interrupted").reply)
                    raise
            if batch.bound is not None:
                raise batch.bound
        return [replies[request] for request in requests]

    def _archived(self, request: str) -> Reply | None:
        reply = self.archive.get(request)
        if self.again and reply is not None and reply.outcome in ("refused", "empty"):
            self.archive.set_aside(request)
            return None
        return reply

    def _answer(self, request: str, chat: Chat, sampling: Sampling, batch: Batch) -> Reply:
        """The reply to one request, archived if it is final."""
        reply = batch.stopped
        if reply is not None:
            return reply
        try:
            with self.archive.asking(request):
                reply = self.archive.get(request)
                if reply is None:
                    reply = self._ask(chat, sampling, batch)
                    self.archive.put(request, reply)
        except StoreError as error:
            # Nothing more is bought that could not be kept; a reply already here is still handed over.
            batch.stop(trouble(str(error)).reply)
            reply = reply or trouble(str(error)).reply
        return reply

    def _ask(self, chat: Chat, sampling: Sampling, batch: Batch) -> Reply:
        """Asks until there is an answer, or no point in asking."""
        patience, empty, answer = self.patience, False, None
        for attempt in range(patience.attempts):
            if not batch.ready():
                return batch.stopped
            try:
                answer = self._paid(chat, sampling, batch)
            except BudgetReached as bound:
                batch.pause(bound, trouble(str(bound)).reply)
                return batch.stopped
            answer = replace(answer, reply=self._without_key(answer.reply))
            if answer.stop:
                batch.stop(answer.reply)
            if answer.reply.outcome == "empty":
                answer = replace(answer, again=answer.again and not empty)
                empty = True
            if not answer.again:
                batch.answered()
                return answer.reply
            why = f"gave up after {attempt + 1} attempts"
            if answer.wait_s is not None and answer.wait_s > patience.longest_wait_s:
                why = f"endpoint asks to wait {answer.wait_s:.0f} s"
                break
            if attempt + 1 < patience.attempts:
                batch.wait(answer, attempt)
        if answer.reply.final:
            return answer.reply
        reply = replace(answer.reply, detail=one_line(f"{why}: {answer.reply.detail}"))
        batch.given_up(reply)
        return reply

    def _paid(self, chat: Chat, sampling: Sampling, batch: Batch) -> Answer:
        """One request, off the budget; `BudgetReached` if that allows none."""
        if self.meter is None:
            return self._send(chat, sampling)
        self.meter.take()
        began = time.monotonic()
        answer = self._send(chat, sampling)
        try:
            self.meter.pay(chat, answer.reply, time.monotonic() - began)
        except StoreError as error:
            batch.stop(trouble(str(error)).reply)  # nothing more is bought that cannot be counted
        return answer

    def _send(self, chat: Chat, sampling: Sampling) -> Answer:
        """One request, one answer; every fault of the way is an answer too."""
        import httpx2
        import openai

        until = time.monotonic() + self.patience.timeout_s
        try:
            with self._client.chat.completions.with_streaming_response.create(
                    model=self.model.model, messages=_messages(chat), extra_headers=self._headers,
                    **self._parameters(sampling)) as response:
                body = _read(response.iter_bytes(), until)
        except openai.APIStatusError as error:
            said = self._keyless(error.response.content)
            return read_problem(error.status_code, said, _retry_after(error.response.headers))
        except (openai.APITimeoutError, httpx2.TimeoutException, TimeoutError):
            return trouble(f"endpoint gave no answer in {self.patience.timeout_s:g} s", again=True)
        except (openai.APIConnectionError, httpx2.HTTPError) as error:
            return trouble(f"connection to the endpoint failed: {error.__cause__ or error}", again=True)
        if body is None:
            return trouble(f"endpoint answered with more than {LARGEST_BODY // 2**20} MiB")
        return self._completion(self._keyless(body))

    def _completion(self, body: bytes) -> Answer:
        """The answer in a body with status 200; a writer that asks for more reads more."""
        return read_completion(body)

    def _parameters(self, sampling: Sampling) -> dict[str, Any]:
        asked = {"temperature": sampling.temperature, self.model.limit_as: sampling.max_tokens,
                 "top_p": sampling.top_p, "seed": sampling.seed}
        return {name: value for name, value in asked.items() if value is not None}

    def _open(self) -> None:
        """Opens the client once. The environment's own OpenAI account never reaches another endpoint."""
        if self._client is not None:
            return
        import httpx2
        import openai

        host = urlsplit(self.model.endpoint).hostname or ""
        own = host in ("localhost", "127.0.0.1", "::1")
        self._key = self.model.key()
        self._headers = {"Authorization": f"Bearer {self._key}" if self._key else openai.omit}
        if host != "api.openai.com":
            self._headers |= {"OpenAI-Organization": openai.omit, "OpenAI-Project": openai.omit}
        timeout = httpx2.Timeout(self.patience.timeout_s, connect=min(10.0, self.patience.timeout_s))
        limits = httpx2.Limits(max_connections=self.patience.concurrency)
        # A proxy of the environment must not stand between us and this very machine.
        transport = httpx2.Client(timeout=timeout, limits=limits, trust_env=not own, follow_redirects=False)
        self._client = openai.OpenAI(api_key=self._key or "none", base_url=self.model.endpoint, max_retries=0,
                                     timeout=timeout, http_client=transport)

    def _keyless(self, body: bytes) -> bytes:
        """*body* with the key taken out, should the endpoint have echoed it: before any text is cut to length."""
        return body.replace(self._key.encode(), b"[key]") if self._secret() else body

    def _without_key(self, reply: Reply) -> Reply:
        """*reply* with the key taken out, should the body have hidden it behind escapes."""
        if not self._secret():
            return reply
        clean = {name: value.replace(self._key, "[key]") for name in ("text", "detail", "model")
                 if (value := getattr(reply, name))}
        return replace(reply, **clean)

    def _secret(self) -> bool:
        return self._key is not None and len(self._key) >= SHORTEST_SECRET


def _messages(chat: Chat) -> list[dict[str, str]]:
    system = [{"role": "system", "content": chat.system}] if chat.system else []
    return [*system, {"role": "user", "content": chat.user}]


def _read(chunks: Iterable[bytes], until: float) -> bytes | None:
    """The whole body, None if it is too large; `TimeoutError` if it is not there in time."""
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > LARGEST_BODY:
            return None
        if time.monotonic() > until:
            raise TimeoutError
    return bytes(body)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait as the header Retry-After states them (a number or a date), None without a usable one."""
    stated = headers.get("retry-after", "").strip()
    try:
        seconds = float(stated)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(stated).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return max(0.0, seconds) if seconds == seconds else None


def _sound(text: str) -> str:
    """*text* without lone surrogates, which no request can carry."""
    return text.encode("utf-8", "replace").decode()

"""An evaluation LM behind a vLLM server: chats are rendered and tokenised here, and the server runs the model.

A vLLM server reports neither its dtype nor the digest of the model's files, although both affect the log-probabilities.
So the settings must state the dtype, and the digest is computed here from the model folder. If that folder holds only
the tokenizer, the settings must also state the model's revision, which is added to the digest. Everything else is
checked: the served model's name, its context length, the alignment of tokens, and whether the numbers are
log-probabilities.

vLLM 0.32 offers two kinds of request for the log-probabilities of a span:

- A request for all tokens of the conversation (`ALL_TOKENS`) returns ``prompt_logprobs``. Every server accepts such
  requests, but its answers are right only if it does not read its prefix cache for them.
- A request for the span's tokens only (`SPAN_ONLY`) names them in ``prompt_logprob_token_ids``, and may use the prefix
  cache. The server must be started with ``--enable-scale-out`` and run the V2 model runner.

For tokens of a cached prefix, some versions report zeros, or the numbers of another request. A trial conversation is
therefore sent twice. Between the two requests, the client sends an unrelated text, and a text that shares the trial's
prefix. If a log-probability within a span is exactly 0, the client repeats the request.
"""

from __future__ import annotations

import base64
import io
import math
import os
import secrets
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

from gre_bench.core.errors import LMError, SettingsError, SpanError
from gre_bench.core.records import Chat, LMIdentity, digest
from gre_bench.lm.backends.vllm_client import Refusal, RetryPolicy, SharedConnections, VLLMClient
from gre_bench.lm.protocol import ChatLMBase, Logprobs
from gre_bench.lm.span import ChatTemplate, Conversation
from gre_bench.lm.weights import DType, check_option_values, convert_errors_to_lm_error, folder_digest, read_tokenizer

ALL_TOKENS, SPAN_ONLY = "/v1/completions", "/inference/v1/generate"

LARGEST_GAP = {"float32": 1e-3, "bfloat16": 0.25, "float16": 0.25}
"""Dtype → the largest difference in nats between a log-probability from one kind of request and from the other.

A log-probability of a wrong token would differ by more."""

NO_NUMBER = -9999.0
"""What vLLM writes in place of minus infinity or NaN."""

SAME, FEW = 0.25, 3
"""If a request is repeated, log-probabilities may differ by `SAME` nats, and those of `FEW` tokens by more."""

_TRIAL = Chat(
    "Say what the second reviewer says.",
    "Trial {nonce}. The first reviewer likes the clear proofs, the honest tables, and the broad set of tasks. Then "
    "come seven short questions: why so few seeds, which baseline was tuned, how long did training take, who labelled "
    "the data, what breaks under noise, where is the code, and when does the bound become tight? The reviewer closes "
    "with thanks to the authors, who answered all but one of them within a week, and adds that the new figure helps. "
    "Two remarks remain open: the third theorem needs a bounded gradient, which no experiment checks, and the appendix "
    "cites a survey from 2009 where eleven later ones exist, four of which disagree with it about the main claim.",
    "The second reviewer does not.",
)
_STRANGER = replace(_TRIAL, user=" ".join(reversed(_TRIAL.user.split())))
_NEIGHBOUR = replace(_TRIAL, reply="The second reviewer likes it, too.")
_WITHOUT_CACHE = "start it with --no-enable-prefix-caching, or take another version of vLLM"
_GREEDY = {"max_tokens": 1, "temperature": 0.0}
_LENGTH = ("context length", "max_model_len", "maximum model length", "too long", "max_tokens must be at least 1, got")


class VLLM(ChatLMBase):
    """An evaluation LM that a vLLM server runs; open one with `open`.

    The identity does not state the kind of request, because a server may stop accepting one kind during a run. The
    log-probabilities of both kinds agree within `LARGEST_GAP`. Repeated requests of one kind can differ by as much.
    """

    def __init__(self, client: VLLMClient, model: str, template: ChatTemplate, identity: LMIdentity, limit: int | None):
        super().__init__(template, identity, limit)
        self._client = client
        self._model = model
        self._sends_span_only = True

    @classmethod
    def open(
        cls,
        endpoint: str,
        folder: str | Path,
        *,
        model: str | None = None,
        revision: str | None = None,
        dtype: DType,
        quantisation: str = "none",
        parallel: int = 16,
        key_env: str | None = None,
        retry_policy: RetryPolicy | None = None,
    ) -> VLLM:
        """Connects to the vLLM server at the URL *endpoint* and checks its answers.

        - *folder*: holds the model's tokenizer and, if available, its weights.
        - *model*: the name under which the server serves the model; may be None if the server has only one model.
        - *revision*: identifies the model; required if *folder* holds no weights.
        - *dtype*, *quantisation*: how the server runs the model; the server does not report them.
        - *parallel*: the maximum number of requests in flight.
        - *key_env*: the name of the environment variable that holds the server's API key.

        Raises `SettingsError` for missing or wrong settings, and `LMError` if the server is down or its numbers fail
        the checks.
        """
        folder = Path(folder)
        check_option_values(f"vLLM server {endpoint}", (dtype, DType))
        if not folder.is_dir():
            problem = "there is no such folder; give one with the served model's tokenizer"
            raise LMError(f"evaluation LM {folder}: {problem}")
        if not revision and not any(folder.glob("*.safetensors")):
            raise SettingsError(
                f"{folder} holds no weights, so nothing identifies the served model: state its revision, "
                "--set evaluation_lm.revision=COMMIT"
            )
        own = folder_digest(folder)
        tokenizer = read_tokenizer(folder)
        with convert_errors_to_lm_error(folder, "its chats cannot be scored"):
            template = ChatTemplate.from_tokenizer(tokenizer)
        key = os.environ.get(key_env, "").strip() if key_env is not None else None
        if key is not None and (not key or not key.isascii() or not key.isprintable() or " " in key):
            raise LMError(f"the vLLM server's key is missing or malformed: set the environment variable {key_env}")
        client = VLLMClient(endpoint, key, parallel, retry_policy)
        paths = ["/v1/models", "/version"]
        models, version = client.run(lambda connections, path: connections.get(path), paths)
        name, context = _find_served_model(models, model, client.endpoint)
        identity = LMIdentity(
            # A server that was started with a path uses it as the model's name, but the path depends on the machine.
            name=Path(name).name if name.startswith("/") else name,
            digest=digest(["revision", revision, own]) if revision else own,
            engine_version=f"vllm-{version.get('version') or 'unknown'}-1",
            dtype=dtype,
            quantisation=quantisation,
            attention="server",
            template_digest=template.digest,
        )
        # The server needs room for one more token than the request holds.
        lm = cls(client, name, template, identity, context and context - 1)
        # The nonce keeps the server from using an earlier trial in its cache.
        nonce = secrets.token_hex(8)
        trials = [replace(chat, user=chat.user.format(nonce=nonce)) for chat in (_TRIAL, _STRANGER, _NEIGHBOUR)]
        client.run(lm._check_trial_answers, [[template.encode(chat) for chat in trials]])
        return lm

    def _compute_span_logprobs(self, conversations: Sequence[Conversation]) -> Sequence[Logprobs]:
        """Sends the requests sorted by token ids, so that the server can reuse cached prefixes."""
        due = sorted(conversations, key=lambda conversation: conversation.ids)
        answers = dict(zip(due, self._client.run(self._request_span_logprobs, due), strict=True))
        return [answers[conversation] for conversation in conversations]

    async def _request_span_logprobs(self, connections: SharedConnections, conversation: Conversation) -> Logprobs:
        """Returns the log-probabilities of the tokens to score (the span) in *conversation*, from the server.

        Sends up to three requests in turn: a request for the span's tokens only, the same request without the server's
        prefix cache, and a request for all tokens. The first answer that has all log-probabilities of the span is used.
        The answer to the first request must also not begin with a zero, which could come from the prefix cache. Once
        the server has refused a request for the span's tokens only, every request is for all tokens.
        """
        for afresh in (False, True):
            if not self._sends_span_only:
                break
            answer = await connections.post(SPAN_ONLY, build_span_only_request(self._model, conversation, afresh))
            if isinstance(answer, SpanError):
                return answer
            if isinstance(answer, Refusal):
                self._stop_span_only_requests(answer.message)
                continue
            logprobs = read_span_only_answer(answer, conversation)
            if isinstance(logprobs, SpanError) or (logprobs and (afresh or logprobs[0] != 0)):
                return logprobs
        return await self._request_all_tokens_logprobs(connections, conversation)

    async def _request_all_tokens_logprobs(
        self, connections: SharedConnections, conversation: Conversation
    ) -> Logprobs:
        """Returns the span's log-probabilities from a request for all tokens of the conversation.

        Some servers report zeros for a cached prefix. So the answer is checked if some tokens of the span, but not all,
        have zeros. If all tokens up to the span's first have zeros, a `SpanError` marked ``broken`` is returned.
        Otherwise, the request is repeated, and such an error is returned if the second answer differs.
        """
        answer = await self._send_all_tokens_request(connections, conversation)
        if isinstance(answer, SpanError):
            return answer
        logprobs = read_all_tokens_answer(answer, conversation)
        if isinstance(logprobs, SpanError) or all(logprobs) or not any(logprobs):
            return logprobs
        stated = _list_logprobs_of_tokens(answer, conversation.ids)
        if not any(stated[: conversation.first + 1]):
            return _broken_answer_error(
                "cached_prefix", f"log-probability 0 for all tokens up to the reply; {_WITHOUT_CACHE}"
            )
        again = await self._send_all_tokens_request(connections, conversation)
        if isinstance(again, SpanError):
            return again
        span = slice(conversation.first, conversation.last + 1)
        if any(
            _do_logprobs_differ(*pair)
            for pair in zip(stated[span], _list_logprobs_of_tokens(again, conversation.ids)[span], strict=True)
        ):
            return _broken_answer_error(
                "unsteady", f"log-probability 0 for a token, and another one when asked again; {_WITHOUT_CACHE}"
            )
        return logprobs

    async def _send_all_tokens_request(
        self, connections: SharedConnections, conversation: Conversation, alternatives: int = 0
    ) -> dict[str, Any] | SpanError:
        """Returns the answer to a request for all tokens, with the *alternatives* likeliest tokens at each position.

        If the server refuses the conversation, the `SpanError` has the code ``too_long``, ``not_finite`` (a
        log-probability was not a number) or ``refused_request`` (any other reason). Raises `LMError` if the server will
        refuse every request.
        """
        body = {"model": self._model, "prompt": list(conversation.ids), "prompt_logprobs": alternatives, **_GREEDY}
        answer = await connections.post(ALL_TOKENS, body)
        if not isinstance(answer, Refusal):
            return answer
        status, message = answer.status, answer.message
        if status in (401, 403, 404):  # no access, wrong path or wrong model: the server will refuse every request
            raise LMError(f"vLLM server {self._client.endpoint} answered {status}: {message}")
        if any(sign in message.lower() for sign in _LENGTH):
            return SpanError("too_long", f"the conversation is too long for the vLLM server: {message}")
        if "not json compliant" in message.lower():
            return _broken_answer_error("not_finite", f"log-probabilities that are not numbers: {message}")
        return SpanError("refused_request", f"the vLLM server answered {status}: {message}", broken=True)

    async def _check_trial_answers(self, connections: SharedConnections, trials: Sequence[Conversation]) -> None:
        """Checks the server's log-probabilities on the conversations *trials*.

        Scores the first of *trials*, the others, and the first again, with requests for all tokens. Raises `LMError` if
        one of them fails, or if the numbers for tokens that two conversations share differ too much. Also raises it if
        the probabilities at some position sum to more than 1.

        Then sends requests for the span's tokens only, for the first of *trials*. If one of them fails, or its numbers
        differ too much from those above, the client sends no more requests of this kind.
        """
        trial = trials[0]
        answer = await self._send_all_tokens_request(connections, trial, alternatives=5)
        whole = answer if isinstance(answer, SpanError) else read_all_tokens_answer(answer, trial)
        if isinstance(answer, SpanError) or isinstance(whole, SpanError):
            raise LMError(f"vLLM server {self._client.endpoint}: a trial failed: {whole}")
        for other in (*trials[1:], trial):
            again = await self._send_all_tokens_request(connections, other)
            if isinstance(again, SpanError):
                raise LMError(f"vLLM server {self._client.endpoint}: a trial failed: {again}")
            shared = [
                token
                for token, _ in takewhile(lambda pair: pair[0] == pair[1], zip(trial.ids, other.ids, strict=False))
            ]
            pairs = zip(_list_logprobs_of_tokens(answer, shared), _list_logprobs_of_tokens(again, shared), strict=True)
            if sum(_do_logprobs_differ(*pair) for pair in pairs) > FEW:
                raise LMError(
                    f"vLLM server {self._client.endpoint} states other log-probabilities for the same tokens when it "
                    f"is asked again; {_WITHOUT_CACHE}"
                )
        if (total := largest_probability_sum(answer)) > 1.01:
            raise LMError(
                f"vLLM server {self._client.endpoint}: its probabilities add up to {total:.3g}, not 1; "
                "start it without --logprobs-mode"
            )
        for afresh in (True, False):
            answer = await connections.post(SPAN_ONLY, build_span_only_request(self._model, trial, afresh))
            given = read_span_only_answer(answer, trial) if isinstance(answer, dict) else None
            if isinstance(answer, Refusal):
                return self._stop_span_only_requests(answer.message)
            if given is None and isinstance(answer, dict) and not afresh:
                return  # The server left out tokens of a cached prefix; they are requested again without the cache.
            if not isinstance(given, list):
                return self._stop_span_only_requests(
                    str(answer if isinstance(answer, SpanError) else given or "it leaves them out")
                )
            gap = max(abs(a - b) for a, b in zip(given, whole, strict=True))
            if gap > LARGEST_GAP[self.identity.dtype]:
                return self._stop_span_only_requests(
                    f"its answers are {gap:.2g} nats off those about whole conversations"
                )

    def _stop_span_only_requests(self, why: str) -> None:
        """Requests all tokens of each conversation from now on, not only the reply's tokens.

        The first call adds a remark with the reason, *why*. Later calls do nothing.
        """
        if self._sends_span_only:
            self._sends_span_only = False
            self.remarks.append(
                f"vLLM server {self._client.endpoint} cannot score a reply's tokens alone ({why}): it scores "
                "all tokens of each conversation, which is slower"
            )


def build_span_only_request(model: str, conversation: Conversation, afresh: bool) -> dict[str, Any]:
    """Returns the body of a request for the log-probabilities of the span's tokens only.

    *afresh*: whether the server must not read its prefix cache.
    """
    span = conversation.ids[conversation.first : conversation.last + 1]
    return {
        "model": model,
        "token_ids": list(conversation.ids),
        "sampling_params": {
            **_GREEDY,
            "detokenize": False,
            "prompt_logprob_token_ids": [[token] for token in span],
            # Row i of the answer predicts token start + i + 1.
            "prompt_logprob_start": conversation.first - 1,
            "skip_reading_prefix_cache": afresh,
        },
    }


def read_all_tokens_answer(answer: dict[str, Any], conversation: Conversation) -> Logprobs:
    """Returns the log-probabilities of the span from *answer*, the answer to a request for all tokens.

    Returns a `SpanError` marked ``broken`` if a log-probability is missing or is not a finite number.
    """
    positions = _get_prompt_logprobs(answer)
    if positions is None:
        return _broken_answer_error("misaligned", "no prompt_logprobs")
    if len(positions) != len(conversation.ids):
        return _broken_answer_error("misaligned", f"{len(positions)} positions for {len(conversation.ids)} tokens")
    logprobs: list[float] = []
    for index in range(conversation.first, conversation.last + 1):
        position, token = positions[index], conversation.ids[index]
        if not isinstance(position, dict) or not isinstance(position.get(str(token)), dict):
            return _broken_answer_error("misaligned", f"nothing for token {token} at its position")
        value = position[str(token)].get("logprob")
        if isinstance(value, bool) or not isinstance(value, int | float):
            return _broken_answer_error("not_finite", f"log-probability {value} for token {token}")
        logprobs.append(float(value))
    return _check_finite_logprobs(logprobs)


def read_span_only_answer(answer: dict[str, Any], conversation: Conversation) -> Logprobs | None:
    """Returns the span's log-probabilities from *answer* to a request for the span's tokens only.

    Returns None if the server left some out, as it does when a cached prefix overlaps the span. Returns a `SpanError`
    marked ``broken`` if the numbers cannot be read or are not finite.
    """
    scores = answer.get("prompt_token_id_logprobs")
    if scores is None:
        return None
    import numpy

    try:
        array = numpy.load(io.BytesIO(base64.b64decode(scores, validate=True)), allow_pickle=False)
    except (TypeError, ValueError, OSError, EOFError) as error:
        return _broken_answer_error(
            "misaligned", f"prompt_token_id_logprobs that cannot be read ({' '.join(str(error).split())})"
        )
    expected = (conversation.last - conversation.first + 1, 1)
    if array.shape != expected or array.dtype.kind != "f":
        return _broken_answer_error(
            "misaligned", f"scores of shape {array.shape}, {array.dtype}, instead of {expected}"
        )
    return _check_finite_logprobs(array[:, 0].tolist())


def largest_probability_sum(answer: dict[str, Any]) -> float:
    """Sums the probabilities of the alternative tokens at each position in *answer*; returns the largest sum.

    If it is clearly above 1, the numbers are not probabilities.
    """
    positions = [position for position in _get_prompt_logprobs(answer) or [] if isinstance(position, dict)]
    sums = [math.fsum(math.exp(min(50.0, token["logprob"])) for token in position.values()) for position in positions]
    return max(sums, default=0.0)


def _get_prompt_logprobs(answer: dict[str, Any]) -> list[Any] | None:
    try:
        positions = answer["choices"][0]["prompt_logprobs"]
    except (KeyError, IndexError, TypeError):
        return None
    return positions if isinstance(positions, list) else None


def _list_logprobs_of_tokens(answer: dict[str, Any], ids: Sequence[int]) -> list[Any]:
    """Returns the log-probability that *answer* states for each token of *ids*; None where it states none.

    *ids*: the conversation's tokens, from the first one on.
    """
    positions = _get_prompt_logprobs(answer) or []
    entries = [
        place.get(str(token)) if isinstance(place, dict) else None for place, token in zip(positions, ids, strict=False)
    ]
    return [entry.get("logprob") if isinstance(entry, dict) else None for entry in entries]


def _do_logprobs_differ(first: Any, second: Any) -> bool:
    numbers = isinstance(first, int | float) and isinstance(second, int | float)
    return abs(first - second) > SAME if numbers else first is not second


def _check_finite_logprobs(values: list[float]) -> Logprobs:
    for index, value in enumerate(values):
        if not math.isfinite(value) or value <= NO_NUMBER:
            return _broken_answer_error("not_finite", f"log-probability {value} at token {index}")
    return values


def _broken_answer_error(code: str, problem: str) -> SpanError:
    return SpanError(code, f"the vLLM server answered with: {problem}", broken=True)


def _find_served_model(models: dict, model: str | None, endpoint: str) -> tuple[str, int | None]:
    """Returns the name of *model* in *models*, the server's list, and its context length in tokens (None: unknown).

    If *model* is None, the server must serve exactly one. Raises `LMError` if the server does not serve the model.
    """
    entries = models.get("data")
    served = {entry["id"]: entry for entry in entries or [] if isinstance(entry, dict) and "id" in entry}
    if model is None and len(served) == 1:
        model = next(iter(served))
    if model not in served:
        known = ", ".join(map(str, served)) or "nothing"
        refusal = f"does not serve {model!r}" if model else "serves several models"
        raise LMError(f"vLLM server {endpoint} {refusal}: it serves {known}; set evaluation_lm.served_model")
    context = served[model].get("max_model_len")
    return str(model), context if isinstance(context, int) and context > 1 else None

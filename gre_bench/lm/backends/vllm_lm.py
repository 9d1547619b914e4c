"""An evaluation LM behind a vLLM server: chats are rendered and tokenised here, and the server runs the model.

A vLLM server reports neither its dtype nor the digest of the model's files, although both affect the log-probabilities.
The settings must therefore state the dtype. The digest is computed here from the model folder. If that folder holds
only the tokenizer, the settings must also state the model's revision, which is added to the digest.

Everything else is checked: the served model's name, its context length, the alignment of tokens, and that the numbers
are log-probabilities.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path

from gre_bench.core.errors import LMError, SettingsError, SpanError
from gre_bench.core.records import Chat, LMIdentity, Prediction, SpanLogprob, digest
from gre_bench.lm.backends import vllm_wire as wire
from gre_bench.lm.backends.vllm_client import Client, RetryPolicy, SharedConnections, closed
from gre_bench.lm.backends.vllm_wire import Refusal
from gre_bench.lm.engine.protocol import Logprobs
from gre_bench.lm.protocol import checked
from gre_bench.lm.span import ChatTemplate, Conversation
from gre_bench.lm.weights import DType, blamed, folder_digest, refuse_unknown
from gre_bench.prompts.library import render

LARGEST_GAP = {"float32": 1e-3, "bfloat16": 0.25, "float16": 0.25}
"""Dtype → largest accepted difference between both kinds of request in a token's log-probability, in nats.

The log-probability of a wrong token differs by more.
"""

_TRIAL = Chat("Say what the second reviewer says.", "The first reviewer likes it.", "The second reviewer does not.")


class VLLM:
    """An evaluation LM that a vLLM server runs; open one with `open`.

    `remarks` holds messages for the user about departures from the settings, such as a slower kind of request.
    """

    reads_chats = True

    def __init__(self, client: Client, model: str, template: ChatTemplate, identity: LMIdentity, limit: int | None):
        self._client = client
        self._model = model
        self._template = template
        self._identity = identity
        self._limit = limit
        self._given = True
        self.remarks: list[str] = []

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
        max_tokens: int | None = None,
        parallel: int = 16,
        key_env: str | None = None,
        retry_policy: RetryPolicy | None = None,
    ) -> VLLM:
        """Connects to the vLLM server at the URL *endpoint* and checks its answers.

        - *folder*: holds the model's tokenizer and, if available, its weights.
        - *model*: the name under which the server serves the model; may be None if the server has only one model.
        - *revision*: identifies the model; required if *folder* holds no weights.
        - *dtype*, *quantisation*: how the server runs the model; the server does not report them.
        - *max_tokens*: the most tokens in a conversation, if fewer than the server allows; None means no extra limit.
        - *parallel*: the most requests in flight at once.
        - *key_env*: the name of the environment variable that holds the server's API key; None means no key.

        Raises `SettingsError` for missing or wrong settings, and `LMError` if the server is down or its numbers fail
        the checks.
        """
        folder = Path(folder)
        refuse_unknown(f"vLLM server {endpoint}", (dtype, DType))
        model_digest = _digest(folder, revision)
        template = _template(folder)
        client = Client(endpoint, _key(key_env), parallel, retry_policy)
        models, version = client.run(lambda connections, path: connections.get(path), [wire.MODELS, wire.VERSION])
        name, context = _served(models, model, client.endpoint)
        identity = LMIdentity(
            # A server started with a path serves the model under that path, which is not a property of the model.
            name=Path(name).name if name.startswith("/") else name,
            digest=model_digest,
            engine_version=f"vllm-{version.get('version') or 'unknown'}-1",
            dtype=dtype,
            quantisation=quantisation,
            attention="server",
            template_digest=template.digest,
        )
        # The server needs room for one more token than the request holds.
        limit = min((size for size in (context and context - 1, max_tokens) if size), default=None)
        lm = cls(client, name, template, identity, limit)
        client.run(lm._probe, [template.encode(_TRIAL)])
        return lm

    @property
    def identity(self) -> LMIdentity:
        """The part of a signature that identifies this LM.

        The identity does not state the kind of request (see `vllm_wire`), because a server may stop accepting one kind
        during a run. Both kinds return the same log-probabilities up to `LARGEST_GAP`. Repeated requests of one kind
        can differ as much.
        """
        return self._identity

    def logprob(self, predictions: Sequence[Prediction]) -> list[SpanLogprob | SpanError]:
        """Returns the log-probability of each reply in nats, in the order of *predictions*.

        If a reply cannot be scored, its result is a `SpanError`. Predictions that render to the same conversation are
        sent once. Requests are sorted by their token ids, so that the server can reuse cached prefixes.
        """
        encoded = {prediction: self._encoded(prediction) for prediction in dict.fromkeys(predictions)}
        due = sorted({item for item in encoded.values() if isinstance(item, Conversation)}, key=lambda item: item.ids)
        answers = dict(zip(due, self._client.run(self._span_logprobs, due), strict=True)) if due else {}
        return [_answer(item, answers) for item in (encoded[prediction] for prediction in predictions)]

    def _encoded(self, prediction: Prediction) -> Conversation | SpanError:
        try:
            conversation = self._template.encode(render(prediction))
        except SpanError as error:
            return error
        length = len(conversation.ids)
        if self._limit is not None and length > self._limit:
            return SpanError("too_long", f"the conversation has {length} tokens, the evaluation LM takes {self._limit}")
        return conversation

    async def _span_logprobs(self, connections: SharedConnections, conversation: Conversation) -> Logprobs:
        """Returns the log-probabilities of the span of *conversation* from the server.

        Sends up to three requests, and stops at the first answer that holds all log-probabilities:

        - a *given* request (see `vllm_wire`);
        - the same request without the server's prefix cache;
        - a *whole* request.

        If the server refuses a *given* request, only *whole* requests are sent from then on.
        """
        for afresh in (False, True):
            if not self._given:
                break
            answer = await connections.post(wire.GIVEN, wire.ask_given(self._model, conversation, afresh))
            if isinstance(answer, SpanError):
                return answer
            if isinstance(answer, Refusal):
                self._leave_given(answer.message)
            elif (logprobs := wire.read_given(answer, conversation)) is not None:
                return logprobs
        return await self._whole(connections, conversation)

    async def _whole(self, connections: SharedConnections, conversation: Conversation) -> Logprobs:
        answer = await connections.post(wire.WHOLE, wire.ask_whole(self._model, conversation))
        if isinstance(answer, Refusal):
            return self._refused(answer)
        return answer if isinstance(answer, SpanError) else wire.read_whole(answer, conversation)

    async def _probe(self, connections: SharedConnections, trial: Conversation) -> None:
        """Scores *trial* with both kinds of request (see `vllm_wire`) and compares the log-probabilities.

        If the *given* request fails, or if the log-probabilities differ too much, only *whole* requests are sent from
        then on. Raises `LMError` if the *whole* request fails, or if the probabilities at some position sum to more
        than 1.
        """
        answer = await connections.post(wire.WHOLE, wire.ask_whole(self._model, trial, alternatives=5))
        if isinstance(answer, Refusal):
            answer = self._refused(answer)
        whole = answer if isinstance(answer, SpanError) else wire.read_whole(answer, trial)
        if isinstance(whole, SpanError):
            raise LMError(f"vLLM server {self._client.endpoint}: a trial failed: {whole}")
        if isinstance(answer, dict) and (total := wire.total_probability(answer)) > 1.01:
            raise LMError(
                f"vLLM server {self._client.endpoint}: its probabilities add up to {total:.3g}, not 1; "
                "start it without --logprobs-mode"
            )
        answer = await connections.post(wire.GIVEN, wire.ask_given(self._model, trial, afresh=True))
        given = wire.read_given(answer, trial) if isinstance(answer, dict) else None
        if isinstance(answer, Refusal):
            self._leave_given(answer.message)
        elif isinstance(given, list) and (gap := _gap(given, whole)) > LARGEST_GAP[self._identity.dtype]:
            self._leave_given(f"its answers are {gap:.2g} nats off those about whole conversations")
        elif not isinstance(given, list):
            self._leave_given(str(answer if isinstance(answer, SpanError) else given or "it leaves them out"))

    def _leave_given(self, why: str) -> None:
        """Switches to *whole* requests for the rest of the run and adds a remark with the reason *why*.

        Later calls have no effect.
        """
        if self._given:
            self._given = False
            self.remarks.append(
                f"vLLM server {self._client.endpoint} cannot score a reply's tokens alone ({why}): it scores "
                "all tokens of each conversation, which is slower"
            )

    def _refused(self, refusal: Refusal) -> SpanError:
        if closed(refusal):
            raise LMError(f"vLLM server {self._client.endpoint} answered {refusal.status}: {refusal.message}")
        return refusal.meaning()


def _gap(first: Sequence[float], second: Sequence[float]) -> float:
    return max(abs(a - b) for a, b in zip(first, second, strict=True))


def _answer(item: Conversation | SpanError, answers: dict[Conversation, Logprobs]) -> SpanLogprob | SpanError:
    if isinstance(item, SpanError):
        return item
    logprobs = answers[item]
    if isinstance(logprobs, SpanError):
        return logprobs
    return checked(SpanLogprob(math.fsum(logprobs), item.ids[item.first :], tuple(logprobs), item.escaped))


def _template(folder: Path) -> ChatTemplate:
    """Returns the chat template of the tokenizer in *folder*, from local files only.

    Raises `LMError` if the tokenizer cannot be read or its chats cannot be scored.
    """
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise LMError("transformers is not installed: pip install 'gre-bench[lm]'") from error
    with blamed(folder, "its tokenizer cannot be read"):
        tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
    with blamed(folder, "its chats cannot be scored"):
        return ChatTemplate.from_tokenizer(tokenizer)


def _digest(folder: Path, revision: str | None) -> str:
    """Returns the digest of the files in *folder*; if *revision* is given, it is part of the digest.

    Raises `SettingsError` if the folder holds no weights and *revision* is None. Raises `LMError` if there is no such
    folder.
    """
    if not folder.is_dir():
        raise LMError(f"evaluation LM {folder}: there is no such folder; give one with the served model's tokenizer")
    if revision:
        return digest(["revision", revision, folder_digest(folder)])
    if not any(folder.glob("*.safetensors")):
        raise SettingsError(
            f"{folder} holds no weights, so nothing identifies the served model: state its revision, "
            "--set evaluation_lm.revision=COMMIT"
        )
    return folder_digest(folder)


def _key(key_env: str | None) -> str | None:
    """Returns the server's API key from the environment variable called *key_env*; None if *key_env* is None.

    Raises `LMError` if the variable is missing or malformed.
    """
    if key_env is None:
        return None
    key = os.environ.get(key_env, "").strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise LMError(f"the vLLM server's key is missing or malformed: set the environment variable {key_env}")
    return key


def _served(models: dict, model: str | None, endpoint: str) -> tuple[str, int | None]:
    """Finds *model* in *models*, the server's list of models; returns its name and its context length in tokens.

    If *model* is None, the server must serve exactly one model. The context length is None if the server states none.
    Raises `LMError` if the server does not serve the model. *endpoint* is the server's URL, for the message.
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

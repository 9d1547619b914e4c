"""An evaluation LM behind a vLLM server: the chats are written and tokenised here, the server runs the model.

The server states neither its dtype nor what the model is made of, and both decide the numbers: the settings state
them, and the digest is that of the model folder, or of the tokenizer's with a stated revision. What can be checked is:
the served name, the context, that tokens come back aligned and that what comes back are log-probabilities.
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
"""Nats by which the two ways to ask may differ at a token, by the dtype that is stated; a wrong token differs more."""

_TRIAL = Chat("Say what the second reviewer says.", "The first reviewer likes it.", "The second reviewer does not.")


class VLLM:
    """An evaluation LM on another machine or in another process; make one with `open`.

    *remarks* tell what its user should know, such as why the faster way to ask is not taken.
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
        """The *model* (the only one if None) served at *endpoint*, its tokenizer and weights or *revision* at *folder*.

        `SettingsError` for what must be stated otherwise; `LMError` if the server is not there or cannot be trusted.
        """
        folder = Path(folder)
        refuse_unknown(f"vLLM server {endpoint}", (dtype, DType))
        model_digest = _digest(folder, revision)
        template = _template(folder)
        client = Client(endpoint, _key(key_env), parallel, retry_policy)
        models, version = client.run(lambda line, path: line.get(path), [wire.MODELS, wire.VERSION])
        name, context = _served(models, model, client.endpoint)
        identity = LMIdentity(
            # A server started with a path serves under it; where the files lie is nothing of the model's.
            name=Path(name).name if name.startswith("/") else name,
            digest=model_digest,
            engine_version=f"vllm-{version.get('version') or 'unknown'}-1",
            dtype=dtype,
            quantisation=quantisation,
            attention="server",
            template_digest=template.digest,
        )
        # The server wants room for one token more than it is asked about.
        limit = min((size for size in (context and context - 1, max_tokens) if size), default=None)
        lm = cls(client, name, template, identity, limit)
        client.run(lm._tried, [template.encode(_TRIAL)])
        return lm

    @property
    def identity(self) -> LMIdentity:
        """What of this LM belongs in a signature.

        Not the way the server is asked: both ways ask the same model for the same numbers, a server may change over in
        mid-run, and what they differ by (`LARGEST_GAP`) is what one way differs by with the company in a batch.
        """
        return self._identity

    def logprob(self, predictions: Sequence[Prediction]) -> list[SpanLogprob | SpanError]:
        """One answer for each prediction, in their order; what is written the same is asked once.

        Asked in the order of the tokens, so that the server meets a shared prefix while it still holds it.
        """
        encoded = {prediction: self._encoded(prediction) for prediction in dict.fromkeys(predictions)}
        due = sorted({item for item in encoded.values() if isinstance(item, Conversation)}, key=lambda item: item.ids)
        answers = dict(zip(due, self._client.run(self._asked, due), strict=True)) if due else {}
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

    async def _asked(self, line: SharedConnections, conversation: Conversation) -> Logprobs:
        """The span's tokens alone, once more afresh where the server left them out; else those of the whole."""
        for afresh in (False, True):
            if not self._given:
                break
            answer = await line.post(wire.GIVEN, wire.ask_given(self._model, conversation, afresh))
            if isinstance(answer, SpanError):
                return answer
            if isinstance(answer, Refusal):
                self._leave_given(answer.said)
            elif (found := wire.read_given(answer, conversation)) is not None:
                return found
        return await self._whole(line, conversation)

    async def _whole(self, line: SharedConnections, conversation: Conversation) -> Logprobs:
        answer = await line.post(wire.WHOLE, wire.ask_whole(self._model, conversation))
        if isinstance(answer, Refusal):
            return self._refused(answer)
        return answer if isinstance(answer, SpanError) else wire.read_whole(answer, conversation)

    async def _tried(self, line: SharedConnections, trial: Conversation) -> None:
        """`LMError` if the server cannot be trusted with *trial*; settles which of the two ways is taken."""
        answer = await line.post(wire.WHOLE, wire.ask_whole(self._model, trial, alternatives=5))
        if isinstance(answer, Refusal):
            answer = self._refused(answer)
        whole = answer if isinstance(answer, SpanError) else wire.read_whole(answer, trial)
        if isinstance(whole, SpanError):
            raise LMError(f"vLLM server {self._client.endpoint}: a trial failed: {whole}")
        if isinstance(answer, dict) and (total := wire.total_probability(answer)) > 1.01:
            raise LMError(
                f"vLLM server {self._client.endpoint}: its probabilities add up to {total:.3g}, so that they are none; "
                "start it without --logprobs-mode"
            )
        answer = await line.post(wire.GIVEN, wire.ask_given(self._model, trial, afresh=True))
        given = wire.read_given(answer, trial) if isinstance(answer, dict) else None
        if isinstance(answer, Refusal):
            self._leave_given(answer.said)
        elif isinstance(given, list) and (gap := _gap(given, whole)) > LARGEST_GAP[self._identity.dtype]:
            self._leave_given(f"its answers are {gap:.2g} nats off those about whole conversations")
        elif not isinstance(given, list):
            self._leave_given(str(answer if isinstance(answer, SpanError) else given or "it leaves them out"))

    def _leave_given(self, why: str) -> None:
        """From here on whole conversations are asked for; said once."""
        if self._given:
            self._given = False
            self.remarks.append(
                f"vLLM server {self._client.endpoint} does not score given tokens alone ({why}): all tokens of each "
                "conversation are asked for, which is slower"
            )

    def _refused(self, refusal: Refusal) -> SpanError:
        if closed(refusal):
            raise LMError(f"vLLM server {self._client.endpoint} answered {refusal.status}: {refusal.said}")
        return refusal.meaning()


def _gap(one: Sequence[float], other: Sequence[float]) -> float:
    return max(abs(a - b) for a, b in zip(one, other, strict=True))


def _answer(item: Conversation | SpanError, answers: dict[Conversation, Logprobs]) -> SpanLogprob | SpanError:
    if isinstance(item, SpanError):
        return item
    logprobs = answers[item]
    if isinstance(logprobs, SpanError):
        return logprobs
    return checked(SpanLogprob(math.fsum(logprobs), item.ids[item.first :], tuple(logprobs), item.escaped))


def _template(folder: Path) -> ChatTemplate:
    """The chat template of the tokenizer in *folder*, local files only."""
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise LMError("transformers is not installed: pip install 'gre-bench[lm]'") from error
    with blamed(folder, "its tokenizer cannot be read"):
        tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
    with blamed(folder, "its chats cannot be scored"):
        return ChatTemplate.of(tokenizer)


def _digest(folder: Path, revision: str | None) -> str:
    """What tells the model from others: its files, or the tokenizer's files with a *revision* that is stated."""
    if not folder.is_dir():
        raise LMError(f"evaluation LM {folder}: there is no such folder; give one with the served model's tokenizer")
    if revision:
        return digest(["revision", revision, folder_digest(folder)])
    if not any(folder.glob("*.safetensors")):
        raise SettingsError(
            f"{folder} holds no weights, so that nothing tells the served model from another: state its revision, "
            "--set evaluation_lm.revision=COMMIT"
        )
    return folder_digest(folder)


def _key(key_env: str | None) -> str | None:
    """The server's key from the environment variable *key_env*."""
    if key_env is None:
        return None
    key = os.environ.get(key_env, "").strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise LMError(f"the vLLM server's key is missing or no key: set the environment variable {key_env}")
    return key


def _served(models: dict, model: str | None, endpoint: str) -> tuple[str, int | None]:
    """The served name that is meant, and the longest conversation the server takes with it."""
    entries = models.get("data")
    served = {entry["id"]: entry for entry in entries or [] if isinstance(entry, dict) and "id" in entry}
    if model is None and len(served) == 1:
        model = next(iter(served))
    if model not in served:
        known = ", ".join(map(str, served)) or "nothing"
        asked = f"does not serve {model!r}" if model else "serves several models"
        raise LMError(f"vLLM server {endpoint} {asked}: it serves {known}; set evaluation_lm.served_model")
    context = served[model].get("max_model_len")
    return str(model), context if isinstance(context, int) and context > 1 else None

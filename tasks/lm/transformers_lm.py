"""An evaluation LM from a folder of weights, one conversation at a time: simple, slow, and right.

log P(reply | ...) is the sum over the span (`tasks.lm.span`) of the log-softmax of the logits, in nats: the softmax in
float32 whatever the weights' dtype, the sum in float64 (Xu et al. 2025, §3.2).
"""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from tasks.errors import LMError, SpanError
from tasks.lm.span import ChatTemplate, Conversation
from tasks.prompts.library import render
from tasks.records import LMIdentity, Prediction, SpanLogprob, digest

if TYPE_CHECKING:
    from transformers import PreTrainedModel

ENGINE_VERSION = "one-by-one-1"

Device = Literal["auto", "cpu", "cuda"]
DType = Literal["float32", "bfloat16", "float16"]
Attention = Literal["sdpa", "eager"]

_DIGESTED = (
    *("config.json", "adapter_config.json", "*.safetensors", "*.safetensors.index.json"),
    *("tokenizer*", "special_tokens_map.json", "added_tokens.json", "chat_template*", "vocab.*", "merges.txt"),
    "*.model",
)


class TransformersLM:
    """An evaluation LM that transformers can load; make one with `open`."""

    def __init__(self, model: PreTrainedModel, template: ChatTemplate, identity: LMIdentity, limit: int | None):
        self._model = model
        self._template = template
        self._identity = identity
        self._limit = limit
        self._rows = model.get_input_embeddings().num_embeddings
        self._keeps = "logits_to_keep" in inspect.signature(model.forward).parameters

    @classmethod
    def open(
        cls,
        folder: str | Path,
        *,
        device: Device = "auto",
        dtype: DType = "float32",
        attention: Attention = "sdpa",
        max_tokens: int | None = None,
    ) -> TransformersLM:
        """The evaluation LM in *folder*; *max_tokens* shortens the model's own context. `LMError` if it cannot be."""
        folder = Path(folder)
        _look(folder)
        for option, known in ((device, Device), (dtype, DType), (attention, Attention)):
            if option not in get_args(known):
                raise LMError(f"evaluation LM {folder}: {option!r} is none of {', '.join(get_args(known))}")
        try:
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer
        except ImportError as error:
            raise LMError(
                "torch and transformers are not installed: pip install -e '.[lm]' -c constraints.txt"
            ) from error
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        elif device == "cuda" and not torch.cuda.is_available():
            raise LMError(f"evaluation LM {folder}: no CUDA device is available; use device auto or cpu")
        local = {"pretrained_model_name_or_path": str(folder), "local_files_only": True, "trust_remote_code": False}
        with _blamed(folder, "its tokenizer cannot be read"):
            tokenizer = AutoTokenizer.from_pretrained(**local)
        with _blamed(folder, "its chats cannot be scored"):
            template = ChatTemplate.of(tokenizer)
        with _blamed(folder, "its weights cannot be loaded"):
            model, loaded = AutoModelForCausalLM.from_pretrained(
                **local,
                use_safetensors=True,
                dtype=getattr(torch, dtype),
                attn_implementation=attention,
                output_loading_info=True,
            )
            quantised = getattr(model.config, "quantization_config", None)
            # Quantised weights are put in their place as they are loaded and cannot be moved.
            model = (model if quantised else model.to(device)).eval()
        # transformers fills weights that the files lack with random numbers and only warns.
        if absent := sorted([*loaded["missing_keys"], *(str(key) for key in loaded["mismatched_keys"])]):
            raise LMError(f"evaluation LM {folder}: the files lack {len(absent)} weights of the model, as {absent[0]}")
        settings = model.config.get_text_config()
        limits = [size for size in (getattr(settings, "max_position_embeddings", None), max_tokens) if size is not None]
        identity = LMIdentity(
            name=folder.resolve().name,
            digest=_digest(folder),
            engine_version=ENGINE_VERSION,
            dtype=dtype,
            quantisation=_quantisation(quantised) if quantised else "none",
            attention=attention,
            template_digest=template.digest,
        )
        return cls(model, template, identity, min(limits, default=None))

    @property
    def identity(self) -> LMIdentity:
        """What of this LM belongs in a signature; its digest covers the config, tokenizer and weight files."""
        return self._identity

    def logprob(self, predictions: Sequence[Prediction]) -> list[SpanLogprob | SpanError]:
        """One answer for each prediction, in their order; equal predictions are computed once."""
        answers: dict[Prediction, SpanLogprob | SpanError] = {}
        for prediction in predictions:
            if prediction not in answers:
                answers[prediction] = self._answer(prediction)
        return [answers[prediction] for prediction in predictions]

    def _answer(self, prediction: Prediction) -> SpanLogprob | SpanError:
        import torch

        try:
            conversation = self._template.encode(render(prediction))
        except SpanError as error:
            return error
        length = len(conversation.ids)
        if self._limit is not None and length > self._limit:
            return SpanError("too_long", f"the conversation has {length} tokens, the evaluation LM takes {self._limit}")
        if max(conversation.ids) >= self._rows:
            return SpanError("bad_token", f"the tokenizer goes beyond the model's {self._rows} tokens", broken=True)
        try:
            logprobs = self._forward(conversation)
        except torch.OutOfMemoryError:
            logprobs = None
        # Outside of the handler, whose traceback still holds the tensors.
        if logprobs is None:
            torch.cuda.empty_cache()
            message = f"no memory left for a conversation of {length} tokens; use a larger device or a shorter text"
            return SpanError("out_of_memory", message, final=False)
        span = conversation.ids[conversation.first :]
        return SpanLogprob(math.fsum(logprobs), span, tuple(logprobs), conversation.escaped)

    def _forward(self, conversation: Conversation) -> list[float]:
        """The log-probability of each token of the span, in nats; the last token is only predicted, never read."""
        import torch

        ids = torch.tensor([conversation.ids], device=self._model.device)
        wanted = conversation.last - conversation.first + 1
        keep = {"logits_to_keep": wanted} if self._keeps else {}
        with torch.inference_mode():
            read = ids[:, :-1]
            logits = self._model(read, attention_mask=torch.ones_like(read), use_cache=False, **keep).logits
            rows = torch.log_softmax(logits[0, -wanted:], dim=-1, dtype=torch.float32)
            return rows.gather(1, ids[0, -wanted:, None])[:, 0].tolist()


def _look(folder: Path) -> None:
    """`LMError` naming what *folder* lacks."""
    if not folder.is_dir():
        raise LMError(f"evaluation LM {folder}: there is no such folder; give one that holds a downloaded model")
    if not (folder / "config.json").is_file():
        raise LMError(f"evaluation LM {folder}: no config.json; the folder must be that of a transformers model")
    if not any(folder.glob("*.safetensors")):
        raise LMError(f"evaluation LM {folder}: no *.safetensors; other weight formats can run code and are refused")


@contextmanager
def _blamed(folder: Path, what: str) -> Iterator[None]:
    """Any failure within as one line on *folder*: the loaders of transformers raise almost anything."""
    try:
        yield
    except Exception as error:
        reason = " ".join(f"{error or type(error).__name__}".split())[:500]
        raise LMError(f"evaluation LM {folder}: {what}: {reason}") from error


def _digest(folder: Path) -> str:
    """SHA-256 over the names and contents of the files that decide what the model is."""
    files = sorted({path for pattern in _DIGESTED for path in folder.glob(pattern) if path.is_file()})
    contents = []
    for path in files:
        with path.open("rb") as stream:
            contents.append([path.name, hashlib.file_digest(stream, "sha256").hexdigest()])
    return digest(contents)


def _quantisation(config: object) -> str:
    table = config if isinstance(config, dict) else config.to_dict()  # type: ignore[attr-defined]
    bits = 4 if table.get("load_in_4bit") else 8 if table.get("load_in_8bit") else table.get("bits")
    return f"{table.get('quant_method', 'unknown')}" + (f"-{bits}bit" if bits else "")

"""Measures how fast this machine scores replies, by several methods (see `methods`).

The speed of a shared machine drifts, so the methods take turns: each round times every method once. Ratios compare
times of the same round, and the report states medians over the rounds. A model with random weights takes as long as a
trained model of the same shape.
"""

from __future__ import annotations

import logging
import resource
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gre_bench.core.errors import LMError, SpanError
from gre_bench.core.records import Prediction
from gre_bench.lm.backends.transformers_lm import TransformersLM
from gre_bench.lm.engine.packs import TokenTrie
from gre_bench.lm.protocol import EvaluationLM, compute_checked_span_logprobs
from gre_bench.lm.span import ChatTemplate, Conversation
from gre_bench.lm.weights import (
    Attention,
    Device,
    DType,
    Weights,
    check_option_values,
    choose_device,
    convert_errors_to_lm_error,
)
from gre_bench.prompts.library import render

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

REFERENCE = "one-by-one"
HARNESS_BATCH = 8
MEMINFO = Path("/proc/meminfo")

SHAPES: dict[str, dict[str, Any]] = {
    "60m": {
        "hidden_size": 512, "intermediate_size": 1536, "num_hidden_layers": 16, "num_attention_heads": 8,
        "num_key_value_heads": 8, "max_position_embeddings": 8192,
    },
    "llama-3.1-8b": {
        "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "max_position_embeddings": 131072, "vocab_size": 128256,
    },
}  # fmt: skip
_CONTROL = ("<|im_start|>", "<|im_end|>")
_CHATML = """
{%- for message in messages -%}
    {{- "<|im_start|>" + message.role + "\\n" + message.content + "<|im_end|>\\n" -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- "<|im_start|>assistant\\n" -}}{%- endif -%}"""

Papers = Sequence[Sequence[Prediction]]
"""The predictions of each paper."""
Totals = list[float]
Method = Callable[[Sequence[Prediction]], Totals]
"""Takes predictions and returns the log-probability of each reply in nats."""


@dataclass(slots=True)
class Timing:
    """The measurements of one method: seconds per round, memory in bytes, and each reply's log-probability in nats.

    *cpu* is None if the method computes in another process. *peak_memory* is None if it was not measured.
    """

    name: str
    wall: list[float] = field(default_factory=list)
    cpu: list[float] | None = field(default_factory=list)
    peak_memory: int | None = None
    totals: Totals = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ModelWork:
    """The amount of work that a model does on some conversations.

    - *tokens*: the number of tokens that the model reads.
    - *rows*: the number of tokens to which its output head is applied, because their next token is scored.
    - *pairs*: the number of (token, attended token) pairs; a token also attends to itself.

    One forward pass of a dense transformer takes this number of multiply-adds:

        tokens · weights of its layers + rows · weights of its head + pairs · 2 · heads · head size · layers
    """

    tokens: int
    rows: int
    pairs: int

    def __add__(self, other: ModelWork) -> ModelWork:
        return ModelWork(self.tokens + other.tokens, self.rows + other.rows, self.pairs + other.pairs)

    def multiply_adds(self, config: Any) -> float:
        """Returns the number of multiply-adds that a dense model with the transformers *config* needs for this work."""
        heads = config.num_attention_heads
        size = getattr(config, "head_dim", None) or config.hidden_size // heads
        keys = getattr(config, "num_key_value_heads", None) or heads
        attention = config.hidden_size * size * (2 * heads + 2 * keys)
        layer = attention + 3 * config.hidden_size * config.intermediate_size
        layers = config.num_hidden_layers
        head = config.hidden_size * config.vocab_size
        return float(self.tokens * layer * layers + self.rows * head + self.pairs * 2 * heads * size * layers)


def count_work_without_prefix_sharing(conversations: Sequence[Conversation]) -> ModelWork:
    """Returns the work if each of *conversations* is computed alone."""
    lengths = [conversation.last for conversation in conversations]
    rows = sum(conversation.last - conversation.first + 1 for conversation in conversations)
    return ModelWork(sum(lengths), rows, sum(length * (length + 1) // 2 for length in lengths))


def count_work_with_prefix_sharing(conversations: Sequence[Conversation]) -> ModelWork:
    """Returns the work if each prefix that several of *conversations* share is computed only once."""
    trie = TokenTrie(conversations)
    return ModelWork(len(trie), len(np.unique(trie.rows)), int((trie.depths + 1).sum()))


def methods(
    weights: Weights, budget: int | None = None, server: EvaluationLM | None = None
) -> tuple[dict[str, Method], list[str]]:
    """Returns the methods that this machine can run, by name, and a list of remarks.

    The methods are the engines, lm-evaluation-harness if it is installed, and *server*, an opened vLLM backend, if
    given. If the trie engine (with the token *budget*) cannot run this model, a remark says why.
    """
    from gre_bench.lm.engine.engines import BatchEngine, Engine, OneByOneEngine, engine_for  # which imports torch

    template = ChatTemplate.from_tokenizer(weights.tokenizer)
    engines: list[Engine] = [OneByOneEngine(weights), BatchEngine(weights)]
    chosen, remark = engine_for(weights, template, "trie", budget)
    if remark is None:
        engines.append(chosen)
    by_name: dict[str, Method] = {
        engine.version.rpartition("-")[0]: _totals(TransformersLM(weights, template, engine)) for engine in engines
    }
    try:
        import lm_eval  # noqa: F401

        logging.getLogger("lm_eval").setLevel(logging.ERROR)
        by_name["lm-evaluation-harness"] = lambda predictions: harness_logprobs(
            weights, [template.encode(render(prediction)) for prediction in predictions], HARNESS_BATCH
        )
    except ImportError:
        pass
    if server is not None:
        by_name["vllm"] = _totals(server)
    return by_name, [remark] if remark else []


def measured(
    weights: Weights,
    papers: Papers,
    by_name: dict[str, Method],
    rounds: int,
    on_round: Callable[[int, str], None] = lambda done, name: None,
) -> dict[str, Timing]:
    """Times each method in *by_name* over *rounds* rounds and returns the timings by name.

    A round scores all *papers*, one paper at a time. Before round 1, each method warms up on four predictions.
    *on_round*: called with the number of rounds that a method has finished (0: its warm-up begins) and the method's
    name.
    """
    timings = {name: Timing(name) for name in by_name}
    for name, method in by_name.items():
        on_round(0, name)
        method(papers[0][:4])
    for done in range(rounds):
        for name, method in by_name.items():
            timing = timings[name]
            with _record_time_and_memory(weights, timing):
                timing.totals = [total for paper in papers for total in method(paper)]
            on_round(done + 1, name)
    if "vllm" in timings:
        timings["vllm"].cpu = timings["vllm"].peak_memory = None
    return timings


def report(weights: Weights, papers: Papers, timings: dict[str, Timing], pairs: int, peak: float) -> dict[str, Any]:
    """Returns method → name of a measure → number, for each method in *timings*.

    *pairs*: the number of pairs (paper, candidate, reference) scored in a round. *peak*: the most multiply-adds per
    second that this machine reaches. Some numbers compare the method with `REFERENCE`, which reads one conversation at
    a time:

    - ``wall_ratio`` and ``cpu_ratio``: how many times faster the method is;
    - ``work_ratio``: how many times fewer multiply-adds it computes;
    - ``token_ratio``: how many times fewer tokens it reads (1 if the method reads every conversation in full);
    - ``largest_disagreement``: the largest relative difference between the two log-probabilities of a reply.

    ``peak_fraction`` is the method's multiply-adds per second, divided by *peak*.
    """
    template = ChatTemplate.from_tokenizer(weights.tokenizer)
    alone = shared = ModelWork(0, 0, 0)
    for paper in papers:
        conversations = list(dict.fromkeys(template.encode(render(prediction)) for prediction in paper))
        alone, shared = (
            alone + count_work_without_prefix_sharing(conversations),
            shared + count_work_with_prefix_sharing(conversations),
        )
    config = weights.model.config.get_text_config()
    reference = timings[REFERENCE]
    summary = {}
    for name, timing in timings.items():
        done = shared if name == "trie" else alone
        wall = statistics.median(timing.wall)
        summary[name] = {
            "wall_s": wall,
            "cpu_s": statistics.median(timing.cpu) if timing.cpu else None,
            "pairs_per_s": pairs / wall,
            "wall_ratio": _median_ratio(reference.wall, timing.wall),
            "cpu_ratio": _median_ratio(reference.cpu, timing.cpu),
            "work_ratio": alone.multiply_adds(config) / done.multiply_adds(config),
            "token_ratio": alone.tokens / done.tokens,
            "tokens": done.tokens,
            "peak_fraction": None if name == "vllm" else done.multiply_adds(config) / wall / peak,
            "peak_memory_bytes": timing.peak_memory,
            "largest_disagreement": max(
                abs(total - other) / abs(total) for total, other in zip(reference.totals, timing.totals, strict=True)
            ),
        }
    return summary


def harness_logprobs(weights: Weights, conversations: Sequence[Conversation], batch: int) -> list[float]:
    """Returns log P(span | tokens before it) of each of *conversations*, in nats, as lm-evaluation-harness computes it.

    The harness is an independent check of the engines' numbers and speed. Its class `HFLM` runs whole conversations in
    padded batches of *batch*, and sums the log-probabilities of each span in float32. A conversation longer than the
    model's context is run in full, never cut. Raises `LMError` if lm_eval is not installed.
    """
    try:
        from lm_eval.models.huggingface import HFLM
    except ImportError as error:
        raise LMError(f"lm_eval is not installed ({error}): pip install 'gre-bench[harness]'") from error
    if not conversations:
        return []
    longest = max(len(conversation.ids) for conversation in conversations)
    harness = HFLM(
        pretrained=weights.model, tokenizer=weights.tokenizer, backend="causal", batch_size=batch,
        softmax_dtype="float32",
        max_length=longest,  # HFLM silently cuts off the beginning of a longer conversation
    )  # fmt: skip
    requests = [
        (("", ""), list(item.ids[: item.first]), list(item.ids[item.first : item.last + 1])) for item in conversations
    ]
    return [float(total) for total, _ in harness._loglikelihood_tokens(requests, disable_tqdm=True)]


def matmul_peak(weights: Weights, size: int | None = None) -> float:
    """Measures the multiply-adds per second of this machine in the model's dtype; returns the best of five.

    It multiplies square matrices with *size* rows. If *size* is None, the size suits the device.
    """
    import torch

    device = weights.model.device
    size = size or (2048 if device.type == "cpu" else 8192)
    square = torch.randn(size, size, device=device, dtype=getattr(torch, weights.dtype))
    best = 0.0
    for _ in range(5):
        _finish(weights)
        began = time.perf_counter()
        for _ in range(4):
            _ = square @ square
        _finish(weights)
        best = max(best, 4 * size**3 / (time.perf_counter() - began))
    return best


def random_weights(
    shape: str,
    tokenizer: PreTrainedTokenizerBase,
    *,
    device: Device = "auto",
    dtype: DType = "float32",
    attention: Attention = "sdpa",
) -> Weights:
    """Returns a Llama model with random weights, together with *tokenizer*; *shape* is a key of `SHAPES`.

    Raises `LMError` if this machine cannot hold or run the model.
    """
    if shape not in SHAPES:
        raise LMError(f"no shape {shape!r} for a random model; known: {', '.join(SHAPES)}")
    check_option_values(f"random model {shape}", (device, Device), (dtype, DType), (attention, Attention))
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    device = choose_device(device, f"random model {shape}")
    chosen: dict[str, Any] = {"vocab_size": len(tokenizer), "attn_implementation": attention, **SHAPES[shape]}
    config = LlamaConfig(**chosen)
    usual = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, dtype))
    try:
        if device == "cpu":
            with torch.device("meta"):
                wanted = sum(weight.nbytes for weight in LlamaForCausalLM(config).parameters())
            with suppress(OSError):  # only Linux has this file
                lines = (line.split() for line in MEMINFO.read_text().splitlines())
                left = next((int(line[1]) * 1024 for line in lines if line[:1] == ["MemAvailable:"]), wanted)
                if left < wanted:
                    raise LMError(
                        f"random model {shape}: its weights take {wanted / 2**30:.1f} GiB and this machine has "
                        f"{left / 2**30:.1f} GiB left; use a GPU, a smaller dtype or another shape"
                    )
        with (
            convert_errors_to_lm_error(Path(shape), "the random model cannot be made"),
            torch.random.fork_rng(),
            torch.device(device),
        ):
            torch.manual_seed(0)
            model = LlamaForCausalLM(config).eval()
    finally:
        torch.set_default_dtype(usual)
    return Weights(Path(f"random-{shape}"), model, tokenizer, f"random {shape}", dtype, attention, "none")


def learnt_tokenizer(texts: Iterable[str], size: int = 4096) -> PreTrainedTokenizerBase:
    """Trains a byte-level BPE tokenizer of at most *size* tokens on *texts*, with a ChatML chat template."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    trained_on = Tokenizer(models.BPE())
    trained_on.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trained_on.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=list(_CONTROL), initial_alphabet=alphabet, show_progress=False
    )
    trained_on.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=trained_on, eos_token=_CONTROL[1], pad_token=_CONTROL[1])
    tokenizer.chat_template = _CHATML
    return tokenizer


def _median_ratio(reference: Sequence[float] | None, other: Sequence[float] | None) -> float | None:
    if not reference or not other:
        return None
    return statistics.median(a / b for a, b in zip(reference, other, strict=True))


def _totals(lm: EvaluationLM) -> Method:
    def run(predictions: Sequence[Prediction]) -> Totals:
        totals = []
        for answer in compute_checked_span_logprobs(lm, predictions):
            if isinstance(answer, SpanError):
                raise LMError(f"the benchmark's own texts cannot be scored: {answer}")
            totals.append(answer.total)
        return totals

    return run


@contextmanager
def _record_time_and_memory(weights: Weights, timing: Timing) -> Iterator[None]:
    """Adds to *timing* the times of the ``with`` block, and its peak memory in bytes, model weights included.

    The memory is that of the GPU. Without a GPU, it is this process's resident memory, whose peak only Linux can reset.
    """
    import torch

    on_gpu = weights.model.device.type == "cuda"
    most: int | None = None
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    else:
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
            most = 0
    _finish(weights)
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    _finish(weights)
    timing.wall.append(time.perf_counter() - wall)
    if timing.cpu is not None:
        timing.cpu.append(time.process_time() - cpu)
    if on_gpu:
        most = torch.cuda.max_memory_allocated()
    elif most is not None:
        kib = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line[:6] == "VmHWM:"]
        most = int(kib[0]) * 1024 if kib else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if most is not None:
        timing.peak_memory = max(timing.peak_memory or 0, most)


def _finish(weights: Weights) -> None:
    """Waits until the model's device has finished all pending work."""
    import torch

    if weights.model.device.type == "cuda":
        torch.cuda.synchronize()

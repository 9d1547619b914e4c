"""Measures how fast this machine scores replies by several methods: the engines and their competitors.

The speed of a shared machine drifts, so the methods take turns: each round times every method once. Ratios compare
times of the same round, and reports state the median over the rounds.
"""

from __future__ import annotations

import logging
import resource
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gre_bench.core.errors import LMError, SpanError
from gre_bench.core.records import Prediction
from gre_bench.lm.backends.transformers_lm import TransformersLM
from gre_bench.lm.engine import work
from gre_bench.lm.engine.batches import Batches
from gre_bench.lm.engine.catalog import engine_for
from gre_bench.lm.engine.harness import harness_logprobs
from gre_bench.lm.engine.one_by_one import OneByOne
from gre_bench.lm.engine.protocol import Engine
from gre_bench.lm.protocol import EvaluationLM, checked
from gre_bench.lm.span import ChatTemplate
from gre_bench.lm.weights import Weights
from gre_bench.prompts.library import render

REFERENCE = "one-by-one"
HARNESS_BATCH = 8

Papers = Sequence[Sequence[Prediction]]
"""The predictions of each paper."""
Totals = list[float]
Method = Callable[[Sequence[Prediction]], Totals]
"""Takes predictions and returns the log-probability of each reply in nats."""


@dataclass(slots=True)
class Timing:
    """The measurements of one method.

    - *wall*: the wall-clock time of each round, in seconds.
    - *cpu*: the CPU time of each round, in seconds; None if the method computes in another process.
    - *peak_memory*: the most memory used, in bytes; None if not measured.
    - *totals*: the log-probability of each reply, in nats.
    """

    name: str
    wall: list[float] = field(default_factory=list)
    cpu: list[float] | None = field(default_factory=list)
    peak_memory: int | None = None
    totals: Totals = field(default_factory=list)


def methods(
    weights: Weights, budget: int | None = None, server: EvaluationLM | None = None
) -> tuple[dict[str, Method], list[str]]:
    """Returns the methods that this machine can run, by name, and a list of remarks.

    The methods are the engines, lm-evaluation-harness if it is installed, and the open vLLM backend *server* if given.
    If the trie engine cannot run this model, a remark says why. *budget* is the most tokens in one forward pass of the
    trie engine; None means the default.
    """
    template = ChatTemplate.from_tokenizer(weights.tokenizer)
    engines: list[Engine] = [OneByOne(weights), Batches(weights)]
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

    A round scores all *papers*, one paper at a time. Before the first round, each method warms up on four predictions.
    *on_round* is called with the number of rounds that a method has finished and the method's name. The number is 0
    when the method's warm-up begins.
    """
    timings = {name: Timing(name) for name in by_name}
    for name, method in by_name.items():
        on_round(0, name)
        method(papers[0][:4])
    for done in range(rounds):
        for name, method in by_name.items():
            timing = timings[name]
            with _peak(weights, timing), _clock(weights, timing):
                timing.totals = [total for paper in papers for total in method(paper)]
            on_round(done + 1, name)
    if "vllm" in timings:
        timings["vllm"].cpu = timings["vllm"].peak_memory = None
    return timings


def report(weights: Weights, papers: Papers, timings: dict[str, Timing], pairs: int, peak: float) -> dict[str, Any]:
    """Returns a table of numbers for each method in *timings*, by the method's name.

    *pairs* is the number of pairs (paper, candidate, reference) scored in a round. *peak* is the most multiply-adds per
    second that this machine reaches. Some numbers compare the method with one conversation at a time:

    - ``wall_ratio`` and ``cpu_ratio``: how many times faster the method is;
    - ``work_ratio``: how many times fewer multiply-adds it computes;
    - ``token_ratio``: how many times fewer tokens it reads, 1 if the method reads every conversation in full;
    - ``largest_disagreement``: the largest relative difference between the two log-probabilities of a reply.

    ``peak_fraction`` is the method's multiply-adds per second, divided by *peak*.
    """
    template = ChatTemplate.from_tokenizer(weights.tokenizer)
    alone = shared = work.Work(0, 0, 0)
    for paper in papers:
        conversations = list(dict.fromkeys(template.encode(render(prediction)) for prediction in paper))
        alone, shared = alone + work.alone(conversations), shared + work.shared(conversations)
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
            "wall_ratio": _ratio(reference.wall, timing.wall),
            "cpu_ratio": _ratio(reference.cpu, timing.cpu),
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


def use_threads(count: int) -> None:
    """Makes torch use *count* threads on the CPU."""
    import torch

    torch.set_num_threads(count)


def matmul_peak(weights: Weights, size: int | None = None) -> float:
    """Measures the most multiply-adds per second of this machine, by products of square matrices in the model's dtype.

    Returns the best of five measurements. *size* is the number of rows of a matrix; None means a size that suits the
    device.
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


def _ratio(reference: Sequence[float] | None, other: Sequence[float] | None) -> float | None:
    if not reference or not other:
        return None
    return statistics.median(a / b for a, b in zip(reference, other, strict=True))


def _totals(lm: EvaluationLM) -> Method:
    def run(predictions: Sequence[Prediction]) -> Totals:
        totals = []
        for answer in map(checked, lm.logprob(predictions)):
            if isinstance(answer, SpanError):
                raise LMError(f"the benchmark's own texts cannot be scored: {answer}")
            totals.append(answer.total)
        return totals

    return run


@contextmanager
def _clock(weights: Weights, timing: Timing) -> Iterator[None]:
    _finish(weights)
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    _finish(weights)
    timing.wall.append(time.perf_counter() - wall)
    if timing.cpu is not None:
        timing.cpu.append(time.process_time() - cpu)


@contextmanager
def _peak(weights: Weights, timing: Timing) -> Iterator[None]:
    """Records in *timing* the peak memory within the block in bytes, model weights included.

    On a GPU this is GPU memory, otherwise the resident memory of this process. Records nothing if the system cannot
    reset the process's peak.
    """
    import torch

    on_gpu = weights.model.device.type == "cuda"
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    elif not _forget_peak():
        yield
        return
    yield
    most = torch.cuda.max_memory_allocated() if on_gpu else _process_peak()
    timing.peak_memory = max(timing.peak_memory or 0, most)


def _forget_peak() -> bool:
    """Resets the recorded peak of this process's resident memory; returns whether that worked.

    Only Linux allows it.
    """
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def _process_peak() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _finish(weights: Weights) -> None:
    """Waits until the model's device has finished all pending work."""
    import torch

    if weights.model.device.type == "cuda":
        torch.cuda.synchronize()

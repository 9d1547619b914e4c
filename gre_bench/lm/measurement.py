"""How fast this machine scores: the same predictions by several methods, in turn, in one run.

On a shared machine times drift, so methods alternate: each round measures them all, ratios are taken within a round,
and what is reported is the median over rounds.
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
"""Predictions in, the log-probability of each reply out, in nats."""


@dataclass(slots=True)
class Timing:
    """One method: per round its *wall* and *cpu* seconds (cpu None: not of this process); bytes at the peak."""

    name: str
    wall: list[float] = field(default_factory=list)
    cpu: list[float] | None = field(default_factory=list)
    peak_memory: int | None = None
    totals: Totals = field(default_factory=list)


def methods(
    weights: Weights, budget: int | None = None, server: EvaluationLM | None = None
) -> tuple[dict[str, Method], list[str]]:
    """What can be measured here, and why the engine is left out if it cannot run this model.

    The engines, lm-evaluation-harness where it is installed, a vLLM *server* if given.
    """
    template = ChatTemplate.of(weights.tokenizer)
    engines: list[Engine] = [OneByOne(weights), Batches(weights)]
    chosen, remark = engine_for(weights, template, "trie", budget)
    if remark is None:
        engines.append(chosen)
    found: dict[str, Method] = {
        engine.version.rpartition("-")[0]: _totals(TransformersLM(weights, template, engine)) for engine in engines
    }
    try:
        import lm_eval  # noqa: F401

        logging.getLogger("lm_eval").setLevel(logging.ERROR)
        found["lm-evaluation-harness"] = lambda asked: harness_logprobs(
            weights, [template.encode(render(one)) for one in asked], HARNESS_BATCH
        )
    except ImportError:
        pass
    if server is not None:
        found["vllm"] = _totals(server)
    return found, [remark] if remark else []


def measured(
    weights: Weights,
    papers: Papers,
    ways: dict[str, Method],
    rounds: int,
    on_round: Callable[[int, str], None] = lambda done, name: None,
) -> dict[str, Timing]:
    """Times of each of *ways* over *rounds*, paper by paper as in a refresh, after a warm-up on a few predictions."""
    timings = {name: Timing(name) for name in ways}
    for name, method in ways.items():
        on_round(0, name)
        method(papers[0][:4])
    for done in range(rounds):
        for name, method in ways.items():
            timing = timings[name]
            with _peak(weights, timing), _clock(weights, timing):
                timing.totals = [total for paper in papers for total in method(paper)]
            on_round(done + 1, name)
    if "vllm" in timings:
        timings["vllm"].cpu = timings["vllm"].peak_memory = None
    return timings


def report(weights: Weights, papers: Papers, timings: dict[str, Timing], pairs: int, peak: float) -> dict[str, Any]:
    """Per method: pairs and seconds, ratios to one at a time, share of *peak* (multiply-adds a second), disagreement.

    *work_ratio* is how many times less the method has to compute, *token_ratio* how many times fewer tokens it reads:
    what sharing alone can give. Methods that share nothing have 1. The largest disagreement is that of a reply's
    log-probability, relative.
    """
    template = ChatTemplate.of(weights.tokenizer)
    alone = shared = work.Work(0, 0, 0)
    for paper in papers:
        conversations = list(dict.fromkeys(template.encode(render(one)) for one in paper))
        alone, shared = alone + work.alone(conversations), shared + work.shared(conversations)
    config = weights.model.config.get_text_config()
    reference = timings[REFERENCE]
    found = {}
    for name, timing in timings.items():
        done = shared if name == "trie" else alone
        wall = statistics.median(timing.wall)
        found[name] = {
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
                abs(one - other) / abs(one) for one, other in zip(reference.totals, timing.totals, strict=True)
            ),
        }
    return found


def use_threads(count: int) -> None:
    """Makes torch compute with *count* threads on the CPU."""
    import torch

    torch.set_num_threads(count)


def matmul_peak(weights: Weights, size: int | None = None) -> float:
    """Multiply-adds a second in products of square matrices of the model's dtype, the best of five."""
    import torch

    device = weights.model.device
    size = size or (2048 if device.type == "cpu" else 8192)
    one = torch.randn(size, size, device=device, dtype=getattr(torch, weights.dtype))
    best = 0.0
    for _ in range(5):
        _finish(weights)
        began = time.perf_counter()
        for _ in range(4):
            _ = one @ one
        _finish(weights)
        best = max(best, 4 * size**3 / (time.perf_counter() - began))
    return best


def _ratio(reference: Sequence[float] | None, other: Sequence[float] | None) -> float | None:
    if not reference or not other:
        return None
    return statistics.median(one / two for one, two in zip(reference, other, strict=True))


def _totals(lm: EvaluationLM) -> Method:
    def run(asked: Sequence[Prediction]) -> Totals:
        totals = []
        for answer in map(checked, lm.logprob(asked)):
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
    """The most memory in use within, the model's weights included: of the device, or of this process on the CPU."""
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
    """Starts the process's peak of resident memory anew, where the system can (Linux)."""
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
    """Waits for what the device has still to do."""
    import torch

    if weights.model.device.type == "cuda":
        torch.cuda.synchronize()

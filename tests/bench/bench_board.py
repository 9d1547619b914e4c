"""Measures how long it takes to read a board of a million scores, and to test its ranks at the end of a refresh.

    python -m tests.bench.bench_board [--papers 2400] [--candidates 70] [--metrics 3]

The default is 2,400 papers × 70 candidates × 2 references × 3 metrics = 1,008,000 score rows, with ids and names as
long as those of OpenReview and of models. Each part runs in its own process, whose time and memory are reported.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gre_bench.core.records import Edition
from gre_bench.core.settings import Settings
from gre_bench.pipeline.ranking import store_rank_statistics
from gre_bench.pipeline.runs.job import Job
from gre_bench.store import Store
from gre_bench.store.queries import CLEAN_GAP, LEADERBOARD, SEPARATION

BENCH = Edition("BENCH", 2026)
SIGNED = {
    "prompt_sha256": "p", "evaluation_lm": "made-up", "lm_digest": "d", "dtype": "float32", "quantisation": "none",
    "attention": "none", "template_digest": "none", "writer": "w", "synopsis_writer": "none", "form": "as_written",
    "text_cut": "none", "ascii_fold": False, "engine_version": "1", "chance": "none",
}  # fmt: skip


def fill(store: Store, papers: int, candidates: int, metrics: int) -> int:
    """Stores scores of made-up candidates of different strength; returns their number."""
    names = ["human", *(f"some-vendor/a-model-{n:02d}-instruct" for n in range(1, candidates))]
    ids = [f"s{n}" for n in range(metrics)]
    titles = zip(ids, ("gem", "gem_s_abstract", "gem_raw"), strict=False)
    signatures = [SIGNED | {"signature_id": name, "metric": metric} for name, metric in titles]
    made = {"kind": "model", "prompt": None, "guideline": None, "change": None}
    rows = [made | {"candidate_id": name, "model": name} for name in names]
    rows[0]["kind"] = "human"
    store.write(("add_new_signatures", signatures), ("add_new_candidates", rows))
    shape = (metrics, papers, candidates, 2)
    random = np.random.default_rng(0)
    values = 3 * random.normal(size=(1, papers, 1, 2)) + 5 * random.normal(size=shape)
    values = values + np.linspace(0, 4, candidates)[None, None, :, None]
    m, p, c, r = (axis.ravel() for axis in np.indices(shape))
    table = pa.table({
        "signature_id": np.array(ids)[m], "paper_id": np.array([f"paper{n:05d}" for n in range(papers)])[p],
        "candidate_id": np.array(names)[c],
        "reference_id": np.array([f"ref{n:07d}" for n in range(2 * papers)])[2 * p + r], "value": values.ravel(),
    })  # fmt: skip
    with store.transaction() as run:
        run.register("made", table)
        pairs = "select signature_id, paper_id, candidate_id, reference_id, 'bench' as run_id"
        run.execute(f"insert into plan by name ({pairs}, 'due' as state from made)")
        scored = f"{pairs}, value, false as broken, []::varchar[] as predictions from made"
        run.execute(f"insert into scores by name ({scored})")
        run.unregister("made")
    return len(table)


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a part: seconds, CPU seconds of all threads, and MiB of memory at the peak and before the start."""

    seconds: float
    cpu: float
    peak: float
    before: float


def run_in_process(part: Callable[..., Any], *arguments: Any) -> Any:
    """Returns the result of *part*, run in a new process, so that its memory is its own."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(part, arguments)


def run_and_measure(part: Callable[[], Any]) -> tuple[Any, Cost]:
    """Returns the result of *part*, and its cost in this process."""
    before, cpu, began = peak(), sum(os.times()[:2]), time.perf_counter()
    found = part()
    return found, Cost(time.perf_counter() - began, sum(os.times()[:2]) - cpu, peak(), before)


def peak() -> float:
    """Returns the peak memory of this process in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def make(folder: Path, papers: int, candidates: int, metrics: int) -> int:
    """Makes the edition's store and its read-only copy in *folder*; returns the number of scores."""
    store = Store(folder, BENCH)
    with store.lock("bench"):
        rows = fill(store, papers, candidates, metrics)
        store.copy_for_readers()
    return rows


def measure_rank_tests(folder: Path, metrics: int) -> Cost:
    """Measures the tests of ranks at the end of a refresh."""
    store = Store(folder, BENCH)
    signatures = [SIGNED | {"signature_id": f"s{n}", "metric": "gem"} for n in range(metrics)]
    with store.lock("bench"):
        _, cost = run_and_measure(lambda: store_rank_statistics(store, Job(Settings(), folder), signatures, "bench"))
        store.copy_for_readers()
    return cost


def read(folder: Path, candidates: int, metrics: int) -> list[Cost]:
    """Measures reading the board, and everything that ``gre-bench leaderboard`` reads; medians of five."""
    store, ids = Store(folder, BENCH), [f"s{n}" for n in range(metrics)]
    found = []
    for queries in ((LEADERBOARD,), (LEADERBOARD, SEPARATION, CLEAN_GAP)):
        times = []
        for _ in range(5):
            boards, cost = run_and_measure(
                lambda queries=queries: [store.read(query, signature_ids=ids) for query in queries]
            )
            assert len(boards[0]) == candidates * metrics
            times.append(cost)
        found.append(sorted(times, key=lambda cost: cost.seconds)[2])
    return found


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--papers", type=int, default=2400)
    asked.add_argument("--candidates", type=int, default=70)
    asked.add_argument("--metrics", type=int, default=3)
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = run_in_process(make, folder, given.papers, given.candidates, given.metrics)
        tested = run_in_process(measure_rank_tests, folder, given.metrics)
        board, command = run_in_process(read, folder, given.candidates, given.metrics)
    load = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    print(
        f"{rows:,} score rows: board {board.seconds:.2f} s ({board.cpu:.2f} s of CPU), with all that leaderboard reads "
        f"{command.seconds:.2f} s ({command.cpu:.2f}), {command.peak:,.0f} MiB at the peak; tests of ranks "
        f"{tested.seconds:.1f} s ({tested.cpu:.1f}), {tested.peak:,.0f} MiB; {load}"
    )


if __name__ == "__main__":
    main()

"""Measures the time and memory to publish an edition of a million scores.

    python -m tests.bench.bench_publish [--papers 2400] [--candidates 70] [--metrics 3]

The default is 2,400 papers × 70 candidates × 2 references × 3 metrics = 1,008,000 score rows: database, Parquet,
figures, the page, 2,400 pages of papers, and the SHA-256 of every file. The publisher runs in its own process, whose
memory is reported.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from gre_bench.core.metrics import METRICS
from gre_bench.core.settings import Settings
from gre_bench.release import manifest
from gre_bench.release.public_tables import ReleaseOnlyTables
from gre_bench.release.publishing import PublishingResult, ReleaseInputs, publish
from gre_bench.release.release_store import ReleaseStore
from gre_bench.reports.publish_editions import build_provenance
from gre_bench.store import Store
from tests.bench.bench_board import BENCH, Cost, make, measure_rank_tests, run_and_measure, run_in_process

Step = tuple[str, float, float]
"""(step of publishing, its start time, the CPU time spent before it)."""


def measure_publishing(folder: Path, metrics: int) -> tuple[PublishingResult, Cost, list[Step]]:
    """Publishes the edition in *folder*; returns the release, its cost, and its steps."""
    additions = ReleaseOnlyTables(
        metrics=[{"metric": one.name, "title": one.title, "unit": one.unit, "place": place}
                 for place, one in enumerate(METRICS.values())],
        shown=[{"signature_id": f"s{place}", "place": place, "lm_id": "none"} for place in range(metrics)],
    )  # fmt: skip
    store = Store(folder, BENCH)
    publication = ReleaseInputs(
        store.read_file, additions, lambda licence: False, build_provenance(store, Settings(), [])
    )
    steps: list[Step] = []

    def at(step: str) -> None:
        steps.append((step, time.perf_counter(), sum(os.times()[:2])))

    made, cost = run_and_measure(lambda: publish(ReleaseStore(folder / "releases", BENCH), publication, at))
    return made, cost, steps


def measure_verifying(folder: Path) -> Cost:
    """Measures ``gre-bench verify``, which reads every byte again."""
    return run_and_measure(lambda: manifest.verify_release(folder))[1]


def format_steps(steps: list[Step]) -> str:
    """Returns the seconds and CPU seconds of the steps that took at least half a second, as text."""
    ends = pairwise(steps)
    taken: list[tuple[Any, ...]] = [(one[0], other[1] - one[1], other[2] - one[2]) for one, other in ends]
    return ", ".join(f"{step} {wall:.1f} ({cpu:.1f})" for step, wall, cpu in taken if wall >= 0.5)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--papers", type=int, default=2400)
    asked.add_argument("--candidates", type=int, default=70)
    asked.add_argument("--metrics", type=int, default=3)
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = run_in_process(make, folder, given.papers, given.candidates, given.metrics)
        run_in_process(measure_rank_tests, folder, given.metrics)
        made, cost, steps = run_in_process(measure_publishing, folder, given.metrics)
        again = run_in_process(measure_verifying, made.folder)
        files = [path.stat().st_size for path in made.folder.rglob("*") if path.is_file()]
    print(
        f"{rows:,} score rows published in {cost.seconds:.1f} s ({cost.cpu:.1f} s of CPU): {format_steps(steps)}; {cost.peak:,.0f} MiB "
        f"at the peak ({cost.before:,.0f} before); {len(files):,} files, {sum(files) / 2**20:,.0f} MiB; verified in "
        f"{again.seconds:.1f} s ({again.cpu:.1f}); {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )


if __name__ == "__main__":
    main()

"""How long it takes to publish an edition of a million scores, and how much memory.

    python -m tests.bench.bench_publish [--papers 2400] [--candidates 70] [--metrics 3]

The default is 2,400 papers × 70 candidates × 2 references × 3 metrics = 1,008,000 score rows: database, Parquet, figures,
the page, 2,400 pages of papers, the SHA-256 of all.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

from tasks.metrics.catalog import METRICS
from tasks.records import Edition
from tasks.release import manifest
from tasks.release.database import Additions
from tasks.release.publishing import Publication, publish
from tasks.release.shelf import Shelf
from tasks.store import Store
from tests.bench.bench_board import fill


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--papers", type=int, default=2400)
    asked.add_argument("--candidates", type=int, default=70)
    asked.add_argument("--metrics", type=int, default=3)
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = Store(folder, Edition("BENCH", 2026))
        with store.lock("bench"):
            rows = fill(store, folder, given.papers, given.candidates, given.metrics)
            store.copy_for_readers()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        additions = Additions(
            metrics=[{"metric": one.name, "title": one.title, "unit": one.unit, "place": place}
                     for place, one in enumerate(METRICS.values())],
            shown=[{"signature_id": f"s{place}", "place": place, "lm_id": "none"} for place in range(given.metrics)],
        )  # fmt: skip
        steps: list[tuple[str, float]] = []
        used = time.process_time()
        made = publish(
            Shelf(folder / "releases", "BENCH-2026"),
            Publication(store.read_file, additions, lambda licence: False),
            lambda step: steps.append((step, time.perf_counter())),
        )
        used = time.process_time() - used
        ends = [at for _, at in steps]
        taken = ", ".join(
            f"{step} {end - at:.1f}" for (step, at), end in zip(steps, ends[1:], strict=False) if end - at > 0.5
        )
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        size = sum(path.stat().st_size for path in made.folder.rglob("*") if path.is_file()) / 2**20
        manifest.verify(made.folder)
        print(
            f"{rows:,} score rows published in {ends[-1] - ends[0]:.1f} s ({taken}; {used:.1f} s of CPU "
            f"time), {peak:,.0f} MiB at the peak "
            f"({before:,.0f} before), a release of {size:,.0f} MiB"
        )


if __name__ == "__main__":
    main()

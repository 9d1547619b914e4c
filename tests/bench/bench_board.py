"""How long a board takes that rests on a million scores: to be read, and to be tested when it is published.

    python tests/bench/bench_board.py [--papers 2400] [--candidates 70] [--metrics 3]

The default is 2,400 papers × 70 candidates × 2 references × 3 metrics = 1,008,000 score rows.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flows.stages.runs import Job
from flows.stages.standings import settle
from tasks.records import Edition
from tasks.settings import Settings
from tasks.store import Store

SIGNED = {
    "prompt_sha256": "p", "evaluation_lm": "made-up", "lm_digest": "d", "dtype": "float32", "quantisation": "none",
    "attention": "none", "template_digest": "none", "writer": "w", "synopsis_writer": "none", "form": "as_written",
    "text_cut": "none", "ascii_fold": False, "engine_version": "1",
}  # fmt: skip


def fill(store: Store, folder: Path, papers: int, candidates: int, metrics: int) -> int:
    """Scores of made-up candidates of different strength; how many."""
    names = ["human", *(f"model-{n:02d}" for n in range(1, candidates))]
    ids = [f"s{n}" for n in range(metrics)]
    store.write(
        *(
            ("add_signature", SIGNED | {"signature_id": name, "metric": metric})
            for name, metric in zip(ids, ("gem", "gem_s_abstract", "gem_raw"), strict=False)
        ),
        (
            "add_candidates",
            [
                {"candidate_id": name, "kind": "human" if name == "human" else "model", "model": name, "prompt": None,
                 "guideline": None, "change": None}
                for name in names
            ],
        ),
    )  # fmt: skip
    shape = (metrics, papers, candidates, 2)
    random = np.random.default_rng(0)
    values = 3 * random.normal(size=(1, papers, 1, 2)) + 5 * random.normal(size=shape)
    values = values + np.linspace(0, 4, candidates)[None, None, :, None]
    m, p, c, r = (axis.ravel() for axis in np.indices(shape))
    table = pa.table({
        "signature_id": np.array(ids)[m], "paper_id": np.array([f"p{n:05d}" for n in range(papers)])[p],
        "candidate_id": np.array(names)[c], "reference_id": np.array(["r1", "r2"])[r], "value": values.ravel(),
    })  # fmt: skip
    file = folder / "scores.parquet"
    pq.write_table(table, file)
    with store.transaction() as run:
        rows = f"from '{file}'"
        run.execute(
            f"insert into plan by name (select signature_id, paper_id, candidate_id, reference_id, 'due' as state, "
            f"'bench' as run_id {rows})"
        )
        run.execute(
            "insert into scores by name (select signature_id, paper_id, candidate_id, reference_id, value, "
            f"false as broken, []::varchar[] as predictions, 'bench' as run_id {rows})"
        )
    return len(table)


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
            ids = [f"s{n}" for n in range(given.metrics)]
            signatures = [SIGNED | {"signature_id": one, "metric": "gem"} for one in ids]
            began = time.perf_counter()
            settle(store, Job(Settings(), folder), signatures, "bench")
            settled = time.perf_counter() - began
            store.copy_for_readers()
        times = []
        for _ in range(5):
            began = time.perf_counter()
            board = store.read("leaderboard", signature_ids=ids)
            times.append(time.perf_counter() - began)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        assert len(board) == given.candidates * given.metrics
        print(
            f"{rows:,} score rows: board {sorted(times)[2]:.2f} s (best {min(times):.2f}), tests of ranks "
            f"{settled:.1f} s, {peak:,.0f} MiB at the peak"
        )


if __name__ == "__main__":
    main()

"""Measures the cost of the sandbox of a user's query: its separate process and its private copy.

    python -m tests.bench.bench_sql [--mb 200]

Each query runs five times in the sandbox and five times in this process, and the fastest counts. The times for the
private copy, its digest, and the check of the read-only copy are reported too.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from gre_bench.core.records import Edition
from gre_bench.store import Store

BENCH = Edition("BENCH", 2026)
QUERIES = (
    "select 1",
    "from leaderboard",
    "select count(*), sum(total) from spans",
    "from spans order by prediction limit 1000",
)
TIMES = 5


def make(folder: Path, mb: int) -> Store:
    """Returns a store whose read-only copy has *mb* MB of log-probabilities that do not compress."""
    store = Store(folder, BENCH)
    with store.lock("bench"):
        store.copy_for_readers()
        for part in range(1000):
            if store.read_file.stat().st_size >= mb * 1e6:
                break
            with store.transaction() as run:
                run.execute(
                    "insert into spans by name (select 'lm' as lm_id, $1 || '-' || i as prediction, -1.0 as total, "
                    "range(200)::integer[] as ids, [-5 * random()::float for j in range(200)] as logprobs, 0 as escaped "
                    "from range(20000) t(i))",
                    [part],
                )
            store.copy_for_readers()
    return store


def plain(file: Path, text: str) -> list[Any]:
    """Returns the rows of the same query, run in this process on the file itself."""
    with duckdb.connect(str(file), read_only=True) as connection:
        return connection.execute(text).fetchall()


def fastest(work: Callable[[], Any]) -> float:
    """Returns the seconds of the fastest of several runs."""
    taken = []
    for _ in range(TIMES):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return min(taken)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--mb", type=int, default=200)
    with tempfile.TemporaryDirectory() as name:
        store = make(Path(name), asked.parse_args().mb)
        file, target = store.read_file, Path(name) / "private.duckdb"
        print(f"a copy for readers of {file.stat().st_size / 1e6:.0f} MB")
        print(f"a private copy: {fastest(lambda: store.copy.copy_to(target)):.2f} s")
        for text in QUERIES:
            here, apart = fastest(lambda: plain(file, text)), fastest(lambda: store.query(text))  # noqa: B023
            print(f"{text}: {here:.2f} s here, {apart:.2f} s apart: {apart - here:+.2f} s, {apart / here:.1f} times")


if __name__ == "__main__":
    main()

"""Measures the cost of reading a board, relative to a bare read of the same file by DuckDB in the same run.

    python -m tests.bench.bench_reads STATE EDITION [--times 7]

Each figure is the least CPU time (user and system) of several runs. *in one process*: opening and reading alone, with
everything imported. *a command*: a new process, with Python's start and all imports, from bytecode as installed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from gre_bench.store import Store
from gre_bench.store.queries import CURRENT_SIGNATURES, LEADERBOARD

BARE = "import duckdb; duckdb.connect({file!r}, read_only=True).execute('from leaderboard').fetchall()"

LIBRARIES = "import duckdb, rich.console, rich.table, typer; from pydantic import BaseModel, TypeAdapter"


def least_cpu_seconds(times: int, run: Callable[[], object]) -> float:
    """Returns the least CPU seconds of *run* over *times* calls, in this process and its child processes."""
    taken = []
    for _ in range(times):
        began = os.times()
        run()
        ended = os.times()
        taken.append(sum(ended[:4]) - sum(began[:4]))
    return min(taken)


def least_own_cpu_seconds(times: int, run: Callable[[], object]) -> float:
    taken = []
    for _ in range(times):
        began = time.process_time()
        run()
        taken.append(time.process_time() - began)
    return min(taken)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("state", type=Path)
    asked.add_argument("edition")
    asked.add_argument("--times", type=int, default=7)
    found = asked.parse_args()
    store = Store(found.state, found.edition)
    ids = [row["signature_id"] for row in store.read(CURRENT_SIGNATURES)]
    file, program = str(store.read_file), str(Path(sys.executable).with_name("gre-bench"))

    def bare() -> None:
        with duckdb.connect(file, read_only=True, config={"threads": "1"}) as run:
            run.execute("from leaderboard").fetchall()

    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def command(*words: str) -> Callable[[], object]:
        return lambda: subprocess.run(words, check=True, capture_output=True, env=environment)

    own, other = (
        least_own_cpu_seconds(found.times, lambda: store.read(LEADERBOARD, signature_ids=ids)),
        least_own_cpu_seconds(found.times, bare),
    )
    print(f"in one process: {own:.4f} s to open and read a board, {own / other:.2f} times the bare {other:.4f} s")
    other = least_cpu_seconds(found.times, command(sys.executable, "-c", BARE.format(file=file)))
    libraries = least_cpu_seconds(found.times, command(sys.executable, "-c", LIBRARIES))
    print(f"a command: {libraries:.2f} s for the libraries of any command alone")
    state = ("--state", str(found.state))
    for name, words in {
        "leaderboard": ("leaderboard", found.edition, *state),
        "refresh with nothing due": ("refresh", "--edition", found.edition, "--no-prefect", *state),
    }.items():
        own = least_cpu_seconds(found.times, command(program, *words))
        print(f"a command: {own:.2f} s for {name}, {own / other:.2f} times the bare {other:.2f} s")


if __name__ == "__main__":
    main()

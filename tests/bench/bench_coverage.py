"""Simulates the coverage of every interval that the benchmark prints, and prints a table.

    python -m tests.bench.bench_coverage [simulations] [trials]

Trials are means, auc, effects, correlations, lengths, changed_lengths and ranks; all take ten minutes on two quiet
cores. The default is 2,000 simulations per cell, with a standard error of 0.5 points at 95% and 0.7 at 90%. An interval
is "ok" within 2 points of its nominal level, "wide" above, and "SHORT" below.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import time
from collections import Counter, defaultdict
from multiprocessing import get_context

from tests.bench.coverage import auc, changed_lengths, correlations, coverage, effects, lengths, means, ranks

TRIALS = (means, auc, effects, correlations, lengths, changed_lengths, ranks)
PAPERS, SHARES, TAILS = (30, 60, 113, 300), (0.0, 0.3, 0.6), ("normal", "lognormal")
MOST = 0.02
MARKS = {"ok": " ", "wide": "+", "SHORT": "!"}


def verdict(actual: float, nominal: float) -> str:
    return "ok" if abs(actual - nominal) <= MOST else "wide" if actual > nominal else "SHORT"


def cell(arguments: tuple) -> tuple[tuple, dict[str, float]]:
    return arguments, coverage(*arguments)


def main() -> None:
    simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    trials = [trial for trial in TRIALS if not sys.argv[2:] or trial.__name__ in sys.argv[2:]]
    start = time.perf_counter()
    cells = [
        (t, n, s, k, simulations)
        for n in sorted(PAPERS, reverse=True)
        for t in reversed(trials)
        for s in SHARES
        for k in TAILS
    ]
    table: dict[str, dict[tuple, float]] = defaultdict(dict)
    names: dict[str, list[str]] = {}
    with get_context("spawn").Pool() as pool:
        for (trial, papers, share, tails, _), found in pool.imap_unordered(cell, cells):
            # With heavy tails, a trial may skip some of its intervals.
            names[trial.__name__] = max(names.get(trial.__name__, []), list(found), key=len)
            for name, actual in found.items():
                table[name][tails, share, papers] = actual
    columns = [(tails, share, papers) for tails in TAILS for share in SHARES for papers in PAPERS]
    print(
        f"{simulations} simulations a cell, two references a paper; share = correlation of the pairs of a paper; coverage in %"
    )
    for row, place in (("tails", 0), ("share", 1), ("papers", 2)):
        print(f"{row:32}" + "".join(f"{str(column[place])[:6]:>7}" for column in columns))
    counts: Counter[str] = Counter()
    for name in (name for trial in trials for name in names[trial.__name__]):
        nominal = float(name[-3:-1]) / 100
        print(f"{name:32}", end="")
        for column in columns:
            if (actual := table[name].get(column)) is None:
                print(f"{'.':>7}", end="")
                continue
            said = verdict(actual, nominal)
            counts[said] += 1
            print(f"{100 * actual:6.1f}{MARKS[said]}", end="")
        print()
    print(f"! SHORT, + wide, else within {100 * MOST:.0f} points: {dict(counts)}; {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()

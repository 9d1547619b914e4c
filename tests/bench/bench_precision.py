"""Measures how far the scores of one evaluation LM in bfloat16 differ from its scores in float32.

    python -m tests.bench.bench_precision EDITION METRIC BFLOAT16_STATE FLOAT32_STATE

The edition has scores by `gem-smollm2-2` in both folders. Pairs that both have are compared. The interval of the mean
difference is by paper.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from gre_bench.core.terminal import counted
from gre_bench.stats.intervals import clustered_test
from gre_bench.store import Store

LM = "gem-smollm2-2"
SCORES = """select candidate_id, paper_id, reference_id, value from pairs join signatures using (signature_id)
            where state = 'scored' and metric = ? and evaluation_lm = ? and dtype = ?"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("edition", "metric", "bfloat16", "float32"):
        parser.add_argument(name)
    asked = parser.parse_args()
    sides = []
    for dtype in ("bfloat16", "float32"):
        with Store(Path(getattr(asked, dtype)), asked.edition).reading() as connection:
            rows = connection.execute(SCORES, [asked.metric, LM, dtype]).fetchall()
        sides.append({tuple(key): value for *key, value in rows})
    keys = sorted(sides[0].keys() & sides[1].keys())
    rough, exact = (np.array([side[key] for key in keys]) for side in sides)
    moved = rough - exact
    test = clustered_test(moved.tolist(), [paper for _, paper, _ in keys], 0.95)
    print(f"{asked.metric}: {counted(len(keys), 'pair')} of {counted(test.units, 'paper')}")
    print(f"mean in float32 {exact.mean():+.2f}, in bfloat16 {rough.mean():+.2f}")
    print(f"mean of bfloat16 - float32 {test.value:+.3f} (95% {test.low:+.3f} to {test.high:+.3f})")
    print(f"of a single pair: standard deviation {moved.std(ddof=1):.2f}, most {abs(moved).max():.2f}")


if __name__ == "__main__":
    main()

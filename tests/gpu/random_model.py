"""Prints, as JSON, how fast the engine scores with a random model, and how it grows with the number of papers.

python -m tests.gpu.random_model SHAPE DEVICE DTYPE CANDIDATES ROUNDS
"""

from __future__ import annotations

import json
import sys
from typing import Any

from gre_bench.checks.bench_scoring import load, time_scoring_methods
from gre_bench.lm.measurement import learnt_tokenizer, random_weights


def main(shape: str, device: Any, dtype: Any, candidates: str, rounds: str) -> None:
    inputs = load(None, None, 1, int(candidates), synopses=3)
    weights = random_weights(shape, learnt_tokenizer(inputs.texts), device=device, dtype=dtype)
    found = time_scoring_methods(
        weights, inputs, rounds=int(rounds), budget=None, growth=True, on_round=lambda done, name: None
    )
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Measures the effect of another writer's wording of the same reviews: GPT-4o's judgments instead of the rule's.

    python -m tests.bench.bench_rewording human_reviews.parquet

Candidates are slot 2 of the papers of rows 0-299, and references are slots 1 and 3. The content stays the same, so the
wording is a harm of the kind *laundering*, whose degrees a rule makes. The change is by paper, with its 95% interval,
and in standard deviations over papers.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import fmean

import numpy as np
import pyarrow.parquet as parquet

from gre_bench.core.records import Case
from gre_bench.core.settings import EvaluationLMSettings
from gre_bench.lm.opening import open_lm
from gre_bench.stats.intervals import paired_test
from gre_bench.stats.pair_tests import smallest_detectable_difference
from gre_bench.writing.rules.judgments import write_rule_judgments
from tests.scripted_lms import scores_of

ROWS = 300
WRITERS = {"rule": write_rule_judgments, "GPT-4o": None}


def texts(file: Path) -> dict[str, dict[str, dict[int, str]]]:
    """Returns writer → paper → slot → judgments, from the rows 0-299 of *file*."""
    rows = [row for row in parquet.read_table(file).to_pylist() if row["row"] < ROWS]
    found: dict[str, dict[str, dict[int, str]]] = {writer: {} for writer in WRITERS}
    for row in rows:
        for writer, by_rule in WRITERS.items():
            text = by_rule(row["review"]) if by_rule else row["judgments"]
            found[writer].setdefault(row["paper_id"], {})[row["slot"]] = text
    papers = [paper for paper in found["rule"] if all(all(some[paper].values()) for some in found.values())]
    return {writer: {paper: some[paper] for paper in papers} for writer, some in found.items()}


def score_changes(file: Path, references: str) -> np.ndarray:
    """Returns the score of GPT-4o's wording minus the score of the rule's by paper. *references*: their writer."""
    lm = open_lm(EvaluationLMSettings())
    found = texts(file)
    differences = []
    for paper, slots in found[references].items():
        cases = [Case(paper, writer, str(slot), "judgments", found[writer][paper][2], slots[slot])
                 for slot in (1, 3) for writer in ("rule", "GPT-4o")]  # fmt: skip
        before, after, *more = (score.value for score in scores_of("gem", lm, cases))
        differences.append(fmean([after - before, more[1] - more[0]]))
    return np.array(differences)


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("file", type=Path)
    given = asked.parse_args()
    print("| references by | papers | change in nats | in sd | papers that tell it |")
    print("| --- | --- | --- | --- | --- |")
    for name in WRITERS:
        values = score_changes(given.file, name)
        test, sd = paired_test(values, level=0.95), float(values.std(ddof=1))
        least = next((n for n in range(3, 5001) if smallest_detectable_difference(sd, n) <= abs(test.value)), None)
        text = (
            f"{test.value:+.2f} ({test.low:+.2f}, {test.high:+.2f}) | {test.value / sd:+.2f} | {least or 'over 5000'}"
        )
        print(f"| {name} | {len(values)} | {text} |".replace("-", "−").replace("GPT−", "GPT-"))

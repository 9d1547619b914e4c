"""Compares how well two evaluation LMs detect harm to reviews, from the scores of their certificates.

    python -m tests.bench.bench_certificate LM OTHER EDITION... --state STATE [--other-state STATE] [--degrees 20 50 100]

Both LMs need a certificate of the same editions (gre-bench study validate --certificate). *Resistance* is the fall of
the score in standard deviations over papers: −mean/sd of each paper's mean over the degrees, by default all ten. The
number of papers needed to detect a harm falls with the square of the resistance. The difference of two LMs has a 95%
interval by resampling papers. A second table has the change of each LM's score at the highest degree, in
nats, and the smallest degrees told on 60, 113 and 300 papers.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gre_bench.core.metrics import find_recipe, sort_metric_names
from gre_bench.core.records import HUMAN
from gre_bench.perturbations.harms import DEGREES, HARMS
from gre_bench.stats.degrees import PAPERS, compute_degree_curve
from gre_bench.stats.samples import Array
from gre_bench.store import ReadersCopyStore
from gre_bench.store.queries import CANDIDATE_PAIRS, PLANNED_SIGNATURES
from gre_bench.studies.certificate import compute_differences_from_baseline

RESAMPLES, SEED = 10_000, 0
FEWEST = 5
"""With fewer papers than this, an interval by resampling papers says nothing."""


def by_paper(
    stores: list[ReadersCopyStore], lm: str, metric: str, harm: str, degrees: Sequence[int]
) -> dict[str, Array]:
    """Returns paper id → its difference at each of *degrees* (percent) of *harm*; a paper needs scores of all."""
    names = [f"human~{harm}-{degree}~judgments" for degree in degrees]
    rows = {name: [] for name in (HUMAN, *names)}
    for store in stores:
        for signature in store.read(PLANNED_SIGNATURES):
            if (signature["evaluation_lm"], signature["metric"]) == (lm, metric):
                pairs = store.read(CANDIDATE_PAIRS, signature_id=signature["signature_id"], candidates=list(rows))
                for row in pairs:
                    rows[row["candidate_id"]].append(row)
    papers = sorted({row["paper_id"] for row in rows[HUMAN] if row["state"] == "scored"})
    differences = {
        paper: compute_differences_from_baseline(
            {name: [row for row in own if row["paper_id"] == paper] for name, own in rows.items()}, names
        )
        for paper in papers
    }
    return {paper: values[0] for paper, values in differences.items() if values.size}


def resistance(values: Array) -> Array:
    """Returns −mean/sd of *values* over their last axis."""
    return -values.mean(axis=-1) / values.std(axis=-1, ddof=1)


def compare_resistance(first: Array, second: Array) -> tuple[float, float, float]:
    """Returns the resistance of *first* minus the resistance of *second* on the same papers, with a 95% interval."""
    drawn = np.random.default_rng(SEED).integers(len(first), size=(RESAMPLES, len(first)))
    low, high = np.quantile(resistance(first[drawn]) - resistance(second[drawn]), [0.025, 0.975])
    return float(resistance(first) - resistance(second)), float(low), float(high)


def tables(judges: dict[str, list[ReadersCopyStore]], degrees: Sequence[int]) -> list[list[list[str]]]:
    """Returns two tables with one row per harm, of the papers that both LMs scored.

    The first has both resistances and their difference with its interval, by metric. The second has each LM's change
    of the score at the highest degree, in nats with half of the 95% interval, and the smallest degrees told, by metric
    and LM. *judges*: each of the two LMs → its stores.
    """
    metrics = sort_metric_names(set.intersection(*(
        {row["metric"] for store in stores for row in store.read(PLANNED_SIGNATURES) if row["evaluation_lm"] == lm}
        for lm, stores in judges.items()
    )))  # fmt: skip
    titles = [find_recipe(metric).title for metric in metrics]
    resistances = [[" less ".join(judges), *titles]]
    changes = [
        [
            f"nats at {degrees[-1]}%; told on {PAPERS} papers",
            *(f"{title}, {lm}" for title in titles for lm in judges),
            "papers by metric",
        ]
    ]
    for harm in HARMS.values():
        resistances.append([harm.said])
        changes.append([harm.said])
        counts: list[str] = []
        for metric in metrics:
            known = [by_paper(stores, lm, metric, harm.name, degrees) for lm, stores in judges.items()]
            papers = sorted(set.intersection(*map(set, known)))
            counts.append(str(len(papers)))
            if len(papers) < FEWEST:
                resistances[-1].append("untried")
                changes[-1] += ["untried"] * 2
                continue
            first, second = (np.array([own[paper] for paper in papers]) for own in known)
            one, other = first.mean(axis=1), second.mean(axis=1)
            difference, low, high = compare_resistance(one, other)
            resistances[-1].append(
                f"{float(resistance(one)):.2f} less {float(resistance(other)):.2f}: {difference:+.2f} "
                f"({low:+.2f}, {high:+.2f})"
            )
            for curve in (compute_degree_curve(values, degrees) for values in (first, second)):
                told = ", ".join(f"{degree}%" if degree else "–" for degree in curve.told.values())
                half_width = (curve.highs[-1] - curve.lows[-1]) / 2
                changes[-1].append(f"{curve.means[-1]:+.1f} ± {half_width:.1f}; {told}")
        changes[-1].append(", ".join(counts))
    return [resistances, changes]


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("lm", "other"):
        asked.add_argument(name)
    asked.add_argument("editions", nargs="+")
    asked.add_argument("--state", type=Path, default=Path("state"))
    asked.add_argument("--other-state", type=Path, help="the state folder of OTHER; default: that of LM")
    asked.add_argument("--degrees", type=int, nargs="+", default=[10 * degree for degree in DEGREES])
    given = asked.parse_args()
    states = {given.lm: given.state, given.other: given.other_state or given.state}
    judges = {lm: [ReadersCopyStore(state, edition) for edition in given.editions] for lm, state in states.items()}
    for table in tables(judges, given.degrees):
        for row in table:
            print(f"| {' | '.join(row)} |".replace("-", "−") if row is not table[0] else f"| {' | '.join(row)} |")
        print()

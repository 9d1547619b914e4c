"""Checks the benchmark's scoring and intervals in simulations whose information is known exactly.

    python -m tests.simulations.known_answers [--simulations 2000] [--papers 300] [--seed 0] [--processes 2]

Prints a table for each question. The exit code is 1 if an answer is wrong. That is: a wrong order or exact value; an
interval by paper or of paired differences that misses its level by more than 2 points; or a test against chance that
misses by more than 1 point.

Trials compare intervals and orders of candidates with the truth (Xu et al. 2025, Prop. 3.1, Prop. B.1). Learning curves
show the bias of evaluation LMs trained on a simulation, by number of training papers. Simulations are independent, so
several processes compute them.
"""

from __future__ import annotations

import math
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from operator import itemgetter
from typing import Any, TypeVar

from gre_bench.cli.views.screen import Console, print_grid, say
from gre_bench.core.errors import GreBenchError
from gre_bench.lm.protocol import EvaluationLM
from gre_bench.tuning.ngram_training import TrainingRecipe, train
from tests.simulations import finite
from tests.simulations.finite import ALPHA, BLUR, LEVEL, METRICS, Trial, random_simulation, run_trial

COUNTED_PAPERS = (10, 30, 100, 300, 1000, 3000, 10_000)
NGRAM_PAPERS = (60, 200, 600)
COUNTED_SIMULATIONS, NGRAM_SIMULATIONS = 40, 3
CHUNK = 20
TOLERANCE = 0.02
"""Allowed difference between an interval's coverage, or a test's power, and the nominal one."""
LEVEL_TOLERANCE = 0.01
"""Allowed difference between a test's level and the nominal one."""

T = TypeVar("T")
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Lesson:
    """One training run of a kind of *lm* on sampled *papers* of the simulation *seed*."""

    lm: str
    papers: int
    seed: int


def lessons(seed: int) -> list[Lesson]:
    """Returns all training runs, the longest first, of simulations with consecutive seeds from *seed* on."""
    slow = [Lesson("cache-ngram", size, seed + n) for size in reversed(NGRAM_PAPERS) for n in range(NGRAM_SIMULATIONS)]
    return [*slow, *(Lesson("counted", size, seed + n) for size in COUNTED_PAPERS for n in range(COUNTED_SIMULATIONS))]


def taught(lesson: Lesson) -> list[Row]:
    """Returns a row per metric with the bias of an LM so trained, in nats, and its parts; or why it *failed*."""
    simulation, fields = random_simulation(lesson.seed), asdict(lesson)
    lm: EvaluationLM
    texts = finite.sample_papers(simulation, lesson.papers, lesson.seed + 500_000)
    try:
        if lesson.lm == "counted":
            lm = finite.counted_lm(texts)
        else:
            # A simulation has about twenty words, and each of them may be a topic.
            lm, _ = train(texts.reviews(), recipe=TrainingRecipe(topics=6, common=1.1))
    except GreBenchError as error:
        return [{**fields, "metric": metric, "failed": str(error)} for metric in METRICS]
    rows = []
    for metric, with_synopsis in METRICS.items():
        measured = finite.bias(simulation, lm, with_synopsis)
        rows.append({**fields, "metric": metric, "bias": measured.bias, **asdict(measured)})
    return rows


def learning_curve(rows: Sequence[Row]) -> list[Row]:
    """Returns one row per metric, kind of LM and number of papers, from the *rows* of `taught`: the bias in nats."""
    curve = []
    for (metric, lm, papers), members in sorted(_groups(rows, "metric", "lm", "papers"), key=itemgetter(0)):
        trained = [row for row in members if "failed" not in row]
        values = [row["bias"] for row in trained]
        parts = ("truth", "bias", "marginal_error", "conditional_error")
        means = [sum(row[part] for row in trained) / len(trained) if trained else None for part in parts]
        curve.append({
            "metric": metric, "lm": lm, "papers": papers, "simulations": len(trained),
            "failed": len(members) - len(trained),
            "reason": next((row["failed"] for row in members if "failed" in row), None), "truth": means[0],
            "mean": means[1], "least": min(values, default=None), "largest": max(values, default=None),
            "marginal_error": means[2], "conditional_error": means[3],
        })  # fmt: skip
    return curve


def known_answers(
    simulations: int = 2000, papers: int = 300, seed: int = 0, processes: int | None = None, learn: bool = True
) -> dict[str, list[Row]]:
    """Runs *simulations* trials of *papers* papers each; returns the rows of each table, by its name.

    *processes*: how many processes compute; None means one per core. The results do not depend on it. *learn*: whether
    to compute learning curves too.
    """
    seeds = range(seed * 1_000_000, seed * 1_000_000 + simulations)
    due = lessons(seeds.start) if learn else []
    trial = partial(run_trial, papers=papers)
    if processes == 1:
        learnt, trials = [*map(taught, due)], [*map(trial, seeds)]
    else:
        with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
            first = pool.map(taught, due)
            trials = [*pool.map(trial, seeds, chunksize=CHUNK)]
            learnt = [*first]
    return {
        "exactness": exactness(trials), "coverage": coverage(trials), "ordering": ordering(trials),
        "chance": against_chance(trials), "bias": learning_curve([row for rows in learnt for row in rows]),
    }  # fmt: skip


def is_right(report: Mapping[str, list[Row]]) -> bool:
    """Returns whether all answers are right; the flat interval may miss its level, as it ignores papers."""
    exact = all(row["holds"] for row in (*report["exactness"], *report["ordering"]))
    chance = all(row["verdict"] != "outside" for row in report["chance"])
    covered = all(row["interval"] == "flat" or row["verdict"] != "outside" for row in report["coverage"])
    return exact and chance and covered


def exactness(trials: Sequence[Trial]) -> list[Row]:
    """Returns a row per metric: the mean true information, and the exact LM's largest error, in nats."""
    truths = {"gem": lambda trial: trial.information, "gem_s_abstract": lambda trial: trial.conditional}
    return [
        {
            "metric": metric,
            "simulations": len(trials),
            "mean_information": math.fsum(map(truth, trials)) / len(trials),
            "largest_error": max(trial.errors[metric] for trial in trials),
            "holds": all(trial.errors[metric] <= BLUR for trial in trials),
        }
        for metric, truth in truths.items()
    ]


def coverage(trials: Iterable[Trial]) -> list[Row]:
    """Returns one row per metric, quantity and kind of interval: how often the interval contains the true value.

    *verdict*: ``inside`` within 2 percentage points of the nominal level, ``outside`` if it is further off by more than
    two standard errors, else ``unsure``.
    """
    rows = []
    intervals = (interval for trial in trials for interval in trial.covered)
    for (metric, quantity, kind), members in _groups(intervals, "metric", "quantity", "interval"):
        share = sum(member.holds for member in members) / len(members)
        error = math.sqrt(LEVEL * (1 - LEVEL) / len(members))
        rows.append({
            "metric": metric, "quantity": quantity, "interval": kind, "simulations": len(members), "nominal": LEVEL,
            "covered": share, "standard_error": error, "verdict": _verdict(abs(share - LEVEL), TOLERANCE, error),
            "mean_width": math.fsum(member.high - member.low for member in members) / len(members),
        })  # fmt: skip
    return rows


def against_chance(trials: Iterable[Trial]) -> list[Row]:
    """Returns one row per metric and candidate: the share of simulations in which the test rejects chance at 5%.

    *expected*: 5% for a candidate who knows nothing, otherwise the mean predicted power. *verdict*: as in `coverage`;
    the share may differ by 1 percentage point from the 5%, or by 2 from the power.
    """
    rows = []
    for (metric, candidate), tests in _groups(
        (test for trial in trials for test in trial.chance), "metric", "candidate"
    ):
        share = sum(test.p < ALPHA for test in tests) / len(tests)
        expected = math.fsum(test.power for test in tests) / len(tests)
        error = math.sqrt(expected * (1 - expected) / len(tests))
        allowed = TOLERANCE if candidate == "knows something" else LEVEL_TOLERANCE
        rows.append({
            "metric": metric, "candidate": candidate, "simulations": len(tests), "rejected": share,
            "expected": expected, "standard_error": error, "verdict": _verdict(abs(share - expected), allowed, error),
            "mean_effect": math.fsum(test.effect for test in tests) / len(tests),
        })  # fmt: skip
    return rows


def _groups(items: Iterable[T], *names: str) -> list[tuple[tuple[Any, ...], list[T]]]:
    """Returns the *items* that have the same values of the fields *names*, in order of first appearance."""
    groups: dict[tuple[Any, ...], list[T]] = {}
    for item in items:
        fields = item if isinstance(item, dict) else {name: getattr(item, name) for name in names}
        groups.setdefault(tuple(fields[name] for name in names), []).append(item)
    return list(groups.items())


def _verdict(away: float, allowed: float, error: float) -> str:
    return "inside" if away <= allowed else "outside" if away > allowed + 2 * error else "unsure"


def ordering(trials: Iterable[Trial]) -> list[Row]:
    """Returns one row per metric and LM: how often a garbled candidate scores higher than the original candidate.

    *beyond_allowed*: by more than Prop. 3.1 of Xu et al. 2025 allows: 0 for the exact LM, otherwise max KL(truth ‖ LM).
    *beyond_printed*: by more than max KL(LM ‖ truth), which the proposition prints.
    """
    return [
        {
            "metric": metric,
            "lm": lm,
            "simulations": len(orders),
            "garbled_higher": sum(order.excess > BLUR for order in orders),
            "largest_excess": max(order.excess for order in orders),
            "mean_epsilon": math.fsum(order.allowed for order in orders) / len(orders),
            "beyond_allowed": sum(not order.holds for order in orders),
            "beyond_printed": sum(order.excess > order.printed_epsilon + BLUR for order in orders),
            "holds": all(order.holds for order in orders),
        }
        for (metric, lm), orders in _groups((order for trial in trials for order in trial.ordered), "metric", "lm")
    ]


TITLES = {
    "exactness": "Exact evaluation LM: the expected score is the information, in nats",
    "coverage": "Coverage: how often an interval contains the truth",
    "ordering": "Order: simulations in which a garbled candidate is expected to score higher",
    "chance": "Chance: how often a candidate is called above or below it at 5%",
    "bias": "Trained LMs: expected score − information = marginal error − conditional error, in nats",
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(description="Check scoring where the exact mutual information is known.")
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--papers", type=int, default=300, help="papers of each simulation")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, help="default: as many as cores")
    report = known_answers(**vars(parser.parse_args(arguments)))
    for name, rows in report.items():
        lines = [[f"{value:.4g}" if isinstance(value, float) else str(value) for value in row.values()] for row in rows]
        if rows:
            say(f"\n{TITLES[name]}", style="bold")
            print_grid(tuple(rows[0]), lines, to=Console(width=160))
    sys.exit(0 if is_right(report) else 1)


if __name__ == "__main__":
    main()

"""Computes learning curves: the bias of evaluation LMs trained on a simulation, by number of training papers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gre_bench.core.errors import GreBenchError
from gre_bench.lm.protocol import EvaluationLM
from gre_bench.studies.simulations.bias import bias
from gre_bench.studies.simulations.counted_lm import counted_lm
from gre_bench.studies.simulations.papers import sample_papers
from gre_bench.studies.simulations.simulation import random_simulation
from gre_bench.studies.simulations.trial import METRICS

COUNTED_PAPERS = (10, 30, 100, 300, 1000, 3000, 10_000)
NGRAM_PAPERS = (60, 200, 600)
COUNTED_SIMULATIONS, NGRAM_SIMULATIONS = 40, 3


@dataclass(frozen=True, slots=True)
class Lesson:
    """One training run of an LM on sampled papers of a simulation.

    *lm*: the kind of LM. *papers*: the number of training papers. *seed*: the seed of the simulation.
    """

    lm: str
    papers: int
    seed: int


def lessons(seed: int) -> list[Lesson]:
    """Returns all training runs, the longest first.

    The simulations of the runs have consecutive seeds, from *seed* on.
    """
    slow = [Lesson("cache-ngram", size, seed + n) for size in reversed(NGRAM_PAPERS) for n in range(NGRAM_SIMULATIONS)]
    return [*slow, *(Lesson("counted", size, seed + n) for size in COUNTED_PAPERS for n in range(COUNTED_SIMULATIONS))]


def taught(lesson: Lesson) -> list[dict[str, Any]]:
    """Trains an LM as *lesson* says; returns one row per metric with the LM's bias in nats.

    A row also has the two parts of the bias. If training fails, each row has the reason under *failed* instead.
    """
    simulation = random_simulation(lesson.seed)
    fields = {"lm": lesson.lm, "papers": lesson.papers, "seed": lesson.seed}
    texts = sample_papers(simulation, lesson.papers, lesson.seed + 500_000)
    try:
        lm = counted_lm(texts) if lesson.lm == "counted" else _cache_ngram(texts.reviews())
    except GreBenchError as error:
        return [{**fields, "metric": metric, "failed": str(error)} for metric in METRICS]
    rows = []
    for metric, with_synopsis in METRICS.items():
        measured = bias(simulation, lm, with_synopsis)
        errors = {"marginal_error": measured.marginal_error, "conditional_error": measured.conditional_error}
        rows.append({**fields, "metric": metric, "truth": measured.truth, "bias": measured.bias, **errors})
    return rows


def learning_curve(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns one row per metric, kind of LM and number of papers, from the *rows* of `taught`, in nats.

    A row has the mean, the least and the largest bias over simulations. It also has the means of the bias's two parts,
    and how many training runs failed.
    """
    groups: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["metric"], row["lm"], row["papers"]), []).append(row)
    curve = []
    for (metric, lm, papers), members in sorted(groups.items()):
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


def _cache_ngram(reviews: list[list[str]]) -> EvaluationLM:
    from gre_bench.tuning.cache_ngram import Recipe, train

    # A simulation has about twenty words, and each of them may be a topic.
    model, _ = train(reviews, recipe=Recipe(topics=6, common=1.1))
    return model

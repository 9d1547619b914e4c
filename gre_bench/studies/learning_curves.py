"""Learning curves: how far evaluation LMs taught in a known world are from its information, by papers learnt from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gre_bench.core.errors import GreBenchError
from gre_bench.lm.protocol import EvaluationLM
from gre_bench.studies.simulations.bias import bias
from gre_bench.studies.simulations.counted_lm import counted_lm
from gre_bench.studies.simulations.papers import draw_papers
from gre_bench.studies.simulations.trial import METRICS
from gre_bench.studies.simulations.world import draw_world

COUNTED_PAPERS = (10, 30, 100, 300, 1000, 3000, 10_000)
NGRAM_PAPERS = (60, 200, 600)
COUNTED_WORLDS, NGRAM_WORLDS = 40, 3


@dataclass(frozen=True, slots=True)
class Lesson:
    """A kind of LM to be taught on that many papers of the world of *seed*."""

    lm: str
    papers: int
    seed: int


def lessons(seed: int) -> list[Lesson]:
    """What is to be taught in the worlds from *seed* on, the longest first."""
    slow = [Lesson("cache-ngram", size, seed + n) for size in reversed(NGRAM_PAPERS) for n in range(NGRAM_WORLDS)]
    return [*slow, *(Lesson("counted", size, seed + n) for size in COUNTED_PAPERS for n in range(COUNTED_WORLDS))]


def taught(lesson: Lesson) -> list[dict[str, Any]]:
    """The bias of each metric by an LM taught as the *lesson* says; a row with a reason where it cannot be taught."""
    world = draw_world(lesson.seed)
    given = {"lm": lesson.lm, "papers": lesson.papers, "seed": lesson.seed}
    texts = draw_papers(world, lesson.papers, lesson.seed + 500_000)
    try:
        lm = counted_lm(texts) if lesson.lm == "counted" else _cache_ngram(texts.reviews())
    except GreBenchError as error:
        return [{**given, "metric": metric, "failed": str(error)} for metric in METRICS]
    rows = []
    for metric, with_synopsis in METRICS.items():
        found = bias(world, lm, with_synopsis)
        errors = {"marginal_error": found.marginal_error, "conditional_error": found.conditional_error}
        rows.append({**given, "metric": metric, "truth": found.truth, "bias": found.bias, **errors})
    return rows


def learning_curve(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """By metric, LM and number of papers: mean, least and largest bias over worlds, and its two parts."""
    groups: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["metric"], row["lm"], row["papers"]), []).append(row)
    curve = []
    for (metric, lm, papers), found in sorted(groups.items()):
        known = [row for row in found if "failed" not in row]
        values = [row["bias"] for row in known]
        parts = ("truth", "bias", "marginal_error", "conditional_error")
        means = [sum(row[part] for row in known) / len(known) if known else None for part in parts]
        curve.append({
            "metric": metric, "lm": lm, "papers": papers, "worlds": len(known), "failed": len(found) - len(known),
            "reason": next((row["failed"] for row in found if "failed" in row), None), "truth": means[0],
            "mean": means[1], "least": min(values, default=None), "largest": max(values, default=None),
            "marginal_error": means[2], "conditional_error": means[3],
        })  # fmt: skip
    return curve


def _cache_ngram(reviews: list[list[str]]) -> EvaluationLM:
    from gre_bench.tuning.cache_ngram import Recipe, train

    # A world has a score of words: every one of them may be a topic.
    model, _ = train(reviews, recipe=Recipe(topics=6, common=1.1))
    return model

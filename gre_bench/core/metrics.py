"""Every metric by name: the texts it reads, its synopsis, and the code that computes it (Xu et al. 2025, §3.2, §4,
D.1).

A metric that compares words has a module in `gre_bench.metrics` and one line here, which names its `Measure`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from gre_bench.core.records import Source, SynopsisKind

Asks = Literal["evaluation_lm", "embedder", "writer", "nothing"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """A metric: *source* is the form of reviews it reads, *formula* turns log-probabilities into a score.

    *asks* is the kind of model that computes it. A metric with *needs_reference* is computed once for each pair, the
    others once for each response. The formula ``specific`` compares a response with the candidate's response to another
    paper. *measure* locates the `gre_bench.metrics.overlap.Measure` of a metric without an LM: ``module:name``, a
    module of `gre_bench.metrics`.
    """

    name: str
    title: str
    source: Source
    synopsis: SynopsisKind = "none"
    asks: Asks = "evaluation_lm"
    formula: Literal["pmi", "specific", "recall", "precision", "f1"] | None = None
    needs_reference: bool = True
    unit: str = "nats"
    measure: str | None = None


SPECIFIC = "_specific"
"""Suffix of the name of a metric that is the excess of another one over chance."""


def _with_specific(recipe: Recipe) -> tuple[Recipe, ...]:
    """Returns *recipe* and, for a metric by PMI, its specific form: the excess of the metric over chance."""
    if recipe.formula != "pmi":
        return (recipe,)
    title = f"{recipe.title}, specific"
    return recipe, replace(recipe, name=recipe.name + SPECIFIC, title=title, formula="specific")


METRICS = {
    recipe.name: recipe
    for given in (
        Recipe("gem", "GEM", "judgments", formula="pmi"),
        Recipe("gem_s_abstract", "GEM-S (abstract)", "judgments", "abstract", formula="pmi"),
        Recipe("gem_s_assw", "GEM-S (ASSW)", "judgments", "assw", formula="pmi"),
        Recipe("gem_s_categories", "GEM-S (categories)", "judgments", "categories", formula="pmi"),
        Recipe("gem_raw", "GEM-raw", "review", formula="pmi"),
        Recipe("bleu", "BLEU", "review", asks="nothing", unit="share", measure="overlap:BLEU"),
        Recipe("rouge_l", "ROUGE-L", "review", asks="nothing", unit="share", measure="overlap:ROUGE_L"),
        Recipe("bertscore", "BERTScore", "review", asks="embedder", unit="cosine"),
        Recipe("bertscore_tokens", "BERTScore (tokens)", "review", asks="embedder", unit="cosine"),
        Recipe("bartscore_f1", "BARTScore-F1", "review", formula="f1"),
        Recipe("bartscore_precision", "BARTScore-precision", "review", formula="precision"),
        Recipe("bartscore_recall", "BARTScore-recall", "review", formula="recall"),
        Recipe("lm_examiner", "LMExaminer", "review", "paper", "writer", needs_reference=False, unit="points"),
        Recipe(
            "length",
            "Length",
            "review",
            asks="nothing",
            needs_reference=False,
            unit="words",
            measure="overlap:LENGTH",
        ),
        Recipe(
            "judgments_length",
            "Length of judgments",
            "judgments",
            asks="nothing",
            needs_reference=False,
            unit="words",
            measure="overlap:LENGTH",
        ),
    )
    for recipe in _with_specific(given)
}


EXAMINER = "examiner."
"""Prefix of the name of a metric that is an examiner of the settings."""


def recipe_of(name: str) -> Recipe:
    """Returns the metric *name*; raises `KeyError` for an unknown one.

    ``examiner.NAME`` is the examiner NAME of the settings, which reads paper and review. It is not checked here.
    """
    if name.startswith(EXAMINER):
        title = f"Examiner {name.removeprefix(EXAMINER)}"
        return Recipe(name, title, "review", "paper", "writer", needs_reference=False, unit="points")
    return METRICS[name]


def in_order(names: Iterable[str]) -> list[str]:
    """Returns the distinct *names* in the order of tables: the metrics of the catalogue, then examiners by name."""
    order = {name: index for index, name in enumerate(METRICS)}
    return sorted(set(names), key=lambda name: (order.get(name, len(order)), name))

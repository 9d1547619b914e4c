"""The catalogue of all metrics, by name (Xu et al. 2025, §3.2, §4, D.1).

Each entry states which texts a metric reads and how the metric is computed. If no model is needed, the entry also names
a `Measure`, which computes the score from words. Installed packages add metrics as entry points of the group
``gre_bench.metrics``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from gre_bench.core.errors import SettingsError
from gre_bench.core.extensions import Catalogue
from gre_bench.core.records import Source, SynopsisKind

Asks = Literal["evaluation_lm", "embedder", "writer", "nothing"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """The catalogue's entry of one metric.

    *title*: the metric's name on pages.
    *source*: whether the metric reads reviews as written, or judgments.
    *synopsis*: the text about the paper that the metric reads. ``beyond``: the judgments of the reviewers that the
    setting ``scoring.beyond`` names. They have a prompt of their own.
    *asks*: the kind of model that computes the metric; ``nothing``: no model.
    *formula*: how the score is computed from log-probabilities; None for a metric that uses none. ``specific``
    subtracts the score of the candidate's review of another paper.
    *needs_reference*: whether a candidate's review gets one score per reference; if False, it gets one score.
    *measure*: ``module:name`` of a `gre_bench.metrics.overlap.Measure`, if the metric needs no model.
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


ALPHA = 0.05
"""The significance level of a board's tests."""
SPECIFIC = "_specific"
"""Suffix of the name of a metric's specific form: the score minus that of the candidate's review of another paper."""


def _derive_specific_form(recipe: Recipe) -> Iterator[tuple[str, Recipe]]:
    if recipe.formula == "pmi":
        name, title = recipe.name + SPECIFIC, f"{recipe.title}, specific"
        yield name, replace(recipe, name=name, title=title, formula="specific")


_WORDS = "gre_bench.metrics.overlap"
_LENGTH = Recipe("length", "Length", "review", "none", "nothing", None, False, "words", f"{_WORDS}:LENGTH")
_OWN = (
    Recipe("gem", "GEM", "judgments", formula="pmi"),
    Recipe("gem_s_abstract", "GEM-S (abstract)", "judgments", "abstract", formula="pmi"),
    Recipe("gem_s_assw", "GEM-S (ASSW)", "judgments", "assw", formula="pmi"),
    Recipe("gem_s_categories", "GEM-S (categories)", "judgments", "categories", formula="pmi"),
    Recipe("gem_s_beyond", "GEM-S (beyond another review)", "judgments", "beyond", formula="pmi"),
    Recipe("gem_raw", "GEM-raw", "review", formula="pmi"),
    Recipe("bleu", "BLEU", "review", asks="nothing", unit="share", measure=f"{_WORDS}:BLEU"),
    Recipe("rouge_l", "ROUGE-L", "review", asks="nothing", unit="share", measure=f"{_WORDS}:ROUGE_L"),
    Recipe("bertscore", "BERTScore", "review", asks="embedder", unit="cosine"),
    Recipe("bertscore_tokens", "BERTScore (tokens)", "review", asks="embedder", unit="cosine"),
    Recipe("bartscore_f1", "BARTScore-F1", "review", formula="f1"),
    Recipe("bartscore_precision", "BARTScore-precision", "review", formula="precision"),
    Recipe("bartscore_recall", "BARTScore-recall", "review", formula="recall"),
    Recipe("lm_examiner", "LMExaminer", "review", "paper", "writer", needs_reference=False, unit="points"),
    _LENGTH,
    replace(_LENGTH, name="judgments_length", title="Length of judgments", source="judgments"),
)
METRICS = Catalogue(
    "gre_bench.metrics",
    {recipe.name: recipe for recipe in _OWN},
    lambda name, entry: isinstance(entry, Recipe) and entry.name == name,
    _derive_specific_form,
)


EXAMINER = "examiner."
"""Prefix of the name of a metric that one of the settings' examiners computes."""


def is_metric_name(name: str) -> bool:
    """Whether *name* is in the catalogue or has the form ``examiner.NAME``.

    False for a metric of a package that is not installed.
    """
    return name.startswith(EXAMINER) or name in METRICS


def find_recipe(name: str) -> Recipe:
    """Returns the catalogue's entry of the metric *name*; raises `SettingsError` for an unknown name.

    For ``examiner.NAME``, does not check that the examiner NAME exists.
    """
    if name.startswith(EXAMINER):
        title = f"Examiner {name.removeprefix(EXAMINER)}"
        return Recipe(name, title, "review", "paper", "writer", needs_reference=False, unit="points")
    if name not in METRICS:
        raise SettingsError(f"no metric {name}; if it is another package's, install that package again")
    return METRICS[name]


def sort_metric_names(names: Iterable[str]) -> list[str]:
    """Returns the distinct metric *names*, as tables list them: in the order of `METRICS`, then all others by name."""
    order = {name: index for index, name in enumerate(METRICS)}
    return sorted(set(names), key=lambda name: (order.get(name, len(order)), name))


def find_specific_form_signature_id(
    signature: Mapping[str, Any], signatures: Sequence[Mapping[str, Any]]
) -> str | None:
    """Returns the id of the signature of the specific form of a metric; None if *signatures* has no such signature.

    *signature*: the metric's own signature. The signature of its specific form differs from it only in *metric* (see
    `SPECIFIC`) and *chance*.
    """
    rest = signature.keys() - {"metric", "chance", "signature_id"}
    for row in signatures:
        if row["metric"] == signature["metric"] + SPECIFIC and all(row.get(key) == signature[key] for key in rest):
            return row["signature_id"]
    return None

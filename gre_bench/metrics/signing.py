"""Makes the signature of a metric's scores: everything that the scores depend on except the texts."""

from __future__ import annotations

from gre_bench.core.metrics import Recipe
from gre_bench.core.records import LMIdentity, Signature
from gre_bench.core.settings import ScoringSettings
from gre_bench.metrics.logprobs import RAW_CUT
from gre_bench.prompts.library import load

NOTHING = LMIdentity("none", "none", "none", dtype="none")
"""The identity in signatures of metrics that use no LM and no embedder."""

MOVES = "moved-1"
"""The rule by which `gre_bench.metrics.chance` moves reviews to other papers."""

_SYNOPSIS_WRITERS = {
    "none": "none",
    "categories": "the item's own categories",
    "paper": "the paper's own text",
}


def signature(
    recipe: Recipe,
    scorer: LMIdentity,
    settings: ScoringSettings,
    writer: str,
    assw_writer: str | None = None,
) -> Signature:
    """Returns the signature of the scores of the metric *recipe*.

    - *scorer*: the identity of the evaluation LM, embedder, examiner or rule that computes the scores.
    - *writer*: the writer of the judgments.
    - *assw_writer*: the writer of the ASSW synopses; None if there are none.
    """
    reads_judgments = recipe.source == "judgments"
    by_logprobs = recipe.formula is not None
    return Signature(
        metric=recipe.name,
        prompt_sha256=load(settings.prompt).sha256 if by_logprobs else "none",
        evaluation_lm=scorer.name,
        lm_digest=scorer.digest,
        dtype=scorer.dtype,
        quantisation=scorer.quantisation,
        attention=scorer.attention,
        template_digest=scorer.template_digest,
        writer=signed_writer(recipe, writer),
        synopsis_writer=_synopsis(recipe, settings, assw_writer),
        form=settings.form if reads_judgments else "original",
        text_cut=_cut(settings) if by_logprobs and not reads_judgments else "none",
        ascii_fold=settings.ascii_fold,
        engine_version=scorer.engine_version,
        chance=f"{MOVES}, seed {settings.chance_seed}" if recipe.formula == "specific" else "none",
    )


def signed_writer(recipe: Recipe, writer: str) -> str:
    """Returns the name of the writer whose judgments *recipe* reads, for use in signatures.

    For a metric that reads original reviews, returns a fixed text that says so.
    """
    return writer if recipe.source == "judgments" else "none (original reviews)"


def _synopsis(recipe: Recipe, settings: ScoringSettings, assw_writer: str | None) -> str:
    if recipe.synopsis == "abstract":
        return f"the paper's own {' and '.join(settings.synopsis_of)}"
    return _SYNOPSIS_WRITERS.get(recipe.synopsis) or assw_writer or "none"


def _cut(settings: ScoringSettings) -> str:
    return f"{RAW_CUT} characters {'in the conditional only' if settings.authors_compat else 'in both terms'}"

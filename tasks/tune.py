"""Tasks that train and fine-tune evaluation LMs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gre_bench.tasks.policy import make_step

if TYPE_CHECKING:
    from gre_bench.tuning.ngram_training import HeldOutResults
    from gre_bench.tuning.pairs import JudgedPaper, Metric
    from gre_bench.tuning.tuning_settings import TuningSettings


@make_step("train cache-ngram", None, 6, "training")
def train_cache_ngram(
    papers: Sequence[Sequence[str]], kept: Sequence[Sequence[str]] | None, folder: Path,
    writers: tuple[Sequence[str], Sequence[str]],
) -> HeldOutResults:  # fmt: skip
    """Trains `cache-ngram` and saves it in *folder*; returns its scores on the held-out papers.

    A paper is a list of its judgments. The weights are chosen on *kept*, the held-out papers; if it is None, on every
    sixth of *papers*. *writers*: a pair of lists, with the writer of the judgments for each of *papers*, and for each
    of *kept*.
    """
    from gre_bench.tuning.ngram_training import save, train

    model, figures = train(papers, kept, writers=writers[0], validation_writers=writers[1] if kept else None)
    save(model, folder)
    return figures


@make_step("fine-tune evaluation LM", None, 48, "training", "evaluation-lm")
def fine_tune_lm(
    base: Path, papers: Sequence[JudgedPaper], kept: Sequence[JudgedPaper], metrics: Sequence[Metric],
    settings: TuningSettings, folder: Path, data: Mapping[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """Fine-tunes the evaluation LM in the folder *base* (Xu et al. 2025, appendix E); returns its training record.

    *kept*: the held-out papers. *data*: digests of the input files and the used rows, for the record.
    """
    from gre_bench.tuning.fine_tuning import fine_tune

    return fine_tune(base, papers, kept, metrics, settings, folder, data)

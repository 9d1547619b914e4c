"""Computes the baselines of the examiners' table: length, ROUGE-L and BERTScore of a text against its source."""

from __future__ import annotations

import time
from collections.abc import Sequence

from gre_bench.core.metrics import METRICS
from gre_bench.core.records import Case
from gre_bench.core.settings import EmbedderSettings
from gre_bench.examiners.grading import Grade
from gre_bench.examiners.results.column import Column
from gre_bench.examiners.wordings import Item
from gre_bench.metrics.overlap import Overlap, measure_of
from gre_bench.metrics.scoring import Metric
from gre_bench.studies.examiners.settings import Baseline


def baseline(name: Baseline, items: Sequence[Item], embedder: EmbedderSettings) -> Column:
    """Returns the grades that the metric *name* gives to *items*, as one column; each text is compared with its source.

    *embedder*: the settings of the embedder that BERTScore uses.
    """
    started = time.monotonic()
    cases = [Case(item.item_id, "text", "source", "review", item.text, item.source) for item in items]
    scores = _metric(name, embedder).score(cases)
    grades = tuple(Grade(item.item_id, score.value, score.problem) for item, score in zip(items, scores, strict=True))
    different = len({grade.value for grade in grades if grade.value is not None})
    by = embedder.backend if name == "bertscore" else ""
    return Column(
        name, by, "baseline", grades, before=different, after=different, seconds=time.monotonic() - started, usd=0.0
    )


def _metric(name: Baseline, embedder: EmbedderSettings) -> Metric:
    if name != "bertscore":
        return Overlap(measure_of(METRICS[name]), name)
    from gre_bench.lm.embedders import open_embedder
    from gre_bench.metrics.bertscore import BertScore

    return BertScore(open_embedder(embedder), name)

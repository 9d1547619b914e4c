"""Metrics that ask no LM, in the table of the examiners: length, ROUGE-L and BERTScore of a text against its source."""

from __future__ import annotations

import time
from collections.abc import Sequence

from flows.examiners.settings import Baseline
from tasks.examiners.column import Column
from tasks.examiners.grading import Grade
from tasks.examiners.wordings import Item
from tasks.metrics.overlap import OVERLAPS, Overlap
from tasks.metrics.scoring import Metric
from tasks.records import Case
from tasks.settings import EmbedderSettings


def baseline(name: Baseline, items: Sequence[Item], embedder: EmbedderSettings) -> Column:
    """The column of the metric *name* over *items*; the source stands in the place of the reference."""
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
        return Overlap(OVERLAPS[name], name)
    from tasks.lm.embedder import open_embedder
    from tasks.metrics.bertscore import BertScore

    return BertScore(open_embedder(embedder), name)

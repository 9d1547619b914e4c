"""Estimates the requests and the cost of an examiner study, and which budget limits the study may exceed.

Nothing is sent. Chats in which an LM writes an examiner's instructions are not counted. The examiner's own chats are
estimated with placeholder instructions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gre_bench.examiners.examiner import Examiner
from gre_bench.examiners.grading import samplings
from gre_bench.examiners.panel import pairwise
from gre_bench.examiners.wordings import Item, chats, filter_chat
from gre_bench.pipeline.runs.studies import over_budget, quoted
from gre_bench.studies.examiners.grid import grid
from gre_bench.studies.examiners.job import ExaminerJob, needs_model, prepared
from gre_bench.studies.examiners.pairs import pairs_of
from gre_bench.writing.catalog import WriterContext, open_examiner, open_logprobs

if TYPE_CHECKING:
    from gre_bench.pipeline.runs.studies import Asking


def estimate(job: ExaminerJob) -> dict[str, Any]:
    """Returns the numbers of texts and examiners, and one row per LM with its requests, tokens and cost.

    The rows are those of `quoted`. Retries are not counted. A chat that several examiners share is counted once for
    each examiner. Raises `SettingsError` or `SourceError` if the study cannot be run.
    """
    material, _ = prepared(job)
    items, writer_context = material.items, job.writer_context
    chosen = grid(job.settings, material.kind, dict.fromkeys(job.settings.generated, "Not yet written."))
    examiners = [examiner for examiner in chosen.examiners.values() if needs_model(job.settings, examiner)]
    pairs = pairs_of(material.texts, job.settings.pairwise) if job.settings.pairwise else []
    rows = []
    for name in job.settings.models:
        asking = [part for examiner in examiners for part in _asking(examiner, items, name, writer_context)]
        preferring = pairwise.chats(pairs, material.kind)
        asking.append((open_examiner(name, writer_context).writer, preferring, pairwise.SAMPLING))
        rows.append(quoted(name, asking))
    return {
        "study": job.name, "texts": len(material.texts), "excluded": len(material.lacks),
        "examiners": len(chosen.examiners), "models": rows, "over_budget": over_budget(writer_context, rows),
    }  # fmt: skip


def _asking(examiner: Examiner, items: list[Item], name: str, writer_context: WriterContext) -> list[Asking]:
    """Returns the chats about *items* that *examiner* sends to the LM *name*.

    The result has one entry (writer, chats, sampling) for each way in which replies are sampled. If the examiner has a
    filter, the filter's chats are one more entry.
    """
    plain = open_examiner(name, writer_context)
    writer = open_logprobs(name, writer_context) if examiner.aggregation == "logprob" else plain.writer
    item_chats = [chat for item in items for chat in chats(examiner, item)]
    asking: list[Asking] = [(writer, item_chats, sampling) for sampling in samplings(examiner, plain.sampling)]
    if examiner.filtering:
        once = examiner.model_copy(update={"aggregation": "direct", "samples": None, "mass": None})
        [sampling] = samplings(once, plain.sampling)
        asking.append((plain.writer, [filter_chat(examiner, item) for item in items], sampling))
    return asking

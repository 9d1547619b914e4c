"""What the steps of a run work with: the writers' writer context, and what the metrics ask."""

from __future__ import annotations

from gre_bench.pipeline.runs.job import Job
from gre_bench.store import Store
from gre_bench.tasks.protocol import Backends
from gre_bench.writing.catalog import WriterContext


def writer_context(store: Store, job: Job) -> WriterContext:
    """Where writers find the models file and the reply archive, which all editions of a state share, and who pays."""
    replies = store.folder.parent.parent / "replies"
    asked = job.settings
    return WriterContext(replies, asked.writing.models, job.retry_failed, asked.edition.domain, store.key, asked.budget,
                asked.writing.sampling, asked.writing.over_long)  # fmt: skip


def backends(store: Store, job: Job) -> Backends:
    """The evaluation LM, the embedder and the examiner's writer context of a run."""
    return Backends(job.settings.evaluation_lm, job.settings.embedder, writer_context(store, job))

"""Makes two arguments that the steps of a run receive: the context of the writers and the backends of the metrics."""

from __future__ import annotations

from gre_bench.pipeline.runs.job import Job
from gre_bench.store import Store
from gre_bench.tasks.protocol import Backends
from gre_bench.writing.catalog import WriterContext


def writer_context(store: Store, job: Job) -> WriterContext:
    """Returns what a text writer needs for *job*: models file, reply archive, account, budget and sampling.

    All editions of a state folder share its reply archive. The account that pays for requests has the name of the
    edition.
    """
    replies = store.folder.parent.parent / "replies"
    settings = job.settings
    edition, writing = settings.edition, settings.writing
    return WriterContext(replies, writing.models, job.retry_failed, edition.domain, store.key, settings.budget,
                writing.sampling, writing.over_long)  # fmt: skip


def backends(store: Store, job: Job) -> Backends:
    """Returns the settings of *job* for the evaluation LM and for the embedder, and the context of LMs that grade."""
    return Backends(job.settings.evaluation_lm, job.settings.embedder, writer_context(store, job))

"""What the steps of a run work with: the writers' desk, and what the metrics ask."""

from __future__ import annotations

from gre_bench.pipeline.runs.job import Job
from gre_bench.store import Store
from gre_bench.tasks.protocol import Instruments
from gre_bench.writing.catalog import Desk


def desk(store: Store, job: Job) -> Desk:
    """Where writers find the models file and the reply archive, which all editions of a state share, and who pays."""
    replies = store.folder.parent.parent / "replies"
    asked = job.settings
    return Desk(replies, asked.writing.models, job.retry_failed, asked.edition.domain, store.key, asked.budget,
                asked.writing.sampling, asked.writing.over_long)  # fmt: skip


def instruments(store: Store, job: Job) -> Instruments:
    """The evaluation LM, the embedder and the examiner's desk of a run."""
    return Instruments(job.settings.evaluation_lm, job.settings.embedder, desk(store, job))

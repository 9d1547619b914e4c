"""The settings of what metrics score texts with, and the type of the step that computes signatures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gre_bench.core.records import LMIdentity, Signature
from gre_bench.core.settings import EmbedderSettings, EvaluationLMSettings
from gre_bench.writing.writers import WriterContext


@dataclass(frozen=True, slots=True)
class Backends:
    """The settings of what metrics score texts with: the evaluation LM, the embedder, and LMs that grade.

    A step opens each of these when it first needs it.
    """

    evaluation_lm: EvaluationLMSettings
    embedder: EmbedderSettings
    writer_context: WriterContext


SignMetrics = Callable[..., tuple[LMIdentity, dict[str, Signature]]]
"""The type of the step ``sign_metrics``, which runs in this process or in a worker with its own evaluation LM."""

"""The settings of the backends that metrics use, and the type of the step that computes signatures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gre_bench.core.records import LMIdentity, Signature
from gre_bench.core.settings import EmbedderSettings, EvaluationLMSettings
from gre_bench.writing.writers import WriterContext


@dataclass(frozen=True, slots=True)
class Backends:
    """The settings of all backends of metrics; a backend is opened when a step first needs it."""

    evaluation_lm: EvaluationLMSettings
    embedder: EmbedderSettings
    writer_context: WriterContext


SignMetrics = Callable[..., tuple[LMIdentity, dict[str, Signature]]]
"""The step ``sign_metrics``, run in this process or by a worker that has its own evaluation LM."""

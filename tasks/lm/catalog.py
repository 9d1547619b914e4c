"""Evaluation LMs by name: how each is opened from its settings. Adding one is one line here."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from tasks.errors import SettingsError
from tasks.lm.protocol import EvaluationLM
from tasks.settings import EvaluationLMSettings, checkout


def _cache_ngram(settings: EvaluationLMSettings) -> EvaluationLM:
    from tasks.lm.cache_ngram import CacheNgram

    return CacheNgram.load(settings.folder or checkout() / "data" / "evaluation_lm" / "cache-ngram")


def _transformers(settings: EvaluationLMSettings) -> EvaluationLM:
    from tasks.lm.transformers_lm import TransformersLM

    if settings.folder is None:
        raise SettingsError("the transformers backend needs a model folder: --set evaluation_lm.folder=FOLDER")
    return TransformersLM.open(
        settings.folder, device=settings.device, dtype=settings.dtype, attention=settings.attention,
        max_tokens=settings.max_tokens,
    )


BACKENDS: dict[str, Callable[[EvaluationLMSettings], EvaluationLM]] = {
    "cache-ngram": _cache_ngram,
    "transformers": _transformers,
}


@lru_cache(maxsize=1)
def open_lm(settings: EvaluationLMSettings) -> EvaluationLM:
    """The evaluation LM of *settings*, kept open for this process; `SettingsError` or `LMError` if it cannot be."""
    if settings.backend not in BACKENDS:
        raise SettingsError(f"no evaluation LM backend {settings.backend!r}; known: {', '.join(BACKENDS)}")
    return BACKENDS[settings.backend](settings)

"""Opens the evaluation LMs by the name of their backend. To add a backend, add one line to `BACKENDS`."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from gre_bench.core.errors import LMError, SettingsError
from gre_bench.core.learnt_from import FILE as REGISTER
from gre_bench.core.learnt_from import INCLUDED, Register, read_register
from gre_bench.core.pretrained import located, named
from gre_bench.core.settings import EvaluationLMSettings
from gre_bench.lm.adapter_folder import BASE, RECORD, read_adapter
from gre_bench.lm.adapter_folder import CONFIG as ADAPTER
from gre_bench.lm.protocol import EvaluationLM

OWN = {"cache-ngram": "cache-ngram-2", "gem-smollm2": "gem-smollm2"}
"""Backend → the name of its weights that come with the program. Weights that were learnt anew get a new name."""
_CACHE_NGRAM, _GEM_SMOLLM2 = (INCLUDED[name] for name in OWN.values())


def _cache_ngram(settings: EvaluationLMSettings) -> EvaluationLM:
    from gre_bench.lm.ngram.cache_ngram import CacheNgram

    return CacheNgram.load(settings.folder) if settings.folder else CacheNgram.load(_CACHE_NGRAM, OWN["cache-ngram"])


def _transformers(settings: EvaluationLMSettings) -> EvaluationLM:
    from gre_bench.lm.backends.transformers_lm import TransformersLM

    if settings.folder is None:
        raise SettingsError("the transformers backend needs a model folder: --set evaluation_lm.folder=FOLDER")
    return TransformersLM.open(
        settings.folder,
        device=settings.device,
        dtype=settings.dtype,
        attention=settings.attention,
        quantisation=settings.quantisation,  # pyright: ignore[reportArgumentType]
        engine=settings.engine,
        token_budget=settings.token_budget,
        max_tokens=settings.max_tokens,
    )


def _vllm(settings: EvaluationLMSettings) -> EvaluationLM:
    from gre_bench.lm.backends.vllm_lm import VLLM

    if settings.folder is None:
        raise SettingsError("the vllm backend needs the served model's tokenizer: --set evaluation_lm.folder=FOLDER")
    if "dtype" not in settings.model_fields_set:
        raise SettingsError("a vLLM server does not report its dtype: state it, --set evaluation_lm.dtype=bfloat16")
    return VLLM.open(
        settings.endpoint,
        settings.folder,
        model=settings.served_model,
        revision=settings.revision,
        dtype=settings.dtype,
        quantisation=settings.quantisation,
        max_tokens=settings.max_tokens,
        parallel=settings.parallel,
        key_env=settings.key_env,
    )


def _gem_smollm2(settings: EvaluationLMSettings) -> EvaluationLM:
    folder = settings.folder or _GEM_SMOLLM2
    dtype = settings.dtype if "dtype" in settings.model_fields_set else "bfloat16"
    return _transformers(settings.model_copy(update={"folder": folder, "dtype": dtype}))


BACKENDS: dict[str, Callable[[EvaluationLMSettings], EvaluationLM]] = {
    "cache-ngram": _cache_ngram,
    "gem-smollm2": _gem_smollm2,
    "transformers": _transformers,
    "vllm": _vllm,
}


def check_here(settings: EvaluationLMSettings) -> None:
    """Checks that the model of *settings* is on this machine, without loading it.

    Raises the same error as `open_lm` for an unknown backend or missing files. Other faults show when the model is
    opened.
    """
    folder = _located(settings).folder
    if settings.backend == "gem-smollm2":
        folder = folder or _GEM_SMOLLM2
    if folder is not None and settings.backend in ("gem-smollm2", "transformers"):
        from gre_bench.lm.weights import check_files

        check_files(folder)


def register_of(settings: EvaluationLMSettings) -> Register | None:
    """Returns what the evaluation LM of *settings* was learnt from, beside what its pretrained base had read.

    Returns None for a model as its makers published it: nothing was learnt here, and what they learnt from is for the
    models file to say. The result is an unknown register if the files of a trained model have none.
    """
    own = INCLUDED.get(OWN.get(settings.backend, ""))
    try:
        folder = _located(settings).folder or own
    except (LMError, SettingsError):  # opening it says what is wrong
        folder = None
    if folder is None or not (own or any((folder / name).is_file() for name in (REGISTER, RECORD, ADAPTER))):
        return None
    return read_register(folder, folder.resolve().name if settings.folder else OWN[settings.backend])


def base_of(settings: EvaluationLMSettings) -> str | None:
    """Returns the name of the pretrained model on which the adapter of *settings* was trained; None without adapter."""
    folder = settings.folder or {"gem-smollm2": _GEM_SMOLLM2}.get(settings.backend)
    try:
        adapter = read_adapter(folder) if folder else None
    except LMError:
        return None
    return Path(adapter.config[BASE]).name if adapter else None


def _located(settings: EvaluationLMSettings) -> EvaluationLMSettings:
    """Returns *settings* with the model's folder in place of the name of a pretrained model.

    Raises `SettingsError` for an unknown backend, or for a backend that cannot open a pretrained model. Raises
    `LMError` if the pretrained model is not on this machine.
    """
    if settings.backend not in BACKENDS:
        raise SettingsError(f"no evaluation LM backend {settings.backend!r}; known: {', '.join(BACKENDS)}")
    if settings.folder is None:
        return settings
    if named(settings.folder) and settings.backend not in ("transformers", "vllm"):
        raise SettingsError(f"{settings.folder} needs another backend: --set evaluation_lm.backend=transformers")
    return settings.model_copy(update={"folder": located(settings.folder, "lm")})


@lru_cache(maxsize=1)
def open_lm(settings: EvaluationLMSettings) -> EvaluationLM:
    """Opens the evaluation LM that *settings* describe.

    The last opened LM is kept, so a repeated call with the same settings returns the same object. Raises
    `SettingsError` for unusable settings and `LMError` if the model cannot be opened.
    """
    settings = _located(settings)
    return BACKENDS[settings.backend](settings)

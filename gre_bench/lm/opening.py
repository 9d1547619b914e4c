"""Opens evaluation LMs by the name of their backend. Installed packages can add backends as entry points.

The module can also say what an LM was trained on, and split a reply into the texts of its tokens, without opening the
LM.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path

from gre_bench.core.errors import GreBenchError, LMError, SettingsError
from gre_bench.core.extensions import Catalogue
from gre_bench.core.pretrained import is_model_name, locate_model
from gre_bench.core.records import LMIdentity
from gre_bench.core.settings import EvaluationLMSettings
from gre_bench.core.training_registers import FILE as REGISTER
from gre_bench.core.training_registers import INCLUDED, Register, read_register
from gre_bench.lm.protocol import EvaluationLM
from gre_bench.lm.weights import (
    ADAPTER,
    BASE,
    RECORD,
    DType,
    check_model_files_and_read_adapter,
    is_trained_by_contrast,
    read_adapter,
)

Pieces = Callable[[str, Sequence[int]], list[str] | None]

OWN = {"cache-ngram": "cache-ngram-3", "gem-smollm2": "gem-smollm2-2"}
"""Backend → the name of the weights for it that come with the program. Retrained weights get a new name."""


def _open_cache_ngram(settings: EvaluationLMSettings) -> EvaluationLM:
    from gre_bench.lm.ngram.cache_ngram import CacheNgram

    name = OWN["cache-ngram"]
    return CacheNgram.load(settings.folder) if settings.folder else CacheNgram.load(INCLUDED[name], name)


def _open_transformers(settings: EvaluationLMSettings) -> EvaluationLM:
    from gre_bench.lm.backends.transformers_lm import TransformersLM

    if settings.folder is None:
        raise SettingsError("the transformers backend needs a model folder: --set evaluation_lm.folder=FOLDER")
    names = ("device", "dtype", "attention", "quantisation", "engine", "token_budget")
    return TransformersLM.open(settings.folder, **{name: getattr(settings, name) for name in names})


def _open_vllm(settings: EvaluationLMSettings) -> EvaluationLM:
    from gre_bench.lm.backends.vllm_lm import VLLM

    if settings.folder is None:
        raise SettingsError("the vllm backend needs the served model's tokenizer: --set evaluation_lm.folder=FOLDER")
    if "dtype" not in settings.model_fields_set:
        raise SettingsError("a vLLM server does not report its dtype: state it, --set evaluation_lm.dtype=bfloat16")
    names = ("revision", "dtype", "quantisation", "parallel", "key_env")
    options = {name: getattr(settings, name) for name in names}
    return VLLM.open(settings.endpoint, settings.folder, model=settings.served_model, **options)


def _open_gem_smollm2(settings: EvaluationLMSettings) -> EvaluationLM:
    return _open_transformers(
        settings.model_copy(update={"folder": _choose_model_folder(settings), "dtype": choose_dtype(settings)})
    )


BACKENDS = Catalogue[Callable[[EvaluationLMSettings], EvaluationLM]](
    "gre_bench.evaluation_lms",
    {
        "cache-ngram": _open_cache_ngram,
        "gem-smollm2": _open_gem_smollm2,
        "transformers": _open_transformers,
        "vllm": _open_vllm,
    },
    lambda _, entry: callable(entry),
)


def _choose_model_folder(settings: EvaluationLMSettings) -> Path | None:
    """Returns the model folder that *settings* state.

    If they state none, returns the folder of the backend's weights that come with the program, or None if there are
    none.
    """
    return settings.folder or INCLUDED.get(OWN.get(settings.backend, ""))


def _find_local_folder(settings: EvaluationLMSettings) -> Path | None:
    """Returns the folder of the model of *settings*, also if they give its name; None if there is none."""
    try:
        return _choose_model_folder(_resolve_model_name_in_settings(settings))
    except (LMError, SettingsError):
        return None


def choose_dtype(settings: EvaluationLMSettings) -> DType:
    """Returns the precision in which the model of *settings* is opened; the default for gem-smollm2 is bfloat16."""
    own = settings.backend == "gem-smollm2" and "dtype" not in settings.model_fields_set
    return "bfloat16" if own else settings.dtype


def check_model_is_local(settings: EvaluationLMSettings) -> None:
    """Checks that the model of *settings* is on this machine, without loading it.

    Raises the same error as `open_lm` for an unknown backend or missing files. Other faults are found only when the
    model is opened.
    """
    folder = _choose_model_folder(_resolve_model_name_in_settings(settings))
    if folder is not None and settings.backend in ("gem-smollm2", "transformers"):
        check_model_files_and_read_adapter(folder)


def find_training_register(settings: EvaluationLMSettings) -> Register | None:
    """Returns the register of the papers and reviews that the LM of *settings* was trained on.

    The register leaves out the training data of a pretrained base model. Returns None for a model that is used as its
    makers published it; the models file describes its training data. If a trained model has no register file, returns
    a register whose content is unknown.
    """
    folder, own = _find_local_folder(settings), settings.backend in OWN
    if folder is None or not (own or any((folder / name).is_file() for name in (REGISTER, RECORD, ADAPTER))):
        return None
    return read_register(folder, folder.resolve().name if settings.folder else OWN[settings.backend])


def find_perturbations_in_training(settings: EvaluationLMSettings) -> dict[str, str]:
    """Returns perturbation or harm → why a test with it proves nothing about the evaluation LM of *settings*."""
    folder = _find_local_folder(settings)
    if folder is None or not is_trained_by_contrast(folder):
        return {}
    why = f"{folder.name} learnt to tell reviews of other papers (contrast), so it proves nothing"
    return {"random_replacement": why, "invention": why}


def find_base_model_name(settings: EvaluationLMSettings) -> str | None:
    """Returns the name of the pretrained model on which the adapter of *settings* was trained; None: no adapter."""
    folder = _choose_model_folder(settings)
    try:
        adapter = read_adapter(folder) if folder else None
    except LMError:
        return None
    return Path(adapter.config[BASE]).name if adapter else None


def _resolve_model_name_in_settings(settings: EvaluationLMSettings) -> EvaluationLMSettings:
    """Returns *settings* with the name of a pretrained model resolved to its folder.

    Raises `SettingsError` for an unknown backend, or a backend that cannot open pretrained models. Raises `LMError` if
    the model is not on this machine.
    """
    if settings.backend not in BACKENDS:
        raise SettingsError(f"no evaluation LM backend {settings.backend!r}; known: {', '.join(BACKENDS)}")
    if settings.folder is None:
        return settings
    if is_model_name(settings.folder) and settings.backend not in ("transformers", "vllm"):
        raise SettingsError(f"{settings.folder} needs another backend: --set evaluation_lm.backend=transformers")
    return settings.model_copy(update={"folder": locate_model(settings.folder, "lm")})


def open_lm(settings: EvaluationLMSettings) -> EvaluationLM:
    """Opens the evaluation LM that *settings* describe; a repeated call with the same settings returns the same object.

    Raises `SettingsError` for unusable settings and `LMError` if the model cannot be opened.
    """
    return open_cached_lm(settings, choose_dtype(settings))


@lru_cache(maxsize=1)
def open_cached_lm(settings: EvaluationLMSettings, _dtype: DType) -> EvaluationLM:
    """Opens an LM for `open_lm`, and keeps it for the next call with the same arguments.

    Two settings can compare equal although only one of them states the dtype, and they can then mean different
    precisions. The argument *_dtype* keeps their LMs apart.
    """
    settings = _resolve_model_name_in_settings(settings)
    opener = BACKENDS[settings.backend]
    return opener(settings) if settings.backend in BACKENDS.own else _open_package_lm(settings, opener)


def _open_package_lm(
    settings: EvaluationLMSettings, opener: Callable[[EvaluationLMSettings], EvaluationLM]
) -> EvaluationLM:
    """Opens an LM that an installed package adds; raises `LMError` if *opener* fails or does not return an LM."""
    name, cure = f"evaluation LM {settings.backend}", "mend the package that it comes from"
    try:
        lm = opener(settings)
        identity = lm.identity if callable(getattr(lm, "logprob", None)) else None
    except (GreBenchError, MemoryError):
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise LMError(f"{name} cannot be opened: {why}; {cure}") from error
    if not isinstance(identity, LMIdentity) or not all(isinstance(part, str) for part in asdict(identity).values()):
        raise LMError(
            f"{name} cannot be opened: it is a {type(lm).__name__}, without the method logprob or an LMIdentity of "
            f"strings; {cure}"
        )
    return lm


def find_reply_splitter(settings: EvaluationLMSettings) -> Pieces | None:
    """Returns a function that splits a reply of the LM in *settings* into the text of each token.

    That function takes the reply's text and the ids of its tokens. It returns one string for each id, or None if the
    ids do not fit the text. `find_reply_splitter` returns None if this machine has no tokenizer for the LM.
    """
    if settings.backend == "cache-ngram":
        from gre_bench.lm.ngram.segmentation import split_into_token_texts

        return split_into_token_texts
    folder = _choose_model_folder(settings)
    try:
        folder = folder and locate_model(folder, "lm")
        if folder and not (folder / "tokenizer.json").is_file() and (adapter := read_adapter(folder)):
            folder = adapter.base
    except LMError:
        return None
    if folder is None or not (folder / "tokenizer.json").is_file():
        return None
    try:
        from tokenizers import Tokenizer
    except ImportError:
        return None
    decode = Tokenizer.from_file(str(folder / "tokenizer.json")).decode

    def split_reply(_text: str, ids: Sequence[int]) -> list[str]:
        # A token's text is what it adds to the decoded reply: nothing if the token ends in the middle of a character.
        pieces_so_far, before = [], ""
        for end in range(1, len(ids) + 1):
            whole = decode(list(ids[:end]), skip_special_tokens=True)
            whole = before if whole.endswith("\ufffd") else whole
            pieces_so_far.append(whole.removeprefix(before))
            before = whole
        return pieces_so_far

    return split_reply

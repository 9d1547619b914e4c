"""Fine-tunes an evaluation LM on judgments and writes the result into a folder (Xu et al. 2025, appendix E).

The result is an adapter (LoRA, Hu et al. 2022) or the whole model. As in appendix E.1, the adapter by default has rank
16, alpha 16 and no dropout, and changes all matrices of attention and feed-forward layers. The weights of its base
model are in 4 bits or, if 4 bits are unavailable, not quantised.

After an interruption, the same call of `fine_tune` continues the training. Once the training is complete, the same call
returns the training record.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gre_bench.core.errors import LMError, SourceError
from gre_bench.core.pretrained import is_model_name, locate_model, resolve_model_ref
from gre_bench.lm.span import ChatTemplate
from gre_bench.lm.weights import (
    ADAPTER_WEIGHTS,
    BASE,
    START_CONTRAST,
    Adapter,
    Weights,
    convert_errors_to_lm_error,
    find_missing_nf4_support,
    folder_digest,
    is_trained_by_contrast,
    open_weights,
    read_adapter,
    with_adapter,
)  # fmt: skip
from gre_bench.plots.drawing import Curve, draw_curve_panels
from gre_bench.tuning import record
from gre_bench.tuning.pairs import JudgedPaper, Metric, TrainingExamples, build_training_examples
from gre_bench.tuning.record import TrainingHistory, write_errors_as_settings_error
from gre_bench.tuning.tuning_settings import TuningSettings

if TYPE_CHECKING:
    from torch import nn
    from transformers import PreTrainedTokenizerBase

PICTURE = "loss.svg"
_MOST = 300
"""The maximum number of points on the training curve; a longer curve is plotted as means of neighbouring points."""


def fine_tune(
    base: Path,
    papers: Sequence[JudgedPaper],
    kept: Sequence[JudgedPaper],
    metrics: Sequence[Metric],
    settings: TuningSettings,
    folder: Path,
    data: Mapping[str, Any],
) -> dict[str, Any]:
    """Trains the model in *base* on *papers*, writes the result into *folder* and returns the training record.

    If *base* holds an adapter, the training starts from its weights, and the adapter's base becomes the base of the
    result. *kept*: held-out papers, whose loss is measured before, during and after the training. *data*: a description
    of the files that the papers come from, for the record. Raises `LMError`, `SettingsError`, `SourceError` or
    `LockedError`.
    """
    with record.lock_training_folder(folder):
        start = _read_start_adapter(locate_model(base, "lm"), settings)
        base = resolve_model_ref(start.config[BASE], start.folder) if start else base
        weights = open_base(base, settings)
        if start and start.base_digest not in (None, weights.digest):
            raise LMError(
                f"evaluation LM {start.folder}: it was not trained on this {base}; use the base it was trained on"
            )
        request = {"base": weights.digest, **data, **settings.stated, "metrics": list(metrics)}
        if start:
            request |= {"start": folder_digest(start.folder)}
            request |= {START_CONTRAST: True} if is_trained_by_contrast(start.folder) else {}
        del request["save_every"]
        if done := record.find_finished_record(folder, request):
            return done
        from gre_bench.tuning.trainer import train  # which imports torch

        learnt, held_out = _build_examples(weights, papers, kept, metrics, settings)
        model = prepare_for_training(weights, settings, start)
        rests_on = {name: value for name, value in request.items() if name not in settings.training_loop_settings}
        rests_on["quantisation"] = weights.quantisation
        past = train(model, learnt.examples, settings, folder, held_out=held_out.examples, about=rests_on)
        save_trained_model(model, weights.tokenizer, base, folder, settings.dtype)
        draw_loss_curves(past, folder, f"{base.resolve().name}: {settings.method} on {len(papers)} papers")
        made = {
            "method": settings.method,
            "base": {
                "folder": str(base if is_model_name(base) else base.resolve()),
                "digest": weights.digest,
                "dtype": weights.dtype,
                "quantisation": weights.quantisation,
            },
            "asked": request,
            "conversations": {"learnt": len(learnt.examples), "held out": len(held_out.examples)},
            "excluded": {"learnt": dict(learnt.excluded), "held out": dict(held_out.excluded)},
            "steps": past.steps,
            "optimiser": past.optimiser,
            "loss": {
                "first step": past.training[0][1],
                "last step": past.training[-1][1],
                "held out before": past.held_out[0][1] if past.held_out else None,
                "held out after": past.held_out[-1][1] if past.held_out else None,
            },
            "versions": record.list_package_versions(),
        }
        record.write_training_record(made, folder)
        return made


def open_base(folder: Path, settings: TuningSettings) -> Weights:
    """Opens the model in *folder*, or the pretrained model of that name, for training.

    The dtype is float32 if the whole model is to be trained. The base of an adapter is opened in 4 bits or in the dtype
    of *settings*. Raises `LMError` if the model cannot be opened or trained.
    """
    folder = locate_model(folder, "lm")
    whole = settings.method == "full"
    quantisation = "none" if whole else settings.quantisation
    if quantisation == "auto":
        import torch

        device = settings.device if settings.device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
        quantisation = "none" if find_missing_nf4_support(device) else "nf4"
    dtype = "float32" if whole else settings.dtype
    weights = open_weights(
        folder, device=settings.device, dtype=dtype, attention=settings.attention, quantisation=quantisation
    )
    if whole and weights.quantisation != "none":
        raise LMError(f"evaluation LM {folder}: quantised weights cannot be trained as a whole; use method lora")
    return weights


def _read_start_adapter(folder: Path, settings: TuningSettings) -> Adapter | None:
    """Returns the adapter in *folder*, if any; raises `LMError` if it does not match *settings*."""
    adapter = read_adapter(folder)
    if adapter is None:
        return None
    if settings.method == "full":
        raise LMError(f"evaluation LM {folder} is an adapter; it cannot be trained as a whole: use method lora")
    for name, setting in (("r", "lora_r"), ("lora_alpha", "lora_alpha"), ("target_modules", "lora_targets")):
        theirs, ours = adapter.config.get(name), getattr(settings, setting)
        if (sorted(theirs or ()) != sorted(ours)) if isinstance(ours, tuple) else theirs != ours:
            shown = json.dumps(sorted(theirs or ()) if isinstance(ours, tuple) else theirs)
            raise LMError(f"evaluation LM {folder} is an adapter with another {setting}: --set {setting}={shown}")
    return adapter


def prepare_for_training(weights: Weights, settings: TuningSettings, start: Adapter | None = None) -> nn.Module:
    """Returns the model of *weights*, with an adapter if *settings* ask for one. *start*: the adapter to begin with.

    Only the trained parameters require a gradient. Raises `LMError` if the model lacks the matrices that the adapter
    needs, or if peft is not installed.
    """
    import torch

    if settings.method == "full":
        return weights.model.requires_grad_(True)
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError as error:
        raise LMError("peft is not installed: pip install 'gre-bench[lm]'") from error
    model = weights.model.requires_grad_(False)
    _refuse_tied_embeddings(weights, settings.lora_targets)
    config = LoraConfig(
        task_type="CAUSAL_LM", bias="none", r=settings.lora_r, lora_dropout=settings.lora_dropout,
        lora_alpha=settings.lora_alpha,  # pyrefly: ignore
        target_modules=sorted(settings.lora_targets),
    )  # fmt: skip
    torch.manual_seed(settings.seed)
    with convert_errors_to_lm_error(weights.folder, "no adapter can be added"), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft uses an old name of transformers
        # Adapters stay in float32, whatever the base's dtype, because updates of 2e-4 would vanish in bfloat16.
        if start:
            return with_adapter(start, weights.model, trainable=True)
        return get_peft_model(model, config, autocast_adapter_dtype=True)


def save_trained_model(
    model: nn.Module, tokenizer: PreTrainedTokenizerBase, base: Path, folder: Path, dtype: str
) -> None:
    """Writes a trained model into *folder*: a whole model with its *tokenizer*, or an adapter alone.

    The adapter's files refer to *base*, a path or the name of a pretrained model. The adapter's weights are written in
    *dtype*, the dtype of the base. Raises `SettingsError` if the folder cannot be written.
    """
    import torch
    from safetensors.torch import load_file, save_file

    with write_errors_as_settings_error(folder):
        wrapped: Any = model
        if not hasattr(model, "peft_config"):
            wrapped.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            return
        wrapped.peft_config["default"].base_model_name_or_path = (
            str(base) if is_model_name(base) else os.path.abspath(base)
        )
        # An adapter never holds embeddings. Without this argument, peft would ask a model hub about the base.
        wrapped.save_pretrained(folder, safe_serialization=True, save_embedding_layers=False)
        file = folder / ADAPTER_WEIGHTS
        tensors = {name: each.to(getattr(torch, dtype)) for name, each in load_file(file).items()}
        save_file(tensors, file, metadata={"format": "pt"})
        # The model card that peft writes is an empty form.
        (folder / "README.md").unlink(missing_ok=True)


def draw_loss_curves(history: TrainingHistory, folder: Path, title: str) -> None:
    """Plots the losses of a run by step to `PICTURE`: the training loss (pale), its smoothed curve, the held-out loss.

    Raises `SettingsError` if *folder* cannot be written.
    """
    each = history.training
    width = max(1, -(-len(each) // _MOST))
    groups = [each[start : start + width] for start in range(0, len(each), width)]
    points = [(group[-1][0], sum(loss for _, loss in group) / len(group)) for group in groups]
    reach = max(1, len(points) // 40)
    smoothed = []
    for index, (step, _) in enumerate(points):
        around = points[max(0, index - reach) : index + reach + 1]
        smoothed.append((step, sum(loss for _, loss in around) / len(around)))
    lines = {"training": points, "training, smoothed": smoothed, "held out": history.held_out}
    looks = zip(lines.items(), ("pale", "main", "second"), strict=True)
    shown = [Curve(name, points, look) for (name, points), look in looks if points]
    with write_errors_as_settings_error(folder):
        (folder / PICTURE).write_text(
            draw_curve_panels({"": shown}, "step", "nats a token", title=title), encoding="utf-8"
        )


def _build_examples(
    weights: Weights,
    papers: Sequence[JudgedPaper],
    kept: Sequence[JudgedPaper],
    metrics: Sequence[Metric],
    settings: TuningSettings,
) -> tuple[TrainingExamples, TrainingExamples]:
    """Returns the training examples of *papers* and the held-out examples of *kept*.

    Raises `SourceError` if either has no usable paper, and `LMError` if tokenizer and model do not fit together.
    """
    with convert_errors_to_lm_error(weights.folder, "its chats cannot be written"):
        template = ChatTemplate.from_tokenizer(weights.tokenizer)
    limit = min(settings.max_tokens, weights.context or settings.max_tokens)
    how = (template, settings.learnt, limit, settings.seed, settings.form, settings.ascii_fold)
    others = settings.contrast_others if settings.contrast else 0
    learnt, held_out = (
        build_training_examples(papers, metrics, *how, others=others),
        build_training_examples(kept, metrics, *how),
    )
    for name, given, used in (("train on", papers, learnt), ("measure the loss on", kept, held_out)):
        if given and not used.examples:
            reasons = ", ".join(f"{count} {reason}" for reason, count in used.excluded.items())
            raise SourceError(f"none of the {len(given)} papers to {name} is usable: {reasons}")
    rows = weights.rows
    if max(max(example.ids) for example in (*learnt.examples, *held_out.examples)) >= rows:
        raise LMError(f"evaluation LM {weights.folder}: its tokenizer has ids beyond the model's {rows} tokens")
    return learnt, held_out


def _refuse_tied_embeddings(weights: Weights, targets: Sequence[str]) -> None:
    """Raises `LMError` if *targets* include an embedding, and the input and output embeddings share one matrix.

    Training would adapt only one of the two embeddings, but merging the adapter into the shared matrix would change
    both.
    """
    ends = weights.model.get_input_embeddings(), weights.model.get_output_embeddings()
    if None in ends or ends[0].weight is not ends[1].weight:  # pyrefly: ignore
        return
    for name, module in weights.model.named_modules():
        target = next((suffix for suffix in targets if f".{name}".endswith(f".{suffix}")), None)
        if module in ends and target:
            raise LMError(
                f"evaluation LM {weights.folder}: its input and output embeddings are one matrix, which an adapter "
                f"cannot train; leave {target} out of lora_targets"
            )

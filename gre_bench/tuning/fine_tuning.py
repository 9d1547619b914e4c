"""Fine-tunes an evaluation LM on judgments and writes the LM into a folder (Xu et al. 2025, appendix E).

After an interruption, the same call of `fine_tune` continues the training. Once the training is complete, the same call
returns the training record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gre_bench.core.errors import LMError, SourceError
from gre_bench.core.pretrained import named
from gre_bench.lm.span import ChatTemplate
from gre_bench.lm.weights import Weights, blamed
from gre_bench.tuning import picture, record
from gre_bench.tuning.adapters import open_base, save, trainable
from gre_bench.tuning.history import History
from gre_bench.tuning.pairs import JudgedPaper, Lessons, Metric, lessons
from gre_bench.tuning.settings import TuningSettings
from gre_bench.tuning.trainer import train


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

    *kept* holds papers that are not trained on; their loss is measured before, during and after the training. *metrics*
    are the metrics whose conversations are learnt. *data* describes the files that the papers come from, and goes into
    the record. Raises `LMError`, `SettingsError`, `SourceError` or `LockedError`.
    """
    with record.claimed(folder):
        weights = open_base(base, settings)
        request = {"base": weights.digest, **data, **settings.model_dump(mode="json"), "metrics": list(metrics)}
        del request["save_every"]
        if done := record.finished(folder, request):
            return done
        learnt, held_out = _lessons(weights, papers, kept, metrics, settings)
        model = trainable(weights, settings)
        options = asdict(settings.training)
        rests_on = {name: value for name, value in request.items() if name not in options}
        rests_on["quantisation"] = weights.quantisation
        past = train(model, learnt.examples, settings.training, folder, held_out=held_out.examples, about=rests_on)
        save(model, weights.tokenizer, base, folder, settings.dtype)
        picture.draw(past, folder, f"{base.resolve().name}: {settings.method} on {len(papers)} papers")
        made = _record(weights, base, request, settings, learnt, held_out, past)
        record.write(made, folder)
        return made


def _lessons(
    weights: Weights,
    papers: Sequence[JudgedPaper],
    kept: Sequence[JudgedPaper],
    metrics: Sequence[Metric],
    settings: TuningSettings,
) -> tuple[Lessons, Lessons]:
    """Returns the training examples of *papers* and the held-out examples of *kept*.

    Raises `SourceError` if *papers* or *kept* has no usable paper, and `LMError` if tokenizer and model do not fit
    together.
    """
    with blamed(weights.folder, "its chats cannot be written"):
        template = ChatTemplate.from_tokenizer(weights.tokenizer)
    limit = min(settings.max_tokens, weights.context or settings.max_tokens)
    how = (template, settings.learnt, limit, settings.seed, settings.form, settings.ascii_fold)
    learnt, held_out = lessons(papers, metrics, *how), lessons(kept, metrics, *how)
    for name, given, used in (("train on", papers, learnt), ("measure the loss on", kept, held_out)):
        if given and not used.examples:
            reasons = ", ".join(f"{count} {reason}" for reason, count in used.excluded.items())
            raise SourceError(f"none of the {len(given)} papers to {name} is usable: {reasons}")
    rows = weights.model.get_input_embeddings().num_embeddings
    if max(max(example.ids) for example in (*learnt.examples, *held_out.examples)) >= rows:  # pyright: ignore[reportOperatorIssue]
        raise LMError(f"evaluation LM {weights.folder}: its tokenizer has ids beyond the model's {rows} tokens")
    return learnt, held_out


def _record(
    weights: Weights,
    base: Path,
    request: Mapping[str, Any],
    settings: TuningSettings,
    learnt: Lessons,
    held_out: Lessons,
    past: History,
) -> dict[str, Any]:
    return {
        "method": settings.method,
        "base": {
            "folder": str(base if named(base) else base.resolve()),
            "digest": weights.digest,
            "dtype": weights.dtype,
            "quantisation": weights.quantisation,
        },
        "asked": dict(request),
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
        "versions": record.versions(),
    }

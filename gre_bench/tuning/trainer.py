"""The training loop of evaluation LMs: any causal LM of torch, in full or as an adapter.

It minimises Σ weight · −log P(token | earlier tokens) / Σ weight over the sequences of a step. The defaults are those
of Xu et al. 2025, appendix E. Calling `train` again with the same arguments continues an interrupted run. The continued
run ends with the weights of an uninterrupted one.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gre_bench.core.errors import LMError, SourceError
from gre_bench.lm.engine.protocol import is_out_of_memory
from gre_bench.tuning import checkpoint, history, shared_prefixes
from gre_bench.tuning.batches import Example, batches_of, checked, digest_of, summed_loss, weight_of
from gre_bench.tuning.history import History, Point
from gre_bench.tuning.optimisation import Training, learning_rate, optimiser_for

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.optim import Optimizer

__all__ = ["Example", "History", "Point", "Training", "learning_rate", "train"]


def train(
    model: nn.Module,
    examples: Sequence[Example],
    training: Training,
    folder: Path,
    *,
    held_out: Sequence[Example] = (),
    on_step: Callable[[Point], None] | None = None,
    about: Mapping[str, Any] | None = None,
) -> History:
    """Trains the parameters of *model* that require a gradient, and returns the history of the run.

    - *held_out*: examples that are not trained on; their loss is measured.
    - *on_step*: a function that receives the history's point of each step.
    - *about*: what else the result depends on, such as the digest of the base model.

    ``history.jsonl`` and the last checkpoint stay in *folder*, and the model ends in evaluation mode.

    Raises `SettingsError` if a checkpoint in *folder* has other settings, data or *about*. Raises `LMError` if memory
    runs out, or if a loss, a gradient or a weight is not finite; the model is then not saved. Raises `SourceError` if
    there are no examples.
    """
    with shared_prefixes.sharing(model) if training.share_prefixes else nullcontext():
        return _train(model, examples, training, folder, held_out, on_step, about)


def _train(
    model: nn.Module,
    examples: Sequence[Example],
    training: Training,
    folder: Path,
    held_out: Sequence[Example],
    on_step: Callable[[Point], None] | None,
    about: Mapping[str, Any] | None,
) -> History:
    import torch

    torch.manual_seed(training.seed)
    optimiser, used = optimiser_for(model, training)
    data = checked(examples, training.max_tokens)
    if not data:
        raise SourceError(f"training: there is nothing to train on in {training.max_tokens} tokens; raise max_tokens")
    checked(held_out, training.max_tokens)
    rests_on = {
        **{f"option {name}": value for name, value in asdict(training).items() if name != "save_every"},
        **(about or {}),
        "optimiser": used,
        "training data": digest_of(data),
        "held-out data": digest_of(held_out),
    }
    position = checkpoint.restore(folder, model, optimiser, rests_on) or checkpoint.Position()
    with checkpoint.writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        history.write(position.points, folder)
    if training.recompute:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # a later transformers renamed it
            checkpointed: Any = model
            checkpointed.gradient_checkpointing_enable({"use_reentrant": False})

    def note(point: Point) -> None:
        nonlocal position
        position = replace(position, done=position.done + (point.step > 0), points=(*position.points, point))
        with checkpoint.writing(folder):
            history.append(point, folder)
        if on_step is not None:
            on_step(point)

    if not position.points and held_out:
        planned = training.max_steps or training.epochs * _steps(len(data), training)
        with _enough_memory(training):
            measured = _mean_loss(model, held_out, training)
        _number(measured, "the held-out loss before the first step", folder)
        note(Point(0, planned, 0.0, None, 0.0, measured))
    while not _over(position, training):
        batches = batches_of(data, training.batch, training.seed, position.epoch, neighbours=training.share_prefixes)
        steps = [batches[cut : cut + training.accumulation] for cut in range(0, len(batches), training.accumulation)]
        planned = training.max_steps or position.step - position.done + len(steps) * (training.epochs - position.epoch)
        for step in steps[position.done :]:
            if _over(position, training):
                break
            rate = learning_rate(training, position.step, planned)
            with _enough_memory(training):
                loss, norm = _stepped(model, optimiser, step, rate, training)
            done = position.step + 1
            _number(loss, f"the loss at step {done}", folder)
            _number(norm, f"the norm of the gradient at step {done}", folder)
            due = held_out and (done == planned or (training.evaluate_every and done % training.evaluate_every == 0))
            with _enough_memory(training):
                measured = _mean_loss(model, held_out, training) if due else None
            if measured is not None:
                _number(measured, f"the held-out loss after step {done}", folder)
            saved = done == planned or (training.save_every and done % training.save_every == 0)
            if saved:
                _sound(model, step[0] if measured is None else (), training, done, folder)
            note(Point(done, planned, position.epoch + (position.done + 1) / len(steps), loss, rate, measured))
            if saved:
                checkpoint.save(folder, position, model, optimiser, rests_on)
        position = replace(position, epoch=position.epoch + 1, done=0)
    model.eval()
    return History(position.points, used)


def _over(position: checkpoint.Position, training: Training) -> bool:
    return position.step >= training.max_steps if training.max_steps else position.epoch >= training.epochs


def _steps(examples: int, training: Training) -> int:
    return math.ceil(math.ceil(examples / training.batch) / training.accumulation)


def _stepped(
    model: nn.Module,
    optimiser: Optimizer,
    batches: Sequence[Sequence[Example]],
    rate: float,
    training: Training,
) -> tuple[float, float]:
    """Makes one step of the optimiser over *batches* at the learning rate *rate*.

    Returns the mean loss before the step, in nats per weighted token, and the norm of the gradient before clipping. If
    the loss or the norm is not finite, the model stays unchanged.
    """
    import torch

    model.train()
    weight = sum(map(weight_of, batches))
    total = 0.0
    for batch in batches:
        with _arithmetic(model, training):
            loss = _summed_loss(model, batch, training) / weight
        loss.backward()
        total += loss.item()
    if not math.isfinite(total):
        return total, 0.0
    parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    norm = torch.nn.utils.clip_grad_norm_(parameters, training.clip or math.inf).item()
    if not math.isfinite(norm):
        return total, norm
    for group in optimiser.param_groups:
        group["lr"] = rate
    optimiser.step()
    optimiser.zero_grad(set_to_none=True)
    return total, norm


def _number(value: float, name: str, folder: Path) -> None:
    """Raises `LMError` if *value* is not finite.

    The message calls the value *name*. If *folder* has a checkpoint, the message says how to start again.
    """
    if math.isfinite(value):
        return
    kept = folder / checkpoint.FOLDER
    way_out = f", and delete {kept} to start again" if kept.exists() else ""
    raise LMError(f"training: {name} is {value}; lower learning_rate or clip (0 clips nothing){way_out}")


def _sound(model: nn.Module, batch: Sequence[Example], training: Training, done: int, folder: Path) -> None:
    """Checks that the trained weights of *model* and its loss on *batch* are finite; raises `LMError` if not.

    *batch*: a batch that the model has just learnt from; if it is empty, the loss is not checked. *done*: the number of
    steps done. The loss is checked too because even finite weights may be too large for a finite loss.
    """
    for name, parameter in checkpoint.trained(model).items():
        if not parameter.isfinite().all():
            _number(math.nan, f"weight {name} after step {done}", folder)
    if batch:
        with _enough_memory(training):
            _number(_mean_loss(model, batch, training), f"the loss after step {done}", folder)


def _mean_loss(model: nn.Module, examples: Sequence[Example], training: Training) -> float:
    """Returns the mean loss of *model* over *examples* in nats per weighted token, without dropout."""
    import torch

    model.eval()
    ordered = examples if training.share_prefixes else sorted(examples, key=lambda example: len(example.ids))
    batches = [ordered[cut : cut + training.batch] for cut in range(0, len(ordered), training.batch)]
    with torch.no_grad(), _arithmetic(model, training):
        losses = (_summed_loss(model, batch, training).item() for batch in batches)
        return math.fsum(losses) / sum(map(weight_of, batches))


def _summed_loss(model: nn.Module, batch: Sequence[Example], training: Training) -> Tensor:
    return (shared_prefixes.summed_loss if training.share_prefixes else summed_loss)(model, batch)


@contextmanager
def _enough_memory(training: Training) -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        raise LMError(
            f"training: no memory left for {training.batch} sequences of up to {training.max_tokens} tokens; lower "
            "batch (and raise accumulation), lower max_tokens, or set recompute=true"
        ) from error


def _arithmetic(model: nn.Module, training: Training) -> AbstractContextManager[Any]:
    import torch

    device = next(model.parameters()).device.type
    return torch.autocast(device, dtype=torch.bfloat16, enabled=training.dtype == "bfloat16")

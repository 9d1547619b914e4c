"""The training loop of evaluation LMs: trains any causal LM of torch, in full or as an adapter.

It minimises Σ weight · −log P(token | earlier tokens) / Σ weight over the sequences of a step. The defaults are from Xu
et al. 2025, appendix E. If a run is interrupted, calling `train` again with the same arguments continues it. The run
then ends with the same weights as an uninterrupted one.
"""

from __future__ import annotations

import importlib.util
import inspect
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from gre_bench.core.errors import LMError, SourceError
from gre_bench.lm.engine.engines import is_out_of_memory
from gre_bench.tuning import record, shared_prefixes
from gre_bench.tuning.pairs import Example, build_batches, check_examples, digest_examples, sum_trained_weights
from gre_bench.tuning.record import TrainingHistory, TrainingPosition, TrainingStepResult, trained_parameters
from gre_bench.tuning.tuning_settings import TuningSettings


def train(
    model: nn.Module,
    examples: Sequence[Example],
    settings: TuningSettings,
    folder: Path,
    *,
    held_out: Sequence[Example] = (),
    on_step: Callable[[TrainingStepResult], None] = lambda point: None,
    about: Mapping[str, Any] | None = None,
) -> TrainingHistory:
    """Trains the parameters of *model* that require a gradient, and returns the history of the run.

    - *held_out*: examples that are not trained on, but whose loss is measured.
    - *on_step*: a function that receives the history's point for each step.
    - *about*: anything else that the result depends on, such as the digest of the base model.

    ``history.jsonl`` and the last checkpoint stay in *folder*. Afterwards, the model is in evaluation mode.

    Raises `SettingsError` if a checkpoint in *folder* has different settings, data or *about*. Raises `LMError` if
    memory runs out, or if a loss, a gradient or a weight is not finite; the model is then not saved. Raises
    `SourceError` if there are no examples.
    """
    with shared_prefixes.share_prefixes_in(model) if settings.share_prefixes else nullcontext():
        run, batch, every = _TrainingRun(model, settings, folder), settings.batch, settings.accumulation
        if not check_examples(examples, settings.max_tokens):
            most = settings.max_tokens
            raise SourceError(f"training: there is nothing to train on in {most} tokens; raise max_tokens")
        check_examples(held_out, settings.max_tokens)
        rests_on = {
            **{
                f"option {name}": value
                for name, value in settings.training_loop_settings.items()
                if name != "save_every"
            },
            **(about or {}),
            "optimiser": run.optimiser_name,
            "training data": digest_examples(examples),
            "held-out data": digest_examples(held_out),
        }
        run.position = record.restore_checkpoint(folder, model, run.optimiser, rests_on)
        record.write_history(run.position.points, folder, "w")
        if settings.recompute:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # later versions of transformers warn of a new name
                checkpointed: Any = model
                checkpointed.gradient_checkpointing_enable({"use_reentrant": False})

        def record_point(point: TrainingStepResult) -> None:
            done = run.position.done + (point.step > 0)
            run.position = replace(run.position, done=done, points=(*run.position.points, point))
            record.write_history([point], folder, "a")
            on_step(point)

        if not run.position.points and held_out:
            batches = build_batches(examples, batch, settings.seed, 0, neighbours=settings.share_prefixes)
            steps = math.ceil(len(batches) / every)
            measured = run.mean_loss(held_out, "the held-out loss before the first step")
            record_point(TrainingStepResult(0, settings.max_steps or settings.epochs * steps, 0.0, None, 0.0, measured))
        while not run.is_over:
            epoch = run.position.epoch
            batches = build_batches(examples, batch, settings.seed, epoch, neighbours=settings.share_prefixes)
            steps = [batches[cut : cut + every] for cut in range(0, len(batches), every)]
            before = run.position.step - run.position.done
            planned = settings.max_steps or before + len(steps) * (settings.epochs - epoch)
            for step in steps[run.position.done :]:
                if run.is_over:
                    break
                rate = learning_rate(settings, run.position.step, planned)
                loss, norm = run.take_step(step, rate)
                done = run.position.step + 1
                run.require_finite(loss, f"the loss at step {done}")
                run.require_finite(norm, f"the norm of the gradient at step {done}")
                measured = None
                if held_out and _is_due_after_step(done, planned, settings.evaluate_every):
                    measured = run.mean_loss(held_out, f"the held-out loss after step {done}")
                if saved := _is_due_after_step(done, planned, settings.save_every):
                    for name, parameter in trained_parameters(model).items():
                        if not parameter.isfinite().all():
                            run.require_finite(math.nan, f"weight {name} after step {done}")
                    # Even finite weights may be so large that the loss on this step's examples is not finite.
                    if measured is None:
                        run.mean_loss(step[0], f"the loss after step {done}")
                record_point(
                    TrainingStepResult(
                        done, planned, epoch + (run.position.done + 1) / len(steps), loss, rate, measured
                    )
                )
                if saved:
                    record.save_checkpoint(folder, run.position, model, run.optimiser, rests_on)
            run.position = replace(run.position, epoch=epoch + 1, done=0)
        model.eval()
        return TrainingHistory(run.position.points, run.optimiser_name)


def learning_rate(settings: TuningSettings, done: int, planned: int) -> float:
    """Returns the learning rate of the next step, after *done* of the *planned* steps.

    It rises linearly from 0 during the warm-up, and then follows the schedule. The first step has the rate 0, as in the
    trainer of transformers, which Xu et al. used.
    """
    warmup = settings.warmup_steps
    if done < warmup:
        return settings.learning_rate * done / warmup
    passed = (done - warmup) / max(1, planned - warmup)
    share = {"linear": 1 - passed, "cosine": (1 + math.cos(math.pi * passed)) / 2, "constant": 1.0}[settings.schedule]
    return settings.learning_rate * max(0.0, share)


def compute_padded_batch_loss(model: nn.Module, batch: Sequence[Example]) -> Tensor:
    """Returns Σ weight · −log P(token | earlier tokens) over *batch*, in nats; the log-softmax is in float32.

    Padding is on the right and has weight 0. The tokens of a causal model never attend to it, so no mask is needed. If
    the model can, it runs its output layer only at positions that predict a token with a weight.
    """
    device = next(model.parameters()).device
    longest = max(len(example.ids) for example in batch)
    ids = torch.tensor([[*example.ids, *[0] * (longest - len(example.ids))] for example in batch])
    weights = torch.tensor([[*example.weights, *[0.0] * (longest - len(example.weights))] for example in batch])
    rows = (weights[:, 1:] > 0).any(dim=0).nonzero()[:, 0]
    wanted, weights = ids[:, 1:][:, rows].to(device), weights[:, 1:][:, rows].to(device)
    ids, rows = ids.to(device), rows.to(device)
    known = inspect.signature(shared_prefixes.unwrap_adapter(model).forward).parameters
    options = {"use_cache": False} if "use_cache" in known else {}
    if "logits_to_keep" in known:
        logits = model(input_ids=ids[:, :-1], logits_to_keep=rows, **options).logits
    else:
        logits = model(input_ids=ids[:, :-1], **options).logits[:, rows]
    chosen = weights > 0
    losses = torch.nn.functional.cross_entropy(logits[chosen].float(), wanted[chosen], reduction="none")
    return (losses * weights[chosen]).sum()


class _TrainingRun:
    """A run of the training loop on *model*, with the run's optimiser and position; *folder* holds the run's files."""

    def __init__(self, model: nn.Module, settings: TuningSettings, folder: Path):
        torch.manual_seed(settings.seed)
        self.model, self.settings, self.folder = model, settings, folder
        self.optimiser, self.optimiser_name = _build_optimiser(model, settings)
        self.position = TrainingPosition()

    @property
    def is_over(self) -> bool:
        most = self.settings.max_steps
        return self.position.step >= most if most else self.position.epoch >= self.settings.epochs

    def take_step(self, batches: Sequence[Sequence[Example]], rate: float) -> tuple[float, float]:
        """Makes one step of the optimiser over *batches* at the learning rate *rate*.

        Returns the mean loss before the step, in nats per weighted token, and the gradient norm before clipping. If the
        loss or the norm is not finite, the model stays unchanged.
        """
        self.model.train()
        weight = sum(map(sum_trained_weights, batches))
        total = 0.0
        with self._convert_out_of_memory_error():
            for batch in batches:
                with self._use_autocast():
                    loss = self._compute_batch_loss(batch) / weight
                loss.backward()
                total += loss.item()
            if not math.isfinite(total):
                return total, 0.0
            parameters = [parameter for group in self.optimiser.param_groups for parameter in group["params"]]
            norm = torch.nn.utils.clip_grad_norm_(parameters, self.settings.clip or math.inf).item()
            if not math.isfinite(norm):
                return total, norm
            for group in self.optimiser.param_groups:
                group["lr"] = rate
            self.optimiser.step()
            self.optimiser.zero_grad(set_to_none=True)
        return total, norm

    def mean_loss(self, examples: Sequence[Example], name: str) -> float:
        """Returns the mean loss over *examples* in nats per weighted token, without dropout; *name* is for messages."""
        size, shared = self.settings.batch, self.settings.share_prefixes
        self.model.eval()
        ordered = examples if shared else sorted(examples, key=lambda example: len(example.ids))
        batches = [ordered[cut : cut + size] for cut in range(0, len(ordered), size)]
        with self._convert_out_of_memory_error(), torch.no_grad(), self._use_autocast():
            mean = math.fsum(self._compute_batch_loss(batch).item() for batch in batches) / sum(
                map(sum_trained_weights, batches)
            )
        self.require_finite(mean, name)
        return mean

    def _compute_batch_loss(self, batch: Sequence[Example]) -> Tensor:
        if not self.settings.share_prefixes:
            return compute_padded_batch_loss(self.model, batch)
        if any(example.wrong for example in batch):
            return shared_prefixes.contrastive_loss(
                self.model, batch, self.settings.contrast, self.settings.contrast_temperature
            )
        return shared_prefixes.compute_shared_prefix_loss(self.model, batch)

    def require_finite(self, value: float, name: str) -> None:
        if math.isfinite(value):
            return
        kept = self.folder / record.CHECKPOINT
        way_out = f", and delete {kept} to start again" if kept.exists() else ""
        raise LMError(f"training: {name} is {value}; lower learning_rate or clip (0 clips nothing){way_out}")

    @contextmanager
    def _convert_out_of_memory_error(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            size, tokens = self.settings.batch, self.settings.max_tokens
            raise LMError(
                f"training: no memory left for {size} sequences of up to {tokens} tokens; lower "
                "batch (and raise accumulation), lower max_tokens, or set recompute=true"
            ) from error

    def _use_autocast(self) -> AbstractContextManager[Any]:
        device = next(self.model.parameters()).device.type
        return torch.autocast(device, dtype=torch.bfloat16, enabled=self.settings.dtype == "bfloat16")


def _is_due_after_step(done: int, planned: int, every: int) -> bool:
    return done == planned or bool(every and done % every == 0)


def _build_optimiser(model: nn.Module, settings: TuningSettings) -> tuple[Optimizer, str]:
    """Returns the optimiser and its name, which is adamw if adamw_8bit is unavailable."""
    parameters = list(trained_parameters(model).values())
    if not parameters:
        raise ValueError("no parameter of the model requires a gradient")
    matrices = [parameter for parameter in parameters if parameter.dim() > 1]
    others = [parameter for parameter in parameters if parameter.dim() <= 1]  # norms and biases do not decay
    decays = ((matrices, settings.weight_decay), (others, 0.0))
    groups = [{"params": chosen, "weight_decay": decay} for chosen, decay in decays if chosen]
    on_cuda = parameters[0].device.type == "cuda"
    if settings.optimiser == "adamw_8bit" and on_cuda and importlib.util.find_spec("bitsandbytes"):
        from bitsandbytes.optim import AdamW8bit

        return AdamW8bit(groups, lr=settings.learning_rate), "adamw_8bit"
    return torch.optim.AdamW(groups, lr=settings.learning_rate), "adamw"

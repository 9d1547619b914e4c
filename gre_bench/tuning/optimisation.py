"""The settings of the training loop, the learning rate of each step, and the optimiser.

The defaults are those of Xu et al. 2025, appendix E.1.
"""

from __future__ import annotations

import importlib.util
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from gre_bench.tuning.checkpoint import trained

if TYPE_CHECKING:
    from torch import nn
    from torch.optim import Optimizer


Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Size = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class Training:
    """The settings of the training loop. Each step reads *batch* × *accumulation* sequences.

    - *max_steps*: the number of steps; 0 means as many as *epochs* need.
    - *warmup_steps*: steps in which the learning rate rises to *learning_rate*; it then falls by *schedule*.
    - *weight_decay*: applies to matrices only, not to norms and biases.
    - *optimiser*: adamw_8bit needs bitsandbytes and CUDA; if one is absent, adamw replaces it.
    - *clip*: the largest norm of the gradient; 0 means no limit.
    - *save_every*, *evaluate_every*: steps between checkpoints and between held-out losses; 0 means only at the end.
    - *max_tokens*: the most tokens of a sequence.
    - *dtype*: the dtype of the arithmetic; parameters keep their own.
    - *recompute*: drops activations between the layers and computes them again, to save memory.
    - *share_prefixes*: a batch is *batch* consecutive examples, and their common beginnings are read once.

    A caller must check values that come from outside against the ranges stated below.
    """

    epochs: Positive = 3
    max_steps: Count = 0
    batch: Positive = 2
    accumulation: Positive = 4
    learning_rate: Annotated[float, Field(gt=0, le=1)] = 2e-4
    warmup_steps: Count = 5
    schedule: Literal["linear", "cosine", "constant"] = "linear"
    weight_decay: Size = 0.01
    optimiser: Literal["adamw", "adamw_8bit"] = "adamw_8bit"
    clip: Size = 1.0
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 42
    save_every: Count = 50
    evaluate_every: Count = 100
    max_tokens: Annotated[int, Field(ge=8)] = 4096
    dtype: Literal["float32", "bfloat16"] = "float32"
    recompute: bool = False
    share_prefixes: bool = False


def learning_rate(training: Training, done: int, planned: int) -> float:
    """Returns the learning rate of the next step when *done* of the *planned* steps are done.

    The rate rises linearly from 0 during the warm-up and then follows the schedule. The first step has rate 0, as in
    the trainer of transformers, which the authors used.
    """
    warmup = training.warmup_steps
    if done < warmup:
        return training.learning_rate * done / warmup
    passed = (done - warmup) / max(1, planned - warmup)
    share = {"linear": 1 - passed, "cosine": (1 + math.cos(math.pi * passed)) / 2, "constant": 1.0}[training.schedule]
    return training.learning_rate * max(0.0, share)


def optimiser_for(model: nn.Module, training: Training) -> tuple[Optimizer, str]:
    """Returns the optimiser for the trained parameters of *model*, and the optimiser's name.

    If the settings request adamw_8bit but this machine cannot run it, the optimiser is adamw. Raises `ValueError` if
    *model* has no trained parameters.
    """
    import torch

    parameters = list(trained(model).values())
    if not parameters:
        raise ValueError("no parameter of the model requires a gradient")
    groups = [
        {
            "params": [parameter for parameter in parameters if parameter.dim() > 1],
            "weight_decay": training.weight_decay,
        },
        {"params": [parameter for parameter in parameters if parameter.dim() <= 1], "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    on_cuda = parameters[0].device.type == "cuda"
    if training.optimiser == "adamw_8bit" and on_cuda and importlib.util.find_spec("bitsandbytes"):
        from bitsandbytes.optim import AdamW8bit

        return AdamW8bit(groups, lr=training.learning_rate), "adamw_8bit"
    return torch.optim.AdamW(groups, lr=training.learning_rate), "adamw"

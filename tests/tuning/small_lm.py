"""A causal LM of a few thousand weights with dropout, written in plain torch, and sequences it can learn."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import torch

from gre_bench.tuning.pairs import Example
from gre_bench.tuning.record import HISTORY, TrainingStepResult
from gre_bench.tuning.trainer import train
from gre_bench.tuning.tuning_settings import TuningSettings

TOKENS = 40
TRAINING = TuningSettings(
    dtype="float32",
    epochs=3,
    batch=3,
    accumulation=2,
    learning_rate=1e-2,
    save_every=2,
    evaluate_every=5,
    max_tokens=30,
)


def changed(**settings: object) -> TuningSettings:
    """`TRAINING` with other values of some *settings*, which may be out of range."""
    return TRAINING.model_copy(update=settings)


class SmallLM(torch.nn.Module):
    """Embedding, a recurrent layer, dropout, head: knows nothing of transformers."""

    def __init__(self, seed: int = 0):
        super().__init__()
        torch.manual_seed(seed)
        self.embedding = torch.nn.Embedding(TOKENS, 16)
        self.layer = torch.nn.GRU(16, 16, batch_first=True)
        self.dropout = torch.nn.Dropout(0.2)
        self.head = torch.nn.Linear(16, TOKENS)

    def forward(self, input_ids: torch.Tensor) -> SimpleNamespace:
        return SimpleNamespace(logits=self.head(self.dropout(self.layer(self.embedding(input_ids))[0])))


def sequences(seed: int, count: int = 31) -> list[Example]:
    """Counting up in steps of three from anywhere; the first two tokens are given."""
    generator = random.Random(seed)
    made = []
    for _ in range(count):
        start, length = generator.randrange(TOKENS), generator.randint(4, 20)
        ids = tuple((start + 3 * place) % TOKENS for place in range(length))
        made.append(Example(ids, (0.0, 0.0, *[1.0] * (length - 2))))
    return made


LEARNT: Sequence[Example] = sequences(0)
HELD_OUT: Sequence[Example] = sequences(99, 7)


def train_until(folder: str, points: int, seconds: float) -> None:
    """A training that a timer ends *seconds* after its history has so many *points*, whatever it does then."""
    torch.set_num_threads(1)

    def pause(_: TrainingStepResult) -> None:
        if (Path(folder) / HISTORY).read_text().count("\n") == points:
            signal.setitimer(signal.ITIMER_REAL, seconds)
        time.sleep(0.05)

    train(SmallLM(), LEARNT, TRAINING, Path(folder), held_out=HELD_OUT, on_step=pause)

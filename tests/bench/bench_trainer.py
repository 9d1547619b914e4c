"""Compares our training loop with transformers' on a random two-layer Llama: tokens per CPU second, and loss.

Run it as `python -m tests.bench.bench_trainer`. Both train on the same conversations for the same number of steps: nine
endings after one prefix, like the predictions of an item. Ours is timed with and without shared prefixes.
"""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

from gre_bench.tuning.pairs import Example
from gre_bench.tuning.trainer import compute_padded_batch_loss, train
from gre_bench.tuning.tuning_settings import TuningSettings

STEPS, BATCH, VOCABULARY = 12, 9, 4096
PREFIX, ENDING = 480, 60
"""The tokens of a prefix (like an abstract with judgments) and of an ending (like the line that follows)."""


def model() -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=192, intermediate_size=512, num_hidden_layers=2, num_attention_heads=3,
        num_key_value_heads=3, max_position_embeddings=1024, pad_token_id=0,
    )  # fmt: skip
    return LlamaForCausalLM(config)


def conversations() -> list[Example]:
    generator = random.Random(0)
    made = []
    for _ in range(STEPS):
        prefix = [generator.randrange(1, VOCABULARY) for _ in range(PREFIX)]
        for _ in range(BATCH):
            ending = [generator.randrange(1, VOCABULARY) for _ in range(ENDING)]
            made.append(Example((*prefix, *ending), (*[0.0] * PREFIX, *[1.0] * ENDING)))
    return made


class TokenWeightedTrainer(Trainer):
    """A trainer that takes batches of `Example` and divides their summed loss by the tokens of the step."""

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        examples = inputs["examples"]
        return compute_padded_batch_loss(model, examples) / sum(sum(one.weights[1:]) for one in examples)


def train_with_ours(share: bool, folder: Path) -> tuple[float, float | None]:
    asked = TuningSettings(
        dtype="float32", epochs=1, batch=BATCH, accumulation=1, learning_rate=1e-3, warmup_steps=0, schedule="constant",
        optimiser="adamw", save_every=0, evaluate_every=0, max_tokens=1024, share_prefixes=share,
    )  # fmt: skip
    learner, start = model(), time.process_time()
    found = train(learner, conversations(), asked, folder)
    return time.process_time() - start, found.points[-1].loss


def train_with_transformers(folder: Path) -> tuple[float, float]:
    asked = TrainingArguments(
        output_dir=str(folder), num_train_epochs=1, per_device_train_batch_size=BATCH, learning_rate=1e-3,
        lr_scheduler_type="constant", weight_decay=0.01, max_grad_norm=1.0, save_strategy="no", logging_steps=1,
        report_to=[], use_cpu=True, remove_unused_columns=False, disable_tqdm=True, seed=42,
    )  # fmt: skip
    learner = model()
    trainer = TokenWeightedTrainer(
        model=learner, args=asked, train_dataset=conversations(), data_collator=lambda found: {"examples": found}
    )
    start = time.process_time()
    trainer.train()
    seconds = time.process_time() - start
    return seconds, next(row["loss"] for row in reversed(trainer.state.log_history) if "loss" in row)


def main() -> None:
    torch.set_num_threads(1)
    tokens = STEPS * BATCH * (PREFIX + ENDING)
    with tempfile.TemporaryDirectory() as folder:
        for name, run in (
            ("ours, prefixes shared", lambda: train_with_ours(True, Path(folder) / "shared")),
            ("ours", lambda: train_with_ours(False, Path(folder) / "plain")),
            ("transformers.Trainer", lambda: train_with_transformers(Path(folder) / "theirs")),
        ):
            seconds, loss = run()
            print(f"{name:24} {tokens / seconds:8.0f} tokens/CPU s   last loss {loss:.4f}", flush=True)


if __name__ == "__main__":
    main()

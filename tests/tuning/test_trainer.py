"""The training loop: what is minimised, that a run cut short ends as an unbroken one, and its refusals."""

from __future__ import annotations

import math
import multiprocessing
import resource
import signal
from pathlib import Path
from random import Random
from unittest.mock import Mock

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs the extra `lm`")

from gre_bench.core.errors import LMError, SettingsError, SourceError  # noqa: E402
from gre_bench.tuning.pairs import Example, build_batches, sum_trained_weights  # noqa: E402
from gre_bench.tuning.record import CHECKPOINT, HISTORY, TrainingHistory, TrainingStepResult  # noqa: E402
from gre_bench.tuning.trainer import compute_padded_batch_loss, learning_rate, train  # noqa: E402
from gre_bench.tuning.tuning_settings import TuningSettings  # noqa: E402
from tests.one_line import one_line  # noqa: E402
from tests.tuning import small_lm  # noqa: E402
from tests.tuning.small_lm import HELD_OUT, LEARNT, TRAINING, SmallLM, changed, sequences  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def weights(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def by_hand(model: torch.nn.Module, examples: list[Example]) -> tuple[float, float]:
    """Σ weight · nll and Σ weight, one sequence at a time, softmax in float64."""
    total = weight = 0.0
    for example in examples:
        with torch.no_grad():
            logits = model(torch.tensor([example.ids])).logits[0].double().numpy()
        for place in range(1, len(example.ids)):
            row = logits[place - 1]
            nll = row.max() + np.log(np.exp(row - row.max()).sum()) - row[example.ids[place]]
            total += example.weights[place] * nll
            weight += example.weights[place]
    return total, weight


MIXED = [
    Example((1, 2, 3, 4, 5, 6), (9.0, 0.0, 0.5, 1.0, 0.0, 2.0)),
    Example((7, 8), (0.0, 1.0)),
    Example((3, 1, 4, 1), (1.0, 1.0, 1.0, 0.0)),
]


def test_the_loss_is_the_weighted_one_whatever_the_padding() -> None:
    model = SmallLM().eval()
    total, weight = by_hand(model, MIXED)
    assert weight == sum_trained_weights(MIXED) == 6.5
    assert compute_padded_batch_loss(model, MIXED).item() == pytest.approx(total, rel=1e-6)
    apart = sum(compute_padded_batch_loss(model, [example]).item() for example in MIXED)
    assert compute_padded_batch_loss(model, MIXED).item() == pytest.approx(apart, rel=1e-6)


def test_a_step_divides_by_the_weight_of_all_its_batches(tmp_path: Path) -> None:
    examples = MIXED + sequences(1, 5)
    once = changed(epochs=2, warmup_steps=0, max_tokens=99, save_every=0)
    models = []
    for batch, accumulation in ((8, 1), (1, 8), (3, 3)):
        model = SmallLM()
        model.dropout.p = 0.0
        cut = once.model_copy(update={"batch": batch, "accumulation": accumulation})
        past = train(model, examples, cut, tmp_path / str(batch))
        assert past.steps == 2
        models.append(weights(model))
        fresh = SmallLM().eval()
        total, weight = by_hand(fresh, examples)
        assert past.training[0][1] == pytest.approx(total / weight, rel=1e-5)
    for other in models[1:]:
        assert all(torch.allclose(models[0][name], other[name], atol=1e-5) for name in other)


def test_training_lowers_the_held_out_loss_and_says_so_in_lines(tmp_path: Path) -> None:
    model = SmallLM()
    seen: list[TrainingStepResult] = []
    past = train(model, LEARNT, TRAINING, tmp_path, held_out=HELD_OUT, on_step=seen.append)
    assert past.steps == 18 and [step for step, _ in past.held_out] == [0, 5, 10, 15, 18]
    assert past.held_out[-1][1] < past.held_out[0][1] - 0.2
    total, weight = by_hand(model, list(HELD_OUT))
    assert not model.training and past.held_out[-1][1] == pytest.approx(total / weight, rel=1e-5)
    assert tuple(seen) == past.points
    assert seen[-1].epoch == 3 and seen[-1].steps == 18
    assert len((tmp_path / HISTORY).read_text().splitlines()) == 19


def test_all_examples_are_seen_once_an_epoch_in_batches_of_like_length() -> None:
    examples = sequences(5, 400)
    batches = build_batches(examples, 4, seed=1, epoch=0)
    assert sorted(id(one) for batch in batches for one in batch) == sorted(map(id, examples))
    spread = [max(len(one.ids) for one in batch) - min(len(one.ids) for one in batch) for batch in batches]
    assert np.mean(spread) < 1
    lengths = [len(batch[0].ids) for batch in batches]
    assert lengths != sorted(lengths)
    assert batches == build_batches(examples, 4, seed=1, epoch=0)
    assert batches != build_batches(examples, 4, seed=1, epoch=1) and batches != build_batches(
        examples, 4, seed=2, epoch=0
    )


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_the_learning_rate_is_that_of_the_authors_trainer(schedule: str) -> None:
    from transformers import get_scheduler

    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=2e-4)
    scheduler = get_scheduler(schedule, optimiser, num_warmup_steps=5, num_training_steps=40)
    training = TuningSettings(schedule=schedule)
    for done in range(40):
        assert learning_rate(training, done, 40) == pytest.approx(scheduler.get_last_lr()[0], rel=1e-9)
        optimiser.step()
        scheduler.step()
    assert learning_rate(TuningSettings(schedule="constant"), 39, 40) == 2e-4


def test_only_parameters_that_ask_for_it_are_trained(tmp_path: Path) -> None:
    model = SmallLM()
    model.embedding.requires_grad_(False)
    before = weights(model)
    train(model, LEARNT, TRAINING, tmp_path)
    after = weights(model)
    assert not model.training
    changed = {name for name in after if not torch.equal(before[name], after[name])}
    assert changed == {name for name in after if not name.startswith("embedding")}
    model.requires_grad_(False)
    with pytest.raises(ValueError, match="requires a gradient"):
        train(model, LEARNT, TRAINING, tmp_path / "none")


def test_training_ends_after_max_steps_however_many_epochs_that_takes(tmp_path: Path) -> None:
    for steps in (4, 20):
        past = train(SmallLM(), LEARNT, changed(max_steps=steps), tmp_path / str(steps), held_out=HELD_OUT)
        # Where 8 bits cannot be had, AdamW stands in and is named.
        assert past.optimiser == "adamw" or torch.cuda.is_available()
        assert past.steps == steps == past.held_out[-1][0]
        assert past.points[-1].learning_rate == pytest.approx(learning_rate(TRAINING, steps - 1, steps))


def test_arithmetic_in_bfloat16_leaves_the_weights_in_float32(tmp_path: Path) -> None:
    whole, half = SmallLM(), SmallLM()
    exact = train(whole, LEARNT, TRAINING, tmp_path / "whole", held_out=HELD_OUT)
    rough = train(half, LEARNT, changed(dtype="bfloat16"), tmp_path / "half", held_out=HELD_OUT)
    assert all(value.dtype == torch.float32 for value in half.state_dict().values())
    assert 0 < abs(exact.held_out[-1][1] - rough.held_out[-1][1]) < 0.1


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, torch.Tensor], TrainingHistory, str]:
    """Weights, history and its lines of a run that nobody disturbed."""
    torch.set_num_threads(1)
    folder, model = tmp_path_factory.mktemp("unbroken"), SmallLM()
    past = train(model, LEARNT, TRAINING, folder, held_out=HELD_OUT)
    return weights(model), past, (folder / HISTORY).read_text()


def test_a_run_killed_again_and_again_ends_with_the_weights_of_an_unbroken_one(unbroken, tmp_path: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.tuning.small_lm"])
    random = Random(3)
    for points in (2, 9):
        process = context.Process(target=small_lm.train_until, args=(str(tmp_path), points, random.uniform(0.001, 0.1)))
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGALRM
    assert list((tmp_path / CHECKPOINT).glob("step-*"))
    model = SmallLM(seed=5)
    past = train(model, LEARNT, TRAINING, tmp_path, held_out=HELD_OUT)
    assert (past, (tmp_path / HISTORY).read_text()) == unbroken[1:]
    assert same(weights(model), unbroken[0])


@pytest.mark.parametrize("last", [0, 1, 2, 5, 6, 12, 17])
def test_a_run_that_fails_after_any_step_goes_on_exactly(unbroken, tmp_path: Path, last: int) -> None:
    class Failure(Exception):
        pass

    def fail(point: TrainingStepResult) -> None:
        if point.step == last:
            raise Failure

    with pytest.raises(Failure):
        train(SmallLM(), LEARNT, TRAINING, tmp_path, held_out=HELD_OUT, on_step=fail)
    torch.rand(7)
    model = SmallLM(seed=8 if last > 2 else 0)
    assert train(model, LEARNT, TRAINING, tmp_path, held_out=HELD_OUT) == unbroken[1]
    assert same(weights(model), unbroken[0])
    assert len(list((tmp_path / CHECKPOINT).iterdir())) == 1


@pytest.mark.parametrize(
    ("other", "data", "base", "why"),
    [
        ({"batch": 4}, LEARNT, "one", "option batch was 3, is 4"),
        ({"learning_rate": 0.5}, LEARNT, "one", "option learning_rate was 0.01, is 0.5"),
        ({}, sequences(0, 30), "one", "training data was"),
        ({}, LEARNT, "two", "base was one, is two"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused_by_name(tmp_path: Path, other, data, base, why: str) -> None:
    train(SmallLM(), LEARNT, changed(max_steps=3), tmp_path, about={"base": "one"})
    with one_line(why, f"or delete {tmp_path / 'checkpoint'} to start again", kind=SettingsError):
        train(SmallLM(), data, changed(max_steps=3, **other), tmp_path, about={"base": base})
    train(SmallLM(), LEARNT, changed(max_steps=3, save_every=1), tmp_path, about={"base": "one"})


@pytest.mark.parametrize("file", ["state.json", "weights.safetensors", "optimiser.safetensors"])
def test_a_cut_checkpoint_is_refused_by_name(tmp_path: Path, file: str) -> None:
    train(SmallLM(), MIXED, TRAINING, tmp_path)
    (path,) = tmp_path.glob(f"checkpoint/step-*/{file}")
    path.write_bytes(path.read_bytes()[:100])
    with one_line("cannot be read", str(path.parent), "to start again", kind=SourceError):
        train(SmallLM(), MIXED, TRAINING, tmp_path)


def test_a_full_disk_is_one_clear_line_and_the_checkpoint_before_it_stays(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(point: TrainingStepResult) -> None:
        if point.step == 3:
            resource.setrlimit(resource.RLIMIT_FSIZE, (4000, limits[1]))

    try:
        with pytest.raises(SettingsError, match="cannot be written: .+; fix that, then run the same command again"):
            train(SmallLM(), LEARNT, TRAINING, tmp_path, on_step=fill)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.name for path in (tmp_path / "checkpoint").glob("step-*")] == ["step-00000002"]
    assert train(SmallLM(), LEARNT, TRAINING, tmp_path).steps == 18
    with pytest.raises(SettingsError, match="cannot be written"):
        train(SmallLM(), MIXED, TRAINING, tmp_path / HISTORY / "out")


@pytest.mark.parametrize(
    ("held_out", "why"),
    [
        ((), "the loss at step 1 is nan; lower learning_rate"),
        (HELD_OUT, "the held-out loss before the first step is nan"),
    ],
)
def test_a_model_that_gives_no_numbers_ends_the_training_with_one_clear_line(tmp_path: Path, held_out, why) -> None:
    model = SmallLM()
    with torch.no_grad():
        model.head.bias[3] = math.nan
    with pytest.raises(LMError, match=why):
        train(model, MIXED, TRAINING, tmp_path, held_out=held_out)
    assert not (tmp_path / "checkpoint").exists()


@pytest.mark.parametrize("held_out", [(), HELD_OUT])
def test_a_model_that_a_step_has_spoilt_is_not_kept(tmp_path: Path, held_out) -> None:
    wild = changed(learning_rate=3e37, warmup_steps=0, max_steps=1, clip=0.0)
    with pytest.raises(LMError, match=r"(loss|weight \S+) after step 1 is (nan|inf); lower learning_rate") as refusal:
        train(SmallLM(), LEARNT, wild, tmp_path, held_out=held_out)
    assert not (tmp_path / "checkpoint").exists() and "delete" not in str(refusal.value)
    assert "NaN" not in (tmp_path / HISTORY).read_text()
    train(SmallLM(), LEARNT, wild.model_copy(update={"learning_rate": 0.01}), tmp_path, held_out=held_out)


def test_where_a_checkpoint_is_in_the_way_of_a_lower_learning_rate_the_advice_says_so(tmp_path: Path) -> None:
    model = SmallLM()

    def spoil(point: TrainingStepResult) -> None:
        if point.step == 2:
            with torch.no_grad():
                model.head.bias[3] = math.nan

    with pytest.raises(LMError, match="the loss at step 3 is nan; lower learning_rate .*delete .*checkpoint to start"):
        train(model, LEARNT, changed(save_every=1), tmp_path, on_step=spoil)


@pytest.mark.parametrize("clip", [0.0, 1.0])
def test_a_gradient_that_is_no_number_changes_no_weight(tmp_path: Path, clip: float) -> None:
    model = SmallLM()
    model.head.weight.register_hook(lambda slope: slope * math.inf)
    before = weights(model)
    with pytest.raises(LMError, match="the norm of the gradient at step 1 is (inf|nan); lower learning_rate"):
        train(model, LEARNT, changed(clip=clip, warmup_steps=0), tmp_path)
    assert same(before, weights(model))


def test_running_out_of_memory_says_what_to_lower_and_other_faults_fly(tmp_path, monkeypatch) -> None:
    full = torch.OutOfMemoryError("CUDA out of memory")
    lower = "no memory left for 3 sequences of up to 30 tokens; lower batch"
    for fault, kind, why in (
        (lambda: torch.empty(2**60), LMError, lower),
        (Mock(side_effect=full), LMError, lower),
        (lambda: torch.ones(2) @ torch.ones(3), RuntimeError, "inconsistent tensor size"),
    ):
        monkeypatch.setattr(
            "gre_bench.tuning.trainer.compute_padded_batch_loss", lambda model, batch, fault=fault: fault()
        )
        with pytest.raises(kind, match=why):
            train(SmallLM(), MIXED, TRAINING, tmp_path)


@pytest.mark.parametrize(
    ("examples", "why"),
    [
        ([], "nothing to train on in 30 tokens; raise max_tokens"),
        ([Example((1, 2), (0.0,))], "2 tokens but 1 weights"),
        ([Example(tuple(range(31)), (1.0,) * 31)], "31 tokens; at most 30"),
        ([Example((1, 2), (1.0, 0.0))], "a weight below 0, or none above 0"),
        ([Example((1, 2), (0.0, -1.0))], "a weight below 0"),
    ],
)
def test_examples_that_teach_nothing_are_refused(tmp_path: Path, examples: list[Example], why: str) -> None:
    with pytest.raises(ValueError if examples else SourceError, match=why):
        train(SmallLM(), examples, TRAINING, tmp_path)

"""Fine-tuning from a folder to a folder: what comes of it, that it is used by naming it, and what is refused."""

from __future__ import annotations

import importlib.util
import json
import shutil
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

torch = pytest.importorskip("torch", reason="tuning needs the extra `lm`")
load_file = pytest.importorskip("safetensors.torch", reason="tuning needs the extra `lm`").load_file
if importlib.util.find_spec("peft") is None:  # it takes two seconds to import: only where it is used
    pytest.skip("tuning needs the extra `lm`", allow_module_level=True)

from gre_bench.core.errors import LMError, LockedError, SettingsError, SourceError  # noqa: E402
from gre_bench.core.records import SpanLogprob  # noqa: E402
from gre_bench.core.settings import EditionSettings, EvaluationLMSettings, Settings, ValidationSettings  # noqa: E402
from gre_bench.core.training_registers import PaperTexts, read_register, write_register  # noqa: E402
from gre_bench.lm import weights as opening  # noqa: E402
from gre_bench.lm.backends.transformers_lm import TransformersLM  # noqa: E402
from gre_bench.lm.opening import find_perturbations_in_training  # noqa: E402
from gre_bench.lm.weights import open_weights  # noqa: E402
from gre_bench.pipeline.perturbed_reviews import choose_perturbations  # noqa: E402
from gre_bench.tuning import fine_tuning, record, trainer  # noqa: E402
from gre_bench.tuning.fine_tuning import fine_tune  # noqa: E402
from gre_bench.tuning.pairs import JudgedPaper, build_training_predictions  # noqa: E402
from gre_bench.tuning.tuning_settings import TuningSettings  # noqa: E402
from tests.gpu.mean import write_mean  # noqa: E402
from tests.lm.chat_models import build_chat_model  # noqa: E402
from tests.lm.damages import rewritten, without_weights  # noqa: E402

PAPERS = [
    JudgedPaper(theme, tuple(f"The reviewer {verb} the {theme}." for verb in ("appreciates", "questions", "suggests")))
    for theme in ("writing", "novelty", "proofs")
]
LEARNT, KEPT = PAPERS[:2], PAPERS[2:]
ASKED, *_ = build_training_predictions(KEPT, ["gem"], 42)
SETTINGS = TuningSettings(
    max_tokens=1000, learning_rate=2e-2, epochs=2, batch=3, accumulation=2, warmup_steps=1, dtype="float32",
    evaluate_every=4, save_every=3,
)  # fmt: skip
DATA = {"judgments": "0" * 64, "rows": "0:2"}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_chat_model(tmp_path_factory.mktemp("bases") / "base", "llama3")


@pytest.fixture(scope="module")
def adapter(base: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    folder = tmp_path_factory.mktemp("tuned") / "adapter"
    return folder, tune(base, folder)


def tune(base: Path, folder: Path, **changes) -> dict:
    return fine_tune(base, LEARNT, KEPT, ["gem"], SETTINGS.model_copy(update=changes), folder, DATA)


def scores(folder: Path) -> list[SpanLogprob]:
    return TransformersLM.open(folder, device="cpu").logprob(ASKED)


def loss(folder: Path) -> float:
    """Nats a scored token on the papers kept aside, as an edition would score them."""
    spans = scores(folder)
    return -sum(span.total for span in spans) / sum(len(span.ids) for span in spans)


def pointed(adapter: Path, base: str) -> None:
    rewritten("adapter_config.json", lambda tree: tree.update(base_model_name_or_path=base))(adapter)


def test_an_adapter_lowers_the_loss_on_papers_it_never_saw_and_is_used_by_naming_its_folder(base, adapter) -> None:
    folder, made = adapter
    assert made["loss"]["held out after"] < made["loss"]["held out before"] - 0.5
    assert made["loss"]["held out before"] == pytest.approx(loss(base), rel=1e-5)
    assert made["loss"]["held out after"] == pytest.approx(loss(folder), rel=1e-5)
    plain, tuned = (TransformersLM.open(each, device="cpu") for each in (base, folder))
    assert (tuned.identity.name, tuned.identity.quantisation) == ("adapter", "none")
    assert tuned.identity.digest != plain.identity.digest
    assert tuned.identity.template_digest == plain.identity.template_digest
    assert type(tuned.weights.model) is type(plain.weights.model)
    assert all(one.total != other.total for one, other in zip(plain.logprob(ASKED), tuned.logprob(ASKED), strict=True))


def test_an_adapter_folder_holds_the_adapter_the_record_and_the_picture(base: Path, adapter) -> None:
    folder, made = adapter
    assert sorted(path.name for path in folder.iterdir()) == [
        "adapter_config.json", "adapter_model.safetensors", "history.jsonl", "loss.svg", "training.json",
    ]  # fmt: skip
    config = json.loads((folder / "adapter_config.json").read_text())
    assert (config["r"], config["lora_alpha"], config["lora_dropout"]) == (16, 16, 0)
    assert sorted(config["target_modules"]) == [
        "down_proj", "gate_proj", "k_proj", "o_proj", "q_proj", "up_proj", "v_proj"
    ]  # fmt: skip
    assert config["base_model_name_or_path"] == str(base)
    assert json.loads((folder / "training.json").read_text()) == made
    assert made["base"] == {
        "folder": str(base), "digest": opening.folder_digest(base), "dtype": "float32", "quantisation": "none"
    }  # fmt: skip
    assert made["conversations"] == {"learnt": 18, "held out": 9} and made["steps"] == 6
    assert made["asked"]["judgments"] == "0" * 64 and made["versions"]["torch"] == torch.__version__
    assert "save_every" not in made["asked"]
    lines = [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == list(range(7))
    picture = ElementTree.parse(folder / "loss.svg")
    texts = {node.text for node in picture.iter() if node.tag.endswith("text")}
    assert {"nats a token against step", "training", "held out", "base: lora on 2 papers"} <= texts
    assert not [node for node in picture.iter() if node.tag.endswith("script")]


def test_the_digest_covers_adapter_and_base_but_not_where_they_lie(base: Path, adapter, tmp_path: Path) -> None:
    digest = open_weights(adapter[0], device="cpu").digest
    moved_base = shutil.copytree(base, tmp_path / "elsewhere")
    moved = shutil.copytree(adapter[0], tmp_path / "adapter")
    pointed(moved, "../elsewhere")
    assert open_weights(moved, device="cpu").digest == digest
    shutil.rmtree(moved_base)
    with pytest.raises(LMError, match=r"its base \.\./elsewhere is no folder on this machine; write the base's folder"):
        open_weights(moved, device="cpu")
    pointed(moved, str(build_chat_model(tmp_path / "other", "llama3", seed=1)))
    with pytest.raises(LMError, match="is not the one it was trained on"):
        open_weights(moved, device="cpu")
    (moved / "training.json").unlink()
    on_another_base = open_weights(moved, device="cpu").digest
    pointed(moved, str(base))
    tensors = moved / "adapter_model.safetensors"
    tensors.write_bytes(tensors.read_bytes()[:-4] + b"\0\0\1\0")
    assert len({digest, on_another_base, open_weights(moved, device="cpu").digest}) == 3


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda folder: (folder / "adapter_model.safetensors").unlink(), "no adapter_model.safetensors; other"),
        (lambda folder: (folder / "adapter_model.safetensors").write_bytes(b"none"), "its adapter cannot be used"),
        (lambda folder: (folder / "adapter_config.json").write_text("{"), "adapter_config.json cannot be read"),
        (lambda folder: (folder / "training.json").write_text("[]"), "training.json cannot be read"),
        (without_weights("adapter_model.safetensors", lambda name: "layers.0.mlp.up" in name), "does not fit the base"),
        (rewritten("adapter_config.json", lambda tree: tree.update(peft_type="IA3")), "only plain LoRA adapters"),
        (lambda folder: pointed(folder, "meta-llama/Llama-3.1-8B-Instruct"), "is no folder on this machine"),
        (lambda folder: pointed(folder, "."), "is an adapter itself"),
    ],
)
def test_a_damaged_adapter_is_one_clear_line(adapter, tmp_path: Path, damage, why: str) -> None:
    folder = shutil.copytree(adapter[0], tmp_path / "damaged")
    damage(folder)
    with pytest.raises(LMError, match=why) as refusal:
        open_weights(folder, device="cpu")
    assert "\n" not in str(refusal.value) and str(folder) in str(refusal.value)


def test_all_weights_can_be_trained_and_the_folder_is_an_ordinary_one(base: Path, tmp_path: Path) -> None:
    gone = shutil.copytree(base, tmp_path / "gone")
    made = tune(gone, tmp_path / "full", method="full", learning_rate=2e-3, dtype="bfloat16")
    shutil.rmtree(gone)
    assert made["loss"]["held out after"] < made["loss"]["held out before"] - 0.5
    assert made["loss"]["held out after"] == pytest.approx(loss(tmp_path / "full"), rel=0.02)
    assert (tmp_path / "full" / "model.safetensors").is_file()
    assert not (tmp_path / "full" / "checkpoint").exists()


def test_the_adapter_of_a_base_in_bfloat16_is_written_in_bfloat16(base: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    settings = SETTINGS.model_copy(update={"dtype": "bfloat16", "max_steps": 1})
    made = fine_tune(base, LEARNT, (), ["gem"], settings, tmp_path / "out", DATA)
    assert made["base"]["dtype"] == "bfloat16" and made["steps"] == 1
    tensors = load_file(tmp_path / "out" / "adapter_model.safetensors")
    assert {tensor.dtype for tensor in tensors.values()} == {torch.bfloat16}
    assert open_weights(tmp_path / "out", device="cpu", dtype="bfloat16").model.dtype == torch.bfloat16


@pytest.mark.parametrize("method", ["lora", "full"])
def test_sharing_prefixes_reads_a_paper_a_batch_and_changes_no_loss(base: Path, tmp_path: Path, method: str) -> None:
    asked = {"method": method, "dtype": "float32", "batch": 9, "max_steps": 3, "learning_rate": 1e-3}
    shared, alone = (tune(base, tmp_path / str(way), share_prefixes=way, **asked)["loss"] for way in (True, False))
    assert shared["held out after"] == pytest.approx(alone["held out after"], rel=0.05)
    assert shared["held out after"] < alone["held out before"] - 0.02


@pytest.mark.parametrize("method", ["lora", "full"])
def test_computing_again_what_lies_between_the_layers_changes_nothing(base: Path, tmp_path: Path, method: str) -> None:
    kept, again = (tune(base, tmp_path / str(way), method=method, max_steps=3, recompute=way) for way in (False, True))
    assert kept["loss"]["held out after"] < kept["loss"]["held out before"] - 0.01
    assert again["loss"]["held out after"] == pytest.approx(kept["loss"]["held out after"], rel=1e-6)


def test_learning_from_all_tokens_is_another_training(base: Path, adapter, tmp_path: Path) -> None:
    made = tune(base, tmp_path / "full", learnt="full", max_steps=1)
    assert made["loss"]["held out before"] != pytest.approx(adapter[1]["loss"]["held out before"], rel=1e-3)


@pytest.mark.parametrize("stage", ["train", "save_trained_model", "draw_loss_curves", "write_training_record"])
def test_a_training_that_ends_at_any_stage_is_continued_to_the_same_adapter_and_not_done_twice(
    base, adapter, tmp_path, monkeypatch, stage
):
    class Failure(Exception):
        pass

    def after(*args, **keywords):
        work(*args, **keywords)
        raise Failure

    owner = {"write_training_record": record, "train": trainer}.get(stage, fine_tuning)
    work = getattr(owner, stage)
    with monkeypatch.context() as patched:
        patched.setattr(owner, stage, after)
        with pytest.raises(Failure):
            tune(base, tmp_path / "out")
    folder = tmp_path / "out"
    assert tune(base, folder) == adapter[1]
    written = (folder / "adapter_model.safetensors").read_bytes()
    assert written == (adapter[0] / "adapter_model.safetensors").read_bytes()
    assert not (folder / "checkpoint").exists()
    # As if killed between its record and the end of its checkpoints.
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    (folder / "checkpoint" / "step-00000006").mkdir(parents=True)
    assert tune(base, folder, save_every=5) == adapter[1]
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def test_a_folder_of_another_training_or_of_something_else_is_refused(base: Path, adapter, tmp_path: Path) -> None:
    folder = shutil.copytree(adapter[0], tmp_path / "out")
    with pytest.raises(SettingsError, match="another training .epochs was 2, is 1.; choose another folder"):
        tune(base, folder, epochs=1)
    with pytest.raises(SettingsError, match="rows was 0:2, is 0:5"):
        fine_tune(base, LEARNT, KEPT, ["gem"], SETTINGS, folder, DATA | {"rows": "0:5"})
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("")
    for other, what in ((tmp_path / "other", r" \(thesis.tex\)"), (base, "")):
        with pytest.raises(SettingsError, match=f"holds something else{what}"):
            tune(base, other)
    with (
        record.lock_training_folder(tmp_path / "new"),
        pytest.raises(LockedError, match="another process is training into"),
    ):
        tune(base, tmp_path / "new")


def test_where_four_bits_cannot_be_had_they_are_refused_and_auto_does_without(base: Path, tmp_path: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("4 bits may be had here")
    with pytest.raises(LMError, match="quantisation nf4 needs a CUDA device; use quantisation none"):
        tune(base, tmp_path / "out", quantisation="nf4")
    with pytest.raises(LMError, match="quantisation nf4 needs a CUDA device"):
        open_weights(base, quantisation="nf4")
    assert opening.find_missing_nf4_support("cuda") is None or "bitsandbytes" in opening.find_missing_nf4_support(
        "cuda"
    )


def test_training_that_starts_from_an_adapter_goes_on_from_its_weights(base: Path, adapter, tmp_path: Path) -> None:
    same = tune(adapter[0], tmp_path / "same", max_steps=1)  # the first step of a warm-up has rate 0
    assert [span.total for span in scores(tmp_path / "same")] == [span.total for span in scores(adapter[0])]
    assert same["loss"]["held out before"] == pytest.approx(adapter[1]["loss"]["held out after"], rel=1e-5)
    assert same["base"] == adapter[1]["base"]
    assert same["asked"]["start"] == opening.folder_digest(adapter[0])
    more = tune(adapter[0], tmp_path / "more")
    assert more["loss"]["last step"] < adapter[1]["loss"]["last step"]


def test_the_mean_of_two_adapters_lies_between_them_and_says_of_whom_it_is(adapter, tmp_path: Path) -> None:
    first, second = shutil.copytree(adapter[0], tmp_path / "first"), tmp_path / "second"
    tune(first, second, max_steps=3, learning_rate=1e-2)
    for number, folder in enumerate((first, second)):
        write_register(folder, [PaperTexts(f"p{number}")])
    ends = [load_file(folder / opening.ADAPTER_WEIGHTS) for folder in (first, second)]
    for weight in (0.0, 0.25, 1.0):
        write_mean(first, second, weight, mean := tmp_path / f"mean-{weight}")
        for name, tensor in load_file(mean / opening.ADAPTER_WEIGHTS).items():
            assert torch.allclose(tensor, (1 - weight) * ends[0][name] + weight * ends[1][name], atol=1e-3)
    assert [span.total for span in scores(tmp_path / "mean-1.0")] == [span.total for span in scores(second)]
    register = read_register(mean, "mean")
    assert register.problem is None and register.entries == PaperTexts("p0").entries | PaperTexts("p1").entries
    of = [opening.folder_digest(folder) for folder in (first, second)]
    assert json.loads((mean / "training.json").read_text())["mean"] == {"of": of, "weight of the second": 1.0}
    with pytest.raises(ValueError, match="did not start from"):
        write_mean(second, first, 0.5, tmp_path / "none")


def test_what_learnt_contrast_says_so_and_so_does_what_starts_from_it(base: Path, adapter, tmp_path: Path) -> None:
    contrast = {"share_prefixes": True, "contrast": 0.3, "contrast_others": 1}
    tune(base, tmp_path / "one", max_steps=1, **contrast)
    tune(tmp_path / "one", tmp_path / "two", max_steps=1)
    assert [opening.is_trained_by_contrast(folder) for folder in (base, adapter[0], tmp_path / "one", tmp_path / "two")] == [
        False, False, True, True,
    ]  # fmt: skip
    settings = EvaluationLMSettings(backend="transformers", folder=tmp_path / "two")
    assert list(find_perturbations_in_training(settings)) == ["random_replacement", "invention"]
    assert find_perturbations_in_training(settings.model_copy(update={"folder": adapter[0]})) == {}
    chosen = {"evaluation_lm": settings, "edition": EditionSettings(year=2026)}
    assert "random_replacement" not in choose_perturbations(Settings(**chosen))
    named = ValidationSettings(perturbations=("random_replacement",))
    with pytest.raises(SettingsError, match="leave out random_replacement: two learnt to tell reviews of other papers"):
        choose_perturbations(Settings(**chosen, validation=named))


def test_an_adapter_of_another_form_or_base_is_no_start(base: Path, adapter, tmp_path: Path) -> None:
    out, other = tmp_path / "out", shutil.copytree(adapter[0], tmp_path / "other")
    with pytest.raises(LMError, match="another lora_r: --set lora_r=16"):
        tune(adapter[0], out, lora_r=8)
    with pytest.raises(LMError, match="another lora_targets: --set lora_targets=.*down_proj"):
        tune(adapter[0], out, lora_targets=("q_proj",))
    with pytest.raises(LMError, match="cannot be trained as a whole: use method lora"):
        tune(adapter[0], out, method="full")
    pointed(other, str(build_chat_model(tmp_path / "another", "llama3", seed=2)))
    with pytest.raises(LMError, match="use the base it was trained on"):
        tune(other, out)
    assert not out.exists()


def test_a_base_that_cannot_be_trained_or_is_spoilt_is_one_clear_line(base: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(LMError, match="there is no such folder"):
        tune(tmp_path / "nowhere", out)
    with pytest.raises(LMError, match="no adapter can be added: .*c_attn"):
        tune(base, out, lora_targets=("c_attn",))
    bare = shutil.copytree(base, tmp_path / "bare")
    (bare / "chat_template.jinja").unlink()
    with pytest.raises(LMError, match="no chat template"):
        tune(bare, out)
    assert not out.exists()
    with pytest.raises(LMError, match="after step 1 is nan; lower learning_rate"):
        tune(base, out, max_steps=1, warmup_steps=0, learning_rate=1e30, clip=0.0)
    assert not (out / "training.json").exists()


@pytest.mark.parametrize("targets", [("lm_head",), ("q_proj", "embed_tokens"), ("model.embed_tokens",)])
def test_an_end_of_a_model_whose_ends_are_one_matrix_is_not_adapted(tmp_path: Path, targets: tuple[str, ...]) -> None:
    tied = build_chat_model(tmp_path / "tied", "llama3", tie_word_embeddings=True)
    with pytest.raises(LMError, match=f"are one matrix.*; leave {targets[-1]} out of lora_targets"):
        tune(tied, tmp_path / "out", lora_targets=targets)
    assert not (tmp_path / "out").exists()


def test_an_end_of_a_model_whose_ends_are_two_matrices_scores_as_it_was_trained(base: Path, tmp_path: Path) -> None:
    made = tune(base, tmp_path / "out", lora_targets=("lm_head",), max_steps=3)
    assert made["loss"]["held out after"] < made["loss"]["held out before"] - 0.01
    assert made["loss"]["held out after"] == pytest.approx(loss(tmp_path / "out"), rel=1e-5)


def test_papers_that_teach_nothing_are_refused_with_the_reasons_or_counted_in_the_record(base, tmp_path) -> None:
    two = [replace(paper, judgments=paper.judgments[:2]) for paper in LEARNT]
    with pytest.raises(
        SourceError, match="none of the 2 papers to train on is usable: 2 papers with fewer than 3 reviews"
    ):
        fine_tune(base, two, KEPT, ["gem"], SETTINGS, tmp_path / "out", DATA)
    with pytest.raises(
        SourceError, match="none of the 1 papers to measure the loss on is usable: 9 conversations of more"
    ):
        long = [replace(paper, judgments=tuple(text + " again" * 900 for text in paper.judgments)) for paper in KEPT]
        fine_tune(base, LEARNT, long, ["gem"], SETTINGS, tmp_path / "out", DATA)
    papers = [*LEARNT[:1], JudgedPaper("two", PAPERS[1].judgments[:2])]
    made = fine_tune(base, papers, (), ["gem"], SETTINGS.model_copy(update={"epochs": 1}), tmp_path / "out", DATA)
    assert made["excluded"] == {
        "learnt": {"papers with fewer than 3 reviews with judgments": 1}, "held out": {}
    }  # fmt: skip
    assert made["loss"]["held out before"] is None and made["conversations"] == {"learnt": 9, "held out": 0}


def test_contrast_asks_with_reviews_of_other_papers_too_and_changes_what_is_learnt(base: Path, tmp_path: Path) -> None:
    made = tune(base, tmp_path / "told", share_prefixes=True, contrast=1.0)
    plain = tune(base, tmp_path / "plain", share_prefixes=True, batch=15)
    assert made["conversations"] == {"learnt": 30, "held out": 9} and plain["conversations"]["learnt"] == 18
    assert made["loss"]["held out after"] < made["loss"]["held out before"] - 0.2  # the usual loss is the anchor
    assert made["loss"]["first step"] > plain["loss"]["first step"]  # it has the contrastive term, ln 3 at first
    for others in ({"share_prefixes": False}, {"share_prefixes": True, "learnt": "full"}):
        with pytest.raises(ValueError, match="contrast needs share_prefixes=true and learnt=reply"):
            TuningSettings(contrast=0.3, **others)

"""The one-by-one evaluation LM against an independent computation, then its refusals."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the evaluation LM needs the extra `lm`")
transformers = pytest.importorskip("transformers", reason="the evaluation LM needs the extra `lm`")

from gre_bench.core.errors import LMError, SpanError  # noqa: E402
from gre_bench.core.records import Prediction, SpanLogprob  # noqa: E402
from gre_bench.lm.backends.transformers_lm import TransformersLM  # noqa: E402
from gre_bench.lm.weights import open_weights  # noqa: E402
from gre_bench.prompts.library import load, render  # noqa: E402
from tests.conftest import ROOT  # noqa: E402
from tests.lm.chat_models import build_chat_model  # noqa: E402
from tests.lm.damages import rewritten, without_weights  # noqa: E402

TEMPLATES = ("llama3", "chatml", "mistral")
X = "The reviewer appreciates the clear writing.\n\nThe reviewer questions the choice of hyperparameters."
Y = "The reviewer criticizes the limited novelty.\nThe reviewer suggests adding an ablation study. 🙂"
PREDICTIONS = [
    Prediction(X, None, Y),
    Prediction(None, None, Y),
    Prediction(X, "We study how a model learns.", Y),
    Prediction("", "", ""),
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    parent = tmp_path_factory.mktemp("models")
    return {name: build_chat_model(parent / name, name) for name in TEMPLATES}


def opened(folder: Path, **options: object) -> TransformersLM:
    return TransformersLM.open(folder, device="cpu", engine="one-by-one", **options)


def written_by_hand(template: str, prediction: Prediction) -> tuple[str, str]:
    """The conversation up to the span, and the span, spelled out."""
    system = load("predict_judgments").system
    known = [text if text is not None else "Not available" for text in (prediction.synopsis, prediction.x)]
    user = f"[Abstract of the paper]\n\n{known[0]}\n\n[Review judgments from the first reviewer]\n\n{known[1]}"
    if template == "llama3":
        head = "<|start_header_id|>{}<|end_header_id|>"
        return (
            f"<|begin_of_text|>{head.format('system')}\n\nCutting Knowledge Date: December 2023\n"
            f"Today Date: 26 Jul 2024\n\n{system}<|eot_id|>{head.format('user')}\n\n{user.strip()}<|eot_id|>"
            f"{head.format('assistant')}",
            f"\n\n{prediction.reply}<|eot_id|>",
        )
    if template == "chatml":
        turns = f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n{user}<|im_end|>\n<|im_start|>assistant"
        return turns, f"\n{prediction.reply}<|im_end|>"
    return f"<s>[INST] {system}\n\n{user}[/INST]", f" {prediction.reply}</s>"


def by_hand(folder: Path, template: str, prediction: Prediction) -> tuple[list[int], list[float]]:
    """Ids and log-probabilities of the span from the logits of the whole conversation, softmax in float64."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    before, span = (tokenizer.encode(part, add_special_tokens=False) for part in written_by_hand(template, prediction))
    ids = before + span
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0].numpy().astype(np.float64)
    top = logits.max(axis=1, keepdims=True)
    logprobs = logits - top - np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
    return span, [float(logprobs[place - 1, ids[place]]) for place in range(len(before), len(ids))]


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("template", TEMPLATES)
def test_each_token_has_the_log_probability_computed_by_hand(folders, template, attention):
    lm = opened(folders[template], attention=attention)
    assert lm.weights.model.config._attn_implementation == attention
    for prediction, answer in zip(PREDICTIONS, lm.logprob(PREDICTIONS), strict=True):
        ids, logprobs = by_hand(folders[template], template, prediction)
        assert list(answer.ids) == ids
        assert answer.logprobs == pytest.approx(logprobs, abs=2e-5, rel=0)
        assert answer.total == math.fsum(answer.logprobs)
        assert answer.escaped == 0


def test_the_softmax_is_in_float32_even_where_the_weights_are_in_bfloat16(folders: dict[str, Path]) -> None:
    lm = opened(folders["llama3"], dtype="bfloat16")
    kept = []
    forward = lm.weights.model.forward
    lm.weights.model.forward = lambda *args, **keywords: kept.append(forward(*args, **keywords)) or kept[-1]
    answer = lm.logprob(PREDICTIONS[:1])[0]
    logits = kept[0].logits[0]
    assert logits.dtype == torch.bfloat16
    rows = logits.double().numpy()
    exact = [
        row[token] - row.max() - np.log(np.exp(row - row.max()).sum())
        for row, token in zip(rows, answer.ids, strict=True)
    ]
    assert answer.logprobs == pytest.approx(exact, abs=2e-5, rel=0)
    rough = torch.log_softmax(logits, -1)[range(len(answer.ids)), list(answer.ids)].float().numpy()
    assert np.abs(rough - exact).max() > 1e-3


def test_only_the_rows_of_the_span_pass_the_head_and_a_model_that_cannot_leave_rows_out_gives_the_same(folders) -> None:
    lm = opened(folders["chatml"])
    rows = []
    lm.weights.model.lm_head.register_forward_hook(lambda head, given, made: rows.append(made.shape[1]))
    expected = lm.logprob(PREDICTIONS)
    assert rows == [len(answer.ids) for answer in expected]
    lm.engine._keeps = False
    for one, other in zip(expected, lm.logprob(PREDICTIONS), strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=2e-5, rel=0)


def test_control_tokens_are_counted_with_the_answer_and_one_that_the_model_lacks_is_a_fault_not_a_crash(
    folders,
) -> None:
    lm = opened(folders["llama3"])
    assert lm.logprob([Prediction("a<|eot_id|>", None, "b<|eot_id|>c<|begin_of_text|>")])[0].escaped == 3
    lm.template.tokenizer.add_tokens(["\N{SNOWMAN}"])
    answer = lm.logprob([Prediction("\N{SNOWMAN}", None, Y)])[0]
    assert isinstance(answer, SpanError) and answer.broken


def test_the_identity_says_what_was_opened_and_how(folders: dict[str, Path], tmp_path: Path) -> None:
    identity = opened(folders["llama3"]).identity
    described = (identity.name, identity.dtype, identity.attention, identity.quantisation)
    assert described == ("llama3", "float32", "sdpa", "none")
    same = shutil.copytree(folders["llama3"], tmp_path / "same" / "llama3")
    (same / "README.md").write_text("not part of the model")
    assert opened(same).identity == identity
    half = opened(same, dtype="bfloat16", attention="eager").identity
    assert (half.dtype, half.attention, half.digest) == ("bfloat16", "eager", identity.digest)
    build_chat_model(same, "llama3", seed=1)
    assert opened(same).identity.digest != identity.digest
    others = {opened(folders[name]).identity.template_digest for name in TEMPLATES}
    assert len(others) == len(TEMPLATES)


def test_a_conversation_longer_than_the_context_is_too_long_and_says_both_lengths(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    whole = opened(folders["llama3"])
    answer = whole.logprob(PREDICTIONS[:1])[0]
    before, _ = written_by_hand("llama3", PREDICTIONS[0])
    length = len(whole.template.tokenizer.encode(before, add_special_tokens=False)) + len(answer.ids)
    fits, short = (
        opened(build_chat_model(tmp_path / str(context), "llama3", context=context)) for context in (length, length - 1)
    )
    assert fits.logprob(PREDICTIONS[:1]) == [answer]
    refused, _ = short.logprob([PREDICTIONS[0], PREDICTIONS[1]])
    assert isinstance(refused, SpanError)
    assert (refused.code, refused.final, refused.broken) == ("too_long", True, False)
    assert str(length) in str(refused) and str(length - 1) in str(refused)
    refused = whole.logprob([Prediction("word " * 2500, None, Y)])[0]
    assert refused.code == "too_long" and "2048" in str(refused)


def test_running_out_of_memory_is_worth_another_try_and_leaves_the_neighbours_alone(folders: dict[str, Path]) -> None:
    lm = opened(folders["llama3"])
    expected = lm.logprob(PREDICTIONS)
    forward = lm.weights.model.forward

    def small(ids: torch.Tensor, **keywords: object) -> object:
        if ids.shape[1] == longest:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(ids, **keywords)

    longest = max(len(lm.template.encode(chat).ids) for chat in map(render, PREDICTIONS)) - 1
    lm.weights.model.forward = small
    answers = lm.logprob(PREDICTIONS)
    assert [(answer.code, answer.final) for answer in answers if isinstance(answer, SpanError)] == [
        ("out_of_memory", False)
    ]
    kept = [(one, other) for one, other in zip(answers, expected, strict=True) if isinstance(one, SpanLogprob)]
    assert len(kept) == 3 and all(one == other for one, other in kept)


FOREIGN = {
    "model_type": "foreign",
    "auto_map": {"AutoConfig": "foreign.Config", "AutoModelForCausalLM": "foreign.Model"},
}


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (shutil.rmtree, "there is no such folder"),
        *((lambda folder, file=file: (folder / file).unlink(), line) for file, line in [
            ("config.json", "no config.json"), ("model.safetensors", r"no \*.safetensors"),
            ("chat_template.jinja", "no chat template"), ("tokenizer.json", "its tokenizer cannot be read"),
        ]),
        (lambda folder: (folder / "config.json").write_text("{"), "cannot be"),
        (lambda folder: (folder / "tokenizer.json").write_text("{"), "its tokenizer cannot be read"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"no weights"), "its weights cannot be loaded"),
        (lambda folder: (folder / "chat_template.jinja").write_text("{{ raise_exception('no') }}"), "chat template"),
        (without_weights("model.safetensors", "model.layers.1.mlp.up_proj.weight".__eq__), "layers.1.mlp.up_proj.weight"),
        (rewritten("config.json", lambda tree: tree.update(intermediate_size=96)), "cannot be loaded|lack"),
        (rewritten("config.json", lambda tree: tree.update(FOREIGN)), "cannot be"),
    ],
)  # fmt: skip
def test_a_folder_that_cannot_be_used_is_one_clear_line(folders, tmp_path, damage, why):
    folder = shutil.copytree(folders["llama3"], tmp_path / "damaged")
    (folder / "foreign.py").write_text("raise SystemExit('this code ran')")
    damage(folder)
    with pytest.raises(LMError, match=why) as refusal:
        opened(folder)
    assert "\n" not in str(refusal.value)
    assert str(folder) in str(refusal.value)


def test_an_unknown_option_and_a_gpu_where_there_is_none_are_one_clear_line(folders, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for option, said in (
        ({"device": "tpu"}, "'tpu' is none of .+, .+"),
        ({"dtype": "int8"}, "'int8' is none of .+, .+"),
        ({"attention": "flash"}, "'flash' is none of .+, .+"),
        ({"device": "cuda"}, "no CUDA device"),
    ):
        with pytest.raises(LMError, match=said):
            TransformersLM.open(folders["llama3"], **option)
    TransformersLM.open(folders["llama3"], device="auto")


@pytest.mark.parametrize("library", ["torch", "transformers"])
def test_a_missing_library_says_how_to_install_it(folders, monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(LMError, match=r"pip install 'gre-bench\[lm\]'"):
        opened(folders["llama3"])


def test_importing_the_module_loads_neither_library() -> None:
    code = "import sys, gre_bench.lm.backends.transformers_lm; print({'torch', 'transformers', 'jinja2'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("asked", "double", "named"), [("nf4", False, "nf4-single"), ("nf4-double", True, "nf4-double")]
)
def test_four_bits_are_those_of_the_authors_notebook_and_the_signature_says_which(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch, asked, double, named
) -> None:
    taken: dict[str, object] = {}
    monkeypatch.setattr("gre_bench.lm.weights.find_missing_nf4_support", lambda device: None)
    monkeypatch.setattr("transformers.BitsAndBytesConfig", lambda **options: taken.update(options))
    weights = open_weights(folders["llama3"], device="cpu", quantisation=asked)
    assert (taken["bnb_4bit_quant_type"], taken["bnb_4bit_use_double_quant"]) == ("nf4", double)
    assert weights.quantisation == named

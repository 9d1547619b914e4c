"""``gre-bench models bench scoring`` as a user calls it, on a model so small that its figures mean nothing."""

from __future__ import annotations

import json
from functools import partial

import pytest

pytest.importorskip("torch", reason="measuring needs the extra `lm`")

import torch

from gre_bench.checks.bench_scoring import load
from gre_bench.core.errors import LMError, SettingsError
from gre_bench.lm import measurement
from gre_bench.lm.measurement import learnt_tokenizer, random_weights
from gre_bench.lm.weights import read_tokenizer
from tests.cli.calling import shown
from tests.lm.chat_models import build_chat_model
from tests.servers.scripted_vllm import scripted_vllm

SMALL = ["--candidates", "2", "--rounds", "1", "--set", "evaluation_lm.device=cpu"]


@pytest.fixture(autouse=True)
def small_products(monkeypatch):
    """The machine's peak is measured by small matrix products: nobody reads the figure here."""
    monkeypatch.setattr(measurement, "matmul_peak", partial(measurement.matmul_peak, size=256))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(build_chat_model(tmp_path_factory.mktemp("model") / "llama3", context=8192))


def test_each_method_has_its_ratios_and_the_table_shows_them_with_the_hours_of_an_edition(model):
    code, told = shown("models", "bench", "scoring", "--model", model, *SMALL, "--json", "--growth")
    assert code == 0, told
    found = json.loads(told)
    assert {"one-by-one", "batches", "trie"} <= set(found["methods"])
    for row in found["methods"].values():
        assert {"cpu_ratio", "wall_ratio", "work_ratio"} <= set(row)
    assert found["pairs"] == 1 * 2 * 2 * 3
    assert found["methods"]["trie"]["work_ratio"] > 1
    assert [row["papers"] for row in found["growth"]] == [1, 2, 4, 8]
    code, table = shown("models", "bench", "scoring", "--model", model, *SMALL, "--growth")
    for words in ("one-by-one", "batches", "trie", "TFLOP/s", "12 pairs", " h", "engine on 8 papers"):
        assert words in table


def test_a_paper_has_its_candidates_references_and_synopses():
    asked = load(None, None, papers=2, candidates=3, synopses=2)
    assert asked.pairs == 2 * 3 * 2 * 2
    for paper in asked.papers:
        # Marginals once for each reference and synopsis.
        assert len(paper) == len(set(paper)) == 2 * (3 + 1) * 2
        assert len({one.synopsis for one in paper}) == 2 and len({one.reply for one in paper}) == 2


def test_too_few_reviews_are_refused_with_what_there_is():
    with pytest.raises(SettingsError, match="papers with three judged reviews: too few for 1 papers with 500"):
        load(None, None, papers=1, candidates=500, synopses=1)
    with pytest.raises(SettingsError, match="and 40 synopses each"):
        load(None, None, papers=1, candidates=1, synopses=40)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--set", "evaluation_lm.endpoint=http://127.0.0.1:1"], "evaluation_lm.endpoint needs --model, the folder"),
        (["--set", "evaluation_lm.quantisation=nf4"], "evaluation_lm.quantisation needs --model"),
        (["--set", "budget.usd=5"], "--set budget.usd=5: only the LM can be set here, such as evaluation_lm.dtype="),
    ],
)
def test_options_that_do_not_go_together_are_refused_in_one_line(options, why):
    code, told = shown("models", "bench", "scoring", *options, *SMALL)
    assert code == 2 and told.startswith(why)


@pytest.mark.parametrize("name", ["dtype", "device", "attention"])
def test_an_unknown_value_is_refused_with_the_known_ones_before_anything_is_read(name):
    # The last of two settings counts.
    wrong = ("--judgments", "nowhere.jsonl", "--set", f"evaluation_lm.{name}=foo")
    code, told = shown("models", "bench", "scoring", *SMALL, *wrong)
    assert code == 2 and f"evaluation_lm.{name}" in told and "\n" not in told


@pytest.mark.parametrize("option", [{"dtype": "foo"}, {"device": "tpu"}, {"attention": "flash"}])
def test_a_random_model_names_the_options_that_are_known(option):
    (value,) = option.values()
    with pytest.raises(LMError, match=f"random model 60m: '{value}' is none of .+, .+"):
        random_weights("60m", learnt_tokenizer([]), **option)


def test_a_random_model_on_a_gpu_that_is_not_there_is_one_clear_line(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(LMError, match="random model 60m: no CUDA device is available"):
        random_weights("60m", learnt_tokenizer([]), device="cuda")


def test_a_random_model_that_memory_does_not_hold_is_refused(model, monkeypatch, tmp_path):
    monkeypatch.setattr(measurement, "MEMINFO", tmp_path / "meminfo")
    (tmp_path / "meminfo").write_text("MemTotal: 16000000 kB\nMemAvailable: 15000000 kB\n")
    with pytest.raises(LMError, match=r"its weights take 15\.0 GiB and this machine has 14\.3 GiB left"):
        random_weights("llama-3.1-8b", read_tokenizer(model), device="cpu", dtype="bfloat16")
    assert torch.get_default_dtype() == torch.float32


def test_a_random_model_that_memory_holds_is_made_in_its_dtype(model, monkeypatch, tmp_path):
    monkeypatch.setattr(measurement, "MEMINFO", tmp_path / "nowhere")
    monkeypatch.setitem(measurement.SHAPES, "60m", measurement.SHAPES["60m"] | {"num_hidden_layers": 1})
    weights = random_weights("60m", read_tokenizer(model), device="cpu", dtype="bfloat16", attention="eager")
    assert {str(one.dtype) for one in weights.model.parameters()} == {"torch.bfloat16"}
    assert weights.model.config._attn_implementation == weights.attention == "eager"


def test_a_server_with_a_key_is_measured_too_and_its_share_of_our_peak_is_left_empty(model, monkeypatch):
    monkeypatch.setenv("MY_KEY", "secret")
    with scripted_vllm(served={"tiny": 8192}) as server:
        chosen = ("--set", f"evaluation_lm.endpoint={server.url}", "--set", "evaluation_lm.key_env=MY_KEY")
        code, told = shown("models", "bench", "scoring", "--model", model, *SMALL, *chosen, "--json")
        assert code == 0, told
        table = shown("models", "bench", "scoring", "--model", model, *SMALL, *chosen)[1]
    assert {headers["authorization"] for headers in server.headers} == {"Bearer secret"}
    rows = json.loads(told)["methods"]
    assert rows["vllm"]["peak_fraction"] is None and rows["vllm"]["wall_ratio"] > 0
    assert all(row["peak_fraction"] > 0 for name, row in rows.items() if name != "vllm")
    (line,) = (line for line in table.splitlines() if line.strip().startswith("vllm"))
    assert "%" not in line and table.count("%") == len(rows) - 1

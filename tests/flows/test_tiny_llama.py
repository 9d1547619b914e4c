"""tiny-llama from end to end: a training of seconds, what it leaves, and the model that the project ships."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs the extra `lm`")

from flows import cli
from flows.screens import screen
from tasks.errors import LMError, SettingsError
from tasks.lm.catalog import open_lm
from tasks.lm.transformers_lm import TransformersLM
from tasks.records import Prediction, SpanLogprob
from tasks.settings import EvaluationLMSettings
from tasks.tuning.recipe import Recipe, altered
from tests.conftest import ROOT
from tests.tuning.test_cache_ngram_training import corpus

SHIPPED = ROOT / "data" / "evaluation_lm" / "tiny-llama"
SMALL = (
    "vocabulary=1200", "width=64", "layers=1", "heads=2", "feed_forward=96", "rare=0.2", "warmup_steps=2",
    "learning_rate=0.01", "batch=8", "max_steps=14", "evaluate_every=7", "save_every=7", "dtype=float32",
)  # fmt: skip
PAPERS = corpus(24, 3)


@pytest.fixture(scope="module")
def judgments(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "judgments.jsonl"
    rows = [
        {"row": row, "paper_id": f"p{row}", "slot": slot, "writer": "by-hand", "judgments": text,
         "review": f"Summary Of The Paper:\n\nNumber {row}.\n\nStrength And Weaknesses:\n\n{text}"}
        for row, paper in enumerate(PAPERS) for slot, text in enumerate(paper, 1)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def call(monkeypatch, capsys, *given: object) -> tuple[int, str, str]:
    """Runs gre-bench tune in this process; (exit code, standard output, error)."""
    monkeypatch.setattr(sys, "argv", ["gre-bench", "tune", *map(str, given), "--no-prefect"])
    monkeypatch.setattr(screen.err, "width", 500, raising=False)
    try:
        cli.main()
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    found = capsys.readouterr()
    return code, found.out, found.err


@pytest.fixture(scope="module")
def trained(judgments: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    from flows.tune_tiny_llama import Rows, train_tiny_llama
    from tasks import steps

    out = tmp_path_factory.mktemp("tiny") / "tiny-llama"
    recipe = altered(Recipe(), SMALL)
    return out, train_tiny_llama(Rows(judgments, "0:10", "10:14"), out, recipe, steps.undecorated())


def test_training_lowers_the_loss_on_papers_never_seen_and_says_so(trained: tuple[Path, dict]) -> None:
    out, made = trained
    assert (made["trained_on"], made["chosen_on"], made["steps"]) == (10, 4, 14)
    assert made["loss"]["held out after"] < made["loss"]["held out before"] - 0.5
    assert made["held_out"]["pairs"] == 24
    record = json.loads((out / "training.json").read_text())
    assert record["asked"]["width"] == 64 and record["asked"]["rows kept aside"] == "10:14"
    assert {path.name for path in out.iterdir()} >= {"config.json", "model.safetensors", "tokenizer.json", "loss.svg"}
    assert not list(out.glob("checkpoint*"))


def test_the_folder_opens_by_name_and_scores_with_its_mixture(trained: tuple[Path, dict]) -> None:
    out, _ = trained
    lm = open_lm(EvaluationLMSettings(backend="tiny-llama", folder=out, device="cpu"))
    assert lm.identity.name == "tiny-llama in a copying mixture"
    x, y = PAPERS[11][:2]
    given, alone = lm.logprob([Prediction(x, None, y), Prediction(None, None, y)])
    assert isinstance(given, SpanLogprob) and isinstance(alone, SpanLogprob)
    assert math.isfinite(given.total - alone.total) and given.total != alone.total
    bare = TransformersLM.open(out, device="cpu")
    assert bare.logprob([Prediction(None, None, y)])[0].ids == alone.ids
    assert bare.weights.model.config.head_dim >= 32


def test_the_command_tells_of_a_training_that_is_done_and_refuses_another_into_its_folder(
    trained: tuple[Path, dict], judgments: Path, monkeypatch, capsys
) -> None:
    out, made = trained
    asked = ("tiny-llama", "--judgments", judgments, "--train", "0:10", "--choose", "10:14", "--out", out)
    settings = [part for one in SMALL for part in ("--set", one)]
    code, told, _ = call(monkeypatch, capsys, *asked, *settings, "--json")
    assert (code, json.loads(told)) == (0, made)
    code, _, error = call(monkeypatch, capsys, *asked, *settings, "--set", "width=96")
    assert code == 2
    assert "holds a model of another training (width was 64, is 96); choose another folder" in " ".join(error.split())


def test_a_mixture_is_fitted_over_any_folder_by_the_command(
    trained: tuple[Path, dict], judgments: Path, tmp_path: Path, monkeypatch, capsys
) -> None:
    out, made = trained
    rows = ("--judgments", judgments, "--train", "0:10", "--choose", "10:14")
    code, told, error = call(monkeypatch, capsys, "mixture", "--lm", out, *rows, "--out", tmp_path / "mixture", "--json")
    assert code == 0, error
    assert json.loads(told)["held_out"] == pytest.approx(made["held_out"], rel=1e-4)
    settings = EvaluationLMSettings(backend="transformers", folder=out, mixture=tmp_path / "mixture", device="cpu")
    assert "mixture" in open_lm(settings).identity.name


NEEDED = {"tiny-llama": (), "cache-ngram": (), "mixture": ("--lm",), "lm": ("--base",)}


@pytest.mark.parametrize("command", NEEDED)
@pytest.mark.parametrize(
    ("train", "choose", "why"),
    [
        ("0:10", "9:14", "paper p9 is in rows 0:10 and 9:14; keep them apart"),
        ("0:10", "14:12", "rows '14:12' hold no row"),
        ("3:0", "10:14", "rows '3:0' hold no row"),
    ],
)
def test_papers_to_learn_from_and_papers_kept_aside_are_kept_apart(
    trained, judgments: Path, tmp_path: Path, monkeypatch, capsys, command: str, train: str, choose: str, why: str
) -> None:
    model = [part for option in NEEDED[command] for part in (option, trained[0])]
    rows = ("--judgments", judgments, "--train", train, "--choose", choose)
    code, said, error = call(monkeypatch, capsys, command, *model, *rows, "--out", tmp_path / "new")
    assert (code, said) == (2, "") and why in " ".join(error.split())
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(("command", "train", "choose"), [("cache-ngram", "0:18", "18:24"), ("mixture", "0:10", "10:14")])
def test_what_is_done_is_told_again_and_what_another_did_is_never_written_over(
    trained, judgments: Path, tmp_path: Path, monkeypatch, capsys, command: str, train: str, choose: str
) -> None:
    model = ("--lm", trained[0]) if command == "mixture" else ()
    asked = (command, *model, "--judgments", judgments, "--train", train, "--json")
    out = tmp_path / "out"
    code, told, _ = call(monkeypatch, capsys, *asked, "--choose", choose, "--out", out)
    assert code == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    with monkeypatch.context() as patched:
        patched.setattr("tasks.tuning.cache_ngram.train", None)
        patched.setattr("tasks.tuning.token_mixture.fit", None)
        assert call(monkeypatch, capsys, *asked, "--choose", choose, "--out", out)[:2] == (0, told)
        code, said, error = call(monkeypatch, capsys, *asked, "--choose", choose[:-1] + "3", "--out", out)
        assert (code, said) == (2, "") and "holds a model of another training" in " ".join(error.split())
        (out / "training.json").unlink()
        code, _, error = call(monkeypatch, capsys, *asked, "--choose", choose, "--out", out)
        assert code == 2 and "holds something else" in " ".join(error.split())
        (tmp_path / "file").write_text("kept")
        code, _, error = call(monkeypatch, capsys, *asked, "--choose", choose, "--out", tmp_path / "file")
        assert code == 2 and "file cannot be written: File exists" in " ".join(error.split())
    del before["training.json"]
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.parametrize(("command", "train", "choose"), [("cache-ngram", "0:18", "18:24"), ("mixture", "0:10", "10:14")])
def test_a_folder_left_by_a_kill_is_written_anew(
    trained, judgments: Path, tmp_path: Path, monkeypatch, capsys, command: str, train: str, choose: str
) -> None:
    model = ("--lm", trained[0]) if command == "mixture" else ()
    asked = (command, *model, "--judgments", judgments, "--train", train, "--choose", choose, "--json")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("tasks.tuning.record.write", killed)
        assert call(monkeypatch, capsys, *asked, "--out", tmp_path / "out")[0] == 130
    assert not (tmp_path / "out" / "training.json").exists()
    code, _, error = call(monkeypatch, capsys, *asked, "--out", tmp_path / "out")
    assert code == 0, error
    assert not (tmp_path / "out" / "checkpoint").exists()


def test_too_few_papers_for_the_n_gram_model_are_one_line_and_leave_nothing(
    judgments: Path, tmp_path: Path, monkeypatch, capsys
) -> None:
    for rows, why in (("0:3", "at least 2 papers and 2 kept aside, got 2 and 1"), ("0:7", "too few words stand in 3 or")):
        asked = ("cache-ngram", "--judgments", judgments, "--train", rows, "--out", tmp_path / "out")
        code, said, error = call(monkeypatch, capsys, *asked)
        assert (code, said) == (2, "") and why in " ".join(error.split())
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("override", "reason"),
    [
        ("widht=3", "did you mean width"),
        ("width", "did you mean width"),
        ("width=many", "valid integer"),
        ("schedule=step", "'linear', 'cosine' or 'constant'"),
        ("zzz=1", "known: vocabulary, width"),
        ("heads=3", "width 256 cannot be shared by 3 heads: take a multiple of 6"),
        ("width=4", "width 4 cannot be shared by 4 heads: take a multiple of 8"),
        ("context=100", "context 100 is shorter than max_tokens 1536: raise it"),
        *((f"{name}=0", "greater than or equal to 1") for name in (
            "vocabulary", "width", "layers", "heads", "feed_forward", "context", "epochs", "batch", "accumulation",
            "measured",
        )),
        *((f"{name}=-1", "greater than or equal to 0") for name in (
            "max_steps", "warmup_steps", "clip", "weight_decay", "save_every", "evaluate_every", "seed", "shuffled",
            "synopses", "marginals", "dropout",
        )),
        *((f"{name}=7", "less than or equal to 1") for name in ("shuffled", "rare", "marginals", "learning_rate")),
        *((f"{name}=0", "greater than 0") for name in ("rare", "learning_rate")),
        *((f"{name}=[]", "at least 1 item") for name in ("exchanged", "originals")),
        *((f"{name}={value}", "finite number|than") for name in ("clip", "learning_rate", "weight_decay") for value in ("inf", "nan")),
        ("learning_rate=-1", "greater than 0"),
        ("dropout=1.5", "less than 1"),
        ("max_tokens=0", "greater than or equal to 8"),
        ("exchanged=[2.0]", "less than or equal to 1"),
        ("weights=[0,0,0]", "greater than 0"),
        ("weights=[1,-1,0]", "greater than or equal to 0"),
        ("weights=[1,inf,0]", "finite number"),
        ("weights=[1]", "required"),
    ],
)
def test_a_part_of_the_recipe_that_cannot_be_is_refused_by_name(override: str, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        altered(Recipe(), [override])


OTHERS = {
    "vocabulary": 2000, "width": 384, "layers": 2, "heads": 8, "feed_forward": 700, "context": 9000,
    "exchanged": [0.5], "rare": 0.3, "shuffled": 0.1, "synopses": 0.1, "originals": [0.2], "marginals": 0.1,
    "weights": [1.0, 0.0, 0.25], "epochs": 9, "max_steps": 9, "batch": 9, "accumulation": 9, "learning_rate": 0.25,
    "warmup_steps": 9, "schedule": "linear", "weight_decay": 0.5, "optimiser": "adamw_8bit", "clip": 0.5, "seed": 9,
    "evaluate_every": 9, "max_tokens": 999, "dtype": "float32", "recompute": True, "dropout": 0.5, "measured": 9,
}  # fmt: skip


@pytest.mark.parametrize("name", Recipe().describe())
def test_what_a_recipe_says_of_itself_follows_the_override_of_that_name_and_nothing_else_does(name: str) -> None:
    plain, value = Recipe().describe(), OTHERS[name]
    changed = altered(Recipe(), [f"{name}={json.dumps(value)}"]).describe()
    assert plain[name] != value
    assert changed == plain | {name: value}


def test_max_tokens_bounds_the_conversations(judgments: Path, tmp_path: Path, monkeypatch, capsys) -> None:
    asked = ("tiny-llama", "--judgments", judgments, "--train", "0:10", "--choose", "10:14", "--out", tmp_path / "out")
    settings = [part for one in (*SMALL, "max_tokens=8") for part in ("--set", one)]
    code, _, error = call(monkeypatch, capsys, *asked, *settings)
    assert code == 2 and "fit into 8 tokens; raise max_tokens" in " ".join(error.split())


@pytest.mark.parametrize(("override", "reason"), [("vocabulary=100", "a vocabulary of 100 tokens is too small")])
def test_a_recipe_that_turns_out_too_small_is_one_line_and_leaves_nothing(
    judgments: Path, tmp_path: Path, monkeypatch, capsys, override: str, reason: str
) -> None:
    asked = ("tiny-llama", "--judgments", judgments, "--train", "0:10", "--choose", "10:14", "--out", tmp_path / "out")
    code, said, error = call(monkeypatch, capsys, *asked, "--set", override)
    assert (code, said) == (2, "") and reason in " ".join(error.split())
    assert not (tmp_path / "out").exists()


def test_parts_of_the_recipe_are_changed_by_name() -> None:
    recipe = altered(Recipe(), ["width=384", "exchanged=[0.5]", "epochs=1", "dropout=0.2"])
    assert (recipe.shape.width, recipe.variation.exchanged, recipe.training.epochs, recipe.dropout) == (
        384, (0.5,), 1, 0.2,
    )  # fmt: skip


def test_without_its_mixture_the_model_is_refused_in_one_line(trained: tuple[Path, dict], tmp_path: Path) -> None:
    import shutil

    folder = shutil.copytree(trained[0], tmp_path / "bare")
    shutil.rmtree(folder / "mixture")
    with pytest.raises(LMError, match="mixture.json is missing; fit one with `gre-bench tune mixture`"):
        open_lm(EvaluationLMSettings(backend="tiny-llama", folder=folder, device="cpu"))


@pytest.fixture(scope="module")
def shipped():
    if not (SHIPPED / "config.json").is_file():
        pytest.skip(f"the embedded neural evaluation LM has not been trained yet: no {SHIPPED}")
    return open_lm(EvaluationLMSettings(backend="tiny-llama", device="cpu"))


def test_the_model_in_the_repository_is_small_and_copies_what_is_rare(shipped) -> None:
    assert sum(file.stat().st_size for file in SHIPPED.rglob("*") if file.is_file()) < 40e6
    reply = "The reviewer criticizes the missing ablation of the Wasserstein barycenter regularizer."
    same = "The reviewer appreciates the Wasserstein barycenter."
    other = "The reviewer appreciates the protein folding benchmark."
    totals = [answer.total for answer in shipped.logprob([Prediction(x, None, reply) for x in (None, same, other)])]
    assert totals[1] - totals[0] > 3
    assert totals[2] - totals[0] < 0


@pytest.mark.shared
@pytest.mark.slow
def test_the_model_in_the_repository_tells_reviews_of_one_paper_from_those_of_another(shipped, iclr2023: Path) -> None:
    from flows.tune_evaluation_lm import papers_of
    from tests.bench.bench_tiny_llama import figures, scores

    found = figures(scores(shipped, papers_of(iclr2023, "900:950", None), False))
    same, other, auc, *effects = found
    assert same > 2 and other < same
    assert auc > 0.85
    assert max(effects) < 0

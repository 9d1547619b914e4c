"""Fine-tuning by the command: from rows of judgments to a model that scores, every mistake one line."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="tuning needs the extra `lm`")
if importlib.util.find_spec("peft") is None:  # it takes two seconds to import: only where it is used
    pytest.skip("tuning needs the extra `lm`", allow_module_level=True)

from gre_bench.cli.views.bar import read_last_training_history_entry
from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.lm.backends.transformers_lm import TransformersLM
from gre_bench.pipeline.training import judged_papers
from gre_bench.tuning.pairs import choose_rival_texts
from gre_bench.tuning.tuning_settings import load
from tests.cli.calling import call
from tests.conftest import ROOT
from tests.lm.chat_models import build_chat_model

DONE, BAD_INPUT, STOPPED = 0, 2, 130
VERBS = ("appreciates", "criticizes", "questions", "suggests")
FAST = ("--set", "epochs=1", "--set", "learning_rate=2e-2", "--set", "max_tokens=1500", "--set", "warmup_steps=0")


def rows(papers: int, reviews: int = 3, **more: object) -> list[dict[str, object]]:
    return [
        {
            "row": paper, "paper_id": f"p{paper}", "slot": slot + 1, "writer": "by-hand", **more,
            "judgments": f"The reviewer {VERBS[slot]} part {paper}.\n\nThe reviewer suggests more of it.",
        }
        for paper in range(papers) for slot in range(reviews)
    ]  # fmt: skip


def write(path: Path, lines: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a base, judgments of eight papers, abstracts of seven and texts of two."""
    folder = tmp_path_factory.mktemp("tuning")
    build_chat_model(folder / "base", "chatml")
    write(folder / "judgments.jsonl", rows(8))
    abstracts = [{"paper_id": f"p{paper}", "abstract": f"We study part {paper}."} for paper in range(7)]
    write(folder / "papers.jsonl", abstracts)
    text = (
        "Introduction\n\nWe propose a simple method that outperforms all baselines.\n\nLimitations\n\n"
        "A limitation of our method is that it only applies to graphs.\n"
    )
    write(folder / "texts.jsonl", [row | {"text": text} for row in abstracts[:2]])
    return folder


@pytest.fixture
def tuned(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Runs gre-bench models tune lm in this process, judgments and base given; (exit code, standard output, error)."""
    monkeypatch.setenv("GRE_BENCH_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.chdir(place)

    def calling(*arguments: str):
        given = ("--model", "base", "--judgments", "judgments.jsonl", "--out", tmp_path / "out", *FAST, *arguments)
        return call("models", "tune", "lm", "--no-prefect", *given)

    return calling


def test_the_command_tunes_and_says_where_how_well_and_how_to_use_it(tuned, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, said, _ = tuned("--train", "0:4", "--choose", "4:6", "--papers-file", "papers.jsonl")
    assert code == DONE
    for part in (
        "on 72 conversations of 4 papers in 9 steps", "lora", "loss on the 2 papers kept aside, nats a token:",
        f"it is in {out}", f"--set evaluation_lm.backend=transformers --set evaluation_lm.folder={out}",
    ):  # fmt: skip
        assert part in said
    made = json.loads((out / "training.json").read_text())
    assert made["asked"]["metrics"] == ["gem", "gem_s_abstract"]
    assert made["loss"]["held out after"] < made["loss"]["held out before"]
    assert TransformersLM.open(out, device="cpu").identity.name == "out"


def test_as_json_it_gives_the_training_record(tuned, tmp_path: Path) -> None:
    code, said, _ = tuned("--train", "0:2", "--json", "--set", "method=full")
    found = json.loads(said)
    assert (code, found["method"], found["trained_on"], found["kept_aside"]) == (DONE, "full", 2, 0)
    record = json.loads((tmp_path / "out" / "training.json").read_text())
    assert record == {name: value for name, value in found.items() if name in record}
    (digest,) = found["asked"]["judgments"]
    assert len(digest) == 64 and found["asked"]["rows"] == ["0:2"]
    assert (tmp_path / "out" / "model.safetensors").is_file()


def test_the_authors_stated_strengths_and_weaknesses_can_be_the_synopsis(tuned) -> None:
    code, said, _ = tuned("--train", "0:3", "--papers-file", "texts.jsonl", "--json", "--set", 'metrics=["gem_s_assw"]')
    found = json.loads(said)
    assert code == DONE and found["conversations"]["learnt"] == 18
    assert found["excluded"]["learnt"] == {"papers without assw, for gem_s_assw": 1}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("--train 0:4 --model nowhere", "there is no such folder"),
        ("--train 0:4 --out base", "base holds something else"),
        ("--train 0:4 --judgments nowhere.jsonl --train 0:4", "no file nowhere.jsonl"),
        ("--train 50:60", "rows 50:60 have no human judgments"),
        ("--train 0-4", "are not written as FIRST:END"),
        ("--train 3:0", "rows '3:0' hold no row"),
        ("--train 0:4 --choose 3:5", "paper p3 is in rows 0:4 and 3:5; keep them apart"),
        ("--train 7:8 --papers-file papers.jsonl", "papers.jsonl has no abstract of a paper of rows 7:8"),
        (
            "--train 0:2 --judgments judgments.jsonl",
            "2 files of judgments and 1 ranges of rows; give one --train for each",
        ),
        ("--train 0:2 --judgments judgments.jsonl --train 1:3", "paper p1 of judgments.jsonl is in an earlier"),
        ("--train 0:4 --settings nowhere.toml", "no settings file nowhere.toml"),
        ("--train 0:4 --set metrics=['gem_s_abstract']", "name their file with --papers-file"),
        ("--train 0:4 --set epoch=1", "unknown setting epoch; did you mean epochs?"),
        ("--train 0:4 --set batch=0", "setting batch"),
        ("--train 0:4 --set batch", "write it as key=value"),
        ("--train 0:4 --set learning_rate=inf", "setting learning_rate"),
        ("--train 0:4 --set learning_rate=2", "setting learning_rate: Input should be less than"),
        ("--train 0:4 --set clip=inf", "setting clip: Input should be a finite number"),
        ("--train 0:4 --set weight_decay=nan", "setting weight_decay"),
        ("--train 0:4 --set metrics=['gem','gem']", "setting metrics: gem is named twice; name it once"),
        ("--train 0:4 --set max_tokens=50", "is usable: 36 conversations of more than 50 tokens"),
        ("--train 0:4 --set quantisation=nf4 --set device=cpu", "nf4 needs a CUDA device"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(tuned, tmp_path: Path, arguments: str, why: str) -> None:
    code, said, error = tuned(*arguments.split())
    assert (code, said) == (BAD_INPUT, "")
    assert why in error and "\n" not in error
    assert not (tmp_path / "out").exists()


def test_with_contrast_a_paper_whose_text_is_known_has_a_passage_of_it_as_a_rival(tuned, place, monkeypatch) -> None:
    asked = []
    monkeypatch.setattr(
        "gre_bench.tuning.pairs.choose_rival_texts",
        lambda papers, *how: asked.append(papers) or choose_rival_texts(papers, *how),
    )
    clause = (
        "The comparison is unconvincing because the baselines are weak, the evaluation is limited to one small dataset"
    )
    text = f"{clause}, and we could not run more of it within the time that we had for this paper."
    write(
        place / "passages.jsonl",
        [{"paper_id": f"p{paper}", "abstract": "We study parts.", "text": text} for paper in (0, 1)],
    )
    how = ("contrast=0.3", "share_prefixes=true", "max_steps=2", 'metrics=["gem"]')
    more = [part for one in how for part in ("--set", one)]
    code, _, error = tuned("--train", "0:4", "--papers-file", "passages.jsonl", *more)
    assert code == DONE, error
    (papers,) = asked
    assert [bool(paper.passage) for paper in papers] == [True, True, False, False]
    assert papers[0].passage.startswith("The reviewer criticizes")


def test_settings_come_from_a_file_and_are_those_of_the_paper_without_one(tmp_path: Path) -> None:
    paper = load(None)
    assert (paper.batch, paper.accumulation, paper.warmup_steps, paper.max_steps) == (2, 4, 5, 0)
    assert (paper.epochs, paper.learning_rate, paper.optimiser, paper.seed) == (3, 2e-4, "adamw_8bit", 42)
    assert (paper.weight_decay, paper.schedule, paper.max_tokens) == (0.01, "linear", 4096)
    assert (paper.method, paper.lora_r, paper.lora_alpha, paper.lora_dropout) == ("lora", 16, 16, 0)
    assert len(paper.lora_targets) == 7
    (tmp_path / "tuning.toml").write_text('epochs = 5\nlearnt = "full"\n')
    read = load(tmp_path / "tuning.toml", ("epochs=7",))
    assert (read.epochs, read.learnt, read.batch) == (7, "full", 2)
    (tmp_path / "tuning.toml").write_text("epochs = ")
    with pytest.raises(SettingsError, match="cannot be read"):
        load(tmp_path / "tuning.toml")


def test_judgments_by_several_writers_are_refused_unless_several_are_allowed(tmp_path: Path) -> None:
    file = write(tmp_path / "two.jsonl", rows(2) + rows(2, writer="other"))
    with pytest.raises(SettingsError, match=r"judgments by by-hand, other; give a file with one writer's judgments"):
        judged_papers(file, "0:2")
    assert [len(paper.judgments) for paper in judged_papers(file, "0:2", several=True)] == [6, 6]
    with pytest.raises(SourceError, match="have no human judgments"):
        judged_papers(write(tmp_path / "models.jsonl", rows(2, candidate="some-model", slot=None)), "0:2")


def test_the_last_point_of_a_training_is_read_from_its_history(tmp_path: Path) -> None:
    assert read_last_training_history_entry(tmp_path, 0) is None
    (tmp_path / "history.jsonl").write_text('{"step": 1}\n{"step": 2}\n{"st')
    assert read_last_training_history_entry(tmp_path, 0) == {"step": 2}
    assert read_last_training_history_entry(tmp_path, time.time() + 60) is None


def tuning(place: Path, folder: Path) -> list[str]:
    """The command of a fine-tuning in a process of its own, into ``out`` in *folder*."""
    files = (
        "--model",
        str(place / "base"),
        "--judgments",
        str(place / "judgments.jsonl"),
        "--out",
        str(folder / "out"),
    )
    command = [sys.executable, "-m", "gre_bench.cli.app", "models", "tune", "lm"]
    return [*command, *files, *FAST, "--state", str(folder / "state"), "--json"]


@pytest.mark.night
def test_a_training_stopped_by_hand_goes_on_with_the_same_command(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [*tuning(place, tmp_path), "--no-prefect", "--train", "0:6", "--set", "epochs=2", "--set", "save_every=1"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    first = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=-1, stderr=-1, text=True)
    deadline = time.monotonic() + 60
    while not list(out.glob("checkpoint/step-*")) and time.monotonic() < deadline and first.poll() is None:
        time.sleep(0.01)
    first.send_signal(signal.SIGINT)
    _, error = first.communicate(timeout=60)
    line = "stopped; what was done is kept, the same command goes on from there\n"
    assert (first.returncode, error) == (STOPPED, line)
    assert not (out / "training.json").exists()
    again = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert again.returncode == DONE, again.stderr
    assert json.loads(again.stdout)["steps"] == 14
    lines = [json.loads(line)["step"] for line in (out / "history.jsonl").read_text().splitlines()]
    assert lines == list(range(1, 15))


@pytest.mark.night
def test_the_flow_runs_under_the_engine(place: Path, tmp_path: Path) -> None:
    command = [*tuning(place, tmp_path), "--train", "0:3", "--choose", "3:4"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT")}
    done = subprocess.run(command, cwd=ROOT, env=environment | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True)
    assert done.returncode == DONE, done.stderr
    assert json.loads(done.stdout)["kept_aside"] == 1


def test_several_files_are_learnt_from_each_by_its_rows(tuned, tmp_path: Path) -> None:
    more = write(tmp_path / "more.jsonl", [row | {"paper_id": f"q{row['row']}"} for row in rows(3)])
    code, said, _ = tuned("--train", "0:2", "--judgments", str(more), "--train", "1:3", "--json")
    found = json.loads(said)
    assert (code, found["trained_on"]) == (DONE, 4)
    assert found["asked"]["rows"] == ["0:2", "1:3"] and len(set(found["asked"]["judgments"])) == 2

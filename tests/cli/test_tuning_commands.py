"""`gre-bench models tune`: what its commands leave, and how they refuse."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs the extra `lm`")

from gre_bench.cli import app
from gre_bench.cli.views import screen
from tests.lm.chat_models import build_chat_model
from tests.tuning.test_cache_ngram_training import corpus

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
    """Runs ``gre-bench models tune`` in this process; (exit code, standard output, error)."""
    monkeypatch.setattr(sys, "argv", ["gre-bench", "models", "tune", *map(str, given), "--no-prefect"])
    monkeypatch.setattr(screen.err, "width", 500, raising=False)
    try:
        app.main()
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    found = capsys.readouterr()
    return code, found.out, found.err


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_chat_model(tmp_path_factory.mktemp("models") / "chatml", "chatml")


NEEDED = {"cache-ngram": (), "lm": ("--model",)}


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
    model: Path, judgments: Path, tmp_path: Path, monkeypatch, capsys, command: str, train: str, choose: str, why: str
) -> None:
    named = [part for option in NEEDED[command] for part in (option, model)]
    rows = ("--judgments", judgments, "--train", train, "--choose", choose)
    code, said, error = call(monkeypatch, capsys, command, *named, *rows, "--out", tmp_path / "new")
    assert (code, said) == (2, "") and why in " ".join(error.split())
    assert not (tmp_path / "new").exists()


def test_what_is_done_is_told_again_and_what_another_did_is_never_written_over(
    judgments: Path, tmp_path: Path, monkeypatch, capsys
) -> None:
    asked = ("cache-ngram", "--judgments", judgments, "--train", "0:18", "--json")
    out = tmp_path / "out"
    code, told, _ = call(monkeypatch, capsys, *asked, "--choose", "18:24", "--out", out)
    assert code == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    with monkeypatch.context() as patched:
        patched.setattr("gre_bench.tuning.cache_ngram.train", None)
        assert call(monkeypatch, capsys, *asked, "--choose", "18:24", "--out", out)[:2] == (0, told)
        code, said, error = call(monkeypatch, capsys, *asked, "--choose", "18:23", "--out", out)
        assert (code, said) == (2, "") and "holds a model from another training" in " ".join(error.split())
        (out / "training.json").unlink()
        code, _, error = call(monkeypatch, capsys, *asked, "--choose", "18:24", "--out", out)
        assert code == 2 and "holds something else" in " ".join(error.split())
        (tmp_path / "file").write_text("kept")
        code, _, error = call(monkeypatch, capsys, *asked, "--choose", "18:24", "--out", tmp_path / "file")
        assert code == 2 and "file cannot be written: File exists" in " ".join(error.split())
    del before["training.json"]
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert (tmp_path / "file").read_text() == "kept"


def test_a_folder_left_by_a_kill_is_written_anew(judgments: Path, tmp_path: Path, monkeypatch, capsys) -> None:
    asked = ("cache-ngram", "--judgments", judgments, "--train", "0:18", "--choose", "18:24", "--json")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("gre_bench.tuning.record.write", killed)
        assert call(monkeypatch, capsys, *asked, "--out", tmp_path / "out")[0] == 130
    assert not (tmp_path / "out" / "training.json").exists()
    code, _, error = call(monkeypatch, capsys, *asked, "--out", tmp_path / "out")
    assert code == 0, error
    assert not (tmp_path / "out" / "checkpoint").exists()


def test_too_few_papers_for_the_n_gram_model_are_one_line_and_leave_nothing(
    judgments: Path, tmp_path: Path, monkeypatch, capsys
) -> None:
    for rows, why in (
        ("0:3", "at least 2 papers and 2 kept aside, got 2 and 1"),
        ("0:7", "too few words stand in 2 or"),
    ):
        asked = ("cache-ngram", "--judgments", judgments, "--train", rows, "--out", tmp_path / "out")
        code, said, error = call(monkeypatch, capsys, *asked)
        assert (code, said) == (2, "") and why in " ".join(error.split())
        assert not (tmp_path / "out").exists()

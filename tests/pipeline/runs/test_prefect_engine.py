"""Commands whose flow runs under the Prefect engine: where its server does not answer, each is one line."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import typer
from prefect.settings import PREFECT_API_URL, temporary_settings
from typer.testing import CliRunner

from gre_bench.cli import app
from gre_bench.core.errors import ServiceDown
from gre_bench.pipeline.runs import prefect_engine
from gre_bench.store import INCLUDED_EDITION
from tests.flows.refreshing import DEMO
from tests.servers.processes import closed_port

SCRIPTED = ("--settings", str(DEMO), "--set", "evaluation_lm.backend=scripted")
TRAINED = ("--judgments", "judgments.jsonl", "--train", "0:8", "--out", "out")
ASKED = {
    "refresh": SCRIPTED,
    "demo": (),
    "study validate": SCRIPTED,
    "study agree": SCRIPTED,
    "fetch": ("SAMPLE", "2026", "--host", "http://127.0.0.1:9"),
    "year": ("SAMPLE", "--host", "http://127.0.0.1:9", "--set", "writing.candidates=['local-vllm']"),
    "study examiners compare": ("--items", "items.tsv"),
    "study guidelines compare": ("--model", "any", "--papers-file", "papers.jsonl"),
    "study guidelines quality": ("notes.jsonl", "--edition", "SAMPLE-2026"),
    "models tune cache-ngram": TRAINED,
    "models tune lm": ("--model", "base", *TRAINED),
}
"""Every command that runs under Prefect, with what it needs to reach its flow."""
STORES_FIRST = {"new", "study flaws"}
"""Commands that make an edition from files before its refresh; `refresh` continues it."""


def test_every_command_that_has_an_engine_is_asked_here():
    assert {name for name, command in commands(typer.main.get_command(app.app)) if takes_engine(command)} == {
        *ASKED, *STORES_FIRST,
    }  # fmt: skip


@pytest.mark.parametrize("command", ASKED)
def test_a_server_that_does_not_answer_is_one_line_and_nothing_is_begun(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(prefect_engine, "time", SimpleNamespace(sleep=lambda _seconds: None))
    api = f"http://127.0.0.1:{closed_port()}/api"
    with temporary_settings({PREFECT_API_URL: api}):
        found = CliRunner().invoke(app.app, [*command.split(), *ASKED[command], "--state", str(tmp_path / "state")])
    error = found.exception
    assert isinstance(error, ServiceDown), found
    assert app.exit_code(error) == 3
    line = str(error)
    assert "\n" not in line and api in line and "--no-prefect" in line and "nothing was begun" in line
    made = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert not [path for path in made if INCLUDED_EDITION not in str(path)], made  # demo has shown that board before


def commands(group, above=""):
    for name, command in getattr(group, "commands", {}).items():
        yield f"{above}{name}", command
        yield from commands(command, f"{above}{name} ")


def takes_engine(command):
    return any("--no-prefect" in option.opts for option in command.params)

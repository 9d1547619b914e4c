"""A study's models file, and its command killed at work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT
from tests.holds import wait_for
from tests.servers.scripted_chat import MODEL, ScriptedChat

MODELS = '[[model]]\nname = "{name}"\nendpoint = "{url}"\nmodel = "{model}"\nprice_in = 1.0\nprice_out = 2.0\n'


def models_file(folder: Path, server: ScriptedChat, name: str = "scripted") -> Path:
    path = folder / "models.toml"
    path.write_text(MODELS.format(name=name, url=server.url, model=MODEL))
    return path


def killed(server: ScriptedChat, requests: int, command: list[str]) -> None:
    """Runs the study's *command*, and kills it once it has sent *requests*; the server goes on afterwards."""
    asked = [sys.executable, "-m", "gre_bench.cli.app", *command]
    process = subprocess.Popen(asked, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: server.count >= requests, process)
    process.kill()
    process.communicate()
    server.until = None

"""Tests the chat server's command, with which users try writing without a model."""

from __future__ import annotations

import re
import signal
import subprocess
import sys

import pytest
import requests

from gre_bench.catalogs.models import load
from tests.conftest import ROOT
from tests.servers import chat


def test_the_command_serves_a_model_until_it_is_stopped():
    command = [sys.executable, "-m", "tests.servers.chat", "--port", "0", "--then", "empty"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        url = re.fullmatch(rf"{chat.MODEL}: (\S+)\n", process.stdout.readline())[1]
        process.stdout.readline()
        assert requests.get(f"{url}/models", timeout=60).json()["data"][0]["id"] == chat.MODEL
        asked = {"model": chat.MODEL, "messages": [{"role": "user", "content": "Review it."}]}
        answer = requests.post(f"{url}/chat/completions", json=asked, timeout=60).json()
        assert answer["choices"][0]["message"]["content"] == " \n"
    finally:
        process.send_signal(signal.SIGTERM)
    assert process.wait() == 0
    assert process.stdout.read() == "stopped; requests: 1\n"


def test_the_models_file_beside_the_server_names_the_port_of_the_command(capsys):
    (model,) = load(ROOT / "tests" / "servers" / "models.toml").values()
    assert (model.name, model.model) == (chat.MODEL, chat.MODEL)
    with pytest.raises(SystemExit):
        chat.main(["--help"])
    assert f"({model.endpoint.split(':')[2].removesuffix('/v1')}, as" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        (["--then", "rain"], "--then is a status such as 429, or one of drip"),
        (["--port", "70000"], "port 70000 cannot be served"),
    ],
)
def test_a_behaviour_or_a_port_that_there_is_not_ends_the_command_with_one_line(capsys, asked, line):
    with pytest.raises(SystemExit, match="2"):
        chat.main(asked)
    assert line in capsys.readouterr().err

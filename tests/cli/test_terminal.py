"""Commands at a terminal, which has a progress bar: a pseudo-terminal stands in for one."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import frozen_outputs
from tests.conftest import ROOT
from tests.once import once


def at_a_terminal(folder: Path, *words: str) -> tuple[int, str]:
    """Runs a command in *folder* at a terminal of 80 columns; returns its exit code and all that it showed."""
    ours, theirs = pty.openpty()
    env = os.environ | {"TERM": "xterm", "COLUMNS": "80", "LINES": "40", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "gre_bench.cli.app", *words]
    with subprocess.Popen(command, cwd=folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
            if not piece:
                break
            shown += piece
        os.close(ours)
    return process.returncode, shown.decode(errors="replace")


def test_simulations_show_their_progress(tmp_path):
    code, shown = at_a_terminal(tmp_path, "study", "known-answers", "--simulations", "20", "--papers", "10")
    assert code == 0, shown
    assert "simulations and lessons" in shown
    assert "Traceback" not in shown


@pytest.mark.parametrize(
    "words",
    [
        ("rank", "reviews.csv", "--edition", "SAMPLE-2026", "--as", "my-model"),
        ("refresh", "--settings", "demo", "--set", "scoring.metrics=['gem', 'length']", "--no-prefect"),
    ],
    ids=lambda words: words[0],
)
def test_a_run_shows_its_progress(tmp_path, words):
    shutil.copytree(once("sample-demo", frozen_outputs.make_sample), tmp_path / "state", symlinks=True)
    text = "The method is clear, but the experiments use one small data set, and no baseline is tuned."
    (tmp_path / "reviews.csv").write_text("paper_id,review\n" + "".join(f's{n:02d},"{text}"\n' for n in range(1, 31)))
    code, shown = at_a_terminal(tmp_path, *words)
    assert code == 0, shown
    assert "SAMPLE-2026: " in shown
    assert "Traceback" not in shown

"""Commands at a terminal, which has a progress bar: a pseudo-terminal stands in for one."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from contextlib import suppress

from tests.conftest import ROOT
from tests.once import once
from tests.snapshots import make_sample

COMMANDS = {
    ("refresh", "--settings", "demo", "--set", "scoring.metrics=['gem', 'length']", "--no-prefect"): "SAMPLE-2026: ",
    ("rank", "reviews.csv", "--edition", "SAMPLE-2026", "--as", "my-model"): "SAMPLE-2026: ",
}
"""Commands, with what their bars show."""
ONE_AFTER_THE_OTHER = """
import json, sys
from gre_bench.cli import app
for command in json.loads(sys.argv[1]):
    sys.argv = ["gre-bench", *command]
    try:
        app.main()
    except SystemExit as end:
        assert not end.code, end.code
    print("ended", command[0], flush=True)
"""


def test_refresh_and_rank_show_their_progress(tmp_path):
    """At a terminal of 80 columns; in one process: a start of Python for each takes longer than some of them."""
    shutil.copytree(once("sample-demo", make_sample), tmp_path / "state", symlinks=True)
    text = "The method is clear, but the experiments use one small data set, and no baseline is tuned."
    (tmp_path / "reviews.csv").write_text("paper_id,review\n" + "".join(f's{n:02d},"{text}"\n' for n in range(1, 31)))
    ours, theirs = pty.openpty()
    env = os.environ | {"TERM": "xterm", "COLUMNS": "80", "LINES": "40", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", ONE_AFTER_THE_OTHER, json.dumps(list(COMMANDS))]
    with subprocess.Popen(command, cwd=tmp_path, env=env, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        rest = b""
        with suppress(OSError):  # the other side is closed
            while piece := os.read(ours, 65536):
                rest += piece
        os.close(ours)
    rest = rest.decode(errors="replace")
    assert process.returncode == 0 and "Traceback" not in rest, rest
    for words, expected in COMMANDS.items():
        shown, ended, rest = rest.partition(f"ended {words[0]}")
        assert ended and expected in shown, words

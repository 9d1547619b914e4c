"""Writes the six screens anew: ``python -m tests.snapshots``."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from tests.snapshots import FOLDER, make_sample, screens, write_mine

with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
    make_sample(Path(folder) / "state")
    write_mine(Path(folder))
    for name, text in screens(Path(folder) / "state").items():
        (FOLDER / f"{name}.txt").write_text(text, encoding="utf-8")

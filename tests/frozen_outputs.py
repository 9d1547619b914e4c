"""Digests of what users see: help texts, the sample edition's screens and release, and texts read from PDFs.

    python -m tests.frozen_outputs          # says what differs from frozen_outputs.json
    python -m tests.frozen_outputs --write  # takes today's outputs as right; read the difference first

Code that is only moved changes none of them. Numbers count to six digits, so that processors agree, and ids of runs as one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
import typer
from typer.core import TyperGroup as Group
from typer.testing import CliRunner

from gre_bench.cli import app
from tests.ingest.pdf.layouts import LAYOUTS
from tests.ingest.pdf.reading import read_layout
from tests.once import FOLDER

FILE = Path(__file__).with_suffix(".json")
EDITION = "SAMPLE-2026"
SCREENS = (
    ("leaderboard", EDITION),
    ("leaderboard", EDITION, "--details"),
    ("leaderboard", EDITION, "--json"),
    ("compare", "human", "extractive-full", "--edition", EDITION),
    ("why", EDITION, "gem_s_abstract", "extractive-full", "--paper", "s08"),
    ("plan", "ICLR", "2025"),
)
WIDTHS = (80, 110, 160)
MADE_WITH = {"SOURCE_DATE_EPOCH": "1796083200", "NO_COLOR": "1", "TERM": "dumb"}
DATED = {"manifest.json", "SHA256SUMS"}


NUMBER = re.compile(rb"-?\d+\.\d{4,}(?:e[-+]\d+)?")
EMBEDDED = re.compile(rb"base64,([A-Za-z0-9+/]{40,}=*)")
"""A file within a page, such as the CSV of a board."""
RUN = re.compile(rb"\d{8}T\d{6}-[0-9a-f]{6}")


def _digest(content: bytes) -> str:
    content = EMBEDDED.sub(lambda match: base64.b64decode(match[1]), content)
    rounded = NUMBER.sub(lambda match: f"{float(match[0]):.6g}".encode(), RUN.sub(b"RUN", content))
    return hashlib.sha256(rounded).hexdigest()[:16]


def _shown(*words: str, columns: int = 80) -> bytes:
    done = CliRunner().invoke(app.app, [*words], env=MADE_WITH | {"COLUMNS": str(columns)})
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return f"{done.exit_code}\n{done.stdout}".encode()


def helps() -> Iterator[tuple[str, bytes]]:
    """Yields the name of each command and its help at 80 columns."""

    def under(command: object, path: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
        yield " ".join(("help", *path)), _shown(*path, "--help")
        for name, child in sorted(command.commands.items() if isinstance(command, Group) else ()):
            yield from under(child, (*path, name))

    return under(typer.main.get_command(app.app), ())


def table(path: Path) -> bytes:
    """The rows of a Parquet file as JSON, sorted."""
    with duckdb.connect() as run:
        rows = run.execute(f"select * from '{path}'").fetchall()
        names = [column[0] for column in run.description or ()]
    texts = [[f"{value:.6g}" if isinstance(value, float) else str(value) for value in row] for row in rows]
    return json.dumps([names, sorted(texts)]).encode()


def sample(state: Path, out: Path) -> Iterator[tuple[str, bytes]]:
    """Yields the screens of the sample edition in *state*, and each file of its release, which goes to *out*."""
    for words in SCREENS:
        for columns in WIDTHS if "--json" not in words else WIDTHS[:1]:
            shown = _shown(*words, "--state", str(state), columns=columns)
            yield f"{' '.join(words)} at {columns}", shown.replace(str(state).encode(), b"STATE")
    published = _shown("publish", EDITION, "--state", str(state), "--out", str(out))
    assert published.startswith(b"0\n"), published.decode()
    folder = next(path for path in out.iterdir() if path.is_dir() and not path.is_symlink())
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name not in DATED:
            yield f"release {name}", table(path) if path.suffix == ".parquet" else path.read_bytes()


def layouts() -> Iterator[tuple[str, bytes]]:
    """Yields what the reader of PDFs keeps and drops of each typeset layout."""
    for name in sorted(LAYOUTS):
        _, read = read_layout(name)
        yield f"layout {name}", json.dumps(read.to_json(), sort_keys=True).encode()


def make_sample(state: Path) -> None:
    """Makes the sample edition in the new folder *state*, as the demo does it."""
    done = _shown("refresh", "--settings", "demo", "--no-prefect", "--state", str(state))
    assert done.startswith(b"0\n"), done.decode()


def outputs(state: Path, out: Path) -> dict[str, str]:
    """The name of each output → the first 16 hexadecimal digits of the SHA-256 of its bytes."""
    return {name: _digest(content) for name, content in (*helps(), *sample(state, out), *layouts())}


def differences(now: dict[str, str]) -> list[str]:
    """One line for each output that is new, gone, or other than the file says."""
    then = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    words = {(False, True): "new", (True, False): "gone", (True, True): "changed"}
    return [
        f"{name}: {words[name in then, name in now]}"
        for name in sorted(now.keys() | then)
        if now.get(name) != then.get(name)
    ]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FOLDER] = folder
        make_sample(Path(folder) / "state")
        now = outputs(Path(folder) / "state", Path(folder) / "out")
    if sys.argv[1:] == ["--write"]:
        FILE.write_text(json.dumps(now, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    else:
        sys.exit("\n".join(differences(now)) or None)


if __name__ == "__main__":
    main()

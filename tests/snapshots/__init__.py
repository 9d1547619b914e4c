"""Six screens of the sample edition as a user sees them: the text files of this folder.

``python -m tests.snapshots`` writes them anew; read the difference before you commit it.
"""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from gre_bench.cli import app
from gre_bench.core.resources import locate_resource

FOLDER = Path(__file__).parent
EDITION = "SAMPLE-2026"
SCREENS: dict[str, tuple[str, ...]] = {
    "help": ("--help",),
    "demo": ("demo", "--no-prefect"),
    "leaderboard": ("leaderboard", EDITION, "--details"),
    "compare": ("compare", "reviewer-thorough", "human", "--edition", EDITION),
    "why": ("why", EDITION, "extractive-full", "--paper", "s08"),
    "rank": ("rank", "mine.jsonl", "--edition", EDITION, "--as", "mine"),
}
"""Name of the file → the command; the last one changes the edition."""
MADE_WITH = {"SOURCE_DATE_EPOCH": "1796083200", "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "110"}


def shown(*words: str, state: Path) -> str:
    """Returns what the command *words* prints of the folder *state*, without spaces at the ends of lines."""
    done = CliRunner().invoke(app.app, [*words], env=MADE_WITH | {"GRE_BENCH_STATE": str(state)})
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def make_sample(state: Path) -> None:
    """Makes the sample edition in the new folder *state*, as the demo does it."""
    shown("refresh", "--settings", "demo", "--no-prefect", state=state)


def write_mine(folder: Path) -> None:
    """Writes mine.jsonl into *folder*: the reviews of the sample's most thorough candidate, under no name."""
    lines = locate_resource("data", "sample", "candidates.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["candidate"] == "reviewer-thorough"]
    mine = "".join(f"{json.dumps({name: row[name] for name in ('paper_id', 'review')})}\n" for row in rows)
    (folder / "mine.jsonl").write_text(mine, encoding="utf-8")


def screens(state: Path) -> dict[str, str]:
    """Returns the text of each of `SCREENS`; *state* holds the sample edition, the working directory mine.jsonl."""
    return {name: shown(*words, state=state) for name, words in SCREENS.items()}

"""Measures how time and memory grow with an edition of 30, 300 and 3,000 papers, with the embedded evaluation LM.

    python -m tests.bench.growth [--papers 30 300 3000] [--candidates 5] [--folder build/growth]

Papers and reviews are generated in realistic lengths. Each command runs as a user runs it, in a separate process. Its
seconds and peak memory are printed per size. Then come the slopes from one size to the next: milliseconds and kilobytes
per additional paper, and how much longer one paper takes than at the previous size.

The costs are stored in FOLDER/growth.json, so that a stopped measurement continues. Delete the folder to start again.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.bench.made_edition import write_edition
from tests.conftest import ROOT

EDITION = "GROWTH-2026"
SETTINGS = """
edition = {{venue = "GROWTH", year = 2026, papers = {papers}}}
sources = {{papers = "{files[0]}", reviews = "{files[1]}", licence = "CC BY 4.0"}}

evaluation_lm = {{backend = "cache-ngram"}}
scoring = {{metrics = ["gem", "gem_s_abstract"]}}
"""
COMMANDS = {
    "refresh": ("refresh", "--settings", "settings.toml", "--no-prefect"),
    "refresh again": ("refresh", "--settings", "settings.toml", "--no-prefect", "--retry-failed"),
    "leaderboard": ("leaderboard", EDITION),
    "publish": ("publish", EDITION),
}  # fmt: skip
"""The commands. The second refresh has nothing to score, so it shows the cost of planning alone."""


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--papers", type=int, nargs="+", default=[30, 300, 3000])
    asked.add_argument("--candidates", type=int, default=5)
    asked.add_argument("--folder", type=Path, default=ROOT / "build" / "growth")
    given = asked.parse_args()
    kept = given.folder.resolve() / "growth.json"
    found: dict[str, dict[str, Any]] = json.loads(kept.read_text()) if kept.exists() else {}
    for papers in given.papers:
        place = kept.parent / str(papers)
        for name, command in COMMANDS.items():
            taken = found.setdefault(str(papers), {})
            if name in taken:
                continue
            if not taken:
                shutil.rmtree(place, ignore_errors=True)
                place.mkdir(parents=True)
                files = write_edition(place, papers, given.candidates)
                (place / "settings.toml").write_text(SETTINGS.format(papers=papers, files=files))
            taken[name] = cost(command, place)
            beside = kept.with_suffix(".part")
            beside.write_text(json.dumps(found, indent=1) + "\n")
            beside.replace(kept)
            print(f"{papers:,} papers, {name}: {taken[name]}", file=sys.stderr)
    show({papers: found[str(papers)] for papers in sorted(given.papers)})


def cost(command: tuple[str, ...], folder: Path) -> dict[str, float]:
    """Runs *command* in *folder*; returns its seconds, its CPU seconds and its peak memory in MB (10**6 bytes)."""
    program = [str(Path(sys.executable).with_name("gre-bench")), *command]
    began = time.perf_counter()
    process = subprocess.Popen(program, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(program)} in {folder} ended with {os.waitstatus_to_exitcode(status)}")
    cpu = used.ru_utime + used.ru_stime
    return {"seconds": time.perf_counter() - began, "cpu": cpu, "mb": used.ru_maxrss * 1024 / 1e6}


def show(found: dict[int, dict[str, dict[str, float]]]) -> None:
    """Prints a row per command and size: its cost, and the slopes from the previous size."""
    table = Table("command", "papers", "s", "CPU s", "MB", "ms a paper more", "kB a paper more", "a paper, × before")
    for name in COMMANDS:
        before: tuple[int, dict[str, float], float] | None = None
        for papers, commands in found.items():
            taken, slopes, a_paper = commands[name], ("", "", ""), 0.0
            if before:
                size, earlier, slope_before = before
                a_paper = (taken["cpu"] - earlier["cpu"]) / (papers - size)
                memory = (taken["mb"] - earlier["mb"]) / (papers - size)
                ratio = f"{a_paper / slope_before:.2f}" if slope_before else ""
                slopes = (f"{a_paper * 1000:.1f}", f"{memory * 1000:.0f}", ratio)
            before = papers, taken, a_paper
            table.add_row(
                name, f"{papers:,}", f"{taken['seconds']:.1f}", f"{taken['cpu']:.1f}", f"{taken['mb']:,.0f}", *slopes
            )
    Console(width=None if sys.stdout.isatty() else 120).print(table)


if __name__ == "__main__":
    main()

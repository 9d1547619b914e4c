"""Measures what a refresh costs apart from its evaluation LM: seconds per stage and pair, memory, disk.

    python -m tests.bench.bench_overhead [--papers 300] [--runners alone,here,processes,ray] [--json FILE]

An edition as in Xu et al. 2025, §5 is 300 papers × 21 candidates × 2 references × 3 metrics = 37,800 pairs; here 18
models, the human and two controls. Texts are generated in realistic lengths. The start of Prefect's server is not
timed. The start of workers is timed and shown separately. CPU seconds are summed over all processes except the server.
The comparison with the floor excludes the time of writers by rule (the authors' strengths and weaknesses).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.bench.made_edition import write_edition
from tests.bench.watching import Watch
from tests.conftest import ROOT

FLOOR_S_PER_PAIR = 239 / 37_800
"""Seconds per pair of an 8B evaluation LM on an H200 at full speed, with each token read once."""
RUNNERS = ("alone", "here", "threads", "processes", "ray")
"""alone: without the Prefect engine; here: with the engine, in one process."""


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--papers", type=int, nargs="+", default=[300])
    asked.add_argument("--candidates", type=int, default=21)
    asked.add_argument("--runners", default=",".join(RUNNERS))
    asked.add_argument("--workers", type=int, default=2)
    asked.add_argument("--chunk-papers", type=int, default=8)
    asked.add_argument("--json", type=Path)
    given = asked.parse_args()
    found = []
    for papers in given.papers:
        with tempfile.TemporaryDirectory() as name:
            files = write_edition(Path(name), papers, given.candidates)
            for runner in given.runners.split(","):
                if runner == "ray" and not importlib.util.find_spec("ray"):
                    print("ray: left out, it is not installed: pip install 'gre-bench[ray]'")
                    continue
                found.append(measure(files, runner, papers, given.workers, given.chunk_papers))
                print(json.dumps(found[-1]), file=sys.stderr)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")
    show(found)


def measure(files: tuple[Path, Path], runner: str, papers: int, workers: int, chunk_papers: int) -> dict[str, Any]:
    """Runs one refresh in its own process; returns its figures."""
    with tempfile.TemporaryDirectory() as name:
        asked = {
            "folder": name, "papers_file": str(files[0]), "reviews_file": str(files[1]), "runner": runner,
            "papers": papers, "workers": workers, "chunk_papers": chunk_papers,
        }  # fmt: skip
        command = [sys.executable, "-m", "tests.bench.overhead_run", json.dumps(asked)]
        process = subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE)
        assert process.stdout
        with Watch(process.pid) as watch:
            marks: list[dict[str, Any]] = []
            before: dict[str, float] = {}
            for line in process.stdout:
                if line.startswith('{"event"'):
                    marks.append(json.loads(line))
                    before = before or watch.cpu_by_role()
        if process.wait() or marks[-1].get("outcome") != "done":
            raise SystemExit(f"{runner}: the run ended with {process.returncode}, {marks[-1:]}")
        return {"runner": runner, "papers": papers} | _figures(Path(name), marks, watch, before)


def _figures(folder: Path, marks: list[dict[str, Any]], watch: Watch, before: dict[str, float]) -> dict[str, Any]:
    ended = marks.pop()
    stages = {mark["name"]: (mark, after) for mark, after in pairwise(marks)}
    used = {role: seconds - before.get(role, 0.0) for role, seconds in watch.cpu_by_role().items()}
    cpu = ended["cpu_s"] + used.get("workers", 0.0)
    # The time of writers by rule is excluded, like the time of an evaluation LM.
    written = [(begin, after) for name, (begin, after) in stages.items() if name.startswith("writing")]
    besides = {key: sum(after[key] - begin[key] for begin, after in written) for key in ("at", "cpu_s")}
    floor = ended["planned"] * FLOOR_S_PER_PAIR
    store = folder / "editions" / "BENCH-2026" / "edition.duckdb"
    return {
        "pairs": ended["planned"], "scored": ended["scored"], "wall_s": ended["wall_s"], "cpu_s": cpu,
        "run_cpu_s": ended["cpu_s"], "server_cpu_s": used.get("server", 0.0), "start_of_workers_s": ended["signing_s"],
        "written_s": besides["at"], "written_cpu_s": besides["cpu_s"],
        "ms_per_pair": 1000 * (ended["wall_s"] - besides["at"]) / ended["planned"],
        "share_of_floor": (ended["wall_s"] - besides["at"]) / floor,
        "cpu_share_of_floor": (cpu - besides["cpu_s"]) / floor,
        "stages": {
            name: {key: after[key] - begin[key] for key in ("at", "cpu_s")} for name, (begin, after) in stages.items()
        },
        "peak_mib": {
            role: max((sample.get(role, 0.0) for _, sample in watch.memory), default=0.0)
            for role in ("run", "workers", "server")
        },
        "scoring_mib": _memory_through_run(watch, *(mark["at"] for mark in stages["scoring"])),
        "store_mib": store.stat().st_size / 2**20,
    }  # fmt: skip


def _memory_through_run(watch: Watch, begin: float, end: float) -> list[float]:
    """Returns the resident MiB of the run itself at *begin*, one quarter, half, three quarters and *end*."""
    seen = [sample["run"] for at, sample in watch.memory if begin <= at <= end and "run" in sample]
    return [seen[place * (len(seen) - 1) // 4] for place in range(5)] if seen else []


def show(found: list[dict[str, Any]]) -> None:
    """Prints all results as one table."""
    table = Table("", *(f"{one['runner']} × {one['papers']}" for one in found))
    stages = dict.fromkeys(name for one in found for name in one["stages"])

    table.add_row("pairs", *(f"{one['pairs']:,}" for one in found))
    table.add_row("wall, s", *(f"{one['wall_s']:.1f}" for one in found))
    table.add_row("CPU, s", *(f"{one['cpu_s']:.1f}" for one in found))
    table.add_row("… of the flow process", *(f"{one['run_cpu_s']:.1f}" for one in found))
    table.add_row("first worker ready, s", *(f"{one['start_of_workers_s']:.1f}" for one in found))
    table.add_row("besides the writing: ms a pair", *(f"{one['ms_per_pair']:.3f}" for one in found))
    table.add_row("… of the 8B floor: wall", *(f"{one['share_of_floor']:.1%}" for one in found))
    table.add_row("… of the 8B floor: CPU", *(f"{one['cpu_share_of_floor']:.1%}" for one in found))
    for name in stages:
        taken = [one["stages"].get(name, {"at": 0.0, "cpu_s": 0.0}) for one in found]
        table.add_row(f"  {name}, s (CPU)", *(f"{stage['at']:.2f} ({stage['cpu_s']:.2f})" for stage in taken))
    table.add_row("peak memory, MiB", *(f"{one['peak_mib']['run']:.0f}" for one in found))
    table.add_row("workers' peak, MiB", *(f"{one['peak_mib']['workers']:.0f}" for one in found))
    table.add_row("through scoring, MiB", *(" ".join(f"{value:.0f}" for value in one["scoring_mib"]) for one in found))
    table.add_row("store, MiB", *(f"{one['store_mib']:.0f}" for one in found))
    Console(width=None if sys.stdout.isatty() else 160).print(table)


if __name__ == "__main__":
    main()

"""Prints the call path of one score: the functions between ``gre-bench rank FILE`` and its line on the screen.

python -m tests.bench.walk

Counts each function of the program on the call path from the command to a step of the page "One score, from review to
rank", in a real run. Functions that a step calls for its own work are not counted, and neither is the start of the
command line.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from tests.conftest import ROOT, SIXTEEN

COMMAND = "gre_bench.cli.commands.rank.rank"
IMPORT, REFRESH = "gre_bench.pipeline.own_reviews.import_candidate", "gre_bench.pipeline.refreshing.refresh"
TASK = "gre_bench.tasks.score.score_papers"
START = ("gre_bench.cli.app.main", "gre_bench.cli.commands.groups.TopLevelGroup.main")
STEPS = {
    "gre_bench.ingest.records.tables.read_new_reviews": IMPORT,
    "gre_bench.pipeline.importing.store_imported": IMPORT,
    "gre_bench.tasks.write.write_judgments": REFRESH,
    "gre_bench.metrics.cases.plan_edition_pairs": REFRESH,
    "gre_bench.metrics.scoring.build_predictions": TASK,
    "gre_bench.metrics.scoring.combine_logprobs": TASK,
    "gre_bench.pipeline.pair_scoring.store_scoring_result": REFRESH,
    "gre_bench.store.edition.Store.fill_board": REFRESH,
    "gre_bench.ranking.rank_statistics.compute_rank_statistics": REFRESH,
    "gre_bench.reports.board_rows.load_candidate": COMMAND,
    "gre_bench.cli.commands.rank.show_ranked": "gre_bench.cli.commands.rank.show_ranked",
}
"""Step of the page → a function on the path to it. Judgments are then written in a thread or process."""


def name_of(frame: FrameType) -> str:
    module = frame.f_globals.get("__name__", "")
    return f"{module}.{frame.f_code.co_qualname.replace('rank.<locals>.', '')}"


@contextmanager
def record_call_paths() -> Iterator[dict[str, list[str]]]:
    """Yields step → the functions on the shortest call path from the command to it."""
    found: dict[str, list[str]] = {}

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or (name := name_of(frame)) not in STEPS:
            return
        stack: list[str] = []
        each: FrameType | None = frame
        while each is not None:
            stack.append(name_of(each))
            each = each.f_back
        way = [
            name for name in reversed(stack) if name.startswith("gre_bench.") and name not in START and "<" not in name
        ]
        if STEPS[name] in way and len(way) < len(found.get(name, (*way, ""))):
            found[name] = way

    sys.setprofile(watch)
    try:
        yield found
    finally:
        sys.setprofile(None)


def main() -> None:
    from gre_bench.cli.app import main as command
    from tests.flows.refreshing import run, use
    from tests.scripted_lms import OverlapLM

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        use(OverlapLM())
        run(Path("state"), "writing.judgments=rule", "scoring.metrics=['gem']")
        rows = [json.loads(line) for line in (SIXTEEN / "reviews.jsonl").read_text().splitlines()]
        first = {row["paper_id"]: {"paper_id": row["paper_id"], "review": row["review"]} for row in rows}
        Path("mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in first.values()))
        sys.argv = ["gre-bench", "rank", "mine.jsonl", "--edition", "SAMPLE-2026", "--as", "mine", "--state", "state"]
        with record_call_paths() as stacks:
            try:
                command()
            except SystemExit as stop:
                assert not stop.code
        os.chdir(ROOT)
    names = list(dict.fromkeys(name for step in STEPS for name in stacks.get(step, ())))
    for name in names:
        print(f"{'*' if name in STEPS else ' '} {name}")
    missing = [step for step in STEPS if step not in stacks]
    rooms = {name.split(".")[1] for name in names}
    print(f"{len(names)} functions in {len(rooms)} rooms: {', '.join(sorted(rooms))}", *missing)


if __name__ == "__main__":
    main()

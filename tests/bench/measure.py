"""Reproduces the records of ``data/measurements`` that need no external files or servers: ``make measurements``.

    python -m tests.bench.measure [BEGINNING]

BEGINNING: the beginning of the names of the records to reproduce; by default all.

- A table that a command prints from files of the project is printed again, and its record is updated.
- Other commands without external needs run one after another. Their output goes to ``build/measurements/NAME.txt``. An
  existing file is kept, so that a stopped run continues. If a command fails, its file is NAME.part. These tables must
  be entered into the records manually: compare the output with the record first.
- Records that need external files or a server are listed with their commands.
"""

from __future__ import annotations

import io
import json
import runpy
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "docs" / "hooks"))
import records

KEPT = ROOT / "build" / "measurements"


def rows_of(markdown: str) -> dict[str, Any]:
    """Returns the head and rows of the table in *markdown*; raises ValueError if there is no table."""
    lines = [line.strip().strip("|").split("|") for line in markdown.splitlines() if line.startswith("|")]
    if len(lines) < 3:
        raise ValueError("no table")
    head, _, *rows = [[cell.strip() for cell in line] for line in lines]
    return {"head": head, "rows": rows}


def printed(record: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the table printed by the record's *printed_by*, ``python -m MODULE ARGUMENT...``, run in this process."""
    _, _, module, *arguments = shlex.split(record["printed_by"])
    given, sys.argv = sys.argv, [module, *arguments]
    try:
        with redirect_stdout(io.StringIO()) as stream:
            runpy.run_module(module, run_name="__main__")
    finally:
        sys.argv = given
    return rows_of(stream.getvalue())


def words_of(command: str) -> list[str]:
    """Returns the words of *command*, with this environment's Python and programs substituted."""
    first, *rest = shlex.split(command)
    here = Path(sys.executable)
    return [str(here if first == "python" else here.with_name(first) if first != "make" else first), *rest]


def main() -> None:
    KEPT.mkdir(parents=True, exist_ok=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=ROOT).stdout[:8]
    elsewhere: list[str] = []
    failed: list[str] = []
    beginning = sys.argv[1] if len(sys.argv) > 1 else ""
    if not (known := {name: record for name, record in records.records().items() if name.startswith(beginning)}):
        raise SystemExit(f"no record's name begins with {beginning}")
    for number, (name, record) in enumerate(known.items(), 1):
        begun = time.monotonic()
        if record["printed_by"]:
            if (table := printed(record)) != record["table"]:
                renewed = record | {"table": table, "measured": time.strftime("%Y-%m-%d"), "commit": commit}
                path = records.FOLDER / f"{name}.json"
                path.write_text(json.dumps(renewed, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            print(f"{number}/{len(known)} {name}: printed again")
        elif record["needs"] or not record["commands"]:
            needs = f"needs {', '.join(record['needs'])}" if record["needs"] else "no command is kept"
            elsewhere += [f"{name}: {needs}", *(f"  {command}" for command in record["commands"])]
        elif (kept := KEPT / f"{name}.txt").exists():
            print(f"{number}/{len(known)} {name}: {kept.relative_to(ROOT)} is there")
        else:
            beside = kept.with_suffix(".part")
            with beside.open("w") as stream:
                for command in record["commands"]:
                    stream.write(f"$ {command}\n")
                    stream.flush()
                    done = subprocess.run(words_of(command), stdout=stream, stderr=subprocess.STDOUT, cwd=ROOT)
                    if done.returncode:
                        break
            if done.returncode:
                failed += [f"{name}: {command} ended with {done.returncode}; see {beside.relative_to(ROOT)}"]
            else:
                beside.replace(kept)
                print(f"{number}/{len(known)} {name}: {kept.relative_to(ROOT)}, {time.monotonic() - begun:.0f} s")
    for page in records.stale(write=True):
        print(f"{page}: renewed")
    if elsewhere:
        print("not made here:", *elsewhere, sep="\n")
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()

"""Makes the records of ``data/measurements`` again, as far as that needs nothing from elsewhere: ``make measurements``.

    python -m tests.bench.measure [BEGINNING]

BEGINNING: of the names of the records that are made again; all, if none is given.

- A table that a command prints from what is part of the project is printed again, and its record renewed.
- Other commands without needs run one after the other, and what they print goes into ``build/measurements/NAME.txt``.
  A file that is there is kept, so a stopped run continues. If a command fails, its file is NAME.part. Their tables are entered by hand: read both, then the record.
- What needs files or a server from elsewhere is listed, with the commands.
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
    """Returns head and rows of the table in *markdown*; raises ValueError if there is none."""
    lines = [line.strip().strip("|").split("|") for line in markdown.splitlines() if line.startswith("|")]
    if len(lines) < 3:
        raise ValueError("no table")
    head, _, *rows = [[cell.strip() for cell in line] for line in lines]
    return {"head": head, "rows": rows}


def printed(record: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the table that the record's *printed_by* prints, ``python -m MODULE ARGUMENT...``, run in this process."""
    _, _, module, *arguments = shlex.split(record["printed_by"])
    given, sys.argv = sys.argv, [module, *arguments]
    try:
        with redirect_stdout(io.StringIO()) as stream:
            runpy.run_module(module, run_name="__main__")
    finally:
        sys.argv = given
    return rows_of(stream.getvalue())


def words_of(command: str) -> list[str]:
    """Returns the words of *command*, with the Python and the programs of this environment."""
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

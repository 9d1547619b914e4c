"""Measurements as records: one file each in ``data/measurements``, and the tables of the pages that come from them.

A record has

- *title*, *notes*: what was measured, and what to know when you read it, in Markdown;
- *commands*: what measures it, and *needs*: the files or servers from elsewhere that these commands need;
- *printed_by*: the command that prints the table from what is part of the project; None: there is none;
- *measured*: the day, *commit*: that of the program, and *inputs*: file → SHA-256;
- *table*: its *head* and *rows*, cells as text. None: the notes hold the figures.

A page holds the table of a record between two marks. The docs build refuses a page that differs from its record:

    <!-- record NAME -->
    <!-- end of record -->

``python docs/hooks/records.py`` names the pages that differ from their records; ``--write`` renews them.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from escaping import MADE

from gre_bench.plots.drawing import IntervalRow, compute_axis_span, draw_intervals

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "data" / "measurements"
PAGES = (
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "data").glob("evaluation_lm/*/*.md")),
    ROOT / "data" / "judgments" / "README.md",
)
MARKED = re.compile(r"(<!-- record ([\w.-]+) -->\n).*?(<!-- end of record -->)", re.DOTALL)


def records() -> dict[str, dict[str, Any]]:
    """Name → record, sorted by name."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}


def table(record: dict[str, Any]) -> str:
    """The table of *record* as Markdown, one line per row."""
    head, rows = record["table"]["head"], record["table"]["rows"]
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def filled(page: str, known: dict[str, dict[str, Any]]) -> str:
    """*page* with the table of each record that it names; raises KeyError for a record that is not there."""
    return MARKED.sub(lambda match: f"{match[1]}\n{table(known[match[2]])}\n{match[3]}", page)


def board_picture(_: Mapping[str, dict[str, Any]]) -> str:
    """The figure of the release that comes with the program."""
    (release,) = (ROOT / "data/releases").glob("ICLR-2022-llms-r*")
    return (release / "figures/gem_s_abstract_scores.svg").read_text(encoding="utf-8")


def years_picture(known: Mapping[str, dict[str, Any]]) -> str:
    """How much human reviews of a paper tell of each other, by year, with 95% intervals."""
    table = known["agreement-by-year"]["table"]
    rows: list[IntervalRow | str] = []
    for title in ("GEM-S (abstract)", "GEM"):
        place = table["head"].index(f"{title}, per 100 words")
        rows.append(title)
        for row in table["rows"]:
            value, half = (float(part) for part in row[place].replace("−", "-").split(" ±"))
            name, text = f"ICLR {row[0]}", row[place].partition(" ")[0]
            rows.append(
                IntervalRow(name, value, text, value - half, value + half, said=f"{name}, {title}: {row[place]}")
            )
    ends = [end for row in rows if isinstance(row, IntervalRow) for end in (row.low, row.high) if end is not None]
    axis = "nats above chance, per 100 words of the reference; 95% intervals"
    return (
        draw_intervals(rows, compute_axis_span(ends), axis, title="What a human review tells of another", centre=0.0)
        + "\n"
    )


PICTURES: dict[Path, Callable[[Mapping[str, dict[str, Any]]], str]] = {
    ROOT / "docs" / "images" / "board.svg": board_picture,
    ROOT / "docs" / "images" / "years.svg": years_picture,
}
"""Picture of a page → what makes it from the records or a release."""


def stale(write: bool = False) -> list[str]:
    """The names of pages and pictures that differ from their records; with *write*, these are renewed."""
    known, names = records(), []
    wanted = {path: filled(path.read_text(encoding="utf-8"), known) for path in PAGES}
    wanted |= {path: picture(known) for path, picture in PICTURES.items()}
    for path, renewed in wanted.items():
        if not path.exists() or renewed != path.read_text(encoding="utf-8"):
            names.append(path.relative_to(ROOT).as_posix())
            if write:
                path.write_text(renewed, encoding="utf-8")
    return names


def measurements_page() -> str:
    """Every record: its table, what to know about it, and the commands that measure it."""
    lines = ["# All measurements", "", "One file each in `data/measurements`.", ""]
    lines += ["[Measurements](../measurements.md) has what a user decides by.", ""]
    for name, record in records().items():
        # Links in notes are those of a page in docs; this page lies one folder deeper.
        notes = [re.sub(r"\]\((?=[\w-]+\.md)", "](../", note) for note in record["notes"]]
        lines += [f"## {record['title']} {{#{name}}}", "", *[f"{note}\n" for note in notes]]
        lines += [table(record)] if record["table"] else []
        commands = [*record["commands"], *([record["printed_by"]] if record["printed_by"] else [])]
        lines += ["```sh", *commands, "```", ""] if commands else []
        needs = f"; needs {', '.join(record['needs'])}" if record["needs"] else ""
        lines += [f"Measured on {record['measured']} at {record['commit']}{needs}.", ""]
    return MADE + "\n".join(lines)


if __name__ == "__main__":
    changed = stale("--write" in sys.argv)
    for name in changed:
        print(f"{name}: {'renewed' if '--write' in sys.argv else 'differs from its records; renew it with --write'}")
    sys.exit(bool(changed) and "--write" not in sys.argv)

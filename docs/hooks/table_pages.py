"""The reference page of the tables and views of an edition."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from escaping import MADE, cell, escaped

ROOT = Path(__file__).resolve().parents[2]


def tables_page() -> str:
    """Every table and view of an edition's database with its grain and its columns."""
    import duckdb

    from gre_bench.store.schema import define

    notes, columns = _described(ROOT / "sql")
    meanings = tomllib.loads((ROOT / "docs" / "columns.toml").read_text(encoding="utf-8"))
    with duckdb.connect() as run:
        define(run)
        found = run.sql("select table_type, table_name from information_schema.tables order by all").fetchall()
        described = {name: run.sql(f'describe "{name}"').fetchall() for _, name in found}
    lines = ["# Tables and views", "", '`gre-bench sql EDITION "from leaderboard"` reads them.', ""]
    for title, kind in (("Views", "VIEW"), ("Tables", "BASE TABLE")):
        lines += [f"## {title}", ""]
        for name in (name for each, name in found if each == kind):
            lines += [f"### {name}", "", *notes.get(name, ()), "", "| column | type | |", "|---|---|---|"]
            for column, type_, *_ in described[name]:
                shared = meanings["all"].get(column, "")
                meaning = columns.get((name, column)) or escaped(meanings.get(name, {}).get(column, shared))
                lines.append(f"| `{column}` | {cell(type_.lower())} | {cell(meaning)} |")
            lines.append("")
    return MADE + "\n".join(lines)


def _described(folder: Path) -> tuple[dict[str, list[str]], dict[tuple[str, str], str]]:
    """What the SQL files say in comments: of each table and view (its lines), and of each column of a table."""
    notes: dict[str, list[str]] = {}
    columns: dict[tuple[str, str], str] = {}
    for path in sorted(folder.rglob("*.sql")):
        said: list[str] = []
        name = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            if created := re.match(r"create (?:or replace )?(?:table|view)(?: if not exists)? (\w+)", line):
                name = created[1]
                notes.setdefault(name, _sentences(said))
            elif column := re.match(r"    (\w+) .*?--\s*(.*)$", line):
                columns.setdefault((name, column[1]), escaped(column[2]))
            said = [*said, line] if line.startswith("--") and not line.startswith("-- name:") else []
    return notes, columns


def _sentences(said: list[str]) -> list[str]:
    """A comment's lines as paragraphs: a line that opens with a capital begins a new one."""
    found: list[str] = []
    for line in (line.lstrip("- ") for line in said):
        if found and not line[:1].isupper():
            found[-1] += f" {line}"
        else:
            found += ["", line] if found else [line[:1].upper() + line[1:]]
    return [escaped(line) for line in found]

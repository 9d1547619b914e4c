"""Reference pages of the site, made from the code while the site is built, so that they cannot disagree with it.

MkDocs calls `on_files`. Each page is also a plain function that returns Markdown.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from picture import rooms_picture
from pydantic import BaseModel

ROOT = Path(__file__).resolve().parents[2]
MADE = "<!-- Made from the code when the site is built. -->\n\n"


def on_files(files: Any, config: Any) -> Any:
    """Adds the reference pages and the picture of the rooms to the *files* of the site."""
    from mkdocs.structure.files import File

    for name, page in PAGES.items():
        files.append(File.generated(config, name, content=page()))
    files.append(File.generated(config, "images/rooms.svg", content=rooms_picture()))
    return files


def commands_page() -> str:
    """Every command with its help, arguments and options, by the groups of ``gre-bench --help``."""
    import typer

    from gre_bench.cli.app import app

    lines = ["# Commands", "", "[Operations](../operations.md#exit-codes) lists the exit codes.", ""]
    group = typer.main.get_command(app)
    panels: dict[str, list[Any]] = {}
    for command in group.commands.values():
        if not command.hidden:
            panels.setdefault(_text(command.rich_help_panel) or "Commands", []).append(command)
    for panel, members in panels.items():
        lines += [f"## {panel}", ""]
        for member in members:
            for name, command in _leaves(member, f"gre-bench {member.name}"):
                lines += _command(name, command)
    return MADE + "\n".join(lines)


def settings_page() -> str:
    """Every setting of a run by its group, then those of a training run."""
    from gre_bench.core.settings import Settings
    from gre_bench.tuning.settings import TuningSettings

    lines = [
        "# Settings",
        "",
        "A run reads one TOML file (`--settings`) and single values from `--set group.key=value`. A relative path in",
        "a file is taken from the file's folder, and one in `--set` from the current folder.",
        "",
    ]
    for name, field in Settings.model_fields.items():
        lines += _group(f"[{name}]", field.annotation)
    lines += _group("Training (`gre-bench models tune lm`)", TuningSettings)
    return MADE + "\n".join(lines)


def tables_page() -> str:
    """Every table and view of an edition's database with its grain and its columns."""
    import duckdb

    from gre_bench.store.schema import add_tables, remake_views

    notes, columns = _described(ROOT / "sql")
    with duckdb.connect() as run:
        add_tables(run)
        remake_views(run)
        found = run.sql("select table_type, table_name from information_schema.tables order by all").fetchall()
        described = {name: run.sql(f'describe "{name}"').fetchall() for _, name in found}
    lines = ["# Tables and views", "", '`gre-bench sql EDITION "from leaderboard"` reads them.', ""]
    for title, kind in (("Views", "VIEW"), ("Tables", "BASE TABLE")):
        lines += [f"## {title}", ""]
        for name in (name for each, name in found if each == kind):
            lines += [f"### {name}", "", *notes.get(name, ()), "", "| column | type | |", "|---|---|---|"]
            for column, type_, *_ in described[name]:
                lines.append(f"| `{column}` | {_cell(type_.lower())} | {_cell(columns.get((name, column), ''))} |")
            lines.append("")
    return MADE + "\n".join(lines)


def python_page() -> str:
    """Every public name of the package with its signature and its docstring."""
    import gre_bench

    lines = ["# Python", "", *_paragraphs(inspect.getdoc(gre_bench) or ""), ""]
    for name in gre_bench.__all__:
        member = getattr(gre_bench, name)
        signature = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(member)))
        lines += [f"## {name}", "", "```python", f"{name}{signature}", "```", ""]
        lines += [*_paragraphs(inspect.getdoc(member) or ""), ""]
    return MADE + "\n".join(lines)


PAGES: dict[str, Callable[[], str]] = {
    "reference/commands.md": commands_page,
    "reference/python.md": python_page,
    "reference/settings.md": settings_page,
    "reference/tables.md": tables_page,
}


def _leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The commands below *command*, or itself, with all the words that call them."""
    below = getattr(command, "commands", None)
    if not below or (command.callback and getattr(command, "invoke_without_command", False)):
        yield name, command
    for word, each in (below or {}).items():
        if not each.hidden:
            yield from _leaves(each, f"{name} {word}")


def _command(name: str, command: Any) -> list[str]:
    context = command.make_context(name, [], resilient_parsing=True)
    lines = [f"### {name}", "", *_paragraphs(command.help or ""), "", "| option | |", "|---|---|"]
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record and not getattr(parameter, "hidden", False):
            lines.append(f"| {_code(record[0])} | {_cell(_escaped(record[1]))} |")
    if lines[-1] == "|---|---|":
        del lines[-3:]
    return [*lines, ""]


def _group(title: str, group: Any) -> list[str]:
    """A heading and a table for *group*, a class of settings, then for the groups inside it."""
    doc = re.sub(r"\s+", " ", group.__doc__ or "")
    lines = [f"## {title}", "", _escaped(doc), "", "| setting | type | default | |", "|---|---|---|---|"]
    for name, field in group.model_fields.items():
        default = "required" if field.is_required() else f"`{_cell(_default(field))}`"
        note = _cell(_escaped(field.description or ""))
        lines.append(f"| `{name}` | {_cell(_type(field.annotation))} | {default} | {note} |")
    return [*lines, ""]


def _default(field: Any) -> str:
    value = field.get_default(call_default_factory=True)
    if value is None:
        return "not set"
    if isinstance(value, str | Path):
        return str(value) or "empty"
    return (
        repr(list(value)) if isinstance(value, tuple) else repr(value).replace("True", "true").replace("False", "false")
    )


def _type(annotation: Any) -> str:
    """A type as TOML's users would say it."""
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in inside)
    if origin in (Union, types.UnionType):
        return " or ".join(_type(each) for each in inside if each is not type(None))
    if origin in (tuple, list):
        return f"list of {_type(inside[0])}"
    if origin is dict:
        return "table"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "table"
    named = {str: "text", int: "whole number", float: "number", bool: "true or false", Path: "path"}
    return named.get(annotation, str(annotation))


def _described(folder: Path) -> tuple[dict[str, list[str]], dict[tuple[str, str], str]]:
    """What the SQL files say in comments: of each table and view (its lines), and of each column of a table."""
    notes: dict[str, list[str]] = {}
    columns: dict[tuple[str, str], str] = {}
    for path in sorted(folder.rglob("*.sql")):
        said: list[str] = []
        name = ""
        for line in path.read_text(encoding="utf-8").splitlines() if "migrations" not in path.parts else ():
            if created := re.match(r"create (?:or replace )?(?:table|view)(?: if not exists)? (\w+)", line):
                name = created[1]
                notes.setdefault(name, _sentences(said))
            elif column := re.match(r"    (\w+) .*?--\s*(.*)$", line):
                columns.setdefault((name, column[1]), _escaped(column[2]))
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
    return [_escaped(line) for line in found]


def _paragraphs(text: str) -> list[str]:
    """The lines of a docstring or help text as Markdown, where indented blocks and text in backticks are code."""
    lines = text.replace("\f", "").replace("::\n", ":\n").replace("``", "`").splitlines()
    return [line if line.startswith("    ") else _outside_code(line) for line in lines]


def _outside_code(line: str) -> str:
    """*line* with all but its code and the names of its parameters (between stars) escaped."""
    return "".join(
        part if number % 2 else _escaped(part) for number, part in enumerate(re.split(r"(`[^`]*`|\*\w+\*)", line))
    )


def _escaped(text: str) -> str:
    """*text* with nothing that Markdown takes for HTML, emphasis or a link."""
    return re.sub(r"([\\<>*_\[\]])", r"\\\1", text)


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


def _code(text: str) -> str:
    """*text* as code that may hold a bar, which would end the cell of a table."""
    return f"<code>{escape(text).replace('|', '&#124;')}</code>"


def _text(panel: Any) -> str:
    return panel if isinstance(panel, str) else ""

"""Adds the reference pages to the site while it is built, made from the code, so that they cannot disagree with it.

MkDocs calls `on_files`. Each page is a plain function that returns Markdown.
"""

from __future__ import annotations

import inspect
import re
import tomllib
import types
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from escaping import MADE, cell, code, escaped, google_style, paragraphs
from picture import rooms_picture
from pydantic import BaseModel
from records import measurements_page, stale

ROOT = Path(__file__).resolve().parents[2]
PROMPTS = ROOT / "gre_bench" / "prompts"
SETTINGS = """\
A run reads one TOML file (`--settings`) and single values from `--set group.key=value`. A relative path in
a file is taken from the file's folder, and one in `--set` from the current folder."""
DEPLOYMENTS = """\
# Deployments and settings files

## Deployments

`prefect --no-prompt deploy --all --prefect-file deployments/prefect.yaml` deploys them.

| deployment | pool | schedule | |
|---|---|---|---|"""
KINDS = {
    "verbatim": "the words of the source",
    "completed": "cut short in the source, and completed here",
    "derived": "changed here for another item, aspect or kind of text",
    "own": "own words; the source prints none",
}


def commands_page() -> str:
    """Every command with its help, arguments and options, by the groups of ``gre-bench --help``."""
    import typer

    from gre_bench.cli.app import app

    lines = ["# Commands", "", "[Operations](../operations.md#exit-codes) lists the exit codes.", ""]
    group = typer.main.get_command(app)
    lines += ["## The program", "", *_command("gre-bench", group)]
    panels: dict[str, list[Any]] = {}
    for command in group.commands.values():
        if not command.hidden:
            panel = command.rich_help_panel
            panels.setdefault(panel if isinstance(panel, str) else "Commands", []).append(command)
    for panel, members in panels.items():
        lines += [f"## {panel}", ""]
        for member in members:
            for name, command in _leaves(member, f"gre-bench {member.name}"):
                lines += _command(name, command)
    return MADE + "\n".join(lines)


def python_page() -> str:
    """Every public name of the package with its signature and its docstring."""
    import gre_bench

    lines = ["# Python", "", *paragraphs(inspect.getdoc(gre_bench) or ""), ""]
    for name in gre_bench.__all__:
        member = getattr(gre_bench, name)
        signature = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(member)))
        lines += [f"## {name}", "", "```python", f"{name}{signature}", "```", ""]
        lines += [*google_style(inspect.getdoc(member) or ""), ""]
    return MADE + "\n".join(lines)


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
    lines = [f"### {name}", "", *paragraphs(command.help or ""), ""]
    lines += [*paragraphs(command.epilog or ""), "", "| option | |", "|---|---|"]
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record and not getattr(parameter, "hidden", False):
            lines.append(f"| {code(record[0])} | {cell(escaped(record[1]))} |")
    if lines[-1] == "|---|---|":
        del lines[-3:]
    return [*lines, ""]


def settings_page() -> str:
    """Every setting of a run by its group, then those of a training run."""
    from gre_bench.core.settings import Settings
    from gre_bench.tuning.tuning_settings import TuningSettings

    lines = ["# Settings", "", *SETTINGS.splitlines(), ""]
    for name, field in Settings.model_fields.items():
        if isinstance(field.annotation, type):
            lines += _group(f"[{name}]", field.annotation)
        else:
            lines += [f"## {name}", "", f"{escaped(field.description or '')}. Above all groups: `{name} = ...`.", ""]
    lines += _group("Training (`gre-bench models tune lm`)", TuningSettings)
    return MADE + "\n".join(lines)


def deployments_page() -> str:
    """The Prefect deployments with their schedules, and the settings files that have names."""
    import yaml

    folder = ROOT / "deployments"
    lines = DEPLOYMENTS.splitlines()
    for entry in yaml.safe_load((folder / "prefect.yaml").read_text(encoding="utf-8"))["deployments"]:
        times = [
            f"`{each['cron']}` {each.get('timezone', 'UTC')}{'' if each.get('active', True) else ', off'}"
            for each in entry.get("schedules", ())
        ]
        pool = entry["work_pool"]["name"].removeprefix("gre-bench-")
        note = cell(escaped(entry["description"]))
        lines.append(f"| `{entry['name']}` | {pool} | {'<br>'.join(times) or 'on request'} | {note} |")
    lines += ["", "## Settings files", "", "`--settings NAME` finds them.", "", "| name | |", "|---|---|"]
    for path in sorted(folder.glob("*.toml")):
        said = [line[1:].strip() for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
        opening = said[: said.index("")] if "" in said else said
        note = re.sub(r"[.:]? Give the files?:$", ".", " ".join(opening)).removesuffix(":")
        lines.append(f"| `{path.stem}` | {cell(escaped(note))} |")
    return MADE + "\n".join([*lines, ""])


def _group(title: str, group: Any) -> list[str]:
    """A heading and a table for *group*, a class of settings, then for the groups inside it."""
    doc = re.sub(r"\s+", " ", group.__doc__ or "")
    lines = [f"## {title}", "", escaped(doc), "", "| setting | type | default | |", "|---|---|---|---|"]
    for name, field in group.model_fields.items():
        default = "required" if field.is_required() else f"`{cell(_default(field))}`"
        note = cell(escaped(field.description or ""))
        lines.append(f"| `{name}` | {cell(_type(field.annotation))} | {default} | {note} |")
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


def tables_page() -> str:
    """Every table and view of an edition's database with its grain and its columns."""
    import duckdb

    from gre_bench.store.schema import define_schema

    notes, columns = _described(ROOT / "sql")
    meanings = tomllib.loads((ROOT / "docs" / "columns.toml").read_text(encoding="utf-8"))
    with duckdb.connect() as run:
        define_schema(run)
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


def provenance() -> dict[str, dict[str, Any]]:
    """Name of a prompt, such as ``pre/summary/pairwise`` → what its file states."""
    return {
        path.relative_to(PROMPTS).with_suffix("").as_posix(): tomllib.loads(path.read_text(encoding="utf-8"))
        for path in sorted(PROMPTS.rglob("*.toml"))
    }


def counts() -> dict[str, Counter[str]]:
    """Folder of prompts, such as ``pre/summary`` (empty: those in no folder) → number of files of each kind."""
    found: dict[str, Counter[str]] = {}
    for name, stated in provenance().items():
        folder = "/".join(name.split("/")[:-1][:2])
        found.setdefault(folder, Counter())[stated["kind"]] += 1
    return found


def prompts_page() -> str:
    """Every prompt file with its source, its kind and its note, after the counts of each folder."""
    lines = ["# Prompts", "", "Each file of `gre_bench/prompts` states its source and how close it is to it:", ""]
    lines += [f"- *{kind}*: {meaning}." for kind, meaning in KINDS.items()]
    lines += ["", f"| folder | {' | '.join(KINDS)} |", "|---|" + "---|" * len(KINDS)]
    lines += [
        f"| {f'`{folder}`' if folder else 'in no folder'} | {' | '.join(str(found[kind]) for kind in KINDS)} |"
        for folder, found in sorted(counts().items())
    ]
    lines += ["", "## Files", "", "| prompt | kind | source | note |", "|---|---|---|---|"]
    lines += [
        f"| `{name}` | {stated['kind']} | {cell(escaped(stated['source']))} | {cell(escaped(stated.get('note', '')))} |"
        for name, stated in provenance().items()
    ]
    return MADE + "\n".join([*lines, ""])


PAGES: dict[str, Callable[[], str]] = {
    "reference/commands.md": commands_page,
    "reference/deployments.md": deployments_page,
    "reference/measurements.md": measurements_page,
    "reference/prompts.md": prompts_page,
    "reference/python.md": python_page,
    "reference/settings.md": settings_page,
    "reference/tables.md": tables_page,
}


def on_files(files: Any, config: Any) -> Any:
    """Adds the reference pages, the picture of the rooms to the *files* of the site.

    Raises RuntimeError if a page differs from the records of its tables.
    """
    if differing := stale():
        raise RuntimeError(f"{', '.join(differing)}: other than their records; python docs/hooks/records.py --write")
    from mkdocs.structure.files import File

    for name, page in PAGES.items():
        files.append(File.generated(config, name, content=page()))
    files.append(File.generated(config, "images/rooms.svg", content=rooms_picture()))
    return files

"""Reference pages of the commands and of the Python API."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

from escaping import MADE, cell, code, escaped, paragraphs


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


def python_page() -> str:
    """Every public name of the package with its signature and its docstring."""
    import gre_bench

    lines = ["# Python", "", *paragraphs(inspect.getdoc(gre_bench) or ""), ""]
    for name in gre_bench.__all__:
        member = getattr(gre_bench, name)
        signature = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(member)))
        lines += [f"## {name}", "", "```python", f"{name}{signature}", "```", ""]
        lines += [*paragraphs(inspect.getdoc(member) or ""), ""]
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
    lines = [f"### {name}", "", *paragraphs(command.help or ""), "", "| option | |", "|---|---|"]
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record and not getattr(parameter, "hidden", False):
            lines.append(f"| {code(record[0])} | {cell(escaped(record[1]))} |")
    if lines[-1] == "|---|---|":
        del lines[-3:]
    return [*lines, ""]


def _text(panel: Any) -> str:
    return panel if isinstance(panel, str) else ""

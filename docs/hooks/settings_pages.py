"""Reference pages of the settings, the deployments and the settings files."""

from __future__ import annotations

import re
import types
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from escaping import MADE, cell, escaped
from pydantic import BaseModel

ROOT = Path(__file__).resolve().parents[2]


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
    lines = [
        "# Deployments and settings files",
        "",
        "## Deployments",
        "",
        "`prefect --no-prompt deploy --all --prefect-file deployments/prefect.yaml` deploys them.",
        "",
        "| deployment | pool | schedule | |",
        "|---|---|---|---|",
    ]
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

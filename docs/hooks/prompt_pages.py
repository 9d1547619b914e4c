"""The reference page of the prompts: where each comes from, and how close it is to its source."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from escaping import MADE, cell, escaped

PROMPTS = Path(__file__).resolve().parents[2] / "gre_bench" / "prompts"
KINDS = {
    "verbatim": "the words of the source",
    "completed": "cut short in the source, and completed here",
    "derived": "changed here for another item, aspect or kind of text",
    "own": "own words; the source prints none",
}


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

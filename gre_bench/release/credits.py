"""What a page says of rights and credit: files beside it, licences of the texts, how to cite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import duckdb

from gre_bench.release.database import rows

METHOD = """\
@inproceedings{xu2025benchmarking,
  title     = {Benchmarking {LLMs}' Judgments with No Gold Standard},
  author    = {Shengwei Xu and Yuxuan Lu and Grant Schoenebeck and Yuqing Kong},
  booktitle = {International Conference on Learning Representations},
  year      = {2025}
}"""
_TABLES = {
    "scores": "every score, with the keys of its log-probabilities",
    "spans": "log-probabilities, token by token",
    "plan": "every pair that was planned, and what became of it",
    "problems": "every failure, as it was told",
    "candidates": "who is on the boards",
    "signatures": "what each score rests on",
    "rank_statistics": "ranks, ties and tests",
    "profiles": "lengths, tokens and money",
    "effects": "what changes of reviews did to the metrics",
    "judgment_kinds": "how many judgments open in which way",
    "papers": "the papers, texts where the licence allows it",
    "reviews": "the reviews, texts where the licence allows it",
    "judgments": "the judgments, texts where the licence allows it",
}
"""The tables that readers ask for first, and what they hold."""


def downloads(about: Mapping[str, Any]) -> tuple[tuple[str, str, str], ...]:
    """Files beside the page: address, name, what they hold."""
    held = [name for name, count in about["tables"].items() if count]
    first = [name for name in _TABLES if name in held]
    listed = [(f"tables/{name}.parquet", f"{name}.parquet", _TABLES[name]) for name in first]
    listed += [(f"tables/{name}.parquet", f"{name}.parquet", "") for name in held if name not in _TABLES]
    return (
        ("release.duckdb", "release.duckdb", "every table and view below, to be asked with DuckDB 1.4 and later"),
        ("manifest.json", "manifest.json", "SHA-256 of every file; settings, prompts, models, seeds, package versions"),
        *listed,
    )


def rights(connection: duckdb.DuckDBPyConnection, about: Mapping[str, Any]) -> tuple[str, ...]:
    """The licence of the program, and those of the texts: how many state which, of how many the words are here."""
    lines = ["The program is Apache-2.0. Texts keep the licence that their authors gave them; ids, hashes and numbers "
             "are about texts, and are none."]  # fmt: skip
    lines += _texts(rows(connection, "rights"))
    if about["texts"].startswith("all"):
        lines.append("This release holds texts of any licence: do not pass it on.")
    return tuple(lines)


def _texts(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for row in found:
        here = {row["known"]: "words are here", 0: "words are not here, their SHA-256 is"}.get(
            row["shown"], f"words of {row['shown']:,} are here"
        )
        yield f"{row['known']:,} {row['texts']} under {row['licence'] or 'no stated licence'}: {here}."


def citation(about: Mapping[str, Any]) -> str:
    """The release and the method, as BibTeX."""
    name, made = about["release"], about["created_at"]
    snapshots = ", ".join(one["digest"][:16] for one in about.get("snapshots", ()))
    program = f"gre-bench {about.get('program', {}).get('version', '')}".strip()
    notes = [f"made {made[:10]} with {program}", *([f"snapshot {snapshots}"] if snapshots else [])]
    fields = f"  title = {{GRE-bench {name}}},\n  year  = {{{made[:4]}}},\n  note  = {{{'; '.join(notes)}}}"
    return f"@misc{{{name.lower()},\n{fields}\n}}\n\n{METHOD}"

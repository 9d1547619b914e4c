"""Writes the last parts of the page of boards: downloads, licences of the texts, and how to cite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import duckdb

from gre_bench.core.settings import edition_of
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
    "plan": "every planned pair and its outcome",
    "problems": "every failure, with its message",
    "candidates": "who is on the boards",
    "signatures": "the signature of each score",
    "rank_statistics": "ranks, ties and tests",
    "profiles": "lengths, tokens and costs",
    "effects": "effects of changes of reviews on the metrics",
    "judgment_kinds": "judgments counted by their opening words",
    "papers": "the papers, texts where the licence allows it",
    "reviews": "the reviews, texts where the licence allows it",
    "judgments": "the judgments, texts where the licence allows it",
}
"""The tables that most readers need, and what each holds."""


def downloads(about: Mapping[str, Any]) -> tuple[tuple[str, str, str], ...]:
    """Returns (address, name, description) for each file that the page offers; *about* is the release's manifest."""
    with_rows = [name for name, count in about["tables"].items() if count]
    first = [name for name in _TABLES if name in with_rows]
    listed = [(f"tables/{name}.parquet", f"{name}.parquet", _TABLES[name]) for name in first]
    listed += [(f"tables/{name}.parquet", f"{name}.parquet", "") for name in with_rows if name not in _TABLES]
    return (
        ("views.sql", "views.sql", "every table and view, for DuckDB 1.4 and later: duckdb -init views.sql"),
        ("manifest.json", "manifest.json", "SHA-256 of every file; settings, prompts, models, seeds, package versions"),
        *listed,
    )


def rights(connection: duckdb.DuckDBPyConnection, about: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the lines about licences: one for the program, then one for each licence of the texts.

    A line about the texts says how many the edition has under this licence, and how many the release includes.

    *connection* is to the release's database; *about* is the release's manifest.
    """
    lines = ["The program is Apache-2.0. Texts keep the licence that their authors gave them; ids, hashes and numbers "
                 "are no texts."]  # fmt: skip
    lines += texts_given_out(rows(connection, "rights"))
    if about["texts"].startswith("all"):
        lines.append("This release holds texts of any licence: do not pass it on.")
    return tuple(lines)


def texts_given_out(licences: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yields a line for each kind of text and licence: how many texts there are, by whom, and how many are included.

    *licences*: the rows of the query ``rights``. Candidates are in one line if the words of all of their texts are
    included, or of none.
    """
    by_licence: dict[tuple[str, str, str], list[tuple[int, str | None]]] = {}
    for row in licences:
        words_here = {row["known"]: "words are here", 0: "words are not here, their SHA-256 is"}.get(
            row["shown"], f"words of {row['shown']:,} are here"
        )
        key = row["texts"], row["licence"] or "unknown licence", words_here
        by_licence.setdefault(key, []).append((row["known"], row["candidate"]))
    for (texts, licence, words_here), counts in by_licence.items():
        names = [f"{name} {known:,}" for known, name in counts if name]
        by = f" by {counts[0][1]}" if len(names) == 1 else f" ({', '.join(names)})" if names else ""
        yield f"{sum(known for known, _ in counts):,} {texts}{by} under {licence}: {words_here}."


def citation(about: Mapping[str, Any]) -> str:
    """Returns BibTeX entries for the release and for the method; *about* is the release's manifest.

    The year is that of the edition.
    """
    name, year = about["release"], edition_of(about["edition"]).year
    snapshots = ", ".join(snapshot["digest"][:16] for snapshot in about.get("snapshots", ()))
    program = f"gre-bench {about.get('program', {}).get('version', '')}".strip()
    notes = [f"made with {program}", *([f"snapshot {snapshots}"] if snapshots else [])]
    fields = f"  title = {{GRE-bench {name}}},\n  year  = {{{year}}},\n  note  = {{{'; '.join(notes)}}}"
    return f"@misc{{{name.lower()},\n{fields}\n}}\n\n{METHOD}"

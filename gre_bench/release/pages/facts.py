"""Collects the facts at the top and the bottom of a page, as (name, value)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gre_bench.release.pages.board import Board


def facts(boards: Sequence[Board], about: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Returns the facts at the top of the page: numbers of models, metrics, papers and pairs, and the evaluation LMs.

    *about* is the release's manifest.
    """
    names = {entry.candidate for board in boards for entry in board.entries if entry.kind == "model"}
    pairs = max((entry.expected or 0 for board in boards for entry in board.entries), default=0)
    shown = (("Models", len(names)), ("Metrics", len(boards)), ("Papers", about.get("papers", 0)),
             ("Pairs per candidate", pairs))  # fmt: skip
    counts = tuple((name, f"{count:,}") for name, count in shown if count)
    lms = dict.fromkeys(value for board in boards for name, value in board.about if name == "evaluation LM")
    return (*counts, *((("Evaluation LM", ", ".join(lms)),) if lms else ()))


def provenance(about: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Returns the facts at the bottom of the page, such as the program's version, snapshots and seeds.

    *about* is the release's manifest. The page of a release does not say when it was made, so that the same inputs give
    the same page; the manifest says it.
    """
    made = "see manifest.json" if about.get("tables") else about["created_at"]
    lines = [("made", made), ("program", f"gre-bench {about.get('program', {}).get('version', '')}")]
    lines += [("texts", about["texts"])]
    lines += [("snapshot", snapshot["digest"]) for snapshot in about.get("snapshots", ())]
    lines += [(f"seed of {name}", str(seed)) for name, seed in about.get("seeds", {}).items()]
    if about.get("tables"):
        lines += [("tables", ", ".join(f"{name} {count:,}" for name, count in about["tables"].items() if count)),
                  ("files", "tables/*.parquet, views.sql, manifest.json with the SHA-256 of each; "
                   "gre-bench verify reads them again")]  # fmt: skip
    return tuple(lines)

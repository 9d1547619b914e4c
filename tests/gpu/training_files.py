"""Writes the files that `gem-smollm2-2` is trained on: judgments of human reviews, and papers.

    python -m tests.gpu.training_files TRAINING HUMAN_REVIEWS OUT

*TRAINING* is a folder with ``reviews.parquet`` and ``papers.parquet``; *HUMAN_REVIEWS* is the file of the authors of
Xu et al. 2025. *OUT* gets:

- ``by_gpt4o.parquet``: rows 300-999 of *HUMAN_REVIEWS* with the judgments that GPT-4o wrote;
- ``rows_0_299.parquet``: the rows that judge, for ``--never``;
- ``by_rule.parquet``: the papers with three reviews, judged by rule; a row number a paper, in the order of the SHA-256 of
  the paper's id, papers with an abstract first;
- ``papers.jsonl``: their titles, abstracts and texts.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import pandas as pd

from gre_bench.writing.rules.judgments import WRITER, write_rule_judgments


def write(training: Path, human_reviews: Path, out: Path) -> dict[str, int]:
    """Writes the files into the folder *out*; returns the number of papers of each file of judgments."""
    out.mkdir(parents=True, exist_ok=True)
    rows = pd.read_parquet(human_reviews)
    rows["writer"] = "gpt-4o"
    taught, judging = rows[rows["row"] >= 300], rows[rows["row"] < 300]
    taught.to_parquet(out / "by_gpt4o.parquet")
    judging.to_parquet(out / "rows_0_299.parquet")

    papers = pd.read_parquet(training / "papers.parquet")
    without = papers["abstract"].fillna("").str.strip() == ""
    later = set(papers["paper_id"][without])
    reviews = pd.read_parquet(training / "reviews.parquet")
    reviews = reviews[reviews["paper_id"].isin(papers["paper_id"])].copy()
    reviews["judgments"] = reviews["review"].map(write_rule_judgments)
    reviews = reviews[reviews["judgments"] != ""]
    order = sorted(
        reviews["paper_id"].unique(), key=lambda name: (name in later, hashlib.sha256(name.encode()).hexdigest())
    )
    reviews["row"] = reviews["paper_id"].map({name: row for row, name in enumerate(order)})
    reviews["slot"] = reviews.groupby("paper_id").cumcount() + 1
    reviews["writer"] = WRITER
    columns = ["row", "paper_id", "slot", "review", "judgments", "writer"]
    reviews.sort_values(["row", "slot"])[columns].to_parquet(out / "by_rule.parquet")
    with (out / "papers.jsonl").open("w", encoding="utf-8") as file:
        for paper in papers.itertuples():
            known = {"title": paper.title, "abstract": paper.abstract, "text": paper.text}
            kept = {name: value for name, value in known.items() if isinstance(value, str) and value.strip()}
            file.write(json.dumps({"paper_id": paper.paper_id, **kept}, ensure_ascii=False) + "\n")
    return {"by_gpt4o": taught["paper_id"].nunique(), "by_rule": len(order)}


if __name__ == "__main__":
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    print(json.dumps(write(*map(Path, sys.argv[1:]))))

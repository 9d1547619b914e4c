"""Asks an LM to review the sample papers, and keeps every attempt in lm_attempts.jsonl.

    python data/sample/write_lm_reviews.py

The LM, its endpoint and its sampling are those of smollm2-135m in data/models.toml; the prompt is that of Xu et al.
2025, C.3. Requests are sent one at a time, each once. Each attempt is on disk before the next begins. No review is
requested of a paper if an earlier attempt gave its text. The command therefore continues where it was stopped, and
sends no request once each paper has a review. `make_sample.py` turns the attempts into the candidate's reviews.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gre_bench.catalogs.models import Model, load
from gre_bench.core.records import Paper
from gre_bench.http.lm_requests import RetryPolicy
from gre_bench.writing.archive import ReplyArchive
from gre_bench.writing.http_writer import HttpWriter
from gre_bench.writing.lm_writer import LMTextWriter

HERE = Path(__file__).parent
MODEL = "smollm2-135m"
ONCE = RetryPolicy(concurrency=1, timeout_s=3600.0, attempts=1)
"""One request per attempt, so that each leaves its row; up to an hour for a reply, as one core may be slow."""


def attempts(papers: list[Paper], kept: list[dict[str, Any]], model: Model) -> Iterator[dict[str, Any]]:
    """Requests a review of each of *papers* for which no row in *kept* has a text; yields the row of each attempt.

    Ends early at an attempt that got no answer.
    """
    with tempfile.TemporaryDirectory() as archive:
        writer = HttpWriter(model, ReplyArchive(Path(archive)), ONCE)
        review = LMTextWriter(writer, model.sampling, model=model)
        written = {row["paper_id"] for row in kept if row["text"]}
        for paper in papers:
            if paper.paper_id not in written:
                reply = writer.write([review.get_chat_builder("review")(paper.whole)], model.sampling)[0]
                yield {
                    "paper_id": paper.paper_id,
                    "attempt": 1 + sum(row["paper_id"] == paper.paper_id for row in kept),
                    "candidate": model.name,
                    "writer": review.identity("review"),
                    "outcome": reply.outcome,
                    "detail": reply.detail,
                    "prompt_tokens": reply.prompt_tokens,
                    "reply_tokens": reply.reply_tokens,
                    "text": reply.text,
                }
                if not reply.final:
                    return  # no answer: the next call of the command tries again


def rows(path: Path) -> list[dict[str, Any]]:
    """Returns the rows of a file of JSON lines; none if there is no such file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


def main(folder: Path = HERE, models: Path | None = None) -> int:
    """Asks for every review that *folder* lacks; returns the number of papers that still have none."""
    papers = [Paper(**row) for row in rows(folder / "papers.jsonl")]
    kept = rows(folder / "lm_attempts.jsonl")
    with (folder / "lm_attempts.jsonl").open("a", encoding="utf-8") as file:
        for row in attempts(papers, kept, load(models)[MODEL]):
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
            print(row["paper_id"], row["outcome"], row["reply_tokens"], row["detail"], flush=True)
    written = {row["paper_id"] for row in rows(folder / "lm_attempts.jsonl") if row["text"]}
    return sum(paper.paper_id not in written for paper in papers)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)

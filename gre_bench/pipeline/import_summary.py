"""Summarises the judgments of imported reviews before anything is scored.

A summary gives the number of judgments, the share of the review's words that they keep, and an example. Users can see
whether the writer finds few judgments in a candidate's prose, which would lower the candidate's score unfairly.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gre_bench.core.judgments import count
from gre_bench.core.records import HUMAN, Judgments, Review
from gre_bench.store import Store
from gre_bench.store.queries import DESCRIBED_JUDGMENTS, JUDGMENTS, LAST_SETTINGS, DescribedJudgmentsRow
from gre_bench.writing.catalog import by_rule

MOST_READ = 300
"""The most reviews of a candidate that are summarised."""


def described(
    store: Store, imported: Sequence[Review], judgments: Sequence[Judgments], known: Sequence[Review]
) -> dict[str, Any] | None:
    """Returns a summary of the judgments of the imported and of the human reviews; None if nothing was imported.

    - *imported*: the imported reviews.
    - *judgments*: the judgments that were imported with them. If there are none, the writer ``rule`` makes judgments
      here.
    - *known*: the reviews that were stored before.

    In the summary, ``writer`` is the writer of the judgments. ``candidates`` has a row for each candidate
    (`DescribedJudgmentsRow`, with an example). ``candidates`` is empty if only an LM could write the judgments, because
    an import pays for no replies.
    """
    from gre_bench.writing.rules.judgments import WRITER, judgments_of

    if not imported:
        return None
    if judgments:
        writer = judgments[0].writer
        texts = {item.review_id: item.text for item in judgments if item.writer == writer}
        texts |= {row["review_id"]: row["text"] for row in store.rows(JUDGMENTS) if row["writer"] == writer}
    else:
        writer = _writer(store)
        if not by_rule(writer):
            return {"writer": writer, "candidates": []}
        writer = WRITER
        texts = {}
    rows = []
    names = {review.candidate for review in imported} | {HUMAN}
    for name in sorted(names):
        for review in [item for item in (*imported, *known) if item.candidate == name][:MOST_READ]:
            if judgments and review.review_id not in texts:
                continue
            text = texts.get(review.review_id) if judgments else judgments_of(review.text or "")
            rows.append(
                {"candidate_id": name, "review_id": review.review_id, "review": review.text, "judgments": text,
                 "lines": count(text or "")[0]}
            )  # fmt: skip
    columns = {key: [row[key] for row in rows] for key in rows[0]} if rows else {}
    summaries = store.rows(DESCRIBED_JUDGMENTS, **columns) if rows else []
    text_of = {row["review_id"]: row["judgments"] for row in rows}
    return {"writer": writer, "candidates": [_with_example(row, text_of) for row in summaries]}


def _writer(store: Store) -> str:
    """Returns the name of the writer of judgments in the edition's last settings; ``rule`` if they name none."""
    last = store.rows(LAST_SETTINGS)
    named = json.loads(last[0]["settings"])["writing"]["judgments"] if last else None
    return named or "rule"


def _with_example(row: DescribedJudgmentsRow, texts: Mapping[str, str | None]) -> dict[str, Any]:
    """Returns *row* with an example: the first line of the candidate's longest judgments.

    *texts*: review id → judgments.
    """
    lines = (texts.get(row["longest_id"]) or "").splitlines()
    kept = {name: value for name, value in row.items() if name != "longest_id"}
    return kept | {"example": lines[0] if lines else None}

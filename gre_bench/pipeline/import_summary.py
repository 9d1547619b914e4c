"""What an import of reviews says of their judgments, before anything is scored: how many, how much they keep, one line.

A writer that finds few judgments in a candidate's prose makes its score low for a reason that is not the candidate's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gre_bench.core.judgments import count
from gre_bench.core.records import HUMAN, Judgments, Review
from gre_bench.store import Store
from gre_bench.store.queries.runs import LAST_SETTINGS
from gre_bench.store.queries.writing import DESCRIBED_JUDGMENTS, JUDGMENTS, DescribedJudgmentsRow
from gre_bench.writing.catalog import by_rule

MOST_READ = 300
"""Reviews of a candidate that are read for this, at most."""


def described(
    store: Store, came: Sequence[Review], given: Sequence[Judgments], known: Sequence[Review]
) -> dict[str, Any] | None:
    """The judgments of the reviews that *came*, beside the humans' among all *known*; None without any review.

    *given*: judgments that came with them. Else they are written by rule, where a rule writes for the edition; where
    an LM does, *writer* alone says so: nothing is bought by an import.
    """
    from gre_bench.writing.rules.judgments import WRITER, judgments_of

    if not came:
        return None
    if given:
        writer = given[0].writer
        texts = {one.review_id: one.text for one in given if one.writer == writer}
        texts |= {row["review_id"]: row["text"] for row in store.rows(JUDGMENTS) if row["writer"] == writer}
    else:
        writer = _writer(store)
        if not by_rule(writer):
            return {"writer": writer, "candidates": []}
        writer = WRITER
        texts = {}
    rows = []
    names = {review.candidate for review in came} | {HUMAN}
    for name in sorted(names):
        for review in [one for one in (*came, *known) if one.candidate == name][:MOST_READ]:
            if given and review.review_id not in texts:
                continue
            text = texts.get(review.review_id) if given else judgments_of(review.text or "")
            rows.append(
                {"candidate_id": name, "review_id": review.review_id, "review": review.text, "judgments": text,
                 "lines": count(text or "")[0]}
            )  # fmt: skip
    columns = {key: [row[key] for row in rows] for key in rows[0]} if rows else {}
    found = store.rows(DESCRIBED_JUDGMENTS, **columns) if rows else []
    text_of = {row["review_id"]: row["judgments"] for row in rows}
    return {"writer": writer, "candidates": [_with_example(row, text_of) for row in found]}


def _writer(store: Store) -> str:
    """Who writes the edition's judgments by the settings of its last refresh; by rule where nobody is named."""
    last = store.rows(LAST_SETTINGS)
    named = json.loads(last[0]["settings"])["writing"]["judgments"] if last else None
    return named or "rule"


def _with_example(row: DescribedJudgmentsRow, texts: Mapping[str, str | None]) -> dict[str, Any]:
    """*row* with a judgment in full: the first of the review that has most."""
    lines = (texts.get(row["longest_id"]) or "").splitlines()
    kept = {name: value for name, value in row.items() if name != "longest_id"}
    return kept | {"example": lines[0] if lines else None}

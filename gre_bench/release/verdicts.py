"""Reads the validation of each metric: effects of changes on this edition's reviews, and outcomes on other editions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import duckdb

from gre_bench.release.database import rows
from gre_bench.release.pages.contents import Effect, Validation
from gre_bench.store import Row


def validations(connection: duckdb.DuckDBPyConnection) -> tuple[Validation, ...]:
    """Returns a `Validation` for each metric on the boards that was validated; metrics with effects come first.

    Effects are measured on this edition's reviews. If a metric was validated only on another edition, its
    `Validation` has no effects; *detail* then names the changes that the metric does not pass.
    """
    signatures = {row["signature_id"]: row for row in rows(connection, "signatures")}
    titles = {row["metric"]: row["metric_title"] for row in rows(connection, "boards")}
    by_metric: dict[str, Validation] = {}
    for signature_id, group in groupby(rows(connection, "effects"), key=lambda row: row["signature_id"]):
        effects = list(group)
        metric = effects[0]["metric"]
        if metric not in by_metric:
            by_metric[metric] = _validation(
                effects[0]["metric_title"] or metric, signatures.get(signature_id, {}), effects
            )
    for row in signatures.values():
        if row["metric"] not in by_metric and row["verdict"]:
            by_metric[row["metric"]] = _validation(titles.get(row["metric"]) or row["metric"], row, ())
    return tuple(by_metric.values())


def _validation(title: str, validation_record: Row, effects: Sequence[Row]) -> Validation:
    where, detail = validation_record.get("validated_on"), validation_record.get("detail") or ""
    return Validation(
        title,
        validation_record.get("verdict") or "unvalidated",
        f"on {where}: {detail}" if where else detail,
        tuple(
            Effect(row["change"], row["change_title"] or row["change"], row["family"], row["verdict"], row["d"],
                   row["low"], row["high"], row["problem"])
            for row in effects
        ),
    )  # fmt: skip

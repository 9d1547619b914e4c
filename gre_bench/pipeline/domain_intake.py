"""Imports files of particular domains: restaurants of Yelp, and reviews with grades."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gre_bench.catalogs.domains import GIVEN, domain_of
from gre_bench.ingest.datasets.graded import graded_from
from gre_bench.ingest.datasets.yelp import Terms, restaurants_from
from gre_bench.pipeline.intake import file_sha256, keep, known_papers, known_reviews
from gre_bench.store import Store
from gre_bench.store.queries.writing import SYNOPSES


def import_yelp(
    store: Store, run_id: str, businesses: Path, reviews: Path, terms: Terms, licence: str | None = None
) -> dict[str, Any]:
    """Imports a sample of restaurants, with reviews and categories, from Yelp's files *businesses* and *reviews*.

    *terms* decide which restaurants are sampled. *licence*: as in `intake.keep`. Returns the report of `intake.keep`
    with ``left_out`` added, the numbers of records left out by reason.
    """
    papers = {paper.paper_id: paper for paper in known_papers(store)}
    known = {review.review_id: review for review in known_reviews(store)}
    categories = {row["paper_id"]: row["text"] for row in store.rows(SYNOPSES, kind="categories", writer=GIVEN)}
    imported = restaurants_from(businesses, reviews, papers, known, terms, categories)
    report = keep(store, run_id, reviews, "yelp", imported, "yelp", licence=licence)
    return report | {
        "businesses": {"file": str(businesses.resolve()), "sha256": file_sha256(businesses)},
        "left_out": imported.left_out,
        "notes": [f"left out: {count} {reason}" for reason, count in imported.left_out.items() if count],
    }


def import_graded(
    store: Store,
    run_id: str,
    path: Path,
    domain: str | None,
    grade_column: str | None,
    grades: Sequence[str] | None,
    licence: str | None = None,
) -> dict[str, Any]:
    """Imports the items in *path* and their reviews with grades; returns the report of `intake.keep`, with notes.

    - *domain*: the domain of the items.
    - *grade_column*: the column that holds the grades.
    - *grades*: the names of the grades, the worst first.
    - *licence*: as in `intake.keep`.

    A value of None means that the layout of the file decides.
    """
    papers = {paper.paper_id: paper for paper in known_papers(store)}
    known = {review.review_id: review for review in known_reviews(store)}
    graded = graded_from(path, papers, known, domain_of(domain) if domain else None, grade_column, grades)
    report = keep(store, run_id, path, "graded", graded.imported, graded.domain, licence=licence)
    reviews = known | {review.review_id: review for review in graded.imported.reviews}
    alone = sum(count == 1 for count in Counter(review.paper_id for review in reviews.values()).values())
    ungraded = sum(review.grade is None for review in reviews.values())
    notes = [f"read as {graded.layout}, domain {graded.domain}, grades from column {graded.grade_column}"]
    if alone:
        notes.append(f"{alone} items have one review: no reference, so no score under a metric that needs one")
    if ungraded:
        notes.append(f"{ungraded} reviews have no grade: they serve as references only")
    if graded.groups:
        notes.append(
            f"groups of {len(graded.groups)} items were read and are not kept: intervals resample single items"
        )
    return report | {"notes": notes}

"""Files of other domains into an edition's store: restaurants of Yelp, and reviews that somebody graded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gre_bench.catalogs.domains import GIVEN, domain_of
from gre_bench.ingest.datasets.graded import graded_from
from gre_bench.ingest.datasets.yelp import restaurants_from
from gre_bench.ingest.datasets.yelp_files import Terms
from gre_bench.pipeline.intake import file_sha256, keep, known_papers, known_reviews
from gre_bench.store import Store
from gre_bench.store.queries.writing import SYNOPSES


def import_yelp(store: Store, run_id: str, businesses: Path, reviews: Path, terms: Terms) -> dict[str, Any]:
    """Adds the drawn restaurants of the two files, with their reviews and categories; the report."""
    papers = {paper.paper_id: paper for paper in known_papers(store)}
    known = {review.review_id: review for review in known_reviews(store)}
    categories = {row["paper_id"]: row["text"] for row in store.rows(SYNOPSES, kind="categories", writer=GIVEN)}
    taken = restaurants_from(businesses, reviews, papers, known, terms, categories)
    report = keep(store, run_id, reviews, "yelp", taken, "yelp")
    return report | {
        "businesses": {"file": str(businesses.resolve()), "sha256": file_sha256(businesses)},
        "left_out": taken.left_out,
        "notes": [f"left out: {count} {what}" for what, count in taken.left_out.items() if count],
    }


def import_graded(
    store: Store, run_id: str, path: Path, domain: str | None, grade_column: str | None, grades: Sequence[str] | None
) -> dict[str, Any]:
    """Adds the items of the file *path* and their reviews with their grades; the report."""
    papers = {paper.paper_id: paper for paper in known_papers(store)}
    known = {review.review_id: review for review in known_reviews(store)}
    found = graded_from(path, papers, known, domain_of(domain) if domain else None, grade_column, grades)
    report = keep(store, run_id, path, "graded", found.imported, found.domain)
    there = known | {review.review_id: review for review in found.imported.reviews}
    alone = sum(count == 1 for count in Counter(review.paper_id for review in there.values()).values())
    ungraded = sum(review.grade is None for review in there.values())
    notes = [f"read as {found.layout}, domain {found.domain}, grades from column {found.grade_column}"]
    if alone:
        notes.append(f"{alone} items have one review: no reference, so no score under a metric that needs one")
    if ungraded:
        notes.append(f"{ungraded} reviews have no grade: they serve as references only")
    if found.groups:
        notes.append(f"groups of {len(found.groups)} items were read and are not kept: intervals resample single items")
    return report | {"notes": notes}

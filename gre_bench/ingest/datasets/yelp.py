"""Samples restaurants from the Yelp academic data set, with a few long reviews each (Xu et al. 2025, A.4).

A restaurant takes the place of a paper, and its categories are the synopsis. A long review has at least 1,000
characters. By default, 300 restaurants with at least 50 long reviews are sampled, with 3 long reviews each. The sample
depends only on the seed and the ids, not on the order in the files.

``business.json`` (``business_id``, ``name``, ``categories``) and ``review.json`` (``review_id``, ``business_id``,
``text``, ``stars``) hold one JSON object per line. There are millions of reviews, so little is kept in memory: for each
restaurant, a count and the positions of the chosen reviews; for each long review, eight bytes of a hash.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import heappush, heappushpop, nsmallest
from pathlib import Path

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.incoming import iterate_lines, open_decompressed
from gre_bench.core.records import HUMAN, Paper, Review, Synopsis
from gre_bench.ingest.records.cells import ImportResult, RefusedError, read_name, read_number, read_text
from gre_bench.ingest.records.row_files import parse_json_object
from gre_bench.ingest.records.tables import PaperMerger, ReviewMerger

MOST_REFUSED = 10_000
"""A file with more invalid lines than this is refused as a whole."""


@dataclass(frozen=True, slots=True)
class SampleCriteria:
    """The criteria by which restaurants and reviews are sampled; the defaults are from Xu et al. 2025."""

    restaurants: int = 300
    reviews_each: int = 3
    min_reviews: int = 50
    min_characters: int = 1000
    category: str = "Restaurants"
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.reviews_each <= self.min_reviews or self.restaurants < 1 or self.min_characters < 1:
            raise SettingsError(
                f"{self.reviews_each} reviews each of {self.restaurants} restaurants with at least {self.min_reviews} "
                f"reviews of at least {self.min_characters} characters cannot be drawn"
            )


@dataclass(slots=True)
class Restaurant:
    """The data about a restaurant that are kept in memory during reading. *long*: how many long reviews it has.

    *chosen*: the reviews sampled so far, each as (negative random number, line number, offset in bytes).
    """

    paper: Paper
    categories: str
    long: int = 0
    chosen: list[tuple[int, int, int]] = field(default_factory=list)


def sample_restaurants(
    businesses: Path,
    reviews: Path,
    known_papers: Mapping[str, Paper],
    known_reviews: Mapping[str, Review],
    terms: SampleCriteria,
    known_categories: Mapping[str, str] | None = None,
) -> ImportResult:
    """Returns the sampled restaurants as papers (names as titles, categories as synopses), with their sampled reviews.

    *businesses*, *reviews*: the two files. Each of their lines is imported, refused with a reason, or counted in
    ``left_out``. *known_papers*, *known_reviews*, *known_categories*: the edition's records by id. Raises `SourceError`
    if no restaurant has enough long reviews.
    """
    imported = ImportResult()
    restaurants = _read_restaurants(businesses, terms, imported)
    _scan_reviews(reviews, restaurants, terms, imported)
    eligible = [restaurant for restaurant in restaurants.values() if restaurant.long >= terms.min_reviews]
    if not eligible:
        raise SourceError(
            f"none of the {len(restaurants)} restaurants of {businesses.name} has {terms.min_reviews} reviews of "
            f"{terms.min_characters} characters in {reviews.name}; ask for fewer or shorter ones"
        )
    sampled = nsmallest(
        terms.restaurants, eligible, key=lambda restaurant: _compute_seeded_rank(terms, restaurant.paper.paper_id)
    )
    few = f"with fewer than {terms.min_reviews} reviews of {terms.min_characters} characters"
    enough = sum(restaurant.long for restaurant in eligible)
    in_sampled = sum(restaurant.long for restaurant in sampled)
    imported.left_out |= {
        f"restaurants {few}": len(restaurants) - len(eligible),
        f"reviews of restaurants {few}": sum(restaurant.long for restaurant in restaurants.values()) - enough,
        "restaurants asked for that are not there": terms.restaurants - len(sampled),
        "restaurants not drawn": len(eligible) - len(sampled),
        "reviews of restaurants not drawn": enough - in_sampled,
        "further reviews of drawn restaurants": in_sampled - sum(len(restaurant.chosen) for restaurant in sampled),
    }
    papers, refused = PaperMerger(known_papers), dict[str, str]()
    for restaurant in sampled:
        name, categories = restaurant.paper.paper_id, restaurant.categories
        try:
            if (known_categories or {}).get(name, categories) != categories:
                raise RefusedError("this restaurant is already there with other categories")
            papers.put(restaurant.paper)
            if name not in (known_categories or {}):
                imported.synopses.append(Synopsis(name, "categories", categories))
        except RefusedError as reason:
            refused[name] = str(reason)
    imported.papers, imported.paper_ids = list(papers.new.values()), papers.accepted
    merge_index = ReviewMerger(known_reviews, {}, [restaurant.paper.paper_id for restaurant in sampled])
    chosen = sorted((offset, number) for restaurant in sampled for _, number, offset in restaurant.chosen)
    with open_decompressed(reviews) as file:
        for offset, number in chosen:
            file.seek(offset)
            review = _parse_review(file.readline())
            try:
                if review.paper_id in refused:
                    raise RefusedError(refused[review.paper_id])
                review = merge_index.complete_review(review, named=True)
                imported.count(merge_index.put(imported, review, None, None))
            except RefusedError as reason:
                imported.refuse(number, f"review {review.review_id}", reason)
    imported.reviews = list(merge_index.new_reviews.values())
    return imported


def _read_restaurants(path: Path, terms: SampleCriteria, imported: ImportResult) -> dict[str, Restaurant]:
    restaurants: dict[str, Restaurant] = {}
    others = 0
    for number, _, line in iterate_lines(path, kept=False):
        try:
            row = parse_json_object(line)
            paper = Paper(read_name(row, "business_id"), read_text(row, "name") or "")
            categories = read_text(row, "categories") or ""
            if terms.category not in [name.strip() for name in categories.split(",")]:
                others += 1
                continue
            if paper.paper_id in restaurants:
                raise RefusedError(f"business {paper.paper_id} was there before")
            restaurants[paper.paper_id] = Restaurant(paper, categories.strip())
        except RefusedError as reason:
            _refuse_line(imported, path, number, "business", reason)
    imported.left_out[f"businesses that are not in the category {terms.category}"] = others
    return restaurants


def _scan_reviews(
    path: Path, restaurants: Mapping[str, Restaurant], terms: SampleCriteria, imported: ImportResult
) -> None:
    """Counts the long reviews of *restaurants* in the file *path*, and stores the positions of the sampled reviews."""
    short = f"reviews of fewer than {terms.min_characters} characters"
    left: Counter[str] = Counter()
    seen: set[int] = set()
    for number, offset, line in iterate_lines(path, kept=False):
        if len(line) < terms.min_characters:  # a text cannot be longer than its line; this skips most lines
            left[short] += 1
            continue
        try:
            review = _parse_review(line)
            restaurant = restaurants.get(review.paper_id)
            if restaurant is None:
                left[f"reviews of businesses that are not in the category {terms.category}"] += 1
            elif len(review.text or "") < terms.min_characters:
                left[short] += 1
            else:
                mark = _compute_seeded_rank(terms, review.review_id)
                if mark in seen:
                    raise RefusedError(f"review {review.review_id} was there before")
                seen.add(mark)
                restaurant.long += 1
                keep = heappush if len(restaurant.chosen) < terms.reviews_each else heappushpop
                keep(restaurant.chosen, (-mark, number, offset))
        except RefusedError as reason:
            _refuse_line(imported, path, number, "review", reason)
    imported.left_out |= left


def _parse_review(line: bytes) -> Review:
    """Returns the human review in *line*, with its stars as the rating; raises `RefusedError` for an invalid line."""
    row = parse_json_object(line)
    review_id, business = read_name(row, "review_id"), read_name(row, "business_id")
    text = read_text(row, "text")
    if text is None:
        raise RefusedError("text is missing")
    return Review(review_id, business, HUMAN, text, None, read_number(row, "stars"))


def _compute_seeded_rank(terms: SampleCriteria, item: str) -> int:
    """Returns a pseudo-random number from the seed and the id *item*; items with the lowest numbers are sampled."""
    return int.from_bytes(hashlib.sha256(f"{terms.seed}:{item}".encode()).digest()[:8])


def _refuse_line(imported: ImportResult, path: Path, number: int, kind: str, reason: RefusedError) -> None:
    imported.refuse(number, f"{kind} on line {number}", reason)
    if len(imported.refusals) > MOST_REFUSED:
        raise SourceError(
            f"{path.name}: more than {MOST_REFUSED} lines cannot be used (line {number}: {reason}); "
            f"give the unpacked {kind}.json of Yelp's data set"
        )

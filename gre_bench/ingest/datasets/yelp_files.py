"""Reads the two files of the Yelp academic data set once: restaurants, and the positions of their long reviews.

``business.json`` (``business_id``, ``name``, ``categories``) and ``review.json`` (``review_id``, ``business_id``,
``text``, ``stars``) hold one JSON object a line. There are millions of reviews, so memory holds little: for each
restaurant, a count and the positions of the chosen reviews; for each long review, eight bytes of a hash.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from pathlib import Path

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.incoming import lines
from gre_bench.core.records import HUMAN, Paper, Review
from gre_bench.ingest.records.cells import RefusedError, Row, read_name, read_number, read_text
from gre_bench.ingest.records.merge_index import Imported, Refusal
from gre_bench.ingest.records.row_files import read_object

MOST_REFUSED = 10_000
"""The most unreadable lines; beyond that, the file is refused as a whole."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Which restaurants and reviews are sampled; the defaults are those of Xu et al. 2025.

    - *restaurants*: how many restaurants are sampled.
    - *reviews_each*: how many long reviews are sampled of each restaurant.
    - *min_reviews*: how many long reviews a restaurant must have.
    - *min_characters*: how many characters a long review must have.
    - *category*: the category that a business must have.
    - *seed*: the seed of the sample.
    """

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
    """What memory holds of a restaurant while the files are read.

    - *paper*, *categories*: the restaurant as a paper, and its categories as the file writes them.
    - *long*: how many long reviews it has.
    - *chosen*: the chosen reviews, each as (negative rank in the seeded order, line number, offset in bytes).
    """

    paper: Paper
    categories: str
    long: int = 0
    chosen: list[tuple[int, int, int]] = field(default_factory=list)


def read_restaurants(path: Path, terms: Terms, imported: Imported) -> dict[str, Restaurant]:
    """Returns the businesses of the file *path* that are in the category of *terms*, by id.

    Refused lines, and the number of businesses in other categories, are added to *imported*.
    """
    restaurants: dict[str, Restaurant] = {}
    others = 0
    for number, _, line in lines(path, kept=False):
        try:
            row = read_object(line)
            paper = Paper(read_name(row, "business_id"), read_text(row, "name") or "")
            categories = read_text(row, "categories") or ""
            if terms.category not in [name.strip() for name in categories.split(",")]:
                others += 1
                continue
            if paper.paper_id in restaurants:
                raise RefusedError(f"business {paper.paper_id} was there before")
            restaurants[paper.paper_id] = Restaurant(paper, categories.strip())
        except RefusedError as reason:
            _refuse(imported, path, number, "business", str(reason))
    imported.left_out[f"businesses that are not in the category {terms.category}"] = others
    return restaurants


def read_reviews(path: Path, restaurants: Mapping[str, Restaurant], terms: Terms, imported: Imported) -> None:
    """Counts the long reviews of each of *restaurants* in the file *path*, and keeps the positions of the chosen ones.

    Refused lines, and the numbers of reviews that are left out, are added to *imported*.
    """
    left: Counter[str] = Counter()
    seen: set[int] = set()
    for number, offset, line in lines(path, kept=False):
        if len(line) < terms.min_characters:  # no text is longer than the line that holds it; most lines end here
            left[f"reviews of fewer than {terms.min_characters} characters"] += 1
            continue
        try:
            row = read_object(line)
            review = as_review(row)
            restaurant = restaurants.get(review.paper_id)
            if restaurant is None:
                left[f"reviews of businesses that are not in the category {terms.category}"] += 1
            elif len(review.text or "") < terms.min_characters:
                left[f"reviews of fewer than {terms.min_characters} characters"] += 1
            else:
                mark = rank(terms, review.review_id)
                if mark in seen:
                    raise RefusedError(f"review {review.review_id} was there before")
                seen.add(mark)
                _choose(restaurant, (-mark, number, offset), terms.reviews_each)
        except RefusedError as reason:
            _refuse(imported, path, number, "review", str(reason))
    imported.left_out |= left


def _choose(restaurant: Restaurant, review: tuple[int, int, int], most: int) -> None:
    """Counts *review* for its *restaurant*, and keeps it if its rank is among the lowest so far.

    A restaurant keeps at most *most* reviews. *review* is (negative rank, line number, offset in bytes).
    """
    restaurant.long += 1
    if len(restaurant.chosen) < most:
        heappush(restaurant.chosen, review)
    else:
        heappushpop(restaurant.chosen, review)


def as_review(row: Row) -> Review:
    """Returns *row*, a line of the file of reviews, as a human review with its stars as rating.

    Raises `RefusedError` if the review's id, the restaurant's id or the text is missing.
    """
    review_id, business = read_name(row, "review_id"), read_name(row, "business_id")
    text = read_text(row, "text")
    if text is None:
        raise RefusedError("text is missing")
    return Review(review_id, business, HUMAN, text, None, read_number(row, "stars"))


def rank(terms: Terms, item: str) -> int:
    """Returns a random number that depends only on the seed and the id *item*.

    The ids with the lowest numbers are sampled.
    """
    return int.from_bytes(hashlib.sha256(f"{terms.seed}:{item}".encode()).digest()[:8])


def _refuse(imported: Imported, path: Path, number: int, kind: str, reason: str) -> None:
    imported.refusals.append(Refusal(number, f"{kind} on line {number}", reason))
    if len(imported.refusals) > MOST_REFUSED:
        raise SourceError(
            f"{path.name}: more than {MOST_REFUSED} lines cannot be used (line {number}: {reason}); "
            f"give the unpacked {kind}.json of Yelp's data set"
        )

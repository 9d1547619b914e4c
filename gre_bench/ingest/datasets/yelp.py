"""Samples restaurants of the Yelp academic data set with a few long reviews each (Xu et al. 2025, A.4).

A restaurant is a paper whose synopsis is its categories. By default, 300 restaurants with at least 50 reviews of at
least 1,000 characters are sampled, with 3 such reviews each. The sample depends only on the seed and the ids, not on
the order of the files.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import nsmallest
from pathlib import Path

from gre_bench.core.errors import SourceError
from gre_bench.core.records import Paper, Review, Synopsis
from gre_bench.ingest.datasets.yelp_files import Restaurant, Terms, as_review, rank, read_restaurants, read_reviews
from gre_bench.ingest.records.cells import RefusedError
from gre_bench.ingest.records.json_lines import opened, read_object
from gre_bench.ingest.records.merge_index import Imported, MergeIndex, Papers, Refusal


def restaurants_from(
    businesses: Path,
    reviews: Path,
    known_papers: Mapping[str, Paper],
    known_reviews: Mapping[str, Review],
    terms: Terms | None = None,
    known_categories: Mapping[str, str] | None = None,
) -> Imported:
    """Returns the sampled restaurants as papers (title: the name), their reviews, and their categories as synopses.

    Known records (*known_categories* by restaurant) are not returned again. Every line of both files is taken, refused
    with its reason, or counted in ``left_out``. Raises `SourceError` if no restaurant has enough long reviews.
    """
    terms = terms or Terms()
    taken = Imported()
    there = read_restaurants(businesses, terms, taken)
    read_reviews(reviews, there, terms, taken)
    eligible = [one for one in there.values() if one.long >= terms.min_reviews]
    if not eligible:
        raise SourceError(
            f"none of the {len(there)} restaurants of {businesses.name} has {terms.min_reviews} reviews of "
            f"{terms.min_characters} characters in {reviews.name}; ask for fewer or shorter ones"
        )
    drawn = nsmallest(terms.restaurants, eligible, key=lambda one: rank(terms, one.paper.paper_id))
    _left_out(taken, terms, there, eligible, drawn)
    refused = _take_restaurants(drawn, Papers(known_papers), known_categories or {}, taken)
    _take_reviews(reviews, drawn, refused, known_reviews, taken)
    return taken


def _take_restaurants(
    drawn: list[Restaurant], papers: Papers, known_categories: Mapping[str, str], taken: Imported
) -> dict[str, str]:
    """Adds the *drawn* restaurants; returns why some are refused, by id."""
    refused: dict[str, str] = {}
    for one in drawn:
        name = one.paper.paper_id
        try:
            if known_categories.get(name, one.categories) != one.categories:
                raise RefusedError("this restaurant is already there with other categories")
            papers.put(one.paper)
            if name not in known_categories:
                taken.synopses.append(Synopsis(name, "categories", one.categories))
        except RefusedError as reason:
            refused[name] = str(reason)
    taken.papers = list(papers.new.values())
    return refused


def _take_reviews(
    path: Path,
    drawn: list[Restaurant],
    refused: Mapping[str, str],
    known_reviews: Mapping[str, Review],
    taken: Imported,
) -> None:
    """Adds the chosen reviews of the *drawn* restaurants from the file *path*."""
    merge_index = MergeIndex(known_reviews, {}, [one.paper.paper_id for one in drawn])
    chosen = sorted((offset, place) for one in drawn for _, place, offset in one.chosen)
    with opened(path) as file:
        for offset, place in chosen:
            file.seek(offset)
            review = as_review(read_object(file.readline()))
            try:
                if review.paper_id in refused:
                    raise RefusedError(refused[review.paper_id])
                review, _ = merge_index.whole(review, None, named=True)
                taken.count(merge_index.put(taken, review, None, None))
            except RefusedError as reason:
                taken.refusals.append(Refusal(place, f"review {review.review_id}", str(reason)))
    taken.reviews = list(merge_index.new_reviews.values())


def _left_out(
    taken: Imported,
    terms: Terms,
    there: Mapping[str, Restaurant],
    eligible: list[Restaurant],
    drawn: list[Restaurant],
) -> None:
    """Counts the restaurants and the long reviews that were not drawn."""
    few = f"with fewer than {terms.min_reviews} reviews of {terms.min_characters} characters"
    enough = sum(one.long for one in eligible)
    in_drawn = sum(one.long for one in drawn)
    taken.left_out |= {
        f"restaurants {few}": len(there) - len(eligible),
        f"reviews of restaurants {few}": sum(one.long for one in there.values()) - enough,
        "restaurants asked for that are not there": terms.restaurants - len(drawn),
        "restaurants not drawn": len(eligible) - len(drawn),
        "reviews of restaurants not drawn": enough - in_drawn,
        "further reviews of drawn restaurants": in_drawn - sum(len(one.chosen) for one in drawn),
    }

"""Samples restaurants of the Yelp academic data set with a few long reviews each (Xu et al. 2025, A.4).

A restaurant counts as a paper, and its categories as the paper's synopsis. By default, 300 restaurants with at least 50
reviews of at least 1,000 characters are sampled, with 3 such reviews each. The sample depends only on the seed and the
ids, not on the order of the files.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import nsmallest
from pathlib import Path

from gre_bench.core.errors import SourceError
from gre_bench.core.incoming import opened
from gre_bench.core.records import Paper, Review, Synopsis
from gre_bench.ingest.datasets.yelp_files import Restaurant, Terms, as_review, rank, read_restaurants, read_reviews
from gre_bench.ingest.records.cells import RefusedError
from gre_bench.ingest.records.merge_index import Imported, MergeIndex, Papers, Refusal
from gre_bench.ingest.records.row_files import read_object


def restaurants_from(
    businesses: Path,
    reviews: Path,
    known_papers: Mapping[str, Paper],
    known_reviews: Mapping[str, Review],
    terms: Terms | None = None,
    known_categories: Mapping[str, str] | None = None,
) -> Imported:
    """Returns the sampled restaurants as papers, their reviews, and their categories as synopses.

    The title of such a paper is the restaurant's name.

    - *businesses*, *reviews*: the two files of the data set.
    - *known_papers*, *known_reviews*: known records by id, which are not returned again.
    - *known_categories*: {restaurant id: its known categories}, which are not returned again either.
    - *terms*: what is sampled; None for the defaults.

    Every line of both files is imported, refused with its reason, or counted in ``left_out``. Raises `SourceError` if
    no restaurant has enough long reviews.
    """
    terms = terms or Terms()
    imported = Imported()
    restaurants = read_restaurants(businesses, terms, imported)
    read_reviews(reviews, restaurants, terms, imported)
    eligible = [restaurant for restaurant in restaurants.values() if restaurant.long >= terms.min_reviews]
    if not eligible:
        raise SourceError(
            f"none of the {len(restaurants)} restaurants of {businesses.name} has {terms.min_reviews} reviews of "
            f"{terms.min_characters} characters in {reviews.name}; ask for fewer or shorter ones"
        )
    sampled = nsmallest(terms.restaurants, eligible, key=lambda restaurant: rank(terms, restaurant.paper.paper_id))
    _left_out(imported, terms, restaurants, eligible, sampled)
    refused = _add_restaurants(sampled, Papers(known_papers), known_categories or {}, imported)
    _add_reviews(reviews, sampled, refused, known_reviews, imported)
    return imported


def _add_restaurants(
    sampled: list[Restaurant], papers: Papers, known_categories: Mapping[str, str], imported: Imported
) -> dict[str, str]:
    """Adds the *sampled* restaurants and their categories to *imported*; returns {restaurant id: why it is refused}.

    A restaurant is refused if it is already known with other categories or another name.
    """
    refused: dict[str, str] = {}
    for restaurant in sampled:
        name = restaurant.paper.paper_id
        try:
            if known_categories.get(name, restaurant.categories) != restaurant.categories:
                raise RefusedError("this restaurant is already there with other categories")
            papers.put(restaurant.paper)
            if name not in known_categories:
                imported.synopses.append(Synopsis(name, "categories", restaurant.categories))
        except RefusedError as reason:
            refused[name] = str(reason)
    imported.papers, imported.paper_ids = list(papers.new.values()), papers.accepted
    return refused


def _add_reviews(
    path: Path,
    sampled: list[Restaurant],
    refused: Mapping[str, str],
    known_reviews: Mapping[str, Review],
    imported: Imported,
) -> None:
    """Adds the chosen reviews of the *sampled* restaurants from the file *path* to *imported*.

    *refused* is {id of a refused restaurant: the reason}. The reviews of these restaurants are refused for the same
    reason.
    """
    merge_index = MergeIndex(known_reviews, {}, [restaurant.paper.paper_id for restaurant in sampled])
    chosen = sorted((offset, number) for restaurant in sampled for _, number, offset in restaurant.chosen)
    with opened(path) as file:
        for offset, number in chosen:
            file.seek(offset)
            review = as_review(read_object(file.readline()))
            try:
                if review.paper_id in refused:
                    raise RefusedError(refused[review.paper_id])
                review, _ = merge_index.whole(review, None, named=True)
                imported.count(merge_index.put(imported, review, None, None))
            except RefusedError as reason:
                imported.refusals.append(Refusal(number, f"review {review.review_id}", str(reason)))
    imported.reviews = list(merge_index.new_reviews.values())


def _left_out(
    imported: Imported,
    terms: Terms,
    restaurants: Mapping[str, Restaurant],
    eligible: list[Restaurant],
    sampled: list[Restaurant],
) -> None:
    """Counts in *imported* the restaurants and the long reviews that were not sampled, by reason.

    *restaurants* holds all restaurants, and *eligible* those with enough long reviews.
    """
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

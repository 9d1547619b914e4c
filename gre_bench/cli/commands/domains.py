"""``gre-bench import yelp`` and ``import graded``: data of other domains in the form in which others give it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from gre_bench.cli.commands import options

Businesses = Annotated[Path, typer.Argument(metavar="BUSINESS", help="business.json of the Yelp data set, or its .gz.")]
Reviews = Annotated[Path, typer.Argument(metavar="REVIEWS", help="review.json of the Yelp data set, or its .gz.")]
Restaurants = Annotated[int, typer.Option("--restaurants", min=1, help="Restaurants to draw.")]
Each = Annotated[int, typer.Option("--reviews-each", min=1, help="Reviews to draw of each; an edition needs 3.")]
Enough = Annotated[int, typer.Option("--min-reviews", min=1, help="Long reviews that a restaurant needs.")]
Long = Annotated[int, typer.Option("--min-characters", min=1, help="Characters of a long review.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the draw.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help=".csv or .jsonl, or one of them gzipped; one row a review.")]
DomainName = Annotated[
    str | None, typer.Option("--domain", help="Entry of data/domains.toml; by the file's columns if not given.")
]
GradeColumn = Annotated[
    str | None, typer.Option("--grade-column", help="Column of the grades; grade (RottenReviews: overall quality).")
]
Grades = Annotated[
    str | None, typer.Option("--grades", help='Names of grades, the worst first, such as "C,B,A"; the domain\'s else.')
]
Work = Callable[..., Any]


def register(imports: typer.Typer, bring_in: Callable[..., None]) -> None:
    """Adds the commands to *imports*; *bring_in* does a work on the locked store and shows its report."""

    @imports.command("yelp", epilog=options.EXIT_CODES)
    def import_yelp(
        businesses: Businesses,
        reviews: Reviews,
        edition: options.IntoEdition,
        new: options.New = False,
        restaurants: Restaurants = 300,
        reviews_each: Each = 3,
        min_reviews: Enough = 50,
        min_characters: Long = 1000,
        seed: Seed = 0,
        wait: options.Wait = 0.0,
        state: options.State = Path("state"),
        as_json: options.Json = False,
    ) -> None:
        """Draw restaurants of the Yelp academic data set with a few of their long reviews (Xu et al. 2025, A.4).

        A restaurant becomes a paper, its categories the synopsis. Defaults are the paper's. Who is drawn follows from
        the seed and the ids alone; the files are read line by line, however large.
        """
        from gre_bench.ingest.datasets.yelp_files import Terms
        from gre_bench.pipeline import domain_intake

        terms = Terms(restaurants, reviews_each, min_reviews, min_characters, seed=seed)
        bring_in(
            "yelp", edition, new, state, wait, as_json,
            lambda store, run_id, _: domain_intake.import_yelp(store, run_id, businesses, reviews, terms),
        )  # fmt: skip

    @imports.command("graded", epilog=options.EXIT_CODES)
    def import_graded(
        file: File,
        edition: options.IntoEdition,
        new: options.New = False,
        domain: DomainName = None,
        grade_column: GradeColumn = None,
        grades: Grades = None,
        wait: options.Wait = 0.0,
        state: options.State = Path("state"),
        as_json: options.Json = False,
    ) -> None:
        """Add reviews that somebody graded, with what they review: proposals, papers, anything with a domain.

        Columns: item_id; review, or strengths, weaknesses, suggestions; grade (a number or a name; blank: not graded);
        review_id or reviewer; title, abstract, text (in one row of an item); rating; group. Files of RottenReviews are
        read as they are. Rows are checked one by one; a report says which were refused and why.
        """
        from gre_bench.catalogs.domains import domain_of
        from gre_bench.pipeline import domain_intake

        if domain is not None:
            domain_of(domain)
        names = None if grades is None else tuple(name.strip() for name in grades.split(",") if name.strip())
        bring_in(
            "graded", edition, new, state, wait, as_json,
            lambda store, run_id, _: domain_intake.import_graded(store, run_id, file, domain, grade_column, names),
        )  # fmt: skip

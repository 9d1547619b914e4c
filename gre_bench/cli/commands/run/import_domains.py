"""``gre-bench import yelp`` and ``import graded``: add reviews of other domains from files in published formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gre_bench.cli.commands import completion, options
from gre_bench.cli.commands.run.imports import New, app, import_into

Businesses = Annotated[Path, typer.Argument(metavar="BUSINESS", help="business.json of the Yelp data set, or its .gz.")]
Reviews = Annotated[Path, typer.Argument(metavar="REVIEWS", help="review.json of the Yelp data set, or its .gz.")]
Restaurants = Annotated[int, typer.Option("--restaurants", metavar="N", min=1, help="Restaurants to sample.")]
Each = Annotated[
    int,
    typer.Option("--reviews-each", metavar="N", min=1, help="Reviews to sample per restaurant; an edition needs 3."),
]
Enough = Annotated[int, typer.Option("--min-reviews", metavar="N", min=1, help="Long reviews that a restaurant needs.")]
Long = Annotated[int, typer.Option("--min-characters", metavar="N", min=1, help="Characters of a long review.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help=".csv or .jsonl, also gzipped; one row per review.")]
DomainName = Annotated[
    str | None,
    typer.Option(
        "--domain",
        metavar="NAME",
        autocompletion=completion.domains,
        help="Entry of data/domains.toml; default: by the file's columns.",
    ),
]
GradeColumn = Annotated[
    str | None,
    typer.Option(
        "--grade-column",
        metavar="COLUMN",
        help="Column of the grades; default: grade (RottenReviews: overall quality).",
    ),
]
Grades = Annotated[
    str | None,
    typer.Option(
        "--grades", metavar="NAMES", help='Names of grades, worst first, such as "C,B,A"; default: the domain\'s.'
    ),
]


@app.command("yelp")
def import_yelp(
    businesses: Businesses,
    reviews: Reviews,
    edition: options.IntoEdition,
    new: New = False,
    restaurants: Restaurants = 300,
    reviews_each: Each = 3,
    min_reviews: Enough = 50,
    min_characters: Long = 1000,
    licence: options.Licence = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Add restaurants of the Yelp data set, with reviews.

    A restaurant becomes a paper, and its categories the synopsis, as in Xu et al. 2025, appendix A.4. The defaults are
    those of the paper. The sample depends on the ids alone. Files of any size are read line by line.
    """
    from gre_bench.ingest.datasets.yelp import Terms
    from gre_bench.pipeline import intake
    from gre_bench.pipeline.intake import stated_licence

    licence = stated_licence(licence)
    terms = Terms(restaurants, reviews_each, min_reviews, min_characters)
    import_into(
        "yelp", edition, new, state, as_json,
        lambda store, run_id, _: intake.import_yelp(store, run_id, businesses, reviews, terms, licence),
    )  # fmt: skip


@app.command("graded")
def import_graded(
    file: File,
    edition: options.IntoEdition,
    new: New = False,
    domain: DomainName = None,
    grade_column: GradeColumn = None,
    grades: Grades = None,
    licence: options.Licence = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Add graded reviews of papers, proposals or other items.

    Columns: item_id; review, or strengths, weaknesses, suggestions; grade (a number or a name; blank: not graded);
    review_id or reviewer; title, abstract, text (in one row of an item); rating; group. The files of RottenReviews need
    no change. Rows are checked one by one; a report says which were refused and why.
    """
    from gre_bench.catalogs.domains import domain_of
    from gre_bench.pipeline import intake
    from gre_bench.pipeline.intake import stated_licence

    if domain is not None:
        domain_of(domain)
    licence = stated_licence(licence)
    names = None if grades is None else tuple(name.strip() for name in grades.split(",") if name.strip())
    import_into(
        "graded", edition, new, state, as_json,
        lambda store, run_id, _: intake.import_graded(store, run_id, file, domain, grade_column, names, licence),
    )  # fmt: skip

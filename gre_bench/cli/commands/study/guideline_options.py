"""The options of ``gre-bench study guidelines``, each described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gre_bench.cli.commands import completion

GivenReviews = Annotated[
    Path | None,
    typer.Option(
        "--reviews", metavar="FOLDER",
        help="Ask no model; read existing reviews: human_ratings.tsv (paper_id, then one human rating per column, "
        "optionally decision) and llm_reviews.parquet or .jsonl (paper_id, model, Overall, optionally run; texts in "
        "Summary, Strengths, Weaknesses, Questions, Limitations or review). Each run is a condition.",
    ),
]  # fmt: skip
StudyName = Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the study that sampled the groups.")]
Ratings = Annotated[
    Path | None,
    typer.Option("--ratings", metavar="FILE", help="Human ratings: .tsv with paper_id and one rating per column."),
]
Conditions = Annotated[
    list[str] | None,
    typer.Option(
        "--condition", metavar="NAME",
        help="none; arr, neurips, iclr (as instructions); good, middle, bad, these three also with +rubric; or the "
        "name of a --guideline. Repeatable; default: none and each --guideline.",
    ),
]  # fmt: skip
Guidelines = Annotated[
    list[str] | None,
    typer.Option(
        "--guideline", metavar="NAME=FILE",
        help="A guideline of your own; arr_official, neurips_official and iclr_official fill table 1.",
    ),
]  # fmt: skip
VenueYear = Annotated[
    str,
    typer.Option(
        "--edition", "-e", metavar="EDITION", autocompletion=completion.editions,
        help="Venue and year of the notes, such as ICLR-2024.",
    ),
]  # fmt: skip
Judge = Annotated[
    str | None,
    typer.Option("--judge", metavar="NAME", help="Model that judges references and consistency; default: rules only."),
]
WithoutDates = Annotated[bool, typer.Option("--without-dates", help="Do not use the dates of the notes.")]
GroupName = Annotated[
    str,
    typer.Option(
        "--group", metavar="GROUP", help="good, middle or bad; or of one criterion alone, such as good.review_length."
    ),
]
OneModel = Annotated[
    str, typer.Option("--model", metavar="NAME", help="Model of the catalogue that makes the guideline.")
]
GuidelineFile = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="File to write the guideline to.")]

"""The options of ``gre-bench guidelines``, each described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

NAME_HELP = "Name of the study; its files are in state/studies/guidelines."

Reviews = Annotated[
    Path | None,
    typer.Option(
        "--reviews",
        help="Folder of reviews that were written elsewhere: human_ratings.tsv (paper_id, then one human rating a "
        "column, optionally decision) and llm_reviews.parquet or .jsonl (paper_id, model, Overall, optionally run; "
        "texts in Summary, Strengths, Weaknesses, Questions, Limitations or review). Each run is a condition.",
    ),
]
Name = Annotated[str | None, typer.Option("--name", help=NAME_HELP)]
StudyName = Annotated[str, typer.Option("--name", help=NAME_HELP)]
Papers = Annotated[
    Path | None, typer.Option("--papers", help="Papers to review, in the format of import papers, with their text.")
]
Ratings = Annotated[
    Path | None, typer.Option("--ratings", help="Human ratings: .tsv with paper_id and one rating a column.")
]
Models = Annotated[list[str] | None, typer.Option("--model", "-m", help="Model of the models file; repeatable.")]
Conditions = Annotated[
    list[str] | None,
    typer.Option(
        "--condition", "-c",
        help="none, arr, neurips, iclr (as instructions), good, middle, bad, these three with +rubric too; or the name "
        "of a --guideline. Repeatable; none and all --guideline if not given.",
    ),
]  # fmt: skip
Guidelines = Annotated[
    list[str] | None,
    typer.Option(
        "--guideline",
        help="NAME=FILE, a guideline of your own; arr_official, neurips_official and iclr_official stand in table 1.",
    ),
]
ModelsFile = Annotated[Path | None, typer.Option("--models", help="Models file; data/models.toml if not given.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the bootstrap, or of the draw.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be asked for and what it may cost; ask nothing.")
]
Again = Annotated[bool, typer.Option("--retry-failed", help="Ask for refused and empty replies anew.")]
Notes = Annotated[Path, typer.Argument(help="OpenReview notes, one a line (.jsonl or .jsonl.gz), API v1 or v2.")]
Venue = Annotated[str, typer.Option("--edition", "-e", help="Venue and year of the notes, such as ICLR-2024.")]
Judge = Annotated[
    str | None, typer.Option("--judge", help="Model that judges references and consistency; none: by rule only.")
]
WithoutDates = Annotated[bool, typer.Option("--without-dates", help="The dates of the notes are not to be believed.")]
Size = Annotated[int, typer.Option("--size", min=1, help="Reviews to draw of each group.")]
GroupName = Annotated[
    str, typer.Option("--group", help="good, middle or bad; or of one criterion alone, such as good.review_length.")
]
OneModel = Annotated[str, typer.Option("--model", "-m", help="Model of the models file that makes the guideline.")]
OutFile = Annotated[Path, typer.Option("--out", help="File to write the guideline to.")]

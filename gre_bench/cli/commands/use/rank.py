"""``gre-bench rank``: ranks the user's own reviews on an existing board."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gre_bench.cli.commands import completion, options
from gre_bench.cli.commands.running import confirm, ended, progress_bar, settings_of, stored_edition
from gre_bench.cli.views import screen
from gre_bench.cli.views.one_candidate import show_one, show_understood
from gre_bench.ingest.records.columns import ColumnNames, stated
from gre_bench.pipeline.runs.prefect_engine import configure_prefect
from gre_bench.store.queries import CANDIDATE_COUNTS

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="Reviews: .jsonl, .csv or .parquet with paper_id and review (or judgments); or a folder of texts, "
        "<paper id>.txt or .md; or logs of inspect_ai.",
    ),
]
OnEdition = Annotated[
    str,
    typer.Option(
        "--edition", "-e", metavar="EDITION", autocompletion=completion.editions,
        help="Edition that has a board, such as ICLR-2025.",
    ),
]  # fmt: skip
Name = Annotated[
    str,
    typer.Option("--as", metavar="NAME", help="Name on the board; the candidate to use if the file has several."),
]
Replace = Annotated[
    bool, typer.Option("--replace", help="Replace all reviews that the candidate has there with those of the file.")
]


def rank(
    file: File,
    edition: OnEdition,
    name: Name,
    replace: Replace = False,
    yes: options.Yes = False,
    writer: options.Writer = None,
    columns: options.Columns = None,
    licence: options.Licence = None,
    override: options.Set = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Rank your own model's reviews on an edition's board.

    Imports the reviews, scores them and shows their rank. Reviews need judgments by the edition's writer. They come
    from the file, or are written now with the settings of the edition's last refresh. If neither is possible, the
    command says what it needs and scores nothing.
    """
    from gre_bench.pipeline.intake import stated_licence

    store, licence = stored_edition(edition, state), stated_licence(licence)
    chosen = settings_of(None, edition, override, state)
    if replace and not yes and store.read(CANDIDATE_COUNTS, candidate=name)[0]["reviews"]:
        confirm(f"replace all reviews and scores of {name} in {store.key}")
    configure_prefect(state)
    from gre_bench.flows.annual_refresh import refresh, usable
    from gre_bench.pipeline.own_reviews import import_candidate, own_name
    from gre_bench.pipeline.runs.job import Job
    from gre_bench.tasks import steps

    job = usable(Job(chosen, state.resolve(), (own_name(name),), texts_first=True))
    run = steps.undecorated()
    job, understood = import_candidate(
        store, job, run, file, name, writer, replace, licence, ColumnNames(stated(columns or ()))
    )
    if not as_json:
        show_understood(understood)
    with progress_bar(store, as_json):
        summary = refresh(job, run)
    from gre_bench.reports.board_rows import one_candidate

    report = one_candidate(store, name)
    if as_json:
        screen.print_json({"understood": understood, "summary": summary, **report})
    else:
        show_one(report, state)
        if summary["outcome"] != "done":
            screen.say(f"{summary['outcome']}: {summary['message']}")
    raise ended(summary)

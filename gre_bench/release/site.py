"""Writes the pages of a release or an edition: boards, candidates, papers. Each page is self-contained.

index.html   candidates/<candidate>.html   papers/<paper>.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from gre_bench.release.credits import citation, downloads, rights
from gre_bench.release.figures.drawing import Drawings, drawn
from gre_bench.release.pages.board_data import board_data
from gre_bench.release.pages.candidates import write_candidates
from gre_bench.release.pages.contents import Contents, History
from gre_bench.release.pages.facts import facts, provenance
from gre_bench.release.pages.pair_values import pair_values
from gre_bench.release.pages.papers import write_papers
from gre_bench.release.pages.rendering import board_page
from gre_bench.release.reading import boards, outcomes, papers, remarks, remarks_on_hidden_boards
from gre_bench.release.sections import claim_lines, strata
from gre_bench.release.verdicts import validations

PAGE, CANDIDATES, PAPERS = "index.html", "candidates", "papers"
LEAD = (
    "How much a review tells about what human reviewers of the same paper wrote, measured without a gold standard: "
    "the more predictable a review makes theirs, the higher its score."
)


def write_site(
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    about: Mapping[str, Any],
    histories: Sequence[History] = (),
    errata: Sequence[tuple[str, str, str]] = (),
    at: Callable[[str], None] = lambda step: None,
    figures: bool = True,
) -> Drawings:
    """Writes all pages of a release to *folder*; returns the figures of its boards.

    - *connection*: to the release's database.
    - *about*: the release's manifest. If it has no key ``tables`` (rows by table), the page offers no downloads.
    - *histories*: comparisons with other editions. *errata*: (day, release, text).
    - *at*: called before each step with the name of the step. *figures*: whether to draw figures.
    """
    shown_boards = boards(connection, about["settings"]["board"]["headline"])
    listed = papers(connection)
    values = pair_values(connection)
    at("figures")
    pictures = drawn(shown_boards) if figures else Drawings()
    contents = Contents(
        name=about["release"],
        edition=about["edition"],
        published=about.get("published", f"release {about['release'].rpartition('-')[2]}"),
        boards=shown_boards,
        facts=facts(shown_boards, about),
        lead=LEAD,
        remarks=(*remarks(shown_boards), *remarks_on_hidden_boards(about)),
        validations=validations(connection),
        histories=tuple(histories),
        claims=claim_lines(about, shown_boards),
        contrasts=about.get("contrasts"),
        correctness=about.get("correctness"),
        strata=strata(connection),
        papers=listed,
        errata=tuple(errata),
        provenance=provenance(about),
        outcomes=outcomes(connection),
        downloads=downloads(about) if about.get("tables") else (),
        rights=rights(connection, about),
        citation=citation(about) if about.get("tables") else "",
    )
    at("index")
    (folder / PAGE).write_text(
        board_page(contents, pictures, board_data(shown_boards, values, listed)), encoding="utf-8"
    )
    at("candidates")
    write_candidates(connection, folder / CANDIDATES, about["release"], about["edition"], shown_boards, values, listed)
    at("papers")
    write_papers(connection, folder / PAPERS, about["release"], about["edition"], shown_boards)
    return pictures

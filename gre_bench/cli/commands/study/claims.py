"""``gre-bench study claims``: checks whether claims of published papers hold for an edition or a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gre_bench.cli.commands import options
from gre_bench.cli.views import screen

Of = Annotated[
    str | None,
    typer.Argument(metavar="EDITION", help="Edition, such as ICLR-2025; or a study: its name, folder or study.json."),
]
Details = Annotated[bool, typer.Option("--details", help="Show every comparison behind a verdict.")]


def claims(
    name: Of = None,
    details: Details = False,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Test the papers' claims on what was scored.

    The verdict on each claim is: holds, does not hold, or cannot be told. For the last, the number of papers that would
    decide it is estimated. The claims and their sources are in data/claims.toml. P-values are Holm-corrected over all
    claims and metrics that are tested.
    """
    from gre_bench.catalogs.claims import claims as load
    from gre_bench.cli.views.claims import show
    from gre_bench.reports.claims import edition_claims, study_claims
    from gre_bench.reports.comparisons import study_file
    from gre_bench.reports.signatures import the_edition
    from gre_bench.store import find_editions

    kinds = () if name is None or name in find_editions(state) else ("examiners", "guidelines")
    if any(study_file(name or "", state, kind) for kind in kinds):
        report = study_claims(name or "", state, load())
    else:
        report = edition_claims(the_edition(name, state), state, load())
    if as_json:
        return screen.print_json(report)
    show(report, details)

"""``gre-bench study claims``: checks whether claims of published papers hold for an edition or a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gre_bench.cli.commands import options
from gre_bench.cli.views import screen

Of = Annotated[
    str | None, typer.Argument(metavar="EDITION", help="Edition, such as ICLR-2025; or with --study a study's name.")
]
Study = Annotated[bool, typer.Option("--study", help="EDITION is a study: its name, its folder, or its study.json.")]
Details = Annotated[bool, typer.Option("--details", help="Show every comparison behind a verdict.")]


def claims(
    name: Of = None,
    study: Study = False,
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
    from gre_bench.core.errors import SettingsError
    from gre_bench.reports.claims import edition_claims, study_claims
    from gre_bench.reports.signatures import the_edition

    if study and name is None:
        raise SettingsError("name the study: gre-bench study claims NAME --study")
    report = (
        study_claims(name or "", state, load()) if study else edition_claims(the_edition(name, state), state, load())
    )
    if as_json:
        return screen.print_json(report)
    show(report, details)

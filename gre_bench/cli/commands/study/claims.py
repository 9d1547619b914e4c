"""``gre-bench study claims``: what the papers claim, put to an edition or to a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gre_bench.cli.commands import options
from gre_bench.cli.views import screen

Of = Annotated[
    str | None, typer.Argument(metavar="EDITION", help="Edition, such as ICLR-2025; or with --study a study's name.")
]
Study = Annotated[bool, typer.Option("--study", help="It is a study: its name, its folder, or its study.json.")]
Details = Annotated[bool, typer.Option("--details", help="Every comparison that a verdict rests on.")]


def claims(
    of: Of = None,
    study: Study = False,
    details: Details = False,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Test the papers' claims on what was scored.

    Each holds, does not hold, or cannot be told; then the number of papers that would tell is estimated. The claims
    stand in data/claims.toml, each with its source. A claim about all of its comparisons holds where every 95% interval
    lies on the right side of zero.
    """
    from gre_bench.catalogs.claims import claims as load
    from gre_bench.cli.views.claims import show
    from gre_bench.core.errors import SettingsError
    from gre_bench.reports.claims import edition_claims, study_claims
    from gre_bench.reports.signatures import the_edition

    if study and of is None:
        raise SettingsError("name the study: gre-bench study claims NAME --study")
    found = study_claims(of or "", state, load()) if study else edition_claims(the_edition(of, state), state, load())
    if as_json:
        return screen.print_json(found)
    show(found, details)

"""Draws a chart of the ratings that LMs gave under each condition."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gre_bench.core.errors import SettingsError
from gre_bench.guidelines.outcomes import ConditionResult
from gre_bench.guidelines.ratings import HIGHEST, LOWEST

if TYPE_CHECKING:
    import altair

FILE = "distributions.svg"
HUMAN = "human mean"
_COLUMNS = 3


def draw(outcomes: Sequence[ConditionResult], human: Mapping[str, float], folder: Path, title: str) -> Path:
    """Writes the chart that `chart` returns to ``distributions.svg`` in *folder*, and returns the path of the file.

    *human* holds the mean human rating of each paper.
    """
    path = folder / FILE
    beside = folder / f".{os.getpid()}-{FILE}"
    chart(outcomes, human, title).save(beside, format="svg")
    os.replace(beside, path)
    return path


def chart(outcomes: Sequence[ConditionResult], human: Mapping[str, float], title: str) -> altair.FacetChart:
    """Returns a chart of the share of papers by rating, with a panel for each model and condition.

    Bars show the model's ratings. A line shows *human*, the mean human rating of each paper. Raises `SettingsError` if
    altair is not installed.
    """
    try:
        import altair
    except ImportError as error:
        raise SettingsError("altair is not installed: pip install 'gre-bench[plots]'") from error
    rows = shares(outcomes, human)
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    base = altair.Chart().encode(
        x=altair.X("rating:O", title="rating", axis=altair.Axis(labelAngle=0), sort=list(range(LOWEST, HIGHEST + 1))),
        y=altair.Y("share:Q", title="share of papers", axis=altair.Axis(format="%", grid=True)),
    )
    bars = base.transform_filter(f"datum.who != '{HUMAN}'").mark_bar(color="#31639c", opacity=0.8)
    line = base.transform_filter(f"datum.who == '{HUMAN}'").mark_line(
        color="#c2571a", strokeWidth=2, point={"color": "#c2571a"}
    )
    layered = altair.layer(bars, line).properties(width=220, height=120)
    facet = altair.Facet("panel:N", title=None, sort=panels, header=altair.Header(labelLimit=260, labelFontSize=10))  # pyright: ignore[reportArgumentType]
    whole = layered.facet(facet, columns=_COLUMNS, data=altair.Data(values=rows))
    lines = [title, "bars: the model's ratings; line: human means, rounded half down"]
    return whole.properties(title=altair.Title(lines[0], subtitle=lines[1], anchor="start")).configure_view(stroke=None)


def shares(outcomes: Sequence[ConditionResult], human: Mapping[str, float]) -> list[dict[str, str | int | float]]:
    """Returns the share of papers (0 to 1) with each rating, as rows for the chart.

    Each row has *panel* (a model and condition), *who*, *rating* and *share*. *who* is the rater: the model, or the
    human mean with halves rounded down. *human* holds the mean human rating of each paper.
    """
    scale = range(LOWEST, HIGHEST + 1)
    rounded = [math.ceil(mean - 0.5) for mean in human.values()]
    rows: list[dict[str, str | int | float]] = []
    for outcome in outcomes:
        panel = f"{outcome.model} · {outcome.condition}"
        rated = sum(outcome.distribution.values())
        for rating in scale:
            if rated:
                share = outcome.distribution[rating] / rated
                rows.append({"panel": panel, "who": outcome.model, "rating": rating, "share": share})
            if rounded:
                rows.append(
                    {"panel": panel, "who": HUMAN, "rating": rating, "share": rounded.count(rating) / len(rounded)}
                )
    return rows

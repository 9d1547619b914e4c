"""Plots the bias of trained evaluation LMs against the number of training papers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gre_bench.core.errors import SettingsError

if TYPE_CHECKING:
    import altair

COLOURS = {"counted": "#31639c", "cache-ngram": "#c2571a"}


def chart(rows: Sequence[dict[str, Any]], titles: dict[str, str]) -> altair.FacetChart:
    """Returns a chart of mean bias (nats) by number of training papers, with a band from the least to the largest bias.

    There is one panel per metric. *rows*: those of `learning_curve`. *titles*: the title of each metric. Raises
    `SettingsError` if the drawing library is not installed.
    """
    try:
        import altair
    except ImportError as error:
        raise SettingsError("altair is not installed: pip install 'gre-bench[plots]'") from error
    values = [{**row, "panel": titles[row["metric"]]} for row in rows]
    shown = [name for name in COLOURS if any(row["lm"] == name for row in rows)]
    x = altair.X(
        "papers:Q",
        title="papers to learn from",
        scale=altair.Scale(type="log"),
        axis=altair.Axis(grid=False, values=[10**power for power in range(1, 6)], format="d"),
    )
    colour = altair.Color(
        "lm:N",
        title=None,
        scale=altair.Scale(domain=shown, range=[COLOURS[name] for name in shown]),
        legend=altair.Legend(orient="top", symbolType="stroke", symbolStrokeWidth=3, symbolOpacity=1, labelLimit=300),
    )
    base = altair.Chart()
    band = base.mark_area(opacity=0.18).encode(
        x=x, y=altair.Y("least:Q", title="score − information, nats"), y2="largest:Q", color=colour
    )
    line = base.mark_line(strokeWidth=2, point=True).encode(x=x, y="mean:Q", color=colour)
    zero = base.mark_rule(strokeDash=[4, 3], color="#777777").encode(y=altair.datum(0))
    panels = altair.layer(zero, band, line, data=altair.Data(values=values)).properties(width=300, height=260)
    panel = altair.Facet("panel:N", title=None, sort=list(titles.values()))
    whole = panels.facet(column=panel, title=altair.Title("Bias of learnt evaluation LMs", anchor="start"))  # pyright: ignore[reportArgumentType]
    return whole.configure_view(stroke=None).configure_axis(gridColor="#e8e8e8")

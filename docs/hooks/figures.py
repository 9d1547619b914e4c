"""Figures of the pages that are drawn from records."""

from __future__ import annotations

import re
from typing import Any

import altair as alt
from records import records

from gre_bench.release.figures import as_svg

COLOURS = ("#4269d0", "#c2570c", "#047857")


def rates_of_flaws() -> str:
    """An SVG of estimated against true rates at which scripted reviewers name planted flaws in plain words."""
    table = records()["planted-flaws"]["table"]
    rows: list[dict[str, Any]] = []
    for cells in table["rows"]:
        named = dict(zip(table["head"], cells, strict=True))
        if script := re.fullmatch(r"plain-(\d+)", named["script"]):
            rate, spread = (float(part) for part in named["rate, 60"].rstrip("%").split(" ± "))
            rows.append({"true": int(script[1]), "rate": rate, "low": rate - spread, "high": rate + spread,
                         "metric": named["metric"]})  # fmt: skip
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    data = alt.Data(values=[row | {"at": row["true"] + 2 * metrics.index(row["metric"]) - 2} for row in rows])
    axis = alt.Axis(values=sorted({row["true"] for row in rows}))
    x = alt.X("at:Q", title="true rate, %", axis=axis, scale=alt.Scale(domain=[-5, 105], nice=False))
    colour = alt.Color("metric:N", title=None, sort=metrics, scale=alt.Scale(range=list(COLOURS)))
    line = alt.Chart(alt.Data(values=[{"at": 0}, {"at": 100}])).mark_line(strokeDash=[4, 3], color="#8b949e").encode(
        x=x, y="at:Q"
    )  # fmt: skip
    bars = alt.Chart(data).mark_rule(strokeWidth=2).encode(
        x=x, color=colour,
        y=alt.Y("low:Q", title="estimated rate, %, ± its standard deviation"), y2="high:Q",
    )  # fmt: skip
    dots = alt.Chart(data).mark_circle(size=50, opacity=1).encode(x=x, y="rate:Q", color=colour)
    (drawn,) = as_svg([(line + bars + dots).properties(width=420, height=260)])
    return drawn

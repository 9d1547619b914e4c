"""Plots the effects of changes: a panel for each change, a line for each metric, colours for the verdicts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gre_bench.changes.catalog import CHANGES
from gre_bench.core.errors import SettingsError
from gre_bench.core.metrics import in_order, recipe_of

if TYPE_CHECKING:
    import altair

_COLOURS = {"pass": "#2e7d4f", "fail": "#b3372f", "undecided": "#c98a1b"}
_SHAPES = {"pass": "circle", "fail": "cross", "undecided": "diamond"}
_COLUMNS = 3
_MISSING = "altair is not installed: pip install 'gre-bench[plots]'"


def draw(effects: Sequence[Mapping[str, Any]], path: Path, title: str) -> Path:
    """Plots *effects* and writes the plot to *path*, an .svg or .png file; returns *path*.

    The file appears only when it is complete. Each row of *effects* is the effect of a change on a metric. Its keys are
    ``metric``, ``change``, ``family`` (degradation or manipulation), ``d``, ``low``, ``high`` and ``verdict``.
    """
    drawable(path)
    beside = path.with_name(f".{os.getpid()}-{path.name}")
    path.parent.mkdir(parents=True, exist_ok=True)
    chart(effects, title).save(beside, format=path.suffix[1:])  # pyright: ignore[reportArgumentType]
    os.replace(beside, path)
    return path


def drawable(path: Path) -> None:
    """Raises `SettingsError` if *path* is not an .svg or .png file, or if altair is not installed.

    Callers check this before they start to score, which can take hours.
    """
    if path.suffix not in (".svg", ".png"):
        raise SettingsError(f"{path}: a picture is a .svg or .png file")
    if find_spec("altair") is None:
        raise SettingsError(_MISSING)


def chart(effects: Sequence[Mapping[str, Any]], title: str) -> altair.FacetChart:
    """Returns the plot of *effects*: each change's effect d on each metric, with its 95% interval.

    The effect should be below zero for a degradation, and not above zero for a manipulation. `draw` describes the rows
    of *effects*.
    """
    try:
        import altair
    except ImportError as error:
        raise SettingsError(_MISSING) from error
    rows = [
        {
            "metric": recipe_of(row["metric"]).title,
            "change": f"{CHANGES[row['change']].title} ({row['family']})",
            **{name: row[name] for name in ("d", "low", "high", "verdict")},
        }
        for row in effects
        if row["d"] is not None
    ]
    metrics = [recipe_of(name).title for name in in_order(row["metric"] for row in effects)]
    changes = [f"{change.title} ({change.family})" for change in CHANGES.values()]
    colour = altair.Color(
        "verdict:N", title="verdict", scale=altair.Scale(domain=list(_COLOURS), range=list(_COLOURS.values()))
    )
    shape = altair.Shape(
        "verdict:N", title="verdict", scale=altair.Scale(domain=list(_SHAPES), range=list(_SHAPES.values()))
    )
    base = altair.Chart().encode(y=altair.Y("metric:N", title=None, sort=metrics), color=colour)
    lines = base.mark_rule(strokeWidth=2).encode(x=altair.X("low:Q", title="d"), x2="high:Q")
    points = base.mark_point(filled=True, size=55, opacity=1).encode(x="d:Q", shape=shape)
    zero = altair.Chart().mark_rule(color="#777", strokeDash=[3, 3]).encode(x=altair.datum(0))
    panel = altair.layer(zero, lines, points).properties(width=230, height=max(60, 18 * len(metrics)))
    shown = [name for name in changes if any(row["change"] == name for row in rows)]
    facet = altair.Facet("change:N", title=None, sort=shown, header=altair.Header(labelLimit=300, labelFontSize=11))
    whole = panel.facet(facet, columns=_COLUMNS, data=altair.Data(values=rows)).resolve_scale(x="independent")
    about = "standardised mean difference d, 95% by paper: degradations must fall, manipulations must not rise"
    return whole.properties(title=altair.Title(title, subtitle=about, anchor="start")).configure_view(stroke=None)

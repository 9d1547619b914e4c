"""Renders charts as SVG, which takes the text colour of its page, and as PNG."""

from __future__ import annotations

from typing import Any

from gre_bench.core.errors import SettingsError

INK, GRID, BAND = "#1b2126", "#8b949e", "#8a8f98"


def as_svg(chart: Any) -> str:
    """Returns *chart*, a chart of altair, as SVG, drawn in the text colour of the page that embeds it."""
    import vl_convert

    themed = (
        chart.configure(font="Inter, system-ui, sans-serif", padding={"left": 12, "top": 8, "right": 44, "bottom": 8})
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=INK,
            titleColor=INK,
            domainColor=GRID,
            tickColor=GRID,
            gridColor=GRID,
            gridOpacity=0.25,
            titleFontWeight="normal",
            labelFontSize=11,
            titleFontSize=12,
            titlePadding=9,
        )
    )
    text = vl_convert.vegalite_to_svg({**themed.to_dict(validate=False), "background": None})
    return text.replace(INK, "currentColor")


def as_png(picture: str) -> bytes:
    """Returns *picture*, an SVG that `as_svg` made, as PNG at twice its size, dark on white."""
    import vl_convert

    return vl_convert.svg_to_png(
        picture.replace("currentColor", INK).replace(">", '><rect width="100%" height="100%" fill="white"/>', 1),
        scale=2,
    )


def lacking() -> str:
    """Returns why nothing can be drawn, with the remedy; an empty string if the libraries are installed."""
    try:
        altair()
    except SettingsError as error:
        return str(error)
    return ""


def altair() -> Any:
    """Returns the module altair; raises `SettingsError` with the command that installs it."""
    try:
        import altair as library
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise SettingsError("altair is not installed: pip install 'gre-bench[plots]'") from error
    return library

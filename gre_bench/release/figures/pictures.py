"""Renders charts as SVG in the text colour of the surrounding page, and as PNG."""

from __future__ import annotations

from typing import Any

from gre_bench.core.errors import SettingsError

INK, GRID, BAND = "#1b2126", "#8b949e", "#8a8f98"


def as_svg(chart: Any) -> str:
    """Returns an altair *chart* as SVG text, drawn in the text colour of the page that embeds it."""
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
    """Returns the SVG text *picture*, made by `as_svg`, as a PNG of twice the size, dark on white."""
    import vl_convert

    return vl_convert.svg_to_png(
        picture.replace("currentColor", INK).replace(">", '><rect width="100%" height="100%" fill="white"/>', 1),
        scale=2,
    )


def lacking() -> str:
    """Returns which drawing library is missing and how to install it; an empty string if none is missing."""
    try:
        altair()
    except SettingsError as error:
        return str(error)
    return ""


def altair() -> Any:
    """Imports and returns the module altair; raises `SettingsError` with the command that installs it."""
    try:
        import altair as library
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise SettingsError("altair is not installed: pip install 'gre-bench[plots]'") from error
    return library

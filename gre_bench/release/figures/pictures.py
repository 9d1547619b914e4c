"""Renders charts as SVG in the text colour of the surrounding page, and as PNG, in a process of its own.

The renderer holds a JavaScript engine, which ends its process if it finds no memory. So it runs in another process.
"""

from __future__ import annotations

import base64
import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from gre_bench.core.errors import SettingsError
from gre_bench.core.terminal import without_controls

INK, GRID, BAND = "#1b2126", "#8b949e", "#8a8f98"


_RENDERER = """
import base64, json, sys, vl_convert
for line in sys.stdin:
    method, *values = json.loads(line)
    made = getattr(vl_convert, method)(*values)
    print(json.dumps(made if isinstance(made, str) else base64.b64encode(made).decode()))
"""
SECONDS = 600


def as_svg(charts: Sequence[Any]) -> list[str]:
    """Returns altair *charts* as SVG texts, drawn in the text colour of the page that embeds them.

    Raises `SettingsError` if the renderer ends before it has drawn them.
    """
    drawn = _rendered([("vegalite_to_svg", {**_themed(chart), "background": None}) for chart in charts])
    return [without_controls(text).replace(INK, "currentColor") for text in drawn]


def _rendered(tasks: Sequence[tuple[Any, ...]]) -> list[str]:
    """Returns what the functions of vl_convert return, in another process: (name of the function, arguments) each."""
    if not tasks:
        return []
    given = "".join(json.dumps(task) + "\n" for task in tasks)
    try:
        command = [sys.executable, "-P", "-c", _RENDERER]
        ended = subprocess.run(command, input=given, capture_output=True, encoding="utf-8", timeout=SECONDS)
        made = [json.loads(line) for line in ended.stdout.splitlines()]
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise SettingsError(
            f"the renderer of figures gave no picture ({type(error).__name__}): make room or wait"
        ) from None
    if len(made) < len(tasks):
        how = signal.Signals(-ended.returncode).name if ended.returncode < 0 else f"code {ended.returncode}"
        raise SettingsError(f"the renderer of figures ended early ({how}): make sure that it has memory")
    return made


def _themed(chart: Any) -> dict[str, Any]:
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
    return themed.to_dict(validate=False)


def as_png(pictures: Sequence[str]) -> list[bytes]:
    """Returns SVG texts, made by `as_svg`, as PNGs of twice the size, dark on white; raises as `as_svg` does."""
    white = '><rect width="100%" height="100%" fill="white"/>'
    inked = [picture.replace("currentColor", INK).replace(">", white, 1) for picture in pictures]
    return [base64.b64decode(text) for text in _rendered([("svg_to_png", picture, 2) for picture in inked])]


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

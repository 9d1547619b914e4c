"""The picture of the architecture, from the project itself: the rooms by their layers, and who imports whom.

Layers come from the import contract in ``pyproject.toml``, arrows from the import statements. An arrow that a chain of
others implies is left out: the picture is the transitive reduction of the graph.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Mapping
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "gre_bench"
WIDTH, HEIGHT, GAP, ROW = 112, 34, 36, 92
INK, PAPER = "#1f2937", "#eef2ff"
COLOURS = "#4269d0", "#c2570c", "#047857", "#a21caf", "#64748b", "#b91c1c", "#0e7490"
"""Of the arrows, by the room that they leave."""
LANES = 7
"""Arrows that pass a gap side by side."""


def layers() -> list[list[str]]:
    """Rooms by layer, the highest first. A room whose parts have layers of their own stands at the highest of them."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ][0]
    seen: set[str] = set()
    found = []
    for layer in contract["layers"]:
        names = [name.strip().split(".")[1] for name in layer.replace("|", ":").split(":")]
        new = [name for name in dict.fromkeys(names) if name not in seen]
        seen |= set(new)
        found += [new] if new else []
    return found


def arrows(rooms: set[str]) -> dict[str, set[str]]:
    """Which rooms each room imports."""
    found: dict[str, set[str]] = {room: set() for room in rooms}
    for room in rooms:
        for path in (*(ROOT / PACKAGE).glob(f"{room}.py"), *(ROOT / PACKAGE / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom):
                    names = [f"{node.module}.{alias.name}" for alias in node.names]
                else:
                    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                parts = [name.split(".") for name in names]
                found[room] |= {part[1] for part in parts if part[0] == PACKAGE and len(part) > 1} & rooms - {room}
    return found


def reduced(graph: Mapping[str, set[str]], order: list[str]) -> set[tuple[str, str]]:
    """The arrows that point down by *order* (highest first) and that no chain of other arrows implies."""
    rank = {room: number for number, room in enumerate(order)}
    below = {room: {other for other in graph[room] if rank[other] > rank[room]} for room in order}
    reach: dict[str, set[str]] = {}
    for room in reversed(order):
        reach[room] = set().union(*(({other} | reach[other]) for other in below[room]))
    return {
        (room, other)
        for room in order
        for other in below[room]
        if not any(other in reach[between] for between in below[room] - {other})
    }


def route(
    place: Mapping[str, tuple[float, float]], rows: list[list[str]], room: str, other: str, shift: float = 0.0
) -> str:
    """The path of an arrow; it passes each row between by the gap nearest to the straight line, never behind a box.

    *shift*, in pixels, keeps arrows apart that pass the same gap.
    """
    (x, y), (to_x, to_y) = place[room], place[other]
    here, end = (x + WIDTH / 2, y + HEIGHT), (to_x + WIDTH / 2, to_y)
    parts = [f"M{here[0]:g} {here[1]:g}"]
    for row in rows:
        top = place[row[0]][1]
        if not y < top < to_y:
            continue
        gaps = [place[row[0]][0] - GAP / 2, *(place[each][0] + WIDTH + GAP / 2 for each in row)]
        straight = here[0] + (end[0] - here[0]) * (top - here[1]) / (end[1] - here[1])
        through = min(gaps, key=lambda gap: abs(gap - straight)) + shift
        parts += [_curve(here, (through, top)), f"L{through:g} {top + HEIGHT:g}"]
        here = through, top + HEIGHT
    return "".join([*parts, _curve(here, end)])


def _curve(start: tuple[float, float], end: tuple[float, float]) -> str:
    """A curve that leaves *start* and meets *end* vertically."""
    middle = (start[1] + end[1]) / 2
    return f"C{start[0]:g} {middle:g} {end[0]:g} {middle:g} {end[0]:g} {end[1]:g}"


def rooms_picture() -> str:
    """The picture as SVG, which needs no font, script or file beside it."""
    rows = layers()
    kept = reduced(arrows({room for row in rows for room in row}), [room for row in rows for room in row])
    width = max(len(row) for row in rows) * (WIDTH + GAP) + 2 * GAP
    place: dict[str, tuple[float, float]] = {}
    for number, row in enumerate(rows):
        left = (width - len(row) * (WIDTH + GAP) + GAP) / 2
        for column, room in enumerate(row):
            place[room] = left + column * (WIDTH + GAP), GAP + number * ROW
    height = GAP * 2 + (len(rows) - 1) * ROW + HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="Rooms of {PACKAGE} by layer, with an arrow from each room to those that it imports" '
        'font-family="system-ui, sans-serif" font-size="14">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8Z" fill="context-stroke"/></marker></defs>',
        f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>',
    ]
    order = [room for row in rows for room in row]
    for room, other in sorted(kept):
        number = order.index(room)
        shift = (number % LANES - LANES // 2) * (GAP - 8) / LANES
        parts.append(
            f'<path d="{route(place, rows, room, other, shift)}" fill="none" stroke="{COLOURS[number % len(COLOURS)]}" '
            'stroke-width="1.4" marker-end="url(#tip)">'
            f"<title>{room} imports {other}</title></path>"
        )
    for room, (x, y) in place.items():
        parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="{PAPER}" stroke="{INK}"/>'
            f'<text x="{x + WIDTH / 2:g}" y="{y + HEIGHT / 2 + 5:g}" text-anchor="middle" fill="{INK}">'
            f"{escape(room)}</text>"
        )
    return "\n".join([*parts, "</svg>"])

"""Places the names of points in a plot so that no name covers a point or another name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

CHARACTER, LINE, POINT = 5.6, 12.0, 5.0
"""Pixels, at a font size of 10: width of a character, height of a line, and half a point's side."""

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Label:
    """The position of a point's name in a plot.

    *index*: index of the point. *dx*, *dy*: offset of the name from the point, in pixels.
    *align*: whether this offset is that of the name's left end, right end or centre.
    """

    index: int
    align: Literal["left", "right", "center"]
    dx: float
    dy: float


_SPOTS: tuple[tuple[Literal["left", "right", "center"], float, float], ...] = (
    ("left", 8, 0), ("right", -8, 0), ("left", 6, -9), ("left", 6, 9), ("right", -6, -9), ("right", -6, 9),
    ("center", 0, -13), ("center", 0, 13),
)  # fmt: skip


def placed(
    points: Sequence[tuple[float, float]],
    names: Sequence[str],
    width: float,
    height: float,
    blocked: Sequence[Box] = (),
) -> list[Label]:
    """Places the names of points; returns a label for each point whose name has room.

    *points*: (x, y) of each point. *names*: the name of each point. *width*, *height*: size of the plot.
    *blocked*: (left, top, right, bottom) of each occupied box. All lengths are in pixels. Names are placed from the top
    of the plot to the bottom.
    """
    occupied: list[Box] = [(x - POINT, y - POINT, x + POINT, y + POINT) for x, y in points]
    occupied += blocked
    labels = []
    for index in sorted(range(len(points)), key=lambda index: points[index][1]):
        for align, dx, dy in _SPOTS:
            box = _box(points[index], names[index], align, dx, dy)
            inside = box[0] >= 0 and box[2] <= width + 40 and box[1] >= -8 and box[3] <= height + 8
            own = occupied[index]
            if inside and not any(_meet(box, other) for other in occupied if other is not own):
                occupied.append(box)
                labels.append(Label(index, align, dx, dy))
                break
    return labels


def _box(point: tuple[float, float], name: str, align: str, dx: float, dy: float) -> Box:
    wide = CHARACTER * len(name)
    left = point[0] + dx - {"left": 0.0, "right": wide, "center": wide / 2}[align]
    return left, point[1] + dy - LINE / 2, left + wide, point[1] + dy + LINE / 2


def _meet(first: Box, second: Box) -> bool:
    return first[0] < second[2] and second[0] < first[2] and first[1] < second[3] and second[1] < first[3]

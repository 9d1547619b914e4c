"""Where the names of points go, so that none covers a point or another name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

CHARACTER, LINE, POINT = 5.6, 12.0, 5.0
"""Pixels: width of a character and height of a line at 10 pixels, half of a point's side."""

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Label:
    """The name of point *place*, shifted by *dx*, *dy* pixels."""

    place: int
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
    """A label for each point that has room for one, tried from the top; the others go without (a table names them).

    *blocked*: left, top, right, bottom of what stands there already.
    """
    taken: list[Box] = [(x - POINT, y - POINT, x + POINT, y + POINT) for x, y in points]
    taken += blocked
    labels = []
    for place in sorted(range(len(points)), key=lambda place: points[place][1]):
        for align, dx, dy in _SPOTS:
            box = _box(points[place], names[place], align, dx, dy)
            inside = box[0] >= 0 and box[2] <= width + 40 and box[1] >= -8 and box[3] <= height + 8
            own = taken[place]
            if inside and not any(_meet(box, other) for other in taken if other is not own):
                taken.append(box)
                labels.append(Label(place, align, dx, dy))
                break
    return labels


def _box(point: tuple[float, float], name: str, align: str, dx: float, dy: float) -> Box:
    wide = CHARACTER * len(name)
    left = point[0] + dx - {"left": 0.0, "right": wide, "center": wide / 2}[align]
    return left, point[1] + dy - LINE / 2, left + wide, point[1] + dy + LINE / 2


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]

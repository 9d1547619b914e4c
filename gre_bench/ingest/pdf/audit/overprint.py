"""Finds text that a later object covers.

The finished page does not show such text. Only the order of drawing reveals it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gre_bench.ingest.pdf.audit.glyphs import Glyphs

COVERS = ("fill-path", "fill-image", "fill-shade")
LEAST = (30.0, 4.0)
"""Smallest width and height, in points, of an object that can cover a passage."""
MOST = 200
"""The most covers that are checked on a page, the largest first."""


def covers(glyphs: Glyphs, log: list[Any]) -> NDArray[np.bool_]:
    """Returns the mask of the characters whose centre lies in a large object that is drawn over earlier text.

    *log* is PyMuPDF's list of the drawn objects with their boxes (``page.get_bboxlog()``).
    """
    import numpy as np

    middle = (glyphs.box[:, :2] + glyphs.box[:, 2:]) / 2
    under = np.zeros(len(middle), dtype=bool)
    texts = _boxes(log, ("fill-text", "stroke-text"))
    for operation, box in _large(log):
        earlier = texts[texts[:, 4] < operation]
        if len(earlier) and _meets(earlier, box).any():
            under |= _inside(middle, box)
    return under


def overprinted(glyphs: Glyphs, page: Any, log: list[Any]) -> NDArray[np.bool_]:
    """Returns the mask of the characters that an object covers, and on which later text is then printed.

    The finished page shows only the ink of the later text there. Only the order of drawing reveals the earlier text.
    Rotated pages are not checked. *log* is PyMuPDF's list of the drawn objects with their boxes.
    """
    import numpy as np

    none = np.zeros(len(glyphs.text), dtype=bool)
    large = _large(log)
    texts = _boxes(log, ("fill-text", "stroke-text"))
    suspects = []
    for operation, box in large:
        earlier = texts[(texts[:, 4] < operation) & _within(texts, box)]
        later = texts[(texts[:, 4] > operation) & _meets(texts, box)]
        if len(earlier) and len(later) and any(_meets(later, some).any() for some in earlier[:MOST]):
            suspects.append((operation, box))
    if not suspects or page.rotation:
        return none
    order = _order(page)
    operation_of = np.array(
        [
            order.get((letter, round(x, 1), round(y, 1)), -1)
            for letter, (x, y) in zip(glyphs.text, glyphs.origin.tolist(), strict=True)
        ]
    )
    middle = (glyphs.box[:, :2] + glyphs.box[:, 2:]) / 2
    for operation, box in suspects:
        inside = _inside(middle, box) & glyphs.solid & (operation_of >= 0)
        upper = np.flatnonzero(inside & (operation_of > operation))
        for lower in np.flatnonzero(inside & (operation_of < operation)):
            over = upper[_inside(middle[lower][None], glyphs.box[upper].T).ravel()] if len(upper) else upper
            none[lower] |= len(over) > 0 and glyphs.text[lower] not in {glyphs.text[other] for other in over}
    return _whole_lines(glyphs, none, operation_of)


def _whole_lines(glyphs: Glyphs, marked: NDArray[np.bool_], operation_of: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Widens the mask *marked* to whole drawing operations.

    If *marked* marks most letters of an operation, all of its characters are marked; otherwise none is.
    *operation_of* is the number of each character's operation in the order of drawing.
    """
    import numpy as np

    out = np.zeros(len(marked), dtype=bool)
    for operation in np.unique(operation_of[marked]):
        stroke = operation_of == operation
        letters = stroke & glyphs.solid
        if marked[letters].mean() > 0.5:
            out |= stroke
    return out


def _order(page: Any) -> dict[tuple[str, float, float], int]:
    """Returns {(character, x, y of its origin in points): its number in the order of drawing}.

    If a character is drawn twice in one place, the first number counts.
    """
    numbers: dict[tuple[str, float, float], int] = {}
    for span in page.get_texttrace():
        for code, _, (x, y), _ in span["chars"]:
            if 0 <= code < 0x110000:
                numbers.setdefault((chr(code), round(x, 1), round(y, 1)), span["seqno"])
    return numbers


def _large(log: list[Any]) -> list[tuple[int, tuple[float, float, float, float]]]:
    """Returns the `MOST` largest objects that can cover text, each as (number in the order of drawing, box in points).

    Objects drawn before all text are left out, because they are backgrounds. *log* is PyMuPDF's list of the drawn
    objects with their boxes.
    """
    first = next((operation for operation, (kind, *_) in enumerate(log) if kind.endswith("-text")), len(log))
    boxes = [
        (operation, box)
        for operation, (kind, box, *_) in enumerate(log)
        if operation > first and kind in COVERS and box[2] - box[0] > LEAST[0] and box[3] - box[1] > LEAST[1]
    ]
    boxes.sort(key=lambda item: (item[1][0] - item[1][2]) * (item[1][3] - item[1][1]))
    return boxes[:MOST]


def _boxes(log: list[Any], kinds: tuple[str, ...]) -> NDArray[np.float64]:
    """Returns a row x0, y0, x1, y1, number for each object in *log* whose kind is in *kinds*.

    Coordinates are in points. The number is the object's index in *log*, that is, its number in the order of drawing.
    """
    import numpy as np

    return np.array(
        [(*box, operation) for operation, (kind, box, *_) in enumerate(log) if kind in kinds], dtype=float
    ).reshape(-1, 5)


def _meets(boxes: NDArray[np.float64], box: Any) -> NDArray[np.bool_]:
    return (boxes[:, 0] < box[2]) & (boxes[:, 2] > box[0]) & (boxes[:, 1] < box[3]) & (boxes[:, 3] > box[1])


def _within(boxes: NDArray[np.float64], box: Any) -> NDArray[np.bool_]:
    """Returns the mask of those *boxes* that lie inside *box*, with a tolerance of one point."""
    across = (boxes[:, 0] > box[0] - 1) & (boxes[:, 2] < box[2] + 1)
    return across & (boxes[:, 1] > box[1] - 1) & (boxes[:, 3] < box[3] + 1)


def _inside(points: NDArray[np.float64], box: Any) -> NDArray[np.bool_]:
    x, y = points[:, 0], points[:, 1]
    return (x > box[0]) & (x < box[2]) & (y > box[1]) & (y < box[3])

"""Draws a page with and without its text, to see which text leaves a mark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gre_bench.ingest.pdf.audit.shapes import samples

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SEEN = 6
"""By how many of 255 steps a pixel's darkest channel must change for text to leave a mark."""

LARGEST = 6e6
"""The most pixels of a picture: a sheet of paper of usual size at three pixels per point."""


@dataclass(frozen=True, slots=True, eq=False)
class Ink:
    """A page, or a region of it, drawn twice: with its text and without.

    - *whole*: the picture with text, height × width × RGB.
    - *ground*: the picture without text, of the same shape.
    - *scale*: pixels per point.
    - *corner*: (x, y) of the pictures' top left corner, in pixels from the top left of the page.
    """

    whole: NDArray[np.uint8]
    ground: NDArray[np.uint8]
    scale: float
    corner: tuple[int, int]

    def marks(self, boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Returns for each of *boxes* (n × 4, in points) whether text leaves a mark in the box."""
        import numpy as np

        changed = np.maximum(self.whole, self.ground) - np.minimum(self.whole, self.ground) > SEEN
        return self._count(changed[:, :, 0] | changed[:, :, 1] | changed[:, :, 2], boxes) > 0

    def letters(self, origin: NDArray[np.float64], *sides: NDArray[np.float64], channel: int) -> NDArray[np.float32]:
        """Returns how dark the picture with text is at sample points of n letters (n × samples; see `shapes.samples`).

        - *origin*: the left end of each letter's base line.
        - *sides*: two vectors for each letter, its advance along the line and its size downwards.
        - *channel*: 0 is red, 1 green, 2 blue, 3 the mean of the three.

        *origin* and both of *sides* are n × 2, in points.
        """
        import numpy as np

        if channel == 3:
            red, green, blue = (self.whole[:, :, part].astype(np.uint16) for part in range(3))
            picture = ((red + green + blue) // 3).astype(np.uint8)
        else:
            picture = np.ascontiguousarray(self.whole[:, :, channel])
        return samples(picture, origin * self.scale - np.array(self.corner), *(side * self.scale for side in sides))

    def contrasts(self, boxes: NDArray[np.float64], least: int) -> NDArray[np.bool_]:
        """Returns for each of *boxes* (n × 4, in points) whether it holds two neighbouring pixels that differ clearly.

        The picture with text is measured in grey. Two pixels differ clearly if the difference is at least *least*, of
        255.
        """
        import numpy as np

        grey = self.whole.astype(np.int16).sum(axis=2) // 3
        edges = np.zeros(grey.shape, dtype=bool)
        edges[:, 1:] |= np.abs(np.diff(grey, axis=1)) >= least
        edges[1:] |= np.abs(np.diff(grey, axis=0)) >= least
        return self._count(edges, boxes) > 0

    def beneath(self, boxes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns the mean colour (n × 3, of 255) of the picture without text, at five points in each of *boxes*."""
        import numpy as np

        height, width = self.ground.shape[:2]
        total = np.zeros((len(boxes), 3))
        for across, down in ((0.5, 0.5), (0.2, 0.2), (0.8, 0.2), (0.2, 0.8), (0.8, 0.8)):
            x = (boxes[:, 0] + across * (boxes[:, 2] - boxes[:, 0])) * self.scale - self.corner[0]
            y = (boxes[:, 1] + down * (boxes[:, 3] - boxes[:, 1])) * self.scale - self.corner[1]
            total += self.ground[_whole(y, height - 1), _whole(x, width - 1)]
        return total / 5

    def rough(self, boxes: NDArray[np.float64], least: int) -> NDArray[np.float64]:
        """Returns for each of *boxes* (n × 4, in points) the share of its pixels that differ clearly from a neighbour.

        The picture without text is measured in grey. Two pixels differ clearly if the difference is at least *least*,
        of 255.
        """
        import numpy as np

        red, green, blue = (self.ground[:, :, part].astype(np.int16) for part in range(3))
        grey = red + green + blue
        if not (np.ptp(grey, axis=0) >= 3 * least).any():
            return np.zeros(len(boxes))
        edges = np.zeros(grey.shape, dtype=bool)
        edges[:, 1:] = np.abs(grey[:, 1:] - grey[:, :-1]) >= 3 * least
        edges[1:] |= np.abs(grey[1:] - grey[:-1]) >= 3 * least
        return self._count(edges, boxes) / np.maximum(self._area(boxes), 1)

    def _count(self, mask: NDArray[np.bool_], boxes: NDArray[np.float64]) -> NDArray[np.int64]:
        """Returns for each of *boxes* (n × 4, in points) how many of its pixels *mask* marks.

        *mask* has the height and width of the pictures. Every box counts as at least one pixel wide and high.
        """
        import numpy as np

        height, width = mask.shape
        sums = np.zeros((height + 1, width + 1), dtype=np.int32)
        mask.cumsum(axis=0, dtype=np.int32).cumsum(axis=1, out=sums[1:, 1:])
        x0, y0, x1, y1 = self._pixels(boxes)
        return sums[y1, x1] - sums[y0, x1] - sums[y1, x0] + sums[y0, x0]

    def _area(self, boxes: NDArray[np.float64]) -> NDArray[np.int64]:
        """Returns the number of pixels in each of *boxes*."""
        x0, y0, x1, y1 = self._pixels(boxes)
        return (x1 - x0) * (y1 - y0)

    def _pixels(self, boxes: NDArray[np.float64]) -> tuple[NDArray[np.int64], ...]:
        """Returns four arrays of pixel indices: each box's first column, first row, end column and end row.

        The ends are exclusive. *boxes* is n × 4, in points.
        """
        import numpy as np

        height, width = self.whole.shape[:2]
        x0 = _whole(boxes[:, 0] * self.scale - self.corner[0], width - 1)
        y0 = _whole(boxes[:, 1] * self.scale - self.corner[1], height - 1)
        x1 = np.maximum(_whole(np.ceil(boxes[:, 2] * self.scale) - self.corner[0], width), x0 + 1)
        y1 = np.maximum(_whole(np.ceil(boxes[:, 3] * self.scale) - self.corner[1], height), y0 + 1)
        return x0, y0, x1, y1


def ink_of(page: Any, scale: float = 1.0, region: tuple[float, float, float, float] | None = None) -> Ink:
    """Draws the PyMuPDF *page* and its annotations twice, with and without the page's text.

    *region* (x0, y0, x1, y1 in points) limits the drawing to a part of the page. *scale* is in pixels per point. It is
    lowered if a picture would have more than `LARGEST` pixels.
    """
    from pymupdf import mupdf

    sheet = mupdf.fz_bound_page(page.this)
    if region is not None:
        inner = mupdf.fz_intersect_rect(sheet, mupdf.FzRect(*region))
        sheet = inner if inner.x1 > inner.x0 and inner.y1 > inner.y0 else sheet
    scale = min(scale, (LARGEST / max((sheet.x1 - sheet.x0) * (sheet.y1 - sheet.y0), 1.0)) ** 0.5)
    shown = mupdf.fz_new_display_list_from_page(page.this)
    matrix = mupdf.FzMatrix(scale, 0, 0, scale, 0, 0)
    bounds = mupdf.fz_round_rect(mupdf.fz_transform_rect(sheet, matrix))
    pictures = [_drawn(shown, matrix, bounds, with_text) for with_text in (True, False)]
    return Ink(pictures[0], pictures[1], scale, (bounds.x0, bounds.y0))


def _drawn(shown: Any, matrix: Any, bounds: Any, with_text: bool) -> NDArray[np.uint8]:
    import numpy as np
    import pymupdf
    from pymupdf import mupdf

    pixels = mupdf.fz_new_pixmap_with_bbox(mupdf.fz_device_rgb(), bounds, mupdf.FzSeparations(), 0)
    mupdf.fz_clear_pixmap_with_value(pixels, 255)
    device = mupdf.fz_new_draw_device(matrix, pixels)
    if not with_text:
        # MuPDF skips what a device has no function for. Clipping by text stays, because the clipped content is not
        # text.
        device.m_internal.fill_text = None
        device.m_internal.stroke_text = None
    everything = mupdf.FzRect(mupdf.FzRect.Fixed_INFINITE)
    mupdf.fz_run_display_list(shown, device, mupdf.FzMatrix(), everything, mupdf.FzCookie())
    mupdf.fz_close_device(device)
    picture = pymupdf.Pixmap("raw", pixels)
    return np.frombuffer(picture.samples, dtype=np.uint8).reshape(picture.height, picture.width, 3)


def _whole(values: NDArray[np.float64], highest: int) -> NDArray[np.int64]:
    import numpy as np

    return np.clip(np.nan_to_num(values), 0, highest).astype(np.int64)

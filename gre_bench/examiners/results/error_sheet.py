"""The analysis of errors in rationales (Kim et al. 2023, §5.3.3): a sheet for a human to fill in, and its evaluation.

A rationale is an LM's reasons for a score. It can have three errors: it contradicts the score, it states something that
neither the source nor the graded text says, or it is about another aspect. One rationale can have several errors, so
the shares of errors need not sum to 1.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from gre_bench.core.errors import SourceError
from gre_bench.examiners.grading import Grade
from gre_bench.examiners.wordings import Item

ERRORS = ("inconsistent", "hallucination", "different_aspect")
"""The columns of error types 1 to 3, whose cells a human fills with yes or no."""
SAMPLED = 36
"""Number of rationales that Kim et al. examined."""
COLUMNS = ("item_id", "aspect", "score", "rationale", *ERRORS, "source", "text")


def sheet(items: Sequence[Item], grades: Sequence[Grade], rows: int = SAMPLED, seed: int = 0) -> list[dict[str, str]]:
    """Returns the rows of a sheet: a random sample of *rows* rationales, with empty cells for the errors.

    *grades* are the grades of *items*, in the same order. If there are fewer rationales than *rows*, the sheet has all
    of them.
    """
    rows_of_items = [
        {
            "item_id": item.item_id,
            "aspect": aspect,
            "score": f"{grade.parts.get(aspect, grade.value):g}",
            "rationale": why,
            **dict.fromkeys(ERRORS, ""),
            "source": item.source,
            "text": item.text,
        }
        for item, grade in zip(items, grades, strict=True)
        if grade.value is not None
        for aspect, why in grade.rationales.items()
    ]
    return random.Random(seed).sample(rows_of_items, min(rows, len(rows_of_items)))


def shares(filled: Sequence[Mapping[str, str | None]]) -> dict[str, float]:
    """Returns the share (0 to 1) of rationales with each error, from the rows of a *filled* sheet.

    The key ``good`` holds the share of rationales without error, as in Table 9. Raises `SourceError` if the sheet has
    no rows, or if a cell for an error is neither yes nor no.
    """
    if not filled:
        raise SourceError("the sheet has no rows")
    marked = [{error: _marked(row, index, error) for error in ERRORS} for index, row in enumerate(filled, 1)]
    good = sum(not any(row.values()) for row in marked) / len(marked)
    return {"good": good} | {error: sum(row[error] for row in marked) / len(marked) for error in ERRORS}


def _marked(row: Mapping[str, str | None], number: int, error: str) -> bool:
    cell = (row.get(error) or "").strip().lower()
    if cell not in ("yes", "no"):
        raise SourceError(f"row {number} of the sheet: write yes or no into column {error}, not {cell!r:.60}")
    return cell == "yes"

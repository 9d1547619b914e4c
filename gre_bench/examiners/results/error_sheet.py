"""The error analysis of rationales (Kim et al. 2023, §5.3.3): a sheet for a human to fill in, and its shares.

A rationale can have three errors: it contradicts the score, it states what neither text says, or it is about another
aspect. Errors can occur together, so their shares need not sum to one.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from gre_bench.core.errors import SourceError
from gre_bench.examiners.grading import Grade
from gre_bench.examiners.wordings import Item

ERRORS = ("inconsistent", "hallucination", "different_aspect")
"""Error types 1 to 3; a cell is filled with yes or no."""
SAMPLED = 36
"""How many rationales the paper's authors examined."""
COLUMNS = ("item_id", "aspect", "score", "rationale", *ERRORS, "source", "text")


def sheet(items: Sequence[Item], grades: Sequence[Grade], rows: int = SAMPLED, seed: int = 0) -> list[dict[str, str]]:
    """Returns a seeded sample of *rows* rationales with empty error cells; all of them if there are fewer."""
    found = [
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
    return random.Random(seed).sample(found, min(rows, len(found)))


def shares(filled: Sequence[Mapping[str, str]]) -> dict[str, float]:
    """Returns the shares of Table 9: ``good`` (no error) and each error; `SourceError` names an empty or wrong cell."""
    if not filled:
        raise SourceError("the sheet has no rows")
    marked = [{error: _marked(row, index, error) for error in ERRORS} for index, row in enumerate(filled, 1)]
    good = sum(not any(row.values()) for row in marked) / len(marked)
    return {"good": good} | {error: sum(row[error] for row in marked) / len(marked) for error in ERRORS}


def _marked(row: Mapping[str, str], place: int, error: str) -> bool:
    cell = (row.get(error) or "").strip().lower()
    if cell not in ("yes", "no"):
        raise SourceError(f"row {place} of the sheet: write yes or no into column {error}, not {cell!r}")
    return cell == "yes"

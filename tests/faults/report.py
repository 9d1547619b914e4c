"""The table of the fault suite: fault, how often tried, what must hold, whether it held."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

HEAD = ("fault", "tried", "invariant", "result")


@dataclass(frozen=True, slots=True)
class Trial:
    """A *fault* that was brought about *times* times, and whether the *invariant* held each time."""

    fault: str
    times: int
    invariant: str
    held: bool


def merged(trials: Iterable[Trial]) -> list[Trial]:
    """One trial a (fault, invariant), in the order of the faults' first; it held where all did."""
    rows: dict[tuple[str, str], Trial] = {}
    for one in trials:
        before = rows.get((one.fault, one.invariant), Trial(one.fault, 0, one.invariant, True))
        rows[one.fault, one.invariant] = replace(one, times=before.times + one.times, held=before.held and one.held)
    return sorted(rows.values(), key=lambda row: (row.fault.split(":")[0], row.fault))


def as_markdown(trials: Iterable[Trial]) -> str:
    """The table as Markdown."""
    lines = [f"| {' | '.join(HEAD)} |", "|---|---|---|---|"]
    for row in merged(trials):
        cells = (row.fault, str(row.times), row.invariant, "held" if row.held else "**broken**")
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"

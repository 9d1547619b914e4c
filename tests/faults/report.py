"""The table of the fault suite: fault, how often tried, what must hold, whether it held."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from textwrap import wrap

WIDTHS = (46, 7, 52, 6)
HEAD = ("fault", "tried", "invariant", "result")


@dataclass(frozen=True, slots=True)
class Trial:
    """A *fault* that was brought about *times* times in *seconds*, and whether the *invariant* held each time."""

    fault: str
    times: int
    invariant: str
    held: bool
    seconds: float


def merged(trials: Iterable[Trial]) -> list[Trial]:
    """One trial a (fault, invariant), in the order of the faults' first; it held where all did."""
    rows: dict[tuple[str, str], Trial] = {}
    for one in trials:
        before = rows.get((one.fault, one.invariant), Trial(one.fault, 0, one.invariant, True, 0.0))
        times, seconds = before.times + one.times, before.seconds + one.seconds
        rows[one.fault, one.invariant] = replace(one, times=times, held=before.held and one.held, seconds=seconds)
    return sorted(rows.values(), key=lambda row: (row.fault.split(":")[0], row.fault))


def table(trials: Iterable[Trial]) -> list[str]:
    """Lines of text in columns of fixed width."""
    lines = ["  ".join(name.ljust(width) for name, width in zip(HEAD, WIDTHS, strict=True)).rstrip()]
    lines.append("  ".join("-" * width for width in WIDTHS))
    for row in merged(trials):
        cells = (row.fault, str(row.times), row.invariant, "held" if row.held else "BROKEN")
        parts = [wrap(cell, width) or [""] for cell, width in zip(cells, WIDTHS, strict=True)]
        for k in range(max(map(len, parts))):
            line = (part[k] if k < len(part) else "" for part in parts)
            lines.append("  ".join(text.ljust(width) for text, width in zip(line, WIDTHS, strict=True)).rstrip())
    return lines


def as_markdown(trials: Iterable[Trial]) -> str:
    """The table as Markdown."""
    lines = [f"| {' | '.join(HEAD)} |", "|---|---|---|---|"]
    for row in merged(trials):
        cells = (row.fault, str(row.times), row.invariant, "held" if row.held else "**broken**")
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"

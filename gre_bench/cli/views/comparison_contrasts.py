"""Prints the result of ``gre-bench compare EDITION --contrasts FILE``."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from gre_bench.board.words import p_value
from gre_bench.cli.views import screen
from gre_bench.core.terminal import counted
from gre_bench.stats.intervals import few_papers


def show_contrasts(report: dict[str, Any]) -> None:
    """Prints every contrast under every metric and evaluation LM, and how stable the order of the models is."""
    screen.say(f"{report['edition']}: contrasts of {report['file']}, SHA-256 {report['sha256'][:16]}")
    for (lm, metric), group in groupby(report["contrasts"], key=lambda row: (row["evaluation_lm"], row["metric"])):
        screen.say(f"\n{metric} by {lm}", style="bold")
        for row in group:
            screen.say(f"  {row['name']}: {row['first']} − {row['second']}" + (
                f". {row['question']}" if row["question"] else ""
            ))  # fmt: skip
            if row["problem"]:
                screen.say(f"    {row['problem']}")
                continue
            screen.say(
                f"    {_interval(row)}, p {p_value(row['p_holm'])}; {counted(row['papers'], 'paper')} could show "
                f"{row['detectable']:.2f}"
            )
            parts = [
                f"{name.replace('_', ' ')} {_interval(row[name])}, p {p_value(row[name]['p_holm'])}"
                for name in ("chance", "above_chance")
                if row[name]
            ]
            if parts:
                screen.say(f"    of it: {'; '.join(parts)}")
            screen.say(f"    at equal length: {_at_length(row['at_length'])}")
        for row in report["stability"]:
            if (row["evaluation_lm"], row["metric"]) == (lm, metric):
                splits = [f"{row[split]['mean']:.2f} between halves of the {split}"
                        for split in ("papers", "references") if split in row]  # fmt: skip
                screen.say(f"  order of {row['models']} models: Spearman {', '.join(splits)}")
    tests = max((row["tests"] for row in report["contrasts"]), default=0)
    screen.say(
        f"\nmean differences by paper with 95% intervals; p: Holm-corrected over {counted(tests, 'test')} of an LM"
    )
    screen.say(
        "at equal length: one slope for all candidates; own: the two candidates' own slopes; p: of both together"
    )
    if few := few_papers(row["papers"] for row in report["contrasts"]):
        screen.say(few)


def _interval(test: dict[str, Any], name: str = "difference") -> str:
    return f"{test[name]:+.2f} ({test['low']:+.2f}, {test['high']:+.2f})"


def _at_length(test: dict[str, Any] | None) -> str:
    if test is None:
        return "not known: no lengths, or none that vary"
    own = f", own {_interval(test['own'], 'value')}" if test["own"] else ""
    outcome = f"not told: {test['why_not']}" if test["why_not"] else f"p {p_value(test['p_holm'])}"
    return f"{_interval(test['common'], 'value')}{own}, {outcome}; lengths overlap {test['overlap']:.2f}"

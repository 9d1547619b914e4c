"""Prints the result of ``gre-bench compare A B --edition EDITION`` for two evaluation LMs."""

from __future__ import annotations

from typing import Any

from gre_bench.cli.views import screen
from gre_bench.cli.views.fitted import table
from gre_bench.core.terminal import counted
from gre_bench.stats.intervals import few_papers
from gre_bench.store import Row


def show_lms(report: dict[str, Any]) -> None:
    """Prints, for each metric, how far two evaluation LMs agree on the order of the candidates.

    It also prints the ranks of each candidate, one by each evaluation LM.
    """
    first_lm, second_lm = report["compared"]
    for row in report["evaluation_lms"]:
        on = f"{counted(row['pairs'], 'pair')} of {counted(row['papers'], 'paper')}"
        screen.say(
            f"{report['edition']} · {row['metric']}, on {on} that both scored: "
            f"1 is {first_lm} (signature {row['signature_ids'][0]}), 2 is {second_lm} ({row['signature_ids'][1]})"
        )
        for field, (first, second) in row["differ_in"].items():
            screen.say(f"beside the LM, signatures differ in {field}: {first} | {second}")
        if row["problem"]:
            screen.say(f"nothing compares: {row['problem']}")
            continue
        _order(row)
        table(("candidate", "rank by 1", "by 2", "lead by 1", "by 2", "pairs", "Spearman"), [
            (line["candidate"], *line["ranks"], *map(_signed, line["leads"]), line["pairs"], _signed(line["spearman"]))
            for line in row["candidates"]
        ])  # fmt: skip
        if few := few_papers([row["papers"]]):
            screen.say(few)
    screen.say(
        "lead: over the human baseline, in standard errors by paper; Spearman: of the two LMs' scores, pair by pair. "
        "Their scores have different units and are not set beside each other."
    )


def _order(row: Row) -> None:
    if agreement := row["agreement"]:
        screen.say(
            f"order of {counted(agreement['candidates'], 'candidate')}: Spearman {agreement['spearman']:.3f} "
            f"(90% {agreement['low']:.3f} to {agreement['high']:.3f}, papers resampled), "
            f"Kendall {agreement['kendall']:.3f}"
        )
    order = row["order"]
    screen.say(
        f"of two candidates each, sure at 5% after Holm: both and agreed {order['both']}, only 1 "
        f"{order['only_first']}, only 2 {order['only_second']}, neither {order['neither']}, both and contradicting "
        f"each other {len(order['contradict'])}"
    )
    for first, second in order["contradict"]:
        screen.say(f"  1 puts {first} above {second}, 2 the other way round")


def _signed(value: float | None) -> str:
    return "" if value is None else f"{value:+.2f}"

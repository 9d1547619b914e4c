"""What ``gre-bench compare A B --edition EDITION`` shows of two evaluation LMs."""

from __future__ import annotations

from typing import Any

from gre_bench.cli.views import screen
from gre_bench.cli.views.comparison import table
from gre_bench.store import Row


def show_lms(found: dict[str, Any]) -> None:
    """Metric by metric: agreement on the order, what they contradict each other in, each candidate."""
    one, other = found["compared"]
    for row in found["evaluation_lms"]:
        screen.say(
            f"{found['edition']} · {row['metric']}, on {row['pairs']:,} pairs of {row['papers']} papers that both have "
            f"scored: 1 is {one} (signature {row['signature_ids'][0]}), 2 is {other} ({row['signature_ids'][1]})"
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
    screen.say(
        "lead: over the human baseline, in standard errors by paper; Spearman: of the two LMs' scores, pair by pair. "
        "Their scores have different units and are not set beside each other."
    )


def _order(row: Row) -> None:
    if of := row["agreement"]:
        screen.say(
            f"order of {of['candidates']} candidates: Spearman {of['spearman']:.3f} (90% {of['low']:.3f} to "
            f"{of['high']:.3f}, papers drawn again), Kendall {of['kendall']:.3f}"
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

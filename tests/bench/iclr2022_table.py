"""Prints a table of docs/iclr2022.md from the release that comes with the program.

python -m tests.bench.iclr2022_table reviewers | quis | facts | contrasts | at-length | chance | stability
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gre_bench.board.words import p_value
from gre_bench.core.metrics import ALPHA, recipe_of
from gre_bench.core.resources import resource
from gre_bench.release.loading import load_release, release_named
from gre_bench.reports.contrasts import compare_contrasts
from gre_bench.reports.signatures import shown_signatures
from gre_bench.store import INCLUDED_EDITION, Store
from gre_bench.store.queries import BOARD_PAIRS, LEADERBOARD, SEPARATION
from tests.bench import chance_terms

METRICS = ("gem", "gem_s_abstract")
CONTRASTS = resource("deployments", "contrasts", "iclr2022.toml")


def signed(value: float, digits: int = 2) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")


def half(row: dict[str, Any], name: str) -> str:
    """A value with half of its 90% interval."""
    value, high = row[name], row["high" if name == "score" else f"{name}_high"]
    return "" if value is None or high is None or high == value else f"{signed(value, 1)} ±{high - value:.1f}"


def reviewers(store: Store, group: str | None) -> Iterator[list[str]]:
    """Rows of the board's *group*, GEM-S first in order: scores, and above chance for the main group."""
    signatures = {row["metric"]: row["signature_id"] for row in shown_signatures(store, None)}
    rows = store.read(LEADERBOARD, signature_ids=list(signatures.values()))
    by = {(row["signature_id"], row["candidate"]): row for row in rows}
    own = [row for row in rows if row["signature_id"] == signatures["gem_s_abstract"] and row["group_name"] == group]
    parts = ("score", "above_chance") if group is None else ("score",)
    titles = {"score": "{}", "above_chance": "above chance"}
    yield ["reviewer", *(titles[part].format(recipe_of(metric).title) for metric in METRICS for part in parts)]
    for row in sorted(own, key=lambda row: (row["kind"] == "control", -(row["score"] or 0))):
        cells = [by[signatures[metric], row["candidate"]] for metric in METRICS]
        yield [row["candidate"], *(half(dict(cell), part) for cell in cells for part in parts)]


def interval(part: dict[str, Any] | None, value: str = "difference") -> str:
    return f"{signed(part[value])} ({signed(part['low'])}, {signed(part['high'])})" if part else ""


def contrasts(state: Path, at_length: bool) -> Iterator[list[str]]:
    """Rows of the contrasts under GEM-S (abstract): differences and their parts, or those at equal length."""
    report = compare_contrasts(state, INCLUDED_EDITION, CONTRASTS)
    heads = ["one slope", "own slopes", "lengths overlap", "p of both"] if at_length else [
        "difference", "p", "detectable", "of it by chance", "above chance"]  # fmt: skip
    yield ["GEM-S (abstract)", *heads]
    for row in report["contrasts"]:
        if row["metric"] == "gem_s_abstract" and at_length:
            part = row["at_length"]
            told = (part["why_not"] and "not told") or p_value(part["p_holm"])
            forms = (interval(part[name], "value") for name in ("common", "own"))
            yield [row["question"], *forms, f"{part['overlap']:.2f}", told]
        elif row["metric"] == "gem_s_abstract":
            parts = interval(row["chance"]), interval(row["above_chance"])
            yield [row["question"], interval(row), p_value(row["p_holm"]), f"{row['detectable']:.2f}", *parts]


def facts(store: Store, state: Path) -> Iterator[list[str]]:
    """How much was scored, how well it tells papers apart, and how many contrasts are significant."""
    signatures = shown_signatures(store, None)
    pairs = [store.read(BOARD_PAIRS, signature_id=row["signature_id"]) for row in signatures]
    ids = [row["signature_id"] for row in signatures]
    apart = {row["signature_id"]: row for row in store.read(SEPARATION, signature_ids=ids)}
    rows = [[row for row in compare_contrasts(state, INCLUDED_EDITION, CONTRASTS)["contrasts"]
             if row["signature_id"] == signature["signature_id"]] for signature in signatures]  # fmt: skip
    yield ["", *(recipe_of(row["metric"]).title for row in signatures)]
    yield ["scored pairs", *(str(len(each)) for each in pairs)]
    references = [len({(row["paper_id"], row["reference_id"]) for row in each}) for each in pairs]
    papers = [len({row["paper_id"] for row in each}) for each in pairs]
    yield ["references a paper", *(f"{own / of:.1f}" for own, of in zip(references, papers, strict=True))]
    found = [apart[row["signature_id"]] for row in signatures]
    yield ["AUC of human reviews against other papers' (95%)",
           *(f"{row['auc']:.3f} ({row['low']:.3f}, {row['high']:.3f})" for row in found)]  # fmt: skip
    yield [
        "contrasts with a corrected p below 0.05",
        *(str(sum(row["p_holm"] < ALPHA for row in each)) for each in rows),
    ]
    lengths = [[row["at_length"] for row in each if row["at_length"]] for each in rows]
    yield ["the same at equal length",
           *(str(sum(not row["why_not"] and row["p_holm"] < ALPHA for row in each)) for each in lengths)]  # fmt: skip


def order(state: Path) -> Iterator[list[str]]:
    """Spearman's correlation of the models' order between two random halves, with its 90% quantiles."""
    found = compare_contrasts(state, INCLUDED_EDITION, CONTRASTS)["stability"]
    yield ["Spearman's ρ between", *(recipe_of(row["metric"]).title for row in found)]
    titles = {"papers": "two halves of the papers", "references": "one reference of each paper and the others"}
    for split, title in titles.items():
        yield [
            title,
            *(f"{row[split]['mean']:.2f} ({row[split]['low']:.2f}, {row[split]['high']:.2f})" for row in found),
        ]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder)
        store = load_release(release_named(INCLUDED_EDITION), state)
        tables = {
            "reviewers": lambda: reviewers(store, None), "quis": lambda: reviewers(store, "quis"),
            "facts": lambda: facts(store, state),
            "contrasts": lambda: contrasts(state, False), "at-length": lambda: contrasts(state, True),
            "chance": lambda: chance_terms.rows(store), "stability": lambda: order(state),
        }  # fmt: skip
        if len(sys.argv) != 2 or sys.argv[1] not in tables:
            raise SystemExit(__doc__)
        head, *rows = tables[sys.argv[1]]()
        for row in (head, ["---"] * len(head), *rows):
            print("|", " | ".join(row), "|")


if __name__ == "__main__":
    main()

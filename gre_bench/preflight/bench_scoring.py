"""``gre-bench models bench scoring``: how fast this machine scores, by each method, and what an edition would take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SettingsError
from gre_bench.core.records import HUMAN, Prediction
from gre_bench.core.resources import resource
from gre_bench.ingest.records.tables import reviews_from
from gre_bench.pipeline.intake import row_range

EDITION_PAIRS = 300 * 21 * 2 * 3
"""Pairs of an edition as in Xu et al. 2025, §5: papers, candidates, references, metrics."""


@dataclass(frozen=True, slots=True)
class Load:
    """What is scored: predictions of each paper, and how many (candidate, reference, synopsis) pairs they are."""

    papers: list[list[Prediction]]
    pairs: int
    described: str

    @property
    def texts(self) -> list[str]:
        """Each text that is read, once."""
        asked = (one for paper in self.papers for one in paper)
        return list(dict.fromkeys(text for one in asked for text in (one.x, one.synopsis, one.reply) if text))


def load(file: Path | None, rows: str | None, papers: int, candidates: int, synopses: int) -> Load:
    """The judgments in *file* (the sample's if None) as the work of *papers* papers.

    Of each paper the first and last review are references and the second is a candidate; the further candidates are
    second reviews of other papers, and the synopses other reviews' judgments: texts of true lengths in other roles.
    """
    source, span = file or resource("data", "sample", "reviews.jsonl"), row_range(rows) if rows else None
    taken = reviews_from(source, {}, {}, (), by=HUMAN, writer="given", rows=span, make_papers=True)
    paper_of = {review.review_id: review.paper_id for review in taken.reviews}
    texts: dict[str, list[str]] = {}
    for item in taken.judgments:
        texts.setdefault(paper_of[item.review_id], []).append(item.text)
    usable = [reviews for reviews in texts.values() if len(reviews) >= 3]
    if len(usable) < max(papers, candidates, synopses, 2):
        raise SettingsError(
            f"{source.name} has {len(usable)} papers with three judged reviews: too few for {papers} "
            f"papers with {candidates} candidates and {synopses} synopses each; give a larger file, or ask for less"
        )
    chosen = [_paper(usable, place, candidates, synopses) for place in range(papers)]
    what = f"{papers} papers × {candidates} candidates × 2 references × {synopses} synopses"
    return Load(chosen, papers * candidates * 2 * synopses, what)


def _paper(usable: Sequence[Sequence[str]], place: int, candidates: int, synopses: int) -> list[Prediction]:
    reviews = usable[place]
    given = [usable[(place + step) % len(usable)][1] for step in range(candidates)]
    others = [usable[(place + step) % len(usable)][2] for step in range(1, synopses)]
    return [
        Prediction(x, synopsis, y)
        for synopsis in (None, *others)
        for x in (None, *given)
        for y in (reviews[0], reviews[-1])
    ]


def bench_scoring(
    weights: Any, asked: Load, *, rounds: int, budget: int | None, server: Any = None, growth: bool = False,
    on_round: Callable[[int, str], None],
) -> dict[str, Any]:  # fmt: skip
    """All that is measured, as plain values; see `gre_bench.lm.measurement.report`."""
    from gre_bench.lm import measurement

    ways, notes = measurement.methods(weights, budget, server)
    peak = measurement.matmul_peak(weights)
    timings = measurement.measured(weights, asked.papers, ways, rounds, on_round)
    found = measurement.report(weights, asked.papers, timings, asked.pairs, peak)
    for method in found.values():
        method["hours_per_edition"] = EDITION_PAIRS / method["pairs_per_s"] / 3600
    result = {"model": weights.folder.name, "dtype": weights.dtype, "device": str(weights.model.device),
              "load": asked.described, "pairs": asked.pairs, "rounds": rounds,
              "matmul_peak_tflops": 2 * peak / 1e12, "methods": found, "notes": notes}  # fmt: skip
    if growth and "trie" in ways:
        result["growth"] = _growth(weights, asked, ways["trie"], on_round)
    return result


def _growth(weights: Any, asked: Load, trie: Any, on_round: Callable[[int, str], None]) -> list[dict[str, Any]]:
    """The engine on 1, 2, 4 and 8 times the papers: seconds and peak memory of each."""
    from gre_bench.lm import measurement

    found = []
    for times in (1, 2, 4, 8):
        papers = asked.papers * times
        timing = measurement.measured(weights, papers, {"trie": trie}, 1, on_round)["trie"]
        found.append({"papers": len(papers), "wall_s": timing.wall[0], "cpu_s": timing.cpu and timing.cpu[0],
                      "peak_memory_bytes": timing.peak_memory})  # fmt: skip
    return found

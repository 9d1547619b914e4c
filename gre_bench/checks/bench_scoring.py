"""``gre-bench models bench scoring``: times scoring methods on this machine, and estimates the hours per edition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SettingsError
from gre_bench.core.records import HUMAN, Prediction
from gre_bench.core.resources import locate_resource
from gre_bench.ingest.records.tables import read_new_reviews
from gre_bench.pipeline.importing import parse_row_range

EDITION_PAIRS = 300 * 21 * 2 * 3
"""The number of pairs in an edition like the one of Xu et al. 2025, §5: papers × candidates × references × metrics."""


@dataclass(frozen=True, slots=True)
class ScoringWorkload:
    """The texts that a measurement scores.

    - *papers*: for each paper, its predictions. A prediction is a reply whose log-probability is computed, with the
      review and the synopsis that the LM reads before.
    - *pairs*: the number of pairs in all papers. A pair counts once for each synopsis, because each synopsis gives it
      another score.
    - *described*: the numbers of papers, candidates, references and synopses, in words.
    """

    papers: list[list[Prediction]]
    pairs: int
    described: str

    @property
    def texts(self) -> list[str]:
        """Returns the distinct reviews, synopses and replies of all predictions, in the order of first occurrence."""
        predictions = (item for paper in self.papers for item in paper)
        return list(dict.fromkeys(text for item in predictions for text in (item.x, item.synopsis, item.reply) if text))


def load(file: Path | None, rows: str | None, papers: int, candidates: int, synopses: int) -> ScoringWorkload:
    """Returns the texts to score for *papers* papers, each with *candidates* candidates and *synopses* synopses.

    *file*: a file of judgments; None means the included sample. *rows*: the rows of the file to use, such as ``0:300``.
    The first and the last review of a paper serve as its references. The second review serves as the first candidate's
    review, and the second reviews of other papers as those of further candidates. The third reviews of other papers
    serve as synopses. Raises `SettingsError` if the file has too few papers.
    """
    source, span = file or locate_resource("data", "sample", "reviews.jsonl"), parse_row_range(rows) if rows else None
    imported = read_new_reviews(source, {}, {}, (), by=HUMAN, writer="given", rows=span, make_papers=True)
    paper_of = {review.review_id: review.paper_id for review in imported.reviews}
    texts: dict[str, list[str]] = {}
    for item in imported.judgments:
        texts.setdefault(paper_of[item.review_id], []).append(item.text)
    usable = [reviews for reviews in texts.values() if len(reviews) >= 3]
    if len(usable) < max(papers, candidates, synopses, 2):
        raise SettingsError(
            f"{source.name} has {len(usable)} papers with three judged reviews: too few for {papers} "
            f"papers with {candidates} candidates and {synopses} synopses each; give a larger file, or ask for less"
        )
    chosen = []
    for index, reviews in enumerate(usable[:papers]):
        candidate_texts = [usable[(index + step) % len(usable)][1] for step in range(candidates)]
        others = [usable[(index + step) % len(usable)][2] for step in range(1, synopses)]
        chosen.append([
            Prediction(x, synopsis, y)
            for synopsis in (None, *others)
            for x in (None, *candidate_texts)
            for y in (reviews[0], reviews[-1])
        ])  # fmt: skip
    description = f"{papers} papers × {candidates} candidates × 2 references × {synopses} synopses"
    return ScoringWorkload(chosen, papers * candidates * 2 * synopses, description)


def time_scoring_methods(
    weights: Any, load: ScoringWorkload, *, rounds: int, budget: int | None, server: Any = None, growth: bool = False,
    on_round: Callable[[int, str], None],
) -> dict[str, Any]:  # fmt: skip
    """Measures how fast each method scores *load* with the evaluation LM *weights*; runs each method *rounds* times.

    - *budget*: the most tokens in one batch of the project's own scoring engine; None means its default.
    - *server*: an LM on a server, which is measured as well; None means that no server is measured.
    - *growth*: whether to measure the method ``trie`` again, on 1, 2, 4 and 8 times the papers.
    - *on_round*: a function that is called with the number of finished rounds and the method's name.

    In the result, ``methods`` maps each method to the values of `gre_bench.lm.measurement.report` and to its
    ``hours_per_edition``.
    """
    from gre_bench.lm import measurement

    methods, notes = measurement.methods(weights, budget, server)
    peak = measurement.matmul_peak(weights)
    timings = measurement.measured(weights, load.papers, methods, rounds, on_round)
    measured = measurement.report(weights, load.papers, timings, load.pairs, peak)
    for method in measured.values():
        method["hours_per_edition"] = EDITION_PAIRS / method["pairs_per_s"] / 3600
    result: dict[str, Any] = {"model": weights.folder.name, "dtype": weights.dtype, "device": str(weights.model.device),
              "load": load.described, "pairs": load.pairs, "rounds": rounds,
              "matmul_peak_tflops": 2 * peak / 1e12, "methods": measured, "notes": notes}  # fmt: skip
    if growth and "trie" in methods:
        result["growth"] = []
        for times in (1, 2, 4, 8):
            papers = load.papers * times
            timing = measurement.measured(weights, papers, {"trie": methods["trie"]}, 1, on_round)["trie"]
            cpu_s = timing.cpu and timing.cpu[0]
            row = {"papers": len(papers), "wall_s": timing.wall[0], "cpu_s": cpu_s}
            result["growth"].append(row | {"peak_memory_bytes": timing.peak_memory})
    return result

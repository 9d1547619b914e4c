"""Collects the parts of one paper's scores: texts, prompts, log-probabilities, tokens, digests."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from gre_bench.core.errors import SettingsError
from gre_bench.core.metrics import Recipe, recipe_of
from gre_bench.core.records import HUMAN, Case
from gre_bench.lm.catalog import pieces_of
from gre_bench.metrics.scoring import terms, value
from gre_bench.prompts.library import render
from gre_bench.reports.recount import TOLERANCE, Origin
from gre_bench.store import ReadCopy, Row
from gre_bench.store.queries import (
    SAMPLE,
    WHY_PAPER,
    WHY_REVIEWS,
    WHY_SPANS,
    LeaderboardRow,
    SignatureRow,
    WhyPaperRow,
    WhyReviewRow,
    WhySpanRow,
)

TERMS = {
    "pmi": ("given the first review", "without it"),
    "specific": ("given the first review", "given the candidate's review of another paper"),
    "recall": ("reference given candidate",),
    "precision": ("candidate given reference",),
    "f1": ("reference given candidate", "candidate given reference"),
}
"""The formula of a metric → the meaning of each log-probability of a score, in the order of its predictions."""


@dataclass(slots=True)
class Why:
    """The evidence behind a candidate's number on a board.

    - *board*: the candidate's row on the board; None if the board has none.
    - *run*: the last run that scored the candidate.
    - *pairs*: the candidate's pairs, with scores.
    - *details*: texts, prompts and log-probabilities of each pair of one paper.
    - *paper*, *reviews*: where the texts of that paper come from.
    - *checks*: the result of each check: what was checked, whether it holds, and a detail.
    """

    edition: str
    candidate: str
    signature: SignatureRow
    board: LeaderboardRow | None
    run: Row
    pairs: list[dict[str, Any]]
    details: list[dict[str, Any]] = field(default_factory=list)
    paper: WhyPaperRow | None = None
    reviews: list[WhyReviewRow] = field(default_factory=list)
    checks: list[dict[str, Any]] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        return all(row["holds"] for row in self.checks)

    def check(self, claim: str, holds: bool, detail: str = "") -> None:
        """Records the result of one check: *claim* was checked, whether it *holds*, and a *detail* for readers."""
        self.checks.append({"what": claim, "holds": holds, "detail": detail})


def detail(answer: Why, store: ReadCopy, kept: Mapping[tuple[str, str], Case], source: Origin) -> None:
    """Adds the evidence for each pair of *answer* to ``found.details``, and checks the sums in this evidence.

    The evidence is the pair's texts, prompts, log-probabilities, and how much each token gains from the candidate's
    review. The checks: tokens add up to the log-probabilities, and these give the score. *kept*: the cases by (paper,
    reference). A pair without a case is left out. Raises `SettingsError` if log-probabilities are missing in *store*.
    """
    recipe = recipe_of(answer.signature["metric"])
    split = pieces_of(source.settings.evaluation_lm) if recipe.formula else None
    for row in answer.pairs:
        case = kept.get((row["paper_id"], row["reference_id"]))
        if case is None:
            continue
        item: dict[str, Any] = {"reference_id": row["reference_id"], "value": row["value"], "x": case.candidate,
                       "y": case.reference, "synopsis": case.synopsis, "moved": case.moved, "terms": [],
                       "tokens": []}  # fmt: skip
        if recipe.formula:
            spans = _spans(store, row, recipe)
            parts = terms(recipe, case, source.settings.scoring)
            for name, part, span in zip(TERMS[recipe.formula], parts, spans, strict=True):
                pieces = split(part.reply, span["ids"]) if split else None
                item["terms"].append(
                    {"of": name, "prediction": span["prediction"], "lm_id": span["lm_id"], "total": span["total"],
                     "escaped": span["escaped"], "prompt": asdict(render(part)), "ids": span["ids"],
                     "pieces": pieces, "logprobs": span["logprobs"]}
                )  # fmt: skip
            summed = all(math.isclose(math.fsum(s["logprobs"]), s["total"], rel_tol=1e-5) for s in spans)
            answer.check(f"reference {row['reference_id']}: tokens add up to the log-probabilities", summed)
            whole = value(recipe, [span["total"] for span in spans])
            claim = f"reference {row['reference_id']}: the log-probabilities give the score"
            answer.check(claim, same(whole, row["value"]), f"{whole:+.6f}")
            if recipe.formula in ("pmi", "specific"):
                item["tokens"] = _gains(item["terms"])
        answer.details.append(item)


def _spans(store: ReadCopy, row: Row, recipe: Recipe) -> list[WhySpanRow]:
    """Returns the spans behind the score of the pair *row*, in the order of its predictions.

    *recipe*: the metric's formula. If the store has spans of several evaluation LMs, those that give the stored score
    are returned. If none do, the first complete ones are returned. Raises `SettingsError` if the store has no complete
    spans.
    """
    by_lm: dict[str, dict[str, WhySpanRow]] = defaultdict(dict)
    for span in store.rows(WHY_SPANS, predictions=list(row["predictions"])):
        by_lm[span["lm_id"]][span["prediction"]] = span
    whole = [spans for spans in by_lm.values() if all(prediction in spans for prediction in row["predictions"])]
    made = [[spans[prediction] for prediction in row["predictions"]] for spans in whole]
    fitting = [spans for spans in made if same(value(recipe, [span["total"] for span in spans]), row["value"])]
    if not made:
        raise SettingsError(f"paper {row['paper_id']}: its log-probabilities are not here; refresh the edition")
    return (fitting or made)[0]


def _gains(terms: Sequence[Row]) -> list[dict[str, Any]]:
    """Returns one row per token of the reference: its log-probability with and without the review, and the gain (nats).

    *terms*: the reference's tokens after the candidate's review, and without it. The result is empty if their numbers
    of tokens differ.
    """
    given, alone = terms
    pieces = given["pieces"] or [f"#{number}" for number in given["ids"]]
    if len(given["logprobs"]) != len(alone["logprobs"]):
        return []
    return [
        {"token": piece, "given": after, "alone": without, "gain": after - without}
        for piece, after, without in zip(pieces, given["logprobs"], alone["logprobs"], strict=True)
    ]


def trace(answer: Why, store: ReadCopy, paper_id: str, candidate_id: str) -> None:
    """Adds to *answer* where the texts come from: the paper's row, and the version and hash of each review."""
    answer.paper = (store.rows(WHY_PAPER, paper_id=paper_id) or [None])[0]
    ids = {f"{paper_id}:{candidate_id}", *(row["reference_id"] for row in answer.pairs)}
    if candidate_id == HUMAN:
        roles = [row for row in store.rows(SAMPLE) if row["paper_id"] == paper_id]
        ids |= {row["review_id"] for row in roles if row["role"] == "candidate"}
    answer.reviews = store.rows(WHY_REVIEWS, review_ids=sorted(ids), writer=answer.signature["writer"])


def same(first: float, second: float) -> bool:
    """Returns whether two numbers that should be equal differ by no more than rounding."""
    return math.isclose(first, second, rel_tol=TOLERANCE, abs_tol=1e-9)

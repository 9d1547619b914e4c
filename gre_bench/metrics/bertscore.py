"""BERTScore on sentences: how well each sentence of one review is met by its nearest one of the other.

    P = mean over the candidate's sentences of the largest cosine with a sentence of the reference
    R = the same with the two exchanged
    F1 = 2PR/(P + R), the score

Zhang et al. (2019) match tokens, and Xu et al. (2025, D.1) say so; the authors' code matches sentences, split at blanks
after ``. ! ?``, with the query prompt on the candidate's. It is done their way here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gre_bench.core.records import Case, Problem, Score
from gre_bench.lm.embedders.catalog import Embedder

_BREAK = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class Match:
    """Precision, recall and F1 of two lists of sentences; *f1* is None where it is not defined."""

    precision: float
    recall: float
    f1: float | None


class BertScore:
    """Scores cases by sentence embeddings; each distinct sentence is embedded once in a call."""

    needs_reference = True

    def __init__(self, embedder: Embedder, signature_id: str):
        self.embedder = embedder
        self.signature_id = signature_id

    def score(self, cases: Sequence[Case]) -> list[Score]:
        """One score or problem for each of *cases*, in order."""
        given = {case.candidate: sentences(case.candidate) for case in cases}
        wanted = {case.reference: sentences(case.reference) for case in cases}
        if self.embedder.asymmetric:
            asked, found = self._vectors(given, query=True), self._vectors(wanted)
        else:
            asked = found = self._vectors({**given, **wanted})
        return [self._score(case, asked[case.candidate], found[case.reference]) for case in cases]

    def _vectors(self, texts: dict[str, list[str]], query: bool = False) -> dict[str, NDArray[np.float32]]:
        """The vectors of the sentences of each text, shape (sentences, dimension)."""
        rows = {sentence: row for row, sentence in enumerate(_distinct(texts.values()))}
        vectors = self.embedder.embed(list(rows), query=query)
        return {text: vectors[[rows[one] for one in parts]] for text, parts in texts.items()}

    def _score(self, case: Case, asked: NDArray[np.float32], found: NDArray[np.float32]) -> Score:
        ids = self.signature_id, case.paper_id, case.candidate_id, case.reference_id
        if not len(asked) or not len(found):
            what = "the reference's text" if len(asked) else "the candidate's text"
            return Score(*ids, None, Problem("empty_text", f"{case.name}: {what} has no sentences"))
        matched = match(asked @ found.T)
        if not np.isfinite([matched.precision, matched.recall]).all():
            what = f"{case.name}: the embedder answered with numbers that are not finite"
            return Score(*ids, None, Problem("not_finite", what, broken=True))
        if matched.f1 is None:
            numbers = f"precision {matched.precision:.3f}, recall {matched.recall:.3f}"
            return Score(*ids, None, Problem("undefined", f"{case.name}: F1 is not defined for {numbers}"))
        return Score(*ids, matched.f1)


def sentences(text: str) -> list[str]:
    """The sentences of *text* as the authors' code splits it, blanks at their ends off, none empty."""
    return [stripped for piece in _BREAK.split(text) if (stripped := piece.strip())]


def match(cosines: NDArray[np.float32]) -> Match:
    """The greedy matching under *cosines*, shape (candidate's sentences, reference's sentences).

    Cosines can be negative. F1 lies between precision and recall only where both have the same sign.
    """
    precision = float(cosines.max(axis=1).mean(dtype=np.float64))
    recall = float(cosines.max(axis=0).mean(dtype=np.float64))
    if precision == recall:
        return Match(precision, recall, precision)
    same_sign = precision * recall > 0
    return Match(precision, recall, 2 * precision * recall / (precision + recall) if same_sign else None)


def _distinct(texts: Iterable[list[str]]) -> list[str]:
    return list(dict.fromkeys(sentence for text in texts for sentence in text))

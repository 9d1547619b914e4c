"""BERTScore: how similar each sentence or token of one review is to the nearest one of the other.

    P = mean over the candidate's pieces of the largest cosine with a piece of the reference
    R = the same with candidate and reference exchanged
    F1 = 2PR/(P + R), the score

Zhang et al. (2019) match tokens in their context, as Xu et al. (2025, D.1) describe. The authors' code instead matches
sentences, split at blanks after ``. ! ?``, with the query prompt before the candidate's. ``bertscore`` follows the
code, ``bertscore_tokens`` the papers. No weighting by rarity, no baseline and no special tokens are used in these two
metrics.
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
    """Precision, recall and F1 of two lists of pieces; *f1* is None where it is undefined."""

    precision: float
    recall: float
    f1: float | None


class BertScore:
    """Scores cases by embeddings of sentences, or of tokens if *tokens* is true.

    Each call embeds each distinct text once.
    """

    needs_reference = True

    def __init__(self, embedder: Embedder, signature_id: str, tokens: bool = False):
        self.embedder = embedder
        self.signature_id = signature_id
        self.pieces = "tokens" if tokens else "sentences"

    def score(self, cases: Sequence[Case]) -> list[Score]:
        """Returns one score or problem for each of *cases*, in order."""
        vectors = self._of_tokens if self.pieces == "tokens" else self._of_sentences
        given, wanted = [case.candidate for case in cases], [case.reference for case in cases]
        if self.embedder.asymmetric:
            queries, documents = vectors(given, query=True), vectors(wanted)
        else:
            queries = documents = vectors([*given, *wanted])
        return [self._score(case, queries[case.candidate], documents[case.reference]) for case in cases]

    def _of_sentences(self, texts: Iterable[str], query: bool = False) -> dict[str, NDArray[np.float32]]:
        """Returns the vectors of the sentences of each text, shape (sentences, dimension)."""
        parts = {text: sentences(text) for text in texts}
        rows = {sentence: row for row, sentence in enumerate(_distinct(parts.values()))}
        vectors = self.embedder.embed(list(rows), query=query)
        return {text: vectors[[rows[line] for line in of_text]] for text, of_text in parts.items()}

    def _of_tokens(self, texts: Iterable[str], query: bool = False) -> dict[str, NDArray[np.float32]]:
        """Returns the vectors of the tokens of each text, shape (tokens, dimension)."""
        distinct = list(dict.fromkeys(texts))
        return dict(zip(distinct, self.embedder.embed_tokens(distinct, query=query), strict=True))

    def _score(self, case: Case, queries: NDArray[np.float32], documents: NDArray[np.float32]) -> Score:
        ids = self.signature_id, case.paper_id, case.candidate_id, case.reference_id
        if not len(queries) or not len(documents):
            what = "the reference's text" if len(queries) else "the candidate's text"
            return Score(*ids, None, Problem("empty_text", f"{case.name}: {what} has no {self.pieces}"))
        matched = match(queries @ documents.T)
        if not np.isfinite([matched.precision, matched.recall]).all():
            what = f"{case.name}: the embedder returned numbers that are not finite"
            return Score(*ids, None, Problem("not_finite", what, broken=True))
        if matched.f1 is None:
            numbers = f"precision {matched.precision:.3f}, recall {matched.recall:.3f}"
            return Score(*ids, None, Problem("undefined", f"{case.name}: F1 is undefined for {numbers}"))
        return Score(*ids, matched.f1)


def sentences(text: str) -> list[str]:
    """Splits *text* into sentences as the authors' code does; strips blanks at their ends and drops empty ones."""
    return [stripped for piece in _BREAK.split(text) if (stripped := piece.strip())]


def match(cosines: NDArray[np.float32]) -> Match:
    """Matches pieces greedily by *cosines*, shape (candidate's pieces, reference's pieces).

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

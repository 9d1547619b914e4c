"""BERTScore: how similar each piece of a review is to the nearest piece of another review.

    P = mean over the candidate's pieces of the largest cosine with a piece of the reference
    R = the same with the roles of candidate and reference exchanged
    F1 = 2PR/(P + R), the score

Pieces are tokens or sentences. The metric ``bertscore_tokens`` follows Zhang et al. (2019) and the text of Xu et al.
(2025, D.1): its pieces are tokens in their context. The metric ``bertscore`` follows the code of Xu et al. instead: its
pieces are sentences, which end at white space after ``. ! ?``. For ``bertscore``, the embedder's query prompt precedes
the candidate's sentences. Neither metric uses IDF weights, baseline rescaling or special tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from gre_bench.core.records import Case, Problem, Score, make_score
from gre_bench.lm.embedders import Embedder

_BREAK = re.compile(r"(?<=[.!?])\s+")


class BertScore:
    """Scores cases by sentence embeddings, or by token embeddings if *tokens* is true."""

    needs_reference = True

    def __init__(self, embedder: Embedder, signature_id: str, tokens: bool = False):
        self.embedder = embedder
        self.signature_id = signature_id
        self.pieces = "tokens" if tokens else "sentences"

    def score(self, cases: Sequence[Case]) -> list[Score]:
        vectors = self._embed_tokens_by_text if self.pieces == "tokens" else self._embed_sentences_by_text
        given, wanted = [case.candidate for case in cases], [case.reference for case in cases]
        if self.embedder.asymmetric:
            queries, documents = vectors(given, query=True), vectors(wanted)
        else:
            queries = documents = vectors([*given, *wanted])
        results = (self._compute_f1(queries[case.candidate], documents[case.reference]) for case in cases)
        return [make_score(self.signature_id, case, result) for case, result in zip(cases, results, strict=True)]

    def _embed_sentences_by_text(self, texts: Iterable[str], query: bool = False) -> dict[str, NDArray[np.float32]]:
        """Returns text → embeddings of its sentences (sentences, dimension). *query*: whether to use the prompt."""
        parts = {text: split_into_sentences(text) for text in texts}
        rows = {sentence: row for row, sentence in enumerate(dict.fromkeys(chain(*parts.values())))}
        vectors = self.embedder.embed(list(rows), query=query)
        return {text: vectors[[rows[line] for line in of_text]] for text, of_text in parts.items()}

    def _embed_tokens_by_text(self, texts: Iterable[str], query: bool = False) -> dict[str, NDArray[np.float32]]:
        """Returns text → embeddings of its tokens (tokens, dimension). *query*: whether to use the prompt."""
        distinct = list(dict.fromkeys(texts))
        return dict(zip(distinct, self.embedder.embed_tokens(distinct, query=query), strict=True))

    def _compute_f1(self, queries: NDArray[np.float32], documents: NDArray[np.float32]) -> float | Problem:
        if not len(queries) or not len(documents):
            empty = "the reference's text" if len(queries) else "the candidate's text"
            return Problem("empty_text", f"{empty} has no {self.pieces}")
        precision, recall, f1 = compute_precision_recall_f1(queries @ documents.T)
        if not np.isfinite([precision, recall]).all():
            return Problem("not_finite", "the embedder returned numbers that are not finite", broken=True)
        if f1 is None:
            return Problem("undefined", f"F1 is undefined for precision {precision:.3f}, recall {recall:.3f}")
        return f1


def split_into_sentences(text: str) -> list[str]:
    """Splits *text* into sentences as the code of Xu et al. 2025 does; strips each sentence and drops empty ones."""
    return [stripped for piece in _BREAK.split(text) if (stripped := piece.strip())]


def compute_precision_recall_f1(cosines: NDArray[np.float32]) -> tuple[float, float, float | None]:
    """Matches each piece with the most similar piece of the other text, and returns (precision, recall, F1).

    *cosines*: shape (candidate's pieces, reference's pieces). F1 is None if precision and recall differ in sign,
    because F1 would then not lie between them.
    """
    precision = float(cosines.max(axis=1).mean(dtype=np.float64))
    recall = float(cosines.max(axis=0).mean(dtype=np.float64))
    if precision == recall:
        return precision, recall, precision
    same_sign = precision * recall > 0
    return precision, recall, 2 * precision * recall / (precision + recall) if same_sign else None

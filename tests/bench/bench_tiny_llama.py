"""What an evaluation LM that is mixed with copies tells apart on real judgments: the figures of its model card.

Run it as `python -m tests.bench.bench_tiny_llama judgments.parquet FIRST:END [model folder]`. x is the second review,
y the first and the third; the other paper is half the rows further; a synopsis (GEM-S) is the judgments of the third
of the three. Nats a review, 95% intervals by bootstrap over papers. Also how many pairs are scored in a second.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from flows.tune_evaluation_lm import papers_of
from tasks.controls import GENERIC_JUDGMENTS, other
from tasks.lm.catalog import open_lm
from tasks.records import Prediction, SpanLogprob
from tasks.settings import EvaluationLMSettings

DRAWS = 2000
KINDS = ("same", "other", "deleted", "generic")


class Once:
    """The LM *lm*, each prediction asked once; *seconds* in it."""

    def __init__(self, lm):
        self.lm, self.tokenizer, self.identity = lm, lm.tokenizer, lm.identity
        self.weights, self.template = lm.weights, lm.template
        self.answers: dict[Prediction, SpanLogprob] = {}
        self.seconds = 0.0

    def logprob(self, predictions: Sequence[Prediction]) -> list[SpanLogprob]:
        due = [one for one in dict.fromkeys(predictions) if one not in self.answers]
        began = time.perf_counter()
        self.answers |= zip(due, self.lm.logprob(due), strict=True)
        self.seconds += time.perf_counter() - began
        return [self.answers[one] for one in predictions]


def thinned(text: str) -> str:
    """Every other line of *text* that is not blank deleted, the first one kept."""
    between = "\n\n" if "\n\n" in text else "\n"
    return between.join([line for line in text.split(between) if line.strip()][::2])


def asked(papers: Sequence[Sequence[str]], place: int, synopses: bool) -> list[tuple[Prediction, ...]]:
    """For both references of the paper at *place* the predictions of `KINDS`."""
    first, x, third = papers[place]
    firsts = x, other(papers, place)[1], thinned(x), GENERIC_JUDGMENTS
    pairs = ((first, third), (third, first))
    return [tuple(Prediction(one, synopsis if synopses else None, y) for one in firsts) for y, synopsis in pairs]


def scores(lm, papers: Sequence[Sequence[str]], synopses: bool) -> np.ndarray:
    """PMI by paper, reference and kind, (papers, 2, 4)."""
    found = []
    for place in range(len(papers)):
        rows = asked(papers, place, synopses)
        flat = [term for row in rows for one in row for term in (one, replace(one, x=None))]
        totals = np.array([answer.total for answer in lm.logprob(flat)]).reshape(len(rows), len(KINDS), 2)
        found.append(totals[:, :, 0] - totals[:, :, 1])
    return np.array(found)


def figures(pmi: np.ndarray) -> np.ndarray:
    """Means of same and other, AUC, and d of other, deleted, generic against same."""
    same, strange, thin, generic = pmi.reshape(-1, len(KINDS)).T
    ordered = np.sort(strange)
    below = np.searchsorted(ordered, same, "left"), np.searchsorted(ordered, same, "right")
    auc = (below[0] + below[1]).mean() / 2 / len(strange)
    controls = strange, thin, generic
    effects = [(one.mean() - same.mean()) / np.sqrt((one.var(ddof=1) + same.var(ddof=1)) / 2) for one in controls]
    return np.array([same.mean(), strange.mean(), auc, *effects])


def told(name: str, pmi: np.ndarray) -> None:
    random = np.random.default_rng(0)
    drawn = np.array([figures(pmi[random.integers(0, len(pmi), len(pmi))]) for _ in range(DRAWS)])
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    names = ("same", "other", "AUC", "d other", "d deleted", "d generic")
    parts = [f"{key} {one:+.3f} ({a:.3f}, {b:.3f})" for key, one, a, b in zip(names, figures(pmi), low, high, strict=True)]
    same = pmi[:, :, 0]
    spread = f"median {np.median(same):.2f}, above zero {(same > 0).mean():.2f}, r of the two references {np.corrcoef(same.T)[0, 1]:.2f}"
    print(f"{name}: {pmi.shape[0] * 2} pairs: " + "; ".join(parts) + f"; {spread}", flush=True)


def main() -> None:
    file, rows = Path(sys.argv[1]), sys.argv[2]
    folder = Path(sys.argv[3]) if len(sys.argv) > 3 else None
    mixture = open_lm(EvaluationLMSettings(backend="tiny-llama", folder=folder))
    papers = [paper for paper in papers_of(file, rows, None) if len(paper) == 3]
    began = time.perf_counter()
    for place in range(0, min(40, len(papers))):
        pairs = [row[0] for row in asked(papers, place, False)]
        mixture.logprob([term for one in pairs for term in (one, replace(one, x=None))])
    print(f"{2 * min(40, len(papers)) / (time.perf_counter() - began):.1f} pairs a second, two references a paper")
    mixture.inner = Once(mixture.inner)
    for synopses, metric in ((False, "GEM"), (True, "GEM-S")):
        told(f"{metric}, mixture", scores(mixture, papers, synopses))
        told(f"{metric}, LM alone", scores(mixture.inner, papers, synopses))
    print(f"{len(mixture.inner.answers)} predictions in {mixture.inner.seconds:.0f} s")


if __name__ == "__main__":
    main()

"""Fitting a mixture: weights by expectation maximisation, figures that are those of the log-ratios."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from gre_bench.core.errors import LMError, SourceError, SpanError
from gre_bench.core.records import LMIdentity, Prediction, SpanLogprob
from gre_bench.lm.backends.blend import Blend
from gre_bench.lm.backends.mixture import Mixture
from gre_bench.lm.backends.reweighting import Bending, bent
from gre_bench.tuning.token_mixture import count_tokens, fit
from gre_bench.tuning.token_reweighting import Kept, as_ids, bending_arrays, fit_bend
from tests.tuning.test_cache_ngram_training import corpus

LETTERS = [chr(code) for code in range(32, 127)] + ["\n", "\0"]


class Characters:
    """A tokenizer of single characters."""

    all_special_ids = (len(LETTERS) - 1,)

    def __len__(self) -> int:
        return len(LETTERS)

    def __call__(self, text: str, **_: object) -> dict[str, list[int]]:
        return {"input_ids": [LETTERS.index(letter) for letter in text]}

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        return [LETTERS[number] for number in ids]


class Uniform:
    """A scripted evaluation LM that knows nothing: every character is as likely as any other, whatever is given."""

    identity = LMIdentity("uniform", "0", "test")
    tokenizer = Characters()

    def logprob(self, predictions):
        return [self.one(prediction) for prediction in predictions]

    def one(self, prediction: Prediction) -> SpanLogprob | SpanError:
        ids = (*self.tokenizer(prediction.reply)["input_ids"], len(LETTERS) - 1)
        logs = (-float(np.log(len(LETTERS))),) * len(ids)
        return SpanLogprob(sum(logs), ids, logs)


class ShortOfContext(Uniform):
    """Refuses all that has a first review."""

    def one(self, prediction):
        return super().one(prediction) if prediction.x is None else SpanError("too_long", "too long")


PAPERS, KEPT = corpus(12, 1), corpus(6, 2)


@pytest.fixture(scope="module")
def fitted():
    return fit(Uniform(), PAPERS, KEPT)


def ratios(mixture: Mixture, pairs: list[tuple[str, str]]) -> np.ndarray:
    given = mixture.logprob([Prediction(x, None, y) for x, y in pairs])
    alone = mixture.logprob([Prediction(None, None, y) for _, y in pairs])
    return np.array([one.total - other.total for one, other in zip(given, alone, strict=True)])


def test_bending_prefers_what_reviews_of_one_paper_share(papers_as_ids) -> None:
    torch = pytest.importorskip("torch", reason="bending needs the extra `lm`")
    counts = count_tokens(Uniform(), papers_as_ids)
    arrays = bending_arrays(papers_as_ids, counts["counts"], 3)
    blend = Blend("0", len(papers_as_ids), 1.0, np.zeros(0), np.zeros(0), {**counts, **arrays})
    bending = Bending(blend.tokens, arrays)
    size = len(LETTERS)
    unigram = np.bincount(np.concatenate([ids for paper in papers_as_ids for ids in paper]), minlength=size) + 1.0
    kept = [
        Kept(paper, paper, [torch.from_numpy(np.tile(unigram / unigram.sum(), (len(ids), 1))).float() for ids in paper])
        for paper in papers_as_ids[:6]
    ]
    weights = np.array(fit_bend(bending, kept))

    def gain(known: np.ndarray, reply: np.ndarray) -> float:
        rows = torch.from_numpy(np.tile(unigram / unigram.sum(), (len(reply), 1))).float()
        moved = bent(rows, reply, weights @ bending.features(known))
        return float(moved.sum() - bent(rows, reply, np.zeros(size)).sum())

    pairs = [(paper[x], paper[y]) for paper in papers_as_ids[:6] for x, y in permutations(range(3), 2)]
    others = [
        (papers_as_ids[(place + 1) % 6][x], papers_as_ids[place][y])
        for place in range(6)
        for x, y in permutations(range(3), 2)
    ]
    assert np.mean([gain(*pair) for pair in pairs]) > 0
    assert np.mean([gain(*pair) for pair in pairs]) > np.mean([gain(*pair) for pair in others])


@pytest.fixture(scope="module")
def papers_as_ids():
    """Papers whose letters tell them apart: each has two letters of its own."""
    rng = np.random.default_rng(0)
    alphabet = "abcdefghijklmnopqrst"
    return [
        [np.array([LETTERS.index(str(letter)) for letter in rng.choice(list("xyz" + 2 * alphabet[2 * (p % 10) :][:2]), 30)])
         for _ in range(3)]
        for p in range(30)
    ]  # fmt: skip


def test_what_copies_is_preferred_to_an_lm_that_knows_nothing(fitted) -> None:
    blend, figures = fitted
    np.testing.assert_allclose(blend.weights.sum(axis=1), 1)
    assert (blend.weights >= 0).all()
    assert blend.own[0, 0] < 0.5
    assert figures.same > 10 and figures.same > figures.other
    assert figures.auc > 0.75
    assert (figures.lm_same, figures.lm_auc) == (0, 0.5)


def test_the_fitted_weights_make_the_papers_kept_aside_likelier_than_any_others_near(fitted) -> None:
    blend, _ = fitted
    pairs = [Prediction(x, None, y) for paper in KEPT for x, y in permutations(paper, 2)]

    def total(weights: np.ndarray) -> float:
        return sum(answer.total for answer in Mixture(Uniform(), replace(blend, weights=weights)).logprob(pairs))

    best = total(blend.weights)
    rng = np.random.default_rng(0)
    for _ in range(5):
        moved = 0.9 * blend.weights + 0.1 * rng.dirichlet(np.ones(blend.weights.shape[1]), len(blend.weights))
        assert total(moved) < best


def test_the_figures_are_those_of_the_log_ratios(fitted) -> None:
    blend, figures = fitted
    mixture = Mixture(Uniform(), blend)
    same = [(x, y) for paper in KEPT for x, y in permutations(paper, 2)]
    other = [
        (KEPT[(place + 3) % 6][x], paper[y]) for place, paper in enumerate(KEPT) for x, y in permutations(range(3), 2)
    ]
    one, two = ratios(mixture, same), ratios(mixture, other)
    assert figures.same == pytest.approx(one.mean())
    assert figures.other == pytest.approx(two.mean())
    above = one[:, None] - two
    assert figures.auc == pytest.approx((above > 0).mean() + (above == 0).mean() / 2)
    assert figures.pairs == len(same)


def test_tokens_are_counted_by_paper_and_hostile_texts_passed_over() -> None:
    arrays = count_tokens(Uniform(), as_ids(Uniform(), [["aab", "a"], ["b", "B\ud800"], ["B"]]))
    counts, alike, share = (arrays[name] for name in ("counts", "alike", "share"))
    assert [counts[LETTERS.index(letter)] for letter in "abB"] == [1, 2, 1]
    assert alike[LETTERS.index("b")] == alike[LETTERS.index("B")]
    assert share[LETTERS.index("b")] == pytest.approx(2.5 / 4)


def test_an_lm_that_refuses_the_pairs_is_named() -> None:
    with pytest.raises(LMError, match="uniform scores only 0 of 36 pairs: is its context long enough"):
        fit(ShortOfContext(), PAPERS, KEPT)


def test_too_few_papers_are_refused() -> None:
    with pytest.raises(SourceError, match="at least 2 papers to count and 2 kept aside, got 12, 1"):
        fit(Uniform(), PAPERS, KEPT[:1])
    with pytest.raises(SourceError, match="no paper kept aside has two reviews"):
        fit(Uniform(), PAPERS, [paper[:1] for paper in KEPT])

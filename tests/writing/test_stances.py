"""The classifier of sentences says how likely each stance is, and does not depend on the order of its features."""

from __future__ import annotations

import pytest

from gre_bench.core.errors import SourceError
from gre_bench.writing.rules import stances
from gre_bench.writing.rules.stances import NONE, ReviewSentence, extract_features, load, load_shipped_model


def test_the_model_says_how_likely_each_stance_is():
    praise, blame, asked, none = load_shipped_model().probabilities(
        [ReviewSentence("The experiments are extensive and convincing.", "strengths"), ReviewSentence("The novelty is limited.", "weaknesses"),
         ReviewSentence("Why is the queue faster on ARM?", "questions"), ReviewSentence("It needs no locks.", "summary")], 4
    )  # fmt: skip
    assert [one.argmax() for one in (praise, blame, asked, none)] == [0, 1, 2, NONE]
    assert praise.sum() == pytest.approx(1)
    assert load_shipped_model().probabilities([], 0).shape == (0, NONE + 1)


def test_weights_that_are_none_are_told(tmp_path):
    (tmp_path / "weights.tsv").write_text("feature\ta\nword\tx\n")
    for name in ("weights.tsv", "missing.tsv"):
        with pytest.raises(SourceError, match="weights of judgments by rule cannot be read"):
            load(tmp_path / name)


def test_a_stance_is_the_same_in_whatever_order_the_features_come(monkeypatch):
    """Sets of strings have another order in every process, and sums of floats another last digit in every order."""
    texts = [f"{subject} {verb} {rest}" for subject in ("The paper", "This method", "The analysis of the results")
             for verb in ("lacks", "improves", "could include") for rest in ("an ablation of its parts.", "the baselines.")]  # fmt: skip
    claims = [ReviewSentence(text, "other") for text in texts]
    found = []
    for backwards in (False, True):
        monkeypatch.setattr(
            stances, "extract_features", lambda *given, back=backwards: sorted(extract_features(*given), reverse=back)
        )
        found.append(load_shipped_model().probabilities(claims, len(claims)).tolist())
    assert found[0] == found[1]

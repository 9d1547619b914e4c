"""BERTScore on sentences: worked examples by hand, what always holds with a real embedder, and faults."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core.records import Case, LMIdentity
from gre_bench.lm.embedders import HashedNgramEmbedder
from gre_bench.metrics.bertscore import BertScore, split_into_sentences

CASE = Case(
    "p1", "c1", "r1", "review", "The paper is clear. It lacks a baseline.", "The writing is clear. Why no baseline?"
)
EMBEDDER = HashedNgramEmbedder()
SENTENCES = (
    "The paper is clear.", "It lacks a baseline!", "Why was the seed fixed?", "The authors should add an ablation",
    "0.85 is low.",
)  # fmt: skip
reviews = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=6).map(" ".join)


class Plane:
    """An embedder of given angles, in degrees, with which matches can be worked out by hand; it notes what it is asked."""

    identity = LMIdentity("plane", "0" * 64, "test")

    def __init__(self, angles: dict[str, float], turn: float | None = None):
        self.angles, self.turn = angles, turn or 0.0
        self.asymmetric = turn is not None
        self.asked: list[tuple[tuple[str, ...], bool]] = []

    def embed(self, sentences: Sequence[str], query: bool = False) -> np.ndarray:
        self.asked.append((tuple(sentences), query))
        radians = [math.radians(self.angles[sentence] + (self.turn if query else 0.0)) for sentence in sentences]
        return np.array([[math.cos(angle), math.sin(angle)] for angle in radians], np.float32).reshape(-1, 2)


ANGLES = {"a.": 0.0, "b.": 60.0, "c.": 90.0, "d.": 180.0, "e.": 120.0}

EXAMPLES = [
    # candidate, reference, precision, recall
    ("a.", "a.", 1, 1),
    ("a.", "b.", 0.5, 0.5),
    # Each of the reference's sentences takes the nearest: 1 and 0.
    ("a.", "a. c.", 1, 0.5),
    ("a. c.", "a.", 0.5, 1),
    # a: max(cos 60, cos 90) = 0.5; c: cos 0 = 1. b: max(cos 60, cos 30); c: 1.
    ("a. c.", "b. c.", 0.75, (math.cos(math.radians(30)) + 1) / 2),
    # A sentence said twice counts twice (Zhang et al. 2019 average over all places).
    ("a. a. c.", "a.", 2 / 3, 1),
    ("b.", "d.", -0.5, -0.5),
]


@pytest.mark.parametrize(("candidate", "reference", "precision", "recall"), EXAMPLES)
def test_the_score_is_the_harmonic_mean_of_both_greedy_matches(candidate, reference, precision, recall):
    (score,) = BertScore(Plane(ANGLES), "sig").score([replace(CASE, candidate=candidate, reference=reference)])
    expected = 2 * precision * recall / (precision + recall)
    assert score.value == pytest.approx(expected, abs=1e-6)
    assert (score.signature_id, score.paper_id, score.candidate_id, score.reference_id) == ("sig", "p1", "c1", "r1")


SPLIT = [
    ("One. Two! Three?", ["One.", "Two!", "Three?"]),
    ("At 0.85, e.g. here.\n\nNext", ["At 0.85, e.g.", "here.", "Next"]),
    ("A line\nanother line", ["A line\nanother line"]), ("  Blanks.  \n\t ", ["Blanks."]),
    ("Why?! No...  Yes.", ["Why?!", "No...", "Yes."]), ("No end.No break", ["No end.No break"]), (" \n", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), SPLIT)
def test_sentences_are_split_at_blanks_after_their_ends(text, expected):
    assert split_into_sentences(text) == expected


def test_the_query_prompt_is_on_the_candidates_sentences_alone_and_each_distinct_sentence_is_embedded_once():
    plane = Plane(ANGLES, turn=30.0)
    (score,) = BertScore(plane, "sig").score([replace(CASE, candidate="b.", reference="c.")])
    assert score.value == pytest.approx(1)
    assert plane.asked == [(("b.",), True), (("c.",), False)]
    plane = Plane(ANGLES)
    cases = [replace(CASE, candidate=x, reference=y) for x, y in (("a. b.", "c."), ("b. b.", "c. d."), ("a. b.", "b."))]
    BertScore(plane, "sig").score(cases)
    ((asked, query),) = plane.asked
    assert sorted(asked) == ["a.", "b.", "c.", "d."] and not query


@given(reviews, reviews)
def test_neighbours_do_not_matter_and_the_naive_way_gives_the_same(x, y):
    cases = [replace(CASE, candidate=a, reference=b) for a in (x, y) for b in (y, CASE.reference)]
    together = BertScore(EMBEDDER, "sig").score(cases)
    for case, score in zip(cases, together, strict=True):
        ours, theirs = (
            EMBEDDER.embed(split_into_sentences(case.candidate)),
            EMBEDDER.embed(split_into_sentences(case.reference)),
        )
        cosines = [[float(one @ other) for other in theirs] for one in ours]
        precision = sum(max(row) for row in cosines) / len(cosines)
        recall = sum(max(column) for column in zip(*cosines, strict=True)) / len(cosines[0])
        if precision * recall > 1e-6:
            assert score.value == pytest.approx(2 * precision * recall / (precision + recall), abs=1e-5)
        elif precision * recall < -1e-6:
            assert score.problem.code == "undefined"


# a is 60 degrees from b (0.5), f 180 (-1): precision (0.5 - 1)/2, recall 0.5.
PLANE = Plane({"a.": 0.0, "b.": 60.0, "f.": 240.0, "n.": math.nan})
NOT_FINITE = "the embedder returned numbers that are not finite"


@pytest.mark.parametrize(
    ("embedder", "candidate", "reference", "tokens", "code", "said"),
    [
        (EMBEDDER, " \n", "A review.", False, "empty_text", "the candidate's text has no sentences"),
        (EMBEDDER, "A review.", "", False, "empty_text", "the reference's text has no sentences"),
        (EMBEDDER, " \n", "A review.", True, "empty_text", "the candidate's text has no tokens"),
        (PLANE, "a. f.", "b.", False, "undefined", "F1 is undefined for precision -0.250, recall 0.500"),
        (PLANE, "a. n.", "b.", False, "not_finite", NOT_FINITE),
    ],
)
def test_what_has_no_score_is_a_problem_of_its_pair_alone(embedder, candidate, reference, tokens, code, said):
    fine = CASE if embedder is EMBEDDER else replace(CASE, candidate="a.", reference="b.")
    cases = [replace(CASE, candidate=candidate, reference=reference), fine]
    failed, good = BertScore(embedder, "sig", tokens).score(cases)
    assert failed.value is None
    assert (failed.problem.code, failed.problem.final) == (code, True)
    assert failed.problem.broken == (code == "not_finite")
    assert failed.problem.message == f"paper p1, candidate c1, reference r1: {said}"
    assert 0 < good.value < 1 and (embedder is EMBEDDER or good.value == pytest.approx(0.5))


def test_tokens_are_matched_as_sentences_are():
    """Three words against two: each word finds itself but one, which is spelled otherwise."""
    (score,) = BertScore(EMBEDDER, "sig", tokens=True).score([replace(CASE, candidate="a b c", reference="c a")])
    near = float((EMBEDDER.embed(["b"]) @ EMBEDDER.embed(["c", "a"]).T).max())
    precision = (2 + near) / 3
    assert score.value == pytest.approx(2 * precision / (precision + 1), abs=1e-6)


@given(reviews)
def test_a_review_meets_its_own_tokens_wholly_in_any_order(review):
    turned = " ".join(reversed(review.split(" ")))
    (score,) = BertScore(EMBEDDER, "sig", tokens=True).score([replace(CASE, candidate=review, reference=turned)])
    assert score.value == pytest.approx(1, abs=1e-5)


def test_with_a_sentence_model_a_review_meets_itself_but_for_the_query_prompt(tmp_path):
    pytest.importorskip("sentence_transformers", reason="this embedder needs the extra `lm`")
    from gre_bench.lm.embedders import SentenceEmbedder
    from tests.lm.sentence_models import build_sentence_model

    model = SentenceEmbedder.open(build_sentence_model(tmp_path / "model", "the problem is "), "cpu")
    prompted, plain = (model.embed_tokens(["clear writing", ""], query=query) for query in (True, False))
    assert [len(rows) for rows in (*prompted, *plain)] == [2, 0, 2, 0]
    assert np.linalg.norm(plain[0], axis=1) == pytest.approx([1, 1])
    # In context: the same word is another vector behind the prompt, and in another sentence.
    (other,) = model.embed_tokens(["limited writing"])
    assert abs(prompted[0] - plain[0]).max() > 1e-3 < abs(other[1] - plain[0][1]).max()
    assert len(model.embed_tokens(["paper " * 500])[0]) == 62
    cases = [replace(CASE, reference=CASE.candidate), CASE]
    prompted, _ = BertScore(model, "sig").score(cases)
    model.asymmetric = False
    same, other = BertScore(model, "sig").score(cases)
    assert prompted.value < 0.99
    assert same.value == pytest.approx(1, abs=1e-5)
    assert other.value < 0.99

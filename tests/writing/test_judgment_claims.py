"""Claims of judgments by rule are sentences: nouns, "that" with a verb, questions in the order of statements, gerunds."""

from __future__ import annotations

import pytest

from gre_bench.core.errors import SourceError
from gre_bench.writing.rules import clauses as clauses_of_reviews
from gre_bench.writing.rules.claims import claim_of
from gre_bench.writing.rules.clauses import NONE, STANCES, Clause, clauses_of, features, load, shipped
from gre_bench.writing.rules.english import finite, gerund, past, stated, third


@pytest.mark.parametrize(
    ("stance", "text", "claim"),
    [
        ("appreciates", "The method is simple and easy to implement.", "the simple and easy-to-implement method"),
        ("appreciates", "I like that the method is simple and needs no labels.", "that the method is simple and needs no labels"),
        ("appreciates", "The idea is novel.", "the novelty of the idea"),
        ("appreciates", "The problem is important for robotics.", "the importance of the problem for robotics"),
        ("appreciates", "The paper proposes a new queue.", "a new queue"),
        ("appreciates", "The authors explore four boards.", "the exploration of four boards"),
        ("appreciates", "Provides a sharp bound.", "that the paper provides a sharp bound"),
        ("appreciates", "Easy to follow.", "that the paper is easy to follow"),
        ("appreciates", "The proofs are clearly explained.", "the clear explanation of the proofs"),
        ("criticizes", "No wall-clock time is reported.", "that no wall-clock time is reported"),
        ("criticizes", "Wall-clock time isn't reported.", "that wall-clock time is not reported"),
        ("criticizes", "The proofs are not well explained.", "the insufficient explanation of the proofs"),
        ("criticizes", "The paper does not compare with Raft.", "the lack of comparison with Raft"),
        ("criticizes", "The notation in Section 3 is confusing.", "the confusing notation in Section 3"),
        ("criticizes", "Which makes the proof hard to check.", "that this makes the proof hard to check"),
        ("criticizes", "It is hard to follow the proof.", "the difficulty of following the proof"),
        ("questions", "How does the queue behave under load?", "how the queue behaves under load"),
        ("questions", "Why did the authors choose ARM?", "why the authors chose ARM"),
        ("questions", "Are the locks freed?", "whether the locks are freed"),
        ("questions", "What is the batch size?", "the batch size"),
        ("questions", "In Table 2, why is it slow?", "why it is slow in Table 2"),
        ("questions", "I doubt that the bound holds for trees.", "whether the bound holds for trees"),
        ("questions", "It is unclear how the threshold was chosen.", "how the threshold was chosen"),
        ("questions", "Which boards were used in the study?", "which boards were used in the study"),
        ("suggests", "The authors should add a study and compare it with Raft.", "adding a study and comparing it with Raft"),
        ("suggests", "The proofs should be moved to an appendix.", "moving the proofs to an appendix"),
        ("suggests", "Please describe the boards.", "describing the boards"),
        ("suggests", "A larger cluster would help.", "that a larger cluster would help"),
    ],
)  # fmt: skip
def test_a_clause_becomes_a_sentence(stance, text, claim):
    (clause,) = [one for one in clauses_of(text)]
    assert claim_of(clause, stance) == claim


@pytest.mark.parametrize(
    "text", ["On the negative side,", "Figure 3: Lok -> Lock", "Since it is slow.", "of ¤ is wrong", "?", "Why?"]
)
def test_what_makes_no_sentence_gives_no_claim(text):
    assert not any(claim_of(Clause(text, "other"), stance) for stance in STANCES)


def test_forms_of_verbs():
    assert [third(verb) for verb in ("study", "pass", "play", "have")] == ["studies", "passes", "plays", "has"]
    assert [gerund(verb) for verb in ("describe", "run", "see", "use", "lie")] == [
        "describing", "running", "seeing", "using", "lying",
    ]  # fmt: skip
    assert [past(verb) for verb in ("study", "choose", "plot", "use")] == ["studied", "chose", "plotted", "used"]


def test_the_verb_of_a_clause_is_found_outside_its_relative_clauses():
    assert finite("the queue that needs locks is slow") == 5
    assert finite("the queue that needs locks") == -1
    assert finite("the results of the study") == -1
    assert stated("does", "the queue need locks") == "the queue needs locks"
    assert stated("is", "it fast", negated=True) == "it is not fast"
    assert stated("is", "the queue") == ""


def test_the_model_says_how_likely_each_stance_is():
    praise, blame, asked, none = shipped().probabilities(
        [Clause("The experiments are extensive and convincing.", "strengths"), Clause("The novelty is limited.", "weaknesses"),
         Clause("Why is the queue faster on ARM?", "questions"), Clause("It needs no locks.", "summary")]
    )  # fmt: skip
    assert [one.argmax() for one in (praise, blame, asked, none)] == [0, 1, 2, NONE]
    assert praise.sum() == pytest.approx(1)
    assert shipped().probabilities([]).shape == (0, NONE + 1)


def test_weights_that_are_none_are_told(tmp_path):
    (tmp_path / "weights.tsv").write_text("feature\ta\nword\tx\n")
    for name in ("weights.tsv", "missing.tsv"):
        with pytest.raises(SourceError, match="weights of judgments by rule cannot be read"):
            load(tmp_path / name)


def test_a_stance_is_the_same_in_whatever_order_the_features_come(monkeypatch):
    """Sets of strings have another order in every process, and sums of floats another last digit in every order."""
    texts = [f"{subject} {verb} {rest}" for subject in ("The paper", "This method", "The analysis of the results")
             for verb in ("lacks", "improves", "could include") for rest in ("an ablation of its parts.", "the baselines.")]  # fmt: skip
    clauses = [clause for text in texts for clause in clauses_of(text)]
    found = []
    for backwards in (False, True):
        monkeypatch.setattr(
            clauses_of_reviews, "features", lambda *given, back=backwards: sorted(features(*given), reverse=back)
        )
        found.append(shipped().probabilities(clauses).tolist())
    assert found[0] == found[1]

"""Judgments by rule do not depend on a review's form: lists, prose, headings in one line, order of sections."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gre_bench.writing.rules.judgments import write_rule_judgments
from tests.writing.review_forms import DRESSES, forms, listed, prose

STRENGTHS = [
    "The method is simple and easy to implement.", "I like that the method is simple and does not need labels.",
    "The proofs are elegant.", "Extensive experiments on six datasets.", "The paper is well written.",
    "The authors release their code.", "The problem is important for robotics.",
    "Ablations isolate the effect of each loss.", "The bound is tight.", "The figures help the reader.",
]  # fmt: skip
WEAKNESSES = [
    "Wall-clock time is not reported.", "No comparison with Raft.", "The datasets are small.",
    "I doubt that the bound holds for trees.", "The novelty is limited.", "Only one seed was used.",
    "The authors ignore memory cost.", "The notation in Section 3 is confusing.",
    "The gains over the baseline are within one standard deviation.", "The claims are too strong.",
]  # fmt: skip
QUESTIONS = [
    "Why is the queue faster on ARM?", "Does the bound hold for trees?", "Could the authors add a memory study?",
    "How are the locks freed, and what happens under contention?", "It is unclear how the threshold was chosen.",
]  # fmt: skip
PLAIN = [
    "The paper is well written and easy to follow.", "The experiments are extensive and convincing.",
    "The idea is novel and interesting.", "The paper lacks a comparison with Raft.", "The novelty is limited.",
    "It is unclear how the threshold was chosen.", "The authors should compare with Raft on larger clusters.",
    "I suggest to include a memory study.",
]  # fmt: skip
"""Sentences that carry their own stance."""


def of(texts: list[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(texts), min_size=1, unique=True)


SECTIONS = st.fixed_dictionaries({"Strengths": of(STRENGTHS), "Weaknesses": of(WEAKNESSES), "Questions": of(QUESTIONS)})


@given(SECTIONS)
@settings(max_examples=15)
def test_every_form_yields_the_same_judgments(sections):
    written = {name: write_rule_judgments(text) for name, text in forms(sections).items()}
    assert len(set(written.values())) == 1, written


@given(SECTIONS, st.permutations(["Strengths", "Weaknesses", "Questions"]))
def test_shuffled_sections_yield_the_same_set_of_judgments(sections, order):
    shuffled = {name: sections[name] for name in order}
    for form in (listed, prose):
        assert set(write_rule_judgments(form(shuffled)).splitlines()) == set(
            write_rule_judgments(form(sections)).splitlines()
        )


@given(of(PLAIN), st.sampled_from(sorted(DRESSES)))
def test_without_headings_lists_and_prose_yield_the_same_judgments(texts, dress):
    as_prose = write_rule_judgments(" ".join(texts))
    assert write_rule_judgments("\n".join(f"- {text}" for text in texts)) == as_prose
    assert write_rule_judgments("\n\n".join(texts)) == as_prose
    assert write_rule_judgments(f"{DRESSES[dress].format('Comments')}\n" + " ".join(texts)).count(
        "\n"
    ) == as_prose.count("\n")
    assert as_prose.count("\n") + 1 == len(texts)


@pytest.mark.parametrize("form", forms({"Strengths": STRENGTHS, "Weaknesses": WEAKNESSES}))
def test_twenty_sentences_are_twenty_judgments_but_for_one_said_twice(form):
    lines = write_rule_judgments(forms({"Strengths": STRENGTHS, "Weaknesses": WEAKNESSES})[form]).splitlines()
    assert len(lines) == 20
    assert "The reviewer appreciates I like that the method is simple and does not need labels." in lines
    assert "The reviewer criticizes Wall-clock time is not reported." in lines
    assert "The reviewer questions I doubt that the bound holds for trees." in lines

"""Who may have learnt from an edition's reviews, and who is judged by its own family: the shipped models first."""

from __future__ import annotations

from datetime import date

import pytest

from gre_bench.board.words import describe_training_overlap
from gre_bench.catalogs import models
from gre_bench.core.training_registers import Register
from gre_bench.ranking.contamination import describe_conflict, find_contamination, find_model_entry

SHIPPED = models.load()
ICLR_2024 = date(2023, 11, 10)
ICLR_2023 = date(2022, 11, 4)


@pytest.mark.parametrize(
    ("name", "released", "status"),
    [
        ("openai/gpt-4o", ICLR_2024, "clean"),  # until October 2023
        ("openai/gpt-4o@iclr", ICLR_2024, "clean"),  # under a guideline
        ("openai/gpt-4o", ICLR_2023, "contaminated"),
        ("meta-llama/llama-3.1-70b-instruct", ICLR_2024, "contaminated"),  # until December 2023
        ("openai/gpt-4o", date(2023, 10, 31), "contaminated"),  # the same day does not precede
        ("openai/gpt-4o", date(2023, 11, 1), "clean"),
        ("deepseek/deepseek-chat", ICLR_2024, "unknown"),  # no cutoff stated
        ("a-model-of-ours", ICLR_2024, "unknown"),
        ("openai/gpt-4o", None, "unknown"),  # nobody knows when the reviews came out
    ],
)
def test_a_candidate_is_clean_only_if_its_cutoff_precedes_the_reviews(name, released, status):
    assert find_contamination("candidate", name, SHIPPED, released).status == status


@pytest.mark.parametrize(
    ("role", "name", "status"),
    [
        ("evaluation_lm", "Llama-3.1-8B-Instruct", "contaminated"),
        ("evaluation_lm", "meta-llama/Llama-3.1-8B-Instruct", "contaminated"),
        ("evaluation_lm", "cache-ngram-3", "unknown"),  # without its register
        ("evaluation_lm", "none", "none"),
        ("writer", "gpt-4o-2024-05-13", "clean"),
        ("writer", "openai/gpt-4o@2024-05-13 · prompt 0a1b2c3d · sampling 4e5f6a7b", "clean"),
        ("writer", "rule (by hand)", "none"),
        ("writer", "somebody", "unknown"),
        ("synopsis_writer", "the paper's own abstract", "none"),
    ],
)
def test_evaluation_lms_and_writers_are_known_by_the_names_they_sign_with(role, name, status):
    assert find_contamination(role, name, SHIPPED, ICLR_2024).status == status


READ = Register("tuned", frozenset({"paper 0123456789abcdef"}), "fedcba9876543210")
UNREAD = Register("tuned", None, None, "it is unknown what tuned was learnt from")


@pytest.mark.parametrize(
    ("register", "trained_on", "base", "released", "status"),
    [
        (READ, 0, None, ICLR_2023, "clean"),  # counts and weights without a base
        (READ, 0, None, None, "clean"),  # whenever the reviews came out
        (READ, 1, None, ICLR_2024, "contaminated"),
        (READ, 0, "Llama-3.1-8B-Instruct", ICLR_2024, "contaminated"),  # its base learnt until December 2023
        (READ, 0, "Llama-3.1-8B-Instruct", date(2024, 11, 4), "clean"),
        (READ, 1, "Llama-3.1-8B-Instruct", date(2024, 11, 4), "contaminated"),
        (READ, 0, "smollm2-135m", ICLR_2024, "unknown"),  # its makers state no cutoff
        (READ, 0, "smollm2-135m", date(2024, 11, 12), "clean"),  # but it came out before the reviews
        (READ, 0, "a-model-of-ours", ICLR_2024, "unknown"),
        (UNREAD, 0, None, ICLR_2024, "unknown"),
        (UNREAD, 0, "Llama-3.1-8B-Instruct", date(2024, 11, 4), "unknown"),
    ],
)
def test_what_was_learnt_here_is_clean_only_by_its_register_and_by_its_base(
    register, trained_on, base, released, status
):
    found = find_contamination("evaluation_lm", "tuned", SHIPPED, released, (register, trained_on, 9), base)
    assert found.status == status
    counted = (None, None, None) if register is UNREAD else (trained_on, 9, READ.digest)
    assert (found.learnt, found.papers, found.register) == counted


def test_a_board_says_of_how_many_papers_each_was_learnt():
    rows = [
        {"role": "evaluation_lm", "name": "tuned", "learnt": 51, "papers": 73},
        {"role": "evaluation_lm", "name": "another", "learnt": 9, "papers": 73},
        {"role": "writer", "name": "a rule", "learnt": 0, "papers": 1},
        {"role": "synopsis_writer", "name": "an LM", "learnt": None, "papers": None},
    ]
    signature = {"evaluation_lm": "tuned", "writer": "a rule", "synopsis_writer": "an LM"}
    assert describe_training_overlap(signature, rows) == "tuned 51 of 73 papers, a rule 0 of 1 paper"


def test_how_a_candidate_was_asked_leaves_its_model_as_it_is_and_a_maker_that_does_not_fit_is_another_model():
    asked = ("openai/gpt-4o-2024-05-13+reflect5+ensemble5", "gpt-4o+fewshot1", "openai/gpt-4o@iclr+rubric", "gpt-4o")
    assert {find_model_entry(name, SHIPPED).name for name in asked} == {"openai/gpt-4o"}
    for name in ("quis/gpt-4-regenerated", "somebody-else/gpt-4o"):
        assert find_model_entry(name, SHIPPED) is None


def test_a_candidate_in_the_hands_of_its_own_family_is_flagged():
    others = {"evaluation_lm": "Llama-3.1-8B-Instruct", "writer": "openai/gpt-4o@2024-05-13 · prompt 0a1b2c3d"}
    assert "evaluation LM" in describe_conflict("meta-llama/llama-3-8b-instruct", others, SHIPPED)
    assert "writer of the judgments openai/gpt-4o" in describe_conflict("openai/gpt-3.5-turbo", others, SHIPPED)
    assert describe_conflict("anthropic/claude-3-opus", others, SHIPPED) is None
    assert describe_conflict("a-model-of-ours", others, SHIPPED) is None
    one_maker = {"evaluation_lm": "mistralai/mixtral-8x7b-instruct"}
    assert describe_conflict("mistralai/mistral-large", one_maker, SHIPPED)

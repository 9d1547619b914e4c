"""Conditions of the guideline study as values: what each puts to an LM."""

from __future__ import annotations

import pytest

from gre_bench.core.errors import SettingsError
from gre_bench.prompts.conditions import SHIPPED, load_condition
from gre_bench.prompts.library import load

CHECKLIST = "Mine:\n\npeer_review_behavior_checklist:\n  good_paper: {}\n  bad_paper: {}\n"


def test_the_shipped_conditions_are_those_of_the_paper():
    assert SHIPPED == (
        "none", "arr", "neurips", "iclr", "good", "middle", "bad", "good+rubric", "middle+rubric", "bad+rubric",
    )  # fmt: skip
    kinds = [load_condition(name).kind for name in SHIPPED]
    assert kinds == ["none", *["instruction"] * 3, *["imitating"] * 6]
    assert len({load_condition(name).sha256 for name in SHIPPED}) == len(SHIPPED)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_condition_asks_with_its_template_its_guideline_and_the_paper(name):
    chosen = load_condition(name)
    chat = chosen.chat("THE PAPER {content}")
    assert chat.system == ""
    assert "# Paper\nTHE PAPER {content}\n" in chat.user
    assert (chosen.guideline in chat.user) and ("Scoring Procedure" in chat.user) == name.endswith("+rubric")
    if name != "none":
        assert chosen.guideline == load(f"guideline_{name.removesuffix('+rubric')}").user


def test_an_official_text_or_a_checklist_comes_from_the_user_and_goes_into_its_template():
    chosen = load_condition("neurips_official", {"neurips_official": "\nBe kind.\n"})
    assert (chosen.kind, chosen.guideline, chosen.template) == ("official", "Be kind.", "guideline_review")
    assert "# Reviewer Guideline\nBe kind.\n\n# Final Output" in chosen.chat("p").user
    assert load_condition("mine", {"mine": CHECKLIST}).kind == "imitating"
    assert load_condition("mine+rubric", {"mine": CHECKLIST}).template == "guideline_rubric"


@pytest.mark.parametrize(
    ("name", "texts", "why"),
    [
        ("nope", {}, "no guideline condition 'nope'; there are: none, arr"),
        ("arr+rubric", {}, "condition arr\\+rubric: a rubric counts the questions of a checklist, and arr has none"),
        ("none+rubric", {}, "none has none"),
        ("own+rubric", {"own": "Be kind."}, "own has none"),
        ("arr", {"arr": "Be kind."}, "cannot be called 'arr'"),
        ("a+b", {"a+b": "Be kind."}, "cannot be called 'a\\+b'"),
        ("own", {"own": " \n"}, "the guideline own is empty"),
    ],
)
def test_what_is_no_condition_says_why(name, texts, why):
    with pytest.raises(SettingsError, match=why):
        load_condition(name, texts)

"""The prompts of other domains: derived from the paper's, with the domain's words and nothing else changed."""

from __future__ import annotations

from difflib import SequenceMatcher

import pytest

from gre_bench.core.judgments import OPENINGS
from gre_bench.core.records import Prediction
from gre_bench.prompts.library import fill, load, render

DERIVED = {
    "predict_judgments_yelp": "predict_judgments",
    "predict_judgments_proposals": "predict_judgments",
    "judgments_yelp": "judgments",
    "judgments_proposals": "judgments",
}


@pytest.mark.parametrize(
    ("name", "sha256"),
    [
        ("predict_judgments_yelp", "7e955a9314f052284d66b5d691905d8b96a2ebd03d1abb10c148d66f2b1b34be"),
        ("predict_judgments_proposals", "f63cc8b28052610910947412ed0e7561a55b7fe805a1e8cf2d7cb226cc9a1151"),
        ("judgments_yelp", "c505230b29a394926b665098b0c10a2a3f1d231dc0ca9b57dee26b59e8f1cb28"),
        ("judgments_proposals", "c8b790b77d319418899a7f668bce34ca3de916486078b7849c818d21b8ca299f"),
        ("proposal_abstract", "7d948baa1fe31b0fc43c64a25f4f0de7efce17ba60db11f828cd6d006fa31a7e"),
    ],
)
def test_a_prompt_is_the_one_that_signatures_name(name, sha256):
    assert load(name).sha256 == sha256


@pytest.mark.parametrize(("name", "printed"), DERIVED.items())
def test_a_derived_prompt_says_so_and_keeps_the_form_of_the_printed_one(name, printed):
    mine, theirs = load(name), load(printed)
    assert (mine.kind, theirs.kind) == ("derived", "verbatim")
    assert (mine.fields, mine.absent) == (theirs.fields, theirs.absent)
    assert mine.source.startswith(theirs.source.removesuffix(")"))
    assert mine.user.count("\n") == theirs.user.count("\n")
    kept = SequenceMatcher(None, theirs.system.split(), mine.system.split(), autojunk=False)
    assert sum(block.size for block in kept.get_matching_blocks()) >= 0.8 * len(theirs.system.split())
    assert " paper" not in mine.system and "scientific" not in mine.system


@pytest.mark.parametrize("name", DERIVED)
def test_the_openings_of_judgments_are_those_of_the_paper(name):
    spelled = "'The reviewer appreciates/criticizes/questions/suggests'"
    if name.startswith("predict"):
        assert load(name).system.count(spelled) == 2
    else:
        assert all(f"'{opening}'" in load(name).system for opening in OPENINGS)


def test_a_restaurant_is_predicted_from_its_categories():
    chat = render(Prediction("The reviewer suggests x.", "Thai, Bars", "reply", "predict_judgments_yelp"))
    assert chat.user == (
        "[Categories of the restaurant]\n\nThai, Bars\n\n"
        "[Review judgments from the first reviewer]\n\nThe reviewer suggests x."
    )


def test_the_abstract_of_a_proposal_is_asked_for_without_a_judgment():
    prompt = load("proposal_abstract")
    assert prompt.kind == "own"
    assert "Do not judge it" in prompt.system
    assert fill("proposal_abstract", proposal="{proposal} text").user == "{proposal} text"

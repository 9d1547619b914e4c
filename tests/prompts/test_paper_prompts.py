"""The prompts of Xu et al. 2025 (appendices C and D): word for word the printed ones, and those derived for domains."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

import pytest

from gre_bench.core.errors import PromptError
from gre_bench.core.judgments import OPENINGS
from gre_bench.core.records import Prediction
from gre_bench.core.replies import ASSW_PARTS, REVIEW_PARTS
from gre_bench.perturbations.edits import MISSING, load_section_openings
from gre_bench.prompts.library import fill_prompt, load, render
from gre_bench.writing.lm_writer import PROMPTS
from tests.prompts.papers import paper

DIGESTS = {
    "predict_judgments": "608755711153c7537c6395ecd9db4373198449b8cdbdf4e7e6ae90205686e01c",
    "judgments": "5d18b5a07a3f3a78e861f3d04d3cedf45bcf7e3f1819e7ee9b562836e25c7689",
    "review": "3e345d3d348e8b7d4d8b9fb5a902953ee8ee48480036b69714ae5f10314c3c6b",
    "assw": "1068709bd8b981efd50f1978e3f5cb4dfffc84d9174553115b6ec9b84f7f060c",
    "lm_examiner": "a09c25de6e17897bf88c78e011f65f1f414fdb4b86f9f6f433a66378ad29b9c6",
    "completion": "ee9f466607359f01695cbfadb8a95c0f72be1907f65f6413d30b34b07ad46200",
    "abstract_only": "a7800cb7d5ae7c4b4dba8d480e0eb4f85f76b64f9bb7bac2647895e445b58cdc",
    "rephrase": "cd0f5fa2d8d4499dec5653913572c20bd7ffec35a1da298870a5d65bee6407e5",
    "summary_strengths": "992aec7e6d092c4b5c65f5053a70b59ce0d4196a16555c416a25b9fa439272d6",
    "summary_weaknesses": "5bb87977d75ae39a047604b36356f75a64797965fe708e78bdfa5c3b6f388879",
    "predict_judgments_yelp": "7e955a9314f052284d66b5d691905d8b96a2ebd03d1abb10c148d66f2b1b34be",
    "predict_judgments_proposals": "f63cc8b28052610910947412ed0e7561a55b7fe805a1e8cf2d7cb226cc9a1151",
    "judgments_yelp": "c505230b29a394926b665098b0c10a2a3f1d231dc0ca9b57dee26b59e8f1cb28",
    "judgments_proposals": "c8b790b77d319418899a7f668bce34ca3de916486078b7849c818d21b8ca299f",
    "proposal_abstract": "7d948baa1fe31b0fc43c64a25f4f0de7efce17ba60db11f828cd6d006fa31a7e",
}
"""The digests that signatures name."""
LISTINGS = {
    "judgments": ("C.1", "review"), "review": ("C.3", "paper"), "assw": ("C.4", "paper"),
    "completion": ("D.3.2", "review"), "abstract_only": ("D.3.3", "abstract"), "rephrase": ("D.4.1", "review"),
    "summary_strengths": ("D.4.2", "review"), "summary_weaknesses": ("D.4.2", "review"),
}  # fmt: skip
"""Prompt → its appendix, and the field that takes a text."""
DERIVED = [name for name in DIGESTS if name.endswith(("_yelp", "_proposals"))]


def test_the_prompts_are_those_that_signatures_name():
    assert {name: load(name).sha256 for name in DIGESTS} == DIGESTS


@pytest.mark.parametrize("name", LISTINGS)
def test_a_prompt_states_its_listing_and_takes_one_text(name):
    prompt, (listing, field) = load(name), LISTINGS[name]
    assert (prompt.kind, prompt.fields) == ("verbatim", (field,)) and f"Appendix {listing} " in prompt.source
    chat = fill_prompt(name, **{field: "{paper} {review} \\1 text"})
    assert (chat.user, chat.system, chat.reply) == ("{paper} {review} \\1 text", prompt.system, "")


def test_an_examiner_reads_the_paper_and_the_review_under_their_headings_and_a_field_without_a_value_is_named():
    prompt = load("lm_examiner")
    assert (prompt.kind, prompt.fields) == ("verbatim", ("paper", "review")) and "Appendix D.1 " in prompt.source
    chat = fill_prompt("lm_examiner", paper="{review} \\n paper", review="{paper} review")
    assert chat.user == "[Paper]\n\n{review} \\n paper\n\n[Review]\n\n{paper} review"
    assert (chat.system, chat.reply) == (prompt.system, "")
    with pytest.raises(PromptError, match=r"prompt 'review' takes \['paper'\], got \['review'\]"):
        fill_prompt("review", review="x")


def test_prompts_ask_for_what_replies_are_read_for():
    for name in ("judgments", "judgments_yelp", "judgments_proposals"):
        assert all(f"'{opening}'" in load(name).system for opening in OPENINGS)
    assert all(f"<{name}> tags" in load("review").system for name in REVIEW_PARTS)
    assert all(f"\n<{mark}{name}>\n" in load("assw").system for name in ASSW_PARTS for mark in ("", "/"))
    assert {name for names in PROMPTS.values() for name in names} <= set(LISTINGS)
    assert load("completion").system.count(MISSING) == 2


@pytest.mark.shared
@pytest.mark.parametrize("name", LISTINGS)
def test_the_system_text_stands_in_the_paper_word_for_word(name):
    text = paper("004")
    listing = text[text.index(f"\n{LISTINGS[name][0]} ") :]
    listing = listing[listing.index("System Prompt") + len("System Prompt") : listing.index("User Prompt")]
    undamaged = re.sub(r";(/?\w+_claimed_by_the_paper);", r"<\1>", listing.replace("```", ""))
    printed = undamaged.replace("{“strengths” or “weaknesses”}", name.removeprefix("summary_"))
    assert load(name).system.split() == printed.split()
    breaks = [" ".join(part.split()) for part in printed.split("\n\n") if part.strip()]
    assert [" ".join(part.split()) for part in load(name).system.split("\n\n")] == breaks


@pytest.mark.shared
def test_both_texts_of_the_examiner_stand_in_the_paper_word_for_word():
    text = paper("004")
    listing = text[text.index("\nD.1 BASELINE METRICS") : text.index("\nD.2 VALIDATION WORKFLOW")]
    system, _, user = listing[listing.index("System Prompt\n") + len("System Prompt\n") :].partition("User Prompt\n")
    printed = user.replace("{Full paper in Text Format}", "{paper}").replace("{Original Review Judgments}", "{review}")
    assert (load("lm_examiner").system, load("lm_examiner").user) == (system.strip(), printed.strip())


@pytest.mark.shared
@pytest.mark.parametrize("kind", ["summary", "mixed", "aspects", "verdict"])
def test_the_openings_stand_in_the_paper_word_for_word(kind):
    text = paper("004")
    printed = " ".join(text[text.index("\nAfter Manipulation\n") :].split())
    opening = load_section_openings()[kind].replace("{strengths}", "{Strength Summary}")
    opening = opening.replace("{weaknesses}", "{Weakness Summary}")
    assert " ".join(re.sub(r"\{body\}$", "This is the first sentence.", opening).split()) in printed


@pytest.mark.parametrize("name", DERIVED)
def test_a_derived_prompt_says_so_and_keeps_the_form_of_the_printed_one(name):
    mine, theirs = load(name), load(name.rpartition("_")[0])
    assert (mine.kind, theirs.kind) == ("derived", "verbatim")
    assert (mine.fields, mine.absent) == (theirs.fields, theirs.absent)
    assert mine.source.startswith(theirs.source.removesuffix(")"))
    assert mine.user.count("\n") == theirs.user.count("\n")
    kept = SequenceMatcher(None, theirs.system.split(), mine.system.split(), autojunk=False)
    assert sum(block.size for block in kept.get_matching_blocks()) >= 0.8 * len(theirs.system.split())
    assert " paper" not in mine.system and "scientific" not in mine.system
    if name.startswith("predict"):
        assert mine.system.count("'The reviewer appreciates/criticizes/questions/suggests'") == 2


def test_a_restaurant_is_predicted_from_its_categories_and_a_proposal_s_abstract_is_asked_for_without_a_judgment():
    chat = render(Prediction("The reviewer suggests x.", "Thai, Bars", "reply", "predict_judgments_yelp"))
    assert chat.user == (
        "[Categories of the restaurant]\n\nThai, Bars\n\n"
        "[Review judgments from the first reviewer]\n\nThe reviewer suggests x."
    )
    prompt = load("proposal_abstract")
    assert prompt.kind == "own" and "Do not judge it" in prompt.system
    assert fill_prompt("proposal_abstract", proposal="{proposal} text").user == "{proposal} text"

"""The prompts and guidelines of the guideline study: word for word those that its paper prints."""

from __future__ import annotations

import re

import pytest
import yaml

from gre_bench.prompts.library import fill_prompt, load
from tests.prompts.papers import paper

LISTINGS = {
    "reference_quality": (2, ("summary", "strengths", "weaknesses", "questions"),
        "6908b82848033f3f423533242ccd5959b7d996a805772921d64a6948af21da67"),
    "content_consistency": (3, ("rating", "summary", "strengths", "weaknesses"),
        "9476a43dbc9b4e5e693a9716ef1ff8b28a6d72d0b7fd5136476c3453eb062db8"),
    "subscore_consistency": (4, ("rating", "soundness", "presentation", "contribution"),
        "672ef2b6cb175abe772ba43ac541ebf1382f9bc223412616bf7c300b51a7cf90"),
    "none": (5, ("content",),
        "6f1a4fc69ab2508520660ee1a5a01d6d6b50e8cd5ba70f1c31238cb4eca83dbc"),
    "review": (6, ("content", "reviewer_guideline"),
        "897576159809ac243d9f7ae8191a6eb376553377c051e3c32dd96524a71e3427"),
    "arr": (7, (),
        "92fe2b58c7d664fda2bda0bbe5ac5881c810ae96ecf6f238962e964e03ed1bc2"),
    "neurips": (8, (),
        "c0c20e097fac0b3520bdda4ffac562c7e9d2bbeb4ee8eea1376180916d410a59"),
    "iclr": (9, (),
        "8a262fb719b9802ce6d9d16194aaae316faed114fe0603bfc43c54e9e9ded2a5"),
    "good": (10, (),
        "adda092bcf0181126653e43c04ee334308295f35c935d9d0359bfbb7e3266d04"),
    "middle": (11, (),
        "6afd8ab431b8e14a67aa8da92fb2d0dd87a4647087d95d49f59fed1442e1901a"),
    "bad": (12, (),
        "8757c126fadd8ece8f88782352a171d252c427389e0452c0d0192b8ebcb4cdd3"),
    "rubric": (13, ("content", "reviewer_imitating_guideline"),
        "650462cb9158bd8e36fda5aca196ddaadebffd164178bc6ff58ede3d1d6213a8"),
}  # fmt: skip
"""Prompt → its listing, its fields, and the digest that ratings name."""
STARTS = {number: f"\nListing {number}: " for number in range(2, 14)}
ENDS = {
    2: "\nContent Consistency Content", 3: "\nSubscore Consistency Subscore", 4: "\nScore Distribution",
    5: "\n840 C ", 6: "\n880 **Official", 7: "\nListing 8: ", 8: "\nListing 9: ",
    9: "\nReviewer-imitating Guidelines We", 10: "\nListing 11: ", 11: "\nListing 12: ", 12: "\nListing 13: ",
}  # fmt: skip
STRAY = '"periments,theory,orstatisticallysignificantresults(e.g.,overlappingconfidenceintervals)."'


@pytest.mark.parametrize("name", LISTINGS)
def test_a_prompt_states_its_listing_and_its_fields(name):
    prompt = load(f"guideline_{name}")
    number, fields, sha256 = LISTINGS[name]
    assert (prompt.kind, prompt.fields, prompt.system) == ("verbatim", fields, "")
    assert prompt.sha256 == sha256
    assert prompt.source.endswith(f", Listing {number}")


@pytest.mark.parametrize("name", ["good", "middle", "bad"])
def test_an_imitating_guideline_has_ten_good_and_ten_bad_questions(name):
    tree = yaml.safe_load(load(f"guideline_{name}").user.partition("\n\n")[2])["peer_review_behavior_checklist"]
    questions = {side: sum(map(len, groups.values())) for side, groups in tree.items()}
    assert questions == {"good_paper": 10, "bad_paper": 10}


def test_a_paper_that_holds_the_name_of_a_field_is_left_alone():
    chat = fill_prompt("guideline_review", content="{reviewer_guideline} \\1", reviewer_guideline="{content}")
    assert "# Paper\n{reviewer_guideline} \\1\n\n# Reviewer Guideline\n{content}\n" in chat.user


def test_what_replies_are_read_for_is_asked_for():
    for name in ("none", "review", "rubric"):
        assert load(f"guideline_{name}").user.endswith('\n"Overall Rating: (Your Rating)"')
    assert "The temporary score (-10 to +10)" in load("guideline_rubric").user


@pytest.mark.shared
@pytest.mark.parametrize("name", LISTINGS)
def test_the_text_stands_in_the_paper_word_for_word(name):
    """Blanks and marks of headings, emphasis and code are left out of it: the paper's text version lost some."""
    assert bare(load(f"guideline_{name}").user) == printed(paper("002"), LISTINGS[name][0])


def bare(text: str) -> str:
    return re.sub(r"[\s#*`]+", "", text)


def printed(paper: str, number: int) -> str:
    """Listing *number*, its columns one after the other, without ruler numbers."""
    beside, left, right = columns(paper, number)
    if number == 13:
        return bare("\n".join(left + columns(paper, 12)[2]))
    if number == 11:
        found = bare("\n".join(left + right + beside))
        assert found.endswith(STRAY[1:])
        return found.removesuffix(STRAY[1:])
    return bare("\n".join(beside + left))


def columns(paper: str, number: int) -> tuple[list[str], list[str], list[str]]:
    start = paper.index(STARTS[number])
    end = paper.index(ENDS[number], start) if number in ENDS else len(paper)
    part = paper[start:end].lstrip().partition("\n")[2]
    if number == 7:
        part = part[: part.index("\n¹⁰")] + part[part.index("\n944 Please") :]
    lines = [line.strip() for line in part.splitlines()]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    rows = [row for row in rows if set("".join(row)) - set("- ")] if number != 13 else rows
    beside = [line for line in lines if not line.startswith("|")]
    for _ in range(2):
        beside = [re.sub(r"^\d{3,4}(?= |$)|(?<= )\d{4}$", "", line.strip()) for line in beside]
    left = [row[1] for row in rows if len(row) > 1 and set(row[0]) - set("-")]
    return beside, left, [row[2] for row in rows if len(row) > 2]

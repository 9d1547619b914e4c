"""The prompts that writers of changes get, and the fixed openings: word for word those of Xu et al. 2025, appendix D."""

from __future__ import annotations

import re

import pytest

from gre_bench.changes.edits import MISSING, openings
from gre_bench.prompts.library import fill, load
from gre_bench.writing.lm_writer import PROMPTS
from tests.conftest import SHARED

CHANGING = {
    "completion": ("D.3.2", "review"),
    "abstract_only": ("D.3.3", "abstract"),
    "rephrase": ("D.4.1", "review"),
    "summary_strengths": ("D.4.2", "review"),
    "summary_weaknesses": ("D.4.2", "review"),
}


@pytest.fixture
def paper() -> str:
    papers = list((SHARED.parent / "seeds").glob("004*.txt"))
    if not papers:
        pytest.skip("the text of Xu et al. 2025 is not on this machine")
    return papers[0].read_text()


@pytest.mark.parametrize(
    ("name", "sha256"),
    [
        ("completion", "ee9f466607359f01695cbfadb8a95c0f72be1907f65f6413d30b34b07ad46200"),
        ("abstract_only", "a7800cb7d5ae7c4b4dba8d480e0eb4f85f76b64f9bb7bac2647895e445b58cdc"),
        ("rephrase", "cd0f5fa2d8d4499dec5653913572c20bd7ffec35a1da298870a5d65bee6407e5"),
        ("summary_strengths", "992aec7e6d092c4b5c65f5053a70b59ce0d4196a16555c416a25b9fa439272d6"),
        ("summary_weaknesses", "5bb87977d75ae39a047604b36356f75a64797965fe708e78bdfa5c3b6f388879"),
    ],
)
def test_a_prompt_is_the_one_that_signatures_name(name, sha256):
    assert load(name).sha256 == sha256


@pytest.mark.parametrize("name", CHANGING)
def test_a_prompt_states_its_listing_and_takes_one_text(name):
    prompt = load(name)
    listing, field = CHANGING[name]
    assert (prompt.kind, prompt.fields) == ("verbatim", (field,))
    assert f"Appendix {listing} " in prompt.source
    assert fill(name, **{field: "{review} text"}).user == "{review} text"


def test_every_task_has_its_prompts_and_the_completion_knows_the_mark():
    assert {name for names in PROMPTS.values() for name in names} == set(CHANGING)
    assert load("completion").system.count(MISSING) == 2


@pytest.mark.shared
@pytest.mark.parametrize("name", CHANGING)
def test_the_system_text_stands_in_the_paper_word_for_word(name, paper):
    listing = paper[paper.index(f"\n{CHANGING[name][0]} ") :]
    listing = listing[listing.index("System Prompt") + len("System Prompt") : listing.index("User Prompt")]
    printed = listing.replace("{“strengths” or “weaknesses”}", name.removeprefix("summary_"))
    assert load(name).system.split() == printed.split()
    breaks = [" ".join(part.split()) for part in printed.split("\n\n") if part.strip()]
    assert [" ".join(part.split()) for part in load(name).system.split("\n\n")] == breaks


@pytest.mark.shared
@pytest.mark.parametrize("kind", ["summary", "mixed", "aspects", "verdict"])
def test_the_openings_stand_in_the_paper_word_for_word(kind, paper):
    printed = " ".join(paper[paper.index("\nAfter Manipulation\n") :].split())
    opening = (
        openings()[kind].replace("{strengths}", "{Strength Summary}").replace("{weaknesses}", "{Weakness Summary}")
    )
    assert " ".join(re.sub(r"\{body\}$", "This is the first sentence.", opening).split()) in printed

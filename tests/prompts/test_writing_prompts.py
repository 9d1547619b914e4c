"""The prompts that writers get: word for word those of Xu et al. 2025, appendix C."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gre_bench.core.errors import PromptError
from gre_bench.core.judgments import OPENINGS
from gre_bench.core.replies import ASSW_PARTS, REVIEW_PARTS
from gre_bench.prompts.library import fill, load
from tests.conftest import SHARED

WRITING = {"judgments": ("C.1", "review"), "review": ("C.3", "paper"), "assw": ("C.4", "paper")}


@pytest.mark.parametrize(
    ("name", "sha256"),
    [
        ("judgments", "5d18b5a07a3f3a78e861f3d04d3cedf45bcf7e3f1819e7ee9b562836e25c7689"),
        ("review", "3e345d3d348e8b7d4d8b9fb5a902953ee8ee48480036b69714ae5f10314c3c6b"),
        ("assw", "1068709bd8b981efd50f1978e3f5cb4dfffc84d9174553115b6ec9b84f7f060c"),
    ],
)
def test_a_prompt_is_the_one_that_signatures_name(name, sha256):
    assert load(name).sha256 == sha256


@pytest.mark.parametrize("name", WRITING)
def test_a_prompt_states_its_listing_and_takes_one_text(name):
    prompt = load(name)
    listing, field = WRITING[name]
    assert (prompt.kind, prompt.fields) == ("verbatim", (field,))
    assert f"Appendix {listing} " in prompt.source
    chat = fill(name, **{field: "{paper} {review} \\1 text"})
    assert (chat.user, chat.system, chat.reply) == ("{paper} {review} \\1 text", prompt.system, "")


def test_a_field_without_a_value_is_named():
    with pytest.raises(PromptError, match=r"prompt 'review' takes \['paper'\], got \['review'\]"):
        fill("review", review="x")


def test_prompts_ask_for_what_replies_are_read_for():
    assert all(f"'{opening}'" in load("judgments").system for opening in OPENINGS)
    assert all(f"<{name}> tags" in load("review").system for name in REVIEW_PARTS)
    assert all(
        f"\n<{name}>\n" in load("assw").system and f"\n</{name}>\n" in load("assw").system for name in ASSW_PARTS
    )


@pytest.mark.shared
@pytest.mark.parametrize("name", WRITING)
def test_the_system_text_stands_in_the_paper_word_for_word(name):
    papers: list[Path] = list((SHARED.parent / "seeds").glob("004*.txt"))
    if not papers:
        pytest.skip("the text of Xu et al. 2025 is not on this machine")
    text = papers[0].read_text()
    listing = text[text.index(f"\n{WRITING[name][0]} ") :]
    listing = listing[listing.index("System Prompt") + len("System Prompt") : listing.index("User Prompt")]
    undamaged = re.sub(r";(/?\w+_claimed_by_the_paper);", r"<\1>", listing.replace("```", ""))
    assert load(name).system.split() == undamaged.split()
    breaks = [" ".join(part.split()) for part in undamaged.split("\n\n") if part.strip()]
    assert [" ".join(part.split()) for part in load(name).system.split("\n\n")] == breaks

"""The prompt of LMExaminer: word for word that of Xu et al. 2025, D.1, with line breaks where the listing has them."""

from __future__ import annotations

import pytest

from gre_bench.prompts.library import fill, load
from tests.conftest import SHARED


def test_the_prompt_is_the_one_that_signatures_name():
    assert load("lm_examiner").sha256 == "a09c25de6e17897bf88c78e011f65f1f414fdb4b86f9f6f433a66378ad29b9c6"


def test_the_paper_and_the_review_stand_under_their_headings():
    prompt = load("lm_examiner")
    assert (prompt.kind, prompt.fields) == ("verbatim", ("paper", "review"))
    assert "Appendix D.1 " in prompt.source
    chat = fill("lm_examiner", paper="{review} \\n paper", review="{paper} review")
    assert chat.user == "[Paper]\n\n{review} \\n paper\n\n[Review]\n\n{paper} review"
    assert (chat.system, chat.reply) == (prompt.system, "")


@pytest.mark.shared
def test_both_texts_stand_in_the_paper_word_for_word():
    papers = list((SHARED.parent / "seeds").glob("004*.txt"))
    if not papers:
        pytest.skip("the text of Xu et al. 2025 is not on this machine")
    text = papers[0].read_text()
    listing = text[text.index("\nD.1 BASELINE METRICS") : text.index("\nD.2 VALIDATION WORKFLOW")]
    system, _, user = listing[listing.index("System Prompt\n") + len("System Prompt\n") :].partition("User Prompt\n")
    printed = user.replace("{Full paper in Text Format}", "{paper}").replace("{Original Review Judgments}", "{review}")
    prompt = load("lm_examiner")
    assert prompt.system == system.strip()
    assert prompt.user == printed.strip()

"""Prompts that an LM writes: asked for as printed, refused where the paper's authors took them out by hand."""

from __future__ import annotations

import pytest

from gre_bench.examiners.examiner import Examiner, Item, findings
from gre_bench.examiners.templates import TEMPLATES
from gre_bench.prompts.library import load


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("1. Read\n2. Compare\n3. Score", []),
        ("Steps:\n1) Read\n2) Score\nExample:\n1) Read\n2) Score", []),
        ("Score 1 to 5.", []),
        ("2. Read\n3. Compare\n4. Judge\n4. Score", ["the numbering begins with 2", "number 4 follows 4"]),
        ("1. Read\n3. Score", ["number 3 follows 1"]),
        ("1. Read\nAnswer:\n2. Score\nAnswer: 3", ['2 stray "Answer:"']),
        ("1. Read the source. " * 20, ["it ends in a loop"]),
        ("1. " * 20, ["there is no text"]),
        ("Article: {source_text}", ["a field {source_text} is left in the text"]),
        (" \n", ["there is no text"]),
    ],
)
def test_the_checks_find_what_the_paper_found(text, wrong):
    assert findings(text) == wrong


@pytest.mark.parametrize("name", [f"p{number}" for number in range(1, 15)])
def test_the_printed_prompts_pass_the_check_of_numbering(name):
    text = load(TEMPLATES[name].prompt.format(item="summary")).user
    assert not [each for each in findings(text) if "number" in each]


def test_generated_instructions_are_part_of_the_identity():
    one, other = (Examiner(template="generated", instructions=text) for text in ("Grade it.", "Grade it well."))
    assert one.identity != other.identity
    assert one.name != other.name


def test_the_prompt_ends_with_the_input():
    from gre_bench.examiners.examiner import chats

    [chat] = chats(Examiner(template="generated", instructions="Grade it."), Item("1", "S {text}", "T"))
    assert chat.user == "Grade it.\nPaper: S {text}\nReview: T"

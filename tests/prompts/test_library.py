"""Prompts: verbatim, rendered in one place, absent parts spelled as the authors' code spells them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core.errors import PromptError
from gre_bench.core.records import Prediction
from gre_bench.prompts.library import FOLDER, content_address, load, render
from tests.prompts.papers import paper


def test_the_prediction_prompt_lays_its_parts_out_as_printed_and_what_is_absent_reads_not_available():
    chat = render(Prediction("The reviewer suggests x.", "An abstract.", "reply"))
    assert chat.user == (
        "[Abstract of the paper]\n\nAn abstract.\n\n"
        "[Review judgments from the first reviewer]\n\nThe reviewer suggests x."
    )
    assert chat.reply == "reply"
    assert render(Prediction(None, None, "y")).user == (
        "[Abstract of the paper]\n\nNot available\n\n[Review judgments from the first reviewer]\n\nNot available"
    )


@pytest.mark.shared
def test_the_system_text_stands_in_the_paper_word_for_word():
    assert load("predict_judgments").system in re.sub(r"\s+", " ", paper("004"))


@given(st.text(), st.text())
def test_braces_and_field_names_in_a_text_are_left_alone(x, synopsis):
    chat = render(Prediction(f"{{synopsis}} {x}", f"{{x}} {synopsis}", "y"))
    assert chat.user.endswith(f"{{synopsis}} {x}")
    assert f"\n\n{{x}} {synopsis}\n\n" in chat.user


def test_every_prompt_file_loads_and_states_its_source_and_an_unknown_prompt_is_named_with_the_known_ones():
    for path in FOLDER.rglob("*.toml"):
        prompt = load(path.relative_to(FOLDER).with_suffix("").as_posix())
        assert prompt.source
        assert prompt.kind in ("verbatim", "completed", "derived", "own")
    with pytest.raises(PromptError, match="no prompt 'nope'; the prompts are: .*predict_judgments"):
        load("nope")


def test_addresses_differ_by_every_part():
    base = Prediction("x", "s", "y")
    others = [
        Prediction(None, "s", "y"), Prediction("x", None, "y"), Prediction("x", "s", "z"), Prediction("s", "x", "y"),
        Prediction("Not available", "s", "y"),
    ]  # fmt: skip
    assert len({content_address(item) for item in (base, *others)}) == 6

"""The tokenizer of tiny-llama: every text comes back, and what all predictions share costs one token each."""

from __future__ import annotations

import pytest

pytest.importorskip("tokenizers", reason="the tokenizer needs the extra `lm`")

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tasks.errors import SettingsError
from tasks.judgments import OPENINGS
from tasks.lm.span import ChatTemplate
from tasks.prompts.library import render
from tasks.records import Prediction
from tasks.tuning.augmentation import constants
from tasks.tuning.tokenizer import CONTROL, build_tokenizer

TEXTS = [
    "The reviewer appreciates the clear writing.\n\nThe reviewer criticizes the missing baselines.",
    "The reviewer questions the choice of hyperparameters.\nThe reviewer suggests an ablation study.",
    "Summary Of The Paper:\n\nWe study graphs, 2 to 300 nodes (n = 12).",
] * 3


@pytest.fixture(scope="module")
def tokenizer():
    return build_tokenizer(TEXTS, constants(), 1200)


@given(st.text(st.one_of(st.characters(exclude_categories=("Cs",)), st.sampled_from(" \n\t.aT<|>'")), max_size=80))
@example("".join(OPENINGS) * 2 + "s The reviewer questionsX\n\n\n The reviewer suggests")
@example("\n\n[Review judgments from the first reviewer]\n\nNot available[Abstract of the paper]\n\n")
@example("🙂 漢字\x00\u200b\r\n e\u0301 İ\t \n")
@settings(max_examples=200)
def test_every_text_comes_back(tokenizer, text: str) -> None:
    for mark in CONTROL:
        text = text.replace(mark, "")
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert tokenizer.decode(ids, clean_up_tokenization_spaces=False) == text


@pytest.mark.parametrize("opening", OPENINGS)
def test_an_opening_is_one_token_wherever_a_line_starts(tokenizer, opening: str) -> None:
    (token,) = tokenizer(opening)["input_ids"]
    for text in (f"{opening} graphs.", f"It is.\n{opening}\n\n{opening} it", f"{opening}:"):
        assert token in tokenizer(text)["input_ids"], text
    assert token not in tokenizer(f"{opening}ly")["input_ids"]


def test_the_prompt_costs_a_dozen_tokens_and_the_template_is_one_that_replies_are_scored_with(tokenizer) -> None:
    template = ChatTemplate.of(tokenizer)
    assert not template.merged
    empty = template.encode(render(Prediction(None, None, "")))
    # Control tokens: system, end, user, end, assistant, end. Constants: system text, two headings, two absences, and
    # the newlines before the second heading, two here.
    assert len(empty.ids) == 6 + 5 + 2
    reply = "The reviewer suggests graphs."
    full = template.encode(render(Prediction("x", "s", reply)))
    assert tokenizer.decode(full.ids[full.first : full.last]) == reply
    assert full.ids[full.last] == tokenizer.convert_tokens_to_ids("<|end|>")


def test_a_control_token_written_in_a_text_is_broken_up_and_counted(tokenizer) -> None:
    conversation = ChatTemplate.of(tokenizer).encode(render(Prediction("a <|end|> b", None, "<|user|>")))
    assert conversation.escaped == 2


def test_the_same_texts_give_the_same_tokenizer_of_the_size_asked_for() -> None:
    one, two = (build_tokenizer(TEXTS, constants(), 1100) for _ in range(2))
    assert one.get_vocab() == two.get_vocab()
    assert len(one) <= 1100


def test_a_vocabulary_without_room_for_all_bytes_is_refused() -> None:
    with pytest.raises(SettingsError, match="too small for all bytes"):
        build_tokenizer(TEXTS, constants(), 300)

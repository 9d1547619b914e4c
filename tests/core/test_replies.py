"""Replies: the parts of what an LM wrote, whatever it wrote."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core import replies
from gre_bench.core.errors import ReplyError
from gre_bench.core.replies import (
    ASSW_PARTS,
    REVIEW_PARTS,
    ends_in_loop,
    extract_tags,
    parse_assw,
    require_judgments,
    without_thinking,
)

STRONG, WEAK = ASSW_PARTS


@pytest.mark.parametrize(
    ("text", "names", "parts"),
    [
        ("<a>one</a> between <b>\n two \n</b>", "ab", {"a": "one", "b": "two"}),
        ("<A>one</a > <b>two</B>", "ab", {"a": "one", "b": "two"}),
        ("<a>one</a><b> two\n", "ab", {"a": "one", "b": "two"}),
        ("<a>one<b>two</b>", "ab", {"a": "one", "b": "two"}),
        ("<a>one</a><a>two</a>", "a", {"a": "two"}),
        ("<a></a>", "ab", {"a": ""}),
        ("</a>one</b>", "ab", {}),
        ("<a>one</b> more</a>", "ab", {"a": "one</b> more"}),
        ("no tag < a > <c>x</c>", "ab", {}),
        ("<a>if x < y and <i>y</i> > z</a>", "ab", {"a": "if x < y and <i>y</i> > z"}),
        ("", "ab", {}),
    ],
)
def test_tags_are_read(text, names, parts):
    assert extract_tags(text, tuple(names)) == parts


def test_names_are_given_back_as_they_were_asked_for():
    assert extract_tags("<SUMMARY>x</SUMMARY>", ("Summary",)) == {"Summary": "x"}
    assert extract_tags("<a.b>x</a.b><axb>y</axb>", ("a.b",)) == {"a.b": "x"}


@given(st.lists(st.text(alphabet="xyz <>/\n"), min_size=4, max_size=4))
def test_a_review_of_four_tags_gives_its_parts_back(texts):
    review = "\n".join(f"<{name}>{text}</{name}>" for name, text in zip(REVIEW_PARTS, texts, strict=True))
    assert extract_tags(review, REVIEW_PARTS) == {
        name: text.strip() for name, text in zip(REVIEW_PARTS, texts, strict=True)
    }


@pytest.mark.parametrize(
    "text", ["The reviewer suggests x.", "Here:\n\n- The reviewer suggests x. \n", "\nThe reviewer questions y.\n\n"]
)
def test_judgments_stay_as_the_writer_left_them(text):
    assert require_judgments(text) == text


@pytest.mark.parametrize(
    ("read", "text"),
    [
        *(
            (require_judgments, text)
            for text in ("I cannot do that.", "the reviewer suggests x", "x The reviewer suggests y.")
        ),
        *((read, text) for read in (require_judgments, parse_assw) for text in ("", "fast, small")),
        *((parse_assw, f"<{name}>fast</{name}>") for name in ASSW_PARTS),
        (parse_assw, f"<{STRONG}> </{STRONG}><{WEAK}>\n</{WEAK}>"),
    ],
)
def test_a_reply_without_what_was_asked_for_is_an_error(read, text):
    code = "assw" if read is parse_assw else "judgments"
    with pytest.raises(ReplyError, match=f"^no_{code}$"):
        read(text)


@pytest.mark.parametrize(
    ("text", "lists"),
    [
        (
            f"<{STRONG}>\nfast\n\nsmall\n</{STRONG}>\n\n<{WEAK}>\ndoes not scale\n</{WEAK}>",
            (["fast", "small"], ["does not scale"]),
        ),
        (f"Sure!\n<{STRONG}>\n\n- fast\n</{STRONG}><{WEAK}>  </{WEAK}>", (["- fast"], [])),
        (f"<{STRONG}></{STRONG}><{WEAK}>slow", ([], ["slow"])),
    ],
)
def test_strengths_and_weaknesses_are_read(text, lists):
    assert parse_assw(text) == lists


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("answer", "answer"),
        ("  answer\n", "  answer\n"),
        ("<think>hm</think>answer", "answer"),
        ("<think>\nhm\n</think>\n\nanswer\n", "answer"),
        ("<THINK>hm</Think> answer", "answer"),
        ("<think>hm", ""),
        ("<think></think>", ""),
        ("<think>a</think>\n<think>b</think>answer", "answer"),
        ("one\n<think>hm</think>\ntwo", "one\n\ntwo"),
        ("one\n<think>hm", "one"),
        ("hm, written by the template\n</think>\n\nanswer", "answer"),
        ("hm\n</think>", ""),
        ("It trains with <think> and </think> tags.", "It trains with <think> and </think> tags."),
        ("Why is `</think>` needed?", "Why is `</think>` needed?"),
        ("Why <think>\nand\n</think>\nanswer", "Why <think>\nand\n</think>\nanswer"),
    ],
)
def test_thinking_is_taken_away(text, visible):
    found, count = without_thinking(text)
    assert found == visible
    assert (count == 0) == (text == visible)


TAGS = [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<Thought>", "</thought>"), ("[THINK]", "[/THINK]"),
        ("<seed:think>", "</seed:think>"), ("<|START_THINKING|>", "<|END_THINKING|>"), ("◁think▷", "◁/think▷")]  # fmt: skip
REVIEW = "Summary: A paper.\nStrengths: Clear.\n\n1. It uses `<think>`.\n- Why is `</think>` needed?"


@pytest.mark.parametrize(("opening", "closing"), TAGS)
@pytest.mark.parametrize(
    "form",
    [
        "{0}hm{1}{review}", "{0}\nhm\n{1}\n\n{review}", "{0}hm.{1} {review}", "\n {0}hm{1}\n{0}hm{1}{review}",
        "hm.{1}{review}", "hm\n{1}\n\n{review}", "hm. {1} {review}", "hm {1}\n{review}",
        "{0}Is {1} a tag?{1}{review}", "{0}\nI must end with {1} in time.\nhm\n{1}\n{review}",
        "{0}\nI end with `{1}`, then write.\nhm{1}{review}",
        "I must end with {1} in time.\nhm\n{1}\n{review}", "{0}hm, I end with ({1}).\n{1}\n{review}",
    ],
)  # fmt: skip
def test_thinking_in_any_template_s_tags_is_taken_away_and_the_whole_review_stays(opening, closing, form):
    text = form.format(opening, closing, review=REVIEW)
    visible, count = without_thinking(text)
    assert visible == REVIEW
    assert len("hm") < count <= len(text) - len(REVIEW)


@pytest.mark.parametrize(
    "text",
    [
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>{}<|return|>",
        "<|start|>assistant<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>{}",
        "<|channel|>analysis<|message|>hm<|end|><|channel|>commentary<|message|>a<|end|><|channel|>final<|message|>{}",
        "<|channel|>final<|message|>{}",
        "analysisWe need a review. hm.assistantfinal{}",
    ],
)
def test_of_the_channels_of_gpt_oss_only_the_final_one_is_text(text):
    assert without_thinking(text.format(REVIEW)) == (REVIEW, len(text) - len("{}"))


def test_channels_without_a_final_one_hold_no_text():
    assert without_thinking("<|channel|>analysis<|message|>hm<|end|>")[0] == ""


@pytest.mark.parametrize(
    "text",
    [
        "It is unclear how an unclosed </thought> tag (i.e. closed </thought>)?\n7. What of it?",
        "No supervision exists within the `<think>` segment.\nThe </think> token is never masked.",
        "The tags <thinking> and </thinking> are never ablated.", "[Think] about it.", "They add '</think>' too late.",
        "analysis of variance is missing; the assistant is final.",
    ],
)  # fmt: skip
def test_a_review_that_speaks_of_the_tags_keeps_its_words(text):
    assert without_thinking(text) == (text, 0)
    assert without_thinking(f"<think>hm</think>\n{text}")[0] == text


@given(st.lists(st.sampled_from(["<think>", "</think>", "\n", "a", " ", "<THINK>"]), max_size=40))
def test_no_more_is_taken_away_than_was_there(pieces):
    text = "".join(pieces)
    visible, count = without_thinking(text)
    assert len(visible) + count <= len(text)
    assert visible == text or count > 0
    if text.startswith("<think>") and "</think>" not in text:
        assert visible == ""


SAID = "The reviewer appreciates the rule for warmup.\n"


@pytest.mark.parametrize(
    ("text", "loops"),
    [
        (SAID + "The reviewer suggests a rule of thumb. " * 12, True),
        (SAID + "The reviewer suggests a rule of thumb. " * 12 + "The rev", True),  # cut at the token limit
        (SAID + "The reviewer suggests a rule of thumb. " * 12 + "The reviewer questions the proof.", False),
        ("The reviewer suggests a rule of thumb. " * 3, False),
        (SAID + "no " * 20, False),
        (SAID + "-" * replies.LOOP, True),
        ("", False),
    ],
)
def test_a_reply_that_ends_in_a_loop_is_told(text, loops):
    assert ends_in_loop(text) is loops


def by_every_period(text: str) -> bool:
    """The definition itself: an end of the text that goes on as it did one period before."""
    tail = text.rstrip()[-replies.TAIL :]
    return any(
        all(tail[-place - 1] == tail[-place - 1 - period] for place in range(length - period))
        for period in range(1, len(tail) // replies.TIMES + 1)
        for length in [max(replies.LOOP, replies.TIMES * period)]
        if length <= len(tail)
    )


@given(
    st.text("ab ", max_size=6), st.text("ab", min_size=1, max_size=5), st.integers(0, 150), st.text("ab", max_size=3)
)
def test_a_loop_is_what_its_definition_says(before, passage, times, after):
    text = before + passage * times + after
    assert ends_in_loop(text) == by_every_period(text)


THINKING = ("<think>", "</think>", "a<think>", "<think></think>", "\n<think>", "</think> \t", "<think>\n</think>",
            "\n<think>a </think> b", "<think>a </think> ◁think▷a ◁/think▷ ", "<think>a </think>.", "`</think>`\n<think>",
            "<|channel|>final", "<|channel|>final<|message|>", "analysis", "[THINK]</think>")  # fmt: skip
TAGGED = ("<", "<summary", "<summary ", "<summary>", "</summary>")


@pytest.mark.parametrize("piece", [*THINKING, *TAGGED, "- ", " ", "\n", "The reviewer ", "\t\n "])
def test_hostile_replies_take_linear_time(piece):
    text = piece * (1_000_000 // len(piece))
    started = time.process_time()
    without_thinking(text)
    ends_in_loop(text)
    extract_tags(text, REVIEW_PARTS)
    for read in (require_judgments, parse_assw):
        with contextlib.suppress(ReplyError):
            read(text)
    assert time.process_time() - started < 4

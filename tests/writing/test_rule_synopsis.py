"""Author-stated strengths and weaknesses by rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.writing.rules.synopsis import LONGEST_POINT, MOST, extract_assw_sentences

ABSTRACT = (
    "Queues are slow on small boards. We propose RingLock, a queue without locks (Lee et al., 2020). "
    "RingLock outperforms Raft by 12% on our benchmark."
)
PAPER = """# 1 Introduction

Existing queues have a serious limitation on boards. However, we prove that RingLock never blocks [3, 4].

# 2 Related Work

Lee et al. leave the study of trees to future work.

# 3 Experiments

Table 1: We show our results.

| We propose | a table |

# 4 Conclusion

We have presented a queue. A limitation of our method is that it needs a shared clock.
We leave trees of queues to future work.

# References

We propose nothing here, which is a limitation of our list of references.
"""


def test_claims_are_strengths_and_admissions_are_weaknesses():
    strengths, weaknesses = extract_assw_sentences(ABSTRACT, PAPER)
    assert strengths == [
        "We propose RingLock, a queue without locks.", "RingLock outperforms Raft by 12% on our benchmark.",
        "We prove that RingLock never blocks.",
    ]  # fmt: skip
    assert weaknesses == [
        "A limitation of our method is that it needs a shared clock.", "We leave trees of queues to future work.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("sentence", "strong", "weak"),
    [
        ("We introduce a new bound for trees.", True, False),
        ("Our method achieves the best error on all boards.", True, False),
        ("Previous methods achieve poor error on all boards.", False, False),
        ("Boards are used in many homes today.", False, False),
        ("Our analysis is limited to trees with two leaves.", False, True),
        ("In the future, we plan to study larger boards.", False, True),
        ("We overcome the limitations of existing queues on boards.", False, False),
        ("A drawback of existing queues is their large memory.", False, False),
    ],
)
def test_a_sentence_counts_for_what_it_states(sentence, strong, weak):
    strengths, weaknesses = extract_assw_sentences(None, f"5 Conclusion\n\n{sentence}\n")
    assert (bool(strengths), bool(weaknesses)) == (strong, weak)


def test_what_a_limitations_section_says_is_a_weakness():
    shared = "The clock has to be shared by all boards."
    assert extract_assw_sentences(None, f"## Limitations\n\n{shared}\n")[1] == [shared]


def test_a_long_text_is_read_to_its_end():
    filler = "The queue is full at noon, and the clerk counts every letter in it by hand. " * 7000
    assert extract_assw_sentences(None, f"{filler}We propose a novel queue that outperforms all baselines.")[0]


def test_at_most_eight_points_none_twice():
    claims = [f"We propose {n}board with {n}queue for {n}tree, {n}clock and {n}ring." for n in "abcdefghijklmnopqrst"]
    strengths, _ = extract_assw_sentences(" ".join(claims * 2), "")
    assert len(strengths) == MOST == len(set(strengths))
    claim = "We propose a novel queue for boards"
    assert extract_assw_sentences(f"{claim}. {claim}!", "")[0] == [f"{claim}."]


@pytest.mark.parametrize(
    "text", ["", "\n\n", "# Introduction", "$$x$$", "<html><body>error</body></html>", "\x00\u2028\ud800"]
)
def test_a_text_without_claims_gives_none(text):
    assert extract_assw_sentences(None, text) == ([], [])


PIECES = ["We propose ", "our ", "limitation ", "novel ", "# Conclusion\n", "\n\n", ". ", "x ", "(", "$"]


@given(st.text() | st.lists(st.sampled_from(PIECES)).map("".join))
def test_points_are_single_trimmed_sentences(text):
    for points in extract_assw_sentences(text, text):
        assert len(points) <= MOST
        for point in points:
            assert point == point.strip() and "\n" not in point and 1 <= len(point.split()) <= LONGEST_POINT


@pytest.mark.timeout(600)
@pytest.mark.parametrize("piece", ["We propose a novel queue. ", ".", "(", "A", "1 Introduction\n", "a\n"])
def test_a_third_of_a_megabyte_is_read_in_seconds(piece):
    text = piece * (300_000 // len(piece))
    assert all(len(points) <= MOST for points in extract_assw_sentences(text, text))

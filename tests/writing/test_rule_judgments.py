"""Judgments by rule: which stance, which words, one line an evaluation, nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core.judgments import OPENINGS, is_judgment
from gre_bench.writing.rules.claims import LONGEST_LINE
from gre_bench.writing.rules.judgments import judgments_of, judgments_of_passage


def lines(review: str) -> list[str]:
    return [line.removeprefix("The reviewer ") for line in judgments_of(review).splitlines()]


TWO = ["appreciates the elegant proof.", "criticizes the insufficient data."]


@pytest.mark.parametrize(
    ("review", "expected"),
    [
        ("Strengths:\n- I like the sharp bound.", ["appreciates the sharp bound."]),
        ("Strengths:\n- Extensive experiments", ["appreciates the extensive experiments."]),
        ("Strengths:\n- Sharp theory", ["appreciates the sharp theory."]),
        ("Strengths:\n- The paper is well-written.", ["appreciates the well-written paper."]),
        ("Strengths:\n- The queue halves latency on ARM.", ["appreciates that the queue halves latency on ARM."]),
        ("Weaknesses:\n- There is a lack of baselines.", ["criticizes the lack of baselines."]),
        ("Weaknesses:\n- The paper lacks a memory study.", ["criticizes the lack of a memory study."]),
        ("Weaknesses:\n- No comparison with Raft.", ["criticizes the lack of comparison with Raft."]),
        ("Weaknesses:\n- The error bars are missing.", ["criticizes the missing error bars."]),
        ("Weaknesses:\n- The queue is tested on ARM.", ["criticizes the test of the queue on ARM."]),
        ("Weaknesses:\n- My main concern is that locks are ignored.", ["criticizes that locks are ignored."]),
        ("Questions:\n- Is there a proof for trees?", ["questions whether there is a proof for trees."]),
        ("Questions:\n- Why is it faster on ARM?", ["questions why it is faster on ARM."]),
        ("Questions:\n- I wonder how locks are freed.", ["questions how locks are freed."]),
        ("Questions:\n- Could you clarify the role of locks?", ["questions the role of locks."]),
        ("Questions:\n- Could you add a memory study?", ["suggests adding a memory study."]),
        ("Weaknesses:\n- The authors should compare with Raft.", ["suggests comparing with Raft."]),
        ("Weaknesses:\n- I suggest to include Raft.", ["suggests including Raft."]),
        ("Weaknesses:\n- It would be helpful to run larger clusters.", ["suggests running larger clusters."]),
        ("Weaknesses:\n- Please report the memory.", ["suggests reporting the memory."]),
        ("Clarity: good", ["appreciates the good clarity."]),
        ("Clarity:\npoor", ["criticizes the poor clarity."]),
        ("The proof is elegant. The data are insufficient.", TWO),
        ("The nice experiments are insufficient.", ["criticizes the insufficient nice experiments."]),
        ("The proof is quite elegant, but the data are insufficient.", TWO),
        ("While the proof is elegant, the data are insufficient.", TWO),
        ("Strength And Weaknesses:\n+ Fast queues\n- Leaks on ARM boards", ["appreciates the fast queues.", "criticizes leaks on ARM boards."]),
        ("Weaknesses:\n1. **Limited novelty:** The proof is wrong [3, 4].", ["criticizes the limited novelty.", "criticizes the wrong proof."]),
        ("Strengths:\n- The paper addresses the limitations of existing queues.", ["appreciates that the paper addresses the limitations of existing queues."]),
        ("Weaknesses:\n- However, I think **the proof** (Lee et al., 2020) is wrong, see https://x.org/a. Your claim is vague.", ["criticizes the wrong proof.", "criticizes the vague claim."]),
        ("The proof is elegant.\n\nSummary Of The Review:\nOverall, the proof is very elegant.", ["appreciates the elegant proof."]),
        ("Weaknesses:\n<b>The proof</b> is &nbsp;wrong\u200b for \U0001f9ea trees.", ["criticizes that the proof is wrong\u200b for \U0001f9ea trees."]),
    ],
)  # fmt: skip
def test_an_evaluation_becomes_a_line(review, expected):
    assert lines(review) == expected


@pytest.mark.parametrize(
    "review",
    [
        "",
        " \n\n",
        "Summary Of The Paper:\n\nThe paper studies queues. It proposes a rule that sorts them.",
        "References:\n[1] A novel queue. Smith, J. 2019.",
        "Weaknesses:\nSee above.",
        "Weaknesses:\n[1] Lee, K., Poor queues are not weak. 2019.",
        "I recommend acceptance.",
        "I thank the authors for the good response.",
        "The queue has 3 locks.",
        "\x00\ud800 \u202e",
    ],
)
def test_what_judges_nothing_gives_no_line(review):
    assert judgments_of(review) == ""


def test_a_review_with_tags_and_sub_bullets_is_read():
    review = """<summary>
The paper proposes LockFree, a queue for ARM boards.
</summary>

<strengths>
1. Novel design
   - The ring buffer removes all locks on ARM.
2. Solid evaluation
   - Latency is measured on 12 boards.
</strengths>

<weaknesses>
1. Missing baselines
   - There is no comparison with Raft.
   - The memory cost is not reported.
</weaknesses>

<questions>
- How does LockFree behave under contention?
- Could the authors add a memory study?
</questions>"""
    assert lines(review) == [
        "appreciates the novel design.", "appreciates that the ring buffer removes all locks on ARM.",
        "appreciates the solid evaluation.", "appreciates the measurement of latency on 12 boards.",
        "criticizes the lack of baselines.", "criticizes the lack of comparison with Raft.",
        "criticizes that the memory cost is not reported.", "questions how LockFree behaves under contention.",
        "suggests adding a memory study.",
    ]  # fmt: skip


def test_a_long_sentence_is_cut_where_a_clause_ends():
    claim = "he proof of the second bound on queues is wrong for every tree that has more than two leaves"
    tail = ", since " + " ".join(f"word{n}" for n in range(60))
    assert lines(f"Weaknesses:\n- T{claim}{tail}") == [f"criticizes that t{claim}."]


PIECES = [
    "Strengths:\n", "Weaknesses:\n", "Questions\n", "<weaknesses>", "Summary:\n", "- ", "\n", "The proof is ", "good",
    "not clear", ". ", "? ", "why ", "I think ", "should add ", "lacks ", "[1]", "$x$", " ; ", ", but the ", "no ", ":", "(",
    "the lack of ",
]  # fmt: skip


@given(st.text() | st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_every_line_is_a_short_judgment(review):
    written = judgments_of(review)
    for line in written.split("\n") if written else []:
        assert is_judgment(line)
        assert line.splitlines() == [line]
        words = next(line.removeprefix(opening) for opening in OPENINGS if line.startswith(opening)).split()
        assert 1 <= len(words) <= LONGEST_LINE
    assert judgments_of(review) == written


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "piece", ["The proof is not clear and the data are weak. ", "(", "a ", "Weaknesses:\nNo code\n", "$", "is not "]
)
def test_a_tenth_of_a_megabyte_is_written_in_seconds(piece):
    written = judgments_of(piece * (100_000 // len(piece)))
    assert all(map(is_judgment, written.splitlines()))


def test_a_review_that_stands_wholly_under_summary_is_judged_all_the_same():
    text = "Summary\n=====\nThe paper proposes a new bound. The experiments are convincing. The proof of lemma 2 is unclear."
    assert [line.split()[2] for line in judgments_of(text).splitlines()][-2:] == ["appreciates", "criticizes"]


def test_a_passage_is_judged_from_a_place_after_the_beginning_until_it_is_long_enough():
    said = "The {} baseline is weak and the evaluation of {} is unconvincing" + ", as we show in these experiments" * 4
    words = [f"topic{chr(97 + index)}" for index in range(20)]
    text = "\n\n".join(f"{said.format(word, word)}." for word in words)
    found = {seed: judgments_of_passage(text, 100, seed) for seed in range(30)}
    assert found[1] == judgments_of_passage(text, 100, 1) and len(set(found.values())) > 5
    assert all(is_judgment(line) for each in found.values() for line in each.splitlines())
    first = [min((words.index(word) for word in words if word in each), default=20) for each in found.values()]
    assert min(first) >= 4
    longer = judgments_of_passage(text, 600, 1)
    assert longer.startswith(found[1]) and len(longer) > len(found[1])
    assert judgments_of_passage("", 100, 1) == judgments_of_passage("A few words.", 100, 1) == ""

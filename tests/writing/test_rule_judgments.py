"""Judgments by rule: which stance, which words, one line an evaluation, nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core.judgments import is_judgment
from gre_bench.writing.rules.judgments import describe_lost_text, write_passage_judgments, write_rule_judgments


def lines(review: str) -> list[str]:
    return [line.removeprefix("The reviewer ") for line in write_rule_judgments(review).splitlines()]


@pytest.mark.parametrize(
    ("review", "expected"),
    [
        ("Strengths:\n- I like the sharp bound.", ["appreciates I like the sharp bound."]),
        ("Strengths:\n- The queue halves latency on ARM.", ["appreciates The queue halves latency on ARM."]),
        ("Weaknesses:\n- No comparison with Raft.", ["criticizes No comparison with Raft."]),
        ("Weaknesses:\n- My main concern is that locks are ignored.", ["criticizes My main concern is that locks are ignored."]),
        ("Questions:\n- Why is it faster on ARM?", ["questions Why is it faster on ARM?"]),
        ("Questions:\n- I wonder how locks are freed.", ["questions I wonder how locks are freed."]),
        ("Weaknesses:\n- The authors should compare with Raft.", ["suggests The authors should compare with Raft."]),
        ("Weaknesses:\n- Please report the memory.", ["suggests Please report the memory."]),
        ("The proof is elegant. The data are insufficient.", ["appreciates The proof is elegant.", "criticizes The data are insufficient."]),
        ("Strength And Weaknesses:\n+ The queues are fast.\n- It leaks on ARM boards.", ["appreciates The queues are fast.", "criticizes It leaks on ARM boards."]),
        ("Weaknesses:\n- However, I think **the proof** is\nwrong, see https://x.org/a.", ["criticizes However, I think **the proof** is wrong, see https://x.org/a."]),
        ("The proof is elegant.\n\nSummary Of The Review:\nOverall, the proof is very elegant.", ["appreciates The proof is elegant."]),
    ],
)  # fmt: skip
def test_an_evaluation_becomes_a_line(review, expected):
    assert lines(review) == expected


@pytest.mark.parametrize(
    "review",
    [
        "",
        " \n\n",
        "References:\n[1] A novel queue. Smith, J. 2019.",
        "Weaknesses:\nSee above.",
        "I thank the authors for the good response.",
        "Strengths:\nqueues, ARM boards, LockFree, latency, contention, Raft",
        "\x00\ud800 \u202e",
    ],
)
def test_what_judges_nothing_gives_no_line(review):
    assert write_rule_judgments(review) == ""


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
    assert [line.split(" ", 1) for line in lines(review)[-6:]] == [
        ["appreciates", "The ring buffer removes all locks on ARM."],
        ["appreciates", "Latency is measured on 12 boards."],
        ["criticizes", "There is no comparison with Raft."],
        ["criticizes", "The memory cost is not reported."],
        ["questions", "How does LockFree behave under contention?"],
        ["questions", "Could the authors add a memory study?"],
    ]


PIECES = [
    "Strengths:\n", "Weaknesses:\n", "Questions\n", "<weaknesses>", "Summary:\n", "- ", "\n", "The proof is ", "good",
    "not clear", ". ", "? ", "why ", "I think ", "should add ", "lacks ", "[1]", "$x$", " ; ", ", but the ", "no ", ":", "(",
    "the lack of ",
]  # fmt: skip


@given(st.text() | st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_every_line_is_a_judgment(review):
    written = write_rule_judgments(review)
    for line in written.split("\n") if written else []:
        assert is_judgment(line)
        assert line.splitlines() == [line]
    assert write_rule_judgments(review) == written


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "piece", ["The proof is not clear and the data are weak. ", "(", "a ", "Weaknesses:\nNo code\n", "$", "is not "]
)
def test_a_tenth_of_a_megabyte_is_written_in_seconds(piece):
    written = write_rule_judgments(piece * (100_000 // len(piece)))
    assert all(map(is_judgment, written.splitlines()))


def test_a_review_that_stands_wholly_under_summary_is_judged_all_the_same():
    text = "Summary\n=====\nThe paper proposes a new bound. The experiments are convincing. The proof of lemma 2 is unclear."
    assert [line.split()[2] for line in write_rule_judgments(text).splitlines()][-2:] == ["appreciates", "criticizes"]


def test_a_passage_is_judged_from_a_place_after_the_beginning_until_it_is_long_enough():
    said = "The {} baseline is weak and the evaluation of {} is unconvincing" + ", as we show in these experiments" * 4
    words = [f"topic{chr(97 + index)}" for index in range(20)]
    text = "\n\n".join(f"{said.format(word, word)}." for word in words)
    found = {seed: write_passage_judgments(text, 100, seed) for seed in range(30)}
    assert found[1] == write_passage_judgments(text, 100, 1) and len(set(found.values())) > 5
    assert all(is_judgment(line) for each in found.values() for line in each.splitlines())
    first = [min((words.index(word) for word in words if word in each), default=20) for each in found.values()]
    assert min(first) >= 4
    longer = write_passage_judgments(text, 600, 1)
    assert longer.startswith(found[1]) and len(longer) > len(found[1])
    assert write_passage_judgments("", 100, 1) == write_passage_judgments("A few words.", 100, 1) == ""


LONG = f"Weaknesses:\n- The proof is wrong, {'and the bound is loose, ' * 100}and the seeds are few.\n"


@pytest.mark.parametrize(
    ("reviews", "told"),
    [
        (["The proof is wrong.", "Weaknesses:\n- The bound holds for <x, y> and p<q>r & R&D; only."], []),
        ([LONG, "The proof is wrong.", LONG * 2],
         ["3 sentences longer than 2,000 characters: rule-judgments-4 reads no further (p0, p2)"]),
        (["<h3>Weaknesses</h3><ul><li>The proof is wrong.</li></ul>", "The proof<br/>is wrong.", "The proof is wrong."],
         ["2 of 3 reviews with HTML tags or entities, which rule-judgments-4 reads as text: convert them to plain text or Markdown first"]),
        (["The proof is wrong.", *["Hello."] * 7],
         ["no judgment in 7 reviews (p1, p2, p3, p4, p5 and 2 more): rule-judgments-4 reads English sentences"]),
        ([f"References:\n{'Smith, ' * 500}", ""], ["no judgment in 2 reviews (p0, p1): rule-judgments-4 reads English sentences"]),
    ],
)  # fmt: skip
def test_text_that_the_rule_loses_is_told_in_one_line_for_each_way(reviews, told):
    assert describe_lost_text([(f"p{n}", review) for n, review in enumerate(reviews)]) == told

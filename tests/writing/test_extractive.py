"""Reviewers by rule: what they read, what they find, that their reviews judge."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core.review_text import split_into_sections
from gre_bench.writing.rules.extractive import write_extractive_review
from gre_bench.writing.rules.judgments import write_rule_judgments

TITLE = "RingLock: Ordering Queues without Locks"
ABSTRACT = (
    "Shared queues are slow on embedded boards. We propose RingLock, a shared queue that needs no locks. "
    "We prove that RingLock never blocks. Experiments show that our queue outperforms RaftQ by 12%."
)
TEXT = """# 1 Introduction

Shared queues serve embedded boards. We introduce a novel ring buffer for shared queues.

# 2 Method

We assume that all boards share one clock. Shared queues are kept in a ring.

# 3 Experiments

We evaluate shared queues on MNIST and on the BoardNet dataset. RingLock outperforms RaftQ.

# 4 Conclusion

We leave shared queues with failing clocks to future work.
"""


def section(review: str, name: str) -> str:
    return next(
        "\n".join(one.text for one in part.sentences) for part in split_into_sections(review) if part.name == name
    )


def test_the_full_review_has_four_sections_in_order():
    parts = [part.name for part in split_into_sections(write_extractive_review(TITLE, ABSTRACT, TEXT, "full"))]
    assert parts == ["summary", "strengths", "weaknesses", "questions"]


@pytest.mark.parametrize(("added", "part", "found", "lost"), [
    ("An ablation removes the ring.", "weaknesses", "", "There is no ablation study of RingLock"),
    ("All results are means over 5 random seeds.", "weaknesses", "", "without error bars"),
    ("Our code is available at github.com/x/y.", "weaknesses", "", "The code is not released"),
    ("The runtime is 3 ms.", "weaknesses", "", "The computational cost and runtime of RingLock"),
    ("Theorem 1. It never blocks.", "strengths", "The theoretical analysis supports RingLock", ""),
    ("We add CIFAR-10 and ImageNet.", "strengths", "The experiments are extensive and cover", ""),
    ("We add CIFAR-10 and ImageNet.", "weaknesses", "", "The experiments are limited to MNIST and BoardNet."),
])  # fmt: skip
def test_a_fact_in_the_text_changes_the_review(added, part, found, lost):
    before = section(write_extractive_review(TITLE, ABSTRACT, TEXT, "full"), part)
    after = section(write_extractive_review(TITLE, ABSTRACT, TEXT.replace("# 4", f"{added}\n\n# 4"), "full"), part)
    assert found in after and (not found or found not in before)
    assert lost in before and (not lost or lost not in after)


def test_the_papers_own_terms_limits_and_assumptions_are_named():
    review = write_extractive_review(TITLE, ABSTRACT, TEXT, "full")
    assert "The paper studies shared queues and proposes RingLock." in section(review, "summary")
    assert "The authors leave shared queues with failing clocks to future work." in section(review, "weaknesses")
    assert "the assumption that all boards share one clock is violated?" in section(review, "questions")
    assert "We " not in review and "our " not in review


def test_the_abstract_reviewer_never_reads_the_text():
    without = write_extractive_review(TITLE, ABSTRACT, None, "abstract")
    assert all(without == write_extractive_review(TITLE, ABSTRACT, text, "abstract") for text in (TEXT, "Other words."))
    assert "one clock" not in without and "BoardNet" not in without


@pytest.mark.parametrize("kind", ["full", "abstract"])
def test_a_review_judges_at_least_six_things_with_every_stance_but_one(kind):
    written = write_rule_judgments(write_extractive_review(TITLE, ABSTRACT, TEXT, kind)).splitlines()
    assert len(written) >= 6
    assert {line.split()[2] for line in written} >= {"appreciates", "criticizes", "questions"}


@pytest.mark.parametrize(
    ("abstract", "text", "kind"),
    [
        (None, None, "full"), ("An abstract.", None, "full"), ("An abstract.", "", "full"),
        (None, "A text.", "abstract"), ("", "", "abstract"),
    ],
)  # fmt: skip
def test_without_anything_to_read_there_is_no_review(abstract, text, kind):
    assert write_extractive_review(TITLE, abstract, text, kind) == ""


@given(st.text(), st.text(min_size=1), st.text(min_size=1))
def test_any_text_gives_the_same_review_every_time(title, abstract, text):
    for kind in ("full", "abstract"):
        review = write_extractive_review(title, abstract, text, kind)
        assert review == write_extractive_review(title, abstract, text, kind)
        assert write_rule_judgments(review)


@pytest.mark.parametrize("text", [
    "<html><body><p>Error 404</p></body></html>", "\x00\u2028\u202e", "{method} {term} {0}", "$$" * 50,
])  # fmt: skip
def test_odd_texts_still_give_a_review(text):
    assert "Weaknesses:" in write_extractive_review(text, text, text, "full")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", ["We propose a novel queue. ", ".", "A", "(", "$", "AA dataset "])
def test_a_tenth_of_a_megabyte_is_reviewed_in_seconds(piece):
    text = piece * (100_000 // len(piece))
    assert write_extractive_review("T", text, text, "full")

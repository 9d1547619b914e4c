"""Judgments by rule of real ICLR 2023 reviews: as many as GPT-4o's, and the same whatever the form."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import pandas
import pytest

from gre_bench.core.judgments import is_judgment
from gre_bench.core.review_text import split_into_sections
from gre_bench.writing.rules.judgments import write_rule_judgments
from tests.bench.bench_judgment_forms import FORMS, plain

pytestmark = pytest.mark.shared


as_written = cache(write_rule_judgments)


@pytest.fixture
def reviews(iclr2023) -> pandas.DataFrame:
    found = pandas.read_parquet(iclr2023)
    return found[(found.row >= 800) & (found.row < 830)]


@pytest.mark.parametrize("form", FORMS)
def test_real_reviews_yield_the_same_judgments_in_other_forms(reviews, form):
    same = both = 0
    for text in filter(plain, reviews.review):
        before, after = (
            Counter(re.sub(r"[^\w ]", "", line).lower().strip() for line in said.splitlines())
            for said in (as_written(text), write_rule_judgments(FORMS[form](list(split_into_sections(text)))))
        )
        same, both = same + 2 * (before & after).total(), both + before.total() + after.total()
    assert same / both >= 0.95


def test_real_reviews_yield_about_as_many_judgments_as_gpt_4o_writes(reviews):
    ours = [as_written(text).splitlines() for text in reviews.review]
    theirs = [sum(map(is_judgment, text.splitlines())) for text in reviews.judgments]
    assert 0.9 < sum(map(len, ours)) / sum(theirs) < 1.5
    assert all(is_judgment(line) for lines in ours for line in lines)

"""The changes by rule on 300 real reviews of ICLR 2023: what they keep, and that nothing is torn."""

from __future__ import annotations

from statistics import mean

import pandas
import pytest

from gre_bench.changes.catalog import apply, check
from gre_bench.changes.material import ChangeInput
from gre_bench.writing.rules.judgments import judgments_of
from gre_bench.writing.rules.writer import RuleTextWriter
from tests.conftest import real

pytestmark = pytest.mark.shared

COUNT = 300
ABSTRACT = "Shared queues are slow on embedded boards. We order them without locks."


@pytest.fixture(scope="module")
def rows():
    found = pandas.read_parquet(real("iclr2023", "human_reviews.parquet"))
    return found[(found.slot == 2) & (found.row < COUNT)].to_dict("records")


def materials(rows) -> list[ChangeInput]:
    return [ChangeInput(row["paper_id"], row["review"], "Queues without locks", ABSTRACT) for row in rows]


def test_every_review_of_the_form_has_its_four_sections(rows):
    for one in materials(rows):
        check("elongation", "review", one)
        changed = apply("sentence_deletion", "review", one)
        assert all(changed.count(heading) == one.text.count(heading) for heading in one.headings)


@pytest.mark.parametrize("name", ["rule", "rule-2"])
def test_a_rephrasing_by_rule_leaves_as_many_judgments_to_be_found(rows, name):
    found = materials(rows)[:60]
    written = RuleTextWriter(name).changed("rephrase", found)
    before = sum(len(judgments_of(one.text).splitlines()) for one in found)
    after = sum(len(judgments_of(one.text or "").splitlines()) for one in written)
    assert 0.9 < after / before < 1.05
    assert all(one.text and one.text != material.text for one, material in zip(written, found, strict=True))


def test_a_completion_by_rule_brings_the_length_back(rows):
    found = materials(rows)
    written = RuleTextWriter("rule").changed("completion", found)
    shares = [len((one.text or "").split()) / len(item.text.split()) for one, item in zip(written, found, strict=True)]
    assert 0.85 < mean(shares) < 1.15

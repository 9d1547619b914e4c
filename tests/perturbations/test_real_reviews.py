"""The changes by rule on 300 real reviews of ICLR 2023: how much they keep, and that nothing is torn."""

from __future__ import annotations

from statistics import mean

import pandas
import pytest

from gre_bench.perturbations.by_name import apply_perturbation, find_applicable_perturbation
from gre_bench.perturbations.material import PerturbationInput, Splitter
from gre_bench.writing.rules.judgments import write_rule_judgments
from gre_bench.writing.rules.writer import RuleTextWriter
from tests.conftest import real

pytestmark = pytest.mark.shared

COUNT = 300
ABSTRACT = "Shared queues are slow on embedded boards. We order them without locks."


@pytest.fixture(scope="module")
def rows():
    found = pandas.read_parquet(real("iclr2023", "human_reviews.parquet"))
    return found[(found.slot == 2) & (found.row < COUNT)].to_dict("records")


def materials(rows, field: str, splitter: Splitter = "authors") -> list[PerturbationInput]:
    texts = [row[field] for row in rows]
    return [
        PerturbationInput(row["paper_id"], texts[place], "Queues without locks", ABSTRACT,
                 (texts[(place + 100) % COUNT], texts[(place + 200) % COUNT]), splitter=splitter)
        for place, row in enumerate(rows)
    ]  # fmt: skip


def kept(name: str, level: str, found: list[PerturbationInput]) -> float:
    return mean(len(apply_perturbation(name, level, one).split()) / len(one.text.split()) for one in found)


def test_deletion_keeps_about_half_of_the_words(rows):
    for splitter in ("authors", "linguistic"):
        assert 0.45 < kept("sentence_deletion", "review", materials(rows, "review", splitter)) < 0.65
    assert 0.48 < kept("line_deletion", "judgments", materials(rows, "judgments")) < 0.58


@pytest.mark.parametrize("level", ["review", "judgments"])
def test_shuffling_keeps_every_word_and_concatenation_adds_two_reviews(rows, level):
    found = materials(rows, "review" if level == "review" else "judgments")
    assert kept("shuffled_lines", level, found) == pytest.approx(1, abs=0.001)
    assert kept("concatenation", level, found) > 2
    for name in ("keyword_stuffing", "injection"):
        assert all(apply_perturbation(name, level, one).startswith(one.text.rstrip()) for one in found)


def test_every_review_of_the_form_has_its_four_sections(rows):
    for one in materials(rows, "review"):
        find_applicable_perturbation("elongation", "review", one)
        changed = apply_perturbation("sentence_deletion", "review", one)
        assert all(changed.count(heading) == one.text.count(heading) for heading in one.headings)


@pytest.mark.parametrize("name", ["rule", "rule-2"])
def test_a_rephrasing_by_rule_leaves_as_many_judgments_to_be_found(rows, name):
    found = materials(rows, "review")[:60]
    written = RuleTextWriter(name).write_perturbed_reviews("rephrase", found)
    before = sum(len(write_rule_judgments(one.text).splitlines()) for one in found)
    after = sum(len(write_rule_judgments(one.text or "").splitlines()) for one in written)
    assert 0.9 < after / before < 1.05
    assert all(one.text and one.text != material.text for one, material in zip(written, found, strict=True))


def test_a_completion_by_rule_brings_the_length_back(rows):
    found = materials(rows, "review")
    written = RuleTextWriter("rule").write_perturbed_reviews("completion", found)
    shares = [len((one.text or "").split()) / len(item.text.split()) for one, item in zip(written, found, strict=True)]
    assert 0.85 < mean(shares) < 1.15

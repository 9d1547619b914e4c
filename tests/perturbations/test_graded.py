"""Graded harms: what each degree changes, that higher degrees hold lower ones, and the frozen texts of the sample."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from gre_bench.core.errors import PerturbationError
from gre_bench.core.judgments import is_judgment
from gre_bench.core.records import digest
from gre_bench.perturbations.by_name import (
    HARM_DEGREES,
    PERTURBATIONS,
    apply_perturbation,
    find_applicable_perturbation,
    find_perturbation,
    perturbed_candidate_name,
)
from gre_bench.perturbations.harms import DEGREES, HARMS, PADDING, negate_sentence
from gre_bench.perturbations.material import PerturbationInput
from tests.perturbations.test_catalog import sample

FROZEN = {
    "garbling review": "fb4ada6a3ab7", "garbling judgments": "9cc7968af576",
    "negation review": "0a2b06023939", "negation judgments": "3b140c58b488",
    "invention review": "0757f9a3d036", "invention judgments": "b67ba798188c",
    "laundering review": "de04509d878c", "laundering judgments": "391a0792ca50",
    "padding review": "bf3f2164ed05", "padding judgments": "a4454b750b23",
    "copying review": "e8ab80bcbc0a", "copying judgments": "d2d0b3302bde",
}  # fmt: skip
"""Harm and level → the digest of the sample's texts after its ten degrees; another digest needs another version."""

LINES = tuple(f"The reviewer appreciates that claim {place} is right." for place in range(10))
OTHERS = ("\n".join(f"The reviewer criticizes detail {place}." for place in range(10)),)
MADE = PerturbationInput("p1", "\n".join(LINES), abstract=" ".join(f"We show fact {place}." for place in range(10)),
                   others=OTHERS)  # fmt: skip


def degrees(harm: str, material: PerturbationInput = MADE, level: str = "judgments") -> list[str]:
    return [apply_perturbation(f"{harm}-{degree}0", level, material) for degree in DEGREES]


@pytest.mark.parametrize("level", ["review", "judgments"])
@pytest.mark.parametrize("harm", HARMS)
def test_the_harmed_texts_of_the_sample_are_frozen(harm, level):
    texts = [degrees(harm, material, level) for material in sample(level)]
    assert digest(texts)[:12] == FROZEN[f"{harm} {level}"]
    assert all(text.strip() for some in texts for text in some)
    if level == "judgments":
        assert all(is_judgment(line) for some in texts for text in some for line in text.splitlines() if line)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("blanks", [" " * 100_000, "\t \u00a0" * 30_000, "\n" * 100_000, " \n" * 50_000])
@pytest.mark.parametrize("harm", HARMS)
def test_blanks_are_no_lines_and_cost_no_time(harm, blanks):
    spaced = f"{blanks}{MADE.text}\n{blanks}"
    assert [text.split() for text in degrees(harm, replace(MADE, text=spaced))] == [
        text.split() for text in degrees(harm)
    ]


def test_degrees_are_changes_of_certificates_alone():
    assert len(HARM_DEGREES) == len(HARMS) * len(DEGREES) and not HARM_DEGREES.keys() & set(PERTURBATIONS)
    assert find_perturbation("garbling-30").title == "Garbling, 30%"
    assert perturbed_candidate_name("garbling-30", "judgments") == "human~garbling-30~judgments"
    with pytest.raises(PerturbationError, match="copying-30.*no abstract"):
        find_applicable_perturbation("copying-30", "review", replace(MADE, abstract=None))


def test_garbling_keeps_a_share_of_the_judgments_and_a_higher_degree_keeps_fewer_of_the_same():
    kept = [set(text.splitlines()) for text in degrees("garbling")]
    assert [len(some) for some in kept] == [9, 8, 7, 6, 5, 4, 3, 2, 1, 1]
    assert all(more >= fewer for more, fewer in pairwise(kept)) and kept[0] < set(LINES)


@pytest.mark.parametrize(("harm", "new"), [("negation", "The reviewer criticizes that claim"),
                                           ("invention", "The reviewer criticizes detail")])  # fmt: skip
def test_lies_replace_judgments_in_their_places_and_a_higher_degree_lies_where_a_lower_did(harm, new):
    lies = [{place for place, line in enumerate(text.splitlines()) if line.startswith(new)} for text in degrees(harm)]
    assert [len(some) for some in lies] == list(DEGREES)
    assert all(fewer < more for fewer, more in pairwise(lies))


def test_laundering_keeps_every_judgment_in_other_words_and_places():
    text = "\n".join(f"The reviewer criticizes the novel method {place}." for place in range(10))
    changed = degrees("laundering", replace(MADE, text=text))
    assert [text.count("original approach") for text in changed] == list(DEGREES)
    for text in changed:
        assert sorted(line.split()[-1] for line in text.splitlines()) == [f"{place}." for place in range(10)]
    assert [line.split()[-1] for line in changed[-1].splitlines()] != [f"{place}." for place in range(10)]


@pytest.mark.parametrize(("harm", "added"), [("padding", PADDING), ("copying", MADE.abstract.split(". "))])
def test_padding_and_copying_add_sentences_and_change_none(harm, added):
    for degree, text in enumerate(degrees(harm), start=1):
        lines = text.splitlines()
        assert tuple(lines[:10]) == LINES and len(lines) == 10 + degree
        for line in lines[10:]:
            words = line.removeprefix("The reviewer appreciates that ").rstrip(".")
            assert any(words.lower() == some.lower().rstrip(".") for some in added)


@pytest.mark.parametrize(("sentence", "contrary"), [
    ("The reviewer suggests adding x.", "The reviewer criticizes adding x."),
    ("The reviewer questions why x.", "The reviewer appreciates why x."),
    ("The proof is right.", "The proof is not right."), ("The proof is not right.", "The proof is right."),
    ("Nice proof.", "It is not true that nice proof."),
])  # fmt: skip
def test_a_negation_is_the_contrary(sentence, contrary):
    assert negate_sentence(sentence) == contrary


def test_another_key_or_seed_harms_other_judgments():
    made = {
        apply_perturbation("garbling-50", "judgments", some)
        for some in (MADE, replace(MADE, key="p2"), replace(MADE, seed=1))
    }
    assert len(made) == 3


def test_headings_and_list_marks_of_a_review_stay():
    review = "Summary:\nA is fine. B is bad.\n\nWeaknesses:\n- C is wrong.\n- D is slow.\n"
    for harm in HARMS:
        for text in degrees(harm, replace(MADE, text=review), "review"):
            assert text.startswith("Summary:\n") and "\n\nWeaknesses:\n" in text
    assert apply_perturbation("negation-100", "review", replace(MADE, text=review)).count("- ") == 2

"""Every change in the catalogue, on real-like reviews: a text, or a reason by name; never anything else."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core import controls
from gre_bench.core.errors import PerturbationError
from gre_bench.core.judgments import OPENINGS, is_judgment
from gre_bench.ingest.records.venues import find_venue_entry
from gre_bench.perturbations import edits
from gre_bench.perturbations.by_name import (
    PERTURBATIONS,
    apply_perturbation,
    build_perturbation_signature_name,
    find_applicable_perturbation,
    find_perturbation,
)
from gre_bench.perturbations.material import PerturbationInput
from tests.conftest import SIXTEEN
from tests.perturbations.toy import ELONGATED, SPACED

LEVELS = ("review", "judgments")
BY_RULE = [
    (name, level)
    for name, change in PERTURBATIONS.items()
    for level in LEVELS
    if change.is_applicable_at(level) and change.made_by != "writer"
]
BY_WRITER = [name for name, change in PERTURBATIONS.items() if change.made_by == "writer"]


def rows(name: str) -> list[dict]:
    return [json.loads(line) for line in (SIXTEEN / f"{name}.jsonl").read_text().splitlines()]


def sample(level: str) -> list[PerturbationInput]:
    """The sample's reviews, or their judgments, as inputs that lack nothing."""
    papers = {row["paper_id"]: row for row in rows("papers")}
    found = rows("reviews")
    field = "review" if level == "review" else "judgments"
    return [
        PerturbationInput(
            row["review_id"], row[field], papers[row["paper_id"]]["title"], papers[row["paper_id"]]["abstract"],
            (found[place - 20][field], found[place - 33][field]), headings=find_venue_entry("SAMPLE", 2026).headings,
        )
        for place, row in enumerate(found)
    ]  # fmt: skip


WHOLE = sample("review")


def test_the_catalogue_is_in_the_papers_order_and_whole():
    assert " ".join(PERTURBATIONS) == (
        "sentence_deletion completion abstract_only random_replacement line_deletion generic copied_abstract "
        "rephrase_1 rephrase_2 elongation keyword_stuffing concatenation injection shuffled_lines"
    )
    assert [change.family for change in PERTURBATIONS.values()] == ["degradation"] * 7 + ["manipulation"] * 7
    for name, change in PERTURBATIONS.items():
        assert change.name == name
        assert (change.made_by == "writer") == (change.task is not None)
        assert (change.made_by == "control") == (change.control in controls.CONTROLS)


@pytest.mark.parametrize(("name", "level"), BY_RULE)
def test_a_change_by_rule_changes_every_review_the_same_way_every_time(name, level):
    for material in sample(level):
        changed = apply_perturbation(name, level, material)
        assert changed.strip() and changed == apply_perturbation(name, level, material)
        assert changed != material.text
        if level == "judgments":
            assert all(is_judgment(line) for line in changed.splitlines() if line.strip())


@pytest.mark.parametrize("name", BY_WRITER)
def test_a_text_that_lacks_nothing_allows_what_a_writer_makes_and_no_rule_makes_it(name):
    assert find_applicable_perturbation(name, "review", WHOLE[0]) is find_perturbation(name)
    with pytest.raises(PerturbationError, match=f"change {name} is made by a writer") as error:
        apply_perturbation(name, "review", WHOLE[0])
    assert error.value.code == "by_writer"


@pytest.mark.parametrize(("name", "level", "lacks", "code"), [
    ("sentence_deletion", "review", {"text": " \n"}, "no_text"), ("line_deletion", "judgments", {"text": ""}, "no_text"),
    ("completion", "review", {"text": ""}, "no_text"), ("abstract_only", "review", {"abstract": None}, "no_abstract"),
    ("copied_abstract", "review", {"abstract": " "}, "no_abstract"),
    ("random_replacement", "review", {"others": ()}, "no_others"),
    ("concatenation", "judgments", {"others": ("one",)}, "no_others"),
    ("keyword_stuffing", "review", {"title": "", "abstract": None}, "no_keywords"),
    ("elongation", "review", {"headings": ()}, "no_sections"),
    ("elongation", "review", {"text": "It is fine."}, "no_sections"), ("line_deletion", "review", {}, "other_level"),
    ("rephrase_1", "judgments", {}, "other_level"), ("polish", "review", {}, "unknown"),
])  # fmt: skip
def test_what_cannot_be_made_has_a_reason_that_names_it(name, level, lacks, code):
    with pytest.raises(PerturbationError, match=name) as error:
        find_applicable_perturbation(name, level, replace(WHOLE[0], **lacks))
    assert error.value.code == code and "\n" not in str(error.value)


def test_identities_tell_settings_apart():
    base = PerturbationInput("k", "text")
    others = [replace(base, seed=1), replace(base, splitter="linguistic"), replace(base, headings=())]
    assert len({build_perturbation_signature_name("sentence_deletion", one) for one in (base, *others)}) == 4
    assert build_perturbation_signature_name("sentence_deletion", base) == build_perturbation_signature_name(
        "sentence_deletion", replace(base, key="l", text="m")
    )
    assert re.fullmatch(
        r"sentence_deletion-1 · authors [0-9a-f]{8}", build_perturbation_signature_name("sentence_deletion", base)
    )


def test_the_toy_review_is_elongated_as_printed():
    assert (
        edits.add_section_openings(PerturbationInput("toy", SPACED), "{Strength Summary}", "{Weakness Summary}")
        == ELONGATED
    )


def test_a_venue_s_headings_are_those_that_its_notes_are_joined_under():
    assert find_venue_entry("ICLR", 2020).headings == ()
    assert find_venue_entry("ICLR", 2023).headings == (
        "Summary Of The Paper:", "Strength And Weaknesses:", "Clarity, Quality, Novelty And Reproducibility:",
        "Summary Of The Review:",
    )  # fmt: skip
    for row in rows("reviews"):
        assert all(row["review"].count(heading) == 1 for heading in find_venue_entry("SAMPLE", 2026).headings)


def test_each_opening_stands_once_where_a_form_has_more_sections():
    headings = find_venue_entry("ICLR", 2024).headings
    text = "Summary:\nA.\n\nStrengths:\nB.\n\nWeaknesses:\nC.\n\nQuestions:\nD?"
    changed = edits.add_section_openings(PerturbationInput("x", text, headings=headings), "s {weaknesses}", "w {body}")
    assert changed.count("some areas that could be improved, such as w {body}.") == 1
    assert "including s {weaknesses}. However" in changed
    assert changed.endswith("as following.\n\nB.\n\nWeaknesses:\nC.\n\nQuestions:\nD?")
    assert changed.startswith("Summary:\nThis section provides an overview")


def test_keywords_are_the_papers_own_words():
    abstract = "We propose rotary gates. Rotary gates order the queues of boards."
    material = PerturbationInput("x", "A review.", "Rotary gates for queues", abstract)
    changed = apply_perturbation("keyword_stuffing", "review", material)
    assert changed == "A review.\n\nKeywords: rotary gates order, rotary gates, boards, queues."
    stuffed = apply_perturbation("keyword_stuffing", "judgments", replace(material, text="The reviewer suggests x."))
    assert stuffed.splitlines() == [
        "The reviewer suggests x.", "The reviewer appreciates rotary gates order.",
        "The reviewer criticizes rotary gates.", "The reviewer questions boards.", "The reviewer suggests queues.",
    ]  # fmt: skip


def test_concatenation_keeps_the_review_first_and_takes_two_others():
    material = PerturbationInput("x", "a\n", others=("b", "c", "d"))
    assert apply_perturbation("concatenation", "review", material) == "a\n\nb\n\nc"
    assert apply_perturbation("concatenation", "judgments", replace(material, others=("b\n\ne", "c"))) == "a\nb\ne\nc"


LINES = st.lists(
    st.builds("{} {}x.".format, st.sampled_from(OPENINGS), st.text("abc .", max_size=8)), min_size=1, max_size=12
)


@given(LINES, st.sampled_from(["\n", "\n\n", "\n \n"]), st.integers(0, 3), st.text("xy", max_size=3))
def test_shuffled_lines_are_the_same_lines_in_another_order(lines, gap, seed, key):
    text = gap.join(lines)
    changed = apply_perturbation("shuffled_lines", "judgments", PerturbationInput(key, text, seed=seed))
    assert sorted(changed.split("\n")) == sorted(text.split("\n"))
    assert (changed == text) == (len(set(lines)) == 1)


@given(
    st.lists(st.sampled_from(["A is 0.85.", "B is not.", "Why c?", "- d e", "Strengths:", "Weaknesses:"]), min_size=1),
    st.integers(0, 3),
)
def test_shuffled_sentences_stay_in_their_section(pieces, seed):
    text = "\n".join(pieces)
    changed = apply_perturbation("shuffled_lines", "review", PerturbationInput("x", text, seed=seed))
    runs = [re.split(r"(?m)^(?:Strengths|Weaknesses):$", one) for one in (text, changed)]
    assert [sorted(re.sub(r"\W", "", run)) for run in runs[0]] == [sorted(re.sub(r"\W", "", run)) for run in runs[1]]
    assert changed.count("0.85") == text.count("0.85")
    assert [line == "" or line[0] == "-" for line in text.split("\n")] == [
        line == "" or line[0] == "-" for line in changed.split("\n")
    ]


@given(LINES, st.sampled_from(["\n", "\n\n"]), st.sampled_from(["", "\n"]))
def test_every_other_line_of_judgments_goes_and_blank_lines_stay(lines, gap, end):
    kept = apply_perturbation("line_deletion", "judgments", PerturbationInput("x", gap.join(lines) + end))
    assert kept == gap.join(lines[::2]) + end


def test_another_key_or_seed_shuffles_otherwise():
    text = "\n".join(f"The reviewer appreciates {place}." for place in range(30))
    base = PerturbationInput("x", text)
    found = {
        apply_perturbation("shuffled_lines", "judgments", one)
        for one in (base, replace(base, key="y"), replace(base, seed=1))
    }
    assert len(found) == 3

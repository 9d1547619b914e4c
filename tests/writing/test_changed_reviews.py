"""Changes that a writer makes: by a scripted server over real HTTP, and by the rules that stand in for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core.errors import SettingsError
from gre_bench.core.judgments import OPENINGS
from gre_bench.core.records import Paper
from gre_bench.core.resources import locate_resource
from gre_bench.core.review_text import split_into_sections
from gre_bench.perturbations.edits import check_completion
from gre_bench.perturbations.material import PerturbationInput
from gre_bench.perturbations.wording import load_phrases, rephrase_review
from gre_bench.prompts.library import load
from gre_bench.writing.lm_writer import PROMPTS
from gre_bench.writing.rules.judgments import write_rule_judgments
from gre_bench.writing.rules.writer import NAMES, read_vague_sentences, summarise_stances
from gre_bench.writing.writers import WriterContext, open_text_writer
from tests.perturbations.toy import BLANKED, SPACED, TOY
from tests.servers.chat import MODEL, scripted_chat, written
from tests.studies.asking import models_file

ABSTRACT = "Shared queues are slow on embedded boards. We propose RingLock, a shared queue that needs no locks."
REVIEW = """Summary Of The Paper:

This paper proposes a shared queue. It needs no locks.

Strength And Weaknesses:

The idea is novel and the paper is well written. However, the experiments are limited to one board. There is no ablation.

Clarity, Quality, Novelty And Reproducibility:

The paper is clear.

Summary Of The Review:

Although the idea is interesting, the evaluation is weak."""
REASONS = [
    ("completion", {"text": " "}, "no_text"),
    ("abstract_only", {"abstract": None}, "no_abstract"),
    ("rephrase", {"text": ""}, "no_text"),
    ("elongation", {"text": "It has no headings."}, "no_sections"),
]


def item(key: str = "p1", **more) -> PerturbationInput:
    return PerturbationInput(**{"key": key, "text": REVIEW, "title": "RingLock", "abstract": ABSTRACT} | more)


@pytest.fixture
def lm(tmp_path):
    with scripted_chat() as server:
        yield open_text_writer("scripted", WriterContext(tmp_path / "replies", models_file(tmp_path, server))), server


@pytest.mark.parametrize(
    ("task", "text", "sent"),
    [("completion", TOY, BLANKED), ("abstract_only", REVIEW, ABSTRACT), ("rephrase", REVIEW, REVIEW)],
)
def test_a_review_changed_by_an_lm_is_its_reply_to_what_the_task_shows(lm, task, text, sent):
    writer, server = lm
    (made,) = writer.write_perturbed_reviews(task, [item(text=text)])
    (body,) = server.requests
    assert body["messages"][-1]["content"] == sent
    assert (made.item, made.outcome, made.text) == ("p1", "ok", written(body))
    assert "The scripted model read" not in made.text, "it was asked with another task's prompt"


def test_an_elongation_by_an_lm_asks_for_both_summaries_and_states_the_cost_of_both(lm):
    writer, server = lm
    (written,) = writer.write_perturbed_reviews("elongation", [item(text=SPACED)])
    asked = [body["messages"][0]["content"] for body in server.requests]
    assert ["strengths of" in text for text in asked] == [True, False]
    assert "including summary of the paper: and this is the second sentence. However" in written.text
    sent = [sum(len(message["content"]) for message in body["messages"]) for body in server.requests]
    assert written.prompt_tokens == sum(length // 4 for length in sent)


@pytest.mark.parametrize("task", PROMPTS)
def test_what_was_written_once_is_never_asked_for_again(lm, task):
    writer, server = lm
    first = writer.write_perturbed_reviews(task, [item("a"), item("b", text=SPACED)])
    asked = server.count
    again = writer.write_perturbed_reviews(task, [item("a"), item("b", text=SPACED)])
    assert server.count == asked
    assert [one.text for one in again] == [one.text for one in first]
    assert all(one.archived for one in again)


@pytest.mark.parametrize(
    ("task", "reply"),
    [
        ("completion", "The reviewer appreciates clarity."), ("completion", BLANKED), ("rephrase", "I cannot."),
        ("elongation", "Two strengths:\n- a\n- b"), ("elongation", "word " * 61),
    ],
)  # fmt: skip
def test_a_reply_that_is_not_what_was_asked_for_is_asked_for_anew_once_and_then_unparsable(lm, task, reply):
    writer, server = lm
    server.write = lambda body: reply
    (written,) = writer.write_perturbed_reviews(task, [item(text=TOY)])
    assert (written.text, written.outcome, written.final) == (None, "unparsable", True)
    assert server.count == (4 if task == "elongation" else 2)
    assert server.requests[-1]["seed"] == 1


@pytest.mark.parametrize(
    ("reply", "why"),
    [(load("abstract_only").system.strip(), "prompt_echoed"), (f"{OPENINGS[0]} clarity.\n" * 20, "repeats_itself")],
)
def test_instructions_given_back_and_loops_are_a_candidate_s_review_and_nothing_else(lm, reply, why):
    writer, server = lm
    server.write = lambda body: reply
    (changed,) = writer.write_perturbed_reviews("abstract_only", [item()])
    assert (changed.text, changed.outcome, changed.detail, server.count) == (None, "unparsable", why, 2)
    (review,) = writer.write_reviews([Paper("p1", "RingLock", ABSTRACT, "A queue.")])
    (judgments,) = writer.write_judgments([("p1", REVIEW)])
    assert review.outcome == "ok" and judgments.outcome == "unparsable"
    assert why == "prompt_echoed" or judgments.detail == why


def test_a_reply_that_will_do_the_second_time_is_taken(lm):
    writer, server = lm
    server.script = ["length"]
    (written,) = writer.write_perturbed_reviews("completion", [item(text=TOY)])
    assert (written.outcome, server.count) == ("ok", 2)


def test_an_elongation_with_one_summary_is_none_and_says_why(lm):
    writer, server = lm
    server.script = ["ok", "refusal"]
    (written,) = writer.write_perturbed_reviews("elongation", [item()])
    assert (written.text, written.outcome) == (None, "refused")


@pytest.mark.parametrize("name", ["rule", "scripted"])
@pytest.mark.parametrize(("task", "lacks", "code"), REASONS)
def test_what_cannot_be_changed_has_its_reason_and_takes_no_neighbour_down(lm, name, task, lacks, code):
    writer = lm[0] if name == "scripted" else open_text_writer(name, WriterContext("."))
    before, without, after = writer.write_perturbed_reviews(task, [item("a"), item("b", **lacks), item("c")])
    assert [before.item, without.item, after.item] == ["a", "b", "c"]
    assert (without.text, without.outcome) == (None, code)
    assert before.text and after.text and "b" in without.detail


def test_every_identity_is_its_own(lm):
    rules = {open_text_writer("rule", WriterContext(".")).identity(task) for task in PROMPTS}
    assert rules | {open_text_writer("rule-2", WriterContext(".")).identity("rephrase")} == {
        "rule-completion-1", "rule-abstract-only-1", "rule-rephrase-1", "rule-rephrase-2", "rule-elongation-4",
    }  # fmt: skip
    by_lm = {lm[0].identity(task) for task in PROMPTS}
    assert len(by_lm) == 4 and all(one.startswith(f"scripted@{MODEL} · prompt ") for one in by_lm)


def test_a_writer_by_rule_that_cannot_do_a_task_says_who_can():
    with pytest.raises(SettingsError, match="writer rule-2 only rephrases; for completion take rule or a model"):
        open_text_writer("rule-2", WriterContext(".")).identity("completion")
    with pytest.raises(
        SettingsError, match="extractive-full cannot do the task rephrase; writers by rule that can: rule, rule-2"
    ):
        open_text_writer("extractive-full", WriterContext(".")).identity("rephrase")
    assert NAMES[0] == "rule"


def by_rule(task: str, given: PerturbationInput, name: str = "rule"):
    (written,) = open_text_writer(name, WriterContext(".")).write_perturbed_reviews(task, [given])
    return written


def test_a_completion_by_rule_is_one_that_an_lm_s_would_pass_for():
    written = by_rule("completion", item())
    assert check_completion(written.text, item()) == written.text
    assert sum(written.text.count(sentence) for sentence in read_vague_sentences()) == 2
    assert by_rule("completion", item("p2")).text != written.text


def test_vague_sentences_name_nothing():
    assert len(set(read_vague_sentences())) == len(read_vague_sentences()) > 20
    words = set(" ".join(read_vague_sentences()).lower().replace(".", "").split())
    assert not {"good", "bad", "novel", "experiments", "results"} & words


def test_an_abstract_only_review_by_rule_has_the_form_of_iclr_2023_and_never_reads_the_review():
    written = by_rule("abstract_only", item())
    names = [part.name for part in split_into_sections(written.text) if part.kind in ("summary", "mixed", "verdict")]
    assert names == ["summary of the paper", "strength and weaknesses", "summary of the review"]
    assert written.text == by_rule("abstract_only", item(text="Another review.")).text
    assert all(opening in write_rule_judgments(written.text) for opening in OPENINGS[:3])


@pytest.mark.parametrize(("style", "text", "expected"), [
    (1, "Although the idea is novel, the proofs are wrong.", "The proofs are wrong, although the idea is original."),
    (1, "If noise is added, then the bound fails.", "If noise is added, then the bound fails."),
    (1, "An interesting method.", "An appealing approach."), (2, "An interesting method.", "An exciting technique."),
    (2, "A novel dataset is used.", "A new data collection is used."),
    (1, "A novel dataset is used.", "An original data set is used."),
    (2, "The proofs are weak because lemma two is missing.", "Because lemma two is missing, the proofs are weak."),
    (2, "This is because lemma two holds.", "This is because lemma two holds."),
    (2, "It is unclear whether the bound holds.", "Whether the bound holds is not evident."),
    (1, 'I think $novel results$ are "many results".', 'I believe $novel results$ are "many results".'),
    (1, "However, I'm lost.", "Nevertheless, I am lost."),
    (1, "The wellmethod and a re-method.", "The wellmethod and a re-method."),
])  # fmt: skip
def test_sentences_are_rephrased_by_rule(style, text, expected):
    assert rephrase_review(text, style) == expected


@pytest.mark.parametrize("name", ["rule", "rule-2"])
def test_a_rephrasing_by_rule_keeps_headings_and_judgments(name):
    written = by_rule("rephrase", item(), name)
    assert [part.heading for part in split_into_sections(written.text)] == [
        part.heading for part in split_into_sections(REVIEW)
    ]
    before, after = (len(write_rule_judgments(text).splitlines()) for text in (REVIEW, written.text))
    assert before == after
    assert written.text != REVIEW


def test_the_lexicon_says_each_phrase_once_and_never_by_itself():
    lines = locate_resource("data", "rules", "phrases.tsv").read_text("utf-8").splitlines()
    assert len(load_phrases()) == sum(not line.startswith("#") for line in lines) > 100
    assert all(phrase == phrase.lower() and phrase not in others for phrase, others in load_phrases().items())


PIECES = [
    "Although ", "the paper ", ", ", ". ", "because ", "It is unclear ", "whether ", "x\n", "$", '"', "a ", "novel ", "I ",
]  # fmt: skip


@given(st.text() | st.lists(st.sampled_from(PIECES)).map("".join), st.sampled_from([1, 2]))
def test_any_text_is_rephrased_with_its_lines_and_formulas(text, style):
    changed = rephrase_review(text, style)
    assert changed.count("\n") == text.count("\n") and changed.count("$") == text.count("$")
    assert changed == rephrase_review(text, style)


def test_summaries_by_rule_name_what_is_praised_and_what_is_blamed():
    strengths, weaknesses = summarise_stances(REVIEW)
    assert "novel" in strengths and "limited" in weaknesses and " and " in strengths
    assert not strengths.endswith(".") and "reviewer" not in strengths
    written = by_rule("elongation", item())
    assert f"including {strengths}. However" in written.text and f"such as {weaknesses}. Specif" in written.text
    assert REVIEW.split("\n\n")[3] in written.text


def test_a_review_without_praise_is_not_elongated_by_rule_and_says_so():
    written = by_rule("elongation", item(text="Summary Of The Review:\n\nThe evaluation is weak."))
    assert (written.text, written.outcome, written.detail) == (None, "no_summary", "no strengths were found by rule")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", ["Although it is novel, it is weak. ", "because ", "the paper ", "$", "If a, "])
def test_a_tenth_of_a_megabyte_is_rephrased_in_seconds(piece):
    assert rephrase_review(piece * (100_000 // len(piece)), 1)

"""What is learnt from a paper: the nine conversations of appendix E, word for word, and where their loss lies."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("transformers", reason="tuning needs the extra `lm`")

from gre_bench.core.records import Prediction
from gre_bench.lm.span import ChatTemplate
from gre_bench.prompts.library import load
from gre_bench.tuning.pairs import (
    JudgedPaper,
    build_batches,
    build_review_predictions,
    build_training_examples,
    build_training_predictions,
    choose_rival_texts,
)
from tests.lm.chat_models import build_tokenizer

R1 = "The reviewer appreciates the clear writing.\n\nThe reviewer questions the choice of hyperparameters."
R2 = "The reviewer criticizes the limited novelty.\nA stray “line”."
R3 = "The reviewer suggests adding an ablation study."
PAPER = JudgedPaper("p1", (R1, R2, R3), {"abstract": "We study how a model learns.", "assw": "We study.\n\nIt works."})


@pytest.fixture(scope="module")
def template() -> ChatTemplate:
    return ChatTemplate.from_tokenizer(build_tokenizer("llama3"))


def test_three_reviews_give_nine_predictions_in_the_order_of_the_paper_for_each_metric_with_its_synopsis() -> None:
    asked, excluded, _ = build_training_predictions([PAPER], ["gem"], seed=0)
    assert asked == [
        Prediction(R1, None, R2), Prediction(R1, None, R3), Prediction(R2, None, R1), Prediction(R2, None, R3),
        Prediction(R3, None, R1), Prediction(R3, None, R2),
        Prediction(None, None, R1), Prediction(None, None, R2), Prediction(None, None, R3),
    ]  # fmt: skip
    assert not excluded
    asked, excluded, _ = build_training_predictions([PAPER], ["gem", "gem_s_abstract", "gem_s_assw"], seed=0)
    synopses = [prediction.synopsis for prediction in asked]
    assert synopses == [None] * 9 + [PAPER.synopses["abstract"]] * 9 + [PAPER.synopses["assw"]] * 9
    assert asked[9:18] == build_review_predictions((R1, R2, R3), PAPER.synopses["abstract"])
    bare = JudgedPaper("p2", (R1, R2, R3))
    asked, excluded, _ = build_training_predictions([bare], ["gem", "gem_s_abstract"], seed=0)
    assert len(asked) == 9 and excluded == {"papers without abstract, for gem_s_abstract": 1}
    # Appendix E: a thousand papers give eighteen thousand conversations.
    papers = [JudgedPaper(f"p{number}", (R1, R2, R3), {"abstract": "a"}) for number in range(1000)]
    assert len(build_training_predictions(papers, ["gem", "gem_s_abstract"], seed=42)[0]) == 18_000


def test_of_more_than_three_reviews_a_seeded_choice_is_made() -> None:
    many = tuple(f"The reviewer suggests {number}." for number in range(6))
    chosen = {}
    for seed in range(30):
        asked, _, _ = build_training_predictions([JudgedPaper("p", many)], ["gem"], seed)
        assert asked == build_training_predictions([JudgedPaper("p", many)], ["gem"], seed)[0] and len(asked) == 9
        chosen[seed] = frozenset(prediction.reply for prediction in asked)
        assert len(chosen[seed]) == 3
    assert set().union(*chosen.values()) == set(many) and len(set(chosen.values())) > 5
    other = {prediction.reply for prediction in build_training_predictions([JudgedPaper("q", many)], ["gem"], 1)[0]}
    assert other != chosen[1]


def test_a_paper_with_fewer_than_three_reviews_that_judge_is_left_out_and_counted() -> None:
    papers = [PAPER, JudgedPaper("two", (R1, R2)), JudgedPaper("blank", (R1, R2, "I have no opinion."))]
    asked, excluded, _ = build_training_predictions(papers, ["gem"], seed=0)
    assert len(asked) == 9
    assert excluded == {"papers with fewer than 3 reviews with judgments": 2}


def test_texts_take_the_form_that_is_scored() -> None:
    strict, *_ = build_training_predictions([PAPER], ["gem"], 0, "strict")
    assert strict[0].x == R1.replace("\n\n", "\n") and strict[0].reply == R2.split("\n")[0]
    folded, *_ = build_training_predictions([PAPER], ["gem"], 0, "as_written", ascii_fold=True)
    assert folded[0].reply.endswith("A stray line.")


WORDS = ["graph", "sparse", "protein", "market", "galaxy", "kernel", "speech", "planning"]
PAPERS = [
    JudgedPaper(
        f"p{number}",
        tuple(f"The reviewer questions the {word} of study {number}, review {k}." for k in range(3)),
        writers=frozenset([writer]),
    )
    for number, (word, writer) in enumerate((word, writer) for writer in ("by-a", "by-b") for word in WORDS * 3)
]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_rivals_are_of_other_papers_by_the_same_writers_and_most_are_on_the_same_topic(count: int, monkeypatch) -> None:
    monkeypatch.setattr("gre_bench.tuning.pairs._NEAR", 2)  # of 24 papers of a writer, two more are on a topic
    found = choose_rival_texts(PAPERS, count, seed=7)
    assert found == choose_rival_texts(PAPERS, count, seed=7) and found != choose_rival_texts(PAPERS, count, seed=8)
    of = {text: paper for paper in PAPERS for text in paper.judgments}
    topic = {text: text.split()[4] for text in of}
    for paper, texts in zip(PAPERS, found, strict=True):
        assert len(texts) == count
        assert all(of[text].writers == paper.writers and of[text] is not paper for text in texts)
        assert {topic[text] for text in texts[: max(1, count - 1)]} == {topic[paper.judgments[0]]}


def test_a_passage_of_the_paper_is_the_last_rival_in_place_of_a_review_of_any_paper() -> None:
    passage = "The reviewer appreciates a passage of its own.\n\nA stray line."
    with_one = [replace(PAPERS[0], passage=passage), *PAPERS[1:]]
    without, found = choose_rival_texts(PAPERS, 2, seed=7), choose_rival_texts(with_one, 2, seed=7)
    assert found[0] == (without[0][0], passage) and found[1:] == without[1:]
    assert choose_rival_texts(with_one, 1, seed=7)[0] == choose_rival_texts(PAPERS, 1, seed=7)[0]
    asked, _, places = build_training_predictions(with_one, ["gem"], 7, "strict", others=2)
    strange = [prediction.x for prediction, (lesson, wrong) in zip(asked, places, strict=True) if wrong and not lesson]
    assert strange.count(passage.split("\n")[0]) == 3  # prepared like every other text
    silent = [replace(PAPERS[0], passage="It has no judgment."), *PAPERS[1:]]
    assert build_training_predictions(silent, ["gem"], 7, others=2) == build_training_predictions(
        PAPERS, ["gem"], 7, others=2
    )


def test_a_paper_of_two_writers_is_no_rival_of_itself_and_one_alone_has_none() -> None:
    twice = [JudgedPaper("p", (R1, R2, R3), writers=frozenset([name])) for name in ("a", "b")]
    assert (
        choose_rival_texts(twice, 2, 0) == [(), ()]
        and choose_rival_texts([PAPER], 2, 0) == [()]
        and choose_rival_texts([], 2, 0) == []
    )


def test_contrast_adds_each_review_with_the_rivals_in_a_group_with_its_right_ones(template: ChatTemplate) -> None:
    how = (template, "reply", 4096, 0)
    plain, made = (
        build_training_examples(PAPERS[:4], ["gem"], *how),
        build_training_examples(PAPERS[:4], ["gem"], *how, others=2),
    )
    assert len(plain.examples) == 4 * 9 and len(made.examples) == 4 * 15
    for first in range(0, len(made.examples), 15):
        own = made.examples[first : first + 15]
        assert [each.wrong for each in own] == [False] * 9 + [True] * 6
        assert [each.ids for each in own[:9]] == [each.ids for each in plain.examples[first // 15 * 9 :][:9]]
        assert {each.group[0] for each in own} == {first // 15}
        assert [each.group[1] for each in own[6:9]] == [-1] * 3  # without a review nothing is told apart
        sizes = {group: [each.wrong for each in own if each.group == group] for group in {each.group for each in own}}
        assert [sorted(sizes[group]) for group in sizes if group[1] >= 0] == [[False, False, True, True]] * 3
    assert len({each.group for each in made.examples}) == 4 * 4


def test_a_batch_is_one_paper_under_contrast_whatever_was_left_out_and_nothing_wrong_stands_alone(template):
    long = JudgedPaper("long", (R1 * 40, R2, R3), writers=frozenset(["by-a"]))
    alone = JudgedPaper("alone", ("a reviewer", R2, R3, R1), writers=frozenset(["nobody else"]))
    longest = max(
        len(each.ids)
        for each in build_training_examples(PAPERS[:3], ["gem"], template, "reply", 4096, 0, others=2).examples
    )
    made = build_training_examples([long, *PAPERS[:3], alone], ["gem"], template, "reply", longest, 0, others=2)
    batches = build_batches(made.examples, 2, 0, 0, neighbours=True)
    assert sorted(len(batch) for batch in batches)[-3:] == [15] * 3 and len(batches) == 5
    for batch in batches:
        assert len({each.group[0] for each in batch}) == 1 and any(not each.wrong for each in batch)
        assert {each.group for each in batch if each.wrong} <= {each.group for each in batch if not each.wrong}
    assert any("more than" in reason for reason in made.excluded)


def test_rivals_are_judgments_as_they_are_scored(template: ChatTemplate) -> None:
    empty = JudgedPaper("empty", ("No judgment.", "Nor here.", R1), writers=frozenset(["by-a"]))
    asked, _, places = build_training_predictions([*PAPERS[:2], empty], ["gem"], 0, "strict", others=5)
    texts = {prediction.x for prediction, (_, wrong) in zip(asked, places, strict=True) if wrong}
    assert texts and all(text and "The reviewer" in text for text in texts)


def test_the_conversation_is_the_prompt_of_the_paper_word_for_word(template: ChatTemplate) -> None:
    made = build_training_examples([PAPER], ["gem_s_abstract"], template, "reply", 4096, seed=0)
    texts = [template.tokenizer.decode(example.ids) for example in made.examples]
    head = "<|start_header_id|>{}<|end_header_id|>\n\n"
    system = load("predict_judgments").system
    for text, x, y in ((texts[0], R1, R2), (texts[6], "Not available", R1)):
        assert text == (
            f"<|begin_of_text|>{head.format('system')}Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024"
            f"\n\n{system}<|eot_id|>{head.format('user')}[Abstract of the paper]\n\nWe study how a model learns.\n\n"
            f"[Review judgments from the first reviewer]\n\n{x}<|eot_id|>{head.format('assistant')}{y}<|eot_id|>"
        )


def test_the_loss_lies_on_the_scored_tokens_or_on_all_as_the_authors_have_it(template: ChatTemplate) -> None:
    reply = build_training_examples([PAPER], ["gem"], template, "reply", 4096, seed=0)
    full = build_training_examples([PAPER], ["gem"], template, "full", 4096, seed=0)
    for trained_on, whole, y in zip(reply.examples, full.examples, (R2, R3, R1, R3, R1, R2, R1, R2, R3), strict=True):
        assert trained_on.ids == whole.ids
        scored = [token for token, weight in zip(trained_on.ids, trained_on.weights, strict=True) if weight]
        assert template.tokenizer.decode(scored) == f"\n\n{y}<|eot_id|>"
        assert set(trained_on.weights) == {0.0, 1.0}
        assert whole.weights == (0.0, *[1.0] * (len(whole.ids) - 1))


def test_what_is_too_long_or_cannot_be_encoded_is_left_out_and_counted(template: ChatTemplate) -> None:
    long = JudgedPaper("long", (R1, R2, R3 + " again" * 900))
    shortest = len(build_training_examples([PAPER], ["gem"], template, "reply", 4096, seed=0).examples[8].ids)
    made = build_training_examples([long], ["gem"], template, "reply", 1000, seed=0)
    assert len(made.examples) == 4 and made.excluded == {"conversations of more than 1000 tokens": 5}
    bad = JudgedPaper("bad", (R1, R2, R3 + "\udcff"))
    made = build_training_examples([bad, long], ["gem"], template, "reply", shortest - 1, seed=0)
    assert not made.examples
    assert made.excluded == {
        "conversations that cannot be encoded: bad_text": 5, f"conversations of more than {shortest - 1} tokens": 13
    }  # fmt: skip


def test_the_id_of_a_paper_is_no_part_of_what_is_learnt(template: ChatTemplate) -> None:
    renamed = JudgedPaper("another", PAPER.judgments, PAPER.synopses)
    assert build_training_examples([renamed], ["gem"], template, "reply", 4096, 0) == build_training_examples(
        [PAPER], ["gem"], template, "reply", 4096, 0
    )

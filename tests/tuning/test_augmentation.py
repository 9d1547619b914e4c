"""Varied conversations: what is varied stays consistent, and the loss stays on the texts it belongs to."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

pytest.importorskip("tokenizers", reason="the tokenizer needs the extra `lm`")

from hypothesis import given
from hypothesis import strategies as st

from tasks.lm.span import ChatTemplate
from tasks.tuning.augmentation import Conversations, ReviewedPaper, Variation, constants, summary_of, trade
from tasks.tuning.tokenizer import CONTROL, build_tokenizer
from tests.tuning.test_cache_ngram_training import corpus

PLAIN = Variation(exchanged=(0.0,), shuffled=0.0, synopses=0.0, originals=(0.0,), marginals=0.0, rare=0.5)
ORIGINAL = "Summary Of The Paper:\n\nThis is about lattice decoding.\nIndeed.\n\nStrength And Weaknesses:\n\nIt is short."


@pytest.fixture(scope="module")
def papers() -> list[ReviewedPaper]:
    return [ReviewedPaper(tuple(texts), (ORIGINAL, "", ORIGINAL)) for texts in corpus(6, 1)]


@pytest.fixture(scope="module")
def template(papers: list[ReviewedPaper]) -> ChatTemplate:
    texts = [text for paper in papers for text in (*paper.judgments, *paper.originals)]
    return ChatTemplate.of(build_tokenizer(texts, constants(), 1200))


def made(papers, template, epoch: int = 0, seed: int = 0, max_tokens: int = 1536, **changes):
    return Conversations(papers, template, replace(PLAIN, **changes), max_tokens)(epoch, Random(seed))


def weighted(template: ChatTemplate, example, weight: float) -> str:
    """The text of the tokens of that weight."""
    ids = [token for token, of in zip(example.ids, example.weights, strict=True) if of == weight]
    return template.tokenizer.decode(ids, clean_up_tokenization_spaces=False)


def test_every_ordered_pair_is_one_conversation_with_the_loss_on_its_texts(papers, template) -> None:
    examples = made(papers[:1], template)
    judgments = papers[0].judgments
    assert [(weighted(template, one, 0.5), weighted(template, one, 1.0)) for one in examples] == [
        (judgments[x], f"{judgments[y]}<|end|>") for x in range(3) for y in range(3) if x != y
    ]


def test_a_synopsis_is_of_the_third_review_and_weighs_least(papers, template) -> None:
    known = {*papers[0].judgments, "This is about lattice decoding.\nIndeed."}
    for example in made(papers[:1], template, synopses=1.0):
        synopsis = weighted(template, example, 0.3).rstrip("\n")
        assert synopsis in known
        assert synopsis not in (weighted(template, example, 0.5), weighted(template, example, 1.0))


def test_marginals_have_the_loss_on_the_reply_alone(papers, template) -> None:
    examples = made(papers[:1], template, marginals=1.0)
    alone = [one for one in examples if not weighted(template, one, 0.5)]
    assert [weighted(template, one, 1.0) for one in alone] == [f"{text}<|end|>" for text in papers[0].judgments]


def test_original_reviews_stand_for_their_judgments_and_fade_out(papers, template) -> None:
    first = made(papers, template, originals=(1.0, 0.0))
    assert sum("Summary Of The Paper:" in weighted(template, one, 0.5) for one in first) == 6 * 4
    later = made(papers, template, epoch=5, originals=(1.0, 0.0))
    assert not any("Summary Of The Paper:" in weighted(template, one, 0.5) for one in later)


def test_shuffled_lines_are_the_same_lines(papers, template) -> None:
    lines = {tuple(sorted(text.split("\n\n"))) for paper in papers for text in paper.judgments}
    texts = [weighted(template, one, 0.5) for one in made(papers, template, shuffled=1.0)]
    assert {tuple(sorted(text.split("\n\n"))) for text in texts} == lines
    assert set(texts) - {text for paper in papers for text in paper.judgments}


@given(st.lists(st.integers(0, 19), max_size=60), st.integers())
def test_traded_tokens_are_equal_where_they_were_and_only_there(ids: list[int], seed: int) -> None:
    one, other = tuple(range(5, 10)), tuple(range(10, 20))
    partners = [()] * 5 + [one] * 5 + [other] * 10
    traded = trade(ids, partners, Random(seed))
    told = dict(zip(ids, traded, strict=True))
    assert tuple(told[token] for token in ids) == traded
    assert len(set(told.values())) == len(told)
    assert all(new == old if old < 5 else (new in partners[old]) for old, new in told.items())


def test_tokens_trade_places_from_end_to_end_and_the_prompt_stays(papers, template) -> None:
    before, after = made(papers, template), made(papers, template, exchanged=(1.0,))
    fixed = set(template.tokenizer.convert_tokens_to_ids([*CONTROL]))
    fixed |= {token for text in constants() for token in template.tokenizer(text)["input_ids"]}
    changed = 0
    for one, other in zip(before, after, strict=True):
        assert one.weights == other.weights
        assert len({*zip(one.ids, other.ids, strict=True)}) == len(set(one.ids)) == len(set(other.ids))
        assert all(a == b for a, b in zip(one.ids, other.ids, strict=True) if a in fixed or b in fixed)
        changed += sum(a != b for a, b in zip(one.ids, other.ids, strict=True))
    assert changed > 100


def test_an_epoch_is_made_the_same_from_the_same_seed_and_otherwise_from_another(papers, template) -> None:
    varied = Conversations(papers, template, replace(Variation(), rare=0.5))
    assert varied(1, Random(7)) == varied(1, Random(7)) != varied(1, Random(8))


def test_what_is_too_long_is_left_out(papers, template) -> None:
    lengths = Counter(len(one.ids) for one in made(papers, template))
    limit = sorted(lengths)[len(lengths) // 2]
    assert max(len(one.ids) for one in made(papers, template, max_tokens=limit)) <= limit


@pytest.mark.parametrize(
    ("review", "summary"),
    [
        (ORIGINAL, "This is about lattice decoding.\nIndeed."),
        ("Summary Of The Paper:\n\nAll of it.", "All of it."),
        ("Summary Of The Paper:\n\n\n\nMain Review:\n\nNone.", None),
        ("No heading.", None),
        ("", None),
    ],
)
def test_the_summary_is_what_stands_under_the_first_heading(review: str, summary: str | None) -> None:
    assert summary_of(review) == summary

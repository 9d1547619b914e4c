"""The embedded evaluation LM: numbers by hand, a distribution over all texts, signs, faults, growth."""

from __future__ import annotations

import itertools
import json
import math
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gre_bench.core.errors import LMError
from gre_bench.core.records import Prediction, SpanLogprob
from gre_bench.lm.ngram.backoff import (
    CopyModel,
    compute_probability_of_continuations,
    compute_probability_of_copies_within_reply,
)
from gre_bench.lm.ngram.cache_ngram import CacheNgram, strip_ending
from gre_bench.lm.ngram.segmentation import (
    CharacterKindCounts,
    GapAndCapitalModel,
    SpellingModel,
    count_spelling_ngrams,
    count_unicode_characters_by_kind,
    count_white_space_and_capitals,
    split_into_token_texts,
    split_into_tokens,
)
from gre_bench.lm.protocol import validate_span_logprob
from gre_bench.tuning.ngram_training import TrainingRecipe, evaluate_held_out, save, train

SHIPPED = Path(__file__).resolve().parents[2] / "data" / "evaluation_lm" / "cache-ngram-3"

THEMES = (
    "graph pooling", "policy gradient", "lattice decoding", "protein folding", "speech synthesis", "optimal transport",
)  # fmt: skip
PAPERS = [
    [
        f"The reviewer appreciates the clear {theme} idea.\n\nThe reviewer criticizes the missing {theme} baselines.",
        f"The reviewer suggests a study of {theme} with more data.\nThe reviewer questions the cost.",
        f"The reviewer criticizes the writing.\nThe reviewer appreciates {theme}s in Figure {number}.",
    ]
    for number, theme in enumerate(THEMES * 3)
]
SMALL = TrainingRecipe(topics=3, fewest=1, rare=2, common=1.1, rounds=1, steps=3)
TINY_ALPHABET = CharacterKindCounts(word=1, space=1, mark=1, unicode="tiny")
TINY_PAPERS = [["", "a", "A."], ["a", "", ""], ["", ".", "a\n"], [".", "", "aa"], ["", "a a", "aa"], ["a.", "", ""]]

texts = st.text(
    alphabet=st.one_of(st.characters(exclude_categories=("Cs",)), st.sampled_from(" \n\t.aB_é1")), max_size=60
)


@pytest.fixture(scope="module")
def model() -> CacheNgram:
    return train(PAPERS[:12], PAPERS[12:], SMALL)[0]


@pytest.fixture(scope="module")
def tiny() -> CacheNgram:
    return train(TINY_PAPERS, TINY_PAPERS, SMALL, TINY_ALPHABET)[0]


@pytest.fixture(scope="module")
def shipped() -> CacheNgram:
    return CacheNgram.load(SHIPPED)


def total(model: CacheNgram, reply: str, x: str | None = None, synopsis: str | None = None) -> float:
    answer = model.logprob([Prediction(x, synopsis, reply)])[0]
    assert isinstance(answer, SpanLogprob)
    return answer.total


@pytest.mark.parametrize(
    ("text", "words", "gaps"),
    [
        ("", [""], [""]),
        (" ", [""], [" "]),
        ("The  SH_1.", ["the", "sh_1", ".", ""], ["", "  ", "", ""]),
        ("a\n\n b", ["a", "\n", "\n", "b", ""], ["", "", "", " ", ""]),
        ("İ\r\n\t!?", ["İ", "\n", "!", "?", ""], ["", "\r", "\t", "", ""]),
    ],
)
def test_a_text_splits_into_words_and_gaps(text: str, words: list[str], gaps: list[str]) -> None:
    spelled = split_into_tokens(text)
    assert (spelled.words, spelled.gaps) == (words, gaps)


@pytest.mark.parametrize(
    ("word", "root"), [("policies", "polic"), ("optimization", "optim"), ("news", "news"), ("as", "as")]
)
def test_a_stem_loses_one_ending_and_keeps_four_letters(word: str, root: str) -> None:
    assert strip_ending(word) == root


def test_copying_follows_the_table() -> None:
    words, weights = np.array([5, 6, 5, 7, 5]), np.array([1.0, 2.0, 1.0, 0.0, 1.0])
    np.testing.assert_allclose(compute_probability_of_copies_within_reply(words, weights), [np.nan, 0, 1 / 3, 0, 2 / 4])
    np.testing.assert_allclose(compute_probability_of_continuations(words, 2), [np.nan, np.nan, np.nan, 0, np.nan])
    known = CopyModel(np.array([5, 6, 5, 9]), np.array([1.0, 2.0, 1.0, 4.0]), 2)
    np.testing.assert_allclose(known.compute_copy_probability(words), [2 / 8, 2 / 8, 2 / 8, 0, 2 / 8])
    np.testing.assert_allclose(known.compute_continuation_probability(words), [1, 1 / 2, 1, 0, np.nan])
    assert np.isnan(CopyModel(np.array([2]), np.array([0.0]), 2).compute_copy_probability(words)).all()


@given(texts)
def test_every_text_is_its_own_pieces(text: str) -> None:
    spelled = split_into_tokens(text)
    assert "".join(split_into_token_texts(text, spelled.words)) == text
    assert [piece.encode().lower().decode() for piece in spelled.written] == spelled.words


def test_characters_are_counted_as_the_tokeniser_sorts_them() -> None:
    alphabet = count_unicode_characters_by_kind()
    every = "".join(chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    words = split_into_tokens(every).words
    marks = sum(not (word[:1].isalnum() or word[:1] in ("_", "\n")) for word in words[:-1])
    letters = sum(len(word) for word in words if word[:1].isalnum() or word[:1] == "_")
    assert (alphabet.word + 26, alphabet.mark) == (letters, marks)
    assert alphabet.word + 26 + alphabet.mark + alphabet.space + 1 == len(every)


def test_spellings_of_all_words_sum_to_one() -> None:
    characters, counts = count_spelling_ngrams(["ab", "a", "aab", "b"])
    speller = SpellingModel(characters, counts, CharacterKindCounts(word=3, space=1, mark=1))
    sums = np.cumsum(
        [
            np.exp(speller.logprobs(["".join(word) for word in itertools.product("abc", repeat=length)])).sum()
            for length in range(1, 9)
        ]
    )
    assert 0.9998 < sums[-1] < 1
    assert sums[3] < 0.995


@pytest.mark.parametrize("before", ["", "a", ".", "\n"])
def test_gaps_and_capitals_of_a_token_sum_to_one(before: str) -> None:
    form = GapAndCapitalModel(
        count_white_space_and_capitals(["A ab.  b\nAb CD"]), CharacterKindCounts(word=26, space=1, mark=9)
    )
    place = len(split_into_tokens(before).words) - 1
    for after in ("ab", "a", ".", "\n", ""):
        written = {"".join(letters) for letters in itertools.product(*({letter, letter.upper()} for letter in after))}
        chances = [
            math.exp(form.logprobs(split_into_tokens(before + " " * length + one))[place])
            for length in range(before == "a" and after[:1] == "a", 40)
            for one in written
        ]
        assert sum(chances) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(("x", "synopsis"), [(None, None), ("aa a", None), ("A\n.", "aaa"), (None, "a")])
def test_all_short_texts_together_approach_one_from_below(tiny, x, synopsis):
    sums = []
    for length in range(5):
        replies = ["".join(text) for text in itertools.product("aA .\n", repeat=length)]
        answers = tiny.logprob([Prediction(x, synopsis, reply) for reply in replies])
        sums.append(sum(math.exp(answer.total) for answer in answers))
    assert all(part > 0 for part in sums)
    assert 0.9 < sum(sums) < 1


@pytest.mark.parametrize("x", [None, "The reviewer wants Zyx pooling.", "zyx zyx", "...", ""])
@pytest.mark.parametrize("synopsis", [None, "On qwe and graph policies."])
@pytest.mark.parametrize("start", ["", "The reviewer", "the qwe zyx the", "The reviewer appreciates the clear", "a,\n"])
def test_after_any_start_the_next_tokens_sum_to_one(model, start, x, synopsis):
    source = "\n".join(text for text in (synopsis, x) if text is not None)
    known = model.compute_known_text_effect(source)
    place = len(split_into_tokens(start).words) - 1
    told, spelled = 0.0, 0.0
    unlisted = {word for text in (start, source) for word in split_into_tokens(text).words} - set(model.vocabulary)
    for word in [*model.vocabulary[1:], *sorted(unlisted)]:
        reply = model.compute_reply_parts(f"{start} {word}")
        told += math.exp((model.token_logprobs(reply, known) - reply.form)[place])
        spelled += math.exp(reply.spelling[place])
        if known is None:
            unknown = reply.marginal_unknown[place]
        else:
            unknown = (model.conditional_weights @ model.conditional_terms(reply, known)[1])[place]
    assert told + unknown * (1 - spelled) == pytest.approx(1, abs=1e-9)


def test_a_word_outside_the_vocabulary_is_spelled_with_the_share_that_words_have_of_such_tokens(model) -> None:
    spelling = model.compute_reply_parts("qzxqz .").spelling
    share = model.config["word_share"]
    assert spelling[0] == pytest.approx(math.log(share) + model._speller.logprobs(["qzxqz"])[0])
    assert math.exp(spelling[1]) == pytest.approx((1 - share) / model.alphabet.mark)


@given(x=st.none() | texts, synopsis=st.none() | texts, reply=texts)
@settings(max_examples=60)
def test_any_text_has_a_sound_log_probability(model, x, synopsis, reply):
    answer = model.logprob([Prediction(x, synopsis, reply)])[0]
    assert validate_span_logprob(answer) is answer
    assert isinstance(answer, SpanLogprob)
    assert len(answer.ids) == len(split_into_tokens(reply).words)
    assert answer.total == pytest.approx(math.fsum(answer.logprobs), rel=1e-12)


@pytest.mark.parametrize("nothing", ["", " \n", "..."])
def test_a_known_text_without_words_changes_nothing(model: CacheNgram, nothing: str) -> None:
    assert total(model, PAPERS[0][0], x=nothing) == total(model, PAPERS[0][0])


def test_synopsis_and_first_review_are_known_as_one_text(model: CacheNgram) -> None:
    x, synopsis, reply = PAPERS[0][1], PAPERS[0][2], PAPERS[0][0]
    assert total(model, reply, x, synopsis) == total(model, reply, f"{synopsis}\n{x}")
    assert total(model, reply, None, synopsis) == total(model, reply, synopsis)


def test_rare_words_of_the_reply_and_words_outside_the_vocabulary_raise_it_and_capitals_cancel(shipped) -> None:
    reply = "The reviewer criticizes the missing ablation of the Wasserstein barycenter regularizer."
    same = "The reviewer appreciates the Wasserstein barycenter."
    other = "The reviewer appreciates the protein folding benchmark."
    alone = total(shipped, reply)
    assert total(shipped, reply, same) - alone > 3
    assert total(shipped, reply, other) - alone < 0
    assert total(shipped, reply, same.upper()) == total(shipped, reply, same)
    assert total(shipped, reply.upper(), same) - total(shipped, reply.upper()) == pytest.approx(
        total(shipped, reply, same) - alone
    )
    word = "qzxglorfnet"
    assert word not in shipped.vocabulary
    reply = f"The reviewer questions {word}."
    assert total(shipped, reply, f"The reviewer appreciates {word}.") - total(shipped, reply) > 5


def test_company_order_and_repetition_change_no_bit(shipped: CacheNgram) -> None:
    predictions = [
        Prediction(x, synopsis, reply)
        for x in (None, "zyx", PAPERS[0][0])
        for synopsis in (None, "qwe zyx")
        for reply in ("", "zyx qwe", PAPERS[0][1])
    ]
    together = shipped.logprob(predictions)
    assert shipped.logprob(predictions[::-1] + predictions) == together[::-1] + together
    assert [shipped.logprob([prediction])[0] for prediction in predictions] == together
    assert CacheNgram.load(SHIPPED).logprob(predictions) == together


@pytest.mark.parametrize("unit", ["The reviewer doubts word{}.\n", "a", "\n", " "])
def test_time_grows_with_the_text_and_not_with_its_square(shipped: CacheNgram, unit: str) -> None:
    def seconds(units: int) -> float:
        text = "".join(unit.format(number) for number in range(units)) if "{" in unit else unit * units
        start = time.thread_time()
        answer, other = shipped.logprob([Prediction("word5", None, text), Prediction(text, None, "word5")])
        assert validate_span_logprob(answer) is answer and validate_span_logprob(other) is other
        return time.thread_time() - start

    few = 1000 if "{" in unit else 10_000
    seconds(few)
    assert seconds(16 * few) < 80 * max(seconds(few), 2e-3)  # the square would be 256 times


def test_the_model_in_the_repository_is_small_and_has_no_word_of_a_single_paper(shipped: CacheNgram) -> None:
    assert sum(file.stat().st_size for file in SHIPPED.iterdir()) < 14e6 and shipped.identity.name == "cache-ngram"
    assert (shipped.known_text.idf[shipped.known_text.words] <= math.log(shipped.config["papers"] / 2)).all()


@pytest.mark.parametrize("name", ["config.json", "vocabulary.json", "weights.safetensors"])
def test_a_missing_or_damaged_file_or_another_format_is_one_clear_line(tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(SHIPPED, tmp_path / "lm")
    data = (folder / name).read_bytes()
    for damaged in (data[:-30], data[:20], b"", b"[]", data[:5000] + b"~" + data[5001:] if len(data) > 5001 else b"{}"):
        (folder / name).write_bytes(damaged)
        with pytest.raises(LMError, match=r"^the evaluation LM in .* (is damaged|has format)[^\n]*$"):
            CacheNgram.load(folder)
    (folder / name).unlink()
    with pytest.raises(LMError, match=rf"^no evaluation LM in .*: {name} is missing[^\n]*$"):
        CacheNgram.load(folder)
    config = json.loads((SHIPPED / "config.json").read_text(encoding="utf-8"))
    (folder / name).write_bytes(data)
    (folder / "config.json").write_text(json.dumps({**config, "format": 99}), encoding="utf-8")
    with pytest.raises(LMError, match="has format 99, this version reads 1"):
        CacheNgram.load(folder)


def test_another_weight_is_another_digest(model: CacheNgram, tmp_path: Path) -> None:
    save(model, tmp_path / "one")
    other = CacheNgram(
        {**model.config, "marginal_weights": [0.8, 0.1, 0.1]}, model.vocabulary, model.arrays, model.alphabet
    )
    save(other, tmp_path / "other")
    one, two = CacheNgram.load(tmp_path / "one"), CacheNgram.load(tmp_path / "other")
    assert one.identity.digest != two.identity.digest
    reply, x = PAPERS[0][0], PAPERS[0][1]
    assert total(one, reply) == total(model, reply) != total(two, reply)
    assert total(one, reply, x) == total(model, reply, x)


@pytest.mark.shared
def test_real_reviews_of_one_paper_tell_of_each_other(shipped: CacheNgram, iclr2023: Path) -> None:
    import pyarrow.parquet as parquet

    rows = parquet.read_table(
        iclr2023, columns=["row", "judgments"], filters=[("row", ">=", 900), ("row", "<", 950)]
    ).to_pylist()
    papers = [[row["judgments"] for row in rows if row["row"] == number] for number in range(900, 950)]
    figures = evaluate_held_out(shipped, papers)
    assert figures.pairs == 300
    assert figures.auc > 0.89
    assert figures.same > 6
    assert figures.other < -1

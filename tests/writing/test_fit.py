"""Fit before spend: what does not fit is not sent, what is cut is cut at its sections, and both are told."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.catalogs.models import Model
from gre_bench.core.errors import LMError
from gre_bench.core.records import Chat, Completion, Paper, Sampling
from gre_bench.writing.fit import (
    TokenRange,
    choose_token_counter,
    cut_paper_to_fit,
    estimate_token_range,
    find_paragraph_ends,
    find_section_starts,
    judge_fit,
    tokens_left_for_prompt,
)
from gre_bench.writing.lm_writer import LMTextWriter

BODY = (
    "1 Introduction\n\nWords of it.\n\n2 Method\n\nMore words.\n\n2.1 Details\n\nStill more.\n\nConclusion\n\nThe end."
)
PAPER = Paper("p1", "A title", "An abstract.", BODY)


def words(text: str) -> TokenRange:
    return TokenRange(len(text.split()), len(text.split()))


def chat(paper: str) -> Chat:
    return Chat("", paper)


def model(**more) -> Model:
    return Model(name="m", endpoint="http://127.0.0.1:8000/v1", model="m", **more)


class Silent:
    identity = "silent"

    def __init__(self):
        self.asked: list[Chat] = []

    def write(self, chats, sampling):
        self.asked += chats
        return [Completion("ok", "A review.") for _ in chats]


def text_writer(over_long="refuse", **more) -> LMTextWriter:
    return LMTextWriter(Silent(), Sampling(max_tokens=100), model=model(**more), over_long=over_long)


def test_sections_begin_at_headings_and_not_at_sentences_with_a_number():
    assert [BODY[place:].split("\n")[0] for place in find_section_starts(BODY)] == [
        "2 Method",
        "2.1 Details",
        "Conclusion",
    ]
    assert find_section_starts("We compare\n2 Of these models,\n3 Then stop.\nresults of others\n") == []
    assert find_section_starts("# One\n\nx\n\n## Two\n\ny\n\nIV. FOUR\n") == [10, 21]
    assert find_paragraph_ends("a b\n\nc\n \nd") == [3, 6]


def test_a_paper_is_cut_before_the_first_section_that_does_not_fit_and_never_to_nothing():
    ends = {100: "The end.", 20: "Still more.", 16: "More words.", 11: "Words of it.", 7: "Introduction"}
    for left, end in ends.items():
        found = cut_paper_to_fit(PAPER, chat, words, left)
        assert found.text.endswith(end) and words(found.whole).most <= left
        assert (found.title, found.abstract) == (PAPER.title, PAPER.abstract)
    assert cut_paper_to_fit(PAPER, chat, words, 4) is None


@given(st.integers(0, 60), st.lists(st.sampled_from(["word", "1 Head", "\n\n", "Results", "."]), max_size=40))
def test_a_cut_paper_fits_and_is_the_beginning_of_the_paper(left, parts):
    paper = replace(PAPER, text="\n".join(parts))
    found = cut_paper_to_fit(paper, chat, words, left)
    assert found is None or (words(found.whole).most <= left and paper.text.startswith(found.text))
    if words(paper.whole).most <= left:
        assert found == paper


def test_tokens_are_a_range_where_no_tokenizer_is_named_and_counted_where_one_is(tmp_path):
    count, basis = choose_token_counter(model())
    assert (count("x" * 4200), basis) == (TokenRange(1000, 1449), "estimated from characters")
    tokenizers = pytest.importorskip("tokenizers", reason="a tokenizer needs the extra `lm`")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.save(str(tmp_path / "tokenizer.json"))
    count, basis = choose_token_counter(model(tokenizer=str(tmp_path)))
    assert count("a b a") == TokenRange(3, 3) and basis == f"counted by the tokenizer of {tmp_path}"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "tokenizer.json").write_text("{")
    with pytest.raises(LMError, match="tokenizer .*other: "):
        choose_token_counter(model(tokenizer=str(tmp_path / "other")))


def test_a_verdict_is_certain_only_outside_the_range():
    assert tokens_left_for_prompt(model(context=8192), 4000) == 8192 - 4000 - 64
    assert [judge_fit(TokenRange(10, 14), left) for left in (None, 9, 10, 13, 14)] == [
        "unknown", "does_not_fit", "may_not_fit", "may_not_fit", "fits",
    ]  # fmt: skip
    assert estimate_token_range("") == TokenRange(0, 1)


def test_what_does_not_fit_is_not_sent_and_says_why():
    long = replace(PAPER, paper_id="p2", text="word " * 1000)
    assert [item.outcome for item in text_writer(context=2000).write_reviews([PAPER, long])] == ["ok", "ok"]
    short = text_writer(context=1200)
    found = short.write_reviews([PAPER, long])
    assert [item.outcome for item in found] == ["ok", "too_long"] and found[1].final
    assert "1,036 are left of a context of 1,200; --set writing.over_long=truncate" in found[1].detail
    assert len(short.writer.asked) == 1
    assert text_writer().write_reviews([replace(PAPER, text="word " * 100_000)])[0].outcome == "ok", (
        "no context is known"
    )


def test_a_cut_is_in_the_signature_and_an_uncut_paper_is_sent_whole():
    whole, cutting = text_writer(context=3000), text_writer("truncate", context=3000)
    assert cutting.identity("review") == f"{whole.identity('review')} · cut to {3000 - 100 - 64} tokens"
    assert cutting.identity("judgments") == whole.identity("judgments")
    long = replace(PAPER, text=BODY + "\n\n5 Appendix-like results\n\n" + "word " * 3000)
    assert [item.outcome for item in cutting.write_reviews([PAPER, long])] == ["ok", "ok"]
    first, second = cutting.writer.asked
    assert first.user.endswith("The end.") and second.user.endswith("The end.")
    assert first == second

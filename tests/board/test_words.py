"""The answer of a board in words, and its columns, from rows of a board."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from gre_bench.board.words import (
    COLUMNS,
    COVERED,
    FEWEST_PAPERS,
    answer,
    at_human_length,
    few_papers,
    headline,
    headline_lacks,
    note,
    number,
    p_value,
    ranks,
    ties,
)
from gre_bench.store.queries import LeaderboardRow


def row(name: str, rank: int | None, low: int = 1, high: int = 1, tied: bool = False, **more: Any) -> LeaderboardRow:
    """A row of a board with nothing to remark but what *more* says."""
    empty = dict.fromkeys(LeaderboardRow.__annotations__)
    counts = dict.fromkeys(("failed", "missing", "excluded"), 0)
    told = {"rank_low": low, "rank_high": high} if rank else {}
    given = {
        "candidate": name, "rank": rank, "tied": tied, "kind": "model", "tests": 3, "few_lines": False,
        "validation": "validated on ICLR-2020", "metric": "gem", "signature_id": "s",
    }  # fmt: skip
    return {**empty, **counts, **given, **told, **more}  # pyright: ignore[reportReturnType]


@pytest.mark.parametrize(
    ("rows", "sentences"),
    [
        ([row("a", 1), row("b", 2, 2, 2)], "a leads."),
        ([row("lab/a", 1, 1, 2, True), row("b", 2, 1, 2), row("c", 3, 3, 3)], "a and b share the lead."),
        ([row("a", 1, 1, 2, True), row("b", 2, 1, 2)], "a and b are not told apart."),
        (
            [row(name, rank, 1, 3, rank < 3) for rank, name in enumerate("abc", 1)],
            "No test tells any two of these 3 candidates apart.",
        ),
        # Each stands beside the next, but the first and the last are told apart.
        (
            [row("a", 1), row("b", 2, 2, 3, True), row("c", 3, 2, 4, True), row("d", 4, 3, 4), row("e", 5, 5, 5)],
            "a leads. In ranks 2 to 4, no two neighbours are told apart.",
        ),
        (
            [row("a", 1), row("b", 2, 2, 3, True), row("c", 3, 2, 3), row("d", 4, 4, 5, True), row("e", 5, 4, 5)],
            "a leads. b and c are not told apart; nor d and e.",
        ),
        (
            [row("a", 1), *(row(f"m{k}", k, 2, 7, k < 7) for k in range(2, 8))],
            "a leads. m2, m3 and 4 candidates after them are not told apart.",
        ),
        # Who leads is said by the tests, and not by the first rank; and a leader ends a run.
        ([row("a", 1, 2, 3), row("b", 2, 1, 2), row("c", 3, 3, 3)], "b leads."),
        (
            [row("a", 1), row("b", 2, 2, 3, True), row("c", 3, 1, 4), row("d", 4, 3, 5, True), row("e", 5, 4, 5)],
            "a and c share the lead. d and e are not told apart.",
        ),
        # Two makers' models of one name keep the maker.
        ([row("x/a", 1, 1, 2, True), row("y/a", 2, 1, 2), row("c", 3, 3, 3)], "x/a and y/a share the lead."),
    ],
)
def test_the_answer_says_who_leads_and_who_is_not_told_apart(rows, sentences):
    assert answer(rows) == sentences


def test_the_answer_says_who_is_not_ranked_and_why_but_counts_no_control():
    one = row("m", None, unranked="only 36 of 60 pairs scored")
    control = row("generic", None, kind="control", unranked="control")
    assert answer([row("a", 1), row("b", 2, 2, 2), one, control]) == (
        "a leads. m is not ranked: only 36 of 60 pairs scored."
    )
    seen = [row(f"c{k}", None, unranked=f"contaminated: learnt until 202{k}") for k in range(2)]
    assert answer([row("a", 1), row("b", 2, 2, 2), one, *seen]) == (
        "a leads. 3 entries are not ranked: only 36 of 60 pairs scored; contaminated (2)."
    )


def test_a_metric_that_is_not_validated_orders_nobody():
    rows = [row("a", 1, validation="unvalidated: fail on ICLR-2020"), row("b", 2, 2, 2)]
    assert answer(rows) == "No order: not validated (fail on ICLR-2020)."
    assert answer([row("a", 1, validation="unvalidated")]) == "No order: not validated."


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([row("a", 1)], "Fewer than two candidates are ranked, so there is no order."),
        ([row("a", 1, untested="too few papers"), row("b", 2)], "The order is not tested: too few papers."),
        (
            [row("a", 1, tests=None), row("b", 2, tests=None)],
            "The order is not tested yet: the refresh that adds scores has not ended.",
        ),
    ],
)
def test_an_order_that_nothing_tested_is_none(rows, sentence):
    assert answer(rows) == sentence


def test_the_words_of_a_leader_stand_beside_those_of_human_reviews():
    rows = [row("lab/a", 1, words=271.6), row("human", 2, 2, 2, kind="human", words=154.4)]
    assert answer(rows) == "a leads. Its judgments have 272 words a paper, human's 154."
    raw = [{**each, "metric": "gem_raw"} for each in rows]
    assert answer(raw) == "a leads. Its reviews have 272 words a paper, human's 154."  # pyright: ignore[reportArgumentType]
    assert (
        answer([row("human", 1, kind="human", words=154.4), row("a", 2, 2, 2, words=90.0)])
        == "The human baseline scores highest."
    )


def test_a_tie_names_both_neighbours_and_promises_nothing_of_more_papers():
    (line,) = ties([row("a", 1, 1, 2, True, next_candidate="b", next_p=0.25), row("b", 2, 1, 2)])
    assert line == "Not told apart: a and b (p 0.250)."


def test_the_length_of_a_leader_by_a_metric_that_is_not_installed_is_left_out():
    rows = [row("a", 1, words=9.0, metric="gone"), row("human", 2, 2, 2, kind="human", words=5.0, metric="gone")]
    assert answer(rows) == "a leads."


@pytest.mark.parametrize(("papers", "covered"), [(2, 81), (4, 76), (15, 80), (20, 82), (29, 82)])
def test_an_interval_from_few_papers_says_what_it_covers(papers, covered):
    assert few_papers([papers, 200, None]) == (
        f"few papers: {papers}. A 90% interval may be too short: where the differences are skewed it covers about "
        f"{covered}%"
    )
    assert few_papers([30, None]) is None and few_papers([1]) == "one paper"


def test_what_an_interval_from_few_papers_covers_is_what_samples_give():
    draw = np.random.default_rng(1)
    for papers, covered in COVERED:
        samples = draw.lognormal(size=(20_000, papers))
        half = t.ppf(0.95, papers - 1) * samples.std(1, ddof=1) / papers**0.5
        share = 100 * (abs(samples.mean(1) - np.exp(0.5)) <= half).mean()
        assert share == pytest.approx(covered, abs=1.2), papers


def test_no_number_is_minus_nought():
    assert number(-0.001) == "+0.00" and number(-0.006) == "-0.01"


def test_groups_have_answers_of_their_own():
    rows = [row("a", 1), row("b", 2, 2, 2), row("c", 1, group_name="g")]
    assert answer(rows) == "a leads."


def test_the_headline_is_the_metric_of_the_settings_or_the_first_which_is_validated():
    rows = [row("a", 1, signature_id="first"), row("a", 1, metric="gem_raw", signature_id="second")]
    assert headline(rows) == "first" and headline(rows, "gem_raw") == "second" and headline(rows, "bleu") == "first"
    assert headline_lacks(rows, None) == headline_lacks(rows, "gem_raw") == headline_lacks([], "bleu") == ""
    assert headline_lacks(rows, "bleu") == "board.headline names bleu, which has no board here: gem comes first."


@pytest.mark.parametrize(
    ("p", "text"), [(None, ""), (1.0, "1.000"), (0.001, "0.001"), (0.00099, "<0.001"), (0.0, "<0.001")]
)
def test_a_p_below_a_thousandth_is_not_rounded_up_to_it(p, text):
    assert p_value(p) == text


def test_cells_are_empty_without_a_value_and_p_is_the_corrected_one_alone():
    cells = {column.head: column.cell for column in COLUMNS}
    bare = row("a", None, p_alone=0.01, score=None, unranked="x")
    assert [cells[head](bare) for head in ("score", "vs human", "p", "above chance")] == [""] * 4
    full = row("a", 2, 2, 4) | dict(score=1.5, high=1.75, vs_human=-0.5, vs_human_high=0.0, p=1e-9, above_chance=2.0)
    assert [cells[head](full) for head in ("rank", "score", "vs human", "p", "above chance")] == [
        "2 (2–4)", "+1.50 ±0.25", "-0.50 ±0.50", "<0.001", "+2.00",
    ]  # fmt: skip
    assert ranks(row("a", 3, 3, 3)) == "3"


def test_a_note_holds_cautions_but_not_that_a_control_says_nothing():
    told = row(
        "a", 1, missing=2, surely_above_chance=False, few_lines=True, median_lines=4.0, human_lines=11.0, note="n"
    )
    assert note(told) == "2 missing, not above chance, few judgments (4, human 11), n"
    control = row("generic", None, kind="control", unranked="control", surely_above_chance=False)
    assert note(control) == ""
    assert note({**control, "above_chance": 0.0, "above_chance_high": 0.0}) == "one text for all papers"


def test_the_score_at_the_human_length_is_none_where_it_would_be_a_guess():
    row: Any = {"at_length": 2.0, "extrapolated": False, "papers": FEWEST_PAPERS}
    assert at_human_length(row) == 2.0
    for guess in ({"papers": FEWEST_PAPERS - 1}, {"extrapolated": True}, {"at_length": None}):
        assert at_human_length(row | guess) is None

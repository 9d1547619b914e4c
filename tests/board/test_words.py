"""The answer of a board in words, and its columns, from rows of a board."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from gre_bench.board.words import (
    COLUMNS,
    COVERED,
    FEWEST_PAPERS,
    CandidateOrder,
    choose_headline_signature,
    format_candidate_note,
    format_headline_warning,
    format_p_value,
    format_row_rank_range,
    format_score,
    format_ties,
    get_score_at_human_review_length,
    summarise_board,
    warn_of_few_papers,
)
from gre_bench.ranking.rank_statistics import ScoredPairs
from gre_bench.stats.families import HolmFamily
from gre_bench.stats.pair_tests import correct_in_one_family
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
    return {**empty, **counts, **given, **told, **more}


def lm_order(
    lm: str, rows: list[LeaderboardRow], steps: dict[tuple[str, str], float], papers: int = 40
) -> CandidateOrder:
    """What an LM says of the ranked *rows*: *steps* has how far the first of two is ahead on every paper, in spreads."""
    names = [each["candidate"] for each in rows if each["rank"]]
    spread = np.sin(np.arange(papers) * 2.4)  # a spread of both signs without a mean
    tests = []
    for first, second in combinations(names, 2):
        differences = spread - spread.mean() + steps.get((first, second), 0.0)
        tests += ScoredPairs([first] * papers + [second] * papers, [f"p{k}" for k in range(papers)] * 2, ["r"] * papers * 2,
                       [*differences, *([0.0] * papers)]).tests()  # fmt: skip
    corrected, _ = correct_in_one_family(tests, [])
    return CandidateOrder(lm, rows, HolmFamily(tuple(corrected), {}, {}, {}))


def every(names: str, step: float = 2.0) -> dict[tuple[str, str], float]:
    return {(first, second): step for first, second in combinations(names, 2)}


def ranked(names: str, *more: LeaderboardRow) -> list[LeaderboardRow]:
    rows = [row(name, place, 1, len(names)) for place, name in enumerate(names, 1)]
    return [*rows, *more]


@pytest.mark.parametrize(
    ("names", "steps", "sentences"),
    [
        (
            "ab",
            every("ab"),
            "a leads, ahead of b (p <0.001) on 40 of 40 papers. Only one evaluation LM has scored this.",
        ),
        ("ab", {}, "No model leads: no two of 2 models differ significantly. a and b are not told apart."),
        (
            "abc",
            {("a", "c"): 2.0, ("b", "c"): 2.0},
            "No model leads: a is not surely ahead of b. a and b are not told apart.",
        ),
        # Each stands beside the next, but the first and the last are told apart.
        (
            "abcd",
            every("abcd") | {("b", "c"): 0.0, ("c", "d"): 0.0},
            "a leads, ahead of b (p <0.001) on 40 of 40 papers. Only one evaluation LM has scored this. In ranks 2 to 4, no two "
            "neighbours are told apart.",
        ),
        (
            "abcde",
            every("abcde") | {("b", "c"): 0.0, ("d", "e"): 0.0},
            "a leads, ahead of b (p <0.001) on 40 of 40 papers. Only one evaluation LM has scored this. b and c are not told apart; nor d "
            "and e.",
        ),
        (
            "abcdef",
            {("a", "f"): 2.0},
            "No model leads: a is not surely ahead of b and 3 others. In ranks 1 to 6, no two neighbours are told "
            "apart.",
        ),
    ],
)
def test_the_answer_says_who_leads_and_who_is_not_told_apart(names, steps, sentences):
    rows = ranked(names)
    assert summarise_board(rows, [lm_order("lm", rows, steps)]) == sentences


def test_a_model_leads_only_if_all_evaluation_lms_say_so():
    rows = ranked("abc")
    both = [lm_order(lm, rows, every("abc")) for lm in ("one", "two")]
    assert summarise_board(rows, both).startswith("a leads by one and two, ahead of b (p <0.001)")
    level = lm_order("two", rows, every("abc") | {("a", "b"): 0.0})
    assert summarise_board(rows, [both[0], level]).startswith(
        "No model leads: by one, a is ahead of all others; by two, a is not surely ahead of b. By one, "[:85]
    )
    other = lm_order("two", ranked("bac"), {(b, a): -step for (a, b), step in every("abc").items()} | every("bac"))
    assert "by one, a is ahead of all others; by two, b is ahead of all others" in summarise_board(
        rows, [both[0], other]
    )
    assert summarise_board(rows, [both[0], lm_order("two", rows, {})]).startswith(
        "No model leads: by one, a is ahead of all others; by two, no two of 3 models differ significantly."
    )


def test_a_mean_that_stands_on_few_papers_makes_no_leader():
    rows, papers = ranked("ab"), 100
    few = np.where(np.arange(papers) < 12, 40.0, -0.01 * np.arange(papers))
    tests = ScoredPairs(["a"] * papers + ["b"] * papers, [f"p{k}" for k in range(papers)] * 2, ["r"] * papers * 2,
                  [*few, *([0.0] * papers)]).tests()  # fmt: skip
    assert tests[0].p_holm < 0.01 and tests[0].difference > 0 and not tests[0].surely_ahead
    said = summarise_board(rows, [CandidateOrder("lm", rows, HolmFamily(tuple(tests), {}, {}, {}))])
    assert said == "No model leads: a is not surely ahead of b."


def test_human_has_a_sentence_of_its_own_with_its_wording_and_never_leads():
    human = row("human", 3, kind="human", note="a paraphrase")
    rows = [*ranked("ab"), human]
    one = lm_order("one", rows, {("a", "human"): -2.0, ("b", "human"): 2.0})
    said = summarise_board(rows, [one])
    assert "The human baseline (a paraphrase) scores significantly above 1 of 2 models and below 1 of 2 models." in said
    two = lm_order("two", rows, {})
    assert "below 1 of 2 models by one, and differs significantly from none of 2 models by two." in summarise_board(
        rows, [one, two]
    )
    first = [row("human", 1, kind="human"), row("a", 2)]
    above = summarise_board(first, [lm_order("one", first, {("human", "a"): 2.0})])
    assert above == "The human baseline scores above a (p <0.001)."
    assert summarise_board(first, [lm_order("one", first, {})]) == (
        "The human baseline differs significantly from no model. human and a are not told apart."
    )


def test_the_answer_says_who_is_not_ranked_and_why_but_counts_no_control():
    one = row("m", None, unranked="only 36 of 60 pairs scored")
    control = row("generic", None, kind="control", unranked="control")
    rows = ranked("ab")
    told = [lm_order("lm", rows, every("ab"))]
    assert summarise_board([*rows, one, control], told).endswith(
        "scored this. m is not ranked: only 36 of 60 pairs scored."
    )
    seen = [row(f"c{k}", None, unranked=f"contaminated: learnt until 202{k}") for k in range(2)]
    assert summarise_board([*rows, one, *seen], told).endswith(
        "3 entries are not ranked: only 36 of 60 pairs scored; contaminated (2)."
    )


def test_a_metric_that_is_not_validated_orders_nobody():
    rows = [row("a", 1, validation="unvalidated: fail on ICLR-2020"), row("b", 2, 2, 2)]
    assert summarise_board(rows) == "No order: not validated (failed on ICLR-2020)."
    assert summarise_board([row("a", 1, validation="unvalidated")]) == "No order: not validated."


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
    assert summarise_board(rows) == sentence


def test_the_words_of_a_leader_stand_beside_those_of_human_reviews():
    rows = [row("lab/a", 1, words=271.6), row("b", 2), row("human", 3, kind="human", words=154.4)]
    steps = {("lab/a", "b"): 2.0, ("lab/a", "human"): 2.0}
    assert "judgments have 272 words per paper, human's 154." in summarise_board(rows, [lm_order("lm", rows, steps)])
    raw: Any = [{**each, "metric": "gem_raw"} for each in rows]
    assert "a's reviews have 272 words per paper, human's 154." in summarise_board(raw, [lm_order("lm", raw, steps)])
    gone: Any = [{**each, "metric": "gone"} for each in rows]
    assert "words" not in summarise_board(gone, [lm_order("lm", gone, steps)])


def test_a_tie_names_both_neighbours_and_promises_nothing_of_more_papers():
    (line,) = format_ties([row("a", 1, 1, 2, True, next_candidate="b", next_p=0.25), row("b", 2, 1, 2)])
    assert line == "Not told apart: a and b (p 0.250)."


@pytest.mark.parametrize(("papers", "covered"), [(2, 81), (4, 76), (15, 80), (20, 82), (29, 82)])
def test_an_interval_from_few_papers_says_what_it_covers(papers, covered):
    assert warn_of_few_papers([papers, 200, None]) == (
        f"few papers: {papers}. A 90% interval may be too short: where the differences are skewed it covers about "
        f"{covered}%"
    )
    assert warn_of_few_papers([30, None]) is None and warn_of_few_papers([1]) == "one paper"


def test_what_an_interval_from_few_papers_covers_is_what_samples_give():
    draw = np.random.default_rng(1)
    for papers, covered in COVERED:
        samples = draw.lognormal(size=(20_000, papers))
        half = t.ppf(0.95, papers - 1) * samples.std(1, ddof=1) / papers**0.5
        share = 100 * (abs(samples.mean(1) - np.exp(0.5)) <= half).mean()
        assert share == pytest.approx(covered, abs=1.2), papers


def test_no_number_is_minus_nought():
    assert format_score(-0.001) == "+0.00" and format_score(-0.006) == "-0.01"


def test_groups_have_answers_of_their_own():
    rows = ranked("ab", row("c", 1, group_name="g"))
    assert summarise_board(rows, [lm_order("lm", rows, every("abc"))]).startswith("a leads, ahead of b")


def test_the_headline_is_the_metric_of_the_settings_or_the_first_which_is_validated():
    rows = [row("a", 1, signature_id="first"), row("a", 1, metric="gem_raw", signature_id="second")]
    assert (
        choose_headline_signature(rows) == "first"
        and choose_headline_signature(rows, "gem_raw") == "second"
        and choose_headline_signature(rows, "bleu") == "first"
    )
    assert (
        format_headline_warning(rows, None)
        == format_headline_warning(rows, "gem_raw")
        == format_headline_warning([], "bleu")
        == ""
    )
    assert (
        format_headline_warning(rows, "bleu") == "board.headline names bleu, which has no board here: gem comes first."
    )


@pytest.mark.parametrize(
    ("p", "text"), [(None, ""), (1.0, "1.000"), (0.001, "0.001"), (0.00099, "<0.001"), (0.0, "<0.001")]
)
def test_a_p_below_a_thousandth_is_not_rounded_up_to_it(p, text):
    assert format_p_value(p) == text


def test_cells_are_empty_without_a_value_and_p_is_the_corrected_one_alone():
    cells = {column.head: column.cell for column in COLUMNS}
    bare = row("a", None, p_alone=0.01, score=None, unranked="x")
    assert [cells[head](bare) for head in ("score", "vs human", "p", "above chance")] == [""] * 4
    full = row("a", 2, 2, 4) | dict(score=1.5, high=1.75, vs_human=-0.5, vs_human_high=0.0, p=1e-9, above_chance=2.0)
    assert [cells[head](full) for head in ("rank", "score", "vs human", "p", "above chance")] == [
        "2 (2–4)", "+1.50 ±0.25", "-0.50 ±0.50", "<0.001", "+2.00",
    ]  # fmt: skip
    assert format_row_rank_range(row("a", 3, 3, 3)) == "3"


def test_a_note_holds_cautions_but_not_that_a_control_says_nothing():
    told = row(
        "a", 1, missing=2, surely_above_chance=False, few_lines=True, median_lines=4.0, human_lines=11.0, note="n"
    )
    assert format_candidate_note(told) == "2 missing, not above chance, few judgments (4, human 11), n"
    control = row("generic", None, kind="control", unranked="control", surely_above_chance=False)
    assert format_candidate_note(control) == ""
    assert (
        format_candidate_note({**control, "above_chance": 0.0, "above_chance_high": 0.0}) == "one text for all papers"
    )


def test_the_score_at_the_human_length_is_none_where_it_would_be_a_guess():
    row: Any = {"at_length": 2.0, "extrapolated": False, "papers": FEWEST_PAPERS}
    assert get_score_at_human_review_length(row) == 2.0
    for guess in ({"papers": FEWEST_PAPERS - 1}, {"extrapolated": True}, {"at_length": None}):
        assert get_score_at_human_review_length(row | guess) is None

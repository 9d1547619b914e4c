"""Ratings of players: published worked examples first, then properties."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gre_bench.core.errors import SettingsError
from gre_bench.examiners.pairwise import (
    Game,
    compute_elo_ratings,
    compute_elo_spread,
    expected_elo_score,
    fit_bradley_terry,
)

# Agresti 2002, Categorical Data Analysis, 2nd ed., Table 10.10: games won in 1987, row against column.
TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
WON = (
    (0, 7, 9, 7, 7, 9, 11),
    (6, 0, 7, 5, 11, 9, 9),
    (4, 6, 0, 7, 7, 8, 12),
    (6, 8, 6, 0, 6, 7, 10),
    (6, 2, 6, 7, 0, 7, 12),
    (4, 4, 5, 6, 6, 0, 6),
    (2, 4, 1, 3, 1, 7, 0),
)
# Turner and Firth 2012, Bradley-Terry models in R (baseballModel1): estimate and standard error, Baltimore being 0.
FITTED = {
    "Boston": (1.1077, 0.3339), "Cleveland": (0.6839, 0.3319), "Detroit": (1.4364, 0.3396),
    "Milwaukee": (1.5814, 0.3433), "New York": (1.2476, 0.3359), "Toronto": (1.2945, 0.3367),
}  # fmt: skip
# Stigler 1994, in Agresti 2002, p. 448: the row cites the column; the one that is cited wins.
JOURNALS = ("Biometrika", "Comm Statist", "JASA", "JRSS-B")
CITES = ((0, 33, 320, 284), (730, 0, 813, 276), (498, 68, 0, 325), (221, 17, 142, 0))
CITED = {"Comm Statist": (-2.94907, 0.10255), "JASA": (-0.47957, 0.06059), "JRSS-B": (0.26895, 0.07083)}


def played(names, wins) -> list[Game]:
    return [
        Game(one, other, 1.0)
        for one, row in zip(names, wins, strict=True)
        for other, count in zip(names, row, strict=True)
        for _ in range(count)
    ]


@pytest.mark.parametrize(
    ("games", "anchor", "fitted", "digits"),
    [
        (played(TEAMS, WON), "Baltimore", FITTED, 4),
        (played(JOURNALS, tuple(zip(*CITES, strict=True))), "Biometrika", CITED, 5),
    ],
)
def test_strengths_and_their_errors_are_the_published_ones(games, anchor, fitted, digits):
    found = {strength.player: strength for strength in fit_bradley_terry(games, anchor=anchor)}
    for name, (value, error) in fitted.items():
        assert round(found[name].value, digits) == value
        assert round(found[name].error, digits) == error
        assert found[name].low == pytest.approx(found[name].value - 1.959964 * found[name].error, abs=1e-6)
    assert (found[anchor].value, found[anchor].error) == (0.0, 0.0)


def test_without_an_anchor_the_mean_is_zero_and_differences_are_the_same():
    games = played(TEAMS, WON)
    free, tied = (
        {one.player: one.value for one in fit_bradley_terry(games, anchor=anchor)} for anchor in (None, "Baltimore")
    )
    assert sum(free.values()) == pytest.approx(0, abs=1e-9)
    assert free["Boston"] - free["Baltimore"] == pytest.approx(tied["Boston"])
    assert [one.player for one in fit_bradley_terry(games)] == [
        "Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore",
    ]  # fmt: skip


def test_two_players_have_the_log_odds_of_their_wins():
    games = [Game("a", "b", 1.0)] * 3 + [Game("b", "a", 1.0)]
    a, b = fit_bradley_terry(games)
    assert a.value - b.value == pytest.approx(math.log(3))
    tied = fit_bradley_terry([Game("a", "b", 0.5)] * 4)
    assert [one.value for one in tied] == pytest.approx([0, 0])


@pytest.mark.parametrize(
    ("games", "line"),
    [
        ([Game("a", "b", 1.0)], "a never lost to any of|b never beat any of"),
        ([Game("a", "b", 0.5), Game("c", "d", 0.5)], "never"),
        ([], "at least two players"),
    ],
)
def test_games_that_settle_no_strengths_are_refused_in_one_line(games, line):
    with pytest.raises(SettingsError, match=line):
        fit_bradley_terry(games)


def test_the_interval_covers_the_true_difference():
    truth = {"a": 0.6, "b": 0.0, "c": -0.6}
    inside, rounds = 0, 400
    for seed in range(rounds):
        draw = random.Random(seed)
        games = [
            Game(one, other, float(draw.random() < 1 / (1 + math.exp(truth[other] - truth[one]))))
            for one, other in itertools.combinations(truth, 2)
            for _ in range(40)
        ]
        [a] = [one for one in fit_bradley_terry(games, anchor="b") if one.player == "a"]
        inside += a.low <= 0.6 <= a.high
    assert 0.92 <= inside / rounds <= 0.98


@given(st.permutations(played(TEAMS[:4], [row[:4] for row in WON[:4]])))
@settings(max_examples=10)
def test_the_order_of_the_games_does_not_move_a_strength(games):
    base = fit_bradley_terry(played(TEAMS[:4], [row[:4] for row in WON[:4]]))
    assert [(one.player, pytest.approx(one.value)) for one in base] == [
        (one.player, one.value) for one in fit_bradley_terry(games)
    ]


# -- Elo


# A well-known worked example: 1613 against five opponents.
@pytest.mark.parametrize(("own", "other", "score"), [
    (1613, 1609, 0.506), (1613, 1477, 0.686), (1613, 1388, 0.785), (1613, 1586, 0.539), (1613, 1720, 0.351),
    (1000, 1000, 0.5), (1400, 1000, 10 / 11), (1000, 1400, 1 / 11),
])  # fmt: skip
def test_the_expected_score_is_the_formula(own, other, score):
    assert expected_elo_score(own, other) == pytest.approx(score, abs=6e-4)
    assert expected_elo_score(own, other) + expected_elo_score(other, own) == pytest.approx(1)


def test_ratings_move_by_sixteen_times_the_surprise():
    assert compute_elo_ratings([Game("a", "b", 1.0)]) == {"a": 1008.0, "b": 992.0}
    assert compute_elo_ratings([Game("a", "b", 0.5)]) == {"a": 1000.0, "b": 1000.0}
    second = compute_elo_ratings([Game("a", "b", 1.0), Game("b", "a", 1.0)])
    gain = 16 / (1 + 10 ** ((992 - 1008) / 400))
    assert second["b"] == pytest.approx(992 + gain)
    assert second["a"] == pytest.approx(1008 - gain)


@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.sampled_from("efgh"), st.sampled_from([0, 0.5, 1])),
        min_size=1,
        max_size=50,
    )
)
def test_ratings_are_only_moved_between_players(rows):
    ratings = compute_elo_ratings([Game(*row) for row in rows])
    assert sum(ratings.values()) == pytest.approx(1000 * len(ratings))


def test_elo_over_shuffled_orders_and_bradley_terry_rank_alike():
    games = played(TEAMS, WON)
    spread = compute_elo_spread(games, 300, 0)
    assert spread[0].player in ("Milwaukee", "Detroit", "Toronto")
    assert spread[-1].player == "Baltimore"
    assert all(one.low < one.value < one.high for one in spread)
    assert sum(one.value for one in spread) == pytest.approx(7000)

"""Random boards: no two verdicts of board, page, JSON, compare and contrasts on the same two candidates contradict."""

from __future__ import annotations

import re
from dataclasses import asdict
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gre_bench.board.family import group_ranked_rows, list_pairwise_test_rows, read_candidate_orders_by_lm
from gre_bench.board.words import format_ties, summarise_board
from gre_bench.cli.views.comparison import _describe_significance
from gre_bench.ranking.rank_statistics import ScoredPairs, build_test_family, compute_rank_statistics
from gre_bench.reports import contrasts
from gre_bench.reports.contrasts import PlannedContrast, compare_candidates, compute_contrast_rows
from gre_bench.stats.families import HolmFamily
from gre_bench.store.queries import LeaderboardRow, SignatureRow

ALPHA = 0.05
LMS = ("one", "two")


class Boards:
    """A store of one edition with random scores by two evaluation LMs: what `compare` and the board read of it."""

    key, next_step_hint = "RANDOM-2026", ""

    def __init__(self, seed: int):
        random = np.random.default_rng(seed)
        models = [f"m{k}" for k in range(random.integers(2, 6))]
        self.names = ["human", *models]
        self.group = {name: "g" if name != "human" and random.random() < 0.3 else None for name in self.names}
        unranked = {name for name in models if random.random() < 0.15}
        papers = int(random.integers(4, 14))
        worth = {name: random.normal(0, 1.5) for name in self.names}
        self.pairs: dict[str, list[dict[str, Any]]] = {}
        self.boards: dict[str, list[LeaderboardRow]] = {}
        self.families: dict[str, HolmFamily] = {}
        for lm in LMS:
            self.pairs[lm] = [
                {"candidate_id": name, "paper_id": f"p{paper}", "reference_id": f"r{paper}-{k}",
                 "value": round(worth[name] + random.standard_t(3), 1), "unit": None}
                for name in self.names for paper in range(papers) for k in range(2) if random.random() > 0.02
            ]  # fmt: skip
            self.boards[lm] = self._board(lm, unranked, random)

    def _board(self, lm: str, unranked: set[str], random: np.random.Generator) -> list[LeaderboardRow]:
        pairs = ScoredPairs(*map(list, zip(*(row.values() for row in self.pairs[lm]), strict=True)))
        mean = {name: np.mean(pairs.of_candidates([name]).values) for name in self.names}
        above = {name: float(random.choice([1e-9, 0.03, 0.6])) for name in self.names}
        groups = []
        for group in (None, "g"):
            names = [name for name in self.names if self.group[name] == group and name not in unranked]
            groups.append({name: k for k, name in enumerate(sorted(names, key=lambda name: -mean[name]), 1)})
        tests = self.families[lm] = build_test_family(pairs, groups, above)
        of = {row.candidate_id: row for row in compute_rank_statistics(pairs, groups, tests)}
        rows = []
        for name in self.names:
            row: dict[str, Any] = dict.fromkeys(LeaderboardRow.__annotations__)
            own = of.get(name)
            row |= {"candidate": name, "kind": "human" if name == "human" else "model", "metric": "gem",
                    "validation": "validated on X", "signature_id": lm, "group_name": self.group[name],
                    "above_chance_p": above[name], "unranked": "x" if own is None else None}  # fmt: skip
            if own:
                row |= {"rank": own.rank, "rank_low": own.rank_low, "rank_high": own.rank_high, "tied": own.tied,
                        "next_candidate": own.next_candidate, "next_p": own.next_p, "tests": own.tests or None,
                        "untested": own.problem, "above_chance_p_holm": own.above_p_holm, "p": own.difference_p_holm, "vs_human": mean[name] - mean["human"],
                        }  # fmt: skip
            rows.append(row)
        return sorted(rows, key=lambda row: (row["group_name"] or "", row["rank"] or 99))

    def read(self, query: Any, **given: Any) -> list[Any]:
        if query.name == "leaderboard":
            return [row for lm in given["signature_ids"] for row in self.boards[lm]]
        if query.name == "pair_tests":
            return [asdict(test) for test in self.families[given["signature_id"]].tests]
        if query.name == "board_pairs":
            return self.pairs[given["signature_id"]]
        if query.name == "candidate_pairs":
            rows = self.pairs[given["signature_id"]]
            return [row | {"state": "scored"} for row in rows if row["candidate_id"] in given["candidates"]]
        if query.name == "lms_of_metric":
            first = given["signature_id"]
            return [{"evaluation_lm": lm, "signature_id": lm} for lm in (first, *(lm for lm in LMS if lm != first))]
        if query.name == "known_candidates":
            return [{"candidate": name} for name in self.names]
        return [self.signature(lm) for lm in LMS] if query.name.endswith("_signatures") else []

    @staticmethod
    def signature(lm: str) -> SignatureRow:
        row: dict[str, Any] = dict.fromkeys(SignatureRow.__annotations__, "x")
        row |= {"metric": "gem", "signature_id": lm, "evaluation_lm": lm, "chance": "none", "form": "as_written"}
        return row


Verdicts = dict[tuple[str, str, str], set[str]]
"""(LM, first, second) → what is said of the two without a condition, ``above``, ``below`` or ``level``."""


def verdicts(store: Boards, monkeypatch: pytest.MonkeyPatch) -> tuple[Verdicts, dict[str, dict[tuple[str, str], set]]]:
    said: Verdicts = {}

    def note(lm: str, first: str, second: str, what: str) -> None:
        turned = {"above": "below", "below": "above", "level": "level"}
        said.setdefault((lm, first, second), set()).add(what)
        said.setdefault((lm, second, first), set()).add(turned[what])

    def by_p(lm: str, first: str, second: str, p: float, difference: float) -> None:
        note(lm, first, second, "level" if p >= ALPHA else "above" if difference > 0 else "below")

    numbers: dict[str, dict[tuple[str, str], set]] = {lm: {} for lm in LMS}

    def number(lm: str, first: str, second: str, p: float) -> None:
        numbers[lm].setdefault((min(first, second), max(first, second)), set()).add(round(p, 12))

    every = [PlannedContrast(name=f"{a}-{b}", first=a, second=b) for a, b in combinations(store.names, 2)]
    for row in compute_contrast_rows(store, every, [store.signature(lm) for lm in LMS], []):
        if row["problem"] is None:
            by_p(row["evaluation_lm"], row["first"], row["second"], row["p_holm"], row["difference"])
            number(row["evaluation_lm"], row["first"], row["second"], row["p_holm"])
    monkeypatch.setattr(contrasts, "Store", lambda *_: store)
    monkeypatch.setattr(contrasts, "shown_signatures", lambda *_: [store.signature(lm) for lm in LMS])
    for first, second in combinations(store.names, 2):
        rows = compare_candidates(None, "", [first, second], None)["candidates"]
        for lm, row in zip(LMS, rows, strict=True):
            if row["problem"]:
                continue
            leader = first if row["difference"] > 0 else second
            words = _describe_significance(row, leader)
            if re.match(rf"{leader} scores higher", words):
                note(lm, first, second, "above" if leader == first else "below")
            elif row["board"]:
                note(lm, first, second, "level")
            if row["board"]:
                number(lm, first, second, row["board"]["p_holm"])
    for lm, rows in store.boards.items():
        told = read_candidate_orders_by_lm(store.read, lm, rows)
        for test in list_pairwise_test_rows(told[:1]):
            number(lm, test["first"], test["second"], test["p_holm"])
        for row in rows:
            if row["p"] is not None and row["candidate"] != "human":
                test = told[0].tests.between(row["candidate"], "human")
                by_p(lm, row["candidate"], "human", row["p"], test.difference if test else 0.0)
                number(lm, row["candidate"], "human", row["p"])
            if row["next_p"] is not None:
                assert row["tied"] == (row["next_p"] >= ALPHA)
                number(lm, row["candidate"], str(row["next_candidate"]), row["next_p"])
        for line in format_ties(rows):
            first, second = re.findall(r"human|m\d", line)
            note(lm, first, second, "level")
        for group in group_ranked_rows(rows):
            own: Any = [{**row, "group_name": None} for row in group]
            _of_answer(summarise_board(own, told), lm, [row["candidate"] for row in group], note)
    return said, numbers


def _of_answer(text: str, lm: str, names: list[str], note: Any) -> None:
    models = [name for name in names if name != "human"]
    if led := re.match(r"(m\d) leads", text):
        for other in models:
            if other != led[1]:
                for each in LMS:
                    note(each, led[1], other, "above")
    for first, by in re.findall(r"by (one|two), (m\d) is ahead of all others", text):
        for other in models:
            if other != by:
                note(first, by, other, "above")
    for by in re.findall(r"by (one|two|one and two|two and one), no two of", text):
        for each in by.split(" and "):
            for first, second in combinations(models, 2):
                note(each, first, second, "level")
    for by, what in re.findall(
        r"(scores significantly above all \d models|differs significantly from none of \d models) by (one|two)(?! and)",
        text,
    ):
        for other in models:
            note(what, "human", other, "above" if "above" in by else "level")
    apart = re.search(r"By \w+, ([^.]*) are not told apart", text)
    for part in apart[1].replace(" are not told apart", "").split("; nor ") if apart else ():
        if "after them" not in part:
            for first, second in combinations(re.findall(r"human|m\d", part), 2):
                note(lm, first, second, "level")


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9))
def test_no_two_verdicts_of_random_boards_contradict_and_a_comparison_has_one_p(seed):
    with pytest.MonkeyPatch.context() as monkeypatch:
        said, numbers = verdicts(Boards(seed), monkeypatch)
    assert {key: what for key, what in said.items() if len(what) > 1} == {}
    assert {key: ps for own in numbers.values() for key, ps in own.items() if len(ps) > 1} == {}

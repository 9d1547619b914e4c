"""Plants AI-written references on a board and prints how often the statements of ``study references`` hold.

    python -m tests.bench.bench_references STATE EDITION METRIC [--plantings 60]

Each planting draws papers with replacement, and replaces a share of their references by the reviews of one LM
candidate, Z', truncated to the tokens of the references. The tipping shares are then computed from stand-ins that are
not by the base model of Z', because a reader has no stand-in by the model that wrote the references. The true order is
the order on human references.

- *told*: orders of two candidates, neither of them Z', that are significant at 5% on the planted board.
- *turned*: the share of these whose true order is reversed.
- *said to stand*: told orders whose tipping share is above the planted share; *turned*: of these.

Figures are given for pairs without a candidate of the planted base model (*strangers*), and for the others (*kin*). The
second table shows the order without the most AI-like fifth of the references, against as many random references.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from itertools import accumulate, combinations
from operator import sub
from pathlib import Path

import numpy as np
from scipy import stats as scipy_stats

from gre_bench.board.family import group_ranked_rows
from gre_bench.core.metrics import find_recipe
from gre_bench.core.records import HUMAN
from gre_bench.metrics.scoring import MetricCases
from gre_bench.pipeline.planning import load_sample_entries
from gre_bench.reports.explanations import find_scoring_run
from gre_bench.reports.signatures import shown_signatures
from gre_bench.stats.intervals import paired_test
from gre_bench.stats.reference_shares import find_tipping_share, measure_ai_likeness, trim_ai_like_references
from gre_bench.store import ReadersCopyStore
from gre_bench.store.queries import BOARD_PAIRS, LEADERBOARD
from gre_bench.studies.references import yield_stand_in_cases
from gre_bench.tasks import steps

SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)
TRIM, RESAMPLES, TRIMMED_OF = 0.2, 199, 2
"""The share of references left out, the number of random controls, and how many plantings per trimmed one."""
KINDS = (("strangers", True), ("kin", True), ("kin, with stand-ins of their base model", False))
"""Kind of pairs → whether stand-ins of the planted base model are left out."""


def base_model(name: str) -> str:
    """Returns the base model of a candidate: its name without version and protocol; unpublished models count as one."""
    if name.startswith("quis/"):
        return "quis"
    return "gpt-4o-mini" if "gpt-4o-mini" in name else "gpt-4o" if "gpt-4o" in name else name.split("+")[0]


class BoardScores:
    """Scores of candidates (c) on references (r), and on the stand-ins (z) that replace them.

    *human* (r, c), *planted* (r, c, z): scores. *humans* (r,), *humans_planted* (r, z): means of other human reviews.
    *paper* (r,): the paper's index. *stand_in* (papers, c, z): the means of *planted* that ``study references`` stores.
    """

    def __init__(self, state: Path, edition: str, metric: str):
        store = ReadersCopyStore(state, edition)
        (signature,) = shown_signatures(store, [metric])
        source, recipe = find_scoring_run(store, signature, HUMAN, state), find_recipe(metric)
        entries = load_sample_entries(store, {}, None, None, source.settings.scoring.synopsis_of)
        cases = list(yield_stand_in_cases(entries, recipe, signature["writer"], signature["form"], everyone=True))
        work = MetricCases(metric, signature["signature_id"], tuple(case for _, case in cases))
        scored = steps.score_papers("bench", source.job.backends, source.settings.scoring, [work], {})
        gains = {}
        for score in scored.scores:
            given, alone = (scored.spans[name].logprobs for name in score.predictions)
            gains[score.paper_id, score.candidate_id, score.reference_id] = list(accumulate(map(sub, given, alone)))
        board = defaultdict(dict)
        for row in store.rows(BOARD_PAIRS, signature_id=signature["signature_id"]):
            board[row["paper_id"], row["reference_id"]][row["candidate_id"]] = row["value"]
        ranked = group_ranked_rows(store.read(LEADERBOARD, signature_ids=[signature["signature_id"]]))
        self.groups = [[row["candidate"] for row in rows if row["kind"] == "model"] for rows in ranked]
        self.names = [name for names in self.groups for name in names]
        people = {entry.paper.paper_id: [entry.human.review_id, *(each.review_id for each in entry.references)]
                  for entry in entries}  # fmt: skip
        keys = [(paper, review) for paper, reviews in people.items() for review in reviews
                if all(name in board[paper, review] for name in self.names)]  # fmt: skip
        papers = list(dict.fromkeys(paper for paper, _ in keys))
        self.paper = np.array([papers.index(paper) for paper, _ in keys])
        self.human = np.array([[board[key][name] for name in self.names] for key in keys])
        others = [[name for name in people[paper] if name != review] for paper, review in keys]
        self.humans = np.array([
            np.mean([gains[paper, name, review][-1] for name in own])
            for (paper, review), own in zip(keys, others, strict=True)
        ])  # fmt: skip
        self.planted = np.full((len(keys), len(self.names), len(self.names)), np.nan)
        self.humans_planted = np.full((len(keys), len(self.names)), np.nan)
        ids = {
            (entry.paper.paper_id, name): each.review_id for entry in entries for name, each in entry.responses.items()
        }
        for r, (paper, review) in enumerate(keys):
            length = len(gains[paper, others[r][0], review])
            for z, author in enumerate(self.names):

                def cut(name: str, on: str = ids[paper, author], n: int = length, of: str = paper) -> float:
                    own = gains[of, name, on]
                    return own[min(n, len(own)) - 1]

                for c, name in enumerate(self.names):
                    self.planted[r, c, z] = np.nan if c == z else cut(name)
                self.humans_planted[r, z] = np.mean([cut(name) for name in others[r]])
        self.member = np.zeros((len(papers), len(keys)))
        self.member[self.paper, np.arange(len(keys))] = 1.0
        self.member /= self.member.sum(axis=1, keepdims=True)
        self.stand_in = np.einsum("pr,rcz->pcz", self.member, self.planted)
        self.truth = (self.member @ self.human).mean(axis=0)
        self.scored = len(cases)

    def against(self, z: int, a: int, b: int) -> np.ndarray:
        """Returns δ_Z of the candidates *a* and *b*, by paper."""
        return self.stand_in[:, a, z] - self.stand_in[:, b, z]

    def kin(self, z: int) -> list[int]:
        return [c for c, name in enumerate(self.names) if base_model(name) == base_model(self.names[z])]


def plant(
    world: BoardScores, z: int, share: float, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns (papers drawn with replacement, indices of their references, one row each, which are planted)."""
    papers = random.integers(len(world.member), size=len(world.member))
    rows = [np.flatnonzero(world.paper == paper) for paper in papers]
    units, references = np.repeat(np.arange(len(papers)), list(map(len, rows))), np.concatenate(rows)
    planted = np.zeros(len(references), dtype=bool)
    planted[random.permutation(len(references))[: round(share * len(references))]] = True
    return papers, np.stack([units, references]), planted


def trim(world: BoardScores, z: int, a: int, b: int, share: float, seed: int) -> tuple[float, float, float, bool]:
    """Plants on all papers once; returns (shift in nats, parts that trimming and its control undo, whether p < .05).

    Without a shift, the part that trimming undoes is how far it moves the difference.
    """
    count = len(world.human)
    planted = np.zeros(count, dtype=bool)
    planted[np.random.default_rng([seed, z]).permutation(count)[: round(share * count)]] = True
    scores = np.where(planted[:, None], world.planted[:, :, z], world.human)
    models = [c for c in range(len(world.names)) if c not in (a, b, *world.kin(z))]
    like = measure_ai_likeness(scores[:, models], np.where(planted, world.humans_planted[:, z], world.humans))
    differences = scores[:, a] - scores[:, b]
    (row,) = trim_ai_like_references(differences, world.paper.tolist(), like, [TRIM], RESAMPLES, seed)
    full = float((world.member @ differences).mean())
    shift = full - float(world.truth[a] - world.truth[b])
    if not share:
        return 0.0, abs(row.difference - full), abs(row.control - full), row.p < 0.05
    way = -np.sign(shift)
    return abs(shift), way * (row.difference - full), way * (row.control - full), row.p < 0.05


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("state", type=Path)
    parser.add_argument("edition")
    parser.add_argument("metric")
    parser.add_argument("--plantings", type=int, default=60, help="of each candidate and share")
    asked = parser.parse_args()
    begun = time.monotonic()
    world = BoardScores(asked.state, asked.edition, asked.metric)
    size = len(world.names)
    print(f"{asked.edition} {asked.metric}: {world.scored:,} cases scored in {time.monotonic() - begun:.0f} s")
    groups = [[world.names.index(name) for name in names] for names in world.groups]
    pairs = [pair for group in groups for pair in combinations(group, 2)]
    random, begun = np.random.default_rng(0), time.monotonic()
    counts: dict[tuple[float, str], np.ndarray] = defaultdict(lambda: np.zeros(5))
    trims: dict[float, list[tuple[float, float, float, bool]]] = defaultdict(list)
    for z in range(size):
        kin = world.kin(z)
        for share in SHARES:
            for number in range(asked.plantings):
                papers, (units, references), planted = plant(world, z, share, random)
                scores = np.where(planted[:, None], world.planted[references, :, z], world.human[references])
                by_unit = np.zeros((len(papers), size))
                np.add.at(by_unit, units, scores)
                by_unit /= np.bincount(units)[:, None]
                for a, b in pairs:
                    if z in (a, b):
                        continue
                    own = by_unit[:, a] - by_unit[:, b]
                    sign = 1.0 if own.mean() > 0 else -1.0
                    told = paired_test(own.tolist()).p < 0.05
                    turned = told and sign * (world.truth[a] - world.truth[b]) <= 0
                    known = {}
                    if told:
                        known = {y: find_tipping_share(sign * own, sign * world.against(y, a, b)[papers])
                                 for y in range(size) if y not in (a, b, z)}  # fmt: skip
                    related = a in kin or b in kin
                    for kind, without in KINDS[1:] if related else KINDS[:1]:
                        found = [q for y, q in known.items() if not without or y not in kin]
                        stands = bool(found) and all(q is not None and q > share for q in found)
                        counts[share, kind] += [1, told, turned, stands, stands and turned]
                if number % TRIMMED_OF == 0:
                    for a, b in pairs:
                        if z not in (a, b):
                            trims[share].append(trim(world, z, a, b, share, number))
    print(f"{len(pairs)} pairs, {size * asked.plantings} plantings a share, {time.monotonic() - begun:.0f} s\n")
    print("| planted share | pairs | told | turned, of told | said to stand, of told | turned, of these |")
    print("| --- | --- | --- | --- | --- | --- |")
    for kind, _ in KINDS:
        for share in SHARES:
            cases, told, turned, stands, wrong = counts[share, kind]
            cells = (told / cases, turned / max(told, 1), stands / max(told, 1), wrong / max(stands, 1))
            print(f"| {share:.0%} | {kind} | {' | '.join(f'{cell:.1%}' for cell in cells)} |")
    print("\n| planted share | shift in nats | undone without the most AI-like fifth | by random ones | p below .05 |")
    print("| --- | --- | --- | --- | --- |")
    for share, rows in trims.items():
        shift, undone, control, alarms = np.mean(np.array(rows, dtype=float), axis=0)
        print(f"| {share:.0%} | {shift:.2f} | {undone:+.2f} | {control:+.2f} | {alarms:.1%} |")
    print("\n| planted candidate | AUC of likeness, planted against human |")
    print("| --- | --- |")
    for z, name in enumerate(world.names):
        models = [c for c in range(size) if c not in world.kin(z)]
        human = world.human[:, models].mean(axis=1) - world.humans
        other = world.planted[:, models, z].mean(axis=1) - world.humans_planted[:, z]
        rank = scipy_stats.mannwhitneyu(other, human).statistic / len(human) / len(other)
        print(f"| {name} | {rank:.3f} |")


if __name__ == "__main__":
    main()

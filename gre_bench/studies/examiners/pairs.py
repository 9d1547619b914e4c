"""Measures preferences between two texts about one source, and rates the authors of the texts.

A pair of texts is a game between their two authors, who are called the players. Humans decide each game: the higher
human score wins. Each LM decides each game too. If there is a panel, its chair also decides, by a weighted vote of the
LMs that pass an exam. The exam measures how often an LM agrees with the humans on pairs of the exam's texts. The games
give Elo and Bradley-Terry ratings of the players.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

from gre_bench.core.errors import SettingsError
from gre_bench.examiners.asking import FREE
from gre_bench.examiners.panel.bradley_terry import Game, bradley_terry
from gre_bench.examiners.panel.chair import decide, verdict, weights
from gre_bench.examiners.panel.elo import elo_spread
from gre_bench.examiners.panel.pairwise import Preference, TextPair, games, position_bias
from gre_bench.examiners.panel.qualification import Exam, agreement, exam
from gre_bench.ingest.datasets.rated import GradedText
from gre_bench.studies.examiners.settings import PairwiseSettings, PanelSettings

Report = dict[str, Any]


def pairs_of(texts: Sequence[GradedText], settings: PairwiseSettings) -> list[TextPair]:
    """Returns pairs of *texts* that are about one source and by different players.

    The order is random, by the seed in *settings*. At most ``settings.games`` pairs are returned. Raises
    `SettingsError` if there are no such pairs.
    """
    by_group: dict[str, list[GradedText]] = {}
    for text in texts:
        if text.player:
            by_group.setdefault(text.group, []).append(text)
    pairs = [
        TextPair(
            f"{first.item_id} {second.item_id}", first.source, first.player, second.player, first.text, second.text
        )
        for group in by_group.values()
        for first, second in combinations(group, 2)
        if first.player != second.player
    ]
    if not pairs:
        raise SettingsError("pairwise: no two texts about one source by different players (column model_id)")
    random.Random(settings.seed).shuffle(pairs)
    return pairs[: settings.games]


def reports(
    pairs: Sequence[TextPair],
    preferences_of: Mapping[str, Sequence[Preference]],
    texts: Sequence[GradedText],
    settings: PairwiseSettings,
    panel: PanelSettings | None,
    exam_texts: set[str],
) -> list[Report]:
    """Returns one report of the games for the humans, and one for each LM.

    If there is a *panel*, each rule by which its chair weights the votes also gets a report.

    *preferences_of*: LM → its preferences, in the order of *pairs*. *texts*: the texts with human scores.
    *exam_texts*: ids of the texts in the panel's exam.
    """
    human = {text.item_id: text.human for text in texts if text.human is not None}
    gold = [_human_score(pair, human) for pair in pairs]
    rows = [_played("humans", [_game(*game) for game in zip(pairs, gold, strict=True)], settings)]
    exams = []
    for name, preferences in preferences_of.items():
        report = _played(name, games(preferences), settings)
        decided = [(item.score, score) for item, score in zip(preferences, gold, strict=True) if score != 0.5]
        cost = sum((item.cost for item in preferences), FREE)
        report |= {
            "accuracy": agreement([own for own, _ in decided], [score for _, score in decided], "exact")
            if decided
            else None,
            "position": asdict(position_bias(preferences)), "cost": asdict(cost),
        }  # fmt: skip
        if panel is not None:
            exams.append(_exam(name, pairs, preferences, gold, exam_texts, panel.threshold))
            report["exam"] = asdict(exams[-1])
        rows.append(report)
    if panel is not None:
        rows += [
            _chaired(rule, pairs, preferences_of, exams, exam_texts, settings, panel.alpha) for rule in panel.rules
        ]
    return rows


def _human_score(pair: TextPair, human: Mapping[str, float]) -> float:
    first, second = (human[name] for name in pair.item_id.split(" "))
    return 0.5 if first == second else float(first > second)


def _of_exam(pair: TextPair, exam_texts: set[str]) -> bool:
    return pair.item_id.split(" ")[0] in exam_texts


def _exam(
    name: str,
    pairs: Sequence[TextPair],
    preferences: Sequence[Preference],
    gold: Sequence[float],
    exam_texts: set[str],
    threshold: float,
) -> Exam:
    decided = [
        (preference.score, score)
        for pair, preference, score in zip(pairs, preferences, gold, strict=True)
        if _of_exam(pair, exam_texts) and score != 0.5
    ]
    if not decided:
        return Exam(name, None, None, 0, 0, False)
    own, human = map(list, zip(*decided, strict=True))
    return exam(name, own, gold=human, threshold=threshold)


def _chaired(
    rule: Any,
    pairs: Sequence[TextPair],
    preferences_of: Mapping[str, Sequence[Preference]],
    exams: Sequence[Exam],
    exam_texts: set[str],
    settings: PairwiseSettings,
    alpha: float,
) -> Report:
    try:
        weight_of = weights(exams, rule, alpha)
    except SettingsError as error:
        return _played(f"panel, {rule} weights", [], settings, str(error))
    decisions = decide({name: [item.score for item in preferences_of[name]] for name in weight_of}, weight_of)
    decided = [
        Game(pair.first, pair.second, score)
        for pair, decision in zip(pairs, decisions, strict=True)
        if not _of_exam(pair, exam_texts) and (score := verdict(decision)) is not None
    ]
    return _played(f"panel of {len(weight_of)}, {rule} weights", decided, settings)


def _game(pair: TextPair, score: float) -> Game:
    return Game(pair.first, pair.second, score)


def _played(name: str, played: Iterable[Game], settings: PairwiseSettings, problem: str | None = None) -> Report:
    """Returns the report *name* of the games *played*: their number, and the players' Elo and Bradley-Terry ratings.

    *problem*: a known problem to put into the report. If a player has won or lost every game, there are no
    Bradley-Terry ratings, and the report's *problem* says so.
    """
    games = list(played)
    report: Report = {"name": name, "games": len(games), "elo": [], "bradley_terry": [], "problem": problem}
    if not games:
        return report
    report["elo"] = [asdict(row) for row in elo_spread(games, settings.orders, settings.seed)]
    try:
        report["bradley_terry"] = [asdict(row) for row in bradley_terry(games)]
    except SettingsError as error:
        report["problem"] = str(error)
    return report

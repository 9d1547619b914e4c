"""Preferences between texts about one source: pairs, each LM's report, Elo and Bradley-Terry of those who wrote them.

Games are the humans' (the higher human score wins), each LM's, and with a panel the chair's over all LMs that pass an
exam on pairs: accuracy against the humans on pairs of the exam's texts.
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
from gre_bench.examiners.panel.pairwise import Pair, Preference, games, position_bias
from gre_bench.examiners.panel.qualification import Exam, agreement, exam
from gre_bench.ingest.datasets.graded_texts import GradedText
from gre_bench.studies.examiners.settings import PairwiseSettings, PanelSettings

Report = dict[str, Any]


def pairs_of(texts: Sequence[GradedText], settings: PairwiseSettings) -> list[Pair]:
    """Pairs of texts of one group by different players, in a seeded order; `SettingsError` if there are none."""
    by_group: dict[str, list[GradedText]] = {}
    for text in texts:
        if text.player:
            by_group.setdefault(text.group, []).append(text)
    found = [
        Pair(f"{one.item_id} {two.item_id}", one.source, one.player, two.player, one.text, two.text)
        for group in by_group.values()
        for one, two in combinations(group, 2)
        if one.player != two.player
    ]
    if not found:
        raise SettingsError("pairwise: no two texts about one source by different players (column model_id)")
    random.Random(settings.seed).shuffle(found)
    return found[: settings.games]


def reports(
    pairs: Sequence[Pair],
    said: Mapping[str, Sequence[Preference]],
    texts: Sequence[GradedText],
    settings: PairwiseSettings,
    panel: PanelSettings | None,
    asked: set[str],
) -> list[Report]:
    """The humans' games, each LM's report, and the chair's games if there is a *panel*; *asked*: its exam's texts."""
    human = {text.item_id: text.human for text in texts if text.human is not None}
    gold = [_human_score(pair, human) for pair in pairs]
    found = [_played("humans", [_game(*one) for one in zip(pairs, gold, strict=True)], settings)]
    exams = []
    for name, preferences in said.items():
        report = _played(name, games(preferences), settings)
        told = [(one.score, score) for one, score in zip(preferences, gold, strict=True) if score != 0.5]
        cost = sum((one.cost for one in preferences), FREE)
        report |= {
            "accuracy": agreement([said for said, _ in told], [score for _, score in told], "exact") if told else None,
            "position": asdict(position_bias(preferences)), "cost": asdict(cost),
        }  # fmt: skip
        if panel is not None:
            exams.append(_exam(name, pairs, preferences, gold, asked, panel.threshold))
            report["exam"] = asdict(exams[-1])
        found.append(report)
    if panel is not None:
        found += [_chaired(rule, pairs, said, exams, asked, settings, panel.alpha) for rule in panel.rules]
    return found


def _human_score(pair: Pair, human: Mapping[str, float]) -> float:
    one, two = (human[name] for name in pair.item_id.split(" "))
    return 0.5 if one == two else float(one > two)


def _of_exam(pair: Pair, asked: set[str]) -> bool:
    return pair.item_id.split(" ")[0] in asked


def _exam(
    name: str,
    pairs: Sequence[Pair],
    said: Sequence[Preference],
    gold: Sequence[float],
    asked: set[str],
    threshold: float,
) -> Exam:
    told = [
        (one.score, score)
        for pair, one, score in zip(pairs, said, gold, strict=True)
        if _of_exam(pair, asked) and score != 0.5
    ]
    if not told:
        return Exam(name, None, None, 0, 0, False)
    given, wanted = map(list, zip(*told, strict=True))
    return exam(name, given, gold=wanted, threshold=threshold)


def _chaired(
    rule: Any,
    pairs: Sequence[Pair],
    said: Mapping[str, Sequence[Preference]],
    exams: Sequence[Exam],
    asked: set[str],
    settings: PairwiseSettings,
    alpha: float,
) -> Report:
    try:
        by = weights(exams, rule, alpha)
    except SettingsError as error:
        return _played(f"panel, {rule} weights", [], settings, str(error))
    decisions = decide({name: [one.score for one in said[name]] for name in by}, by)
    settled = [
        Game(pair.first, pair.second, score)
        for pair, decision in zip(pairs, decisions, strict=True)
        if not _of_exam(pair, asked) and (score := verdict(decision)) is not None
    ]
    return _played(f"panel of {len(by)}, {rule} weights", settled, settings)


def _game(pair: Pair, score: float) -> Game:
    return Game(pair.first, pair.second, score)


def _played(name: str, played: Iterable[Game], settings: PairwiseSettings, problem: str | None = None) -> Report:
    """What *played* games come to. Bradley-Terry has no strengths where somebody has won or lost all: it says so."""
    found = list(played)
    report: Report = {"name": name, "games": len(found), "elo": [], "bradley_terry": [], "problem": problem}
    if not found:
        return report
    report["elo"] = [asdict(one) for one in elo_spread(found, settings.orders, settings.seed)]
    try:
        report["bradley_terry"] = [asdict(one) for one in bradley_terry(found)]
    except SettingsError as error:
        report["problem"] = str(error)
    return report

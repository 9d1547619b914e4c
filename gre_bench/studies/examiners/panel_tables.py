"""Tables of a study's panel and of its pairs, as rows of text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gre_bench.examiners.panel.panel import Panel
from gre_bench.studies.examiners.tables import Sheet, share


def panel_sheet(panel: Panel) -> Sheet:
    """The exams and the chair's weights."""
    rules = tuple(panel.weights)
    rows = tuple(
        (one.examiner, _number(one.reference), _number(one.consistency), f"{one.questions - one.unanswered} of "
         f"{one.questions}", "yes" if one.passed else "no",
         *(_number(panel.weights[rule].get(one.examiner)) for rule in rules))
        for one in panel.exams
    )  # fmt: skip
    heads = ("Examiner", "by the humans", "with itself", "answered", "passed", *(f"{rule} weight" for rule in rules))
    return Sheet("Qualification exam, and the chair's weights", heads, rows)


def pairs_sheets(played: Sequence[Mapping[str, Any]]) -> Iterable[Sheet]:
    """How each LM prefers, and who wins by it."""
    judged = [report for report in played if "position" in report]
    rows = tuple(
        (report["name"], str(place["pairs"]), share(report["accuracy"]), str(place["consistent"]),
         str(place["always_first"]), str(place["always_second"]), str(place["unanswered"]),
         _interval(place["first_share"]), "–" if place["p"] is None else f"{place['p']:.2g}",
         {True: "yes", False: "no", None: "–"}[(report.get("exam") or {}).get("passed")])
        for report in judged
        for place in (report["position"],)
    )  # fmt: skip
    heads = ("LM", "pairs", "accuracy", "consistent", "always first", "always second", "unanswered", "named first",
             "p", "passed")  # fmt: skip
    note = (
        "Each pair is asked in both orders; who names the same place twice goes by the place, and the pair is a tie. "
        "Accuracy: over pairs whose human scores differ, ties and unanswered ones counted as wrong. Named first: share "
        "of answers, 0.5 without bias; p: binomial, over the inconsistent pairs."
    )
    idle = tuple(f"{report['name']}: {report['problem']}" for report in played if not report["games"])
    yield Sheet("Preferences, and position bias", heads, rows, 1, (note, *idle))
    for report in (one for one in played if one["games"]):
        strengths = {one["player"]: one for one in report["bradley_terry"]}
        players = tuple(
            (one["player"], f"{one['value']:.0f} ({one['low']:.0f}, {one['high']:.0f})",
             _strength(strengths.get(one["player"])))
            for one in report["elo"]
        )  # fmt: skip
        notes = (report["problem"],) if report["problem"] else ()
        title = f"Who wins by {report['name']} ({report['games']} games)"
        yield Sheet(title, ("Player", "Elo", "Bradley-Terry"), players, 1, notes)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _interval(row: Mapping[str, float] | None) -> str:
    return "–" if row is None else f"{row['value']:.2f} ({row['low']:.2f}, {row['high']:.2f})"


def _strength(row: Mapping[str, float] | None) -> str:
    return "–" if row is None else f"{row['value']:+.2f} ({row['low']:+.2f}, {row['high']:+.2f})"

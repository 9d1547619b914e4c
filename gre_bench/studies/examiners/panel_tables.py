"""Makes the tables of a study's panel and of its preferences between pairs, with all cells as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gre_bench.examiners.panel.panel import Panel
from gre_bench.studies.examiners.tables import Sheet, share


def panel_sheet(panel: Panel) -> Sheet:
    """Returns a table with one row per examiner: its results in the exam, and the weights that the chair gives it."""
    rules = tuple(panel.weights)
    rows = tuple(
        (exam.examiner, _number(exam.reference), _number(exam.consistency), f"{exam.questions - exam.unanswered} of "
         f"{exam.questions}", "yes" if exam.passed else "no",
         *(_number(panel.weights[rule].get(exam.examiner)) for rule in rules))
        for exam in panel.exams
    )  # fmt: skip
    heads = ("Examiner", "by the humans", "with itself", "answered", "passed", *(f"{rule} weight" for rule in rules))
    return Sheet("Qualification exam, and the chair's weights", heads, rows)


def pairs_sheets(played: Sequence[Mapping[str, Any]]) -> Iterable[Sheet]:
    """Yields the table of all LMs' preferences, then one table of the players' ratings for each report.

    *played*: the reports of `pairs.reports`.
    """
    judged = [report for report in played if "position" in report]
    rows = tuple(
        (report["name"], str(position["pairs"]), share(report["accuracy"]), str(position["consistent"]),
         str(position["always_first"]), str(position["always_second"]), str(position["unanswered"]),
         _interval(position["first_share"]), "–" if position["p"] is None else f"{position['p']:.2g}",
         {True: "yes", False: "no", None: "–"}[(report.get("exam") or {}).get("passed")])
        for report in judged
        for position in (report["position"],)
    )  # fmt: skip
    heads = ("LM", "pairs", "accuracy", "consistent", "always first", "always second", "unanswered", "named first",
             "p", "passed")  # fmt: skip
    note = (
        "Each pair is asked in both orders; if an LM names the same position twice, its position decided, and the "
        "pair is a tie. Accuracy: over pairs whose human scores differ; ties and unanswered pairs count as wrong. "
        "Named first: share of answers, 0.5 without bias; p: binomial, over the inconsistent pairs."
    )
    idle = tuple(f"{report['name']}: {report['problem']}" for report in played if not report["games"])
    yield Sheet("Preferences, and position bias", heads, rows, 1, (note, *idle))
    for report in (item for item in played if item["games"]):
        strengths = {row["player"]: row for row in report["bradley_terry"]}
        players = tuple(
            (row["player"], f"{row['value']:.0f} ({row['low']:.0f}, {row['high']:.0f})",
             _strength(strengths.get(row["player"])))
            for row in report["elo"]
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

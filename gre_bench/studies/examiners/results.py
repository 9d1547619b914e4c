"""The results of an examiner study: its summary, its tables, and its files in ``state/studies/examiners/NAME``.

grades.csv         one row for each text, graded by one examiner with one LM
outcomes.csv       one row for each combination of examiner and LM
differences.csv    one row for each pair of examiners that are compared
tables.md          all tables, some also laid out as in Kim et al. 2023 and Kotonya et al. 2023
rationales-*.csv   sheets for a human to fill in
study.json         settings, sources and all numbers

Each file is replaced atomically.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gre_bench.core.terminal import counted, format_markdown_cell, format_markdown_table
from gre_bench.examiners.panel import ExaminerExamResult
from gre_bench.examiners.rater_results import (
    KINDS,
    RaterDifference,
    RaterGrades,
    RaterResult,
    TextTable,
    compare_raters,
    compute_rater_result,
    fill_published_table,
    title,
)
from gre_bench.examiners.rater_results import sample_rationales as error_sheet
from gre_bench.studies.examiners.inputs import ExaminerGrid, HumanScoredTexts, StudySettings
from gre_bench.studies.guidelines import RECORD, format_rows_as_csv, make_study_folder, write_text_file

KIND = "examiners"
LEGEND = (
    "Kendall's τ-b, Spearman's ρ and Pearson's r with the human scores over all texts, 95% intervals in parentheses: "
    "texts of one source are resampled together. Ties: share of pairs of texts with equal scores. Scores: different "
    "ones, before and after binning where it changes them. Unread: replies that could not be read. Published values: "
    "other LMs, and other texts (1,280 of the development set, 825 of the test set)."
)
BEST = (
    "Less the best: Kendall's τ minus that of the examiner with the highest one here, which was chosen on the same "
    "texts and is therefore slightly too high; less length: minus that of the number of words. Holm's correction "
    "within each column."
)


@dataclass(frozen=True, slots=True)
class PanelResult:
    """The results of a panel of examiners. *weights*: rule of weighting → examiner → weight.

    *columns*: for each rule, the panel's grades: the weighted means of the examiners' grades.
    """

    exams: list[ExaminerExamResult]
    weights: dict[str, dict[str, float]]
    columns: list[RaterGrades]


def build_agreement_sheet(results: Sequence[RaterResult], tests: Sequence[RaterDifference]) -> TextTable:
    """Returns the table of agreement with the human scores, one row per examiner and LM, the best first."""
    beside: dict[tuple[str, str], str] = {}
    for test in tests:
        if test.difference is not None:
            beside[test.family, test.first] = f"{test.difference:+.3f} (p {test.p_holm:.2g})"
        if test.family == "best":
            beside["best", test.second] = "best"
    rows = []
    for result in sorted(results, key=lambda result: -(result.kendall.value if result.kendall else -2.0)):
        name = title(result.name, result.by)
        coefficients = [
            "–" if each is None else f"{each.value:+.3f} ({each.low:+.3f}, {each.high:+.3f})"
            for each in (result.kendall, result.spearman, result.pearson)
        ]
        scores = f"{result.before} → {result.after}" if result.before != result.after else str(result.after)
        less = [beside.get((family, name), "–") for family in ("best", "length")]
        rows.append((result.name, result.by or "–", *coefficients, *less, f"{result.scored} of {result.planned}",
                     _format_share_or_dash(result.tied), scores))  # fmt: skip
    heads = ("Examiner", "LM", "Kendall τ-b", "Spearman ρ", "Pearson r", "less the best", "less length", "texts",
             "ties", "scores")  # fmt: skip
    return TextTable("Agreement with the human scores", heads, tuple(rows), 2, (LEGEND, BEST))


def build_cost_sheet(results: Sequence[RaterResult]) -> TextTable:
    rows = tuple(
        (result.name, result.by or "–", str(result.replies),
         _format_share_or_dash(result.unparsable / result.replies if result.replies else None),
         _format_share_or_dash(result.hallucinated / result.replies if result.replies else None), str(result.filtered),
         "–" if result.mass is None else f"{result.mass:.2g}", str(result.prompt_tokens), str(result.reply_tokens),
         "unknown" if result.usd is None else f"{result.usd:.2f}", f"{result.seconds:.1f}")
        for result in results
        if result.kind != "panel"
    )  # fmt: skip
    heads = ("Examiner", "LM", "replies", "unread", "hallucinated", "filtered", "mass", "prompt tokens",
             "reply tokens", "USD", "s")  # fmt: skip
    note = (
        "USD: all replies at the models file's prices, also those that the archive had. s: this run, in which archived "
        "replies take next to no time. Mass: mean probability of all declared scores together (logprob). Hallucinated: "
        'replies with an "Answer:" that the prompt did not ask for.'
    )
    return TextTable("What it cost", heads, rows, 2, (note,))


def list_missing_grades(results: Sequence[RaterResult]) -> list[str]:
    """Returns lines that say, for each examiner and LM, why texts have no grade, or why there is no correlation."""
    named = [(title(result.name, result.by), result) for result in results]
    lines = [f"{name}: {why} ({count})" for name, result in named for why, count in result.reasons.items()]
    return lines + [f"{name}: no coefficient: {result.problem}" for name, result in named if result.problem]


def format_tables_as_markdown(sheets: Iterable[TextTable], reasons: Sequence[str]) -> str:
    """Returns *sheets* and *reasons*, the lines of `list_missing_grades`, as Markdown."""
    lines = []
    for sheet in sheets:
        rows = (list(map(format_markdown_cell, row)) for row in sheet.rows)
        table = format_markdown_table(list(map(format_markdown_cell, sheet.heads)), rows)
        lines += [f"## {format_markdown_cell(sheet.title)}", "", *table, ""]
        lines += [f"- {format_markdown_cell(note)}" for note in sheet.notes] + ([""] if sheet.notes else [])
    lines += ["## Without a grade", "", *(f"- {format_markdown_cell(line)}" for line in reasons), ""] if reasons else []
    return "\n".join(lines)


def build_panel_sheet(panel: PanelResult) -> TextTable:
    """Returns a table with a row per examiner: its exam results, and its weight in the panel under each rule."""
    rules = tuple(panel.weights)
    rows = tuple(
        (exam.examiner, _format_number_or_dash(exam.reference), _format_number_or_dash(exam.consistency),
         f"{exam.questions - exam.unanswered} of {exam.questions}", "yes" if exam.passed else "no",
         *(_format_number_or_dash(panel.weights[rule].get(exam.examiner)) for rule in rules))
        for exam in panel.exams
    )  # fmt: skip
    heads = ("Examiner", "by the humans", "with itself", "answered", "passed", *(f"{rule} weight" for rule in rules))
    return TextTable("Qualification exam, and the chair's weights", heads, rows)


def build_preference_sheets(played: Sequence[Mapping[str, Any]]) -> Iterable[TextTable]:
    """Yields the table of all LMs' preferences between two texts, then tables of player ratings.

    A player is an author of texts. *played*: the reports from `build_game_reports`. Each report with games has a table
    of ratings.
    """
    rows = []
    for report in played:
        if "position" not in report:
            continue
        position, first = report["position"], report["position"]["first_share"]
        named = "–" if first is None else f"{first['value']:.2f} ({first['low']:.2f}, {first['high']:.2f})"
        rows.append(
            (report["name"], str(position["pairs"]), _format_share_or_dash(report["accuracy"]),
             str(position["consistent"]), str(position["always_first"]), str(position["always_second"]),
             str(position["unanswered"]), named,
             "–" if position["p"] is None else f"{position['p']:.2g}",
             {True: "yes", False: "no", None: "–"}[(report.get("exam") or {}).get("passed")])
        )  # fmt: skip
    heads = ("LM", "pairs", "accuracy", "consistent", "always first", "always second", "unanswered", "named first",
             "p", "passed")  # fmt: skip
    note = (
        "Each pair is asked in both orders; if an LM names the same position twice, its position decided, and the "
        "pair is a tie. Accuracy: over pairs whose human scores differ; ties and unanswered pairs count as wrong. "
        "Named first: share of answers, 0.5 without bias; p: binomial, over the inconsistent pairs."
    )
    idle = tuple(f"{report['name']}: {report['problem']}" for report in played if not report["games"])
    yield TextTable("Preferences, and position bias", heads, tuple(rows), 1, (note, *idle))
    for report in (item for item in played if item["games"]):
        strengths = {row["player"]: row for row in report["bradley_terry"]}
        players = []
        for row in report["elo"]:
            beta = strengths.get(row["player"])
            strength = "–" if beta is None else f"{beta['value']:+.2f} ({beta['low']:+.2f}, {beta['high']:+.2f})"
            players.append((row["player"], f"{row['value']:.0f} ({row['low']:.0f}, {row['high']:.0f})", strength))
        notes = (report["problem"],) if report["problem"] else ()
        heading = f"Who wins by {report['name']} ({report['games']} games)"
        yield TextTable(heading, ("Player", "Elo", "Bradley-Terry"), tuple(players), 1, notes)


def _format_share_or_dash(part: float | None) -> str:
    return "–" if part is None else f"{part:.1%}"


def _format_number_or_dash(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def write_examiner_study(
    state: Path, name: str, settings: StudySettings, material: HumanScoredTexts, grid: ExaminerGrid,
    columns: Sequence[RaterGrades], panel: PanelResult | None, played: Sequence[Mapping[str, Any]],
    signatures: Mapping[str, Mapping[str, Any]], written: Mapping[str, str],
) -> dict[str, Any]:  # fmt: skip
    """Writes the files of the study *name*, and returns ``study.json``.

    Raises `SettingsError` as `make_study_folder` does.

    *played*: the reports from `build_game_reports`. *signatures*: column → how it was graded. *written*: examiner → the
    instructions that an LM wrote for it.
    """
    folder = make_study_folder(state, name, material.source, KIND)
    texts = material.texts
    human = {text.item_id: text.human for text in texts if text.human is not None}
    groups = {text.item_id: text.group for text in texts}
    bootstrap = {"resamples": settings.resamples, "seed": settings.seed}
    outcomes = [compute_rater_result(column, human, groups, **bootstrap) for column in columns]
    tests = compare_raters(columns, outcomes, human, groups, **bootstrap)
    missing, message = sum(item.missing for item in outcomes if item.kind != "panel"), ""
    if missing:
        problems = (grade.problem for column in columns if column.kind != "panel" for grade in column.grades)
        problem = next(item for item in problems if item is not None and not item.final)
        message = f"{counted(missing, 'grade')} still missing: {problem.message}; run it again"
    sheets = [build_agreement_sheet(outcomes, tests), build_cost_sheet(outcomes)]
    sheets += [build_panel_sheet(panel)] if panel else []
    sheets += build_preference_sheets(played) if played else []
    sheets += [fill_published_table(published, rows, outcomes) for published, rows in grid.rows.items()]
    summary = {
        "study": name, "folder": str(folder), "outcome": "incomplete" if missing else "done",
        "message": message, "source": dict(material.source),
        "texts": len(texts), "sources": len(set(groups.values())), "settings": settings.model_dump(mode="json"),
        "signatures": {title: dict(signed) for title, signed in signatures.items()},
        "instructions": dict(written), "outcomes": [asdict(item) for item in outcomes],
        "differences": [asdict(test) for test in tests],
        "panel": panel and {"exams": list(map(asdict, panel.exams)), "weights": panel.weights},
        "pairs": [dict(report) for report in played],
        "rows": {published: dict(rows) for published, rows in grid.rows.items()},
        "tables": [asdict(sheet) for sheet in sheets], "lacking": list_missing_grades(outcomes),
    }  # fmt: skip
    write_text_file(folder / "grades.csv", format_rows_as_csv(_yield_grade_rows(columns, human)))
    write_text_file(folder / "outcomes.csv", format_rows_as_csv(map(_flatten_result, outcomes)))
    write_text_file(folder / "differences.csv", format_rows_as_csv(map(asdict, tests)))
    write_text_file(folder / "tables.md", format_tables_as_markdown(sheets, list_missing_grades(outcomes)))
    items = material.items
    for column in columns:
        if column.kind != "examiner":
            continue
        if rows := error_sheet(items, column.grades, settings.rationales, settings.seed):
            write_text_file(
                folder / f"rationales-{re.sub(r'[^A-Za-z0-9._-]+', '-', column.title)}.csv", format_rows_as_csv(rows)
            )
    write_text_file(folder / RECORD, json.dumps(summary, indent=1, ensure_ascii=False, allow_nan=False))
    return summary


def _yield_grade_rows(columns: Sequence[RaterGrades], human: Mapping[str, float]) -> Iterable[dict[str, Any]]:
    for column in columns:
        ids = {"examiner": column.name, "lm": column.by}
        for grade in column.grades:
            problem = grade.problem
            state = "scored" if problem is None else "failed" if problem.final else "missing"
            yield {
                **ids, "item_id": grade.item_id, "state": state, "grade": grade.value,
                "human": human.get(grade.item_id), "filtered": grade.filtered or None,
                "parts": json.dumps(grade.parts) if grade.parts else None,
                "reason": f"{problem.code}: {problem.message}" if problem else None,
            }  # fmt: skip
        for name, reason in column.excluded.items():
            yield {**ids, "item_id": name, "state": "excluded", "human": human.get(name), "reason": reason}


def _flatten_result(outcome: RaterResult) -> dict[str, Any]:
    whole = asdict(outcome)
    for name in KINDS:
        estimate = whole.pop(name) or {}
        whole |= {name if key == "value" else f"{name}_{key}": value for key, value in estimate.items()}
    return whole | {"reasons": "; ".join(f"{reason} ({count})" for reason, count in outcome.reasons.items())}

"""A guideline study: its papers and guidelines, its results, and its files in ``state/studies/guidelines/NAME``.

ratings.csv        one row per model, condition and planned paper
outcomes.csv       one row per model and condition
differences.csv    one row per model and pair of conditions that are compared
tables.md          the tables in the paper's layout
distributions.svg  how often each rating was given
reviews.jsonl      the texts
study.json         settings, sources and all numbers

A condition is a variant of the prompt for reviews: with one guideline, or without any. Each file is replaced
atomically.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from gre_bench.core import whole_files
from gre_bench.core.errors import ReplyError, SettingsError, SourceError
from gre_bench.core.incoming import read_bytes, read_text
from gre_bench.core.records import HUMAN, Paper
from gre_bench.core.strict import load_json
from gre_bench.core.terminal import counted, format_csv_table, format_markdown_cell, format_markdown_table
from gre_bench.guidelines import checklist
from gre_bench.guidelines.outcomes import (
    NO_HUMAN,
    ConditionResult,
    RmseReference,
    average_human_ratings,
    compare_conditions_by_model,
    compute_condition_results,
    compute_rmse_reference,
    split_into_lower_case_words,
)
from gre_bench.guidelines.ratings import (
    HIGHEST,
    LOWEST,
    ImportedReview,
    Rating,
    convert_imported_reviews_to_ratings,
    derive_condition_name,
    strip_shared_name_parts,
)
from gre_bench.guidelines.rmse_tables import RmseRow, Table, build_tables, draw_rating_shares
from gre_bench.ingest.datasets.rated import HUMAN_FILE, REVIEW_FILES, read_human_ratings, read_rated_reviews
from gre_bench.ingest.pdf.matter import parse_abstract_and_body
from gre_bench.ingest.records.tables import read_new_papers
from gre_bench.pipeline.importing import file_sha256
from gre_bench.prompts.conditions import RUBRIC, GuidelineCondition, load_condition
from gre_bench.store import Store, missing_edition_error
from gre_bench.store.queries import PAPERS, REVIEWS, TEXTS

RECORD = "study.json"
KIND = "guidelines"
_MADE_OF = {"guidelines": "papers or ratings", "examiners": "texts"}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")

LEGEND = (
    "RMSE against the mean human rating, lower is better; in parentheses its 95% interval by paper. Bold: lowest of "
    "the row; underlined: the next. Published rows: ICLR 2024, 1,500 papers, other models."
)
CLOSE = ("Model", "Condition", "RMSE", "Bias", "Spearman", "Papers")
GIVEN = ("Model", "Condition", *map(str, range(LOWEST, HIGHEST + 1)), "Words", "TTR", "TTR 50")
WORDS = "Words: of a review, mean. TTR: distinct words over words, mean; TTR 50: over runs of 50 words, free of length."


def format_study_as_markdown(
    tables: Sequence[Table], outcomes: Sequence[ConditionResult], measure: RmseReference | None
) -> str:
    def format_rows(heads: Sequence[str], cells: Iterable[Sequence[str]]) -> list[str]:
        return format_markdown_table(heads, (list(map(format_markdown_cell, row)) for row in cells))

    reasons = [f"- {format_markdown_cell(line)}" for line in list_missing_ratings(outcomes)]
    return "\n".join(
        [
            *(LEGEND, "", *map(_format_table_as_markdown, tables), *format_rmse_reference(measure), ""),
            *("## How close to the human means", "", *format_rows(CLOSE, map(format_closeness_cells, outcomes)), ""),
            *(
                "## Ratings given, and how the reviews are worded",
                "",
                *format_rows(GIVEN, yield_rating_distribution_rows(outcomes, measure)),
                "",
            ),
            WORDS,
            *(("", "Without a rating:", "", *reasons) if reasons else ()),
            "",
        ]
    )


def format_rmse_reference(measure: RmseReference | None) -> list[str]:
    """Returns lines that state the values in *measure* with which to compare an RMSE; [] for None."""
    if measure is None:
        return []
    lines = [
        f"For comparison, over {measure.papers} papers: the best constant rating ({measure.mean:.2f} for all, "
        f"known in hindsight) has an RMSE of {measure.constant:.2f}."
    ]
    if measure.reviewer is not None:
        lines += [
            f"One human reviewer against the mean of the paper's other reviewers has {measure.reviewer:.2f} "
            f"({measure.ratings} ratings)."
        ]
    return lines


def format_marked_cell(line: RmseRow, column: str, lowest: tuple[str, str], second: tuple[str, str]) -> str:
    """Returns the value in *column* with its interval. *lowest*, *second*: marks for the row's best two values."""
    cell = line.cells.get(column)
    if cell is None:
        return "N/A" if line.published else "–"
    before, after = {1: lowest, 2: second}.get(line.find_best_place(column) or 0, ("", ""))
    interval = "" if cell.low is None or cell.high is None else f" ({cell.low:.2f}, {cell.high:.2f})"
    return f"{before}{cell.value:.2f}{interval}{after}"


def format_closeness_cells(outcome: ConditionResult) -> list[str]:
    close, cells = outcome.closeness, ["–", "–", "–"]
    if close:
        estimates = close.rmse, close.bias, close.spearman
        cells = [f"{item.value:.2f} ({item.low:.2f}, {item.high:.2f})" if item else "–" for item in estimates]
    return [outcome.model, outcome.condition, *cells, f"{outcome.scored} of {outcome.planned}"]


def yield_rating_distribution_rows(
    outcomes: Sequence[ConditionResult], measure: RmseReference | None
) -> Iterable[list[str]]:
    """Yields table rows with the columns `GIVEN`: how often each rating occurs, and how the reviews are worded.

    If *measure* is given, the first row counts the rounded human means. Then comes a row for each of *outcomes*.
    """
    if measure:
        yield ["human means", "", *map(str, measure.distribution.values()), "", "", ""]
    for outcome in outcomes:
        texts, cells = outcome.wording, ["–", "–", "–"]
        if texts:
            moving = "–" if texts.moving_ratio is None else f"{texts.moving_ratio:.2f}"
            cells = [f"{texts.mean_words:.0f}", f"{texts.type_token_ratio:.2f}", moving]
        yield [outcome.model, outcome.condition, *map(str, outcome.distribution.values()), *cells]


def list_missing_ratings(outcomes: Sequence[ConditionResult]) -> list[str]:
    return [f"{row.model}, {row.condition}: {why} ({count})" for row in outcomes for why, count in row.reasons.items()]


def _format_table_as_markdown(table: Table) -> str:
    rows, notes = [], []
    for line in table.lines:
        labels = [f"{line.labels[0]} (published)" if line.published else line.labels[0], *line.labels[1:]]
        numbers = [format_marked_cell(line, column, ("**", "**"), ("<u>", "</u>")) for column in table.columns]
        rows.append([*map(format_markdown_cell, labels), *numbers])
        title = format_markdown_cell(" ".join(line.labels))
        notes += [f"- {title}, {column}: {cell.note}" for column, cell in line.cells.items() if cell.note]
    shown = format_markdown_table((*table.heads, *table.columns), rows)
    return "\n".join([f"## {table.title}", "", *shown, "", *(["Printed, and odd:", "", *notes, ""] if notes else [])])


def parse_outcomes(summary: Mapping[str, Any]) -> list[ConditionResult]:
    return TypeAdapter(list[ConditionResult]).validate_python(summary["outcomes"])


def parse_rmse_reference(summary: Mapping[str, Any]) -> RmseReference | None:
    return TypeAdapter(RmseReference | None).validate_python(summary["yardstick"] or None)


def make_study_folder(state: Path, name: str, source: Mapping[str, str], kind: str = KIND) -> Path:
    """Returns the folder of the study *name* under *state*; creates it if missing.

    *source*: digests that identify the study's material. Raises `SettingsError` for an unusable name, or if the folder
    has a study of other material.
    """
    if not _NAME.fullmatch(name):
        raise SettingsError(f"study name {name!r:.100}: letters, digits and . _ -, at most 80; choose one with --name")
    folder = state / "studies" / kind / name
    try:
        before = load_json(read_bytes(folder / RECORD))["source"]
    except FileNotFoundError:
        before = dict(source)
    except (OSError, ValueError, KeyError, TypeError, SourceError):
        raise SettingsError(f"{folder / RECORD} is damaged; remove the folder, or choose another --name") from None
    if before != dict(source):
        raise SettingsError(f"study {name} was made of other {_MADE_OF[kind]}; choose another name with --name")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"{folder} cannot be written: {error.strerror}; choose another --state") from None
    return folder


def write_guideline_study(
    state: Path, name: str, source: Mapping[str, str], ratings: Sequence[Rating], human: Mapping[str, Sequence[float]],
    signatures: Mapping[str, Mapping[str, str]],
) -> dict[str, Any]:  # fmt: skip
    """Writes the files of the study *name*, and returns ``study.json``.

    Raises `SettingsError` as `make_study_folder` does.

    *ratings*: the LMs' ratings. *human*: paper id → human ratings. *signatures*: how each LM rated under each
    condition.
    """
    folder = make_study_folder(state, name, source)
    means = average_human_ratings(human)
    results, tests = compute_condition_results(ratings, means), compare_conditions_by_model(ratings, means)
    rated = {rating.paper_id for rating in ratings}
    measure = compute_rmse_reference({paper: given for paper, given in human.items() if paper in rated})
    missing = sum(outcome.missing for outcome in results)
    problem = next((item.problem for item in ratings if item.problem and not item.problem.final), None)
    message = f"{counted(missing, 'rating')} still missing: {problem.message}; run it again" if problem else ""
    summary: dict[str, Any] = {
        "study": name, "folder": str(folder), "outcome": "incomplete" if missing else "done",
        "message": message, "source": dict(source), "seed": 0,
        "signatures": {rater: dict(signed) for rater, signed in signatures.items()},
        "outcomes": [asdict(outcome) for outcome in results],
        "differences": {model: [asdict(row) for row in rows] for model, rows in tests.items()},
        "yardstick": measure and asdict(measure),
    }  # fmt: skip
    write_text_file(folder / "ratings.csv", format_rows_as_csv(_build_rating_rows(ratings, means)))
    write_text_file(folder / "outcomes.csv", format_rows_as_csv(map(build_outcome_row, results)))
    rows = [{"model": model, **_flatten_outcome(asdict(row))} for model, tested in tests.items() for row in tested]
    write_text_file(folder / "differences.csv", format_rows_as_csv(rows))
    write_text_file(folder / "tables.md", format_study_as_markdown(build_tables(results), results, measure))
    texts = [{"model": row.model, "condition": row.condition, "paper_id": row.paper_id, "review": row.text}
                 for row in ratings if row.text and signatures]  # fmt: skip
    if texts:
        write_text_file(folder / "reviews.jsonl", "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in texts))
    write_text_file(
        folder / "distributions.svg", draw_rating_shares(results, means, f"Ratings under guidelines: {name}")
    )
    summary["picture"] = str(folder / "distributions.svg")
    write_text_file(folder / RECORD, json.dumps(summary, indent=1, ensure_ascii=False, allow_nan=False))
    return summary


def build_outcome_row(outcome: ConditionResult) -> dict[str, Any]:
    whole = asdict(outcome)
    counts = {
        name: whole[name] for name in ("model", "condition", "planned", "scored", "excluded", "failed", "missing")
    }
    parts = {name: whole[name] or {} for name in ("closeness", "recomputed", "wording")}
    shares = {f"rated_{rating}": count for rating, count in outcome.distribution.items()}
    reasons = {"reasons": "; ".join(f"{reason} ({count})" for reason, count in outcome.reasons.items())}
    return counts | _flatten_outcome(parts) | shares | reasons


def write_text_file(path: Path, text: str) -> None:
    whole_files.write_file(path, text.encode())


def format_rows_as_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """Returns *rows* as CSV, with every column that any row has; "" if there are no rows."""
    listed = list(rows)
    names = list(dict.fromkeys(name for row in listed for name in row))
    return format_csv_table(names, ([row.get(name) for name in names] for row in listed)) if names else ""


def _build_rating_rows(ratings: Sequence[Rating], means: Mapping[str, float]) -> Iterable[dict[str, Any]]:
    for rating in ratings:
        problem, known = rating.problem, rating.paper_id in means
        state = "excluded" if not known else "scored" if problem is None else "failed" if problem.final else "missing"
        reason = NO_HUMAN if not known else f"{problem.code}: {problem.message}" if problem else None
        yield {
            "model": rating.model, "condition": rating.condition, "paper_id": rating.paper_id, "state": state,
            "rating": rating.value, "recomputed": rating.recomputed, "human_mean": means.get(rating.paper_id),
            "words": len(split_into_lower_case_words(rating.text)) if rating.text else None, "reason": reason,
        }  # fmt: skip


def _flatten_outcome(tree: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, Mapping):
            flat |= _flatten_outcome(value, f"{before}{name}_")
        else:
            flat[f"{before}{name}"] = value
    return flat


@dataclass(frozen=True, slots=True)
class RatedPapers:
    """Papers to review. *contents*: paper id → text. *human*: paper id → human ratings.

    *source*: what identifies the papers and ratings, such as digests of files.
    """

    contents: Mapping[str, str]
    human: Mapping[str, Sequence[float]]
    source: Mapping[str, str]


def load_rated_papers_from_files(papers: Path, ratings: Path, limit: int | None = None) -> RatedPapers:
    """Returns the papers in the file *papers* (as for ``gre-bench import papers``) that have ratings in *ratings*.

    Returns at most *limit* papers, in the order of the file, without their references and appendices. Raises
    `SourceError` for a refused row, or if no paper has a rating.
    """
    human = read_human_ratings(ratings)
    imported = read_new_papers(papers, {})
    if imported.refusals:
        first = imported.refusals[0]
        raise SourceError(
            f"{papers.name}: {counted(len(imported.refusals), 'row')} refused, first {first.item}: {first.reason}"
        )
    chosen = [paper for paper in imported.papers if human.get(paper.paper_id)][:limit]
    if not chosen:
        raise SourceError(f"no paper of {papers.name} has a human rating in {ratings.name}")
    source = {"papers": file_sha256(papers), "ratings": file_sha256(ratings)}
    contents = {}
    for paper in chosen:
        body = parse_abstract_and_body(paper.text or "")
        shown = replace(paper, abstract=paper.abstract or body.abstract, text=body.text)
        contents[paper.paper_id] = shown.whole if body.text else ""
    return RatedPapers(contents, {paper.paper_id: human[paper.paper_id] for paper in chosen}, source)


def load_rated_papers_from_edition(state: Path, edition: str, limit: int | None = None) -> RatedPapers:
    """Returns at most *limit* papers of an edition that have human reviews with ratings, and these ratings.

    Raises `SettingsError` for a missing edition, `SourceError` for an edition without such papers.
    """
    store = Store(state, edition)
    if not store.exists:
        raise missing_edition_error(state, edition)
    human: dict[str, list[float]] = {}
    for row in store.read(REVIEWS, texts=False):
        if row["candidate"] == HUMAN and row["rating"] is not None:
            human.setdefault(row["paper_id"], []).append(float(row["rating"]))
    contents = {paper: text for paper, text in read_whole_texts(store).items() if human.get(paper)}
    contents = dict(list(contents.items())[:limit])
    if not contents:
        raise SourceError(f"edition {store.key} has no human review with a rating")
    return RatedPapers(contents, {paper: human[paper] for paper in contents}, {"edition": store.key})


def read_whole_texts(store: Store) -> dict[str, str]:
    """Returns paper id → the paper's text in the form that LMs read ("" if it has none), for each paper of *store*."""
    read = {row["paper_id"]: row for row in store.read(TEXTS)}
    texts = {}
    for row in store.read(PAPERS):
        pdf = read.get(row["paper_id"], {})
        text = pdf.get("text") or row["text"]
        paper = Paper(row["paper_id"], row["title"], row["abstract"] or pdf.get("abstract"), text)
        texts[row["paper_id"]] = paper.whole if text else ""
    return texts


def load_ratings_from_folder(folder: Path) -> tuple[list[Rating], dict[str, tuple[float, ...]], dict[str, str]]:
    """Returns three results from *folder*: the LMs' ratings, paper id → human ratings, and file name → digest.

    Raises `SourceError` for a missing or faulty file.
    """
    if not folder.is_dir():
        raise SourceError(f"no folder {folder}; it holds {HUMAN_FILE} and {REVIEW_FILES[0]}")
    human = read_human_ratings(folder / HUMAN_FILE)
    rated = read_rated_reviews(folder)
    runs = {(review.model, review.run): derive_condition_name(review.model, review.run) for review in rated}
    short = strip_shared_name_parts(dict.fromkeys(runs.values()))
    reviews = [
        ImportedReview(review.paper_id, review.model, short[runs[review.model, review.run]], review.rating, review.text)
        for review in rated
    ]
    names = [name for name in (HUMAN_FILE, *REVIEW_FILES) if (folder / name).is_file()]
    source = {name: file_sha256(folder / name) for name in names}
    return (
        convert_imported_reviews_to_ratings(reviews, [paper for paper, ratings in human.items() if ratings]),
        human,
        source,
    )


def load_conditions(names: Sequence[str], files: Mapping[str, Path]) -> list[GuidelineCondition]:
    """Returns the conditions called *names*; without names, ``none`` and a condition for each of *files*.

    A condition is a variant of the prompt for reviews. *files*: name → file with the user's guideline. Raises
    `SourceError` if a file cannot be read. Also raises it for a condition ``NAME+rubric`` if the checklist in the
    user's guideline NAME does not have ten good and ten bad questions. Raises `SettingsError` as `load_condition` does.
    """
    texts = {}
    for name, path in files.items():
        try:
            texts[name] = read_text(path)
        except (OSError, UnicodeDecodeError) as error:
            raise SourceError(f"guideline {name}: {path} cannot be read: {error}") from None
    chosen_conditions = [load_condition(name, texts) for name in dict.fromkeys(names or ("none", *texts))]
    for chosen in chosen_conditions:
        if not chosen.rubric or chosen.name.removesuffix(RUBRIC) not in files:
            continue
        try:
            questions = checklist.parse_checklist(chosen.guideline)
        except ReplyError as error:
            raise SourceError(f"condition {chosen.name}: {error}") from None
        if not questions.has_ten_good_and_ten_bad:
            counts = f"{len(questions.good)} good and {len(questions.bad)} bad"
            raise SourceError(
                f"condition {chosen.name}: a rubric needs 10 good and 10 bad questions, this has {counts}"
            )
    return chosen_conditions

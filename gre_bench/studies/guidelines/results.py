"""Writes the files of a guideline study to ``state/studies/guidelines/NAME``.

ratings.csv        one row per model, condition and planned paper
outcomes.csv       one row per model and condition
differences.csv    one row per model and two conditions that are compared
tables.md          the tables in the paper's layout
distributions.svg  how often each rating was given
reviews.jsonl      the texts
study.json         settings, sources and all numbers

Each file is replaced in one step.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.incoming import read_bytes
from gre_bench.core.strict import load_json
from gre_bench.core.terminal import csv_table
from gre_bench.guidelines.outcomes import NO_HUMAN, ConditionResult, compared, human_means, outcomes, yardstick
from gre_bench.guidelines.ratings import Rating
from gre_bench.guidelines.tables import layout
from gre_bench.guidelines.wording import words
from gre_bench.studies.guidelines.tables import markdown

RECORD = "study.json"
KIND = "guidelines"
_MADE_OF = {"guidelines": "papers or ratings", "examiners": "texts"}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")


@dataclass(frozen=True, slots=True)
class Study:
    """The results of a study: the LMs' ratings and the human ratings of the same papers.

    - *source*: what identifies the material, by name, such as ``papers`` → digest of the file.
    - *ratings*: the LMs' ratings.
    - *human*: paper id → human ratings.
    - *signatures*: how each LM rated under each condition.
    - *seed*: the seed of the bootstrap.
    """

    name: str
    source: Mapping[str, str]
    ratings: Sequence[Rating]
    human: Mapping[str, Sequence[float]]
    signatures: Mapping[str, Mapping[str, str]]
    seed: int = 0


def study_folder(state: Path, name: str, source: Mapping[str, str], kind: str = KIND) -> Path:
    """Returns the folder of the study *name* under *state*, and makes it if necessary.

    *source*: digests that identify the study's material. *kind*: the kind of study, such as guidelines. Raises
    `SettingsError` for an unusable name, or if the folder holds a study of other material.
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


def keep(study: Study, state: Path) -> dict[str, Any]:
    """Computes the outcomes of *study*, writes its files under the folder *state*, and returns the summary.

    The summary is also the contents of ``study.json``. Raises `SettingsError` if the folder holds another study.
    """
    folder = study_folder(state, study.name, study.source)
    means = human_means(study.human)
    results = outcomes(study.ratings, means, seed=study.seed)
    tests = compared(study.ratings, means, seed=study.seed)
    rated = {rating.paper_id for rating in study.ratings}
    measure = yardstick({paper: ratings for paper, ratings in study.human.items() if paper in rated})
    missing = sum(outcome.missing for outcome in results)
    summary = {
        "study": study.name, "folder": str(folder), "outcome": "incomplete" if missing else "done",
        "message": _message(study.ratings, missing), "source": dict(study.source), "seed": study.seed,
        "signatures": {name: dict(signed) for name, signed in study.signatures.items()},
        "outcomes": [asdict(outcome) for outcome in results],
        "differences": {model: [asdict(row) for row in rows] for model, rows in tests.items()},
        "yardstick": measure and asdict(measure),
    }  # fmt: skip
    put(folder / "ratings.csv", table(_rating_rows(study.ratings, means)))
    put(folder / "outcomes.csv", table(map(outcome_row, results)))
    rows = [{"model": model, **_flat(asdict(row))} for model, tested in tests.items() for row in tested]
    put(folder / "differences.csv", table(rows))
    put(folder / "tables.md", markdown(layout(results), results, measure))
    texts = [{"model": row.model, "condition": row.condition, "paper_id": row.paper_id, "review": row.text}
                 for row in study.ratings if row.text and study.signatures]  # fmt: skip
    if texts:
        put(folder / "reviews.jsonl", "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in texts))
    _draw(results, means, folder, study.name, summary)
    put(folder / RECORD, json.dumps(summary, indent=1, ensure_ascii=False, allow_nan=False))
    return summary


def outcome_row(outcome: ConditionResult) -> dict[str, Any]:
    """Returns *outcome* as one row of values by column, for a CSV file."""
    whole = asdict(outcome)
    counts = {
        name: whole[name] for name in ("model", "condition", "planned", "scored", "excluded", "failed", "missing")
    }
    parts = {name: whole[name] or {} for name in ("closeness", "recomputed", "wording")}
    shares = {f"rated_{rating}": count for rating, count in outcome.distribution.items()}
    reasons = {"reasons": "; ".join(f"{reason} ({count})" for reason, count in outcome.reasons.items())}
    return counts | _flat(parts) | shares | reasons


def put(path: Path, text: str) -> None:
    """Writes *text* to *path*, completely or not at all."""
    beside = path.with_name(f".{os.getpid()}-{path.name}")
    with beside.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)


def table(rows: Iterable[Mapping[str, Any]]) -> str:
    """Returns *rows* as CSV, with every column that any row has; an empty string if there are no rows."""
    listed = list(rows)
    names = list(dict.fromkeys(name for row in listed for name in row))
    return csv_table(names, ([row.get(name) for name in names] for row in listed)) if names else ""


def _rating_rows(ratings: Sequence[Rating], means: Mapping[str, float]) -> Iterable[dict[str, Any]]:
    for rating in ratings:
        problem, known = rating.problem, rating.paper_id in means
        state = "excluded" if not known else "scored" if problem is None else "failed" if problem.final else "missing"
        reason = NO_HUMAN if not known else f"{problem.code}: {problem.message}" if problem else None
        yield {
            "model": rating.model, "condition": rating.condition, "paper_id": rating.paper_id, "state": state,
            "rating": rating.value, "recomputed": rating.recomputed, "human_mean": means.get(rating.paper_id),
            "words": len(words(rating.text)) if rating.text else None, "reason": reason,
        }  # fmt: skip


def _flat(tree: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{before}{name}_")
        else:
            flat[f"{before}{name}"] = value
    return flat


def _message(ratings: Sequence[Rating], missing: int) -> str:
    problem = next((rating.problem for rating in ratings if rating.problem and not rating.problem.final), None)
    return f"{missing} ratings are still missing: {problem.message}; run it again to try them" if problem else ""


def _draw(
    results: Sequence[ConditionResult], means: Mapping[str, float], folder: Path, name: str, summary: dict[str, Any]
) -> None:
    """Plots how often each rating was given into a file in *folder*, and adds the file's path to *summary*.

    If the drawing library is not installed, a note in *summary* says so instead. *means*: paper id → mean human rating.
    """
    from gre_bench.guidelines.picture import draw

    try:
        summary["picture"] = str(draw(results, means, folder, f"Ratings under guidelines: {name}"))
    except SettingsError as error:
        summary["picture"] = None
        summary["note"] = str(error)

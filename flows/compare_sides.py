"""What ``gre-bench compare`` is given, as figures: published tables, editions, files of JSON, benchmarks of others."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tasks import published
from tasks.errors import SettingsError, SourceError
from tasks.published import Figure
from tasks.store import Store, find_editions

Kind = Literal["board", "effects"]
EFFECT_QUERY = "effects"
BENCHMARK_COLUMNS = ("model", "benchmark", "value")
_ITEM, _VALUE = ("item", "change", "candidate", "model"), ("value", "d", "mean")


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two things compared: its name, its figures, and the candidates of a board that have no rank.

    *signatures*: what a run's scores rest on, by metric; a published table has none.
    """

    name: str
    kind: Kind
    figures: tuple[Figure, ...]
    unranked: tuple[str, ...] = ()
    signatures: Mapping[str, Mapping[str, Any]] | None = None


def from_table(name: str) -> Side:
    """A published table. `SettingsError` if there is none of that name."""
    figures = published.load(name)
    return Side(name, "board" if published.kind(name) == "board" else "effects", figures)


def from_run(name: str, kind: Kind, state: Path) -> Side:
    """An edition under *state*, or a file that ``leaderboard --json`` or ``validate --json`` has written."""
    if Path(name).is_file():
        found = _json(Path(name))
    elif name.lower().endswith(".json"):
        raise SourceError(f"no file {name}")
    else:
        found = _edition(name, kind, state)
    try:
        return _side(name, kind, found)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        wanted = {"board": "gre-bench leaderboard --json", "effects": "gre-bench validate --json"}[kind]
        raise SourceError(f"{name}: not what `{wanted}` writes ({type(error).__name__}: {error})") from None


def read_benchmarks(path: Path) -> tuple[dict[str, dict[str, float]], int]:
    """Values by benchmark and model from a CSV of model, benchmark, value, and how many entries are blank.

    `SourceError` names the line that is unusable or there twice.
    """
    values: dict[str, dict[str, float]] = {}
    blank = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = csv.DictReader(lines)
            if missing := [name for name in BENCHMARK_COLUMNS if name not in (rows.fieldnames or ())]:
                raise SourceError(f"{path}: no column {', '.join(missing)}; it needs model,benchmark,value")
            for row in rows:
                where = f"{path}, line {rows.line_num}"
                model, benchmark, text = ((row[name] or "").strip() for name in BENCHMARK_COLUMNS)
                if not model or not benchmark:
                    raise SourceError(f"{where}: model and benchmark must be given")
                of_models = values.setdefault(benchmark, {})
                if not text:
                    blank += 1
                elif of_models.setdefault(model, _number(text, where)) != _number(text, where):
                    raise SourceError(f"{where}: {model} has two values of {benchmark}; keep one")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SourceError(f"cannot read {path}: {error}") from None
    return values, blank


def _edition(key: str, kind: Kind, state: Path) -> Any:
    store = Store(state, key)
    if not store.exists:
        known = ", ".join(find_editions(state)) or "none yet"
        raise SettingsError(f"no edition {key} in {state}, and no file of that name; known: {known}")
    if kind == "effects":
        return {"effects": store.read(EFFECT_QUERY)}
    signatures = store.read("current_signatures")
    if not signatures:
        raise SettingsError(f"edition {key} has no scores yet; run: gre-bench refresh --edition {key}")
    ids = [row["signature_id"] for row in signatures]
    return {"signatures": signatures, "rows": store.read("leaderboard", signature_ids=ids)}


def _side(name: str, kind: Kind, found: Any) -> Side:
    rows = found if isinstance(found, list) else found["rows" if kind == "board" else "effects"]
    shown = [row for row in rows if kind == "effects" or row.get("rank", 1) is not None]
    figures = tuple(map(_figure, shown))
    if not figures:
        raise SettingsError(f"{name}: there is nothing to compare, no {'ranked row' if kind == 'board' else 'effect'}")
    seen: set[tuple[str, str]] = set()
    for figure in figures:
        if (figure.metric, figure.item) in seen:
            raise SettingsError(f"{name}: {figure.metric} has two numbers for {figure.item}; compare one signature")
        seen.add((figure.metric, figure.item))
    unranked = dict.fromkeys(row["candidate"] for row in rows if row not in shown)
    signatures = None
    if isinstance(found, dict) and "signatures" in found:
        signatures = {row["metric"]: row for row in found["signatures"]}
    return Side(name, kind, figures, tuple(unranked), signatures)


def _figure(row: Mapping[str, Any]) -> Figure:
    value = float(_first(row, _VALUE))
    if not math.isfinite(value):
        raise ValueError(f"{value} is no number to compare")
    ends = (None if row.get(end) is None else float(row[end]) for end in ("low", "high"))
    return Figure(str(row["metric"]), str(_first(row, _ITEM)), value, *ends)


def _first(row: Mapping[str, Any], names: Iterable[str]) -> Any:
    for name in names:
        if row.get(name) is not None:
            return row[name]
    raise KeyError(" or ".join(names))


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SourceError(f"cannot read {path}: {error}") from None


def _number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SourceError(f"{where}: {text!r} is no number; leave a missing value blank")
    return value

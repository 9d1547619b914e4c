"""Reads the arguments of ``gre-bench compare``: published tables, editions and JSON files.

Each argument becomes a list of figures. A figure is one number, such as a candidate's mean score or a change's effect.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from gre_bench.catalogs.models import known_as
from gre_bench.core.errors import SettingsError, SourceError, UnfinishedError, no_file
from gre_bench.core.incoming import read_bytes
from gre_bench.core.strict import load_json
from gre_bench.ranking import published
from gre_bench.ranking.published import Figure
from gre_bench.store import Store, no_edition
from gre_bench.store.queries import CURRENT_SIGNATURES, EFFECTS, LEADERBOARD

Kind = Literal["board", "effects"]
_ITEM, _VALUE = ("item", "change", "candidate", "model"), ("value", "d", "score")


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two boards, or of the two sets of effects, that are compared.

    - *kind*: whether the figures are those of a board or effects of changes.
    - *figures*: the numbers to compare.
    - *left_out*: candidate without a rank, or change without an effect → the reason.
    - *signatures*: metric → signature of a run; None for a published table.
    """

    name: str
    kind: Kind
    figures: tuple[Figure, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    signatures: Mapping[str, Mapping[str, Any]] | None = None


def from_table(name: str) -> Side:
    """Returns the published table *name*, such as ``table6``; raises `SettingsError` if there is none of that name."""
    figures = published.load(name)
    return Side(name, "board" if published.kind(name) == "board" else "effects", figures)


def from_run(name: str, kind: Kind, state: Path) -> Side:
    """Returns the board or the effects, as *kind* says, of an edition under *state* or of a JSON file.

    *name*: the edition's key, or a file written by ``gre-bench leaderboard --json`` or ``study validate --json``.
    Raises `SettingsError` or `UnfinishedError` if there is nothing to compare. Raises `SourceError` if the file is not
    such a file.
    """
    if Path(name).is_file():
        tree = _json(Path(name))
    elif name.lower().endswith(".json"):
        raise no_file(name)
    else:
        tree = _edition(name, kind, state)
    try:
        return _side(name, kind, tree)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        wanted = {"board": "gre-bench leaderboard --json", "effects": "gre-bench study validate --json"}[kind]
        raise SourceError(f"{name}: not what `{wanted}` writes ({type(error).__name__}: {error})") from None


def _edition(key: str, kind: Kind, state: Path) -> Any:
    store = Store(state, key)
    if not store.exists:
        raise SettingsError(f"no file {Path(key).absolute()}, and {no_edition(state, key)}")
    signatures = store.read(CURRENT_SIGNATURES)
    if not signatures:
        raise UnfinishedError(f"edition {key} has no scores yet; run: gre-bench refresh --edition {key}")
    ids = [row["signature_id"] for row in signatures]
    if kind == "effects":
        # The effects under the signatures planned last; if there are none, all effects of the edition.
        effects = store.read(EFFECTS, signature_ids=ids) or store.read(EFFECTS, signature_ids=None)
        if not effects:
            raise SettingsError(f"edition {key} has no effects yet; run: gre-bench study validate --edition {key}")
        return {"signatures": signatures, "effects": effects}
    return {"signatures": signatures, "rows": store.read(LEADERBOARD, signature_ids=ids)}


def _side(name: str, kind: Kind, tree: Any) -> Side:
    rows = tree if isinstance(tree, list) else tree["rows" if kind == "board" else "effects"]
    lacks = [_lack(row, kind) for row in rows]
    shown = [row for row, lack in zip(rows, lacks, strict=True) if lack is None]
    figures = tuple(map(_figure, shown))
    if not figures:
        raise SettingsError(f"{name}: there is nothing to compare, no {'ranked row' if kind == 'board' else 'effect'}")
    if kind == "board":
        figures = _by_model(figures)
    seen: set[tuple[str, str]] = set()
    for figure in figures:
        if (figure.metric, figure.item) in seen:
            raise SettingsError(f"{name}: {figure.metric} has two numbers for {figure.item}; compare one signature")
        seen.add((figure.metric, figure.item))
    signatures = None
    if isinstance(tree, dict) and "signatures" in tree:
        signatures = {row["metric"]: row for row in tree["signatures"]}
    return Side(name, kind, figures, dict(filter(None, lacks)), signatures)


def _by_model(figures: tuple[Figure, ...]) -> tuple[Figure, ...]:
    """Returns *figures* with each model renamed to its name in the models file.

    If two figures would then have the same name, *figures* are returned unchanged.
    """
    known = known_as()
    named = tuple(replace(figure, item=known.get(figure.item.lower(), figure.item)) for figure in figures)
    return named if len({(item.metric, item.item) for item in named}) == len(named) else figures


def _lack(row: Mapping[str, Any], kind: Kind) -> tuple[str, str] | None:
    """Returns the name of *row* and the reason why it has no number; None if the row has a number."""
    if kind == "board":
        return None if row.get("rank", 1) is not None else (row["candidate"], row.get("unranked") or "without a rank")
    return None if row.get("problem") is None else (f"{row['metric']}, {row['change']}", row["problem"])


def _figure(row: Mapping[str, Any]) -> Figure:
    value = float(_first(row, _VALUE))
    if not math.isfinite(value):
        raise ValueError(f"{value} is no number to compare")
    low, high = (None if row.get(end) is None else float(row[end]) for end in ("low", "high"))
    return Figure(str(row["metric"]), str(_first(row, _ITEM)), value, low, high)


def _first(row: Mapping[str, Any], names: Iterable[str]) -> Any:
    for name in names:
        if row.get(name) is not None:
            return row[name]
    raise KeyError(" or ".join(names))


def _json(path: Path) -> Any:
    try:
        return load_json(read_bytes(path))
    except (OSError, ValueError) as error:
        raise SourceError(f"cannot read {path}: {error}") from None

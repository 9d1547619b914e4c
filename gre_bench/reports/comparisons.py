"""Compares two boards, or the effects of perturbations in two validations.

Each of the two comes from an edition, a file, a release or a published table (a table printed in a paper).

Each side is read as a list of figures. A figure is a number, such as a candidate's mean score or a perturbation's
effect.

Two releases of the same edition are compared, under the same signature, by scores, ranks and pairs. Releases of
different years or samples are compared by differences from the human baseline. If the signatures differ, only ranks are
compared.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from gre_bench.board.family import read_candidate_orders_by_signature
from gre_bench.board.words import describe_candidate, is_validated, summarise_board
from gre_bench.catalogs.models import load as load_models
from gre_bench.catalogs.models import map_aliases_to_names
from gre_bench.core.errors import SettingsError, SourceError, UnfinishedError, build_missing_file_error
from gre_bench.core.incoming import read_bytes
from gre_bench.core.records import HUMAN, Signature
from gre_bench.core.strict import load_json
from gre_bench.ranking import published_boards
from gre_bench.ranking.contamination import find_model_entry
from gre_bench.ranking.published_boards import PrintedOrComputedNumber
from gre_bench.release import manifest
from gre_bench.release.public_tables import (
    count_changed_pairs,
    list_provenance_differences,
    list_row_count_differences,
    open_release_tables,
    run_page_query,
)
from gre_bench.reports.board_rows import release_folder
from gre_bench.stats.effects import adjust_by_holm
from gre_bench.stats.intervals import SampleMean, compare_means_by_welch
from gre_bench.stats.ranks import rank_consistency
from gre_bench.store import Row, Store, fetch, missing_edition_error
from gre_bench.store.queries import ANCHORED, CURRENT_SIGNATURES, EFFECTS, LEADERBOARD, LeaderboardRow

_FIELDS = ("evaluation_lm", "lm_digest", "writer", "synopsis_writer", "form", "ascii_fold")


def compare_rankings(first: ComparedSide, second: ComparedSide) -> dict[str, Any]:
    """Returns, for each metric that both boards have, how consistently they rank candidates.

    Raises `SettingsError` if they have no metric in common. If exactly one board is a published table, the result also
    lists both boards' scores side by side.
    """
    rows = published_boards.compare_board_ranks(first.figures, second.figures)
    metrics = [row.metric for row in rows]
    if not rows:
        raise SettingsError(f"{first.name} and {second.name} have no metric in common")
    printed = published_boards.load_printed_correlations(first.name, second.name)
    result: dict[str, Any] = {"consistency": [{**asdict(row), "printed": printed.get(row.metric)} for row in rows]}
    if first.signatures is not None and second.signatures is not None:
        result["differ_in"] = _find_field_differences(
            first.signatures.get(metrics[0], {}), second.signatures.get(metrics[0], {})
        )
    if (first.signatures is None) != (second.signatures is None):
        figures = ([figure for figure in side.figures if figure.metric in metrics] for side in (first, second))
        beside = [asdict(row) for row in published_boards.compare_printed_with_computed(*figures)]
        if not _have_same_lms(*((first, second) if first.signatures is None else (second, first)), metrics):
            # The scores have different signatures: ranks can be compared, but differences mean nothing.
            no_difference = {"difference": None, "within": None}
            beside = [{**row, **no_difference} for row in beside]
        result["beside"] = beside
    return result


def _have_same_lms(table: ComparedSide, run: ComparedSide, metrics: Sequence[str]) -> bool:
    """Returns whether, in all *metrics*, *run* used the same evaluation LM and writer as the published *table*."""
    models = load_models()
    wanted = published_boards.LMS.get(table.name)
    if wanted is None or not run.signatures:
        return False
    for metric in metrics:
        signed = run.signatures.get(metric, {})
        for name, stated in zip((signed.get("evaluation_lm"), signed.get("writer")), wanted, strict=True):
            model = find_model_entry(name, models) if name else None
            if model is None or model.name != map_aliases_to_names(models)[stated.lower()]:
                return False
    return bool(metrics)


def _find_field_differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {name: [first.get(name), second.get(name)] for name in _FIELDS if first.get(name) != second.get(name)}


Kind = Literal["board", "effects"]
_ITEM, _VALUE = ("item", "change", "candidate", "model"), ("value", "d", "score")


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """One of the two boards that are compared, or one of the two sets of perturbations' effects.

    *left_out*: candidate without a rank, or perturbation without an effect → the reason. *signatures*: metric →
    signature of a run; None for a published table.
    """

    name: str
    kind: Kind
    figures: tuple[PrintedOrComputedNumber, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    signatures: Mapping[str, Mapping[str, Any]] | None = None


def load_table_side(name: str) -> ComparedSide:
    """Returns the published table *name*, such as ``table6``."""
    figures = published_boards.load(name)
    return ComparedSide(name, "board" if name in published_boards.LMS else "effects", figures)


def load_run_side(name: str, kind: Kind, state: Path) -> ComparedSide:
    """Returns the board or the effects of the edition or file *name*.

    An edition is looked up in *state*. A file must be one that a command wrote with ``--json``. Raises `SettingsError`
    or `UnfinishedError` if there is nothing to compare, and `SourceError` for any other file.
    """
    if Path(name).is_file():
        tree = _read_json_file(Path(name))
    elif name.lower().endswith(".json"):
        raise build_missing_file_error(name)
    else:
        tree = _load_edition_rows(name, kind, state)
    try:
        return _build_side(name, kind, tree)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        wanted = {"board": "gre-bench leaderboard --json", "effects": "gre-bench study validate --json"}[kind]
        raise SourceError(f"{name}: not what `{wanted}` writes ({type(error).__name__}: {error})") from None


def _load_edition_rows(key: str, kind: Kind, state: Path) -> Any:
    store = Store(state, key)
    if not store.exists:
        raise SettingsError(f"no file {Path(key).absolute()}, and {missing_edition_error(state, key)}")
    signatures = store.read(CURRENT_SIGNATURES)
    if not signatures:
        raise UnfinishedError(f"edition {key} has no scores yet; run: gre-bench refresh --edition {key}")
    ids = [row["signature_id"] for row in signatures]
    if kind == "effects":
        # Takes the effects under the last planned signatures; if there are none, all effects of the edition.
        effects = store.read(EFFECTS, signature_ids=ids) or store.read(EFFECTS, signature_ids=None)
        if not effects:
            raise SettingsError(f"edition {key} has no effects yet; run: gre-bench study validate --edition {key}")
        return {"signatures": signatures, "effects": effects}
    return {"signatures": signatures, "rows": store.read(LEADERBOARD, signature_ids=ids)}


def _build_side(name: str, kind: Kind, tree: Any) -> ComparedSide:
    rows = tree if isinstance(tree, list) else tree["rows" if kind == "board" else "effects"]
    lacks = [_explain_missing_number(row, kind) for row in rows]
    shown = [row for row, lack in zip(rows, lacks, strict=True) if lack is None]
    figures = tuple(map(_parse_figure, shown))
    if not figures:
        raise SettingsError(f"{name}: there is nothing to compare, no {'ranked row' if kind == 'board' else 'effect'}")
    if kind == "board":
        figures = _rename_models(figures)
    seen: set[tuple[str, str]] = set()
    for figure in figures:
        if (figure.metric, figure.item) in seen:
            raise SettingsError(f"{name}: {figure.metric} has two numbers for {figure.item}; compare one signature")
        seen.add((figure.metric, figure.item))
    signatures = None
    if isinstance(tree, dict) and "signatures" in tree:
        signatures = {row["metric"]: row for row in tree["signatures"]}
    return ComparedSide(name, kind, figures, dict(filter(None, lacks)), signatures)


def _rename_models(figures: tuple[PrintedOrComputedNumber, ...]) -> tuple[PrintedOrComputedNumber, ...]:
    """Returns *figures* with the models' names in the models file, unless two figures would then have the same name."""
    known = map_aliases_to_names()
    named = tuple(replace(figure, item=known.get(figure.item.lower(), figure.item)) for figure in figures)
    return named if len({(item.metric, item.item) for item in named}) == len(named) else figures


def _explain_missing_number(row: Mapping[str, Any], kind: Kind) -> tuple[str, str] | None:
    """Returns the name in *row* and the reason why *row* has no number to compare; None if *row* has one."""
    if kind == "board":
        return None if row.get("rank", 1) is not None else (row["candidate"], row.get("unranked") or "without a rank")
    return None if row.get("problem") is None else (f"{row['metric']}, {row['change']}", row["problem"])


def _parse_figure(row: Mapping[str, Any]) -> PrintedOrComputedNumber:
    value = float(_get_first_present_value(row, _VALUE))
    if not math.isfinite(value):
        raise ValueError(f"{value} is not a number, so it cannot be compared")
    low, high = (None if row.get(end) is None else float(row[end]) for end in ("low", "high"))
    return PrintedOrComputedNumber(str(row["metric"]), str(_get_first_present_value(row, _ITEM)), value, low, high)


def _get_first_present_value(row: Mapping[str, Any], names: Iterable[str]) -> Any:
    for name in names:
        if row.get(name) is not None:
            return row[name]
    raise KeyError(" or ".join(names))


def _read_json_file(path: Path) -> Any:
    try:
        return load_json(read_bytes(path))
    except (OSError, ValueError) as error:
        raise SourceError(f"cannot read {path}: {error}") from None


_STATES = ("only_first", "only_second", "other_state", "other_score")


class ComparedRelease(NamedTuple):
    """One of two compared releases; *about*: its manifest.

    - *signatures*: metric → signature. *answers*: signature id → who leads (`summarise_board`).
    - *board*: signature id → candidate → row of the board.
    - *anchored*: signature id → candidate → row with the candidate's difference from the human baseline.
    """

    name: str
    folder: Path
    about: Mapping[str, Any]
    signatures: Mapping[str, Row]
    board: Mapping[str, Mapping[str, LeaderboardRow]]
    anchored: Mapping[str, Mapping[str, Row]]
    answers: Mapping[str, str]


def compare_releases(names: tuple[str, str], state: Path) -> dict[str, Any]:
    """Verifies two releases and returns how they differ in metrics, provenance and tables.

    *names*: their names or folders. Raises `SettingsError` for an unknown release, and `SourceError` for an altered
    one.
    """
    first, second = (_load_release_side(name, state) for name in names)
    pairs = count_changed_pairs(first.folder, second.folder)
    keys = ("release", "edition", "created_at", "texts", "papers")
    return {
        "compared": [first.name, second.name],
        "releases": [
            {key: side.about.get(key) for key in keys} | {"digest": manifest.compute_release_digest(side.folder)}
            for side in (first, second)
        ],
        "metrics": [
            _compare_metric(name, first, second, pairs) for name in first.signatures if name in second.signatures
        ],
        "only_first": [name for name in first.signatures if name not in second.signatures],
        "only_second": [name for name in second.signatures if name not in first.signatures],
        "notes": list({describe_candidate(row): None for board in second.board.values() if (row := board.get(HUMAN))})[
            :1
        ],
        "provenance": list_provenance_differences(first.about, second.about),
        "tables": list_row_count_differences(first.about, second.about),
    }


def _load_release_side(name: str, state: Path) -> ComparedRelease:
    folder = release_folder(name, state)
    if folder is None:
        raise SettingsError(f"{name!r} is not a release, such as ICLR-2025-r1")
    about = manifest.verify_release(folder)
    with open_release_tables(folder) as connection:
        signatures = {row["metric"]: row for row in run_page_query(connection, "signatures")}
        ids = [row["signature_id"] for row in signatures.values()]
        board = fetch(connection, LEADERBOARD, signature_ids=ids)
        anchored = fetch(connection, ANCHORED, signature_ids=ids, anchors=[HUMAN])
        orders = read_candidate_orders_by_signature(partial(fetch, connection), board)
    boards = _index_by_signature(board)
    answers = {name: summarise_board(list(own.values()), orders[name]) for name, own in boards.items()}
    return ComparedRelease(about["release"], folder, about, signatures, boards, _index_by_signature(anchored), answers)


def _index_by_signature(rows: Sequence[Any]) -> dict[str, dict[str, Any]]:
    kept: dict[str, dict[str, Any]] = {}
    for row in rows:
        kept.setdefault(row["signature_id"], {})[row["candidate"]] = row
    return kept


def _compare_metric(
    metric: str, first: ComparedRelease, second: ComparedRelease, pairs: Mapping[tuple[str, str], Row]
) -> dict[str, Any]:
    signed = first.signatures[metric], second.signatures[metric]
    ids = tuple(row["signature_id"] for row in signed)
    same = ids[0] == ids[1]
    level = "ranks" if not same else "scores" if first.about["edition"] == second.about["edition"] else "differences"
    boards = first.board.get(ids[0], {}), second.board.get(ids[1], {})
    candidates = [
        {"candidate": name, **_collect_fields_of_both(boards, name, ("rank", "scored", "expected", "above_chance"))}
        | (_collect_fields_of_both(boards, name, ("score",)) if level == "scores" else {})
        | ({key: pairs[ids[0], name][key] for key in _STATES} if level == "scores" and (ids[0], name) in pairs else {})
        for name in dict.fromkeys((*boards[0], *boards[1]))
    ]
    if level == "differences":
        _add_tested_changes(candidates, first.anchored.get(ids[0], {}), second.anchored.get(ids[1], {}))
    ranks = [{name: -float(row["rank"]) for name, row in board.items() if row["rank"] is not None} for board in boards]
    try:
        agreement = asdict(rank_consistency(*ranks))
    except ValueError as problem:
        agreement = {"problem": str(problem)}
    rows = list(boards[1].values())
    return {
        "metric": metric, "compares": level, "signature_ids": list(ids),
        "evaluation_lm": signed[1]["evaluation_lm"], "validated": is_validated(rows),
        "validation": rows[0]["validation"] if rows else "",
        "answers": [side.answers.get(name, "") for side, name in zip((first, second), ids, strict=True)],
        "differ_in": _find_signature_differences(*signed), "agreement": agreement,
        "papers": [max((row["papers"] for row in board.values()), default=0) for board in boards],
        "candidates": candidates,
    }  # fmt: skip


def _find_signature_differences(first: Row, second: Row) -> dict[str, list[Any]]:
    fields = [field.name for field in dataclasses.fields(Signature)]
    return {name: [first[name], second[name]] for name in fields if first[name] != second[name]}


def _collect_fields_of_both(
    boards: tuple[Mapping[str, Row], ...], name: str, fields: tuple[str, ...]
) -> dict[str, Any]:
    return {field: [board[name][field] if name in board else None for board in boards] for field in fields}


def _add_tested_changes(candidates: list[dict[str, Any]], first: Mapping[str, Row], second: Mapping[str, Row]) -> None:
    """Adds each candidate's difference from the human baseline in both releases, and the test of its change."""
    kept = ("difference", "low", "high", "papers")
    tested: list[dict[str, Any]] = []
    for row in candidates:
        sides = [side.get(row["candidate"]) for side in (first, second)]
        row["differences"] = [{key: side[key] for key in kept} if side else None for side in sides]
        row["change"] = None
        if all(side and side["se"] for side in sides):
            before, after = (SampleMean(side["difference"], side["se"], side["units"]) for side in sides if side)
            row["change"] = asdict(compare_means_by_welch(before, after))
            tested.append(row)
    for row, p in zip(tested, adjust_by_holm([row["change"]["p"] for row in tested]), strict=True):
        row["change"]["p_holm"] = p

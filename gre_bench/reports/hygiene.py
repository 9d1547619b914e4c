"""Measures how much a board depends on its human references, from stored and new scores.

The new scores are not stored, because some use a candidate's review as the reference, and no board may show these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from gre_bench.board.words import LIKELY
from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.records import HUMAN, Case
from gre_bench.ingest.records.row_files import read_all_rows
from gre_bench.ranking.hygiene import Shift, reviewers, strata, swap
from gre_bench.ranking.rank_statistics import Pairs
from gre_bench.reports.why import Origin, candidate_of, cases, origin, scored_again, signed_again
from gre_bench.store import ReadCopy
from gre_bench.store.queries import BOARD_PAIRS, SAMPLE, SignatureRow
from gre_bench.tasks.protocol import Steps


def hygiene(
    state: Path,
    edition: str,
    signature: SignatureRow,
    run: Steps,
    intruders: Sequence[str] | None,
    papers: int,
    likelihood: Path | None,
    threshold: float,
) -> dict[str, Any]:
    """Returns how the ranks and scores under *signature* shift when the human references change, in three tests.

    - *reviewers*: the references are left out one reviewer at a time.
    - *swap*: a tenth of the references are replaced by reviews of one of *intruders* at a time; None means every model
      of the board. The first *papers* papers are scored again.
    - *strata*: the references are divided at *threshold* by the *likelihood* that an LM wrote them, if that file is
      given.

    Raises `SettingsError` for an unknown intruder or an evaluation LM that has changed, `SourceError` for a faulty
    file.
    """
    likely = read_likelihood(likelihood) if likelihood else None
    store = ReadCopy(state, edition)
    pairs = board_pairs(store, signature)
    names = list(dict.fromkeys(pairs.candidates))
    if HUMAN not in names:
        lacking = f"{signature['metric']} has no score of the human baseline, which leads are over ({LIKELY})"
        raise SettingsError(f"edition {store.key}: {lacking}")
    models = [name for name in names if name != HUMAN]
    if unknown := [name for name in intruders or () if name not in models]:
        known = ", ".join(models) or "none"
        raise SettingsError(f"edition {store.key} has no model {', '.join(unknown)} on its board; there are: {known}")
    place_of = {row["review_id"]: row["place"] for row in store.rows(SAMPLE) if row["role"] == "reference"}
    result: dict[str, Any] = {
        "metric": signature["metric"],
        "signature_id": signature["signature_id"],
        "reviewers": [asdict(row) for row in reviewers(pairs, place_of)],
        "swap": [asdict(row) for row in _swapped(store, signature, run, names, intruders or models, papers, pairs)],
        "strata": [],
    }
    if likely is not None:
        result["strata"] = [asdict(row) for row in strata(pairs, likely, threshold)]
    return result


def board_pairs(store: ReadCopy, signature: SignatureRow) -> Pairs:
    """Returns the scored pairs of the human baseline and the models under *signature*."""
    return as_pairs([tuple(row.values()) for row in store.rows(BOARD_PAIRS, signature_id=signature["signature_id"])])


def as_pairs(rows: Sequence[tuple[Any, ...]]) -> Pairs:
    """Returns *rows* (candidate, paper, reference, value, perhaps unit) as columns."""
    return Pairs(*map(list, zip(*rows, strict=True))) if rows else Pairs([], [], [], [])


def read_likelihood(file: Path) -> dict[str, float]:
    """Returns the likelihood that an LM wrote each reference, by review id, from a file with these two columns."""
    likelihood: dict[str, float] = {}
    for number, row in read_all_rows(file)[0]:
        try:
            likelihood[row["review_id"]] = float(row["likelihood"])
        except (KeyError, TypeError, ValueError):
            raise SourceError(f"{file}, row {number}: needs review_id and a number in likelihood") from None
        if not math.isfinite(likelihood[row["review_id"]]):
            raise SourceError(f"{file}, row {number}: the likelihood is no finite number")
    return likelihood


def _swapped(
    store: ReadCopy,
    signature: SignatureRow,
    run: Steps,
    names: Sequence[str],
    intruders: Sequence[str],
    papers: int,
    pairs: Pairs,
) -> list[Shift]:
    """Returns the shifts when reviews by each of *intruders* replace references; *names*: the candidates to score."""
    if not intruders or papers < 1:
        return []
    source = origin(store, signature, HUMAN, store.folder.parent.parent)
    _check_same_lm(store, signature, run, source)
    first = list(dict.fromkeys(row["paper_id"] for row in store.rows(SAMPLE)))[:papers]
    texts: dict[str, dict[str, Case]] = {}
    for name in names:
        own = cases(store, signature, candidate_of(store, name), source)
        texts[name] = {case.paper_id: case for case in reversed(own) if case.paper_id in first}
    shifts: list[Shift] = []
    for intruder in intruders:
        due = [
            replace(case, reference=texts[intruder][paper].candidate, reference_id=f"{paper}:{intruder}")
            for name in names
            for paper, case in texts[name].items()
            if paper in texts[intruder]
        ]
        columns = [
            (score.candidate_id, score.paper_id, score.reference_id, score.value)
            for score in scored_again(run, store, signature, source, due).scores
            if score.value is not None
        ]
        shifts += swap(pairs, as_pairs(columns), intruder)
    return shifts


def _check_same_lm(store: ReadCopy, signature: SignatureRow, run: Steps, source: Origin) -> None:
    """Raises `SettingsError` unless today's evaluation LM and engine are those that scored the board."""
    today = signed_again(run, store, signature, source)
    if different := [name for name in today if today[name] != signature[name] and name != "signature_id"]:
        changes = "; ".join(f"{name}: {signature[name]} then, {today[name]} now" for name in different)
        raise SettingsError(
            f"edition {store.key}: the swap test needs the evaluation LM and engine that scored the board ({changes}); "
            "use these, or leave the test out by --papers 0"
        )

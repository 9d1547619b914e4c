"""Explains a number on the board by its pairs, tokens, texts, prompts and digests, and computes the number again.

The number is the mean of the scores of its pairs. For GEM, the score of a pair is the difference of two
log-probabilities. A log-probability is the sum over the tokens of a reply to a prompt, and prompts are made of texts.
Each of these steps is checked, and the results of the checks are recorded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SettingsError
from gre_bench.core.known_names import did_you_mean
from gre_bench.core.metrics import recipe_of
from gre_bench.core.records import Case
from gre_bench.core.terminal import counted
from gre_bench.metrics.scoring import terms
from gre_bench.prompts.library import address
from gre_bench.reports.recount import (
    TOLERANCE,
    Origin,
    candidate_of,
    cases,
    compared,
    origin,
    scored_again,
    signed_again,
)
from gre_bench.reports.signatures import the_candidate
from gre_bench.reports.why_detail import Why, detail, same, trace
from gre_bench.store import ReadCopy, Row, kept_open
from gre_bench.store.queries import LEADERBOARD, WHY_PAIRS, SignatureRow
from gre_bench.tasks.protocol import Steps


@kept_open()
def why(
    state: Path, edition: str, signature: SignatureRow, candidate_id: str, paper_id: str | None, run: Steps | None
) -> Why:
    """Returns what a candidate's mean score under *signature* depends on, with the results of all checks.

    - *paper_id*: return only the pairs of this paper, with their tokens, texts and prompts; None returns all pairs
      without these.
    - *run*: the steps that score the pairs again; None leaves out the check by new scores.

    Raises `SettingsError` for a candidate or paper without pairs.
    """
    store = ReadCopy(state, edition)
    candidate_id = the_candidate(store, candidate_id)
    ids = {"signature_id": signature["signature_id"], "candidate_id": candidate_id}
    pairs: list[dict[str, Any]] = [{**row} for row in store.rows(WHY_PAIRS, **ids)]
    if not pairs:
        raise SettingsError(f"edition {store.key}: {signature['metric']} has no pair of candidate {candidate_id}")
    source = origin(store, signature, candidate_id, state)
    rows = store.rows(LEADERBOARD, signature_ids=[signature["signature_id"]])
    board = next((row for row in rows if row["candidate"] == candidate_id), None)
    answer = Why(store.key, candidate_id, signature, board, source.run, pairs)
    _check_mean(answer)
    if paper_id is not None:
        answer.pairs = [row for row in pairs if row["paper_id"] == paper_id]
        if not answer.pairs:
            meant = did_you_mean(paper_id, (row["paper_id"] for row in pairs))
            raise SettingsError(f"edition {store.key}: no pair of paper {paper_id}; {meant}")
    due = cases(store, signature, candidate_of(store, candidate_id), source)
    wanted = {(row["paper_id"], row["reference_id"]) for row in answer.pairs if row["state"] == "scored"}
    by_place = {(case.paper_id, case.reference_id): case for case in due}
    kept = {key: by_place[key] for key in by_place if key in wanted}
    _check_texts(answer, kept, source)
    if paper_id is not None:
        detail(answer, store, kept, source)
        trace(answer, store, paper_id, candidate_id)
    if run is not None:
        _recount(answer, store, source, run, kept)
    return answer


def _check_mean(answer: Why) -> None:
    scored = [row["value"] for row in answer.pairs if row["state"] == "scored"]
    stored = answer.board and answer.board["score"]
    if stored is None or not scored:
        return
    mean = math.fsum(scored) / len(scored)
    claim = f"the board's {stored:+.6f} is the mean of {counted(len(scored), 'pair')}"
    answer.check(claim, same(mean, stored), f"their mean is {mean:+.6f}")


def _check_texts(answer: Why, kept: Mapping[tuple[str, str], Case], source: Origin) -> None:
    """Checks by digests that the present texts and prompts are those that were scored; records the results in *answer*.

    *kept*: the cases rebuilt from the present texts, by (paper, reference).
    """
    scored = [row for row in answer.pairs if row["state"] == "scored"]
    lost = [row for row in scored if (row["paper_id"], row["reference_id"]) not in kept]
    recipe, scoring = recipe_of(answer.signature["metric"]), source.settings.scoring

    def places(row: Row) -> list[str]:
        return [address(term) for term in terms(recipe, kept[row["paper_id"], row["reference_id"]], scoring)]

    changed = [row for row in scored if recipe.formula and row not in lost and places(row) != list(row["predictions"])]
    claim = "texts and prompts are those that were scored" if recipe.formula else "the texts of all pairs are there"
    example = next((f"paper {row['paper_id']}, reference {row['reference_id']}" for row in (*lost, *changed)), "")
    detail = (
        f"{len(lost)} gone, {len(changed)} changed, first {example}" if example else f"{counted(len(scored), 'pair')}"
    )
    answer.check(claim, not lost and not changed, detail)


def _recount(answer: Why, store: ReadCopy, source: Origin, run: Steps, kept: Mapping[tuple[str, str], Case]) -> None:
    """Scores the cases *kept* again, and records in *answer* whether the scores and the signature are unchanged.

    *kept*: the cases rebuilt from the present texts, by (paper, reference).
    """
    today = signed_again(run, store, answer.signature, source)
    different = [name for name in today if name != "signature_id" and today[name] != answer.signature[name]]
    detail = "; ".join(f"{name}: {answer.signature[name]} then, {today[name]} now" for name in different)
    answer.check("the evaluation LM and engine are those that scored", not different, detail)
    scored = scored_again(run, store, answer.signature, source, list(kept.values()))
    off = compared(answer.pairs, scored)
    worst, unlike = max((far for _, far in off), default=0.0), [row for row, far in off if far > TOLERANCE]
    detail = (
        f"largest difference {worst:.1e}, relative to the log-probabilities of a score, or to the score if it has none"
    )
    if unlike:
        first = unlike[0]
        detail += (
            f"; {len(unlike)} differ, first paper {first['paper_id']}, reference {first['reference_id']}: "
            f"{first['value']:+.6f} then, {first['recount'] if first['recount'] is not None else 'none'} now"
        )
    answer.check(
        f"a recount of {counted(len(scored.scores), 'pair')} agrees within {TOLERANCE:.0e}", not unlike, detail
    )

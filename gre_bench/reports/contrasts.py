"""Compares two candidates, or two evaluation LMs, of one edition.

A contrast is a difference between two candidates that a file names. Write the file before the first score; the program
cannot check that you did.

    [[contrast]]
    name = "reflection"
    question = "Does reflection help?"
    first = "gpt-4o+reflect5"
    second = "gpt-4o"

A contrast covers the metrics of the board, or those that its entry names in ``metrics``. Each release whose settings
name the file (``board.contrasts``) states the file's SHA-256, so readers can detect later changes.

A contrast of two candidates that are ranked in one group is one of the board's tests, and has the same p-value. All
other contrasts are corrected together with the board's family of tests. Three kinds of tests are corrected separately,
each kind over all contrasts and metrics of an LM: tests of the chance score, of the score above chance, and of the
difference at equal length (`gre_bench.stats.length`).

Scores of two evaluation LMs have different signatures and cannot be compared. Only quantities without a unit can:
ranks, correlations, and leads over the human baseline in standard errors. The results also count the pairs of
candidates that are tested on both LMs' boards, and how often the tests (Holm-corrected, 5%) agree.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field, model_validator

from gre_bench.board.family import read_candidate_orders_by_lm, read_holm_family
from gre_bench.board.words import CandidateOrder, describe_candidate, format_missing_pairs, is_validated
from gre_bench.core import strict
from gre_bench.core.errors import SettingsError
from gre_bench.core.incoming import read_bytes
from gre_bench.core.known_names import find_matching_name, require_known_name, suggest_known_names
from gre_bench.core.metrics import ALPHA, find_specific_form_signature_id
from gre_bench.core.records import HUMAN
from gre_bench.pipeline.ranking import build_scored_text_key, index_word_counts
from gre_bench.ranking.rank_statistics import SEED, ScoredPairs, collect_text_lengths
from gre_bench.reports.signatures import resolve_candidate, shown_signatures
from gre_bench.stats.effects import adjust_by_holm
from gre_bench.stats.families import CandidateTest, HolmFamily
from gre_bench.stats.length import contrast_at_length, estimate_length_slope
from gre_bench.stats.pair_tests import smallest_detectable_difference
from gre_bench.stats.ranks import correlate_ranks_by_two_measures, count_significant_orders, leads_over_baseline, ranks
from gre_bench.store import Store
from gre_bench.store.queries import (
    BOARD_LENGTHS,
    BOARD_PAIRS,
    CANDIDATE_PAIRS,
    CANDIDATES,
    LEADERBOARD,
    PLANNED_SIGNATURES,
    BoardPairRow,
    CandidatePairRow,
    LeaderboardRow,
    SignatureRow,
)

LEVEL, POWER = 0.95, 0.8


class PlannedContrast(strict.NamedEntry, frozen=True):
    """An entry of a contrasts file: two candidates to compare, and the question that their difference answers.

    *first*, *second*: the candidates' names, or ends of names. *metrics*: if empty, all metrics of the board.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9._-]+$")
    question: str = ""
    first: str = Field(min_length=1)
    second: str = Field(min_length=1)
    metrics: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _check_names_differ(self) -> PlannedContrast:
        if self.first == self.second:
            raise ValueError("first and second are one candidate")
        return self


class ContrastsFile(NamedTuple):
    """The contrasts of a file, in the file's order, and the file's SHA-256."""

    contrasts: tuple[PlannedContrast, ...]
    sha256: str


def load_contrasts(path: Path) -> ContrastsFile:
    """Returns the contrasts of the TOML file *path*; raises `SettingsError` if it is faulty or has no contrast."""
    entries = strict.read_toml_entries(path, "contrasts file", "contrast", PlannedContrast, named=True)
    if not entries:
        raise SettingsError(f"contrasts file {path} has no [[contrast]]; write one for each question")
    return ContrastsFile(tuple(entries.values()), hashlib.sha256(read_bytes(path)).hexdigest())


def compute_contrasts_of_file(
    state: Path, edition: str, path: Path, metrics: list[str] | None = None
) -> dict[str, Any]:
    """Tests the contrasts of the file *path* on one edition.

    In the result, ``contrasts`` has the rows of `compute_contrast_rows`. Besides, *validated* and *validation* say
    whether a row's metric is validated with its evaluation LM and writer, as a truth value and in words.

    *metrics*: None means the metrics on the board. Results by the board's evaluation LM come first, followed by those
    of other LMs that have scored the same metrics. Raises `SettingsError` for an unknown candidate or metric, or a
    faulty file.
    """
    file, store = load_contrasts(path), Store(state, edition)
    planned = store.read(PLANNED_SIGNATURES)
    shown = shown_signatures(store, metrics)
    if unknown := sorted({name for item in file.contrasts for name in item.metrics} - {row["metric"] for row in shown}):
        meant = suggest_known_names(unknown[0], (row["metric"] for row in shown))
        raise SettingsError(f"{path}: the board has no scores of {unknown[0]}; {meant}")
    signatures = [*shown, *_select_other_lm_signatures(shown, planned)]
    rows = compute_contrast_rows(store, file.contrasts, signatures, planned)
    board = store.read(LEADERBOARD, signature_ids=[row["signature_id"] for row in signatures])
    validations = {row["signature_id"]: row["validation"] for row in board}
    for row in rows:
        row["validation"] = validations.get(row["signature_id"], "")
        row["validated"] = is_validated([row])
    return {
        "edition": store.key, "file": path.name, "sha256": file.sha256, "level": LEVEL, "power": POWER,
        "contrasts": rows,
    }  # fmt: skip


def _select_other_lm_signatures(shown: Sequence[SignatureRow], planned: Sequence[SignatureRow]) -> list[SignatureRow]:
    """Returns the *planned* signatures that differ from a *shown* one only in the evaluation LM, newest first."""
    kept: dict[tuple[str, str], SignatureRow] = {}
    for own in shown:
        for row in planned:
            lms = row["evaluation_lm"], own["evaluation_lm"]
            alike = all(row[name] == own[name] for name in ("metric", "writer", "synopsis_writer", "form", "chance"))
            if alike and lms[0] != lms[1] and "none" not in lms:
                kept.setdefault((row["evaluation_lm"], row["metric"]), row)
    return list(kept.values())


def compute_contrast_rows(
    store: Store, contrasts: Sequence[PlannedContrast], signatures: Sequence[SignatureRow],
    known: Sequence[SignatureRow],
) -> list[dict[str, Any]]:  # fmt: skip
    """Returns one row per signature and contrast.

    *known*: the signatures among which those of the specific forms are looked up; a specific form has the scores above
    chance. Raises `SettingsError` for an unknown candidate.

    - *difference*: the mean over papers of the paired differences; *low*, *high*: its 95% interval.
    - *p_holm*: taken from the board if the contrast is one of the board's tests. Otherwise, the p-value is corrected
      over the board's tests and all contrasts that are not among them. *tests*: over how many tests it is corrected.
    - *detectable*: the difference that this number of papers detects with a power of 80%, in a single test at 5%.
    - *chance*, *above_chance*: the difference of the chance scores, and the difference of the scores above chance; None
      if there are no chance scores. As on the board, the tests allow for dependence between papers whose reviews were
      swapped to measure chance scores.
    - *at_length*: the fields of `LengthContrast`: the difference at equal length, with *p* and *why_not*. None if the
      slope of score on length cannot be estimated.
    - *problem*: why there is no test.
    """
    rows: list[dict[str, Any]] = []
    for signature in signatures:
        own = [item for item in contrasts if not item.metrics or signature["metric"] in item.metrics]
        rows += _compute_signature_rows(store, own, signature, known)
    by_lm: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["problem"] is None:
            by_lm[row["evaluation_lm"]].append(row)
    for family in by_lm.values():
        for part in ("chance", "above_chance", "at_length"):
            parts = [row[part] for row in family if row[part]]
            for each, p in zip(parts, adjust_by_holm([each["p"] for each in parts]), strict=True):
                each["p_holm"] = p
    return rows


def _compute_signature_rows(
    store: Store, contrasts: Sequence[PlannedContrast], signature: SignatureRow, known: Sequence[SignatureRow]
) -> list[dict[str, Any]]:
    pairs = ScoredPairs(*load_score_columns(store, signature))
    parts = split_off_chance_scores(store, signature, pairs, known)
    candidates = list(dict.fromkeys(pairs.candidates))
    words = index_word_counts(_transpose(store.read(BOARD_LENGTHS, **build_scored_text_key(signature)._asdict())))
    texts = collect_text_lengths(pairs, words)
    try:
        slope = estimate_length_slope(texts.values, texts.words, texts.papers, candidates=texts.candidates)
    except ValueError:
        slope = None
    board = store.read(LEADERBOARD, signature_ids=[signature["signature_id"]])
    rows = []
    for contrast in contrasts:
        names = [
            require_known_name(name, candidates, f"edition {store.key} has no scores of candidate")
            for name in (contrast.first, contrast.second)
        ]
        row: dict[str, Any] = {
            "metric": signature["metric"], "evaluation_lm": signature["evaluation_lm"],
            "signature_id": signature["signature_id"], "name": contrast.name, "question": contrast.question,
            "first": names[0], "second": names[1],
            "difference": None, "low": None, "high": None, "p": None, "p_holm": None, "tests": 0, "papers": 0,
            "ahead": 0, "detectable": None, "chance": None, "above_chance": None, "at_length": None, "problem": None,
        }  # fmt: skip
        rows.append(row)
        own = pairs.of_candidates(names)
        if (test := compute_paired_test(own, names)) is None:
            row["problem"] = "fewer than two papers on which both are scored"
            continue
        row |= _get_test_fields(test)
        for name, part in parts.items():
            if (part_test := compute_paired_test(part.of_candidates(names), names)) is not None:
                row[name] = _get_test_fields(part_test) | {"p_holm": None}
        row["detectable"] = smallest_detectable_difference(test.sd, test.papers, 1 - LEVEL, POWER)
        if slope is not None:
            at_length = contrast_at_length(slope, *_collect_length_arguments(own, names, words))
            row["at_length"] = asdict(at_length) | {"p": at_length.p, "p_holm": None, "why_not": at_length.why_not}
    ranked = [each for each in board if each["rank"] is not None]
    if ranked and all(each["tests"] is None and not each["untested"] for each in ranked):
        for row in rows:
            row["problem"] = row["problem"] or NOT_YET
    _set_corrected_p(
        [row for row in rows if row["problem"] is None], read_holm_family(store.read, signature["signature_id"], board)
    )
    return rows


NOT_YET = "the board's tests, which its p-value is corrected over, come when the refresh that adds scores has ended"


def _set_corrected_p(rows: Sequence[dict[str, Any]], tests: HolmFamily) -> None:
    """Sets *p_holm* and *tests* in *rows*; *tests*: the board's family.

    A row whose two candidates the family tests gets the board's p-value. The others are corrected together with the
    family's tests.
    """
    others: dict[frozenset[str], float] = {}
    for row in rows:
        if test := tests.between(row["first"], row["second"]):
            row["p_holm"], row["tests"] = test.p_holm, tests.size
        else:
            others[frozenset((row["first"], row["second"]))] = row["p"]
    corrected = dict(zip(others, tests.correct_further_p_values(list(others.values())), strict=True))
    for row in rows:
        if row["p_holm"] is None:
            row["p_holm"] = corrected[frozenset((row["first"], row["second"]))]
            row["tests"] = tests.size + len(others)


def split_off_chance_scores(
    store: Store, signature: SignatureRow, pairs: ScoredPairs, known: Sequence[SignatureRow]
) -> dict[str, ScoredPairs]:
    """Splits each score of *pairs* into its chance score (``chance``) and the score above chance (``above_chance``).

    The scores above chance are the stored scores of the specific form of *signature*. Pairs that lack such a score are
    left out. Returns {} if the specific form's signature is not among the *known* signatures.
    """
    specific = next(
        (row for row in known if row["signature_id"] == find_specific_form_signature_id(signature, known)), None
    )
    if specific is None:
        return {}
    above = ScoredPairs(*load_score_columns(store, specific))
    values = {key[:3]: key[3] for key in zip(*pairs.columns, strict=True)}
    kept = [index for index, key in enumerate(zip(*above.columns[:3], strict=True)) if key in values]
    above = above.select_positions(kept)
    chance = [values[key[:3]] - key[3] for key in zip(*above.columns, strict=True)]
    return {"chance": replace(above, values=chance), "above_chance": above}


def compute_paired_test(pairs: ScoredPairs, names: Sequence[str], level: float = LEVEL) -> CandidateTest | None:
    """Returns the paired test of the two candidates *names*; None if they share fewer than two papers."""
    if len(set(pairs.candidates)) < 2:
        return None
    try:
        (test,) = pairs.tests(level)
    except ValueError:
        return None
    return test if test.first == names[0] else test.with_candidates_reversed()


def _get_test_fields(test: CandidateTest) -> dict[str, Any]:
    return {name: getattr(test, name) for name in ("difference", "low", "high", "p", "papers", "ahead")}


def load_score_columns(store: Store, signature: SignatureRow) -> list[list[Any]]:
    return _transpose(store.read(BOARD_PAIRS, signature_id=signature["signature_id"]))


def _transpose(rows: Sequence[Any]) -> list[list[Any]]:
    return [list(column) for column in zip(*(row.values() for row in rows), strict=True)] or [[], [], [], []]


def _collect_length_arguments(pairs: ScoredPairs, names: Sequence[str], words: Any) -> tuple[Any, ...]:
    """Returns the arguments of `contrast_at_length` for both *names*, without the papers that lack a length."""
    values = {key[:3]: key[3] for key in zip(*pairs.columns, strict=True)}
    by_paper: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for (name, paper, reference), value in values.items():
        other = values.get((names[1], paper, reference))
        if name == names[0] and other is not None and all(words.get((each, paper)) for each in names):
            by_paper[paper].append((value, other))
    papers = list(by_paper)
    scores = [[sum(pair[k] for pair in by_paper[paper]) / len(by_paper[paper]) for paper in papers] for k in (0, 1)]
    lengths = [[float(words[name, paper]) for paper in papers] for name in names]
    unit = dict(zip(zip(pairs.candidates, pairs.papers, strict=True), pairs.swaps or (), strict=False))
    units = tuple([unit[name, paper] for paper in papers] for name in names) if unit else None
    return papers, *scores, *lengths, units


SHOWN_PAPERS = 3


def compare_candidates(state: Path, edition: str, names: Sequence[str], metrics: list[str] | None) -> dict[str, Any]:
    """Compares the two candidates *names* of one edition; returns one row per metric.

    *metrics*: None means the metrics on the board. Raises `SettingsError` unless *names* are two different candidates.

    - *p*: not corrected, so valid only if these two candidates were chosen before the scores were known. *problem*: why
      there is no test.
    - *won*, *lost*: the numbers of papers that the first candidate won and lost. *most*, *least*: the papers that it
      won or lost by the largest differences.
    - *board*: *p_holm*, corrected over the *tests* of the board, and which candidate, if any, is *surely_ahead*. It is
      None unless both candidates are ranked in one group.
    - *chance*, *above_chance*: the same test on each part that `split_off_chance_scores` returns; None if there are no
      parts.
    - *validated*, *validation*: whether the metric is validated with its evaluation LM and writer; the same in words.
    - *other_lms*: the same test by each other validated *evaluation_lm* that has ranked both candidates.
    - *notes*: what a reader of the metric's board must know about each of the two candidates; "" if nothing.
    """
    store = Store(state, edition)
    names = [resolve_candidate(store, name) for name in names]
    if len(names) != 2 or names[0] == names[1]:
        given = f"got {', '.join(names)}" if names else "got none"
        raise SettingsError(
            f"--edition compares two candidates, {given}; name two: gre-bench compare A B -e {store.key}"
        )
    planned = store.read(PLANNED_SIGNATURES)
    signatures = {row["signature_id"]: row for row in shown_signatures(store, metrics)}
    boards: dict[str, list[LeaderboardRow]] = {}
    for row in store.read(LEADERBOARD, signature_ids=list(signatures)):
        boards.setdefault(row["signature_id"], []).append(row)
    rows = []
    for signature_id in (*boards, *(signatures.keys() - boards.keys())):
        signature, board = signatures[signature_id], boards.get(signature_id, [])
        row = _compare_by_metric(store, signature, names)
        tested = board and not row["problem"]
        row["board"] = _find_board_test(read_holm_family(store.read, signature_id, board), names) if tested else None
        pairs = ScoredPairs(*load_score_columns(store, signature)).of_candidates(names)
        parts = {
            name: compute_paired_test(part, names, 0.90)
            for name, part in split_off_chance_scores(store, signature, pairs, planned).items()
        }
        row |= {name: asdict(test) if (test := parts.get(name)) else None for name in ("chance", "above_chance")}
        row["validated"], row["validation"] = is_validated(board), board[0]["validation"] if board else ""
        row["evaluation_lm"] = signature["evaluation_lm"]
        orders = read_candidate_orders_by_lm(store.read, signature_id, board)[1:] if tested else []
        row["other_lms"] = [own for each in orders if (own := _find_other_lm_test(each, names))]
        about = {each["candidate"]: describe_candidate(each) for each in board}
        row["notes"] = [about.get(name, "") for name in names]
        rows.append(row)
    return {"edition": store.key, "compared": list(names), "candidates": rows}


def _compare_by_metric(store: Store, signature: SignatureRow, names: Sequence[str]) -> dict[str, Any]:
    rows = store.read(CANDIDATE_PAIRS, signature_id=signature["signature_id"], candidates=list(names))
    planned = {row["candidate_id"] for row in rows}
    if lost := [name for name in names if name not in planned]:
        raise SettingsError(f"edition {store.key}: {format_missing_pairs(signature['metric'], lost)}")
    scored = [row for row in rows if row["state"] == "scored"]
    compared = {"metric": signature["metric"], "signature_id": signature["signature_id"]}
    try:
        (test,) = _run_all_paired_tests(scored)
    except ValueError:
        return compared | {"problem": "fewer than two papers on which both are scored"}
    test = test if test.first == names[0] else test.with_candidates_reversed()
    differences = compute_paper_leads(scored, names)
    order = sorted(differences, key=lambda paper: differences[paper])
    won, lost = ([paper for paper in order if differences[paper] * sign > 0] for sign in (1, -1))
    return compared | asdict(test) | {
        "problem": None,
        "won": len(won),
        "lost": len(lost),
        "most": [{"paper_id": paper, "difference": differences[paper]} for paper in won[::-1][:SHOWN_PAPERS]],
        "least": [{"paper_id": paper, "difference": differences[paper]} for paper in lost[:SHOWN_PAPERS]],
    }  # fmt: skip


def _find_board_test(tests: HolmFamily, names: Sequence[str]) -> dict[str, Any] | None:
    """Returns the test of the two *names* among a board's *tests*; None unless they are ranked in one group."""
    test = tests.between(*names)
    return {"p_holm": test.p_holm, "tests": tests.size, "surely_ahead": _find_sure_leader(test)} if test else None


def _find_other_lm_test(lm_order: CandidateOrder, names: Sequence[str]) -> dict[str, Any] | None:
    """Returns the test of *names* by another evaluation LM, without the difference, which is on that LM's own scale."""
    if (test := lm_order.tests.between(*names)) is None:
        return None
    leader = names[0] if test.difference > 0 else names[1]
    return {
        "evaluation_lm": lm_order.lm, "leader": leader, "p": test.p, "board": _find_board_test(lm_order.tests, names)
    }  # fmt: skip


def _find_sure_leader(test: CandidateTest) -> str | None:
    """Returns the candidate that is ahead of the other by `CandidateTest.surely_ahead`; None if neither is."""
    return next((each.first for each in (test, test.with_candidates_reversed()) if each.surely_ahead), None)


def compute_paper_leads(scored: Sequence[CandidatePairRow], names: Sequence[str]) -> dict[str, float]:
    """Returns paper → mean difference between the two *names*, over the references that both were scored against."""
    values = {(row["candidate_id"], row["paper_id"], row["reference_id"]): row["value"] for row in scored}
    by_paper: dict[str, list[float]] = {}
    for (name, paper, reference), value in values.items():
        other = values.get((names[1], paper, reference))
        if name == names[0] and value is not None and other is not None:
            by_paper.setdefault(paper, []).append(value - other)
    return {paper: sum(differences) / len(differences) for paper, differences in by_paper.items()}


def _run_all_paired_tests(scored: Sequence[CandidatePairRow]) -> list[CandidateTest]:
    """Returns the tests of all pairs of candidates; raises ValueError if a pair shares fewer than two papers."""
    names = ("candidate_id", "paper_id", "reference_id", "value", "unit")
    columns: list[list[Any]] = [[row[name] for row in scored] for name in names]
    return ScoredPairs(*columns).tests()


LM = ("evaluation_lm", "lm_digest", "dtype", "quantisation", "attention", "template_digest", "engine_version")
"""Fields of a signature that identify the evaluation LM. Two signatures to compare should agree in all other fields."""


def are_evaluation_lm_names(store: Store, names: Sequence[str]) -> bool:
    """Returns whether all *names* are evaluation LMs, or beginnings of signature ids, and none is a candidate.

    Raises `SettingsError` if all names but one are LMs or signatures, and no name is a candidate.
    """
    signatures = store.read(PLANNED_SIGNATURES)
    candidates = [row["candidate_id"] for row in store.read(CANDIDATES)]
    absent = [name for name in names if not _find_signatures(name, signatures)]
    if len(absent) == 1 and not find_matching_name(absent[0], candidates) and not set(names) & set(candidates):
        lms = {row["evaluation_lm"] for row in signatures if row["evaluation_lm"] != "none"}
        raise SettingsError(f"edition {store.key} has no scores by {absent[0]}; {suggest_known_names(absent[0], lms)}")
    return not absent and not set(names) & set(candidates)


def compare_lms(state: Path, edition: str, names: Sequence[str], metrics: Sequence[str] | None) -> dict[str, Any]:
    """Compares two evaluation LMs, or two signatures; returns one row per metric that both have scored.

    *names*: the names of the LMs, or beginnings of the signatures' ids. *metrics*: None means all. Raises
    `SettingsError` if the two share no metric, or fewer than two scored pairs.
    """
    store = Store(state, edition)
    planned = [row for row in store.read(PLANNED_SIGNATURES) if not metrics or row["metric"] in metrics]
    sides = [_find_signatures(name, planned) for name in names]
    shared = [metric for metric in dict.fromkeys(row["metric"] for row in sides[0])
              if metric in {row["metric"] for row in sides[1]}]  # fmt: skip
    if not shared:
        among = f" among {', '.join(metrics)}" if metrics else ""
        raise SettingsError(f"edition {store.key}: {names[0]} and {names[1]} have no metric in common{among}")
    rows = [_compare_by_both_lms(store, *_choose_closest_signatures(metric, *sides)) for metric in shared]
    return {"edition": store.key, "compared": list(names), "evaluation_lms": rows}


def _find_signatures(name: str, signatures: Sequence[SignatureRow]) -> list[SignatureRow]:
    """Returns the signatures whose id begins with *name*; if there are none, those of the evaluation LM *name*."""
    by_id = [row for row in signatures if len(name) >= 6 and row["signature_id"].startswith(name)]
    return by_id or [row for row in signatures if row["evaluation_lm"] == name]


def _choose_closest_signatures(
    metric: str, first: Sequence[SignatureRow], second: Sequence[SignatureRow]
) -> tuple[SignatureRow, SignatureRow]:
    """Returns two signatures of *metric*, one from *first* and one from *second*, that are as alike as possible.

    *first*, *second*: the signatures of the two compared LMs. The two that are returned differ in the fewest fields,
    not counting the fields `LM`. Raises `SettingsError` if both LMs have only the same signature of *metric*.
    """
    both = [(a, b) for a in first for b in second if a["metric"] == b["metric"] == metric]
    both = [(a, b) for a, b in both if a["signature_id"] != b["signature_id"]]
    if not both:
        raise SettingsError(f"{metric}: that is one signature named twice; name two")
    return min(both, key=lambda pair: len(_find_differing_fields(*pair)))


def _find_differing_fields(first: SignatureRow, second: SignatureRow) -> dict[str, list[Any]]:
    own = ("signature_id", *LM)
    # pyrefly: ignore[bad-typed-dict-key]
    return {name: [first[name], second[name]] for name in first if name not in own and first[name] != second[name]}


def _compare_by_both_lms(store: Store, first: SignatureRow, second: SignatureRow) -> dict[str, Any]:
    sides = _keep_shared_pairs(*(store.read(BOARD_PAIRS, signature_id=row["signature_id"]) for row in (first, second)))
    kept = sides[0]
    row: dict[str, Any] = {
        "metric": first["metric"], "signature_ids": [first["signature_id"], second["signature_id"]],
        "lms": [{name: row[name] for name in LM} for row in (first, second)],
        "differ_in": _find_differing_fields(first, second),
        "pairs": len(kept.candidates), "papers": len(set(kept.papers)),
        "problem": None, "agreement": None, "order": None, "candidates": [],
    }  # fmt: skip
    try:
        tests = [side.tests() for side in sides]
    except ValueError as problem:
        return row | {"problem": str(problem)}
    with suppress(ValueError):  # fewer than three candidates, or an LM that gives all the same score
        row["agreement"] = asdict(
            correlate_ranks_by_two_measures(kept.values, sides[1].values, kept.papers, kept.candidates, seed=SEED)
        )
    ranked = [ranks(side.values, kept.papers, kept.candidates) for side in sides]
    ahead = [leads_over_baseline(tested, HUMAN) for tested in tests]
    row["candidates"] = [
        {"candidate": name, "ranks": [by_name[name] for by_name in ranked],
         "leads": [by_name.get(name) for by_name in ahead], **_correlate_candidate(*sides, name)}
        for name in sorted(ranked[0], key=lambda name: ranked[0][name])
    ]  # fmt: skip
    boards = [store.read(LEADERBOARD, signature_ids=[each["signature_id"]]) for each in (first, second)]
    families = [read_holm_family(store.read, each["signature_id"], board)
                for each, board in zip((first, second), boards, strict=True)]  # fmt: skip
    both = [(test, other) for test in families[0].tests if (other := families[1].between(test.first, test.second))]
    return row | {
        "order": asdict(count_significant_orders([test for test, _ in both], [other for _, other in both], alpha=ALPHA))
    }


def _keep_shared_pairs(left: Sequence[BoardPairRow], right: Sequence[BoardPairRow]) -> tuple[ScoredPairs, ScoredPairs]:
    """Returns the pairs that both LMs have scored, with the scores by each LM, in the same order."""
    sides = [
        {(row["candidate_id"], row["paper_id"], row["reference_id"]): row for row in side} for side in (left, right)
    ]
    keys = [key for key in sides[0] if key in sides[1]]
    if len(keys) < 2:
        raise SettingsError("the two evaluation LMs have fewer than two pairs in common")
    first, second = (ScoredPairs(*_transpose([side[key] for key in keys])) for side in sides)
    return first, second


def _correlate_candidate(first: ScoredPairs, second: ScoredPairs, name: str) -> dict[str, Any]:
    """Returns a candidate's number of pairs, and, if defined, Spearman's ρ of the two LMs' scores on these pairs."""
    from scipy.stats import spearmanr

    left, right = (side.of_candidates([name]).values for side in (first, second))
    varies = len(left) > 2 and len(set(left)) > 1 and len(set(right)) > 1
    result: Any = spearmanr(left, right) if varies else None
    return {"pairs": len(left), "spearman": result and float(result.statistic)}

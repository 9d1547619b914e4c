"""Computes what a board shows besides mean scores and ranks: contamination, rank statistics, lengths and costs.

The SQL in ``sql/queries/fill.sql`` computes mean scores and ranks, and fills the table ``board``.

The table ``exposures`` states for each LM whether it may have been trained on the edition's reviews. Rank statistics
state how certain the candidates' order is. A refresh deletes them before it changes scores, and recomputes them at its
end.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from gre_bench.catalogs import models
from gre_bench.catalogs.models import Model
from gre_bench.core.controls import CONTROLS
from gre_bench.core.errors import SettingsError
from gre_bench.core.metrics import find_recipe, find_specific_form_signature_id
from gre_bench.core.records import HUMAN
from gre_bench.ingest.records.venues import find_venue_entry
from gre_bench.lm.opening import find_base_model_name
from gre_bench.metrics.scoring import RAW_CUT
from gre_bench.pipeline.runs.job import Job
from gre_bench.pipeline.training_overlap import TrainingOverlap
from gre_bench.ranking.contamination import Role, describe_conflict, find_contamination, find_model_entry
from gre_bench.ranking.rank_statistics import (
    ScoredPairs,
    Words,
    build_test_family,
    compute_rank_statistics,
    scores_at_human_length,
)
from gre_bench.stats.families import HolmFamily
from gre_bench.stats.intervals import AboveChance, above_chance, paired_test, two_way_clustered_test
from gre_bench.store import Row, Store, queries


class ScoredTextKey(NamedTuple):
    """The parts of a signature that determine which text a metric reads, and therefore which words are counted."""

    source: str
    writer: str
    form: str
    cut: int


def build_scored_text_key(signature: queries.SignatureRow) -> ScoredTextKey:
    """Returns the parts of *signature* that determine which text its metric reads."""
    recipe = find_recipe(signature["metric"])
    return ScoredTextKey(recipe.source, signature["writer"], signature["form"], RAW_CUT if recipe.formula else 10**9)


def index_word_counts(columns: Iterable[Sequence[Any]]) -> Words:
    """Returns (candidate, paper) → number of words; *columns*: the result of the query `BOARD_LENGTHS`."""
    return {(name, paper): count for name, paper, count in zip(*columns, strict=True)}


BOARDS = ("clean", "all")
"""The boards of a signature: contaminated models have no rank on the first, and a rank on the second."""
PER_TOKENS = 1_000_000
"""Prices are listed per this many tokens."""


def store_contamination(
    store: Store, job: Job, signatures: Sequence[queries.SignatureRow], trained_on: TrainingOverlap
) -> None:
    """Stores which LMs may have been trained on the edition's reviews, and the group in which each candidate is ranked.

    The LMs are the candidates, the evaluation LM and the writers. *signatures* name the evaluation LM and the writers;
    *trained_on* has the papers on which these were trained.
    """
    known, edition, board = models.load(job.settings.writing.models), job.settings.edition, job.settings.board
    try:
        day = find_venue_entry(edition.venue, edition.year).reviews_released
    except SettingsError:
        day = None  # the catalogue has no such venue
    candidates = store.rows(queries.CANDIDATES)
    roles: list[tuple[Role, str]] = [("candidate", row["candidate_id"]) for row in candidates if row["kind"] == "model"]
    roles += [role for row in signatures for role in get_lm_and_writers_by_role(row).items()]
    own = {
        (role, each.name): (each, len(papers), trained_on.compared)
        for role, (each, papers) in trained_on.by_role.items()
    }
    base = find_base_model_name(job.settings.evaluation_lm)
    rows = []
    for role, name in dict.fromkeys(roles):
        register = own.get((role, name))
        origin = base if register and role == "evaluation_lm" else None
        rows.append(asdict(find_contamination(role, name, known, day, register, origin)))
    grouped = [{"candidate_id": name, "group_name": find_rank_group(name, board.groups), "note": board.notes.get(name)}
               for name in (row["candidate_id"] for row in candidates)]  # fmt: skip
    store.write(("put_exposures", rows), ("group_candidates", grouped))


def get_lm_and_writers_by_role(signature: queries.SignatureRow) -> dict[Role, str]:
    """Returns role → name, for the evaluation LM and the writers (LMs or rules) of *signature*."""
    return {
        "evaluation_lm": signature["evaluation_lm"],
        "writer": signature["writer"],
        "synopsis_writer": signature["synopsis_writer"],
    }


def clear_rank_statistics(store: Store, signature_ids: Sequence[str], *then: tuple[str, Any]) -> None:
    """Deletes the signatures' rank statistics and tests, because scores will change; then runs the steps *then*."""
    ids = {"signature_ids": list(signature_ids)}
    tables = ("rank_statistics", "pair_tests", "differences", "chance")
    store.write(*((f"clear_{table}", ids) for table in tables), *then)


def store_rank_statistics(store: Store, job: Job, signatures: Sequence[queries.SignatureRow], run_id: str) -> None:
    """Computes and stores what boards show besides mean scores; replaces earlier values.

    For each candidate, these are its rank statistics and tests, its length in words, its length-controlled score, and
    its costs. The length-controlled score is an estimate for reviews as long as the human ones.

    Args:
        store: the edition's store, whose lock the caller holds.
        job: the job, whose settings name the models file.
        signatures: the signatures of the boards, one per metric.
        run_id: the id of the run under which the values are recorded.
    """
    known = models.load(job.settings.writing.models)
    ids = [signature["signature_id"] for signature in signatures]
    counted: dict[ScoredTextKey, Words] = {}
    judged: dict[str, dict[str, Row]] = {}
    texts: dict[str, list[Row]] = {}
    boards: dict[tuple[str, str], dict[str | None, dict[str, int]]] = defaultdict(dict)
    store.fill_board()
    for row in store.rows(queries.RANKED, signature_ids=ids):
        ranked = boards[row["signature_id"], row["board"]]
        ranked.setdefault(row["group_name"], {})[row["candidate"]] = row["rank"]
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for signature in signatures:
        name = signature["signature_id"]
        pairs = ScoredPairs(*store.columns(queries.BOARD_PAIRS, signature_id=name))
        chance = compute_above_chance(store, name, find_specific_form_signature_id(signature, signatures))
        above = {candidate: test.p for candidate, test in chance.items() if test.p is not None}
        own = {"signature_id": name, "run_id": run_id}
        tests: HolmFamily | None = None
        for board in BOARDS:
            groups = list(boards[name, board].values())
            if tests is None or groups != list(boards[name, BOARDS[0]].values()):
                tests = build_test_family(pairs, groups, above)
            of_board = own | {"board": board}
            rows["pair_tests"] += [asdict(test) | of_board for test in tests.tests]
            rows["rank_statistics"] += [asdict(row) | of_board for row in compute_rank_statistics(pairs, groups, tests)]
        writer = signature["writer"]
        if writer not in judged:
            judged[writer] = {row["candidate_id"]: row for row in store.rows(queries.BOARD_JUDGMENTS, writer=writer)}
            texts[writer] = store.rows(queries.BOARD_TEXTS, writer=writer)
        about = build_profile_rows(store, signature, pairs, known, counted, judged[writer], texts[writer])
        rows["chance"] += [
            {"candidate_id": candidate, "chance": result.chance, "above": result.above, "above_low": result.low,
             "above_high": result.high, "above_p": result.p, "papers": result.papers, "swaps": result.swaps} | own
            for candidate, result in chance.items()
        ]  # fmt: skip
        rows["differences"] += [row | own for row in compare_with_human(store, name)]
        for profile in about:
            if (bounds := profile.pop("extremes")) is not None:
                lengths = {"candidate_id": profile["candidate_id"], "shortest": bounds[0], "longest": bounds[1]}
                rows["lengths"].append(lengths | own)
        rows["profiles"] += [row | own for row in about]
    tables = ("chance", "differences", "pair_tests", "rank_statistics", "lengths", "profiles")
    with store.transaction():
        clear_rank_statistics(store, ids, *((f"put_{name}", rows[name]) for name in tables))
        store.fill_board()


def find_rank_group(name: str, groups: Mapping[str, Sequence[str]]) -> str | None:
    """Returns the first of *groups* (group → name patterns) that matches the candidate *name*; None for the main group.

    The human baseline and the controls are always in the main group.
    """
    if name == HUMAN or name in CONTROLS:
        return None
    matching = (group for group, patterns in groups.items() if any(fnmatchcase(name, item) for item in patterns))
    return next(matching, None)


def compute_above_chance(store: Store, signature_id: str, specific_id: str | None) -> dict[str, AboveChance]:
    """Returns candidate → how far its scores are above its chance scores.

    *specific_id*: the id of the signature of the metric's specific form (see `find_specific_form_signature_id`). If it
    is None, the result is empty.
    """
    if specific_id is None:
        return {}
    rows = store.rows(queries.CHANCE_PAIRS, signature_id=signature_id, specific_id=specific_id)
    chance = {}
    for name, group in groupby(rows, key=itemgetter("candidate_id")):
        pairs = list(group)
        chance[name] = above_chance(*([row[key] for row in pairs] for key in ("value", "above", "paper_id", "unit")))
    return chance


def compare_with_human(store: Store, signature_id: str) -> list[dict[str, Any]]:
    """Returns the p-value of each candidate's mean difference from the human baseline, with the number of papers.

    The test is Student's t-test, paired by paper. If the metric subtracts chance scores, papers of one swap are treated
    as dependent (`two_way_clustered_error`). A candidate has no row if it has fewer than two independent papers, or if
    its difference is the same on all papers.
    """
    rows = store.rows(queries.HUMAN_DIFFERENCES, signature_id=signature_id)
    tested = []
    for name, group in groupby(rows, key=lambda row: row["candidate_id"]):
        papers = list(group)
        differences, own, human = ([row[key] for row in papers] for key in ("difference", "own", "human"))
        try:
            p = (two_way_clustered_test(differences, own, human) if own[0] else paired_test(differences)).p
        except ValueError:
            continue
        if not math.isnan(p):
            tested.append({"candidate_id": name, "p": p, "papers": len(differences)})
    return tested


def build_profile_rows(
    store: Store, signature: queries.SignatureRow, pairs: ScoredPairs, known: Mapping[str, Model],
    counted: dict[ScoredTextKey, Words], judged: Mapping[str, Row], texts: Sequence[Row],
) -> list[dict[str, Any]]:  # fmt: skip
    """Returns the rows of the table ``profiles`` (lengths, costs, judgments) for one signature, one per human or model.

    - *counted*: a cache of word counts, which this function fills and all signatures share.
    - *judged*: candidate → a summary of its judgments by the signature's writer.
    - *texts*: the numbers of texts requested from LMs or rules, with their tokens.
    """
    recipe = find_recipe(signature["metric"])
    read = build_scored_text_key(signature)
    if read not in counted:
        counted[read] = index_word_counts(store.columns(queries.BOARD_LENGTHS, **read._asdict()))
    words = counted[read]
    at, scores = (None, {}) if recipe.name.endswith("length") else scores_at_human_length(pairs, words)
    texts_of: dict[str, list[Row]] = defaultdict(list)
    for row in texts:
        texts_of[row["candidate_id"]].append(row)
    nothing = {"judged": 0, "unparsable": 0, "lines": 0, "strays": 0, "median_lines": None, "covered": None}
    human_lines = judged.get(HUMAN, nothing)["median_lines"]
    counts: dict[str, list[int]] = defaultdict(list)
    for (name, _), count in words.items():
        counts[name].append(count)
    return [
        {
            "candidate_id": name,
            "words": sum(counts[name]) / len(counts[name]) if counts[name] else None,
            "extremes": (min(counts[name]), max(counts[name])) if counts[name] else None,
            "human_words": at,
            "at_length": scores[name].value if name in scores else None,
            "at_length_low": scores[name].low if name in scores else None,
            "at_length_high": scores[name].high if name in scores else None,
            **compute_text_cost(texts_of[name], known, "review" if kind == "model" else "judgments"),
            **judged.get(name, nothing),
            "human_lines": human_lines,
            "conflict": describe_conflict(name, get_lm_and_writers_by_role(signature), known)
            if kind == "model"
            else None,
        }
        for name, kind in ((row["candidate_id"], row["kind"]) for row in store.rows(queries.CANDIDATES))
        if kind in ("human", "model")
    ]


def compute_text_cost(texts: Sequence[Row], known: Mapping[str, Model], first: str) -> dict[str, Any]:
    """Returns the cost of one candidate's *texts*: numbers of requested and unusable texts, tokens, and USD.

    *first*: the first kind of text that is written for the candidate: ``review``, or ``judgments`` for humans. Tokens
    and USD are None if the texts of this kind were imported, or if a reply has no token count. USD is None if a price
    is unknown. A text by rule costs nothing. A text from the archive of replies costs what its request cost originally.
    """
    bought = [row for row in texts if not row["writer"].startswith(("rule", "extractive"))]
    is_known = any(row["task"] == first for row in texts) and all(row["unstated"] == 0 for row in bought)
    prompts, replies = ([row[kind] or 0 for row in bought] for kind in ("prompt_tokens", "reply_tokens"))
    prices = [
        (model.price_in, model.price_out)
        for row in bought
        if (model := find_model_entry(row["writer"], known))
        and model.price_in is not None
        and model.price_out is not None
    ]
    usd: float | None = None
    if is_known and len(prices) == len(bought):
        usd = sum(
            (prompt * price_in + reply * price_out) / PER_TOKENS
            for prompt, reply, (price_in, price_out) in zip(prompts, replies, prices, strict=True)
        )
    return {
        "asked": sum(row["asked"] for row in texts),
        "unusable": sum(row["unusable"] for row in texts),
        "prompt_tokens": sum(prompts) if is_known else None,
        "reply_tokens": sum(replies) if is_known else None,
        "usd": usd,
    }

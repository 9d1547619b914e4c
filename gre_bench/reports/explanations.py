"""Explains a number on the board by its pairs, tokens, texts, prompts and digests, and recomputes the number.

The number is a mean over papers; the value of a paper is the mean over its pairs. For GEM, the score of a pair is the
difference of two log-probabilities. A log-probability is a sum over the tokens of a reply to a prompt, and prompts are
made of texts. Each of these steps is checked, and the results of the checks are recorded.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from gre_bench.board.words import format_missing_pairs
from gre_bench.catalogs.domains import load_domain
from gre_bench.core import settings as configuration
from gre_bench.core.errors import SettingsError
from gre_bench.core.known_names import suggest_known_names
from gre_bench.core.metrics import Recipe, find_recipe
from gre_bench.core.records import HUMAN, Candidate, Case
from gre_bench.core.terminal import counted
from gre_bench.lm.opening import find_reply_splitter
from gre_bench.metrics.cases import (
    ReviewWithJudgments,
    SampledPaper,
    add_judgments_as_beyond_synopses,
    find_candidate_review,
    plan_edition_pairs,
)
from gre_bench.metrics.scoring import MetricCases, ScoringResult, build_predictions, combine_logprobs
from gre_bench.pipeline.importing import set_job_domain
from gre_bench.pipeline.planning import load_sample_entries
from gre_bench.pipeline.runs.job import Job
from gre_bench.prompts.library import content_address, render
from gre_bench.reports.board_rows import read_paper_leads
from gre_bench.reports.signatures import resolve_candidate
from gre_bench.store import ReadersCopyStore, Row, Store, keep_copies_open
from gre_bench.store.queries import (
    LEADERBOARD,
    MOVED,
    PLANNED_CANDIDATE,
    SAMPLE,
    WHY_PAIRS,
    WHY_PAPER,
    WHY_REVIEWS,
    WHY_RUN,
    WHY_SPANS,
    LeaderboardRow,
    SignatureRow,
    WhyPaperRow,
    WhyReviewRow,
    WhySpanRow,
)
from gre_bench.tasks import steps


@keep_copies_open()
def explain_score(
    state: Path, edition: str, signature: SignatureRow, candidate_id: str, paper_id: str | None, recount: bool = True
) -> ScoreExplanation:
    """Returns what a candidate's mean score under *signature* depends on, with the results of all checks.

    *paper_id*: return only this paper's pairs, with their tokens, texts and prompts. *recount*: whether to score the
    pairs again and compare the scores. Raises `SettingsError` for a candidate or paper without pairs.
    """
    store = ReadersCopyStore(state, edition)
    candidate_id = resolve_candidate(store, candidate_id)
    ids = {"signature_id": signature["signature_id"], "candidate_id": candidate_id}
    pairs: list[dict[str, Any]] = [{**row} for row in store.rows(WHY_PAIRS, **ids)]
    if not pairs:
        raise SettingsError(f"edition {store.key}: {format_missing_pairs(signature['metric'], [candidate_id])}")
    source = find_scoring_run(store, signature, candidate_id, state)
    rows = store.rows(LEADERBOARD, signature_ids=[signature["signature_id"]])
    board = next((row for row in rows if row["candidate"] == candidate_id), None)
    leads = read_paper_leads(store, signature["signature_id"], candidate_id)
    answer = ScoreExplanation(store.key, candidate_id, signature, board, source.run, pairs, leads)
    check_mean(answer)
    if paper_id is not None:
        answer.pairs = [row for row in pairs if row["paper_id"] == paper_id]
        if not answer.pairs:
            meant = suggest_known_names(paper_id, (row["paper_id"] for row in pairs))
            raise SettingsError(f"edition {store.key}: no pair of paper {paper_id}; {meant}")
    if store.is_from_release:
        return answer  # a release has no texts that could be checked, shown or scored again
    due = rebuild_cases(store, signature, read_planned_candidate(store, candidate_id), source)
    wanted = {(row["paper_id"], row["reference_id"]) for row in answer.pairs if row["state"] == "scored"}
    by_place = {(case.paper_id, case.reference_id): case for case in due}
    kept = {key: by_place[key] for key in by_place if key in wanted}
    _check_texts(answer, kept, source)
    if paper_id is not None:
        add_pair_evidence(answer, store, kept, source)
        add_text_origins(answer, store, paper_id, candidate_id)
    if recount:
        _rescore_and_compare(answer, source, kept)
        if paper_id is not None:
            _score_without_each_judgment(answer, source, list(kept.values()))
    return answer


def check_mean(answer: ScoreExplanation) -> None:
    values = defaultdict(list)
    for row in answer.pairs:
        if row["state"] == "scored":
            values[row["paper_id"]].append(row["value"])
    stored = answer.board and answer.board["score"]
    if stored is None or not values:
        return
    mean = math.fsum(math.fsum(own) / len(own) for own in values.values()) / len(values)
    pairs = counted(sum(map(len, values.values())), "pair")
    claim = f"the board's {stored:+.6f} is the mean over {counted(len(values), 'paper')} of {pairs}"
    answer.record_check(claim, is_nearly_equal(mean, stored), f"their mean is {mean:+.6f}")


def _check_texts(answer: ScoreExplanation, kept: Mapping[tuple[str, str], Case], source: ScoringRun) -> None:
    """Checks, by comparing digests, that the current texts and prompts are those that were scored.

    *kept*: (paper, reference) → its `Case`, the texts to score, rebuilt from the store.
    """
    scored = [row for row in answer.pairs if row["state"] == "scored"]
    lost = [row for row in scored if (row["paper_id"], row["reference_id"]) not in kept]
    recipe, scoring = find_recipe(answer.signature["metric"]), source.settings.scoring

    def places(row: Row) -> list[str]:
        return [
            content_address(term)
            for term in build_predictions(recipe, kept[row["paper_id"], row["reference_id"]], scoring)
        ]

    changed = [row for row in scored if recipe.formula and row not in lost and places(row) != list(row["predictions"])]
    claim = "texts and prompts are those that were scored" if recipe.formula else "the texts of all pairs are there"
    example = next((f"paper {row['paper_id']}, reference {row['reference_id']}" for row in (*lost, *changed)), "")
    detail = (
        f"{len(lost)} gone, {len(changed)} changed, first {example}" if example else f"{counted(len(scored), 'pair')}"
    )
    answer.record_check(claim, not lost and not changed, detail)


def _rescore_and_compare(answer: ScoreExplanation, source: ScoringRun, kept: Mapping[tuple[str, str], Case]) -> None:
    """Scores the cases in *kept* (see `_check_texts`) again, without stored log-probabilities.

    Records in *answer* whether scores and signature are unchanged.
    """
    today = recompute_signature(answer.signature, source)
    # pyrefly: ignore[bad-typed-dict-key]
    different = [name for name in today if name != "signature_id" and today[name] != answer.signature[name]]
    # pyrefly: ignore[bad-typed-dict-key]
    detail = "; ".join(f"{name}: {answer.signature[name]} then, {today[name]} now" for name in different)
    answer.record_check("the evaluation LM and engine are those that scored", not different, detail)
    work = MetricCases(answer.signature["metric"], answer.signature["signature_id"], tuple(kept.values()))
    scored = steps.score_papers("why", source.job.backends, source.settings.scoring, [work], {})
    off = compare_with_stored_scores(answer.pairs, scored)
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
    answer.record_check(
        f"a recount of {counted(len(scored.scores), 'pair')} agrees within {TOLERANCE:.0e}", not unlike, detail
    )


def _score_without_each_judgment(answer: ScoreExplanation, source: ScoringRun, due: Sequence[Case]) -> None:
    """Adds to *answer* the candidate's judgments, each with its loss: the nats that the score loses without it.

    The largest loss comes first. *due*: the cases of one paper, whose pairs have been scored again. Does nothing if
    there is only one judgment, or if the metric does not read judgments.
    """
    lines = [line for line in due[0].candidate.splitlines() if line.strip()] if due else []
    if len(lines) < 2 or due[0].source != "judgments" or not find_recipe(answer.signature["metric"]).formula:
        return
    texts = ("\n".join(lines[:index] + lines[index + 1 :]) for index in range(len(lines)))
    works = [
        MetricCases(answer.signature["metric"], str(index), tuple(replace(case, candidate=text) for case in due))
        for index, text in enumerate(texts)
    ]
    whole = {row["reference_id"]: row.get("recount") for row in answer.pairs}
    lost = defaultdict[str, list[float]](list)
    for score in steps.score_papers("why", source.job.backends, source.settings.scoring, works, {}).scores:
        before = whole[score.reference_id]
        if score.value is not None and before is not None:
            lost[score.signature_id].append(before - score.value)
    judgments = [
        {"text": line, "nats": math.fsum(own) / len(own)}
        for index, line in enumerate(lines)
        if (own := lost[str(index)])
    ]
    answer.judgments = sorted(judgments, key=lambda row: row["nats"], reverse=True)


TERMS = {
    "pmi": ("given the candidate's review", "without it"),
    "specific": ("given the candidate's review", "given its review of another paper"),
    "recall": ("reference given candidate",),
    "precision": ("candidate given reference",),
    "f1": ("reference given candidate", "candidate given reference"),
}
"""Formula of a metric → the meanings of a score's log-probabilities, in the order of its predictions."""


@dataclass(slots=True)
class ScoreExplanation:
    """The evidence behind a candidate's number: its row on the *board*, the last *run*, its *pairs*, and the *checks*.

    *papers*: the candidate's results by paper (see `read_paper_leads`). *details*: texts, prompts and log-probabilities
    of each pair of one paper. *judgments*: the candidate's judgments, each with the nats that the paper's score loses
    without it. *paper*, *reviews*: where the paper's texts come from.
    """

    edition: str
    candidate: str
    signature: SignatureRow
    board: LeaderboardRow | None
    run: Row
    pairs: list[dict[str, Any]]
    papers: list[dict[str, Any]] = field(default_factory=list)
    details: list[dict[str, Any]] = field(default_factory=list)
    judgments: list[dict[str, Any]] = field(default_factory=list)
    paper: WhyPaperRow | None = None
    reviews: list[WhyReviewRow] = field(default_factory=list)
    checks: list[dict[str, Any]] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        return all(row["holds"] for row in self.checks)

    def record_check(self, claim: str, holds: bool, detail: str = "") -> None:
        self.checks.append({"what": claim, "holds": holds, "detail": detail})


def add_pair_evidence(
    answer: ScoreExplanation, store: ReadersCopyStore, kept: Mapping[tuple[str, str], Case], source: ScoringRun
) -> None:
    """Adds to *answer* the texts, prompts and log-probabilities of each of its pairs that has a case in *kept*.

    Also checks that the tokens' log-probabilities add up to their totals, and that the totals give the score. Raises
    `SettingsError` if log-probabilities are missing in *store*.
    """
    recipe = find_recipe(answer.signature["metric"])
    split = find_reply_splitter(source.settings.evaluation_lm) if recipe.formula else None
    for row in answer.pairs:
        case = kept.get((row["paper_id"], row["reference_id"]))
        if case is None:
            continue
        item: dict[str, Any] = {"reference_id": row["reference_id"], "value": row["value"], "x": case.candidate,
                       "y": case.reference, "synopsis": case.synopsis, "moved": case.moved, "terms": [],
                       "tokens": [], "shared": [], "lacking": []}  # fmt: skip
        if recipe.formula:
            spans = _read_spans(store, row, recipe)
            parts = build_predictions(recipe, case, source.settings.scoring)
            for name, part, span in zip(TERMS[recipe.formula], parts, spans, strict=True):
                pieces = split(part.reply, span["ids"]) if split else None
                item["terms"].append(
                    {"of": name, "prediction": span["prediction"], "lm_id": span["lm_id"], "total": span["total"],
                     "escaped": span["escaped"], "prompt": asdict(render(part)), "ids": span["ids"],
                     "pieces": pieces, "logprobs": span["logprobs"]}
                )  # fmt: skip
            summed = all(math.isclose(math.fsum(s["logprobs"]), s["total"], rel_tol=1e-5) for s in spans)
            answer.record_check(f"reference {row['reference_id']}: tokens add up to the log-probabilities", summed)
            whole = combine_logprobs(recipe, [span["total"] for span in spans])
            claim = f"reference {row['reference_id']}: the log-probabilities give the score"
            answer.record_check(claim, is_nearly_equal(whole, row["value"]), f"{whole:+.6f}")
            if recipe.formula in ("pmi", "specific"):
                item["tokens"] = _compute_token_gains(item["terms"])
                item |= _choose_named_words(item["tokens"], case.candidate)
        answer.details.append(item)


def _read_spans(store: ReadersCopyStore, row: Row, recipe: Recipe) -> list[WhySpanRow]:
    """Returns the stored log-probabilities from which the score of the pair *row* was computed.

    There is one row per prediction (a reply to a prompt), in the order of *row*'s predictions. All rows are of one LM.
    If several LMs have rows for all predictions, an LM whose rows give the stored score is preferred. Raises
    `SettingsError` if no LM has rows for all of them.
    """
    by_lm: dict[str, dict[str, WhySpanRow]] = defaultdict(dict)
    for span in store.rows(WHY_SPANS, predictions=list(row["predictions"])):
        by_lm[span["lm_id"]][span["prediction"]] = span
    whole = [spans for spans in by_lm.values() if all(prediction in spans for prediction in row["predictions"])]
    made = [[spans[prediction] for prediction in row["predictions"]] for spans in whole]
    fitting = [
        spans
        for spans in made
        if is_nearly_equal(combine_logprobs(recipe, [span["total"] for span in spans]), row["value"])
    ]
    if not made:
        raise SettingsError(f"paper {row['paper_id']}: its log-probabilities are not here; refresh the edition")
    return (fitting or made)[0]


def _compute_token_gains(terms: Sequence[Row]) -> list[dict[str, Any]]:
    """Returns each token's log-probability in the two *terms* of a score, and the gain, which is their difference.

    Returns [] if the terms differ in their number of tokens.
    """
    given, alone = terms
    pieces = given["pieces"] or [f"#{number}" for number in given["ids"]]
    if len(given["logprobs"]) != len(alone["logprobs"]):
        return []
    return [
        {"token": piece, "given": after, "alone": without, "gain": after - without}
        for piece, after, without in zip(pieces, given["logprobs"], alone["logprobs"], strict=True)
    ]


_WORD = re.compile(r"[^\W\d_][\w-]{3,}|[A-Z]{3,}")
NAMED = 4
"""At most this many words are listed as shared, and as many as lacking."""
LEAST_GAIN, LEAST_SURPRISE = 0.2, 6.0
"""The minimum gain and the minimum surprise of a shared word, in nats; the latter excludes words like "the"."""


def _choose_named_words(tokens: Sequence[Row], review: str) -> dict[str, list[str]]:
    """Returns two lists of words of the reference, at most `NAMED` each.

    - *shared*: words that are also in the *review*, perhaps with another ending, by their gain in nats. Words with
      little gain or surprise are left out.
    - *lacking*: words that the review lacks, by their surprise: −log-probability without the review, in nats.

    Gain and surprise of a word are sums over its *tokens*. The openings of judgments ("The reviewer questions") are
    ignored.
    """
    text = "".join(row["token"] for row in tokens)
    ends = list(accumulate(len(row["token"]) for row in tokens))
    stems = {_strip_suffix(word) for word in _WORD.findall(review)}
    shared: dict[str, float] = defaultdict(float)
    lacking: dict[str, float] = defaultdict(float)
    for match in _WORD.finditer(text):
        opening = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        if opening in ("", "The ", "The reviewer "):
            continue
        own = tokens[bisect_right(ends, match.start()) : bisect_left(ends, match.end()) + 1]
        surprise = -math.fsum(row["alone"] for row in own)
        if _strip_suffix(match[0]) not in stems:
            lacking[match[0]] += surprise
        elif surprise >= LEAST_SURPRISE:
            shared[match[0]] += math.fsum(row["gain"] for row in own)
    shared = {word: gain for word, gain in shared.items() if gain >= LEAST_GAIN}
    most = [sorted(words, key=lambda word: -words[word])[:NAMED] for words in (shared, lacking)]
    return dict(zip(("shared", "lacking"), most, strict=True))


def _strip_suffix(word: str) -> str:
    return re.sub(r"(?:ing|ed|es|s|e|ly)$", "", word.casefold()) or word


def add_text_origins(answer: ScoreExplanation, store: ReadersCopyStore, paper_id: str, candidate_id: str) -> None:
    """Adds to *answer* where the texts of a paper and of its reviews come from."""
    answer.paper = (store.rows(WHY_PAPER, paper_id=paper_id) or [None])[0]
    ids = {f"{paper_id}:{candidate_id}", *(row["reference_id"] for row in answer.pairs)}
    if candidate_id == HUMAN:
        roles = [row for row in store.rows(SAMPLE) if row["paper_id"] == paper_id]
        ids |= {row["review_id"] for row in roles if row["role"] == "candidate"}
    answer.reviews = store.rows(WHY_REVIEWS, review_ids=sorted(ids), writer=answer.signature["writer"])


def is_nearly_equal(first: float, second: float) -> bool:
    return math.isclose(first, second, rel_tol=TOLERANCE, abs_tol=1e-9)


TOLERANCE = 1e-6
"""The largest relative difference at which a stored and a recomputed number count as equal."""


@dataclass(frozen=True, slots=True)
class ScoringRun:
    """The last run that scored a candidate's pairs, and a job with that run's settings."""

    job: Job
    run: Row

    @property
    def settings(self) -> configuration.Settings:
        return self.job.settings


def find_scoring_run(store: Store, signature: SignatureRow, candidate_id: str, state: Path) -> ScoringRun:
    """Returns the run and the job that gave a candidate its scores under *signature*.

    Raises `SettingsError` if no run scored the candidate.
    """
    runs = store.rows(WHY_RUN, signature_id=signature["signature_id"], candidate_id=candidate_id)
    if not runs:
        why = f"{candidate_id} has no pair that was scored by {signature['metric']}"
        raise SettingsError(f"edition {store.key}: {why}; its pairs, with reasons: gre-bench status {store.key}")
    settings = configuration.load_recorded_settings(json.loads(runs[0]["settings"]), ())
    run = {name: value for name, value in runs[0].items() if name != "settings"}
    return ScoringRun(set_job_domain(Job(settings, state)), run)


def rebuild_cases(store: Store, signature: SignatureRow, candidate: Candidate, source: ScoringRun) -> list[Case]:
    """Returns the cases of *candidate*, made from the store's current texts; pairs without a text are left out."""
    scoring = source.settings.scoring
    assw_by = signature["synopsis_writer"] if find_recipe(signature["metric"]).synopsis == "assw" else None
    entries = load_sample_entries(store, {}, None, assw_by, scoring.synopsis_of)
    generic = load_domain(source.settings.edition.domain).generic
    recipe = find_recipe(signature["metric"])
    if recipe.synopsis == "beyond":
        entries = add_judgments_as_beyond_synopses(entries, scoring.beyond, signature["writer"], signature["form"])
    moved = _index_moved_reviews(store, signature["writer"], entries, candidate) if recipe.formula == "specific" else {}
    planned = plan_edition_pairs(
        entries, [candidate], recipe, signature["writer"], signature["form"], None, generic, moved
    )
    return [pair.case for pair in planned if pair.case]


def _index_moved_reviews(
    store: Store, writer: str, entries: Sequence[SampledPaper], candidate: Candidate
) -> dict[tuple[str, str], ReviewWithJudgments]:
    """Returns (candidate, paper) → the candidate's review of another paper that is scored as a review of this one."""
    responses = (find_candidate_review(entries, index, candidate) for index in range(len(entries)))
    by_id = {response.review_id: response for response in responses if response}
    rows = store.rows(MOVED, writer=writer, candidate_id=candidate.candidate_id)
    return {
        (candidate.candidate_id, row["paper_id"]): by_id[row["review_id"]] for row in rows if row["review_id"] in by_id
    }


def recompute_signature(signature: SignatureRow, source: ScoringRun) -> dict[str, Any]:
    """Returns the fields that the signature would have today; some differ if the LM or the engine has changed."""
    scoring = source.settings.scoring.model_copy(update={"metrics": (signature["metric"],)})
    assw_by = signature["synopsis_writer"] if find_recipe(signature["metric"]).synopsis == "assw" else None
    _, signatures = steps.sign_metrics(source.job.backends, scoring, signature["writer"], assw_by)
    today = signatures[signature["metric"]]
    return {name: getattr(today, name) for name in signature if name != "signature_id"} | {
        "signature_id": today.signature_id
    }


def compare_with_stored_scores(
    pairs: Sequence[dict[str, Any]], scored: ScoringResult
) -> list[tuple[dict[str, Any], float]]:
    """Adds the new scores to *pairs* as *recount*; returns (row, difference) for each pair that has both scores.

    The difference is relative to the sum of the absolute log-probabilities behind the new score or, if there are none,
    to the stored score.
    """
    by_pair = {(score.paper_id, score.reference_id): score for score in scored.scores}
    rows = []
    for row in pairs:
        score = by_pair.get((row["paper_id"], row["reference_id"]))
        row["recount"] = score.value if score else None
        if row["state"] != "scored" or score is None:
            continue
        # A score is a small difference between large log-probabilities, so the tolerance is relative to the latter.
        scale = sum(
            abs(scored.spans[prediction].total) for prediction in score.predictions if prediction in scored.spans
        )
        off = math.inf if score.value is None else abs(score.value - row["value"]) / (scale or abs(row["value"]) or 1.0)
        rows.append((row, off))
    return rows


def read_planned_candidate(store: Store, candidate_id: str) -> Candidate:
    return Candidate(**store.rows(PLANNED_CANDIDATE, candidate_id=candidate_id)[0])

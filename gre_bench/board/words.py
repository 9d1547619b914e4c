"""Puts a board into words: who leads, which candidates no test tells apart, who has no rank and why.

Unless stated otherwise, *rows* are rows of the view ``leaderboard`` (`LeaderboardRow`) for one metric.
`summarise_board` covers only candidates that belong to no group, because each group is ranked separately.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from gre_bench.core.known_names import format_name_list, get_part_after_slash
from gre_bench.core.metrics import ALPHA, find_recipe, is_metric_name
from gre_bench.core.records import HUMAN
from gre_bench.core.terminal import counted
from gre_bench.store import Row
from gre_bench.store.queries import CleanGapRow, ContaminationRow, LeaderboardRow, SignatureRow

if TYPE_CHECKING:
    from gre_bench.stats.families import HolmFamily

MOST_NAMED = 4
"""A sentence lists at most this many candidates. If there are more, it names only two and counts the others."""
FEW = 30
"""An interval from fewer papers than this is shown with a warning.

In samples from a normal distribution, or from Student's t with 3 degrees of freedom, the 90% t interval covers the mean
in 90% to 92% of the samples. In samples from a skewed distribution, it covers the mean less often: see `COVERED`.
"""
COVERED = ((2, 81), (3, 77), (4, 76), (8, 78), (12, 80), (16, 81), (20, 82), (FEW, 84))
"""(number of papers, percentage): in that percentage of 40,000 lognormal samples (σ = 1) of that size, the 90% t
interval covers the mean."""
FEW_MEANS = (
    f"Under {FEW} papers a 90% interval may be too short: where the differences are skewed it covers "
    f"{min(share for _, share in COVERED)}% to {COVERED[-1][1]}%"
)


@dataclass(frozen=True, slots=True)
class BoardColumn:
    """A column of a board on screens, on pages and in files.

    - *head*: the heading.
    - *meaning*: what the column shows.
    - *cell*: the function that returns the text of a row's cell.

    Columns are shown in the order of `COLUMNS`. If the screen is too narrow, the last columns are left out.
    """

    head: str
    meaning: str
    cell: Callable[[LeaderboardRow], str]


def format_score(value: float | None) -> str:
    """Returns *value* with its sign and two decimals; "" if it is None."""
    return "" if value is None else f"{value:+z.2f}"


def format_with_interval_half_width(value: float | None, end: float | None) -> str:
    """Formats a number with half the width of its interval, such as ``+1.20 ±0.31``.

    Args:
        value: the number; None if unknown.
        end: the upper end of its interval; None if unknown.

    Returns:
        The text. It is empty if *value* is None, and has no ± if *end* is None.
    """
    return format_score(value) + ("" if value is None or end is None else f" ±{end - value:.2f}")


FEWEST_PAPERS = 20
"""With fewer papers than this, the slope of scores on length is too uncertain to give a score at another length."""


def get_score_at_human_review_length(row: LeaderboardRow) -> float | None:
    """Returns the score that the candidate of *row* would have with texts as long as human ones.

    Returns None if *row* has no such score, if it is extrapolated, or if there are fewer than `FEWEST_PAPERS` papers.
    """
    return None if row["extrapolated"] or row["papers"] < FEWEST_PAPERS else row["at_length"]


def format_p_value(p: float | None) -> str:
    """Returns *p* with three decimals, or ``<0.001``; "" if it is None. Screens, pages and files use this format."""
    return "" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def format_rank_range(rank: int | None, low: int | None, high: int | None) -> str:
    """Formats a rank with the range that the tests allow, such as ``2 (2–4)``.

    Args:
        rank: the rank of a candidate; None if it has no rank.
        low: the best rank that the tests allow; None if there are no tests.
        high: the worst rank that the tests allow.

    Returns:
        The text. It is empty if *rank* is None, and the rank alone if the range is unknown or is one rank.
    """
    if rank is None:
        return ""
    return str(rank) if low is None or low == high else f"{rank} ({low}–{high})"


def format_row_rank_range(row: LeaderboardRow) -> str:
    """Formats the rank of *row* with its range; returns a dash if there is no rank or the metric is not validated."""
    if not is_validated([row]):
        return "–"
    return format_rank_range(row["rank"], row["rank_low"], row["rank_high"]) or "–"


def format_candidate_note(row: LeaderboardRow) -> str:
    """Returns the note on a candidate: why it has no rank, how many of its pairs lack a score, and cautions."""
    states = (f"{row[state]} {state}" for state in ("failed", "missing", "excluded") if row[state])
    no_more = row["surely_above_chance"] is False and row["kind"] != "control"
    chance = "not above chance" if no_more else None
    few = f"few judgments ({row['median_lines']:.0f}, human {row['human_lines']:.0f})" if row["few_lines"] else None
    same = "one text for all papers" if row["above_chance"] == row["above_chance_high"] == 0 else None
    unranked = row["unranked"] if row["kind"] != "control" else None
    return ", ".join(part for part in (unranked, *states, chance, same, few, row["note"]) if part)


HUMAN_IS = "human: the baseline, one human review of each paper; it is ranked, but never called the leader"
RANKED_APART = "ranked only with each other, as this board's settings say"
"""Explains a group of candidates; the settings define groups (``board.groups``)."""
ONE_LM = "Only one evaluation LM has scored this."


def describe_candidate(row: LeaderboardRow) -> str:
    """Returns what a reader must know about the candidate of *row*, such as what ``human`` is; "" if nothing."""
    note = format_candidate_note(row)
    if row["kind"] == "human" and not row["note"]:
        return "; ".join(filter(None, [HUMAN_IS, note]))
    about = ", ".join(filter(None, ["a control, made by rule" if row["kind"] == "control" else None, note]))
    return about and f"{row['candidate']}: {about}"


COLUMNS = (
    BoardColumn("rank", "in parentheses what tests allow, 95% for all candidates at once", format_row_rank_range),
    BoardColumn("candidate", "who wrote the reviews", lambda row: row["candidate"]),
    BoardColumn(
        "score",
        "mean nats told of a human review ± half a 90% interval",
        lambda row: format_with_interval_half_width(row["score"], row["high"]),
    ),
    BoardColumn(
        "vs human",
        "less human's, on shared papers",
        lambda row: format_with_interval_half_width(row["vs_human"], row["vs_human_high"]),
    ),
    BoardColumn(
        "p", "of vs human, Holm-corrected", lambda row: format_p_value(row["p"]) if is_validated([row]) else ""
    ),
    BoardColumn(
        "above chance",
        "less its own reviews of other papers",
        lambda row: format_with_interval_half_width(row["above_chance"], row["above_chance_high"]),
    ),
    BoardColumn("note", "why there is no rank or score, and what else to know", format_candidate_note),
)
CONTROLS = (
    "Controls are made by rule. One that copies the paper can stand above reviewers: human reviews quote the paper "
    "too, and the score rewards whatever they share."
)


@dataclass(frozen=True, slots=True)
class CandidateOrder:
    """The order of candidates by one evaluation LM (*lm*), with the *rows* and the *tests* of its board."""

    lm: str
    rows: Sequence[LeaderboardRow]
    tests: HolmFamily


def summarise_board(rows: Sequence[LeaderboardRow], lm_orders: Sequence[CandidateOrder] = ()) -> str:
    """Sums up one board in sentences: who leads, which candidates no test tells apart, who is not ranked and why.

    Args:
        rows: the rows of the board.
        lm_orders: the order of candidates by each validated evaluation LM, the board's own LM first. It may be empty
            only if there is no order to state: the metric is not validated, fewer than two candidates are ranked, or no
            test exists.

    Returns:
        Sentences. If the metric is not validated, they say why, and name no leader.
    """
    own = [row for row in rows if row["group_name"] is None]
    ranked = [row for row in own if row["rank"] is not None]
    sentences = []
    if not is_validated(rows):
        sentences.append(f"No order: {format_not_validated(rows[0]['validation'] if rows else '')}.")
    elif len(ranked) < 2:
        sentences.append("Fewer than two candidates are ranked, so there is no order.")
    elif why := warn_of_untested_order(ranked):
        sentences.append(why)
    else:
        sentences += _format_order(ranked, lm_orders)
    if reasons := explain_unranked(own):
        sentences.append(reasons)
    return " ".join(sentences)


LIKELY = "where papers have one human review each, it is the reference"
"""The likely reason why the human baseline has no pair and no score."""


def format_missing_pairs(metric: str, candidates: Sequence[str]) -> str:
    """States that a metric has no pairs for some candidates.

    Args:
        metric: the name of the metric.
        candidates: the names of the candidates that have no pairs.

    Returns:
        A phrase. If ``human`` is one of the candidates, the phrase includes the likely reason.
    """
    reason = f" ({LIKELY})" if HUMAN in candidates else ""
    return f"{metric} has no pair of candidate {', '.join(candidates)}{reason}"


def explain_missing_human_baseline(rows: Sequence[LeaderboardRow]) -> str:
    """Explains why the board of one metric has no human baseline.

    Args:
        rows: the rows of the board.

    Returns:
        A sentence with one of two reasons: the papers have one human review each, or too few papers have a second one.
        It is "" if the board has a human baseline, or lacks it for any other reason.
    """
    if not rows or not is_metric_name(rows[0]["metric"]) or any(row["kind"] == "human" for row in rows):
        return ""
    papers, pairs = rows[0]["expected_papers"] or 0, rows[0]["expected"]
    if not find_recipe(rows[0]["metric"]).needs_reference or pairs >= 2 * papers:
        return ""
    if pairs == papers:
        return "No human candidate, and no AUC: each paper has one human review here, which is the reference."
    return "No human candidate, and no AUC: too few papers have a second human review to compare one with."


def warn_of_untested_order(ranked: Sequence[LeaderboardRow]) -> str:
    """Warns if the order of candidates is not tested.

    Args:
        ranked: the rows of the ranked candidates of one board.

    Returns:
        A sentence that says why the order is not tested; "" if it is tested.
    """
    if problems := sorted({row["untested"] for row in ranked if row["untested"]}):
        return f"The order is not tested: {'; '.join(problems)}."
    if len(ranked) > 1 and all(row["tests"] is None for row in ranked):
        return "The order is not tested yet: the refresh that adds scores has not ended."
    return ""


def is_validated(rows: Sequence[Row]) -> bool:
    """Returns whether the board's metric is validated with its evaluation LM and writer."""
    return bool(rows) and rows[0]["validation"].startswith("validated")


def choose_headline_signature(rows: Sequence[LeaderboardRow], wanted: str | None = None) -> str:
    """Chooses the signature whose board comes first.

    Args:
        rows: the rows of all boards, those of validated metrics first.
        wanted: the headline metric of the settings, if any.

    Returns:
        The id of the signature of the metric *wanted*; if *wanted* has no board, the id of the first row's signature.
    """
    return next((row["signature_id"] for row in rows if row["metric"] == wanted), rows[0]["signature_id"])


def format_headline_warning(rows: Sequence[LeaderboardRow], wanted: str | None) -> str:
    """Warns if the headline metric of the settings has no board.

    Args:
        rows: the rows of all boards.
        wanted: the headline metric of the settings, if any.

    Returns:
        A sentence if no row is of the metric *wanted*; else "".
    """
    if wanted is None or not rows or any(row["metric"] == wanted for row in rows):
        return ""
    return f"board.headline names {wanted}, which has no board here: {rows[0]['metric']} comes first."


def explain_unranked(rows: Sequence[LeaderboardRow]) -> str:
    """Returns a sentence on the candidates that have no rank, with the reasons; "" if all have one."""
    without = [row for row in rows if row["rank"] is None and row["kind"] != "control"]
    if not without:
        return ""
    if len(without) == 1:
        return f"{without[0]['candidate']} is not ranked: {without[0]['unranked']}."
    reasons = Counter((row["unranked"] or "").split(":")[0] for row in without)
    why = "; ".join(f"{reason} ({count})" if count > 1 else reason for reason, count in reasons.items())
    return f"{len(without)} entries are not ranked: {why}."


def format_ties(rows: Sequence[LeaderboardRow]) -> Iterator[str]:
    """Yields a sentence for every two neighbours in rank that no test tells apart."""
    for row in rows:
        if row["rank"] is not None and row["tied"]:
            p = f"p {format_p_value(row['next_p'])}" if row["next_p"] is not None else "no test"
            yield f"Not told apart: {row['candidate']} and {row['next_candidate']} ({p})."


def format_contamination_gap(gap: CleanGapRow | None) -> str:
    """States how much higher contaminated candidates score than the others.

    Args:
        gap: a row of the query ``clean_gap``; None if no contaminated candidate has scores.

    Returns:
        A sentence; "" if *gap* is None.
    """
    if gap is None:
        return ""
    between = "" if gap["low"] is None else f" (90% {format_score(gap['low'])} to {format_score(gap['high'])})"
    return (
        f"Contaminated candidates, which have no rank here ({format_name_list(gap['candidates'])}), score "
        f"{format_score(gap['gap'])}{between} against the others, paired on {counted(gap['papers'], 'paper')}."
    )


def is_ngram_lm(evaluation_lm: str) -> bool:
    """Whether *evaluation_lm* is the included n-gram model. Its scores cannot be compared with a large LM's scores."""
    return evaluation_lm.startswith("cache-ngram")


ROLES = {"evaluation_lm": "evaluation LM", "writer": "writer", "synopsis_writer": "writer of synopses"}
"""Field of a signature that names an LM → what the board calls this LM."""


def format_contaminated_lms(signature: SignatureRow, exposures: Iterable[ContaminationRow]) -> Iterator[str]:
    """Warns of each LM that a signature names, if it may have been trained on the edition's reviews or papers.

    Args:
        signature: the signature of a board.
        exposures: the rows of the edition's table ``exposures``.

    Yields:
        One sentence per LM.
    """
    for row in exposures:
        mine = row["role"] in ROLES and signature[row["role"]] == row["name"]
        if mine and row["learnt"]:
            papers = counted(row["papers"] or 0, "paper")
            yield f"The {ROLES[row['role']]} {row['name']} was learnt from {row['learnt']:,} of these {papers}."
        elif mine and row["status"] in ("contaminated", "unknown"):
            known = f"learnt until {row['cutoff']}, reviews of {row['released']}" if row["cutoff"] else "cutoff unknown"
            base = "" if row["learnt"] is None else "base of the "
            yield f"The {base}{ROLES[row['role']]} {row['name']} may have read these reviews before ({known})."


def describe_training_overlap(signature: Mapping[str, Any], exposures: Iterable[ContaminationRow]) -> str:
    """States, for each LM and rule of a signature, on how many of an edition's papers it was trained.

    Args:
        signature: the signature of a board.
        exposures: the rows of the edition's table ``exposures``.

    Returns:
        A comma-separated list. It omits an LM or rule if nothing records its training papers; "" if all are omitted.
    """
    return ", ".join(
        f"{row['name']} {row['learnt']:,} of {counted(row['papers'] or 0, 'paper')}"
        for row in exposures
        if row["learnt"] is not None and signature.get(row["role"]) == row["name"]
    )


def _format_order(ranked: Sequence[LeaderboardRow], lm_orders: Sequence[CandidateOrder]) -> list[str]:
    """Returns sentences on who leads, where the human baseline stands, and which neighbours no test tells apart."""
    models = [row["candidate"] for row in ranked if row["kind"] == "model"]
    tops = [_find_top_model(lm_order, models) for lm_order in lm_orders]
    leader = tops[0][0] if tops and len(models) > 1 and all(top == (tops[0][0], []) for top in tops) else None
    sentences = []
    if leader:
        sentences.append(_format_lead(leader, ranked, lm_orders))
    elif len(models) > 1:
        sentences.append(_format_no_lead(models, lm_orders, tops))
    if human := next((row for row in ranked if row["kind"] == "human"), None):
        sentences.append(_format_human_position(human, models, lm_orders))
    runs = _find_tied_sequences(ranked, leader, lm_orders[0].tests)
    by = f"By {lm_orders[0].lm}, " if len(lm_orders) > 1 else ""
    alike = [_join_names([row["candidate"] for row in run]) for run, every in runs if every]
    if alike:
        apart = "; nor ".join(f"{names} are not told apart" if names == alike[0] else names for names in alike)
        sentences.append(f"{by}{apart}.")
    chains = [(run[0]["rank"], run[-1]["rank"]) for run, every in runs if not every]
    into = "in ranks" if by else "In ranks"
    return sentences + [f"{by}{into} {first} to {last}, no two neighbours are told apart." for first, last in chains]


def _find_top_model(lm_order: CandidateOrder, models: Sequence[str]) -> tuple[str, list[str]]:
    """Returns the top-ranked of *models* by one evaluation LM, and the models that the top one is not surely ahead of.

    A model is surely ahead of another if it leads by the mean and by the trimmed mean, and is ahead on more papers
    (`CandidateTest.surely_ahead`).
    """
    rank = {row["candidate"]: row["rank"] or math.inf for row in lm_order.rows}
    first, *others = sorted(models, key=lambda name: rank.get(name, math.inf))
    tests = {name: lm_order.tests.between(first, name) for name in others}
    return first, [name for name, test in tests.items() if test is None or not test.surely_ahead]


def _format_lead(leader: str, ranked: Sequence[LeaderboardRow], lm_orders: Sequence[CandidateOrder]) -> str:
    """Returns sentences: who leads, by which evaluation LMs, ahead of whom, and how long its texts and human ones are.

    Lengths, in words per paper, are stated because scores grow with length. The human baseline never leads: models are
    measured against it.
    """
    by = f" by {_join_names([each.lm for each in lm_orders])}" if len(lm_orders) > 1 else ""
    sentence = f"{get_part_after_slash(leader)} leads{by}{_format_lead_over_next_model(leader, ranked, lm_orders[0])}."
    sentence += "" if by else f" {ONE_LM}"
    words = {row["candidate"]: row["words"] for row in ranked}
    metric, own, human = ranked[0]["metric"], words[leader], words.get(HUMAN)
    if not own or not human or not is_metric_name(metric):
        return sentence
    texts = "judgments" if find_recipe(metric).source == "judgments" else "reviews"
    return f"{sentence} {get_part_after_slash(leader)}'s {texts} have {own:.0f} words per paper, human's {human:.0f}."


def _format_lead_over_next_model(leader: str, ranked: Sequence[LeaderboardRow], lm_order: CandidateOrder) -> str:
    """Returns a phrase on *leader* and the next model: ``, ahead of NEXT (p = 0.012) on 81 of 113 papers``."""
    after = next(row["candidate"] for row in ranked if row["kind"] == "model" and row["candidate"] != leader)
    test = lm_order.tests.between(leader, after)
    if test is None:
        return ""
    on = f"on {test.ahead} of {counted(test.papers, 'paper')}"
    return f", ahead of {get_part_after_slash(after)} (p {_format_p_with_relation_sign(test.p_holm)}) {on}"


def _format_no_lead(
    models: Sequence[str], lm_orders: Sequence[CandidateOrder], tops: Sequence[tuple[str, list[str]]]
) -> str:
    """Returns a sentence that says that no model leads, and gives the reason for each evaluation LM."""
    lms_by_answer: dict[str, list[str]] = {}
    for lm_order, (first, level) in zip(lm_orders, tops, strict=True):
        tests = [test for test in lm_order.tests.tests if {test.first, test.second} <= set(models)]
        if all(test.p_holm >= ALPHA for test in tests):
            what = f"no two of {len(models)} models differ significantly"
        elif level:
            others = f"{get_part_after_slash(level[0])} and {counted(len(level) - 1, 'other')}"
            others = others if len(level) > 2 else _join_names(level)
            what = f"{get_part_after_slash(first)} is not surely ahead of {others}"
        else:
            what = f"{get_part_after_slash(first)} is ahead of all others"
        lms_by_answer.setdefault(what, []).append(lm_order.lm)
    if len(lm_orders) < 2:
        return f"No model leads: {next(iter(lms_by_answer), 'there is no test')}."
    return f"No model leads: {'; '.join(f'by {_join_names(lms)}, {what}' for what, lms in lms_by_answer.items())}."


def _format_human_position(human: LeaderboardRow, models: Sequence[str], lm_orders: Sequence[CandidateOrder]) -> str:
    """Returns a sentence that says how many models the human baseline scores above and below, by evaluation LM.

    Only significant differences count. If the settings have a note on the baseline, such as who worded its
    judgments, the sentence includes the note.
    """
    lms_by_answer: dict[str, list[str]] = {}
    for lm_order in lm_orders:
        tests = [test for name in models if (test := lm_order.tests.between(HUMAN, name))]
        apart = [test for test in tests if test.p_holm < ALPHA]
        above = sum(test.difference > 0 for test in apart)
        parts = [f"{where} {_format_share_of_models(count, len(models))}" for where, count in
                 (("above", above), ("below", len(apart) - above)) if count]  # fmt: skip
        what = (
            f"scores significantly {' and '.join(parts)}"
            if parts
            else f"differs significantly from {'no model' if len(models) == 1 else f'none of {len(models)} models'}"
        )
        if len(models) == len(apart) == 1:
            where, p = "above" if above else "below", _format_p_with_relation_sign(apart[0].p_holm)
            what = f"scores {where} {get_part_after_slash(models[0])} (p {p})"
        lms_by_answer.setdefault(what, []).append(lm_order.lm)
    wording = f" ({human['note']})" if human["note"] else ""
    by = [f"{what} by {_join_names(lms)}" if len(lm_orders) > 1 else what for what, lms in lms_by_answer.items()]
    return f"The human baseline{wording} {', and '.join(by)}."


def _format_share_of_models(count: int, models: int) -> str:
    return f"all {models} models" if count == models > 1 else f"{count} of {counted(models, 'model')}"


def _format_p_with_relation_sign(p: float) -> str:
    """Returns *p* as the text that follows the letter ``p``: ``= 0.012`` or ``<0.001``."""
    return text if (text := format_p_value(p)).startswith("<") else f"= {text}"


def _find_tied_sequences(
    ranked: Sequence[LeaderboardRow], leader: str | None, tests: HolmFamily
) -> list[tuple[list[LeaderboardRow], bool]]:
    """Returns sequences of candidates with consecutive ranks in which no test tells two neighbours apart, best first.

    A sequence has two or more rows, and is returned as (rows, whether no test tells any two of its candidates
    apart). The leader belongs to no sequence.
    """
    runs: list[list[LeaderboardRow]] = []
    for row in ranked:
        last = runs[-1][-1] if runs else None
        if last and leader not in (last["candidate"], row["candidate"]) and _is_tied(last, row, tests):
            runs[-1].append(row)
        else:
            runs.append([row])
    return [(run, all(_is_tied(*two, tests) for two in combinations(run, 2))) for run in runs if len(run) > 1]


def _is_tied(first: LeaderboardRow, second: LeaderboardRow, tests: HolmFamily) -> bool:
    test = tests.between(first["candidate"], second["candidate"])
    return test is None or test.p_holm >= ALPHA


def _join_names(names: Sequence[str]) -> str:
    """Joins *names* with commas and "and", without the makers of models; of many names, only the first two appear."""
    if len(names) == 1:
        return get_part_after_slash(names[0])
    short = [get_part_after_slash(name) for name in names]
    short = short if len(set(short)) == len(short) else list(names)
    if len(names) > MOST_NAMED:
        return f"{short[0]}, {short[1]} and {counted(len(names) - 2, 'candidate')} after them"
    return f"{', '.join(short[:-1])} and {short[-1]}"


def format_not_validated(validation: str) -> str:
    """States that a metric is not validated.

    Args:
        validation: the value in the column ``validation`` of the board's row.

    Returns:
        ``not validated``, followed by the reason if *validation* has one, such as ``(failed on ICLR-2020)``.
    """
    known = validation.partition(": ")[2]
    return f"not validated ({known.replace('fail on', 'failed on')})" if known else "not validated"


def describe_scoring_lm(evaluation_lm: str, validation: str) -> str:
    """States which LM scored a board, and whether the metric is validated with it.

    Args:
        evaluation_lm: the name of the LM; ``none`` for a metric that needs no LM.
        validation: the value in the column ``validation`` of the board's rows.

    Returns:
        A phrase such as ``scored by NAME: validated on EDITION``.
    """
    by = f"{evaluation_lm}, a small count model" if is_ngram_lm(evaluation_lm) else evaluation_lm
    return f"scored by {'rule' if evaluation_lm == 'none' else by}: {validation}"


def warn_of_few_papers(counts: Iterable[int | None]) -> str | None:
    """Warns if a number of papers is below `FEW`.

    Args:
        counts: numbers of papers; None and 0 are ignored.

    Returns:
        A warning that states the smallest number; None if it is not below `FEW`.
    """
    fewest = min((count for count in counts if count), default=FEW)
    return (
        (f"few papers: {fewest}. {describe_interval_coverage(fewest)}" if fewest > 1 else "one paper")
        if fewest < FEW
        else None
    )


def warn_of_small_samples(papers: Iterable[tuple[str, int]], most: int = 20) -> str:
    """Warns of samples that have fewer than `FEW` papers.

    Args:
        papers: (name, number of papers) for each sample, such as an edition or an area.
        most: how many samples the warning names at most. It only counts the others.

    Returns:
        The warning; "" if no number is below `FEW`.
    """
    small = [f"{name} {count}" for name, count in papers if count < FEW]
    more = f", and {len(small) - most} more" if len(small) > most else ""
    return f"Few papers: {', '.join(small[:most])}{more}. {FEW_MEANS}." if small else ""


def describe_interval_coverage(papers: int) -> str:
    """States how often an interval from few papers covers the mean.

    Args:
        papers: the number of papers.

    Returns:
        A sentence without its full stop.
    """
    covered = next((share for size, share in reversed(COVERED) if size <= papers), COVERED[0][1])
    return f"A 90% interval may be too short: where the differences are skewed it covers about {covered}%"


def warn_of_flaw_signature_mismatch(metrics: Sequence[str]) -> str:
    """Warns that reviews of papers with planted flaws were scored with another LM, prompt or writer than the board.

    Args:
        metrics: the metrics whose scores were made in this way.

    Returns:
        The warning, without a full stop.
    """
    return f"{', '.join(metrics)} was scored otherwise than the board: by another LM, prompt or writer of judgments"

"""Prints a leaderboard as tables: scores, ranks and ties, and the data and tests behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from gre_bench.cli.views import screen
from gre_bench.cli.views.board_details import show_details
from gre_bench.cli.views.fitted import Column, fits, fits_at_all, show
from gre_bench.cli.views.screen import p_value, say
from gre_bench.core.metrics import recipe_of
from gre_bench.core.terminal import counted
from gre_bench.ranking.exposure import learnt_line
from gre_bench.stats.intervals import few_papers
from gre_bench.store import Row, Store
from gre_bench.store.queries import (
    CURRENT_SIGNATURES,
    EXPOSURES,
    LEADERBOARD,
    SEPARATION,
    CleanGapRow,
    ExposureRow,
    LeaderboardRow,
    SeparationRow,
    SignatureRow,
    UncoveredRow,
)

NGRAM_LIMITS = (
    "cache-ngram is a small count model: its scores compare with each other only, not with GEM by an 8B model. It "
    "rewards rare words that both reviews share, and single scores vary widely: read means over many papers."
)
LEGEND = {
    "±": "half of the 90% interval, clustered by paper",
    "±flat": "half of the published interval, all pairs independent",
    "ranks": "those that the tests allow, 95% for all together",
    "=": "not told apart from a neighbour",
    "− human": "difference to the human baseline, paired by paper",
    "above chance": "difference to the candidate's own reviews of other papers",
    "p": "of the t test of the difference before it, Holm-corrected over all tests of the board; in parentheses that "
    "of a candidate without a rank, not corrected",
}
"""What each column or sign means; the screen explains those that it shows."""
ROLES = {"evaluation_lm": "evaluation LM", "writer": "writer", "synopsis_writer": "writer of synopses"}
"""The LMs behind a score, beside the candidate: field of the signature → its name on the screen."""
SHOWN_TIES = 8
FLAGS = {
    "b": "baseline", "c": "control", "n": "no rank", "m": "pairs without a score", "!": "not above chance",
    "j": "few judgments", "i": "see its note",
}  # fmt: skip
PRINTED_IN_FULL = "nmji"
"""Flags for which the note of each candidate is printed in full below the table."""


def show_leaderboard(
    edition: str,
    rows: Sequence[LeaderboardRow],
    signatures: Sequence[SignatureRow],
    separations: Sequence[SeparationRow],
    exposures: Sequence[ExposureRow] = (),
    gaps: Sequence[CleanGapRow] = (),
    details: bool = False,
) -> None:
    """Prints one table per metric, best candidate first, with the tests and data behind it, and a legend at the end.

    - *rows*: the rows of the board.
    - *signatures*: the signature of each metric on the board.
    - *separations*: how well each metric separates reviews of the same paper from reviews of other papers (AUC).
    - *exposures*: which LMs may have seen the reviews.
    - *gaps*: the difference in score between contaminated and other models.
    - *details*: whether to print a second table, with properties of the candidates' reviews.
    """
    by_id = {row["signature_id"]: row for row in signatures}
    auc = {row["signature_id"]: row for row in separations}
    gap = {row["signature_id"]: row for row in gaps}
    heads: set[str] = set()
    for signature_id, members_of_signature in groupby(rows, key=lambda row: row["signature_id"]):
        group, signature = list(members_of_signature), by_id[signature_id]
        for name, members in groupby(group, key=lambda row: row["group_name"]):
            own = list(members)
            heads |= _metric_table(edition, own, signature, name)
            _ties(own)
            say("")
        if details:
            show_details(group)
        if few := few_papers(row["papers"] for row in group if row["rank"] is not None):
            say(few)
        _basis(group, signature, auc.get(signature_id), exposures, gap.get(signature_id))
    say(
        "score: mean over papers, each the mean over its references; "
        + "; ".join(f"{head}: {LEGEND[head]}" for head in LEGEND if head in heads),
        style="dim",
    )
    if any((row["evaluation_lm"] or "").startswith("cache-ngram") for row in signatures):
        say(NGRAM_LIMITS, style="dim")


def summary(summary: Row, store: Store) -> None:
    """Prints the outcome of a refresh: the board in *store*, why pairs have no score, and where the results are.

    *summary* is the summary that the refresh returned.
    """
    ids = [row["signature_id"] for row in summary["metrics"]]
    signatures = [row for row in store.read(CURRENT_SIGNATURES) if row["signature_id"] in ids]
    ids = [row["signature_id"] for row in signatures]
    rows, separations = store.read(LEADERBOARD, signature_ids=ids), store.read(SEPARATION, signature_ids=ids)
    show_leaderboard(summary["edition"], rows, signatures, separations, store.read(EXPOSURES))
    screen.show_reasons(summary["reasons"])
    show_uncovered(summary["uncovered"])
    for note in summary["notes"]:
        say(f"note: {note}")
    papers = f"{summary['papers']} of {counted(summary['sampled'], 'paper')}"
    done = f"{counted(summary['scored_now'], 'pair')} scored now, {papers}."
    say(f"{summary['outcome']}: {done} {summary['message']}".rstrip())
    say(f"results: {store.read_file} (DuckDB), {store.status_file}")


def show_uncovered(rows: Sequence[UncoveredRow]) -> None:
    """Prints a line for each candidate that lacks reviews of some papers, with a few of these papers' ids."""
    for row in rows:
        more = ", ..." if row["lacking"] > len(row["examples"]) else ""
        say(
            f"{row['candidate']}: no review of {row['lacking']} of {counted(row['papers'], 'paper')} "
            f"({', '.join(row['examples'])}{more}); import them for a rank"
        )


def _metric_table(edition: str, rows: list[LeaderboardRow], signature: SignatureRow, group: str | None) -> set[str]:
    """Prints the table of one metric and one *group* of candidates, whose board rows are *rows*.

    If the screen is too narrow for the text of the notes, letters (flags) replace it. Returns the heads and signs in
    the table that the legend must explain.
    """
    planned, sampled = rows[0]["plan_papers"] or 0, rows[0]["sampled"]
    pilot = f" · pilot: {planned} of {counted(sampled, 'paper')}" if planned < sampled else ""
    unit = recipe_of(signature["metric"]).unit
    tied = {name for row in rows if row["tied"] for name in (row["candidate"], row["next_candidate"])}

    def column(head: str, cell: Callable[[LeaderboardRow], str], order: int = 0, kind: str = "number") -> Column:
        return Column(head, [screen.plain(cell(row)) for row in rows], order, kind)

    columns = (
        column("rank", lambda row: str(row["rank"] or "–") + ("=" if row["candidate"] in tied else "")),
        column("ranks", _ranks, order=3),
        column("candidate", lambda row: row["candidate"], 0, "name"),
        column(unit, lambda row: with_half(row["mean"], row["high"])),
        column("±flat", lambda row: half(row["mean"], row["flat_high"]), order=5),
        column("− human", lambda row: with_half(row["difference"], row["difference_high"])),
        column("p", _p_to_human, order=2),
        column("above chance", lambda row: with_half(row["above_chance"], row["above_chance_high"])),
        column("p", _p_above_chance, order=4),
        column("pairs", _pairs, order=1),
    )
    note = column("note", lambda row: _note(row, signature["writer"]), 0, "note")
    styles = ["bold" if row["kind"] == "human" else "dim" if row["rank"] is None else "" for row in rows]
    apart = f" · group {group}, ranked among itself" if group else ""
    title = f"{edition} · {signature['metric']}{apart}{pilot}"
    flags = column("flags", _flags)
    noted = fits((*columns, note)) or not fits_at_all((*columns, flags))
    heads = show(title, (*columns, note if noted else flags), styles)
    if not noted:
        _flagged(rows, signature["writer"])
    return {*heads, *("=" for _ in tied), *("±" for row in rows if row["high"] is not None)}


def _flagged(rows: Sequence[LeaderboardRow], writer: str) -> None:
    """Explains the flags in a table: prints what each letter means.

    Some notes say more than a letter can (`PRINTED_IN_FULL`). For candidates with such a note, it prints the full text.
    *writer* is the writer of the judgments.
    """
    used = "".join(map(_flags, rows))
    if meanings := " · ".join(f"{flag} {meaning}" for flag, meaning in FLAGS.items() if flag in used):
        say(f"flags: {meanings}")
    for row in rows:
        if set(_flags(row)) & set(PRINTED_IN_FULL):
            say(f"{row['candidate']}: {_note(row, writer)}")


def _ties(rows: Sequence[LeaderboardRow]) -> None:
    """Prints which neighbours on the board do not differ significantly, and how many more papers would show it.

    If the order was not tested, it prints why.
    """
    ranks = {row["candidate"]: row["rank"] for row in rows}
    ties = [row for row in rows if row["tied"]]
    if ties:
        tests = counted(ties[0]["tests"] or 0, "test")
        say(f"not told apart (p corrected for {tests}; papers, if further scores are like these):")
    for row in ties[:SHOWN_TIES]:
        own, after = row["rank"], ranks.get(row["next_candidate"] or "")
        both = (
            f"ranks {own} and {after}" if after and after != own else f"{row['candidate']} and {row['next_candidate']}"
        )
        more = (
            f"{row['more_papers']:,} more papers would tell"
            if row["more_papers"]
            else "a million papers would not tell"
        )
        say(f"  {both}: p {p_value(row['next_p'])}; {more}")
    if len(ties) > SHOWN_TIES:
        say(f"  and {len(ties) - SHOWN_TIES} more neighbours")
    ranked = [row for row in rows if row["rank"] is not None]
    if len(ranked) < 2:
        return
    if problems := {row["untested"] for row in ranked if row["untested"]}:
        say(f"the order is not tested: {'; '.join(sorted(problems))}")
    elif all(row["tests"] is None for row in ranked):
        say("the order is not tested yet: the refresh that adds scores has not ended")


def _basis(
    rows: Sequence[LeaderboardRow],
    signature: SignatureRow,
    auc: SeparationRow | None,
    exposures: Sequence[ExposureRow],
    gap: CleanGapRow | None,
) -> None:
    """Prints the data behind the table of one metric, its signature, and whether the metric is validated.

    - *rows*: the rows of the table.
    - *auc*: how well the metric separates reviews of the same paper from reviews of other papers.
    - *exposures*: which LMs may have seen the reviews.
    - *gap*: the difference in score between contaminated and other models.
    """
    if auc:
        say(
            f"AUC, {auc['same']} against {auc['other']}: {auc['auc']:.3f} (95% {auc['low']:.3f} to "
            f"{auc['high']:.3f}; {auc['same_pairs']:,} and {counted(auc['other_pairs'], 'pair')}"
            f"{'; ' + counted(auc['left_out'], 'learnt paper') + ' left out' if auc['left_out'] else ''})"
        )
    say(
        f"signature {signature['signature_id']}: {signature['evaluation_lm']} {signature['lm_digest'][:8]} "
        f"{signature['dtype']}, judgments by {signature['writer']}, {signature['form']}",
        style="dim",
    )
    if each := references_line(rows):
        say(each)
    behind = [row for row in exposures if row["role"] in ROLES and signature[row["role"]] == row["name"]]
    if known := learnt_line(signature, behind):
        say(f"learnt from these papers: {known}", style="dim")
    for row in behind:
        if row["status"] == "contaminated":
            dated = f"learnt until {row['cutoff']}, reviews of {row['released']}"
            why = learnt_line(signature, [row]).removeprefix(f"{row['name']} ") if row["learnt"] else dated
            _warn(f"{ROLES[row['role']]} {row['name']} is contaminated: {'learnt from ' if row['learnt'] else ''}{why}")
    clean = {row["group_name"] for row in rows if row["kind"] == "model" and row["contamination"] != "contaminated"}
    if seen := sum(row["contamination"] == "contaminated" and row["group_name"] not in clean for row in rows):
        _warn(f"all {seen} models are contaminated, so they are ranked all the same: they may have read these reviews")
    if conflicts := [f"{row['candidate']} is {row['conflict']}" for row in rows if row["conflict"]]:
        _warn("; ".join(conflicts))
    if gap and gap["low"] is not None:
        say(
            f"contaminated models score {gap['gap']:+.2f} (90% {gap['low']:+.2f} to {gap['high']:+.2f}) against the "
            f"others, paired over {counted(gap['papers'], 'paper')}; --board all ranks them too"
        )
    validation = rows[0]["validation"]
    say(validation + "\n", style="yellow" if validation.startswith("unvalidated") else "green")


def references_line(rows: Sequence[LeaderboardRow]) -> str | None:
    """Returns how many references a paper the candidates have, if they differ; None if all have the same number."""
    counts = {row["kind"] == "human": row["expected"] / row["plan_papers"] for row in rows if row["plan_papers"]}
    if len(counts) < 2 or counts[True] == counts[False]:
        return None
    return (
        f"references: every human review, {counts[False]:.1f} a paper; the human baseline all but its own, "
        f"{counts[True]:.1f}. Differences to it use the references of both."
    )


def _warn(text: str) -> None:
    say(text, style="yellow")


def _ranks(row: LeaderboardRow) -> str:
    if row["rank_low"] is None:
        return ""
    return str(row["rank_low"]) if row["rank_low"] == row["rank_high"] else f"{row['rank_low']}–{row['rank_high']}"


def _pairs(row: LeaderboardRow) -> str:
    return f"{row['scored']}/{0 if row['planned'] == row['excluded'] else row['expected']}"


def _note(row: LeaderboardRow, writer: str) -> str:
    """Returns the note on a candidate: why it has no rank, how many of its pairs lack a score, and cautions.

    *writer* is the writer of the judgments.
    """
    states = (f"{row[state]} {state}" for state in ("failed", "missing", "excluded") if row[state])
    chance = "not above chance" if row["surely_above_chance"] is False else None
    few = f"few judgments by {writer} ({_lines(row)})" if row["few_lines"] else None
    baseline = "baseline" if row["kind"] == "human" else None
    return ", ".join(filter(None, [baseline, row["unranked"], *states, chance, few, row["note"]]))


def _flags(row: LeaderboardRow) -> str:
    """Returns the note on a candidate as letters (see `FLAGS`), for a screen too narrow for the text."""
    conditions = {
        "b": row["kind"] == "human",
        "c": row["kind"] == "control",
        "n": row["unranked"] is not None and row["kind"] != "control",
        "m": any(row[state] for state in ("failed", "missing", "excluded")),
        "!": row["surely_above_chance"] is False,
        "j": row["few_lines"],
        "i": row["note"] is not None,
    }
    return "".join(flag for flag, set_ in conditions.items() if set_)


def _lines(row: LeaderboardRow) -> str:
    return f"{row['median_lines']:.0f}, human {row['human_lines']:.0f}"


def number(value: float | None) -> str:
    """Returns *value* with its sign and two decimals; empty if None."""
    return "" if value is None else f"{value:+.2f}"


def half(value: float | None, end: float | None) -> str:
    """Returns half the width of an interval with the middle *value* and the upper end *end*.

    The text is empty if *value* or *end* is None.
    """
    return "" if value is None or end is None else f"{end - value:.2f}"


def with_half(value: float | None, end: float | None) -> str:
    """Returns *value* with ± half the width of its interval, such as ``+1.20 ±0.31``; *end* is the upper end.

    The text is empty if *value* is None, and has no ± if *end* is None.
    """
    half_width = half(value, end)
    return number(value) + (f" ±{half_width}" if half_width else "")


def _p_to_human(row: LeaderboardRow) -> str:
    """Returns the p-value of the candidate's difference to the human baseline; empty if there is none.

    The p-value of a candidate with a rank is corrected for all tests of the board. The p-value of a candidate without a
    rank is not corrected, and is put in parentheses.
    """
    if row["difference_p_holm"] is not None:
        return p_value(row["difference_p_holm"])
    alone = row["rank"] is None and row["difference_p"] is not None
    return f"({p_value(row['difference_p'])})" if alone else ""


def _p_above_chance(row: LeaderboardRow) -> str:
    """Returns the p-value of the candidate's score above chance; empty if there is none.

    A p-value in parentheses is not corrected for several tests, because the candidate has no rank.
    """
    if row["above_chance_p_holm"] is not None:
        return p_value(row["above_chance_p_holm"])
    alone = row["rank"] is None and row["above_chance_p"] is not None
    return f"({p_value(row['above_chance_p'])})" if alone else ""

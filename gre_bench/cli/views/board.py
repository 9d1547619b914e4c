"""Prints a leaderboard: one answer first, its table, and a line for each other metric."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from gre_bench.board.words import (
    COLUMNS,
    CONTROLS,
    answer,
    headline,
    headline_lacks,
    is_validated,
    note,
    p_value,
)
from gre_bench.cli.views import screen
from gre_bench.cli.views.board_details import show_details
from gre_bench.cli.views.fitted import Column, show
from gre_bench.cli.views.screen import say
from gre_bench.core.metrics import recipe_of
from gre_bench.core.terminal import counted
from gre_bench.ranking.exposure import learnt_line
from gre_bench.reports.signatures import headline_metric
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

NGRAM = ", a small count model"
ROLES = {"evaluation_lm": "evaluation LM", "writer": "writer", "synopsis_writer": "writer of synopses"}
"""The LMs behind a score, beside the candidate: field of the signature → its name on the screen."""
SHOWN_TIES = 8
WIDEST_NAME = 24
"""Names of candidates are cut to this width before a column is left out."""


def show_leaderboard(
    edition: str,
    rows: Sequence[LeaderboardRow],
    signatures: Sequence[SignatureRow],
    separations: Sequence[SeparationRow] = (),
    exposures: Sequence[ExposureRow] = (),
    gaps: Sequence[CleanGapRow] = (),
    details: bool = False,
    wanted: str | None = None,
    every: bool = False,
) -> None:
    """Prints the board of the headline metric, and one line for each other metric and group.

    - *rows*: the rows of the board.
    - *signatures*: the signature of each metric on the board.
    - *separations*: how well each metric separates reviews of the same paper from reviews of other papers (AUC).
    - *exposures*: which LMs may have seen the reviews.
    - *gaps*: the difference in score between contaminated and other models.
    - *details*: whether to print ties, data and tests behind each board, and properties of the reviews.
    - *wanted*: the headline metric; None means the first validated one.
    - *every*: whether to print the boards of all metrics and groups in full.
    """
    if not rows:
        return
    by_id = {row["signature_id"]: row for row in signatures}
    auc = {row["signature_id"]: row for row in separations}
    gap = {row["signature_id"]: row for row in gaps}
    boards = {name: list(own) for name, own in groupby(rows, key=lambda row: row["signature_id"])}
    first = headline(rows, wanted)
    if lacking := headline_lacks(rows, wanted):
        say(lacking, style="yellow")
    for name in (first, *(other for other in boards if every and other != first)):
        own, signature = boards[name], by_id[name]
        for group, members in groupby(own, key=lambda row: row["group_name"]):
            if group is None or every or len({row["group_name"] for row in own}) == 1:
                _table(edition, list(members), signature, group)
        _cautions(own, signature, exposures, gap.get(name))
        if details:
            _ties(own)
            show_details(own)
            _basis(own, signature, auc.get(name), exposures)
    if not every:
        _others(boards, first)
    say("; ".join(f"{column.head}: {column.meaning}" for column in COLUMNS[2:6]), style="dim")


def next_steps(edition: str, state: Path) -> None:
    """Prints what a user may do with the new board of *edition* in the folder *state*."""
    where = screen.in_state(state)
    view = "gre-bench view" + where
    screen.say(f"next: gre-bench leaderboard --all {edition}{where}   # the other boards")
    screen.say(f"      {view}   # the board as a page, in a browser")
    screen.say(f"      gre-bench rank REVIEWS.csv --edition {edition} --as NAME{where}   # one more")


def summary(summary: Row, store: Store, brief: bool = False) -> None:
    """Prints the outcome of a refresh: the board in *store*, why pairs have no score, and where the results are.

    *summary* is the summary that the refresh returned. *brief*: whether to leave out the last two, if all went well.
    """
    ids = [row["signature_id"] for row in summary["metrics"]]
    signatures = [row for row in store.read(CURRENT_SIGNATURES) if row["signature_id"] in ids]
    ids = [row["signature_id"] for row in signatures]
    rows, separations = store.read(LEADERBOARD, signature_ids=ids), store.read(SEPARATION, signature_ids=ids)
    show_leaderboard(
        summary["edition"], rows, signatures, separations, store.read(EXPOSURES), wanted=headline_metric(store)
    )
    brief = brief and summary["outcome"] == "done"
    if not brief:
        screen.show_reasons(summary["reasons"])
    show_uncovered(summary["uncovered"])
    for remark in summary["notes"]:
        say(f"note: {remark}")
    papers = f"{summary['papers']} of {counted(summary['sampled'], 'paper')}"
    done = f"{counted(summary['scored_now'], 'pair')} scored now, {papers}."
    say(f"{summary['outcome']}: {done} {summary['message']}".rstrip())
    if not brief:
        say(f"results: {store.read_file} (DuckDB), {store.status_file}")


def show_uncovered(rows: Sequence[UncoveredRow]) -> None:
    """Prints a line for each candidate that lacks reviews of some papers, with a few of these papers' ids."""
    for row in rows:
        more = ", ..." if row["lacking"] > len(row["examples"]) else ""
        say(
            f"{row['candidate']}: no review of {row['lacking']} of {counted(row['papers'], 'paper')} "
            f"({', '.join(row['examples'])}{more}); import them for a rank"
        )


def _table(edition: str, rows: list[LeaderboardRow], signature: SignatureRow, group: str | None) -> None:
    """Prints the answer and the table of one metric and one *group* of candidates; controls come last."""
    recipe = recipe_of(signature["metric"])
    planned, sampled = rows[0]["plan_papers"] or 0, rows[0]["sampled"]
    papers = counted(sampled, "paper") if planned == sampled else f"pilot: {planned} of {counted(sampled, 'paper')}"
    apart = f" · group {group}, ranked among itself" if group else ""
    say(f"{edition} · {recipe.title} in {recipe.unit} · {papers}{apart}", style="bold")
    say(answer([{**row, "group_name": None} for row in rows]))
    say("")
    rows = [*(row for row in rows if row["kind"] != "control"), *(row for row in rows if row["kind"] == "control")]
    first_control = next((index for index, row in enumerate(rows) if row["kind"] == "control"), None)
    columns = []
    for order, column in enumerate(COLUMNS):
        kind = {"candidate": "name", "note": "note"}.get(column.head, "number")
        cells = [screen.plain(column.cell(row)) for row in rows]
        columns.append(Column(column.head, cells, max(0, order - 4), kind, WIDEST_NAME))
    styles = ["bold" if row["kind"] == "human" else "dim" if row["rank"] is None else "" for row in rows]
    breaks = {} if first_control is None else {first_control: "controls"}
    heads = show("", columns, styles, breaks=breaks)
    if "note" not in heads and (notes := [f"{row['candidate']}: {text}" for row in rows if (text := note(row))]):
        say(" · ".join(notes))
    if _a_copier_leads(rows):
        say(CONTROLS)
    if few := few_papers(row["papers"] for row in rows if row["rank"] is not None):
        say(few)


def _a_copier_leads(rows: Sequence[LeaderboardRow]) -> bool:
    """Returns whether a control scores above a candidate that is ranked."""
    controls = [row["score"] for row in rows if row["kind"] == "control" and row["score"] is not None]
    scores = [row["score"] for row in rows if row["rank"] is not None and row["score"] is not None]
    return bool(controls and scores) and max(controls) > min(scores)


def _others(boards: dict[str, list[LeaderboardRow]], first: str) -> None:
    """Prints one line for each board of another metric, and for each group of the *first* board."""
    lines = []
    for group, members in groupby(boards[first], key=lambda row: row["group_name"]):
        if group is not None:
            lines.append(f"group {group}: {answer([{**row, 'group_name': None} for row in members])}")
    for name, own in boards.items():
        if name != first:
            sentence = answer(own).partition(". ")[0].rstrip(".")
            lines.append(f"{recipe_of(own[0]['metric']).title}: {sentence}")
    for line in lines:
        say(line)


def _ties(rows: Sequence[LeaderboardRow]) -> None:
    """Prints which neighbours on the board do not differ significantly, and how many more papers would show it."""
    tied = [row for row in rows if row["tied"]]
    if tied:
        say(f"not told apart (p corrected for {counted(tied[0]['tests'] or 0, 'test')}):")
    for row in tied[:SHOWN_TIES]:
        more = f"{row['more_papers']:,} more papers like these" if row["more_papers"] else "not even a million papers"
        say(f"  {row['candidate']} and {row['next_candidate']}: p {p_value(row['next_p'])}; {more} would tell")
    if len(tied) > SHOWN_TIES:
        say(f"  and {len(tied) - SHOWN_TIES} more neighbours")


def _cautions(
    rows: Sequence[LeaderboardRow], signature: SignatureRow, exposures: Sequence[ExposureRow], gap: CleanGapRow | None
) -> None:
    """Prints whether the metric is validated, and who may have read the reviews.

    - *exposures*: which LMs may have seen the reviews.
    - *gap*: the difference in score between contaminated and other models.
    """
    for row in _behind(signature, exposures):
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
    if each := references_line(rows):
        say(each)
    lm = signature["evaluation_lm"]
    by = f"{lm}{NGRAM}" if lm.startswith("cache-ngram") else "rule" if lm == "none" else lm
    say(f"by {by}: {rows[0]['validation']}", style="green" if is_validated(rows) else "yellow")


def _basis(
    rows: Sequence[LeaderboardRow],
    signature: SignatureRow,
    auc: SeparationRow | None,
    exposures: Sequence[ExposureRow],
) -> None:
    """Prints the data behind the table of one metric: its AUC, its signature, and what was learnt from these papers."""
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
    flat = [
        f"{row['candidate']} ±{row['flat_high'] - row['score']:.2f}"
        for row in rows
        if row["rank"] is not None and row["flat_high"] is not None and row["score"] is not None
    ]
    if flat:
        say(f"half of the published interval, all pairs independent: {', '.join(flat)}", style="dim")
    if known := learnt_line(signature, _behind(signature, exposures)):
        say(f"learnt from these papers: {known}", style="dim")
    say("")


def _behind(signature: SignatureRow, exposures: Sequence[ExposureRow]) -> list[ExposureRow]:
    """Returns the exposures of the LMs behind the scores of *signature*."""
    return [row for row in exposures if row["role"] in ROLES and signature[row["role"]] == row["name"]]


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

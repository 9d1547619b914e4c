"""Prints a leaderboard: who leads, the table, a line for each other metric, and what --details adds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from rich.box import SIMPLE_HEAD

from gre_bench.board.family import read_candidate_orders_by_signature
from gre_bench.board.words import (
    COLUMNS,
    CONTROLS,
    FEWEST_PAPERS,
    HUMAN_IS,
    RANKED_APART,
    CandidateOrder,
    choose_headline_signature,
    describe_scoring_lm,
    describe_training_overlap,
    explain_missing_human_baseline,
    format_candidate_note,
    format_contaminated_lms,
    format_contamination_gap,
    format_headline_warning,
    format_p_value,
    format_ties,
    format_with_interval_half_width,
    get_score_at_human_review_length,
    is_validated,
    summarise_board,
    warn_of_few_papers,
    warn_of_flaw_signature_mismatch,
    warn_of_small_samples,
)
from gre_bench.cli.views import screen
from gre_bench.cli.views.fitted import FittedColumn, print_fitted_table
from gre_bench.cli.views.screen import format_or_dash, say
from gre_bench.core.metrics import find_recipe, is_metric_name
from gre_bench.core.terminal import counted
from gre_bench.reports.correctness import FlawResults, MeanWithTest
from gre_bench.reports.signatures import headline_metric
from gre_bench.store import Row, Store
from gre_bench.store.queries import (
    CERTIFIED,
    CURRENT_SIGNATURES,
    EXPOSURES,
    LEADERBOARD,
    SEPARATION,
    CleanGapRow,
    ContaminationRow,
    LeaderboardRow,
    OutcomesRow,
    SeparationRow,
    SignatureRow,
    UncoveredRow,
    ValidationRow,
)

SHOWN_TIES = 8
WIDEST_NAME = 24
"""Names of candidates are shortened to this many characters before a column is left out."""


def show_leaderboard(
    edition: str,
    rows: Sequence[LeaderboardRow],
    signatures: Sequence[SignatureRow],
    orders: Mapping[str, Sequence[CandidateOrder]],
    separations: Sequence[SeparationRow] = (),
    exposures: Sequence[ContaminationRow] = (),
    gaps: Sequence[CleanGapRow] = (),
    details: bool = False,
    wanted: str | None = None,
    every: bool = False,
    brief: bool = False,
    validations: Sequence[ValidationRow] = (),
) -> None:
    """Prints the board of the headline metric, and one line for each other metric and group.

    - *brief*: whether to leave out notes, controls and other boards.
    - *rows*: the rows of the board.
    - *signatures*: the signature of each metric on the board.
    - *orders*: signature id → the order of the candidates by each validated evaluation LM (`CandidateOrder`).
    - *separations*: how well each metric separates reviews of the same paper from reviews of other papers (AUC).
    - *exposures*: which LMs may have been trained on the reviews.
    - *validations*: the validation records. Of these, only certificates are printed. A certificate says which degrees
      of harm a metric detects.
    - *gaps*: how much higher contaminated models score than the others.
    - *details*: whether to also print the meaning of the columns, the ties, the data and tests behind each board, and
      properties of the reviews.
    - *wanted*: the headline metric; None means the first validated one.
    - *every*: whether to print the boards of all metrics and groups in full.
    """
    for metric in sorted({row["metric"] for row in rows if not is_metric_name(row["metric"])}):
        say(f"no board of {metric}: the package that has this metric is missing; install it again", style="yellow")
    rows = [row for row in rows if is_metric_name(row["metric"])]
    if not rows:
        return
    by_id = {row["signature_id"]: row for row in signatures}
    auc = {row["signature_id"]: row for row in separations}
    gap = {row["signature_id"]: row for row in gaps}
    boards = {name: list(own) for name, own in groupby(rows, key=lambda row: row["signature_id"])}
    first = choose_headline_signature(rows, wanted)
    if lacking := format_headline_warning(rows, wanted):
        say(lacking, style="yellow")
    printed: set[str] | None = None if brief else set()
    for name in (first, *(other for other in boards if every and other != first)):
        own, signature = boards[name], by_id[name]
        if name != first:
            say("")
        for group, members in groupby(own, key=lambda row: row["group_name"]):
            if group is None or every or len({row["group_name"] for row in own}) == 1:
                _print_board(edition, list(members), signature, group, printed, orders.get(name, ()))
        _print_cautions(own, signature, exposures, gap.get(name))
        screen.say_nonempty(_format_certificate_lines(validations, name))
        if details:
            _print_ties(own)
            _print_neighbour_differences(own, orders.get(name, ()))
            show_review_properties(own)
            _print_score_basis(signature, auc.get(name), exposures)
    if not every and not brief:
        _print_other_boards(boards, first, orders)
    if details:
        say("; ".join(_build_legend(boards[first], {row["metric"] for row in rows})), style="dim")


def _format_certificate_lines(validations: Sequence[ValidationRow], signature_id: str) -> list[str]:
    """Returns the lines on the certificate of a metric: which degrees of each harm the metric detects.

    *signature_id*: the signature of the metric.
    """
    details = (row["detail"].partition(CERTIFIED)[2] for row in validations if row["signature_id"] == signature_id)
    return [detail for detail in details if detail]


def _build_legend(rows: Sequence[LeaderboardRow], metrics: set[str]) -> list[str]:
    """Returns the meaning of each column of the board *rows*, without empty columns about chance or the human baseline.

    *metrics*: the metrics of all boards. If one of them uses ASSW, this abbreviation is explained too.
    """
    rank, _, score, *others = COLUMNS[:6]
    in_nats = find_recipe(rows[0]["metric"]).unit == "nats"
    legend = [f"{rank.head}: {rank.meaning.partition(',')[0]}"]
    legend.append(f"{score.head}: {score.meaning if in_nats else 'mean ± half a 90% interval'}")
    columns = (("above chance", "above_chance"), ("vs human", "vs_human"), ("p", "vs_human"))
    empty = {head for head, name in columns if all(row[name] is None for row in rows)}
    others = [column for column in others if column.head not in empty]
    legend += [f"{column.head}: {column.meaning}" for column in others]
    if any(metric.startswith("gem_s_assw") for metric in metrics):
        legend.append("ASSW: abstract with the strengths and weaknesses that the authors state themselves")
    return legend


def print_next_steps(store: Store, state: Path) -> None:
    """Prints the commands to try next on the new board of *store*, which is in the folder *state*."""
    edition, where = store.key, screen.format_state_option(state)
    say(f"next: gre-bench leaderboard {edition}{where}   # controls, notes, other boards")
    say("      gre-bench view" + where + "   # the page, in a browser")
    say(f"      gre-bench rank REVIEWS.csv --edition {edition} --as NAME{where}   # one more")


def show_refresh_summary(summary: Row, store: Store, brief: bool = False) -> None:
    """Prints the outcome of a refresh; *brief*: omit reasons and result paths if everything succeeded."""
    ids = [row["signature_id"] for row in summary["metrics"]]
    signatures = [row for row in store.read(CURRENT_SIGNATURES) if row["signature_id"] in ids]
    ids = [row["signature_id"] for row in signatures]
    rows, separations = store.read(LEADERBOARD, signature_ids=ids), store.read(SEPARATION, signature_ids=ids)
    brief = brief and summary["outcome"] == "done"
    exposures, wanted = store.read(EXPOSURES), headline_metric(store)
    orders = read_candidate_orders_by_signature(store.read, rows)
    show_leaderboard(summary["edition"], rows, signatures, orders, separations, exposures, wanted=wanted, brief=brief)
    if not brief:
        screen.show_missing_score_reasons(summary["reasons"])
    show_candidates_lacking_reviews(summary["uncovered"])
    screen.say_nonempty(summary["notes"], "note: ")
    if brief:
        return
    papers = f"{summary['papers']:,} of {counted(summary['sampled'], 'paper')}"
    done = f"{counted(summary['scored_now'], 'pair')} scored now, {papers}."
    say(f"{summary['outcome']}: {done} {summary['message']}".rstrip())
    say(f"results: {store.read_file} (DuckDB), {store.status_file}")


def show_candidates_lacking_reviews(rows: Sequence[UncoveredRow]) -> None:
    """Prints a line for each candidate that lacks reviews of some papers, with a few of these papers' ids."""
    for row in rows:
        more = ", ..." if row["lacking"] > len(row["examples"]) else ""
        say(
            f"{row['candidate']}: no review of {row['lacking']} of {counted(row['papers'], 'paper')} "
            f"({', '.join(row['examples'])}{more}); import them for a rank"
        )


def _print_board(
    edition: str,
    rows: list[LeaderboardRow],
    signature: SignatureRow,
    group: str | None,
    printed: set[str] | None,
    lm_orders: Sequence[CandidateOrder],
) -> None:
    """Prints one board.

    *printed*: notes that were printed before, which are not repeated; new notes are added to it. None means to leave
    out notes and controls.
    """
    recipe = find_recipe(signature["metric"])
    planned, sampled = rows[0]["plan_papers"] or 0, rows[0]["sampled"]
    papers = counted(sampled, "paper") if planned == sampled else f"pilot: {planned} of {counted(sampled, 'paper')}"
    apart = f" · group {group}, {RANKED_APART}" if group else ""
    say(f"{edition} · {recipe.title} in {recipe.unit} · {papers}{apart}", style="bold")
    say(summarise_board([{**row, "group_name": None} for row in rows], lm_orders))
    say("")
    controls = [] if printed is None else [row for row in rows if row["kind"] == "control"]
    rows = [*(row for row in rows if row["kind"] != "control"), *controls]
    first_control = next((index for index, row in enumerate(rows) if row["kind"] == "control"), None)
    columns = []
    for order, column in enumerate(COLUMNS):
        kind = {"candidate": "name", "note": "note"}.get(column.head, "number")
        cells = [screen.remove_control_characters(column.cell(row)) for row in rows]
        if kind != "note":
            columns.append(FittedColumn(column.head, cells, max(0, order - 4), kind, WIDEST_NAME))
    styles = ["bold" if row["kind"] == "human" else "dim" if row["rank"] is None else "" for row in rows]
    breaks = {} if first_control is None else {first_control: "controls"}
    print_fitted_table("", columns, styles, breaks=breaks)
    notes = [
        f"{row['candidate']}: {text}"
        for row in rows
        if (text := format_candidate_note(row)) and row["kind"] != "control"
    ]
    if printed is not None:
        notes += [CONTROLS] if _has_control_above_ranked(rows) else []
        screen.say_nonempty([line for line in notes if line not in printed])
        printed.update(notes)
    if printed is None or HUMAN_IS not in printed:
        screen.say_nonempty(_explain_human_baseline(rows, printed))
    screen.say_nonempty([warn_of_few_papers(row["papers"] for row in rows if row["rank"] is not None)])


def _explain_human_baseline(rows: Sequence[LeaderboardRow], printed: set[str] | None) -> list[str]:
    """Returns a line that explains the human baseline, and adds it to *printed*.

    Returns no line if the baseline is missing, or has a note of its own or no score.
    """
    lines = [HUMAN_IS for row in rows if row["kind"] == "human" and row["score"] is not None and not row["note"]]
    if printed is not None:
        printed.update(lines)
    return lines


def _has_control_above_ranked(rows: Sequence[LeaderboardRow]) -> bool:
    """Whether a control scores above a ranked candidate."""
    controls = [row["score"] for row in rows if row["kind"] == "control" and row["score"] is not None]
    ranked = [row["score"] for row in rows if row["rank"] is not None and row["score"] is not None]
    return bool(controls and ranked) and max(controls) > min(ranked)


def _print_other_boards(
    boards: dict[str, list[LeaderboardRow]], first: str, orders: Mapping[str, Sequence[CandidateOrder]]
) -> None:
    """Prints a line for each group of the headline board, then a line on who leads by each other metric.

    Metrics with the same result share a line. *first*: the signature id of the headline board.
    """
    for group, members in groupby(boards[first], key=lambda row: row["group_name"]):
        if group is not None:
            own: list[LeaderboardRow] = [{**row, "group_name": None} for row in members]
            say(f"group {group}, {RANKED_APART} (--all): {summarise_board(own, orders.get(first, ()))}")
    titles: dict[str, list[str]] = {}
    for name, own in boards.items():
        if name != first:
            sentence = summarise_board(own, orders.get(name, ())).partition(". ")[0].rstrip(".")
            titles.setdefault(sentence, []).append(find_recipe(own[0]["metric"]).title)
    for sentence, metrics in titles.items():
        say(f"{', '.join(metrics)}: {sentence}")


def _print_ties(rows: Sequence[LeaderboardRow]) -> None:
    lines = list(format_ties(rows))
    screen.say_nonempty(lines[:SHOWN_TIES])
    if len(lines) > SHOWN_TIES:
        say(f"and {len(lines) - SHOWN_TIES} more neighbours")
    if tests := next((row["tests"] for row in rows if row["tied"]), None):
        say(f"p is corrected for {counted(tests, 'test')}")


def _print_neighbour_differences(rows: Sequence[LeaderboardRow], orders: Sequence[CandidateOrder]) -> None:
    """Prints how neighbours in rank differ: mean, median, trimmed mean, and on how many papers the first is ahead."""
    neighbours = [(row["candidate"], row["next_candidate"]) for row in rows if row["rank"] and row["next_candidate"]]
    lines = [(each.lm, test) for pair in neighbours for each in orders if (test := each.tests.between(*pair))]
    if not lines:
        return
    columns = [
        FittedColumn(
            "candidate", [screen.remove_control_characters(test.first) for _, test in lines], 0, "name", WIDEST_NAME
        ),
        FittedColumn(
            "next", [screen.remove_control_characters(test.second) for _, test in lines], 0, "name", WIDEST_NAME
        ),
        FittedColumn("mean", [format_or_dash(test.difference, "+.2f") for _, test in lines]),
        FittedColumn("p", [format_p_value(test.p_holm) for _, test in lines]),
        FittedColumn("median", [format_or_dash(test.median, "+.2f") for _, test in lines], 1),
        FittedColumn("trimmed", [f"{test.trimmed:+.2f} (≥ {test.trimmed_low:+.2f})" for _, test in lines], 1),
        FittedColumn("ahead on", [f"{test.ahead} of {test.papers}" for _, test in lines]),
        FittedColumn("win rate", [f"{test.win_rate:.0%}" for _, test in lines], 2),
        FittedColumn("sign test p", [format_p_value(test.sign_p) for _, test in lines], 1),
    ]
    if len(orders) > 1:
        columns.insert(0, FittedColumn("by", [lm for lm, _ in lines], 0, "name"))
    print_fitted_table("Neighbours in rank: their difference over papers", columns, [""] * len(lines))


def _print_cautions(
    rows: Sequence[LeaderboardRow],
    signature: SignatureRow,
    exposures: Sequence[ContaminationRow],
    gap: CleanGapRow | None,
) -> None:
    contaminated = (row for row in exposures if row["status"] == "contaminated")
    for line in format_contaminated_lms(signature, contaminated):
        say(line, style="yellow")
    clean = {row["group_name"] for row in rows if row["kind"] == "model" and row["contamination"] != "contaminated"}
    if seen := sum(row["contamination"] == "contaminated" and row["group_name"] not in clean for row in rows):
        say(
            f"all {seen} models may have read these reviews (contaminated); each has a rank, since none is clean",
            style="yellow",
        )
    if conflicts := [f"{row['candidate']} is {row['conflict']}" for row in rows if row["conflict"]]:
        say("; ".join(conflicts), style="yellow")
    if gap and gap["low"] is not None:
        say(f"{format_contamination_gap(gap)} --board all ranks them too.")
    screen.say_nonempty([describe_reference_counts(rows)])
    by = describe_scoring_lm(signature["evaluation_lm"], rows[0]["validation"])
    say(by, style="green" if is_validated(rows) else "yellow")


def _print_score_basis(
    signature: SignatureRow, auc: SeparationRow | None, exposures: Sequence[ContaminationRow]
) -> None:
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
    if known := describe_training_overlap(signature, exposures):
        say(f"learnt from these papers: {known}", style="dim")
    say("")


def describe_reference_counts(rows: Sequence[LeaderboardRow]) -> str | None:
    """States how many references per paper the models and the human baseline have, if the numbers differ.

    If there is no human baseline, states the reason if it is known. Returns None if there is nothing to state. Papers
    that the metric leaves out, such as papers without an abstract, do not count. The human baseline may have fewer than
    one reference per paper, with all of them scored. Then only papers with a second human review count for it.
    """
    if lacking := explain_missing_human_baseline(rows):
        return lacking
    counts = {
        row["kind"] == "human": row["expected"] / row["expected_papers"] for row in rows if row["expected_papers"]
    }
    if len(counts) < 2 or counts[True] == counts[False]:
        return None
    human = next(row for row in rows if row["kind"] == "human")
    on = ""
    if counts[True] < 1 and human["scored"] == human["expected"]:
        counts[True], on = human["expected"] / human["papers"], f" on the {human['papers']} papers with a second one"
    return (
        f"references: every human review, {counts[False]:.1f} a paper; the human baseline all but its own, "
        f"{counts[True]:.1f}{on}. Differences to it use the references of both."
    )


SEEN = {"none": "", "clean": "no", "contaminated": "maybe", "unknown": "unknown"}
OUTCOMES = ("ok", "cut", "refused", "empty", "unparsable", "rate_limited", "failed", "not_asked")


def show_review_properties(rows: Sequence[LeaderboardRow]) -> None:
    """Prints a table with the columns `DETAILS` for the human baseline and the models, and explains them."""
    shown = [row for row in rows if row["kind"] in ("human", "model") and row["words"] is not None]
    if not shown:
        return
    columns = [FittedColumn(head, list(map(cell, shown)), order, kind) for head, cell, order, kind in DETAILS]
    print_fitted_table("", columns, [""] * len(shown))
    if at := next((row["human_words"] for row in shown if row["human_words"]), None):
        say(
            f"at human length: the score at {at:.0f} words, the human length, with half of its 90% interval; blank: it "
            f"would be a guess, for under {FEWEST_PAPERS} papers, or no text of the candidate's is as short or as "
            "long; lines: median of judgments, over reviews with any; kept: mean share of a review's distinct words "
            "that its judgments keep; unusable: of the reviews and judgments that a writer, also a rule, was asked "
            "for, those without use; no judgment: of the reviews, those that judge nothing or whose judgments could "
            "not be read; strays: of the lines of judgments, those that open otherwise; –: nobody here knows"
        )
    flat = [
        f"{row['candidate']} {format_with_interval_half_width((low + high) / 2, high)}"
        for row in shown
        if (low := row["flat_low"]) is not None and (high := row["flat_high"]) is not None
    ]
    if flat:
        say(f"mean over pairs ± half of the published 90% interval, pairs taken for independent: {' · '.join(flat)}")


def show_request_outcomes(rows: Sequence[OutcomesRow]) -> None:
    """Prints the outcomes of requests by candidate, purpose and LM; columns of zeros are left out."""
    if not rows:
        return
    shown = [name for name in OUTCOMES if any(row[name] for row in rows)]
    rows_shown = [
        # pyrefly: ignore[bad-typed-dict-key]
        (row["candidate"] or "–", row["purpose"], row["model"], *(f"{row[name]:,}" for name in ("asked", *shown)))
        for row in rows
    ]
    heads = ("candidate", "purpose", "LM", "asked", *(name.replace("_", " ") for name in shown))
    screen.print_grid(
        heads, rows_shown, left=3, fold=True, title="Requests to LMs and their outcomes", box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )  # fmt: skip


def _format_score_at_length(row: LeaderboardRow) -> str:
    return format_with_interval_half_width(get_score_at_human_review_length(row), row["at_length_high"])


def _format_share(part: int | None, whole: int | None) -> str:
    return "–" if not whole or part is None else f"{part / whole:.1%}"


DETAILS: tuple[tuple[str, Callable[[LeaderboardRow], str], int, str], ...] = (
    ("candidate", lambda row: screen.remove_control_characters(row["candidate"]), 0, "name"),
    ("words", lambda row: f"{row['words']:.0f}", 0, "number"),
    ("at human length", _format_score_at_length, 0, "number"),
    ("lines", lambda row: format_or_dash(row["median_lines"], ".0f"), 0, "number"),
    ("kept", lambda row: format_or_dash(row["covered"], ".0%"), 1, "number"),
    ("unusable", lambda row: _format_share(row["unusable"], row["asked"]), 3, "number"),
    ("no judgment", lambda row: _format_share(row["unparsable"], row["judged"]), 2, "number"),
    ("strays", lambda row: _format_share(row["strays"], row["lines"]), 6, "number"),
    ("tokens in", lambda row: format_or_dash(row["prompt_tokens"], ","), 7, "number"),
    ("out", lambda row: format_or_dash(row["reply_tokens"], ","), 8, "number"),
    ("USD", lambda row: format_or_dash(row["usd"], ".2f"), 4, "number"),
    ("learnt until", lambda row: str(row["cutoff"] or "–") if row["kind"] == "model" else "", 5, "number"),
    ("reviews seen", lambda row: SEEN[row["contamination"]], 1, "name"),
)
"""Per column: (header, function that returns a row's cell, order, kind). For order and kind, see `FittedColumn`."""

SHOWN_STRATA = 6
"""The most values of a stratum that get a column; these are the values with the most papers."""


def show_scores_by_stratum(counts: Sequence[Row], rows: Sequence[Row], metrics: dict[str, str]) -> None:
    """Prints how many papers have each value of a stratum, such as the area of a paper, and the scores on them."""
    sizes: dict[str, dict[str, int]] = {}
    for row in counts:
        sizes.setdefault(row["stratum"], {})[row["value"]] = row["papers"]
    for stratum, values in sizes.items():
        parts = [f"{value} {papers:,}" for value, papers in values.items()]
        more = f", and {len(parts) - SHOWN_STRATA} more" if len(parts) > SHOWN_STRATA else ""
        say(f"papers by {stratum}: {', '.join(parts[:SHOWN_STRATA])}{more}")
    kinds = sorted({item for values in sizes.values() if len(values) > 1 for item in values.items()})
    by_table = itemgetter("signature_id", "stratum")
    for (signature_id, stratum), group in groupby(sorted(rows, key=by_table), key=by_table):
        if len(sizes.get(stratum, ())) > 1:
            _show_stratum(f"{metrics[signature_id]} by {stratum}, ± half of the 90% interval by paper", list(group))
    if warning := warn_of_small_samples(kinds, SHOWN_STRATA):
        say(warning)


def _show_stratum(title: str, rows: Sequence[Row]) -> None:
    papers: dict[str, int] = {}
    for row in rows:
        papers[row["value"]] = max(row["papers"], papers.get(row["value"], 0))
    values = sorted(papers, key=lambda value: (-papers[value], value))[:SHOWN_STRATA]
    cells = {
        (row["candidate"], row["value"]): format_with_interval_half_width(row["score"], row["high"]) for row in rows
    }
    names = list(dict.fromkeys(row["candidate"] for row in rows))
    columns = [FittedColumn("candidate", [screen.remove_control_characters(name) for name in names], kind="name")]
    for order, value in enumerate(values):
        own = [cells.get((name, value), "–") for name in names]
        columns.append(
            FittedColumn(f"{screen.remove_control_characters(value)} ({papers[value]})", own, max(0, order - 1))
        )
    print_fitted_table(title, columns, ["bold" if name == "human" else "" for name in names])


FAMILIES = ("contradiction", "omission", "malpractice")
MEANING = (
    "score: nats that a review tells of its own flaw rather than of another one, ± half of the 95% interval by paper; "
    "*: a family above zero, Holm-corrected at 5%; nulls: the same of reviews of texts without the flaw; "
    "specific: over the review of another paper with the same flaw; detected: share of flaws, at 5% of false "
    "ones; rate: estimated share of flaws named, if in words as plain as those of scripted-plain-100"
)


def show_flaw_detection(results: FlawResults) -> None:
    """Prints how well each reviewer detects planted flaws: one table per metric, with controls last."""
    for metric, members in groupby(results["rows"], key=lambda row: row["metric"]):
        rows = sorted(members, key=lambda row: row["control"])
        unit = "shares of words" if metric == "words" else "nats"
        columns = [
            FittedColumn("reviewer", [screen.remove_control_characters(row["candidate"]) for row in rows], 0, "name"),
            FittedColumn("papers", [str(row["papers"]) for row in rows], 6),
            FittedColumn("score", [_format_mean_with_test(row["score"]) for row in rows]),
            *(
                FittedColumn(
                    name, [_format_mean_with_test(row["families"].get(name), is_family=True) for row in rows], 1
                )
                for name in FAMILIES
            ),
            FittedColumn("nulls", [f"{row['other']['value']:+.2f}, {row['again']['value']:+.2f}" for row in rows], 4),
            FittedColumn("specific", [_format_mean_with_test(row["specific"]) for row in rows], 5),
            FittedColumn("detected", [format_or_dash(row["detected"], ".0%") for row in rows]),
            FittedColumn("rate", [format_or_dash(row["rate"], ".0%") for row in rows]),
        ]
        first = next((index for index, row in enumerate(rows) if row["control"]), 0)
        styles = ["dim" if row["control"] else "" for row in rows]
        say("")
        print_fitted_table(
            f"{rows[0]['title']} in {unit}", columns, styles, breaks={first: "controls"} if first else {}
        )
    for row in results["too_few"]:
        say(f"{row['candidate']}, {row['title']}: no row, as fewer than two papers have all scores")
    if not results["rows"]:
        say("no reviewer has all scores of two papers yet")
        return
    say(MEANING, style="dim")
    if unlike := results.get("unlike"):
        say(warn_of_flaw_signature_mismatch(unlike), style="yellow")
    if all(row["detected"] is None for row in results["rows"]):
        say("detected and rate need 100 nulls a reviewer, which 25 papers give", style="yellow")


def _format_mean_with_test(test: MeanWithTest | None, is_family: bool = False) -> str:
    if test is None:
        return "–"
    if is_family:
        return f"{test['value']:+.2f}{'*' if test['value'] > 0 and (test['p_holm'] or 0) < 0.05 else ''}"
    return f"{test['value']:+.2f} ±{test['high'] - test['value']:.2f}"

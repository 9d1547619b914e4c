"""Prints the results of ``gre-bench compare``: of boards, effects, releases, candidates, LMs or contrasts.

A side of a comparison is a board, or the effects of perturbations on scores. Both kinds come from a run or from a
published table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

from gre_bench.board.words import ONE_LM, describe_scoring_lm, format_not_validated, format_p_value, warn_of_few_papers
from gre_bench.cli.views.fitted import print_text_table
from gre_bench.cli.views.screen import format_or_dash, say, say_nonempty
from gre_bench.core.metrics import ALPHA, find_recipe, is_metric_name
from gre_bench.core.terminal import counted
from gre_bench.store import Row

SHOWN_ROWS = 40
LEVELS = {
    "scores": "one edition and signature: scores compare",
    "differences": "other papers: differences to the human baseline compare, scores do not",
    "ranks": "two signatures: ranks compare, scores do not",
}
_WITHIN = {True: "yes", False: "no", None: ""}
_DIGEST = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{20,}\b")
_signed, _led = partial(format_or_dash, form="+.3f"), partial(format_or_dash, form="+.2f", lacking="")
_format_correlation = partial(format_or_dash, form=".3f", lacking="not defined")
"""Formats a correlation. It is undefined if there are fewer than three models, or if all scores are equal."""


def show_side_comparison(report: Row) -> None:
    """Prints a comparison of two sides, and what was left out and why."""
    first, other = (Path(report["compared"][index]).name for index in (0, -1))
    if rows := report.get("consistency"):
        say(f"Spearman between {first} and {other}, over the models that both rank")
        print_text_table(
            ("metric", "models", "Spearman", "p", "the text prints"),
            [
                (
                    row["metric"],
                    row["n"],
                    _format_correlation(row["spearman"]),
                    format_p_value(row["p"]),
                    format_or_dash(row["printed"], ".2f", ""),
                )
                for row in rows
            ],
        )
        for name, key in ((first, "only_first"), (other, "only_second")):
            if rows[0][key]:
                say(f"only in {name}: {', '.join(rows[0][key])}")
    for field, (a, b) in report.get("differ_in", {}).items():
        say(f"signatures differ in {field}: {_abbreviate_digests(a)} | {_abbreviate_digests(b)}")
    if rows := report.get("beside"):
        # A candidate that only one of two boards has is named above. For effects, every row is shown.
        _print_side_by_side(
            first, other, [row for row in rows if "consistency" not in report or (row["printed"] and row["found"])]
        )
    for name, lacks in report["left_out"].items():
        for item, why in lacks.items():
            say(f"left out of {Path(name).name}: {item}: {why}")


def show_candidate_comparison(report: Row, details: bool = False) -> None:
    """Prints which of two candidates scores higher and how certain that is, one sentence per metric.

    *details*: whether to also print the tests of each difference, and its two parts: in chance scores, and in scores
    above chance. The papers on which each candidate leads most, and metrics that are not validated are then printed
    too.
    """
    first, other = report["compared"]
    rows = report["candidates"]
    say(f"{report['edition']} · {first} against {other}, on the papers that both review", style="bold")
    ordered = [row for row in rows if row["validated"] or row["problem"]]
    printed = rows if details or not ordered else ordered
    for row in printed:
        say(f"{_get_metric_title(row['metric'])}: {_describe_lead(row, first, other)}")
        if details and not row["problem"]:
            _print_difference_details(row, first, other)
    left: dict[str, list[str]] = {}
    for row in rows:
        if ordered and not details and row not in ordered:
            left.setdefault(format_not_validated(row["validation"]), []).append(_get_metric_title(row["metric"]))
    for why, titles in left.items():
        say(f"{', '.join(titles)}: no order, {why}")
    if details:
        say(
            "above chance: the score minus that by chance, which the candidate's reviews of other papers get",
            style="dim",
        )
    shown = [row for row in ordered or rows if not row["problem"]]
    say_nonempty(_describe_scoring_lms(shown))
    if any(row["validated"] for row in shown) and not any(row["other_lms"] for row in shown):
        say(f"{ONE_LM} Another may order the two otherwise.")
    say_nonempty(_list_candidate_notes(rows, printed))
    say_nonempty([warn_of_few_papers(row["papers"] for row in rows if not row["problem"])])


def _list_candidate_notes(rows: Sequence[Row], printed: Sequence[Row]) -> list[str]:
    """Returns the notes on each candidate under the metrics of the *printed* rows.

    A note begins with the metrics that it applies to, unless it is the same under the metrics of all *rows*.
    """
    lines = []
    for index in range(2):
        of_all = {row["notes"][index] for row in rows}
        titles: dict[str, list[str]] = {}
        for row in printed:
            titles.setdefault(row["notes"][index], []).append(_get_metric_title(row["metric"]))
        lines += [note if len(of_all) == 1 else f"{', '.join(own)}: {note}" for note, own in titles.items() if note]
    return lines


def _describe_lead(row: Row, first: str, other: str) -> str:
    """Returns a sentence on the two candidates under the metric of *row*.

    It says who scores higher, how certain that is, by how much, and on how many papers.
    """
    if row["problem"]:
        return row["problem"]
    unit = "" if not is_metric_name(row["metric"]) else f" {find_recipe(row['metric']).unit}"
    leader, sign, won = (first, 1, row["won"]) if row["difference"] > 0 else (other, -1, row["lost"])
    ends = sorted((sign * row["low"], sign * row["high"]))
    papers = counted(row["papers"], "paper")
    by = f" by {abs(row['difference']):.2f}{unit} (90% interval {ends[0]:.2f} to {ends[1]:.2f}), on {won} of {papers}"
    if not row["won"] and not row["lost"]:
        mean = f"; the scores are equal on all {papers}"
    elif not row["difference"]:
        mean = f"; the means over {papers} are equal"
    else:
        mean = f"; {leader} has the higher mean{by}"
    if not row["validated"]:
        return f"no order, {format_not_validated(row['validation'])}{mean}"
    outcome = _describe_significance(row, leader)
    sentence = f"{outcome},{by}" if f"{leader} scores higher" in outcome else f"{outcome}{mean}"
    others = [
        f"by {each['evaluation_lm']}, {_describe_significance(each, each['leader'])}" for each in row["other_lms"]
    ]
    return "; ".join([sentence, *others])


def _print_difference_details(row: Row, first: str, other: str) -> None:
    """Prints a difference in score, its tests, and its two parts: in chance scores, and in scores above chance.

    Also prints the papers on which *first* leads most, and those on which *other* does.
    """
    say(f"  difference: {_format_interval(row)}; median {row['median']:+.2f}, trimmed mean {row['trimmed']:+.2f}")
    board = row["board"]
    corrected = (
        board and f"; {format_p_value(board['p_holm'])} corrected for the board's {counted(board['tests'], 'test')}"
    )
    alone = f"p {format_p_value(row['p'])} alone, for one question asked beforehand"
    say(f"  {alone}{corrected or ''}; sign test p {format_p_value(row['sign_p'])}")
    for name in ("chance", "above_chance"):
        if part := row[name]:
            say(f"  {name.replace('_', ' ')}: {_format_interval(part)}; p {format_p_value(part['p'])} alone")
    for name, papers in ((first, row["most"]), (other, row["least"])):
        leads = ", ".join(f"{paper['paper_id']} by {abs(paper['difference']):.2f}" for paper in papers)
        say(f"  {name} leads most on: {leads}" if leads else f"  {name} leads on no paper")


def _describe_significance(row: Row, leader: str) -> str:
    """Returns a text that says whether the lead of *leader* is significant.

    The board's corrected p-value decides, if there is one. The uncorrected p-value is valid only if this comparison is
    the only one that was planned.
    """
    board = row["board"]
    p = board and f"p {format_p_value(board['p_holm'])}, corrected for the board's {counted(board['tests'], 'test')}"
    if board and board["p_holm"] < ALPHA:
        surely = "" if board["surely_ahead"] else ", but is not surely ahead by trimmed mean and sign test"
        return f"{leader} scores higher ({p}){surely}"
    apart = f"not told apart on the board ({p})" if board else "not ranked together, so without a corrected p"
    if row["p"] < ALPHA:
        return f"{apart}; {leader} scores higher if this is the only question asked (p {format_p_value(row['p'])})"
    return apart if board else f"{apart}; not told apart (p {format_p_value(row['p'])} alone)"


def _format_interval(test: Row) -> str:
    return f"{test['difference']:+.2f} (90% {test['low']:+.2f} to {test['high']:+.2f})"


def _print_side_by_side(first: str, other: str, rows: Sequence[Row]) -> None:
    """Prints the values of the sides *first* and *other* side by side in a table, with numbered notes below."""
    notes = list(dict.fromkeys(row["printed"]["note"] for row in rows if row["printed"] and row["printed"]["note"]))
    marks = {note: f"({index})" for index, note in enumerate(notes, 1)}
    print_text_table(("metric", "of", first, "95%", other, "95%", "difference", "within", ""), [
        (row["metric"], row["item"], *_format_value_cells(row["printed"]), *_format_value_cells(row["found"]),
         format_or_dash(row["difference"], ".3f", ""), _WITHIN[row["within"]],
         marks.get((row["printed"] or {}).get("note", ""), ""))
        for row in rows
    ], names=("of",))  # fmt: skip
    within = [row["within"] for row in rows if row["within"] is not None]
    if within:
        say(
            f"within: each value lies in the interval of the other, where it has one; {sum(within)} of {len(within)} do"
        )
    for note, mark in marks.items():
        say(f"{mark} {note}")


def _format_value_cells(figure: Row | None) -> tuple[str, str]:
    if figure is None:
        return "", ""
    ends = "" if figure["low"] is None else f"{figure['low']:.3f} to {figure['high']:.3f}"
    return format_or_dash(figure["value"], ".3f", ""), ends


def show_release_comparison(report: Row, details: bool = False) -> None:
    """Prints who leads now, what changed between two releases, and why.

    *details*: whether to also print every row and value.
    """
    first, second = report["compared"]
    if not details:
        return _print_releases_in_brief(report)
    for row in report["releases"]:
        say(f"{row['release']}: {row['edition']}, made {row['created_at']}, as it was written")
    for row in report["metrics"]:
        say(f"\n{row['metric']}: {LEVELS[row['compares']]}")
        for field, (value, other_value) in row["differ_in"].items():
            say(f"  {field}: {_abbreviate_digests(value)} | {_abbreviate_digests(other_value)}")
        if (rho := row["agreement"].get("spearman")) is not None:
            say(f"  Spearman of the ranks of {counted(row['agreement']['shared'], 'candidate')}: {rho:.3f}")
        lines = row["candidates"]
        if row["compares"] == "scores":
            _print_changed_scores(row, first, second)
        elif row["compares"] == "differences":
            heads = ("candidate", f"− human in {first}", f"in {second}", "change", "90%", "p", "above chance", "then")
            print_text_table(
                heads,
                [
                    (
                        line["candidate"],
                        *map(_format_difference_to_human, line["differences"]),
                        *_format_change_cells(line["change"]),
                        *map(_signed, line["above_chance"]),
                    )
                    for line in lines
                    if any(line["differences"])
                ],
            )
        else:
            print_text_table(("candidate", f"rank in {first}", f"in {second}", "above chance", "then"), [
                (line["candidate"], *map(format_or_dash, line["rank"]), *map(_signed, line["above_chance"]))
                for line in lines if any(line["rank"])
            ])  # fmt: skip
        if row["compares"] != "ranks":
            say_nonempty([warn_of_few_papers(row["papers"])], "  ")
    for name, key in ((first, "only_first"), (second, "only_second")):
        if report[key]:
            say(f"only in {name}: {', '.join(report[key])}")
    _print_differing_values("tables with more or fewer rows:", "table", report["tables"])
    _print_differing_values("what the numbers rest on differs in:", "what", report["provenance"])
    if not report["provenance"]:
        say("settings, program, packages, sample, snapshot and imports are the same")


def _print_releases_in_brief(report: Row) -> None:
    """Prints what differs between the settings and imports of two releases, and what changed on their boards.

    For each metric: who led before, who leads now, who is new, and who has another rank.

    Metrics with the same text share it.
    """
    first, second = report["compared"]
    say(f"{first} → {second}", style="bold")
    differs = (
        "; ".join(_list_causes_of_changes(report["provenance"])) or "nothing in settings, program, sample and imports"
    )
    say(f"what differs: {differs}")
    by_lines: dict[tuple[str, ...], list[str]] = {}
    for row in report["metrics"]:
        before, now = (text.partition(". ")[0].rstrip(".") for text in row["answers"])
        leads = (f"{now}, as before",) if before == now else (now, f"before: {before}")
        by_lines.setdefault((*leads, _describe_board_changes(row)), []).append(_get_metric_title(row["metric"]))
    for (leads, *more), metrics in by_lines.items():
        say(f"{', '.join(metrics)}: {leads}")
        say_nonempty(more, "  ")
    for name, key in ((first, "only_first"), (second, "only_second")):
        if report[key]:
            say(f"only in {name}: {', '.join(map(_get_metric_title, report[key]))}")
    say_nonempty(_describe_scoring_lms([row for row in report["metrics"] if row["validated"]]))
    say_nonempty(report["notes"])


def _describe_scoring_lms(rows: Sequence[Row]) -> list[str]:
    """Returns a line for each combination of evaluation LM and validation in *rows*; the line names its metrics."""
    metrics: dict[str, list[str]] = {}
    for row in rows:
        metrics.setdefault(describe_scoring_lm(row["evaluation_lm"], row["validation"]), []).append(
            _get_metric_title(row["metric"])
        )
    return [f"{', '.join(titles)}: {by}" for by, titles in metrics.items()]


def _get_metric_title(metric: str) -> str:
    return find_recipe(metric).title if is_metric_name(metric) else metric


def _describe_board_changes(row: Row) -> str:
    """Returns who is new or gone, whose rank, score or difference to human changed, and how many did not change."""
    arrived: dict[str, list[str]] = {"new": [], "gone": []}
    parts: list[str] = []
    ranks: list[str] = []
    unchanged = 0
    for line in row["candidates"]:
        name, (before, after) = line["candidate"], line["rank"]
        was_there, is_there = (side is not None for side in line["scored"])
        if was_there != is_there:
            rank = f" (rank {after or before})" if row["validated"] and (after or before) else ""
            arrived["new" if is_there else "gone"].append(name + rank)
        elif row["compares"] == "differences":
            change = line["change"]
            if change is not None and change["p_holm"] < ALPHA:
                parts.append(f"{name} {change['value']:+.2f} to human (p {format_p_value(change['p_holm'])})")
            else:
                unchanged += 1
        elif before != after and row["validated"]:
            ranks.append(f"{name} {before or '–'} → {after or '–'}")
        elif row["compares"] == "scores" and has_candidate_changed(line | {"rank": [None, None]}):
            parts.append(f"{name} has other scores")
        else:
            unchanged += 1
    moved = [
        f"{how}: {counted(len(names), 'candidate') if len(names) > SHOWN_NAMES else ', '.join(names)}"
        for how, names in arrived.items()
        if names
    ]
    if len(ranks) > SHOWN_NAMES:
        ranks = [*ranks[: SHOWN_NAMES - 1], f"and {len(ranks) - SHOWN_NAMES + 1} other ranks"]
    if ranks:
        moved.append(f"ranks: {', '.join(ranks)}")
    if len(parts) > SHOWN_NAMES:
        parts = [*parts[: SHOWN_NAMES - 1], f"{len(parts) - SHOWN_NAMES + 1} more changes"]
    why = {"differences": "other papers, so only differences to human compare: ",
           "ranks": f"scored otherwise ({', '.join(row['differ_in'])}), so only ranks compare: "}  # fmt: skip
    rest = "not told to have changed" if row["compares"] == "differences" else "as before"
    return why.get(row["compares"], "") + "; ".join([*moved, *parts, f"{counted(unchanged, 'candidate')} {rest}"])


SHOWN_NAMES = 3
SHOWN_CAUSES = 4


def _list_causes_of_changes(provenance: Sequence[Row]) -> list[str]:
    """Returns why two releases may have different scores: settings, imports and so on that differ between them.

    An import is named by its file. Any other value is named by its path in the manifest, such as
    ``settings.scoring.form``.
    """
    causes = []
    for row in provenance:
        parts = row["what"].split(".")
        if parts[0] == "imports":
            if parts[-1] == "file":
                file = row["second"] or row["first"]
                causes.append(f"{file} was imported" if row["second"] else f"the import of {file} was undone")
        elif parts[0] not in ("claims", "contrasts"):
            causes.append(f"{row['what']} {_abbreviate_digests(row['first'])} → {_abbreviate_digests(row['second'])}")
    more = [f"and {len(causes) - SHOWN_CAUSES} more"] if len(causes) > SHOWN_CAUSES else []
    return causes[:SHOWN_CAUSES] + more


def _abbreviate_digests(value: object) -> str:
    """Returns *value* as a text in which each digest is cut to 12 digits; a dash for None. --json has all digits."""
    return _DIGEST.sub(r"\1…", str(format_or_dash(value)))


def _print_changed_scores(row: Row, first: str, second: str) -> None:
    changed = [line for line in row["candidates"] if has_candidate_changed(line)]
    if not changed:
        return say(f"  nothing has changed: {counted(len(row['candidates']), 'candidate')}, score for score")
    heads = ("candidate", f"in {first}", f"in {second}", "rank", "then", "above chance", "then", "pairs", "then", "new",
             "gone", "other score")  # fmt: skip
    print_text_table(heads, [
        (line["candidate"], *map(_signed, line["score"]), *map(format_or_dash, line["rank"]),
         *map(_signed, line["above_chance"]), *map(format_or_dash, line["scored"]),
         line.get("only_second", 0), line.get("only_first", 0), line.get("other_score", 0)) for line in changed
    ])  # fmt: skip
    say(f"  unchanged: {counted(len(row['candidates']) - len(changed), 'candidate')}")


def has_candidate_changed(line: Row) -> bool:
    """Whether a candidate's scores, pairs or rank differ between two releases.

    *line*: the candidate's row of the comparison.
    """
    own = ("only_first", "only_second", "other_state", "other_score")
    means = line["score"]
    is_new = (means[0] is None) != (means[1] is None)
    return is_new or line["rank"][0] != line["rank"][1] or any(line.get(key) for key in own)


def _print_differing_values(title: str, key: str, rows: list[Row]) -> None:
    if rows:
        say(f"\n{title}")
    for row in rows[:SHOWN_ROWS]:
        say(f"  {row[key]}: {_abbreviate_digests(row['first'])} | {_abbreviate_digests(row['second'])}")
    if len(rows) > SHOWN_ROWS:
        say(f"  and {len(rows) - SHOWN_ROWS} more; --json has all")


def _format_difference_to_human(row: Row | None) -> str:
    return "–" if row is None else f"{row['difference']:+.2f} ({_signed(row['low'])} to {_signed(row['high'])})"


def _format_change_cells(row: Row | None) -> tuple[str, str, str]:
    if row is None:
        return "", "", ""
    return f"{row['value']:+.2f}", f"{row['low']:+.2f} to {row['high']:+.2f}", format_p_value(row["p_holm"])


def show_lm_agreement(report: Row) -> None:
    """Prints how far two evaluation LMs agree on the order of the candidates, and each candidate's two ranks."""
    first_lm, second_lm = report["compared"]
    for row in report["evaluation_lms"]:
        on = f"{counted(row['pairs'], 'pair')} of {counted(row['papers'], 'paper')}"
        say(f"{report['edition']} · {row['metric']}, on {on} that both scored: 1 is {first_lm}, 2 is {second_lm}")
        for field, (first, second) in row["differ_in"].items():
            values = f"{_abbreviate_digests(first)} | {_abbreviate_digests(second)}"
            say(f"beside the LM, signatures differ in {field}: {values}")
        if row["problem"]:
            say(f"nothing compares: {row['problem']}")
            continue
        if agreement := row["agreement"]:
            say(
                f"order of {counted(agreement['candidates'], 'candidate')}: Spearman {agreement['spearman']:.3f} "
                f"(90% {agreement['low']:.3f} to {agreement['high']:.3f}, papers resampled), "
                f"Kendall {agreement['kendall']:.3f}"
            )
        order = row["order"]
        say(
            f"of two candidates each, sure at 5% after Holm: both and agreed {order['both']}, only 1 "
            f"{order['only_first']}, only 2 {order['only_second']}, neither {order['neither']}, both and contradicting "
            f"each other {len(order['contradict'])}"
        )
        for first, second in order["contradict"]:
            say(f"  1 puts {first} above {second}, 2 the other way round")
        print_text_table(("candidate", "rank by 1", "by 2", "lead by 1", "by 2", "pairs", "Spearman"), [
            (line["candidate"], *line["ranks"], *map(_led, line["leads"]), line["pairs"], _led(line["spearman"]))
            for line in row["candidates"]
        ])  # fmt: skip
        say_nonempty([warn_of_few_papers([row["papers"]])])
    say(
        "lead: over the human baseline, in standard errors by paper; Spearman: of the two LMs' scores, pair by pair. "
        "Their scores have different units and are not set beside each other."
    )


def show_contrasts(report: Row) -> None:
    """Prints every contrast under every metric and evaluation LM; the title says if the metric is not validated."""
    say(f"{report['edition']}: contrasts of {report['file']}, SHA-256 {report['sha256'][:16]}")
    for (lm, metric), group in groupby(report["contrasts"], key=lambda row: (row["evaluation_lm"], row["metric"])):
        rows = list(group)
        doubt = "" if rows[0]["validated"] else f", {format_not_validated(rows[0]['validation'])}"
        say(f"\n{metric} by {lm}{doubt}", style="bold")
        for row in rows:
            say(f"  {row['name']}: {row['first']} − {row['second']}" + (
                f". {row['question']}" if row["question"] else ""
            ))  # fmt: skip
            if row["problem"]:
                say(f"    {row['problem']}")
                continue
            say(
                f"    {_format_interval_95(row)}, p {format_p_value(row['p_holm'])}, ahead on {row['ahead']} of "
                f"{counted(row['papers'], 'paper')}, which could show {row['detectable']:.2f}"
            )
            parts = [
                f"{name.replace('_', ' ')} {_format_interval_95(row[name])}, p {format_p_value(row[name]['p_holm'])}"
                for name in ("chance", "above_chance")
                if row[name]
            ]
            if parts:
                say(f"    of it: {'; '.join(parts)}")
            say(f"    at equal length: {_format_difference_at_length(row['at_length'])}")
    tests = max((row["tests"] for row in report["contrasts"]), default=0)
    say(
        f"\nmean differences by paper with 95% intervals; p: as on the board of the metric and LM, Holm-corrected "
        f"over {counted(tests, 'test')}"
    )
    say("at equal length: one slope for all candidates; own: the two candidates' own slopes; p: of both together")
    say_nonempty([warn_of_few_papers(row["papers"] for row in report["contrasts"])])


def _format_interval_95(test: Row, name: str = "difference") -> str:
    return f"{test[name]:+.2f} ({test['low']:+.2f}, {test['high']:+.2f})"


def _format_difference_at_length(test: Row | None) -> str:
    if test is None:
        return "not known: no lengths, or none that vary"
    own = f", own {_format_interval_95(test['own'], 'value')}" if test["own"] else ""
    outcome = f"not told: {test['why_not']}" if test["why_not"] else f"p {format_p_value(test['p_holm'])}"
    return f"{_format_interval_95(test['common'], 'value')}{own}, {outcome}; lengths overlap {test['overlap']:.2f}"

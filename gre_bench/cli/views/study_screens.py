"""Prints the results of the studies that ``gre-bench study`` runs, such as validations of metrics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rich.box import HEAVY_HEAD

from gre_bench.board.committee_curve import describe_scores_by_committee_size
from gre_bench.board.words import format_p_value, format_with_interval_half_width
from gre_bench.cli.views import screen
from gre_bench.cli.views.screen import escape, print_grid, say
from gre_bench.core.metrics import find_recipe, sort_metric_names
from gre_bench.core.terminal import counted
from gre_bench.ranking.reference_dependence import format_percent_rounded_down
from gre_bench.store import Row

LOOK: dict[str, Any] = {"box": HEAVY_HEAD, "title_justify": "center"}
_COLOUR = {"pass": "green", "fail": "red", "undecided": "yellow"}
_MARK = {"pass": "✓", "fail": "✗", "undecided": "?"}
_NAMES = {"spearman": "Spearman's ρ", "kendall": "Kendall's τ-b", "pearson": "Pearson's r"}
SYMMETRIES = {
    "joint": "log P(x) + log P(y|x) against log P(y) + log P(x|y)",
    "printed": "as printed: log P(x) + log P(x|y) against log P(y) + log P(y|x)",
    "joint_ordered": "the first, each pair in both orders",
    "printed_ordered": "as printed, each pair in both orders (the paper's)",
}
SCORE_NAMES = {
    "own": "a point's own information",
    "alone": "· of the point alone",
    "left_out": "· lost without it",
    "words": "words of the point",
    "place": "position in its review",
    "criticism": "share of criticism",
}


def show_planned_requests(plan: Row) -> None:
    """Prints how many requests to each LM a study still needs, and which limits of the budget they may exceed."""
    for row in plan["models"]:
        money = "price unknown" if row["usd_at_most"] is None else f"at most {row['usd_at_most']:.2f} USD"
        archived = f" ({row['archived']} more are archived)" if row["archived"] else ""
        say(
            f"{row['model']}: {counted(row['requests'], 'request')}{archived}, about {row['prompt_tokens']:,} prompt "
            f"tokens, at most {row['reply_tokens_at_most']} reply tokens, {money}"
        )
    screen.say_nonempty(plan["over_budget"])


def show_validation(summary: Row) -> None:
    """Prints the effect of each perturbation on the scores, whether each metric passes, and why pairs have no score."""
    for family in ("degradation", "manipulation"):
        rows = [row for row in summary["effects"] if row["family"] == family]
        if rows:
            _show_perturbation_effects(family, rows)
    _show_validation_verdicts(summary)
    if summary["untried"]:
        say(f"no metric can pass before these are tried too: {', '.join(summary['untried'])}")
    screen.show_missing_score_reasons(summary["reasons"])
    screen.say_nonempty((*summary["notes"], summary["message"]))


def _show_perturbation_effects(family: str, rows: list[Row]) -> None:
    """Prints the effects in the layout of table 2 of Xu et al. 2025: a row per metric, a column per perturbation."""
    from gre_bench.perturbations.by_name import PERTURBATIONS

    changes = [name for name in PERTURBATIONS if any(row["change"] == name for row in rows)]
    cells = {(row["metric"], row["change"]): row for row in rows}
    print_grid(
        ("Metric", *(PERTURBATIONS[name].title for name in changes)),
        [
            (escape(find_recipe(metric).title), *(_format_effect(cells.get((metric, name))) for name in changes))
            for metric in sort_metric_names(row["metric"] for row in rows)
        ],
        marked=True,
        title=f"Standardised mean difference d after {family}s: scores "
        + ("must fall" if family == "degradation" else "must not rise"),
        caption="d (95% interval by paper) · with length held fixed · verdict: ✓ pass, ✗ fail, ? undecided",
        **LOOK,
    )


def _format_effect(row: Row | None) -> str:
    if row is None:
        return "–"
    if row["d"] is None:
        return f"[yellow]?[/yellow] {escape(row['problem'].rpartition(': ')[2])}"
    colour = _COLOUR[row["verdict"]]
    held = f"\n[dim]{row['length_d']:+.3f} at length[/dim]" if row["length_d"] is not None else ""
    few = f"\n[dim]{row['pairs']} of {row['planned']} pairs[/dim]" if row["pairs"] < row["planned"] else ""
    plain = f"[{colour}]{row['d']:+.3f} {_MARK[row['verdict']]}[/{colour}]"
    return f"{plain}\n({row['low']:+.3f}, {row['high']:+.3f}){held}{few}"


def _show_validation_verdicts(summary: Row) -> None:
    signature = {row["signature_id"]: row for row in summary["separations"]}
    rows = []
    for row in summary["verdicts"]:
        mine = [effect for effect in summary["effects"] if effect["metric"] == row["metric"]]
        wanting = ", ".join(
            f"{effect['change']} {_MARK[effect['verdict']]}" for effect in mine if effect["verdict"] != "pass"
        )
        apart = signature.get(row["signature_id"])
        auc = f"{apart['auc']:.3f} ({apart['low']:.3f}, {apart['high']:.3f})" if apart else "–"
        colour = _COLOUR[row["verdict"]]
        verdict = f"[{colour}]{row['verdict']}[/{colour}]"
        wanting = wanting or ("–" if mine else "no change applies")
        rows.append((escape(row["title"]), verdict, row["paper_verdict"], wanting, auc))
    heads = ("Metric", "Verdict", "By the paper's rule", "Not passed", "Same v. other paper (AUC)")
    title = f"Verdicts on {summary['edition']}, {summary['papers']} papers, writer {summary['writer']}"
    print_grid(heads, rows, left=heads, marked=True, title=title, **LOOK)


def show_certificates(summary: Row) -> None:
    """Prints a table per metric, with a row per kind of harm. A row has these columns:

    - the smallest degree of the harm that the metric detects, one column for each number of papers in `PAPERS`
    - the change in score at the highest degree
    - the degree from which the harm raises the score; a dash if it never does
    - whether the curve is monotone: it never both rises and falls significantly from one degree to the next
    """
    from gre_bench.perturbations.harms import HARMS
    from gre_bench.stats.degrees import PAPERS

    for row in summary["certificates"]:
        print_grid(
            ("Harm", *map(str, PAPERS), f"nats at {10 * row['degrees'][-1]}%", "pays from", "monotone"),
            [
                (HARMS[name].said, *(_format_degree(curve["told"][str(papers)]) for papers in PAPERS),
                 f"{curve['means'][-1]:+.1f} ±{(curve['highs'][-1] - curve['lows'][-1]) / 2:.1f}",
                 _format_degree(curve["pays"]), "yes" if curve["monotone"] else "no")
                for name, curve in row["harms"].items()
            ],
            title=f"{escape(find_recipe(row['metric']).title)}: "
            "least degree told on 60, 113, 300 papers (5%, power 80%)",
        )  # fmt: skip
        say(f"{row['metric']}: {row['line']}\n")
    for name, why in {key: why for row in summary["certificates"] for key, why in row["untried"].items()}.items():
        say(f"{HARMS[name].said}: left out: {why}")
    screen.show_missing_score_reasons(summary["reasons"])
    screen.say_nonempty((*summary["notes"], summary["message"]))


def _format_degree(degree: int | None) -> str:
    return f"{10 * degree}%" if degree else "–"


def show_human_grade_agreement(summary: Row) -> None:
    """Prints the results of ``study agree``: one table per correlation coefficient, then pairs without a score.

    Of these pairs, it prints how many there are and why they have no score.
    """
    for kind, name in _NAMES.items():
        rows = [row for row in summary["agreements"] if row["kind"] == kind]
        _show_coefficients(name, rows, summary)
    _show_missing_scores(summary)
    screen.say_nonempty((*summary["notes"], summary["message"]))


def _show_missing_scores(summary: Row) -> None:
    for row in summary["reasons"]:
        if row["reason"]:
            say(f"{row['metric']}: {counted(row['pairs'], 'pair')} {row['state']}, {row['reason']}")


def show_symmetry(summary: Row) -> None:
    """Prints the results of ``study symmetry``: the correlations, and the numbers of pairs and papers behind them."""
    rows = []
    for name, title in SYMMETRIES.items():
        row = summary["symmetry"][name]
        rows.append(
            (title, f"{row['value']:.3f}", f"({row['low']:.3f}, {row['high']:.3f})", row["items"], row["groups"])
        )
    heads = ("Quantities", "ρ", "95%", "pairs", "papers")
    caption = (
        "Spearman over pairs of human reviews; 95% intervals, papers resampled. Xu et al. 2025, A.5: 0.943 as printed, "
        "over 5,328 ordered pairs"
    )
    title = f"Symmetry of {summary['evaluation_lm']} on {summary['edition']}"
    print_grid(heads, rows, left=heads, title=title, caption=caption, **LOOK)
    screen.say_nonempty((*summary["notes"], summary["message"]))


def _show_coefficients(name: str, rows: list[Row], summary: Row) -> None:
    order = sort_metric_names(row["metric"] for row in rows)
    lines: list[tuple[Any, ...]] = []
    for row in sorted(rows, key=lambda row: order.index(row["metric"])):
        title = find_recipe(row["metric"]).title
        if row["value"] is None:
            lines.append((title, row["problem"], "–", "–", "–", "–", row["reviews"]))
            continue
        more = (
            _format_coefficient(row, kind, f"{kind}_low", f"{kind}_high")
            for kind in ("within", "at_length", "over_length")
        )
        lines.append(
            (title, _format_coefficient(row, "value", "low", "high"), f"{row['p']:.1e}", *more, row["reviews"])
        )
    heads = ("Metric", "all reviews", "p", "within items", "length held fixed", "less that of length", "n")
    title = f"{name} with the grades · {summary['edition']}, {counted(summary['items'], 'item')}"
    print_grid(
        heads, lines, title=title, caption=f"95% intervals, items resampled · judgments by {summary['writer']}", **LOOK
    )


def _format_coefficient(row: Row, value: str, low: str, high: str) -> str:
    return "–" if row[value] is None else f"{row[value]:+.3f} ({row[low]:+.3f}, {row[high]:+.3f})"


def show_label_aucs(summary: Row) -> None:
    """Prints how well each score separates review points with a higher label from those with a lower one (AUC)."""
    for label in summary["labels"]:
        _show_aucs_of_label(label, summary["edition"])
        if missing := label["labelled"] - label["points"]:
            say(f"label {label['label']}: {counted(missing, 'point')} without a score, see below")
    if not summary["labels"]:
        say(f"no label: none of the {counted(summary['points'], 'point')} has one")
    _show_missing_scores(summary)
    screen.say_nonempty((*summary["notes"], summary["message"]))


def _show_aucs_of_label(label: Row, edition: str) -> None:
    rows: list[tuple[str, ...]] = []
    for row in sorted(label["rows"], key=lambda row: row["metric"] is None):
        name = SCORE_NAMES[row["score"]]
        if row["score"] == "own":
            name = f"{find_recipe(row['metric']).title}: {name}"
        if row["score"] == "own" or (row["metric"] is None and row["score"] == "words"):
            rows.append(())
        rows.append((name, format_auc(row, ""), format_auc(row, "within_")))
    heads = ("", "all points", "within papers")
    counts = (counted(label["points"], "point"), counted(label["levels"], "value"), counted(label["papers"], "paper"))
    caption = (
        "AUC: of two points with different labels, how often the one with the higher label scores higher; .500 is "
        "chance. 95% intervals by paper. The last three rows read no human review"
    )
    title = f"{label['label']} · {edition}: {', '.join(counts)}"
    print_grid(heads, rows, left=heads, marked=True, title=title, caption=caption, **LOOK)


def format_auc(row: Row, start: str) -> str:
    """Returns an AUC of *row* with its interval; if there is no AUC, returns the reason.

    *start*: the prefix of the AUC's columns in *row*: "" for all points, ``within_`` for points of the same paper.
    """
    if row[f"{start}auc"] is None:
        return str(row[f"{start}problem"])
    if row[f"{start}low"] is None:
        return f"{row[f'{start}auc']:.3f}".removeprefix("0") + ", no interval"
    auc, low, high = (f"{row[start + part]:.3f}".removeprefix("0") for part in ("auc", "low", "high"))
    return f"{auc} ({low}, {high})"


TITLES = {
    "reviewers": "one human reviewer left out: shifts of the lead over the human baseline, 90% intervals by paper",
    "strata": "references that an LM likely wrote against the others: shifts of the lead, 90% intervals by paper",
}


def show_reference_dependence(report: Row) -> None:
    """Prints up to which share of AI-written references the order of two LM candidates holds.

    Two candidates are listed if they are neighbours in rank or differ significantly. Also prints how leads over the
    human baseline shift if one human reviewer is left out. If the report has likelihoods that an LM wrote references,
    prints how leads differ between likely ones and the others.
    """
    for item in report["metrics"]:
        say(item["line"] or f"{item['metric']}: no order has scores on other candidates' reviews.", style="bold")
        say(f"{report['edition']} · {find_recipe(item['metric']).title} by {item['evaluation_lm']}")
        if item["orders"]:
            _show_tipping_points(item)
        for kind, title in TITLES.items():
            if item[kind]:
                say(f"\n{title}")
                _show_lead_shifts(item[kind])
        if item["unranked"]:
            others = ", ".join(f"{name} ({why})" for name, why in item["unranked"].items())
            say(f"left out, because the board does not rank them: {others}")
        if item["missing"]:
            say(f"{counted(item['missing'], 'case')} could not be scored; run it again")
        say("")


def show_committee(report: Row) -> None:
    """Prints how the score of joined reviews grows with each LM whose review joins, and what a human review adds."""
    for item in report["metrics"]:
        title = f"{report['edition']} · {find_recipe(item['metric']).title} by {item['evaluation_lm']}"
        if item["curve"] is None:
            say(f"{title}: no committee has been scored.")
        else:
            say(describe_scores_by_committee_size(item["curve"]), style="bold")
            steps = [(row["reviewers"], format_with_interval_half_width(row["value"], row["high"]), *row["added"])
                     for row in item["curve"]["steps"]]  # fmt: skip
            print_grid((title, "together", "joined by one half", "by the other"), steps, left=0, padding=(0, 2, 0, 0))
            say(f"{counted(item['curve']['repeats'], 'line')} of the joined reviews are repeats, joined once")
        if item["missing"]:
            say(f"{counted(item['missing'], 'score')} missing; run it again")


def _show_tipping_points(item: Row) -> None:
    def share(value: float | None) -> str:
        return "" if value is None else format_percent_rounded_down(value)

    lines = []
    for row in item["orders"]:
        level = row["share"] is None and row["uncut"] is None
        lines.append((
            row["first"], row["second"], f"{row['difference']:+.2f}", format_p_value(row["p_holm"]),
            "not told" if level else share(row["share"]), row["by"] or "", share(row["uncut"]), share(row["worst"]),
            "" if row["turned"] is None else f"{math.ceil(100 * row['turned'])}%",
        ))  # fmt: skip
    heads = ("first", "second", "difference", "p", "stands", "turned first by", "uncut", "worst", "surely turned")
    print_grid(heads, lines, left=2, padding=(0, 2, 0, 0))
    say(
        "stands: up to this share of references like another candidate's, cut to the length that they replace; uncut: "
        "whole; worst: on the papers where they help most"
    )
    say(item["human"])
    if quantiles := item["likeness"]["quantiles"]:
        low, middle, high = (quantiles[name] for name in ("0.05", "0.5", "0.95"))
        say(
            f"likeness to an AI's of {counted(item['likeness']['references'], 'reference')}: median {middle:+.2f}, 90% "
            f"{low:+.2f} to {high:+.2f}"
        )


def _show_lead_shifts(rows: Sequence[Row]) -> None:
    lines = []
    for row in rows:
        has_moved = row["rank"] is not None and row["new_rank"] is not None and row["rank"] != row["new_rank"]
        lines.append((
            row["what"], row["candidate"], f"{row['lead']:+.2f}", f"{row['shift']:+.2f}",
            "" if row["low"] is None else f"{row['low']:+.2f} to {row['high']:+.2f}",
            f"{row['rank']} → {row['new_rank']}" if has_moved else str(row["rank"] or ""), str(row["papers"]),
        ))  # fmt: skip
    print_grid(("", "candidate", "lead", "shift", "90%", "rank", "papers"), lines, left=2, padding=(0, 2, 0, 0))

"""``gre-bench why``: explains a score on the board, and checks that it can be reproduced."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from gre_bench.board.words import (
    describe_candidate,
    describe_scoring_lm,
    format_row_rank_range,
    format_with_interval_half_width,
    is_validated,
)
from gre_bench.cli.commands import options
from gre_bench.cli.commands.groups import CommandResult
from gre_bench.cli.commands.options import METRICS, argument, option
from gre_bench.cli.views import fitted, screen
from gre_bench.cli.views.screen import say
from gre_bench.core.errors import SettingsError
from gre_bench.core.metrics import find_recipe
from gre_bench.core.terminal import counted, join_with_and
from gre_bench.reports.signatures import format_leader_sentence, headline_signature, shown_signatures
from gre_bench.store import Row, Store
from gre_bench.store.queries import LEADERBOARD

if TYPE_CHECKING:
    from gre_bench.reports.explanations import ScoreExplanation

SHOWN_PAIRS, SHOWN_JUDGMENTS, SHOWN_TOKENS, SHOWN_LINES, SHOWN_SIGNS = 5, 3, 12, 200, 300
LONGEST_LINE = 10_000
SHOWN_FACTS = (
    "paper_id", "title", "review_id", "candidate", "pdf_version_status", "text_status", "version_id", "written_at",
    "version_rule", "lines", "strays",
)  # fmt: skip
"""The fields of the paper and of its reviews that are printed; digests are in --json."""


def why(
    *,
    state: Path,
    edition: options.TheEdition,
    candidate: str = argument("CANDIDATE", "Candidate, by its name on the board."),
    metric: str | None = option("--metric -m METRIC", "Metric, such as gem; default: the headline's.", None, **METRICS),
    paper: str | None = option("--paper -p ID", "Also judgments and tokens of this paper.", None),
    details: bool = option("--details", "With --paper: also every judgment, and the texts.", False),
    checks: bool = option("--checks", "Also digests, every check, and the pairs of all papers.", False),
    no_recount: bool = option("--no-recount", "Do not score the pairs again.", False),
) -> CommandResult:
    """Explain a score: its papers, judgments and tokens.

    Every step from the texts to the number is checked, and the evaluation LM scores the pairs again. The exit code is 1
    if a check fails. With --paper: the judgments that add most and least, and the tokens that became more or less
    likely. --json adds the texts, the signature, the run, the prompts and all digests.
    """
    if details and paper is None:
        raise SettingsError("--details prints the texts of one paper: add --paper ID")
    from gre_bench.pipeline.runs.prefect_engine import configure_prefect

    configure_prefect(state)
    from gre_bench.reports.explanations import explain_score as explained

    store = Store(state, edition)
    signature = headline_signature(store) if metric is None else shown_signatures(store, [metric])[0]
    explanation = explained(state.resolve(), edition, signature, candidate, paper, not no_recount)
    report = asdict(explanation) | {"holds": explanation.holds}
    return CommandResult(
        report, lambda _: print_explanation(explanation, store, state, details, checks), 0 if explanation.holds else 1
    )


def print_explanation(
    explanation: ScoreExplanation, store: Store, state: Path, texts: bool = False, checks: bool = False
) -> None:
    """Prints an explanation: a sentence on the score, then its papers, or the evidence for the requested paper.

    *texts*: whether to also print every judgment and the texts that were scored. *checks*: whether to also print the
    pairs, the sources of the texts, and the outcome of every check.
    """
    signature, details = explanation.signature, explanation.details
    name, title = explanation.candidate, find_recipe(signature["metric"]).title
    say(f"{explanation.edition} · {title} · {name}", style="bold")
    of_pairs = {row["paper_id"] for row in explanation.pairs}
    chosen = [row for row in explanation.papers if of_pairs == {row["paper_id"]}]
    if chosen:
        say(_describe_paper_score(chosen[0], len(explanation.pairs)))
        screen.say_nonempty([_explain_fewer_references(chosen)])
    say(f"{'all papers: ' if chosen else ''}{_describe_board_score(explanation)}")
    if signature["signature_id"] == headline_signature(store)["signature_id"]:
        say(f"the board: {format_leader_sentence(store)}")
    screen.say_nonempty([line for detail in details if (line := _describe_shared_words(detail))])
    if checks:
        say(f"by {signature['evaluation_lm']}; judgments by {signature['writer']}; "
            f"synopsis: {signature['synopsis_writer']}")  # fmt: skip
        _print_pairs(explanation.pairs, whole=bool(details))
    elif not chosen:
        _print_best_and_worst_papers(explanation)
    _print_unscored_pairs(explanation, every=checks)
    if explanation.judgments:
        _print_judgments(explanation.judgments, texts)
    for index, detail in enumerate(details):
        before = details[index - 1] if index else {}
        _print_reference_detail(detail)
        if texts:
            _print_scored_texts(detail, {name: detail[name] != before.get(name) for name in ("x", "synopsis", "moved")})
    if store.is_from_release:
        say(f"{store.key} was loaded from a release: its texts are not here, so nothing is quoted or scored again")
    if chosen and explanation.board is not None:
        say(describe_scoring_lm(signature["evaluation_lm"], explanation.board["validation"]), style="dim")
    if any(row["human"] is not None for row in explanation.papers):
        board = store.read(LEADERBOARD, signature_ids=[signature["signature_id"]])
        screen.say_nonempty([describe_candidate(row) for row in board if row["kind"] == "human"])
    _print_checks(explanation, checks)
    if details and not texts:
        say("--details prints every judgment, and the texts that were scored", style="dim")
    where = screen.format_state_option(state)
    if chosen:
        say(f"next: gre-bench leaderboard {explanation.edition}{where}   # the board")
    elif explanation.papers:
        worst = _select_papers_with_lead(explanation.papers)[-1]["paper_id"]
        option = f"--metric {signature['metric']} --paper {worst}{where}"
        say(f"next: gre-bench why {explanation.edition} {shlex.quote(screen.remove_control_characters(name))} {option}")


def _print_checks(explanation: ScoreExplanation, every: bool) -> None:
    """If *every*, prints facts about the paper and its reviews, and all checks; otherwise only failed checks.

    If not *every* and all checks passed, prints their number.
    """
    if every:
        facts = (*([explanation.paper] if explanation.paper else ()), *explanation.reviews)
        for row in map(dict, facts):
            say(", ".join(f"{name} {_shorten_text(str(row[name]), SHOWN_SIGNS)}" for name in SHOWN_FACTS
                          if row.get(name) is not None))  # fmt: skip
    for row in explanation.checks:
        detail = f" ({row['detail']})" if row["detail"] else ""
        verdict = ("holds", "green") if row["holds"] else ("DOES NOT HOLD", "red")
        if every or not row["holds"]:
            screen.print_with_label(*verdict, row["what"] + detail)
    if not every and explanation.holds:
        number = len(explanation.checks)
        held = f"all {number} checks hold" if number > 1 else "the check of the mean holds"
        say(f"{held}; --checks lists what is checked, from the texts to the number", style="dim")


def _describe_board_score(explanation: ScoreExplanation) -> str:
    """Returns a sentence: the score, the rank, and on how many papers the candidate scores above the human baseline."""
    board = explanation.board
    if board is None or board["score"] is None:
        return "no score on the board"
    known = board["validation"].replace("unvalidated", "not validated")
    order = f"rank {format_row_rank_range(board)}, {known}" if is_validated([board]) else f"no order: {known}"
    rank = "control" if board["kind"] == "control" else board["unranked"] or order
    leads = [row["lead"] for row in explanation.papers if row["lead"] is not None]
    ahead = f"; ahead of human on {sum(lead > 0 for lead in leads)} of {counted(len(leads), 'paper')}" if leads else ""
    return f"{format_with_interval_half_width(board['score'], board['high'])}, {rank}{ahead}"


def _describe_paper_score(row: Row, references: int) -> str:
    mean = f", mean of {references} references" if references > 1 else ""
    human = "" if row["human"] is None else f"; human {row['human']:+.1f}"
    return f"{row['paper_id']}: {row['mean']:+.1f} nats{mean}{human}"


def _describe_shared_words(detail: Row) -> str:
    """Returns a sentence that says which words of a reference the review shares and which it lacks.

    It is empty if *detail* lists no such words.
    """
    lacks = f"has the words {join_with_and(detail['lacking'])}, which this review lacks" if detail["lacking"] else ""
    both = f"both have {join_with_and(detail['shared'])}" if detail["shared"] else ""
    sentence = "; ".join(filter(None, (lacks, both)))
    return (
        f"{detail['reference_id']} {sentence}."
        if lacks
        else f"{detail['reference_id']}: {sentence}."
        if sentence
        else ""
    )


def _select_papers_with_lead(papers: Sequence[Row]) -> Sequence[Row]:
    """Returns those of *papers* whose lead over the human baseline is known; all of *papers* if no lead is known."""
    return [row for row in papers if row["lead"] is not None] or papers


def _print_best_and_worst_papers(explanation: ScoreExplanation) -> None:
    """Prints the papers with the largest and smallest leads over the human baseline."""
    papers = _select_papers_with_lead(explanation.papers)
    few = len(papers) <= 2 * SHOWN_PAIRS
    shown = papers if few else [*papers[:SHOWN_PAIRS], *papers[-SHOWN_PAIRS:]]
    by = "the lead over human" if any(row["lead"] is not None for row in papers) else "score"
    title = "" if few else f"best and worst {SHOWN_PAIRS} of {len(papers)} papers, by {by}"
    cells = [
        (row["paper_id"], *("" if row[name] is None else f"{row[name]:+.1f}" for name in ("mean", "human", "lead")))
        for row in shown
    ]
    fitted.print_text_table(("paper", "score", "human", "lead"), cells, names=("paper",), title=title)
    screen.say_nonempty([_explain_fewer_references(shown)])


def _explain_fewer_references(papers: Sequence[Row]) -> str | None:
    """Returns a line that says that leads use fewer references than scores; None if each lead is score − human."""
    known = [row for row in papers if row["lead"] is not None]
    if all(abs(row["mean"] - row["human"] - row["lead"]) < 1e-9 for row in known):
        return None
    return "score: over all references of a paper; human, lead: only over those that human is scored on too"


def _print_unscored_pairs(explanation: ScoreExplanation, every: bool) -> None:
    """Prints the pairs that have no score, with reasons: *every* one, or the first ones and the number of others."""
    lost = [row for row in explanation.pairs if row["state"] != "scored"]
    shown = lost if every else lost[: 2 * SHOWN_PAIRS]
    for row in shown:
        say(f"{row['state']}: paper {row['paper_id']}, reference {row['reference_id']}: {row['reason']}")
    board = explanation.board
    total = sum(board[state] or 0 for state in ("failed", "missing", "excluded")) if board else len(lost)
    if shown and total > len(shown):
        say(f"and {counted(total - len(shown), 'more pair')} without a score; --checks without --paper lists all")


def _print_pairs(pairs: Sequence[Row], whole: bool) -> None:
    scored = sorted((row for row in pairs if row["state"] == "scored"), key=lambda row: row["value"], reverse=True)
    shown = scored if whole or len(scored) <= 2 * SHOWN_PAIRS else [*scored[:SHOWN_PAIRS], *scored[-SHOWN_PAIRS:]]
    title = "pairs" if len(shown) == len(scored) else f"pairs, best and worst {SHOWN_PAIRS} of {len(scored)}"
    if whole and scored:
        title += f"; the mean is {sum(row['value'] for row in scored) / len(scored):+.4f}"
    cells = [
        (row["paper_id"], row["reference_id"], f"{row['value']:+.4f}",
         "" if row.get("recount") is None else f"{row['recount']:+.4f}")
        for row in shown
    ]  # fmt: skip
    fitted.print_text_table(("paper", "reference", "score", "recount"), cells, names=("reference",), title=title)


def _print_judgments(judgments: Sequence[Row], every: bool) -> None:
    """Prints how many nats judgments add to the paper's score: *every* judgment, or those that add most and least."""
    few = every or len(judgments) <= 2 * SHOWN_JUDGMENTS
    shown = judgments if few else [*judgments[:SHOWN_JUDGMENTS], *judgments[-SHOWN_JUDGMENTS:]]
    which = "" if few else f"; the {SHOWN_JUDGMENTS} most and {SHOWN_JUDGMENTS} least of {len(judgments)}"
    say(f"\njudgments (a set phrase, then a point of the review) and the nats that each adds{which}; below zero, the "
        "score is higher without it")  # fmt: skip
    for row in shown:
        say(f"  {row['nats']:+z.2f}  {_shorten_text(row['text'], LONGEST_LINE)}")


def _print_reference_detail(detail: Row) -> None:
    """Prints the score against a reference, its log-probabilities, and the tokens that gained and lost most."""
    say(f"\nreference {detail['reference_id']}: {detail['value']:+.4f}")
    for term in detail["terms"]:
        tokens = counted(len(term["logprobs"]), "token")
        say(f"  {term['total']:+.4f} nats over {tokens}, {term['of']}")
    tokens = sorted(detail["tokens"], key=lambda row: row["gain"], reverse=True)
    for title, rows in (("gained", tokens[:SHOWN_TOKENS]), ("lost", tokens[::-1][:SHOWN_TOKENS])):
        tokens_shown = ", ".join(
            f"{row['token'].strip() or '␣'} {row['gain']:+.2f}"
            for row in rows
            if (row["gain"] > 0 if title == "gained" else row["gain"] < 0)
        )
        if tokens_shown:
            say(f"  {title} most: {tokens_shown}")


def _print_scored_texts(detail: Row, fresh: Mapping[str, bool]) -> None:
    """Prints the texts from which a pair's score was computed.

    *fresh*: ``x`` (the candidate's review), ``synopsis`` or ``moved`` (its review of another paper) → whether that text
    differs from the previous pair's. A text that does not differ is not printed again.
    """
    texts = [("the candidate's review (x)", detail["x"])] if fresh["x"] else []
    texts += [("the synopsis (s)", detail["synopsis"])] if detail["synopsis"] and fresh["synopsis"] else []
    texts += [("the reference (y)", detail["y"])]
    if detail["moved"] and fresh["moved"]:
        texts += [("the candidate's review of another paper", detail["moved"])]
    if not fresh["x"]:
        say("  the candidate's review (x): as above")
    for name, text in texts:
        say(f"  {name}:")
        lines = text.splitlines()
        for line in lines[:SHOWN_LINES]:
            say(f"    {_shorten_text(line, LONGEST_LINE)}")
        if len(lines) > SHOWN_LINES:
            say(f"    and {counted(len(lines) - SHOWN_LINES, 'line')} more; --json gives them all")


def _shorten_text(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}…"

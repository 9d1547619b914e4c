"""``gre-bench why``: explains a score on the board, and checks that it can be reproduced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from gre_bench.cli.commands import options
from gre_bench.cli.commands.groups import Answer
from gre_bench.cli.commands.options import METRICS, argument, option
from gre_bench.cli.views import fitted, screen
from gre_bench.cli.views.screen import say
from gre_bench.core.terminal import counted
from gre_bench.reports.signatures import shown_signatures
from gre_bench.store import Row, Store

if TYPE_CHECKING:
    from gre_bench.reports.why import Why

SHOWN_PAIRS, SHOWN_TOKENS, SHOWN_LINES, SHOWN_SIGNS = 5, 12, 200, 300
LONGEST_LINE = 10_000
SHOWN_FACTS = (
    "paper_id", "title", "review_id", "candidate", "pdf_version_status", "text_status", "version_id", "written_at",
    "version_rule", "lines", "strays",
)  # fmt: skip
"""What is printed of the paper and of its reviews; digests are in --json."""


def why(
    *,
    state: Path,
    edition: options.TheEdition,
    metric: str = argument("METRIC", "Metric, such as gem.", **METRICS),
    candidate: str = argument("CANDIDATE", "Candidate, by its name on the board."),
    paper: str | None = option("--paper -p ID", "Also tokens and texts of this paper.", None),
    no_recount: bool = option("--no-recount", "Do not score the pairs again.", False),
) -> Answer:
    """Explain a score: its pairs, tokens and texts.

    Every step from the texts to the number is checked, and the evaluation LM scores the pairs again. The exit code is 1
    if a check fails. With --paper: what each judgment tells, the tokens that gained most, and the texts. --json adds
    the signature, the run, the prompts and all digests.
    """
    from gre_bench.pipeline.runs.prefect_engine import configure_prefect

    configure_prefect(state)
    from gre_bench.reports.why import why as explained
    from gre_bench.tasks import steps

    (signature,) = shown_signatures(Store(state, edition), [metric])
    run = None if no_recount else steps.undecorated()
    explanation = explained(state.resolve(), edition, signature, candidate, paper, run)
    report = asdict(explanation) | {"holds": explanation.holds}
    return Answer(report, lambda _: show(explanation, Store(state, edition)), 0 if explanation.holds else 1)


def show(explanation: Why, store: Store) -> None:
    """Prints an explanation: the score, its pairs, the details of the requested paper, and whether each check holds."""
    board, signature = explanation.board, explanation.signature
    if board and board["score"] is not None:
        rank = f"rank {board['rank']}" if board["rank"] else board["unranked"]
        say(f"{explanation.edition} · {signature['metric']} · {explanation.candidate}: {board['score']:+.4f}, {rank}")
    say(
        f"by {signature['evaluation_lm']}; judgments by {signature['writer']}; synopsis: {signature['synopsis_writer']}"
    )
    _pairs(explanation.pairs, whole=bool(explanation.details))
    if explanation.judgments:
        say("what its judgments tell: nats that the paper's score loses without each")
        for row in explanation.judgments:
            say(f"  {row['nats']:+z.2f}  {row['text'][:LONGEST_LINE]}")
    for index, detail in enumerate(explanation.details):
        before = explanation.details[index - 1] if index else {}
        _detail(detail, {name: detail[name] != before.get(name) for name in ("x", "synopsis", "moved")})
    if explanation.paper:
        say("")
    for row in map(dict, (*([explanation.paper] if explanation.paper else ()), *explanation.reviews)):
        say(", ".join(f"{name} {_short(row[name])}" for name in SHOWN_FACTS if row.get(name) is not None))
    if store.is_loaded:
        say(f"{store.key} was loaded from a release: its texts are not here, so nothing is quoted or scored again")
    for row in explanation.checks:
        detail = f" ({row['detail']})" if row["detail"] else ""
        verdict = ("holds", "green") if row["holds"] else ("DOES NOT HOLD", "red")
        screen.mark(*verdict, row["what"] + detail)


def _pairs(pairs: Sequence[Row], whole: bool) -> None:
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
    fitted.table(("paper", "reference", "score", "recount"), cells, names=("reference",), title=title)
    for row in pairs:
        if row["state"] != "scored":
            say(f"{row['state']}: paper {row['paper_id']}, reference {row['reference_id']}: {row['reason']}")


def _detail(detail: Row, fresh: Mapping[str, bool]) -> None:
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
            say(f"    {line[:LONGEST_LINE]}")
        if len(lines) > SHOWN_LINES:
            say(f"    and {counted(len(lines) - SHOWN_LINES, 'line')} more; --json gives them all")


def _short(value: object) -> object:
    return f"{value[:SHOWN_SIGNS]}…" if isinstance(value, str) and len(value) > SHOWN_SIGNS else value

"""Writes the pages of a release or an edition: boards, candidates, papers. Each page is self-contained.

index.html   candidates/<candidate>.html   papers/<paper>.html

Rows of the database and of the manifest are passed to the templates unchanged.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb

from gre_bench.board.committee_curve import read_scores_by_committee_size
from gre_bench.board.family import read_candidate_orders_by_lm
from gre_bench.board.tipping import describe_ai_reference_tipping_share
from gre_bench.board.words import (
    CandidateOrder,
    describe_training_overlap,
    explain_missing_human_baseline,
    format_contaminated_lms,
    format_contamination_gap,
    format_headline_warning,
    format_ties,
    get_score_at_human_review_length,
    is_ngram_lm,
    is_validated,
    summarise_board,
    warn_of_untested_order,
)  # fmt: skip
from gre_bench.core.records import parse_edition_key
from gre_bench.core.terminal import counted
from gre_bench.release.pages.board_data import build_board_data, read_board_scores
from gre_bench.release.pages.board_page import Board, BoardEntry, build_page_file_name, list_warning_flags
from gre_bench.release.pages.candidates import write_candidate_pages
from gre_bench.release.pages.paper_pages import write_paper_pages
from gre_bench.release.pages.rendering import render_board_page
from gre_bench.release.public_tables import run_page_query
from gre_bench.store import Row, fetch
from gre_bench.store.queries import CLEAN_GAP, EXPOSURES, CleanGapRow, ContaminationRow

PAGE, CANDIDATES, PAPERS = "index.html", "candidates", "papers"
LEAD = (
    "How much a review tells about what human reviewers of the same paper wrote, measured without a gold standard: "
    "the more predictable a review makes theirs, the higher its score."
)
METHOD = """\
@inproceedings{xu2025benchmarking,
  title     = {Benchmarking {LLMs}' Judgments with No Gold Standard},
  author    = {Shengwei Xu and Yuxuan Lu and Grant Schoenebeck and Yuqing Kong},
  booktitle = {International Conference on Learning Representations},
  year      = {2025}
}"""
TEXTS = {True: "all: not to be passed on", False: "where their licence allows it"}
MINUS = re.compile(r"(?<![\w-])-(?=\d)")
"""A minus sign before a number, as opposed to a hyphen in a name."""
SCORES_ONLY = "none, and no log-probabilities of tokens: scores only"
TABLES = {
    "scores": "every score, with the keys of its log-probabilities",
    "spans": "log-probabilities, token by token",
    "plan": "every planned pair and its outcome",
    "problems": "every failure, with its message",
    "candidates": "who is on the boards",
    "signatures": "the signature of each score",
    "rank_statistics": "ranks and ties",
    "pair_tests": "the tests of every two ranked candidates",
    "profiles": "lengths, tokens and costs",
    "effects": "effects of changes of reviews on the metrics",
    "judgment_kinds": "judgments counted by their opening words",
    "papers": "the papers, texts where the licence allows it",
    "reviews": "the reviews, texts where the licence allows it",
    "judgments": "the judgments, texts where the licence allows it",
}
"""The tables that most readers need → what they contain."""
_ABOUT = (
    ("evaluation LM", "evaluation_lm"), ("its digest", "lm_digest"), ("precision", "dtype"),
    ("quantisation", "quantisation"), ("judgments by", "writer"), ("synopsis by", "synopsis_writer"),
    ("form of the judgments", "form"), ("text cut", "text_cut"), ("prompt SHA-256", "prompt_sha256"),
    ("engine", "engine_version"), ("signature", "signature_id"),
)  # fmt: skip


def write_site(
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    about: Mapping[str, Any],
    at: Callable[[str], None] = lambda step: None,
) -> tuple[Board, ...]:
    """Writes all pages of a release to *folder*; returns its boards.

    - *connection*: a connection to the release's database.
    - *about*: the release's manifest. If it has no key ``tables`` (rows by table), the page offers no downloads.
    - *at*: a function that is called with each step's name before the step.
    """
    shown_boards = build_boards(connection, about["settings"]["board"]["headline"])
    with_papers = about["texts"] != SCORES_ONLY
    papers = [row | {"href": f"papers/{build_page_file_name(row['paper_id'])}" if with_papers else None}
              for row in run_page_query(connection, "papers")]  # fmt: skip
    values = read_board_scores(connection)
    remarks = [
        f"Not shown: {row['metric']}, whose validation with this evaluation LM and writer is {row['verdict']}: "
        f"{row['detail']}."
        for row in about.get("hidden_boards", ())
    ]
    if any(is_ngram_lm(value) for board in shown_boards for _, value in board.about):
        remarks.insert(0, "The evaluation LM is cache-ngram, a small count model: its scores compare with each other "
                          "only, not with GEM by a large LM.")  # fmt: skip
    contents = {
        "name": about["release"],
        "edition": about["edition"],
        "published": about.get("published", f"release {about['release'].rpartition('-')[2]}"),
        "boards": shown_boards,
        "facts": _build_overview_facts(shown_boards, about),
        "lead": LEAD,
        "remarks": tuple(remarks),
        "validations": _read_validations(connection),
        "histories": about.get("histories", ()),
        "contrasts": _sort_contrasts(about.get("contrasts"), shown_boards),
        "correctness": about.get("correctness"),
        "strata": _load_strata(connection),
        "papers": papers,
        "errata": about.get("errata", ()),
        "provenance": _list_provenance(about),
        "outcomes": run_page_query(connection, "outcomes"),
        "downloads": _list_downloads(about) if about.get("tables") else (),
        "rights": _list_rights_lines(connection, about),
        "citation": format_citation(about) if about.get("tables") else "",
    }
    at("index")
    data = build_board_data(shown_boards, values, papers)
    (folder / PAGE).write_text(render_board_page(contents, data), encoding="utf-8")
    at("candidates")
    write_candidate_pages(
        connection, folder / CANDIDATES, about["release"], about["edition"], shown_boards, values, papers
    )
    at("papers")
    if with_papers:
        everything = about["texts"] == TEXTS[True]
        write_paper_pages(connection, folder / PAPERS, about["release"], about["edition"], shown_boards, everything)
    return shown_boards


def build_boards(connection: duckdb.DuckDBPyConnection, wanted: str | None = None) -> tuple[Board, ...]:
    """Returns the boards of a release in the order of the page; *connection*: a connection to its database.

    *wanted*: the headline metric of the settings. If it has no board, the *answer* of the first board says so.
    """
    signatures = {row["signature_id"]: row for row in run_page_query(connection, "signatures")}
    board_rows = run_page_query(connection, "boards")
    exposures = fetch(connection, EXPOSURES)
    gaps = {row["signature_id"]: row for row in fetch(connection, CLEAN_GAP, signature_ids=list(signatures))}
    ordered = []
    for signature_id, group in groupby(board_rows, key=lambda row: row["signature_id"]):
        own: Any = list(group)
        tipping = describe_ai_reference_tipping_share(partial(fetch, connection), signature_id, own)
        orders = read_candidate_orders_by_lm(partial(fetch, connection), signature_id, own)
        board = _build_board(signatures[signature_id], own, exposures, gaps.get(signature_id), orders)
        committee = read_scores_by_committee_size(partial(fetch, connection), signature_id, own)
        ordered.append(replace(board, tipping=tipping or "", committee=committee))
    if lacking := format_headline_warning(board_rows, wanted):  # pyrefly: ignore
        ordered[0] = replace(ordered[0], answer=f"{ordered[0].answer} {lacking}")
    return tuple(ordered)


UNORDERED = dict.fromkeys(("rank", "rank_low", "rank_high", "p"))
"""The fields that are None in the rows of a page if the metric is not validated: such a board ranks nobody."""


def _build_board(
    signature: Row,
    board_rows: Sequence[Row],
    exposures: Sequence[ContaminationRow],
    gap: CleanGapRow | None,
    orders: Sequence[CandidateOrder],
) -> Board:
    auc = signature["auc"]
    papers = min((row["papers"] for row in board_rows if row["papers"] and row["rank"] is not None), default=None)
    shown: Any = board_rows if is_validated(board_rows) else [row | UNORDERED for row in board_rows]  # pyrefly: ignore
    ranked: Any = [row for row in shown if row["rank"] is not None]
    tied = {name for row in ranked if row["tied"] for name in (row["candidate"], row["next_candidate"])}
    without = f"; {counted(signature['auc_left_out'], 'learnt paper')} left out" if signature["auc_left_out"] else ""
    about = [(title, str(signature[name])) for title, name in _ABOUT if signature[name] is not None]
    contaminated: Any = [*format_contaminated_lms(signature, exposures), MINUS.sub("−", format_contamination_gap(gap))]  # pyrefly: ignore
    about.append(("learnt from these papers", describe_training_overlap(signature, exposures) or "none"))
    return Board(
        metric=signature["metric"],
        title=board_rows[0]["metric_title"] or signature["metric"],
        unit=board_rows[0]["unit"] or "",
        entries=tuple(_build_entry(row, row["candidate"] in tied, signature["writer"]) for row in shown),
        signature_id=signature["signature_id"],
        answer=f"{summarise_board(board_rows, orders)} {explain_missing_human_baseline(board_rows)}".rstrip(),  # pyrefly: ignore
        validation=board_rows[0]["validation"],
        auc="" if auc is None else f"{auc:.3f} ({signature['auc_low']:.3f} to {signature['auc_high']:.3f}{without})",
        untested=warn_of_untested_order(ranked),
        ties=tuple(format_ties(ranked)),
        tests=orders[0].tests.tests if orders else (),
        exposed=tuple(line for line in contaminated if line),
        about=tuple((title, value) for title, value in about if value != "none"),
        place=board_rows[0]["metric_place"] or 0,
        papers=papers,
        groups={
            name: summarise_board(
                [{**row, "group_name": None} for row in board_rows if row["group_name"] == name],  # pyrefly: ignore
                orders,
            )
            for name in {row["group_name"] for row in board_rows}
            if name
        },
    )


def _build_entry(row: Row, tied: bool, writer: str) -> BoardEntry:
    same = ("candidate", "kind", "low", "high", "rank", "p", "scored", "parameters", "rank_low", "rank_high", "words",
            "extrapolated", "usd", "conflict", "above_chance", "above_chance_high", "surely_above_chance")  # fmt: skip
    tokens = [row[name] for name in ("prompt_tokens", "reply_tokens") if row[name] is not None]
    return BoardEntry(
        **{name: row[name] for name in same},  # pyrefly: ignore
        mean=row["score"],
        difference=row["vs_human"],
        difference_low=row["vs_human_low"],
        difference_high=row["vs_human_high"],
        tied=tied,
        at_length=get_score_at_human_review_length(row),  # pyrefly: ignore
        contamination=row["contamination"] if row["contamination"] != "none" else None,
        tokens=sum(tokens) if tokens else None,
        unparsable=row["unparsable"] / row["judged"] if row["judged"] else None,
        expected=0 if row["planned"] == row["excluded"] else row["expected"],
        family=row["model_family"],
        cutoff=row["knowledge_cutoff"],
        released=row["model_released"],
        group=row["group_name"],
        flags=tuple(list_warning_flags(row, writer)),
        href=f"candidates/{build_page_file_name(row['candidate'])}",
    )


def _sort_contrasts(contrasts: dict[str, Any] | None, boards: Sequence[Board]) -> dict[str, Any] | None:
    """Returns *contrasts* with their rows in the order of *boards*; rows of other metrics come last."""
    if contrasts is None:
        return None
    places = {board.metric: place for place, board in enumerate(boards)}
    return contrasts | {"rows": sorted(contrasts["rows"], key=lambda row: places.get(row["metric"], len(places)))}


def _build_overview_facts(shown_boards: Sequence[Board], about: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    entries = [entry for board in shown_boards for entry in board.entries]
    models = {entry.candidate: entry.group for entry in entries if entry.kind == "model"}
    shown = (("Models", sum(group is None for group in models.values())),
             *((f"Models of group {group}", count) for group, count in Counter(filter(None, models.values())).items()),
             ("Metrics", len(shown_boards)), ("Papers", about.get("papers", 0)),
             ("Pairs per candidate", max((entry.expected or 0 for entry in entries), default=0)))  # fmt: skip
    counts = tuple((name, f"{count:,}") for name, count in shown if count)
    lms = dict.fromkeys(value for board in shown_boards for name, value in board.about if name == "evaluation LM")
    return (*counts, *((("Evaluation LM", ", ".join(lms)),) if lms else ()))


def _read_validations(connection: duckdb.DuckDBPyConnection) -> tuple[dict[str, Any], ...]:
    """Returns the validations of the boards' metrics; metrics with effects come first.

    *effects* are measured on this edition's reviews. A metric that was validated on another edition has no effects;
    *detail* then lists the perturbations that it does not pass.
    """
    signatures = {row["signature_id"]: row for row in run_page_query(connection, "signatures")}
    titles = {row["metric"]: row["metric_title"] for row in run_page_query(connection, "boards")}
    by_metric: dict[str, tuple[str, Row, Sequence[Row]]] = {}
    for signature_id, group in groupby(run_page_query(connection, "effects"), key=lambda row: row["signature_id"]):
        effects = [row | {"title": row["change_title"] or row["change"]} for row in group]
        metric, title = effects[0]["metric"], effects[0]["metric_title"]
        by_metric.setdefault(metric, (title or metric, signatures.get(signature_id, {}), effects))
    for row in signatures.values():
        if row["verdict"]:
            by_metric.setdefault(row["metric"], (titles.get(row["metric"]) or row["metric"], row, []))
    return tuple(
        {
            "title": title,
            "verdict": row.get("verdict") or "unvalidated",
            "detail": f"on {row['validated_on']}: {row['detail'] or ''}"
            if row.get("validated_on")
            else row.get("detail") or "",
            "effects": effects,
        }
        for title, row, effects in by_metric.values()
    )


def _load_strata(connection: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """Returns one row per stratum: a property that divides the sampled papers, such as their decision.

    *name*: the property. *sizes*: its value → number of papers. *tables*: title of a metric → candidate → value → row
    of the candidate's scores on the papers with this value. If all papers have the same value, there are no tables.
    """
    sections = []
    for name, group in groupby(run_page_query(connection, "strata"), key=lambda row: row["stratum"]):
        own = list(group)
        sizes = {row["value"]: row["sampled"] for row in own}
        tables: dict[str, dict[str, dict[str, Row]]] = {}
        for row in own if len(sizes) > 1 else ():
            tables.setdefault(row["title"], {}).setdefault(row["candidate"], {})[row["value"]] = row
        sections.append({"name": name, "sizes": sizes, "tables": tables})
    return sections


def _list_provenance(about: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns the facts at the bottom of the page, such as the program's version, snapshots and seeds.

    The manifest says when the release was made. The page does not, so that the same inputs give the same page.
    """
    made = "see manifest.json" if about.get("tables") else about["created_at"]
    lines = [("made", made), ("program", f"gre-bench {about.get('program', {}).get('version', '')}")]
    lines += [("texts", about["texts"])]
    lines += [("snapshot", snapshot["digest"]) for snapshot in about.get("snapshots", ())]
    lines += [(f"seed of {name}", str(seed)) for name, seed in about.get("seeds", {}).items()]
    if about.get("tables"):
        lines += [("tables", ", ".join(f"{name} {count:,}" for name, count in about["tables"].items() if count)),
                  ("files", "tables/*.parquet, views.sql, manifest.json with the SHA-256 of each; "
                   "gre-bench verify reads them again")]  # fmt: skip
    return lines


def _list_downloads(about: Mapping[str, Any]) -> tuple[tuple[str, str, str], ...]:
    """Returns (address, name, description) for each file that the page offers."""
    with_rows = [name for name, count in about["tables"].items() if count]
    first = [name for name in TABLES if name in with_rows]
    return (
        ("views.sql", "views.sql", "every table and view, for DuckDB 1.4 and later: duckdb -init views.sql"),
        ("manifest.json", "manifest.json", "SHA-256 of every file; settings, prompts, models, seeds, package versions"),
        *((f"tables/{name}.parquet", f"{name}.parquet", TABLES.get(name, ""))
          for name in dict.fromkeys([*first, *with_rows])),
    )  # fmt: skip


def _list_rights_lines(connection: duckdb.DuckDBPyConnection, about: Mapping[str, Any]) -> tuple[str, ...]:
    lines = ["The program is Apache-2.0. Texts keep the licence that their authors gave them; ids, hashes and numbers "
             "are no texts.", *describe_included_texts(run_page_query(connection, "rights"))]  # fmt: skip
    if about["texts"].startswith("all"):
        lines.append("This release holds texts of any licence: do not pass it on.")
    return tuple(lines)


def describe_included_texts(licences: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yields a line for each kind of text and licence: how many texts there are, by whom, and how many are included.

    *licences*: the rows of the query ``rights``. Candidates share a line if all of their texts are included, or if none
    are.
    """
    by_licence: dict[tuple[str, str, str], list[tuple[int, str | None]]] = {}
    for row in licences:
        words_here = {row["known"]: "words are here", 0: "words are not here, their SHA-256 is"}.get(
            row["shown"], f"words of {row['shown']:,} are here"
        )
        if titles := (row["titles"] or row["shown"]) - row["shown"]:
            words_here += f"; {counted(titles, 'title')} of own papers are, as bibliographic facts"
        key = row["texts"], row["licence"] or "unknown licence", words_here
        by_licence.setdefault(key, []).append((row["known"], row["candidate"]))
    for (texts, licence, words_here), counts in by_licence.items():
        names = [f"{name} {known:,}" for known, name in counts if name]
        by = f" by {counts[0][1]}" if len(names) == 1 else f" ({', '.join(names)})" if names else ""
        yield f"{sum(known for known, _ in counts):,} {texts}{by} under {licence}: {words_here}."


def format_citation(about: Mapping[str, Any]) -> str:
    """Returns BibTeX entries for the method and for the release, which is dated by its edition's year."""
    name, year = about["release"], parse_edition_key(about["edition"]).year
    snapshots = ", ".join(snapshot["digest"][:16] for snapshot in about.get("snapshots", ()))
    program = f"gre-bench {about.get('program', {}).get('version', '')}".strip()
    notes = [f"made with {program}", *([f"snapshot {snapshots}"] if snapshots else [])]
    fields = f"  title = {{GRE-bench {name}}},\n  year  = {{{year}}},\n  note  = {{{'; '.join(notes)}}}"
    return f"@misc{{{name.lower()},\n{fields}\n}}\n\n{METHOD}"

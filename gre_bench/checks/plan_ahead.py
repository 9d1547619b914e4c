"""Estimates the requests, tokens, hours and cost of an edition or a year's board before anything is sent.

Known quantities are counted. The others are assumed, and the result states each assumption.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gre_bench.catalogs.models import Model
from gre_bench.catalogs.models import load as load_models
from gre_bench.checks.bill import (
    CHARACTERS_A_TOKEN,
    JUDGMENT_TOKENS,
    PAPER_TOKENS,
    PROMPT_TOKENS,
    REVIEW_TOKENS,
    SYNOPSIS_TOKENS,
    PlannedRequests,
    plan_judgment_requests,
    plan_refresh_requests,
)
from gre_bench.core.controls import CONTROLS
from gre_bench.core.errors import SettingsError
from gre_bench.core.metrics import find_recipe
from gre_bench.core.settings import Settings
from gre_bench.core.terminal import counted
from gre_bench.ingest.openreview.fetching import (
    choose_fetch_run_folder,
    is_listing_complete,
    list_snapshot_notes_and_papers,
    locate_budget_file,
    resolve_api_host,
    sample_fetched_papers,
)
from gre_bench.ingest.openreview.journal import (
    JOURNAL,
    FetchJournal,
    find_submissions_lacking_replies,
    open_journal_read_only,
)
from gre_bench.ingest.openreview.request_budget import RequestBudget
from gre_bench.ingest.records.venues import VenueYear, find_venue_entry
from gre_bench.pipeline.perturbed_reviews import choose_perturbations, find_perturbation_maker, list_harm_degrees
from gre_bench.pipeline.planning import can_measure_length_effect
from gre_bench.pipeline.runs.spending import list_exceeded_limits, spend_log
from gre_bench.pipeline.training_overlap import find_overlap_in_read_copy
from gre_bench.pipeline.validation_records import format_gate_decision, predict_verdicts
from gre_bench.pipeline.year_models import list_named_lms
from gre_bench.prompts.conditions import split_condition
from gre_bench.store import Store
from gre_bench.store.queries import CANDIDATES, PAPERS, REVIEWS, SAMPLE, TEXTS
from gre_bench.writing.fit import tokens_left_for_prompt
from gre_bench.writing.writers import is_rule

SUBMISSIONS = 12_000
REVIEWS_A_PAPER = 4

More = Callable[[int], tuple[list[PlannedRequests], int]]
"""Number of papers → (requests for texts, number of pairs to score), both in addition to the work of a refresh."""


def plan_year(settings: Settings, state: Path) -> dict[str, Any]:
    """Returns the plan of `plan_fetch_and_refresh`, with the validation of each metric that has no record of one.

    The plan's ``verdicts`` say which metrics have a record. A record counts if its metric, evaluation LM and writer
    have the same names; other settings are not compared.
    """
    new = [row["metric"] for row in predict_verdicts(settings, state) if row["verdict"] == "missing"]
    changes = list(choose_perturbations(settings)) if new else []

    def validation(papers: int) -> tuple[list[PlannedRequests], int]:
        makers = [(change, find_perturbation_maker(settings.validation, change)) for change in changes]
        texts = [
            PlannedRequests(f"reviews changed by {change}", name, papers, REVIEW_TOKENS + PROMPT_TOKENS, REVIEW_TOKENS)
            for change, name in makers
            if not is_rule(name)
        ]
        judge = list_named_lms(settings).judge
        if changes and judge and settings.validation.level == "review":
            texts.append(plan_judgment_requests(judge, papers * len(changes), "judgments of changed reviews"))
        forms = settings.scoring.model_copy(update={"metrics": tuple(new)}).metrics_and_specific_forms if new else ()
        references = settings.edition.likely_references
        pairs = len(changes) * len(forms) * references
        pairs += sum(can_measure_length_effect(find_recipe(metric)) for metric in new) * references * (references - 1)
        return texts, papers * pairs

    plan = plan_fetch_and_refresh(settings, state, validation)
    return plan | {"validation": {"metrics": new, "changes": changes}}


def plan_fetch_and_refresh(settings: Settings, state: Path, more: More | None = None) -> dict[str, Any]:
    """Returns the estimated work of a fetch and a refresh with *settings*; sends and writes nothing.

    *more*: a function that returns requests and pairs to add to those of a refresh (`More`).

    The seconds of fetching are computed from the rate limits that the service has stated so far. For openreview.net,
    a guess replaces limits that it has not stated. Tokens and USD are stated for each LM; None means unknown. Raises
    `SettingsError` for an LM that is not in the models file, or for an unreadable file *rates*.
    """
    edition, assumed = settings.edition, list[str]()
    venue = find_venue_entry(edition.venue, edition.year)
    store = Store(state, edition.edition)
    has_host = bool(settings.fetch.host or venue.host)
    folder = choose_fetch_run_folder(settings, state) if has_host else None
    journal = open_journal_read_only(folder) if folder and (folder / JOURNAL).is_file() else None
    have = _count_existing_data(state, venue, store, journal)
    papers, drawn = have["sampled"] or edition.papers, have["sampled"] > 0
    if not drawn and journal is not None and is_listing_complete(journal, venue):
        # Once the journal lists all papers, the sample can be chosen.
        papers, drawn = len(sample_fetched_papers(journal, venue, edition).papers), True
    fetching = _plan_fetch(settings, state, venue, journal, assumed) if has_host else None
    more_texts, pairs = more(papers) if more else ([], 0)
    texts = [*_plan_written_texts(settings, store, papers, assumed), *more_texts]
    models = load_models(settings.writing.models)
    writing = [_build_plan_row(item, models) for item in texts]
    # A text takes one request; in the budget, models are named without guidelines.
    bought = [row | {"model": split_condition(row["model"])[0], "requests": row["texts"]} for row in writing]
    amounts = [row["usd"] for row in writing]
    return {
        "edition": store.key,
        "papers": papers,
        "drawn": drawn,
        "already_there": have,
        "fetch": fetching,
        "writing": writing,
        "usd": None if None in amounts else round(sum(amounts), 2),
        "over_budget": list_exceeded_limits(bought, settings.budget, spend_log(store), store.key),
        "scoring": {
            "pairs": _count_pairs(settings, papers, assumed) + pairs,
            "references": papers * _count_reference_study_scores(settings, store),
            "committee": papers * _count_committee_scores(settings, store),
            "certificate": papers * len(list_harm_degrees(settings)[0]) * edition.likely_references,
        },
        "learnt": find_overlap_in_read_copy(settings, state).notes,
        "verdicts": [row | {"gate": format_gate_decision(row, settings)} for row in predict_verdicts(settings, state)],
        "assumed": assumed,
    }


def _plan_fetch(
    settings: Settings, state: Path, venue: VenueYear, journal: FetchJournal | None, assumed: list[str]
) -> dict[str, Any]:
    """Returns the estimated work of a fetch, and adds each assumption to *assumed*.

    *journal*: the log of a fetch that has begun; requests in it are not counted again. In the result, ``requests`` maps
    each kind of request to a number. ``seconds`` is the time until the service's limits allow the last request.
    """
    fetch, edition = settings.fetch, settings.edition
    host = resolve_api_host(settings).host.partition("//")[2]
    budget = RequestBudget(locate_budget_file(state))
    requests = {"login": 1}
    if journal is None or not is_listing_complete(journal, venue):
        pages = journal.pages if journal else []
        count = next((page.count for page in pages if page.count is not None), SUBMISSIONS)
        left = -(-(count - sum(page.notes for page in pages)) // fetch.page)
        requests["notes"] = max(1, left) + len(venue.listings) - 1
        if not pages:
            assumed.append(f"{SUBMISSIONS:,} submissions, as their number is not known before they are listed")
        histories, pdfs = edition.papers * (REVIEWS_A_PAPER + 1) if fetch.histories else 0, edition.papers
        if histories:
            assumed.append("every sampled paper and review was changed late; only for these are versions requested")
    else:
        sampled = sample_fetched_papers(journal, venue, edition)
        due, papers = list_snapshot_notes_and_papers(journal, venue, sampled, fetch.histories)
        requests["notes"] = len(set(find_submissions_lacking_replies(journal)) - journal.forums.keys())
        histories = len(set(due) - journal.histories.keys())
        pdfs = sum(paper_id not in journal.pdfs and stated is not None for paper_id, (_, stated) in papers.items())
    kind = "attachment" if venue.api == 2 and fetch.pdf_batch > 1 else "pdf"
    requests |= {"edits": histories, kind: -(-pdfs // fetch.pdf_batch) if kind == "attachment" else pdfs}
    requests = {name: count for name, count in requests.items() if count}
    if requests.keys() == {"login"}:
        requests = {}
    seconds = {name: budget.compute_wait_s(f"{host} {name}", count) for name, count in requests.items()}
    limits = {name: _format_known_request_limits(budget, f"{host} {name}") for name in requests}
    first = max((seconds.get(name, 0.0) for name in ("login", "notes")), default=0.0)
    later = max((seconds.get(name, 0.0) for name in ("edits", kind)), default=0.0)
    return {"host": host, "requests": requests, "pdfs": pdfs, "limits": limits, "seconds": max(first, later)}


def _format_known_request_limits(budget: RequestBudget, kind: str) -> str:
    known = budget.allowance(kind).limits
    limits = [f"{item.remaining} of {item.limit} in {item.window_s:.0f} s ({name})" for name, item in known.items()]
    return ", ".join(limits) or "none known"


def _count_existing_data(state: Path, venue: VenueYear, store: Store, journal: FetchJournal | None) -> dict[str, Any]:
    """Returns what the folder *state* already has for the edition: counts of records by kind, and paths of snapshots.

    *journal*: the log of a fetch that has begun; None if there is none.
    """
    snapshots = sorted((state / "snapshots").glob(f"{venue.venue}-{venue.year}-*/manifest.json"))
    readable = store.is_readable
    rows = {query.name: len(store.read(query)) for query in (PAPERS, REVIEWS, TEXTS)} if readable else {}
    sampled = [row for row in store.read(SAMPLE) if row["role"] == "candidate"] if readable else []
    return {
        "submissions_listed": sum(page.notes for page in journal.pages) if journal else 0,
        "versions": len(journal.histories) if journal else 0,
        "pdfs": sum(pdf.sha256 is not None for pdf in journal.pdfs.values()) if journal else 0,
        "snapshots": [str(path.parent) for path in snapshots],
        "sampled": len(sampled),
        **rows,
    }


def _plan_written_texts(settings: Settings, store: Store, papers: int, assumed: list[str]) -> list[PlannedRequests]:
    """Returns the requests for texts that LMs (not rules) write for *papers* papers, as if no text existed yet."""
    texts = [len(row["text"]) for row in store.read(TEXTS) if row["text"]] if store.is_readable else []
    tokens = round(sum(texts) / len(texts) / CHARACTERS_A_TOKEN) if texts else PAPER_TOKENS
    if not texts:
        assumed.append(f"{PAPER_TOKENS:,} tokens a paper, as none was read yet")
    judged = papers * (len(settings.writing.candidates) + 1 + settings.edition.likely_references)
    planned = list(plan_refresh_requests(list_named_lms(settings), papers, judged, tokens))
    if planned:
        assumed.append(
            f"{REVIEW_TOKENS} tokens a review, {JUDGMENT_TOKENS} a review's judgments, {SYNOPSIS_TOKENS} a synopsis; "
            "thinking is not counted"
        )
    return planned


def _build_plan_row(item: PlannedRequests, models: dict[str, Model]) -> dict[str, Any]:
    """Returns *item* as a row of the plan: tokens, USD at the prices of *models*, and whether the prompt fits."""
    model = models.get(split_condition(item.name)[0])
    if model is None:
        raise SettingsError(f"no model {item.name!r} in the models file; known: {', '.join(models)}")
    usd, left = item.usd(model), tokens_left_for_prompt(model, model.sampling.max_tokens)
    return {"what": item.what, "model": item.name, "texts": item.requests, "prompt_tokens": item.prompt_tokens,
            "reply_tokens": item.reply_tokens, "usd": None if usd is None else round(usd, 2),
            "fits": None if left is None else item.reads <= left}  # fmt: skip


def _count_pairs(settings: Settings, papers: int, assumed: list[str]) -> int:
    """Returns the number of pairs to score for *papers* papers; adds to *assumed* a line on the references."""
    edition = settings.edition
    each = edition.estimate_pairs_per_paper(len(CONTROLS) + len(settings.writing.candidates))
    if edition.references == "all":
        reviews = counted(edition.likely_references + 1, "human review")
        assumed.append(f"{reviews} a paper: every one is a reference")
    return papers * each * len(settings.scoring.metrics_and_specific_forms)


def _count_models(settings: Settings, store: Store) -> int:
    known = store.read(CANDIDATES) if store.read_file.is_file() else []
    return sum(row["kind"] == "model" for row in known) or len(settings.writing.candidates)


def _count_committee_scores(settings: Settings, store: Store) -> int:
    """Returns how many scores ``study committee`` needs at most, per paper and metric.

    A committee is a set of candidates whose joined reviews are scored. The study adds one LM candidate at a time, after
    trying all that are not members yet, and finally a human review.
    """
    models = _count_models(settings, store)
    return settings.edition.likely_references * (models * (models + 1) // 2) if models > 1 else 0


def _count_reference_study_scores(settings: Settings, store: Store) -> int:
    """Returns how many scores ``study references`` needs per paper and metric.

    The study scores LM reviews against other LMs' reviews, and human reviews against other human reviews.
    """
    models = _count_models(settings, store)
    people = settings.edition.likely_references + 1
    return models * (models - 1) + people * (people - 1)

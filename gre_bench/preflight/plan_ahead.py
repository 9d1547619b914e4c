"""Estimates, before anything is sent, what an edition will take: requests, PDFs, hours, tokens, GPU hours, cost.

Quantities that are known are counted. The rest is assumed, and the result states each assumption.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gre_bench.catalogs.models import Model
from gre_bench.catalogs.models import load as load_models
from gre_bench.core.controls import CONTROLS
from gre_bench.core.errors import SettingsError
from gre_bench.core.incoming import read_text
from gre_bench.core.metrics import recipe_of
from gre_bench.core.settings import Settings
from gre_bench.core.strict import load_json
from gre_bench.ingest.openreview.fetching import budget_file, fetch_run, is_listed, origin
from gre_bench.ingest.openreview.journal import JOURNAL, Journal, read
from gre_bench.ingest.openreview.request_budget import RequestBudget
from gre_bench.ingest.openreview.sealing import needs_of, sample_of
from gre_bench.ingest.records.venues import Venue, venue_of
from gre_bench.pipeline.learnt import learnt_here
from gre_bench.pipeline.runs.spending import over, spend_log
from gre_bench.pipeline.validation_records import expected_verdicts, gate
from gre_bench.prompts.conditions import guided
from gre_bench.store import Store
from gre_bench.store.queries.ingest import PAPERS, REVIEWS, TEXTS
from gre_bench.store.queries.plan import SAMPLE
from gre_bench.writing.catalog import by_rule
from gre_bench.writing.fit import room

SUBMISSIONS = 12_000
REVIEWS_A_PAPER = 4
PAPER_TOKENS, REVIEW_TOKENS, JUDGMENT_TOKENS, SYNOPSIS_TOKENS, PROMPT_TOKENS = 12_000, 900, 300, 400, 500
EDITION_PAIRS = 300 * 21 * 2 * 3
CHARACTERS_A_TOKEN = 4.2


@dataclass(frozen=True, slots=True)
class Writing:
    """Texts that an LM would write.

    - *what*: the kind of text.
    - *name*: the name of the LM.
    - *texts*: the number of texts.
    - *reads*, *writes*: the tokens that the LM reads and writes for one text.
    """

    what: str
    name: str
    texts: int
    reads: int
    writes: int


More = Callable[[int], tuple[list[Writing], int]]
"""Number of papers → texts that LMs write, and pairs that are scored, in addition to those of a refresh."""


def plan_ahead(
    settings: Settings, state: Path, rates: Path | None = None, again: bool = False, more: More | None = None
) -> dict[str, Any]:
    """Returns what a fetch and then a refresh with *settings* would take; sends and writes nothing.

    - *rates*: the file with the output of ``gre-bench models bench scoring --json`` on the machine that will score.
    - *again*: whether to count the requests of a fetch as if nothing had been fetched.
    - *more*: a function that returns texts and pairs to add to those of a refresh.

    The seconds of fetching follow from the service's known limits. Tokens and USD are stated for each LM; None means
    unknown. Raises `SettingsError` for an LM that is not in the models file, or for a file *rates* that cannot be read.
    """
    edition, assumed = settings.edition, list[str]()
    venue = venue_of(edition.venue, edition.year)
    store = Store(state, edition.edition)
    has_host = bool(settings.fetch.host or venue.host)
    journal = _journal(fetch_run(settings, state)) if has_host else None
    have = _already(state, venue, store, journal)
    papers, drawn = _papers(settings, venue, have["sampled"], journal)
    fetching = _fetching(settings, state, venue, None if again else journal, assumed) if has_host else None
    more_texts, pairs = more(papers) if more else ([], 0)
    texts = [*_writing(settings, store, papers, assumed), *more_texts]
    writing = [_cost(item, load_models(settings.writing.models)) for item in texts]
    return {
        "edition": store.key,
        "papers": papers,
        "drawn": drawn,
        "already_there": have,
        "fetch": fetching,
        "writing": writing,
        "usd": _sum([row["usd"] for row in writing]),
        "over_budget": over([_bought(row) for row in writing], settings.budget, spend_log(store), store.key),
        "scoring": _scoring(settings, papers, pairs, rates, assumed),
        "learnt": learnt_here(settings, state).notes,
        "verdicts": [row | {"gate": gate(row, settings)} for row in expected_verdicts(settings, state)],
        "assumed": assumed,
    }


def _papers(settings: Settings, venue: Venue, sampled: int, journal: Journal | None) -> tuple[int, bool]:
    """Returns the number of papers, and whether it is the number in a real sample.

    If there is no sample yet, the number is that in the settings. *sampled*: the number of papers in the stored sample,
    0 if there is none. *journal*: the journal of the fetch. Once it lists all papers, the sample can be drawn from it.
    """
    if sampled:
        return sampled, True
    if journal is not None and is_listed(journal, venue):
        return len(sample_of(journal, venue, settings.edition).papers), True
    return settings.edition.papers, False


def _journal(folder: Path) -> Journal | None:
    return read(folder) if (folder / JOURNAL).is_file() else None


def _fetching(
    settings: Settings, state: Path, venue: Venue, journal: Journal | None, assumed: list[str]
) -> dict[str, Any]:
    """Returns what a fetch will take.

    ``requests`` is kind → number of requests. ``seconds`` is the time until the service's limits allow the last
    request. Each assumption is added to *assumed*.
    """
    fetch, edition = settings.fetch, settings.edition
    host = origin(settings).host.partition("//")[2]
    budget = RequestBudget(budget_file(state))
    requests = {"login": 1}
    if journal is None or not is_listed(journal, venue):
        requests["notes"] = _pages(journal, fetch.page) + len(venue.listings) - 1
        if not (journal and journal.pages):
            assumed.append(f"{SUBMISSIONS:,} submissions, as their number is not known before they are listed")
        histories, pdfs = edition.papers * (REVIEWS_A_PAPER + 1) if fetch.histories else 0, edition.papers
        if histories:
            assumed.append("every sampled paper and review was changed late; only for these are versions requested")
    else:
        needs = needs_of(journal, venue, sample_of(journal, venue, edition, fetch.everything), fetch.histories)
        requests["notes"] = len(set(needs.forums) - journal.forums.keys())
        histories = len(set(needs.histories) - journal.histories.keys())
        pdfs = sum(paper_id not in journal.pdfs and stated is not None for paper_id, _, stated in needs.pdfs)
    kind = "attachment" if venue.api == 2 and fetch.pdf_batch > 1 else "pdf"
    requests |= {"edits": histories, kind: -(-pdfs // fetch.pdf_batch) if kind == "attachment" else pdfs}
    requests = {name: count for name, count in requests.items() if count}
    if requests.keys() == {"login"}:
        requests = {}
    seconds = {name: budget.seconds_for(f"{host} {name}", count) for name, count in requests.items()}
    limits = {name: _stated(budget, f"{host} {name}") for name in requests}
    first = max((seconds.get(name, 0.0) for name in ("login", "notes")), default=0.0)
    later = max((seconds.get(name, 0.0) for name in ("edits", kind)), default=0.0)
    return {"host": host, "requests": requests, "pdfs": pdfs, "limits": limits, "seconds": max(first, later)}


def _pages(journal: Journal | None, size: int) -> int:
    pages = journal.pages if journal else []
    count = next((page.count for page in pages if page.count is not None), SUBMISSIONS)
    return max(1, -(-(count - sum(page.notes for page in pages)) // size))


def _stated(budget: RequestBudget, kind: str) -> str:
    known = budget.allowance(kind).limits
    limits = [f"{item.remaining} of {item.limit} in {item.window_s:.0f} s ({name})" for name, item in known.items()]
    return ", ".join(limits) or "none known"


def _already(state: Path, venue: Venue, store: Store, journal: Journal | None) -> dict[str, Any]:
    """Returns what the folder *state* already holds for the edition.

    The result has the numbers of submissions, versions, PDFs, sampled papers and stored records, and the paths of
    snapshots.
    """
    snapshots = sorted((state / "snapshots").glob(f"{venue.venue}-{venue.year}-*/manifest.json"))
    rows = {query.name: len(store.read(query)) for query in (PAPERS, REVIEWS, TEXTS)} if _readable(store) else {}
    sampled = [row for row in store.read(SAMPLE) if row["role"] == "candidate"] if _readable(store) else []
    return {
        "submissions_listed": sum(page.notes for page in journal.pages) if journal else 0,
        "versions": len(journal.histories) if journal else 0,
        "pdfs": sum(pdf.sha256 is not None for pdf in journal.pdfs.values()) if journal else 0,
        "snapshots": [str(path.parent) for path in snapshots],
        "sampled": len(sampled),
        **rows,
    }


def _readable(store: Store) -> bool:
    return store.read_file.is_file()


def _writing(settings: Settings, store: Store, papers: int, assumed: list[str]) -> list[Writing]:
    """Returns the texts that LMs would write for *papers* papers, including texts that exist already.

    Texts by rule are left out. Each assumption is added to *assumed*.
    """
    writing = settings.writing
    tokens = _paper_tokens(store)
    if tokens is None:
        tokens = PAPER_TOKENS
        assumed.append(f"{PAPER_TOKENS:,} tokens a paper, as none was read yet")
    reviewers = [name for name in writing.candidates if not by_rule(name)]
    planned = [Writing("reviews", name, papers, tokens + PROMPT_TOKENS, REVIEW_TOKENS) for name in reviewers]
    if writing.judgments and not by_rule(writing.judgments):
        texts = papers * (len(writing.candidates) + 1 + settings.edition.likely_references)
        planned.append(Writing("judgments", writing.judgments, texts, REVIEW_TOKENS + PROMPT_TOKENS, JUDGMENT_TOKENS))
    if any(recipe_of(name).synopsis == "assw" for name in settings.scoring.metrics) and not by_rule(writing.assw):
        planned.append(Writing("synopses", writing.assw, papers, tokens + PROMPT_TOKENS, SYNOPSIS_TOKENS))
    if planned:
        assumed.append(
            f"{REVIEW_TOKENS} tokens a review, {JUDGMENT_TOKENS} a review's judgments, {SYNOPSIS_TOKENS} a synopsis; "
            "thinking is not counted"
        )
    return planned


def _paper_tokens(store: Store) -> int | None:
    texts = [len(row["text"]) for row in store.read(TEXTS) if row["text"]] if _readable(store) else []
    return round(sum(texts) / len(texts) / CHARACTERS_A_TOKEN) if texts else None


def _cost(item: Writing, models: dict[str, Model]) -> dict[str, Any]:
    model = models.get(guided(item.name)[0])
    if model is None:
        raise SettingsError(f"no model {item.name!r} in the models file; known: {', '.join(models)}")
    reads, writes = item.texts * item.reads, item.texts * item.writes
    usd: float | None = None
    if model.price_in is not None and model.price_out is not None:
        usd = (reads * model.price_in + writes * model.price_out) / 1e6
    row = {"what": item.what, "model": item.name, "texts": item.texts, "prompt_tokens": reads, "reply_tokens": writes}
    left = room(model, model.sampling.max_tokens)
    return row | {"usd": None if usd is None else round(usd, 2), "fits": None if left is None else item.reads <= left}


def _bought(row: dict[str, Any]) -> dict[str, Any]:
    """Returns *row*, a row of the plan, with the columns by which the budget is checked.

    ``requests`` is the number of texts, because a text takes one request. ``model`` is the model's name without a
    guideline.
    """
    return row | {"model": guided(row["model"])[0], "requests": row["texts"]}


def _scoring(settings: Settings, papers: int, more: int, rates: Path | None, assumed: list[str]) -> dict[str, Any]:
    """Returns the number of pairs of *papers* papers plus *more* pairs, and the GPU hours of scoring them.

    The hours follow from the pace in the file *rates*. If *rates* is None, the hours are None, and a line added to
    *assumed* says how to measure the pace.
    """
    edition = settings.edition
    each = edition.likely_pairs(len(CONTROLS) + len(settings.writing.candidates))
    pairs = papers * each * len(settings.scoring.with_chance) + more
    if edition.references == "all":
        assumed.append(f"{edition.likely_references + 1} human reviews a paper: every one is a reference")
    pace = _pace(rates, settings) if rates else None
    if pace is None:
        assumed.append(
            "the pace of scoring is not known: give --rates, the output of gre-bench models bench scoring --json"
        )
    return {"pairs": pairs, "pairs_per_s": pace, "gpu_hours": None if pace is None else round(pairs / pace / 3600, 3)}


def _pace(rates: Path, settings: Settings) -> float:
    try:
        methods = load_json(read_text(rates))["methods"]
        return float(methods[settings.evaluation_lm.engine]["pairs_per_s"])
    except OSError as error:
        raise SettingsError(f"rates {rates} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        engine = settings.evaluation_lm.engine
        raise SettingsError(
            f"rates {rates} has no pairs_per_s of {engine}; measure it: gre-bench models bench scoring --json"
        ) from None


def _sum(amounts: list[float | None]) -> float | None:
    return None if None in amounts else round(sum(amount for amount in amounts if amount is not None), 2)

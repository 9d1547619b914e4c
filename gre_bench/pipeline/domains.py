"""Applies the domain of a run: its prompts, its headings, its changes, and the parts that make a synopsis."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gre_bench.catalogs.domains import Domain, domain_of
from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.records import Paper
from gre_bench.core.settings import Settings
from gre_bench.ingest.records.venues import venue_of
from gre_bench.pipeline.runs.job import Job
from gre_bench.store import Store
from gre_bench.store.queries import IMPORTED_DOMAIN


def in_domain(job: Job) -> Job:
    """Returns *job* with its domain set, and with the prompt and the parts of a synopsis that its domain uses.

    If the settings name a prompt, that prompt is kept. If the settings name no domain, the domain of an imported file
    is used. Raises `SettingsError` for an unknown domain.
    """
    edition, scoring = job.settings.edition, job.settings.scoring
    store = Store(job.state, edition.edition)
    if "domain" not in edition.model_fields_set and store.read_file.is_file():
        imported = [row["domain"] for row in store.read_mended(IMPORTED_DOMAIN)]
        edition = edition.model_copy(update={"domain": imported[0]}) if imported else edition
    domain = domain_of(edition.domain)
    defaults: dict[str, Any] = {"synopsis_of": domain.synopsis_of}
    if "prompt" not in scoring.model_fields_set:
        defaults["prompt"] = domain.predict
    update = {"edition": edition, "scoring": scoring.model_copy(update=defaults)}
    return replace(job, settings=job.settings.model_copy(update=update))


def synopsis_of(domain: Domain, paper: Paper, categories: str | None = None) -> str | None:
    """Returns the synopsis of *paper*, made of the parts that *domain* names, such as title and abstract.

    *categories*: the paper's categories, one of the possible parts. Returns None if a named part is missing.
    """
    return domain.synopsis_text({"title": paper.title, "abstract": paper.abstract, "categories": categories})


def headings_of(settings: Settings) -> tuple[str, ...]:
    """Returns the headings of the review form.

    They are those in the settings, or else those of the venue-year, or else those of the domain.
    """
    if settings.validation.headings is not None:
        return settings.validation.headings
    try:
        return venue_of(settings.edition.venue, settings.edition.year).headings
    except (SettingsError, SourceError):
        return domain_of(settings.edition.domain).headings

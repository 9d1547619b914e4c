"""A run in its domain: which prompts, synopsis, sections and changes its edition's reviews call for."""

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
from gre_bench.store.queries.ingest import IMPORTED_DOMAIN


def in_domain(job: Job) -> Job:
    """*job* with what its edition's domain decides, where the settings do not; `SettingsError` for an unknown one.

    The domain is that of the settings, or the one that an imported file told.
    """
    edition, scoring = job.settings.edition, job.settings.scoring
    store = Store(job.state, edition.edition)
    if "domain" not in edition.model_fields_set and store.read_file.is_file():
        told = [row["domain"] for row in store.read_mended(IMPORTED_DOMAIN)]
        edition = edition.model_copy(update={"domain": told[0]}) if told else edition
    domain = domain_of(edition.domain)
    given: dict[str, Any] = {"synopsis_of": domain.synopsis_of}
    if "prompt" not in scoring.model_fields_set:
        given["prompt"] = domain.predict
    update = {"edition": edition, "scoring": scoring.model_copy(update=given)}
    return replace(job, settings=job.settings.model_copy(update=update))


def synopsis_of(domain: Domain, paper: Paper, categories: str | None = None) -> str | None:
    """The synopsis of *paper* in *domain*; None where a part of it is missing."""
    return domain.synopsis_text({"title": paper.title, "abstract": paper.abstract, "categories": categories})


def headings_of(settings: Settings) -> tuple[str, ...]:
    """The headings of the reviews' form: those asked for, those of the venue-year, else those of the domain."""
    if settings.validation.headings is not None:
        return settings.validation.headings
    try:
        return venue_of(settings.edition.venue, settings.edition.year).headings
    except (SettingsError, SourceError):
        return domain_of(settings.edition.domain).headings

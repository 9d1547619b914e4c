"""Reads the form of a venue-year's OpenReview notes from ``data/venues.toml``.

Field names, invitations and status rules change from year to year. A new year needs a new entry in that file, but no
new code.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError, model_validator

from gre_bench.core import strict
from gre_bench.core.controls import CONTROLS
from gre_bench.core.errors import SettingsError
from gre_bench.core.records import HUMAN
from gre_bench.core.resources import locate_resource

Names = tuple[str, ...]
_SOME = Field(min_length=1)
_CANDIDATE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class VenueYear(BaseModel, frozen=True, extra="forbid"):
    """The form of a venue-year's notes: an entry of ``data/venues.toml``, which explains all fields.

    The end of a note's invitation, such as ``Official_Review``, names the note's kind (`notes.parse_note_kind`).
    *other_replies*: the kinds of notes that are known to be no reviews.

    - *ai_reviewers*: (pattern, candidate) for each of the venue's own AI reviewers. If the invitation or signature of a
      reply matches the pattern, such as ``*/AI_Reviewer``, the reply is a review by that candidate. *ai_text*: like
      *text*, but for AI reviews.
    - *strata*: (field of a submission, name of the stratum) for each field whose values divide the papers into groups.
      The decision is always a stratum.
    - *status*: how to decide whether a paper is kept. ``invitation``: by the kind of its note. ``venueid``: also by the
      end of its field ``venueid``, the part after *group*. An end in *kept* keeps the paper. An end that is "/"
      followed by a kind in *withdrawn* or *desk_rejected* excludes it.
    - *text*: (field, heading) for each part of a review's text.
    - *other_fields*: the known fields of a review that are not part of its text.
    - *reviews_released*, *rebuttal_opens*: when authors could first read the reviews, and first answer them.
    """

    venue: str = Field(min_length=1)
    year: int = Field(ge=1990, le=2100)
    api: Literal[1, 2]
    host: str | None = Field(default=None, pattern=r"^https?://[^/]+$")
    group: str = Field(min_length=1)
    submissions: Names = _SOME
    withdrawn: Names = ()
    desk_rejected: Names = ()
    reviews: Names = _SOME
    decisions: Names = ()
    decision: str = "decision"
    strata: tuple[tuple[str, str], ...] = (("primary_area", "primary area"), ("track", "track"))
    other_replies: Names = ()
    ai_reviewers: tuple[tuple[str, str], ...] = ()
    ai_text: tuple[tuple[str, str], ...] = ()
    status: Literal["invitation", "venueid"]
    kept: Names = ()
    text: tuple[tuple[str, str], ...] = _SOME
    rating: str | None = None
    rating_scale: tuple[int, ...] = ()
    confidence: str | None = None
    confidence_scale: tuple[int, ...] = ()
    other_fields: Names = ()
    reviews_released: date | None = None
    rebuttal_opens: date | None = None
    evidence: Literal["real notes", "recorded", "documented"]
    note: str = Field(min_length=1)

    @property
    def name(self) -> str:
        """Venue and year, such as ``ICLR 2024``."""
        return f"{self.venue} {self.year}"

    @property
    def listings(self) -> Names:
        """The invitations under which OpenReview lists all submissions, including those that were excluded.

        Under API v1, withdrawn and desk-rejected submissions have invitations of their own.
        """
        apart = (*self.withdrawn, *self.desk_rejected) if self.api == 1 else ()
        return tuple(f"{self.group}/-/{kind}" for kind in (*self.submissions, *apart))

    @property
    def headings(self) -> Names:
        """The heading lines of the sections in a review's text; empty if a review has no sections."""
        return tuple(f"{heading}:" for _, heading in self.text if heading)

    @property
    def released_ms(self) -> int | None:
        """When authors could first read the reviews or, if unknown, answer them (epoch ms, start of the day in UTC)."""
        return _convert_day_to_epoch_ms(self.reviews_released or self.rebuttal_opens)

    @property
    def rebuttal_ms(self) -> int | None:
        """When authors could first answer the reviews or, if unknown, read them (epoch ms, start of the day in UTC)."""
        return _convert_day_to_epoch_ms(self.rebuttal_opens or self.reviews_released)

    @property
    def unverified(self) -> str | None:
        """A warning if *evidence* is ``documented``: no notes of the venue-year confirm this form. Otherwise None."""
        documented = f"the form of the notes of {self.name} is documented only: {self.note}"
        return documented if self.evidence == "documented" else None

    @property
    def fields(self) -> frozenset[str]:
        """The names of all fields of a review that this entry mentions."""
        scores = {field for field in (self.rating, self.confidence) if field is not None}
        return frozenset({field for field, _ in self.text} | scores | set(self.other_fields))

    def find_ai_reviewer(self, names: Iterable[str]) -> str | None:
        """Returns the first AI reviewer whose pattern matches one of *names*; None if no pattern matches.

        *names*: the invitation and signatures of a note.
        """
        named = (ai for name in names for pattern, ai in self.ai_reviewers if fnmatchcase(name, pattern))
        return next(named, None)

    @model_validator(mode="after")
    def _check_consistency(self) -> VenueYear:
        kinds = (self.submissions, self.withdrawn, self.desk_rejected, self.reviews, self.decisions, self.other_replies)
        scores = [name for name in (self.rating, self.confidence) if name]
        fields = [*(field for field, _ in self.text), *scores, *self.other_fields]
        for kind, names in (("kind", [name for group in kinds for name in group]), ("field", fields)):
            if twice := [name for name, count in Counter(names).items() if count > 1]:
                raise ValueError(f"{kind} {twice[0]!r} is named twice")
        paper = f"{self.group}/Submission1"
        human = [f"{paper}/Reviewer_AbCd", *(f"{paper}/-/{kind}" for kind in self.reviews)]
        if wide := [pattern for pattern, _ in self.ai_reviewers if any(fnmatchcase(name, pattern) for name in human)]:
            raise ValueError(
                f"ai_reviewers: the pattern {wide[0]!r} matches human reviews too; name the AI reviewer's part"
            )
        if bad := [pattern for pattern, _ in self.ai_reviewers if not pattern.strip()]:
            raise ValueError(f"ai_reviewers: the pattern {bad[0]!r} is blank and matches nothing")
        if bad := [ai for _, ai in self.ai_reviewers if ai in (HUMAN, *CONTROLS) or not _CANDIDATE.fullmatch(ai)]:
            raise ValueError(
                f"ai_reviewers: {bad[0]!r} is not a name for an AI reviewer; use letters, digits, . _ and -"
            )
        return self

    @model_validator(mode="after")
    def _check_dependent_fields(self) -> VenueYear:
        if self.ai_text and not self.ai_reviewers:
            raise ValueError("ai_text is the text of reviews that ai_reviewers names; name their patterns there")
        if (self.status == "venueid") != bool(self.kept):
            raise ValueError("status venueid needs kept, the endings of the venueids that are kept; no other has it")
        if self.status == "venueid" and self.api == 1:
            raise ValueError("under API v1 a venueid is not a status")
        if (self.rating is None) == bool(self.rating_scale) or (self.confidence is None) == bool(self.confidence_scale):
            raise ValueError("a rating and a confidence each need their scale, and a scale its field")
        if self.reviews_released and self.rebuttal_opens and self.rebuttal_opens < self.reviews_released:
            raise ValueError("the rebuttal cannot open before the reviews are released")
        return self


def _read_venues_file(path: Path | None) -> tuple[Path, dict[str, Any]]:
    path = path or locate_resource("data", "venues.toml")
    try:
        return path, strict.read_toml(path)
    except (OSError, UnicodeDecodeError, strict.TOMLDecodeError) as error:
        raise SettingsError(f"venues file {path} cannot be read: {error}") from None


@cache
def load_venues(path: Path | None = None) -> dict[tuple[str, int], VenueYear]:
    """Returns {(venue, year): its entry} from the file *path* (None: ``data/venues.toml``); raises `SettingsError`."""
    file, tree = _read_venues_file(path)
    if not isinstance(entries := tree.get("venue"), list):
        raise SettingsError(f"venues file {file} has no [[venue]] entry")
    known: dict[tuple[str, int], VenueYear] = {}
    for number, entry in enumerate(entries, start=1):
        where = f"{file.name}, entry {number}"
        try:
            venue = VenueYear.model_validate(entry)
        except ValidationError as error:
            about = f" ({entry.get('venue')} {entry.get('year')})" if isinstance(entry, dict) else ""
            raise SettingsError(f"{where}{about}: {'; '.join(strict.format_validation_faults(error))}") from None
        if (venue.venue, venue.year) in known:
            raise SettingsError(f"{where}: {venue.name} is already there")
        known[venue.venue, venue.year] = venue
    return known


def find_venue_entry(venue: str, year: int, path: Path | None = None) -> VenueYear:
    """Returns the entry of *venue* and *year* in the file *path* (see `load_venues`); raises `SettingsError`.

    For a year after the venue's newest entry, returns a copy of that entry, unverified and without dates.
    """
    known = load_venues(path)
    if (venue, year) in known:
        return known[venue, year]
    years = [entry for entry in known.values() if entry.venue == venue]
    newest = max(years, key=lambda entry: entry.year, default=None)
    if newest is None or year < newest.year or str(newest.year) not in newest.group:
        names = ", ".join(entry.name for entry in known.values())
        raise SettingsError(f"no notes of {venue} {year} are known; known are {names}; add it to data/venues.toml")
    days = {"reviews_released": None, "rebuttal_opens": None}
    group = newest.group.replace(str(newest.year), str(year))
    note = f"Taken from the entry of {newest.name}. No note was seen."
    return newest.model_copy(update={"year": year, "group": group, "evidence": "documented", "note": note, **days})


def check_verified(venue: VenueYear, unverified: bool | str) -> None:
    """Raises `SettingsError` if the form of *venue* is unverified and the user's setting *unverified* is off."""
    if venue.unverified and not unverified:
        raise SettingsError(f"{venue.unverified} Use it with --unverified-venue or sources.unverified_venue = true")


def _convert_day_to_epoch_ms(day: date | None) -> int | None:
    return None if day is None else int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)


class ReviewReleaseCalendar(BaseModel, frozen=True, extra="forbid"):
    """The rule that gives, for each year of *venue*, the day from which anybody can read the reviews.

    ``data/venues.toml`` states the rule. *reviews_public*: month and day. *years_before*: how many years before the
    venue's year that day lies. *source*, *read*: where the rule was found, and when.
    """

    venue: str = Field(min_length=1)
    reviews_public: str = Field(pattern=r"^(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$")
    years_before: int = Field(ge=0, le=1)
    source: str = Field(min_length=1)
    read: date


@cache
def load_calendars() -> dict[str, ReviewReleaseCalendar]:
    """Returns {venue: its calendar} from ``data/venues.toml``; raises `SettingsError`."""
    file, tree = _read_venues_file(None)
    try:
        by_venue = [ReviewReleaseCalendar.model_validate(entry) for entry in tree.get("calendar", [])]
    except ValidationError as error:
        raise SettingsError(f"{file.name}, a [[calendar]]: {strict.format_validation_faults(error)[0]}") from None
    if len({entry.venue for entry in by_venue}) < len(by_venue):
        raise SettingsError(f"{file.name}: a venue has two [[calendar]] entries")
    return {entry.venue: entry for entry in by_venue}


def find_newest_year(venue: str, on: date) -> int:
    """Returns the newest year of *venue* whose reviews are public on the day *on*; raises `SettingsError`."""
    known = load_calendars()
    if venue not in known:
        raise SettingsError(
            f"when the reviews of {venue} become public is not known; name the year, or add a [[calendar]] of it to "
            f"data/venues.toml; known: {', '.join(known)}"
        )
    calendar = known[venue]
    return on.year + calendar.years_before - (f"{on:%m-%d}" < calendar.reviews_public)

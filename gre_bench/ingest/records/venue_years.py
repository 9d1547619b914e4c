"""Finds the newest public year of a venue, and checks that its notes have the form that ``data/venues.toml`` states."""

from __future__ import annotations

from datetime import date
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gre_bench.core import strict
from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.resources import resource
from gre_bench.ingest.records.notes import Notes
from gre_bench.ingest.records.venues import Venue

ODD = 0.01
"""The largest share of reviews with unknown content; a few odd notes do not mean another form."""


class Calendar(BaseModel):
    """The day from which anybody can read the reviews of a year of *venue*; from ``data/venues.toml``.

    - *reviews_public*: month and day, such as ``11-20``.
    - *years_before*: how many years before the venue's own year that day is.
    - *source*: where the rule was read.
    - *read*: the day on which it was read.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    venue: str = Field(min_length=1)
    reviews_public: str = Field(pattern=r"^(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$")
    years_before: int = Field(ge=0, le=1)
    source: str = Field(min_length=1)
    read: date

    def newest(self, on: date) -> int:
        """Returns the newest year whose reviews are public on the day *on*."""
        return on.year + self.years_before - (f"{on:%m-%d}" < self.reviews_public)


@cache
def calendars(path: Path | None = None) -> dict[str, Calendar]:
    """Returns {venue: its calendar} from the file *path* (``data/venues.toml`` if None).

    Raises `SettingsError` for a faulty calendar.
    """
    path = path or resource("data", "venues.toml")
    try:
        entries = strict.read_toml(path).get("calendar", [])
        by_venue = [Calendar.model_validate(entry) for entry in entries]
    except (OSError, UnicodeDecodeError, strict.TOMLDecodeError) as error:
        raise SettingsError(f"venues file {path} cannot be read: {error}") from None
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(str(part) for part in fault["loc"])
        raise SettingsError(f"{path.name}, a [[calendar]]: {where}: {fault['msg']}") from None
    if len({entry.venue for entry in by_venue}) < len(by_venue):
        raise SettingsError(f"{path.name}: a venue has two [[calendar]] entries")
    return {entry.venue: entry for entry in by_venue}


def newest_year(venue: str, on: date, path: Path | None = None) -> int:
    """Returns the newest year of *venue* whose reviews are public on the day *on*.

    Raises `SettingsError` if *venue* has no calendar in the file *path* (``data/venues.toml`` if None).
    """
    known = calendars(path)
    if venue not in known:
        raise SettingsError(
            f"when the reviews of {venue} become public is not known; name the year, or add a [[calendar]] of it to "
            f"data/venues.toml; known: {', '.join(known)}"
        )
    return known[venue].newest(on)


def confirm_form(venue: Venue, notes: Notes) -> None:
    """Raises `SourceError` if *notes* do not have the form that *venue* assumes.

    The message names each difference. A difference is unexpected content in more than one review in a hundred, a
    section that no review has, or too few ratings.
    """
    reviews = len(notes.reviews)
    if not reviews:
        raise SourceError(_unfit(venue, [f"no note is a {' or '.join(venue.reviews)}"]))
    wrong = [f"{problem} ({len(ids)} notes)" for problem, ids in notes.unclear.items() if len(ids) > ODD * reviews]
    for heading in venue.headings:
        if not any(f"{heading}\n" in (review.text or "") for review in notes.reviews):
            wrong.append(f"no review has the section {heading.removesuffix(':')!r}")
    if venue.rating and notes.counts["no_rating"] > reviews / 2:
        wrong.append(f"{notes.counts['no_rating']} of {reviews} reviews have no usable {venue.rating}")
    if wrong:
        raise SourceError(_unfit(venue, wrong))


def _unfit(venue: Venue, wrong: list[str]) -> str:
    return (
        f"the notes of {venue.name} do not have the form in data/venues.toml ({venue.note.split('.')[0]}): "
        f"{'; '.join(wrong)}. No PDF was requested and nothing was bought: correct or add its entry there"
    )

"""Which year is the newest that anybody can read, and a new year whose notes have another form than last year's."""

from __future__ import annotations

import json
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.ingest.records.notes import confirm_form, read_notes
from gre_bench.ingest.records.row_files import read_notes_file
from gre_bench.ingest.records.venues import calendars, check_verified, newest_year, venue_of, venues
from tests.conftest import SIXTEEN
from tests.one_line import one_line

NOTES = read_notes_file(SIXTEEN / "notes.jsonl")
NEXT = venue_of("SAMPLE", 2027)


def next_year(*changes: tuple[str, str]) -> list[dict]:
    """The sample notes as those of the year after, with changes of their text."""
    text = json.dumps(NOTES).replace("SAMPLE.cc/2026", "SAMPLE.cc/2027")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return json.loads(text)


@pytest.mark.parametrize(
    ("venue", "on", "year"),
    [
        ("ICLR", date(2025, 11, 19), 2025),
        ("ICLR", date(2025, 11, 20), 2026),
        ("ICLR", date(2026, 2, 1), 2026),
        ("NeurIPS", date(2025, 10, 30), 2024),
        ("NeurIPS", date(2025, 10, 31), 2025),
        ("NeurIPS", date(2026, 1, 1), 2025),
    ],
)
def test_the_newest_year_is_the_one_whose_day_has_come(venue, on, year):
    assert newest_year(venue, on) == year


@given(st.sampled_from(sorted(calendars())), st.dates(date(2000, 1, 1), date(2090, 1, 1)))
def test_a_new_year_comes_once_a_year_and_none_is_left_out(venue, on):
    days = [newest_year(venue, on + timedelta(days=more)) for more in range(366)]
    assert sorted(set(days)) in ([days[0]], [days[0], days[0] + 1]) and days == sorted(days)
    assert newest_year(venue, on + timedelta(days=366)) >= days[0] + 1


@pytest.mark.parametrize("venue", [entry for entry in venues().values() if entry.reviews_released and entry.venue in ("ICLR", "SAMPLE")],
                         ids=lambda venue: venue.name)  # fmt: skip
def test_no_year_is_taken_before_its_reviews_were_released(venue):
    assert newest_year(venue.venue, venue.reviews_released - timedelta(days=1)) < venue.year
    assert newest_year(venue.venue, venue.reviews_released + timedelta(days=20)) == venue.year


def test_a_venue_without_a_calendar_is_one_line():
    with pytest.raises(SettingsError, match="reviews of ICML become public is not known; name the year"):
        newest_year("ICML", date(2026, 1, 1))


def test_a_new_year_has_the_form_of_the_newest_entry_and_is_not_verified():
    venue, last = venue_of("ICLR", 2028), venue_of("ICLR", 2026)
    assert (venue.group, venue.fields, venue.rating_scale) == (
        "ICLR.cc/2028/Conference",
        last.fields,
        last.rating_scale,
    )
    assert venue.reviews_released is None and venue.rebuttal_opens is None, "a day that nobody has read"
    with pytest.raises(SettingsError, match="ICLR 2028 is documented only: Taken from the entry of ICLR 2026"):
        check_verified(venue, False)
    check_verified(venue, "confirm")


def test_notes_of_last_years_form_confirm_it():
    confirm_form(NEXT, read_notes(next_year(), NEXT))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('"weaknesses"', '"limitations"'), "review field 'limitations' is not known"),
        (('"weaknesses"', '"limitations"'), "no review has the section 'Weaknesses'"),
        (("/-/Official_Review", "/-/Reading"), "no note is a Official_Review"),
        (('"rating"', '"grade"'), "reviews have no usable rating"),
        (("SAMPLE.cc/2027/Conference/Rejected", "SAMPLE.cc/2027/Conference/Declined"), "unknown status"),
    ],
    ids=["a new field", "a field that is gone", "another kind", "another rating", "another status"],
)
def test_what_does_not_fit_is_one_line_that_names_it(change, says):
    with one_line(says, kind=SourceError):
        confirm_form(NEXT, read_notes(next_year(change), NEXT))


def test_one_odd_note_is_no_other_form():
    notes = next_year()
    reviews = [note for note in notes if "rating" in note["content"]]
    many = [dict(note, id=f"{note['id']}x{n}", content=dict(note["content"])) for n in range(3) for note in reviews]
    many[0]["content"]["mood"] = {"value": "good"}
    confirm_form(NEXT, read_notes(notes + many, NEXT))

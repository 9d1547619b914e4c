"""The venue-years: what is known of each, what an unknown, a faulty or a new one is told, which year is the newest."""

from __future__ import annotations

import json
import tomllib
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.ingest.records.notes import check_review_form, read_notes
from gre_bench.ingest.records.row_files import read_notes_file
from gre_bench.ingest.records.venues import (
    VenueYear,
    check_verified,
    find_newest_year,
    find_venue_entry,
    load_calendars,
    load_venues,
)
from tests.conftest import ROOT, SIXTEEN
from tests.one_line import one_line

ENTRY = """
[[venue]]
venue = "CONF"
year = 2030
api = 2
group = "CONF.org/2030"
submissions = ["Submission"]
withdrawn = ["Withdrawn_Submission"]
reviews = ["Official_Review"]
status = "venueid"
kept = ["", "/Rejected_Submission"]
text = [["praise", "Praise"], ["blame", "Blame"]]
rating = "mark"
rating_scale = [1, 2]
evidence = "documented"
note = "Made up."
"""


def written(tmp_path, text=ENTRY):
    path = tmp_path / "venues.toml"
    if text is not None:
        path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("venue", "year", "api", "status", "rating", "scale", "headings"),
    [
        ("ICLR", 2018, 1, "invitation", "rating", tuple(range(1, 11)), [""]),
        ("ICLR", 2019, 1, "invitation", "rating", tuple(range(1, 11)), [""]),
        ("ICLR", 2020, 1, "invitation", "rating", (1, 3, 6, 8), [""]),
        ("ICLR", 2021, 1, "invitation", "rating", tuple(range(1, 11)), [""]),
        ("ICLR", 2022, 1, "invitation", "recommendation", (1, 3, 5, 6, 8, 10), ["Summary Of The Paper", "Main Review", "Summary Of The Review"]),
        ("ICLR", 2023, 1, "invitation", "recommendation", (1, 3, 5, 6, 8, 10), ["Summary Of The Paper", "Strength And Weaknesses", "Clarity, Quality, Novelty And Reproducibility", "Summary Of The Review"]),
        ("ICLR", 2024, 2, "venueid", "rating", (1, 3, 5, 6, 8, 10), ["Summary", "Strengths", "Weaknesses", "Questions"]),
        ("ICLR", 2025, 2, "venueid", "rating", (1, 3, 5, 6, 8, 10), ["Summary", "Strengths", "Weaknesses", "Questions"]),
        ("ICLR", 2026, 2, "venueid", "rating", (0, 2, 4, 6, 8, 10), ["Summary", "Strengths", "Weaknesses", "Questions"]),
        ("NeurIPS", 2021, 1, "invitation", "rating", tuple(range(1, 11)), ["Summary", "Main Review", "Limitations And Societal Impact"]),
        ("NeurIPS", 2022, 1, "invitation", "rating", tuple(range(1, 11)), ["Summary", "Strengths And Weaknesses", "Questions", "Limitations"]),
        ("NeurIPS", 2023, 2, "venueid", "rating", tuple(range(1, 11)), ["Summary", "Strengths", "Weaknesses", "Questions", "Limitations"]),
        ("NeurIPS", 2024, 2, "venueid", "rating", tuple(range(1, 11)), ["Summary", "Strengths", "Weaknesses", "Questions", "Limitations"]),
        ("NeurIPS", 2025, 2, "venueid", "rating", tuple(range(1, 7)), ["Summary", "Strengths And Weaknesses", "Questions", "Limitations"]),
        ("SAMPLE", 2026, 2, "venueid", "rating", (1, 3, 5, 6, 8, 10), ["Summary", "Strengths", "Weaknesses", "Questions"]),
    ],
)  # fmt: skip
def test_a_known_venue_year_is_as_its_reviews_were(venue, year, api, status, rating, scale, headings):
    entry = find_venue_entry(venue, year)
    assert (entry.api, entry.status, entry.rating, entry.rating_scale) == (api, status, rating, scale)
    assert [heading for _, heading in entry.text] == headings
    assert entry.host == (None if venue == "SAMPLE" else f"https://api{'2' if api == 2 else ''}.openreview.net")
    assert entry.group.startswith(f"{venue}.cc/{year}/")


def test_an_entry_claims_no_more_evidence_than_there_is_and_a_documented_or_unknown_one_is_told():
    evidence = {entry.name: entry.evidence for entry in load_venues().values() if entry.evidence != "documented"}
    assert evidence == {
        **dict.fromkeys(
            ("ICLR 2020", "ICLR 2023", "ICLR 2024", "ICLR 2026", "Agents4Science 2025", "SAMPLE 2026"), "real notes"
        ),
        **dict.fromkeys(("ICLR 2018", "ICLR 2019", "ICLR 2021", "ICLR 2022", "ICLR 2025"), "recorded"),
    }
    assert [entry.name for entry in load_venues().values() if entry.confidence is None] == ["ICLR 2020", "ICML 2025"]
    for venue in load_venues().values():
        check_verified(venue, True)
        assert bool(venue.unverified) == (venue.name not in evidence)
        if venue.unverified:
            with one_line(f"{venue.name} is documented only: ", "--unverified-venue", kind=SettingsError):
                check_verified(venue, False)
        else:
            check_verified(venue, False)
    with one_line("ICLR 1999", *(entry.name for entry in load_venues().values()), kind=SettingsError):
        find_venue_entry("ICLR", 1999)


def test_withdrawn_papers_are_listed_apart_under_api_v1_alone_and_days_are_told_as_their_first_moment():
    kinds = ("Blind_Submission", "Withdrawn_Submission", "Desk_Rejected_Submission")
    assert find_venue_entry("ICLR", 2023).listings == tuple(f"ICLR.cc/2023/Conference/-/{kind}" for kind in kinds)
    venue = find_venue_entry("ICLR", 2025)
    assert venue.listings == ("ICLR.cc/2025/Conference/-/Submission",)
    assert datetime.fromtimestamp(venue.rebuttal_ms / 1000, UTC) == datetime(2024, 11, 12, tzinfo=UTC)
    assert venue.released_ms == venue.rebuttal_ms
    assert (find_venue_entry("ICLR", 2018).released_ms, find_venue_entry("ICLR", 2018).rebuttal_ms) == (None, None)
    for venue in load_venues().values():
        assert not venue.rebuttal_opens or venue.reviews_released <= venue.rebuttal_opens
        assert not venue.rebuttal_opens or 0 <= venue.year - venue.rebuttal_opens.year <= 1


def test_a_year_is_added_by_an_entry_alone(tmp_path):
    venue = find_venue_entry("CONF", 2030, written(tmp_path))
    paper = {"title": "T", "abstract": "A", "venueid": "CONF.org/2030"}
    review = {"praise": "Nice.", "blame": "Short.", "mark": 2}
    notes = [
        {"id": name, "forum": "p", "invitations": [f"CONF.org/2030/{kind}"], "content": {key: {"value": value} for key, value in content.items()}}
        for name, kind, content in (("p", "-/Submission", paper), ("r", "Submission1/-/Official_Review", review))
    ]  # fmt: skip
    found = read_notes(notes, venue)
    assert [(review.text, review.rating) for review in found.reviews] == [("Praise:\nNice.\n\nBlame:\nShort.", 2.0)]
    assert found.strange == []


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('evidence = "documented"', "", "evidence: Field required"),
        ('evidence = "documented"', 'evidence = "hearsay"', "evidence: Input should be 'real notes', 'recorded' or 'documented'"),
        ('note = "Made up."', "", "note: Field required"),
        ('note = "Made up."', 'note = "Made up."\nreviews_released = "soon"', "reviews_released: "),
        ('note = "Made up."', 'note = "Made up."\nreviews_released = 2030-02-02\nrebuttal_opens = 2030-02-01', "cannot open before"),
        ("api = 2", "api = 3", "api: "),
        ("api = 2", "api = 1", "under API v1 a venueid is not a status"),
        ("api = 2", "api = 2\nboard = 1", "board: Extra inputs"),
        ("api = 2", 'api = 2\nhost = "api2.openreview.net"', "host: "),
        ('kept = ["", "/Rejected_Submission"]', "", "needs kept"),
        ('status = "venueid"', 'status = "invitation"', "no other has it"),
        ('reviews = ["Official_Review"]', "reviews = []", "reviews: "),
        ('reviews = ["Official_Review"]', 'reviews = ["Submission"]', "kind 'Submission' is named twice"),
        ('["blame", "Blame"]', '["praise", "Blame"]', "field 'praise' is named twice"),
        ('rating = "mark"', 'rating = "praise"', "field 'praise' is named twice"),
        ("rating_scale = [1, 2]", "", "each need their scale"),
        ('rating = "mark"', "", "and a scale its field"),
        ('rating = "mark"', 'rating = "mark"\nconfidence = "sure"', "each need their scale"),
        ('rating = "mark"', 'rating = "mark"\nai_reviewers = [["*", "ai"]]', "the pattern '*' matches human reviews too"),
        ('rating = "mark"', 'rating = "mark"\nai_reviewers = [["*/Reviewer_????", "ai"]]', "matches human reviews too"),
        ('rating = "mark"', 'rating = "mark"\nai_reviewers = [[" ", "ai"]]', "the pattern ' ' is blank"),
        ('rating = "mark"', 'rating = "mark"\nai_reviewers = [["*/AI", "human"]]', "'human' is not a name for an AI reviewer"),
        ('rating = "mark"', 'rating = "mark"\nai_text = [["review", ""]]', "name their patterns there"),
    ],
)  # fmt: skip
def test_a_faulty_entry_is_refused_in_one_line_that_names_it(tmp_path, old, new, says):
    assert ENTRY.count(old) == 1
    with one_line(says, "entry 1 (CONF 2030)", kind=SettingsError):
        load_venues(written(tmp_path, ENTRY.replace(old, new)))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (ENTRY + ENTRY, "entry 2: CONF 2030 is already there"),
        ("venue = 3", "no [[venue]] entry"),
        ("", "no [[venue]] entry"),
        ("venue = [3]", "entry 1: "),
        ("[[venue", "cannot be read"),
        (None, "cannot be read"),
    ],
)
def test_a_faulty_file_is_refused_in_one_line(tmp_path, text, says):
    with one_line(says, kind=SettingsError):
        load_venues(written(tmp_path, text))


def test_the_file_explains_every_key_that_an_entry_may_have():
    text = (ROOT / "data" / "venues.toml").read_text()
    explained = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))
    keys = {key.removesuffix("_scale") for key in VenueYear.model_fields} - {"venue", "year"}
    assert {key for key in keys if key not in explained} == set()
    assert len(tomllib.loads(text)["venue"]) == 17


NOTES = read_notes_file(SIXTEEN / "notes.jsonl")
NEXT = find_venue_entry("SAMPLE", 2027)


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
    assert find_newest_year(venue, on) == year


@given(st.sampled_from(sorted(load_calendars())), st.dates(date(2000, 1, 1), date(2090, 1, 1)))
def test_a_new_year_comes_once_a_year_and_none_is_left_out(venue, on):
    days = [find_newest_year(venue, on + timedelta(days=more)) for more in range(366)]
    assert sorted(set(days)) in ([days[0]], [days[0], days[0] + 1]) and days == sorted(days)
    assert find_newest_year(venue, on + timedelta(days=366)) >= days[0] + 1


def test_no_year_is_taken_before_its_reviews_were_released_nor_of_a_venue_without_a_calendar():
    known = [entry for entry in load_venues().values() if entry.reviews_released and entry.venue in ("ICLR", "SAMPLE")]
    assert len(known) > 2
    for venue in known:
        assert find_newest_year(venue.venue, venue.reviews_released - timedelta(days=1)) < venue.year
        assert find_newest_year(venue.venue, venue.reviews_released + timedelta(days=20)) == venue.year
    with pytest.raises(SettingsError, match="reviews of ICML become public is not known; name the year"):
        find_newest_year("ICML", date(2026, 1, 1))


def test_a_new_year_has_the_form_of_the_newest_entry_and_is_not_verified():
    venue, last = find_venue_entry("ICLR", 2028), find_venue_entry("ICLR", 2026)
    assert venue.group == "ICLR.cc/2028/Conference"
    assert (venue.fields, venue.rating_scale) == (last.fields, last.rating_scale)
    assert venue.reviews_released is None and venue.rebuttal_opens is None, "a day that nobody has read"
    with pytest.raises(SettingsError, match="ICLR 2028 is documented only: Taken from the entry of ICLR 2026"):
        check_verified(venue, False)
    check_verified(venue, "confirm")


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
        check_review_form(NEXT, read_notes(next_year(change), NEXT))


def test_notes_of_last_years_form_confirm_it_and_one_odd_note_is_no_other_form():
    notes = next_year()
    check_review_form(NEXT, read_notes(notes, NEXT))
    reviews = [note for note in notes if "rating" in note["content"]]
    many = [dict(note, id=f"{note['id']}x{n}", content=dict(note["content"])) for n in range(3) for note in reviews]
    many[0]["content"]["mood"] = {"value": "good"}
    check_review_form(NEXT, read_notes(notes + many, NEXT))

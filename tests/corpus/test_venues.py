"""The venue-years: what is known of each, what an unknown one is told, what a faulty entry is refused for."""

from __future__ import annotations

import tomllib

import pytest

from tasks.corpus.notes import read_notes
from tasks.corpus.venues import Venue, venue_of, venues
from tasks.errors import SettingsError
from tests.conftest import ROOT

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
evidence = "made up"
"""


def written(tmp_path, text=ENTRY):
    path = tmp_path / "venues.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("venue", "year", "api", "status", "rating", "scale", "headings"),
    [
        ("ICLR", 2020, 1, "invitation", "rating", (1, 3, 6, 8), [""]),
        ("ICLR", 2022, 1, "invitation", "recommendation", (1, 3, 5, 6, 8, 10), ["Summary Of The Paper", "Main Review", "Summary Of The Review"]),
        (
            "ICLR",
            2023,
            1,
            "invitation",
            "recommendation",
            (1, 3, 5, 6, 8, 10),
            ["Summary Of The Paper", "Strength And Weaknesses", "Clarity, Quality, Novelty And Reproducibility", "Summary Of The Review"],
        ),
        ("ICLR", 2024, 2, "venueid", "rating", (1, 3, 5, 6, 8, 10), ["Summary", "Strengths", "Weaknesses", "Questions"]),
        ("ICLR", 2025, 2, "venueid", "rating", (1, 3, 5, 6, 8, 10), ["Summary", "Strengths", "Weaknesses", "Questions"]),
        ("NeurIPS", 2023, 2, "venueid", "rating", tuple(range(1, 11)), ["Summary", "Strengths", "Weaknesses", "Questions", "Limitations"]),
        ("NeurIPS", 2024, 2, "venueid", "rating", tuple(range(1, 11)), ["Summary", "Strengths", "Weaknesses", "Questions", "Limitations"]),
        ("SAMPLE", 2026, 2, "venueid", "rating", (1, 3, 5, 6, 8, 10), ["Summary", "Strengths", "Weaknesses", "Questions"]),
    ],
)
def test_a_known_venue_year_is_as_its_reviews_were(venue, year, api, status, rating, scale, headings):
    entry = venue_of(venue, year)
    assert (entry.api, entry.status, entry.rating, entry.rating_scale) == (api, status, rating, scale)
    assert [heading for _, heading in entry.text] == headings
    assert entry.host == (None if venue == "SAMPLE" else f"https://api{'2' if api == 2 else ''}.openreview.net")
    assert entry.group.startswith(f"{venue}.cc/{year}/")


def test_only_iclr_2020_asked_for_no_confidence():
    assert [entry.name for entry in venues().values() if entry.confidence is None] == ["ICLR 2020"]


def test_an_unknown_venue_year_is_told_the_known_ones():
    with pytest.raises(SettingsError) as error:
        venue_of("ICLR", 1999)
    line = str(error.value)
    assert "ICLR 1999" in line and "\n" not in line
    assert all(entry.name in line for entry in venues().values())


def test_a_year_is_added_by_an_entry_alone(tmp_path):
    venue = venue_of("CONF", 2030, written(tmp_path))
    forum = {"id": "p", "forum": "p", "invitations": ["CONF.org/2030/-/Submission"]}
    reply = {"id": "r", "forum": "p", "replyto": "p", "invitations": ["CONF.org/2030/Submission1/-/Official_Review"]}
    found = read_notes(
        [
            forum | {"content": {key: {"value": value} for key, value in {"title": "T", "abstract": "A", "venueid": "CONF.org/2030"}.items()}},
            reply | {"content": {key: {"value": value} for key, value in {"praise": "Nice.", "blame": "Short.", "mark": 2}.items()}},
        ],
        venue,
    )
    assert [(review.text, review.rating) for review in found.reviews] == [("Praise:\nNice.\n\nBlame:\nShort.", 2.0)]
    assert found.strange == []


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('evidence = "made up"', "", "evidence: Field required"),
        ("api = 2", "api = 3", "api: "),
        ("api = 2", "api = 1", "under API v1 a venueid is no status"),
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
    ],
)
def test_a_faulty_entry_is_refused_in_one_line_that_names_it(tmp_path, old, new, says):
    assert ENTRY.count(old) == 1
    with pytest.raises(SettingsError) as error:
        venues(written(tmp_path, ENTRY.replace(old, new)))
    line = str(error.value)
    assert says in line and "entry 1 (CONF 2030)" in line and "\n" not in line


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (ENTRY + ENTRY, "entry 2: CONF 2030 is already there"),
        ("venue = 3", "no [[venue]] entry"),
        ("", "no [[venue]] entry"),
        ("venue = [3]", "entry 1: "),
        ("[[venue", "cannot be read"),
    ],
)
def test_a_faulty_file_is_refused_in_one_line(tmp_path, text, says):
    with pytest.raises(SettingsError, match=".") as error:
        venues(written(tmp_path, text))
    assert says in str(error.value) and "\n" not in str(error.value)


def test_a_missing_file_is_refused_in_one_line(tmp_path):
    with pytest.raises(SettingsError, match="cannot be read"):
        venues(tmp_path / "none.toml")


def test_an_entry_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        venue_of("ICLR", 2024).year = 2025


def test_the_file_explains_every_key_that_an_entry_may_have():
    text = (ROOT / "data" / "venues.toml").read_text()
    explained = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))
    unexplained = [key for key in Venue.model_fields if key not in ("venue", "year") and key.removesuffix("_scale") not in explained]
    assert unexplained == []
    assert len(tomllib.loads(text)["venue"]) == 8

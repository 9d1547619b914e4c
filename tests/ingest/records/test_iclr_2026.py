"""Real notes of ICLR 2026 as their form in data/venues.toml reads them: every field of every review, nothing lost."""

from __future__ import annotations

import gzip
import json

import pytest

from gre_bench.ingest.records.notes import list_review_fields, read_notes
from gre_bench.ingest.records.venues import check_verified, find_venue_entry
from tests.conftest import real

TEXTS = ("summary", "strengths", "weaknesses", "questions")


@pytest.fixture(scope="module")
def notes():
    path = real("openreview", "iclr2026.notes.jsonl.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.mark.shared
def test_every_field_of_every_review_is_read_and_no_field_is_unknown(notes):
    venue = find_venue_entry("ICLR", 2026)
    check_verified(venue, False)
    given = {}
    for note in notes:
        if note["invitations"][0].endswith("/Official_Review"):
            given.setdefault(note["id"], {name: value["value"] for name, value in note["content"].items()})
    read = read_notes(notes, venue)
    assert {each.review_id for each in read.reviews} == set(given) and len(given) == 1163
    assert len(read.papers) == 300 and all(paper.title and paper.abstract for paper in read.papers)
    for review in read.reviews:
        own = given[review.review_id]
        assert review.rating == own["rating"] and review.text
        for name in TEXTS:
            assert all(line.strip() in review.text for line in own[name].splitlines()), (review.review_id, name)
    by_id = {each.review_id: each.fields for each in list_review_fields(notes, venue)}
    for name, own in given.items():
        assert float(by_id[name]["confidence"]) == own["confidence"]
        assert {field: by_id[name][field].strip() for field in TEXTS} == {field: own[field].strip() for field in TEXTS}


@pytest.mark.shared
def test_all_that_is_not_read_is_a_second_version_of_a_review_and_the_earlier_one_is_kept(notes):
    read = read_notes(notes, find_venue_entry("ICLR", 2026))
    (ids,) = read.unclear.values()
    assert len(ids) == 1178 - 1163 and len(read.strange) == 1
    ratings = {review.review_id: review.rating for review in read.reviews}
    for name in ids:
        first, second = sorted((note for note in notes if note["id"] == name), key=lambda note: note["mdate"])
        assert ratings[name] == first["content"]["rating"]["value"] and first["content"] != second["content"]

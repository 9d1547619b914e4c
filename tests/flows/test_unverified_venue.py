"""A venue-year whose notes nobody here has seen is used only when it is asked for by name, and marked where it is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gre_bench.ingest.snapshot import Snapshot
from tests.cli.calling import call
from tests.conftest import SIXTEEN

SAMPLE = (SIXTEEN / "notes.jsonl").read_text(encoding="utf-8")


@pytest.fixture
def bring(tmp_path):
    """Imports the sample notes as those of another venue-year; exit code, standard output, line of a failure."""

    def bringing(venue, year, *more, changes=("questions", "questions")):
        notes = tmp_path / f"{venue}{year}.jsonl"
        notes.write_text(SAMPLE.replace("SAMPLE.cc/2026", f"{venue}.cc/{year}").replace(*changes), encoding="utf-8")
        return call("import", "notes", notes, "-e", f"{venue}-{year}", "--new", "--state", tmp_path, *more)

    return bringing


def test_a_documented_venue_year_is_refused_in_one_line(bring, tmp_path):
    code, out, err = bring("NeurIPS", 2023)
    assert (code, out) == (2, "")
    assert err.startswith("the form of the notes of NeurIPS 2023 is documented only: ")
    assert "--unverified-venue" in err and "\n" not in err
    assert not (tmp_path / "snapshots").exists()


@pytest.mark.parametrize(
    ("venue", "year", "more", "marked"),
    [("NeurIPS", 2023, ["--unverified-venue"], True), ("ICLR", 2024, [], False),
     ("ICLR", 2024, ["--unverified-venue"], False)],
)  # fmt: skip
def test_a_snapshot_says_so_where_the_form_of_its_notes_was_never_seen(bring, venue, year, more, marked):
    code, out, _ = bring(venue, year, "--json", *more)
    report = json.loads(out)
    remarks = Snapshot.open(Path(report["snapshot"])).manifest.remarks
    assert code == 0 and report["papers"] == 16
    assert bool(remarks) == marked
    assert all(remark.startswith(f"the form of the notes of {venue} {year} is documented only") for remark in remarks)


def test_the_report_names_every_note_with_something_unknown(bring):
    code, out, _ = bring("ICLR", 2024, "--json", changes=('"questions"', '"riddles"'))
    report = json.loads(out)
    asked = [note["id"] for note in map(json.loads, SAMPLE.splitlines()) if "questions" in note["content"]]
    assert code == 0 and len(asked) > 5
    assert report["unclear"] == {"review field 'riddles' is not known": asked}
    assert report["counts"]["unclear"] == len(asked)
    line = f"review field 'riddles' is not known: {', '.join(asked[:5])} and {len(asked) - 5} more"
    assert report["strange"] == [line]

"""What single stages make of what they are given: versions, licences, venues, who is human, a domain, spans, changes."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from gre_bench.core.errors import SettingsError
from gre_bench.core.records import Edition, SpanLogprob
from gre_bench.core.settings import load
from gre_bench.ingest.records.row_files import read_notes_file
from gre_bench.ingest.records.venues import find_venue_entry
from gre_bench.ingest.snapshot import Snapshot, make_snapshot
from gre_bench.metrics.scoring import ScoringResult
from gre_bench.pipeline import reading
from gre_bench.pipeline.importing import set_job_domain
from gre_bench.pipeline.pair_scoring import store_scoring_result
from gre_bench.pipeline.perturbed_reviews import build_perturbation_input
from gre_bench.pipeline.planning import RunPlan
from gre_bench.pipeline.refreshing import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.pipeline.training_overlap import TrainingOverlap
from gre_bench.store import Store
from gre_bench.store.queries import SPANS_OF
from tests.cli.calling import call
from tests.conftest import SIXTEEN
from tests.flows.refreshing import query, use
from tests.scripted_lms import OverlapLM

NOTES = read_notes_file(SIXTEEN / "notes.jsonl")


def test_reviews_and_papers_have_the_licence_that_their_note_states_unless_the_snapshot_says_another(tmp_path):
    stated = {"s01-r1": None, "s01-r2": "CC BY-NC 4.0", "s02": None}
    notes = [note | {"license": stated.get(note["id"], note["license"])} for note in NOTES]
    more = {
        "pdfs": {"s01": SIXTEEN / "pdfs" / "s01.pdf"},
        "papers": {"s03": {"licence": "CC0 1.0", "pdf_version_status": "submitted"}},
    }
    frozen = make_snapshot(tmp_path / "snapshot", Edition("SAMPLE", 2026), notes, source="a test", **more)
    rows = {row["review_id"]: row for row in reading.list_review_versions(frozen, {"s01-r1", "s01-r2", "s01-r3"})}
    assert {name: row["licence"] for name, row in rows.items()} == {"s01-r2": "CC BY-NC 4.0", "s01-r3": "CC BY 4.0"}
    assert all(row["rule"] == reading.AS_GIVEN and row["version_id"] is None for row in rows.values())
    rows = {row["paper_id"]: row for row in reading.list_paper_sources(frozen, {"s01", "s02", "s03", "s04"})}
    licences = {name: row["licence"] for name, row in rows.items()}
    assert licences == {"s01": "CC BY 4.0", "s03": "CC0 1.0", "s04": "CC BY 4.0"}
    assert rows["s01"]["pdf_sha256"] and rows["s04"]["pdf_sha256"] is None
    assert (rows["s03"]["pdf_version_status"], rows["s04"]["pdf_version_status"]) == ("submitted", "unknown")


def by_ai(note):
    """The first review of a paper once more, as the venue's AI reviewer signs it."""
    group = note["invitations"][0].rpartition("/-/")[0]
    return note | {"id": f"{note['forum']}-ai", "signatures": [f"{group}/AI_Reviewer"]}


def test_the_ai_reviewer_is_ranked_and_no_reference_and_listed_reviews_have_no_role(tmp_path, monkeypatch):
    use(OverlapLM())
    venue = find_venue_entry("SAMPLE", 2026).model_copy(update={"ai_reviewers": (("*/AI_Reviewer", "venue-ai"),)})
    monkeypatch.setattr(reading, "find_venue_entry", lambda *_: venue)
    reviews = [note for note in NOTES if note["invitations"][0].endswith("Official_Review")]
    first = {note["forum"]: note for note in reversed(reviews)}
    file, listed = tmp_path / "notes.jsonl", tmp_path / "written_by_lms.txt"
    file.write_text("".join(json.dumps(note) + "\n" for note in (*NOTES, *map(by_ai, first.values()))))
    listed.write_text("".join(f"{note['id']}\n" for note in first.values()))

    def run(*overrides):
        more = (f"sources.notes={file}", "edition.references=1", *overrides)
        rule = ("evaluation_lm.backend=scripted", "writing.judgments=rule", "scoring.metrics=gem", "edition.papers=6")
        chosen = load(None, (*rule, *more))
        return refresh(Job(chosen, tmp_path))

    assert run()["outcome"] == "done"
    ranked = "select distinct kind, scored > 0 from leaderboard where candidate = 'venue-ai'"
    assert query(tmp_path, ranked) == [("model", True)]
    assert query(tmp_path, "select count(*) from sample where review_id like '%-ai'") == [(0,)]
    assert query(tmp_path, "select count(*) from reviews where candidate = 'venue-ai'") == [(len(first),)]
    with pytest.raises(SettingsError, match=r"drawn with \d+ reviews? that written_by_lms.txt names; a drawn sample"):
        run(f"edition.not_human={listed}")
    summary = run(f"edition.not_human={listed}", "edition.sample=apart")
    assert f"{len(first)} reviews taken out of the human reviews: edition.not_human" in summary["notes"]
    used = {name for (name,) in query(tmp_path, "select review_id from sample", "SAMPLE-2026-apart")}
    assert used and not used & {note["id"] for note in first.values()}


@pytest.mark.parametrize(
    ("asked", "prompt", "parts"),
    [
        ((), "predict_judgments", ("abstract",)),
        (("edition.domain=yelp",), "predict_judgments_yelp", ("categories",)),
        (('scoring.synopsis_of=["title"]',), "predict_judgments", ("title",)),
        (("scoring.prompt=predict_judgments", "edition.domain=yelp"), "predict_judgments", ("categories",)),
    ],
)
def test_prompt_and_synopsis_are_those_of_the_domain_unless_they_are_named(asked, prompt, parts, tmp_path):
    job = set_job_domain(Job(load(None, ("edition.year=2026", *asked)), tmp_path))
    assert job.settings.scoring.synopsis_of == parts
    assert job.settings.scoring.prompt == prompt
    assert set_job_domain(job).settings == job.settings


def test_a_span_that_another_paper_has_stored_already_stays_and_the_others_come(tmp_path):
    store, work = Store(tmp_path, "TEST-2026"), RunPlan([], {}, "lm", "writer", 0, 0, TrainingOverlap(0, {}))
    spans = {name: SpanLogprob(-float(place), (place,), (-float(place),)) for place, name in enumerate("abc", start=1)}
    other = SpanLogprob(-9.0, (9,), (-9.0,))
    with store.lock("test"):
        store_scoring_result(store, work, ScoringResult([], {name: spans[name] for name in "ab"}), "first")
        store_scoring_result(store, work, ScoringResult([], {"b": other, "c": spans["c"]}), "second")
    kept = {row["prediction"]: row["total"] for row in store.rows(SPANS_OF, lm_id="lm", predictions=list("abc"))}
    assert kept == {"a": -1.0, "b": -2.0, "c": -3.0}


def test_the_reviews_of_other_papers_begin_half_the_list_away_and_end_at_its_start():
    entries = [
        SimpleNamespace(
            paper=SimpleNamespace(paper_id=f"p{number}", title=f"title {number}", abstract=f"abstract {number}"),
            human=SimpleNamespace(text=f"review {number}", judgments={"rule": f"judgments {number}"}),
        )
        for number in range(5)
    ]
    given = build_perturbation_input(load(None, ()), entries, 2)
    assert given.others == ("review 4", "review 0")
    assert (given.text, given.title, given.abstract) == ("review 2", "title 2", "abstract 2")
    by_rule = build_perturbation_input(load(None, ()), entries, 2, "rule")
    assert (by_rule.text, by_rule.others) == ("judgments 2", ("judgments 4", "judgments 0"))


LINES = (SIXTEEN / "notes.jsonl").read_text(encoding="utf-8")


@pytest.fixture
def bring(tmp_path):
    """Imports the sample notes as those of another venue-year; exit code, standard output, line of a failure."""

    def bringing(venue, year, *more, changes=("questions", "questions")):
        notes = tmp_path / f"{venue}{year}.jsonl"
        notes.write_text(LINES.replace("SAMPLE.cc/2026", f"{venue}.cc/{year}").replace(*changes), encoding="utf-8")
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
    asked = [note["id"] for note in map(json.loads, LINES.splitlines()) if "questions" in note["content"]]
    assert code == 0 and len(asked) > 5
    assert report["unclear"] == {"review field 'riddles' is not known": asked}
    assert report["counts"]["unclear"] == len(asked)
    line = f"review field 'riddles' is not known: {', '.join(asked[:5])} and {len(asked) - 5} more"
    assert report["strange"] == [line]

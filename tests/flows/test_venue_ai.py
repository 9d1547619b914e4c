"""The venue's own AI reviewer on a board, and reviews that a list takes out of the human ones."""

from __future__ import annotations

import json

import pytest

from gre_bench.core import settings
from gre_bench.core.errors import SettingsError
from gre_bench.flows.annual_refresh import refresh
from gre_bench.ingest.records.venues import venue_of
from gre_bench.pipeline import reading
from gre_bench.pipeline.runs.job import Job
from gre_bench.tasks import steps
from tests.conftest import SIXTEEN
from tests.flows.refreshing import query, use
from tests.scripted_lms import OverlapLM


def by_ai(note):
    """The first review of a paper once more, as the venue's AI reviewer signs it."""
    group = note["invitations"][0].rpartition("/-/")[0]
    return note | {"id": f"{note['forum']}-ai", "signatures": [f"{group}/AI_Reviewer"]}


def test_the_ai_reviewer_is_ranked_and_no_reference_and_listed_reviews_have_no_role(tmp_path, monkeypatch):
    use(OverlapLM())
    venue = venue_of("SAMPLE", 2026).model_copy(update={"ai_reviewers": (("*/AI_Reviewer", "venue-ai"),)})
    monkeypatch.setattr(reading, "venue_of", lambda *_: venue)
    notes = [json.loads(line) for line in (SIXTEEN / "notes.jsonl").read_text().splitlines()]
    reviews = [note for note in notes if note["invitations"][0].endswith("Official_Review")]
    first = {note["forum"]: note for note in reversed(reviews)}
    file, listed = tmp_path / "notes.jsonl", tmp_path / "written_by_lms.txt"
    file.write_text("".join(json.dumps(note) + "\n" for note in (*notes, *map(by_ai, first.values()))))
    listed.write_text("".join(f"{note['id']}\n" for note in first.values()))

    def run(*overrides):
        chosen = settings.load(
            None,
            (
                "evaluation_lm.backend=scripted", "writing.judgments=rule", "scoring.metrics=gem", "edition.papers=6",
                f"sources.notes={file}", "edition.references=1", *overrides,
            ),
        )  # fmt: skip
        return refresh(Job(chosen, tmp_path), steps.undecorated())

    assert run()["outcome"] == "done"
    assert query(tmp_path, "select distinct kind, scored > 0 from leaderboard where candidate = 'venue-ai'") == [
        ("model", True)
    ]
    assert query(tmp_path, "select count(*) from sample where review_id like '%-ai'") == [(0,)]
    assert query(tmp_path, "select count(*) from reviews where candidate = 'venue-ai'") == [(len(first),)]
    with pytest.raises(SettingsError, match=r"drawn with \d+ reviews? that written_by_lms.txt names; a drawn sample"):
        run(f"edition.not_human={listed}")
    summary = run(f"edition.not_human={listed}", "edition.sample=apart")
    assert f"{len(first)} reviews taken out of the human reviews: edition.not_human" in summary["notes"]
    used = {name for (name,) in query(tmp_path, "select review_id from sample", "SAMPLE-2026-apart")}
    assert used and not used & {note["id"] for note in first.values()}

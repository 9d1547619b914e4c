"""Which version of a review counts, and which version of a paper its PDF is: on real version lists and made ones."""

from __future__ import annotations

import json

import pytest

from gre_bench.ingest.records import versions
from gre_bench.ingest.records.versions import (
    ChosenReviewVersion,
    choose_version,
    find_pdf_version_status,
    list_versions,
)
from tests.conftest import real

REBUTTAL = 2000


def review(tmdate=1000, tcdate=1000, **content):
    return {"id": "r", "forum": "p", "tcdate": tcdate, "tmdate": tmdate, "content": content or {"review": "now"}}


def edit(version_id, at, **content):
    """An edit of API v2."""
    note = {"id": "r", "content": content}
    return {"id": version_id, "tcdate": at, "tmdate": 9_999, "invitation": "v/-/Official_Review", "note": note}


def reference(version_id, at, changed=None, **content):
    """A reference of API v1."""
    return {"id": version_id, "referent": "r", "tcdate": at, "tmdate": changed or at, "ddate": None, "content": content}


def value(text):
    return {"value": text}


def test_edits_are_laid_over_one_another_and_a_reference_is_as_old_as_its_last_change_and_a_deleted_one_is_none():
    history = [
        edit("c", 30, review={"delete": True}, note=value("n")),
        edit("a", 10, review=value("one"), rating=value(3)),
        edit("b", 20, rating=value(5)),
        {"id": "d", "tcdate": 40, "note": {"id": "r", "readers": ["everyone"]}},
    ]
    assert [(one.version_id, one.written_at, one.content) for one in list_versions(history)] == [
        ("a", 10, {"review": value("one"), "rating": value(3)}),
        ("b", 20, {"review": value("one"), "rating": value(5)}),
        ("c", 30, {"rating": value(5), "note": value("n")}),
    ]
    history = [
        reference("b", 10, 50, review="two"),
        reference("a", 20, review="one"),
        reference("c", 60, review="x") | {"ddate": 70},
    ]
    assert [(one.version_id, one.written_at) for one in list_versions(history)] == [("a", 20), ("b", 50)]


OPEN = {"readers": {"delete": True}}


def test_an_edit_of_only_the_readers_of_a_field_keeps_its_value_and_of_only_its_value_keeps_its_readers():
    few = {"value": "one", "readers": ["chairs"]}
    history = [
        edit("a", 10, weaknesses=few, rating=value(3)),
        edit("b", 20, weaknesses=OPEN, rating=OPEN),
        edit("c", 30, weaknesses={"readers": ["everyone"]}),
        edit("d", 40, weaknesses=value("two")),
        edit("e", 50, weaknesses={"value": {"delete": True}}, note=OPEN),
    ]
    assert [(one.version_id, one.content) for one in list_versions(history)] == [
        ("a", {"weaknesses": few, "rating": value(3)}),
        ("b", {"weaknesses": value("one"), "rating": value(3)}),
        ("c", {"weaknesses": {"value": "one", "readers": ["everyone"]}, "rating": value(3)}),
        ("d", {"weaknesses": {"value": "two", "readers": ["everyone"]}, "rating": value(3)}),
        ("e", {"rating": value(3)}),
    ]
    # Where the edit that wrote the text is not public, the others make no empty review of it.
    assert list_versions(history[1:2]) == []


def edits(*versions):
    """[(id, date, text)] as a history of API v2."""
    return [edit(name, at, review=value(text)) for name, at, text in versions]


ENVELOPE = {"id": "b", "tcdate": 3000, "note": {"readers": ["everyone"]}}


@pytest.mark.parametrize(
    ("note", "history", "opens", "chosen", "due"),
    [
        # never changed, and changed before the rebuttal opened
        (review(), None, REBUTTAL, ChosenReviewVersion(None, 1000, 1, "unedited"), False),
        (review(), None, None, ChosenReviewVersion(None, 1000, 1, "unedited"), False),
        (review(tmdate=1999), None, REBUTTAL, ChosenReviewVersion(None, 1999, 1, "unedited"), False),
        # changed after: the last version from before counts, also where the change itself is not shown
        (review(tmdate=2000), edits(("a", 1000, "one"), ("b", 1999, "two"), ("c", 2000, "now")), REBUTTAL, ChosenReviewVersion("b", 1999, 3, "before_rebuttal"), True),
        (review(tmdate=3000, review=value("hidden")), edits(("a", 1000, "one")), REBUTTAL, ChosenReviewVersion("a", 1000, 1, "before_rebuttal"), True),
        # only its envelope changed
        (review(tmdate=3000, review=value("now")), [*edits(("a", 1000, "now")), ENVELOPE], REBUTTAL, ChosenReviewVersion(None, 1000, 1, "unedited"), True),
        (review(tmdate=3000, review=value("now")), [edit("a", 1000, review={"value": "now", "readers": ["chairs"]}), edit("b", 3000, review=OPEN)], REBUTTAL, ChosenReviewVersion(None, 1000, 2, "unedited"), True),
        # written after the rebuttal opened: it counts as it was first, and is marked
        (review(tcdate=2500, tmdate=2600), edits(("a", 2500, "one"), ("b", 2600, "two")), REBUTTAL, ChosenReviewVersion("a", 2500, 2, "late"), True),
        # no history, or no date: the last version counts, and is marked
        (review(tmdate=2500), None, REBUTTAL, ChosenReviewVersion(None, 2500, 1, "not_asked"), True),
        (review(tmdate=2500), [], REBUTTAL, ChosenReviewVersion(None, 2500, 1, "not_public"), True),
        (review(tmdate=1500), edits(("a", 1000, "one"), ("b", 1500, "two")), None, ChosenReviewVersion(None, 1500, 2, "no_date"), True),
    ],
)  # fmt: skip
def test_the_version_that_counts_is_the_reviewers_own_view_before_the_rebuttal(note, history, opens, chosen, due):
    assert choose_version(note, history, opens) == chosen
    assert versions.needs_history(note, opens) is due


def submission(tmdate=1000, **more):
    return {"id": "p", "forum": "p", "tcdate": 500, "tmdate": tmdate, "content": {"pdf": "/pdf/x.pdf"}} | more


@pytest.mark.parametrize(
    ("note", "released", "status"),
    [
        (submission(tmdate=500), None, "submitted"),
        (submission(), REBUTTAL, "submitted"),
        (submission(tmdate=3000), REBUTTAL, "unknown"),
        (submission(), None, "unknown"),
        (submission(tmdate=3000, invitations=["v/-/Submission", "v/Submission1/-/Camera_Ready_Revision"]), None, "camera_ready"),
        (submission(tmdate=3000, invitations=["v/-/Submission", "v/Submission1/-/Rebuttal_Revision"]), REBUTTAL, "revised_after_review"),
    ],
)  # fmt: skip
def test_the_version_of_a_pdf_is_told_by_the_note_where_it_can_be(note, released, status):
    assert find_pdf_version_status(note, None, released) == status
    assert versions.pdf_needs_history(note, released) == (status == "unknown")


@pytest.mark.parametrize(
    ("history", "decided", "status"),
    [
        ([reference("a", 500, pdf="/pdf/1"), reference("b", 1500, pdf="/pdf/2"), reference("c", 3000, pdf="/pdf/2", title="T")], None, "submitted"),
        ([reference("a", 500, pdf="/pdf/1"), reference("b", 2500, pdf="/pdf/2")], None, "revised_after_review"),
        ([reference("a", 500, pdf="/pdf/1"), reference("b", 2500, pdf="/pdf/2")], 2400, "camera_ready"),
        ([reference("a", 500, pdf="/pdf/1"), reference("b", 2500, pdf="/pdf/2")], 2600, "revised_after_review"),
        ([edit("a", 500, pdf=value("/1")), edit("b", 2500, pdf=value("/2")) | {"invitation": "v/-/Camera_Ready"}], None, "camera_ready"),
        ([edit("a", 500, pdf=value("/1")), edit("b", 2500, pdf=OPEN) | {"invitation": "v/-/Camera_Ready"}], None, "submitted"),
        ([edit("a", 500, pdf={"value": "/1", "readers": ["chairs"]}), edit("b", 2500, pdf=OPEN)], 2400, "submitted"),
        ([edit("a", 500, title=value("no pdf is named"))], None, "unknown"),
    ],
)  # fmt: skip
def test_the_version_of_a_pdf_is_told_by_the_change_that_brought_it(history, decided, status):
    assert find_pdf_version_status(submission(tmdate=3000), history, REBUTTAL, decided) == status


@pytest.mark.shared
def test_real_forums_show_which_pdf_was_reviewed_and_that_a_review_was_written_over():
    forums = real("openreview", "v1-raw-forums", "example_output.json")
    first, second = json.loads(forums.read_text())[0]["submissions"]
    assert [len(list_versions(paper["revisions"])) for paper in (first, second)] == [3, 5]
    changed = next(note for note in second["notes"] if note["id"] == "rJgwAWZ0j7")
    made, last = changed["tcdate"], changed["tmdate"]
    assert choose_version(changed, changed["revisions"], last + 1).rule == "unedited"
    # It was changed in place, and what it said before is gone: that is marked, not made up.
    assert choose_version(changed, changed["revisions"], (made + last) // 2) == ChosenReviewVersion(
        changed["revisions"][0]["id"], last, 1, "late"
    )
    decided = 1541618243229
    assert find_pdf_version_status(first, first["revisions"], decided - 10**8, decided) == "camera_ready"
    assert find_pdf_version_status(first, first["revisions"], 1544000000000) == "submitted"
    assert find_pdf_version_status(first, first["revisions"], 1542000000000) == "revised_after_review"

    # Reviews of ICLR 2024 were released on 10 November 2023; both recorded notes were changed later.
    for name, status in (("rejected", "revised_after_review"), ("withdrawn", "unknown")):
        file = real("openreview", "recorded", "v2", "iclr-2024", f"notes-{name}.json")
        note = json.loads(file.read_text())["response"]["json"]["notes"][0]
        assert find_pdf_version_status(note, None, 1699574400000) == status

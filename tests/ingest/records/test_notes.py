"""Notes to records: ratings, kinds, status and text by table; every note counted once; nothing dropped in silence."""

from __future__ import annotations

import copy
import json
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.core.errors import SourceError
from gre_bench.core.records import Paper, Review
from gre_bench.ingest.records.notes import (
    OUTCOMES,
    find_creating_invitation,
    list_review_fields,
    parse_note_kind,
    parse_rating,
    read_notes,
    select_new_records,
)
from gre_bench.ingest.records.row_files import read_notes_file
from gre_bench.ingest.records.tables import read_new_papers, read_new_reviews
from gre_bench.ingest.records.venues import VenueYear, find_venue_entry
from tests.conftest import ROOT, SIXTEEN, real, script
from tests.one_line import one_line

V1, V2, V2020 = find_venue_entry("ICLR", 2023), find_venue_entry("ICLR", 2024), find_venue_entry("ICLR", 2020)
REVIEW_V2 = {"summary": "S.", "strengths": "+", "weaknesses": "-", "questions": "?", "rating": "6: marginally above"}
REVIEW_V1 = {"summary_of_the_paper": "S.", "strength_and_weaknesses": "+-", "summary_of_the_review": "R.",
             "clarity,_quality,_novelty_and_reproducibility": "C."}  # fmt: skip


def v2(note_id, kind, content, forum="p", number=1, **more):
    place = f"Submission{number}/-/{kind}" if note_id != forum else f"-/{kind}"
    content = {key: {"value": value} for key, value in content.items()}
    invitations = [f"{V2.group}/{place}", f"{V2.group}/-/Edit"]
    return {"id": note_id, "forum": forum, "invitations": invitations, "content": content} | more


def v1(note_id, kind, content, forum="p", **more):
    invitation = f"{V1.group}/{'Paper1/' * (note_id != forum)}-/{kind}"
    return {"id": note_id, "forum": forum, "invitation": invitation, "content": content, "ddate": None} | more


def paper_v2(note_id="p", ending="", **content):
    content = {"title": "T", "abstract": "A", "venueid": V2.group + ending} | content
    return v2(note_id, "Submission", content, forum=note_id)


def paper_v1(note_id="p", kind="Blind_Submission", **content):
    return v1(note_id, kind, {"title": "T", "abstract": "A"} | content, forum=note_id)


def happened(found):
    """The counts that are not zero, without the number of notes and of what was not understood."""
    return {name: count for name, count in found.counts.items() if count and name not in ("notes", "unclear")}


@pytest.mark.parametrize(
    ("value", "rating"),
    [
        ("6: Weak Accept", 6),
        ("6: Weak Accept: Technically solid", 6),
        ("10: strong accept,\nshould be highlighted", 10),
        ("1", 1),
        (" 8 ", 8),
        ("8.0: x", 8),
        (6, 6),
        (6.0, 6),
        *((value, None) for value in (6.5, "6.5", "3 good", "-3: x", "Accept", "", True, None, [6])),
        *((value, None) for value in (float("nan"), float("inf"))),
    ],
)
def test_a_rating_is_the_number_its_form_opens_with(value, rating):
    assert parse_rating(value) == rating


@pytest.mark.parametrize(
    ("invitations", "kind"),
    [
        (["ICLR.cc/2020/Conference/Paper1/-/Official_Review"], "Official_Review"),
        (["ICLR.cc/2019/Conference/-/Paper1027/Official_Review"], "Official_Review"),
        (["ICLR.cc/2017/conference/-/paper12/official/review"], "official/review"),
        (["ICLR.cc/2018/Conference/-/Acceptance_Decision"], "Acceptance_Decision"),
        (["ICLR.cc/2024/Conference/-/Submission", "ICLR.cc/2024/Conference/-/Withdrawn_Submission"], "Submission"),
        (["ICLR.cc/2024/Conference/Submission1/-/Edit", "ICLR.cc/2024/Conference/Submission1/-/Official_Review"], "Official_Review"),
        (["ICLR.cc/2024/Conference/Submission1/Official_Review3/-/Rebuttal"], "Rebuttal"),
        (["ICLR.cc/2024/Conference/Submission1/Official_Review3/-/Review_Revision"], "Review_Revision"),
        (["ICLR.cc/2024/Conference/Submission1/-/Ethics_Review"], "Ethics_Review"),
        (["ICLR.cc/2024/Conference/-/Edit"], "Edit"),
        (["ICLR.cc/2024/Conference/-/On_Paper1/Review"], "On_Paper1/Review"),
    ],
)  # fmt: skip
def test_the_kind_of_a_note_is_the_end_of_its_creating_invitation(invitations, kind):
    assert parse_note_kind(find_creating_invitation({"invitations": invitations})) == kind


@pytest.mark.parametrize(
    ("note", "venue", "outcome"),
    [
        (paper_v2(), V2, "papers"),
        (paper_v2(ending="/Rejected_Submission"), V2, "papers"),
        (paper_v2(ending="/Submission"), V2, "papers"),
        (paper_v2(ending="/Withdrawn_Submission"), V2, "withdrawn"),
        (paper_v2(ending="/Desk_Rejected_Submission"), V2, "desk_rejected"),
        (paper_v2(ending="/Retracted"), V2, "other_status"),
        (paper_v2(venueid="NeurIPS.cc/2024/Conference"), V2, "other_status"),
        (v2("p", "Submission", {"title": "T", "abstract": "A"}), V2, "other_status"),
        (paper_v2() | {"ddate": 1}, V2, "deleted"),
        (paper_v1(), V1, "papers"),
        (paper_v1(venue="Submitted to ICLR 2023", venueid="ICLR.cc/2023/Conference"), V1, "papers"),
        (paper_v1(kind="Withdrawn_Submission", venue="", venueid=""), V1, "withdrawn"),
        (paper_v1(kind="Withdrawn_Submission", venue="ICLR 2023 poster", venueid="ICLR.cc/2023/Conference"), V1, "withdrawn"),
        (paper_v1(kind="Desk_Rejected_Submission"), V1, "desk_rejected"),
        (paper_v1() | {"ddate": 1}, V1, "deleted"),
    ],
)  # fmt: skip
def test_what_becomes_of_a_submission_and_its_review(note, venue, outcome):
    review = v2("r", "Official_Review", REVIEW_V2) if venue is V2 else v1("r", "Official_Review", REVIEW_V1)
    found = read_notes([review, note], venue)
    kept = outcome == "papers"
    expected = {outcome: 1, ("reviews" if kept else "replies_left_out"): 1}
    assert {name: count for name, count in happened(found).items() if name != "no_rating"} == expected
    assert found.papers == ([Paper("p", "T", "A")] if kept else [])
    assert bool(found.strange) == (outcome == "other_status")


@pytest.mark.parametrize(
    ("venue", "note", "text", "rating"),
    [
        (V2, v2("r", "Official_Review", REVIEW_V2), "Summary:\nS.\n\nStrengths:\n+\n\nWeaknesses:\n-\n\nQuestions:\n?", 6.0),
        (V2, v2("r", "Official_Review", {"questions": " ?\n", "strengths": "\n ", "summary": "", "rating": 8}), "Questions:\n?", 8.0),
        (V2, v2("r", "Official_Review", {"weaknesses": "a\n\nb"}), "Weaknesses:\na\n\nb", None),
        (V2, v2("r", "Official_Review", {"weaknesses": "a", "rating": ""}), "Weaknesses:\na", None),
        (V2, v2("r", "Official_Review", {"weaknesses": "a", "rating": None}), "Weaknesses:\na", None),
        (V1, v1("r", "Official_Review", {"summary_of_the_review": "a", "recommendation": ""}), "Summary Of The Review:\na", None),
        (
            V1,
            v1("r", "Official_Review", REVIEW_V1 | {"recommendation": "5: below", "correctness": "3", "flag_for_ethics_review": ["NO."]}),
            "Summary Of The Paper:\nS.\n\nStrength And Weaknesses:\n+-\n\nClarity, Quality, Novelty And Reproducibility:\nC.\n\nSummary Of The Review:\nR.",
            5.0,
        ),
        (  # a single field without a heading stands alone
            V2020,
            v1("r", "Official_Review", {"title": "Review #1", "review": " Fine.\n", "rating": "8: Accept"})
            | {"invitation": f"{V2020.group}/Paper1/-/Official_Review"},
            "Fine.",
            8.0,
        ),
    ],
)  # fmt: skip
def test_a_review_is_its_fields_under_their_headings_in_the_forms_order(venue, note, text, rating):
    paper = paper_v2() if venue is V2 else paper_v1() | {"invitation": f"{venue.group}/-/Blind_Submission"}
    found = read_notes([paper, note], venue)
    assert found.reviews == [Review("r", "p", "human", text, None, rating)]
    assert found.strange == []
    assert found.counts["no_rating"] == (rating is None)


EDIT, REVISION = "Submission1/-/Edit", "Submission1/Official_Review1/-/Review_Revision"


@pytest.mark.parametrize(
    ("invitations", "outcome"),
    [
        *(([f"Submission1/Official_Review2/-/{kind}"], "other_replies")
          for kind in ("Official_Comment", "Public_Comment", "Meta_Review", "Ethics_Review", "Rebuttal", "Review_Revision")),
        ([EDIT, "Submission1/-/Official_Review", REVISION], "reviews"),
    ],
)  # fmt: skip
def test_a_reply_is_of_the_kind_that_created_it_however_often_it_was_edited(invitations, outcome):
    reply = v2("r", "Any", REVIEW_V2) | {"invitations": [f"{V2.group}/{place}" for place in invitations]}
    found = read_notes([paper_v2(), reply], V2)
    assert (happened(found), found.strange) == ({"papers": 1, outcome: 1}, [])


def test_what_kind_of_paper_it_is_is_kept_as_the_notes_state_it():
    told = {"primary_area": {"value": "optimization"}, "track": {"value": ["main"]}, "decision": {"value": "no"}}
    paper = paper_v2()
    paper["content"] |= told
    found = read_notes([paper, v2("d", "Decision", {"decision": "Reject"})], V2)
    assert found.strata == {("p", "primary area"): "optimization", ("p", "decision"): "Reject"}
    assert (found.decisions, happened(found)) == ({"p": "Reject"}, {"papers": 1, "decisions": 1})
    assert found.unclear == {}, "a stratum that is no text is left out, and no fault of the notes"


@pytest.mark.parametrize(
    ("note", "outcome", "says"),
    [
        (v2("r", "Official_Review", {"rating": 6}), "no_text", "a review without any text: r"),
        (v2("r", "Official_Review", REVIEW_V2, forum="q"), "unknown_forum", "the Official_Review of a submission that is not there: r"),
        (v2("d", "Decision", {"decision": "Reject"}, forum="q"), "unknown_forum", "the Decision of a submission that is not there: d"),
        (v2("d", "Decision", {"comment": "x"}), "unreadable", "a decision without decision: d"),
        (v2("r", "Second_Opinion", REVIEW_V2), "unknown_kind", "kind 'Second_Opinion' is not known: r"),
        (v2("r", "Edit", REVIEW_V2), "unknown_kind", "kind 'Edit' is not known: r"),
        (v2("p", "Official_Review", REVIEW_V2, forum="p"), "duplicate", "this id was there before; the first note is kept: p"),
        (v2("r", "Submission", {"title": "T"}, forum="p"), "unreadable", "a submission in the forum of another: r"),
        (v1("r", "Official_Review", REVIEW_V1), "unreadable", "no invitation as notes of API v2 have it: r"),
        (v2("r", "Official_Review", REVIEW_V2) | {"invitations": []}, "unreadable", "no invitation as notes of API v2 have it: r"),
        (v2("r", "Official_Review", REVIEW_V2) | {"invitations": [3]}, "unreadable", "no invitation as notes of API v2 have it: r"),
        (v2("r", "Official_Review", REVIEW_V2) | {"invitations": ["ICLR.cc/2024/ConferenceX/-/Official_Review"]}, "other_venue", f"its invitation does not begin with {V2.group}/: r"),
        (v2("r", "Official_Review", REVIEW_V2) | {"forum": None}, "unreadable", "no usable forum or content: r"),
        (v2("r", "Official_Review", REVIEW_V2) | {"content": None}, "unreadable", "no usable forum or content: r"),
        (v2("../r x", "Official_Review", REVIEW_V2), "unreadable", "no usable id: note 2: '../r x'"),
        ({"content": {}}, "unreadable", "no usable id: note 2: None"),
        ("a note", "unreadable", "no usable id: note 2: None"),
    ],
)  # fmt: skip
def test_a_note_that_cannot_be_used_is_counted_and_reported_with_its_id(note, outcome, says):
    found = read_notes([paper_v2(), note], V2)
    assert happened(found) == {"papers": 1, outcome: 1}
    assert found.strange == [says]
    assert (found.reviews, found.decisions) == ([], {})


@pytest.mark.parametrize(
    ("content", "says", "text", "rating"),
    [
        ({"novelty": {"value": "high"}}, "review field 'novelty' is not known: r", None, 6.0),
        ({"rating": {"value": 7}}, "rating 7 is not on the scale: r", None, None),
        ({"rating": {"value": "good"}}, "rating 'good' is not on the scale: r", None, None),
        ({"rating": {"value": True}}, "rating True is not on the scale: r", None, None),
        ({"rating": 6}, "field 'rating' has not the form of API v2: r", None, None),
        ({"questions": "?"}, "field 'questions' has not the form of API v2: r", "Summary:\nS.\n\nStrengths:\n+\n\nWeaknesses:\n-", 6.0),
        ({"questions": {"value": ["?"]}}, "field 'questions' is not text: r", "Summary:\nS.\n\nStrengths:\n+\n\nWeaknesses:\n-", 6.0),
        ({"questions": {"value": "\ud800"}}, "field 'questions' is not valid Unicode: r", "Summary:\nS.\n\nStrengths:\n+\n\nWeaknesses:\n-", 6.0),
    ],
)  # fmt: skip
def test_a_field_that_is_not_understood_is_reported_and_the_rest_kept(content, says, text, rating):
    note = v2("r", "Official_Review", REVIEW_V2)
    note["content"] |= content
    found = read_notes([paper_v2(), note], V2)
    assert found.strange == [says]
    usual = "Summary:\nS.\n\nStrengths:\n+\n\nWeaknesses:\n-\n\nQuestions:\n?"
    assert [(review.text, review.rating) for review in found.reviews] == [(text or usual, rating)]


def test_a_field_of_the_other_api_is_reported_and_so_are_second_notes_and_decisions_many_of_one_fault_in_one_line():
    found = read_notes([paper_v1(title={"value": "T"})], V1)
    assert found.strange == ["field 'title' has not the form of API v1: p", "a submission without title: p"]
    assert found.papers == [Paper("p", "", "A")]
    decisions = [v2(name, "Decision", {"decision": said}) for name, said in (("d", "Reject"), ("e", "Accept"))]
    blank = [v2(f"r{n}", "Official_Review", {}) for n in range(8)]
    found = read_notes([paper_v2(), paper_v2(title="U"), *decisions, *blank], V2)
    assert (found.papers, found.decisions) == ([Paper("p", "T", "A")], {"p": "Reject"})
    assert happened(found) == {"papers": 1, "decisions": 1, "duplicate": 1, "second_decision": 1, "no_text": 8}
    assert [line.rpartition(": ")[2] for line in found.strange] == ["p", "e", "r0, r1, r2, r3, r4 and 3 more"]
    assert found.unclear["a review without any text"] == [f"r{n}" for n in range(8)]
    assert found.counts["unclear"] == 2 + 8


@pytest.mark.parametrize(
    ("notes", "venue", "says"),
    [
        ([], V2, "no submission of ICLR 2024 is among 0 notes"),
        ([paper_v1()], V2, "among 1 notes; no invitation as notes of API v2 have it: p"),
        ([paper_v2()], V1, "among 1 notes; no invitation as notes of API v1 have it: p"),
        (
            [paper_v2()],
            find_venue_entry("ICLR", 2025),
            "its invitation does not begin with ICLR.cc/2025/Conference/: p",
        ),
        ([v2("r", "Official_Review", REVIEW_V2)], V2, "the first is of kind 'Official_Review'"),
    ],
)
def test_notes_without_any_submission_of_the_venue_are_refused_in_one_line(notes, venue, says):
    with one_line(says, kind=SourceError):
        read_notes(notes, venue)


def test_new_records_are_told_from_known_and_changed_ones():
    reviews = (v2(name, "Official_Review", REVIEW_V2) for name in "rs")
    found = read_notes([paper_v2("p"), paper_v2("q"), *reviews], V2)
    first = select_new_records(found, {}, {})
    assert (first.papers, first.reviews) == (found.papers, found.reviews)
    assert (first.added, first.unchanged, first.refusals) == (4, 0, [])
    papers = {paper.paper_id: paper for paper in found.papers}
    reviews = {review.review_id: review for review in found.reviews}
    again = select_new_records(found, papers, reviews)
    assert (again.papers, again.reviews, again.added, again.unchanged, again.refusals) == ([], [], 0, 4, [])
    papers |= {"p": Paper("p", "T", "A", "its text", 3), "q": Paper("q", "another", "A")}
    changed = select_new_records(found, papers, {"r": Review("r", "p", "human", "other")})
    assert ([review.review_id for review in changed.reviews], changed.added, changed.unchanged) == (["s"], 1, 1)
    assert [(refusal.number, refusal.item) for refusal in changed.refusals] == [(2, "paper q"), (1, "review r")]


some, maybe = st.sampled_from, st.one_of
loose = maybe(
    st.none(), st.text(max_size=3), st.integers(), st.lists(st.text(max_size=2), max_size=2),
    st.dictionaries(some(["value", "x"]), maybe(st.text(max_size=3), st.integers(0, 9), st.none()), max_size=2),
)  # fmt: skip
kinds = ["Submission", "Withdrawn_Submission", "Official_Review", "Decision", "Rebuttal", "Edit", "Other"]
names = ["title", "venueid", "summary", "rating", "decision", "odd"]
parts = {
    "id": maybe(some(["p", "q", "r", "s"]), loose),
    "forum": maybe(some(["p", "q"]), loose),
    "invitations": maybe(st.lists(some([f"{V2.group}/-/{kind}" for kind in kinds]), max_size=3), loose),
    "content": maybe(st.dictionaries(some(names), loose, max_size=4), loose),
    "ddate": maybe(st.none(), st.integers()),
}
anything = st.fixed_dictionaries({}, optional=parts)


AI = {"ai_reviewers": (("*/-/AI_Review", "venue-ai"), ("*/AI_Reviewer*", "venue-ai"))}


@pytest.mark.parametrize(
    ("venue", "paper", "note", "outcome"),
    [
        # A kind of its own, and the form of human reviews with a signature of its own, under both APIs.
        (V1, paper_v1(), v1("r", "AI_Review", REVIEW_V1), "ai_reviews"),
        (V2, paper_v2(), v2("r", "AI_Review", REVIEW_V2), "ai_reviews"),
        (V1, paper_v1(), v1("r", "Official_Review", REVIEW_V1, signatures=["c/Paper1/AI_Reviewer"]), "ai_reviews"),
        (V2, paper_v2(), v2("r", "Official_Review", REVIEW_V2, signatures=["c/Submission1/AI_Reviewer_1"]), "ai_reviews"),
        (V1, paper_v1(), v1("r", "Official_Review", REVIEW_V1, signatures=["c/Paper1/AnonReviewer3"]), "reviews"),
        (V2, paper_v2(), v2("r", "Official_Review", REVIEW_V2, signatures=["c/Submission1/Reviewer_AbCd"]), "reviews"),
        (V2, paper_v2(), v2("r", "Official_Review", REVIEW_V2, signatures="no list"), "reviews"),
        (V2, paper_v2(), v2("r", "Official_Comment", REVIEW_V2, signatures=["c/AI_Reviewer"]), "other_replies"),
        (V2, paper_v2(), v2("r", "AI_Review", {"summary": " "}), "no_text"),
        (V2, paper_v2(), v2("r", "AI_Review", REVIEW_V2, forum="gone"), "unknown_forum"),
        (V2, paper_v2(), v2("r", "AI_Review", REVIEW_V2) | {"ddate": 1}, "deleted"),
    ],
)  # fmt: skip
def test_a_venues_own_ai_reviewer_is_a_candidate_and_no_human(venue, paper, note, outcome):
    found = read_notes([note, paper], venue.model_copy(update=AI))
    assert happened(found) | {"no_rating": 0} == {"papers": 1, outcome: 1, "no_rating": 0}
    candidate = {"ai_reviews": ["venue-ai"], "reviews": ["human"]}.get(outcome, [])
    assert [review.candidate for review in found.reviews] == candidate
    unnamed = read_notes([note, paper], venue)
    assert unnamed.counts["ai_reviews"] == 0, "without the entry's patterns no note is an AI reviewer's"


def as_recorded(number: int, reviewer: str) -> dict[str, object]:
    """A reply in the form of Agents4Science 2025, whose three AI reviewers sign the form of human reviews."""
    paper = f"{V2.group}/Submission{number}"
    said = {"title": "AIRev 3", "summary": "Summary by AIRev 3", "strengths_and_weaknesses": f"By {reviewer}.",
            "questions": "N/A", "limitations": "N/A", "confidence": 5, "ethical_concerns": "", "overall": 2,
            "quality": 0, "clarity": 0, "significance": 0, "originality": 0, "ai_review_score": 2}  # fmt: skip
    return {
        "id": reviewer, "forum": "p", "replyto": "p", "content": {name: {"value": value} for name, value in said.items()},
        "invitations": [f"{paper}/-/Official_Review", f"{V2.group}/-/Edit"],
        "parentInvitations": f"{V2.group}/-/Official_Review", "cdate": 1759775238831, "mdate": 1760632146431,
        "nonreaders": [], "signatures": [f"{paper}/{reviewer}"], "writers": [V2.group, f"{paper}/{reviewer}"],
        "readers": ["everyone"], "license": "CC BY 4.0",
    }  # fmt: skip


def test_ai_reviewers_that_sign_the_form_of_humans_are_candidates_a_second_review_is_told_and_fields_may_be_their_own():
    told = tuple((f"*/Reviewer_AIRev{number}", f"airev-{number}") for number in (1, 2, 3))
    venue = V2.model_copy(update={"ai_reviewers": told, "ai_text": (("strengths_and_weaknesses", ""),)})
    found = read_notes([paper_v2(), *(as_recorded(1, f"Reviewer_AIRev{number}") for number in (3, 2, 1))], venue)
    assert happened(found) == {"papers": 1, "ai_reviews": 3}
    assert {review.candidate: review.text for review in found.reviews} == {
        f"airev-{number}": f"By Reviewer_AIRev{number}." for number in (1, 2, 3)
    }
    venue = V2.model_copy(update=AI | {"ai_text": (("assessment", "Assessment"),)})
    notes = [paper_v2(), *(v2(name, "AI_Review", {"assessment": f"Text {name}."}) for name in ("r", "s"))]
    found = read_notes(notes, venue)
    assert happened(found) == {"papers": 1, "ai_reviews": 1, "second_ai_review": 1}
    assert [review.text for review in found.reviews] == ["Assessment:\nText r."]
    assert found.strange == ["the paper has a review by venue-ai already; the first is kept: s"]
    assert list_review_fields(notes, venue) == []


def test_the_thinking_of_a_venues_own_ai_reviewer_is_no_review_and_is_told():
    venue = V2.model_copy(update=AI | {"ai_text": (("assessment", "Assessment"),)})
    texts = {"r": "<think>No baselines.</think>\n\nClear proofs.", "s": "<think>No baselines."}
    notes = [paper_v2(), paper_v2("q"), *(v2(name, "AI_Review", {"assessment": text}, forum="pq"[name == "s"])
                                          for name, text in texts.items())]  # fmt: skip
    found = read_notes(notes, venue)
    assert happened(found) == {"papers": 2, "ai_reviews": 1, "no_text": 1}
    assert [review.text for review in found.reviews] == ["Assessment:\nClear proofs."]
    assert "28 characters of thinking, which are not part of a review: r" in found.strange


@given(st.lists(st.one_of(anything, loose), max_size=12))
def test_whatever_the_notes_each_is_counted_once(notes):
    found = read_notes([paper_v2("p0"), *notes], V2)
    assert found.counts["notes"] == 1 + len(notes) == sum(found.counts[name] for name in OUTCOMES)
    kept = [len(found.papers), len(found.reviews), len(found.decisions)]
    assert [found.counts[name] for name in ("papers", "reviews", "decisions")] == kept
    known = {paper.paper_id for paper in found.papers}
    assert {review.paper_id for review in found.reviews} | set(found.decisions) <= known
    assert all(review.text and review.text.strip() for review in found.reviews)
    kept_apart = {"withdrawn", "desk_rejected", "deleted", "replies_left_out", "other_replies"}
    quiet = {"papers", "reviews", "decisions"} | kept_apart
    told = sum(found.counts[name] for name in set(OUTCOMES) - quiet)
    assert found.strange or not told
    assert len(found.strange) == len(found.unclear) and found.counts["unclear"] >= told


MIXED = [paper_v2(), paper_v2("q"), v2("d", "Decision", {"decision": "Reject"}),
         *(v2(f"r{n}", "Official_Review", REVIEW_V2, forum="pq"[n % 2]) for n in range(4))]  # fmt: skip


@given(st.permutations(MIXED))
def test_the_order_of_the_notes_does_not_matter(notes):
    found = read_notes(copy.deepcopy(notes), V2)
    assert {review.review_id: review.paper_id for review in found.reviews} == dict(r0="p", r1="q", r2="p", r3="q")
    assert (happened(found), found.strange) == ({"papers": 2, "reviews": 4, "decisions": 1}, [])


def test_the_sample_notes_are_made_of_their_sources_and_give_the_papers_and_reviews_of_the_sample_tables():
    assert script("make_notes").made() == (ROOT / "data" / "sample" / "notes.jsonl").read_text(encoding="utf-8")
    found = read_notes(read_notes_file(SIXTEEN / "notes.jsonl"), find_venue_entry("SAMPLE", 2026))
    papers = read_new_papers(SIXTEEN / "papers.jsonl", {}).papers
    reviews = read_new_reviews(SIXTEEN / "reviews.jsonl", {}, {}, [paper.paper_id for paper in papers]).reviews
    assert [replace(paper, text=None, source_row=None) for paper in papers] == found.papers
    assert found.reviews == reviews
    assert happened(found) == {"papers": 16, "reviews": 68, "decisions": 16}
    assert set(found.decisions.values()) == {"Accept (poster)", "Reject"}
    assert found.strange == []


@pytest.mark.shared
@pytest.mark.parametrize(
    ("year", "counts", "ratings"),
    [
        (2020, {"papers": 300, "reviews": 909}, {1: 123, 3: 405, 6: 299, 8: 82}),
        (2023, {"papers": 73, "reviews": 219, "no_rating": 219}, {None: 219}),
        (2024, {"papers": 40, "reviews": 157, "decisions": 40}, {1: 4, 3: 28, 5: 42, 6: 49, 8: 34}),
    ],
)
def test_all_real_notes_become_records(year, counts, ratings):
    raw = read_notes_file(real("openreview", f"iclr{year}.notes.jsonl.gz"))
    venue = find_venue_entry("ICLR", year)
    found = read_notes(raw, venue)
    assert (happened(found), found.strange) == (counts, [])
    assert Counter(review.rating for review in found.reviews) == ratings
    by_id = {note["id"]: note["content"] for note in raw}
    for review in found.reviews:
        content = by_id[review.review_id]
        for field, heading in venue.text:
            part = content[field]["value"] if venue.api == 2 else content[field]
            assert part.strip() in review.text and (heading in review.text or not part.strip())
    for paper in found.papers:
        assert paper.title and paper.abstract
    if year == 2024:
        assert Counter(found.decisions.values()) == {"Reject": 20, "Accept (poster)": 14, "Accept (spotlight)": 6}


@pytest.mark.shared
def test_raw_forums_of_api_v1_become_records():
    venue = VenueYear(
        venue="CDNNRIA", year=2018, api=1, group="NIPS.cc/2018/Workshop/CDNNRIA", submissions=("Blind_Submission",), reviews=("Official_Review",),
        decisions=("Decision",), other_replies=("Official_Comment", "Comment"), status="invitation", text=(("review", ""),), rating="rating",
        rating_scale=(1, 2, 3, 4, 5), confidence="confidence", confidence_scale=(1, 2, 3), other_fields=("title",), evidence="real notes",
        note="its two forums",
    )  # fmt: skip
    forums = json.loads(real("openreview", "v1-raw-forums", "example_output.json").read_text())[0]["submissions"]
    notes = [note for forum in forums for note in [*forum["notes"], forum]]
    kinds = Counter(parse_note_kind(note["invitation"]) for note in notes)
    found = read_notes(notes, venue)
    comments = kinds["Official_Comment"] + kinds["Comment"]
    assert happened(found) == {"papers": 2, "reviews": 4, "decisions": 2, "other_replies": comments}
    assert found.strange == []
    assert found.reviews[0].rating == 4.0
    assert set(found.decisions.values()) == {"accept"}


RATING = "rating 'Synthetic rating text 6.' is not on the scale"
DECIDED = {"papers": 1, "decisions": 1}


@pytest.mark.shared
@pytest.mark.parametrize(
    ("file", "venue", "year", "outcomes", "decision", "unclear"),
    [
        ("v1/iclr-2018/forum-rejected.json", "ICLR", 2018, DECIDED | {"other_replies": 1}, "Reject", {}),
        ("v1/iclr-2019/forum-rejected-meta-review.json", "ICLR", 2019, DECIDED | {"reviews": 1, "no_rating": 1}, "Reject", {RATING: ["SkeAUrZt3Q"]}),
        ("v1/iclr-2020/forum-accepted-talk.json", "ICLR", 2020, DECIDED | {"other_replies": 1}, "Accept (Talk)", {}),
        ("v1/iclr-2021/forum-rejected-no-venueid.json", "ICLR", 2021, DECIDED | {"other_replies": 1}, "Reject", {}),
        ("v1/iclr-2021/note-withdrawn-with-accepted-venue.json", "ICLR", 2021, {"withdrawn": 1}, None, {}),
        ("v1/iclr-2022/note-withdrawn-empty-venueid.json", "ICLR", 2022, {"withdrawn": 1}, None, {}),
        ("v1/iclr-2023/note-rejected-bare-venueid.json", "ICLR", 2023, {"papers": 1}, None, {}),
        ("v1/neurips-2021/note-rejected.json", "NeurIPS", 2021, {"papers": 1}, None, {}),
        ("v2/iclr-2024/notes-rejected.json", "ICLR", 2024, {"papers": 1}, None, {}),
        ("v2/iclr-2024/notes-withdrawn.json", "ICLR", 2024, {"withdrawn": 1}, None, {}),
        ("v2/iclr-2024/notes-desk-rejected.json", "ICLR", 2024, {"desk_rejected": 1}, None, {}),
    ],
)  # fmt: skip
def test_recorded_notes_are_read_by_the_rules_of_their_year(file, venue, year, outcomes, decision, unclear):
    found = read_notes(recorded(file)["notes"], find_venue_entry(venue, year))
    assert happened(found) == outcomes
    assert found.unclear == unclear
    assert [*found.decisions.values()] == ([decision] if decision else [])
    assert all(review.text and review.rating is None for review in found.reviews)


@pytest.mark.shared
def test_a_recorded_note_of_another_track_is_told_and_a_recorded_group_says_what_the_entry_of_its_venue_says():
    with pytest.raises(SourceError, match="its invitation does not begin with NeurIPS.cc/2024/Conference/: 4RTxKGUUgc"):
        read_notes(recorded("v2/neurips-2024/notes-db-rejected.json")["notes"], find_venue_entry("NeurIPS", 2024))
    group = recorded("v2/iclr-2025/group-conference.json")["groups"][0]["content"]
    content, venue = {key: field["value"] for key, field in group.items()}, find_venue_entry("ICLR", 2025)
    assert venue.listings == (content["submission_id"],)
    assert venue.submissions == (content["submission_name"],)
    assert (venue.decisions, venue.decision) == ((content["decision_name"],), content["decision_field_name"])
    endings = {venue.group, content["submission_venue_id"], content["rejected_venue_id"]}
    assert {f"{venue.group}{ending}" for ending in venue.kept} == endings
    apart = [content["withdrawn_venue_id"], content["desk_rejected_venue_id"]]
    assert [f"{venue.group}/{kind}" for kind in (*venue.withdrawn, *venue.desk_rejected)] == apart


def recorded(file):
    return json.loads(real("openreview", "recorded", file).read_text())["response"]["json"]

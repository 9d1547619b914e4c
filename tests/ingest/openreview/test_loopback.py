"""The loopback OpenReview, driven by the real openreview-py: pages, versions, files, login, limits, and every fault."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from collections import Counter
from types import SimpleNamespace

import openreview
import pytest
import requests

from gre_bench.core.errors import SettingsError
from gre_bench.core.records import Edition
from gre_bench.ingest.openreview.loopback import fixture_store, server
from gre_bench.ingest.openreview.loopback.fixture_store import REPORTED_LIMITS, Limit
from gre_bench.ingest.openreview.loopback.server import FAULTS, Account, Fault, Loopback, fault
from gre_bench.ingest.records.row_files import read_notes_file
from gre_bench.ingest.snapshot.snapshot import make_snapshot
from tests.conftest import ROOT, SHARED, SIXTEEN

OPENREVIEW = SHARED / "openreview"
RECORDED = sorted(
    path.relative_to(OPENREVIEW).as_posix()
    for path in (OPENREVIEW / "recorded").rglob("*.json")
    if not path.name.startswith("group-")
)
SAMPLE = SIXTEEN / "notes.jsonl"
GROUPS = {1: "CONF.cc/2020/Conference", 2: "CONF.cc/2030/Conference"}


def made(api, papers, reviews=2):
    """Notes of a venue that never was, in the form of one API."""
    return [note for number in range(papers) for note in _forum(api, f"paper{number:05d}", number, reviews)]


def _forum(api, paper, number, reviews):
    group, word = GROUPS[api], "Paper" if api == 1 else "Submission"
    yield _note(
        api,
        paper,
        paper,
        f"{group}/-/{'Blind_' * (api == 1)}Submission",
        {"title": f"T{number}", "venueid": group, "pdf": "/pdf/x.pdf"},
        number,
        10_000 * number,
    )
    for place in range(reviews):
        content = {"review": f"Review {place} of {paper}, at some length.", "rating": "6: fine"}
        yield _note(
            api,
            f"{paper}r{place}",
            paper,
            f"{group}/{word}{number}/-/Official_Review",
            content,
            place,
            10_000 * number + 1000 + place,
        )


def _note(api, note_id, forum, invitation, content, number, later):
    dates = {key: 1_600_000_000_000 + later for key in ("cdate", "tcdate", "tmdate")}
    note = {
        "id": note_id,
        "forum": forum,
        "number": number,
        "readers": ["everyone"],
        "signatures": [invitation.partition("/-/")[0]],
        **dates,
    }
    if note_id != forum:
        note["replyto"] = forum
    if api == 1:
        return note | {"invitation": invitation, "content": content, "ddate": None}
    return note | {
        "invitations": [invitation],
        "domain": GROUPS[2],
        "content": {key: {"value": value} for key, value in content.items()},
        "version": 2,
    }


def client(loopback, api, **more):
    if api == 1:
        return openreview.Client(baseurl=loopback.v1, **more)
    return openreview.api.OpenReviewClient(baseurl=loopback.v2, **more)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    """No account of the one who runs the tests; the hosts that the client takes for its own are nobody's."""
    for name in ("OPENREVIEW_USERNAME", "OPENREVIEW_PASSWORD"):
        monkeypatch.delenv(name, raising=False)


def plain(note, api):
    """A note of the client as it was served, as far as it keeps it."""
    written = note.to_json() if hasattr(note, "to_json") else note
    return {
        key: written[key]
        for key in ("id", "forum", "content", "tcdate", "number", "replyto")
        if written.get(key) is not None
    }


def served(note):
    return {
        key: note[key] for key in ("id", "forum", "content", "tcdate", "number", "replyto") if note.get(key) is not None
    }


def listed(loopback, api, **query):
    invitation = f"{GROUPS[api]}/-/{'Blind_' * (api == 1)}Submission"
    return client(loopback, api).get_all_notes(invitation=invitation, **query)


@pytest.mark.parametrize("api", [1, 2])
@pytest.mark.parametrize("papers", [0, 1, 999, 1000, 2001])
def test_a_listing_of_any_length_comes_whole_with_one_request_a_page_and_one_more(api, papers):
    notes = made(api, papers, reviews=0)
    with Loopback(notes) as loopback:
        found = listed(loopback, api)
        assert [note.id for note in found] == [note["id"] for note in notes]
        assert loopback.counts == {"notes": -(-papers // 1000) + 1}


@pytest.mark.parametrize("api", [1, 2])
def test_details_bring_the_replies_of_a_forum_with_its_listing(api):
    notes = made(api, 30)
    direct = {note["id"] for note in notes if note["id"] != note["forum"]}
    under = dict(notes[1], id="answer", replyto=notes[1]["id"])
    with Loopback([*notes, under]) as loopback:
        found = listed(loopback, api, details="replies,directReplies,replyCount")
        replies = {reply["id"]: reply for paper in found for reply in paper.details["replies"]}
        assert replies == {note["id"]: note for note in [*notes, under] if note["id"] != note["forum"]}
        assert {reply["id"] for paper in found for reply in paper.details["directReplies"]} == direct
        assert [paper.details["replyCount"] for paper in found[:2]] == [3, 2]
        assert loopback.counts == {"notes": 2}


@pytest.mark.parametrize("api", [1, 2])
def test_pages_by_offset_bring_the_same_as_pages_by_cursor(api):
    notes = made(api, 1200, reviews=0)
    with Loopback(notes) as loopback:
        who = client(loopback, api)
        by_offset = list(
            openreview.tools.iterget(
                who.get_notes, invitation=notes[0].get("invitation") or notes[0]["invitations"][0], sort="number:asc"
            )
        )
        assert [note.id for note in by_offset] == [note.id for note in listed(loopback, api)]


def test_a_stream_brings_all_notes_at_once_in_pieces_of_unannounced_length():
    notes = made(2, 1500, reviews=0)
    with Loopback(notes) as loopback:
        assert len(client(loopback, 2).get_notes(domain=GROUPS[2], stream=True)) == 1500
        response = requests.get(f"{loopback.v2}/notes?stream=true", timeout=60)
        assert response.headers["transfer-encoding"] == "chunked"
        assert loopback.counts == {"notes": 2}


@pytest.mark.parametrize(
    ("api", "query", "ids"),
    [
        (1, "forum=paper00001", {"paper00001", "paper00001r0", "paper00001r1"}),
        (2, "forum=paper00001", {"paper00001", "paper00001r0", "paper00001r1"}),
        (2, "replyto=paper00001", {"paper00001r0", "paper00001r1"}),
        (2, "id=paper00002r1", {"paper00002r1"}),
        (2, f"content.venueid={GROUPS[2]}", {"paper00000", "paper00001", "paper00002"}),
        (2, "number=2&content.title=T2", {"paper00002"}),
        (2, "mintcdate=1600000020000", {"paper00002", "paper00002r0", "paper00002r1"}),
        (1, f"invitation={GROUPS[1]}/Paper2/-/Official_Review", {"paper00002r0", "paper00002r1"}),
        (1, f"invitation={GROUPS[1]}/Paper2.*", {"paper00002r0", "paper00002r1"}),
        (2, f"invitation={GROUPS[2]}/Submission2/-/Official_Review", {"paper00002r0", "paper00002r1"}),
        (2, f"invitation={GROUPS[2]}/Submission2.*", set()),
        (2, "sort=id&limit=2&after=paper00001r1", {"paper00002", "paper00002r0"}),
        (2, "sort=id&limit=2&after=paper00001zzz", {"paper00002", "paper00002r0"}),
        (2, "sort=tcdate:desc&limit=1", {"paper00002r1"}),
        (2, "limit=0", set()),
    ],
)
def test_a_query_leaves_what_it_asks_for(api, query, ids):
    with Loopback(made(api, 3)) as loopback:
        response = requests.get(f"{loopback.v1 if api == 1 else loopback.v2}/notes?{query}", timeout=60)
        assert {note["id"] for note in response.json()["notes"]} == ids


@pytest.mark.parametrize(
    ("api", "query", "count"),
    [
        (1, "", 3),
        (1, "limit=1", 3),
        (2, "", None),
        (2, "limit=1", None),
        (2, "offset=0", 3),
        (2, "limit=1&count=true", 3),
        (2, "count=false", None),
    ],
)
def test_the_count_is_always_told_by_v1_and_by_v2_where_it_is_asked_for(api, query, count):
    with Loopback(made(api, 1)) as loopback:
        assert (
            requests.get(f"{loopback.v1 if api == 1 else loopback.v2}/notes?{query}", timeout=60).json().get("count")
            == count
        )


@pytest.mark.parametrize(
    ("api", "path", "status", "name", "says"),
    [
        (2, "/notes?limit=1001", 400, "ValidationError", "limit must be <= 1000"),
        (2, "/notes?limit=many", 400, "ValidationError", "limit must be integer"),
        (2, "/notes?venueid=x", 400, "ValidationError", "property venueid must NOT be given"),
        (2, "/notes?sort=beauty", 400, "ValidationError", "sort must be one of"),
        (2, "/notes?after=nobody", 400, "ValidationError", "not in the listing"),
        (1, "/notes?invitation=X/Paper.*/-/Decision", 400, "ValidationError", "invitation must be a prefix regex"),
        (1, "/notes?id=nobody", 404, "NotFoundError", "Note Not Found: nobody"),
        (2, "/notes?id=nobody", 404, "NotFoundError", "Note Not Found: nobody"),
        (2, "/notes/edits", 400, "ValidationError", "note.id"),
        (2, "/notes/edits?id=nobody", 404, "NotFoundError", "Edit Not Found"),
        (1, "/references?id=nobody", 404, "NotFoundError", "Reference Not Found"),
        (2, "/pdf?id=nobody", 404, "NotFoundError", "Attachment Not Found"),
        (2, "/pdf?id=paper00000", 404, "NotFoundError", "Attachment Not Found"),
        (
            2,
            "/attachment?name=pdf&ids=" + ",".join(f"n{n}" for n in range(51)),
            400,
            "ValidationError",
            "50 unique items",
        ),
        (2, "/nowhere", 404, "NotFoundError", "/nowhere"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_the_services_words(api, path, status, name, says):
    with Loopback(made(api, 1)) as loopback:
        response = requests.get((loopback.v1 if api == 1 else loopback.v2) + path, timeout=60)
        error = response.json()
        assert (response.status_code, error["status"], error["name"]) == (status, status, name)
        assert says in error["message"] and error["details"]["reqId"] in error["message"]


@pytest.mark.parametrize("api", [1, 2])
def test_the_wrong_host_lists_nothing_and_knows_no_note(api):
    notes = made(api, 2)
    with Loopback(notes) as loopback:
        wrong = client(loopback, 3 - api)
        assert wrong.get_all_notes(invitation=f"{GROUPS[api]}/-/{'Blind_' * (api == 1)}Submission") == []
        with pytest.raises(openreview.OpenReviewException, match="NotFoundError"):
            wrong.get_note(notes[0]["id"])


@pytest.mark.parametrize("api", [1, 2])
def test_pdfs_come_one_by_one(api):
    notes = made(api, 2)
    with Loopback(notes, pdf={"paper00000": b"%PDF-1 now"}.get) as loopback:
        who = client(loopback, api)
        assert who.get_pdf("paper00000") == b"%PDF-1 now"
        assert who.get_attachment(id="paper00000", field_name="pdf") == b"%PDF-1 now"
        with pytest.raises(openreview.OpenReviewException, match="NotFoundError"):
            who.get_pdf("paper00001")
        assert loopback.counts == {"pdf": 2, "attachment": 1}


def test_pdfs_come_in_archives_of_fifty_as_the_client_unpacks_them(tmp_path):
    notes = made(2, 101, reviews=0)
    with Loopback(notes, pdf=lambda paper: b"%PDF-1 " + paper.encode()) as loopback:
        files = openreview.tools.get_all_attachments(client(loopback, 2), GROUPS[2], "pdf", str(tmp_path / "out"))
        assert len(files) == 101 and (tmp_path / "out" / "7_pdf.pdf").read_bytes() == b"%PDF-1 paper00007"
        assert loopback.counts == {"notes": 2, "attachment": 3}


def test_an_archive_of_one_is_the_file_and_what_lacks_a_pdf_is_left_out():
    with Loopback(made(2, 3), pdf={"paper00001": b"%PDF-1 a"}.get) as loopback:
        who = client(loopback, 2)
        assert who.get_attachment("pdf", ids=["paper00001"]) == b"%PDF-1 a"
        with zipfile.ZipFile(io.BytesIO(who.get_attachment("pdf", ids=["paper00000", "paper00001"]))) as archive:
            assert {name: archive.read(name) for name in archive.namelist()} == {"1_pdf.pdf": b"%PDF-1 a"}


@pytest.mark.parametrize("api", [1, 2])
def test_a_note_that_was_never_edited_has_one_version_of_its_own_dates(api):
    notes = made(api, 1)
    with Loopback(notes) as loopback:
        who = client(loopback, api)
        only = who.get_references(referent="paper00000r0") if api == 1 else who.get_note_edits("paper00000r0")
        content = only[0].content if api == 1 else only[0].note.content
        assert (len(only), content, only[0].tcdate) == (1, notes[1]["content"], notes[1]["tcdate"])
        assert only[0].id != "paper00000r0"
        again = who.get_reference(only[0].id) if api == 1 else who.get_note_edit(only[0].id)
        assert again.tcdate == only[0].tcdate


@pytest.mark.parametrize("api", [1, 2])
def test_an_edit_adds_a_version_and_changes_the_note(api):
    with Loopback(made(api, 1)) as loopback:
        loopback.fixture_stores[api].edit("paper00000r0", 1_700_000_000_000, rating="8: better")
        who = client(loopback, api)
        note = who.get_note("paper00000r0")
        versions = sorted(
            who.get_references(referent="paper00000r0") if api == 1 else who.get_note_edits("paper00000r0"),
            key=lambda one: one.tcdate,
        )
        new = "8: better" if api == 1 else {"value": "8: better"}
        assert (note.content["rating"], note.tmdate, note.tcdate) == (new, 1_700_000_000_000, 1_600_000_001_000)
        assert [one.tcdate for one in versions] == [1_600_000_001_000, 1_700_000_000_000]
        first, last = [one.content for one in versions] if api == 1 else [one.note.content for one in versions]
        assert first["rating"] in ("6: fine", {"value": "6: fine"})
        assert last == (note.content if api == 1 else {"rating": new})


def test_deleted_notes_are_for_who_asks_for_the_trash_and_new_ones_for_all():
    with Loopback(made(2, 2, reviews=0)) as loopback:
        fixture_store = loopback.fixture_stores[2]
        fixture_store.delete("paper00000")
        fixture_store.add(made(2, 3, reviews=0)[2])
        assert [note.id for note in listed(loopback, 2)] == ["paper00001", "paper00002"]
        assert [note.id for note in listed(loopback, 2, trash=True)] == ["paper00000", "paper00001", "paper00002"]
        assert requests.get(f"{loopback.v2}/notes?id=paper00000", timeout=60).json()["notes"][0]["ddate"]


@pytest.mark.parametrize("api", [1, 2])
def test_an_account_is_asked_for_and_its_token_serves(api, monkeypatch):
    with Loopback(made(api, 1), account=Account("me", "secret")) as loopback:
        monkeypatch.setattr(openreview.tools, "LOCAL_API_V2", loopback.v2)
        stranger = requests.get(f"{loopback.v2}/notes", timeout=60)
        assert (stranger.status_code, stranger.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert "Verifying your browser" in stranger.text
        with pytest.raises(openreview.OpenReviewException, match="Invalid username or password"):
            client(loopback, api, username="me", password="wrong")
        first = client(loopback, api, username="me", password="secret")
        assert first.get_note("paper00000").id == "paper00000"
        other_host = client(loopback, 3 - api, token=first.token)
        assert other_host.profile.id == first.profile.id
        with pytest.raises(openreview.OpenReviewException, match="TokenExpiredError"):
            client(loopback, api, token="made.up.token").get_note("paper00000")
        assert "secret" not in repr(loopback.account)


def test_a_login_asks_for_the_code_of_an_authenticator_app():
    with Loopback(made(2, 1), account=Account("me", "secret", code="123456")) as loopback:
        who = client(
            loopback, 2, username="me", password="secret", mfa_code_provider=lambda method: {"totp": "123456"}[method]
        )
        assert who.get_note("paper00000").id == "paper00000"
        with pytest.raises(openreview.OpenReviewException, match="Invalid verification code"):
            client(loopback, 2, username="me", password="secret", mfa_code_provider=lambda _: "654321")
        assert loopback.counts["mfa"] == 2


@pytest.fixture
def moment(monkeypatch):
    """The time by which windows open and close, alone in a list; it stands still unless a test moves it."""
    moment = [time.time()]
    for module in (fixture_store, server):
        monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: moment[0]))
    return moment


def test_a_limit_is_told_in_headers_and_refuses_with_what_a_reported_refusal_had(moment):
    with Loopback(made(2, 1), limits={"notes": Limit(2, 30.0)}) as loopback:
        answers = [requests.get(f"{loopback.v2}/notes", timeout=60) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 429, 429]
        assert [answer.headers["ratelimit-remaining"] for answer in answers] == ["1", "0", "0", "0"]
        assert answers[0].headers["ratelimit-policy"] == "2;w=30" and answers[0].headers["ratelimit-limit"] == "2"
        assert int(answers[2].headers["retry-after"]) == 30
        error = answers[2].json()
        assert error["message"].startswith(
            "Too many requests: You have made 3 requests, surpassing the limit of 2 requests. Please try again in 30 seconds"
        )
        assert error["details"].keys() == {"limit", "remaining", "resetTime", "used", "current", "reqId"}
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", error["details"]["resetTime"])
        assert requests.get(f"{loopback.v2}/notes/edits?note.id=paper00000", timeout=60).status_code == 200
        assert loopback.early == {"notes": 1}


def test_a_window_opens_again_at_its_end(moment):
    with Loopback(made(2, 1), limits={"notes": Limit(1, 0.3)}) as loopback:
        statuses = [requests.get(f"{loopback.v2}/notes", timeout=60).status_code for _ in range(2)]
        moment[0] += 0.35
        assert [*statuses, requests.get(f"{loopback.v2}/notes", timeout=60).status_code] == [200, 429, 200]
        assert not loopback.early


RETRIED = ("429-retry-after", "429-headers", "500", "502", "503", "504", "reset", "slow", "stall")
RAISED = {
    "truncated": requests.exceptions.ChunkedEncodingError,
    "malformed": requests.exceptions.JSONDecodeError,
    "html": requests.exceptions.JSONDecodeError,
    "challenge": openreview.OpenReviewException,
    "expired-401": openreview.OpenReviewException,
    "expired-403": openreview.OpenReviewException,
}
SEEN_APART = {
    "forbidden",
    "bad-archive",
    "429-body",
    "429-login",
    "wrong-host",
    "short-pages",
    "empty-page",
    "duplicates",
    "shifting",
    "edits",
}


def test_every_fault_is_shown_here():
    assert {*RETRIED, *RAISED} | SEEN_APART == FAULTS.keys()


@pytest.mark.parametrize("name", RETRIED)
def test_a_passing_fault_is_one_that_the_client_comes_through_by_itself(name):
    notes = made(2, 5, reviews=0)
    with Loopback(notes, fault=[fault(name, seconds=0.2)]) as loopback:
        began = time.monotonic()
        assert [note.id for note in listed(loopback, 2)] == [note["id"] for note in notes]
        assert loopback.faults.triggered == {name: 1}
        patient = name in ("slow", "stall")
        assert loopback.counts == {"notes": 2} if patient else loopback.counts["notes"] >= 3
        assert time.monotonic() - began > (0.15 if patient else 0)


@pytest.mark.parametrize("name", RAISED)
def test_a_lasting_fault_is_one_that_the_client_stops_at(name):
    with Loopback(made(2, 5, reviews=0), fault=[fault(name)]) as loopback:
        with pytest.raises(RAISED[name]) as error:
            listed(loopback, 2)
        told = {
            "challenge": "ChallengeRequiredError",
            "expired-401": "TokenExpiredError",
            "expired-403": "TokenExpiredError",
        }
        assert told.get(name, "") in str(error.value)
        assert loopback.faults.triggered == {name: 1} and len(listed(loopback, 2)) == 5


def test_expired_tokens_are_of_no_use_until_the_next_login():
    with Loopback(made(2, 1), account=Account("me", "secret"), fault=[fault("expired-401")]) as loopback:
        first = client(loopback, 2, username="me", password="secret")
        first.get_note("paper00000")
        for _ in range(2):
            with pytest.raises(openreview.OpenReviewException, match="TokenExpiredError"):
                first.get_note("paper00000")
        assert client(loopback, 2, username="me", password="secret").get_note("paper00000").id == "paper00000"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("429-retry-after", "retry-after"),
        ("429-headers", "ratelimit-reset"),
        ("429-body", "resetTime"),
        ("429-login", "words"),
    ],
)
def test_each_429_tells_the_wait_in_its_own_way_alone(name, told):
    with Loopback(made(2, 1), fault=[fault(name, first=1, seconds=7.2)]) as loopback:
        response = (
            requests.post(f"{loopback.v2}/login", json={}, timeout=60)
            if "login" in name
            else requests.get(f"{loopback.v2}/notes", timeout=60)
        )
        ways = {
            "retry-after": response.headers.get("retry-after"),
            "ratelimit-reset": response.headers.get("ratelimit-reset"),
            "resetTime": response.json()["details"].get("resetTime"),
        }
        assert response.status_code == 429
        assert {way for way, value in ways.items() if value is not None} == ({told} if told != "words" else set())
        assert ways.get(told) in ("8", "8", None) or ways[told].endswith("Z")
        assert "Please try again in 8 seconds" in response.json()["message"]


def test_requests_before_the_end_of_a_refusal_are_counted_as_early(moment):
    with Loopback(made(2, 1), fault=[fault("429-body", first=1, seconds=0.3)]) as loopback:
        statuses = [requests.get(f"{loopback.v2}/notes", timeout=60).status_code for _ in range(2)]
        moment[0] += 0.35
        assert [*statuses, requests.get(f"{loopback.v2}/notes", timeout=60).status_code] == [429, 429, 200]
        assert loopback.early == {"notes": 1}


@pytest.mark.parametrize("api", [1, 2])
def test_a_wrong_host_is_empty_however_often_it_is_asked(api):
    with Loopback(made(api, 3), fault=[fault("wrong-host")]) as loopback:
        assert [listed(loopback, api) for _ in range(2)] == [[], []]


@pytest.mark.parametrize("api", [1, 2])
def test_short_pages_are_whole_by_cursor_and_gappy_by_offset(api):
    notes = made(api, 250, reviews=0)
    with Loopback(notes, fault=[fault("short-pages")]) as loopback:
        assert len(listed(loopback, api)) == 250
        assert loopback.counts == {"notes": 4}
        assert len(list(openreview.tools.iterget(client(loopback, api).get_notes, sort="id"))) == 100


@pytest.mark.parametrize("api", [1, 2])
def test_an_empty_page_ends_the_listing_of_who_believes_it(api):
    with Loopback(made(api, 250, reviews=0), fault=[fault("short-pages"), fault("empty-page", first=3)]) as loopback:
        assert len(listed(loopback, api)) == 200
        assert len(listed(loopback, api)) == 250


def test_duplicates_come_with_the_page_after():
    notes = made(2, 250, reviews=0)
    with Loopback(notes, fault=[fault("short-pages"), fault("duplicates")]) as loopback:
        counts = Counter(note.id for note in listed(loopback, 2))
        assert {note for note, count in counts.items() if count > 1} == {"paper00097", "paper00098", "paper00099"}
        assert len(counts) == 250


def test_shifting_pages_lose_a_note_by_offset_and_none_by_cursor():
    notes = made(2, 1100, reviews=0)
    with Loopback(notes, fault=[fault("shifting")]) as loopback:
        by_offset = [note.id for note in openreview.tools.iterget(client(loopback, 2).get_notes, sort="id")]
        assert {note["id"] for note in notes} - set(by_offset) == {"paper01000"}
        assert len(listed(loopback, 2)) == 1100


@pytest.mark.parametrize("api", [1, 2])
def test_edits_between_pages_give_two_reviews_a_later_version(api):
    notes = made(api, 3)
    with Loopback(notes, fault=[fault("edits")]) as loopback:
        before = listed(loopback, api, details="replies")
        after = listed(loopback, api, details="replies")
        texts = [
            {reply["id"]: reply["content"]["review"] for paper in found for reply in paper.details["replies"]}
            for found in (before, after)
        ]
        assert {key for key in texts[0] if texts[0][key] != texts[1][key]} == {"paper00000r0", "paper00002r1"}
        who = client(loopback, api)
        versions = who.get_references(referent="paper00000r0") if api == 1 else who.get_note_edits("paper00000r0")
        assert len(versions) == 2


def test_a_fault_strikes_when_it_is_told_to():
    def triggered(**when):
        return [place for place in range(1, 11) if Fault("x", "", **when).affects(place)]

    assert triggered() == [2]
    assert triggered(first=1, every=4) == [1, 5, 9]
    assert triggered(first=3, every=2, times=2) == [3, 5]


def test_an_unknown_fault_and_a_taken_port_are_told():
    with pytest.raises(SettingsError, match="no fault 'rain'; known are 429-retry-after"):
        fault("rain")
    with Loopback([]) as loopback, pytest.raises(SettingsError, match="cannot be served"):
        Loopback([], port=int(loopback.v1.rpartition(":")[2]))


def test_what_is_no_note_is_not_served_and_what_is_no_json_is_refused():
    odd = [{}, {"id": 3, "forum": "p"}, {"id": "q", "forum": "q"}, {"id": "r", "forum": None}]
    with Loopback(odd, account=Account("me", "secret")) as loopback:
        assert requests.post(f"{loopback.v2}/login", data=b"{", timeout=60).json()["name"] == "ValidationError"
        assert (len(loopback.fixture_stores[1]), len(loopback.fixture_stores[2])) == (1, 0)


def test_the_command_serves_a_snapshot_until_it_is_stopped(tmp_path):
    notes = read_notes_file(SAMPLE)
    paper = notes[0]["forum"]
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1 of the sample")
    make_snapshot(tmp_path / "kept", Edition("SAMPLE", 2026), notes, pdfs={paper: tmp_path / "a.pdf"}, source="a test")
    command = [
        sys.executable,
        "-m",
        "gre_bench.ingest.openreview.loopback",
        str(tmp_path / "kept"),
        "--port",
        "0",
        "--fault",
        "html",
        "--login",
        "--limits",
    ]
    known = {"OPENREVIEW_USERNAME": "me", "OPENREVIEW_PASSWORD": "secret"}
    process = subprocess.Popen(command, cwd=ROOT, env=os.environ | known, stdout=subprocess.PIPE, text=True)
    try:
        lines = [process.stdout.readline() for _ in range(3)]
        url = re.search(r"API v2 \(100 notes\): (\S+)", lines[1])[1]
        who = openreview.api.OpenReviewClient(baseurl=url, username="me", password="secret")
        assert who.get_pdf(paper) == b"%PDF-1 of the sample"
        with pytest.raises(ValueError):
            who.get_note(paper)
        assert who.get_note(paper).id == paper
    finally:
        process.send_signal(signal.SIGINT)
    assert process.wait() == 0
    assert process.stdout.read() == "stopped; requests: 1 login, 2 notes, 1 pdf\n"


@pytest.mark.shared
@pytest.mark.skipif(not RECORDED, reason="the recorded responses are not on this machine")
@pytest.mark.parametrize("file", RECORDED or ["none"])
def test_answers_have_the_form_of_those_that_were_recorded(file):
    held = json.loads((OPENREVIEW / file).read_text())
    recorded, url = held["response"], held["request"]["url"]
    api = 2 if "api2." in url else 1
    notes = recorded.get("json", {}).get("notes", [])
    limits = {"notes": REPORTED_LIMITS["notes"]} if api == 2 else {}
    with Loopback(notes, account=Account("me", "secret"), limits=limits) as loopback:
        host = loopback.v2 if api == 2 else loopback.v1
        token = requests.post(f"{host}/login", json={"id": "me", "password": "secret"}, timeout=60).json()["token"]
        headers = {"authorization": f"Bearer {token}"} if held["request"]["authenticated"] else {}
        answer = requests.get(re.sub(r"https://[^/]+", host, url), headers=headers, timeout=60)
    assert answer.status_code == recorded["status"]
    told = {key: value for key, value in recorded["headers"].items() if "ratelimit" in key}
    assert answer.headers["content-type"] == recorded["headers"]["content-type"]
    if recorded["status"] == 200:
        assert {key for key in answer.headers if "ratelimit" in key} >= told.keys()
        assert all(answer.headers[key] == told[key] for key in ("ratelimit-policy", "ratelimit-limit") if key in told)
    if "text" in recorded:
        assert answer.text.split("<body>")[0] == recorded["text"].split("<body>")[0]
        return
    ours, theirs = answer.json(), recorded["json"]
    assert ours.keys() == theirs.keys()
    if "notes" in theirs:
        assert sorted(ours["notes"], key=lambda note: note["id"]) == sorted(
            theirs["notes"], key=lambda note: note["id"]
        )
    else:
        assert (ours["name"], ours["status"], ours["details"].keys()) == (
            theirs["name"],
            theirs["status"],
            theirs["details"].keys(),
        )
        assert ours["message"].partition(" (")[0] == theirs["message"].partition(" (")[0]


@pytest.mark.shared
@pytest.mark.parametrize(
    ("year", "api", "papers", "reviews"), [(2020, 1, 300, 909), (2023, 1, 73, 219), (2024, 2, 40, 157)]
)
def test_all_real_notes_come_through_the_real_client_as_they_are(year, api, papers, reviews):
    path = OPENREVIEW / f"iclr{year}.notes.jsonl.gz"
    if not path.exists():
        pytest.skip("the real notes are not on this machine")
    notes = read_notes_file(path)
    invitation = f"ICLR.cc/{year}/Conference/-/{'Blind_' * (api == 1)}Submission"
    with Loopback(notes) as loopback:
        found = client(loopback, api).get_all_notes(invitation=invitation, details="replies")
        assert loopback.counts == {"notes": 2}
    replies = {reply["id"]: reply for paper in found for reply in paper.details["replies"]}
    assert replies == {note["id"]: note for note in notes if note["id"] != note["forum"]}
    assert {note.id: note.content for note in found} == {
        note["id"]: note["content"] for note in notes if note["id"] == note["forum"]
    }
    assert (len(found), sum("Official_Review" in json.dumps(reply) for reply in replies.values())) == (papers, reviews)

"""Tests the loopback OpenReview with openreview-py and with requests: pages, versions, files, login, limits."""

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
from gre_bench.ingest.records.row_files import read_notes_file
from gre_bench.ingest.snapshot import make_snapshot
from tests.conftest import ROOT, SHARED, SIXTEEN
from tests.servers import openreview as loopback
from tests.servers.openreview import REPORTED_LIMITS, Account, Limit, Loopback, fault

RECORDED = [
    path for path in sorted((SHARED / "openreview" / "recorded").rglob("*.json")) if not path.name.startswith("group-")
]
GROUPS = {1: "CONF.cc/2020/Conference", 2: "CONF.cc/2030/Conference"}
SUBMISSIONS = {1: f"{GROUPS[1]}/-/Blind_Submission", 2: f"{GROUPS[2]}/-/Submission"}
ACCOUNT = Account("me", "secret")


def make_notes(api, papers, reviews=2):
    """Returns notes of a fictional venue, in the form of one API."""
    notes = []
    for number in range(papers):
        paper, forum = f"paper{number:05d}", f"{GROUPS[api]}/{'Paper' if api == 1 else 'Submission'}{number}"
        content = {"title": f"T{number}", "venueid": GROUPS[api], "pdf": "/pdf/x.pdf"}
        notes.append(_note(api, paper, paper, SUBMISSIONS[api], content, number, 10_000 * number))
        for place in range(reviews):
            content = {"review": f"Review {place} of {paper}, at some length.", "rating": "6: fine"}
            later = 10_000 * number + 1000 + place
            notes.append(_note(api, f"{paper}r{place}", paper, f"{forum}/-/Official_Review", content, place, later))
    return notes


def _note(api, note_id, forum, invitation, content, number, later):
    dates = dict.fromkeys(("cdate", "tcdate", "tmdate"), 1_600_000_000_000 + later)
    note = {"id": note_id, "forum": forum, "number": number, "readers": ["everyone"], **dates}
    note |= {"signatures": [invitation.partition("/-/")[0]]} | ({"replyto": forum} if note_id != forum else {})
    if api == 1:
        return note | {"invitation": invitation, "content": content, "ddate": None}
    wrapped = {key: {"value": value} for key, value in content.items()}
    return note | {"invitations": [invitation], "domain": GROUPS[2], "content": wrapped, "version": 2}


def client(loopback, api, **more):
    kind = openreview.Client if api == 1 else openreview.api.OpenReviewClient
    return kind(baseurl=loopback.v1 if api == 1 else loopback.v2, **more)


def send_request(loopback, api, path, **how):
    return requests.get((loopback.v1 if api == 1 else loopback.v2) + path, timeout=60, **how)


@pytest.fixture(autouse=True)
def nobody(monkeypatch):
    """Hides the account of the person who runs the tests."""
    for name in ("OPENREVIEW_USERNAME", "OPENREVIEW_PASSWORD"):
        monkeypatch.delenv(name, raising=False)


def list_notes(loopback, api, **query):
    return client(loopback, api).get_all_notes(invitation=SUBMISSIONS[api], **query)


@pytest.mark.parametrize(("api", "papers"), [(1, 0), (1, 1000), (2, 999), (2, 2001)])
def test_a_listing_of_any_length_comes_whole_with_one_request_a_page_and_one_more(api, papers):
    notes = make_notes(api, papers, reviews=0)
    with Loopback(notes) as loopback:
        assert [note.id for note in list_notes(loopback, api)] == [note["id"] for note in notes]
        assert loopback.counts == {"notes": -(-papers // 1000) + 1}


@pytest.mark.parametrize("api", [1, 2])
def test_details_bring_the_replies_of_a_forum_and_the_wrong_host_lists_nothing_and_knows_no_note(api):
    notes = make_notes(api, 30)
    under = dict(notes[1], id="answer", replyto=notes[1]["id"])
    with Loopback([*notes, under]) as loopback:
        found = list_notes(loopback, api, details="replies")
        replies = {reply["id"]: reply for paper in found for reply in paper.details["replies"]}
        assert replies == {note["id"]: note for note in [*notes, under] if note["id"] != note["forum"]}
        wrong = client(loopback, 3 - api)
        assert wrong.get_all_notes(invitation=SUBMISSIONS[api]) == []
        with pytest.raises(openreview.OpenReviewException, match="NotFoundError"):
            wrong.get_note(notes[0]["id"])


@pytest.mark.parametrize(
    ("api", "query", "ids", "count"),
    [
        (1, "forum=paper00001", {"paper00001", "paper00001r0", "paper00001r1"}, 3),
        (2, "forum=paper00001", {"paper00001", "paper00001r0", "paper00001r1"}, None),
        (2, "id=paper00002r1&offset=0", {"paper00002r1"}, 1),
        (2, f"content.venueid={GROUPS[2]}&count=true", {"paper00000", "paper00001", "paper00002"}, 3),
        (1, f"invitation={GROUPS[1]}/Paper2/-/Official_Review", {"paper00002r0", "paper00002r1"}, 2),
        (2, f"invitation={GROUPS[2]}/Submission2/-/Official_Review&count=false", {"paper00002r0", "paper00002r1"}, None),
        (2, "sort=id&limit=2&after=paper00001r1", {"paper00002", "paper00002r0"}, None),
        (2, "sort=id&limit=2&after=paper00001zzz", {"paper00002", "paper00002r0"}, None),
        (1, "sort=tcdate:desc&limit=1", {"paper00002r1"}, 9),
        (2, "limit=0", set(), None),
    ],
)  # fmt: skip
def test_a_query_leaves_what_it_asks_for_and_v2_counts_where_it_is_asked_to(api, query, ids, count):
    with Loopback(make_notes(api, 3)) as loopback:
        tree = send_request(loopback, api, f"/notes?{query}").json()
        assert ({note["id"] for note in tree["notes"]}, tree.get("count")) == (ids, count)


@pytest.mark.parametrize(
    ("api", "path", "status", "name", "says"),
    [
        (2, "/notes?limit=1001", 400, "ValidationError", "limit must be <= 1000"),
        (2, "/notes?limit=many", 400, "ValidationError", "limit must be integer"),
        (2, "/notes?venueid=x", 400, "ValidationError", "property venueid must NOT be given"),
        (1, "/notes?id=nobody", 404, "NotFoundError", "Note Not Found: nobody"),
        (2, "/notes?id=nobody", 404, "NotFoundError", "Note Not Found: nobody"),
        (2, "/notes/edits", 400, "ValidationError", "note.id"),
        (2, "/pdf?id=nobody", 404, "NotFoundError", "Attachment Not Found"),
        (2, "/pdf?id=paper00000", 404, "NotFoundError", "Attachment Not Found"),
        (2, "/attachment?name=pdf&ids=" + ",".join(map(str, range(51))), 400, "ValidationError", "50 unique items"),
        (2, "/nowhere", 404, "NotFoundError", "/nowhere"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_the_services_words(api, path, status, name, says):
    with Loopback(make_notes(api, 1)) as loopback:
        response = send_request(loopback, api, path)
        error = response.json()
        assert (response.status_code, error["status"], error["name"]) == (status, status, name)
        assert says in error["message"] and error["details"]["reqId"] in error["message"]


def test_pdfs_come_one_by_one_and_in_archives_as_the_client_unpacks_them(tmp_path):
    kept = {f"paper{number:05d}": b"%%PDF-1 %d" % number for number in range(1, 101)}
    with Loopback(make_notes(2, 101, reviews=0), pdf=kept.get) as loopback:
        who = client(loopback, 2)
        assert who.get_pdf("paper00007") == b"%PDF-1 7"
        assert who.get_attachment("pdf", ids=["paper00001"]) == b"%PDF-1 1", "an archive of one is the file"
        with pytest.raises(openreview.OpenReviewException, match="NotFoundError"):
            who.get_pdf("paper00000")
        with zipfile.ZipFile(io.BytesIO(who.get_attachment("pdf", ids=["paper00000", "paper00001"]))) as archive:
            assert {name: archive.read(name) for name in archive.namelist()} == {"1_pdf.pdf": b"%PDF-1 1"}
        files = openreview.tools.get_all_attachments(who, GROUPS[2], "pdf", str(tmp_path / "out"))
        assert len(files) == 100 and (tmp_path / "out" / "7_pdf.pdf").read_bytes() == b"%PDF-1 7"
        assert loopback.counts == {"pdf": 2, "notes": 2, "attachment": 2 + 3}


@pytest.mark.parametrize("api", [1, 2])
def test_a_note_has_a_version_more_of_each_edit_and_is_listed_until_it_is_deleted(api):
    def versions():
        """Returns [(date, content)] of every version of a review as openreview-py returns them, oldest first."""
        found = who.get_references(referent="paper00000r0") if api == 1 else who.get_note_edits("paper00000r0")
        assert "paper00000r0" not in {one.id for one in found}
        return sorted((one.tcdate, one.content if api == 1 else one.note.content) for one in found)

    notes = make_notes(api, 1)
    with Loopback(notes) as loopback:
        who = client(loopback, api)
        first = (1_600_000_001_000, notes[1]["content"])
        assert versions() == [first]
        loopback.stores[api].edit("paper00000r0", 1_700_000_000_000, rating="8: better")
        note, new = who.get_note("paper00000r0"), "8: better" if api == 1 else {"value": "8: better"}
        assert (note.content["rating"], note.tmdate, note.tcdate) == (new, 1_700_000_000_000, 1_600_000_001_000)
        assert versions() == [first, (1_700_000_000_000, note.content if api == 1 else {"rating": new})]
        loopback.stores[api].delete("paper00000")
        assert (
            list_notes(loopback, api) == []
            and send_request(loopback, api, "/notes?id=paper00000").json()["notes"][0]["ddate"]
        )


def test_an_edit_of_only_the_readers_of_a_field_is_listed_as_such_and_its_value_stays():
    few = {"value": "6: fair", "readers": ["chairs"]}
    with Loopback(make_notes(2, 1)) as loopback:
        store, who = loopback.stores[2], client(loopback, 2)
        store.edit("paper00000r0", 1_700_000_000_000, rating=few)
        store.edit("paper00000r0", 1_700_000_001_000, rating={"readers": {"delete": True}})
        assert who.get_note("paper00000r0").content["rating"] == {"value": "6: fair"}
        found = {one.tcdate: one.note.content for one in who.get_note_edits("paper00000r0")}
        assert found[1_700_000_000_000] == {"rating": few}
        assert found[1_700_000_001_000] == {"rating": {"readers": {"delete": True}}}


@pytest.mark.parametrize("api", [1, 2])
def test_an_account_is_asked_for_and_its_token_serves_until_it_expires(api, monkeypatch):
    with Loopback(make_notes(api, 1), account=ACCOUNT, faults=[fault("expired-401", first=3)]) as loopback:
        monkeypatch.setattr(openreview.tools, "LOCAL_API_V2", loopback.v2)
        stranger = send_request(loopback, 2, "/notes")
        assert (stranger.status_code, stranger.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert "Verifying your browser" in stranger.text
        with pytest.raises(openreview.OpenReviewException, match="Invalid username or password"):
            client(loopback, api, username="me", password="wrong")
        who = client(loopback, api, username="me", password="secret")
        assert who.get_note("paper00000").id == "paper00000"
        for _ in range(2):
            with pytest.raises(openreview.OpenReviewException, match="TokenExpiredError"):
                who.get_note("paper00000")
        again = client(loopback, api, username="me", password="secret")
        assert again.get_note("paper00000").id == "paper00000"
        made_up = send_request(loopback, api, "/notes", headers={"authorization": "Bearer made.up.token"})
        assert (made_up.status_code, made_up.json()["name"]) == (401, "TokenExpiredError")
        assert "secret" not in repr(loopback.account)


@pytest.fixture
def moment(monkeypatch):
    """Returns a list with only the time by which windows open and close; it changes only if a test changes it."""
    moment = [time.time()]
    monkeypatch.setattr(loopback, "time", SimpleNamespace(time=lambda: moment[0]))
    return moment


def test_a_limit_is_told_in_headers_and_refuses_with_what_a_reported_refusal_had(moment):
    with Loopback(make_notes(2, 1), limits={"notes": Limit(2, 30.0)}) as loopback:
        answers = [send_request(loopback, 2, "/notes") for _ in range(4)]
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
        assert send_request(loopback, 2, "/notes/edits?note.id=paper00000").status_code == 200
        assert loopback.early == {"notes": 1}
        moment[0] += 30.5
        assert send_request(loopback, 2, "/notes").status_code == 200 and loopback.early == {"notes": 1}


@pytest.mark.parametrize(
    ("name", "told"),
    [("retry-after", "retry-after"), ("headers", "ratelimit-reset"), ("body", "resetTime"), ("login", "words")],
)
def test_each_429_tells_the_wait_in_its_own_way_alone_until_it_is_over(name, told, moment):
    with Loopback(make_notes(2, 1), faults=[fault(f"429-{name}", first=1, seconds=7.2)]) as loopback:
        send, path = (requests.post, "/login") if told == "words" else (requests.get, "/notes")
        response, again = (send(loopback.v2 + path, json={}, timeout=60) for _ in range(2))
        ways = {name: response.headers.get(name) for name in ("retry-after", "ratelimit-reset")}
        ways["resetTime"] = response.json()["details"].get("resetTime")
        assert {way for way, value in ways.items() if value is not None} == {told} - {"words"}
        assert ways.get(told) in ("8", None) or ways[told].endswith("Z")
        assert "Please try again in 8 seconds" in response.json()["message"]
        moment[0] += 7.5
        later = send(loopback.v2 + path, json={}, timeout=60)
        assert [one.status_code for one in (response, again, later)] == [429, 429, 200]
        assert loopback.early.total() == 1


@pytest.mark.parametrize("api", [1, 2])
def test_faults_of_listings_show_in_what_comes(api):
    notes = make_notes(api, 250, reviews=0)
    faults = [fault("short-pages"), fault("empty-page", first=3), fault("duplicates", first=5)]
    with Loopback(notes, faults=faults) as loopback:
        assert len(list_notes(loopback, api)) == 200, "the third page is empty, which ends the listing"
        counts = Counter(note.id for note in list_notes(loopback, api))
        assert {note for note, count in counts.items() if count > 1} == {"paper00097", "paper00098", "paper00099"}
        assert len(counts) == 250 and loopback.triggered["short-pages"] == loopback.counts["notes"]
    with Loopback(notes, faults=[fault("wrong-host")]) as loopback:
        assert [list_notes(loopback, api) for _ in range(2)] == [[], []]


def test_a_fault_strikes_when_told_and_an_unknown_one_a_taken_port_no_note_and_no_json_are_refused():
    for when, places in (({}, [2]), ({"first": 1, "every": 4}, [1, 5, 9])):
        assert [place for place in range(1, 11) if fault("500", **when).affects(place)] == places
    with pytest.raises(SettingsError, match="no fault 'rain'; known are 429-retry-after"):
        fault("rain")
    odd = [{}, {"id": 3, "forum": "p"}, {"id": "q", "forum": "q"}, {"id": "r", "forum": None}]
    with Loopback(odd, account=ACCOUNT) as loopback:
        assert requests.post(f"{loopback.v2}/login", data=b"{", timeout=60).json()["name"] == "ValidationError"
        assert [len(loopback.stores[api].notes) for api in (1, 2)] == [1, 0]
        with pytest.raises(SettingsError, match="cannot be served"):
            Loopback([], port=int(loopback.v1.rpartition(":")[2]))


def test_the_command_serves_a_snapshot_until_it_is_stopped(tmp_path):
    notes = read_notes_file(SIXTEEN / "notes.jsonl")
    paper = notes[0]["forum"]
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1 of the sample")
    make_snapshot(tmp_path / "kept", Edition("SAMPLE", 2026), notes, pdfs={paper: tmp_path / "a.pdf"}, source="a test")
    command = [sys.executable, "-m", "tests.servers.openreview", str(tmp_path / "kept"), "--port", "0"]
    command += ["--fault", "html", "--login", "--limits"]
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
@pytest.mark.parametrize("file", RECORDED or ["none"], ids=str)
def test_answers_have_the_form_of_those_that_were_recorded(file):
    held = json.loads(file.read_text())
    recorded, url = held["response"], held["request"]["url"]
    api = 2 if "api2." in url else 1
    notes = recorded.get("json", {}).get("notes", [])
    limits = {"notes": REPORTED_LIMITS["notes"]} if api == 2 else {}
    with Loopback(notes, account=ACCOUNT, limits=limits) as loopback:
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
        assert {note["id"]: note for note in ours["notes"]} == {note["id"]: note for note in theirs["notes"]}
    else:
        same = [(error["name"], error["status"], error["details"].keys()) for error in (ours, theirs)]
        assert same[0] == same[1]
        assert ours["message"].partition(" (")[0] == theirs["message"].partition(" (")[0]

"""The door to OpenReview: the real openreview-py client through our transport, against real servers on loopback."""

from __future__ import annotations

import io
import json
import socket
import time
import zipfile
from contextlib import contextmanager, suppress
from http.server import ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from gre_bench.core.errors import Paused, ServiceDown, SettingsError, SourceError
from gre_bench.core.settings import FetchSettings
from gre_bench.http import totp
from gre_bench.http.totp import compute_totp_code
from gre_bench.ingest.openreview import transport
from gre_bench.ingest.openreview.client import ForbiddenItemError, Login, NotesPage, OpenReview, PdfArchive
from gre_bench.ingest.openreview.request_budget import RequestBudget
from gre_bench.ingest.records.row_files import read_notes_file
from tests.conftest import SIXTEEN
from tests.one_line import one_line
from tests.servers.openreview import Account, Loopback, fault
from tests.servers.scripted import Handler, serve_in_thread

NOTES = read_notes_file(SIXTEEN / "notes.jsonl")
SUBMISSIONS = "SAMPLE.cc/2026/Conference/-/Submission"
ACCOUNT = Account("somebody", "a-password")
LOGIN = Login("somebody", "a-password")
QUICK = FetchSettings(timeout_s=60.0, attempts=3)
SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"


@pytest.fixture(autouse=True)
def without_waits():
    """A request that fails is tried again at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transport, "BACKOFF_S", 0.01)
        yield


def pdf(paper_id):
    return f"%PDF-1.7 of {paper_id}\n%%EOF".encode() if paper_id in {note["forum"] for note in NOTES[:60]} else None


@pytest.fixture
def budget(tmp_path):
    return RequestBudget(tmp_path / "budget.json")


def refusal(status, name, message):
    return json.dumps({"name": name, "message": message, "status": status}).encode()


@contextmanager
def answering(status=200, body=b"{}", kind="application/json", headers=(), pause_s=0.0, length=None):
    """A scripted server that answers every request alike; the list of what it was asked comes with its address."""
    asked = []

    class Alike(Handler):
        def do_GET(self):
            asked.append((self.path, dict(self.headers)))
            self.read()
            with suppress(OSError):
                self.raw(
                    status, b"" if pause_s else body, kind, length or len(body) if pause_s else length, **dict(headers)
                )
                for place in range(0, len(body) if pause_s else 0, 8):
                    time.sleep(pause_s)
                    self.wfile.write(body[place : place + 8])

        do_POST = do_GET

    with serve_in_thread(ThreadingHTTPServer(("127.0.0.1", 0), Alike)) as server:
        yield f"http://127.0.0.1:{server.server_port}", asked


def test_notes_versions_and_files_come_as_the_service_sent_them_one_by_one_or_together(budget):
    with Loopback(NOTES, pdf=pdf, account=ACCOUNT) as loopback:
        door = OpenReview(2, loopback.v2, budget, LOGIN)
        page = door.fetch_page(SUBMISSIONS, limit=5)
        assert (len(page.notes), page.count) == (5, 16)
        known = {note["id"]: note for note in NOTES}
        for note in page.notes:
            assert {key: note[key] for key in note if key != "details"} == known[note["id"]]
            replies = {key: other for key, other in known.items() if other["forum"] == note["id"] != key}
            assert {reply["id"]: reply for reply in note["details"]["replies"]} == replies
        more = door.fetch_page(SUBMISSIONS, after=page.notes[-1]["id"])
        ids = [note["id"] for note in (*page.notes, *more.notes)]
        assert ids == sorted({note["forum"] for note in NOTES})
        assert (
            len(door.fetch_forum("s01").notes)
            == door.fetch_forum("s01").count
            == sum(note["forum"] == "s01" for note in NOTES)
        )
        assert [edit["note"]["content"] for edit in door.fetch_note_versions("s01-r1")] == [known["s01-r1"]["content"]]
        assert door.fetch_note_versions("nothing") == []
        assert (door.fetch_pdf("s01"), door.fetch_pdf("s16")) == (pdf("s01"), None)
        numbers = {note["id"]: note["number"] for note in NOTES if note["id"] == note["forum"]}
        archive = door.fetch_pdfs(numbers)
        assert archive.files == {name: pdf(name) for name in numbers if pdf(name)} and archive.complete
        assert door.fetch_pdfs({"s01": 1}) == PdfArchive({"s01": pdf("s01")}) and door.fetch_pdfs({"s16": 16}) is None
        assert door.transport.sent == {"login": 1, "notes": 4, "edits": 2, "pdf": 2, "attachment": 3}
        assert loopback.counts == door.transport.sent


@pytest.mark.parametrize("api", [1, 2])
@pytest.mark.parametrize(("replies", "requests"), [(998, 1), (999, 1), (1000, 2), (2500, 3)])
def test_a_forum_of_many_replies_comes_whole(budget, api, replies, requests):
    def note(name, kind):
        made = {"id": name, "forum": "p", "content": {}, "tcdate": 1, "readers": [], "signatures": [], "writers": []}
        return made | ({"invitation": f"v/-/{kind}"} if api == 1 else {"invitations": [f"v/-/{kind}"], "domain": "v"})

    notes = [note("p", "Submission"), *(note(f"r{number:04}", "Official_Comment") for number in range(replies))]
    with Loopback(notes) as loopback:
        found = OpenReview(api, loopback.v1 if api == 1 else loopback.v2, budget).fetch_forum("p")
        assert {one["id"] for one in found.notes} == {one["id"] for one in notes} and len(found.notes) == found.count
        assert loopback.counts == {"notes": requests}


def zipped(**files):
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return whole.getvalue()


@pytest.mark.parametrize(
    ("body", "archive"),
    [
        (zipped(**{"1_pdf.pdf": "A", "2_pdf.pdf": "B"}), PdfArchive({"a": b"A", "b": b"B"})),
        (zipped(**{"a.pdf": "A", "b.pdf": "B"}), PdfArchive({"a": b"A", "b": b"B"})),
        # A file that is nobody's may be one whose owner is not known.
        (zipped(**{"folder/1_A Title.pdf": "A", "3_pdf.pdf": "C", "notes.txt": "D"}), PdfArchive({"a": b"A"}, False, 2)),
        (zipped(**{"11_pdf.pdf": "C"}), PdfArchive({}, False, 1)),
        (zipped(**{"1_pdf.pdf": "%PDF one", "2_pdf.pdf": "%PDF two"}).replace(b"two", b"tow"), PdfArchive({"a": b"%PDF one"}, True)),
        (b"not a zip", PdfArchive({}, True)),
    ],
)  # fmt: skip
def test_files_of_an_archive_are_known_by_id_or_number_and_those_that_are_sound_are_taken(budget, body, archive):
    with answering(body=body, kind="application/zip") as (host, _):
        assert OpenReview(2, host, budget).fetch_pdfs({"a": 1, "b": 2}) == archive
    assert archive.complete == (not archive.damaged and not archive.unmatched)


@pytest.mark.parametrize("api", [1, 2])
def test_an_invitation_that_the_service_does_not_know_lists_nothing_where_a_venue_need_not_have_it(budget, api):
    with answering(404, refusal(404, "NotFoundError", "The Invitation v/-/Desk_Rejected was not found")) as (host, _):
        assert OpenReview(api, host, budget).fetch_page("v/-/Desk_Rejected_Submission", optional=True) == NotesPage(
            [], 0
        )
        with pytest.raises(SourceError, match="NotFoundError: The Invitation"):
            OpenReview(api, host, budget).fetch_page("v/-/Submission")


def test_what_is_refused_is_not_what_is_missing(budget):
    asked = (("fetch_pdf", "x", None), ("fetch_pdfs", {"a": 1, "b": 2}, None), ("fetch_note_versions", "x", []))
    with answering(404, refusal(404, "NotFoundError", "no (2026)")) as (host, _):
        for name, item, missing in asked:
            assert getattr(OpenReview(2, host, budget), name)(item) == missing
    with answering(403, refusal(403, "ForbiddenError", "no (2026)")) as (host, _):
        for name, item, _ in asked:
            with one_line("ForbiddenError: no", kind=ForbiddenItemError):
                getattr(OpenReview(2, host, budget), name)(item)


@pytest.mark.parametrize("api", [1, 2])
def test_a_second_factor_is_given_as_a_code_or_made_from_its_secret(budget, api, monkeypatch):
    monkeypatch.setattr(totp, "time", SimpleNamespace(time=lambda: 59.0))  # the code changes every 30 s
    code = compute_totp_code(SECRET)
    with Loopback(NOTES, account=Account("somebody", "a-password", code)) as loopback:
        host = loopback.v2 if api == 2 else loopback.v1
        OpenReview(api, host, budget, Login("somebody", "a-password", mfa_code=code)).fetch_forum("s01")
        OpenReview(api, host, budget, Login("somebody", "a-password", totp_secret=SECRET)).fetch_forum("s01")
        with pytest.raises(SourceError, match="second factor; set OPENREVIEW_TOTP_SECRET or OPENREVIEW_MFA_CODE"):
            OpenReview(api, host, budget, LOGIN).fetch_forum("s01")
        wrong = Login("somebody", "a-password", mfa_code="000000")
        with pytest.raises(SourceError, match="login was refused: UnauthorizedError"):
            OpenReview(api, host, budget, wrong).fetch_forum("s01")


@pytest.mark.parametrize(
    ("at", "code"), [(59, "287082"), (1111111109, "081804"), (1234567890, "005924"), (20000000000, "353130")]
)
def test_one_time_codes_are_those_of_the_standard(at, code):
    # RFC 6238, appendix B, SHA-1, the last six of its eight digits.
    assert compute_totp_code(SECRET, at) == code
    with one_line(kind=SettingsError, never=("not base 32!",)):
        compute_totp_code("not base 32!")


@pytest.mark.parametrize(
    ("login", "says", "requests"),
    [
        (Login("somebody", "wrong"), "login was refused", {"login": 1}),
        (Login(token="an-old-one"), "set a new OPENREVIEW_TOKEN", {"notes": 1}),
    ],
)
def test_a_wrong_password_or_token_is_one_line_and_one_request(budget, login, says, requests):
    with Loopback(NOTES, account=ACCOUNT) as loopback:
        with one_line(says, kind=SourceError, never=("wrong", "an-old-one")):
            OpenReview(2, loopback.v2, budget, login).fetch_page(SUBMISSIONS)
        assert loopback.counts == requests
    assert "a-password" not in repr(LOGIN) + str(LOGIN)


@pytest.mark.parametrize("name", ["html", "challenge"])
@pytest.mark.parametrize("login", [Login(), LOGIN])
def test_a_browser_check_is_one_line_and_never_tried_again(budget, name, login):
    with Loopback(NOTES, faults=[fault(name, first=1)]) as loopback:
        with pytest.raises(SourceError, match="browser check") as error:
            OpenReview(2, loopback.v2, budget, login).fetch_page(SUBMISSIONS)
        assert ("set OPENREVIEW_USERNAME" in str(error.value)) == (login is not LOGIN)
        assert loopback.counts["notes"] == 1


def test_a_token_is_sent_and_no_login_is_made_of_the_environment(budget, monkeypatch):
    monkeypatch.setenv("OPENREVIEW_USERNAME", "somebody")
    monkeypatch.setenv("OPENREVIEW_PASSWORD", "a-password")
    with answering(body=b'{"notes": []}') as (host, asked):
        OpenReview(2, host, budget, Login(token="Bearer abc")).fetch_forum("x")
    assert [headers["Authorization"] for _, headers in asked] == ["Bearer abc"]


def test_a_refusal_pauses_and_nothing_is_sent_before_its_time(budget):
    began, refused = time.time(), refusal(429, "RateLimitError", "Too many requests")
    with answering(429, refused, headers=[("Retry-After", "120")]) as (host, asked):
        for _ in range(3):
            with pytest.raises(Paused) as pause:
                OpenReview(2, host, budget).fetch_forum("x")
        assert began + 120 <= pause.value.until < time.time() + 123
        assert len(asked) == 1


@pytest.mark.parametrize("status", [500, 502, 503, 504])
@pytest.mark.parametrize("kind", ["application/json", "text/html"])
def test_a_fault_that_stays_is_tried_as_often_as_set_and_told(budget, status, kind):
    with answering(status, b"{}", kind) as (host, asked):
        with pytest.raises(ServiceDown, match=rf"/notes\?forum=x: 3 tries failed, the last with {status}"):
            OpenReview(2, host, budget, settings=QUICK).fetch_forum("x")
        assert len(asked) == 3 == budget.allowance(f"{host.removeprefix('http://')} notes").sent


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"body": b'{"notes": [', "kind": "application/json"}, "not JSON"),
        ({"body": b'{"notes": []}', "length": 99}, "IncompleteRead|Connection"),
        ({"body": b" " * 8000 + b'{"notes": []}', "pause_s": 0.1}, "not complete after"),
        ({"body": b'{"notes": []}    ', "pause_s": 1.0}, "time"),
    ],
)
def test_a_body_that_is_cut_garbled_or_slow_is_a_fault(budget, how, says, monkeypatch):
    monkeypatch.setattr(transport, "WHOLE", 2)
    hurried = FetchSettings(timeout_s=0.3, attempts=2)
    with answering(**how) as (host, _), pytest.raises(ServiceDown, match=says):
        OpenReview(2, host, budget, settings=hurried if "pause_s" in how else QUICK).fetch_forum("x")


def test_a_host_that_is_not_there_is_named_at_every_try_and_at_the_end_and_given_up_within_a_minute(
    budget, caplog, monkeypatch
):
    caplog.set_level("INFO", "gre_bench.fetch")
    with pytest.raises(ServiceDown) as error:
        OpenReview(2, "http://127.0.0.1:9", budget, settings=QUICK).fetch_forum("x")
    fault = "ConnectionRefusedError: Connection refused"
    assert str(error.value) == (
        f"nothing answers at 127.0.0.1:9: 3 tries of /notes failed, the last with {fault}; "
        "check the network and the host's name, and run it again later"
    )
    stop = "Ctrl-C stops, and the same command continues"
    assert caplog.messages == [
        "contacting http://127.0.0.1:9 without a login",
        f"127.0.0.1:9 does not answer ({fault}); try 2 of 3 in 0.01 s; {stop}",
        f"127.0.0.1:9 does not answer ({fault}); try 3 of 3 in 0.02 s; {stop}",
    ]
    waits = []
    monkeypatch.setattr(transport, "BACKOFF_S", 25.0)
    patient = OpenReview(2, "http://127.0.0.1:9", budget, settings=FetchSettings(attempts=20))
    patient.transport.sleep = waits.append
    with pytest.raises(ServiceDown, match="2 tries of /notes failed"):
        patient.fetch_forum("x")
    assert waits == [25.0], "a second wait would have ended after the minute"


def test_a_host_that_never_answers_is_reported_before_the_try_ends_and_one_that_did_not_called_silent(
    budget, caplog, monkeypatch
):
    monkeypatch.setattr(transport, "SILENT_S", 0.05)
    hurried = FetchSettings(timeout_s=0.4, attempts=2)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        host = f"127.0.0.1:{mute.getsockname()[1]}"
        with pytest.raises(ServiceDown, match=f"nothing answers at {host}: 2 tries"):
            OpenReview(2, f"http://{host}", budget, settings=hurried).fetch_forum("x")
    first = caplog.messages[0]
    assert first.startswith(f"{host} has not answered for 0.05 s; each of 2 tries waits 0.4 s; Ctrl-C stops")
    caplog.clear()
    monkeypatch.undo()
    with answering(503) as (host, _), pytest.raises(ServiceDown):
        OpenReview(2, host, budget, settings=QUICK).fetch_forum("x")
    assert [line.partition(" (")[0].partition(" ")[2] for line in caplog.messages] == ["gives no usable answer"] * 2


@pytest.mark.parametrize("login", [LOGIN, Login(token="a-token")])
@pytest.mark.parametrize(
    "host",
    ["http://192.0.2.1", "http://api2.openreview.net", "http://localhost.example.org", "http://[2001:db8::1]:80"],
)
def test_a_login_never_goes_out_where_others_may_read_it(budget, host, login):
    told = "a login goes out by https only, or to this machine"
    with one_line(told, kind=SettingsError, never=("a-password", "a-token")):
        OpenReview(2, host, budget, login, QUICK).fetch_forum("x")
    assert not budget.path.exists(), "a request was sent"


def test_a_login_goes_to_this_machine_by_any_of_its_names_and_not_on_to_where_the_service_points(budget):
    with Loopback(NOTES, account=ACCOUNT) as loopback:
        host = loopback.v2.replace("127.0.0.1", "localhost")
        assert OpenReview(2, host, budget, LOGIN).fetch_forum("s01").notes
    with answering(307, b"", "text/plain", headers=[("Location", "http://192.0.2.1/elsewhere")]) as (host, asked):
        with pytest.raises(SettingsError, match=r"http://192\.0\.2\.1: a login goes out by https only"):
            OpenReview(2, host, budget, LOGIN, QUICK).fetch_forum("x")
        assert len(asked) == 1


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        *((200, body, "no JSON object") for body in (b"[]", b'"x"', b"null")),
        *((200, body, "without a list of notes") for body in (b'{"notes": 3}', b'{"notes": [1]}', b"{}")),
        (400, refusal(400, "ValidationError", "not a regex"), "ValidationError: not a regex"),
    ],
)
@pytest.mark.parametrize("api", [1, 2])
def test_an_answer_of_another_form_or_a_refusal_is_one_line_and_one_request(budget, status, body, says, api):
    with answering(status, body) as (host, asked), one_line(says, kind=SourceError):
        OpenReview(api, host, budget).fetch_forum("x")
    assert len(asked) == 1


@pytest.mark.parametrize("api", [1, 2])
def test_notes_that_openreview_py_cannot_make_objects_of_are_kept(budget, api):
    strange = [{"id": "x", "forum": "x", "new_field": {"deep": [1]}, "content": None}]
    with answering(body=json.dumps({"notes": strange}).encode()) as (host, _):
        assert OpenReview(api, host, budget).fetch_page("v/-/Submission").notes == strange

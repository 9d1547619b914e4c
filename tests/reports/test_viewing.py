"""``gre-bench view``: what it serves and to whom, what it refuses, and that it follows a run and writes nothing."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gre_bench.core.errors import SettingsError
from gre_bench.release.loading import find_release, load_release
from gre_bench.release.release_store import ReleaseStore
from gre_bench.reports.publish_editions import publish_edition
from gre_bench.reports.web_view import StatePages, build_server
from gre_bench.store import INCLUDED_EDITION, Store
from tests.conftest import ROOT
from tests.release import browser
from tests.release.made_up import FREE, make

EDITION = "ICLR-2025"


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    folder = tmp_path_factory.mktemp("state")
    store = make(folder, EDITION, papers=4, candidates=4, tokens=5, titles=FREE, metrics=("gem",))
    publish_edition(store, ReleaseStore(folder / "releases", EDITION))
    (folder / "secret.html").write_text("secret")
    (folder / "releases" / f"{EDITION}-r1" / "out.html").symlink_to(folder / "secret.html")
    return folder


@pytest.fixture(scope="module")
def viewing(state):
    viewing = StatePages(state)
    yield viewing
    viewing.close()


@pytest.fixture(scope="module")
def port(viewing):
    """The port of a server of the state."""
    with build_server(viewing, 0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def ask(port, path, method="GET", host=None, body=None):
    """Status, headers and body of one answer, whatever a client would make of *path*."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.putrequest(method, path, skip_host=True)
        connection.putheader("Host", host or f"127.0.0.1:{port}")
        connection.putheader("Content-Length", str(len(body or b"")))
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def everything_below(folder):
    files = (path for path in folder.rglob("*") if path.name != "edition.lock")
    return {path: (path.lstat().st_mtime_ns, path.lstat().st_size) for path in files}


def test_editions_and_releases_are_served_with_their_candidates_and_papers_and_nothing_is_written(state, port):
    before = everything_below(state)
    listed = ask(port, "/")
    assert listed[0] == 200 and f"{EDITION}-r1" in listed[2].decode()
    told = {"index.html": "Compare two", "candidates/human.html": "candidate", "papers/p00000.html": FREE[0]}
    for root in (f"/editions/{EDITION}", f"/releases/{EDITION}-r1"):
        assert ask(port, root)[:2][1]["Location"] == f"{root}/index.html"
        for page, said in told.items():
            status, headers, body = ask(port, f"{root}/{page}")
            assert status == 200 and said in body.decode() and headers["Content-Type"].startswith("text/html")
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
            assert "Access-Control-Allow-Origin" not in headers
    assert json.loads(ask(port, f"/releases/{EDITION}-r1/manifest.json")[2])["release"] == f"{EDITION}-r1"
    assert ask(port, f"/releases/{EDITION}-r1/index.html", "HEAD")[2] == b""
    assert everything_below(state) == before


def test_texts_without_a_licence_are_on_the_pages_of_an_edition_and_not_on_those_of_its_release(port):
    shown, published = (
        ask(port, f"/{place}/papers/p00002.html")[2].decode()
        for place in (f"editions/{EDITION}", f"releases/{EDITION}-r1")
    )
    assert "Private words of p00002-r1" in shown and "are not passed on" not in shown
    assert "Private words" not in published


def test_who_asks_for_another_host_or_for_anything_but_reading_is_refused(port):
    assert ask(port, "/status.json", host=f"localhost:{port}")[0] == 200
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "localhost:1", "[::1]"):
        assert ask(port, "/status.json", host=host)[0] == 403, host
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        assert ask(port, f"/releases/{EDITION}-r1/index.html", method, body=b"x")[0] == 405, method


@pytest.mark.parametrize(
    "path",
    [
        f"/releases/{EDITION}-r1/../../secret.html", f"/releases/{EDITION}-r1/%2e%2e/%2e%2e/secret.html",
        f"/releases/{EDITION}-r1/..%2f..%2fsecret.html", f"/releases/{EDITION}-r1/papers/..%5c..%5csecret.html",
        "/releases/../secret.html", "/releases/%2e%2e/secret.html", "/releases/x/%00", "//evil.example/x", "/editions/x/index.html",
        f"/releases/{EDITION}-r1/out.html", f"/releases/{EDITION}-r1/papers", f"/releases/{EDITION}.ledger.jsonl/x",
        f"/editions/{EDITION}/edition.duckdb", f"/editions/{EDITION}/read.duckdb", "/secret.html", "/state", "/%2fetc/passwd", "*",
    ],
)  # fmt: skip
def test_no_address_leads_out_of_what_is_shown(port, path):
    status, headers, body = ask(port, path)
    assert status == 404 and b"secret" not in body and "Location" not in headers


@settings(max_examples=25, deadline=None)
@given(parts=st.lists(st.sampled_from(["..", ".", "", "releases", "editions", f"{EDITION}-r1", EDITION, "papers", "secret.html", "\x00", "a\\b"]) | st.text(max_size=4), max_size=6))  # fmt: skip
def test_whatever_is_asked_for_lies_in_a_release_or_among_an_editions_pages(state, viewing, port, parts):
    found = viewing.file(tuple(parts))
    assert found is None or (state / "releases").resolve() in found.parents or "gre-bench-view-" in str(found)
    assert ask(port, "/" + quote("/".join(parts), errors="surrogatepass"))[0] in (200, 302, 404)


def test_the_first_page_says_of_each_board_who_leads_and_of_a_loaded_release_that_it_is_one(state, tmp_path):
    own = tmp_path / "state"
    load_release(find_release(INCLUDED_EDITION), own)
    shutil.copytree(state / "releases" / f"{EDITION}-r1", own / "releases" / f"{EDITION}-r1", symlinks=True)
    (own / "releases" / f"{EDITION}-r1" / "out.html").unlink()
    shown = StatePages(own)
    try:
        loaded, released = shown.overview()
        assert (loaded["state"], loaded["message"]) == ("loaded", f"from release {find_release(INCLUDED_EDITION).name}")
        assert loaded["board"].startswith("GEM-S (abstract), 113 papers: No model leads: gpt-4o")
        assert released["state"] == "released" and "papers: " in released["board"]
        page = shown.page()
        assert "No model leads" in page and "nothing was run yet" not in page
    finally:
        shown.close()


def test_a_run_is_followed_while_it_goes_on(state, port):
    store = Store(state, EDITION)
    running = {"edition": EDITION, "state": "running", "stage": "scoring", "due": 200, "done": 50, "pairs_per_s": 2.5,
               "remaining_s": 60.0, "message": "", "metrics": [], "pid": 1}  # fmt: skip
    with store.lock("refresh"):
        store.save_status(running)
        (row,) = json.loads(ask(port, "/status.json")[2])
        assert (row["state"], row["writing"], row["done"], row["due"]) == ("running", True, 50, 200)
        if browser.program() is not None:
            pytest.importorskip("websockets", reason="websockets is not installed")
            with browser.opened() as tab:
                look(tab, port, store, running)
    (row,) = json.loads(ask(port, "/status.json")[2])
    assert row["state"] == "cut short" and "gre-bench refresh" in row["message"]
    store.status_file.write_text("{")
    (row,) = json.loads(ask(port, "/status.json")[2])
    assert row["state"] == "fault" and "damaged" in row["message"]


def look(tab, port, store, running):
    """The progress of a run in the page, which moves as the run does; then a board that is a click away."""
    tab.send("Page.navigate", url=f"http://127.0.0.1:{port}/")
    told = "document.querySelector('#table-editions .told')?.textContent"
    for done, said in ((50, "50 of 200, 2.5 a second, 60 s left"), (150, "150 of 200, 2.5 a second, 60 s left")):
        store.save_status(running | {"done": done})
        tab.until(f"{told} === {json.dumps(said)}")
    assert tab.ask("document.querySelector('progress').value") == 0.75
    tab.ask("document.querySelector('#table-editions a').click()")
    tab.until("document.readyState === 'complete' && !!document.getElementById('board-1')")
    assert "not published" in tab.ask("document.querySelector('h1').textContent") and tab.said == []


def test_a_port_that_is_taken_is_one_line(viewing, port):
    with pytest.raises(SettingsError, match=f"port {port} cannot be served: .*--port"):
        build_server(viewing, port)


def test_the_command_says_where_it_is_and_stops_by_hand(state):
    process = subprocess.Popen(
        [sys.executable, "-m", "gre_bench.cli.app", "view", "--port", "0", "--state", str(state)],
        stdout=subprocess.PIPE, text=True, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        line = process.stdout.readline()
        assert line.startswith("http://127.0.0.1:")
        port = int(line.split("/")[2].rpartition(":")[2])
        assert ask(port, "/")[0] == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0 and "stopped" in process.stdout.read()
    finally:
        process.kill()

"""Secrets of the environment reach whom they are for, and nothing else: no file, no screen, no server of ours."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from gre_bench.ingest.openreview import fetching
from gre_bench.ingest.openreview.loopback import Account
from tests.conftest import ROOT
from tests.faults import endpoints
from tests.faults.canaries import CANARIES, forms, leaks
from tests.faults.endpoints import said
from tests.faults.invariants import assert_accounted
from tests.flows.fetching import QUICK, served
from tests.flows.refreshing import DEMO, EDITION, use
from tests.scripted_lms import OverlapLM
from tests.servers.scripted_chat import MODEL, scripted_chat

ECHOES = ("echo_key", "echo_key_text", "echo_key_base64", "echo_key_quoted", "echo_key_escaped", "echo_key_429",
          "echo_key_401")  # fmt: skip
"""How an endpoint gives the key back: in errors, in replies, in their names of models, plain and in other writings."""
USER = "somebody"
ENTRY = endpoints.MODELS + 'key_env = "SCRIPTED_KEY"\n'


@pytest.fixture
def planted(monkeypatch):
    """The canaries in the environment; what a server of ours was sent is no leak, what it keeps would be."""
    for name, value in CANARIES.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("OPENREVIEW_USERNAME", USER)
    endpoints.hurry(monkeypatch)
    fetching._opened.cache_clear()
    return list(CANARIES.values())


def options(models) -> list[str]:
    chosen = ("evaluation_lm.backend=scripted", "evaluation_lm.key_env=EVALUATION_KEY", f"writing.models={models}", "writing.judgments=scripted",
              "writing.assw=scripted", "writing.candidates=['scripted']", "scoring.metrics=['gem', 'gem_s_assw']")  # fmt: skip
    return ["--settings", str(DEMO), *(part for one in chosen for part in ("--set", one))]


def test_a_canary_is_found_in_each_of_its_writings(tmp_path, trial):
    secret = CANARIES["SCRIPTED_KEY"]
    trial("canaries: the search itself", "found whole, in part, in base64, URL-encoded, in hex")
    assert leaks([secret], ["nothing of it", secret[:9]], [tmp_path]) == []
    for text in (secret, f"x{secret[5:23]}", base64.b64encode(f"ab{secret}c".encode()).decode(), secret.encode().hex()):
        assert len(leaks([secret], [text], [])) == 1, text
    (tmp_path / "file").write_bytes(b"\0" + secret.encode())
    assert len(leaks([secret], [], [tmp_path])) == 1 and len(forms(secret)) > 20


@pytest.mark.slow
def test_keys_that_endpoints_give_back_are_in_nothing_that_a_run_leaves_or_says(planted, tmp_path, trial):
    trial("canaries: keys of models, echoed by the endpoint", "in no file of state and release, no output", len(ECHOES))
    state, models = tmp_path / "state", tmp_path / "models.toml"
    use(OverlapLM())
    told = []
    with scripted_chat(*ECHOES[:-1], then="echo_key") as server:
        models.write_text(ENTRY.format(url=server.url, model=MODEL))
        told.append(said("doctor", *options(models), "--state", state))
        for behaviour in (*ECHOES, "ok"):
            server.then = behaviour
            told.append(said("refresh", "--no-prefect", *options(models), "--limit", 2, "--state", state))
        assert {headers["authorization"] for headers in server.headers} == {f"Bearer {CANARIES['SCRIPTED_KEY']}"}
    assert told[1][0] == 3 and told[-1][0] == 0, told
    assert_accounted(state, done=True)
    for looked in (("status",), ("leaderboard", EDITION, "--details"), ("why", EDITION, "gem", "scripted", "--no-recount"),
                   ("sql", EDITION, "from replies"), ("sql", EDITION, "from runs"), ("publish", EDITION, "--all-texts")):  # fmt: skip
        told.append(said(*looked, "--state", state))
        assert told[-1][0] == 0, told[-1]
    assert b"[key]" in (state / "editions" / EDITION / "edition.duckdb").read_bytes(), "nothing was echoed"
    assert leaks(planted, [text for _, *texts in told for text in texts], [tmp_path]) == []


@pytest.mark.parametrize("way", ["password", "token", "refused", "echoing"])
def test_logins_at_openreview_are_in_nothing_that_a_fetch_leaves_or_says(way, planted, tmp_path, monkeypatch, trial):
    trial(f"canaries: OpenReview, {way}", "in no file of the state, no output")
    state = tmp_path / "state"
    if way != "token":
        monkeypatch.delenv("OPENREVIEW_TOKEN")
    password = CANARIES["OPENREVIEW_PASSWORD"] if way == "password" else "another one"
    sets = [part for one in (*QUICK, "fetch.backoff_s=0.01") for part in ("--set", one)]
    with echoing() if way == "echoing" else served(account=Account(USER, password)) as host:
        url = host if isinstance(host, str) else host.v2
        told = [said("fetch", "SAMPLE", "2026", "--no-prefect", "--set", f"fetch.host={url}", *sets, "--state", state)]
    assert (told[0][0] == 0) == (way == "password"), told
    told += [said("status", "--state", state)]
    assert leaks(planted, [text for _, *texts in told for text in texts], [tmp_path]) == []


def test_a_login_does_not_follow_a_redirect_to_elsewhere(planted, tmp_path, monkeypatch, trial):
    trial("canaries: OpenReview and LM endpoint redirect to another host", "no credential is sent there, one line", 2)
    use(OverlapLM())
    with echoing() as elsewhere, redirecting(elsewhere) as (url, _), scripted_chat(then="redirect_away") as server:
        server.elsewhere = elsewhere
        models = tmp_path / "models.toml"
        models.write_text(ENTRY.format(url=server.url, model=MODEL))
        code, _, _ = said("refresh", "--no-prefect", *options(models), "--limit", 1, "--state", tmp_path / "state")
        assert code == 3 and ASKED == [], ASKED
        monkeypatch.delenv("OPENREVIEW_TOKEN")
        sets = [part for one in QUICK for part in ("--set", one)]
        asked = ("fetch", "SAMPLE", "2026", "--no-prefect", "--set", f"fetch.host={url}", *sets)
        code, _, err = said(*asked, "--state", tmp_path / "other")
        assert code in (1, 2, 3) and "Traceback" not in err
    assert leaks(planted, ASKED, []) == []


@pytest.mark.slow
def test_keys_of_the_evaluation_lm_are_in_nothing_either(planted, tmp_path, trial):
    pytest.importorskip("transformers", reason="the evaluation LM needs the extra `lm`")
    from tests.lm.chat_models import build_tokenizer
    from tests.servers.scripted_vllm import scripted_vllm

    trial("canaries: key of the evaluation LM, echoed by its server", "in no file of the state, no output")
    build_tokenizer("llama3").save_pretrained(tmp_path / "llama3")
    chosen = ["evaluation_lm.backend=vllm", f"evaluation_lm.folder={tmp_path / 'llama3'}", "evaluation_lm.revision=r1",
              "evaluation_lm.dtype=float32", "evaluation_lm.key_env=EVALUATION_KEY", "scoring.metrics=['gem']"]  # fmt: skip
    told = []
    with scripted_vllm(given="absent") as server:
        asked = [part for one in (*chosen, f"evaluation_lm.endpoint={server.url}") for part in ("--set", one)]
        for behaviour in ("ok", "key"):
            server.script, server.then = ["ok"] * 3, behaviour
            refresh = ("refresh", "--no-prefect", "--settings", DEMO, *asked, "--limit", 1)
            told.append(said(*refresh, "--state", tmp_path / behaviour))
        server.script, server.then = [], "key"
        told.append(said("doctor", "--settings", DEMO, *asked, "--state", tmp_path / "doctor"))
        assert {headers.get("authorization") for headers in server.headers} == {f"Bearer {CANARIES['EVALUATION_KEY']}"}
    assert [code for code, *_ in told[:2]] == [0, 1], told
    assert leaks(planted, [text for _, *texts in told for text in texts], [tmp_path]) == []


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_under_the_prefect_engine_its_database_and_artifacts_hold_none_either(tmp_path, trial):
    where = "in no file of Prefect's home, state or release, no output"
    trial("canaries: a refresh and a fetch under the Prefect engine", where, 3)
    state, models = tmp_path / "state", tmp_path / "models.toml"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    environment |= CANARIES | {"OPENREVIEW_USERNAME": USER, "PREFECT_LOGGING_LEVEL": "DEBUG"}
    environment["PREFECT_HOME"] = str(state / "prefect")
    del environment["OPENREVIEW_TOKEN"], environment["PREFECT_API_AUTH_STRING"]
    told = []
    with (
        scripted_chat("echo_key", "echo_key_text", then="echo_key_401") as server,
        served(account=Account(USER, CANARIES["OPENREVIEW_PASSWORD"])) as host,
    ):
        models.write_text(ENTRY.format(url=server.url, model=MODEL))
        sets = [part for one in QUICK for part in ("--set", one)]
        for then, arguments in (
            ("echo_key_401", ["refresh", *options(models), "--limit", "1"]),
            ("ok", ["refresh", *options(models), "--limit", "1"]),
            ("ok", ["fetch", "SAMPLE", "2026", "--set", f"fetch.host={host.v2}", *sets]),
        ):
            server.then = then
            found = subprocess.run([sys.executable, "-m", "tests.pipeline.runs.killed", *arguments, "--state", str(state)],
                                   env=environment, cwd=ROOT, text=True, capture_output=True, timeout=600)  # fmt: skip
            told.append(found)
    assert [found.returncode for found in told] == [3, 0, 0], [found.stderr[-2000:] for found in told]
    assert list((state / "prefect").rglob("*.db")), "there is a database to look into"
    assert leaks(CANARIES.values(), [text for found in told for text in (found.stdout, found.stderr)], [tmp_path]) == []


ASKED: list[str] = []
"""All that was sent to a server that has no business with credentials."""


@contextmanager
def echoing():
    """A server that refuses everything and says all that it was sent; its address."""
    ASKED.clear()
    with _server(lambda sent: (400, {}, sent)) as (url, _):
        yield url


@contextmanager
def redirecting(elsewhere: str):
    """A server that sends everything on to *elsewhere*, method and body kept; its address."""
    with _server(lambda sent: (307, {"Location": f"{elsewhere}/login"}, ""), keep=False) as found:
        yield found


@contextmanager
def _server(answer, keep: bool = True):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            sent = f"{self.requestline}\n{self.headers}\n{self.rfile.read(int(self.headers.get('Content-Length') or 0)).decode()}"
            if keep:
                ASKED.append(sent)
            status, headers, body = answer(sent)
            content = (b'{"name": "Error", "message": ' + json.dumps(body).encode() + b"}") if status == 400 else b""
            self.send_response(status)
            kind = "application/json" if content else "text/plain"
            for name, value in {"Content-Type": kind, **headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", server
    finally:
        server.shutdown()
        server.server_close()

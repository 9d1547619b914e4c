"""Secrets of the environment reach whom they are for, and nothing else: no file, no screen, no server of ours."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from gre_bench.ingest.openreview import fetching
from tests.conftest import ROOT
from tests.faults import endpoints
from tests.faults.commands import MODELS
from tests.faults.endpoints import said, with_settings
from tests.faults.invariants import assert_accounted
from tests.flows.fetching import QUICK, served
from tests.flows.refreshing import DEMO, EDITION, use
from tests.scripted_lms import OverlapLM
from tests.servers.chat import MODEL, scripted_chat
from tests.servers.openreview import Account
from tests.servers.scripted import serve_in_thread

PART = 16
"""So many bytes of a secret in a row are taken for a leak."""

CANARIES = {
    "SCRIPTED_KEY": "sk-canary+model/4f1Zq8=Xw7Lk2",
    "EVALUATION_KEY": "ek-canary+vllm/9sT3p=Bn6Rr0Yd",
    "OPENREVIEW_PASSWORD": "pw-canary+open/7gHu2=Cv5Ee8Ja",
    "OPENREVIEW_TOKEN": "tk-canary+open/1mNb4=Kl0Ww3Oi",
    "PREFECT_API_KEY": "pk-canary+pref/8dSx6=Qz9Uu5Tg",
    "PREFECT_API_AUTH_STRING": "admin:ak-canary+pr/3fRe7=Vb2M",
    "OPENAI_API_KEY": "ok-canary+open/5kPo1=Gh4Nn6Ls",
    "HF_TOKEN": "hf_canary+hub/2jIu8=Fd7Ss1Ax0Q",
}
"""What a user's environment may hold: variable and value, each unlike any other byte string of a run."""


def forms(secret: str) -> set[bytes]:
    """Byte strings that give *secret* away wherever they stand: parts of it in the usual writings."""
    raw = secret.encode()
    found = {raw[place : place + PART] for place in range(len(raw) - PART + 1)}
    for part in (raw[:PART], raw[-PART:]):
        found |= {quote(part, safe="").encode(), quote_plus(part).encode(), part.hex().encode()}
        # Base64 of a longer text holds that of the part in one of three alignments, but for its ends.
        for lead in range(3):
            coded = base64.b64encode(b"\0" * lead + part)
            found.add(coded[4 if lead else 0 : (lead + len(part)) // 3 * 4])
    return found


def leaks(secrets: Iterable[str], texts: Iterable[str], folders: Iterable[Path]) -> list[str]:
    """Where one of *secrets* stands: in *texts*, or in the bytes or the name of a file under *folders*."""

    def places() -> Iterator[tuple[str, bytes]]:
        for number, text in enumerate(texts):
            yield f"text {number}", text.encode()
        for folder in folders:
            for path in sorted(folder.rglob("*")):
                data = path.read_bytes() if path.is_file() else b""
                yield str(path), data + str(path.relative_to(folder)).encode()

    wanted, found = {form: secret for secret in secrets for form in forms(secret)}, []
    for place, data in places():
        if form := next((form for form in wanted if form in data), None):
            at = data.find(form)
            found.append(f"{place}: {wanted[form]}: …{data[max(0, at - 60) : at + len(form) + 20]!r}…")
    return found


ECHOES = ("echo_key", *(f"echo_key_{way}" for way in ("text", "base64", "quoted", "escaped", "429", "401")))
"""How an endpoint gives the key back: in errors, in replies, in their names of models, plain and in other writings."""
USER = "somebody"
ENTRY = MODELS + 'key_env = "SCRIPTED_KEY"\n'


@pytest.fixture
def planted(monkeypatch):
    """The canaries in the environment; what a server of ours was sent is no leak, what it keeps would be."""
    for name, value in CANARIES.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("OPENREVIEW_USERNAME", USER)
    endpoints.hurry(monkeypatch)
    fetching._open_session.cache_clear()
    return list(CANARIES.values())


def options(models) -> list[str]:
    chosen = ("evaluation_lm.backend=scripted", "evaluation_lm.key_env=EVALUATION_KEY", f"writing.models={models}", "writing.judgments=scripted",
              "writing.assw=scripted", "writing.candidates=['scripted']", "scoring.metrics=['gem', 'gem_s_assw']")  # fmt: skip
    return ["--settings", str(DEMO), *with_settings(*chosen)]


def test_a_canary_is_found_in_each_of_its_writings(tmp_path, trial):
    secret = CANARIES["SCRIPTED_KEY"]
    trial("canaries: the search itself", "found whole, in part, in base64, URL-encoded, in hex")
    assert leaks([secret], ["nothing of it", secret[:9]], [tmp_path]) == []
    for text in (secret, f"x{secret[5:23]}", base64.b64encode(f"ab{secret}c".encode()).decode(), secret.encode().hex()):
        assert len(leaks([secret], [text], [])) == 1, text
    (tmp_path / "file").write_bytes(b"\0" + secret.encode())
    assert len(leaks([secret], [], [tmp_path])) == 1 and len(forms(secret)) > 20


@pytest.mark.night
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
    for looked in (("status",), ("leaderboard", EDITION, "--details"), ("why", EDITION, "scripted", "--metric=gem", "--no-recount"),
                   ("sql", EDITION, "from replies"), ("sql", EDITION, "from runs"), ("publish", EDITION, "--all-texts")):  # fmt: skip
        told.append(said(*looked, "--state", state))
        assert told[-1][0] == 0, told[-1]
    assert "[key]" in (state / "editions" / EDITION / "edition.duckdb").read_bytes().decode("latin-1"), (
        "nothing was echoed"
    )
    assert leaks(planted, [text for _, *texts in told for text in texts], [tmp_path]) == []


@pytest.mark.parametrize("way", ["password", "token", "refused", "echoing"])
def test_logins_at_openreview_are_in_nothing_that_a_fetch_leaves_or_says(way, planted, tmp_path, monkeypatch, trial):
    trial(f"canaries: OpenReview, {way}", "in no file of the state, no output")
    state = tmp_path / "state"
    if way != "token":
        monkeypatch.delenv("OPENREVIEW_TOKEN")
    password = CANARIES["OPENREVIEW_PASSWORD"] if way == "password" else "another one"
    with answering(400) if way == "echoing" else served(account=Account(USER, password)) as host:
        url = host if isinstance(host, str) else host.v2
        sets = with_settings(*QUICK, f"fetch.host={url}")
        told = [said("fetch", "SAMPLE", "2026", "--no-prefect", *sets, "--state", state)]
    assert (told[0][0] == 0) == (way == "password"), told
    told += [said("status", "--state", state)]
    assert leaks(planted, [text for _, *texts in told for text in texts], [tmp_path]) == []


def test_a_login_does_not_follow_a_redirect_to_elsewhere(planted, tmp_path, monkeypatch, trial):
    trial("canaries: OpenReview and LM endpoint redirect to another host", "no credential is sent there, one line", 2)
    use(OverlapLM())
    with (
        answering(400) as elsewhere,
        answering(307, Location=f"{elsewhere}/login") as url,
        scripted_chat(then="redirect_away") as server,
    ):
        server.elsewhere = elsewhere
        models = tmp_path / "models.toml"
        models.write_text(ENTRY.format(url=server.url, model=MODEL))
        code, _, _ = said("refresh", "--no-prefect", *options(models), "--limit", 1, "--state", tmp_path / "state")
        assert code == 3 and ASKED == [], ASKED
        monkeypatch.delenv("OPENREVIEW_TOKEN")
        sets = with_settings(*QUICK, f"fetch.host={url}")
        code, _, err = said("fetch", "SAMPLE", "2026", "--no-prefect", *sets, "--state", tmp_path / "other")
        assert code in (1, 2, 3) and "Traceback" not in err
    assert leaks(planted, ASKED, []) == []


@pytest.mark.night
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
        asked = ("--settings", DEMO, *with_settings(*chosen, f"evaluation_lm.endpoint={server.url}"))
        for behaviour in ("ok", "key"):
            server.script, server.then = ["ok"] * 3, behaviour
            told.append(said("refresh", "--no-prefect", *asked, "--limit", 1, "--state", tmp_path / behaviour))
        server.script, server.then = [], "key"
        told.append(said("doctor", *asked, "--state", tmp_path / "doctor"))
        assert {headers.get("authorization") for headers in server.headers} == {f"Bearer {CANARIES['EVALUATION_KEY']}"}
    assert [code for code, *_ in told[:2]] == [0, 1], told
    assert leaks(planted, [text for _, *texts in told for text in texts], [tmp_path]) == []


@pytest.mark.night
@pytest.mark.timeout(900)
def test_under_the_prefect_engine_its_database_and_artifacts_hold_none_either(tmp_path, trial):
    trial(
        "canaries: a refresh and a fetch under the Prefect engine",
        "in no file of Prefect's home, state or release, no output",
        3,
    )
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
        for then, arguments in (
            ("echo_key_401", ["refresh", *options(models), "--limit", "1"]),
            ("ok", ["refresh", *options(models), "--limit", "1"]),
            ("ok", ["fetch", "SAMPLE", "2026", *with_settings(*QUICK, f"fetch.host={host.v2}")]),
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
def answering(status: int, **headers: str):
    """The address of a server that answers everything so; if it refuses (400), it says and keeps all that it was sent."""
    ASKED.clear()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            sent = f"{self.requestline}\n{self.headers}\n{self.rfile.read(int(self.headers.get('Content-Length') or 0)).decode()}"
            content = b""
            if status == 400:
                ASKED.append(sent)
                content = json.dumps({"name": "Error", "message": sent}).encode()
            self.send_response(status)
            kind = "application/json" if content else "text/plain"
            for name, value in (headers | {"Content-Type": kind, "Content-Length": str(len(content))}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            """Silent."""

    with serve_in_thread(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        yield f"http://127.0.0.1:{server.server_address[1]}"

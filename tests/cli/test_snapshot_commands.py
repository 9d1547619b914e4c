"""``gre-bench plan``, ``fetch`` and ``verify`` as a user meets them, against a loopback OpenReview."""

from __future__ import annotations

import json
import shlex

import pytest

from gre_bench.checks.plan_ahead import plan_fetch_and_refresh
from gre_bench.core.errors import SettingsError
from gre_bench.core.settings import BudgetSettings
from gre_bench.ingest.openreview import fetching, transport
from gre_bench.ingest.openreview.fetching import locate_budget_file
from gre_bench.ingest.openreview.request_budget import RequestBudget
from gre_bench.ingest.snapshot import Snapshot
from gre_bench.store import Store
from gre_bench.store.queries import SAMPLE, TEXTS
from tests.flows.fetching import ACCOUNT, fetched, served, settings
from tests.servers.openreview import Limit

DONE, BAD_INPUT, INCOMPLETE = 0, 2, 3


@pytest.fixture(autouse=True)
def logged_in(monkeypatch):
    monkeypatch.setenv("OPENREVIEW_USERNAME", ACCOUNT.username)
    monkeypatch.setenv("OPENREVIEW_PASSWORD", ACCOUNT.password)


@pytest.fixture
def call(call):
    """As a process of its own has it, with no session from another command."""

    def calling(*arguments):
        fetching._open_session.cache_clear()
        return call(*arguments)

    return calling


@pytest.fixture
def loopback():
    with served() as here:
        yield here


def test_an_edition_is_planned_fetched_and_verified_and_what_changed_is_shown(call, loopback, tmp_path):
    asked = ("SAMPLE", "2026", "--papers", "8", "--set", f"fetch.host={loopback.v2}")
    code, out, _ = call("plan", *asked)
    assert code == DONE and "SAMPLE-2026, at most 8 papers. Already there: nothing" in out
    assert f"fetch: from {loopback.v2.removeprefix('http://')}\nfetch: 1 request for login; " in out
    assert not loopback.requests, "a plan sends nothing"
    code, out, _ = call("fetch", *asked, "--no-prefect")
    assert code == DONE and "16 papers" in out and "8 sampled" in out
    snapshots = tmp_path / "state" / "snapshots"
    assert f"  gre-bench refresh --edition SAMPLE-2026 --set sources.snapshot={snapshots}/SAMPLE-2026-" in out
    code, out, _ = call("plan", *asked)
    assert code == DONE and "SAMPLE-2026, 8 papers." in out and "nothing is left to request" in out
    (snapshot,) = snapshots.iterdir()
    code, out, _ = call("verify", snapshot)
    assert code == DONE and "files as written" in out
    loopback.stores[2].edit("s01-r1", rating="1: poor")
    code, out, _ = call("fetch", *asked, "--no-prefect", "--again")
    assert code == DONE and "1 edited Official_Review" in out and "→ '1: poor'" in out
    code, out, _ = call("fetch", *asked, "--no-prefect", "--json")
    found = json.loads(out)
    assert (found["outcome"], len(found["changes"]["lines"])) == ("done", 1)
    assert call("verify", snapshots / "x", "--against", snapshots / "y")[0] == BAD_INPUT
    (snapshot / "reviews.jsonl").write_bytes(b"{}" + (snapshot / "reviews.jsonl").read_bytes()[2:])
    code, out, err = call("verify", snapshot)
    assert (code, out) == (BAD_INPUT, "") and "reviews.jsonl is not as it was written" in err


def test_a_fetch_says_whom_it_contacts_and_that_nothing_answers(call, monkeypatch):
    quick = ("--set", "fetch.attempts=2", "--no-prefect")
    monkeypatch.setattr(transport, "BACKOFF_S", 0.01)
    code, out, err = call("fetch", "SAMPLE", "2026", "--host", "http://127.0.0.1:9", *quick)
    assert code == INCOMPLETE and out.startswith("SAMPLE 2026: incomplete; nothing answers at 127.0.0.1:9: 2 tries of ")
    first, second = err.splitlines()
    assert first == "contacting http://127.0.0.1:9 to log in"
    assert second.startswith("127.0.0.1:9 does not answer (ConnectionRefusedError: Connection refused); try 2 of 2 in ")
    code, out, err = call("fetch", "SAMPLE", "2026", "--host", "http://127.0.0.1:9", "--json", *quick)
    assert code == INCOMPLETE and json.loads(out)["outcome"] == "incomplete" and err == second + "\n"


@pytest.mark.parametrize("file", [pytest.param(True, marks=pytest.mark.night), False])
def test_the_command_that_a_fetch_ends_with_runs_as_it_stands(call, loopback, tmp_path, file):
    more = ("--set", "edition.min_reviews=4")
    if file:
        (tmp_path / "my settings.toml").write_text('[scoring]\nmetrics = ["gem"]\n')
        more = ("--settings", "my settings.toml", *more)
    asked = ("fetch", "SAMPLE", "2026", "--set", "edition.seed=3", "--host", loopback.v2, "--no-prefect")
    code, out, _ = call(*asked, "--papers", "4", *more)
    (line,) = [line for line in out.splitlines() if line.startswith("  gre-bench refresh ")]
    (snapshot,) = (tmp_path / "state" / "snapshots").iterdir()
    sampled = {row["paper_id"] for row in Snapshot.open(snapshot).papers().values() if row["sampled"]}
    assert code == DONE and len(sampled) == 4
    code, out, err = call(*shlex.split(line)[1:], "--no-prefect", "--json")
    found = json.loads(out)
    assert (code, err, found["outcome"]) == (DONE, "", "done")
    assert all(one["scored"] and one["scored"] + one["excluded"] == one["planned"] for one in found["metrics"])
    assert found["papers"] == 4
    store = Store(tmp_path / "state", "SAMPLE-2026")
    assert {row["paper_id"] for row in store.read(SAMPLE)} == sampled
    assert {row["paper_id"] for row in store.read(TEXTS) if row["text"]} == sampled
    # Of an edition whose sample is drawn, the command draws none.
    code, out, _ = call(*asked, "--papers", "6")
    (line,) = [line for line in out.splitlines() if line.startswith("  gre-bench refresh ")]
    assert code == DONE and "edition.papers" not in line and "SAMPLE-2026 has its sample already" in out
    assert call(*shlex.split(line)[1:], "--no-prefect", "--json")[0] == DONE


def test_a_pause_has_its_own_exit_code_and_says_until_when(call, tmp_path):
    with served(limits={"attachment": Limit(1, 600.0)}) as loopback:
        more = ("--set", "fetch.when_paused=exit", "--set", "fetch.pdf_batch=5")
        code, out, _ = call("fetch", "SAMPLE", "2026", "--host", loopback.v2, "--no-prefect", *more)
    assert code == INCOMPLETE and "SAMPLE 2026: paused; paused until 20" in out and "the same command continues" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("fetch", "NOWHERE", "2026"), "NOWHERE 2026"),
        (("fetch", "SAMPLE", "2026"), "name a host"),
        (("fetch", "SAMPLE", "2026", "--host", "not a url"), "fetch.host"),
        (("fetch", "SAMPLE", "2026", "--set", "fetch.when_paused=maybe"), "fetch.when_paused"),
        (("fetch", "SAMPLE", "2026", "--set", "fetch.login=hunter2"), "fetch.login"),
        (("fetch", "NeurIPS", "2023"), "--unverified-venue"),
        (("verify", "none"), "no snapshot at none"),
        (("plan", "NOWHERE", "2026"), "NOWHERE 2026"),
        (("refresh", "--no-prefect", "--edition", "SAMPLE-2026", "--set", "sources.snapshot=none"), "no snapshot of SAMPLE 2026"),
    ],
)  # fmt: skip
def test_every_mistake_is_one_line(call, arguments, says):
    code, out, err = call(*arguments, *(["--no-prefect"] if arguments[0] == "fetch" else []))
    assert (code, out) == (BAD_INPUT, "")
    assert says in err and err.startswith("error:") and len(err.strip().splitlines()) == 1
    assert "hunter2" not in err


def test_a_plan_counts_what_the_limits_known_now_take(tmp_path):
    # The guesses of the real service: 36 PDFs an hour.
    chosen = settings(None, edition="ICLR 2020", papers=300)
    found = plan_fetch_and_refresh(chosen, tmp_path)
    assert found["fetch"]["requests"] == {"login": 1, "notes": 2402, "edits": 1500, "pdf": 300}
    assert found["fetch"]["limits"]["pdf"] == "36 of 36 in 3600 s (guess)"
    assert not list(tmp_path.iterdir()), "a plan writes nothing"
    pages = settings(None, "fetch.page=1000", "fetch.histories=false", edition="ICLR 2020", papers=300)
    assert plan_fetch_and_refresh(pages, tmp_path)["fetch"]["seconds"] == pytest.approx(8 * 3600, rel=0.01)
    learnt = {"ratelimit-limit": "300", "ratelimit-remaining": "300", "ratelimit-reset": "60"}
    RequestBudget(locate_budget_file(tmp_path)).record_stated_limits("api.openreview.net pdf", 200, learnt)
    assert plan_fetch_and_refresh(pages, tmp_path)["fetch"]["seconds"] < 60


def test_a_plan_after_the_listing_is_exact(tmp_path):
    with served(limits={"attachment": Limit(1, 600.0)}) as paused:
        fetched(paused.v2, tmp_path, "fetch.when_paused=exit")
        found = plan_fetch_and_refresh(settings(paused.v2), tmp_path)
    assert found["fetch"]["requests"] == {"login": 1, "attachment": 3} and found["fetch"]["pdfs"] == 11
    there = {"submissions_listed": 16, "versions": 0, "pdfs": 5, "sampled": 0}
    assert there.items() <= found["already_there"].items() and found["already_there"].keys() - there == {"snapshots"}
    assert 590 < found["fetch"]["seconds"] < 3 * 601


def test_a_plan_tells_tokens_and_money_of_each_model_and_makes_no_price_up(tmp_path):
    path = tmp_path / "models.toml"
    entry = '[[model]]\nname = "m"\nendpoint = "http://127.0.0.1:1/v1"\nmodel = "m"\nprice_in = 2.0\n'
    path.write_text(entry + "price_out = 10.0\n")
    chosen = settings(
        None, f"writing.models={path}", 'writing.candidates=["m", "extractive-full"]', "writing.judgments=m",
        papers=300, edition="ICLR 2020",
    )  # fmt: skip
    found = plan_fetch_and_refresh(chosen, tmp_path)
    reviews, judgments = found["writing"]
    assert (reviews["texts"], reviews["prompt_tokens"], reviews["reply_tokens"]) == (300, 300 * 12_500, 300 * 900)
    assert reviews["usd"] == pytest.approx((300 * 12_500 * 2 + 300 * 900 * 10) / 1e6)
    assert judgments["texts"] == 300 * 5
    assert found["usd"] == pytest.approx(reviews["usd"] + judgments["usd"], abs=0.01)
    assert found["over_budget"] == []
    bounded = chosen.model_copy(update={"budget": BudgetSettings(requests=1799, models={"m": {"usd": 1}})})
    over = [line.partition(" would")[0] for line in plan_fetch_and_refresh(bounded, tmp_path)["over_budget"]]
    assert over == ["budget.requests", "budget.models.m.usd"]
    free = plan_fetch_and_refresh(settings(None, "writing.judgments=rule", edition="ICLR 2020"), tmp_path)
    assert (free["writing"], free["usd"]) == ([], 0)
    path.write_text(entry)
    found = plan_fetch_and_refresh(chosen, tmp_path)
    assert found["usd"] is None and found["writing"][0]["usd"] is None
    with pytest.raises(SettingsError, match="no model 'x'"):
        plan_fetch_and_refresh(settings(None, "writing.judgments=x", edition="ICLR 2020"), tmp_path)


def test_pairs_to_score_are_counted_for_a_refresh_and_for_the_studies(tmp_path):
    chosen = settings(None, "scoring.metrics=['gem', 'gem_raw']", papers=300, edition="ICLR 2020")
    found = plan_fetch_and_refresh(chosen, tmp_path)["scoring"]
    assert found["pairs"] == 300 * 3 * 2 * 4
    models = len(chosen.writing.candidates)
    assert found["references"] == 300 * (models * (models - 1) + 3 * 2), "models on models, three people on each other"

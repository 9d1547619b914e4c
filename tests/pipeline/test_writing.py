"""The whole pipeline from notes and PDFs: texts written by rule or by a scripted server, each once, each accounted for."""

from __future__ import annotations

import json
import os
import signal
from functools import partial
from pathlib import Path

import pytest

from gre_bench.checks.dry_run import estimate_refresh_cost
from gre_bench.core import settings
from gre_bench.core.errors import BudgetReached, SettingsError, SourceError
from gre_bench.pipeline.refreshing import refresh
from gre_bench.pipeline.runs import spending
from gre_bench.pipeline.runs.job import Job, record_run
from gre_bench.store import Store
from gre_bench.store.queries import PAPERS
from gre_bench.writing import http_writer
from tests.conftest import ROOT, SIXTEEN
from tests.flows.making_boards import stand_ins
from tests.flows.refreshing import EDITION, assert_same, demo, query, tables, use, with_papers_read
from tests.forks import CONTEXT
from tests.one_line import one_line
from tests.pipeline.runs import killed
from tests.scripted_lms import OverlapLM
from tests.servers.chat import MODEL, scripted_chat

DEMO = ROOT / "tests" / "flows" / "notes_and_pdfs.toml"


@pytest.fixture(autouse=True)
def lm(monkeypatch):
    monkeypatch.setattr(http_writer, "RetryPolicy", partial(http_writer.RetryPolicy, attempts=2, first_wait_s=0.01))
    return use(OverlapLM())


GEM = "scoring.metrics=['gem']"
"""For tests of texts that one metric rests on: no synopses are written, and a board has a quarter of the rows."""


def run(state, *overrides, **asked):
    chosen = settings.load(DEMO, ("evaluation_lm.backend=scripted", *overrides))
    if not any(override.startswith("sources.") for override in overrides):
        with_papers_read(state)
    return refresh(Job(chosen, state, **asked))


def by_lm(tmp_path, server, *more):
    """Overrides that have everything written by the scripted server."""
    models = stand_ins(tmp_path, server.url, ["scripted"])
    names = ("judgments=scripted", "assw=scripted", "candidates=['scripted']")
    return (f"writing.models={models}", *(f"writing.{name}" for name in names), *more)


def dry(folder, *overrides):
    """What a refresh of two papers would take, said without a state."""
    chosen = settings.load(DEMO, ("evaluation_lm.backend=scripted", *overrides))
    (folder / "scratch").mkdir()
    return estimate_refresh_cost(Job(chosen, folder, limit=2), folder / "scratch")


def scored(state):
    """How many pairs of the scripted candidate GEM has scored."""
    ((pairs,),) = query(state, "select scored from leaderboard where metric = 'gem' and candidate = 'scripted'")
    return pairs


def test_by_rule_every_pair_of_every_metric_ends_with_a_score_or_a_reason_and_nothing_is_done_twice(tmp_path, lm):
    summary = run(tmp_path)
    assert summary["outcome"] == "done"
    assert summary["writer"] == "rule-judgments-4"
    counts = {row["metric"]: (row["planned"], row["scored"], row["excluded"]) for row in summary["metrics"]}
    assert counts == {
        name + form: (160, 128, 32) if name == "gem_raw" else (160, 160, 0)
        for name in ("gem", "gem_s_abstract", "gem_s_assw", "gem_raw")
        for form in ("", "_specific")
    }
    assert query(tmp_path, "select status, count(*) from texts group by all") == [("ok", 16)]
    kinds = query(tmp_path, "select kind, count(*) from candidates group by all order by all")
    assert kinds == [("control", 4), ("human", 1)]
    # The synopsis of ASSW is abstract, strengths and weaknesses.
    abstract, assw = query(tmp_path, "select p.abstract, s.text from papers p join synopses s using (paper_id)")[0]
    assert f"{abstract}\n\n{assw}" in {prediction.synopsis for prediction in lm.asked}
    lm.asked.clear()
    again = run(tmp_path)
    assert (again["scored_now"], lm.asked) == (0, [])


def test_a_scripted_server_writes_a_whole_board_as_the_dry_run_said_and_nothing_is_asked_twice(tmp_path):
    with scripted_chat() as server:
        overrides = by_lm(tmp_path, server)
        found = dry(tmp_path, *overrides)
        assert (server.count, (tmp_path / "editions").exists()) == (0, False)
        assert found["to_write"]["reviews by scripted"] == found["to_write"]["assw by scripted"] == 2
        assert found["to_write"]["judgments by scripted"] >= 8
        summary = run(tmp_path, *overrides, limit=2)
        assert summary["outcome"] == "done"
        assert summary["writer"].startswith(f"scripted@{MODEL} · prompt ")
        assert scored(tmp_path) == 4
        asked = server.count
        run(tmp_path, *overrides, limit=2)
        # Another state with the same archive: everything comes from there.
        (tmp_path / "other").mkdir()
        os.symlink(tmp_path / "replies", tmp_path / "other" / "replies")
        run(tmp_path / "other", *overrides, limit=2)
        assert server.count == asked
    assert query(tmp_path / "other", "select distinct archived from replies") == [(True,)]


def test_a_model_of_the_models_file_is_added_by_its_name_alone_and_refused_if_it_would_write_otherwise_now(tmp_path):
    with scripted_chat() as server:
        models = by_lm(tmp_path, server)[0]
        run(tmp_path, models, GEM, limit=2)
        assert server.count == 0
        summary = run(tmp_path, models, GEM, candidates=("scripted",), limit=2)
        assert (summary["outcome"], scored(tmp_path), server.count) == ("done", 4, 2)
        file = tmp_path / "models.toml"
        file.write_text(file.read_text() + "sampling = { temperature = 1.0 }\n")
        with pytest.raises(SettingsError, match="candidate scripted .* would now write as .*never mixed: give"):
            run(tmp_path, models, GEM, limit=4)
        assert server.count == 2
    kinds = query(
        tmp_path, "select kind, prompt like 'scripted@%sampling%' from candidates where candidate_id = 'scripted'"
    )
    assert kinds == [("model", True)]


def test_a_server_that_is_down_leaves_pairs_missing_and_a_plain_refresh_fetches_them(tmp_path):
    with scripted_chat() as server:
        models = by_lm(tmp_path, server)[0]
    summary = run(tmp_path, models, GEM, candidates=("scripted",), limit=2)
    assert (summary["outcome"], "connection" in summary["message"].lower()) == ("incomplete", True)
    outcomes = "select distinct outcome, final from replies where writer like 'scripted%'"
    assert query(tmp_path, outcomes) == [("failed", False)]
    assert scored(tmp_path) == 0
    with scripted_chat() as server:
        summary = run(tmp_path, by_lm(tmp_path, server)[0], GEM, limit=2)
        assert (summary["outcome"], scored(tmp_path), server.count) == ("done", 4, 2)


@pytest.mark.parametrize(("behaviour", "outcome"), [("refusal", "refused"), ("empty", "empty")])
def test_replies_that_cannot_be_used_fail_their_pairs_with_the_reason_until_retry_failed(tmp_path, behaviour, outcome):
    rule = ("writing.judgments=rule", "writing.assw=rule", GEM)
    with scripted_chat(then=behaviour) as server:
        summary = run(tmp_path, *by_lm(tmp_path, server, *rule), limit=2)
    assert summary["outcome"] == "done"
    reasons = {(row["metric"], row["state"], row["reason"], row["pairs"]) for row in summary["reasons"]}
    assert ("gem", "failed", outcome, 4) in reasons
    unranked = query(tmp_path, "select unranked from leaderboard where metric = 'gem' and candidate = 'scripted'")
    assert unranked == [("only 0 of 4 pairs scored",)]
    with scripted_chat() as server:
        overrides = by_lm(tmp_path, server, *rule)
        run(tmp_path, *overrides, limit=2)
        assert server.count == 0
        summary = run(tmp_path, *overrides, limit=2, retry_failed=True)
        assert server.count == 2
    assert sum(row["failed"] for row in summary["metrics"]) == 0


@pytest.mark.parametrize(
    ("override", "kind", "says"),
    [
        ("writing.judgments=gpt-9", SettingsError, ("no writer 'gpt-9'; known: ", "and ", " more")),
        (
            "budget.models={gpt-9={usd=5}}",
            SettingsError,
            ("budget.models: no model 'gpt-9' in the models file; known: ",),
        ),
        ("sources.notes=none.jsonl", SourceError, ("no file ", "none.jsonl")),
        ("sources.texts=none.parquet", SourceError, ("no file ", "none.parquet")),
        ("sources.pdfs=nowhere", SourceError, ("no folder ", "nowhere; PDFs lie in a folder")),
    ],
)
def test_a_model_or_file_that_is_not_there_is_one_line(tmp_path, override, kind, says):
    with one_line(*says, kind=kind):
        run(tmp_path, override, limit=2)


def test_a_run_pauses_at_its_bound_and_a_raise_pays_only_the_rest_for_the_same_tables(tmp_path):
    with scripted_chat(pause_s=0.01) as server:
        whole = by_lm(tmp_path, server, GEM)
        (tmp_path / "undisturbed").mkdir()
        run(tmp_path / "undisturbed", *whole, limit=3)
        undisturbed = server.count
        for bound in (0, 2, 7):
            with pytest.raises(BudgetReached, match=f"paused at budget.requests: {bound} of {bound} requests"):
                run(tmp_path, *whole, f"budget.requests={bound}", limit=3)
            assert server.count == undisturbed + bound
            assert Store(tmp_path, EDITION).status()["state"] == "paused"
        with pytest.raises(BudgetReached, match="budget.models.scripted.prompt_tokens"):
            run(tmp_path, *whole, "budget.models={scripted={prompt_tokens=20}}", limit=3)
        assert server.count == undisturbed + 7
        summary = run(tmp_path, *whole, f"budget.requests={undisturbed}", limit=3)
        assert (summary["outcome"], server.count) == ("done", 2 * undisturbed)
    assert_same(tables(tmp_path), tables(tmp_path / "undisturbed"))
    outcomes = query(tmp_path, "select outcome, count(*) from runs where command = 'refresh' group by all order by all")
    assert outcomes == [("done", 1), ("paused", 4)]


def test_hours_of_a_run_are_bounded_over_all_its_starts(tmp_path):
    with pytest.raises(BudgetReached, match="paused at budget.hours"):
        run(tmp_path, "budget.hours=1e-6", GEM, limit=2)
    assert query(tmp_path, "select count(*) > 0 from texts") == [(True,)]
    with pytest.raises(BudgetReached, match="Raise it .--set budget.hours="):
        run(tmp_path, "budget.hours=1e-6", GEM, limit=2)
    assert run(tmp_path, "budget.hours=1", GEM, limit=2)["outcome"] == "done"


def test_a_kill_between_a_reply_and_its_use_costs_no_second_request(tmp_path):
    with scripted_chat() as server:
        overrides = by_lm(tmp_path, server, "writing.chunk=64", GEM)
        process = CONTEXT.Process(target=killed.refresh_until_a_reply, args=(str(tmp_path), overrides))
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        asked = server.count
        assert asked == 2
        summary = run(tmp_path, *overrides, limit=2)
        assert summary["outcome"] == "done"
        assert query(tmp_path, "select count(*) from replies where task = 'review' and archived") == [(2,)]
        assert server.count == len(query(tmp_path, "from replies"))


def test_a_paper_whose_text_comes_later_is_read_and_reviewed_then(tmp_path):
    bad = tmp_path / "bad"
    bad.mkdir()
    for number in range(1, 17):
        (bad / f"s{number:02d}.pdf").write_bytes(b"%PDF-1.4 torn")
    summary = run(tmp_path, f"sources.pdfs={bad}", GEM, limit=2)
    assert ("gem", "failed", "no_text") in {(row["metric"], row["state"], row["reason"]) for row in summary["reasons"]}
    summary = run(tmp_path, GEM, limit=2)
    assert sum(row["failed"] for row in summary["metrics"]) == 0


def test_a_paper_without_a_title_gets_that_of_its_pdf_and_the_notes_are_imported_again_all_the_same(tmp_path):
    notes = [json.loads(line) for line in (SIXTEEN / "notes.jsonl").read_text().splitlines()]
    titles = {note["id"]: note["content"]["title"]["value"] for note in notes if note["id"] == note["forum"]}
    for note in notes:
        if "title" in note["content"]:
            note["content"]["title"]["value"] = ""
    untitled = tmp_path / "untitled.jsonl"
    untitled.write_text("\n".join(map(json.dumps, notes)))
    run(tmp_path, f"sources.notes={untitled}", GEM, limit=2)
    store = Store(tmp_path, EDITION)
    found = {row["paper_id"]: row["title"] for row in store.read(PAPERS) if row["title"]}
    assert len(found) == 2 and all(plain(title) == plain(titles[paper]) for paper, title in found.items())
    untitled.write_text(untitled.read_text() + "\n")  # another file of the same notes, which is read again
    run(tmp_path, f"sources.notes={untitled}", GEM, limit=3)
    again = {row["paper_id"]: row["title"] for row in store.read(PAPERS) if row["title"]}
    assert len(again) == 3 and found.items() <= again.items()


def plain(title):
    """*title* without what a line break of a PDF may change."""
    return "".join(char for char in title.casefold() if char.isalnum())


def test_a_dry_run_prices_what_is_to_be_bought_and_says_which_bounds_it_would_break(tmp_path):
    with scripted_chat() as server:
        overrides = by_lm(tmp_path, server, "scoring.metrics=['gem', 'lm_examiner']", "scoring.examiner=scripted")
        file = tmp_path / "models.toml"
        file.write_text(file.read_text() + "price_in = 2.0\nprice_out = 10.0\n")
        found = dry(tmp_path, *overrides, "budget.usd=0.01", "budget.requests=99")
        assert server.count == 0  # the trial of the pace asks no examiner either
    (row,) = found["to_buy"]
    assert row["requests"] == sum(found["to_write"].values()) and "grades by scripted" in found["to_write"]
    assert 0.01 < row["usd"] == pytest.approx((2 * row["prompt_tokens"] + 10 * row["reply_tokens"]) / 1e6)
    assert [line.partition(" ")[0] for line in found["over_budget"]] == ["budget.usd"]


def test_status_and_log_tell_stages_what_is_spent_what_became_of_it_and_what_is_left_and_no_secret(
    tmp_path, monkeypatch
):
    canary = "cannot review"  # words of the refusal: the log must not tell them
    monkeypatch.setenv("OPENREVIEW_PASSWORD", canary)
    with scripted_chat("refusal") as server:
        models = by_lm(tmp_path, server)[0]
        summary = run(tmp_path, models, GEM, "budget.requests=9", candidates=("scripted",), limit=2)
        found = spending.summarise_spending(Store(tmp_path, EDITION))
    assert found["spent_by_model"]["scripted"]["outcomes"] == {"refused": 1, "ok": 1}
    assert (found["spent"]["requests"], found["remaining"], found["spend_log_lines_damaged"]) == (2, {"requests": 7}, 0)
    assert found["spent"]["hours"] > 0
    reviews = [row for row in found["texts"] if row["task"] == "review" and "scripted" in row["writer"]]
    assert {row["outcome"]: row["texts"] for row in reviews} == {"ok": 1, "refused": 1}
    log = Path(Store(tmp_path, EDITION).status()["log"])
    assert log == tmp_path / "logs" / f"{summary['run_id']}.jsonl"
    assert canary not in log.read_text()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {(line["edition"], line["run"]) for line in lines} == {(EDITION, summary["run_id"])}
    assert [lines[0]["event"], lines[-1]["event"], lines[-1]["state"]] == ["started", "ended", "done"]
    failed = [(line["task"], line["outcome"], line["detail"]) for line in lines if line["event"] == "text"]
    assert failed == [("review", "refused", "I [secret] this.")]
    stages = {line["stage"] for line in lines if line["event"] == "stage"}
    assert {"importing", "writing reviews by scripted", "scoring"} <= stages


def test_a_secret_is_masked_however_deep_it_lies(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENREVIEW_PASSWORD", "cannot review")
    store = Store(tmp_path, EDITION)
    with store.lock("test"), record_run(store, "test", demo(), shown=False) as progress:
        progress.tell("stage", stage="scoring", parts={"of": ["I cannot review this."]})
        progress.end("done")
    (log,) = (tmp_path / "logs").iterdir()
    assert "cannot review" not in log.read_text() and "I [secret] this." in log.read_text()


def test_a_log_that_cannot_be_written_stops_no_run(tmp_path):
    (tmp_path / "logs").touch()
    assert run(tmp_path, GEM, limit=2)["outcome"] == "done"
    assert Store(tmp_path, EDITION).status()["log"] is None

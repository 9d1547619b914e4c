"""Fetching an edition: whatever the service does or refuses and whenever it is killed, the snapshot is the same."""

from __future__ import annotations

import gzip
import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from gre_bench.core.errors import SettingsError, SourceError, UnfinishedError
from gre_bench.core.settings import load
from gre_bench.flows.fetch import fetch
from gre_bench.ingest.openreview.fetching import IN_A_ROW, choose_fetch_run_folder
from gre_bench.ingest.openreview.journal import open_journal_read_only
from gre_bench.ingest.records.notes import read_notes
from gre_bench.ingest.records.venues import find_venue_entry
from gre_bench.pipeline.refreshing import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.store import Store
from gre_bench.store.queries import REVIEWS, SAMPLE, SNAPSHOT, TEXTS
from tests.conftest import real
from tests.flows import fetching
from tests.flows.fetching import ACCOUNT, IDEAL, NOTES, fetched, opened, pdf_of, repeated, served, set_forward, settings
from tests.forks import CONTEXT
from tests.one_line import one_line
from tests.servers.openreview import FAULTS, Limit, Loopback, fault

pytestmark = pytest.mark.usefixtures("logged_in")
PAPERS = sorted({note["forum"] for note in NOTES})
STOPS = {"html", "challenge", "wrong-host"}


def content_of(notes):
    """Notes without the dates of a change, by id."""
    return {note["id"]: {key: note[key] for key in note if key not in ("tmdate", "mdate")} for note in notes}


def test_what_is_fetched_is_what_was_served_in_as_few_requests_as_can_be_and_no_secret_is_written(tmp_path):
    with served() as loopback:
        summary = fetched(loopback.v2, tmp_path)
        assert loopback.counts == summary["requests"] == IDEAL
        assert repeated(loopback) == []
        assert fetched(loopback.v2, tmp_path) | {"requests": 0} == summary | {"requests": 0}
        assert loopback.counts == IDEAL, "a fetch that is done sends nothing more"
    snapshot = opened(summary)
    assert {note["id"]: note for note in snapshot.notes()} == {note["id"]: note for note in NOTES}
    assert all(snapshot.pdf(name) == pdf_of(name) for name in PAPERS)
    assert summary["counts"]["outcome_reviews"] == summary["counts"]["reviews_unedited"] == 68
    assert {row["pdf_version_status"] for row in snapshot.papers().values()} == {"submitted"}
    for path in (path for path in tmp_path.rglob("*") if path.is_file()):
        data = path.read_bytes()
        assert not [one for one in (ACCOUNT.password, *loopback._tokens) if one.encode() in data], path


@pytest.mark.parametrize("name", FAULTS)
def test_whatever_the_service_does_the_snapshot_is_the_same(tmp_path, undisturbed, name):
    with served(faults=[fault(name, seconds=0.2)]) as loopback:
        triggered = loopback.triggered
        if name in STOPS:
            with one_line(kind=SourceError):
                fetched(loopback.v2, tmp_path)
            # One line and no storm: nothing was asked after it.
            assert (triggered[name], loopback.counts["notes"]) == ((1, 1) if name == "wrong-host" else (1, 2))
            loopback.faults = ()
        summary = fetched(loopback.v2, tmp_path)
        assert triggered[name], "nothing happened"
        if name in ("edits", "readers"):
            ids = content_of(opened(summary).list_notes_as_counted())
            assert ids == content_of(NOTES), "an edit after the rebuttal changes nothing of a review that counts"
            assert summary["counts"].get("reviews_before_rebuttal", 0) == (name == "edits")
        else:
            assert summary["digest"] == undisturbed
        assert not loopback.early, "a request before the reset"
        more = loopback.counts.total() - sum(IDEAL.values())
        allowed = 2 if name in STOPS or name.startswith("expired") else 5 if name == "forbidden" else 1
        # Of an archive that is refused, each of the five may not be what was refused in it.
        assert more <= allowed, "more requests than what was spoilt"


def test_within_limits_that_the_headers_state_no_request_is_ever_refused(tmp_path, undisturbed):
    limits = {"notes": Limit(3, 1.0), "attachment": Limit(2, 1.0), "pdf": Limit(1, 1.0)}
    with served(limits=limits) as loopback:
        summary = fetched(loopback.v2, tmp_path)
        assert summary["digest"] == undisturbed
        assert loopback.counts == IDEAL
        assert {request.status for request in loopback.requests} == {200}


def test_out_of_budget_is_a_pause_and_the_next_run_goes_on_after_it(tmp_path, undisturbed, monkeypatch):
    with served(limits={"attachment": Limit(2, 600.0)}) as loopback:
        first = fetched(loopback.v2, tmp_path, "fetch.when_paused=exit")
        assert (first["outcome"], first["snapshot"]) == ("paused", None)
        assert first["message"].startswith("paused until")
        assert first["requests"] == {"login": 1, "notes": 4, "attachment": 2}
        again = fetched(loopback.v2, tmp_path, "fetch.when_paused=exit")
        same = {"outcome": "paused", "requests": {"login": 1}, "paused_until": first["paused_until"]}
        assert again | same == again
        # A take that is not sealed goes on even if another is asked for.
        assert fetched(loopback.v2, tmp_path, "fetch.when_paused=exit", again=True)["run"] == "SAMPLE-2026-0001"
        assert not open_journal_read_only(choose_fetch_run_folder(settings(loopback.v2), tmp_path)).sealed
        set_forward(monkeypatch, 602.0)
        assert fetched(loopback.v2, tmp_path, "fetch.when_paused=exit")["digest"] == undisturbed
        assert not loopback.early and loopback.counts["attachment"] == 3


def test_a_service_that_is_down_leaves_an_incomplete_fetch_that_goes_on(tmp_path, undisturbed):
    with served(faults=[fault("503", first=3, every=1)]) as loopback:
        summary = fetched(loopback.v2, tmp_path)
        assert summary["outcome"] == "incomplete" and "4 tries failed, the last with 503" in summary["message"]
        assert loopback.counts["notes"] == 2 + 4
        loopback.faults = ()
        assert fetched(loopback.v2, tmp_path)["digest"] == undisturbed
        assert loopback.counts["notes"] == 4 + 4


@pytest.mark.parametrize("whole", [pytest.param(True, marks=pytest.mark.night), False])
def test_a_fetch_killed_at_each_of_its_commits_makes_the_same_snapshot(tmp_path, undisturbed, whole):
    # Each process is killed after its first commit, or, with one commit done, in the middle of its second.
    commits, kills = (1, 0) if whole else (2, 0)
    with served() as loopback:
        while True:
            how = (loopback.v2, str(tmp_path), commits, whole, ("fetch.pdf_batch=1",))
            process = CONTEXT.Process(target=fetching.fetch_until, args=how)
            process.start()
            process.join()
            if process.exitcode == 0:
                break
            assert process.exitcode == -9
            kills += 1
        # Four pages, sixteen PDFs and the seal.
        assert kills == (21 if whole else 20)
        assert fetched(loopback.v2, tmp_path, "fetch.pdf_batch=1")["digest"] == undisturbed
        again = repeated(loopback)
        assert len(again) == (0 if whole else 19), "a request that was not under way was repeated"
        asked = {"notes": 4, "pdf": 16}
        assert sum(loopback.counts[kind] for kind in asked) == sum(asked.values()) + len(again)


def test_kills_at_random_moments_make_the_same_snapshot(tmp_path, undisturbed):
    random, kills = Random(5), 0
    with served() as loopback:
        for _ in range(4):
            how = (loopback.v2, str(tmp_path), 10**9, True, ())
            process = CONTEXT.Process(target=fetching.fetch_until, args=how)
            process.start()
            process.join(random.uniform(0.0, 0.3))
            kills += process.is_alive()
            process.kill()
            process.join()
        assert fetched(loopback.v2, tmp_path)["digest"] == undisturbed
        assert loopback.counts.total() - loopback.counts["login"] <= sum(IDEAL.values()) - 1 + kills


def test_a_second_fetch_says_what_changed_and_asks_for_no_pdf_again(tmp_path):
    with served() as loopback:
        fetched(loopback.v2, tmp_path)
        loopback.stores[2].edit("s01-r1", rating="1: poor")
        loopback.stores[2].delete("s02-r1")
        loopback.stores[2].edit("s03", venueid="SAMPLE.cc/2026/Conference/Withdrawn_Submission")
        summary = fetched(loopback.v2, tmp_path, again=True)
    assert (summary["requests"].get("attachment"), summary["requests"].get("pdf")) == (None, None)
    assert [line.split(":")[0] for line in summary["changes"]["lines"]] == [
        "edited Official_Review s01-r1 of paper s01",
        "deleted Official_Review s02-r1 of paper s02",
        "withdrawn Submission s03",
    ]
    counts = summary["counts"]
    assert (summary["run"], counts["outcome_withdrawn"], counts["sampled"]) == ("SAMPLE-2026-0002", 1, 15)
    assert opened(summary).pdf("s01") == pdf_of("s01")


def test_a_pilot_is_grown_without_asking_again_for_what_is_there(tmp_path, undisturbed):
    with served() as loopback:
        pilot = fetched(loopback.v2, tmp_path, papers=6)
        sampled = {name for name, row in opened(pilot).papers().items() if row["sampled"]}
        assert len(sampled) == 6 and pilot["counts"]["pdfs"] == 6
        assert fetched(loopback.v2, tmp_path)["digest"] == undisturbed
        assert loopback.counts["notes"] == 4 and repeated(loopback) == []
        assert fetched(loopback.v2, tmp_path, papers=6)["snapshot"] == pilot["snapshot"]


def test_papers_whose_pdf_is_missing_or_not_named_are_counted_and_one_that_comes_without_its_end_is_asked_for_again(
    tmp_path,
):
    notes, asked = [json.loads(json.dumps(note)) for note in NOTES], []
    for note in notes:
        if note["id"] == "s02":
            del note["content"]["pdf"]

    def odd(name):
        asked.append(name)
        if name == "s03" and asked.count(name) == 1:
            return b"%PDF-1.7 half"
        return None if name in ("s01", "s02") else pdf_of(name)

    with served(notes, pdf=odd) as loopback:
        summary = fetched(loopback.v2, tmp_path)
        assert loopback.counts["pdf"] == 1, "what a sound archive lacks is missing without another request"
    snapshot = opened(summary)
    assert snapshot.pdf("s03") == pdf_of("s03")
    problems = {name: row["pdf_problem"] for name, row in snapshot.papers().items() if row["pdf_problem"]}
    assert problems == {"s01": "the service has no PDF of it", "s02": "the note names no PDF"}
    assert (summary["counts"]["pdf_problems"], summary["counts"]["pdfs"]) == (2, 14)


def test_replies_that_a_listing_leaves_out_are_asked_for_by_forum(tmp_path, undisturbed, monkeypatch):
    with served() as loopback:
        store = loopback.stores[2]
        listed = store._with_details

        def without_replies(note, query):
            return note if note["id"] in ("s03", "s07") and "details" in query else listed(note, query)

        monkeypatch.setattr(store, "_with_details", without_replies)
        assert fetched(loopback.v2, tmp_path)["digest"] == undisturbed
        assert loopback.counts["notes"] == IDEAL["notes"] + 2


def test_an_edit_after_the_rebuttal_does_not_count_and_one_before_does(tmp_path):
    rebuttal = find_venue_entry("SAMPLE", 2026).rebuttal_ms
    with served() as loopback:
        loopback.stores[2].edit("s01-r1", rebuttal - 1000, summary="said before")
        loopback.stores[2].edit("s01-r1", rebuttal + 1000, summary="said after")
        loopback.stores[2].edit("s02-r1", rebuttal - 1000, summary="said in time")
        loopback.stores[2].edit("s03", rebuttal + 1000, pdf="/pdf/another.pdf")
        summary = fetched(loopback.v2, tmp_path)
        assert loopback.counts["edits"] == 2
    snapshot = opened(summary)
    reviews = read_notes(snapshot.list_notes_as_counted(), find_venue_entry("SAMPLE", 2026)).reviews
    texts = {review.review_id: review.text for review in reviews}
    assert "said before" in texts["s01-r1"] and "said in time" in texts["s02-r1"]
    assert any("said after" in json.dumps(note) for note in snapshot.notes())
    record = next(row for row in snapshot.reviews() if row["review_id"] == "s01-r1")
    assert (record["versions"], record["rule"], record["written_at"]) == (3, "before_rebuttal", rebuttal - 1000)
    assert snapshot.papers()["s03"]["pdf_version_status"] == "revised_after_review"
    assert summary["counts"]["reviews_before_rebuttal"] == 1


def test_an_edit_of_only_readers_takes_no_word_and_no_rating_and_brings_no_pdf(tmp_path):
    rebuttal = find_venue_entry("SAMPLE", 2026).rebuttal_ms
    reviews = [note["id"] for note in NOTES if note["forum"] in ("s01", "s02", "s03") and note["id"] != note["forum"]]
    with served() as loopback:
        store = loopback.stores[2]
        for note in (*reviews, "s01"):
            freed = {name: {"readers": {"delete": True}} for name in store.notes[note]["content"]}
            store.edit(note, rebuttal - 1000, **freed)
            store.edit(note, rebuttal + 1000, **freed)
            store.edit(note, rebuttal + 2000, remark="said after")
        snapshot = opened(fetched(loopback.v2, tmp_path))
    told = read_notes(snapshot.list_notes_as_counted(), find_venue_entry("SAMPLE", 2026)).reviews
    assert told == read_notes(NOTES, find_venue_entry("SAMPLE", 2026)).reviews
    assert snapshot.papers()["s01"]["pdf_version_status"] == "submitted"


def test_a_venue_that_nobody_has_seen_no_host_and_half_a_login_are_one_line(tmp_path, monkeypatch):
    unseen = {"edition": "NeurIPS 2023"}
    with Loopback([]) as loopback:
        with one_line("--unverified-venue", kind=SettingsError):
            fetched(loopback.v2, tmp_path, **unseen)
        with one_line("an empty list usually means the host", kind=SourceError):
            fetched(loopback.v2, tmp_path, "sources.unverified_venue=true", **unseen)
    with one_line("name a host: --set fetch.host", kind=SettingsError):
        fetched(None, tmp_path)
    monkeypatch.delenv("OPENREVIEW_PASSWORD")
    half = "user name (env:OPENREVIEW_USERNAME) and no password (env:OPENREVIEW_PASSWORD)"
    with one_line(half, kind=SettingsError):
        fetched("http://127.0.0.1:9", tmp_path)


def test_a_try_on_this_machine_leaves_the_fetch_from_another_host_untouched(tmp_path, undisturbed):
    with served(pdf=lambda name: b"%PDF-1.7 a substitute\n%%EOF") as first:
        tried = fetched(first.v2, tmp_path)
    with served() as second:
        summary = fetched(second.v2, tmp_path)
        assert second.counts == IDEAL, "what another host gave was taken"
        assert fetched(second.v2, tmp_path)["snapshot"] == summary["snapshot"]
    with served() as third:
        same = fetched(third.v2, tmp_path)
    assert same["digest"] == summary["digest"] and same["snapshot"] != summary["snapshot"], "a snapshot states its host"
    assert (tried["run"], summary["run"]) == ("SAMPLE-2026-0001", "SAMPLE-2026-0002")
    assert summary["digest"] == undisturbed and summary["changes"] is None
    assert (opened(tried).manifest.source, opened(summary).manifest.source) == (
        f"openreview: {first.v2}, API v2",
        f"openreview: {second.v2}, API v2",
    )


SOURCES = [("iclr2020", "ICLR 2020", 300), ("iclr2023", "ICLR 2023", 73), ("iclr2024", "ICLR 2024", 40)]


@pytest.mark.shared
@pytest.mark.parametrize("api", [pytest.param("own", marks=pytest.mark.night), "together"])
def test_all_real_papers_and_reviews_come_home_unchanged(tmp_path, api):
    """413 papers and 1,285 reviews by API v1 and v2; of a PDF that is not to be had, a substitute comes home."""
    files = [real("openreview", f"{name}.notes.jsonl.gz") for name, _, _ in SOURCES]
    papers = reviews = 0
    held = [[json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()] for path in files]
    everything = [note for notes in held for note in notes]
    for (_, edition, count), notes in zip(SOURCES, held, strict=True):
        with served(
            notes if api == "own" else everything, pdf=lambda name: f"%PDF-1.7 {name}\n%%EOF".encode()
        ) as loopback:
            host = loopback.v2 if edition.endswith("2024") else loopback.v1
            more = ("fetch.page=1000", "fetch.pdf_batch=50")
            summary = fetched(host, tmp_path, *more, edition=edition, papers=count)
            replies = Counter(note["forum"] for note in notes)
            drawn = {name for name, count in replies.items() if count > 3}
            ideal = {"notes": 1, "attachment": 1} if edition.endswith("2024") else {"notes": 3, "pdf": len(drawn)}
            assert loopback.counts == summary["requests"] == {"login": 1} | ideal
        snapshot = opened(summary)
        assert {note["id"]: note for note in snapshot.notes()} == {note["id"]: note for note in notes}
        assert all(
            snapshot.pdf(note["id"]) == f"%PDF-1.7 {note['id']}\n%%EOF".encode()
            for note in notes
            if note["id"] == note["forum"] in drawn
        )
        papers, reviews = papers + summary["counts"]["outcome_papers"], reviews + summary["counts"]["outcome_reviews"]
    assert (papers, reviews) == (413, 1285)


@pytest.mark.night
def test_the_flow_runs_under_prefect_and_a_pause_is_no_failure(tmp_path, monkeypatch):
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))
    from prefect.blocks.system import Secret
    from prefect.testing.utilities import prefect_test_harness

    with served(limits={"attachment": Limit(2, 600.0)}) as loopback, prefect_test_harness(server_startup_timeout=120):
        summary = fetch(settings(loopback.v2, "fetch.when_paused=exit"), tmp_path / "state", strict=True)
        assert summary["outcome"] == "paused"
        loopback.faults = (fault("503", first=1, every=1),)
        with pytest.raises(UnfinishedError, match="tries failed"):
            fetch(settings(loopback.v2, "fetch.when_paused=exit"), tmp_path / "other", strict=True)
        loopback.faults = ()
        monkeypatch.delenv("OPENREVIEW_PASSWORD")
        named = settings(loopback.v2, "fetch.when_paused=exit", "fetch.login=block:openreview")
        with pytest.raises(SettingsError, match="no block:openreview-username and no block:openreview-token"):
            fetch(named, tmp_path / "third")
        Secret(value=ACCOUNT.username).save("openreview-username")
        with pytest.raises(SettingsError, match=r"no password \(block:openreview-password\)"):
            fetch(named, tmp_path / "third")
        Secret(value=ACCOUNT.password).save("openreview-password")
        assert fetch(named, tmp_path / "third")["requests"]["notes"] == IDEAL["notes"]


def test_a_snapshot_of_a_list_of_papers_is_what_a_refresh_takes_its_sample_from(tmp_path):
    wanted, ids = {"s01", "s03", "s07"}, tmp_path / "ids.txt"
    ids.write_text("s01\ns03\ns07\n")
    with served() as loopback:
        after = find_venue_entry("SAMPLE", 2026).rebuttal_ms + 1000
        loopback.stores[2].edit("s01-r1", after, summary="said after the rebuttal")
        snapshot = opened(fetched(loopback.v2, tmp_path / "elsewhere", f"edition.only={ids}"))
    assert {name for name, row in snapshot.papers().items() if row["sampled"]} == wanted
    assert {name for name in snapshot.papers() if snapshot.pdf(name)} == wanted
    chosen = load(None, (
        "edition.venue=SAMPLE", "edition.year=2026", "edition.papers=300", f"edition.only={ids}",
        f"sources.snapshot={snapshot.folder}", "writing.judgments=rule", "scoring.metrics=['gem']",
    ))  # fmt: skip
    summary = refresh(Job(chosen, tmp_path))
    assert (summary["outcome"], summary["papers"]) == ("done", 3)
    store = Store(tmp_path, "SAMPLE-2026")
    assert {row["paper_id"] for row in store.read(SAMPLE)} == {row["paper_id"] for row in store.read(TEXTS)} == wanted
    texts = [row["text"] or "" for row in store.read(REVIEWS)]
    assert not [text for text in texts if "said after the rebuttal" in text]
    signatures = {signature for note in NOTES for signature in note["signatures"]}
    whole = store.read_file.read_bytes()
    assert not [name for name in signatures if name.encode() in whole]
    versions = {row["review_id"]: row for row in store.query("from review_versions")[1]}
    assert len(versions) == 68
    assert (versions["s01-r1"]["rule"], versions["s01-r1"]["versions"]) == ("before_rebuttal", 2)
    assert {row["pdf_version_status"] for row in store.query("from paper_sources")[1]} == {"submitted"}
    assert Path(store.read(SNAPSHOT)[0]["path"]).name == snapshot.folder.name
    ids.write_text("s03\ns07\n")
    with pytest.raises(SettingsError, match="drawn with 1 papers that ids.txt does not name"):
        refresh(Job(chosen, tmp_path))


LISTING = "SAMPLE.cc/2026/Conference/-/Submission"
SINGLY = ("fetch.pdf_batch=1",)
REBUTTAL = find_venue_entry("SAMPLE", 2026).rebuttal_ms


def asked(loopback, kind):
    """How often each item was asked for."""
    return Counter(dict(one.query)["id"] for one in loopback.requests if one.kind == kind)


@pytest.mark.parametrize("batch", [1, 5])
def test_a_refused_pdf_is_a_problem_and_due_in_the_next_run(tmp_path, undisturbed, batch):
    with served() as loopback:
        loopback.stores[2].refused = {"s02"}
        how = f"fetch.pdf_batch={batch}"
        first = fetched(loopback.v2, tmp_path, how)
        assert first["outcome"] == "done"
        assert (first["counts"]["pdfs"], first["counts"]["pdf_problems"], first["counts"]["pdf_refused"]) == (15, 1, 1)
        due = "refused (403), to be requested again by the next fetch: 1 PDFs and the versions of 0 notes"
        assert due in first["remarks"]
        assert opened(first).papers()["s02"]["pdf_problem"] == "the service refuses it"
        again = fetched(loopback.v2, tmp_path, how)
        assert (again["digest"], again["requests"]) == (first["digest"], {"login": 1, "pdf": 1})
        loopback.stores[2].refused = set()
        last = fetched(loopback.v2, tmp_path, how)
        assert last["digest"] == undisturbed and last["requests"]["pdf"] == 1
        assert last["counts"]["pdf_refused"] == 0 and last["changes"]["lines"] == []


@pytest.mark.parametrize(("batch", "kinds"), [(1, {"pdf": IN_A_ROW}), (5, {"attachment": 1, "pdf": IN_A_ROW - 1})])
def test_an_account_that_is_refused_everything_stops_the_run_and_leaves_all_due(tmp_path, undisturbed, batch, kinds):
    with served(faults=[fault("forbidden", every=1)]) as loopback:
        for _ in range(3):
            summary = fetched(loopback.v2, tmp_path, f"fetch.pdf_batch={batch}")
            assert (summary["outcome"], summary["snapshot"]) == ("incomplete", None)
            assert summary["message"].startswith("5 requests in a row were refused, the last with http://127.0.0.1")
            assert "ForbiddenError" in summary["message"] and "see what the account may read" in summary["message"]
            requests = summary["requests"].items()
            assert {kind: count for kind, count in requests if kind in ("pdf", "attachment")} == kinds
        loopback.faults = ()
        assert fetched(loopback.v2, tmp_path)["digest"] == undisturbed


def test_refusals_of_a_run_before_neither_stop_a_run_nor_make_a_storm(tmp_path):
    refused = {f"s{number:02}" for number in range(1, 16, 2)}
    with served() as loopback:
        loopback.stores[2].refused = set(refused)
        first = fetched(loopback.v2, tmp_path, *SINGLY)
        assert (first["outcome"], first["counts"]["pdf_refused"], first["requests"]["pdf"]) == ("done", 8, 16)
        again = fetched(loopback.v2, tmp_path, *SINGLY)
        assert (again["outcome"], again["digest"], again["requests"]["pdf"]) == ("done", first["digest"], IN_A_ROW)
        # Those of them that are given now come, wherever they stand.
        loopback.stores[2].refused = {"s01", "s03"}
        assert fetched(loopback.v2, tmp_path, *SINGLY)["counts"]["pdf_refused"] == 2


def test_a_run_that_waits_asks_for_what_is_refused_once(tmp_path):
    with served(limits={"pdf": Limit(6, 0.3)}) as loopback:
        loopback.stores[2].refused = {"s01", "s02", "s03", "s06", "s16"}
        summary = fetched(loopback.v2, tmp_path, *SINGLY)
        assert (summary["outcome"], summary["counts"]["pdf_refused"]) == ("done", 5)
        assert set(asked(loopback, "pdf").values()) == {1} and not loopback.early


def test_refused_versions_are_due_again_and_the_review_counts_as_it_is_until_then(tmp_path):
    with served() as loopback:
        loopback.stores[2].edit("s01-r1", REBUTTAL + 1000, summary="said after")
        loopback.stores[2].refused = {"s01-r1"}
        first = fetched(loopback.v2, tmp_path)
        assert (first["outcome"], first["counts"]["reviews_not_public"]) == ("done", 1)
        assert "0 PDFs and the versions of 1 notes" in first["remarks"][-1]
        loopback.stores[2].refused = set()
        last = fetched(loopback.v2, tmp_path)
        assert (last["counts"]["reviews_before_rebuttal"], last["requests"]) == (1, {"login": 1, "edits": 1})


def test_versions_that_are_all_refused_stop_the_run_and_it_says_how_to_do_without(tmp_path):
    with served() as loopback:
        loopback.stores[2].refused = {f"s{number:02}-r1" for number in range(1, 9)}
        for review in sorted(loopback.stores[2].refused):
            loopback.stores[2].edit(review, REBUTTAL + 1000, summary="said after")
        summary = fetched(loopback.v2, tmp_path)
        assert summary["outcome"] == "incomplete" and "--set fetch.histories=false" in summary["message"]
        assert loopback.counts["edits"] == IN_A_ROW
        without = fetched(loopback.v2, tmp_path, "fetch.histories=false")
        assert (without["outcome"], without["counts"]["reviews_not_asked"]) == ("done", 8)


def test_what_is_missing_is_final_for_the_take_and_asked_for_by_the_next(tmp_path, undisturbed):
    absent = {"s01"}
    with served(pdf=lambda name: None if name in absent else pdf_of(name)) as loopback:
        first = fetched(loopback.v2, tmp_path, *SINGLY)
        assert opened(first).papers()["s01"]["pdf_problem"] == "the service has no PDF of it"
        absent.clear()
        assert fetched(loopback.v2, tmp_path, *SINGLY)["requests"] == {}
        again = fetched(loopback.v2, tmp_path, *SINGLY, again=True)
        assert (again["digest"], again["requests"]["pdf"]) == (undisturbed, 1)


def test_archives_that_stay_damaged_are_tried_twice_and_cost_only_what_is_damaged_in_them(tmp_path, undisturbed):
    with served(faults=[fault("bad-archive", every=1)]) as loopback:
        assert fetched(loopback.v2, tmp_path)["digest"] == undisturbed
        assert loopback.counts["attachment"] == 2 * 3
        # The one of an archive whose bytes were changed, and the sixteenth, which is alone.
        assert set(asked(loopback, "pdf").values()) == {1} and loopback.counts["pdf"] == 3 + 1


def test_a_pdf_damaged_where_fetches_share_it_is_asked_for_again_and_a_snapshot_that_shares_it_is_named(tmp_path):
    with served() as loopback:
        first = fetched(loopback.v2, tmp_path)
        file = tmp_path / "openreview" / "pdfs" / f"{opened(first).papers()['s01']['pdf']}.pdf"
        assert file.stat().st_mode & 0o777 == 0o444
        folder = Path(first["snapshot"])
        file.chmod(0o644)
        with file.open("r+b") as shared:
            shared.write(b"%PDX")
        with one_line("is not as it was written; ", ": move that folder away"):
            fetched(loopback.v2, tmp_path)
        folder.rename(tmp_path / "away")
        again = fetched(loopback.v2, tmp_path)
        assert again["snapshot"] == first["snapshot"] and opened(again).pdf("s01") == pdf_of("s01")
        assert loopback.counts["pdf"] == 2
        for content in (b"%PDF-1.7 other bytes", None):
            file.unlink()
            if content is not None:
                file.write_bytes(content)
            before = loopback.counts["pdf"]
            again = fetched(loopback.v2, tmp_path, again=content is None)
            assert again["digest"] == first["digest"]
            assert again["requests"]["pdf"] == loopback.counts["pdf"] - before == 1
            assert file.read_bytes() == pdf_of("s01")


def test_a_listing_that_ends_before_its_count_is_incomplete_taken_only_if_asked_and_goes_on_later(
    tmp_path, undisturbed
):
    with served(faults=[fault("empty-page", first=3, every=1)]) as loopback:
        for asked in (2 + 3 + 1, 3 + 1):
            summary = fetched(loopback.v2, tmp_path)
            assert (summary["outcome"], summary["snapshot"]) == ("incomplete", None)
            assert f"listed 10 of 16 under {LISTING}, then 3 empty pages" in summary["message"]
            assert "--set fetch.short_listing=true" in summary["message"]
            # What is new, three empty pages, and what is counted now.
            assert summary["requests"]["notes"] == asked
        shutil.copytree(tmp_path, tmp_path / "short")
        summary = fetched(loopback.v2, tmp_path / "short", "fetch.short_listing=true")
        counts = summary["counts"]
        assert (summary["outcome"], counts["listed"], counts["listed_by_service"]) == ("done", 10, 16)
        assert f"listed 10 of 16 that the service counts under {LISTING}" in summary["remarks"]
        assert opened(summary).manifest.remarks == summary["remarks"]
        loopback.faults = ()
        summary = fetched(loopback.v2, tmp_path)
        assert summary["digest"] == undisturbed
        assert (summary["counts"]["listed"], summary["counts"]["listed_by_service"]) == (16, 16)


def test_a_submission_deleted_while_they_are_listed_is_not_waited_for(tmp_path, monkeypatch):
    with served(limits={"notes": Limit(3, 600.0)}) as loopback:
        assert fetched(loopback.v2, tmp_path, "fetch.when_paused=exit")["outcome"] == "paused"
        loopback.limits = {}
        loopback.stores[2].delete("s16")
        set_forward(monkeypatch, 602.0)
        summary = fetched(loopback.v2, tmp_path)
        assert (summary["counts"]["listed"], summary["counts"]["listed_by_service"]) == (15, 15)


@pytest.mark.parametrize("every", [0, 1])
def test_a_service_that_counts_nothing_is_listed_until_it_is_empty_twice(tmp_path, undisturbed, monkeypatch, every):
    with served(faults=[fault("empty-page", first=6, every=every)]) as loopback:
        counted = loopback.stores[2]._counted

        def without_count(*asked):
            answer = counted(*asked)
            tree = {name: value for name, value in json.loads(answer.body).items() if name != "count"}
            return replace(answer, body=json.dumps(tree).encode())

        monkeypatch.setattr(loopback.stores[2], "_counted", without_count)
        assert fetched(loopback.v2, tmp_path)["digest"] == undisturbed
        # After the last page an empty one, and another to be sure.
        assert loopback.counts["notes"] == 6

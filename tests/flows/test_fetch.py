"""Fetching an edition: whatever the service does and whenever it is killed, the snapshot is the same."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from random import Random

import pytest

from gre_bench.core.errors import SettingsError, SourceError, UnfinishedError
from gre_bench.core.settings import load
from gre_bench.flows.annual_refresh import refresh
from gre_bench.flows.fetch import fetch
from gre_bench.ingest.openreview.fetching import fetch_run
from gre_bench.ingest.openreview.journal import read
from gre_bench.ingest.openreview.loopback import FAULTS, Limit, Loopback, fault
from gre_bench.ingest.records.notes import read_notes
from gre_bench.ingest.records.venues import venue_of
from gre_bench.pipeline.runs.job import Job
from gre_bench.store import Store
from gre_bench.store.queries import REVIEWS, SAMPLE, SNAPSHOT, TEXTS
from gre_bench.tasks import steps
from tests.conftest import real
from tests.flows import fetching
from tests.flows.fetching import ACCOUNT, IDEAL, NOTES, fetched, opened, pdf_of, repeated, served, set_forward, settings
from tests.forks import CONTEXT
from tests.one_line import one_line

pytestmark = pytest.mark.usefixtures("logged_in")
PAPERS = sorted({note["forum"] for note in NOTES})
STOPS = {"html", "challenge", "wrong-host"}


def content_of(notes):
    """Notes without the dates of a change, by id."""
    return {note["id"]: {key: note[key] for key in note if key not in ("tmdate", "mdate")} for note in notes}


def test_what_is_fetched_is_what_was_served_in_as_few_requests_as_can_be(tmp_path):
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
        if name == "edits":
            ids = content_of(opened(summary).reviewed())
            assert ids == content_of(NOTES), "a review that was edited after the rebuttal counts as it was before"
            assert summary["counts"]["reviews_before_rebuttal"] == 1
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


@pytest.mark.parametrize("whole", [pytest.param(True, marks=pytest.mark.slow), False])
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
        for _ in range(8):
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


def test_of_a_list_of_papers_just_these_are_brought_home_and_scored(tmp_path):
    (tmp_path / "ids.txt").write_text("s03\ns07\ns11\n")
    only = f"edition.only={tmp_path / 'ids.txt'}"
    with served() as loopback:
        snapshot = opened(fetched(loopback.v2, tmp_path, only))
    wanted = {"s03", "s07", "s11"}
    assert {name for name, row in snapshot.papers().items() if row["sampled"]} == wanted
    assert {name for name in snapshot.papers() if snapshot.pdf(name)} == wanted
    chosen = load(None, ("edition.papers=300", only, f"sources.snapshot={snapshot.folder}", "writing.judgments=rule",
                           "scoring.metrics=['gem']"))  # fmt: skip
    assert refresh(Job(chosen, tmp_path), steps.undecorated())["papers"] == 3
    (tmp_path / "ids.txt").write_text("s03\ns07\n")
    with pytest.raises(SettingsError, match="drawn with 1 papers that ids.txt does not name"):
        refresh(Job(chosen, tmp_path), steps.undecorated())


def test_papers_whose_pdf_is_missing_or_not_named_are_counted(tmp_path):
    notes = [
        note | {"content": {key: value for key, value in note["content"].items() if key != "pdf"}}
        if note["id"] == "s02"
        else note
        for note in NOTES
    ]
    with served(notes, pdf=lambda name: None if name in ("s01", "s02") else pdf_of(name)) as loopback:
        summary = fetched(loopback.v2, tmp_path)
        assert not loopback.counts["pdf"], "what a sound archive lacks is missing without another request"
    problems = {name: row["pdf_problem"] for name, row in opened(summary).papers().items() if row["pdf_problem"]}
    assert problems == {"s01": "the service has no PDF of it", "s02": "the note names no PDF"}
    assert (summary["counts"]["pdf_problems"], summary["counts"]["pdfs"]) == (2, 14)


def test_a_pdf_that_comes_without_its_end_is_asked_for_once_more(tmp_path):
    asked = []

    def cut_once(name):
        asked.append(name)
        return b"%PDF-1.7 half" if name == "s01" and asked.count("s01") == 1 else pdf_of(name)

    with served(pdf=cut_once) as loopback:
        assert opened(fetched(loopback.v2, tmp_path)).pdf("s01") == pdf_of("s01")
        assert loopback.counts["pdf"] == IDEAL["pdf"] + 1


def test_replies_that_a_listing_leaves_out_are_asked_for_by_forum(tmp_path, undisturbed, monkeypatch):
    with served() as loopback:
        store = loopback.stores[2]
        listed = store._with_details
        monkeypatch.setattr(
            store,
            "_with_details",
            lambda note, query: note if note["id"] in ("s03", "s07") and "details" in query else listed(note, query),
        )
        assert fetched(loopback.v2, tmp_path)["digest"] == undisturbed
        assert loopback.counts["notes"] == IDEAL["notes"] + 2


def test_an_edit_after_the_rebuttal_does_not_count_and_one_before_does(tmp_path):
    rebuttal = venue_of("SAMPLE", 2026).rebuttal_ms
    with served() as loopback:
        loopback.stores[2].edit("s01-r1", rebuttal - 1000, summary="said before")
        loopback.stores[2].edit("s01-r1", rebuttal + 1000, summary="said after")
        loopback.stores[2].edit("s02-r1", rebuttal - 1000, summary="said in time")
        loopback.stores[2].edit("s03", rebuttal + 1000, pdf="/pdf/another.pdf")
        summary = fetched(loopback.v2, tmp_path)
        assert loopback.counts["edits"] == 2
    snapshot = opened(summary)
    reviews = read_notes(snapshot.reviewed(), venue_of("SAMPLE", 2026)).reviews
    texts = {review.review_id: review.text for review in reviews}
    assert "said before" in texts["s01-r1"] and "said in time" in texts["s02-r1"]
    assert any("said after" in json.dumps(note) for note in snapshot.notes())
    record = next(row for row in snapshot.reviews() if row["review_id"] == "s01-r1")
    assert (record["versions"], record["rule"], record["written_at"]) == (3, "before_rebuttal", rebuttal - 1000)
    assert snapshot.papers()["s03"]["pdf_version_status"] == "revised_after_review"
    assert summary["counts"]["reviews_before_rebuttal"] == 1


def test_a_venue_that_nobody_has_seen_is_asked_for_by_name_and_marked(tmp_path):
    with Loopback([]) as loopback:
        with pytest.raises(SettingsError, match="--unverified-venue"):
            fetched(loopback.v2, tmp_path, edition="ICLR 2026")
        with pytest.raises(SourceError, match="an empty list usually means the host"):
            fetched(loopback.v2, tmp_path, "sources.unverified_venue=true", edition="ICLR 2026")


def test_a_venue_without_a_host_says_what_to_name(tmp_path):
    with pytest.raises(SettingsError, match=r"name a host: --set fetch\.host"):
        fetched(None, tmp_path)


def test_half_a_login_is_told(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENREVIEW_PASSWORD")
    with pytest.raises(
        SettingsError, match=r"user name \(env:OPENREVIEW_USERNAME\) and no password \(env:OPENREVIEW_PASSWORD\)"
    ):
        fetched("http://127.0.0.1:9", tmp_path)


def test_no_secret_is_written_anywhere(tmp_path):
    with served() as loopback:
        fetched(loopback.v2, tmp_path)
        tokens = loopback._tokens
        for path in tmp_path.rglob("*"):
            if path.is_file():
                data = path.read_bytes()
                assert not [one for one in (ACCOUNT.password, *tokens) if one.encode() in data], path


def test_the_take_that_is_not_sealed_goes_on_even_if_asked_again(tmp_path):
    with served(limits={"attachment": Limit(1, 600.0)}) as loopback:
        chosen = settings(loopback.v2, "fetch.when_paused=exit")
        for _ in range(2):
            assert fetched(loopback.v2, tmp_path, "fetch.when_paused=exit", again=True)["run"] == "SAMPLE-2026-0001"
        assert fetch_run(chosen, tmp_path).name == "SAMPLE-2026-0001"
        assert not read(fetch_run(chosen, tmp_path)).sealed


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
@pytest.mark.parametrize("api", [pytest.param("own", marks=pytest.mark.slow), "together"])
def test_all_real_papers_and_reviews_come_home_unchanged(tmp_path, api):
    """413 papers and 1,285 reviews by API v1 and v2; the PDFs are substitutes, as the real ones are not to be had."""
    files = [real("openreview", f"{name}.notes.jsonl.gz") for name, _, _ in SOURCES]
    papers = reviews = 0
    held = [[json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()] for path in files]
    everything = [note for notes in held for note in notes]
    for (_, edition, count), notes in zip(SOURCES, held, strict=True):
        with served(
            notes if api == "own" else everything, pdf=lambda name: f"%PDF-1.7 {name}\n%%EOF".encode()
        ) as loopback:
            host = loopback.v2 if edition.endswith("2024") else loopback.v1
            more = ("fetch.page=1000", "fetch.pdf_batch=50", "fetch.everything=true")
            summary = fetched(host, tmp_path, *more, edition=edition, papers=count)
            ideal = {"notes": 1, "attachment": 1} if edition.endswith("2024") else {"notes": 3, "pdf": count}
            assert loopback.counts == summary["requests"] == {"login": 1} | ideal
        snapshot = opened(summary)
        assert {note["id"]: note for note in snapshot.notes()} == {note["id"]: note for note in notes}
        assert all(
            snapshot.pdf(note["id"]) == f"%PDF-1.7 {note['id']}\n%%EOF".encode()
            for note in notes
            if note["id"] == note["forum"]
        )
        papers, reviews = papers + summary["counts"]["outcome_papers"], reviews + summary["counts"]["outcome_reviews"]
    assert (papers, reviews) == (413, 1285)


@pytest.mark.slow
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


def test_a_snapshot_is_what_a_refresh_takes_its_sample_from(tmp_path):
    rebuttal = venue_of("SAMPLE", 2026).rebuttal_ms
    with served() as loopback:
        loopback.stores[2].edit("s01-r1", rebuttal + 1000, summary="said after the rebuttal")
        summary = fetched(loopback.v2, tmp_path / "elsewhere", papers=5)
    chosen = load(None, (
        "edition.venue=SAMPLE", "edition.year=2026", "edition.papers=5", f"sources.snapshot={summary['snapshot']}",
        "writing.judgments=rule", "scoring.metrics=['gem']",
    ))  # fmt: skip
    assert refresh(Job(chosen, tmp_path), steps.undecorated())["outcome"] == "done"
    store = Store(tmp_path, "SAMPLE-2026")
    sampled = {row["paper_id"] for row in store.read(SAMPLE)}
    assert sampled == {name for name, row in opened(summary).papers().items() if row["sampled"]}
    assert {row["paper_id"] for row in store.read(TEXTS)} == sampled
    texts = [row["text"] or "" for row in store.read(REVIEWS)]
    assert not [text for text in texts if "said after the rebuttal" in text]
    signatures = {signature for note in NOTES for signature in note["signatures"]}
    whole = store.read_file.read_bytes()
    assert not [name for name in signatures if name.encode() in whole]
    versions = {row["review_id"]: row for row in store.query("from review_versions")[1]}
    assert len(versions) == 68
    if "s01" in sampled:
        assert (versions["s01-r1"]["rule"], versions["s01-r1"]["versions"]) == ("before_rebuttal", 2)
    assert {row["pdf_version_status"] for row in store.query("from paper_sources")[1]} == {"submitted"}
    assert Path(store.read(SNAPSHOT)[0]["path"]).name == Path(summary["snapshot"]).name

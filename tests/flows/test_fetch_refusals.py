"""Fetching what ends early, is missing, refused or damaged: each is told apart, counted, and asked for again if due."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from gre_bench.ingest.openreview.fetching import IN_A_ROW
from gre_bench.ingest.openreview.loopback import Limit, fault
from gre_bench.ingest.records.venues import venue_of
from tests.flows.fetching import fetched, opened, pdf_of, served, set_forward
from tests.one_line import one_line

pytestmark = pytest.mark.usefixtures("logged_in")
LISTING = "SAMPLE.cc/2026/Conference/-/Submission"
SINGLY = ("fetch.pdf_batch=1",)
REBUTTAL = venue_of("SAMPLE", 2026).rebuttal_ms


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


def pooled(state, summary, paper):
    return state / "openreview" / "pdfs" / f"{opened(summary).papers()[paper]['pdf']}.pdf"


def test_a_pdf_damaged_where_fetches_share_it_is_asked_for_again(tmp_path):
    with served() as loopback:
        first = fetched(loopback.v2, tmp_path)
        file = pooled(tmp_path, first, "s01")
        assert file.stat().st_mode & 0o777 == 0o444
        for content in (b"%PDF-1.7 other bytes", None):
            file.unlink()
            if content is not None:
                file.write_bytes(content)
            before = loopback.counts["pdf"]
            again = fetched(loopback.v2, tmp_path, again=content is None)
            assert again["digest"] == first["digest"]
            assert again["requests"]["pdf"] == loopback.counts["pdf"] - before == 1
            assert file.read_bytes() == pdf_of("s01")


def test_a_snapshot_that_shares_a_damaged_pdf_is_named_and_made_anew(tmp_path):
    with served() as loopback:
        first = fetched(loopback.v2, tmp_path)
        file, folder = pooled(tmp_path, first, "s01"), Path(first["snapshot"])
        file.chmod(0o644)
        with file.open("r+b") as shared:
            shared.write(b"%PDX")
        with one_line("is not as it was written; ", ": move that folder away"):
            fetched(loopback.v2, tmp_path)
        folder.rename(tmp_path / "away")
        again = fetched(loopback.v2, tmp_path)
        assert again["snapshot"] == first["snapshot"] and opened(again).pdf("s01") == pdf_of("s01")
        assert loopback.counts["pdf"] == 2


def test_a_listing_that_ends_before_its_count_is_incomplete_and_goes_on_later(tmp_path, undisturbed):
    with served(faults=[fault("empty-page", first=3, every=1)]) as loopback:
        for asked in (2 + 3 + 1, 3 + 1):
            summary = fetched(loopback.v2, tmp_path)
            assert (summary["outcome"], summary["snapshot"]) == ("incomplete", None)
            assert f"listed 10 of 16 under {LISTING}, then 3 empty pages" in summary["message"]
            # What is new, three empty pages, and what is counted now.
            assert summary["requests"]["notes"] == asked
        loopback.faults = ()
        summary = fetched(loopback.v2, tmp_path)
        assert summary["digest"] == undisturbed
        assert (summary["counts"]["listed"], summary["counts"]["listed_by_service"]) == (16, 16)


def test_a_listing_that_stays_short_is_taken_only_if_asked_and_the_snapshot_says_so(tmp_path):
    with served(faults=[fault("empty-page", first=3, every=1)]) as loopback:
        assert "--set fetch.short_listing=true" in fetched(loopback.v2, tmp_path)["message"]
        summary = fetched(loopback.v2, tmp_path, "fetch.short_listing=true")
        counts = summary["counts"]
        assert (summary["outcome"], counts["listed"], counts["listed_by_service"]) == ("done", 10, 16)
        assert f"listed 10 of 16 that the service counts under {LISTING}" in summary["remarks"]
        assert opened(summary).manifest.remarks == summary["remarks"]


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
        monkeypatch.setattr(loopback.stores[2], "_counted", lambda *args: _without_count(counted(*args)))
        assert fetched(loopback.v2, tmp_path)["digest"] == undisturbed
        # After the last page an empty one, and another to be sure.
        assert loopback.counts["notes"] == 6


def _without_count(answer):
    tree = json.loads(answer.body)
    tree.pop("count", None)
    return replace(answer, body=json.dumps(tree).encode())

"""Fetching all submissions: a listing that ends too early, counts wrongly or not at all is never taken for whole."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gre_bench.ingest.openreview.loopback.fixture_store import Limit, Windows
from gre_bench.ingest.openreview.loopback.server import fault
from tests.flows import fetching
from tests.flows.fetching import ACCOUNT, fetched, opened, served, set_forward


@pytest.fixture(autouse=True)
def logged_in(monkeypatch):
    monkeypatch.setenv("OPENREVIEW_USERNAME", ACCOUNT.username)
    monkeypatch.setenv("OPENREVIEW_PASSWORD", ACCOUNT.password)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The digest of a fetch that nothing disturbed."""
    return fetching.undisturbed(tmp_path_factory.mktemp("undisturbed"))[0]


def test_a_listing_that_ends_before_its_count_is_incomplete_and_goes_on_later(tmp_path, undisturbed):
    with served(fault=[fault("empty-page", first=3, every=1)]) as loopback:
        for asked in (2 + 3 + 1, 3 + 1):
            summary = fetched(loopback.v2, tmp_path)
            assert (summary["outcome"], summary["snapshot"]) == ("incomplete", None)
            assert (
                "listed 10 of 16 under SAMPLE.cc/2026/Conference/-/Submission, then 3 empty pages" in summary["message"]
            )
            # What is new, three empty pages, and what is counted now.
            assert summary["requests"]["notes"] == asked
        loopback.faults.several = ()
        summary = fetched(loopback.v2, tmp_path)
        assert summary["digest"] == undisturbed
        assert (summary["counts"]["listed"], summary["counts"]["listed_by_service"]) == (16, 16)


def test_a_listing_that_stays_short_is_taken_only_if_asked_and_the_snapshot_says_so(tmp_path):
    with served(fault=[fault("empty-page", first=3, every=1)]) as loopback:
        assert "--set fetch.short_listing=true" in fetched(loopback.v2, tmp_path)["message"]
        summary = fetched(loopback.v2, tmp_path, "fetch.short_listing=true")
        assert (summary["outcome"], summary["counts"]["listed"], summary["counts"]["listed_by_service"]) == (
            "done",
            10,
            16,
        )
        assert (
            "listed 10 of 16 that the service counts under SAMPLE.cc/2026/Conference/-/Submission" in summary["remarks"]
        )
        assert opened(summary).manifest.remarks == summary["remarks"]


def test_a_submission_deleted_while_they_are_listed_is_not_waited_for(tmp_path, monkeypatch):
    with served(limits={"notes": Limit(3, 600.0)}) as loopback:
        assert fetched(loopback.v2, tmp_path, "fetch.when_paused=exit")["outcome"] == "paused"
        loopback.windows = Windows({})
        loopback.fixture_stores[2].delete("s16")
        set_forward(monkeypatch, 602.0)
        summary = fetched(loopback.v2, tmp_path)
        assert (summary["counts"]["listed"], summary["counts"]["listed_by_service"]) == (15, 15)


@pytest.mark.parametrize("every", [0, 1])
def test_a_service_that_counts_nothing_is_listed_until_it_is_empty_twice(tmp_path, undisturbed, monkeypatch, every):
    with served(fault=[fault("empty-page", first=6, every=every)]) as loopback:
        counted = loopback.fixture_stores[2]._counted
        monkeypatch.setattr(loopback.fixture_stores[2], "_counted", lambda *args: _without_count(counted(*args)))
        assert fetched(loopback.v2, tmp_path)["digest"] == undisturbed
        # After the last page an empty one, and another to be sure.
        assert loopback.counts["notes"] == 6


def _without_count(answer):
    tree = json.loads(answer.body)
    tree.pop("count", None)
    return replace(answer, body=json.dumps(tree).encode())

"""The request budget: what responses say of limits is kept, shared and obeyed; a guess is only a start."""

from __future__ import annotations

import json
import multiprocessing
from types import SimpleNamespace

import pytest

from gre_bench.core.errors import Paused
from gre_bench.http.rate_limits import Limit, parse_limit_from_body, parse_limit_from_headers, parse_required_wait
from gre_bench.ingest.openreview.request_budget import MARGIN_S, RequestBudget
from tests.one_line import one_line, small_files

NOW = 1_790_540_000.0
RECORDED = {
    "x-ratelimit-limit": "500", "x-ratelimit-remaining": "269", "x-ratelimit-reset": "1790543172",
    "ratelimit-policy": "500;w=3600", "ratelimit-limit": "500", "ratelimit-remaining": "269", "ratelimit-reset": "2257",
}  # fmt: skip
REFUSED = {
    "name": "RateLimitError", "status": 429,
    "message": "Too many requests: You have made 37 requests, surpassing the limit of 36 requests. Please try again in 60 minutes and 13 seconds (2026-08-31-1)",
    "details": {"limit": 36, "remaining": 0, "resetTime": "2026-09-27T21:13:33.000Z", "used": 37},
}  # fmt: skip


@pytest.fixture
def clock():
    return SimpleNamespace(now=NOW)


@pytest.fixture
def budget(tmp_path, clock):
    return RequestBudget(tmp_path / "budget.json", lambda: clock.now)


def taken(budget, kind, most=10_000):
    """How many requests of *kind* the budget allows now, and until when it then pauses."""
    for count in range(most):
        try:
            budget.count_request_or_pause(kind)
        except Paused as pause:
            return count, pause.until
    return most, None


@pytest.mark.parametrize(
    ("headers", "limit"),
    [
        (RECORDED, Limit(500, 269, NOW + 2257, 3600.0)),
        ({"RateLimit-Limit": "36", "RateLimit-Remaining": "0", "RateLimit-Reset": "9"}, Limit(36, 0, NOW + 9, 60.0)),
        ({"ratelimit-limit": "36", "ratelimit-remaining": "3", "x-ratelimit-reset": str(NOW + 70)}, Limit(36, 3, NOW + 70, 70.0)),
        ({"ratelimit-limit": "36", "ratelimit-remaining": "3"}, Limit(36, 3, None, 60.0)),
        *(({"ratelimit-limit": limit, "ratelimit-remaining": "3"}, None) for limit in ("many", "nan")),
        ({"content-type": "text/html"}, None),
    ],
)  # fmt: skip
def test_limits_are_read_from_headers(headers, limit):
    assert parse_limit_from_headers(headers, NOW) == limit


@pytest.mark.parametrize(
    ("reset", "at"),
    [
        *((reset, 1790543613.0) for reset in ("2026-09-27T21:13:33.000Z", 1790543613, 1790543613000)),
        ("2026-09-27T23:13:33+02:00", 1790543613.0),
        *((reset, None) for reset in ("tomorrow", None)),
    ],
)
def test_a_reset_is_read_from_a_body_in_each_form_of_a_time(reset, at):
    body = REFUSED | {"details": {"limit": 36, "remaining": 0, "resetTime": reset}}
    found = parse_limit_from_body({}, body, NOW)
    assert (found.resets_at if found else None) == at
    too_long = {"path": "limit", "comparison": "<=", "limit": 1000, "invalidValue": 1001}
    assert parse_limit_from_body({}, {"name": "ValidationError", "details": too_long}, NOW) is None, (
        "the limit of a page"
    )


def test_the_reset_of_a_server_whose_clock_is_an_hour_ahead_is_made_a_time_of_this_machine():
    assert parse_limit_from_body({"date": "Sun, 27 Sep 2026 21:13:20 GMT"}, REFUSED, NOW).resets_at == NOW + 13


@pytest.mark.parametrize(
    ("headers", "body", "wait"),
    [
        ({"date": "Sun, 27 Sep 2026 21:13:20 GMT", "retry-after": "Sun, 27 Sep 2026 21:14:20 GMT"}, None, 60),
        ({"retry-after": "30"}, None, 30),
        ({"Retry-After": "0"}, None, 0),
        ({"ratelimit-remaining": "0", "ratelimit-reset": "90"}, None, 90),
        ({"ratelimit-remaining": "5", "ratelimit-reset": "90"}, None, None),
        ({}, {"message": "Please try again in 30 minutes and 8 seconds (2026)"}, 1808),
        ({}, {"message": "Please try again in 59 seconds"}, 59),
        ({}, {"message": "Please try again in 1 hour, 2 minutes and 3 seconds"}, 3723),
        ({}, {"message": "Please try again in time"}, None),
        ({"retry-after": "5"}, {"message": "Please try again in 2 minutes"}, 120),
        ({"retry-after": "soon"}, "text", None),
    ],
)
def test_a_refusal_says_how_long_to_wait_in_each_of_its_ways(headers, body, wait):
    assert parse_required_wait(headers, body, NOW) == wait


def test_a_guess_holds_for_the_real_service_until_it_says_more(budget):
    assert taken(budget, "api2.openreview.net attachment") == (36, NOW + 3600 + MARGIN_S)
    assert taken(budget, "127.0.0.1:3000 attachment", 100) == (100, None)
    budget.count_request_or_pause("api2.openreview.net notes")
    budget.record_stated_limits("api2.openreview.net notes", 200, RECORDED)
    assert taken(budget, "api2.openreview.net notes") == (269, NOW + 2257 + MARGIN_S)


def test_nothing_is_allowed_before_the_reset_and_all_after_it_and_a_refusal_in_the_body_holds(budget, clock):
    budget.record_stated_limits("h notes", 200, RECORDED)
    budget.record_stated_limits("h pdf", 200, RECORDED)
    budget.record_stated_limits("h pdf", 429, RECORDED, REFUSED)
    until = 1790543613 + MARGIN_S
    assert taken(budget, "h pdf") == (0, until), "though the headers allow more"
    assert taken(budget, "h notes")[0] == 269
    clock.now = NOW + 2257
    assert taken(budget, "h notes") == (0, NOW + 2257 + MARGIN_S)
    clock.now = NOW + 2257 + MARGIN_S
    assert taken(budget, "h notes") == (500, clock.now + 3600 + MARGIN_S)
    clock.now = until
    assert taken(budget, "h pdf")[0] == 36


def test_the_window_of_a_refusal_is_as_long_as_it_was_open(budget, clock):
    for _ in range(37):
        budget.count_request_or_pause("h pdf")
    budget.record_stated_limits("h pdf", 429, {}, REFUSED)
    first = budget.allowance("h pdf").limits["body"].window_s
    clock.now = 1790543613 + MARGIN_S
    budget.count_request_or_pause("h pdf")
    clock.now += 600
    again = REFUSED | {"details": REFUSED["details"] | {"resetTime": 1790543613 + 3 * 3600}}
    budget.record_stated_limits("h pdf", 429, {}, again)
    assert budget.allowance("h pdf").limits["body"].window_s == pytest.approx(3 * 3600, abs=10)
    assert first == pytest.approx(1790543613 - NOW)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [({}, [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]), ({"retry-after": "0"}, [0, 0, 0, 60, 120, 240])],
)
def test_a_refusal_without_a_time_or_that_is_over_at_once_waits_longer_each_time(budget, clock, headers, expected):
    waits = []
    for _ in expected:
        budget.record_stated_limits("h pdf", 429, headers, None)
        until = taken(budget, "h pdf")[1]
        waits.append(round(until - clock.now - MARGIN_S))
        clock.now = until
    assert waits == expected
    budget.record_stated_limits("h pdf", 200, {})
    budget.record_stated_limits("h pdf", 429, {}, None)
    assert round(taken(budget, "h pdf")[1] - clock.now - MARGIN_S) == 60


def test_kinds_and_hosts_have_budgets_of_their_own_and_seconds_are_told_for_requests_of_many_windows(budget):
    budget.record_stated_limits("one notes", 429, {"retry-after": "600"})
    with pytest.raises(Paused, match=r"paused until 2026-09-27 \d\d:\d\d:\d\d UTC"):
        budget.count_request_or_pause("one notes")
    budget.count_request_or_pause("one pdf")
    budget.count_request_or_pause("two notes")
    hour = {"ratelimit-limit": "36", "ratelimit-remaining": "6", "ratelimit-reset": "600"}
    budget.record_stated_limits("h pdf", 200, RECORDED | hour)
    seconds = [budget.compute_wait_s("h pdf", count) for count in (6, 7, 42, 43, 300)]
    assert seconds == pytest.approx([0, *(600 + MARGIN_S + more for more in (0, 0, 3600, 8 * 3600))])


def _take_all(path):
    return taken(RequestBudget(path, lambda: NOW), "h pdf")[0]


def test_processes_that_ask_at_once_never_take_more_than_there_is_and_late_answers_give_none_back(budget):
    budget.record_stated_limits("h pdf", 200, RECORDED | {"ratelimit-remaining": "50"})
    with multiprocessing.get_context("fork").Pool(4) as workers:
        assert sum(workers.map(_take_all, [budget.path] * 4, chunksize=1)) == 50
    budget.record_stated_limits("h notes", 200, RECORDED)
    for _ in range(10):
        budget.count_request_or_pause("h notes")
    # An answer to the first of the ten: the nine others are under way and not counted by it.
    budget.record_stated_limits("h notes", 200, RECORDED | {"ratelimit-remaining": "268"})
    assert taken(budget, "h notes")[0] == 259


def test_what_is_kept_survives_also_on_a_full_disk_and_damage_is_told(budget):
    budget.record_stated_limits("h notes", 200, RECORDED)
    assert RequestBudget(budget.path, budget.clock).allowance("h notes") == budget.allowance("h notes")
    assert json.loads(budget.path.read_text())["kinds"]["h notes"]["limits"]["headers"]["limit"] == 500
    known = budget.path.read_bytes()
    with small_files(16), one_line("budget.json cannot be written: File too large"):
        budget.count_request_or_pause("h notes")
    assert budget.path.read_bytes() == known
    assert {path.name for path in budget.path.parent.iterdir()} == {"budget.json", "budget.lock"}
    budget.path.write_text('{"kinds": {"h notes": {"limits": {"headers": {"limit": 5')
    with one_line("budget.json is damaged; delete it"):
        budget.count_request_or_pause("h notes")

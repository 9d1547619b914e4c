"""One policy for all endpoints: what is tried again, how long is waited, and when nobody waits any more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.http.lm_requests import RetryPolicy, is_transient_status, parse_retry_after


@pytest.mark.parametrize(
    ("stated", "low", "high"),
    [
        ("2", 2, 2), ("0.5", 0.5, 0.5), ("-3", 0, 0), ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 0), ("", None, None),
        ("soon", None, None), ("nan", None, None), ("Fri, 01 Jan 2100 00:00:00 GMT", 1e9, 1e10), ("inf", 1e300, None),
    ],
)  # fmt: skip
def test_retry_after_is_a_number_or_a_date(stated, low, high):
    seconds = parse_retry_after({"retry-after": stated})
    assert (seconds is None) if low is None else (seconds >= low and (high is None or seconds <= high))


@pytest.mark.parametrize(
    ("status", "again"),
    [
        (400, False), (401, False), (402, False), (403, False), (404, False), (408, True), (409, True), (413, False),
        (422, False), (425, True), (429, True), (500, True), (502, True), (503, True), (504, True), (529, True),
    ],
)  # fmt: skip
def test_a_bad_request_or_a_refusal_is_not_tried_again(status, again):
    assert is_transient_status(status) is again


PATIENCES = st.builds(
    RetryPolicy, attempts=st.integers(1, 12), first_wait_s=st.floats(0.001, 10), longest_wait_s=st.floats(10, 300)
)


@given(PATIENCES, st.integers(0, 20))
def test_waits_double_with_jitter_up_to_the_longest(retry_policy, attempt):
    seconds = retry_policy.compute_wait_s(attempt)
    full = min(retry_policy.longest_wait_s, retry_policy.first_wait_s * 2**attempt)
    assert (seconds is None) == (attempt + 1 >= retry_policy.attempts)
    assert seconds is None or full / 2 <= seconds <= full


@given(PATIENCES, st.floats(0, 400))
def test_a_stated_wait_is_honoured_up_to_the_longest_and_never_cut_short(retry_policy, stated):
    seconds = retry_policy.compute_wait_s(0, stated)
    assert (seconds is None) == (retry_policy.attempts == 1 or stated > retry_policy.longest_wait_s)
    assert seconds is None or stated <= seconds <= stated + retry_policy.first_wait_s / 2
    for waited in ((2,), (0, 5.0)):
        assert len({RetryPolicy().compute_wait_s(*waited) for _ in range(50)}) > 40, (
            "those turned away together come back so"
        )

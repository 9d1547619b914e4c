"""The spend log and its bounds: every event once whoever writes it, one line where a bound is reached."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gre_bench.catalogs.models import Model
from gre_bench.core.errors import BudgetReached, SettingsError, StoreError
from gre_bench.core.records import Chat, Completion, Sampling
from gre_bench.core.settings import BudgetSettings
from gre_bench.writing.archive import ReplyArchive
from gre_bench.writing.http_writer import HttpWriter, RetryPolicy
from gre_bench.writing.spend_log import ModelBudget, SpendLog, compute_cost_usd, format_spending, remaining_budget
from tests.forks import CONTEXT
from tests.holds import LONGEST_S
from tests.servers.chat import MODEL, scripted_chat
from tests.writing.test_http_writer import QUICK, chats


def model(url: str = "http://127.0.0.1:1/v1", **more) -> Model:
    return Model(**{"name": "scripted", "endpoint": url, "model": MODEL, "price_in": 2.0, "price_out": 10.0} | more)


def model_budget(folder: Path, url: str = "http://127.0.0.1:1/v1", priced: bool = True, **bounds) -> ModelBudget:
    prices = {} if priced else {"price_in": None, "price_out": None}
    return ModelBudget(SpendLog(folder / "spending.jsonl"), "E-2026", BudgetSettings(**bounds), model(url, **prices))


def asking(folder: Path, server, policy: RetryPolicy = QUICK, **bounds) -> HttpWriter:
    """A writer at *server* whose requests are charged, in the limits *bounds*."""
    budget = model_budget(folder, server.url, **bounds)
    return HttpWriter(model(server.url), ReplyArchive(folder / "replies"), policy, model_budget=budget)


def test_the_cost_of_a_reply_and_that_at_unknown_prices():
    # gpt-4o as listed in May 2024: 5 and 15 USD for a million tokens
    rows = {(1_000_000, 0): 5.0, (0, 1_000_000): 15.0, (12_000, 900): 0.0735, (0, 0): 0.0}
    found = {tokens: compute_cost_usd(model(price_in=5.0, price_out=15.0), *tokens) for tokens in rows}
    assert found == pytest.approx(rows)
    assert (
        compute_cost_usd(model(price_in=None), 1000, 1000)
        is compute_cost_usd(model(price_out=None), 1000, 1000)
        is None
    )


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6), st.booleans()), max_size=12))
def test_what_is_written_is_what_is_read_by_whoever_reads(tmp_path_factory, paid):
    one = model_budget(tmp_path_factory.mktemp("ledger"))
    for prompt, reply, answered in paid:
        one.reserve_request()
        if answered:
            one.record_spending(Chat("", ""), Completion("ok", "x", prompt_tokens=prompt, reply_tokens=reply), 1.0)
    for spend_log in (one.spend_log, SpendLog(one.spend_log.path)):
        spent = spend_log.spent("E-2026", "scripted")
        answers = [item for item in paid if item[2]]
        assert (spent.requests, spent.answered, spent.unanswered) == (len(paid), len(answers), len(paid) - len(answers))
        assert spent.prompt_tokens == sum(item[0] for item in answers)
        assert spent.usd == pytest.approx(sum(2e-6 * item[0] + 1e-5 * item[1] for item in answers))
        assert (
            spend_log.spent_on_all_models("E-2026").requests == len(paid)
            and spend_log.spent_on_all_models("other").requests == 0
        )


def test_tokens_that_an_endpoint_does_not_state_are_estimated_and_counted_as_such(tmp_path):
    one = model_budget(tmp_path)
    one.reserve_request()
    one.record_spending(Chat("s" * 100, "u" * 300), Completion("ok", "r" * 40), 1.0)
    one.reserve_request()
    one.record_spending(Chat("s", "u"), Completion("rate_limited", None, final=False), 1.0)
    spent = one.spend_log.spent("E-2026", "scripted")
    assert (spent.prompt_tokens, spent.reply_tokens, spent.estimated, spent.answered) == (100, 10, 1, 2)
    assert spent.outcomes == {"ok": 1, "rate_limited": 1}


def taking(folder: Path) -> None:
    """What another process does: it takes requests from a budget until there are none."""
    one = model_budget(folder, requests=50)
    with suppress(BudgetReached):
        while True:
            one.reserve_request()


def test_processes_that_write_at_once_lose_nothing_and_keep_a_bound_of_requests(tmp_path):
    running = [CONTEXT.Process(target=taking, args=(tmp_path,)) for _ in range(3)]
    for process in running:
        process.start()
    for process in running:
        process.join(LONGEST_S)
    assert SpendLog(tmp_path / "spending.jsonl").spent("E-2026", "scripted").requests == 50


def test_a_line_that_was_torn_costs_itself_alone(tmp_path):
    one = model_budget(tmp_path)
    one.reserve_request()
    with one.spend_log.path.open("a") as file:
        file.write('{"event": "sent", "acc')
    one.reserve_request()
    for spend_log in (one.spend_log, SpendLog(one.spend_log.path)):
        assert spend_log.spent("E-2026", "scripted").requests == 2
        assert spend_log.damaged == 1


def test_a_ledger_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "spending.jsonl").mkdir()
    with pytest.raises(StoreError, match="spend log .*spending.jsonl cannot be used: Is a directory"):
        model_budget(tmp_path).reserve_request()


BOUNDS = [
    ({"requests": 2}, "budget.requests: 2 of 2 requests spent on E-2026"),
    ({"prompt_tokens": 1500}, "budget.prompt_tokens: 2,000 of 1,500 prompt tokens"),
    ({"reply_tokens": 200}, "budget.reply_tokens: 200 of 200"),
    ({"usd": 0.006}, "budget.usd: 0.006 of 0.006 USD"),
    ({"models": {"scripted": {"requests": 2}}}, "budget.models.scripted.requests: 2 of 2"),
    ({"requests": 9, "models": {"scripted": {"usd": 0.005}}}, "budget.models.scripted.usd: 0.006 of 0.005 USD"),
]


@pytest.mark.parametrize(("bounds", "part"), BOUNDS, ids=[part.partition(":")[0] for _, part in BOUNDS])
def test_a_bound_is_one_line_that_says_which_what_is_spent_and_how_to_go_on(tmp_path, bounds, part):
    one = model_budget(tmp_path, **bounds)
    for _ in range(2):
        one.reserve_request()
        one.record_spending(Chat("", ""), Completion("ok", "x", prompt_tokens=1000, reply_tokens=100), 1.0)
    with pytest.raises(BudgetReached) as caught:
        one.reserve_request()
    line = str(caught.value)
    assert line.startswith(f"paused at {part}") and "\n" not in line
    for told in ("2 requests, 2,000 prompt and 200 reply tokens", "is kept. Raise it (", "give the same command again"):
        assert told in line
    assert one.spend_log.spent("E-2026", "scripted").requests == 2


def test_another_models_bound_and_another_accounts_spending_bind_nobody_else(tmp_path):
    one = model_budget(tmp_path, models={"other": {"requests": 0}})
    one.reserve_request()
    other = ModelBudget(one.spend_log, "E-2027", BudgetSettings(requests=1), model())
    other.reserve_request()
    with pytest.raises(BudgetReached):
        other.reserve_request()


def test_hours_of_asking_a_model_are_bounded(tmp_path):
    one = model_budget(tmp_path, models={"scripted": {"hours": 1e-9}})
    with pytest.raises(BudgetReached, match=r"--set budget.models.scripted.hours=\.\.\."), one.count_hours():
        one.reserve_request()
    assert one.spend_log.spent("E-2026", "scripted").hours >= 0


@pytest.mark.parametrize("bound", [{"usd": 5.0}, {"models": {"scripted": {"usd": 5.0}}}])
def test_money_is_not_bounded_where_no_price_is_known(tmp_path, bound):
    with pytest.raises(SettingsError, match="model scripted has no prices: give it price_in and price_out"):
        model_budget(tmp_path, priced=False, **bound)
    model_budget(tmp_path, priced=False, requests=5).reserve_request()


def test_what_is_left_is_said_of_what_is_bounded(tmp_path):
    one = model_budget(tmp_path, requests=5, usd=0.001)
    one.reserve_request()
    one.record_spending(Chat("", ""), Completion("ok", "x", prompt_tokens=1000, reply_tokens=100), 1.0)
    spent = one.spend_log.spent_on_all_models("E-2026")
    assert remaining_budget(one.budget, spent) == {"requests": 4, "usd": 0}
    assert format_spending(spent) == "1 requests, 1,000 prompt and 100 reply tokens, 0.00 USD, 0.00 hours"


@pytest.mark.parametrize("bounds", [{"requests": 7}, {"usd": 1e-4}, {"models": {"scripted": {"prompt_tokens": 9}}}])
def test_a_bound_in_the_middle_of_requests_lets_those_in_flight_end_and_a_raise_pays_only_the_rest(tmp_path, bounds):
    with scripted_chat(pause_s=0.02, write=lambda body: "The reviewer appreciates x. " * 2) as server:
        with pytest.raises(BudgetReached):
            asking(tmp_path, server, **bounds).write(chats(30), Sampling())
        first, entries = server.count, len(list((tmp_path / "replies").rglob("*.json")))
        assert first == entries  # all that was paid for is kept
        reached = 7 if "requests" in bounds else 2 + QUICK.concurrency
        assert 1 <= first <= reached
        assert {reply.outcome for reply in asking(tmp_path, server).write(chats(30), Sampling())} == {"ok"}
        assert server.count == 30
        with pytest.raises(BudgetReached):
            asking(tmp_path, server, requests=30).write(chats(31), Sampling())
        assert len(asking(tmp_path, server, requests=0).write(chats(30), Sampling())) == 30
        assert server.count == 30
    spent = SpendLog(tmp_path / "spending.jsonl").spent("E-2026", "scripted")
    assert (spent.requests, spent.answered, spent.outcomes) == (30, 30, {"ok": 30})
    assert spent.prompt_tokens == sum(len(f"systemuser {place}") // 4 for place in range(30))


@pytest.mark.parametrize("bounds", [
    {"usd": 5e-5}, {"reply_tokens": 4}, {"prompt_tokens": 4}, {"models": {"scripted": {"usd": 5e-5}}},
], ids=str)  # fmt: skip
def test_what_is_in_flight_counts_by_its_estimate_where_an_endpoint_states_no_usage(tmp_path, bounds):
    with scripted_chat(then="odd", pause_s=0.1) as server:  # a reply of 3 tokens to a prompt of 3 costs 3.6e-5 USD
        with pytest.raises(BudgetReached):
            asking(tmp_path, server, RetryPolicy(concurrency=8), **bounds).write(chats(8), Sampling())
        assert server.count == 2, "the bound and one request more"


def test_requests_that_the_budget_has_room_for_are_in_flight_at_once(tmp_path):
    with scripted_chat(then="odd", pause_s=0.1) as server:
        bounded = asking(tmp_path, server, RetryPolicy(concurrency=8), usd=1.0)
        bounded.write(chats(8), Sampling())
    assert server.peak > 1 and not bounded.model_budget.spend_log.in_flight


def test_a_batch_that_stops_lets_no_request_wait_for_room_in_the_budget(tmp_path):
    with scripted_chat(then="401", pause_s=0.1) as server:
        replies = asking(tmp_path, server, RetryPolicy(concurrency=8), usd=5e-5).write(chats(8), Sampling())
        assert server.count == 1 and {reply.outcome for reply in replies} == {"failed"}


def test_money_at_an_unknown_price_is_said_to_be_unknown(tmp_path):
    unpriced = model_budget(tmp_path, priced=False)
    unpriced.reserve_request()
    unpriced.record_spending(Chat("", ""), Completion("rate_limited", None, final=False), 1.0)
    assert unpriced.spend_log.spent_on_all_models("E-2026").money == "0.00 USD"
    unpriced.reserve_request()
    unpriced.record_spending(Chat("", ""), Completion("ok", "x", prompt_tokens=1000, reply_tokens=100), 1.0)
    spent = unpriced.spend_log.spent_on_all_models("E-2026")
    assert spent.money == "price unknown" and "price unknown" in format_spending(spent)
    priced = model_budget(tmp_path)
    priced.reserve_request()
    priced.record_spending(Chat("", ""), Completion("ok", "x", prompt_tokens=5000, reply_tokens=0), 1.0)
    assert priced.spend_log.spent_on_all_models("E-2026").money == "0.01 USD, 1 of 3 answers at an unknown price"


def test_a_reply_is_kept_before_it_is_paid(tmp_path, monkeypatch):
    replies, kept = tmp_path / "replies", []
    pay = ModelBudget.record_spending
    monkeypatch.setattr(
        ModelBudget, "record_spending", lambda *values: kept.append(len(list(replies.rglob("*.json")))) or pay(*values)
    )
    with scripted_chat() as server:
        asking(tmp_path, server, policy=RetryPolicy(concurrency=1)).write(chats(3), Sampling())
    assert kept == [1, 2, 3]


def test_every_attempt_is_a_request_of_the_budget(tmp_path):
    with scripted_chat(then="500") as server:
        bounded = asking(tmp_path, server, requests=2)
        with pytest.raises(BudgetReached):
            bounded.write(chats(1), Sampling())
        assert server.count == 2
    assert bounded.model_budget.spend_log.spent("E-2026", "scripted").outcomes == {"failed": 2}


def test_a_ledger_that_breaks_after_an_answer_does_not_lose_the_answer(tmp_path, monkeypatch):
    with scripted_chat() as server:
        charged = asking(tmp_path, server)

        def full(*_):
            raise StoreError("the spend log cannot be used: No space left on device")

        monkeypatch.setattr(charged.model_budget, "record_spending", full)
        replies = charged.write(chats(9), Sampling())
        assert server.count == len([reply for reply in replies if reply.outcome == "ok"]) < 9
        assert "No space left" in next(reply.detail for reply in replies if reply.outcome != "ok")
        assert len(list((tmp_path / "replies").rglob("*.json"))) == server.count


def test_the_ledger_holds_no_text_of_a_chat_or_a_reply(tmp_path):
    with scripted_chat("ok", "refusal", "echo_key") as server:
        asking(tmp_path, server).write(chats(3), Sampling())
    lines = [json.loads(line) for line in (tmp_path / "spending.jsonl").read_text().splitlines()]
    assert {name for line in lines for name in line} == {
        "at", "event", "account", "model", "outcome", "prompt_tokens", "reply_tokens", "usd", "estimated", "seconds",
        "crc",
    }  # fmt: skip

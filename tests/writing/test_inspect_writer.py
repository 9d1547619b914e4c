"""Writing by providers of inspect_ai: the same outcomes, archive, budget and prices as at an endpoint of our own client."""

from __future__ import annotations

from pathlib import Path

import pytest

from gre_bench.catalogs.models import Model, load
from gre_bench.core.errors import BudgetReached, LMError, SettingsError
from gre_bench.core.records import Sampling
from gre_bench.core.settings import BudgetSettings
from gre_bench.writing import inspect_writer
from gre_bench.writing.archive import ReplyArchive
from gre_bench.writing.inspect_writer import InspectWriter, open_provider
from gre_bench.writing.spend_log import ModelBudget, SpendLog
from gre_bench.writing.writers import WriterContext, open_examiner, open_logprob_writer, open_text_writer
from tests.one_line import one_line
from tests.servers.chat import MODEL, ScriptedChat, scripted_chat
from tests.writing.test_http_writer import CANARY, CHAT, ONE_ANSWER, QUICK, chats

pytest.importorskip("inspect_ai", reason="providers need the extra inspect")

MOCK = {"name": "mock", "provider": "inspect", "model": "mockllm/model", "price_in": 1.0, "price_out": 10.0}
OTHERWISE = {
    "odd": "the client of inspect_ai reads no list of parts",
    "html": "it is asked for again",
    "error_200_busy": "it is read as a malformed answer, and asked for once",
}
"""Behaviours that inspect_ai's client reads otherwise than ours does."""


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("SCRIPTED_KEY", CANARY)


def entry(server: ScriptedChat | str, **more) -> Model:
    url = server if isinstance(server, str) else server.url
    known = {"name": "scripted", "provider": "inspect", "endpoint": url, "model": f"openai-api/scripted/{MODEL}"}
    return Model(**known | {"key_env": "SCRIPTED_KEY", "price_in": 2.0, "price_out": 10.0} | more)


def writer(model: Model, folder: Path, **bounds) -> InspectWriter:
    budget = ModelBudget(SpendLog(folder / "spending.jsonl"), "E-2026", BudgetSettings(**bounds), model)
    return InspectWriter(model, ReplyArchive(folder / "replies"), QUICK, model_budget=budget)


@pytest.mark.parametrize(
    ("behaviour", "outcome", "final", "requests"),
    [row[:4] for row in ONE_ANSWER if row[0] not in OTHERWISE],
    ids=[row[0] for row in ONE_ANSWER if row[0] not in OTHERWISE],
)
def test_a_fault_behind_a_provider_has_the_outcome_and_the_tries_of_our_own_client(
    tmp_path, behaviour, outcome, final, requests
):
    with scripted_chat(then=behaviour) as server:
        asking = writer(entry(server), tmp_path)
        (reply,) = asking.write([CHAT], Sampling())
        spent = asking.model_budget.spend_log.spent("E-2026", "scripted")
        assert (reply.outcome, reply.final, server.count) == (outcome, final, requests)
        assert (spent.requests, spent.answered) == (requests, requests), "each request that left is counted"
        assert (reply.text is None) == (outcome not in ("ok", "cut")) and "\n" not in reply.detail
        (again,) = asking.write([CHAT], Sampling())
        assert (again.archived, server.count) == (final, requests if final else 2 * requests)


def test_a_provider_gets_the_request_that_an_endpoint_gets(tmp_path):
    with scripted_chat() as server:
        writer(entry(server), tmp_path).write([CHAT], Sampling(0.5, 9, 0.1, 3))
        (body,) = server.requests
    messages = [{"role": "system", "content": "system"}, {"role": "user", "content": "user"}]
    sampling = {"temperature": 0.5, "max_tokens": 9, "top_p": 0.1, "seed": 3}
    assert body == {"model": MODEL, "messages": messages} | sampling


@pytest.mark.parametrize("behaviour", ["thinking", "thinking_field"])
def test_reasoning_is_counted_and_kept_out_of_the_text(tmp_path, behaviour):
    with scripted_chat(then=behaviour) as server:
        (reply,) = writer(entry(server), tmp_path).write([CHAT], Sampling())
    assert reply.text == "The scripted model read 4 characters."
    assert reply.thinking >= len("Let me see.") and "Let me see" not in reply.text


def test_a_run_that_pauses_at_its_budget_pays_for_the_rest_alone_and_by_our_prices(tmp_path):
    with scripted_chat() as server:
        with pytest.raises(BudgetReached, match="paused at budget.requests: 3 of 3"):
            writer(entry(server), tmp_path, requests=3).write(chats(6), Sampling())
        asking = writer(entry(server), tmp_path)
        replies = asking.write(chats(6), Sampling())
        assert server.count == 6 and sum(reply.archived for reply in replies) == 3
        assert all(reply.outcome == "ok" for reply in replies)
    spent = asking.model_budget.spend_log.spent("E-2026", "scripted")
    tokens = sum(reply.prompt_tokens for reply in replies), sum(reply.reply_tokens for reply in replies)
    assert (spent.requests, spent.prompt_tokens, spent.reply_tokens) == (6, *tokens)
    assert spent.usd == pytest.approx((2.0 * tokens[0] + 10.0 * tokens[1]) / 1e6) and spent.estimated == 0


def test_many_chats_are_answered_in_order_and_at_once(tmp_path):
    with scripted_chat() as server:
        server.until = lambda _: server.peak >= QUICK.concurrency
        replies = writer(entry(server), tmp_path).write(chats(12), Sampling())
        assert server.peak == QUICK.concurrency
    assert [reply.text for reply in replies] == [
        f"The scripted model read {len(chat.user)} characters." for chat in chats(12)
    ]


@pytest.mark.parametrize("behaviour", ["echo_key", "echo_key_401", "echo_key_429", "echo_key_text"])
def test_a_key_that_a_server_repeats_is_masked(tmp_path, behaviour):
    with scripted_chat(then=behaviour) as server:
        writer(entry(server), tmp_path).write([CHAT], Sampling())
        assert server.count
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and CANARY in file.read_text()]


def outputs(*made):
    """The mock model of inspect_ai, which answers *made*, one after the other, as a provider does."""
    from inspect_ai.model import get_model

    return lambda _: get_model("mockllm/model", custom_outputs=list(made)).api


def output(content, stop="stop", cached=0):
    from inspect_ai.model import ModelOutput, ModelUsage

    made = ModelOutput.from_content("mock-1", content, stop)
    made.usage = ModelUsage(
        input_tokens=100, output_tokens=20, total_tokens=120 + cached, input_tokens_cache_read=cached
    )
    return made


def test_the_mock_model_s_outputs_become_our_outcomes(tmp_path, monkeypatch):
    from inspect_ai.model import ContentReasoning, ContentText

    thinks = [ContentReasoning(reasoning="I wonder."), ContentText(text="It is sound.")]
    alone = [ContentReasoning(reasoning="I wonder.")]
    rows = [
        (output("It is sound.", cached=50), ("ok", "It is sound.", 0, 150)),
        (output(thinks), ("ok", "It is sound.", 9, 100)),
        (output("It is so", "max_tokens"), ("cut", "It is so", 0, 100)),
        (output("No.", "content_filter"), ("refused", None, 0, 100)),
        (output([ContentText(text="I cannot.", refusal=True)]), ("refused", None, 0, 100)),
        (output(alone, "max_tokens"), ("empty", None, 9, 100)),
    ]
    for place, (made, wanted) in enumerate(rows):
        monkeypatch.setattr(inspect_writer, "open_provider", outputs(made))
        asking = writer(Model(**MOCK), tmp_path / str(place))
        (reply,) = asking.write([CHAT], Sampling())
        assert (reply.outcome, reply.text, reply.thinking, reply.prompt_tokens) == wanted
        assert (reply.model, reply.reply_tokens, reply.final) == ("mock-1", 20, True)
        (again,) = writer(Model(**MOCK), tmp_path / str(place)).write([CHAT], Sampling())
        assert again.archived, "the mock has no second output: asking it would fail"
        spent = asking.model_budget.spend_log.spent("E-2026", "mock")
        assert spent.usd == pytest.approx((wanted[3] + 10.0 * 20) / 1e6)


def test_what_keeps_a_provider_from_opening_is_one_line_and_nothing_is_sent(tmp_path, monkeypatch):
    for name in ("OPENAI_API_KEY", "AZUREAI_OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    missing = [
        ("nobody/x", {}, SettingsError, "nobody"),
        ("openai/gpt-4o", {}, LMError, "OPENAI_API_KEY"),
        ("openai/gpt-4o", {"key_env": "NOT_SET"}, LMError, "NOT_SET"),
    ]
    for model, more, kind, part in missing:
        with one_line("model mock", part, kind=kind):
            writer(Model(**MOCK | {"model": model} | more), tmp_path).write([CHAT], Sampling())
    monkeypatch.setattr(inspect_writer, "find_spec", lambda _: None)
    with one_line("needs inspect_ai: pip install 'gre-bench[inspect]'", kind=SettingsError):
        open_provider(Model(**MOCK))


def test_an_entry_names_its_provider_and_shares_limits_by_it(tmp_path):
    file = tmp_path / "models.toml"
    lines = ["[[model]]", 'name = "a"', 'provider = "inspect"', 'model = "anthropic/claude-x"']
    limits = ["[[endpoint]]", 'url = "inspect/anthropic"', "concurrency = 2"]
    file.write_text("\n".join([*lines, *limits]))
    model = load(file)["a"]
    assert (model.server, model.identity, model.limits.concurrency) == (
        "inspect/anthropic", "a@anthropic/claude-x", 2,
    )  # fmt: skip
    unnamed = [*lines[:3], 'model = "claude-x"']
    nowhere = [*lines[:2], lines[3]]
    for entry_lines, part in ((unnamed, "anthropic/NAME"), (nowhere, "endpoint: Value error, missing")):
        file.write_text("\n".join(entry_lines))
        with one_line("model 'a' (entry 1)", part, kind=SettingsError):
            load(file)


def test_the_settings_open_a_provider_as_writer_and_examiner_but_not_for_log_probabilities(tmp_path):
    file = tmp_path / "models.toml"
    file.write_text('[[model]]\nname = "a"\nprovider = "inspect"\nmodel = "anthropic/claude-x"\n')
    context = WriterContext(tmp_path / "state" / "replies", file)
    assert "a@anthropic/claude-x" in open_text_writer("a", context).identity("judgments")
    assert isinstance(open_examiner("a", context).writer, InspectWriter)
    with one_line("log-probabilities need an OpenAI-compatible endpoint", kind=SettingsError):
        open_logprob_writer("a", context)

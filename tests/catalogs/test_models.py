"""The models file: what it may hold, what it must not, one line for each mistake."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from gre_bench.catalogs.models import Model, load, map_aliases_to_names
from gre_bench.core.errors import LMError, SettingsError
from gre_bench.core.records import Sampling
from tests.one_line import one_line


def written(folder: Path, *entries: dict[str, str] | str) -> Path:
    path = folder / "models.toml"
    path.write_text("\n".join(entry if isinstance(entry, str) else table(**entry) for entry in entries))
    return path


def table(**values: str) -> str:
    lines = {"name": '"a"', "endpoint": '"http://127.0.0.1:8000/v1"', "model": '"m"'} | values
    return "[[model]]\n" + "\n".join(f"{name} = {value}" for name, value in lines.items() if value)


def test_the_shipped_file_holds_the_models_of_the_papers_table():
    models = load()
    assert list(models)[:2] == ["local-vllm", "local-transformers"]
    ranked = dict([(name, model) for name, model in models.items() if "/" in name][:20])
    assert {name: model.parameters for name, model in ranked.items()} == {
        "deepseek/deepseek-chat": 671, "deepseek/deepseek-r1": 671, "openai/gpt-4o-mini": 8, "openai/gpt-4o": 200,
        "openai/gpt-3.5-turbo": 20, "anthropic/claude-2": 137, "anthropic/claude-3-haiku": 20,
        "anthropic/claude-3-sonnet": 70, "anthropic/claude-3-opus": 2000, "google/gemini-pro": 20,
        "google/gemini-pro-1.5": 175, "meta-llama/llama-3-8b-instruct": 8, "meta-llama/llama-3-70b-instruct": 70,
        "mistralai/mixtral-8x7b-instruct": 56, "mistralai/mixtral-8x22b-instruct": 176,
        "meta-llama/llama-3.1-8b-instruct": 8, "meta-llama/llama-3.1-70b-instruct": 70,
        "mistralai/mistral-large": 123, "mistralai/mistral-small": 22, "mistralai/mistral-tiny": 7,
    }  # fmt: skip
    assert all(model.endpoint.startswith("https://") and model.key_env for model in ranked.values())
    assert len({model.identity for model in models.values()}) == len(models)


def test_what_is_stated_of_a_model_names_its_source():
    told = [model for model in load().values() if model.knowledge_cutoff or model.context or model.max_output]
    assert len(told) > 12 and all("2026-" in model.source for model in told)


def test_an_alias_means_one_model_however_it_is_written(tmp_path):
    known = map_aliases_to_names()
    assert known["gpt-4o-2024-05-13"] == known["openai/gpt-4o"] == "openai/gpt-4o"
    assert known["orca-13b"] == "open-orca/openorca-platypus2-13b"
    assert set(known.values()) == set(load())
    with one_line("'X' names both a and b", kind=SettingsError):
        load(written(tmp_path, {"aliases": '["x"]'}, {"name": '"b"', "aliases": '["X"]'}))


def test_release_dates_are_of_models_that_do_not_move():
    released = {name: str(model.released) for name, model in load().items() if "/" in name and model.released}
    assert released == {
        "deepseek/deepseek-r1": "2025-01-20", "openai/gpt-4o-mini": "2024-07-18", "openai/gpt-4o": "2024-05-13",
        "anthropic/claude-2": "2023-07-11", "anthropic/claude-3-haiku": "2024-03-13",
        "anthropic/claude-3-sonnet": "2024-03-04", "anthropic/claude-3-opus": "2024-03-04",
        "meta-llama/llama-3-8b-instruct": "2024-04-18", "meta-llama/llama-3-70b-instruct": "2024-04-18",
        "mistralai/mixtral-8x7b-instruct": "2023-12-11", "mistralai/mixtral-8x22b-instruct": "2024-04-17",
        "meta-llama/llama-3.1-8b-instruct": "2024-07-23", "meta-llama/llama-3.1-70b-instruct": "2024-07-23",
        "mistralai/mistral-large": "2024-07-24", "anthropic/claude-3.5-sonnet": "2024-06-20",
    }  # fmt: skip
    # What is called by a name that its makers have given to later models has no day of its own.
    aliases = [model for model in load().values() if "alias" in model.note.lower()]
    assert len(aliases) == 3 and not [model.name for model in aliases if model.released]


def test_what_is_left_out_is_unknown(tmp_path):
    model = load(written(tmp_path, {}))["a"]
    assert (model.parameters, model.knowledge_cutoff, model.price_in, model.price_out, model.context) == (None,) * 5
    assert model.released is None
    assert model.sampling == Sampling() == Sampling(0.0, 4000)
    assert (model.identity, model.read_api_key()) == ("a@m", None)


def test_everything_can_be_stated(tmp_path):
    stated = {
        "endpoint": '"https://host:1/v1/"', "revision": '"r"', "parameters": "0.5", "knowledge_cutoff": "2024-01-31",
        "released": "2024-04-18", "price_in": "0", "price_out": "1.5", "key_env": '"A_KEY"',
        "limit_as": '"max_completion_tokens"',
        "sampling": '{ temperature = "none", max_tokens = 20000, top_p = 0.1, seed = 4 }',
    }  # fmt: skip
    model = load(written(tmp_path, stated))["a"]
    assert (model.endpoint, model.identity) == ("https://host:1/v1", "a@r")
    assert (model.knowledge_cutoff, model.released) == (date(2024, 1, 31), date(2024, 4, 18))
    assert model.sampling == Sampling(None, 20000, 0.1, 4)


@pytest.mark.parametrize(
    ("values", "part"),
    [
        ({"name": ""}, "model None (entry 1): name: Field required"),
        ({"name": '"a b"'}, "model 'a b' (entry 1): name: "),
        ({"endpoint": ""}, "model 'a' (entry 1): endpoint: Value error, missing"),
        ({"endpoint": '"localhost:8000"'}, "not an http(s) URL"),
        ({"endpoint": '"http://ho st/v1"'}, "not an http(s) URL"),
        ({"endpoint": '"http://host:99999/v1"'}, "endpoint: "),
        ({"endpoint": '"https://user:sk-canary@host/v1"'}, "keys come from the environment"),
        ({"endpoint": '"https://host/v1?key=sk-canary"'}, "keys come from the environment"),
        ({"key": '"sk-canary"'}, "key: Extra inputs are not permitted"),
        ({"key_env": '"sk-canary"'}, "key_env: "),
        ({"parameters": '"8B sk-canary"'}, "parameters: "),
        ({"parameters": "0"}, "parameters: "),
        ({"price_in": "-1"}, "price_in: "),
        ({"knowledge_cutoff": '"last year"'}, "knowledge_cutoff: "),
        ({"released": '"soon"'}, "released: "),
        ({"released": "2023-01-01", "knowledge_cutoff": "2023-01-31"}, "before its knowledge cutoff 2023-01-31"),
        ({"sampling": "{ temperature = 3 }"}, "sampling: Value error, temperature"),
        ({"sampling": "{ max_tokens = 0 }"}, "sampling: Value error, max_tokens"),
        ({"sampling": "{ top_p = 0 }"}, "sampling: Value error, top_p"),
        ({"sampling": '{ max_tokens = "none" }'}, "sampling.max_tokens: "),
        ({"sampling": "{ temprature = 0 }"}, "sampling.temprature: "),
        ({"sampling": "3"}, "sampling: "),
        ({"limit_as": '"n_predict"'}, "limit_as: "),
    ],
)
def test_a_mistake_is_one_line_that_names_the_entry_and_repeats_no_secret(tmp_path, values, part):
    with one_line(part, "models.toml, model ", kind=SettingsError, never=("canary",)):
        load(written(tmp_path, values))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[[model]", "cannot be read"), ("[model]\nname = 'a'", "write every entry as [[model]]"),
        ("[models]", "found models"), ("model = 3", "write every entry as [[model]]"), ("model = [3]", "entry 1"),
        (table() + "\n" + table(model='"n"'), "two entries are named 'a'"),
        (table(limits="{ concurrency = 2 }"), "limits: they are the endpoint's, write them under [[endpoint]]"),
        *((f"{table()}\n[[endpoint]]\n{lines}", part) for lines, part in [
            ('url = "http://h/v2"', "http://h/v2 is the endpoint of no model there"),
            ('url = "http://127.0.0.1:8000/v1"\n[[endpoint]]\nurl = "http://127.0.0.1:8000/v1/"', "(entry 2): http://127.0.0.1:8000/v1 stands there twice"),
            ("concurrency = 2", "endpoint (entry 1): url: not an http(s) URL"),
            ('url = "http://127.0.0.1:8000/v1"\nconcurrency = 0', "concurrency: "),
            ('url = "http://127.0.0.1:8000/v1"\nrequests_per_minute = -1', "requests_per_minute: "),
            ('url = "http://127.0.0.1:8000/v1"\nrpm = 3', "rpm: Extra inputs"),
            ('url = "https://user:sk-canary@h/v1"', "url: must hold no user, password"),
        ]),
    ],
)  # fmt: skip
def test_a_file_of_another_shape_or_with_wrong_limits_is_named(tmp_path, text, part):
    with one_line(part, kind=SettingsError, never=("canary",)):
        load(written(tmp_path, text))
    with pytest.raises(SettingsError, match="no models file .*nowhere.toml"):
        load(tmp_path / "nowhere.toml")


@pytest.mark.parametrize("value", ["", "  ", "two words", "sk-canary\u2009x", "sk-canary\nx"])
def test_an_unusable_key_is_named_by_its_variable_only(monkeypatch, value):
    monkeypatch.setenv("A_KEY", value)
    model = Model(name="a", endpoint="http://h/v1", model="m", key_env="A_KEY")
    with one_line("A_KEY", kind=LMError, never=("canary",)):
        model.read_api_key()
    monkeypatch.setenv("A_KEY", " sk-1\n")
    assert model.read_api_key() == "sk-1", "without the blanks around it"

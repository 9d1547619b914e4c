"""The LM's reviews in the sample edition: asked for once, every attempt kept, no reply retouched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gre_bench.catalogs.models import load
from tests.conftest import ROOT, script
from tests.servers.chat import scripted_chat

SAMPLE = ROOT / "data" / "sample"
ENTRY = '[[model]]\nname = "smollm2-135m"\nendpoint = "{url}"\nmodel = "m"\nsampling = {{ temperature = 0.0, max_tokens = 9 }}\n'


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    papers = (SAMPLE / "papers.jsonl").read_text(encoding="utf-8").splitlines()[:2]
    (tmp_path / "papers.jsonl").write_text("\n".join(papers) + "\n", encoding="utf-8")
    return tmp_path


def test_every_attempt_is_kept_and_no_paper_is_asked_about_twice(folder):
    write = script("write_lm_reviews")
    with scripted_chat("ok", "500", "empty", "length") as server:
        (folder / "models.toml").write_text(ENTRY.format(url=server.url))
        left = [write.main(folder, folder / "models.toml") for _ in range(4)]
    kept = lines(folder / "lm_attempts.jsonl")
    assert left == [1, 1, 0, 0] and server.count == 4
    outcomes = [("s01", 1, "ok"), ("s02", 1, "failed"), ("s02", 2, "empty"), ("s02", 3, "cut")]
    assert [(row["paper_id"], row["attempt"], row["outcome"]) for row in kept] == outcomes
    reviews = [row["review"] for row in script("make_sample").lm_reviews(folder / "lm_attempts.jsonl")]
    assert reviews == [kept[0]["text"], kept[3]["text"]]
    papers = lines(folder / "papers.jsonl")
    assert all(papers[0]["text"] in message["content"] for message in server.requests[0]["messages"][1:])


def test_an_endpoint_that_is_down_ends_the_command_at_its_first_attempt(folder):
    (folder / "models.toml").write_text(ENTRY.format(url="http://127.0.0.1:9/v1"))
    assert script("write_lm_reviews").main(folder, folder / "models.toml") == 2
    [row] = lines(folder / "lm_attempts.jsonl")
    assert row["outcome"] == "failed" and "connection to the endpoint failed" in row["detail"]


def test_the_shipped_reviews_are_the_replies_to_the_prompt_of_the_paper_as_the_models_file_has_it_answered():
    kept, papers = lines(SAMPLE / "lm_attempts.jsonl"), lines(SAMPLE / "papers.jsonl")
    assert {row["paper_id"] for row in kept} == {row["paper_id"] for row in papers}
    model = load()["smollm2-135m"]
    assert {row["writer"].partition(" ")[0] for row in kept} == {model.identity}
    assert len({row["writer"] for row in kept}) == 1
    assert all(row["reply_tokens"] <= model.sampling.max_tokens for row in kept if row["text"])


def test_the_files_in_the_import_format_are_those_that_the_sources_make():
    for name, content in script("make_sample").made().items():
        assert (SAMPLE / name).read_text(encoding="utf-8") == content, name

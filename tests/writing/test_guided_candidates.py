"""A model under a guideline is a candidate of its own: MODEL@CONDITION."""

from __future__ import annotations

import pytest

from gre_bench.core.errors import SettingsError
from gre_bench.core.records import Paper
from gre_bench.prompts.conditions import SHIPPED, load_condition, split_condition
from gre_bench.writing.writers import WriterContext, open_text_writer, writes_reviews
from tests.servers.chat import MODEL, scripted_chat
from tests.studies.asking import models_file

PAPER = Paper("p1", "A title", "An abstract.", "The method works well. It is not compared with others.")


@pytest.fixture
def writer_context(tmp_path):
    with scripted_chat() as server:
        yield WriterContext(tmp_path / "replies", models_file(tmp_path, server)), server


@pytest.mark.parametrize("name", ["none", "bad+rubric"])
def test_a_review_under_a_guideline_is_asked_for_with_its_prompt(writer_context, name):
    writer = open_text_writer(f"scripted@{name}", writer_context[0])
    (written,) = writer.write_reviews([PAPER])
    assert (written.item, written.outcome) == ("p1", "ok")
    (body,) = writer_context[1].requests
    assert body["messages"] == [
        {
            "role": "user",
            "content": load_condition(name).chat("A title\n\nAbstract\n\nAn abstract.\n\n" + PAPER.text).user,
        }
    ]


def test_each_condition_is_an_identity_of_its_own_and_other_tasks_are_as_ever(writer_context):
    names = ["scripted", *(f"scripted@{name}" for name in SHIPPED)]
    scribes = [open_text_writer(name, writer_context[0]) for name in names]
    assert len({one.identity("review") for one in scribes}) == len(names)
    assert len({one.identity("judgments") for one in scribes}) == len({one.identity("assw") for one in scribes}) == 1
    assert scribes[-1].identity("review").startswith(f"scripted@{MODEL} · prompt bad+rubric ")


def test_the_name_of_a_candidate_is_taken_apart_at_a_shipped_condition_only():
    assert split_condition("meta/llama@iclr") == ("meta/llama", "iclr")
    assert split_condition("model@bad+rubric") == ("model", "bad+rubric")
    assert split_condition("a@b@none") == ("a@b", "none")
    for name in ("model", "model@nope", "@iclr", "model@"):
        assert split_condition(name) == (name, None)


def test_only_a_known_model_reviews_under_a_guideline(writer_context):
    assert writes_reviews("scripted@arr", writer_context[0])
    assert not writes_reviews("scripted@nope", writer_context[0]) and not writes_reviews("other@arr", writer_context[0])
    with pytest.raises(SettingsError, match=r"no writer 'other@arr' in .*models.toml; known: "):
        open_text_writer("other@arr", writer_context[0])

"""A real LM at every kind of purpose, behind ``transformers serve``: each reply is used, or failed with its reason.

So small a model keeps hardly any format: what is proven is that nothing is made up where it does not.
`python -m tests.bench.replies_by_purpose` is the long form.
"""

from __future__ import annotations

import re

import pytest

from gre_bench.core.pretrained import cache_folder
from gre_bench.writing.writers import WriterContext
from tests.lm.test_pretrained_real import needed
from tests.servers.processes import transformers_command, transformers_server
from tests.writing.purposes import frugal, sample_texts, tallies

pytestmark = [pytest.mark.pretrained, pytest.mark.night]
ENTRY = '[[model]]\nname = "smollm2-135m"\nendpoint = "{url}"\nmodel = "smollm2-135m"\nsampling = {{ temperature = 0.0, max_tokens = 24 }}\n'
SHORT = (
    "review", "judgments", "ASSW", "change: rephrase", "examiner: logprob", "preference", "points: reference_quality",
    "guideline",
)  # fmt: skip
ARCHIVED = tuple(purpose for purpose in SHORT if purpose != "examiner: logprob")
WITHOUT_FORM = {"review", "change: rephrase"}
"""Purposes whose reply is a plain text; all others need a form that 24 tokens of such a model cannot have."""


def test_each_reply_of_a_real_lm_is_used_or_failed_with_its_reason(tmp_path):
    name = needed("smollm2-135m", "torch", "transformers", "accelerate", "fastapi", "uvicorn")
    command = transformers_command()
    if command is None:
        pytest.skip("no command `transformers` here: pip install 'transformers[serving]'")
    context, texts = WriterContext(tmp_path / "replies", tmp_path / "models.toml"), sample_texts(1, 1, 300)
    with frugal(24), transformers_server(command, cache_folder() / name, tmp_path / "server.log") as url:
        (tmp_path / "models.toml").write_text(ENTRY.format(url=url))
        found = {tally.purpose: tally for tally in tallies(name, context, texts, SHORT.__contains__)}
    assert set(found) == set(SHORT)
    for purpose, tally in found.items():
        assert tally.asked and tally.asked == tally.used + sum(tally.failed.values()), purpose
        assert all(re.fullmatch(r"unparsable: \w.*|failed", reason) for reason in tally.failed), tally
        assert purpose in WITHOUT_FORM or not tally.used, tally
        assert set(tally.replies) <= {"ok", "cut"} or purpose == "examiner: logprob", tally
    # The server is gone: what was final is read from the archive again, and comes to the same.
    with frugal(24):
        again = {tally.purpose: tally for tally in tallies(name, context, texts, ARCHIVED.__contains__)}
    assert all((one.used, one.failed) == (found[purpose].used, found[purpose].failed) for purpose, one in again.items())
    assert not any(one.replies for one in again.values())

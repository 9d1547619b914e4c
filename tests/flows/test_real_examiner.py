"""A refresh whose metrics are what a real LM grades: each pair has a score, or the reason why it has none.

`pytest -s tests/flows/test_real_examiner.py` prints the table of pairs by metric and reason.
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from gre_bench.core import settings
from gre_bench.core.pretrained.cache import cache
from gre_bench.flows.annual_refresh import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.tasks import steps
from tests.conftest import ROOT
from tests.flows.refreshing import query
from tests.lm.test_pretrained_real import needed
from tests.servers.transformers_server import transformers_command, transformers_server
from tests.writing.purposes import frugal, reason_of

pytestmark = [pytest.mark.pretrained, pytest.mark.slow, pytest.mark.timeout(1800)]

MODELS = """
[[endpoint]]
url = "{url}"
concurrency = 1

[[model]]
name = "smollm2-135m"
endpoint = "{url}"
model = "smollm2-135m"
context = 8192
sampling = {{ temperature = 0.0, max_tokens = 160 }}
"""
SETTINGS = """
[sources]
notes = "{sample}/notes.jsonl"
pdfs = "{sample}/pdfs"

[edition]
venue = "SAMPLE"
year = 2026
papers = 2

[writing]
judgments = "rule"
candidates = ["extractive-abstract"]
models = "models.toml"

[scoring]
metrics = ["lm_examiner", "examiner.base", "examiner.p1", "examiner.aspects", "examiner.fine", "examiner.logprob"]
examiner = "smollm2-135m"

[scoring.examiners]
base = {{ template = "base" }}
p1 = {{ template = "p1" }}
aspects = {{ template = "p6" }}
fine = {{ template = "human", granularity = "fine" }}
logprob = {{ template = "human", aggregation = "logprob" }}
"""
PAIRS = """
select s.metric, p.state, p.reason, p.message
from pairs p join signatures s using (signature_id)
where p.state in ('scored', 'failed', 'missing')
order by all
"""


def test_each_pair_that_a_real_lm_grades_is_scored_or_failed_with_its_reason(tmp_path):
    name = needed("smollm2-135m", "torch", "transformers", "accelerate", "fastapi", "uvicorn")
    command = transformers_command()
    if command is None:
        pytest.skip("no command `transformers` here: pip install 'transformers[serving]'")
    began = time.monotonic()
    with frugal(64), transformers_server(command, cache() / name, tmp_path / "server.log") as url:
        (tmp_path / "models.toml").write_text(MODELS.format(url=url))
        (tmp_path / "settings.toml").write_text(SETTINGS.format(sample=ROOT / "data" / "sample"))
        first = graded(tmp_path)
    print(f"{len(first)} pairs in {time.monotonic() - began:.0f} s")
    print(table(first))
    assert len({row[0] for row in first}) == 6
    assert all(reason and message for _, state, reason, message in first if state != "scored")
    assert all(state == "scored" or reason in ("unparsable", "failed") for _, state, reason, _ in first), first
    # The server is gone: no final outcome is asked for again, and none changes.
    with frugal(64):
        assert [row for row in graded(tmp_path) if row[1] != "missing"] == [row for row in first if row[1] != "missing"]


def graded(folder: Path) -> list[tuple[str, str, str | None, str | None]]:
    """Metric, state, reason and message of all pairs after a refresh of two papers of the sample in *folder*."""
    chosen = settings.load(folder / "settings.toml")
    refresh(Job(chosen, folder / "state"), steps.undecorated())
    return query(folder / "state", PAIRS)


def table(pairs: list[tuple[str, str, str | None, str | None]]) -> str:
    """The Markdown table of the pairs by metric."""
    lines = ["| metric | asked | used | failed, by reason |", "|---|---|---|---|"]
    for metric in dict.fromkeys(row[0] for row in pairs):
        mine = [row for row in pairs if row[0] == metric]
        failed = Counter(reason_of(reason or state, message or "") for _, state, reason, message in mine if reason)
        told = "; ".join(f"{reason} {count}" for reason, count in sorted(failed.items())) or "–"
        lines.append(f"| {metric} | {len(mine)} | {len(mine) - failed.total()} | {told} |")
    return "\n".join(lines)

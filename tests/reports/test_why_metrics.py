"""``explain_score`` over one cell of every metric: what is scored once more agrees, of candidates and of changed reviews alike."""

from __future__ import annotations

import json
from functools import partial

import pytest

from gre_bench.core import settings
from gre_bench.core.metrics import METRICS
from gre_bench.pipeline.refreshing import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.pipeline.validating import validate
from gre_bench.reports.explanations import explain_score
from gre_bench.store import Store
from gre_bench.store.queries import PLANNED_SIGNATURES
from gre_bench.writing import http_writer
from tests.conftest import ROOT
from tests.flows.refreshing import EDITION, query, use, with_papers_read
from tests.scripted_lms import OverlapLM
from tests.servers.chat import MODEL, scripted_chat

ELSEWHERE = {"gem_s_categories", "gem_s_categories_specific", "lm_examiner"}
"""Of businesses, not of papers; and asked of an LM behind a server: a test of its own."""
ASKED = [name for name in METRICS if name not in ELSEWHERE]
CHANGED = "human~sentence_deletion"
MODELS = '[[model]]\nname = "grader"\nendpoint = "{url}"\nmodel = "{model}"\n'


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Four papers of the sample edition under every metric, with a reviewer by rule and changed reviews."""
    use(OverlapLM())
    state = with_papers_read(tmp_path_factory.mktemp("why-metrics"))
    chosen = settings.load(
        ROOT / "tests" / "flows" / "notes_and_pdfs.toml",
        (
            "edition.papers=4", "evaluation_lm.backend=scripted", f"scoring.metrics={json.dumps(ASKED)}",
            'validation.perturbations=["sentence_deletion"]', "validation.resamples=200", "scoring.beyond=extractive-full",
        ),
    )  # fmt: skip
    assert refresh(Job(chosen, state))["outcome"] == "done"
    validate(Job(chosen, state))
    return state


def explained(state, metric, candidate, paper=None):
    signature = next(row for row in Store(state, EDITION).read(PLANNED_SIGNATURES) if row["metric"] == metric)
    return explain_score(state, EDITION, signature, candidate, paper)


def agrees(found) -> None:
    assert [row["what"] for row in found.checks if not row["holds"]] == []
    scored = [row for row in found.pairs if row["state"] == "scored"]
    assert scored and all(row["recount"] == pytest.approx(row["value"], rel=1e-6, abs=1e-9) for row in scored)


def a_paper(state) -> str:
    return query(state, "select min(paper_id) from plan where state = 'due'")[0][0]


@pytest.mark.parametrize("metric", ASKED)
@pytest.mark.parametrize("candidate", ["extractive-full", CHANGED])
def test_a_cell_of_every_metric_comes_out_again(made, metric, candidate):
    use(OverlapLM())
    found = explained(made, metric, candidate, a_paper(made))
    assert len(found.pairs) == len(found.details) == (2 if METRICS[metric].needs_reference else 1)
    assert all(row["x"] for row in found.details)
    agrees(found)


def test_gem_s_assw_is_made_of_the_synopsis_of_its_writer(made):
    use(OverlapLM())
    paper = a_paper(made)
    found = explained(made, "gem_s_assw", "human", paper)
    agrees(found)
    ((text,),) = query(made, f"select text from synopses where kind = 'assw' and paper_id = '{paper}'")
    assert len(text) > 40 and all(line.strip() in found.details[0]["synopsis"] for line in text.splitlines())


def test_lm_examiner_comes_out_again_from_the_archive_of_replies(made, tmp_path, monkeypatch):
    monkeypatch.setattr(http_writer, "RetryPolicy", partial(http_writer.RetryPolicy, attempts=2, first_wait_s=0.01))
    use(OverlapLM())
    state = with_papers_read(tmp_path / "state")
    with scripted_chat() as server:
        (tmp_path / "models.toml").write_text(MODELS.format(url=server.url, model=MODEL))
        chosen = settings.load(
            ROOT / "tests" / "flows" / "notes_and_pdfs.toml",
            (
                "edition.papers=4", "evaluation_lm.backend=scripted", "scoring.metrics=['lm_examiner']",
                "scoring.examiner=grader", f"writing.models={tmp_path / 'models.toml'}",
            ),
        )  # fmt: skip
        assert refresh(Job(chosen, state))["outcome"] == "done"
        asked = server.count
        agrees(explained(state, "lm_examiner", "extractive-full"))
        assert server.count == asked > 0

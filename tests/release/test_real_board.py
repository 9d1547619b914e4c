"""The page of a real board, nine LM reviewers of ICLR 2022, clicked through in a real browser."""

from __future__ import annotations

import pytest

from gre_bench.core import settings
from gre_bench.flows.annual_refresh import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.reports.publishing import write_edition_pages
from gre_bench.store import Store
from gre_bench.tasks import steps
from tests.conftest import ROOT, real
from tests.release import browser
from tests.release.test_views_of_a_board import at

MAIN = 6
"""Models of the main group; three more are ranked among themselves."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = real("llm-boards", "iclr2022")
    state = tmp_path_factory.mktemp("real")
    files = tuple(
        f"sources.{kind}={folder / name}" for kind, name in (("papers", "papers.jsonl"), ("reviews", "reviews.parquet"))
    )
    own = settings.load(ROOT / "deployments" / "iclr2022_llms.toml", (*files, "evaluation_lm.backend=cache-ngram"))
    assert refresh(Job(own, state, limit=40), steps.undecorated())["outcome"] == "done"
    out = tmp_path_factory.mktemp("pages")
    write_edition_pages(Store(state, "ICLR-2022-llms"), out)
    return out


@pytest.fixture(scope="module")
def tab():
    if browser.program() is None:
        pytest.skip("no Chromium on this machine (apt-get install chromium)")
    pytest.importorskip("websockets", reason="websockets is not installed")
    with browser.opened() as tab:
        yield tab


NAMES = (
    "[...document.querySelectorAll('.panel:not([hidden]) table tbody tr[data-name]')]"
    ".filter(row => row.offsetParent).map(row => row.dataset.name)"
)
"""The candidates that the board on the screen shows."""


@pytest.mark.slow
@pytest.mark.shared
def test_a_reader_finds_the_models_their_group_and_a_candidate(tab, pages):
    tab.open(pages / "index.html", 1280, 900)
    seen = tab.ask(NAMES)
    assert sum(name.startswith(("openai/", "anthropic/")) for name in seen) == MAIN
    assert sum(name.startswith("quis/") for name in seen) == 3 and "human" in seen
    at(tab, pages / "index.html", "metric=gem_s_abstract&group=quis")
    tab.until(f"{NAMES}.length === 3")
    at(tab, pages / "index.html", "metric=gem&one=quis%2Fgpt-4-regenerated&other=human")
    tab.until("document.body.textContent.includes('quis/gpt-4-regenerated')")
    links = tab.ask("[...document.querySelectorAll('a[href^=\"candidates/\"]')].map(link => link.getAttribute('href'))")
    assert len(set(links)) >= MAIN + 3
    tab.open(pages / links[0], 1280, 900)
    assert tab.ask("document.querySelectorAll('h1').length") == 1

"""Pages of editions as large as the benchmark's own, and of its real reviews."""

from __future__ import annotations

import pytest

from gre_bench.core import settings
from gre_bench.flows.annual_refresh import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.release import manifest
from gre_bench.release.release_store import ReleaseStore
from gre_bench.reports.publishing import publish_edition
from gre_bench.store import Store
from gre_bench.tasks import steps
from tests.conftest import ROOT
from tests.release import browser
from tests.release.made_up import make
from tests.release.visits import visit

LARGEST = 2_000_000
"""Bytes of a page."""


def published(state, store):
    return publish_edition(store, ReleaseStore(state / "releases", store.key)).folder


def look(folder):
    """Visits the pages wide and narrow, where there is a browser."""
    if browser.program() is None:
        pytest.skip("no Chromium on this machine (apt-get install chromium): all but the visit is as it should be")
    with browser.opened() as tab:
        for width, dark in ((1280, False), (390, True)):
            visit(tab, folder, width, dark)
        tab.open(folder / "index.html")
        assert tab.ask("document.querySelectorAll('#table-papers tbody tr').length") == 300


@pytest.mark.slow
def test_no_page_of_a_board_of_300_papers_and_21_candidates_is_over_2_megabytes(tmp_path):
    folder = published(tmp_path, make(tmp_path, papers=300, candidates=21, tested=True))
    assert len(list((folder / "papers").iterdir())) == 300 and len(list((folder / "candidates").iterdir())) == 21
    assert {page: size for page in folder.rglob("*.html") if (size := page.stat().st_size) > LARGEST} == {}
    look(folder)


@pytest.mark.shared
@pytest.mark.slow
def test_the_300_real_papers_are_published_without_a_word_of_their_reviews(iclr2023, tmp_path):
    chosen = settings.load(ROOT / "deployments" / "iclr2023.toml", (f"sources.reviews={iclr2023}",))
    assert refresh(Job(chosen, tmp_path), steps.undecorated())["outcome"] == "done"
    store = Store(tmp_path, "ICLR-2023")
    folder = published(tmp_path, store)
    assert manifest.verify(folder)["texts"] == "where their licence allows it"
    assert (folder / "index.html").stat().st_size < LARGEST
    pages = "\n".join(path.read_text() for path in folder.rglob("*.html"))
    with store.transaction() as run:
        lines = run.sql("select unnest(string_split(text, chr(10))) as line from judgments").fetchall()
    assert len(lines) > 5_000
    assert not [line for (line,) in lines if len(line) > 60 and line.strip() in pages]
    look(folder)

"""Pages of editions as large as the benchmark's own, of its real reviews, and of nine real LM reviewers."""

from __future__ import annotations

import pytest

from gre_bench.core import settings
from gre_bench.pipeline.refreshing import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.release import manifest
from gre_bench.release.release_store import ReleaseStore
from gre_bench.reports.publish_editions import publish_edition, write_edition_pages
from gre_bench.store import Store
from tests.conftest import ROOT, real
from tests.release.made_up import make
from tests.release.visits import at, visit

LARGEST = 2_000_000
"""Bytes of a page."""


def published(state, store):
    return publish_edition(store, ReleaseStore(state / "releases", store.key)).folder


def look(tab, folder):
    """Visits the pages wide and narrow."""
    for width, dark in ((1280, False), (390, True)):
        visit(tab, folder, width, dark)
    tab.open(folder / "index.html")
    assert tab.ask("document.querySelectorAll('#table-papers tbody tr').length") == 300


@pytest.mark.night
def test_no_page_of_a_board_of_300_papers_and_21_candidates_is_over_2_megabytes(tab, tmp_path):
    folder = published(tmp_path, make(tmp_path, papers=300, candidates=21))
    assert len(list((folder / "papers").iterdir())) == 300 and len(list((folder / "candidates").iterdir())) == 21
    assert {page: size for page in folder.rglob("*.html") if (size := page.stat().st_size) > LARGEST} == {}
    look(tab, folder)


@pytest.mark.shared
@pytest.mark.night
def test_the_300_real_papers_are_published_without_a_word_of_their_reviews(tab, iclr2023, tmp_path):
    chosen = settings.load(ROOT / "deployments" / "iclr2023.toml", (f"sources.reviews={iclr2023}",))
    assert refresh(Job(chosen, tmp_path))["outcome"] == "done"
    store = Store(tmp_path, "ICLR-2023")
    folder = published(tmp_path, store)
    assert manifest.verify_release(folder)["texts"] == "where their licence allows it"
    assert (folder / "index.html").stat().st_size < LARGEST
    pages = "\n".join(path.read_text() for path in folder.rglob("*.html"))
    with store.transaction() as run:
        lines = run.sql("select unnest(string_split(text, chr(10))) as line from judgments").fetchall()
    assert len(lines) > 5_000
    assert not [line for (line,) in lines if len(line) > 60 and line.strip() in pages]
    look(tab, folder)


NAMES = (
    "[...document.querySelectorAll('.panel:not([hidden]) table tbody tr[data-name]')]"
    ".filter(row => row.offsetParent).map(row => row.dataset.name)"
)
"""The candidates that the board on the screen shows."""


@pytest.mark.night
@pytest.mark.shared
def test_a_reader_of_a_real_board_finds_the_six_models_the_group_of_three_and_a_candidate(tab, tmp_path):
    folder = real("llm-boards", "iclr2022")
    files = (f"sources.papers={folder / 'papers.jsonl'}", f"sources.reviews={folder / 'reviews.parquet'}")
    own = settings.load(ROOT / "deployments" / "iclr2022_llms.toml", (*files, "evaluation_lm.backend=cache-ngram"))
    assert refresh(Job(own, tmp_path / "state", limit=40))["outcome"] == "done"
    (pages := tmp_path / "pages").mkdir()
    write_edition_pages(Store(tmp_path / "state", "ICLR-2022-llms"), pages)
    tab.open(pages / "index.html", 1280, 900)
    seen = tab.ask(NAMES)
    assert sum(name.startswith(("openai/", "anthropic/")) for name in seen) == 6
    assert sum(name.startswith("quis/") for name in seen) == 3 and "human" in seen
    at(tab, pages / "index.html", "metric=gem_s_abstract&find=quis")
    tab.until(f"{NAMES}.length === 3")
    at(tab, pages / "index.html", "metric=gem&one=quis%2Fgpt-4-regenerated&other=human")
    tab.until("document.body.textContent.includes('quis/gpt-4-regenerated')")
    links = tab.ask("[...document.querySelectorAll('a[href^=\"candidates/\"]')].map(link => link.getAttribute('href'))")
    assert len(set(links)) >= 6 + 3
    tab.open(pages / links[0], 1280, 900)
    assert tab.ask("document.querySelectorAll('h1').length") == 1

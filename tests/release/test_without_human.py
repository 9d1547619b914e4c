"""The pages of a board without a human candidate, in a real browser."""

from __future__ import annotations

import pytest

from gre_bench.release.release_store import ReleaseStore
from gre_bench.reports.publish_editions import publish_edition
from gre_bench.store import Store
from tests.flows.refreshing import EDITION, one_review
from tests.release.visits import cells, read, text


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    state = one_review(tmp_path_factory.mktemp("one") / "state")
    return publish_edition(Store(state, EDITION), ReleaseStore(state / "releases", EDITION)).folder


@pytest.mark.parametrize("width", [1280, 390])
def test_the_pages_do_without_a_human_row_and_say_why(tab, release, width):
    read(tab, release, width)
    tab.open(release / "index.html", width)
    assert "each paper has one human review here, which is the reference" in text(tab, "main")
    assert "human baseline" not in text(tab, "#table-1 caption")
    assert len(cells(tab, "#table-1 tbody tr")) == 4
    assert "Human" not in text(tab, "#table-papers thead")

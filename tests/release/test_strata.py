"""Kinds of papers: counted on board and page, scored with the intervals of the board, and warned of where they are few."""

from __future__ import annotations

import json
import re

import duckdb
import numpy as np
import pytest

from gre_bench.reports.publish_editions import write_edition_pages
from gre_bench.stats.intervals import clustered_test, paired_test
from gre_bench.store import Store
from tests.cli.calling import shown
from tests.release.made_up import EDITION, change, make

NAMES = ("openai/gpt-4o", "anthropic/claude-3-opus", "other-paper")
PAPERS = 40


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """Forty papers: 32 as they were submitted and 8 camera-ready; 35 rejected and 5 accepted; one track."""
    state = tmp_path_factory.mktemp("strata")
    store = make(state, papers=PAPERS, names=NAMES)
    change(
        store,
        "insert into snapshots values ('digest', 'folder', now())",
        "update paper_sources set pdf_version_status = "
        "case when paper_id < 'p00032' then 'submitted' else 'camera_ready' end",
        "insert into paper_strata select paper_id, 'decision', "
        "case when paper_id < 'p00005' then 'Accept (poster)' else 'Reject' end from papers",
        "insert into paper_strata select paper_id, 'track', 'main' from papers",
    )
    return state


@pytest.fixture(scope="module")
def found(state):
    code, text = shown("leaderboard", EDITION, "--json", "--state", state)
    assert code == 0
    return json.loads(text)


def test_papers_are_counted_by_the_version_of_their_pdf_first(found):
    assert [(row["stratum"], row["value"], row["papers"]) for row in found["papers"]] == [
        ("PDF version", "submitted", 32), ("PDF version", "camera ready", 8),
        ("decision", "Reject", 35), ("decision", "Accept (poster)", 5), ("track", "main", 40),
    ]  # fmt: skip


def test_a_stratum_has_the_mean_and_the_intervals_of_a_board_of_its_papers_alone(state, found):
    with duckdb.connect(str(Store(state, EDITION).read_file), read_only=True) as run:
        pairs = run.execute(
            "select signature_id, candidate_id, paper_id, reference_id, value from pairs where value is not null"
        ).fetchall()
    human = {(one[0], one[2], one[3]): one[4] for one in pairs if one[1] == "human"}
    rows = [row for row in found["strata"] if row["value"] in ("camera ready", "Reject")]
    assert len(rows) == 3 * 2 * 3 and {row["candidate"] for row in rows} == {"human", *NAMES[:2]}
    for row in rows:
        wanted = range(32, PAPERS) if row["value"] == "camera ready" else range(5, PAPERS)
        ids = {f"p{n:05d}" for n in wanted}
        own = [one for one in pairs if one[:2] == (row["signature_id"], row["candidate"]) and one[2] in ids]
        expected = clustered_test([one[4] for one in own], [one[2] for one in own])
        assert (row["score"], row["low"], row["high"]) == pytest.approx((expected.value, expected.low, expected.high))
        assert row["papers"] == len(ids)
        if row["kind"] == "human":
            assert row["vs_human"] is None
            continue
        leads = {one: [] for one in ids}
        for one in own:
            leads[one[2]].append(one[4] - human[one[0], one[2], one[3]])
        test = paired_test([float(np.mean(values)) for values in leads.values()])
        told = (row["vs_human"], row["vs_human_low"], row["vs_human_high"])
        assert told == pytest.approx((test.value, test.low, test.high))


def test_details_show_strata_with_several_values_and_warn_of_small_ones(state):
    code, text = shown("leaderboard", EDITION, "--details", "--metric", "gem", "--state", state)
    flat = " ".join(text.split())
    assert code == 0
    assert "papers by PDF version: submitted 32, camera ready 8" in flat and "papers by track: main 40" in flat
    assert "gem by decision, ± half" in flat and "Reject (35)" in flat and "gem by track" not in flat
    assert "Few papers: Accept (poster) 5, camera ready 8. Under 30 papers" in flat


def test_the_page_shows_the_same_with_the_warning(state, tmp_path):
    write_edition_pages(Store(state, EDITION), tmp_path)
    page = (tmp_path / "index.html").read_text()
    section = page[page.index('<section id="strata"') : page.index('<section id="papers"')]
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", section))
    assert "PDF version submitted 32 papers · camera ready 8 papers" in text
    assert "Few papers: Accept (poster) 5." in text and "Few papers: camera ready 8." in text
    assert section.count('<table class="strata">') == 2 * 3, "one track alone has no table"


def test_an_edition_without_notes_has_no_strata(tmp_path):
    make(tmp_path, papers=3, names=NAMES)
    code, text = shown("leaderboard", EDITION, "--details", "--state", tmp_path)
    assert code == 0 and "papers by" not in text
    assert json.loads(shown("leaderboard", EDITION, "--json", "--state", tmp_path)[1])["strata"] == []

"""What a reader does with a board in a real browser: first screen, addresses, two candidates compared, the scatter, cards."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student
from scipy.stats import ttest_rel

from gre_bench.board.words import RANKED_APART
from gre_bench.release.pages.board_data import average_by_paper, compare_every_two_candidates, compute_lead_by_paper
from gre_bench.release.pages.board_page import build_page_file_name
from gre_bench.release.public_tables import open_release_tables
from gre_bench.release.release_store import ReleaseStore
from gre_bench.reports.contrasts import compare_candidates
from gre_bench.reports.publish_editions import publish_edition, write_edition_pages
from gre_bench.store import Store
from tests.release.made_up import change, make, rank_again
from tests.release.visits import at, cells, chosen, click, column, fill, text, texts

FIRST, SECOND, LACKING = "openai/gpt-4o", "anthropic/claude-3-opus", "google/gemini-pro"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """An edition of 21 candidates; one of them lacks a pair, and all have lengths and costs."""
    state = tmp_path_factory.mktemp("board")
    store = make(state, papers=14, tokens=9, titles=("A title", "Another"))
    lost = f"where candidate_id = '{LACKING}' and paper_id = 'p00003' and reference_id like '%r2'"
    change(store, f"delete from scores {lost}", f"delete from plan {lost}")
    rank_again(store)
    costs = "update profiles set words = 300 + 10 * length(candidate_id), usd = length(candidate_id) / 10"
    change(store, costs)
    return state, publish_edition(store, ReleaseStore(state / "releases", store.key)).folder


@pytest.fixture(scope="module")
def release(made):
    return made[1]


@pytest.fixture(scope="module")
def validated(made, tmp_path_factory):
    """The pages of the same edition, whose metric GEM is validated, so that its board has an order."""
    folder = tmp_path_factory.mktemp("validated")
    store = Store(shutil.copytree(made[0], folder / "state", symlinks=True), "ICLR-2025")
    change(store, "update validations set verdict = 'pass'")
    write_edition_pages(store, folder)
    return folder


ROWS_SEEN = (
    "[...document.querySelectorAll('#board-1 .plot > .model')].filter(row => row.getBoundingClientRect().height "
    "&& row.getBoundingClientRect().bottom <= innerHeight).length"
)


def test_the_board_is_the_first_screen_a_badge_opens_its_details_and_a_filter_that_fits_nothing_says_so(tab, release):
    tab.open(release / "index.html", 390, 844)
    assert tab.ask(ROWS_SEEN) >= 1
    tab.open(release / "index.html", 1280, 900)
    assert tab.ask(ROWS_SEEN) >= 8
    assert set(tab.ask("[...document.querySelectorAll('#table-1 tbody tr')].map(row => row.offsetHeight)")) == {36}
    shown = "document.querySelector('#board-1 .pop:popover-open')?.textContent"
    assert tab.ask(shown) is None
    click(tab, "#board-1 .badge")
    assert "does not pass abstract_only" in tab.ask(shown)
    tab.press("Escape")
    assert tab.ask(shown) is None
    fill(tab, "#tools input[type=search]", "nobody <b>")
    said = "document.querySelector('.empty[data-of=table-1]')"
    assert tab.ask(f"{said}.hidden") is False and "Nothing here fits “nobody <b>”." in tab.ask(f"{said}.textContent")
    click(tab, ".empty[data-of=table-1] button")
    assert tab.ask(f"{said}.hidden") is True and len(column(tab, "table-1", 1)) == 21


@pytest.mark.parametrize(("width", "layout"), [(1280, "beside"), (390, "above")])
def test_the_picture_of_a_board_fits_its_width_and_no_name_runs_into_a_number(tab, release, width, layout):
    tab.open(release / "index.html", width)
    boxes = "[...document.querySelectorAll('#board-1 .picture')].filter(box => box.offsetWidth)"
    assert tab.ask(f"{boxes}.map(box => box.className)") == [f"picture {layout}"]
    assert tab.ask(
        f"{boxes}[0].getBoundingClientRect().bottom <= document.getElementById('table-1').getBoundingClientRect().top"
    )
    texts = f"[...{boxes}[0].querySelectorAll('.plot > svg[class]')].map(row => [...row.querySelectorAll(':scope > text')].map(text => text.getBoundingClientRect()))"
    rows = tab.ask(f"{texts}.map(([name, value]) => [name.right, value.left, value.right])")
    assert len(rows) == 21 and all(name < left for name, left, _ in rows)
    assert max(right for *_, right in rows) < width


def test_the_validated_metric_comes_first(tab, made, tmp_path):
    store = Store(made[0], "ICLR-2025")
    change(
        store,
        "insert into validations select signature_id, 'pass', 'ICLR-2023', 'all', now() from signatures "
        "where metric = 'gem_s_assw'",
    )
    write_edition_pages(store, tmp_path)
    tab.open(tmp_path / "index.html")
    assert texts(tab, "[role=tab]") == ["GEM-S (ASSW)", "GEM fails validation", "GEM-S (abstract) not validated"]
    assert text(tab, "#board-1 .badge") == "✓validated on ICLR-2023"


def test_every_view_has_an_address_and_back_is_the_view_before(tab, release):
    tab.open(release / "index.html")
    click(tab, "#tab-2")
    click(tab, "#board-2 th[data-key=name] button")
    fill(tab, "#tools input[type=search]", "openai")
    click(tab, "#tools input[data-kind=human]")
    chosen(tab, "#one", FIRST)
    address = tab.ask("location.hash")
    names = column(tab, "table-2", 1)
    assert names == sorted(names) and all("openai" in name for name in names) and len(names) > 1
    at(tab, release / "index.html", address.removeprefix("#"))
    assert column(tab, "table-2", 1) == names and tab.ask("document.getElementById('one').value") == FIRST
    assert tab.ask("document.querySelector('#tools input[type=search]').value") == "openai"
    tab.open(release / "index.html")
    click(tab, "#tab-3")
    click(tab, "#board-3 th[data-key=score] button")
    for shown in ("metric=gem_s_assw", ""):
        tab.ask("void setTimeout(() => history.back())")  # after the answer, which the way back may swallow
        tab.until(f"location.hash.replace('#', '') === {json.dumps(shown)}")
    tab.until("document.getElementById('board-1')?.hidden === false")


def test_any_two_candidates_are_compared_as_the_command_compares_them(tab, made):
    state, release = made
    tab.open(release / "index.html")
    for one, other in ((FIRST, SECOND), (LACKING, "human")):
        chosen(tab, "#one", one)
        chosen(tab, "#other", other)
        rows = cells(tab, "#table-pair tbody tr")
        found = compare_candidates(state, "ICLR-2025", (one, other), None)["candidates"]
        by_metric = {row["metric"]: row for row in found}
        for (_, difference, between, p, papers), metric in zip(
            rows, ("gem", "gem_s_abstract", "gem_s_assw"), strict=True
        ):
            test = by_metric[metric]
            signed = [f"{test[name]:+.2f}".replace("-", "−") for name in ("difference", "low", "high")]
            assert [difference, between, papers] == [signed[0], f"{signed[1]} to {signed[2]}", str(test["papers"])]
            assert p == ("<0.001" if test["p"] < 0.001 else f"{test['p']:.3f}")
        answer, gem = text(tab, ".answer"), by_metric["gem"]
        assert f"higher on {gem['won']}, lower on {gem['lost']}, " in answer
        most = texts(tab, "#compared .extremes a")
        papers = {"p00000": "A title", "p00001": "Another"}
        assert most == [papers.get(one["paper_id"], one["paper_id"]) for one in (*gem["most"], *gem["least"])]


@given(st.lists(st.tuples(st.floats(-50, 50), st.floats(-50, 50)), min_size=3, max_size=12))
def test_a_comparison_is_the_paired_test_of_the_papers_that_both_have(pairs):
    one = {(f"p{n}", "r"): first for n, (first, _) in enumerate(pairs)}
    other = {(f"p{n}", "r"): second for n, (_, second) in enumerate(pairs)}
    if np.std([first - second for first, second in pairs]) < 1e-6:
        return
    (found,) = compare_every_two_candidates({"one": one | {("alone", "r"): 3.0}, "other": other})
    known = ttest_rel(*zip(*pairs, strict=True))
    low, high = known.confidence_interval(0.90)
    assert (found.difference, found.low, found.high) == pytest.approx(
        (np.mean(list(compute_lead_by_paper(one, other).values())), low, high)
    )
    assert found.p == pytest.approx(known.pvalue, abs=1e-12) and found.papers == len(pairs)
    assert found.high - found.difference == pytest.approx(
        student.ppf(0.95, len(pairs) - 1) * found.sd / np.sqrt(len(pairs))
    )


def test_who_share_no_two_papers_are_not_compared_and_the_others_are():
    both = ({("p1", "r"): first, ("p2", "r"): second} for first, second in ((1.0, 2.5), (0.0, 1.0)))
    values = dict(zip("abc", (*both, {("p3", "r"): 1.0}), strict=True))
    assert [(test.first, test.second) for test in compare_every_two_candidates(values)] == [("a", "b")]
    assert average_by_paper({("p", "r1"): 1.0, ("p", "r2"): 2.0}) == {"p": 1.5}
    assert compare_every_two_candidates({}) == [] and compare_every_two_candidates({"a": {}}) == []


@pytest.mark.parametrize("axis", ["usd", "parameters", "released", "words"])
def test_the_scatter_draws_who_states_the_figure_and_the_frontier_that_none_beats(tab, release, validated, axis):
    at(tab, validated / "index.html", f"x={axis}")
    column_of = "model_released" if axis == "released" else axis
    with open_release_tables(release) as run:
        rows = run.sql(
            f"from (from leaderboard l left join (select model, parameters, released as model_released from models) m "
            f"on m.model = l.candidate) select candidate, score, {column_of} where metric = 'gem' and {column_of} is not null"
        ).fetchall()
    told = tab.ask(
        "[...document.querySelectorAll('#points [aria-roledescription=point]')].map(e => e.getAttribute('aria-label'))"
    )
    assert {line.split(":")[0] for line in told} == {candidate for candidate, *_ in rows} and len(rows) > 2
    best = {
        candidate
        for candidate, mean, x in rows
        if not any((other_x < x and other >= mean) or (other_x == x and other > mean) for _, other, other_x in rows)
    }
    assert {line.split(":")[0] for line in told if line.endswith("; on the frontier")} == best
    tab.ask("document.getElementById('points').focus()")
    tab.press("ArrowRight")
    tab.until("!document.getElementById('tip').hidden && document.querySelectorAll('#points .at').length === 1")


def test_a_candidates_page_has_its_card_its_ranks_and_its_best_and_worst_papers(tab, release):
    tab.open(release / "index.html")
    click(tab, f"#table-1 tr[data-name='{FIRST}'] .who a")
    tab.arrive("/candidates/")
    card = tab.ask(
        "Object.fromEntries([...document.querySelectorAll('.card dt')].map(dt => [dt.textContent, dt.nextElementSibling.textContent]))"
    )
    assert (card["Maker"], card["Family"], card["Came out"]) == ("openai", "GPT", "2024-05-13")
    assert "USD read" in card["Price"]
    with open_release_tables(release) as run:
        board = run.execute("select metric, score from leaderboard where candidate = $1", [FIRST]).fetchall()
        found = run.execute(
            "select paper_id, avg(p.value - h.value) as lead from pairs p join pairs h using (signature_id, paper_id, reference_id) "
            "join signatures using (signature_id) where metric = 'gem' and p.candidate_id = $1 and h.candidate_id = 'human' "
            "and p.value is not null group by all order by lead desc", [FIRST]
        ).fetchall()  # fmt: skip
    rows = cells(tab, "#scores tbody tr")
    titles = {"gem": "GEM nats", "gem_s_abstract": "GEM-S (abstract) nats", "gem_s_assw": "GEM-S (ASSW) nats"}
    for row in rows:
        ((_, mean),) = [one for one in board if titles[one[0]] == row[0]]
        assert row[1] == "none", "no metric of these is validated"
        assert row[2].startswith(f"{mean:+.2f}".replace("-", "−"))
    names = {"p00000": "A title", "p00001": "Another"}
    shown = texts(tab, ".extremes a")
    order = [names.get(paper, paper) for paper, _ in found]
    assert shown == [*order[:5], *order[::-1][:5]]
    click(tab, "a[href*='one=']")
    tab.until("document.readyState === 'complete' && document.getElementById('one')?.value === 'openai/gpt-4o'")
    assert tab.ask("document.getElementById('other').value") == "human"


def test_a_papers_page_shows_reviews_beside_their_judgments_and_who_made_what_predictable(tab, release):
    page = release / "papers" / build_page_file_name("p00000")
    at(tab, page, "metric=gem_s_assw&candidate=openai%2Fgpt-4o")
    assert tab.ask("document.getElementById('candidate').value") == FIRST
    assert text(tab, "#reviews .original") == "Private words of p00000-h."
    assert "The reviewer appreciates the clear writing" in text(tab, "#reviews .judgments")
    tab.open(release / "papers" / build_page_file_name("p00005"))
    assert "Private words" not in tab.ask("document.body.textContent")


def test_a_group_is_a_table_of_its_own_with_ranks_of_its_own_that_sorts_and_filters_as_the_board(
    tab, release, tmp_path
):
    from gre_bench.release.pages.rendering import render_board_page
    from gre_bench.release.site import build_boards

    with open_release_tables(release) as run:
        board = build_boards(run)[0]
    entries = tuple(replace(entry, group="quis" if place % 2 else None) for place, entry in enumerate(board.entries))
    board = replace(board, entries=entries, groups={"quis": "One leads."})
    contents = {"name": "a", "edition": "a", "published": "", "boards": (board,)}
    page = tmp_path / "index.html"
    page.write_text(render_board_page(contents))
    tab.open(page)
    members = [entry.candidate for entry in entries if entry.group]
    names = (
        "[...document.querySelectorAll('#{} tbody tr')].filter(row => row.offsetParent).map(row => row.dataset.name)"
    )
    assert tab.ask(names.format("table-1-1")) == members
    assert tab.ask(names.format("table-1")) == [entry.candidate for entry in entries if not entry.group]
    assert text(tab, "#table-1-1 caption") == f"Group quis, {RANKED_APART}: One leads."
    click(tab, "#table-1 th:nth-child(3) button")
    click(tab, "#table-1 th:nth-child(3) button")
    assert tab.ask(names.format("table-1-1")) == members[::-1]
    fill(tab, "#tools input[type=search]", "quis")
    assert tab.ask(names.format("table-1")) == [] and len(tab.ask(names.format("table-1-1"))) == len(members)
    assert tab.ask("document.getElementById('table-1').offsetParent") is None
    assert tab.ask("document.querySelector('.empty[data-of=table-1]').hidden") is True
    fill(tab, "#tools input[type=search]", "nobody has this name")
    assert text(tab, ".empty[data-of=table-1] span") == "Nothing here fits “nobody has this name”."
    click(tab, ".empty[data-of=table-1] button")
    assert len(tab.ask(names.format("table-1-1"))) == len(members)


def test_the_scatter_opens_on_the_figure_that_most_candidates_have(tab, release, tmp_path):
    page = (release / "index.html").read_text(encoding="utf-8")
    few = tmp_path / "few.html"
    few.write_text(page.replace('"usd":', '"not_usd":', page.count('"usd":') - 4), encoding="utf-8")
    tab.open(few)
    shown = "[...document.querySelectorAll('#axes button')].map(each => each.textContent)"
    assert tab.ask(shown)[0] != "cost" and "cost" in tab.ask(shown)
    assert text(tab, "#cloud-what") == tab.ask(shown)[0]

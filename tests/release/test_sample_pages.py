"""The pages of the sample edition, refreshed and published as `make demo` does it, in a real browser."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
import shutil
from functools import partial
from itertools import pairwise

import pytest

from gre_bench.release.public_tables import open_release_tables
from gre_bench.release.release_store import ReleaseStore
from gre_bench.reports.publish_editions import publish_edition
from gre_bench.store import Store
from tests.once import once
from tests.release.visits import cells, click, column, text, visit
from tests.snapshots import make_sample


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    made = once("sample-demo", make_sample)
    return shutil.copytree(made, tmp_path_factory.mktemp("sample") / "state", symlinks=True)


@pytest.fixture(scope="module")
def release(state):
    return publish_edition(Store(state, "SAMPLE-2026"), ReleaseStore(state / "releases", "SAMPLE-2026")).folder


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (768, True), (390, False)])
def test_a_visitor_finds_everything_in_its_place(tab, release, width, dark):
    visit(tab, release, width, dark)


def test_a_choice_of_one_is_no_choice_and_no_button_or_plot_stands_alone(tab, release, tmp_path):
    for width in (1280, 900, 390):
        tab.open(release / "index.html", width)
        assert tab.ask("document.querySelectorAll('#axes button').length") == 1 and tab.ask(
            "document.getElementById('axes').hidden"
        )
        for tabbed in range(1, 5):
            click(tab, f"#tab-{tabbed}")
            csv_at, title_at = tab.ask(
                f"['.csv', 'h3'].map(one => document.querySelector('#board-{tabbed} .state ' + one).getBoundingClientRect().top)"
            )
            assert abs(csv_at - title_at) < 12, (width, tabbed)
    assert "no validation of it" not in text(tab, "main")
    page = (release / "index.html").read_text(encoding="utf-8")
    few = tmp_path / "few.html"
    for points, is_hidden in ((3, False), (2, True)):
        few.write_text(re.sub(r'"points":\[(.*?)\]', partial(_first, points), page), encoding="utf-8")
        tab.open(few)
        assert tab.ask("document.getElementById('cloud').hidden") is is_hidden


def _first(count, found):
    """The first *count* points of a board."""
    return f'"points":{json.dumps(json.loads(f"[{found[1]}]")[:count])}'


def test_a_long_example_scrolls_in_a_frame(tab, release):
    tab.open(release / "candidates" / "smollm2-135m.html")
    assert tab.ask("Math.max(...[...document.querySelectorAll('.original')].map(one => one.offsetHeight))") <= 390


def test_the_heat_map_spells_the_human_review_where_its_note_states_a_licence(tab, release):
    with open_release_tables(release) as run:
        said = dict(run.sql("select review_id, text from judgments where writer = 'rule-judgments-4'").fetchall())
    tab.open(release / "papers" / "s01.html")
    assert text(tab, "h1").startswith("Trust Before Speed")
    for place, name in enumerate(
        tab.ask("[...document.querySelectorAll('#heat h3 .soft')].map(e => e.firstChild.textContent)")
    ):
        shown = tab.ask(f"document.getElementById('heat-{place}').textContent")
        assert shown.split() == said[name.strip().removesuffix(":")].split() and len(shown) > 100
    assert tab.ask("document.querySelectorAll('#heat .p4').length") > 0
    assert tab.ask("document.getElementById('withheld').hidden") is True


def test_every_board_offers_itself_as_csv_with_its_own_numbers(tab, release):
    tab.open(release / "index.html")
    links = tab.ask("[...document.querySelectorAll('a[download]')].map(a => [a.download, a.href, a.textContent])")
    assert [name for name, _, _ in links] == ["gem_s_abstract.csv", "gem_s_assw.csv", "gem.csv", "gem_raw.csv"]
    assert len({text for _, _, text in links}) == 4
    rows = list(csv.DictReader(io.StringIO(base64.b64decode(links[0][1].partition(",")[2]).decode())))
    with open_release_tables(release) as run:
        means = dict(run.sql("select candidate, score from leaderboard where metric = 'gem_s_abstract'").fetchall())
    assert {row["candidate"]: float(row["score"]) for row in rows} == means


def test_every_planned_pair_is_counted_by_what_became_of_it(tab, release):
    with open_release_tables(release) as run:
        states = run.sql("select metric, state, count(*) from pairs join signatures using (signature_id) group by all")
        counts = {(metric, state): count for metric, state, count in states.fetchall()}
    tab.open(release / "index.html")
    lines = cells(tab, "#outcomes tbody tr")
    metrics = ("gem_s_abstract", "gem_s_assw", "gem", "gem_raw")
    assert [list(map(int, row[1:])) for row in lines] == [
        [counts.get((metric, state), 0) for state in ("scored", "excluded", "failed", "missing")] for metric in metrics
    ]
    assert "GEM-raw: 60 excluded, no original review (generic)" in text(tab, "#outcomes")


def test_what_validates_the_boards_is_said_even_where_another_edition_did(tab, release):
    tab.open(release / "index.html")
    said = text(tab, "#validation")
    assert "GEM ✗ fail on ICLR-2023+ICLR-2024: passes 10 of 13 changes on 111 papers" in said
    assert "GEM-S (abstract) ✓ pass on ICLR-2023+ICLR-2024: passes 13 of 13 changes on 111 papers" in said


def test_words_are_explained_on_hover_and_on_focus_and_escape_hides_it(tab, release):
    tab.open(release / "index.html")
    tip = "(tip => tip.hidden ? null : tip.textContent)(document.getElementById('tip'))"
    assert tab.ask(tip) is None
    tab.ask("document.querySelector('#table-1 th:nth-child(3) button').focus()")
    assert "nats likelier" in tab.ask(tip)
    assert tab.ask("document.activeElement.getAttribute('aria-describedby')") == "tip"
    tab.press("Escape")
    assert tab.ask(tip) is None
    # A scroll hides what is said, so it has to have happened before the mouse comes.
    tab.ask(
        "new Promise(done => { document.querySelector('#table-1 tbody svg').scrollIntoView({block: 'center', behavior: 'instant'}); "
        "requestAnimationFrame(() => requestAnimationFrame(() => done(true))); })"
    )
    x, y = tab.ask(
        "(box => [box.x + box.width / 2, box.y + box.height / 2])(document.querySelector('#table-1 tbody svg').getBoundingClientRect())"
    )
    tab.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    assert tab.ask(tip).startswith("reviewer-thorough: +36.07, 90% interval +29.52 to +42.63 nats")


def test_all_of_it_is_reached_by_keyboard_in_the_order_it_is_read_and_focus_is_seen(tab, release):
    tab.open(release / "index.html")
    tab.press("Tab")
    assert tab.ask("document.activeElement.className") == "skip"
    seen, tops = [], []
    for _ in range(28):
        tab.press("Tab")
        kind, top, in_bar, outline = tab.ask(
            "(e => [e.tagName + (e.id ? '#' + e.id : ''), e.getBoundingClientRect().top + scrollY, !!e.closest('.bar'), getComputedStyle(e).outlineStyle])(document.activeElement)"
        )
        seen.append(kind)
        if not in_bar:
            tops.append(top)
        assert outline != "none", kind
    assert "BUTTON#theme" in seen and "BUTTON#tab-1" in seen and "BUTTON#tab-2" not in seen
    assert all(after >= before - 40 for before, after in pairwise(tops)), tops


def test_printed_all_boards_are_there_and_no_buttons(tab, release):
    tab.open(release / "index.html")
    tab.send("Emulation.setEmulatedMedia", media="print")
    shown = "[...document.querySelectorAll('.panel')].map(panel => panel.offsetHeight > 0)"
    assert tab.ask(shown) == [True] * 4
    assert tab.ask("[...document.querySelectorAll('.bar, .tools, .tabs')].every(one => one.offsetHeight === 0)")
    assert tab.ask("document.querySelector('.tall').scrollHeight <= document.querySelector('.tall').offsetHeight + 2")
    assert len(base64.b64decode(tab.send("Page.printToPDF")["data"])) > 20_000
    tab.send("Emulation.setEmulatedMedia", media="")


def test_nothing_moves_for_who_asks_for_that(tab, release):
    tab.open(release / "index.html")
    reduced = [{"name": "prefers-reduced-motion", "value": "reduce"}]
    assert tab.ask("getComputedStyle(document.documentElement).scrollBehavior") == "smooth"
    tab.send("Emulation.setEmulatedMedia", features=reduced)
    assert tab.ask("getComputedStyle(document.documentElement).scrollBehavior") == "auto"


def test_all_columns_are_a_button_away(tab, release):
    tab.open(release / "index.html", 390)
    hidden = "[...document.querySelectorAll('#table-1 th')].filter(th => th.offsetWidth === 0).length"
    assert tab.ask(hidden) > 3
    click(tab, "#tools .columns")
    assert tab.ask(hidden) == 0
    assert tab.ask("document.documentElement.scrollWidth") == 390
    click(tab, "#tools .columns")
    assert tab.ask(hidden) > 3 and column(tab, "table-1", 0)[0] == "1"


def test_the_release_says_how_to_cite_it_and_under_which_licences_its_texts_are(tab, release):
    tab.open(release / "index.html")
    said = text(tab, "#data")
    assert "30 papers under CC BY 4.0: words are here." in said
    assert "330 reviews (human 90, extractive-abstract 30, " in said and said.count("words are here.") == 2
    manifest = json.loads((release / "manifest.json").read_text())
    cited = text(tab, ".cite")
    assert "@misc{sample-2026-r1," in cited and manifest["snapshots"][0]["digest"][:16] in cited

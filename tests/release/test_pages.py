"""The pages of a release in a real browser, from disk: what they do, say, ask for, and how they read to everyone."""

from __future__ import annotations

import base64
import csv
import json

import pytest

from gre_bench.core.controls import OTHER_PAPER
from gre_bench.release.pages.board_page import build_page_file_name
from gre_bench.release.public_tables import open_release_tables
from gre_bench.release.release_store import ReleaseStore
from gre_bench.reports.publish_editions import publish_edition
from tests.release.made_up import change, make
from tests.release.visits import (
    axe,
    cells,
    chosen,
    click,
    column,
    fill,
    links_that_lead_nowhere,
    pages,
    text,
    texts,
    violations,
)

HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=alert(1)>"
NAMES = ("anthropic/claude-3-opus", "openai/gpt-4o", "meta-llama/llama-3-8b-instruct", "meta-llama/llama-3.1-8b-instruct",
         f"evil/{HOSTILE}", "google/gemini-pro")  # fmt: skip
TITLES = (f"A title {HOSTILE}", "Tokens & <b>bold</b> claims")


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("state")
    store = make(folder, papers=12, tokens=9, titles=TITLES, names=NAMES)
    return publish_edition(store, ReleaseStore(folder / "releases", "ICLR-2025")).folder


PASSED = "update validations set verdict = 'pass'"


@pytest.fixture(scope="module")
def validated(tmp_path_factory):
    """The same, of a metric that is validated, so that the page has ranks and p-values."""
    folder = tmp_path_factory.mktemp("validated")
    store = make(folder, papers=12, tokens=9, titles=TITLES, names=NAMES)
    change(store, PASSED)
    return publish_edition(store, ReleaseStore(folder / "releases", "ICLR-2025")).folder


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (768, True), (375, False), (375, True)])
def test_a_page_says_nothing_asks_for_nothing_never_scrolls_sideways_and_keeps_nobody_out(tab, release, width, dark):
    script = axe()
    for page in (*pages(release), release / "papers" / build_page_file_name("p00007")):
        tab.open(page, width, dark=dark)
        assert (tab.said, tab.asked) == ([], [])
        assert tab.ask("document.documentElement.scrollWidth") == width
        assert tab.ask("document.documentElement.dataset.theme") == ("dark" if dark else "light")
        assert script is None or violations(tab, script) == []


def test_what_a_name_or_a_title_says_stays_text(tab, release):
    tab.open(release / "index.html")
    assert tab.ask("document.title") == "GRE-bench ICLR-2025-r1"
    assert f"evil/{HOSTILE}" in texts(tab, ".who")
    assert tab.ask("document.images.length + document.querySelectorAll('script:not([type])').length") == 1
    tab.open(release / "candidates" / build_page_file_name(f"evil/{HOSTILE}"))
    assert text(tab, "h1") == f"evil/{HOSTILE}" and tab.ask("document.images.length") == 0
    assert tab.ask("document.title").startswith("evil/</script>")
    tab.open(release / "papers" / build_page_file_name("p00000"))
    assert text(tab, "h1") == TITLES[0]
    assert tab.ask("document.images.length") == 0 and tab.ask("document.title").startswith("A title </script>")
    for page in release.rglob("*.html"):
        assert HOSTILE not in page.read_text() and "onerror=alert(1)>" not in page.read_text().replace("&gt;", "")
    for picture in (release / "figures").iterdir():
        assert "<script" not in picture.read_text() and "<img" not in picture.read_text()


def test_the_policy_lets_nothing_run_but_the_pages_own_script(tab, release, tmp_path):
    tab.open(release / "index.html")
    policy = tab.ask("document.querySelector('meta[http-equiv]').content")
    assert "unsafe" not in policy and policy.startswith("default-src 'none'") and "http" not in policy
    page = (release / "index.html").read_text()
    assert page.count("<script>") == 1 and page.count("<script ") == 1
    changed = tmp_path / "changed.html"
    changed.write_text(
        page.replace("</body>", "<script>document.title='taken'</script><img src='http://127.0.0.1:9/x'></body>")
    )
    tab.open(changed)
    assert tab.ask("document.title") == "GRE-bench ICLR-2025-r1"
    assert len(tab.said) >= 2 and all("Content Security Policy" in line for line in tab.said)


def test_a_board_is_sorted_by_any_column_and_says_by_which(tab, validated):
    tab.open(validated / "index.html")
    assert column(tab, "table-1", 0) == [str(rank) for rank in range(1, 8)]
    scores = [float(score) for score in column(tab, "table-1", 2)]
    assert scores == sorted(scores, reverse=True)
    click(tab, "#table-1 th:nth-child(2) button")
    names = column(tab, "table-1", 1)
    assert names == sorted(names, key=str.lower) and names != sorted(names, reverse=True)
    assert tab.ask("document.querySelector('#table-1 th:nth-child(2)').getAttribute('aria-sort')") == "ascending"
    click(tab, "#table-1 th:nth-child(3) button")
    assert [float(score) for score in column(tab, "table-1", 2)] == sorted(scores, reverse=True)
    click(tab, "#table-1 th:nth-child(3) button")
    assert [float(score) for score in column(tab, "table-1", 2)] == sorted(scores)
    assert tab.ask("document.querySelectorAll('#table-1 th[aria-sort]').length") == 1
    # The human baseline has no difference to itself: it stays last, whichever way.
    for _ in range(2):
        click(tab, "#table-1 th:nth-child(5) button")
        assert column(tab, "table-1", 4)[-1] == "" and len(column(tab, "table-1", 4)) == 7


def test_a_board_is_filtered_by_words_and_by_kind(tab, release):
    tab.open(release / "index.html")
    fill(tab, "#tools input[type=search]", "LLAMA instruct")
    assert len(column(tab, "table-1", 1)) == 2
    assert text(tab, "#tools .count") == "2 of 7"
    fill(tab, "#tools input[type=search]", "")
    click(tab, "#tools input[data-kind=model]")
    assert column(tab, "table-1", 1) == ["human"]
    click(tab, "#tools input[data-kind=model]")
    assert len(column(tab, "table-1", 1)) == 7
    fill(tab, ".tools[data-for=table-papers] input[type=search]", "bold claims")
    assert len(column(tab, "table-papers", 0)) == 1


def test_metrics_are_changed_by_keyboard_alone(tab, release):
    tab.open(release / "index.html")
    shown = "[...document.querySelectorAll('[role=tabpanel]')].map(panel => !panel.hidden)"
    assert tab.ask(shown) == [True, False, False]
    tab.ask("document.querySelector('[role=tab]').focus()")
    tab.press("ArrowRight")
    assert tab.ask(shown) == [False, True, False]
    assert (
        tab.ask("document.activeElement.textContent + document.activeElement.getAttribute('aria-selected')")
        == "GEM-S (abstract) not validatedtrue"
    )
    tab.press("End")
    assert tab.ask(shown) == [False, False, True]
    tab.press("ArrowRight")
    assert tab.ask(shown) == [True, False, False]


def test_all_links_lead_somewhere_and_a_papers_page_leads_back(tab, release):
    tab.open(release / "index.html")
    links = tab.ask("[...document.querySelectorAll('#papers a')].map(a => a.getAttribute('href'))")
    assert len([link for link in links if link.startswith("papers/")]) == 12
    assert links_that_lead_nowhere(tab, release / "index.html") == []
    click(tab, "#table-papers a")
    tab.arrive("p00000.html")
    click(tab, ".bar a")
    tab.arrive("index.html")


def test_the_heat_map_shows_what_each_candidate_made_predictable(tab, release):
    tab.open(release / "papers" / build_page_file_name("p00001"))
    data = json.loads(text(tab, "#numbers"))
    assert [board["references"][0]["pieces"] for board in data] == [None] * 3
    for board in data:
        assert {row["candidate"] for row in board["rows"]} == {"human", *NAMES}
        chosen(tab, "#metric", board["metric"])
        for name in ("human", NAMES[0]):
            chosen(tab, "#candidate", name)
            for reference in (0, 1):
                row = next(row for row in board["rows"] if (row["candidate"], row["reference"]) == (name, reference))
                gains = [int(gain) for gain in row["gains"].split(",")]
                marks = tab.ask(f"[...document.querySelectorAll('#heat-{reference} span')].map(s => s.className)")
                assert len(marks) == len(gains) == 9
                for gain, mark in zip(gains, marks, strict=True):
                    assert (gain >= 2) == mark.startswith("p") and (gain <= -2) == mark.startswith("n")


def test_ranks_that_no_test_tells_apart_have_their_range_and_the_board_says_which(tab, validated):
    with open_release_tables(validated) as run:
        ties = run.sql("select candidate, next_candidate from leaderboard where metric = 'gem' and tied").fetchall()
        ranges = run.sql("select candidate, rank_low, rank_high from leaderboard where metric = 'gem'").fetchall()
    assert ties and any(low < high for _, low, high in ranges)
    tab.open(validated / "index.html")
    lines = tab.ask(
        "[...document.querySelectorAll('#table-1 tbody tr')].map(row => [row.dataset.name, row.cells[0].textContent])"
    )
    for name, low, high in ranges:
        (rank,) = [text for start, text in lines if start == name]
        assert low == high or f"({low}–{high})" in rank
    said = text(tab, "#board-1")
    for one, other in ties:
        assert f"Not told apart: {one} and {other} (p " in said
    assert "The evaluation LM made-up may have read these reviews before (cutoff unknown)." in said


ORDER = ("Not told apart", "best first", "Ranks in parentheses", "frontier")


def test_a_board_whose_metric_is_not_validated_claims_no_order_anywhere(tab, release, validated):
    claimed = {}
    for folder in (release, validated):
        tab.open(folder / "index.html")
        said = text(tab, "main")
        link = tab.ask("document.querySelector('a[download]').href")
        table = csv.DictReader(base64.b64decode(link.partition(",")[2]).decode().splitlines())
        ranks = {(row["rank"], row["rank_low"], row["p"]) for row in table}
        tab.open(folder / "candidates" / build_page_file_name(NAMES[0]))
        claimed[folder] = [name for name in ORDER if name in said], ranks, text(tab, "td.rank")
        assert ("GEM is not validated: it orders nobody" in said) == (folder == release)
    assert claimed[release] == ([], {("", "", "")}, "none")
    words, ranks, own = claimed[validated]
    assert words == [*ORDER] and len(ranks) > 3 and own.endswith(" of 7")


def test_p_is_the_corrected_one_and_who_has_no_rank_has_none(tab, tmp_path):
    store = make(tmp_path, papers=12, names=(*NAMES[:2], OTHER_PAPER))
    change(store, PASSED)
    tab.open(publish_edition(store, ReleaseStore(tmp_path / "releases", "ICLR-2025")).folder / "index.html")
    lines = tab.ask(
        "[...document.querySelectorAll('#table-1 tbody tr')].map(row => [row.dataset.kind, row.cells[5].textContent])"
    )
    assert {kind for kind, said in lines if said} == {"model"} < {kind for kind, _ in lines}


def test_every_cell_of_the_validation_says_its_verdict_by_colour_sign_and_word(tab, release):
    tab.open(release / "index.html")
    lines = tab.ask(
        "[...document.querySelectorAll('#validation td')].map(cell => [cell.querySelector('span').className, cell.innerText.replace(/\\s+/g, ' ')])"
    )
    assert ["pass", "✓ −0.40 −0.45 to −0.35, pass"] in lines
    assert ["fail", "✗ +0.03 +0.01 to +0.05, fail"] in lines
    assert ["undecided", "◇ +0.05 −0.02 to +0.12, undecided"] in lines
    assert ["soft", "no pairs"] in lines
    assert "fail on ICLR-2023" in text(tab, "#board-1 .badge")


@pytest.fixture(scope="module")
def two_years(tmp_path_factory):
    """The later of two editions with one model that learnt after its reviews were shown, and one of the LM's family."""
    folder = tmp_path_factory.mktemp("years")
    names = ("meta-llama/llama-3.1-8b-instruct", "openai/gpt-4o", "anthropic/claude-3-opus")
    for edition in ("ICLR-2023", "ICLR-2024"):
        store = make(folder, edition, papers=6, names=names)
        change(
            store, "update profiles set conflict = 'the writer made-up' where candidate_id = 'openai/gpt-4o'", PASSED
        )
        folder_of = publish_edition(store, ReleaseStore(folder / "releases", edition)).folder
    return folder_of


def test_who_may_have_read_the_reviews_or_is_of_the_judges_family_is_flagged_and_the_gap_is_stated(tab, two_years):
    tab.open(two_years / "index.html")
    rows = tab.ask(
        "[...document.querySelectorAll('#table-1 tbody tr')].map(row => `${row.innerText} ${row.querySelector('.flag')?.dataset.tip}`.replace(/\\s+/g, ' '))"
    )
    (llama,) = [row for row in rows if "llama" in row]
    assert llama.startswith("– ") and "contaminated: learnt until 2023-12-31, reviews of 2023-11-10" in llama
    (other,) = [row for row in rows if "gpt-4o" in row]
    assert "same family: It is of the family of the writer made-up" in other and not other.startswith("–")
    gap = text(tab, "#board-1")
    with open_release_tables(two_years) as run:
        means = dict(run.sql("select candidate, score from leaderboard where metric = 'gem'").fetchall())
    others = (means["openai/gpt-4o"] + means["anthropic/claude-3-opus"]) / 2
    stated = means["meta-llama/llama-3.1-8b-instruct"] - others
    assert f"score {stated:+.2f}".replace("-", "−") in gap and "paired on 6 papers" in gap
    assert "Clean, contaminated, cutoff unknown" in text(tab, "#reading")


def test_years_stand_side_by_side_as_differences_with_their_intervals_never_as_raw_scores(tab, two_years):
    tab.open(two_years / "index.html")
    assert texts(tab, "#years table thead th")[:3] == ["Candidate", "ICLR-2023", "ICLR-2024"]
    with open_release_tables(two_years) as run:
        found = run.sql(
            "select candidate, vs_human, vs_human_high, score from leaderboard where metric = 'gem' and kind = 'model' "
            "order by vs_human desc"
        ).fetchall()
    lines = cells(tab, "#years table tbody tr")[: len(found)]
    assert [line[0] for line in lines] == [candidate for candidate, *_ in found]
    for line, (_, difference, high, mean) in zip(lines, found, strict=True):
        assert line[2].replace(" ", "") == f"{difference:+.2f}±{high - difference:.2f}".replace("-", "−")
        assert f"{mean:+.2f}" not in " ".join(line)

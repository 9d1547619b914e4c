"""What a visitor does on the pages of a release, and what must then be so, whatever edition it is of."""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path

from tests.conftest import ROOT
from tests.release.browser import Tab

BAD = ("serious", "critical", "moderate")
CLIPPED = """[...document.querySelectorAll('.scroll')].flatMap(box => [...box.querySelectorAll('th, td')].filter(cell => {
    const [own, frame] = [cell.getBoundingClientRect(), box.getBoundingClientRect()];
    return cell.offsetWidth && own.left < frame.right - 3 && own.right > frame.right + 1;
}).map(cell => `${box.getAttribute('aria-label')}: ${cell.textContent}`))"""
"""Cells of tables of which the frame's right edge shows a part: a number that is cut reads as another one."""


def click(tab: Tab, selector: str) -> None:
    """Clicks the first element that *selector* finds."""
    tab.ask(f"document.querySelector({json.dumps(selector)}).click()")


def fill(tab: Tab, selector: str, text: str) -> None:
    """Types *text* into a field, in the place of what is there."""
    tab.ask(f"(box => {{ box.value = {json.dumps(text)}; box.dispatchEvent(new Event('input', {{bubbles: true}})); }})"
            f"(document.querySelector({json.dumps(selector)}))")  # fmt: skip


def chosen(tab: Tab, selector: str, value: str) -> None:
    """Chooses *value* in a list."""
    tab.ask(f"(box => {{ box.value = {json.dumps(value)}; box.dispatchEvent(new Event('change', {{bubbles: true}})); }})"
            f"(document.querySelector({json.dumps(selector)}))")  # fmt: skip


def at(tab: Tab, page: Path, fragment: str) -> None:
    """Opens *page* at an address, as a link from elsewhere would."""
    tab.open(page)
    tab.send("Page.navigate", url="about:blank")
    tab.send("Page.navigate", url=f"{page.resolve().as_uri()}#{fragment}")
    tab.until("location.protocol + document.readyState === 'file:complete'")


def text(tab: Tab, selector: str) -> str:
    """The text of the first element that *selector* finds."""
    return tab.ask(f"document.querySelector({json.dumps(selector)}).textContent")


def texts(tab: Tab, selector: str) -> list[str]:
    """The texts of all elements that *selector* finds."""
    return tab.ask(f"[...document.querySelectorAll({json.dumps(selector)})].map(each => each.textContent)")


def cells(tab: Tab, selector: str) -> list[list[str]]:
    """The texts of the cells of the rows that *selector* finds, their white space as a reader sees it."""
    cell = "cell.textContent.trim().replace(/\\s+/g, ' ')"
    rows = f"[...document.querySelectorAll({json.dumps(selector)})]"
    return tab.ask(f"{rows}.map(row => [...row.cells].map(cell => {cell}))")


def column(tab: Tab, table: str, place: int) -> list[str]:
    """The values of one column of a table, shown rows only, as they are sorted by."""
    rows = f"[...document.querySelectorAll('#{table} tbody tr')].filter(row => !row.hidden)"
    return tab.ask(f"{rows}.map(row => (row.cells[{place}].dataset.v ?? row.cells[{place}].textContent).trim())")


def axe() -> Path | None:
    """The accessibility checker axe-core, where somebody has put it (npm install axe-core)."""
    places = (os.environ.get("GRE_BENCH_AXE"), ROOT / "node_modules" / "axe-core" / "axe.min.js")
    return next((Path(place) for place in places if place and Path(place).is_file()), None)


def violations(tab: Tab, script: Path) -> list[list[object]]:
    """What axe finds on the open page that is worse than minor."""
    tab.ask(script.read_text() + "; 0")
    found = tab.ask(
        "axe.run().then(found => found.violations.map(v => [v.impact, v.id, v.nodes.length, v.nodes[0].html, v.nodes[0].failureSummary]))"
    )
    return [line for line in found if line[0] in BAD]


def links_that_lead_nowhere(tab: Tab, page: Path) -> list[str]:
    """Links of the open *page* without a place or a file behind them."""
    lost = []
    for link in tab.ask("[...document.querySelectorAll('a[href]')].map(a => a.getAttribute('href'))"):
        file, _, place = link.partition("#")
        place = "" if "=" in place else place
        if link.startswith("data:"):
            continue
        if (file and not (page.parent / file).is_file()) or (
            place and not file and not tab.ask(f"!!document.getElementById({json.dumps(place)})")
        ):
            lost.append(link)
    return lost


def pages(release: Path) -> list[Path]:
    """The board, a candidate's page and a paper's."""
    return [release / "index.html", *(sorted((release / name).iterdir())[0] for name in ("candidates", "papers"))]


def read(tab: Tab, release: Path, width: int, dark: bool = False) -> None:
    """Opens the board, a candidate's page and a paper's: no error, no request, no cut cell, no link to nowhere."""
    script = axe()
    for page in pages(release):
        tab.open(page, width, dark=dark)
        assert (tab.said, tab.asked) == ([], [])
        assert tab.ask("document.documentElement.scrollWidth") == width
        assert tab.ask("document.documentElement.lang") == "en"
        levels = tab.ask("[...document.querySelectorAll('h1, h2, h3, h4')].map(one => Number(one.tagName[1]))")
        assert levels[0] == 1 and levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))
        assert tab.ask("[...document.querySelectorAll('table')].every(one => one.caption?.textContent.trim())")
        assert links_that_lead_nowhere(tab, page) == []
        tab.until(f"({CLIPPED}).length === 0")
        if script is not None:
            assert violations(tab, script) == []
    tab.open(release / "index.html", width, dark=dark)
    for place in range(1, 1 + tab.ask("document.querySelectorAll('[role=tab]').length")):
        click(tab, f"#tab-{place}")
        tab.until(f"({CLIPPED}).length === 0")


def visit(tab: Tab, release: Path, width: int, dark: bool = False) -> None:
    """Opens the board, a candidate's page and a paper's, sorts, filters, follows every link; nothing is asked for."""
    read(tab, release, width, dark)
    tab.open(release / "index.html", width, dark=dark)
    highest = 37 if width > 700 else 60  # on a phone, a caution stands below the name
    rows = "[...document.querySelectorAll('#table-1 tbody tr')]"
    assert tab.ask(f"{rows}.every(row => row.offsetHeight <= {highest})")
    scores = [float(score) for score in column(tab, "table-1", 2) if score]
    click(tab, "#table-1 th:nth-child(3) button")
    assert [float(score) for score in column(tab, "table-1", 2) if score] == sorted(scores, reverse=True)
    click(tab, "#table-1 th:nth-child(3) button")
    assert [float(score) for score in column(tab, "table-1", 2) if score] == sorted(scores)
    fill(tab, "#tools input[type=search]", "human")
    assert column(tab, "table-1", 1)[0] == "human" and len(column(tab, "table-1", 1)) < len(scores)
    papers = column(tab, "table-papers", 0)
    name = tab.ask("document.querySelector('#table-papers tbody tr:last-child a').textContent")
    fill(tab, ".tools[data-for=table-papers] input[type=search]", name)
    assert 0 < len(column(tab, "table-papers", 0)) < len(papers)
    assert (tab.said, tab.asked) == ([], [])

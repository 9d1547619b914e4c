"""The site: its reference pages hold all that the code has, its links lead somewhere, it asks nobody for anything."""

from __future__ import annotations

import importlib.util
import inspect
import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import typer

import gre_bench
from gre_bench.cli.app import app
from gre_bench.core import errors
from gre_bench.core.settings import Settings
from gre_bench.store.schema import TABLES
from tests.conftest import ROOT
from tests.release import browser

sys.path.insert(0, str(ROOT / "docs" / "hooks"))
import picture
import reference

SVG = "{http://www.w3.org/2000/svg}"


def headings(page: str) -> set[str]:
    return set(re.findall(r"^#+ (.+)$", page, re.M))


def test_every_command_has_a_section():
    def names(command, called):
        below = getattr(command, "commands", {})
        return [name for word, each in below.items() for name in names(each, f"{called} {word}")] or [called]

    page = reference.commands_page()
    assert {*names(typer.main.get_command(app), "gre-bench")} <= headings(page)
    assert "--edition" in page and page.count("<code>--state FOLDER</code>") == 1


def test_every_public_name_of_the_package_has_a_section_that_explains_it():
    page = reference.python_page()
    assert {*gre_bench.__all__} <= headings(page)
    for name in gre_bench.__all__:
        assert len(page.split(f"## {name}\n")[1].split("\n## ")[0].split("```")[2].split()) > 5, name


@pytest.mark.parametrize("name", gre_bench.__all__)
def test_a_public_function_says_what_it_takes_returns_and_raises(name):
    member = getattr(gre_bench, name)
    section = reference.python_page().split(f"## {name}\n")[1].split("\n## ")[0]
    parts = dict(zip(*[iter(re.split(r"^\*\*(\w+)\*\*$", section, flags=re.M)[1:])] * 2, strict=True))
    taken = re.findall(r"^- `(\w+)`: \w", parts["Attributes" if inspect.isclass(member) else "Args"], re.M)
    assert taken == [*inspect.signature(member).parameters]
    assert inspect.isclass(member) or parts["Returns"].strip()
    raised = re.findall(r"^- `(\w+)`: ", parts.get("Raises", ""), re.M)
    assert all(issubclass(getattr(errors, each), errors.GreBenchError) for each in raised)
    assert raised or inspect.isclass(member)


def test_every_setting_has_a_row():
    page = reference.settings_page()
    for group, field in Settings.model_fields.items():
        if not isinstance(field.annotation, type):
            assert group in headings(page)
            continue
        assert f"[{group}]" in headings(page)
        for name in field.annotation.model_fields:
            assert f"| `{name}` |" in page, f"{group}.{name}"


def test_every_deployment_and_settings_file_has_a_row():
    page = reference.deployments_page()
    for path in (ROOT / "deployments").glob("*.toml"):
        assert f"| `{path.stem}` | " in page and not page.split(f"| `{path.stem}` | ")[1].startswith(" |")
    names = re.findall(r"^  - name: (\S+)", (ROOT / "deployments" / "prefect.yaml").read_text(), re.M)
    assert names and all(f"| `{name}` |" in page for name in names)


def test_every_table_and_view_says_what_a_row_is_and_every_column_has_a_meaning():
    page = reference.tables_page()
    assert {*TABLES, "leaderboard", "pairs", "progress"} <= headings(page)
    columns = {}
    for name in headings(page) - {"Tables and views", "Tables", "Views"}:
        section = page.split(f"### {name}\n")[1].split("\n### ")[0]
        assert re.match(r"\nOne (row|table)", section), f"{name}: its grain is not said"
        for column, meaning in re.findall(r"^\| `(\w+)` \| [^|]* \|(.*)\|$", section, re.M):
            columns[name, column] = meaning.strip()
    assert [place for place, meaning in columns.items() if not meaning] == []
    said = tomllib.loads((ROOT / "docs" / "columns.toml").read_text(encoding="utf-8"))
    assert said.pop("all").keys() <= {name for _, name in columns}
    assert {(table, name) for table, each in said.items() for name in each} <= columns.keys()


def test_every_prompt_has_a_row_with_its_source_and_kind():
    page = reference.prompts_page()
    found = reference.provenance()
    assert len(found) > 200
    for name, stated in found.items():
        assert stated["kind"] in reference.KINDS and stated["source"], name
        assert f"| `{name}` | {stated['kind']} | " in page


def test_the_page_on_studies_counts_the_prompts_as_their_files_do():
    """All folders of prompts for examiners, and the guideline study's, of which one prompt is in own words."""
    page = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    told = {row[1]: row[2] for row in re.finditer(r"^\| [^|]*`([\w/]+)` \|([\d |]+)\|$", page, re.M)}
    kinds = ("verbatim", "completed", "derived")
    found = {folder: each for folder, each in reference.counts().items() if folder}
    assert told.keys() == found.keys()
    for folder, each in found.items():
        assert [int(number) for number in told[folder].split("|")] == [each[kind] for kind in kinds], folder
        assert each["own"] == 0
    guidelines = {name: each["kind"] for name, each in reference.provenance().items() if "guideline_" in name}
    assert {name for name, kind in guidelines.items() if kind != "verbatim"} == {"guideline_generation"}


def rooms() -> set[str]:
    folders = {path.parent.name for path in (ROOT / "gre_bench").glob("*/__init__.py")}
    return folders | {path.stem for path in (ROOT / "gre_bench").glob("*.py") if path.stem != "__init__"}


def test_the_page_on_the_architecture_says_what_every_room_is():
    told = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "extending.md").read_text(), re.M))
    assert told == rooms() - {"flows", "tasks"}, "flows and tasks stand in the tree"


def test_the_picture_has_every_room_and_its_arrows_point_down():
    tree = ET.fromstring(picture.rooms_picture())
    shown = {node.text for node in tree.iter(f"{SVG}text")}
    assert shown == rooms()
    arrows = [path for path in tree.iter(f"{SVG}path") if path.find(f"{SVG}title") is not None]
    assert len(arrows) > 20
    for path in arrows:
        numbers = [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", path.get("d"))]
        assert numbers[1] < numbers[-1], path.find(f"{SVG}title").text


def test_what_a_chain_of_arrows_implies_is_not_drawn():
    graph = {"a": {"b", "c"}, "b": {"c"}, "c": set()}
    assert picture.reduced(graph, ["a", "b", "c"]) == {("a", "b"), ("b", "c")}


def anchors(path: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", path.read_text(), flags=re.S), re.M)
    return {re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip()) for title in titles}


@pytest.mark.parametrize(
    "name", ["README.md", "CONTRIBUTING.md", *sorted(p.name for p in (ROOT / "docs").glob("*.md"))]
)
def test_links_lead_to_files_and_headings(name):
    path = ROOT / name if (ROOT / name).is_file() else ROOT / "docs" / name
    for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        if file.startswith("reference/") or file == "images/rooms.svg":
            continue  # made when the site is built, which checks them
        assert target.is_file(), f"{name}: {link}"
        assert not anchor or anchor in anchors(target), f"{name}: {link}"


def test_the_site_builds_without_a_warning_asks_nobody_for_anything_and_its_search_answers_from_disk(tmp_path):
    if importlib.util.find_spec("mkdocs") is None or importlib.util.find_spec("material") is None:
        pytest.skip("mkdocs-material is not installed: pip install -e '.[docs]' -c constraints.txt")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path]
    done = subprocess.run(build, cwd=ROOT, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "reference" / "tables.html").is_file() and (tmp_path / "images" / "rooms.svg").is_file()
    assert not [path for path in tmp_path.rglob("*.py")]
    loads = {
        "*.html": r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//[^>]*>",
        "*.css": r"(?:url\(|@import\s)\s*[\"']?(?:https?:)?//",
    }
    for pattern, of_another_host in loads.items():
        assert [path.name for path in tmp_path.rglob(pattern) if re.search(of_another_host, path.read_text())] == []
    if browser.program() is None:
        pytest.skip("no Chromium on this machine (apt-get install chromium)")
    pytest.importorskip("websockets", reason="websockets is not installed")
    box = "document.querySelector('.md-search__input')"
    links = "[...document.querySelectorAll('.md-search-result__link')]"
    places = {"signature": "signature", "GEM-S": "gem-and-gem-s", "above chance": "above-chance"}
    with browser.opened() as tab:
        for page in ("index.html", "reference/commands.html"):
            tab.open(tmp_path / page)
            assert tab.ask("location.protocol") == "file:"
            for word, place in places.items():
                tab.ask(f"{box}.focus(); {box}.value = '{word}'; {box}.dispatchEvent(new Event('keyup'))")
                tab.until(f"{links}.some(one => /glossary.html.*#{place}$/.test(one.href))")
            assert tab.said == [] and not [url for url in tab.asked if url.startswith("http")]


def test_every_function_that_the_page_on_the_architecture_names_is_there():
    page = (ROOT / "docs" / "extending.md").read_text()
    named = set(re.findall(r"`(?:gre_bench/)?((?:\w+/)+\w+)(?:\.(?:py|(\w+)))?`", page))
    inside = {(path, name) for path, name in named if path.split("/")[0] in rooms()}
    assert len(inside) > 15
    for path, name in inside:
        file = (ROOT / "gre_bench" / path).with_suffix(".py")
        assert file.is_file() or (file.with_suffix("").is_dir() and not name), path
        assert not name or re.search(rf"^(?:def|class) {name}\b", file.read_text(), re.M), f"{path}.{name}"

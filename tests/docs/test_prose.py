"""The README and the site are short, plain sentences in the words of the glossary."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
MOST_WORDS = 25
ENDS = re.compile(r"(?<! al)[.:;?][*)]*\s+(?=[A-Z0-9`*\"(\[])")
COINED = re.compile(
    r"\b(desks?|scribes?|shel(?:f|ves)|patience|mischief|ledgers?|standings|instruments|bending|spoilt|struck|"
    r"drawn|settled?|anew|owed|whereof|thereof)\b",
    re.I,
)


def prose(path: Path) -> list[str]:
    """The sentences of *path*: no code, no tables, no headings; an item of a list is a sentence of its own."""
    text = re.sub(r"```.*?```|<!--.*?-->", "\n\n", path.read_text(encoding="utf-8"), flags=re.S)
    text = re.sub(r"^(\||#|!!!|!\[|\[\^|    ).*$", "", text, flags=re.M)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    found = []
    for part in re.split(r"\n\s*\n|^\s*(?:[-*]|\d+\.)\s", text, flags=re.M):
        found += ENDS.split(" ".join(part.split()))
    return [sentence for sentence in found if sentence]


def test_the_readme_fits_two_hundred_lines():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 200


def test_the_site_has_few_pages_and_each_opens_with_the_question_that_it_answers():
    pages = sorted((ROOT / "docs").glob("*.md"))
    assert len(pages) <= 21
    for page in pages:
        title, opening = re.search(r"^# (.+)\n\n(.+)", page.read_text(), re.M).groups()
        assert "?" in title + opening, page.name


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_no_sentence_is_longer_than_it_need_be(path):
    long = [sentence for sentence in prose(path) if len(re.findall(r"[\w`'./-]*\w[\w`'./-]*", sentence)) > MOST_WORDS]
    assert not long


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_no_page_uses_a_word_that_only_this_project_knows(path):
    assert not [sentence for sentence in prose(path) if COINED.search(sentence)]

"""Names and prose of the code use the field's words (the glossary), none that only this project knows."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

from tests.architecture.syntax import nodes
from tests.conftest import ROOT

ROOMS = sorted(path.parent.resolve() for path in (ROOT / "gre_bench").glob("*/__init__.py"))
FILES = {room.name: sorted(room.rglob("*.py")) for room in ROOMS} | {
    "deployments": sorted((ROOT / "deployments").glob("*.py")),
    "gre_bench": sorted((ROOT / "gre_bench").glob("*.py")),
}
COINED = re.compile(
    r"(?<![a-z])(scribes?|shel(?:f|ves)|mischief|ledgers?|standings|spoilt|spoil|struck|anew|"
    r"take_for|takes_of|whereof|thereof)(?![a-z])",
    re.I,
)
VAGUE = {"found", "one", "said", "asked", "told", "tried", "there", "here", "of", "got", "those", "whose", "taken"}
MOST_WORDS = 25
TABLE = re.compile(r"^(?: {2,}.*|\S+ {2,}\S.*)$", re.M)
ENDS = re.compile(r"(?<! al)(?<! vs)[.:;?]\)?\s+(?=\S)")
INVERTED = re.compile(r"^(what of|of which|told by|how hard|what (?:is|was|are) (?:said|asked|told)\b)", re.I)


def words(path: Path) -> list[str]:
    """The identifiers, comments and docstrings of *path*; other texts, such as prompts and lexicons, are left out."""
    source = path.read_text(encoding="utf-8")
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    found = [token.string for token in tokens if token.type in (tokenize.NAME, tokenize.COMMENT)]
    return [*found, *docstrings(path)]


def docstrings(path: Path) -> list[str]:
    """The docstrings of *path*: of the module, its classes and functions."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [text for node in nodes(path) if isinstance(node, kinds) and (text := ast.get_docstring(node))]


@pytest.mark.parametrize("room", FILES)
def test_no_name_comment_or_docstring_uses_a_coined_word(room):
    found = {
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in FILES[room]
        for text in words(path)
        for match in COINED.finditer(text)
    }
    assert not found


def bound(path: Path) -> list[str]:
    """The names that *path* gives to variables, parameters, attributes, functions and classes; not fields of records."""
    fields = {
        id(node.target)
        for record in nodes(path) if isinstance(record, ast.ClassDef)
        for node in record.body if isinstance(node, ast.AnnAssign)
    }  # fmt: skip
    names = []
    for node in nodes(path):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in fields:
            names.append(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.append(node.attr)
        elif isinstance(node, ast.arg):
            names.append(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.append(node.name)
    return names


@pytest.mark.parametrize("room", FILES)
def test_a_name_says_what_it_holds(room):
    found = {
        f"{path.relative_to(ROOT)}: {name}" for path in FILES[room] for name in bound(path) if name.strip("_") in VAGUE
    }
    assert not found


@pytest.mark.parametrize("room", FILES)
def test_no_docstring_begins_with_an_inverted_clause(room):
    found = [
        f"{path.relative_to(ROOT)}: {text.splitlines()[0]}"
        for path in FILES[room]
        for text in docstrings(path)
        if INVERTED.search(text)
    ]
    assert not found


@pytest.mark.parametrize("room", FILES)
def test_no_sentence_of_a_docstring_is_longer_than_it_need_be(room):
    found = [
        f"{path.relative_to(ROOT)}: {sentence}"
        for path in FILES[room]
        for text in docstrings(path)
        for part in re.split(r"\n\s*\n|^- ", TABLE.sub("", text), flags=re.M)
        for sentence in ENDS.split(" ".join(part.split()))
        if len(re.findall(r"[\w`'./-]*\w[\w`'./-]*", sentence)) > MOST_WORDS
    ]
    assert not found

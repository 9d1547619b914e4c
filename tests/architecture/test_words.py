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

FILES = [
    *sorted((ROOT / "gre_bench").rglob("*.py")),
    *(p for f in ("flows", "tasks", "deployments") for p in sorted((ROOT / f).rglob("*.py"))),
]
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


def docstrings(path: Path) -> list[str]:
    """The docstrings of *path*: of the module, its classes and functions."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [text for node in nodes(path) if isinstance(node, kinds) and (text := ast.get_docstring(node))]


def coined_words(path: Path) -> list[str]:
    """Those of identifiers, comments and docstrings; other texts, such as prompts and lexicons, are left out."""
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
    texts = [token.string for token in tokens if token.type in (tokenize.NAME, tokenize.COMMENT)]
    return [match[0] for text in (*texts, *docstrings(path)) for match in COINED.finditer(text)]


def vague_names(path: Path) -> list[str]:
    """Those of variables, parameters, attributes, functions and classes; not of fields of records."""
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
    return [name for name in names if name.strip("_") in VAGUE]


def inverted_beginnings(path: Path) -> list[str]:
    return [text.splitlines()[0] for text in docstrings(path) if INVERTED.search(text)]


def long_sentences(path: Path) -> list[str]:
    """Sentences of docstrings that are longer than they need be."""
    return [
        sentence
        for text in docstrings(path)
        for part in re.split(r"\n\s*\n|^- ", TABLE.sub("", text), flags=re.M)
        for sentence in ENDS.split(" ".join(part.split()))
        if len(re.findall(r"[\w`'./-]*\w[\w`'./-]*", sentence)) > MOST_WORDS
    ]


@pytest.mark.parametrize("faults", [coined_words, vague_names, inverted_beginnings, long_sentences])
def test_code_and_its_docstrings_are_in_plain_words(faults):
    assert [f"{path.relative_to(ROOT)}: {fault}" for path in FILES for fault in faults(path)] == []

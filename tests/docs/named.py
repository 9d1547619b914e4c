"""The commands and paths that docs, settings files and the program's own strings name, and what is wrong with them."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import io
import re
import runpy
import shlex
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
import typer

from gre_bench.cli.app import app
from gre_bench.cli.commands import options
from gre_bench.core import settings
from gre_bench.core.errors import GreBenchError
from gre_bench.core.resources import find_settings_file
from tests.conftest import ROOT
from tests.docs.blocks import PAGES, blocks, without_blocks

CARDS = tuple(sorted((ROOT / "data").rglob("README.md")))
DOCS = (*PAGES, *CARDS)
"""The README, the site and the model cards. The changelog is not among them: it also names what is gone."""
FILES = tuple(
    path
    for pattern in ("deployments/**/*.*", "data/*.toml", "data/rosters/*.toml", "gre_bench/release/pages/templates/*")
    for path in sorted(ROOT.glob(pattern))
    if path.is_file() and path.suffix not in (".py", ".pyc")
)
CODE = tuple(
    path for top in ("gre_bench", "flows", "tasks", "deployments") for path in sorted((ROOT / top).rglob("*.py"))
)
HOLE = "HOLE"
"""What stands for a value that the program fills in."""
_QUOTED = re.compile(r"`([^`]+)`")
_LINE = re.compile(r"^[ #]*((?:gre-bench|python -m) .*)$", re.M)
_WITHIN = re.compile(r"(?<!install )(?:gre-bench|python -m) [\w{-][^`\";,()<>|\n]*")
_OWN = ("gre_bench.", "tests.")
TOPS = ("gre_bench", "flows", "tasks", "sql", "data", "deployments", "docs", "tests", "requirements")
SOURCES = (".py", ".toml", ".sql", ".md", ".yaml", ".yml", ".cff")


@dataclass(frozen=True)
class Command:
    """A command that *where* names. *whole*: its words are all of it; else they are its beginning, or prose follows."""

    where: str
    words: tuple[str, ...]
    whole: bool

    def __str__(self) -> str:
        return f"{self.where}: {' '.join(self.words)}"


def commands_of_docs() -> Iterator[Command]:
    """Commands in blocks, in backticks with or without the program's name, and on lines of their own."""
    for page in DOCS:
        where = str(page.relative_to(ROOT))
        found = blocks(page)
        adds_names = any(block.file for block in found)  # metrics that this page itself makes
        for block in found:
            if block.kind == "sh":
                whole = [("..." not in words and not adds_names, words) for words in block.commands]
                yield from (Command(where, tuple(words), is_whole) for is_whole, words in whole)
        yield from _in_text(without_blocks(page), where, lines=True)


def commands_of_files() -> Iterator[Command]:
    """Commands in the comments of settings files and catalogues, and in the templates of pages."""
    for path in FILES:
        yield from _in_text(path.read_text(encoding="utf-8"), str(path.relative_to(ROOT)), lines=True)


def commands_of_code() -> Iterator[Command]:
    """Commands in the strings of the program: messages, help, and docstrings."""
    for path in CODE:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                text = "".join(str(part.value) if isinstance(part, ast.Constant) else HOLE for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            else:
                continue
            yield from _in_text(text, f"{path.relative_to(ROOT)}:{node.lineno}", lines=False)


def _in_text(text: str, where: str, lines: bool) -> Iterator[Command]:
    text = re.sub(r" *\\\n[ #]*", " ", text)
    if lines:
        for found in _LINE.findall(text):
            yield _command(where, found, "`" not in found)
        text = _LINE.sub("", text)
    for quoted in _QUOTED.findall(text):
        if quoted.startswith(("gre-bench ", "python -m ")):
            yield _command(where, quoted, True)
        elif " " in quoted and quoted.split()[0] in _program().commands:
            yield _command(where, f"gre-bench {quoted}", False)
    for found in _WITHIN.findall(_QUOTED.sub("`", text)):
        yield _command(where, re.split(r"\. |: ", found)[0].rstrip("."), False)


def _command(where: str, text: str, whole: bool) -> Command:
    try:
        words = shlex.split(text, comments=True)
    except ValueError:  # an apostrophe of the prose that follows
        words = text.split()
    return Command(where, tuple(words), whole and "..." not in words)


def _program() -> Any:
    return typer.main.get_command(app)


def wrong(command: Command) -> str | None:
    """What is wrong with *command*: no such command, module or option, an option given too often, an argument that is not
    taken; None if nothing is.
    """
    if command.words[:1] == ("gre-bench",):
        return _wrong_call(list(command.words[1:]), command.whole)
    if command.words[:2] == ("python", "-m") and command.words[2].startswith(_OWN):
        return _wrong_module(command.words[2], list(command.words[3:]), command.whole)
    return None


def _wrong_call(words: list[str], whole: bool) -> str | None:
    command: Any = _program()
    while words and words[0] in getattr(command, "commands", ()):
        command, words = command.commands[words[0]], words[1:]
    if hasattr(command, "commands"):
        known = not words or words[0] in ("--help", "--version", "...") or words[0].startswith(HOLE)
        return None if known else f"no command {words[0]}"
    takes = {option: param for param in command.params for option in (*param.opts, *param.secondary_opts)}
    given = [word.partition("=")[0].rstrip(".:") for word in words if re.match(r"--?[a-z]", word)]
    for option in given:
        if option == "--help":
            return None
        if option not in takes:
            return f"no option {option}"
        if given.count(option) > 1 and not takes[option].multiple:
            return f"{option} takes one value and has {given.count(option)}"
    if not whole or not words:
        return None
    try:
        context = command.make_context(command.name, list(words))
        if "override" in context.params and takes["--set"].help == get_args(options.Set)[1].help:
            file = context.params.get("settings")
            own = file is not None and file.suffix and not find_settings_file(file).is_file()
            settings.load(None if own else file, tuple(context.params["override"] or ()))
    except (typer.TyperException, GreBenchError) as error:
        return str(error)
    return None


def _wrong_module(name: str, words: list[str], whole: bool) -> str | None:
    found = importlib.util.find_spec(name) if importlib.util.find_spec(name.rpartition(".")[0]) else None
    if found is not None and found.submodule_search_locations is not None:
        found = importlib.util.find_spec(f"{name}.__main__")
    if found is None or found.origin is None:
        return f"no module {name}"
    source = Path(found.origin).read_text(encoding="utf-8")
    if '__name__ == "__main__"' not in source and not found.name.endswith("__main__"):
        return f"{name} does nothing when it is run"
    if "ArgumentParser" not in source:
        lacking = [word for word in words if word.startswith("--") and f'"{word}"' not in source]
        return f"{name} reads no {', '.join(lacking)}" if lacking else None
    return _unparsed(name, words) if whole and words else None


class _Parsed(BaseException):
    """The words of a command are parsed; nothing after that is to run."""


def _unparsed(name: str, words: list[str]) -> str | None:
    """What the parser of the module *name* says against *words*; None if it takes them."""
    parse = ArgumentParser.parse_args

    def parse_and_end(parser: ArgumentParser, args: list[str] | None = None, *more: object) -> None:
        parse(parser, args)
        raise _Parsed

    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        patch.setattr(sys, "argv", [name, *words])
        patch.setattr(ArgumentParser, "parse_args", parse_and_end)
        patch.delitem(sys.modules, name, raising=False)
        try:
            runpy.run_module(name, run_name="__main__")
        except _Parsed:
            return None
        except SystemExit as ended:
            return said.getvalue().strip() if ended.code else None
    return f"{name} reads no arguments"


def paths_of_docs() -> Iterator[tuple[Path, str]]:
    """Page and path, for what begins with a folder of the repository, and for what ends as its sources do."""
    for page in DOCS:
        text = page.read_text(encoding="utf-8")
        for word in _QUOTED.findall(without_blocks(page)):
            of_card = page in CARDS and re.search(r"\.\w{2,7}$", word)
            if re.fullmatch(r"[\w*./-]*\w", word) and (word.endswith(SOURCES) or of_card):
                yield page, word
        for word in re.findall(rf"(?<![\w./-])(?:{'|'.join(TOPS)})/[\w*./-]*", re.sub(r"\]\([^)]*\)", "", text)):
            yield page, word.rstrip("./")


def missing(page: Path, path: str) -> bool:
    """Whether *path*, in which ``*`` and ``NN`` stand for anything, is neither in the repository nor beside *page*.

    What runs and releases hold is not missing, nor are the names by which inspect_ai calls the task and a scorer.
    """
    pattern = path.replace("NN", "*")
    if path.startswith(("build/", "state/")) or path in ("gre_bench/review", "gre_bench/gem", "views.sql"):
        return False
    if any(page.parent.glob(pattern)) or any(ROOT.glob(pattern)):
        return False
    return path.partition("/")[0] in TOPS or not any(any((ROOT / top).rglob(pattern)) for top in TOPS)

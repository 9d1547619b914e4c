"""Every command that the docs, the settings files or the program name can be run; every path that the docs name is there."""

from __future__ import annotations

import pytest

from tests.docs import named
from tests.docs.named import Command, missing, wrong


@pytest.mark.parametrize(
    ("collected", "least"),
    [
        (named.commands_of_docs, 150),
        (named.commands_of_files, 40),
        (named.commands_of_code, 100),
    ],
)
def test_a_command_that_is_named_is_one_that_the_program_has(collected, least):
    found = list(dict.fromkeys(collected()))
    assert len(found) >= least
    assert [f"{command}: {problem}" for command in found if (problem := wrong(command))] == []


@pytest.mark.parametrize(
    ("words", "whole", "problem"),
    [
        ("gre-bench validate --settings x", True, "no command validate"),
        ("gre-bench study examiners --items FILE", False, "no command --items"),
        ("gre-bench refresh --no-such thing", False, "no option --no-such"),
        ("gre-bench study guidelines generate --group good --group bad", False, "--group takes one value and has 2"),
        ("gre-bench why SAMPLE-2026", True, "Missing parameter: candidate"),
        ("gre-bench refresh --set evaluation_lm.colour=red", True, "colour"),
        ("gre-bench refresh --settings gup", True, "gup"),
        ("python -m tests.bench.bench_nothing", True, "no module"),
        ("python -m tests.bench.coverage", True, "does nothing"),
        ("python -m tests.bench.bench_sql --gb 3", True, "--gb"),
        ("python -m tests.bench.bench_layouts --above", True, "--above"),
    ],
)
def test_a_command_that_the_program_has_not_is_found(words, whole, problem):
    assert problem in str(wrong(Command("a page", tuple(words.split()), whole)))


def test_a_path_that_is_named_is_there():
    found = list(dict.fromkeys(named.paths_of_docs()))
    assert len(found) >= 80
    assert [f"{page.name}: {path}" for page, path in found if missing(page, path)] == []

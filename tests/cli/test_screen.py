"""Lines on a screen: broken between words at its width, commands as a shell reads them, unbroken in a pipe."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from gre_bench.cli.views import screen
from gre_bench.core.terminal import counted

WORD = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12)


@given(st.lists(WORD, min_size=1), st.integers(14, 60), st.integers(0, 4))
def test_a_broken_line_keeps_its_words_and_its_width(words, columns, indent):
    line = " " * indent + " ".join(words)
    parts = screen.wrap_line(line, columns)
    assert " ".join(parts).split() == words
    assert all(cell_len(part) <= columns or len(part.split()) == 1 for part in parts)
    assert all(part.startswith(" " * (indent + 2)) for part in parts[1:])
    assert screen.wrap_line(line, None) == [line]


@given(st.lists(st.text("ab c.-[]{}=", min_size=1, max_size=20), max_size=12), st.integers(20, 60))
def test_a_broken_command_is_the_same_command(arguments, columns):
    command = "gre-bench " + shlex.join(arguments)
    parts = screen.wrap_line(command, columns)
    assert shlex.split("\n".join(parts).replace("\\\n", "")) == ["gre-bench", *arguments]


@pytest.mark.parametrize("columns", [30, 44, 60])
def test_the_comment_of_a_broken_command_stands_on_a_line_of_its_own(columns):
    command, comment = "gre-bench why SAMPLE-2026 reviewer-thorough", "its best and worst papers"
    parts = screen.wrap_line(f"next: {command}   # {comment}", columns)
    (at,) = (index for index, part in enumerate(parts) if part.lstrip().startswith("# "))
    told = "\n".join(parts[:at]).removeprefix("next: ").replace("\\\n", "")
    assert shlex.split(told) == shlex.split(command) and not parts[at - 1].endswith("\\")
    assert " ".join(" ".join(parts[at:]).split()) == f"# {comment}"


def test_a_pipe_gets_whole_lines_unless_columns_are_named(capsys, monkeypatch):
    screen.say("word " * 40)
    assert len(capsys.readouterr().out.splitlines()) == 1
    monkeypatch.setenv("COLUMNS", "40")
    screen.say("  word " * 40)
    screen.print_with_label("holds", "green", "word " * 40)
    assert all(len(line) <= 40 for line in capsys.readouterr().out.splitlines())
    screen.print_error("no " * 40)
    assert capsys.readouterr().err.startswith("error: no no")


@pytest.mark.parametrize(("number", "said"), [(0, "0 rows"), (1, "1 row"), (2000, "2,000 rows")])
def test_counts_agree_with_their_nouns(number, said):
    assert counted(number, "row") == said
    assert counted(number, "synopsis", "synopses").endswith("synopsis" if number == 1 else "synopses")


def test_reasons_name_metrics_that_lack_the_same_pairs_in_one_line_and_a_specific_form_with_its_metric(capsys):
    row = {"pairs": 3, "state": "failed", "reason": "no_judgments", "example": None}
    rows = [row | {"metric": metric} for metric in ("gem", "gem_specific", "gem_s_abstract")]
    rows.append({"metric": "gem_raw", "pairs": 1, "state": "excluded", "reason": "no_reference", "example": "p1"})
    screen.show_missing_score_reasons(rows)
    assert capsys.readouterr().out.splitlines() == [
        "gem, gem_s_abstract: 3 failed each, no_judgments",
        "gem_raw: 1 excluded, no_reference: p1",
    ]

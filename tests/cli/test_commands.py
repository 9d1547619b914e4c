"""The commands and their help: which there are, how they are shown, and that every text names those that exist."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest
import typer
from typer.core import TyperArgument, TyperGroup, TyperOption
from typer.testing import CliRunner

from gre_bench.cli.app import EXIT_CODES, PANELS, app
from gre_bench.cli.removed import INSTEAD
from tests.cli.calling import call

EDITION = "SAMPLE-2026"
PROGRAM = typer.main.get_command(app)
ENDINGS = (".cfg", ".md", ".py", ".sh", ".sql", ".toml", ".txt", ".yaml", ".yml")
MENTION = re.compile(r"gre-bench ((?:[a-z][a-z-]*[a-z](?![\w.=/:]))(?: [a-z][a-z-]*[a-z](?![\w.=/:]))?)")
"""``gre-bench`` and up to two lower-case words."""


def walk(group: TyperGroup = PROGRAM, path: str = "gre-bench"):
    """Path and command of everything that can be called, groups too."""
    yield path, group
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from walk(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


COMMANDS = dict(walk())


def shown(path: str, columns: int = 80) -> str:
    """The help screen of the command at *path*, that many columns wide."""
    arguments = [*path.split()[1:], "--help"]
    done = CliRunner().invoke(app, arguments, env={"COLUMNS": str(columns)})
    assert done.exit_code == 0, path
    return done.stdout


def test_the_commands_stand_under_five_headings():
    assert list(PANELS) == ["Use", "Run", "Publish", "Study", "Operate"]
    assert set(PROGRAM.commands) == {name for names in PANELS.values() for name in names}
    assert len(PROGRAM.commands) <= 23


def test_the_first_screen_has_a_line_for_each_command_and_the_exit_codes():
    lines = shown("gre-bench").splitlines()
    for name in PROGRAM.commands:
        (row,) = [n for n, line in enumerate(lines) if re.match(rf"│ {name} ", line)]
        assert lines[row].endswith(". │") or lines[row].rstrip("│ ").endswith("."), f"more than one line: {name}"
    assert "".join(EXIT_CODES.split()) in "".join("".join(lines).split())


@pytest.mark.parametrize("path", COMMANDS)
def test_a_help_screen_says_what_the_command_does_in_plain_types(path):
    command, screen = COMMANDS[path], shown(path)
    assert command.help and command.help.split("\n\n")[0].strip().endswith(".")
    first = " ".join(command.help.split("\n\n")[0].split())
    assert path == "gre-bench" or len(first) <= 61, f"{path}: more than a line: {first}"
    assert path == "gre-bench" or "Exit codes:" not in screen
    assert not re.search(r"<(str|bool|path|file|list\[str\])>", screen), "a type that says nothing"
    assert max(map(len, screen.splitlines())) <= 80


def options(command) -> list[TyperOption]:
    return [param for param in command.params if isinstance(param, TyperOption)]


def test_an_option_means_the_same_in_every_command():
    """Short flags belong to one option; a name takes a value everywhere or nowhere, and takes the same kind of value."""
    short, kinds = defaultdict(set), defaultdict(set)
    for command in COMMANDS.values():
        for option in options(command):
            names = [name for name in option.opts if name.startswith("--")]
            assert len(names) == 1, option.opts
            kinds[names[0]].add("flag" if option.is_flag else option.metavar or str(option.type_descriptor.annotation))
            for letter in set(option.opts) - set(names):
                short[letter].add(names[0])
    assert {letter: names for letter, names in short.items() if len(names) > 1} == {}
    # A folder of releases or pictures, a file of rows: --out is where the result goes, whatever it is.
    # A sample is a number of papers, or a file that names them.
    # `new` takes the papers, the human reviews and each candidate's reviews themselves.
    both = {
        "--again": {"flag"}, "--out": {"FILE", "FOLDER"}, "--papers": {"N", "N|FILE", "FOLDER|FILE"},
        "--human": {"flag", "FILE"}, "--candidate": {"NAME", "NAME=FILE"},
    }  # fmt: skip
    odd = {name: kind for name, kind in kinds.items() if len(kind) > 1 and kind != both.get(name)}
    assert odd == {}


def test_one_thing_has_one_name():
    """An argument or option that takes an edition is called so; the same holds for the other words."""
    words = {"EDITION": {"--edition", "EDITION"}, "KEY=VALUE": {"--set"}, "METRIC": {"--metric", "METRIC"}}
    for path, command in COMMANDS.items():
        for param in command.params:
            if param.metavar in words:
                name = param.metavar if isinstance(param, TyperArgument) else param.opts[0]
                assert name in words[param.metavar], (path, name)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("leaderbord",), "No such command 'leaderbord'. Did you mean 'leaderboard'? (see: "),
        (("rank",), "Missing argument 'FILE' (see: "),
        (("leaderboard", "--board", "dirty"), "'dirty' is not one of 'clean', 'all' (see: "),
        (("status", "--wait", "1"), "No such option: --wait"),
        (("publish", "--sign", "key"), "publish --sign is gone; sign the file SHA256SUMS"),
        (("publish", "--recount=9"), "publish --recount is gone; gre-bench why"),
        (("verify", "x", "--store"), "verify --store is gone; gre-bench publish says"),
        (("fetch", "ICLR", "x"), "Invalid value for 'YEAR'"),
    ],
)
def test_an_error_of_usage_is_one_line(arguments, says):
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert says in err and err.startswith("error: ") and len(err.splitlines()) == 1


@pytest.mark.parametrize("gone", INSTEAD)
def test_what_is_gone_says_in_one_line_what_to_use(gone):
    code, out, err = call(*gone.split(), "--papers", "5")
    assert (code, out, err) == (2, "", f"error: {gone} is gone; {INSTEAD[gone]}\n")


@pytest.mark.parametrize("arguments", [("--state", "named", "leaderboard"), ("leaderboard", "--state", "named")])
def test_an_option_of_the_program_stands_before_or_after_the_name_of_the_command(tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRE_BENCH_STATE", "elsewhere")
    assert call("leaderboard")[2].startswith(f"no editions in {tmp_path / 'elsewhere'}")
    assert call(*arguments)[2].startswith(f"no editions in {tmp_path / 'named'}")


@pytest.mark.parametrize(
    ("by_position", "by_option"),
    [
        (f"leaderboard {EDITION}", f"leaderboard --edition {EDITION}"),
        (f"why {EDITION} human", f"why human -e {EDITION}"),
        (f"history {EDITION}", f"history --edition={EDITION}"),
        (f"refresh {EDITION} --dry-run", f"refresh --edition {EDITION} --dry-run"),
        (f"rank {EDITION} mine.csv --as mine", f"rank mine.csv --as mine --edition {EDITION}"),
        (f"import reviews {EDITION} mine.csv", f"import reviews mine.csv --edition {EDITION}"),
        ("plan SAMPLE 2026", "plan SAMPLE-2026"), ("plan SAMPLE 2026", "plan --edition SAMPLE-2026"),
        ("year SAMPLE 2026", "year SAMPLE --year 2026"),
        ("year SAMPLE 2026 --roster mine-2026", "year SAMPLE-2026 --roster mine-2026"),
        (f"rank mine.csv --as model-2024 {EDITION}", f"rank mine.csv --as model-2024 --edition {EDITION}"),
    ],
)  # fmt: skip
def test_an_edition_and_a_year_stand_by_position_and_by_option_alike(by_position, by_option):
    def read(line: str) -> dict:
        words = line.split()
        command = PROGRAM
        while isinstance(command, TyperGroup):
            command = command.commands[words.pop(0)]
        return command.make_context("gre-bench", words).params

    assert read(by_position) == read(by_option)


@pytest.mark.parametrize("arguments", [("--wait", "5", "status"), ("--json", "models", "where")])
def test_an_option_of_the_program_that_a_command_does_not_take_is_refused(arguments):
    code, out, err = call(*arguments)
    assert (code, out) == (2, "") and err.endswith(f"takes no {arguments[0]}")


def test_the_options_of_the_program_are_explained_once_and_named_where_they_are_taken():
    for path, command in COMMANDS.items():
        named = [option.opts[0] for option in options(command) if option.hidden]
        assert "Folder that keeps" not in shown(path) or path == "gre-bench"
        assert not named or f"Also takes {', '.join(named)} (see: gre-bench --help)." in " ".join(shown(path).split())
    assert {"--state", "--json", "--no-prefect", "--wait"} <= set(shown("gre-bench").split())


def test_the_version_is_that_of_the_installation():
    assert re.fullmatch(r"gre-bench \d+\.\d+\.\d+\S*\n", CliRunner().invoke(app, ["--version"]).stdout)


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("gre-bench st", ["status", "study"]),
        ("gre-bench study v", ["validate"]),
        ("gre-bench leaderboard --board c", ["clean"]),
        ("gre-bench leaderboard SAM", ["SAMPLE-2026"]),
        ("gre-bench --state STATE leaderboard SAM", ["SAMPLE-2026"]),
        ("gre-bench models get sm", ["smollm2-135m"]),
        ("gre-bench leaderboard --metric gem_raw", ["gem_raw"]),
    ],
)
def test_the_shell_completes_commands_choices_and_names(tmp_path, line, offered):
    (tmp_path / "editions" / "SAMPLE-2026").mkdir(parents=True)
    (tmp_path / "editions" / "SAMPLE-2026" / "edition.duckdb").touch()
    words = line.replace("STATE", str(tmp_path))
    asked = {"_GRE_BENCH_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(line.split()) - 1)}
    known = {} if "STATE" in line else {"GRE_BENCH_STATE": str(tmp_path)}
    done = CliRunner().invoke(app, [], prog_name="gre-bench", env=asked | known)
    assert set(offered) <= set(done.stdout.split()), done.stdout

"""Hundreds of hostile statements: none changes a file, reads what is not its own, blames the store, or runs for ever.

They stand in ``hostile_statements.json``: those that give no row, others, those of a stranger who had not seen how
``gre-bench sql`` is made, and those that only a bound ends. ``{state}``: the edition's folder; ``{out}``: a folder that
may be written; ``{secret}``: a file that nobody may read; ``{tmp}``: the temporary folder.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gre_bench.cli import app
from gre_bench.core.errors import GreBenchError
from gre_bench.core.settings import QuerySettings
from gre_bench.store import Store
from tests.flows.refreshing import EDITION, refreshed

KINDS = json.loads(Path(__file__).with_name("hostile_statements.json").read_text(encoding="utf-8"))
HUGE = [
    "select '" + "x" * 3_000_000 + "'",
    "select " + "(" * 20_000 + "1" + ")" * 20_000,
    "select " + "+".join(["1"] * 100_000),
    "select " + "not " * 100_000 + "true",
    "select " + "[" * 5_000 + "]" * 5_000,
    "select " + ",".join(f"1 as c{k}" for k in range(20_000)),
    "from " + ", ".join(["scores"] * 2_000),
    " union all ".join(["select 1"] * 20_000),
    "with " + ", ".join(f"x{k} as (select 1)" for k in range(5_000)) + " select 1",
    "from (" * 3_000 + "select 1" + ")" * 3_000,
    "select case " + "when false then 1 " * 50_000 + "end",
    "/*" * 50_000 + "*/" * 50_000 + "select 1",
    ";" * 100_000,
    "select 1;" * 20_000,
    "explain " * 5_000 + "select 1",
    "describe " * 5_000 + "scores",
    'select 1 as "' + "x" * 100_000 + '"',
]
QUICK = [*KINDS["refused"], *KINDS["other"], *HUGE]
REFUSED = set(KINDS["refused"])
SECRET = "the-secret-of-this-test"
secret_in_python = [SECRET]
SMALL = QuerySettings(seconds=2, memory=200, spill=50, result=2)


def files(folder: Path) -> dict[str, str]:
    """Digest of every file under *folder*, and every folder."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for path in folder.rglob("*")
    }


def told(store: Store, statement: str) -> str:
    """What a user is told: that there are rows, or the exit code and the line."""
    try:
        names, rows = store.query(statement, SMALL)
    except GreBenchError as error:
        assert SECRET not in str(error) and "root:" not in str(error)
        assert str(error).isprintable() or "\x1b" in statement, error
        return f"{app.choose_error_exit_code(error)} {error}"
    assert SECRET not in repr(rows) and "root:x" not in repr(rows) and SECRET not in repr(names)
    return f"0 {len(rows)} rows"


def answers(folder: Path, statements: list[str]) -> dict[str, str]:
    """What each statement gives, asked two at a time, in a place of their own: state, home, temporary, current folder.

    None of them changes, makes or removes a file, and each ends with 0 or 2.
    """
    state = refreshed(folder / "state")
    for name in ("out", "tmp", "home", "here"):
        (folder / name).mkdir()
    (folder / "secret.csv").write_text(f"a,b\n{SECRET},1\n")
    places = {
        "state": state / "editions" / EDITION,
        "out": folder / "out",
        "secret": folder / "secret.csv",
        "tmp": folder / "tmp",
    }
    texts = statements
    for name, place in places.items():
        texts = [text.replace(f"{{{name}}}", str(place)) for text in texts]
    before, kept, temporary = files(folder), Path.cwd(), tempfile.tempdir
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(2) as pool:
        patch.chdir(folder / "here")
        patch.setenv("HOME", str(folder / "home"))
        patch.setenv("GRE_BENCH_TEST_SECRET", SECRET)
        patch.setattr(tempfile, "tempdir", str(folder / "tmp"))
        lines = list(pool.map(lambda text: told(Store(state, EDITION), text), texts))
    assert (Path.cwd(), tempfile.tempdir) == (kept, temporary)
    assert files(folder) == before
    given = dict(zip(statements, lines, strict=True))
    assert {text[:200]: line for text, line in given.items() if line[:2] not in ("0 ", "2 ")} == {}
    return given


def test_there_are_hundreds_of_them():
    assert len(set(QUICK)) == len(QUICK) > 300 and len(KINDS["stranger"]) > 400


@pytest.mark.parametrize(
    "is_chosen", [lambda place: not place % 9, pytest.param(lambda place: place % 9, marks=pytest.mark.night)]
)
def test_a_hostile_statement_changes_nothing_and_is_one_line(tmp_path, is_chosen):
    """Every ninth of them; the others are tried with the slow tests."""
    chosen = [text for place, text in enumerate([*QUICK, *KINDS["stranger"]]) if is_chosen(place)]
    given = answers(tmp_path, chosen)
    assert {
        text: line for text, line in given.items() if text in REFUSED and line[0] == "0" and line != "0 0 rows"
    } == {}


@pytest.mark.night
def test_a_bomb_meets_a_bound_that_is_told_in_one_line_with_what_to_do(tmp_path):
    lines = answers(tmp_path, KINDS["long"]).values()
    assert sum(", or allow more, such as --set query." in line for line in lines) > len(lines) / 2

"""Hundreds of hostile statements: none changes a file, reads what is not its own, blames the store, or runs for ever."""

from __future__ import annotations

import hashlib
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from gre_bench.cli import app
from gre_bench.core.errors import GreBenchError
from gre_bench.core.settings import QuerySettings
from gre_bench.store import Store
from tests.cli.hostile_statements import LONG, QUICK, REFUSED
from tests.cli.red_team_statements import STATEMENTS
from tests.flows.refreshing import EDITION, refreshed

SECRET = "the-secret-of-this-test"
secret_in_python = [SECRET]
SMALL = QuerySettings(seconds=2, memory=200, spill=50, result=2)


@dataclass(frozen=True)
class Asked:
    """What the statements gave, by their number, and files that came, went or changed meanwhile."""

    said: dict[int, str]
    changed: list[str]


def files(folder: Path) -> dict[str, str]:
    """Digest of every file under *folder*, and every folder."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for path in folder.rglob("*")
    }


def placed(text: str, places: dict[str, Path]) -> str:
    for name, place in places.items():
        text = text.replace(f"{{{name}}}", str(place))
    return text


def told(store: Store, statement: str) -> str:
    """What a user is told: that there are rows, or the exit code and the line."""
    try:
        names, rows = store.query(statement, SMALL)
    except GreBenchError as error:
        assert SECRET not in str(error) and "root:" not in str(error)
        assert str(error).isprintable() or "\x1b" in statement, error
        return f"{app.exit_code(error)} {error}"
    assert SECRET not in repr(rows) and "root:x" not in repr(rows) and SECRET not in repr(names)
    return f"0 {len(rows)} rows"


def ask_all(folder: Path, statements: list[str]) -> Asked:
    """Asks all of them, two at a time, in a place of their own: state, home, temporary and current folder."""
    state = refreshed(folder / "state")
    for name in ("out", "tmp", "home", "here"):
        (folder / name).mkdir()
    (folder / "secret.csv").write_text(f"a,b\n{SECRET},1\n")
    places = {"state": state / "editions" / EDITION, "out": folder / "out", "secret": folder / "secret.csv"}
    texts = [placed(text, places) for text in statements]
    before, kept, temporary = files(folder), Path.cwd(), tempfile.tempdir
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(2) as pool:
        patch.chdir(folder / "here")
        patch.setenv("HOME", str(folder / "home"))
        patch.setenv("GRE_BENCH_TEST_SECRET", SECRET)
        patch.setattr(tempfile, "tempdir", str(folder / "tmp"))
        said = list(pool.map(lambda text: told(Store(state, EDITION), text), texts))
    assert (Path.cwd(), tempfile.tempdir) == (kept, temporary)
    after = files(folder)
    changed = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
    return Asked(dict(enumerate(said)), sorted(changed))


@pytest.fixture(scope="module")
def quick(tmp_path_factory, request):
    """What the statements gave that are to be tried: every sixth, or all with the slow tests."""
    chosen = sorted({test.callspec.params["number"] for test in request.session.items if "quick" in test.fixturenames})
    found = ask_all(tmp_path_factory.mktemp("hostile"), [QUICK[number] for number in chosen])
    return Asked({number: found.said[place] for place, number in enumerate(chosen)}, found.changed)


def test_there_are_hundreds_of_them():
    assert len(QUICK) >= 150 and len(set(QUICK)) == len(QUICK)


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(
            number,
            marks=() if number % 6 == 0 else pytest.mark.slow,
            id=f"{number}-{text[:40].encode('unicode_escape').decode()}",
        )
        for number, text in enumerate(QUICK)
    ],
)
def test_a_hostile_statement_changes_nothing_and_is_one_line(quick, number):
    assert quick.said[number][:2] in ("0 ", "2 "), quick.said[number]
    assert quick.changed == []
    if QUICK[number] in REFUSED:
        assert quick.said[number][0] == "2" or quick.said[number] == "0 0 rows", quick.said[number]


def test_a_stranger_s_statements_change_nothing_and_are_one_line_each(tmp_path):
    """Every sixteenth of them; the others are tried with the slow tests."""
    _try_all(tmp_path, STATEMENTS[::16])


@pytest.mark.slow
def test_the_other_statements_of_the_stranger_change_nothing_either(tmp_path):
    _try_all(tmp_path, [text for place, text in enumerate(STATEMENTS) if place % 16])


def _try_all(folder: Path, statements: list[str]) -> None:
    found = ask_all(folder, statements)
    assert found.changed == []
    for number, line in found.said.items():
        assert line[:2] in ("0 ", "2 "), (statements[number], line)


@pytest.mark.slow
def test_a_bomb_meets_a_bound_that_is_told_in_one_line_with_what_to_do(tmp_path):
    found = ask_all(tmp_path, LONG)
    assert found.changed == []
    for number, line in found.said.items():
        assert line[:2] in ("0 ", "2 "), (LONG[number], line)
    bounded = [line for line in found.said.values() if ", or allow more, such as --set query." in line]
    assert len(bounded) > len(LONG) / 2

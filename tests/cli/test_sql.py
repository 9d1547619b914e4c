"""``gre-bench sql`` as a user meets it: what reads is answered, what is shown is whole, what is asked too much ends."""

from __future__ import annotations

import datetime
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from decimal import Decimal
from pathlib import Path

import pytest

from gre_bench.cli.commands import sql as screen
from gre_bench.core.errors import SettingsError
from gre_bench.core.settings import QuerySettings, load_query_settings
from gre_bench.store import Store, sandbox
from tests.cli.calling import call, shown
from tests.conftest import ROOT
from tests.flows.refreshing import EDITION, refreshed
from tests.holds import wait_for


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    return refreshed(tmp_path_factory.mktemp("sql") / "state")


@pytest.fixture
def ask(state):
    return lambda text, **bounds: Store(state, EDITION).query(text, QuerySettings(**bounds))


@pytest.mark.parametrize(
    "text",
    [
        "from leaderboard",
        "select 1",
        "(select 1)",
        "with x as (select 1) from x",
        "with recursive x as (select 1 as i union all select i + 1 from x where i < 3) from x",
        "values (1)",
        "table scores",
        "show tables",
        "show all tables",
        "describe pairs",
        "describe select 1 as a",
        "summarize candidates",
        "summarize select 1 as a",
        "pivot candidates on kind using count(*)",
        "pivot candidates on kind in ('human') using count(*)",
        "from (pivot candidates on kind)",
        "with x as (pivot candidates on kind) select * from x",
        "describe (pivot candidates on kind)",
        "unpivot (select 1 as a, 2 as b) on a, b",
        "explain from leaderboard",
        "explain analyze select 1",
        "from query_table('scores')",
        "-- which are there\nfrom candidates;",
        "select count(*) from (select i, random() as r from range(3000000) t(i) order by r) where r < 2",
    ],
)  # fmt: skip
def test_what_only_reads_is_answered(ask, text):
    names, rows = ask(text)
    assert names and rows


@pytest.mark.parametrize("text", ["", "  \n", "-- nothing", "/* nothing */", ";"])
def test_no_query_and_two_of_them_are_bad_input(state, text):
    assert shown("sql", EDITION, text, "--state", state) == (2, f"edition {EDITION}: there is no query; give one")
    assert shown("sql", EDITION, "select 1; select 2", "--state", state)[1].endswith(
        "2 statements; give one query at a time"
    )


CELLS = {
    "true": True, "1::utinyint": 1, "170141183460469231731687303715884105727": 2**127 - 1, "1.5::double": 1.5, "'ä'": "ä",
    "1.50::decimal(5, 2)": Decimal("1.50"), "date '2026-01-02'": datetime.date(2026, 1, 2), "null": None,
    "timestamp '2026-01-02 03:04:05.6'": datetime.datetime(2026, 1, 2, 3, 4, 5, 600_000), "'\\x00\\xFF'::blob": b"\x00\xff",
    "timestamptz '2026-01-02 03:04:05+00'": datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC),
    "time '03:04:05'": datetime.time(3, 4, 5), "interval 3 days": datetime.timedelta(days=3), "[1, null]": [1, None],
    "{'a': [{'b': date '2026-01-02'}]}": {"a": [{"b": datetime.date(2026, 1, 2)}]}, "map {1: 'x'}": {1: "x"},
    "'6b9bd8f4-2a33-4b13-9d3c-2f0f0d2b7a10'::uuid": uuid.UUID("6b9bd8f4-2a33-4b13-9d3c-2f0f0d2b7a10"),
    "'date'": "date", "{'date': 'x'}": {"date": "x"}, "map {[1]: 2}": {"key": [[1]], "value": [2]}, "10::bignum": "10", "'inf'::double": float("inf"),
}  # fmt: skip


def test_every_type_comes_back_as_what_it_is(ask):
    names, [row] = ask("select " + ", ".join(f"{text} as c{k}" for k, text in enumerate(CELLS)))
    assert [row[name] for name in names] == list(CELLS.values())
    assert ask("select 1 as a, 2 as a, [3] as a") == (["a", "a_2", "a_3"], [{"a": 1, "a_2": 2, "a_3": [3]}])
    assert len(ask("from test_all_types()")[1]) == 3


@pytest.mark.parametrize(
    ("text", "bounds", "line"),
    [
        ("select count(*) from range(1000000000000)", {"seconds": 1},
         "the query took more than 1 s; ask for less, or allow more, such as --set query.seconds=4"),
        ("select repeat('x', 900000000)", {"memory": 100},
         "the query needs more than 100 MB of memory; ask for less, or allow more, such as --set query.memory=400"),
        ("select i, random() as r from range(100000000) t(i) order by r", {"memory": 100, "spill": 20},
         "the query needs more than 20 MB of disk; ask for less, or allow more, such as --set query.spill=80"),
        ("from range(1000000000)", {"result": 1},
         "the query has a result of more than 1 MB; add a where or a limit, or allow more, such as --set query.result=4"),
    ],
)  # fmt: skip
def test_a_bound_is_one_line_that_says_what_to_do(ask, text, bounds, line):
    with pytest.raises(SettingsError) as caught:
        ask(text, **bounds)
    assert str(caught.value) == f"edition {EDITION}: {line}"


def test_bounds_are_given_as_settings_and_no_others(state):
    assert load_query_settings(("query.seconds=5", "query.memory=300")) == QuerySettings(seconds=5, memory=300)
    line = "the query took more than 0.5 s"
    assert line in shown("sql", EDITION, "select pg_sleep(60)", "--set", "query.seconds=0.5", "--state", state)[1]
    for given, said in (("budget.usd=5", "only limits can be set here"), ("query.second=5", "did you mean seconds?")):
        code, told = shown("sql", EDITION, "select 1", "--set", given, "--state", state)
        assert code == 2 and said in told and "\n" not in told


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGKILL])
def test_a_query_ends_with_who_asks_it_and_leaves_nothing(state, tmp_path, sign):
    asked = ["sql", EDITION, "select pg_sleep(600)", "--set", "query.seconds=600", "--state", str(state)]
    environment = os.environ | {"TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-m", "gre_bench.cli.app", *asked], env=environment, stderr=subprocess.PIPE, text=True
    )
    # The copy loses its name when the process has opened it, and is then about to ask.
    wait_for(lambda: [one for one in tmp_path.glob("*/errors") if not (one.parent / "read.duckdb").exists()], process)
    began = time.monotonic()
    process.send_signal(sign)
    err = process.communicate(timeout=20)[1]
    assert time.monotonic() - began < 2
    if sign != signal.SIGKILL:
        assert process.returncode == 130 and err.count("\n") == 1 and err.startswith("stopped")
    # Who is killed outright leaves an empty folder: the process that asks may remove what is in it alone.
    while [path for path in tmp_path.rglob("*") if sign != signal.SIGKILL or path.parent != tmp_path]:
        assert time.monotonic() - began < 20
        time.sleep(0.01)


def test_the_process_knows_nothing_of_who_asks(ask, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    named = re.compile("secret|token|password|home|path|directory", re.IGNORECASE)
    for row in ask("from duckdb_settings()")[1]:
        if named.search(row["name"]) and row["value"] not in (None, "", "[]", "NULL"):
            assert str(Path.home()) not in row["value"] and str(ROOT) not in row["value"], row
    assert not list(tmp_path.iterdir())


UNCHECKED = """
import sys, json
sys.path.insert(0, sys.argv[1])
import duckdb, sandbox
asked = {"folder": sys.argv[2], "file": sys.argv[2] + "/read.duckdb", "spill": 10**8, "memory": 10**9, "threads": 2}
run = sandbox.open_private_copy(asked)
for file in ("read.duckdb", "read.duckdb.wal", "new.csv"):
    try:
        run.execute(f"copy (select 1) to '{sys.argv[3]}/{file}' (format csv, use_tmp_file false)")
        print("written", file)
    except duckdb.Error:
        pass
for text in ("set enable_external_access = true", "set lock_configuration = false", f"attach '{sys.argv[3]}/x.duckdb'",
             f"export database '{sys.argv[3]}'", "install httpfs", "load httpfs", "update scores set value = 0"):
    try:
        run.execute(text)
        print("done", text)
    except duckdb.Error:
        pass
"""


def test_a_statement_that_slipped_through_would_reach_the_private_folder_alone(state, tmp_path):
    store = Store(state, EDITION)
    before = {path.name: path.read_bytes() for path in store.folder.iterdir()}
    store.copy.copy_to(tmp_path / "read.duckdb")
    arguments = (Path(sandbox.__file__).parent, tmp_path, store.folder)
    done = subprocess.run([sys.executable, "-c", UNCHECKED, *map(str, arguments)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert {path.name: path.read_bytes() for path in store.folder.iterdir()} == before


@pytest.mark.parametrize("columns", ["80", "120"])
def test_rows_wider_than_the_screen_are_records_and_nothing_is_cut(state, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    text = "from leaderboard order by all"
    code, out, _ = call("sql", EDITION, text, "--state", state)
    names, rows = Store(state, EDITION).query(text)
    assert code == 0 and max(map(len, out.splitlines())) <= int(columns)
    blocks = out.split("row ")[1:]
    assert len(blocks) == len(rows)
    for block, row in zip(blocks, rows, strict=True):
        found = dict([*line.split(None, 1), ""][:2] for line in block.splitlines()[1:])
        assert list(found) == names
        assert found["candidate"] == row["candidate"] and found["score"] == (
            "" if row["score"] is None else f"{row['score']:.6g}"
        )


def test_rows_that_fit_are_a_table_with_numbers_to_the_right(state, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    screen.print_rows(
        ["name", "n"], [{"name": "ä", "n": 1.5}, {"name": "漢字", "n": None}, {"name": "two\nlines", "n": 12}]
    )
    assert capsys.readouterr().out.splitlines() == ["name     n", "ä      1.5", "漢字", "two     12", "lines"]
    screen.print_rows(["name"], [])
    assert capsys.readouterr().out.splitlines() == ["name", "no rows"]
    monkeypatch.setenv("COLUMNS", "6")
    screen.print_rows(["name", "n"], [{"name": "x\ny", "n": 12345678}])
    shown = capsys.readouterr().out.split()
    assert shown == ["row", "1", "name", "x", "y", "n", "12345678"], "a record, whose numbers are never cut"


@pytest.mark.parametrize(
    ("text", "row"),
    [
        (
            "select 'nan'::double as a, [1 / 0] as b, 1.5 as c, date '2026-01-02' as d",
            {"a": "nan", "b": ["inf"], "c": "1.5", "d": "2026-01-02"},
        ),
        ("select 1 a_2, 2 a, 3 a", {"a_2": 1, "a": 2, "a_3": 3}),
        ("select 1 a, 2 a, 3 a_2, 4 a_2", {"a": 1, "a_3": 2, "a_2": 3, "a_2_2": 4}),
        ("select candidate from leaderboard where rank = 1 and metric = 'gem'", {"candidate": "human"}),
    ],
)
def test_json_is_json_whatever_the_numbers_are_and_columns_of_one_name_keep_all_their_values(state, text, row):
    code, out, _ = call("sql", EDITION, text, "--json", "--state", state)
    assert code == 0 and json.loads(out, parse_constant=pytest.fail) == [row]
    assert call("sql", EDITION, text, "-f", "json", "--state", state)[1] == out


def test_a_text_is_shown_letter_by_letter_and_is_harmless_in_markdown(state):
    code, out, _ = call("sql", EDITION, "select ':smile: a:b:c' as said", "--state", state)
    assert code == 0 and ":smile: a:b:c" in out
    code, out, _ = call("sql", EDITION, 'select 1 as "a|b\x1b[2J<img>"', "--format", "markdown", "--state", state)
    assert code == 0 and "\x1b" not in out and "\\|" in out and "<img" not in out.replace("\\<img", "")


@pytest.mark.parametrize(("edition", "text", "line"), [
    (EDITION, "with w as (copy (select 1) to '~/read.duckdb.wal') from w", f"edition {EDITION}: "),
    (EDITION, "explain analyze with w as (copy (select 1) to '~/x.csv') from w", f"edition {EDITION}: "),
    (EDITION, "from json_execute_serialized_sql(json_serialize_sql('select 1'))", f"edition {EDITION}: "),
    (EDITION, "selekt 1", f"edition {EDITION}: "),
    ("NONE-2020", "from leaderboard", "no edition NONE-2020 in "),
])  # fmt: skip
def test_what_is_refused_is_one_line(state, edition, text, line):
    code, out, err = call("sql", edition, text, "--state", state)
    assert (code, out) == (2, "") and "\n" not in err and err.startswith(line)


def test_what_parquet_has_no_form_for_is_text_and_no_traceback(state, tmp_path):
    import pyarrow.parquet as pq

    file = tmp_path / "rows.parquet"
    asked = "select 18446744073709551615::ubigint u, 170141183460469231731687303715884105727::hugeint h, map{1:'x'} m"
    code, _, err = call("sql", EDITION, asked, "--format", "parquet", "--out", file, "--state", state)
    assert (code, err) == (0, "")
    (row,) = pq.read_table(file).to_pylist()
    assert (row["u"], row["h"]) == (18446744073709551615, "170141183460469231731687303715884105727")


@pytest.mark.parametrize("name", ["edition.duckdb", "read.duckdb", "new.csv"])
@pytest.mark.parametrize("command", [("sql", EDITION, "select 1"), ("leaderboard", EDITION)])
def test_no_output_is_written_over_what_the_state_keeps(state, name, command):
    file = state / "editions" / EDITION / name
    before = file.read_bytes() if file.exists() else None
    code, _, err = call(*command, "--format", "csv", "--out", file, "--state", state)
    assert code == 2 and "lies in what" in err and "\n" not in err
    assert (file.read_bytes() if file.exists() else None) == before


def test_a_disk_that_is_full_is_told_and_a_reader_who_has_enough_is_no_fault(state):
    if not Path("/dev/full").is_char_device():
        pytest.skip("this system has no device that is always full")
    command = [sys.executable, "-m", "gre_bench.cli.app", "sql", EDITION, "from pairs", "--state", str(state)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert done.returncode != 0 and done.stderr.count("\n") == 1 and "Traceback" not in done.stderr
    piped = subprocess.run(f"{' '.join(map(repr, command))} | head -1", shell=True, capture_output=True, text=True,
                           cwd=ROOT)  # fmt: skip
    assert piped.stderr == "" and len(piped.stdout.splitlines()) == 1

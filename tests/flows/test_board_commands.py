"""``gre-bench leaderboard`` with filters and formats, and ``gre-bench sql``: as a user and as a rogue meet them."""

from __future__ import annotations

import csv
import io
import json

import pyarrow.parquet as pq
import pytest

from flows.screens.board_formats import Format, write
from tasks.errors import SettingsError
from tasks.store import Store
from tests.conftest import ROOT
from tests.flows.calling import shown
from tests.flows.refreshing import EDITION, add_reviews, reviews_by, run, use
from tests.scripted_lms import OverlapLM


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    use(OverlapLM())
    state = tmp_path_factory.mktemp("boards")
    run(state, "scoring.metrics=['gem', 'gem_raw']")
    add_reviews(state, reviews_by("model-a"))
    twin = [row | {"judgments": row["judgments"] + "\nThe reviewer suggests more."} for row in reviews_by("model-b")]
    add_reviews(state, twin)
    run(state, "scoring.metrics=['gem', 'gem_raw']")
    return state


@pytest.fixture
def call(state):
    return lambda *arguments: shown(*arguments, "--state", state)


def rows(call, *arguments):
    code, shown = call("leaderboard", "--format", "json", *arguments)
    assert code == 0
    return json.loads(shown)


def test_candidates_and_kinds_are_chosen_and_keep_their_ranks(call):
    everybody = {row["candidate"]: row["rank"] for row in rows(call, "-m", "gem")}
    assert set(everybody) == {"human", "model-a", "model-b", "other-paper", "generic"}
    chosen = rows(call, "-m", "gem", "-c", "model-b", "-c", "human")
    assert {row["candidate"]: row["rank"] for row in chosen} == {k: everybody[k] for k in ("human", "model-b")}
    assert {row["kind"] for row in rows(call, "-k", "control")} == {"control"}


def test_a_board_is_sorted_by_any_column_each_metric_apart(call):
    words = [row["words"] for row in rows(call, "-m", "gem", "-k", "model", "-k", "human", "--sort", "words:up")]
    assert words == sorted(words)
    found = rows(call, "--sort", "mean")
    assert [row["metric"] for row in found] == sorted(row["metric"] for row in found)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("-c", "nobody"), "the board of SAMPLE-2026 has no candidate nobody; known, nearest first: "),
        (("--sort", "beauty"), "cannot sort by 'beauty'; columns are: metric, rank"),
        (("--sort", "mean:sideways"), "cannot sort by"),
        (("--format", "parquet"), "name a file, --out FILE"),
        (("--format", "csv", "--out", "/no/such/folder/board.csv"), "cannot write /no/such/folder/board.csv"),
    ],
)
def test_what_cannot_be_shown_is_one_line(call, arguments, part):
    code, line = call("leaderboard", *arguments)
    assert (code, part in line, "\n" in line) == (2, True, False), line


def test_every_format_holds_the_same_numbers(call, tmp_path):
    expected = rows(call, "-m", "gem")
    by_csv = list(csv.DictReader(io.StringIO(call("leaderboard", "-m", "gem", "--format", "csv")[1])))
    assert [(row["candidate"], float(row["mean"])) for row in by_csv] == [(r["candidate"], r["mean"]) for r in expected]
    file = tmp_path / "board.parquet"
    assert call("leaderboard", "-m", "gem", "-f", "parquet", "-o", file)[0] == 0
    assert pq.read_table(file)["mean"].to_pylist() == [row["mean"] for row in expected]
    lines = call("leaderboard", "-m", "gem", "--format", "markdown")[1].splitlines()
    assert len(lines) == len(expected) + 2 and lines[0].startswith("| metric | rank |")


HOSTILE = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\n=1", 'a"b', "a|b", "<script>", "line\nbreak"]


def test_no_text_is_a_formula_a_column_or_markup_to_who_reads_it(capsys, tmp_path):
    found = [{"name": text, "value": -1.5} for text in HOSTILE]
    write(found, ["name", "value"], Format.csv, None, tmp_path)
    cells = list(csv.reader(io.StringIO(capsys.readouterr().out, newline="")))[1:]
    assert [cell[0] for cell in cells] == [f"'{text}" for text in HOSTILE[:6]] + HOSTILE[6:]
    assert {cell[1] for cell in cells} == {"-1.5"}
    write(found, ["name", "value"], Format.markdown, None, tmp_path)
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) == len(HOSTILE) + 2
    assert r"a\|b" in shown and r"\<script>" in shown


def test_ties_are_shown_with_the_papers_that_would_end_them_and_details_beneath(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    shown = call("leaderboard", "-m", "gem", "--details")[1]
    board = {row["candidate"]: row for row in rows(call, "-m", "gem")}
    tied = [row for row in board.values() if row["tied"]]
    for row in tied:
        assert f"not told apart: {row['candidate']} and {row['next_candidate']}" in shown
    assert ("=" in shown.split("candidate")[1].split("AUC")[0]) == bool(tied)
    assert "human length" in shown and "tokens in" in shown


def test_sql_answers_and_names_its_columns(call):
    code, shown = call(
        "sql", EDITION, "select candidate, round(mean, 1) as mean from leaderboard where rank = 1", "-f", "json"
    )
    assert code == 0
    assert {row["candidate"] for row in json.loads(shown)} == {"human"}
    assert "leaderboard" in call("sql", EDITION, "select view_name from duckdb_views()")[1]
    twice = call("sql", EDITION, "select 1 as a, 2 as a", "-f", "json")[1]
    assert json.loads(twice) == [{"a": 1, "a_2": 2}]


@pytest.mark.parametrize(
    "statement",
    [
        "delete from scores",
        "create table mine (x integer)",
        "drop view leaderboard",
        "from read_csv('/etc/passwd')",
        "from '/etc/hostname'",
        "copy (select 1) to '/tmp/written-by-sql.csv'",
        "attach '/tmp/other.duckdb'",
        "set enable_external_access = true",
        "install httpfs",
        "selekt 1",
        "from nothing",
    ],
)
def test_sql_changes_and_reaches_nothing_and_says_so_in_one_line(call, state, statement):
    before = Store(state, EDITION).read_file.read_bytes()
    code, line = call("sql", EDITION, statement)
    assert (code, "\n" in line) == (2, False)
    assert line.startswith(f"edition {EDITION}: ")
    assert Store(state, EDITION).read_file.read_bytes() == before


def test_sql_on_an_unknown_edition_names_the_known_ones(state):
    with pytest.raises(SettingsError, match="no edition NONE-2020 .* known: SAMPLE-2026"):
        Store(state, "NONE-2020").query("from leaderboard")


def readme_queries() -> list[str]:
    block = (ROOT / "README.md").read_text().split("```sql\n")[1].split("```")[0]
    return [part.split("\n", 1)[1] for part in block.split("-- ")[1:]]


@pytest.mark.parametrize("number", range(5))
def test_the_queries_of_the_readme_answer(call, number):
    queries = readme_queries()
    assert len(queries) == 5
    code, shown = call("sql", EDITION, queries[number], "--format", "json")
    assert code == 0
    assert json.loads(shown) or number < 2

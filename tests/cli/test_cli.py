"""The command line as a user meets it: every mistake is one line and an exit code, JSON is JSON, help helps."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from dataclasses import replace

import pandas as pd
import pytest

from gre_bench.store import Store
from tests.conftest import ROOT, SIXTEEN
from tests.flows.refreshing import DEMO, EDITION, add_reviews, refreshed, reviews_by, run, use
from tests.scripted_lms import FaultyLM, OverlapLM

DONE, FAULT, BAD_INPUT, INCOMPLETE = 0, 1, 2, 3
SCRIPTED = ("--no-prefect", "--settings", str(DEMO), "--set", "evaluation_lm.backend=scripted")


@pytest.fixture(autouse=True)
def lm():
    return use(OverlapLM())


def test_a_refresh_prints_the_board_which_is_shown_later_and_takes_a_candidate_with_the_settings_of_the_last_run(
    call, tmp_path
):
    code, out, _ = call("refresh", *SCRIPTED)
    assert code == DONE
    for part in (
        f"{EDITION} · GEM in nats · 16 papers",
        "No order: not validated.",
        "other-paper",
        "done: 256 pairs scored now, 16 of 16 papers",
        ".duckdb (DuckDB)",
    ):
        assert part in out
    code, out, _ = call("leaderboard", "--metric", "gem")
    assert code == DONE and "gem_raw" not in out
    code, out, _ = call("leaderboard", "--json")
    board = json.loads(out)
    assert {row["metric"] for row in board["rows"]} == {"gem", "gem_s_abstract", "gem_raw"}
    assert len(board["separation"]) == 3
    file = tmp_path / "reviews.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in reviews_by("model-a")))
    code, out, _ = call("import", "reviews", file, "--edition", EDITION)
    assert (code, "16 reviews, 16 judgments added, 0 known already, 0 refused" in out) == (DONE, True)
    code, out, _ = call("refresh", "--no-prefect", "--edition", EDITION, "--candidate", "model-a")
    assert code == DONE and "done: 96 pairs scored now" in out
    assert "model-a" in call("leaderboard")[1]


def test_a_dry_run_counts_and_estimates_and_a_pilot_and_status_say_what_they_are(call):
    code, out, _ = call("status")
    assert (code, "no editions" in out) == (DONE, True)
    code, out, _ = call("refresh", *SCRIPTED, "--dry-run", "--limit", "4")
    assert code == DONE and "64 pairs to score, about" in out
    assert "a dry run, nothing was changed. 4 of 16 papers" in out
    assert json.loads(call("refresh", *SCRIPTED, "--dry-run", "--json")[1])["due"] == 256
    code, out, _ = call("refresh", *SCRIPTED, "--json", "--limit", "3")
    summary = json.loads(out)
    assert (code, summary["outcome"], summary["papers"], summary["scored_now"]) == (DONE, "done", 3, 48)
    assert "pilot: 3 of 16 papers" in call("refresh", *SCRIPTED, "--limit", "3")[1]
    code, out, _ = call("status")
    assert (code, f"{EDITION}: done" in out) == (DONE, True)
    assert json.loads(call("status", EDITION, "--json")[1])[0]["state"] == "done"


def test_a_bound_of_the_budget_is_one_line_and_exit_code_3_and_a_raise_goes_on(call):
    code, _, err = call("refresh", *SCRIPTED, "--limit", "2", "--set", "budget.hours=1e-6")
    assert (code, len(err.splitlines())) == (INCOMPLETE, 1)
    assert "paused at budget.hours" in err and "Raise it (--set budget.hours=...)" in err
    _, out, _ = call("status")
    assert f"{EDITION}: paused" in out and "budget left: 0 hours" in out
    assert call("refresh", *SCRIPTED, "--limit", "2")[0] == DONE


def test_papers_are_imported_into_a_new_edition(call, tmp_path):
    file = tmp_path / "papers.parquet"
    pd.DataFrame(
        [{"paper_id": "a", "title": "A", "abstract": "x"}, {"paper_id": None, "title": "B", "abstract": "y"}]
    ).to_parquet(file)
    code, out, err = call("import", "papers", file, "--edition", "ICLR-2031", "--new")
    assert code == BAD_INPUT
    assert "1 papers added, 0 known already, 1 refused" in out
    assert "row 2, paper ?: paper_id is missing" in err
    report = json.loads(call("import", "papers", file, "-e", "ICLR-2031", "--json")[1])
    assert (report["unchanged"], report["refused"]) == (1, 1)


ROWS = {
    "columns.jsonl": '{"text": "x"}\n',
    "unknown.jsonl": '{"paper_id": "zz", "candidate": "m", "slot": 1, "review": "x"}\n',
    "twice.jsonl": '{"paper_id": "s01", "candidate": "human", "review_id": "s01-r1", "review": "other"}\n',
    "empty.jsonl": '{"paper_id": "s01", "candidate": "human", "slot": 1, "review": " "}\n',
    "hostile.jsonl": json.dumps({"paper_id": "[red]x\u001b[2J", "slot": 1, "review": "x"}) + "\n",
    "corrupt.parquet": "PAR1 no",
}


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("refresh", "--settings", "none.toml"), "no settings file none.toml"),
        (("refresh", *SCRIPTED, "--set", "scoring.fomr=strict"), "unknown setting scoring.fomr; did you mean form?"),
        (("refresh", *SCRIPTED, "--set", "sources.reviews=none.parquet"), "no file"),
        (("refresh", *SCRIPTED, "--candidate", "gpt-9"), "no candidate gpt-9"),
        (("refresh", "--edition", "ICLR"), "not written as VENUE-YEAR"),
        (("refresh", *SCRIPTED, "--set", "evaluation_lm.backend=transformers"), "needs a model folder"),
        (("import", "none.jsonl"), "no file none.jsonl"),
        (("import", "columns.jsonl"), "has no column paper_id and no column review; perhaps --columns review="),
        (("import", "corrupt.parquet"), "corrupt.parquet cannot be read as parquet"),
        (("import", "unknown.jsonl"), "1 row of 1 paper that SAMPLE-2026 does not know, such as zz; 16 are known, such as s01, s02, s03"),
        (("import", "twice.jsonl"), "review id s01-r1 is already there with other content"),
        (("import", "empty.jsonl"), "empty review"),
        (("import", "empty.jsonl", "--rows", "x"), "FIRST:END"),
        (("import", "hostile.jsonl"), "[red]x"),
        (("leaderboard", "NONE-2020"), "no edition NONE-2020"),
        (("leaderboard", "-m", "bleu"), "has no scores of bleu"),
        (("status", "NONE-2020"), "no edition NONE-2020"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_exit_code_2(call, tmp_path, arguments, part):
    refreshed(tmp_path / "state")
    for name, content in ROWS.items():
        (tmp_path / name).write_text(content)
    if arguments[0] == "import":
        arguments = ("import", "reviews", *arguments[1:], "-e", EDITION)
    code, out, err = call(*arguments)
    assert code == BAD_INPUT
    assert "Traceback" not in out + err and "\u001b" not in out + err
    assert len([line for line in err.splitlines() if part in line]) == 1


def test_a_nan_from_the_evaluation_lm_and_a_damaged_store_are_faults_that_say_where(call, tmp_path):
    use(FaultyLM(lambda span: replace(span, total=math.nan), lambda prediction: "ablation" in (prediction.x or "")))
    code, out, _ = call("refresh", *SCRIPTED)
    assert code == FAULT and "fault:" in out and "not_finite: paper s" in out
    (tmp_path / "state" / "editions" / EDITION / "edition.duckdb").write_bytes(b"no")
    code, _, err = call("refresh", *SCRIPTED)
    assert (code, "is damaged or no DuckDB file" in err) == (FAULT, True)


def test_commands_that_run_outside_prefect_do_not_import_it(tmp_path):
    refreshed(tmp_path / "state")
    rows = [json.loads(text) for text in (SIXTEEN / "reviews.jsonl").read_text().splitlines()]
    first = {row["paper_id"]: row for row in reversed(rows)}.values()
    mine = [row | {"candidate": "m", "review_id": f"m-{row['paper_id']}"} for row in first]
    for name, wanted in (("mine", mine), ("human", rows)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in wanted))
    probe = f"""
import sys
from gre_bench.cli.app import main
from tests.flows.refreshing import use
from tests.scripted_lms import OverlapLM
use(OverlapLM())
scripted = ("--set", "evaluation_lm.backend=scripted", "--set", "scoring.metrics=gem")
for command in (
    ("rank", "mine.jsonl", "--edition", "{EDITION}", "--as", "m"),
    ("compare", "m", "human", "--edition", "{EDITION}"),
    ("remove", "{EDITION}", "m", "--yes"),
    ("import", "reviews", "mine.jsonl", "--edition", "{EDITION}"),
    ("refresh", "--edition", "{EDITION}", "--no-prefect"),
    ("new", "NEW-2026", "--papers", {str(SIXTEEN / "papers.jsonl")!r}, "--human", "human.jsonl", *scripted),
):
    sys.argv = ["gre-bench", *command, "--state", "state"]
    try:
        main()
    except SystemExit as stop:
        assert not stop.code, (command, stop.code)
    assert "prefect" not in sys.modules, command
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    found = subprocess.run([sys.executable, "-c", probe], cwd=tmp_path, text=True, capture_output=True, env=environment)
    assert found.returncode == 0, found.stderr


def test_leaderboard_status_and_help_load_no_heavy_library(tmp_path):
    """The tests of a validated board with two models are stored, so reading them takes no SciPy."""
    refreshed(tmp_path / "state")
    add_reviews(tmp_path / "state", reviews_by("model-a") + reviews_by("model-b"))
    run(tmp_path / "state")
    store = Store(tmp_path / "state", EDITION)
    with store.lock("test"):
        with store.transaction() as connection:
            connection.execute(
                "insert or replace into validations select signature_id, 'pass', 'ICLR-2023', '', now() from signatures"
            )
        store.copy_for_readers()
    probe = """
import sys
from gre_bench.cli.app import main
for command in ("leaderboard", "status", "--help"):
    sys.argv = ["gre-bench", command, *(("--state", sys.argv[-1]) if command[0] != "-" else ())]
    try:
        main()
    except SystemExit as stop:
        assert not stop.code, stop.code
    if command == "leaderboard":
        for_runs = {"gre_bench.core.settings", "gre_bench.core.review_text"} & set(sys.modules)
heavy = {"prefect", "torch", "pandas", "transformers", "scipy"} & set(sys.modules) | for_runs
assert not heavy, heavy
"""
    state = str(tmp_path / "state")
    found = subprocess.run([sys.executable, "-c", probe, state], cwd=ROOT, text=True, capture_output=True)
    assert found.returncode == 0, found.stderr
    assert "Exit codes" in found.stdout

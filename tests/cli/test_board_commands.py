"""``gre-bench leaderboard`` with filters and formats, and ``gre-bench sql``: as a user and as a rogue meet them."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from gre_bench.cli.views.bar import format_remaining_time
from gre_bench.cli.views.formats import Format, write_rows
from gre_bench.core.metrics import METRICS
from gre_bench.release.release_store import ReleaseStore
from gre_bench.reports.publish_editions import publish_edition
from gre_bench.store import Store, now
from gre_bench.store.queries import CURRENT_SIGNATURES
from tests.cli.calling import shown
from tests.conftest import ROOT
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


def test_a_metric_whose_package_is_missing_costs_a_line_and_no_board(call, monkeypatch):
    metrics = dict(METRICS.items())
    monkeypatch.setattr(
        "gre_bench.core.metrics.METRICS", {name: metrics[name] for name in metrics if name != "gem_raw"}
    )
    code, told = call("leaderboard", EDITION, "--all")
    assert code == 0
    assert "no board of gem_raw: the package that has this metric is missing; install it again" in told
    assert "GEM in nats" in told and "GEM-raw in nats" not in told


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
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
    assert [(row["candidate"], float(row["score"])) for row in by_csv] == [
        (r["candidate"], r["score"]) for r in expected
    ]
    file = tmp_path / "board.parquet"
    assert call("leaderboard", "-m", "gem", "-f", "parquet", "-o", file)[0] == 0
    assert pq.read_table(file)["score"].to_pylist() == [row["score"] for row in expected]
    lines = call("leaderboard", "-m", "gem", "--format", "markdown")[1].splitlines()
    assert len(lines) == len(expected) + 2 and lines[0].startswith("| metric | rank |")


HOSTILE = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\n=1", 'a"b', "a|b", "<script>", "line\nbreak"]


def test_no_text_is_a_formula_a_column_or_markup_to_who_reads_it(capsys, tmp_path):
    found = [{"name": text, "value": -1.5} for text in HOSTILE]
    write_rows(found, ["name", "value"], Format.csv, None, tmp_path)
    cells = list(csv.reader(io.StringIO(capsys.readouterr().out, newline="")))[1:]
    assert [cell[0] for cell in cells] == [f"'{text}" for text in HOSTILE[:6]] + HOSTILE[6:]
    assert {cell[1] for cell in cells} == {"-1.5"}
    write_rows(found, ["name", "value"], Format.markdown, None, tmp_path)
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) == len(HOSTILE) + 2
    assert r"a\|b" in shown and r"\<script>" in shown


def test_ties_are_shown_with_their_p_and_details_beneath(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    shown = call("leaderboard", "-m", "gem", "--details")[1]
    for row in rows(call, "-m", "gem"):
        assert not row["tied"] or f"  {row['candidate']} and {row['next_candidate']}: p " in shown
    for part in ("AUC, human against other-paper", "signature ", "human length", "tokens in"):
        assert part in shown


def test_details_have_the_published_interval_around_the_mean_over_pairs(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    (line,) = (line for line in call("leaderboard", "-m", "gem", "--details")[1].splitlines() if "published" in line)
    for row in rows(call, "-m", "gem"):
        if row["kind"] != "control":
            low, high = row["flat_low"], row["flat_high"]
            assert f"{row['candidate']} {(low + high) / 2:+.2f} ±{(high - low) / 2:.2f}" in line


def test_the_queries_of_the_documentation_answer(call):
    block = (ROOT / "docs" / "query.md").read_text().split("```sql\n")[1].split("```")[0]
    queries = [part.split("\n", 1)[1] for part in block.split("-- ")[1:]]
    answers = [call("sql", EDITION, query, "--format", "json") for query in queries]
    assert [code for code, _ in answers] == [0] * 6
    # The last names candidates of the sample, which are not on this board.
    assert all(json.loads(rows) for _, rows in answers[2:5])


@pytest.mark.parametrize("width", [80, 100, 130, 200])
def test_the_board_fits_the_columns_there_are_and_cuts_no_number(call, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    shown = call("leaderboard", "-m", "gem")[1]
    table = shown.split("\n\n")[1].splitlines()
    assert max(map(len, table)) <= width and "─" in table[1]
    heads = ["rank", "candidate", "score", "vs human", "p", "note"]
    found = [head for head in heads if re.search(rf"(^|  ){head}(  |$)", table[0])]
    assert len(found) > 3 and found == heads[: len(found)], "left out from the right, never renamed"
    for row in rows(call, "-m", "gem"):
        (line,) = [line for line in table[2:] if re.search(rf"\s{row['candidate']}\s+[+-]\d", line)]
        assert f"{row['score']:+.2f} ±{row['high'] - row['score']:.2f}" in line
        assert row["vs_human"] is None or f"{row['vs_human']:+.2f}" in line


def test_one_answer_comes_first_and_a_line_tells_of_each_other_metric_and_controls_stand_below(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    brief, whole = call("leaderboard")[1], call("leaderboard", "--all")[1]
    assert brief.splitlines()[:2] == [f"{EDITION} · GEM in nats · 16 papers", "No order: not validated."]
    assert "GEM-raw: No order: not validated" in brief and f"{EDITION} · GEM-raw in nats" not in brief
    assert f"{EDITION} · GEM-raw in nats" in whole
    report = json.loads(call("leaderboard", "--json")[1])
    assert report["headline"] == {"metric": "gem", "answer": "No order: not validated."}
    lines = call("leaderboard", "-m", "gem")[1].splitlines()
    human, generic = (
        next(k for k, line in enumerate(lines) if f" {name} " in f"{line} ") for name in ("human", "generic")
    )
    assert human < lines.index("controls") < generic


def test_the_headline_is_the_metric_that_the_settings_name_and_a_lack_of_its_board_is_said(state, tmp_path):
    use(OverlapLM())
    shutil.copytree(state, tmp_path, dirs_exist_ok=True, symlinks=True)

    def headline(*settings):
        """The first line on screen, what JSON says, and the page."""
        run(tmp_path, *settings)
        store, releases = Store(tmp_path, EDITION), ReleaseStore(tmp_path / "releases", EDITION)
        page = (publish_edition(store, releases, again=True).folder / "index.html").read_text()
        asked = ("leaderboard", "--state", tmp_path)
        return shown(*asked)[1].splitlines()[0], json.loads(shown(*asked, "--json")[1])["headline"], page

    line, told, page = headline("scoring.metrics=['gem', 'gem_raw']", "board.headline=gem_raw")
    assert line.startswith(f"{EDITION} · GEM-raw in nats") and told["metric"] == "gem_raw"
    assert page.index('aria-label="GEM-raw board"') < page.index('aria-label="GEM board"')
    lacks = "board.headline names bleu, which has no board here: gem comes first."
    line, told, page = headline("scoring.metrics=['gem', 'gem_raw']", "board.headline=bleu")
    assert (line, told["lacks"]) == (lacks, lacks) and lacks in page


def test_validated_metrics_come_first_in_every_form(state, tmp_path):
    store = Store(shutil.copytree(state, tmp_path / "state"), EDITION)

    def call(*arguments):
        return shown(*arguments, "--state", tmp_path / "state")

    (last,) = [row["signature_id"] for row in store.read(CURRENT_SIGNATURES) if row["metric"] == "gem_raw"]
    assert rows(call)[0]["metric"] == "gem"
    with store.lock("test"):
        verdict = {"signature_id": last, "verdict": "pass", "edition": "X-2020", "detail": "", "validated_at": now()}
        store.write(("put_validations", [verdict]))
        store.copy_for_readers()
    for more in ((), ("--board", "all")):
        assert rows(call, *more)[0]["metric"] == "gem_raw"
    assert call("leaderboard")[1].startswith(f"{EDITION} · GEM-raw in nats")
    assert next(csv.DictReader(io.StringIO(call("leaderboard", "-f", "csv")[1])))["metric"] == "gem_raw"


@pytest.fixture
def altered(state, tmp_path):
    """A function that runs statements on a copy of the state, in which every metric is validated, and the command."""
    store = Store(shutil.copytree(state, tmp_path / "altered"), EDITION)

    def altered(*statements):
        passed = "insert or replace into validations select signature_id, 'pass', 'X-2020', '', now() from signatures"
        with store.lock("test"):
            with store.transaction() as connection:
                for statement in (passed, *statements):
                    connection.execute(statement)
            store.copy_for_readers()
        return lambda *arguments: shown(*arguments, "--state", tmp_path / "altered")

    return altered


def test_a_caution_in_a_comparison_names_the_metrics_that_are_on_the_screen_and_no_other(altered):
    of_raw = (
        "candidate_id = 'model-a' and signature_id {} in (select signature_id from signatures where metric = 'gem_raw')"
    )
    few = "update profiles set median_lines = 1, human_lines = 9 where "
    call = altered("update profiles set median_lines = 9, human_lines = 9", few + of_raw.format(""))
    compare, caution = ("compare", "model-a", "model-b", "--edition", EDITION), "model-a: few judgments (1, human 9)"
    assert f"GEM-raw: {caution}" in call(*compare)[1].splitlines()
    assert call(*compare)[1].count("few judgments") == 1
    assert "few judgments" not in call(*compare, "--metric", "gem")[1]
    assert caution in call(*compare, "--metric", "gem_raw")[1].splitlines()
    assert caution in altered(few + of_raw.format("not"))(*compare)[1].splitlines(), "it holds under every metric"


def test_of_equal_scores_no_side_is_said_to_have_the_higher_mean(altered):
    twin = "(select value from scores s where s.candidate_id = 'model-a' and s.signature_id = scores.signature_id and s.reference_id = scores.reference_id)"
    call = altered(
        f"update scores set value = {twin} where candidate_id = 'model-b'", "update pair_tests set p_holm = 1"
    )
    for names in (("model-a", "model-b"), ("model-b", "model-a")):
        code, told = call("compare", *names, "--edition", EDITION, "--details")
        assert code == 0 and told.count("; the scores are equal on all 16 papers") == 2
        assert "higher" not in told


def test_a_reader_who_has_enough_is_no_fault(call, state):
    command = f"{sys.executable} -m gre_bench.cli.app leaderboard {EDITION} --details --state {state} | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT)
    assert (done.stdout.splitlines(), done.stderr) == ([f"{EDITION} · GEM in nats · 16 papers", "0"], "")


@pytest.mark.parametrize(
    ("seconds", "done", "told"), [(None, 3, ""), (120.0, 3, "about 2 min remaining"), (0.0, 9, ""), (5.0, 9, "")]
)
def test_the_bar_says_what_remains_only_where_the_run_knows(seconds, done, told):
    assert format_remaining_time({"remaining_s": seconds, "done": done, "due": 9}) == told

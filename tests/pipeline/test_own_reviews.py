"""Reviews that somebody brings: each mistake is one good line, `rank` says where they stand, `remove` leaves no trace."""

from __future__ import annotations

import csv
import json
import shlex
import shutil
from pathlib import Path

import pytest

from gre_bench.core.errors import UnfinishedError
from gre_bench.core.known_names import did_you_mean, nearest, resolved
from gre_bench.core.records import Written
from gre_bench.core.settings import load_over
from gre_bench.flows.annual_refresh import refresh
from gre_bench.pipeline import own_reviews
from gre_bench.pipeline.runs.job import Job
from gre_bench.store import INCLUDED_EDITION, TABLES, Store
from gre_bench.store.queries import KNOWN_CANDIDATES
from gre_bench.tasks import steps
from tests.cli.calling import call
from tests.flows.refreshing import (
    EDITION,
    add_reviews,
    assert_same,
    demo,
    query,
    refreshed,
    reviews_by,
    run,
    tables,
    use,
    with_papers_read,
)
from tests.scripted_lms import OverlapLM

DONE, BAD_INPUT, INCOMPLETE = 0, 2, 3
PROSE = "The method of paper {n} is sound and the writing is clear. However, the evaluation {n} is weak."


@pytest.fixture
def state(tmp_path, monkeypatch):
    use(OverlapLM())
    monkeypatch.setenv("GRE_BENCH_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return refreshed(tmp_path / "state")


@pytest.fixture(scope="module")
def by_rule(tmp_path_factory):
    """The sample, its judgments written by rule, scored by a scripted LM."""
    use(OverlapLM())
    state = tmp_path_factory.mktemp("by-rule")
    run(state, "writing.judgments=rule", "scoring.metrics=['gem', 'gem_s_abstract']", "scoring.chance=true")
    return state


@pytest.fixture
def ruled(by_rule, tmp_path, monkeypatch):
    use(OverlapLM())
    monkeypatch.setenv("GRE_BENCH_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(by_rule, tmp_path / "state")


def rows_of(papers=range(1, 17), **more):
    return [{"paper_id": f"s{n:02d}", "review": PROSE.format(n=n), **more} for n in papers]


def written(name: str, rows) -> Path:
    path = Path(name).absolute()
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows(rows)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def line(*arguments: object) -> str:
    """The one line of a command that is refused."""
    code, _, err = call(*arguments)
    assert code == BAD_INPUT, err
    assert err.count("\n") <= 1 and "Traceback" not in err
    return err.strip()


def rank(file, *more: object, name: str = "m") -> tuple[int, str, str]:
    return call("rank", file, "--edition", EDITION, "--as", name, *more)


def unranked(file, *more: object, name: str = "m") -> str:
    """The line with which `rank` refuses *file*."""
    return line("rank", file, "--edition", EDITION, "--as", name, *more)


def of_candidate(state, name: str, what: str = "count(*)") -> list[tuple]:
    return query(state, f"select {what} from reviews where candidate = '{name}'")


def test_columns_of_other_names_are_found_and_said(ruled):
    rows = [{"submission": row["paper_id"], "generated_review": row["review"]} for row in rows_of()]
    code, out, err = rank(written("mine.csv", rows), name="mine")
    assert code == 0, err
    assert 'paper_id is "submission"; review is "generated_review"' in out and "mine has rank" in out


def test_a_column_under_another_name_is_named_with_the_right_one(state):
    model = written("model.jsonl", rows_of(model="gpt-x"))
    assert 'no column candidate; perhaps --columns candidate="model"' in line("import", "reviews", model, "-e", EDITION)
    text = written("text.jsonl", [{"paper_id": "s01", "candidate": "m", "text": "Good."}])
    assert 'no column review; perhaps --columns review="text"' in line("import", "reviews", text, "-e", EDITION)
    assert query(state, "select count(*) from reviews where candidate <> 'human'") == [(0,)]


def test_reviews_by_nobody_are_refused_until_somebody_says_whose_they_are(state):
    file = written("mine.jsonl", [row | {"review_id": f"mine-{k}"} for k, row in enumerate(rows_of())])
    told = line("import", "reviews", file, "-e", EDITION)
    assert "nothing says whose reviews these are" in told and "--as NAME, or --human" in told
    assert "give one of the two" in line("import", "reviews", file, "-e", EDITION, "--as", "m", "--human")
    named = written("named.jsonl", rows_of(candidate="a"))
    told = line("import", "reviews", named, "-e", EDITION, "--human")
    assert "names its candidates itself, in its column candidate" in told
    assert call("import", "reviews", file, "-e", EDITION, "--as", "my-model")[0] == DONE
    assert of_candidate(state, "my-model") == [(16,)]


def test_csv_is_taken_wherever_json_lines_are(state):
    reviews, papers = written("r.csv", rows_of(candidate="m")), written("p.csv", [{"paper_id": "a", "title": "A"}])
    assert "16 reviews added" in call("import", "reviews", reviews, "-e", EDITION)[1]
    assert "1 papers added" in call("import", "papers", papers, "-e", "ICLR-2031", "--new")[1]


@pytest.mark.parametrize("kind", ["papers", "reviews"])
def test_an_edition_that_is_not_there_is_asked_for_and_near_ones_are_named(state, kind):
    file = written("rows.jsonl", rows_of(candidate="m"))
    told = line("import", kind, file, "-e", "SAMPEL-2026")
    assert f"no edition SAMPEL-2026 in {state}; did you mean {EDITION}?" in told and "--new" in told
    assert not (state / "editions" / "SAMPEL-2026").exists()
    assert "did you mean SAMPLE-2026?" in line("leaderboard", "SAMPEL-2026")
    assert "did you mean SAMPLE-2026?" in line("refresh", "-e", "SAMPEL-2026")


def test_unknown_papers_are_one_line_with_counts_and_examples(state):
    file = written("rows.jsonl", [row | {"paper_id": f"x{row['paper_id']}"} for row in rows_of(candidate="m")])
    code, _, err = call("import", "reviews", file, "-e", EDITION)
    assert code == BAD_INPUT
    (told,) = [one for one in err.splitlines() if "does not know" in one]
    assert "16 rows of 16 papers that SAMPLE-2026 does not know, such as xs01, xs02, xs03; 16 are known, such" in told
    assert "row 1" not in err
    file = written("settings.jsonl", [{"paper_id": "zz", "candidate": "m", "review": "x"}])
    told = line("refresh", "--no-prefect", "-e", EDITION, "--set", f"sources.reviews={file}")
    assert "does not know, such as zz" in told


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [("e.jsonl", "", "e.jsonl is empty: no row in it"), ("e.csv", "", "e.csv is empty: no row in it"),
     ("h.csv", "paper_id,candidate,review\n", "h.csv has columns and no row")],
)  # fmt: skip
def test_an_empty_file_says_so(state, name, content, told):
    Path(name).write_text(content)
    assert told in line("import", "reviews", name, "-e", EDITION)


def test_what_is_not_there_is_named_with_the_place_that_was_looked_at(state, tmp_path):
    told = line("import", "reviews", "nowhere/r.jsonl", "-e", EDITION)
    assert f"no file nowhere/r.jsonl; looked for {tmp_path}/nowhere/r.jsonl" in told
    Path("reviews.jsonl").write_text("")
    misspelt = line("import", "reviews", "reveiws.jsonl", "-e", EDITION)
    assert "no file reveiws.jsonl; did you mean reviews.jsonl?" in misspelt
    assert "is a folder, where a file is expected" in line("import", "papers", ".", "-e", EDITION)
    for command in (("status", EDITION), ("leaderboard", EDITION)):
        assert f"there is no folder {tmp_path}/elsewhere" in line(*command, "--state", "elsewhere")
    assert f"no editions in {tmp_path}/elsewhere" in line("leaderboard", "--state", "elsewhere")


def test_reviews_that_nobody_judges_end_incomplete_with_the_setting_that_helps(state):
    assert call("import", "reviews", written("r.jsonl", rows_of(candidate="m")), "-e", EDITION)[0] == DONE
    code, out, _ = call("refresh", "--no-prefect", "-e", EDITION, "--candidate", "m")
    assert code == INCOMPLETE
    assert "no judgments by sample-author" in out and "--set writing.judgments=rule" in out
    assert query(state, "select count(*) from scores where candidate_id = 'm' and value is not null") == [(32,)]


def test_the_end_of_a_name_is_enough_where_it_is_the_only_one(state):
    add_reviews(state, [*reviews_by("openai/gpt-4o"), *reviews_by("a/twin"), *reviews_by("b/twin")])
    assert call("refresh", "--no-prefect", "-e", EDITION, "--candidate", "gpt-4o", "--limit", "2")[0] == DONE
    found = query(state, "select distinct candidate_id from scores where candidate_id like '%gpt%'")
    assert found == [("openai/gpt-4o",)]
    told = line("refresh", "--no-prefect", "-e", EDITION, "--candidate", "twin")
    assert "twin may be a/twin or b/twin: name one of them in full" in told


def test_who_is_ranked_on_the_board_of_a_pilot_is_scored_on_its_papers(tmp_path, monkeypatch, state):
    assert own_reviews.limit_of(Store(state, EDITION)) is None
    pilot = tmp_path / "pilot"
    monkeypatch.setenv("GRE_BENCH_STATE", str(pilot))
    run(with_papers_read(pilot), "writing.judgments=rule", "scoring.metrics=['gem']", limit=4)
    assert own_reviews.limit_of(Store(pilot, EDITION)) == 4
    assert rank(written("mine.csv", rows_of()))[0] == DONE
    scored = "select count(distinct paper_id) from scores where candidate_id = 'm' and value is not null"
    assert query(pilot, scored) == [(4,)]


def test_a_misspelt_candidate_is_told_with_the_nearest_first(state):
    comparison = ("compare", "hunam", "generic", "--edition", EDITION)
    for command in (("why", EDITION, "gem", "hunam"), comparison, ("remove", EDITION, "hunam")):
        assert "has no candidate hunam; known, nearest first: human, " in line(*command)


def test_a_candidate_that_lacks_papers_is_told_with_how_many_and_which(state):
    add_reviews(state, reviews_by("half", range(1, 8)))
    code, out, _ = call("refresh", "--no-prefect", "-e", EDITION, "--candidate", "half")
    assert code == DONE
    told = "half: no review of 9 of 16 papers (s08, s09, s10, ...); import them for a rank"
    assert told in out and told in call("leaderboard", EDITION)[1]


def test_names_are_found_by_their_nearness():
    assert nearest("openai/gpt4", ["human", "openai/gpt-4o", "b/gpt-4"])[0] == "openai/gpt-4o"
    assert did_you_mean("NEW-2026", ["SAMPLE-2026"]) == "known: SAMPLE-2026"
    assert did_you_mean("gem-s", ["gem", "gem_s_abstract"]) == "did you mean gem_s_abstract?"
    assert resolved("x", ["x", "a/x"], "no") == "x"


@pytest.mark.parametrize("relative", [False, True])
def test_rank_takes_a_csv_and_answers_on_one_screen(ruled, relative, monkeypatch):
    if relative:
        monkeypatch.setenv("GRE_BENCH_STATE", ruled.name)  # as the default is
    code, out, _ = rank(written("mine.csv", rows_of()), name="my-model")
    assert code == DONE
    for part in (
        "mine.csv: reviews by my-model; columns read: paper_id, review", "papers: 16 of the 16 of SAMPLE-2026",
        "judgments a review: ", "(human ", "my-model has rank ", "against human: ", "against chance, ",
        "best papers: ", "worst: ", "next:", f"gre-bench compare my-model human --edition {EDITION}",
    ):  # fmt: skip
        assert part in out
    assert all(len(one) <= 80 for one in out.splitlines())
    assert len(out.splitlines()) <= 24
    board = json.loads(call("leaderboard", EDITION, "--json")[1])["rows"]
    (own,) = [row for row in board if (row["candidate"], row["metric"]) == ("my-model", "gem")]
    assert f"{own['rank']} of 2" in out and f"{own['score']:+.2f}" in out


def test_the_next_commands_of_rank_run_whatever_folder_the_state_is_in(ruled, monkeypatch):
    monkeypatch.delenv("GRE_BENCH_STATE")
    monkeypatch.setenv("COLUMNS", "400")
    _, out, _ = rank(written("mine.csv", rows_of()), "--state", ruled, name="my-model")
    commands = [shlex.split(line) for line in out.partition("next:")[2].splitlines() if "gre-bench " in line]
    assert [words[1] for words in commands] == ["why", "compare", "leaderboard"]
    for words in commands:
        code, _, said = call(*words[1:])
        assert code == DONE, (words, said)


def test_rank_reads_a_folder_of_texts_and_names_what_is_missing(ruled):
    Path("mine").mkdir()
    for row in rows_of(range(1, 5)):
        Path("mine", f"{row['paper_id']}.txt").write_text(row["review"])
    Path("mine", "zz.md").write_text("The method is sound.")
    code, out, _ = rank("mine", name="my-model")
    assert code == DONE
    assert "papers: 4 of the 16" in out and "without a review: 12 (" in out and "no rank: only 8 of 32 pairs" in out
    assert "1 row of 1 paper that SAMPLE-2026 does not know, such as zz" in " ".join(out.split())


def test_rank_as_json_holds_what_was_understood_and_where_it_stands(ruled):
    told = json.loads(rank(written("mine.jsonl", rows_of()), "--json")[1])
    assert (told["understood"]["matched"], told["understood"]["lacking"]) == (16, [])
    assert {row["metric"] for row in told["rows"]} == {"gem", "gem_s_abstract"}
    assert len(told["papers"]) == 16 and told["summary"]["outcome"] == "done"


def test_of_a_file_with_several_candidates_the_one_that_is_named_is_ranked(ruled):
    for column in ("candidate", "model"):
        file = written("two.jsonl", [*rows_of(**{column: "a/x"}), *rows_of(**{column: "a/y"})])
        assert "2 candidates, and none is called z" in unranked(file, name="z")
    assert rank(file, name="a/x")[0] == DONE
    assert query(ruled, "select distinct candidate from reviews where candidate <> 'human'") == [("a/x",)]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("--edition", "SAMPEL-2026", "--as", "m"), "did you mean SAMPLE-2026?"),
        (("--edition", EDITION, "--as", "human"), "human is the baseline"),
        (("--edition", EDITION, "--as", "generic"), "generic is a control"),
        (("--edition", EDITION, "--as", "a b"), "a candidate cannot be called a b"),
    ],
)
def test_rank_refuses_what_cannot_be_ranked(ruled, arguments, part):
    assert part in line("rank", written("mine.csv", rows_of()), *arguments)


def test_rank_stores_nothing_of_a_file_without_a_paper_of_the_edition(ruled):
    file = written("mine.csv", [row | {"paper_id": f"x{row['paper_id']}"} for row in rows_of()])
    assert "has no review of a paper of SAMPLE-2026: 16 rows of 16 papers" in unranked(file)
    assert of_candidate(ruled, "m") == [(0,)]


def test_without_the_writer_of_the_edition_rank_stops_and_the_edition_by_rule_that_it_offers_can_be_made(state):
    file = written("mine.csv", rows_of())
    told = unranked(file)
    assert "scored with judgments by sample-author, which these settings do not name, and 16 of these reviews" in told
    assert of_candidate(state, "m") == [(0,)]
    offered = shlex.split(told.partition("which you make once: ")[2])
    assert offered[:4] == ["gre-bench", "refresh", "--edition", f"{EDITION}-rule"]
    assert call(*offered[1:], "--no-prefect")[0] == DONE
    assert call("rank", file, "--edition", f"{EDITION}-rule", "--as", "m")[0] == DONE
    assert rank(written("judged.jsonl", reviews_by("m")))[0] == DONE


def test_nothing_is_scored_while_judgments_are_still_to_be_written(ruled):
    add_reviews(ruled, rows_of(candidate="m"))
    silent = steps.undecorated()
    silent.write_judgments = lambda name, writer_context, items: [
        Written(item, None, "failed", "connection refused", final=False) for item, _ in items
    ]
    chosen = load_over(json.loads(query(ruled, "select settings from runs where command = 'refresh'")[0][0]))
    scores = query(ruled, "select count(*) from scores")
    with pytest.raises(UnfinishedError, match="texts of m are still to be .*connection refused.*Nothing was scored"):
        refresh(Job(chosen, ruled, ("m",), texts_first=True), silent)
    assert query(ruled, "select count(*) from scores") == scores
    assert query(ruled, "select outcome from runs order by started_at desc limit 1") == [("incomplete",)]


def left(state):
    """All that is in the store besides the records of runs, in a fixed order."""
    skipped = {"runs", "imports", "meta", "problems"}
    of_runs = "select distinct table_name from duckdb_columns() where column_name = 'run_id'"
    with Store(state, EDITION).transaction() as connection:
        with_run = {name for (name,) in connection.execute(of_runs).fetchall()}
        columns = {name: "* exclude (run_id)" if name in with_run else "*" for name in TABLES if name not in skipped}
        found = {name: connection.execute(f"select {wanted} from {name} order by all").fetchall()
                 for name, wanted in columns.items()}  # fmt: skip
    return found | tables(state)


def test_who_is_removed_leaves_the_store_as_it_was(ruled):
    before = left(ruled)
    assert rank(written("mine.csv", rows_of()), name="me/mine")[0] == DONE
    assert "16 reviews" in line("remove", EDITION, "mine") and "--yes" in line("remove", EDITION, "mine")
    code, out, _ = call("remove", EDITION, "mine", "--yes")
    assert (code, "removed me/mine from SAMPLE-2026: 16 reviews, 16 judgments" in out) == (DONE, True)
    assert_same(left(ruled), before)
    assert "me/mine" not in call("leaderboard", EDITION)[1]
    left_over = [row["candidate"] for row in Store(ruled, EDITION).read(KNOWN_CANDIDATES)]
    assert left_over == ["generic", "human", "other-paper"]


def test_two_candidates_are_compared_on_the_one_edition_that_has_both(ruled):
    assert rank(written("mine.csv", rows_of()), name="me/mine")[0] == DONE
    assert call("import", "release", INCLUDED_EDITION)[0] == DONE
    code, out, _ = call("compare", "mine", "human")
    assert code == DONE and f"me/mine − human on {EDITION}" in out
    both_have = call("compare", "human", "generic")
    assert both_have[0] == 2 and "compare A B --edition EDITION" in both_have[2]


def test_a_removal_that_is_stopped_halfway_is_whole_after_the_next_refresh(ruled, monkeypatch):
    before = left(ruled)
    rank(written("mine.csv", rows_of()))

    def stop(*_):
        raise UnfinishedError("stopped")

    with monkeypatch.context() as stopped:
        stopped.setattr(own_reviews, "store_rank_statistics", stop)
        assert call("remove", EDITION, "m", "--yes")[0] == INCOMPLETE
    assert query(ruled, "select count(*) from rank_statistics") == [(0,)]
    assert call("refresh", "--no-prefect", "-e", EDITION)[0] == DONE
    assert_same(left(ruled), before)


def test_a_candidate_is_replaced_by_one_command_and_never_by_accident(ruled):
    rank(written("first.csv", rows_of(range(1, 9))))
    second = written("second.csv", [row | {"review": f"{row['review']} More."} for row in rows_of()])
    told = unranked(second)
    assert "m has other reviews of 8 of these papers" in told and "--replace" in told
    assert "say that you mean it with --yes" in unranked(second, "--replace")
    code, out, _ = rank(second, "--replace", "--yes")
    assert (code, "replaced: its 8 earlier reviews" in out) == (DONE, True)
    assert of_candidate(ruled, "m", "count(*), count(*) filter (text like '%More.')") == [(16, 16)]
    after = left(ruled)
    call("remove", EDITION, "m", "--yes")
    rank(second)
    assert_same(left(ruled), after)
    unranked(written("broken.csv", [{"paper_id": "zz", "review": "x"}]), "--replace", "--yes")
    assert_same(left(ruled), after)


def test_the_baseline_and_the_controls_cannot_be_removed(state):
    for name in ("human", "generic", "other-paper"):
        assert "cannot be removed" in line("remove", EDITION, name, "--yes")


def test_a_removal_says_what_would_bring_the_candidate_back(tmp_path):
    file = tmp_path / "r.jsonl"
    file.write_text('{"paper_id": "s01", "review": "x", "candidate": "m"}\n')
    chosen = demo("writing.candidates=['m', 'n']", f"sources.reviews={file}")
    notes = own_reviews.coming_back(chosen, "m")
    assert 'writing.candidates=["n"]' in notes[0] and str(file) in notes[1]
    assert own_reviews.coming_back(chosen, "other") == [], "no row of the file is its"

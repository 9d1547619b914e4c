"""Reviews that somebody brings: each mistake is one good line, `rank` says where they stand, `remove_candidate` leaves no trace."""

from __future__ import annotations

import csv
import json
import re
import shlex
import shutil
from functools import partial
from pathlib import Path

import duckdb
import pytest

import gre_bench
from gre_bench.core.errors import SettingsError, UnfinishedError
from gre_bench.core.known_names import require_known_name, sort_by_similarity, suggest_known_names
from gre_bench.core.records import WrittenText
from gre_bench.core.settings import load_recorded_settings
from gre_bench.pipeline import own_reviews
from gre_bench.pipeline.refreshing import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.store import INCLUDED_EDITION, TABLES, Store
from gre_bench.store.queries import BOARD_JUDGMENTS, KNOWN_CANDIDATES
from gre_bench.tasks import steps
from tests.cli.calling import call, shown
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


def work_in(folder, monkeypatch, source):
    """A copy of the state *source* in *folder*, which is where commands are then given."""
    use(OverlapLM())
    monkeypatch.setenv("GRE_BENCH_STATE", str(folder / "state"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(folder)
    return source(folder / "state")


@pytest.fixture
def state(tmp_path, monkeypatch):
    return work_in(tmp_path, monkeypatch, refreshed)


@pytest.fixture(scope="module")
def by_rule(tmp_path_factory):
    """The sample, its judgments written by rule, scored by a scripted LM."""
    use(OverlapLM())
    state = tmp_path_factory.mktemp("by-rule")
    run(state, "writing.judgments=rule", "scoring.metrics=['gem', 'gem_s_abstract']", "scoring.chance=true")
    return state


@pytest.fixture
def ruled(by_rule, tmp_path, monkeypatch):
    return work_in(tmp_path, monkeypatch, partial(shutil.copytree, by_rule))


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


@pytest.fixture(scope="module")
def mistaken(by_rule, tmp_path_factory):
    """A folder with that state and files of all kinds, to which nothing may be added."""
    folder = tmp_path_factory.mktemp("mistaken")
    shutil.copytree(by_rule, folder / "state")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        written("model.jsonl", rows_of(model="gpt-x"))
        written("text.jsonl", [{"paper_id": "s01", "candidate": "m", "text": "Good."}])
        written("mine.jsonl", [row | {"review_id": f"mine-{k}"} for k, row in enumerate(rows_of())])
        written("named.jsonl", rows_of(candidate="a"))
        written("elsewhere.jsonl", [row | {"paper_id": f"x{row['paper_id']}"} for row in rows_of(candidate="m")])
        written("two.jsonl", [*rows_of(candidate="a/x"), *rows_of(candidate="a/y")])
        for name, content in (("e.jsonl", ""), ("e.csv", ""), ("h.csv", "paper_id,candidate,review\n")):
            Path(name).write_text(content)
    return folder


@pytest.mark.parametrize(
    ("asked", "parts"),
    [
        ("import reviews model.jsonl -e {0}", ['no column candidate; perhaps --columns candidate="model"']),
        ("import reviews text.jsonl -e {0}", ['no column review; perhaps --columns review="text"']),
        (
            "import reviews mine.jsonl -e {0}",
            ["nothing says whose reviews these are", "--as NAME (with new: --candidate NAME=mine.jsonl), or --human"],
        ),
        ("import reviews mine.jsonl -e {0} --as m --human", ["give one of the two"]),
        ("import reviews named.jsonl -e {0} --human", ["names its candidates itself, in its column candidate"]),
        (
            "import papers named.jsonl -e SAMPEL-2026",
            ["no edition SAMPEL-2026 in {1}/state; did you mean {0}?", "--new"],
        ),
        (
            "import reviews named.jsonl -e SAMPEL-2026",
            ["no edition SAMPEL-2026 in {1}/state; did you mean {0}?", "--new"],
        ),
        ("leaderboard SAMPEL-2026", ["did you mean SAMPLE-2026?"]),
        ("refresh -e SAMPEL-2026", ["did you mean SAMPLE-2026?"]),
        ("refresh --no-prefect -e {0} --set sources.reviews=elsewhere.jsonl", ["does not know, such as xs01"]),
        ("import reviews e.jsonl -e {0}", ["e.jsonl is empty: no row in it"]),
        ("import reviews e.csv -e {0}", ["e.csv is empty: no row in it"]),
        ("import reviews h.csv -e {0}", ["h.csv has columns and no row"]),
        ("import reviews nowhere/r.jsonl -e {0}", ["no file nowhere/r.jsonl; looked for {1}/nowhere/r.jsonl"]),
        ("import reviews mnie.jsonl -e {0}", ["no file mnie.jsonl; did you mean mine.jsonl?"]),
        ("import papers . -e {0}", ["is a folder, where a file is expected"]),
        ("status {0} --state elsewhere", ["there is no folder {1}/elsewhere"]),
        ("leaderboard {0} --state elsewhere", ["there is no folder {1}/elsewhere"]),
        ("leaderboard --state elsewhere", ["no editions in {1}/elsewhere"]),
        ("why {0} hunam", ["has no candidate hunam; known, nearest first: human, "]),
        ("compare hunam generic --edition {0}", ["has no candidate hunam; known, nearest first: human, "]),
        ("remove {0} hunam", ["has no candidate hunam; known, nearest first: human, "]),
        ("remove {0} human --yes", ["cannot be removed"]),
        ("remove {0} generic --yes", ["cannot be removed"]),
        ("remove {0} other-paper --yes", ["cannot be removed"]),
        ("rank mine.jsonl --edition SAMPEL-2026 --as m", ["did you mean SAMPLE-2026?"]),
        ("rank mine.jsonl --edition {0} --as human", ["human is the baseline"]),
        ("rank mine.jsonl --edition {0} --as Human", ["human is the baseline"]),
        ("rank mine.jsonl --edition {0} --as=-x", ["candidate -x: a name that begins with - looks like an option"]),
        ("refresh --edition {0} --set edition.sample=small", ["and --set edition.sample=small name two editions"]),
        ("rank mine.jsonl --edition {0} --as generic", ["generic is a control"]),
        ("rank mine.jsonl --edition {0} --as 'a b'", ["a candidate cannot be called a b"]),
        ("rank two.jsonl --edition {0} --as z", ["2 candidates, and none is called z"]),
        (
            "rank elsewhere.jsonl --edition {0} --as m",
            ["has no review of a paper of SAMPLE-2026: 16 rows of 16 papers"],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_mistake_is_one_line_that_says_what_to_do_and_stores_nothing(mistaken, monkeypatch, asked, parts):
    use(OverlapLM())
    monkeypatch.chdir(mistaken)
    monkeypatch.setenv("GRE_BENCH_STATE", str(mistaken / "state"))
    told = line(*shlex.split(asked.format(EDITION)))
    for part in parts:
        assert part.format(EDITION, mistaken) in told
    assert query(mistaken / "state", "select count(*) from reviews where candidate <> 'human'") == [(0,)]
    assert [path.name for path in (mistaken / "state" / "editions").iterdir()] == [EDITION]


def test_unknown_papers_are_one_line_with_counts_and_examples(mistaken):
    code, _, err = call("import", "reviews", mistaken / "elsewhere.jsonl", "-e", EDITION, "--state", mistaken / "state")
    (told,) = [one for one in err.splitlines() if "does not know" in one]
    assert "16 rows of 16 papers that SAMPLE-2026 does not know, such as xs01, xs02, xs03; 16 are known, such" in told
    assert (code, "row 1" in err) == (BAD_INPUT, False)


def test_csv_is_taken_wherever_json_lines_are_and_reviews_that_nobody_judges_end_incomplete_with_what_helps(state):
    reviews, papers = written("r.csv", rows_of()), written("p.csv", [{"paper_id": "a", "title": "A"}])
    assert "16 reviews added" in call("import", "reviews", reviews, "-e", EDITION, "--as", "m")[1]
    assert of_candidate(state, "m") == [(16,)]
    assert "1 papers added" in call("import", "papers", papers, "-e", "ICLR-2031", "--new")[1]
    code, out, _ = call("refresh", "--no-prefect", "-e", EDITION, "--candidate", "m")
    assert code == INCOMPLETE
    assert "no judgments by sample-author" in out and "--set writing.judgments=rule" in out
    assert query(state, "select count(*) from scores where candidate_id = 'm' and value is not null") == [(32,)]


def test_the_end_of_a_name_is_enough_where_it_is_the_only_one_and_who_lacks_papers_is_told_which(state):
    add_reviews(state, [*reviews_by("openai/gpt-4o"), *reviews_by("a/twin"), *reviews_by("b/twin")])
    add_reviews(state, reviews_by("half", range(1, 8)))
    asked = ("refresh", "--no-prefect", "-e", EDITION, "--candidate")
    assert call(*asked, "gpt-4o", "--limit", "2")[0] == DONE
    found = query(state, "select distinct candidate_id from scores where candidate_id like '%gpt%'")
    assert found == [("openai/gpt-4o",)]
    assert "twin may be a/twin or b/twin: name one of them in full" in line(*asked, "twin")
    code, out, _ = call(*asked, "half")
    told = "half: no review of 9 of 16 papers (s08, s09, s10, ...); import them for a rank"
    assert code == DONE and told in out and told in call("leaderboard", EDITION)[1]


def test_who_is_ranked_on_the_board_of_a_pilot_is_scored_on_its_papers(tmp_path, monkeypatch, state):
    assert own_reviews.find_pilot_limit(Store(state, EDITION)) is None
    pilot = tmp_path / "pilot"
    monkeypatch.setenv("GRE_BENCH_STATE", str(pilot))
    run(with_papers_read(pilot), "writing.judgments=rule", "scoring.metrics=['gem']", limit=4)
    assert own_reviews.find_pilot_limit(Store(pilot, EDITION)) == 4
    assert rank(written("mine.csv", rows_of()))[0] == DONE
    scored = "select count(distinct paper_id) from scores where candidate_id = 'm' and value is not null"
    assert query(pilot, scored) == [(4,)]


def test_names_are_found_by_their_nearness():
    assert sort_by_similarity("openai/gpt4", ["human", "openai/gpt-4o", "b/gpt-4"])[0] == "openai/gpt-4o"
    assert suggest_known_names("NEW-2026", ["SAMPLE-2026"]) == "known: SAMPLE-2026"
    assert suggest_known_names("gem-s", ["gem", "gem_s_abstract"]) == "did you mean gem_s_abstract?"
    assert require_known_name("x", ["x", "a/x"], "no") == "x"


def test_rank_answers_on_one_screen_and_its_next_commands_run_whatever_folder_the_state_is_in(ruled, monkeypatch):
    monkeypatch.setenv("GRE_BENCH_STATE", ruled.name)  # relative, as the default is
    file = written("mine.csv", rows_of())
    code, out, _ = rank(file, name="my-model")
    assert code == DONE
    for part in (
        "mine.csv: reviews by my-model; columns read: paper_id, review", "papers: 16 of the 16 of SAMPLE-2026",
        "judgments a review: ", "(human ", "my-model has no rank on ", "against human: ", "against chance, ",
        "papers by lead over human: best ", "; worst ", "next:", f"gre-bench compare my-model human --edition {EDITION}",
    ):  # fmt: skip
        assert part in out
    assert all(len(one) <= 80 for one in out.splitlines())
    assert len(out.splitlines()) <= 24
    board = json.loads(call("leaderboard", EDITION, "--json")[1])["rows"]
    (own,) = [row for row in board if (row["candidate"], row["metric"]) == ("my-model", "gem")]
    assert f"{own['score']:+.2f}" in out and "not validated" in out
    monkeypatch.delenv("GRE_BENCH_STATE")
    monkeypatch.setenv("COLUMNS", "400")
    _, out, _ = rank(file, "--state", ruled, name="my-model")
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
    told = unranked("mine", name="my-model")
    assert (
        "1 row of mine cannot be used, so nothing was stored; 5 rows: 4 used · row 5 unknown paper zz; correct" in told
    )
    code, out, _ = rank("mine", "--partial", name="my-model")
    assert code == DONE
    assert (
        "papers: 4 of the 16" in out
        and "without a review: 12 (" in out
        and "no rank under GEM: only 8 of 32 pairs" in out
    )
    assert "1 row of 1 paper that SAMPLE-2026 does not know, such as zz" in " ".join(out.split())


def test_what_the_rule_cannot_read_is_told_with_its_papers_and_no_review_is_called_missing(ruled, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    lost = {
        "s01": "这篇论文缺少基线比较。",
        "s02": "- no baselines",
        "s03": "The proof is wrong, " + "and slow, " * 300,
    }
    rows = [row | {"review": lost.get(row["paper_id"], f"<p>{row['review']}</p>")} for row in rows_of()]
    file = written("odd.jsonl", rows)
    code, out, _ = rank(file)
    assert code == DONE
    losses = (
        "1 sentence longer than 2,000 characters: rule-judgments-4 reads no further (s03)",
        "13 of 16 reviews with HTML tags or entities, which rule-judgments-4 reads as text: ",
        "no judgment in 2 reviews (s01, s02): rule-judgments-4 reads English sentences",
    )
    assert all(f"\n{loss}" in out for loss in losses)
    assert "found no judgment in the reviews of s01, s02: give reviews that judge these papers, or let an LM" in out
    assert f"gre-bench refresh --edition {EDITION} --set writing.judgments=NAME" in out and "missing" not in out
    report = json.loads(rank(file, "--json")[1])
    assert report["lacking"] == {"no_review": [], "no_judgments": ["s01", "s02"]}
    code, out, _ = rank(written("few.jsonl", rows[1:]), name="few")
    assert "found no judgment in the reviews of s02: give reviews that judge these papers, and add the 1 missing" in out
    _, out, _ = rank(written("none.jsonl", [row | {"review": lost["s01"]} for row in rows]), name="none")
    assert "only 0 of 32 pairs scored; rule-judgments-4, which reads English sentences, found no judgment in" in out
    out = call("import", "reviews", file, "--edition", EDITION, "--as", "other")[1]
    assert all(f"\n{loss}" in out for loss in losses)


def test_reviews_that_are_stored_and_not_scored_name_the_command_that_scores_them(ruled, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    add = ("import", "reviews", written("mine.jsonl", rows_of()), "--edition", EDITION, "--as", "m")
    score = f"next: gre-bench refresh --edition {EDITION}"
    assert "not scored yet" not in call("status")[1]
    assert call(*add)[1].endswith(f"{score}   # score and rank them\n")
    out = call("status", EDITION)[1]
    assert "not scored yet: 16 reviews by m\n" in out and f"{score}\n" in out
    assert "next:" not in call(*add)[1], "nothing was added"
    assert call("refresh", "--no-prefect", "-e", EDITION)[0] == DONE
    assert "not scored yet" not in call("status", EDITION)[1]
    papers = written("p.csv", [{"paper_id": "a", "title": "A"}])
    out = call("import", "papers", papers, "-e", "ICLR-2031", "--new")[1]
    assert out.endswith("next: gre-bench import reviews FILE --edition ICLR-2031   # their reviews\n")


@pytest.mark.parametrize("end", ["paper_id\treview\ns01\tOne.\nTwo.\n", "paper_id\treview\ns01\tOne.\ns02\n"])
def test_rank_stores_nothing_of_a_file_with_a_row_that_cannot_be_used_until_it_is_told_to(ruled, end):
    good = written("mine.jsonl", rows_of())
    assert rank(good)[0] == DONE
    before = query(ruled, "select * from reviews order by review_id")
    Path("cut.tsv").write_text(end)
    told = unranked("cut.tsv", "--replace", "--yes")
    assert "1 row of cut.tsv cannot be used, so nothing was stored; 2 rows: 1 used · row 2: it has 1 cells" in told
    assert told.endswith("or leave them out with --partial")
    reasons = json.loads(Path(re.search(r"reasons: (.+?)\)", told)[1]).read_text())
    assert (reasons["number"], reasons["reason"]) == (2, "it has 1 cells, and the heading has 2")
    assert query(ruled, "select * from reviews order by review_id") == before
    with pytest.raises(SettingsError, match="1 row of cut.tsv cannot be used"):
        gre_bench.rank("cut.tsv", EDITION, "m", replace=True, state=ruled)
    assert rank("cut.tsv", "--replace", "--yes", "--partial")[0] == DONE
    assert of_candidate(ruled, "m", "text") == [("One.",)]


def test_of_a_file_with_several_models_the_one_that_is_named_is_ranked_and_as_json_it_says_where_it_stands(ruled):
    file = written("two.jsonl", [*rows_of(model="a/x"), *rows_of(model="a/y")])
    assert "2 candidates, and none is called z" in unranked(file, name="z")
    told = json.loads(rank(file, "--json", name="a/x")[1])
    assert (told["understood"]["matched"], told["understood"]["lacking"]) == (16, [])
    assert {row["metric"] for row in told["rows"]} == {"gem", "gem_s_abstract"}
    assert len(told["papers"]) == 16 and told["summary"]["outcome"] == "done"
    assert query(ruled, "select distinct candidate from reviews where candidate <> 'human'") == [("a/x",)]


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


def test_nothing_is_scored_while_judgments_are_still_to_be_written(ruled, monkeypatch):
    def silent(name, writer_context, items):
        return [WrittenText(item, None, "failed", "connection refused", final=False) for item, _ in items]

    add_reviews(ruled, rows_of(candidate="m"))
    monkeypatch.setattr(steps, "write_judgments", silent)
    chosen = load_recorded_settings(
        json.loads(query(ruled, "select settings from runs where command = 'refresh'")[0][0])
    )
    scores = query(ruled, "select count(*) from scores")
    with pytest.raises(UnfinishedError, match="texts of m are still to be .*connection refused.*Nothing was scored"):
        refresh(Job(chosen, ruled, ("m",), texts_first=True))
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


def test_who_is_removed_even_after_a_stop_leaves_the_store_as_it_was(ruled, monkeypatch):
    before = left(ruled)
    rows = [{"submission": row["paper_id"], "generated_review": row["review"]} for row in rows_of()]
    code, out, err = rank(written("mine.csv", rows), name="me/mine")
    assert code == DONE, err
    assert 'paper_id is "submission"; review is "generated_review"' in out and "me/mine has no rank" in out
    # Two candidates are compared on the one edition that has both.
    assert call("import", "release", INCLUDED_EDITION)[0] == DONE
    code, out, _ = call("compare", "mine", "human")
    assert code == DONE and f"{EDITION} · me/mine against human" in out
    assert "compare A B --edition EDITION" in line("compare", "human", "generic")
    assert "16 reviews" in line("remove", EDITION, "mine") and "--yes" in line("remove", EDITION, "mine")

    def stop(*_):
        raise UnfinishedError("stopped")

    with monkeypatch.context() as stopped:
        stopped.setattr(own_reviews, "store_rank_statistics", stop)
        assert call("remove", EDITION, "mine", "--yes")[0] == INCOMPLETE
    assert query(ruled, "select count(*) > 0 from rank_statistics where candidate_id = 'me/mine'") == [(True,)]
    assert call("remove", EDITION, "mine", "--yes")[0] == DONE
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
    code, out, _ = call("remove", EDITION, "m", "--yes")
    assert (code, "removed m from SAMPLE-2026: 16 reviews, 16 judgments" in out) == (DONE, True)
    assert "m" not in call("leaderboard", EDITION)[1].split()
    left_over = [row["candidate"] for row in Store(ruled, EDITION).read(KNOWN_CANDIDATES)]
    assert left_over == ["generic", "human", "other-paper"]
    rank(second)
    assert_same(left(ruled), after)
    unranked(written("broken.csv", [{"paper_id": "zz", "review": "x"}]), "--replace", "--yes")
    assert_same(left(ruled), after)


def test_reviews_that_a_candidate_wrote_here_are_replaced_only_if_asked(ruled):
    file = written("mine.jsonl", rows_of())
    with duckdb.connect(Store(ruled, EDITION).file) as edition:
        edition.execute(
            "insert into replies values ('review', 's01:m', 'lab/m', 'ok', '', true, 0, null, null, false, '')"
        )
    assert f"m wrote its reviews for {EDITION} here: add --replace --yes to replace them" in unranked(file)
    assert rank(file, "--replace", "--yes")[0] == DONE
    assert of_candidate(ruled, "m") == [(16,)]


def test_a_removal_says_what_would_bring_the_candidate_back(tmp_path):
    file = tmp_path / "r.jsonl"
    file.write_text('{"paper_id": "s01", "review": "x", "candidate": "m"}\n')
    chosen = demo("writing.candidates=['m', 'n']", f"sources.reviews={file}")
    notes = own_reviews.explain_readdition(chosen, "m")
    assert 'writing.candidates=["n"]' in notes[0] and str(file) in notes[1]
    assert own_reviews.explain_readdition(chosen, "other") == [], "no row of the file is its"


TERSE = "The method is sound. However, the evaluation is weak."


def bring(state, review: str, candidate: str = "terse", **more: str) -> tuple[str, str]:
    """What an import of a *review* of each paper says, on standard output and on standard error."""
    file = state / "mine.jsonl"
    rows = [{"paper_id": f"s{n:02d}", "candidate": candidate, "review": review, **more} for n in range(1, 17)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, err = call("import", "reviews", file, "--edition", EDITION, "--state", state)
    assert code == 0, err
    return out, err


def test_an_import_describes_judgments_against_the_humans_and_warns_of_few_and_of_none(tmp_path):
    state = with_papers_read(tmp_path)
    out, err = bring(state, TERSE)
    line = next(line for line in out.splitlines() if line.startswith("terse: "))
    assert "in 16 of 16 reviews" in line and "judgments a review: 2 (human" in line and "words kept: " in line
    assert "such as: The reviewer " in line
    assert "terse: fewer than half of the humans' judgments a review" in err
    assert query(state, "select count(*) from judgments") == [(0,)], "nothing is written by an import"
    out, _ = bring(state, "Hello.", "silent")
    assert "silent: rule-judgments-" in out and "finds no judgment in 16 reviews" in out
    given = {"judgments": "The reviewer appreciates the sound method.", "writer": "somebody"}
    out, err = bring(state, TERSE, "given", **given)
    assert "somebody finds judgments in 16 of 16 reviews; judgments a review: 1;" in out
    assert "fewer than half" not in err, "no human review has judgments by somebody"


def test_reviews_that_judge_nothing_count_as_no_judgment_and_as_no_word_kept_whoever_judges(ruled):
    """Four of a file's 16 reviews are blank to the rule. A review that an LM could not judge counts the same."""
    rows = rows_of(candidate="half") + rows_of(candidate="full")
    for place, text in zip(range(4), ("-", "ok", "Fine", "..."), strict=True):
        rows[place]["review"] = text
    path = written("half.jsonl", rows)
    _, out, _ = call("import", "reviews", path, "--edition", EDITION)
    run(ruled, "writing.judgments=rule", "scoring.metrics=['gem', 'gem_s_abstract']", "scoring.chance=true")
    columns = "candidate, asked, unusable, judged, unparsable, median_lines, covered"
    found = query(ruled, f"select {columns} from leaderboard where metric = 'gem' and candidate in ('half', 'full')")
    of = {name: row for name, *row in found}
    assert of["full"][:5] == [16, 0, 16, 0, 2.0]
    assert of["half"][:5] == [16, 4, 16, 4, 2.0]
    assert of["half"][5] == pytest.approx(of["full"][5] * 12 / 16, abs=0.01)
    assert f"words kept: {of['half'][5]:.0%}" in out and f"words kept: {of['full'][5]:.0%}" in out
    query(ruled, "update replies set outcome = 'unparsable' where outcome = 'no_judgments'")
    writer = query(ruled, "select distinct writer from judgments")[0][0]
    judged = {row["candidate_id"]: row for row in Store(ruled, EDITION).rows(BOARD_JUDGMENTS, writer=writer)}
    assert (judged["half"]["unparsable"], judged["half"]["covered"]) == (4, of["half"][5])


def test_where_an_lm_writes_nothing_is_bought_to_be_described(tmp_path):
    state = refreshed(tmp_path)
    with_settings = json.dumps({"writing": {"judgments": "some-model"}})
    query(state, f"update runs set settings = '{with_settings}' where command = 'refresh'")
    assert f"judgments: some-model writes them when {EDITION} is refreshed" in bring(state, TERSE)[0]


def test_the_board_flags_a_candidate_with_few_judgments_and_names_the_writer(tmp_path, monkeypatch):
    """Two judgments a review where the human reviews of the sample have twelve."""
    use(OverlapLM())
    state = refreshed(tmp_path)
    add_reviews(state, reviews_by("terse"))
    run(state, 'scoring.metrics=["gem"]')
    few = dict(query(state, "select candidate, few_lines from leaderboard where metric = 'gem'"))
    assert (few["terse"], few["human"]) == (True, False)
    for width in (60, 80, 160):
        monkeypatch.setenv("COLUMNS", str(width))
        words = " ".join(shown("leaderboard", EDITION, "--state", state)[1].split())
        assert re.search(r"few judgments \(\d+, human \d+\)", words)
    told = shown("leaderboard", EDITION, "--state", state, "--details")[1]
    assert "terse, a judgment by sample-author: The reviewer appreciates the experiments of paper" in told

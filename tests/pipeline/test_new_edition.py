"""An edition of one's own files is one command: all or nothing, and any import can be taken back."""

from __future__ import annotations

import csv
import json
import math
import re
import shlex
import shutil
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import openpyxl
import pymupdf
import pytest

import gre_bench
from gre_bench.pipeline import new_edition
from gre_bench.store import Store
from gre_bench.store.files import edition_lock
from gre_bench.store.queries import CURRENT_SIGNATURES, IMPORTS, KNOWN_CANDIDATES, LEADERBOARD, REVIEWS, SAMPLE
from tests.cli.calling import call
from tests.conftest import ROOT

GOOD, BAD_INPUT = 0, 2
PAPERS = [f"s{n:02d}" for n in range(1, 6)]


def text_of(paper, number):
    return (
        f"Summary: paper {paper} studies learning rates. Strengths: the proofs of part {number} are clear. "
        f"Weaknesses: the comparison of {paper} lacks baselines and the seeds are {number}."
    )


def written(folder):
    """*folder* with five papers as texts, two human reviews each under odd headers, and a candidate's JSON array."""
    (folder / "papers").mkdir()
    for paper in PAPERS:
        body = f"# On {paper}\n\n## Abstract\n\nWe study {paper} and its learning rate, with proofs.\n\n## Introduction\n\n"
        text = body + f"The method of {paper} works. We prove a bound for it.\n" * 20
        (folder / "papers" / f"{paper}.md").write_text(text)
    human_file(folder / "human.csv")
    rows = [{"Paper": f"{paper}.pdf", "Review text": text_of(paper, 3)} for paper in PAPERS]
    (folder / "mine.json").write_text(json.dumps(rows))
    return folder


def work_in(folder, patch):
    patch.chdir(folder)
    patch.setenv("GRE_BENCH_STATE", str(folder / "state"))
    return folder


@pytest.fixture
def files(tmp_path, monkeypatch):
    return work_in(written(tmp_path), monkeypatch)


@pytest.fixture(scope="module")
def new(tmp_path_factory):
    """A folder of such files, the edition that `NEW` makes of them, and what the command answered."""
    folder = written(tmp_path_factory.mktemp("new"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PREFECT_HOME", str(folder / "prefect"))
        work_in(folder, patch)
        return folder, call(*NEW)


@pytest.fixture
def made(new, tmp_path, monkeypatch):
    """A copy of that folder, for a test to go on from."""
    return work_in(shutil.copytree(new[0], tmp_path / "made"), monkeypatch)


def human_file(path, extra=()):
    with path.open("w", newline="") as out:
        write = csv.writer(out).writerow
        write(("Submission", "Reviewer #", "Main review", "Track"))
        for paper in PAPERS:
            for number in (1, 2):
                write((f"{paper}.pdf".upper(), number, text_of(paper, number), "main"))
        for row in extra:
            write(row)


def scores():
    """{(metric, candidate): score} of the board, where there is one."""
    board = gre_bench.leaderboard("OWN-2026").dropna(subset=["score"])
    return dict(zip(zip(board["metric"], board["candidate"], strict=True), board["score"], strict=True))


NEW = ("new", "OWN-2026", "--papers", "papers", "--human", "human.csv", "--candidate", "mine=mine.json")
COLUMNS = ("--columns", "review=Main review", "--columns", "paper_id=Submission", "--columns", "slot=Reviewer #")


def test_files_with_odd_columns_become_a_board_in_one_command(new, made):
    code, out, _ = new[1]
    assert code == GOOD, out
    for line in ("papers: 5 papers", "human.csv: 10 human reviews", 'review is "Main review"', "not read: Track",
                 "mine.json: 5 reviews by mine", "papers with at least 2 human reviews: 5 of 5", "OWN-2026 · GEM-S"):  # fmt: skip
        assert line in out
    assert len(Store(made / "state", "OWN-2026").read(SAMPLE)) == 10
    assert [*(made / "state").glob(".new-*")] == []
    code, out, _ = call("refresh", "--edition", "OWN-2026", "--no-prefect")
    assert (code, "0 pairs scored now" in out) == (GOOD, True)


def test_papers_with_one_human_review_become_a_board_of_the_ai_reviewers(files):
    rows = [{"Paper": f"{paper}.pdf", "Review text": text_of(paper, 1)} for paper in PAPERS]
    (files / "one.json").write_text(json.dumps(rows))
    other = [row | {"Review text": "Strengths: clear proofs. Weaknesses: no baselines."} for row in rows]
    (files / "theirs.json").write_text(json.dumps(other))
    options = ("--human", "one.json", "--candidate", "theirs=theirs.json")
    code, out, said = call(*NEW, *options)
    assert code == GOOD, said
    assert (
        "papers with at least 1 human review: 5 of 5 (1 a paper) it is the reference, so there is no human"
        in " ".join(out.split())
    )
    assert "No human candidate, and no AUC: each paper has one human review here, which is the reference." in out
    assert {name for _, name in scores()} == {
        "mine", "theirs", "generic", "other-paper", "extractive-full", "extractive-abstract",
    }  # fmt: skip
    # What a user asks for stays: two reviews a paper are none of these, three papers are the sample.
    fewer = call(*NEW[:1], "FEW-2026", *NEW[2:], *options, "--set", "edition.papers=3")
    assert (fewer[0], len(Store(files / "state", "FEW-2026").read(SAMPLE))) == (GOOD, 3)
    again = call(*NEW[:1], "TWO-2026", *NEW[2:], *options, "--set", "edition.min_reviews=2")
    assert (again[0], "an edition needs two papers with 2 human reviews each" in again[2]) == (BAD_INPUT, True)


def test_a_paper_with_one_review_joins_the_others_if_the_user_says_so(files):
    lines = (files / "human.csv").read_text().splitlines()
    (files / "human.csv").write_text("\n".join(lines[:-1]) + "\n")  # the last paper keeps one
    code, out, _ = call(*NEW, "--dry-run")
    told = " ".join(out.split())
    assert "papers with at least 2 human reviews: 4 of 5" in told and code == GOOD
    assert "--set edition.min_reviews=1 also takes papers with one, which is then the reference" in told
    code, out, said = call(*NEW, "--set", "edition.min_reviews=1")
    assert code == GOOD, said
    listed = call("import", "undo", "OWN-2026")[1]
    assert re.search(r"  2 .* human.csv: 9 reviews by human\n", listed) and "import undo OWN-2026 NUMBER" in listed
    board = gre_bench.leaderboard("OWN-2026", details=True)
    board = board[board["metric"] == "gem"].set_index("candidate")
    assert (board.loc["human", "expected"], board.loc["mine", "expected"]) == (4, 9)
    # Judgments by rule cost nothing; what an imported review cost, nobody knows.
    assert board.loc["human", "usd"] == 0 and math.isnan(board.loc["mine", "usd"])


REPLY = {"response": {"body": {"choices": [{"message": {"content": text_of("s01", 3)}}]}}}
BAD_FILES = {
    "a form that fits two entries": ([REPLY | {"custom_id": "s01", "doc_id": 1, "doc": {}, "resps": []}], "the form of a batch API's output and of"),
    "rows of two forms": ([REPLY | {"custom_id": "s01"}, {"paper_id": "s02", "review": "x y z"}], "row 2 has the form of a plain table"),
    "a list of lists": ([["s01", text_of("s01", 3)]], "row 1: not a JSON object"),
    "a nested list of lists": ([{"paper_id": "s01", "reviews": [["x"]]}], "reviews is a list of lists"),
    "nested cells that are no JSON": ([{"paper_id": "s01", "reviews_json": "[{'review': 'x'}]"}], "reviews_json is not JSON"),
    "thinking alone": ([{"paper_id": "s01", "review": f"<think>{text_of('s01', 3)}</think>"}], "review is thinking alone"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_that_holds_nothing_usable_says_why_in_one_line_and_stores_nothing(files, name):
    rows, reason = BAD_FILES[name]
    (files / "bad.json").write_text(json.dumps(rows))
    code, out, said = call(*NEW, "--candidate", "bad=bad.json")
    assert (code, "\n" in said.strip()) == (BAD_INPUT, False)
    assert reason in out + said and "HEADER" not in said
    assert not (files / "state" / "editions").exists()


@pytest.mark.parametrize(
    ("cell", "merged", "line"), [("=A2", None, "cell B2 is a formula"), ("x", "A2:A3", "A2:A3 are merged")]
)
def test_a_spreadsheet_with_formulas_or_merged_cells_is_one_line_and_stores_nothing(files, cell, merged, line):
    book = openpyxl.Workbook()
    for row in (["paper_id", "review"], ["s01", cell], ["s02", text_of("s02", 3)]):
        book.active.append(row)
    if merged:
        book.active.merge_cells(merged)
    book.save(files / "bad.xlsx")
    code, _, said = call(*NEW, "--candidate", "bad=bad.xlsx")
    assert (code, "\n" in said.strip(), line in said) == (BAD_INPUT, False, True)
    assert not (files / "state" / "editions").exists()


def test_a_file_over_its_bound_is_one_line_and_stores_nothing(files, monkeypatch):
    monkeypatch.setattr("gre_bench.ingest.records.row_files.LONGEST_ROW", 2000)
    (files / "bad.csv").write_text(f"paper_id,review\ns01,{'x ' * 2000}\n")
    code, _, said = call(*NEW, "--candidate", "bad=bad.csv")
    assert (code, "\n" in said.strip(), "bad.csv: a line is longer than" in said) == (BAD_INPUT, False, True)
    assert not (files / "state" / "editions").exists()


def test_a_row_that_cannot_be_used_stores_nothing_unless_the_user_says_partial(files):
    human_file(files / "human.csv", [("s99", 1, text_of("s99", 1), "main"), ("s01", 3, "", "main")])
    code, out, line = call(*NEW)
    assert code == BAD_INPUT
    assert "2 rows cannot be used, so nothing was stored" in line
    assert "12 rows: 10 used · row 11 unknown paper s99 · row 12 empty (s01)" in out
    assert not (files / "state" / "editions").exists()
    report = csv.DictReader((files / "state" / "new-OWN-2026.csv").open())
    refused = [(row["file"], row["row"]) for row in report if row["result"] == "refused"]
    assert refused == [("human.csv", "11"), ("human.csv", "12")]
    assert call(*NEW, "--partial")[0] == GOOD
    assert call(*NEW, "--partial")[2].startswith("edition OWN-2026 exists")


def test_a_dry_run_says_what_was_understood_and_stores_nothing(files):
    code, out, _ = call(*NEW, "--dry-run", "--json")
    report = json.loads(out)
    assert (code, report["refused"]) == (GOOD, 0)
    assert "human.csv: 10 human reviews" in report["understood"]
    assert not (files / "state").exists()
    assert Path(report["report"]).read_text().count("taken") == 20
    # Human reviews may be texts named by their paper.
    folder = files / "reviews"
    folder.mkdir()
    for paper in PAPERS:
        for number in (1, 2):
            (folder / f"{paper}-review{number}.txt").write_text(text_of(paper, number))
    code, out, _ = call(*NEW[:4], "--human", "reviews", "--dry-run")
    assert (code, "reviews: 10 human reviews" in out) == (GOOD, True)
    # Reviews with judgments by one writer need no writer.
    rows = [
        {"paper_id": paper, "slot": number, "judgments": f"The reviewer criticizes part {number} of {paper}.", "writer": "w"}
        for paper in PAPERS for number in (1, 2)
    ]  # fmt: skip
    (files / "human.json").write_text(json.dumps(rows))
    code, out, _ = call(*NEW[:4], "--human", "human.json", "--dry-run")
    assert (code, "metrics: gem, gem_s_abstract, gem_s_assw; judgments by w" in out) == (GOOD, True)


FORM = ["Number", "Summary", "What did you like?", "What is missing?"]


def form_file(path, delimiter=";", papers=PAPERS):
    """A form's export: three columns of text, headers that nobody could guess, and a last row without anything."""
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(FORM)
        for paper in papers:
            writer.writerows([paper, *(f"{part} {text_of(paper, n)}" for part in "abc")] for n in (1, 2))
        writer.writerow([""] * 4)
    return path


def test_one_refusal_names_all_that_is_unclear_in_all_files_and_the_options_in_it_suffice(files):
    form_file(files / "form.csv")
    (files / "odd.json").write_text(
        json.dumps([{"Paper": paper, "A": text_of(paper, 3), "B": text_of(paper, 4)} for paper in PAPERS])
    )
    command = (*NEW[:4], "--human", "form.csv", "--candidate", "m=odd.json", "--dry-run")
    code, _, said = call(*command)
    assert code == BAD_INPUT and "\n" not in said.strip()
    assert "form.csv: it is unclear which column holds the review: 3 columns" in said
    assert "odd.json: it is unclear which column holds the review: 2 columns" in said
    options = shlex.split(said.split("; use ")[1])
    assert options == [part for header in (*FORM[1:], "A", "B") for part in ("--columns", f"review={header}")]
    code, out, _ = call(*command, *options)
    assert code == GOOD and "form.csv: 10 human reviews" in out and "11 rows: 10 used · 1 blank" in out
    assert "odd.json: 5 reviews by m" in out


def organiser_files(folder):
    """An organiser's folder: twelve PDFs, a form's export, and AI reviews as XLSX, as a folder and as CSV."""
    papers = [f"p{n:02d}" for n in range(1, 13)]
    (folder / "pdfs").mkdir()
    for paper in papers:
        body = f"The method of {paper} works. We prove a bound for it.\n" * 20
        with pymupdf.open() as pdf:
            page = pdf.new_page()
            page.insert_text((72, 72), f"On {paper} and its bounds", fontsize=18)
            page.insert_text((72, 110), f"Abstract\nWe study {paper} and its learning rate, with proofs.", fontsize=10)
            page.insert_text((72, 150), f"1 Introduction\n{body}", fontsize=10)
            pdf.save(folder / "pdfs" / f"{paper}.pdf")
    form_file(folder / "form.csv", papers=papers)
    book = openpyxl.Workbook()
    book.active.append(["Paper", "Text of the review"])
    for paper in papers:
        book.active.append([f"{paper}.pdf", text_of(paper, 4)])
    book.save(folder / "tool.xlsx")
    (folder / "first").mkdir()
    for paper in papers:
        (folder / "first" / f"{paper}.md").write_text(text_of(paper, 5))
    with (folder / "second.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "output"], *([paper, text_of(paper, 6)] for paper in papers)])


def test_an_organiser_s_folder_becomes_a_board_by_the_one_command_of_the_documentation(tmp_path, monkeypatch):
    work_in(tmp_path, monkeypatch)
    organiser_files(tmp_path)
    (command,) = [
        " ".join(line.replace("\\\n", " ").split())
        for line in (ROOT / "docs" / "bring-your-reviews.md").read_text().split("```sh\n")
        if "--human form.csv" in line
    ]
    arguments = shlex.split(command.partition(" ```")[0], comments=True)
    code, out, said = call(*arguments[1:])
    assert code == GOOD, said
    told = " ".join(out.split())
    assert "pdfs: 12 papers" in told and "25 rows: 24 used · 1 blank" in told
    assert 'review is "Summary" + "What did you like?" + "What is missing?"' in told
    for file, name in (("tool.xlsx", "tool"), ("first", "first"), ("second.csv", "second")):
        assert f"{file}: 12 reviews by {name}" in told
    board = gre_bench.leaderboard("OWN-2026")
    assert {"human", "tool", "first", "second"} <= set(board["candidate"])


def test_a_question_about_a_column_is_asked_again_after_a_wrong_number(files, monkeypatch):
    form_file(files / "form.csv")
    answers, questions = iter(["9", "", "2, 3"]), []
    terminal = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr("gre_bench.cli.commands.new.sys", SimpleNamespace(stdin=terminal))
    monkeypatch.setattr("typer.prompt", lambda question, **_: questions.append(question) or next(answers))
    code, out, said = call(*NEW[:4], "--human", "form.csv", "--dry-run")
    assert code == GOOD, said
    assert questions == ["form.csv: which of these holds the review? Numbers, by commas"] * 3
    assert 'review is "What did you like?" + "What is missing?"' in out


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--human", "none.csv"), "no file or folder none.csv"),
        (("--papers", "state"), "state"),
        (("--candidate", "generic=mine.json"), "generic is a control"),
        (("--candidate", "mine.json"), "nothing says whose reviews these are"),
        (("--columns", "rating=Zz"), 'no file here has a column of that name'),
        (("--human", "mine.json"), "papers have one human review each, which is the reference, so there is nobody to rank"),
        (("--settings", "nothing.toml"), "nothing.toml"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_and_stores_nothing(files, options, line):
    code, out, said = call(*NEW[:6], *options)
    assert code == BAD_INPUT, out
    assert line in said
    assert "\n" not in said.strip()
    assert not (files / "state" / "editions").exists()


def test_a_folder_with_something_else_names_it(files):
    (files / "papers" / "notes.docx").write_text("x")
    (files / "papers" / "s01.txt").write_text("the same id")
    code, out, line = call(*NEW)
    assert code == BAD_INPUT
    assert "2 rows cannot be used" in line
    assert "7 rows: 5 used · row 1 file notes.docx: not a paper · row 3" in out


def test_a_failure_on_the_way_leaves_no_part_of_an_edition(files, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(new_edition, "make_snapshot", full)
    with pytest.raises(OSError, match="No space left"):
        call(*NEW)
    assert [path.name for path in (files / "state").iterdir()] == ["new-OWN-2026.csv"]


def test_undoing_papers_names_the_other_reviews_that_go_with_them(made):
    store = Store(made / "state", "OWN-2026")
    lost = Counter(review["candidate"] for review in store.read(REVIEWS))
    refused = call("import", "undo", "OWN-2026", "1")[2]
    assert f"take back papers from OWN-2026: 5 papers, {sum(lost.values())} other reviews of its papers (by " in refused
    assert all(name in refused for name in lost)
    code, out, _ = call("import", "undo", "OWN-2026", "1", "--yes", "--json")
    assert code == GOOD and {row["candidate"]: row["reviews"] for row in json.loads(out)["of_others"]} == lost
    assert store.read(REVIEWS) == []


def test_a_candidates_file_that_repeats_the_human_reviews_is_refused(files):
    code, _, err = call(*NEW[:-1], "human.csv")
    assert code == BAD_INPUT
    assert "human.csv: each of its rows repeats a row of an earlier file; if they are by one candidate, name it" in err


def test_any_import_is_taken_back_human_reviews_too_and_the_same_board_comes_again(made):
    store = Store(made / "state", "OWN-2026")
    before = scores()
    assert [row["reviews"] for row in store.read(IMPORTS)] == [0, 10, 5]
    code, out, _ = call("import", "undo", "OWN-2026")
    assert "  2 " in out
    assert "human.csv: 10 reviews by human" in out and "mine.json: 5 reviews by mine" in out
    assert "say that you mean it with --yes" in call("import", "undo", "OWN-2026", "2")[2]
    assert "has no import 9" in call("import", "undo", "OWN-2026", "9", "--yes")[2]
    code, out, _ = call("import", "undo", "OWN-2026", "2", "--yes")
    assert code == GOOD
    assert "took back human.csv from OWN-2026: 10 reviews" in out
    assert "next: gre-bench refresh --edition OWN-2026   # draws the sample and scores it again" in out
    assert {review["candidate"] for review in store.read(REVIEWS)} == {"mine", "extractive-full", "extractive-abstract"}
    assert store.read(SAMPLE) == []
    assert "nothing left to take back: taken back or replaced" in call("import", "undo", "OWN-2026", "2", "--yes")[2]
    assert call("import", "reviews", "human.csv", "-e", "OWN-2026", "--human", *COLUMNS)[0] == GOOD
    assert call("refresh", "--edition", "OWN-2026", "--no-prefect")[0] == GOOD
    assert scores() == pytest.approx(before)


def test_an_import_that_added_nothing_is_not_called_taken_back(made):
    (made / "unknown.json").write_text(json.dumps([{"Paper": "zz", "Review text": "The proof is wrong."}]))
    columns = ("--columns", "paper_id=Paper", "--columns", "review=Review text")
    for file in ("mine.json", "unknown.json"):
        call("import", "reviews", file, "-e", "OWN-2026", "--as", "mine", *columns)
    assert call("import", "undo", "OWN-2026", "3", "--yes")[0] == GOOD
    out = call("import", "undo", "OWN-2026")[1]
    assert re.search(r"  3 .* mine.json: taken back or replaced\n", out)
    assert re.search(r"  4 .* mine.json: added nothing\n", out) and re.search(
        r"  5 .* unknown.json: added nothing\n", out
    )
    assert "nothing left to take back: added nothing" in call("import", "undo", "OWN-2026", "4", "--yes")[2]


def test_what_the_rule_cannot_read_is_told_before_an_edition_is_made(files):
    rows = [{"Paper": paper, "Review text": f"<p>{text_of(paper, 3)}</p>"} for paper in PAPERS]
    (files / "mine.json").write_text(json.dumps(rows))
    told = " ".join(call(*NEW, "--dry-run")[1].split())
    assert "5 of 5 reviews with HTML tags or entities, which rule-judgments-4 reads as text" in told
    assert "HTML" not in call(*NEW, "--dry-run", "--set", "writing.judgments=some-lm")[1]


def test_what_killed_runs_left_is_cleared_unless_another_process_fills_it(files):
    left, filled = (files / "state" / f".new-{name}" for name in ("left", "filled"))
    left.mkdir(parents=True)
    with edition_lock("OWN-2025", filled / new_edition.LOCK, "new"):
        assert call(*NEW)[0] == GOOD
    assert (left.exists(), filled.exists()) == (False, True)


def test_taking_back_an_import_is_one_transaction(made, monkeypatch):
    write = Store.write

    def killed_afterwards(store, *steps):
        write(store, *steps)
        if "undo_import" in dict(steps):
            raise KeyboardInterrupt

    def candidates():
        return {row["candidate"] for row in Store(made / "state", "OWN-2026").read(KNOWN_CANDIDATES)}

    before = scores()
    with monkeypatch.context() as killed:
        killed.setattr(Store, "write", killed_afterwards)
        call("import", "undo", "OWN-2026", "3", "--yes")
    assert "mine" in candidates() and scores() == before
    assert call("import", "undo", "OWN-2026", "3", "--yes")[0] == GOOD
    assert "mine" not in candidates()


def test_taking_back_a_candidate_keeps_the_board_of_the_others(made):
    def above_chance():
        store = Store(made / "state", "OWN-2026")
        ids = [row["signature_id"] for row in store.read(CURRENT_SIGNATURES)]
        rows = store.read(LEADERBOARD, signature_ids=ids)
        return {(row["metric"], row["candidate"]): row["above_chance"] for row in rows if row["candidate"] != "mine"}

    before, chance = scores(), above_chance()
    assert any(value is not None for value in chance.values())

    def planned():
        (edition,) = json.loads(call("status", "OWN-2026", "--json")[1])
        return {row["metric"]: row["planned"] for row in edition["metrics"]}

    with_mine = planned()
    assert call("import", "undo", "OWN-2026", "3", "--yes")[0] == GOOD
    assert planned() == {metric: pairs - 2 * len(PAPERS) for metric, pairs in with_mine.items()}
    assert above_chance() == pytest.approx(chance)
    assert scores() == {name: score for name, score in before.items() if name[1] != "mine"}


def test_an_import_that_fails_leaves_no_edition(files):
    assert "is for gre-bench new --papers" in call("import", "papers", "papers", "-e", "OWN-2026", "--new")[2]
    assert "has no column paper_id" in call("import", "papers", "human.csv", "-e", "OWN-2026", "--new")[2]
    assert "no edition OWN-2026" in call("leaderboard", "OWN-2026")[2]
    code, _, _ = call("import", "reviews", "human.csv", "-e", "OWN-2026", "--new", "--human", *COLUMNS)
    assert (code, Store(files / "state", "OWN-2026").exists) == (BAD_INPUT, False)


def test_a_refresh_continues_what_new_had_begun(files, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("gre_bench.cli.commands.new.run_refresh", stopped)
    assert call(*NEW)[0] != GOOD
    monkeypatch.undo()
    monkeypatch.chdir(files)
    monkeypatch.setenv("GRE_BENCH_STATE", str(files / "state"))
    code, out, _ = call("refresh", "--edition", "OWN-2026", "--no-prefect")
    assert (code, "5 of 5 papers" in out) == (GOOD, True)

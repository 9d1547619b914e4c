"""Texts made to harm whoever reads them: every pair still ends, and nothing they hold steers, runs or is written astray."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from gre_bench.cli.views import screen
from tests.faults import endpoints
from tests.faults.endpoints import said
from tests.faults.hostile import CANDIDATES, EDITION, FORMULA, PAPERS, REFUSED, TEXTS, Tags, files, steering
from tests.faults.invariants import assert_accounted, assert_readable
from tests.faults.killing import by_lm
from tests.flows.refreshing import query, use
from tests.scripted_lms import OverlapLM
from tests.servers.chat import scripted_chat, written

pytestmark = pytest.mark.night

SQL = ("select paper_id, title, abstract, candidate, r.text, j.text as judged from papers p join reviews r using (paper_id) "
       "join judgments j using (review_id) order by all")  # fmt: skip


def hostile_reply(body: dict) -> str:
    """A reply of the kind that was asked for, with a hostile text in each of its places."""
    kinds = list(TEXTS.values())
    text = kinds[len(body["messages"][-1]["content"]) % len(kinds)]
    system = body["messages"][0]["content"]
    if "summarize each evaluation in the review" in system:
        return f"The reviewer appreciates {text}.\n{text}"
    if "<strengths_claimed_by_the_paper>" in system:
        return f"<strengths_claimed_by_the_paper>\n{text}\n</strengths_claimed_by_the_paper>\n<weaknesses_claimed_by_the_paper>\n{text}\n</weaknesses_claimed_by_the_paper>"
    return f"{text}\n\n{written(body)}"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder deep inside an empty one, so that what is written astray is seen; the program works in it."""
    top = tmp_path_factory.mktemp("hostile")
    work = top / "one" / "two" / "three" / "four"
    work.mkdir(parents=True)
    before = Path.cwd()
    os.chdir(work)
    yield top, work
    os.chdir(before)


@pytest.fixture(scope="module")
def told(place):
    """Exit code and all that was said, by command; the edition is imported, refreshed, published and looked at."""
    patch = pytest.MonkeyPatch()
    patch.setattr(screen, "out", screen.Console(width=20_000))
    patch.setattr(screen, "err", screen.Console(stderr=True, width=20_000))
    endpoints.hurry(patch)
    use(OverlapLM())
    _, work = place
    state, pictures = work / "state", work / "out"
    papers, reviews = files(work / "in")
    use_state = ("--state", state)
    found = {"import papers": said("import", "papers", papers, "--new", "--edition", EDITION, *use_state)}
    found["import reviews"] = said("import", "reviews", reviews, "--human", "--edition", EDITION, *use_state)
    again = ("import", "reviews", reviews, "--human", "--edition", EDITION, "--json", *use_state)
    found["import reviews again"] = said(*again)
    asked = ("refresh", "--edition", EDITION, "--no-prefect", "--set", "evaluation_lm.backend=scripted", *use_state)
    metrics = ("--set", "scoring.metrics=['gem', 'gem_raw', 'gem_s_abstract']")
    found["refresh"] = said(*asked, *metrics)
    with scripted_chat(write=hostile_reply) as server:
        by_server = by_lm(work / "in", server, "scoring.metrics=['gem', 'gem_s_assw']")
        found["refresh by an LM"] = said(*asked, *endpoints.with_settings(*by_server))
        assert server.count > len(PAPERS)
    for form in ("table", "json", "csv", "markdown"):
        found[f"leaderboard {form}"] = said("leaderboard", EDITION, "--format", form, *use_state)
        found[f"sql {form}"] = said("sql", EDITION, SQL, "--format", form, *use_state)
        found[f"replies {form}"] = said("sql", EDITION, "from replies", "--format", form, *use_state)
    pictures.mkdir()
    for name, asked in {
        "leaderboard parquet": ("leaderboard", EDITION, "--format", "parquet", "--out", pictures / "board.parquet"),
        "leaderboard details": ("leaderboard", EDITION, "--details", "--board", "all"),
        "csv file": ("sql", EDITION, SQL, "--format", "csv", "--out", pictures / "all.csv"),
        "status": ("status",),
        "status json": ("status", "--json"),
        "texts": ("papers", "texts", EDITION),
        "references": ("study", "references", EDITION),
        "publish": ("publish", EDITION, "--all-texts"),
        "publish what is free": ("publish", EDITION, "--out", work / "out" / "free"),
        "errata": ("publish", "--of", f"{EDITION}-r1", "--erratum", TEXTS["html"]),
        "errata, several lines": ("publish", "--of", f"{EDITION}-r1", "--erratum", TEXTS["terminal"]),
        "publish again": ("publish", EDITION, "--all-texts", "--again"),
        "plot": ("leaderboard", EDITION, "--figures", pictures / "figures"),
    }.items():
        found[name] = said(*asked, *use_state)
    for paper in PAPERS:
        asked = ("why", "--no-recount", *use_state, f"--paper={paper}", "--metric=gem", "--", EDITION, "human")
        found[f"why {paper}"] = said(*asked)
    for name in (*CANDIDATES, "scripted", "\x1b[2J", "../../none"):
        found[f"why {name}"] = said("why", "--no-recount", *use_state, "--metric=gem", "--", EDITION, name)
    patch.undo()
    return found


def test_sound_rows_are_taken_and_the_others_refused_one_by_one(told, place, trial):
    trial("hostile texts: names, ids, surrogates", "taken or refused with a reason, exit code 2")
    state = place[1] / "state"
    assert told["import papers"][0] == told["import reviews"][0] == 2
    report = told["import papers"][1]
    assert f"{len(PAPERS)} papers added" in report and f"{len(REFUSED) + 2} refused" in report and "1 blank" in report
    candidates = {row[0] for row in query(state, "select distinct candidate from reviews", EDITION)}
    assert candidates == {"human", "scripted", *CANDIDATES}
    titles = dict(query(state, "select paper_id, title from papers", EDITION))
    assert titles == dict(zip(PAPERS, TEXTS.values(), strict=True)), "a text is kept as it came"


def test_every_pair_of_hostile_texts_ends_with_a_score_or_a_reason(told, place, trial):
    trial("hostile texts: import, refresh, by files and by an LM", "done, every pair accounted for")
    assert told["refresh"][0] == told["refresh by an LM"][0] == 0, (told["refresh"], told["refresh by an LM"])
    assert_accounted(place[1] / "state", done=True, edition=EDITION)
    assert_readable(place[1] / "state", EDITION)


def test_every_command_ends_as_it_should_and_says_errors_in_one_line(told, trial):
    trial("hostile texts: every command that reads an edition", "right exit code, errors in one line", len(told))
    refused = {"errata, several lines", "import papers", "import reviews", "import reviews again"}
    for name, (code, _, err) in told.items():
        wrong = name in refused or "none" in name or "\x1b" in name
        assert code == (2 if wrong else 0), (name, code, err)
        assert "Traceback" not in err and (not err or name.startswith("import") or err.count("\n") == 1), (name, err)


def test_nothing_that_is_said_steers_a_terminal(told, trial):
    trial("hostile texts: escapes, bells, bidi, unseen marks on a terminal", "none said, in any format", len(told))
    for name, (_, out, err) in told.items():
        assert steering((out + err).replace("\r\n", "\n")) == [], name  # a line of CSV ends as RFC 4180 has it


def test_markup_stays_text_on_the_screen(told, trial):
    trial("hostile texts: markup of the screen's library", "shown as text")
    assert "[red]x[/red]" in told["sql table"][1] and "[link=http://evil.example]y[/link]" in told["sql table"][1]


def test_no_cell_is_a_formula_and_the_columns_stay_where_they_are(told, place, trial):
    trial("hostile texts: formulas in CSV, bars in Markdown", "no cell begins as a formula; as many columns a row", 4)
    file = (place[1] / "out" / "all.csv").read_text(encoding="utf-8")
    for text in (told["leaderboard csv"][1], told["sql csv"][1], file):
        rows = list(csv.reader(io.StringIO(text, newline="")))
        assert len({len(row) for row in rows}) == 1
        for cell in (cell for row in rows for cell in row):
            assert not FORMULA.match(cell) or _number(cell), cell
    for name in ("leaderboard markdown", "sql markdown"):
        lines = told[name][1].splitlines()
        assert len({line.replace(r"\\", "").replace(r"\|", "").count("|") for line in lines}) == 1, name
    for name in ("leaderboard json", "sql json", "status json", "import reviews again"):
        json.loads(told[name][1])
    assert set(pq.read_table(place[1] / "out" / "board.parquet")["candidate"].to_pylist()) >= set(CANDIDATES)


def test_a_page_holds_texts_and_runs_none(told, place, trial):
    _, work = place
    pages = sorted([*(work / "state" / "releases").rglob("*.html"), *(work / "out").rglob("*.html")])
    trial("hostile texts: pages of a release", "no element, attribute or script of theirs", len(pages))
    assert len(pages) >= 3 * (len(PAPERS) + 1)
    for page in pages:
        text = page.read_text(encoding="utf-8")
        tags = Tags(text)
        assert tags.active == [] and tags.scripts == text.count("<script") <= 2, (page.name, tags.active)
        assert not tags.tags & {"img", "iframe", "object", "embed", "form", "base"}, page.name
        assert "<script>alert" not in text
    for picture in [*(work / "state" / "releases").rglob("*.svg"), *(work / "out").rglob("*.svg")]:
        assert "<script" not in picture.read_text() and "onload" not in picture.read_text()


def test_files_are_written_where_they_belong_and_nowhere_else(told, place, trial):
    trial("hostile texts: ids and names that are paths", "files under the state and the asked-for folders alone")
    top, work = place
    allowed = (work / "state", work / "out", work / "in")
    written_ = (path for path in top.rglob("*") if path.is_file())
    assert [path for path in written_ if not any(map(path.is_relative_to, allowed))] == []
    assert not (top.parent / "x").exists()
    for path in top.rglob("*"):
        assert path.name.isprintable() and "\n" not in path.name, path
        assert not path.is_symlink() or path.resolve().is_relative_to(work), path


def test_logs_and_status_are_whole_lines_of_json(told, place, trial):
    trial("hostile texts: logs of runs", "one JSON object a line, nothing raw")
    logs = sorted((place[1] / "state" / "logs").glob("*.jsonl"))
    assert len(logs) >= 2
    for path in (*logs, *(place[1] / "state" / "editions" / EDITION).glob("*.json")):
        text = path.read_text(encoding="utf-8")
        assert steering(text) == []
        for line in text.splitlines() if path.suffix == ".jsonl" else [text]:
            json.loads(line)


@pytest.mark.night
@pytest.mark.timeout(900)
def test_texts_of_ten_megabytes_go_all_the_way(tmp_path, monkeypatch, trial):
    trial(
        "hostile texts: title, abstract, body, review and judgments of 10 MB",
        "done, every pair accounted for; published, explained",
    )
    monkeypatch.setattr(screen, "out", screen.Console(width=200))
    use(OverlapLM())
    state, whole = tmp_path / "state", "The reviewer appreciates a word after the other. " * (10 * 2**20 // 49)
    papers, reviews = tmp_path / "papers.jsonl", tmp_path / "reviews.jsonl"
    papers.write_text("".join(json.dumps({"paper_id": name, **dict.fromkeys(("title", "abstract", "text"), text)}) + "\n"
                              for name, text in (("large", whole), ("small", "A paper"))))  # fmt: skip
    rows = [{"paper_id": name, "slot": slot, "review": f"Review {slot}.", "judgments": f"The reviewer questions {slot} of {name}."}
            for name in ("large", "small") for slot in range(1, 4)]  # fmt: skip
    rows[0] |= {"review": whole, "judgments": whole.replace(". ", ".\n")}
    reviews.write_text("".join(json.dumps(row) + "\n" for row in rows))
    use_state = ("--state", state)
    for arguments in (
        ("import", "papers", papers, "--new", "--edition", EDITION),
        ("import", "reviews", reviews, "--human", "--edition", EDITION, "--writer", "w"),
        ("refresh", "--edition", EDITION, "--no-prefect", "--set", "evaluation_lm.backend=scripted", "--set", "scoring.metrics=['gem', 'gem_raw']"),
        ("leaderboard", EDITION),
        ("publish", EDITION, "--all-texts"),
        ("why", "--no-recount", "--checks", "--paper=large", EDITION, "human", "--metric=gem"),
    ):  # fmt: skip
        code, out, err = said(*arguments, *use_state)
        assert (code, err) == (0, ""), (arguments, code, err[-2000:])
        assert len(out) < 2**20, "nobody reads ten megabytes on a screen"
    assert_accounted(state, done=True, edition=EDITION)


def _number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True

"""No text leaves in a release but under a licence that lets anyone pass it on, whatever kind of text it is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import duckdb
import pytest

from gre_bench.ingest.snapshot import may_publish
from gre_bench.release.database import Additions, opened, write_database
from gre_bench.store import Store
from tests.cli.calling import call, shown
from tests.conftest import ROOT
from tests.flows.refreshing import use
from tests.scripted_lms import OverlapLM
from tests.servers.scripted_chat import MODEL, scripted_chat

SAMPLE = ROOT / "data"
CANARY = "Zyxomma"
YELP = [SAMPLE / "sample_yelp" / name for name in ("business.json", "reviews.json")]
FEW = ("--restaurants", "12", "--reviews-each", "3", "--min-reviews", "3", "--min-characters", "300")
FREE = "CC BY 4.0"
JUDGMENTS_OF_ASKED = "judgments where review_id like '%:asked'"


def rows_file(folder: Path, **columns: str) -> Path:
    file = folder / "rows.jsonl"
    file.write_text(json.dumps({"paper_id": "p1", **columns}) + "\n")
    return file


def papers(folder: Path) -> tuple[object, ...]:
    return "papers", rows_file(folder, title=f"{CANARY} t", abstract=f"{CANARY} a", text=f"{CANARY} x")


def human_reviews(folder: Path) -> tuple[object, ...]:
    file = rows_file(folder, review_id="r1", review=CANARY, judgments=f"The reviewer questions {CANARY}.")
    return "reviews", file, "--human", "--writer", "w", "--make-papers"


def candidates_reviews(folder: Path) -> tuple[object, ...]:
    file = rows_file(folder, candidate="m", review=CANARY, judgments=f"The reviewer questions {CANARY}.", writer="w")
    return "reviews", file, "--make-papers"


def folder_of_texts(folder: Path) -> tuple[object, ...]:
    (folder / "texts").mkdir()
    (folder / "texts" / "p1.txt").write_text(CANARY)
    return "reviews", folder / "texts", "--as", "m", "--make-papers"


def inspect_logs(folder: Path) -> tuple[object, ...]:
    pytest.importorskip("inspect_ai.log", reason="logs of inspect_ai need the extra `inspect`")
    from tests.ingest.records.test_inspect_logs import sample, written

    assert call("import", *papers(folder), "--edition", "X-2024", "--new", "--state", folder, "--licence", FREE)[0] == 0
    return "inspect", written(folder / "logs", "one.json", [sample("p1", f"{CANARY} by an LM.")])


def proposals(folder: Path) -> tuple[object, ...]:
    return "graded", SAMPLE / "sample_proposals" / "proposals.jsonl", "--domain", "proposals"


def restaurants(folder: Path) -> tuple[object, ...]:
    return "yelp", *YELP, *FEW


def notes(folder: Path) -> tuple[object, ...]:
    """Notes that state no licence, as those of OpenReview's API v1 do."""
    lines = (SAMPLE / "sample" / "notes.jsonl").read_text().splitlines()
    file = folder / "notes.jsonl"
    file.write_text("".join(json.dumps({**json.loads(line), "license": None}) + "\n" for line in lines))
    return "notes", file


KINDS = {
    papers: ("X-2024", CANARY),
    human_reviews: ("X-2024", CANARY),
    candidates_reviews: ("X-2024", CANARY),
    folder_of_texts: ("X-2024", CANARY),
    inspect_logs: ("X-2024", f"{CANARY} by an LM"),
    proposals: ("X-2024", "farmland"),
    restaurants: ("X-2024", "cashew dressing"),
    notes: ("SAMPLE-2026", "Strengths"),
}


def given_out(state: Path, edition: str) -> str:
    """All values of all tables that a release of the edition would have."""
    made = state / "made.duckdb"
    made.unlink(missing_ok=True)
    store = Store(state, edition)
    with store.lock("test"):
        store.copy_for_readers()
    write_database(store.read_file, made, Additions(), may_publish)
    with duckdb.connect(str(made), read_only=True) as run:
        tables = [row[0] for row in run.sql("select table_name from duckdb_tables()").fetchall()]
        return "\n".join(str(run.sql(f"from {name}").fetchall()) for name in tables)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_imported_texts_of_every_kind_are_withheld_until_a_free_licence_is_stated(tmp_path, kind):
    edition, words = KINDS[kind]
    command = ("import", *kind(tmp_path), "--edition", edition, "--state", tmp_path)
    command += () if kind is inspect_logs else ("--new",)
    for licence, goes_out in ((None, False), (FREE, True), ("CC BY-NC 4.0", False), (FREE, True), ("unknown", False)):
        code, said = shown(*command, *(("--licence", licence) if licence else ()))
        assert code == 0, said
        assert (words in given_out(tmp_path, edition)) is goes_out, licence
        if licence or kind is not notes:
            told = "unknown, so releases withhold" if licence in (None, "unknown") else f"{licence}; releases "
            assert f"licence: {told}" in said


@pytest.mark.parametrize("licence", ["", " CC0", "CC BY 4.0, CC0", "a\nb", "x" * 101, "\x1b[1m"])
def test_what_is_no_name_of_a_licence_is_one_line(tmp_path, licence):
    code, _, line = call("import", *papers(tmp_path), "--edition", "X-2024", "--new", "--state", tmp_path,
                         "--licence", licence)  # fmt: skip
    assert code == 2 and "is not a name such as CC BY 4.0" in line and "\n" not in line


def test_a_note_and_an_import_that_state_different_licences_give_no_permission(tmp_path):
    state = ("--edition", "SAMPLE-2026", "--state", tmp_path)
    assert call("import", "notes", SAMPLE / "sample" / "notes.jsonl", *state, "--new")[0] == 0
    (tmp_path / "rows.jsonl").write_text(json.dumps({"paper_id": "s01", "text": CANARY}) + "\n")
    for licence, goes_out in ((FREE, True), ("CC BY-NC 4.0", False)):
        assert call("import", "papers", tmp_path / "rows.jsonl", *state, "--licence", licence)[0] == 0
        assert (CANARY in given_out(tmp_path, "SAMPLE-2026")) is goes_out
    assert "'CC BY 4.0, CC BY-NC 4.0'" in given_out(tmp_path, "SAMPLE-2026")


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    """A board by an LM that is asked here, by an LM whose reviews are imported, and by a rule; of one paper no licence
    is known."""
    folder = tmp_path_factory.mktemp("licences")
    kept = []
    for line in (SAMPLE / "sample" / "notes.jsonl").read_text().splitlines():
        note = json.loads(line)
        kept.append(note | ({"license": None} if note["id"] == "s01" else {}))
    (folder / "notes.jsonl").write_text("".join(json.dumps(note) + "\n" for note in kept))
    use(OverlapLM())
    with scripted_chat() as chat:
        entry = f'[[model]]\nname = "asked"\nendpoint = "{chat.url}"\nmodel = "{MODEL}"\n'
        (folder / "models.toml").write_text(entry)
        yield folder


def published(folder: Path, name: str, *more: str) -> tuple[dict, Path]:
    """The report of a release of the board with further settings, and its folder."""
    state = folder / "state"
    settings = ("--settings", "demo", "--no-prefect", "--state", state, "--set", f"sources.notes={folder}/notes.jsonl",
                "--set", "evaluation_lm.backend=scripted", "--set", "writing.candidates=['asked','extractive-full']",
                "--set", f"writing.models={folder}/models.toml", "--set", "scoring.metrics=['gem','gem_s_assw']")  # fmt: skip
    more_settings = [part for setting in more for part in ("--set", setting)]
    code, said = shown("refresh", *settings, *more_settings)
    assert code == 0, said
    code, said = shown("publish", "SAMPLE-2026", "--state", state, "--json")
    assert code == 0, said
    report = json.loads(said)
    return report, Path(report["folder"])


def texts_of(folder: Path, query: str) -> tuple[int, int]:
    with opened(folder) as run:
        return run.sql(f"select count(text), count(*) from {query}").fetchall()[0]


def test_a_release_says_how_many_texts_of_each_candidate_go_out_and_under_what(board):
    report, folder = published(board, "r1")
    rights = {(row["texts"], row["candidate"], row["licence"]): (row["known"], row["shown"]) for row in report["texts"]}
    assert rights["papers", None, FREE] == (29, 29) and rights["papers", None, None] == (1, 0)
    assert rights["reviews", "asked", None] == (30, 0)
    assert rights["reviews", "human", FREE] == (90, 90)
    assert rights["reviews", "extractive-full", FREE] == (29, 29)
    assert rights["reviews", "extractive-full", None] == (1, 0)
    assert rights["reviews", "smollm2-135m", FREE][0] == rights["reviews", "smollm2-135m", FREE][1] > 0
    page = (folder / "index.html").read_text()
    (unknown,) = re.findall(r"<li>(.* reviews .*) under unknown licence: words are not here, their SHA-256 is", page)
    assert "asked 30" in unknown and "extractive-full 1" in unknown
    assert "29 papers under CC BY 4.0: words are here." in page
    # What is derived from a withheld text is withheld: judgments of a review; synopses and controls of a paper.
    assert texts_of(folder, JUDGMENTS_OF_ASKED)[0] == 0
    derived = "judgments where review_id = 's01:extractive-full'"
    assert texts_of(folder, derived) == (0, 1)
    assert texts_of(folder, "synopses where paper_id = 's01'") == (0, 1)
    assert texts_of(folder, "texts where paper_id = 's01'") == (0, 1)
    with duckdb.connect(str(board / "state" / "editions" / "SAMPLE-2026" / "read.duckdb"), read_only=True) as run:
        secret = run.sql(
            "select text from reviews where candidate = 'asked' union select text from reviews "
            "where candidate = 'extractive-full' and paper_id = 's01' union select j.text from judgments j join "
            "reviews r using (review_id) where candidate = 'asked' union select title from papers where paper_id = 's01'"
        ).fetchall()
        free = run.sql("select text from reviews where candidate = 'human' and paper_id = 's02'").fetchall()
        public = str(run.sql("select title, abstract from papers where paper_id <> 's01'").fetchall())
        public += str(run.sql("select text, abstract from texts where paper_id <> 's01'").fetchall())
        written = "judgments j join reviews r using (review_id) where candidate like 'reviewer-%'"
        public += str(run.sql(f"select j.text from {written}").fetchall())
    # Pages, Parquet, DuckDB, manifest and figures: no file spells a withheld text, and a free one is found.
    files = [path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".parquet"]
    files += [str(duckdb.read_parquet(str(path)).fetchall()).encode() for path in folder.rglob("*.parquet")]
    # The scripted LM quotes its paper and repeats itself: what a public paper or review says too is no secret.
    words = [piece for (text,) in secret for piece in _pieces(text) if piece not in public.replace("\\n", " ")]
    assert len(words) > 10
    assert [piece for piece in words if any(piece.encode() in file for file in files)] == []
    assert all(any(piece.encode() in file for piece in _pieces(text) for file in files) for (text,) in free)


def test_reviews_that_models_wrote_here_go_out_under_the_licence_of_the_settings(board):
    published(board, "r1")
    report, folder = published(board, "r2", f"writing.licence={FREE}")
    assert {"texts": "reviews", "candidate": "asked", "licence": FREE, "known": 30, "shown": 30} in report["texts"]
    assert texts_of(folder, JUDGMENTS_OF_ASKED)[0] > 0
    code, said = shown("verify", folder, "--store", "--state", board / "state")
    assert code == 0, said


def _pieces(text: str) -> list[str]:
    """Long pieces of a text without characters that HTML or Python would escape."""
    found = [piece.strip() for line in text.splitlines() for piece in line.replace('"', "'").split("'")]
    return [piece[:40] for piece in found if len(piece) > 40 and piece[:40].isascii() and "&" not in piece[:40]][:4]

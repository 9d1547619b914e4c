"""No text leaves in a release but under a licence that lets anyone pass it on, whatever kind of text it is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import duckdb
import pytest

from gre_bench.ingest.snapshot import is_redistributable
from gre_bench.release.public_tables import ReleaseOnlyTables, open_release_tables, write_public_tables
from gre_bench.store import Store
from tests.cli.calling import call, shown
from tests.conftest import ROOT, SIXTEEN
from tests.flows.refreshing import use
from tests.scripted_lms import OverlapLM
from tests.servers.chat import MODEL, scripted_chat

SAMPLE = ROOT / "data"
CANARY = "Zyxomma"
YELP = [SAMPLE / "sample_yelp" / name for name in ("business.json", "reviews.json")]
FEW = ("--restaurants", "12", "--reviews-each", "3", "--min-reviews", "3", "--min-characters", "300")
FREE = "CC BY 4.0"
JUDGMENT = f"The reviewer questions {CANARY}."


def rows_file(folder: Path, **columns: str) -> Path:
    file = folder / "rows.jsonl"
    file.write_text(json.dumps({"paper_id": "p1", **columns}) + "\n")
    return file


def arguments_of(kind: str, folder: Path) -> tuple[object, ...]:
    """What ``gre-bench import`` takes for texts of a *kind*, whose files are written to *folder*."""
    match kind:
        case "papers":
            return "papers", rows_file(folder, title=f"{CANARY} t", abstract=f"{CANARY} a", text=f"{CANARY} x")
        case "human reviews":
            file = rows_file(folder, review_id="r1", review=CANARY, judgments=JUDGMENT)
            return "reviews", file, "--human", "--writer", "w", "--make-papers"
        case "a candidate's reviews":
            file = rows_file(folder, candidate="m", review=CANARY, judgments=JUDGMENT, writer="w")
            return "reviews", file, "--make-papers"
        case "a folder of texts":
            (folder / "texts").mkdir()
            (folder / "texts" / "p1.txt").write_text(CANARY)
            return "reviews", folder / "texts", "--as", "m", "--make-papers"
        case "logs of inspect_ai":
            pytest.importorskip("inspect_ai.log", reason="logs of inspect_ai need the extra `inspect`")
            from tests.ingest.records.test_inspect_logs import sample, written

            papers = ("import", *arguments_of("papers", folder), "--edition", "X-2024", "--new", "--state", folder)
            assert call(*papers, "--licence", FREE)[0] == 0
            return "inspect", written(folder / "logs", "one.json", [sample("p1", f"{CANARY} by an LM.")])
        case "proposals":
            return "graded", SAMPLE / "sample_proposals" / "proposals.jsonl", "--domain", "proposals"
        case "restaurants":
            return "yelp", *YELP, *FEW
    # Notes that state no licence, as those of OpenReview's API v1 do.
    return "notes", notes_file(folder, without=None)


def notes_file(folder: Path, without: str | None) -> Path:
    """The notes of the sample, of which that of the paper *without* states no licence (None: no note does)."""
    notes = [json.loads(line) for line in (SIXTEEN / "notes.jsonl").read_text().splitlines()]
    lacking = [note | ({"license": None} if without in (None, note["id"]) else {}) for note in notes]
    (folder / "notes.jsonl").write_text("".join(json.dumps(note) + "\n" for note in lacking))
    return folder / "notes.jsonl"


KINDS = {
    "papers": f"{CANARY} a", "human reviews": CANARY, "a candidate's reviews": CANARY, "a folder of texts": CANARY,
    "logs of inspect_ai": f"{CANARY} by an LM", "proposals": "farmland", "restaurants": "cashew dressing",
    "notes": "Strengths",
}  # fmt: skip
"""Kinds of texts, with words of each."""


def given_out(state: Path, edition: str, scores_only: bool = False) -> str:
    """All values of all tables that a release of the edition would have."""
    made = state / "made.duckdb"
    made.unlink(missing_ok=True)
    store = Store(state, edition)
    with store.lock("test"):
        store.copy_for_readers()
    write_public_tables(store.read_file, made, ReleaseOnlyTables(), is_redistributable, scores_only=scores_only)
    with duckdb.connect(str(made), read_only=True) as run:
        tables = [row[0] for row in run.sql("select table_name from duckdb_tables()").fetchall()]
        return "\n".join(str(run.sql(f"from {name}").fetchall()) for name in tables)


@pytest.mark.parametrize("kind", KINDS)
def test_imported_texts_of_every_kind_are_withheld_until_a_free_licence_is_stated(tmp_path, kind):
    edition = "SAMPLE-2026" if kind == "notes" else "X-2024"
    command = ("import", *arguments_of(kind, tmp_path), "--edition", edition, "--state", tmp_path)
    command += () if kind == "logs of inspect_ai" else ("--new",)
    stated = [(None, False), (FREE, True), ("CC BY-NC 4.0", False)]
    if kind == "papers":
        stated += [(FREE, True), ("unknown", False)]
    for licence, goes_out in stated:
        code, said = shown(*command, *(("--licence", licence) if licence else ()))
        assert code == 0, said
        assert (KINDS[kind] in given_out(tmp_path, edition)) is goes_out, licence
        if licence or kind != "notes":
            told = "unknown, so releases withhold" if licence in (None, "unknown") else f"{licence}; releases "
            assert f"licence: {told}" in said


@pytest.mark.parametrize("kind", ["papers", "notes"])
def test_titles_of_own_papers_go_out_under_any_licence_and_titles_of_notes_do_not(tmp_path, kind):
    """Whoever publishes own papers tells their titles, which are facts; not one more word, and none with scores only."""
    edition, title = ("X-2024", f"{CANARY} t") if kind == "papers" else ("SAMPLE-2026", "Trust Before Speed")
    command = ("import", *arguments_of(kind, tmp_path), "--edition", edition, "--state", tmp_path, "--new")
    for licence in (None, "CC BY-NC 4.0"):
        assert call(*command, *(("--licence", licence) if licence else ()))[0] == 0
        assert (title in given_out(tmp_path, edition)) is (kind == "papers")
        assert title not in given_out(tmp_path, edition, scores_only=True)
    if kind == "papers":
        assert given_out(tmp_path, edition).count(CANARY) == 1


def test_a_title_stays_withheld_if_a_note_brought_the_paper_too(tmp_path):
    state = ("--edition", "SAMPLE-2026", "--state", tmp_path)
    assert call("import", "papers", rows_file(tmp_path, title=f"{CANARY} t"), *state, "--new")[0] == 0
    store = Store(tmp_path, "SAMPLE-2026")
    with store.lock("test"), store.transaction() as run:
        run.execute("insert into paper_sources values ('p1', null, null, 'unknown', null)")
    assert CANARY not in given_out(tmp_path, "SAMPLE-2026"), "a paper of OpenReview is under the licence of its note"


@pytest.mark.parametrize("licence", ["", " CC0", "CC BY 4.0, CC0", "a\nb", "x" * 101, "\x1b[1m"])
def test_what_is_no_name_of_a_licence_is_one_line(tmp_path, licence):
    papers = ("import", *arguments_of("papers", tmp_path), "--edition", "X-2024", "--new", "--state", tmp_path)
    code, _, line = call(*papers, "--licence", licence)
    assert code == 2 and "is not a name such as CC BY 4.0" in line and "\n" not in line


def test_a_note_and_an_import_that_state_different_licences_give_no_permission(tmp_path):
    state = ("--edition", "SAMPLE-2026", "--state", tmp_path)
    assert call("import", "notes", SIXTEEN / "notes.jsonl", *state, "--new")[0] == 0
    (tmp_path / "rows.jsonl").write_text(json.dumps({"paper_id": "s01", "text": CANARY}) + "\n")
    for licence, goes_out in ((FREE, True), ("CC BY-NC 4.0", False)):
        assert call("import", "papers", tmp_path / "rows.jsonl", *state, "--licence", licence)[0] == 0
        assert (CANARY in given_out(tmp_path, "SAMPLE-2026")) is goes_out
    assert "'CC BY 4.0, CC BY-NC 4.0'" in given_out(tmp_path, "SAMPLE-2026")


def published(folder: Path, *more: str) -> tuple[dict, Path]:
    """The report of a release of a board by an LM that is asked here, by an LM whose reviews are imported, and by a rule,
    and the release's folder; of one paper no licence is known. *more*: further settings.
    """
    state = folder / "state"
    chosen = (
        f"sources.notes={notes_file(folder, 's01')}", f"sources.reviews={SIXTEEN}/lm_reviews.jsonl",
        f"sources.licence={FREE}", "evaluation_lm.backend=scripted", "writing.candidates=['asked','extractive-full']",
        f"writing.models={folder}/models.toml", "scoring.metrics=['gem','gem_s_assw']", *more,
    )  # fmt: skip
    settings = [part for setting in chosen for part in ("--set", setting)]
    file = ROOT / "tests" / "flows" / "notes_and_pdfs.toml"
    code, said = shown("refresh", "--settings", file, "--no-prefect", "--state", state, *settings)
    assert code == 0, said
    code, said = shown("publish", "SAMPLE-2026", "--state", state, "--json")
    assert code == 0, said
    report = json.loads(said)
    return report, Path(report["folder"])


def test_a_release_says_how_many_texts_of_each_candidate_go_out_and_under_what_and_spells_no_other(tmp_path):
    use(OverlapLM())
    with scripted_chat() as chat:
        entry = f'[[model]]\nname = "asked"\nendpoint = "{chat.url}"\nmodel = "{MODEL}"\n'
        (tmp_path / "models.toml").write_text(entry)
        withheld, folder = published(tmp_path)
        with_licence, licensed = published(tmp_path, f"writing.licence={FREE}")
    rights = {
        (row["texts"], row["candidate"], row["licence"]): (row["known"], row["shown"]) for row in withheld["texts"]
    }
    assert rights["papers", None, FREE] == (15, 15) and rights["papers", None, None] == (1, 0)
    assert rights["reviews", "asked", None] == (16, 0) and rights["reviews", "human", FREE] == (48, 48)
    assert rights["reviews", "extractive-full", FREE] == (15, 15)
    assert rights["reviews", "extractive-full", None] == (1, 0)
    assert rights["reviews", "smollm2-135m", FREE][0] == rights["reviews", "smollm2-135m", FREE][1] > 0
    page = (folder / "index.html").read_text()
    (unknown,) = re.findall(r"<li>(.* reviews .*) under unknown licence: words are not here, their SHA-256 is", page)
    assert "asked 16" in unknown and "extractive-full 1" in unknown
    assert "15 papers under CC BY 4.0: words are here." in page
    # What is derived from a withheld text is withheld: judgments of a review; synopses and controls of a paper.
    derived = {
        "judgments where review_id like '%:asked'": 16, "judgments where review_id = 's01:extractive-full'": 1,
        "synopses where paper_id = 's01'": 1, "texts where paper_id = 's01'": 1,
    }  # fmt: skip
    for query, count in derived.items():
        assert texts_of(folder, query) == (0, count), query
    with duckdb.connect(str(Store(tmp_path / "state", "SAMPLE-2026").read_file), read_only=True) as run:
        secret = run.sql(
            "select text from reviews where candidate = 'asked' union select text from reviews "
            "where candidate = 'extractive-full' and paper_id = 's01' union select j.text from judgments j join "
            "reviews r using (review_id) where candidate = 'asked' union select title from papers where paper_id = 's01'"
        ).fetchall()
        free = run.sql("select text from reviews where candidate = 'human' and paper_id = 's02'").fetchall()
        public = str(run.sql("select title, abstract from papers where paper_id <> 's01'").fetchall())
        public += str(run.sql("select text, abstract from texts where paper_id <> 's01'").fetchall())
        written = "judgments j join reviews r using (review_id) where candidate in ('human', 'smollm2-135m')"
        public += str(run.sql(f"select j.text from {written}").fetchall())
    # Pages, Parquet, DuckDB, manifest and figures: no file spells a withheld text, and a free one is found.
    files = [path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".parquet"]
    files += [str(duckdb.read_parquet(str(path)).fetchall()).encode() for path in folder.rglob("*.parquet")]
    # The scripted LM quotes its paper and repeats itself: what a public paper or review says too is no secret.
    words = [piece for (text,) in secret for piece in _pieces(text) if piece not in public.replace("\\n", " ")]
    assert len(words) > 5
    assert [piece for piece in words if any(piece.encode() in file for file in files)] == []
    assert all(any(piece.encode() in file for piece in _pieces(text) for file in files) for (text,) in free)
    # Reviews that models wrote here go out under the licence of the settings.
    asked = {"texts": "reviews", "candidate": "asked", "licence": FREE, "known": 16, "shown": 16, "titles": None}
    assert asked in with_licence["texts"] and texts_of(licensed, "judgments where review_id like '%:asked'")[0] > 0
    code, said = shown("verify", licensed)
    assert code == 0, said


def texts_of(folder: Path, query: str) -> tuple[int, int]:
    """Rows with a text, and all rows."""
    with open_release_tables(folder) as run:
        return run.sql(f"select count(text), count(*) from {query}").fetchall()[0]


def _pieces(text: str) -> list[str]:
    """Long pieces of a text without characters that HTML or Python would escape."""
    found = [piece.strip() for line in text.splitlines() for piece in line.replace('"', "'").split("'")]
    return [piece[:40] for piece in found if len(piece) > 40 and piece[:40].isascii() and "&" not in piece[:40]][:4]

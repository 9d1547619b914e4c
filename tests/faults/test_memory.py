"""Memory that runs out: the system kills a worker, a PDF wants more than it may have, the evaluation LM finds none."""

from __future__ import annotations

import os
import shutil
import signal
import zlib
from pathlib import Path

import pytest

from gre_bench.core import settings
from gre_bench.ingest.pdf.reader import Limits, PdfReader
from gre_bench.lm.engine.engines import out_of_memory_error
from gre_bench.lm.span import Conversation
from gre_bench.pipeline.refreshing import refresh
from gre_bench.pipeline.runs.job import Job
from gre_bench.release import public_tables
from gre_bench.reports.publish_editions import publish_edition
from gre_bench.store import Store, database
from tests.conftest import SIXTEEN
from tests.faults.commands import DEMO
from tests.faults.endpoints import said
from tests.faults.invariants import assert_accounted, assert_readable, assert_undisturbed
from tests.faults.killing import gone
from tests.flows.refreshing import EDITION, query, run, use
from tests.holds import wait_for
from tests.pipeline.runs.test_kills import is_scoring
from tests.pipeline.runs.test_workers import SHARDED, command, descendants
from tests.release.made_up import EDITION as MADE_UP
from tests.release.made_up import FREE, make, release_store_of
from tests.scripted_lms import OverlapLM

__all__ = ["command"]

KILLED = "out of memory: SIGKILL of a worker in the middle of scoring"
LEFT = "the run says incomplete, exit 3; the next ends in the same tables"
PDFS = SIXTEEN / "pdfs"


@pytest.mark.night
@pytest.mark.timeout(600)
@pytest.mark.parametrize("runner", SHARDED)
def test_a_worker_that_the_system_kills_for_its_memory_costs_its_papers_alone(
    command, undisturbed, tmp_path: Path, trial, runner: str
) -> None:
    state, pids = tmp_path / "state", tmp_path / "pids"
    pids.mkdir()
    process = command(state, runner, SCRIPTED_PIDS=str(pids), SCRIPTED_LM_PAUSE_S="0.05")
    store = Store(state, EDITION)
    wait_for(lambda: is_scoring(store, process.pid) and store.status()["done"] >= 16, process)
    family = descendants(process.pid)
    os.kill(int(next(pids.iterdir()).name), signal.SIGKILL)
    shown, message = process.communicate(timeout=300)
    assert process.returncode == 3, message
    assert "Traceback" not in message and "died" in shown
    assert_accounted(state, done=False)
    assert query(state, "select distinct reason from pairs where state = 'missing'") == [("worker_died",)]
    assert_readable(state)
    gone(family, 30.0)
    use(OverlapLM())
    run(state)
    assert_undisturbed(state, undisturbed)
    trial(f"{KILLED} ({runner})", LEFT)


def bomb(mebibytes: int) -> bytes:
    """A PDF of one page whose content is so large when it is unpacked, and a few KiB as it lies."""
    packing, parts = zlib.compressobj(9), []
    for _ in range(mebibytes):
        parts.append(packing.compress(b"0 0 m 9 9 l S\n" * (2**20 // 14)))
    content = zlib.compress(b"".join(parts) + packing.flush(), 9)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R>>",
        b"<</Filter[/FlateDecode/FlateDecode]/Length %d>>stream\n" % len(content) + content + b"\nendstream",
    ]
    data, places = b"%PDF-1.4\n", []
    for number, text in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n" % number + text + b"\nendobj\n"
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    trailer = b"trailer<</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % len(data)
    return data + b"xref\n0 5\n0000000000 65535 f \n" + table + trailer


@pytest.mark.night
def test_a_pdf_that_unpacks_to_more_than_its_child_may_hold_has_a_status_and_the_next_is_read(trial) -> None:
    data = bomb(700)
    assert len(data) < 100_000
    good = sorted(PDFS.glob("*.pdf"))[0].read_bytes()
    with PdfReader(Limits(memory_bytes=768 * 2**20, wall_s=30.0), children=1) as reader:
        found = reader.read(data)
        assert found.status != "ok" and found.notes, found
        assert reader.read(good).status == "ok"
    trial("out of memory: a PDF bomb under RLIMIT_AS", "it has a status, the next file is read")


@pytest.mark.night
def test_a_refresh_beside_a_pdf_bomb_reads_its_neighbours_and_says_why_one_has_no_text(tmp_path: Path, trial) -> None:
    use(OverlapLM())
    pdfs = tmp_path / "pdfs"
    pdfs.mkdir()
    for file in PDFS.glob("*.pdf"):
        shutil.copy(file, pdfs)

    def made(name: str) -> dict:
        chosen = settings.load(DEMO, ("evaluation_lm.backend=scripted", f"sources.pdfs={pdfs}"))
        summary = refresh(Job(chosen, tmp_path / name, limit=3))
        assert summary["outcome"] == "done"
        return {row[:4]: row for row in query(tmp_path / name, "select paper_id, candidate_id, reference_id, signature_id, "
                                              "state, value, reason from pairs order by all")}  # fmt: skip

    whole = made("whole")
    ((doomed,),) = query(tmp_path / "whole", "select paper_id from sample order by position limit 1")
    (pdfs / f"{doomed}.pdf").unlink()
    (pdfs / f"{doomed}.pdf").write_bytes(bomb(3000))
    found = made("bombed")
    assert_accounted(tmp_path / "bombed", done=True)
    ((status, text),) = query(tmp_path / "bombed", f"select status, text from texts where paper_id = '{doomed}'")
    assert status != "ok" and not text
    assert {name for name in whole if name[0] != doomed} <= set(found)
    changed = {row[-1] for name, row in found.items() if name[0] == doomed and row != whole.get(name)}
    assert "no_text" in changed
    # What candidates score by chance, and the control of other papers, depend on all papers.
    specific = query(tmp_path / "whole", "select signature_id from signatures where metric like '%_specific'")
    alone = [name for name in found if name[0] != doomed and name[3:] not in specific and "other" not in name[1]]
    assert len(alone) > 20
    assert [found[name] for name in alone] == [whole[name] for name in alone]
    trial("out of memory: a PDF bomb in a refresh", "its paper says why; the other papers' scores are the same")


class Exhausted(OverlapLM):
    """A stand-in for an evaluation LM on a device that is too small: long conversations find no memory, as torch says."""

    def __init__(self, most: int):
        super().__init__()
        self.most = most

    def logprob(self, predictions):
        answers = super().logprob(predictions)
        for place, prediction in enumerate(predictions):
            words = len(f"{prediction.x} {prediction.synopsis} {prediction.reply}".split())
            if words > self.most:
                ids = tuple(range(words))
                answers[place] = out_of_memory_error(Conversation(ids, first=1, last=words, escaped=0))
        return answers


def test_what_finds_no_memory_on_the_device_is_missing_and_a_larger_one_ends_in_the_same_tables(
    undisturbed, tmp_path: Path, trial
) -> None:
    use(Exhausted(most=130))
    summary = run(tmp_path)
    assert summary["outcome"] == "incomplete" and "no memory left" in summary["message"]
    assert_accounted(tmp_path, done=False)
    missing = query(tmp_path, "select count(*), any_value(reason) from pairs where state = 'missing'")
    assert missing[0][0] > 0 and missing[0][1] == "out_of_memory"
    assert_readable(tmp_path)
    use(OverlapLM())
    assert run(tmp_path)["outcome"] == "done"
    assert_undisturbed(tmp_path, undisturbed)
    trial("out of memory: evaluation LM on its device (stand-in)", LEFT)


OF_EDITIONS = {
    "a board": ("leaderboard", MADE_UP),
    "a release": ("publish", MADE_UP, "--again"),
    "a removal": ("remove", MADE_UP, "deepseek/deepseek-chat", "--yes"),
    "a comparison of releases": ("compare", f"{MADE_UP}-r1", f"{MADE_UP}-r1"),
}


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    """An edition with a release, whose last commit is in the database's log alone, as a killed run leaves it."""
    state, left = tmp_path_factory.mktemp("made-up"), tmp_path_factory.mktemp("left") / "state"
    store = make(state, MADE_UP, papers=4, candidates=3, titles=FREE, metrics=("gem",))
    publish_edition(store, release_store_of(state))
    with store.lock("test"):
        with store.transaction() as run:
            run.execute("update papers set title = title || ' again'")
        shutil.copytree(state, left, symlinks=True)
    assert (Store(left, MADE_UP).folder / "edition.duckdb.wal").stat().st_size > 0
    return left


@pytest.mark.parametrize("asked", OF_EDITIONS)
@pytest.mark.parametrize("limit", ["100KB", "1MB", "3MB"])
def test_memory_that_runs_out_in_the_database_is_no_damage_and_costs_no_commit(
    made_up, tmp_path, monkeypatch, trial, asked, limit
) -> None:
    shutil.copytree(made_up, tmp_path / "state", symlinks=True)
    with monkeypatch.context() as patch:
        patch.setattr(database, "_CLOSED", database._CLOSED | {"temp_directory": ""})
        patch.setitem(database.MEMORY, "memory_limit", limit)
        for share in (public_tables.MEMORY, public_tables.MEMORY_ALONE):
            patch.setitem(share, "memory_limit", limit)
        code, _, err = said(*OF_EDITIONS[asked], "--state", tmp_path / "state")
    trial(f"out of memory: DuckDB, {asked}", "one line that calls nothing damaged; the commit in the log is kept")
    assert code in (0, 1) and "Traceback" not in err, err
    if code:
        assert err.count("\n") == 1 and "no memory left" in err and "give the same command again" in err, err
        assert not any(word in err for word in ("damaged", "delete", "copy ", "makes a new one")), err
    with Store(tmp_path / "state", MADE_UP).lock("look"), Store(tmp_path / "state", MADE_UP).transaction() as run:
        ((kept,),) = run.execute("select count(*) from papers where ends_with(title, ' again')").fetchall()
    assert kept == 4


def test_memory_that_runs_out_in_the_program_is_one_line(made_up, monkeypatch, trial) -> None:
    def read(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(Store, "read", read)
    line = "error: no memory left; what was done is kept: mend that and give the same command again\n"
    assert said("leaderboard", MADE_UP, "--state", made_up)[::2] == (1, line)
    trial("out of memory: the program itself", "one line")

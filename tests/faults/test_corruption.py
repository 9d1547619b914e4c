"""Files that were damaged behind the program's back: told in one line with what to do, or without any effect on a number."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from gre_bench.core import settings
from gre_bench.core.errors import GreBenchError, LMError, SourceError, StoreError
from gre_bench.core.resources import locate_resource
from gre_bench.lm.ngram.cache_ngram import CacheNgram
from gre_bench.pipeline import pair_scoring, validation_records
from gre_bench.pipeline.refreshing import refresh as refreshed
from gre_bench.pipeline.runs import spending
from gre_bench.pipeline.runs.job import Job
from gre_bench.pipeline.runs.unchanged import find_unchanged_summary
from gre_bench.release import manifest
from gre_bench.store import TABLES, Store
from gre_bench.writing.spend_log import SpendLog, open_spend_log
from tests.faults.commands import assert_one_line, command, sample
from tests.faults.endpoints import said as answered
from tests.faults.invariants import assert_undisturbed
from tests.flows.refreshing import EDITION, query, tables, use
from tests.pipeline.test_validation_records import SIGNED, granted
from tests.scripted_lms import OverlapLM
from tests.servers.chat import scripted_chat

PAPERS = 3
NOT_SILENT = "one line that names the file and what to do, or the same tables"
MANY = pytest.mark.night
pytestmark = pytest.mark.timeout(900)
LINE_COUNTED = "the line is counted as damaged; doctor and status say so"
COUNTS = [3, pytest.param(40, marks=MANY)]


class Pristine:
    """A state whose texts a scripted server wrote, and what is in it."""

    def __init__(self, folder: Path, chat: Any):
        self.chat, self.options, self.state = chat, sample(folder, chat), folder / "state"
        self.settings = settings.load(Path(self.options[-1]), ())
        self.go_on(self.state)
        self.tables, self.paid = tables(self.state), chat.count

    def go_on(self, state: Path) -> dict[str, Any]:
        """A refresh in this process; its summary."""
        open_spend_log.cache_clear()
        return refreshed(Job(self.settings, state, limit=PAPERS))

    def copied(self, folder: Path) -> Path:
        """A copy of the state, for a test to damage."""
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.state, folder, symlinks=True)
        return folder


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    use(OverlapLM())
    with scripted_chat() as chat:
        yield Pristine(tmp_path_factory.mktemp("pristine"), chat)


@pytest.fixture(autouse=True)
def lm():
    use(OverlapLM())


Damage = tuple[str, Callable[[bytes], bytes]]
"""What was done and where, and the doing of it."""


def flips(size: int, count: int, random: Random, first: int = 0) -> Iterator[Damage]:
    """One bit at *count* places of a file of *size* bytes, not before *first*."""

    def flipped(data: bytes, place: int, bit: int) -> bytes:
        return data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]

    for _ in range(count):
        place, bit = random.randrange(first, size), random.randrange(8)
        yield f"bit {bit} of byte {place} flipped", partial(flipped, place=place, bit=bit)


def cuts(size: int, count: int, random: Random) -> Iterator[Damage]:
    """*count* lengths that a file of *size* bytes is cut to, no byte at all first."""
    for length in (0, *(random.randrange(1, size) for _ in range(count - 1))):
        yield f"cut to {length} bytes", lambda data, end=length: data[:end]


def damages(size: int, count: int, random: Random) -> Iterator[Damage]:
    """*count* flips and half as many cuts."""
    yield from flips(size, count, random)
    yield from cuts(size, max(1, count // 2), random)


def done_to(file: Path, damage: Damage) -> str:
    """Does it; what was done."""
    said, do = damage
    file.chmod(0o644)
    file.write_bytes(do(file.read_bytes()))
    return said


def one_line(error: GreBenchError, file: Path | str, says: str = "") -> None:
    assert "\n" not in str(error) and Path(file).name in str(error) and says in str(error), error


def damaged(file: Path, found: Iterable[Damage]) -> Iterator[str]:
    """Does each damage to *file*, to its whole bytes; what was done."""
    whole = file.read_bytes()
    for damage in found:
        file.write_bytes(whole)
        yield done_to(file, damage)
    file.write_bytes(whole)


def noticed(file: Path, count: int, seed: int, look: Callable[[], object], says: str) -> Iterator[str]:
    """Damages *file* *count* times: *look* sees what it saw before, or one line *says* so. What was done."""
    right = look()
    for said in damaged(file, damages(file.stat().st_size, count, Random(seed))):
        try:
            assert look() == right, said
        except StoreError as error:
            one_line(error, file, says)
        yield said


def rows_of(run: Any) -> dict[str, list[str]]:
    """All rows of all tables."""
    return {name: sorted(map(repr, run.execute(f"from {name}").fetchall())) for name in TABLES}


@pytest.mark.parametrize("count", COUNTS)
def test_a_damaged_store_is_refused_or_whole_and_its_copy_takes_its_place(pristine, tmp_path, trial, count):
    store = Store(pristine.copied(tmp_path / "state"), EDITION)

    def look() -> dict[str, list[str]]:
        store.file.with_suffix(".duckdb.wal").unlink(missing_ok=True)
        with store.lock("look"), store.transaction() as run:
            return rows_of(run)

    for said in noticed(store.file, count, 3, look, "to edition.duckdb, which holds"):
        trial(f"damaged file: store, {said.split()[-1]}", NOT_SILENT)
    # As the line says: the copy for readers in its place. Nothing is paid again.
    since = pristine.chat.count
    shutil.copyfile(store.read_file, store.file)
    store.file.with_suffix(".duckdb.wal").unlink(missing_ok=True)
    assert pristine.go_on(tmp_path / "state")["outcome"] == "done"
    assert_undisturbed(tmp_path / "state", pristine.tables)
    assert pristine.chat.count == since


@pytest.fixture(scope="module")
def killed(pristine, tmp_path_factory):
    """A state that a run left when it was killed in the middle of scoring: its last commits are in the log alone."""
    folder = tmp_path_factory.mktemp("killed") / "state"
    shutil.copytree(pristine.state / "replies", folder / "replies")
    process = os.fork()
    if process == 0:
        plain, done = pair_scoring.store_scoring_result, []

        def commit(*given: Any) -> None:
            plain(*given)
            done.append(1)
            if len(done) == 2:
                os.kill(os.getpid(), signal.SIGKILL)

        pair_scoring.store_scoring_result = commit
        file = Path(pristine.options[-1])
        quiet = settings.load(file, ("run.read_copy_every_s=1000",))
        refreshed(Job(quiet, folder, limit=PAPERS))
        os._exit(1)
    assert os.waitpid(process, 0)[1] == signal.SIGKILL
    return folder


@pytest.mark.parametrize("count", [1, pytest.param(12, marks=MANY)])
def test_a_damaged_log_of_a_killed_run_is_one_line_or_costs_the_last_commits_alone(
    pristine, killed, tmp_path, trial, count
):
    log = Store(killed, EDITION).file.with_suffix(".duckdb.wal")
    assert log.stat().st_size > 10_000
    since = pristine.chat.count
    gone: list[Damage] = [("taken away", lambda data: b"")]
    for damage in (*damages(log.stat().st_size, count, Random(4)), *flips(60, count, Random(5)), *gone):
        state = tmp_path / "state"
        shutil.rmtree(state, ignore_errors=True)
        shutil.copytree(killed, state)
        mine = Store(state, EDITION).file.with_suffix(".duckdb.wal")
        said = done_to(mine, damage)
        if damage in gone:
            mine.unlink()
        try:
            pristine.go_on(state)
        except StoreError as error:
            one_line(error, mine, "move it away and give the same command again")
            mine.rename(tmp_path / "moved")
            pristine.go_on(state)
        assert_undisturbed(state, pristine.tables)
        trial(f"damaged file: log of the store, {said.split()[-1]}", NOT_SILENT)
    assert pristine.chat.count == since


@pytest.mark.parametrize("count", COUNTS)
def test_a_damaged_copy_for_readers_or_status_is_one_line_or_whole_and_a_refresh_beside_a_damaged_ledger_mends_both(
    pristine, tmp_path, trial, count
):
    state = pristine.copied(tmp_path / "state")
    store, ledger, since = Store(state, EDITION), state / "spending.jsonl", pristine.chat.count
    whole, names = {file: file.read_bytes() for file in (store.read_file, store.status_file)}, list(store.status())

    def look() -> dict[str, list[str]]:
        with store.reading() as run:
            return rows_of(run)

    expected = look()
    for said in noticed(store.read_file, count, 6, look, "makes a new one"):
        trial(f"damaged file: copy for readers, {said.split()[-1]}", NOT_SILENT)
    for _ in noticed(store.status_file, 20 * count, 10, lambda: {name: store.status()[name] for name in names}, ""):
        trial("damaged file: status", "one line, or what was written")
    store.read_file.write_bytes(whole[store.read_file][:5000])
    store.status_file.write_bytes(whole[store.status_file][:70])
    done_to(ledger, ("first line", lambda data: data.replace(b'"sent"', b'"sant"', 1)))
    for asked in (("leaderboard", EDITION), ("why", EDITION, "human", "--metric=gem"), ("status",)):
        code, _, err = answered(*asked, "--state", state)
        assert code in (1, 2) and err.count("\n") == 1 and "Traceback" not in err, err
    assert code == 1 and "status.json" in err and "the next refresh makes a new one" in err
    assert pristine.go_on(state)["outcome"] == "done"
    assert look()["scores"] == expected["scores"] and store.status()["state"] == "done"
    assert pristine.chat.count == since
    assert spending.summarise_spending(store)["spend_log_lines_damaged"] == 1
    trial("damaged file: ledger", LINE_COUNTED)


@pytest.mark.night
def test_a_release_of_a_copy_with_a_damaged_page_is_refused(pristine, tmp_path, trial):
    state = pristine.copied(tmp_path / "state")
    store = Store(state, EDITION)
    size, refused = store.read_file.stat().st_size, 0
    for _ in damaged(store.read_file, flips(size, 8, Random(7), first=12_288)):
        found = command("publish", EDITION, "--again", "--state", state)
        if found.code:
            assert_one_line(found, 1, ".duckdb", "refresh")
            refused += 1
        trial("damaged file: copy for readers, a release of it", "refused in one line, or whole")
    assert refused
    latest = state / "releases" / f"{EDITION}-latest"
    assert not latest.exists() or manifest.verify_release(latest.resolve())


@pytest.mark.parametrize("count", [4, pytest.param(60, marks=MANY)])
def test_a_damaged_or_swapped_reply_is_asked_for_again_and_no_other(pristine, tmp_path, trial, count):
    random = Random(8)
    entries = sorted(path.relative_to(pristine.state) for path in (pristine.state / "replies").rglob("*.json"))
    assert len(entries) == pristine.paid
    chosen = random.sample(entries, min(count, len(entries)) // 4 * 4)
    part, state = len(chosen) // 4, tmp_path / "state"
    shutil.copytree(pristine.state / "replies", state / "replies")
    for place, entry in enumerate(chosen[: 2 * part]):
        size = (state / entry).stat().st_size
        done_to(state / entry, next(flips(size, 1, random) if place < part else cuts(size, 1, random)))
    for one, other in zip(chosen[2 * part :: 2], chosen[2 * part + 1 :: 2], strict=True):
        kept = (state / one).read_bytes()
        (state / one).write_bytes((state / other).read_bytes())
        (state / other).write_bytes(kept)
    since = pristine.chat.count
    assert pristine.go_on(state)["outcome"] == "done"
    assert_undisturbed(state, pristine.tables)
    asked = [str(body["messages"]) for body in pristine.chat.requests[since:]]
    assert len(asked) == len(set(asked)) == len(chosen)
    for kind, times in (("flipped", part), ("cut", part), ("swapped", 2 * part)):
        trial(f"damaged file: archived reply, {kind}", "asked for once more; the same tables", times=times)


@pytest.mark.parametrize("count", [40, pytest.param(1500, marks=MANY)])
def test_a_damaged_line_of_the_ledger_is_counted_as_damaged_and_never_as_another_sum(pristine, tmp_path, trial, count):
    file = shutil.copyfile(pristine.state / "spending.jsonl", tmp_path / "spending.jsonl")
    right = SpendLog(file).spent_on_all_models(EDITION)
    assert right.requests == pristine.paid
    for said in damaged(file, flips(file.stat().st_size, count, Random(9))):
        found = SpendLog(file)
        spent = found.spent_on_all_models(EDITION)
        assert (spent == right) or found.damaged, said
        sums = ("requests", "usd", "hours", "answered")
        assert all(getattr(spent, name) <= getattr(right, name) for name in sums), said
        trial("damaged file: ledger", LINE_COUNTED)
    file.write_text("[" * 100_000 + "\n")
    found = SpendLog(file)
    assert not found.accounts and found.damaged == 1
    trial("damaged file: ledger of another shape", "the line is counted as damaged")


@pytest.mark.parametrize("name", ["last_refresh.json", "current"])
def test_a_note_of_the_last_refresh_of_another_shape_counts_as_none(pristine, tmp_path, trial, name):
    store = Store(pristine.copied(tmp_path / "state"), EDITION)
    (store.folder / "last_refresh.json").write_text(json.dumps({"copy": "", "inputs": ""}))
    for text in ("", "5", "[]", "[" * 100_000):
        (store.folder / name).write_text(text)
        assert find_unchanged_summary(store, Job(settings.Settings(), tmp_path / "state")) is None, text
        trial(f"damaged file: {name}", "the next refresh looks at everything again")


@pytest.mark.parametrize("count", [1, pytest.param(8, marks=MANY)])
def test_a_damaged_snapshot_is_kept_beside_and_made_anew_from_the_files_at_hand(pristine, tmp_path, trial, count):
    state, random = pristine.copied(tmp_path / "state"), Random(11)
    (made,) = (state / "snapshots").glob("SAMPLE-2026-*[0-9a-f]")
    files = (path for path in made.rglob("*") if path.is_file() and path.stat().st_size)
    for place, name in enumerate(sorted(path.relative_to(made).as_posix() for path in files)):
        whole = (made / name).read_bytes()
        found = [*damages(len(whole), count, random)]
        # Of a few, every second file is flipped and the others are cut.
        for damage in found if count > 1 else found[place % 2 :: 2]:
            said = done_to(made / name, damage)
            assert pristine.go_on(state)["outcome"] == "done", said
            assert (made / name).read_bytes() == whole or name == "manifest.json", said
            beside = [path for path in made.parent.iterdir() if ".damaged-" in path.name]
            assert len(beside) == 1, said
            shutil.rmtree(beside[0])
            whole = (made / name).read_bytes()
            trial(f"damaged file: snapshot, {name}", "kept beside and made anew; the same tables")
    assert_undisturbed(state, pristine.tables)


@pytest.mark.parametrize("count", [60, pytest.param(1500, marks=MANY)])
def test_a_damaged_certificate_is_one_line_and_no_flip_makes_a_verdict_a_date_or_a_count_another(
    tmp_path, monkeypatch, trial, count
):
    monkeypatch.setattr(validation_records, "SHIPPED", tmp_path / "shipped")
    made = granted(tmp_path, EDITION, "pass", 1, monkeypatch)
    (file,) = (tmp_path / "validations" / EDITION).glob("*.json")

    def look() -> str:
        return json.dumps(asdict(validation_records.find_validation_record(tmp_path, SIGNED)))

    assert look() == json.dumps(asdict(made))
    for _ in noticed(file, count, 12, look, "validate again"):
        trial("damaged file: certificate", "one line, or what was written")


@pytest.mark.parametrize("count", [1, pytest.param(30, marks=MANY)])
def test_damaged_weights_of_the_evaluation_lm_are_refused_or_another_lm(tmp_path, trial, count):
    shipped = locate_resource("data", "evaluation_lm", "cache-ngram-3")
    right, random = CacheNgram.load(shipped).identity, Random(13)
    for name in sorted(path.name for path in shipped.iterdir() if path.is_file()):
        for damage in damages((shipped / name).stat().st_size, count, random):
            folder = tmp_path / "lm"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(shipped, folder)
            said = done_to(folder / name, damage)
            try:
                found = CacheNgram.load(folder).identity
            except LMError as error:
                assert "\n" not in str(error)
            else:
                # Read by nobody, or another LM by its digest: its scores stand under a signature of their own.
                used = name in ("config.json", "vocabulary.json", "weights.safetensors")
                assert found != right if used else found == right, (name, said)
            trial(f"damaged file: weights, {name}", "one line, or another LM's signature")


@pytest.mark.night
def test_any_damage_to_a_release_is_found_and_its_file_named(pristine, tmp_path, trial):
    state, random = pristine.copied(tmp_path / "state"), Random(14)
    assert command("publish", EDITION, "--state", state).code == 0
    release = (state / "releases" / f"{EDITION}-latest").resolve()
    files = sorted(path for path in release.rglob("*") if path.is_file())
    for k in range(60):
        file = files[k % len(files)]
        whole = file.read_bytes()
        if not whole:
            continue
        done_to(file, next(flips(len(whole), 1, random) if k % 3 else cuts(len(whole), 1, random)))
        with pytest.raises(SourceError) as error:
            manifest.verify_release(release)
        assert "\n" not in str(error.value) and (file.name in str(error.value) or "manifest" in str(error.value))
        file.write_bytes(whole)
        trial("damaged file: release, its Parquet and its page", "verify names it")
    found = command("verify", release)
    assert found.code == 0, found.err


@pytest.mark.parametrize("count", [1, pytest.param(30, marks=MANY)])
def test_a_damaged_parquet_file_of_texts_is_one_line_or_read_as_its_digest_says(pristine, tmp_path, trial, count):
    import pandas

    rows = [json.loads(line) for line in Path(pristine.settings.sources.texts).read_text().splitlines()]
    good, bad = tmp_path / "good.parquet", tmp_path / "bad.parquet"
    pandas.DataFrame(rows).to_parquet(good)
    for k, damage in enumerate(damages(good.stat().st_size, count, Random(15))):
        shutil.copyfile(good, bad)
        said = done_to(bad, damage)
        state = tmp_path / f"state{k}"
        chosen = settings.load(Path(pristine.options[-1]), (f"sources.texts={bad}",))
        try:
            refreshed(Job(chosen, state, limit=1))
        except SourceError as error:
            one_line(error, bad)
        else:
            # Nobody can know what the user's file said before: what was read is frozen with the digest of this file.
            assert query(state, "select count(*) from snapshots") == [(1,)], said
        shutil.rmtree(state)
        trial("damaged file: Parquet of texts", "one line that names it, or frozen with its digest")

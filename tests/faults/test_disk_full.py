"""A disk that is full, at whatever moment: one line and an exit code; with room again the run goes on to the same tables.

On a small disk mounted in memory where this user may mount one; everywhere by a bound on the size of files, which a
write meets as it meets a full disk.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gre_bench.core.errors import ServiceDown
from gre_bench.pipeline.runs.job import Progress
from gre_bench.pipeline.runs.prefect_engine import require_server
from gre_bench.release import manifest
from gre_bench.store import Store
from tests.faults.commands import Before, Ended, assert_one_line, command, refresh, sample, small_files
from tests.faults.invariants import assert_paid_once, assert_readable, assert_undisturbed
from tests.flows.refreshing import EDITION, tables
from tests.servers.chat import ScriptedChat, scripted_chat

pytestmark = pytest.mark.timeout(900)
PAPERS = ("--limit", "2")
ROOMY = 96 * 2**20
STEP = 2**20
STAGES = ("importing", "sampling", "reading papers", "writing reviews", "writing judgments", "writing synopses", "planning",
          "scoring", "publishing", "ended")  # fmt: skip
FEW_BYTES = 100 * 4096
"""Left on the disk: enough for a small write and not for the store's next checkpoint."""
QUICK = [("scoring", 0)]
SLOWLY = [(stage, left) for stage in STAGES for left in (0, FEW_BYTES) if (stage, left) not in QUICK]
FULL = "disk full"
SAME = "one line, exit code 1 or 2; with room again the same tables, replies paid once"


BALLAST, PAGE = "ballast", 4096


@dataclass(frozen=True, slots=True)
class Disk:
    """A file system of its own, mounted at *folder*."""

    folder: Path

    def fill(self, leave_bytes: int = 0) -> None:
        fill(self.folder, leave_bytes)

    def resize(self, size_bytes: int) -> None:
        """Makes it a disk of another size, with what is on it."""
        asked = ["mount", "-o", f"remount,size={size_bytes}", str(self.folder)]
        subprocess.run(asked, check=True, capture_output=True)

    def free(self) -> None:
        """Gives the room back."""
        (self.folder / BALLAST).unlink(missing_ok=True)


@contextmanager
def mounted(folder: Path, size_bytes: int) -> Iterator[Disk]:
    """A disk of that size at *folder*; the test is skipped where this user may not mount one."""
    folder.mkdir(parents=True, exist_ok=True)
    asked = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "gre-bench-faults", str(folder)]
    if not shutil.which("mount") or subprocess.run(asked, capture_output=True).returncode != 0:
        pytest.skip("no disk can be mounted here; the bounds on the size of files are tried instead")
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path, leave_bytes: int = 0) -> None:
    """Writes to the disk of *folder* until only *leave_bytes* are left on it."""

    def left() -> int:
        found = os.statvfs(folder)
        return found.f_bavail * found.f_frsize - leave_bytes

    with (folder / BALLAST).open("ab") as file:
        try:
            while (room := left()) >= PAGE:
                os.write(file.fileno(), bytes(min(room, 2**20) // PAGE * PAGE))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


def full_at(stage: str, folder: Path, leave_bytes: int = 0) -> Before:
    """The disk of *folder* fills up when a run comes to *stage* (its beginning is enough)."""
    return partial(_fill_at, stage, folder, leave_bytes)


def _fill_at(stage: str, folder: Path, leave_bytes: int) -> None:
    plain = Progress.stage

    def stage_begins(self: Progress, name: str, *more: object) -> None:
        plain(self, name, *more)
        if name.startswith(stage):
            fill(folder, leave_bytes)

    Progress.stage = stage_begins  # type: ignore[method-assign,assignment]


class Edition:
    """A sample edition whose texts a scripted server writes: how to refresh it, and what an undisturbed run leaves."""

    def __init__(self, folder: Path, chat: ScriptedChat):
        self.chat = chat
        self.options = sample(folder, chat)
        assert self.refresh(folder / "state").code == 0
        self.tables, self.paid = tables(folder / "state"), chat.count

    def refresh(self, state: Path, **more: Any) -> Ended:
        return refresh(state, *PAPERS, settings=self.options, **more)

    def assert_goes_on(self, state: Path, since: int) -> None:
        """The next run under *state* ends done, with the undisturbed tables; paid are the requests *since*."""
        assert_readable(state)
        found = self.refresh(state)
        assert found.code == 0, found.err
        assert_undisturbed(state, self.tables)
        assert_paid_once(self.chat.requests[since:], self.paid, in_flight=0)


@pytest.fixture(scope="module")
def edition(tmp_path_factory):
    with scripted_chat() as chat:
        yield Edition(tmp_path_factory.mktemp("undisturbed"), chat)


@pytest.fixture
def disk(tmp_path):
    with mounted(tmp_path / "disk", ROOMY) as found:
        yield found


def told(found: Ended) -> None:
    """One line that says what could not be written, and that there is no room."""
    assert_one_line(found, (1, 2))
    assert "No space left on device" in found.err or "File too large" in found.err, found.err


@pytest.mark.parametrize(
    ("stage", "left"), [*QUICK, *(pytest.param(*case, marks=pytest.mark.night) for case in SLOWLY)]
)
def test_a_disk_that_fills_up_at_a_stage_costs_nothing_that_was_committed(edition, disk: Disk, trial, stage, left):
    state, since = disk.folder / "state", edition.chat.count
    told(edition.refresh(state, before=full_at(stage, disk.folder, left)))
    disk.free()
    edition.assert_goes_on(state, since)
    assert not list(Store(state, EDITION).folder.glob(".*"))
    trial(f"{FULL}: at {stage}", SAME)


@pytest.mark.night
def test_a_disk_that_grows_step_by_step_is_met_at_many_stages_and_ends_in_the_same_tables(edition, tmp_path, trial):
    since, met, size = edition.chat.count, set(), 64 * 1024
    with mounted(tmp_path / "disk", size) as disk:
        state = disk.folder / "state"
        while (found := edition.refresh(state)).code != 0:
            told(found)
            met.add(_place(state))
            size += STEP // 2
            disk.resize(size)
            assert size < ROOMY
            trial(f"{FULL}: a disk of every size, growing", SAME)
        assert_undisturbed(state, edition.tables)
        assert_readable(state)
        assert_paid_once(edition.chat.requests[since:], edition.paid, in_flight=0)
    assert len(met) >= 4, met


@pytest.mark.night
def test_a_bound_on_files_that_grows_step_by_step_ends_in_the_same_tables(edition, tmp_path, trial):
    since, most = edition.chat.count, 1024
    while (found := edition.refresh(tmp_path / "state", before=small_files(most))).code != 0:
        told(found)
        most = most * 2 if most < STEP else most + STEP
        assert most < ROOMY
        trial(f"{FULL}: files bounded (EFBIG), growing", SAME)
    assert_undisturbed(tmp_path / "state", edition.tables)
    assert_paid_once(edition.chat.requests[since:], edition.paid, in_flight=0)


def test_files_that_may_not_grow_are_one_line(edition, tmp_path, trial):
    since = edition.chat.count
    for most in (10_000, 3 * STEP):
        told(edition.refresh(tmp_path / "state", before=small_files(most)))
        trial(f"{FULL}: files bounded (EFBIG)", SAME)
    edition.assert_goes_on(tmp_path / "state", since)


@pytest.mark.night
def test_a_release_that_finds_no_room_leaves_the_last_one_as_it_was(edition, disk: Disk, trial):
    state = disk.folder / "state"
    assert edition.refresh(state).code == 0
    assert command("publish", EDITION, "--state", state).code == 0
    latest = state / "releases" / f"{EDITION}-latest"
    releases = 1
    for left in (0, 64 * 1024, STEP // 4, STEP // 2, STEP, 2 * STEP, 3 * STEP):
        disk.fill(left)
        found = command("publish", EDITION, "--again", "--state", state)
        disk.free()
        if found.code != 0:
            told(found)
            assert not [path for path in latest.parent.iterdir() if path.name.startswith(".")]
            trial(f"{FULL}: publishing", "one line; the last release is whole and the latest")
        else:
            releases += 1
        assert manifest.verify_release(latest.resolve())["release"] == f"{EDITION}-r{releases}"
        assert found.code or left, "published without room"
    assert command("publish", EDITION, "--again", "--state", state).code == 0
    assert manifest.verify_release(latest.resolve())["release"] == f"{EDITION}-r{releases + 1}"


def _place(state: Path) -> str:
    store = Store(state, EDITION)
    return (store.status() or {"stage": "before"})["stage"] if store.exists else "making"


def test_a_disk_without_room_for_prefects_own_server_is_named_before_and_while_it_runs(tmp_path):
    from prefect.exceptions import PrefectException
    from prefect.settings import PREFECT_HOME, temporary_settings

    with (
        mounted(tmp_path / "disk", 32 * STEP) as disk,
        temporary_settings({PREFECT_HOME: disk.folder / "state" / "prefect"}),
    ):
        with (
            pytest.raises(
                ServiceDown, match="the disk of .*/disk/.* is full .0.0 MB left., so Prefect's server stopped"
            ),
            require_server(),
        ):
            disk.fill()
            raise PrefectException("500 Internal Server Error")
        with (
            pytest.raises(ServiceDown, match="is full .0.0 MB left., where Prefect's server keeps its database: make"),
            require_server(),
        ):
            raise AssertionError("nothing is begun")
        disk.free()
        with pytest.raises(ServiceDown, match="temporary Prefect server no longer answers"), require_server():
            raise PrefectException("500 Internal Server Error")

"""The releases of one edition in a folder: their numbers, the link to the latest release, and the log.

ICLR-2025-r1/           a release, immutable
ICLR-2025-latest        link to the newest release that is not retired
ICLR-2025.log.jsonl     append-only log: one line per publication, erratum and retirement, in the order of writing
ICLR-2025.lock          held by the process that publishes
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ValidationError, model_validator

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.incoming import read_bytes
from gre_bench.core.records import Edition, parse_edition_key
from gre_bench.core.whole_files import flush_to_disk, hold_file_lock, write_file
from gre_bench.release.manifest import Line, compute_release_digest
from gre_bench.store import now


class ReleaseStore:
    """The releases of one edition in *folder*. *edition*: the edition or its key."""

    def __init__(self, folder: Path, edition: Edition | str):
        self.folder = Path(folder)
        self.edition = (parse_edition_key(edition) if isinstance(edition, str) else edition).key
        self.latest = self.folder / f"{self.edition}-latest"
        self.log = ReleaseLog(self.folder / f"{self.edition}.log.jsonl")

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Holds the lock for publishing and for writing the log; raises `LockedError` if another process holds it.

        If the block raises an exception, unfinished releases are deleted.
        """
        busy = (
            f"releases of {self.edition} in {self.folder} are being written by another process; "
            "wait for it to end and try again"
        )
        with hold_file_lock(
            self.folder / f"{self.edition}.lock", f"the folder of releases {self.folder}", busy, wait_s=0
        ):
            try:
                self.log.remove_incomplete_last_line()
                yield
            except BaseException:
                # An unfinished release takes disk space that the next one may need.
                with suppress(OSError):
                    self._delete_unfinished_releases()
                raise

    def names(self) -> list[str]:
        pattern = re.compile(re.escape(self.edition) + r"-r(\d+)")
        numbers = [int(match[1]) for path in self.folder.glob("*") if (match := pattern.fullmatch(path.name))]
        return [f"{self.edition}-r{number}" for number in sorted(numbers)]

    def next_name(self) -> str:
        """Returns the name of the next release, with a number above all numbers in the folder and the log."""
        names = (*self.names(), *(entry["release"] for entry in self.log.entries()))
        return f"{self.edition}-r{max((int(name.rpartition('-r')[2]) for name in names), default=0) + 1}"

    def create_building_folder(self, name: str) -> Path:
        """Returns a new folder for building the release *name*; first deletes the folders of killed processes."""
        self._delete_unfinished_releases()
        folder = self.folder / f".{name}.building"
        folder.mkdir()
        return folder

    def _delete_unfinished_releases(self) -> None:
        """Deletes the building folders of unfinished releases, and anything else with such a name."""
        for left in self.folder.glob(f".{self.edition}-r*.building"):
            if left.is_dir() and not left.is_symlink():
                shutil.rmtree(left)
            else:
                left.unlink()

    def install_release(self, folder: Path, name: str) -> Path:
        """Makes the files in the building *folder* read-only, and atomically moves it to its final path."""
        files = [path for path in folder.rglob("*") if path.is_file()]
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda path: path.chmod(0o444) or flush_to_disk(path), files))
        os.rename(folder, self.folder / name)
        flush_to_disk(self.folder)
        return self.folder / name

    def find_latest_entry(self) -> dict[str, Any] | None:
        """Returns the log line that published the latest release.

        Among releases with the same date, the one with the last line is the latest. Retired releases, and releases
        whose manifest is missing or changed, do not count.
        """
        entries, latest = self.log.entries(), None
        valid = {*self.names()} - {entry["release"] for entry in entries if entry["what"] == "retired"}
        for entry in entries:
            counts = entry["what"] == "published" and entry["release"] in valid and self._has_unchanged_release(entry)
            if counts and (latest is None or _parse_entry_time(entry) >= _parse_entry_time(latest)):
                latest = entry
        return latest

    def check_clock(self) -> None:
        """Raises `SettingsError` if the date of the latest release is in the future by this machine's clock."""
        latest = self.find_latest_entry()
        if latest and _parse_entry_time(latest) > now():
            raise SettingsError(
                f"{latest['release']} is dated {latest['at']}, after this machine's clock, and a release dated before "
                "the latest never becomes the latest; set the clock, or retire that one: "
                f"gre-bench publish --erratum TEXT --of {latest['release']} --retire"
            )

    def _has_unchanged_release(self, entry: Mapping[str, Any]) -> bool:
        try:
            return compute_release_digest(self.folder / entry["release"]) == entry["digest"]
        except SourceError:
            return False

    def update_latest_link(self) -> str | None:
        """Points the link ``ICLR-2025-latest`` to the latest release; returns the release's name.

        If there is no release, deletes the link and returns None.
        """
        latest = self.find_latest_entry()
        name = latest["release"] if latest else None
        if name is None:
            self.latest.unlink(missing_ok=True)
        elif not (self.latest.is_symlink() and os.readlink(self.latest) == name):
            beside = self.folder / f".{self.edition}-latest.{os.getpid()}"
            beside.unlink(missing_ok=True)
            beside.symlink_to(name)
            os.replace(beside, self.latest)
            flush_to_disk(self.folder)
        return name

    def import_release(self, folder: Path, name: str) -> None:
        """Copies the release *name* from *folder* into this store, together with the log next to *folder*.

        Does nothing if the store already has the release. Raises `SettingsError` if the store has another release of
        this name, or if releases of the edition were published here.
        """
        with self.lock():
            own, log = self.folder / name, folder.parent / self.log.path.name
            if own.exists():
                if compute_release_digest(own) != compute_release_digest(folder):
                    raise SettingsError(f"{own} is another release of this name; load {folder} into another --state")
                return
            if self.names():
                raise SettingsError(f"{self.folder} has releases of {self.edition}; load {folder} into another --state")
            beside = self.create_building_folder(name)
            try:
                shutil.copytree(folder, beside, dirs_exist_ok=True)
            except OSError as error:
                why = getattr(error, "strerror", None) or "a file cannot be copied"
                raise SourceError(f"{folder} cannot be copied to {self.folder}: {why}") from None
            if log.exists():
                write_file(self.log.path, read_bytes(log))
            self.install_release(beside, name)
            self.update_latest_link()

    def log_event(self, event: str, release: str, more: Mapping[str, Any]) -> None:
        """Adds a line to the log with `ReleaseLog.add`; raises `SettingsError` if *release* does not exist."""
        if release not in self.names():
            known = ", ".join(self.names()) or "none yet"
            raise SettingsError(f"no release {release} in {self.folder}; known: {known}")
        self.log.add(event, release, more)


def _parse_entry_time(entry: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(entry["at"])


def _check_zoned_time(text: str) -> str:
    """Returns *text* if it is a time in ISO 8601 with its time zone, else raises `ValueError`."""
    if datetime.fromisoformat(text).tzinfo is None:
        raise ValueError("no time zone")
    return text


class _LogLine(BaseModel, strict=True):
    """A line of the log. Earlier versions also wrote a cryptographic signature and the digest of the previous line."""

    what: Literal["published", "erratum", "retired"]
    release: Line
    at: Annotated[Line, AfterValidator(_check_zoned_time)]
    digest: Line | None = None
    text: Line | None = None

    @model_validator(mode="after")
    def _check_digest_or_text(self) -> _LogLine:
        if (self.digest if self.what == "published" else self.text) is None:
            raise ValueError("no digest of the publication, or no text")
        return self


class ReleaseLog:
    """The log of releases in the file *path*. Only the process that holds the `ReleaseStore`'s lock may add lines."""

    def __init__(self, path: Path):
        self.path = path
        self.edition = path.name.removesuffix(".log.jsonl")

    def entries(self, release: str | None = None) -> list[dict[str, Any]]:
        """Returns the lines in order, without an incomplete last line; if *release* is given, only the lines about it.

        Raises `SourceError` if the log cannot be read or a line is malformed.
        """
        if self.path.is_symlink():
            raise SourceError(f"{self.path} is a link; get the log itself from where it came")
        try:
            lines = read_bytes(self.path).split(b"\n")[:-1]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise SourceError(f"{self.path} cannot be read: {error.strerror}") from None
        entries = [self._parse_line(number, line) for number, line in enumerate(lines, 1)]
        return [entry for entry in entries if release in (None, entry["release"])]

    def add(self, event: str, release: str, more: Mapping[str, Any]) -> None:
        """Adds a line about *release*: ``published``, ``erratum`` or ``retired``, with *more* fields."""
        entry = {"what": event, "release": release, "at": now().isoformat(timespec="seconds"), **more}
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def remove_incomplete_last_line(self) -> None:
        """Removes an incomplete last line, which a killed process may have left."""
        if self.path.is_file():
            content = self.path.read_bytes()
            length = content.rfind(b"\n") + 1
            if length < len(content):
                os.truncate(self.path, length)

    def _parse_line(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            entry = _LogLine.model_validate_json(line)
        except ValidationError:
            entry = None
        if entry is None or not re.fullmatch(re.escape(self.edition) + r"-r\d{1,9}", entry.release):
            raise SourceError(
                f"{self.path}, line {number}: is not about a release of {self.edition}; get it again from where it came"
            )
        return entry.model_dump(exclude_none=True)

"""The reply archive stores every final reply of an LM on disk before use, so no reply that arrived is paid for twice.

The reply to a request that is in flight when the process is killed never arrives, so the next run repeats the request.
The spend log counts such requests (`gre_bench.writing.spend_log.Spent.unanswered`).

A reply is final if repeating the same request would not change it. Texts, refusals, empty replies, and the error for a
prompt that is too long are final. Transient faults such as time-outs are not. With the archive, all texts derived from
an LM's replies can be recreated without the LM.

The entry of a reply is one file, named by the digest of its request: ``ab/abcdef....json``. The file is written under a
temporary name, synced to disk and renamed. Its content never changes afterwards. `ROOM_BYTES` are reserved for the file
before the request is sent. So a reply of that size is not lost if the disk fills up meanwhile. An entry holds the reply
and the request's digest. It does not hold the chat, because chats contain whole papers, which the store already has.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from gre_bench.core.records import Chat, Completion, Outcome, Sampling, digest
from gre_bench.core.whole_files import convert_os_errors, flush_to_disk, hold_file_lock

FORMAT = 1
ROOM_BYTES = 2**16
"""Reserved on disk before a request is sent; a reply of about ten thousand tokens fits."""
TEMPORARY_SUFFIX = ".beside"
_FIELDS = {field.name for field in fields(Completion)}


def request_digest(identity: str, chat: Chat, sampling: Sampling) -> str:
    """Returns the SHA-256 (hex) of what determines a reply: the model's *identity*, *chat* and *sampling*."""
    return digest({"model": identity, "system": chat.system, "user": chat.user, "sampling": asdict(sampling)})


class ReplyArchive:
    """The archive of LM replies in *folder*, which several processes may share.

    *request* in every method is the digest of a request, as `request_digest` returns it. The entry of a request is the
    file with its reply. `damaged` counts the entries that this process found damaged and renamed. All methods raise
    `StoreError` if the folder cannot be used.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.damaged = 0
        self._count = threading.Lock()
        self._owner = f"the reply archive {folder}"
        with convert_os_errors(self._owner):
            folder.mkdir(parents=True, exist_ok=True)

    def get(self, request: str) -> Completion | None:
        path = self._entry_path(request)
        with convert_os_errors(self._owner):
            try:
                return _parse_entry(json.loads(path.read_bytes()), request)
            except FileNotFoundError:
                return None
            except (ValueError, KeyError, TypeError, RecursionError):
                with self._count:
                    self.damaged += 1
                with suppress(FileNotFoundError):  # another process was faster
                    os.replace(path, path.with_suffix(f".damaged-{time.time_ns()}"))
                return None

    def set_aside(self, request: str) -> None:
        """Renames the entry of *request*, so that the archive no longer has a reply to it; the file stays on disk."""
        path = self._entry_path(request)
        with convert_os_errors(self._owner), suppress(FileNotFoundError):
            os.replace(path, path.with_suffix(f".aside-{time.time_ns()}"))

    def put(self, request: str, reply: Completion) -> bool:
        """Writes *reply* to disk if the reply is final; returns whether it was written."""
        if not reply.final:
            return False
        kept = asdict(replace(reply, archived=False))
        written = datetime.now(UTC).isoformat(timespec="seconds")
        entry = {"format": FORMAT, "request": request, "written": written, "reply": kept, "sha256": digest(kept)}
        path = self._entry_path(request)
        beside = path.with_suffix(TEMPORARY_SUFFIX)
        with convert_os_errors(self._owner):
            self._make_folder(path)
            with open(_open_for_overwriting(beside), "w", encoding="utf-8") as file:
                json.dump(entry, file, ensure_ascii=False, indent=1)
                file.truncate()
                os.fsync(file.fileno())
            os.replace(beside, path)
            flush_to_disk(path.parent)
        return True

    @contextmanager
    def lock_request(self, request: str) -> Iterator[None]:
        """Locks *request* and reserves `ROOM_BYTES` on disk for its entry, within the ``with`` block.

        Another thread or process with the same request waits, and then finds the reply in the archive.
        """
        path = self._entry_path(request)
        beside = path.with_suffix(TEMPORARY_SUFFIX)
        with convert_os_errors(self._owner):
            self._make_folder(path)
        with hold_file_lock(path.with_suffix(".asking"), self._owner, remove=True):
            try:
                with convert_os_errors(self._owner), open(_open_for_overwriting(beside), "wb") as file:
                    file.write(bytes(ROOM_BYTES))
                yield
            finally:
                with convert_os_errors(self._owner):
                    beside.unlink(missing_ok=True)

    def _entry_path(self, request: str) -> Path:
        return self.folder / request[:2] / f"{request}.json"

    def _make_folder(self, path: Path) -> None:
        """Creates the parent folder of *path*, and syncs it, so that it survives a power cut."""
        if not path.parent.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            flush_to_disk(self.folder)


def _open_for_overwriting(path: Path) -> int:
    """Opens *path* for overwriting, without truncating it: truncation would free the reserved disk space."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)


def _parse_entry(entry: Any, request: str) -> Completion:
    """Returns the reply of a parsed *entry*; raises an error if the entry is damaged or belongs to another request."""
    kept = entry["reply"]
    if entry["format"] != FORMAT or entry["request"] != request or entry["sha256"] != digest(kept):
        raise ValueError("not the entry of this request")
    if set(kept) != _FIELDS or kept["outcome"] not in get_args(Outcome):
        raise ValueError("not a reply")
    return replace(Completion(**kept), archived=True)

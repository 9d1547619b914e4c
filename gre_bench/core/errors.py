"""The errors of the program that are not bugs.

    GreBenchError
    ├── SettingsError     a setting, option or edition that cannot be used
    ├── SourceError       an input file, or a record of a service, that cannot be read
    │   └── ServiceDown   a service gave no usable answer; the next run retries
    ├── Paused            a service allows no request before a stated time; the run continues then
    │   └── BudgetReached a limit of the settings is reached; the run continues once the limit is raised
    ├── PromptError       a prompt file, or values for its fields, that cannot be used
    ├── ReplyError        an LM's reply that cannot be used
    ├── PerturbationError a perturbation that cannot be applied to the text of a review
    ├── SpanError         the log-probability of a reply cannot be computed or trusted
    ├── LMError           an evaluation LM or endpoint that cannot be opened or reached
    ├── UnfinishedError   a result that is not complete yet, such as a board before the first commit
    └── StoreError        an edition's database: locked, damaged, or written by another version
        ├── DuplicateRowError     a row to be added already exists
        ├── LockedError           another process is writing to the store
        └── NoCommittedDataError  no run has committed anything yet (also an UnfinishedError)

The message of each error is one line that names the item and says what to do next. Any other exception is a bug, and
nothing catches it.
"""

from __future__ import annotations

import difflib
import errno
import math
import os
from datetime import UTC, datetime
from pathlib import Path


class Stopped(BaseException):
    """The user (Ctrl-C) or the operator (SIGTERM) stopped the run. Not a failure: ``except Exception`` ignores it."""


class GreBenchError(Exception):
    """Base of all expected errors; ``str(error)`` is one line that tells the user what to do."""


class SettingsError(GreBenchError): ...


class SourceError(GreBenchError): ...


class ServiceDown(SourceError): ...


class Paused(GreBenchError):
    """A service allows no request before the time *until*, in epoch seconds."""

    def __init__(self, message: str, until: float):
        super().__init__(f"paused until {datetime.fromtimestamp(until, UTC):%Y-%m-%d %H:%M:%S} UTC: {message}")
        self.until = until


class BudgetReached(Paused):
    def __init__(self, message: str):
        GreBenchError.__init__(self, message)
        self.until = math.inf


class PromptError(GreBenchError): ...


class ReplyError(GreBenchError): ...


class PerturbationError(GreBenchError):
    """A perturbation cannot be applied to a text. *code*: the reason, stored instead of the perturbed text."""

    def __init__(self, code: str, message: str):
        super().__init__(message)
        self.code = code


class SpanError(GreBenchError):
    """Why a log-probability could not be computed. Functions return this error instead of the log-probability.

    - *code*: the reason, stored with the pair.
    - *final*: whether another try would fail too.
    - *broken*: whether the evaluation LM itself misbehaves; a run then reports a fault.
    """

    def __init__(self, code: str, message: str, *, final: bool = True, broken: bool = False):
        super().__init__(message)
        self.code = code
        self.final = final
        self.broken = broken


class LMError(GreBenchError): ...


class StoreError(GreBenchError): ...


class DuplicateRowError(StoreError): ...


class UnfinishedError(GreBenchError): ...


class NoCommittedDataError(StoreError, UnfinishedError): ...


class LockedError(StoreError): ...


def build_missing_file_error(path: Path | str) -> SourceError:
    """Returns the error for the missing file *path*, with its absolute path and the most similar name in its folder.

    If *path* is a folder, a pipe or a device, the message says so.
    """
    given, absolute = Path(path), Path(path).absolute()
    if given.is_dir():
        return SourceError(f"{given} is a folder, where a file is expected")
    if os.path.exists(given) and not given.is_file():
        return SourceError(f"{given} is not a regular file; name a file")
    try:
        near = difflib.get_close_matches(given.name, os.listdir(absolute.parent), n=1, cutoff=0.75)
    except OSError:
        near = []
    if near:
        return SourceError(f"no file {given}; did you mean {given.with_name(near[0])}?")
    return SourceError(f"no file {given}" + ("" if given.is_absolute() else f"; looked for {absolute}"))


MEND = "what was done is kept: mend that and give the same command again"
NO_MEMORY = "no memory left"

MACHINE_FAULT_NUMBERS = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.ENOMEM, errno.EMFILE, errno.ENFILE}
)
"""Error numbers that mean a fault of the machine: a full, failing or read-only disk, no memory, too many open files."""

PATH_FAULT_NUMBERS = frozenset(
    {errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM, errno.EILSEQ}
)
"""Error numbers that mean a wrong path: too long, a link where none is allowed, a file in place of a folder or the
reverse, no permission, or characters that are not allowed."""


def describe_path_fault(error: OSError) -> str | None:
    """Returns one line about *error* if a path that the user gave is the cause; None if it may be a bug."""
    if error.errno not in PATH_FAULT_NUMBERS or not error.filename:
        return None
    return f"{error.filename} cannot be used: {error.strerror}; name another"


def describe_machine_fault(error: OSError) -> str | None:
    """Returns one line about *error* if the machine is the cause, such as a full disk; None if it may be a bug."""
    if error.errno not in MACHINE_FAULT_NUMBERS:
        return None
    file = f"{error.filename}: " if error.filename else ""
    return f"{file}{error.strerror}; {MEND}"

"""Runs a user's SQL statement in a separate read-only process, `gre_bench.store.sandbox`, with limits.

The limits are on time, memory, disk space and the size of the result.
"""

from __future__ import annotations

import base64
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from datetime import time as clock
from decimal import Decimal
from pathlib import Path
from tempfile import gettempdir
from typing import Any
from uuid import UUID

from gre_bench.core.errors import SettingsError, StoreError
from gre_bench.core.settings import QuerySettings
from gre_bench.store.queries import PARSED_QUERY, Row, make_names_unique
from gre_bench.store.statements import get_statement

PROGRAM = Path(__file__).with_name("sandbox.py")
THREADS = 4
MB = 1_000_000
MOST_CHARACTERS = 400
"""The maximum number of characters of DuckDB's own message in an error message."""
PASSED_ON = ("LD_LIBRARY_PATH",)
"""Environment variables that the process gets because Python may need them. Others may hold secrets."""
CODES: dict[str, Callable[[Any], Any]] = {
    "dict": lambda pairs: {_to_hashable(decode_cell(key)): decode_cell(value) for key, value in pairs},
    "bytes": base64.b64decode,
    "timedelta": lambda parts: timedelta(*parts),
    "Decimal": Decimal,
    "UUID": UUID,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "time": clock.fromisoformat,
}
"""Name of a type that JSON cannot hold → the decoder of its values; types that are not listed are decoded as text."""


def run_user_query(key: str, copy: Path, text: str, bounds: QuerySettings) -> tuple[list[str], list[Row]]:
    """Runs the SQL statement *text* on the file *copy*; returns the column names and the rows of the result.

    - *copy*: a private copy of the store of edition *key*, which the separate process opens and then deletes.
    - *bounds*: limits on time, memory, disk space and the size of the result.

    Raises `SettingsError` for a faulty statement or an exceeded limit, and `StoreError` for a damaged copy.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SettingsError(f"edition {key}: the query is not Unicode; write it in UTF-8") from None
    request = {
        "text": text, "file": str(copy), "folder": str(copy.parent), "seconds": bounds.seconds,
        "memory": int(bounds.memory * MB), "spill": int(bounds.spill * MB), "result": int(bounds.result * MB),
        "parsing": get_statement("queries", PARSED_QUERY.name), "threads": min(THREADS, os.cpu_count() or 1),
    }  # fmt: skip
    names: list[str] = []
    rows: list[list[Any]] = []
    with _start_sandbox(copy.parent) as process:
        for answer in _stream_lines(process, request, bounds):
            match answer:
                case {"names": found}:
                    names = make_names_unique(found)
                case {"rows": found}:
                    rows += found
                case {"coded": places}:
                    for row in rows:
                        for index in places:
                            row[index] = decode_cell(row[index])
                    return names, [dict(zip(names, row, strict=True)) for row in rows]
                case {"refused": reason}:
                    raise SettingsError(f"edition {key}: {_shorten_text(reason)}")
                case {"bound": what}:
                    raise SettingsError(f"edition {key}: {_format_exceeded_limit(what, bounds)}")
                case {"damaged": reason}:
                    raise StoreError(
                        f"edition {key}: the copy for readers cannot be read ({_shorten_text(reason)}); "
                        f"gre-bench refresh --edition {key} makes a new one"
                    )
        code = process.wait()
    if code == -signal.SIGKILL:
        raise SettingsError(f"edition {key}: {_format_exceeded_limit('memory', bounds)}")
    if code < 0:
        raise SettingsError(
            f"edition {key}: DuckDB crashed at this query ({signal.Signals(-code).name}); nothing was changed, "
            "write it in another way"
        )
    last = (copy.parent / "errors").read_text(errors="replace").strip().rpartition("\n")[2]
    raise StoreError(
        f"edition {key}: the process that answers the query ended with code {code} ({_shorten_text(last)})"
    )


def decode_cell(cell: Any) -> Any:
    """Returns the value of *cell*: plain JSON unchanged, and ``{type: coded value}`` decoded (see `CODES`)."""
    if isinstance(cell, list):
        return [decode_cell(item) for item in cell]
    if not isinstance(cell, dict):
        return cell
    ((code, value),) = cell.items()
    return CODES.get(code, str)(value)


@contextmanager
def _start_sandbox(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Starts the separate process in *folder* with only the variables `PASSED_ON`; always kills it at the end."""
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    with (folder / "errors").open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-I", "-X", "utf8", str(PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=errors, cwd=folder, env=environment | {"HOME": str(folder)}, start_new_session=True,
        )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def _stream_lines(
    process: subprocess.Popen[bytes], request: dict[str, Any], bounds: QuerySettings
) -> Iterator[dict[str, Any]]:
    """Sends *request* to the process and yields its replies, one parsed line of JSON at a time.

    Yields ``{"bound": "seconds"}`` when the time that *bounds* allows is up, and ``{"bound": "result"}`` if there is
    too much output.
    """
    until = time.monotonic() + bounds.seconds
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
    except BrokenPipeError:
        return
    answer, left, received = process.stdout.fileno(), b"", 0
    while True:
        if not select.select([answer], [], [], max(0.0, until - time.monotonic()))[0]:
            yield {"bound": "seconds"}
        some = os.read(answer, 2**20)
        if not some:
            return
        received += len(some)
        if received > 4 * request["result"] + 2**20:
            yield {"bound": "result"}
        *whole, left = (left + some).split(b"\n")
        yield from map(json.loads, whole)


def _format_exceeded_limit(bound: str, bounds: QuerySettings) -> str:
    """Returns an error message for an exceeded limit, *bound*, such as ``memory``, with advice on what to do."""
    if bound == "room":
        return f"no room in {gettempdir()} for the query's temporary files; make room, or set TMPDIR to another folder"
    most = getattr(bounds, bound)
    met, less = {
        "seconds": (f"took more than {most:g} s", "ask for less"),
        "memory": (f"needs more than {most:,} MB of memory", "ask for less"),
        "spill": (f"needs more than {most:,} MB of disk", "ask for less"),
        "result": (f"has a result of more than {most:,} MB", "add a where or a limit"),
    }[bound]
    return f"the query {met}; {less}, or allow more, such as --set query.{bound}={most * 4:g}"


def _shorten_text(text: str) -> str:
    text = "".join(mark for mark in text if mark.isprintable())
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"


def _to_hashable(key: Any) -> Any:
    return key if isinstance(key, str | int | float | bool | date | clock | Decimal | UUID | bytes | None) else str(key)

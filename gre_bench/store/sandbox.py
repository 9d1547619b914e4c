"""The separate process that runs one SQL statement of a user. It imports nothing from this package.

It reads one line of JSON from standard input: the statement, the path of a private copy of the store, and limits. It
opens the copy without access to other files, deletes its file, limits its own memory, and runs the statement.

It writes lines of JSON: first the names of the columns, then chunks of rows. The last line says which columns contain
coded cells, or why there is no result. A coded cell, ``{type: text}``, stands for a value that JSON cannot represent.
"""

from __future__ import annotations

import base64
import errno
import json
import os
import re
import resource
import shutil
import signal
import sys
import threading
from typing import Any

import duckdb

ROWS = 256
SLACK = 2**28
"""Bytes by which the system's limits exceed DuckDB's own limits, so that DuckDB's better messages come first."""
NO_QUERY = "a statement of {} is not a query; begin it with select, from, with, describe, show or explain"
HIDDEN = {
    '"COPY_QUERY_NODE"': "a query changes nothing, not even by a copy within a with",
    '"function_name":"json_execute_serialized_sql"': "json_execute_serialized_sql is refused; give the query itself",
}
"""Text in DuckDB's syntax tree that shows that a query may do more than read → the message that refuses the query."""
PLAIN = {
    "BIGINT", "BOOLEAN", "DOUBLE", "FLOAT", "HUGEINT", "INTEGER", "SMALLINT", "TINYINT", "UBIGINT", "UHUGEINT",
    "UINTEGER", "USMALLINT", "UTINYINT", "VARCHAR",
}  # fmt: skip
"""Types whose values, and lists of values, JSON can represent."""
SIGNS = {"room": (os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT)),
         "spill": ("max_temp_directory_size", os.strerror(errno.EFBIG))}  # fmt: skip
"""Limit → texts in DuckDB's errors that show that this limit was exceeded."""


class RefusedStatement(Exception):
    """Raised if the user's statement is refused; the message says why."""


def main() -> None:
    """Reads one request (see `gre_bench.store.user_queries.run_user_query`), runs its statement, and writes the
    reply."""
    request = json.loads(sys.stdin.readline())
    signal.alarm(int(request["seconds"]) + 5)
    threading.Thread(target=_exit_when_sender_ends, args=[request["folder"]], daemon=True).start()
    try:
        connection = open_private_copy(request)
    except duckdb.Error as error:
        write_json_line(damaged=_format_error(error))
        return
    set_process_limits(request)
    try:
        answer_request(connection, request)
    except RefusedStatement as refusal:
        write_json_line(refused=str(refusal))
    except (duckdb.Error, MemoryError, RuntimeError, ValueError, OverflowError) as error:
        of_disk = isinstance(error, duckdb.IOException | duckdb.OutOfMemoryException)
        met = [bound for bound, signs in SIGNS.items() if of_disk and any(sign in str(error) for sign in signs)]
        if not met and isinstance(error, duckdb.OutOfMemoryException | MemoryError):
            met = ["memory"]
        write_json_line(bound=met[0]) if met else write_json_line(refused=_format_error(error))


def set_process_limits(request: dict[str, Any]) -> None:
    """Sets the system's limits on this process's memory and file sizes to those of *request*, in bytes."""
    bounds = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: request["spill"] + SLACK}
    if sys.platform == "linux":
        with open("/proc/self/statm") as statm:
            in_use = int(statm.read().split()[0]) * resource.getpagesize()
        bounds[resource.RLIMIT_AS] = in_use + request["memory"] + SLACK
    for resource_kind, most in bounds.items():
        resource.setrlimit(resource_kind, (most, most))


def open_private_copy(request: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    """Opens the private copy that *request* names, and unlinks its file.

    Through this connection, DuckDB can open no other file, and no statement can change its settings.
    """
    folder = request["folder"]
    config = {
        "autoload_known_extensions": "false", "autoinstall_known_extensions": "false",
        "allow_community_extensions": "false", "allow_persistent_secrets": "false",
        "python_enable_replacements": "false", "home_directory": folder, "extension_directory": folder,
        "secret_directory": folder,
        "temp_directory": os.path.join(folder, "spill") if request["spill"] else "",
        "max_temp_directory_size": f"{request['spill']}B", "memory_limit": f"{request['memory']}B",
        "threads": str(request["threads"]),
    }  # fmt: skip
    connection = duckdb.connect(request["file"], read_only=True, config=config)
    for setting in ("timezone = 'UTC'", "enable_progress_bar = false", "enable_external_access = false",
                    "lock_configuration = true"):  # fmt: skip
        connection.execute(f"set {setting}")
    os.unlink(request["file"])
    return connection


def parse_one_statement(connection: duckdb.DuckDBPyConnection, text: str, parsing: str) -> duckdb.Statement:
    """Returns the only statement of *text*.

    Raises `RefusedStatement` if there is not exactly one, or if it does more than read.

    *parsing*: an SQL query that returns a statement's syntax tree as JSON.
    """
    statements = connection.extract_statements(text)
    if len(statements) != 1:
        raise RefusedStatement(
            f"{len(statements)} statements; give one query at a time" if statements else "there is no query; give one"
        )
    (statement,) = statements
    try:
        kind = statement.type
    except ValueError:
        raise RefusedStatement(NO_QUERY.format("this kind")) from None
    if kind == duckdb.StatementType.EXPLAIN:
        # EXPLAIN ANALYZE runs the explained statement, which must therefore be a query too.
        parse_one_statement(connection, re.sub(r"(?i)^explain(\s+analy[sz]e)?", " ", statement.query), parsing)
    elif kind == duckdb.StatementType.MULTI:
        # The parser splits a pivot without named columns, and a COPY of such a pivot, into several statements.
        if not re.match(r"(?i)[\s(]*(pivot|unpivot|from|select|with|describe|summarize)\b", statement.query):
            raise RefusedStatement(
                "a pivot must stand alone or within select, from or with; name its columns by in (...)"
            )
    elif kind != duckdb.StatementType.SELECT:
        raise RefusedStatement(NO_QUERY.format(f"the kind {kind.name.lower().replace('_', ' ')}"))
    else:
        parsed = connection.execute(parsing, {"text": statement.query}).fetchall()[0][0] or ""
        if hidden := [name for name in HIDDEN if name in parsed]:
            raise RefusedStatement(HIDDEN[hidden[0]])
    return statement


def answer_request(connection: duckdb.DuckDBPyConnection, request: dict[str, Any]) -> None:
    """Runs the statement of *request* and writes its result as lines of JSON.

    If the result exceeds the allowed number of bytes, writes ``{"bound": "result"}`` and stops. Raises
    `RefusedStatement`.
    """
    result = connection.execute(parse_one_statement(connection, request["text"], request["parsing"]))
    columns = result.description or []
    written = write_json_line(names=[str(column[0]) for column in columns])
    # The caller keeps each row as a dictionary, so the column names count for each row.
    beside = sum(len(str(column[0])) + 16 for column in columns)
    coded = [index for index, column in enumerate(columns) if str(column[1]).replace("[]", "") not in PLAIN]
    while rows := result.fetchmany(ROWS):
        if coded:
            rows = [[encode_cell(cell) if k in coded else cell for k, cell in enumerate(row)] for row in rows]
        written += write_json_line(rows=rows) + len(rows) * beside
        if written > request["result"]:
            write_json_line(bound="result")
            return
    write_json_line(coded=coded)


def encode_cell(cell: Any) -> Any:
    """Returns *cell* as a JSON value; what JSON cannot represent becomes ``{name of its type: coded value}``."""
    if cell is None or isinstance(cell, bool | int | float | str):
        return cell
    if isinstance(cell, list | tuple):
        return [encode_cell(item) for item in cell]
    if isinstance(cell, dict):
        return {"dict": [[encode_cell(item) for item in pair] for pair in cell.items()]}
    if isinstance(cell, bytes | bytearray | memoryview):
        return {"bytes": base64.b64encode(cell).decode()}
    if type(cell).__name__ == "timedelta":
        return {"timedelta": [cell.days, cell.seconds, cell.microseconds]}
    return {type(cell).__name__: str(cell)}


def write_json_line(**fields: Any) -> int:
    """Writes the keyword arguments as one line of JSON to standard output; returns the line's length in characters."""
    line = json.dumps(fields, separators=(",", ":"), ensure_ascii=False)
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
    return len(line)


def _format_error(error: BaseException) -> str:
    """Returns DuckDB's message as one line, without the position in the query or advice to change settings."""
    if "read-only mode" in str(error):
        return "a query changes nothing, not even within a with"
    return " ".join(re.split('LINE 1:| Use "SET', str(error))[0].split()) or type(error).__name__


def _exit_when_sender_ends(folder: str) -> None:
    """Waits until the process that sent the request ends, then deletes *folder* and ends this process.

    Otherwise, if the sender were killed, the query would keep running and the folder would remain.
    """
    os.read(sys.stdin.fileno(), 1)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


if __name__ == "__main__":
    main()

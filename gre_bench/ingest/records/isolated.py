"""Reads files whose formats can explode, Parquet and logs of inspect_ai, in a process of its own.

The process has the memory and the time that the settings allow for one file. If it dies, the file is refused, and
another process reads the next file: `python -m gre_bench.ingest.records.isolated MEMORY_BYTES`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from gre_bench.core.errors import SourceError
from gre_bench.core.incoming import MB, Meter, limited, limits, too_large, too_slow, values_in
from gre_bench.ingest.records.child import Child, Died, Message, serve

Kind = Literal["parquet", "log"]
LIBRARIES = {"parquet": "pyarrow", "log": "inspect_ai"}


def read_isolated(kind: Kind, files: Sequence[Path]) -> Iterator[tuple[Path, Any]]:
    """Yields (file, its contents) for each of *files*, which are all of one *kind*.

    In place of the contents of a file that cannot be read, yields the `SourceError` that says why.
    """
    child = None
    try:
        for file in files:
            if child is None:
                child = Child("gre_bench.ingest.records.isolated", int(limits().memory * MB), kind, LIBRARIES[kind])
                child.begin()
            request = {"kind": kind, "file": str(file.absolute()), "memory": limits().memory, "cpu_s": limits().seconds}
            answer = child.ask(request, b"", limits().seconds)
            if isinstance(answer, Died) or "problem" in answer[0]:
                child.end()
                child = None
            yield file, _contents(file, answer)
    finally:
        if child is not None:
            child.end()


def _contents(file: Path, answer: Message | Died) -> Any:
    if isinstance(answer, Died):
        if answer.status == "timeout":
            return too_slow(file.name)
        return SourceError(f"{file.name} cannot be read: {answer.note}; its contents may need more (inputs.memory)")
    header, data = answer
    if reason := header.get("refused"):
        return SourceError(reason)
    if problem := header.get("problem"):
        return too_large(file.name) if "memory" in problem else SourceError(f"{file.name} cannot be read: {problem}")
    try:
        Meter(file).take(len(data), values_in(data))
    except SourceError as error:
        return error
    return json.loads(data)


def _load() -> Callable[[dict[str, Any], bytes], Message]:
    def answer(request: dict[str, Any], data: bytes) -> Message:
        from gre_bench.ingest.records import inspect_logs, row_files

        read = {"parquet": row_files.read_parquet, "log": inspect_logs.read_log}[request["kind"]]
        try:
            with limited(request["memory"], request["cpu_s"]):
                return {}, json.dumps(read(Path(request["file"])), default=_unlike_json).encode()
        except SourceError as error:
            return {"refused": str(error)}, b""

    return answer


def _unlike_json(value: object) -> object:
    """Returns a stand-in for a cell of a type that JSON lacks, such as a date; no reader takes it for a text."""
    return {type(value).__name__: str(value)[:100]}


if __name__ == "__main__":
    serve(_load)

"""The child process that reads PDFs: `python -m gre_bench.ingest.pdf.worker MEMORY_BYTES`.

It reads requests from standard input and writes answers to standard output, one at a time. A message has three parts:
the length of its header in eight hexadecimal digits, the header in JSON, and data. The header's *bytes* is the length
of the data.
"""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

MOST_DPI = 200


def send(stream: BinaryIO, header: Mapping[str, Any], data: bytes = b"") -> None:
    """Writes one message, *header* and *data*, to *stream*."""
    text = json.dumps({**header, "bytes": len(data)}).encode()
    stream.write(b"%08x" % len(text) + text)
    stream.write(data)
    stream.flush()


def receive(stream: BinaryIO) -> tuple[dict[str, Any], bytes] | None:
    """Returns the header and the data of the next message of *stream*; None at the end of the stream."""
    length = stream.read(8)
    if len(length) < 8:
        return None
    text = stream.read(int(length, 16))
    header = json.loads(text)
    return header, stream.read(header["bytes"])


def main() -> None:
    """Limits this process's memory, then answers requests until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    memory = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Output that a library prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # PyMuPDF would load neural networks for layout, which nobody here uses: 0.4 s and 55 MB.
    sys.modules["pymupdf.layout"] = None  # pyright: ignore[reportArgumentType]
    # Loaded before the first request, so that no file's limits include the time it takes.
    import pymupdf  # noqa: F401

    from gre_bench.ingest.pdf.text import read_pdf

    send(answers, {"ready": True})
    too_much = {"problem": f"reading needs more than {memory / 2**30:.1f} GiB of memory"}
    while True:
        try:
            message = receive(sys.stdin.buffer)
        except MemoryError:
            # The rest of the file in the pipe would be taken for the next request.
            return send(answers, too_much | {"held_bytes": memory})
        if message is None:
            return None
        request, data = message
        _allow(request["cpu_s"])
        try:
            read = read_pdf(data, max_pages=request["max_pages"])
            pictures = []
            if request.get("folder"):
                from gre_bench.ingest.pdf.audit.pictures import draw

                pictures = draw(data, read.findings, Path(request["folder"]), min(request["dpi"], MOST_DPI))
            answer: dict[str, Any] = {"read": read.to_json(), "pictures": pictures}
        except MemoryError:
            answer = too_much
        except Exception as error:  # a bug: reported with its class, and other files are still read
            answer = {"problem": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"}
        send(answers, answer | {"held_bytes": _held()})


def _held() -> int:
    """Returns how many bytes of memory this process holds now; 0 if the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def _allow(seconds: float) -> None:
    """Lets this process use *seconds* more of CPU time; after that, the system ends the process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = math.ceil(used.ru_utime + used.ru_stime + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


if __name__ == "__main__":
    main()

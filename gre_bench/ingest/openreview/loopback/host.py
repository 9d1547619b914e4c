"""The HTTP server of the loopback OpenReview. It sends each answer whole, or disturbed by a fault such as a reset."""

from __future__ import annotations

import socket
import struct
import sys
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from gre_bench.core.errors import SettingsError
from gre_bench.ingest.openreview.loopback.answers import HttpResponse
from gre_bench.ingest.openreview.loopback.fault_injection import Fault

Answering = Callable[[str, str, str | None, bytes], tuple[HttpResponse, Fault | None]]
"""Maps method, target, token and body to the answer and to the fault that corrupts its bytes, if any."""

_DROPS = 20


def bound_server(answering: Answering, port: int) -> ThreadingHTTPServer:
    """Returns an HTTP server bound to *port* of this machine; the caller starts it. Port 0 stands for any free port.

    *answering*: makes the answer to each request. Raises `SettingsError` if the port cannot be used.
    """
    handler = type("Handler", (_Handler,), {"answering": staticmethod(answering)})
    try:
        return _Host(("127.0.0.1", port), handler)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"port {port} cannot be served: {reason}; name another with --port") from None


class _Host(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores errors of clients that close the connection, and prints all other errors, which are bugs."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    answering: Answering

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, format: str, *_: object) -> None:
        """Prints nothing, because the server keeps a list of all requests."""

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        token = self.headers.get("authorization", "").removeprefix("Bearer ") or None
        answer, fault = self.answering(self.command, self.path, token, body)
        if fault is not None and fault.name == "reset":
            # Closing without lingering sends a reset.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
            return
        self.send_response(answer.status)
        self.send_header("content-type", answer.kind)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        length = ("transfer-encoding", "chunked") if answer.chunked else ("content-length", str(len(answer.body)))
        self.send_header(*length)
        self.end_headers()
        sent = _chunks(answer.body) if answer.chunked else answer.body
        if fault is None:
            self.wfile.write(sent)
        else:
            self._corrupt(fault, sent)

    def _corrupt(self, fault: Fault, body: bytes) -> None:
        half = len(body) // 2
        if fault.name == "truncated":
            self.wfile.write(body[:half])
            self.close_connection = True
        elif fault.name == "stall":
            self.wfile.write(body[:half])
            time.sleep(fault.seconds)
            self.wfile.write(body[half:])
        else:
            drop = -(-len(body) // _DROPS)
            starts = range(0, len(body), drop)
            for start in starts:
                self.wfile.write(body[start : start + drop])
                time.sleep(fault.seconds / len(starts))


def _chunks(body: bytes, size: int = 1 << 16) -> bytes:
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in [*parts, b""])

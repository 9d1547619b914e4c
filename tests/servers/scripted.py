"""The base of scripted servers: real HTTP on loopback, a script of behaviours, and a record of the requests."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

from tests.holds import hold_until

Server = TypeVar("Server", bound=ThreadingHTTPServer)


@contextmanager
def serve_in_thread(server: Server) -> Iterator[Server]:
    """Yields *server* while it serves."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def wait_until_stopped() -> None:
    """Waits until Ctrl-C or SIGTERM stops the process; for servers that are started from a shell."""
    # A shell starts background jobs with SIGINT ignored.
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, signal.default_int_handler)
    print("Ctrl-C stops it", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            time.sleep(0.5)


class Scripted(ThreadingHTTPServer):
    """A server and its record: ``requests``, ``headers`` and ``times`` of each, ``peak`` (most requests at a time).

    Each request takes the next behaviour of *script*, and after its end the behaviour *then*. *when*: a function that
    may choose another behaviour. *pause_s*: seconds before each answer. If a test sets ``until``, request number n
    (from 1) is answered only once ``until(n)`` is true.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(
        self,
        handler: type[BaseHTTPRequestHandler],
        script: tuple[str, ...] = (),
        then: str = "ok",
        when: Callable[[Any], str | None] | None = None,
        pause_s: float = 0.0,
        port: int = 0,
    ):
        super().__init__(("127.0.0.1", port), handler)
        self.script, self.then, self.when, self.pause_s = list(script), then, when, pause_s
        self.until: Callable[[int], bool] | None = None
        self.requests: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.peak = self._open = 0
        self._lock = threading.Lock()

    @contextmanager
    def behaviour(self, request: Any, headers: Any, about: Any) -> Iterator[str]:
        """Records *request*, and yields its behaviour once it may be answered. *about*: the argument of ``when``."""
        with self._lock:
            self.requests.append(request)
            self.headers.append({name.lower(): value for name, value in headers.items()})
            self.times.append(time.monotonic())
            self._open += 1
            self.peak = max(self.peak, self._open)
            number = len(self.requests)
            due = self.when(about) if self.when else None
            due = due or (self.script.pop(0) if self.script else self.then)
        try:
            hold_until(lambda: self.until is None or self.until(number))
            time.sleep(self.pause_s)
            yield due
        finally:
            with self._lock:
                self._open -= 1

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores a client that hangs up, which tests do on purpose."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        """Logs nothing."""

    def read(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def send(self, status: int, tree: object, **headers: str) -> None:
        """Sends *tree* as JSON."""
        self.raw(status, json.dumps(tree).encode(), **headers)

    def raw(
        self, status: int, content: bytes, kind: str = "application/json", length: int | None = None, **headers: str
    ) -> None:
        """Sends *content*. *length*: a false length to state; the connection is then closed after the content."""
        self.send_response(status)
        stated = {"Content-Type": kind, "Content-Length": str(len(content) if length is None else length)}
        for name, value in {**stated, **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
        self.close_connection = length is not None

    def reset(self) -> None:
        """Closes the connection without lingering, which the client sees as a reset."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

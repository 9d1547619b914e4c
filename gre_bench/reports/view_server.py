"""The read-only web server of ``gre-bench view``, which only this machine can reach.

The server answers GET and HEAD requests for the hosts 127.0.0.1 and localhost only. A web page therefore cannot reach
it under another host name (DNS rebinding). The headers of its replies forbid other pages to read them.
"""

from __future__ import annotations

import json
import shutil
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from gre_bench.core.errors import GreBenchError, SettingsError, fault_of_the_machine
from gre_bench.reports.viewing import Viewing

HOST = "127.0.0.1"
NOTHING = "there is nothing here; / lists what there is"
TYPES = {".html": "text/html; charset=utf-8", ".json": "application/json", ".svg": "image/svg+xml", ".png": "image/png"}
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
OF_RELEASES = {
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "sandbox allow-scripts allow-downloads; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
"""Headers of a release's files, whose scripts may be anybody's: they send no request, and no other page is theirs."""


def server_of(viewing: Viewing, port: int) -> ThreadingHTTPServer:
    """Returns a server of the pages of *viewing* that listens on *port* of this machine; the caller starts it.

    *port*: 0 means any free port. Raises `SettingsError` if the port cannot be used.
    """
    handler = type("Handler", (_Handler,), {"viewing": viewing})
    try:
        return _Server((HOST, port), handler)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"port {port} cannot be served: {reason}; name another with --port") from None


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores errors of clients that hang up; prints any other error, which is a bug."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60
    viewing: Viewing

    def do_GET(self) -> None:
        if not self._is_asked_here():
            return self._text(HTTPStatus.FORBIDDEN, "ask for 127.0.0.1 or localhost")
        path = unquote(urlsplit(self.path).path)
        parts = tuple(path.split("/")[1:])
        try:
            if not path.startswith("/"):
                self._text(HTTPStatus.NOT_FOUND, NOTHING)
            elif parts == ("",):
                self._body(self.viewing.page().encode(), TYPES[".html"])
            elif parts == ("status.json",):
                self._body(json.dumps(self.viewing.overview()).encode(), TYPES[".json"])
            elif parts[0] in ("editions", "releases") and parts[1:] and not any(parts[2:]):
                self._moved(f"/{parts[0]}/{parts[1]}/index.html")
            elif file := self.viewing.file(parts):
                self._file(file, OF_RELEASES if parts[0] == "releases" else {})
            else:
                self._text(HTTPStatus.NOT_FOUND, NOTHING)
        except GreBenchError as error:
            self._text(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
        except ConnectionError:
            raise
        except OSError as error:
            # Newer pages may just have replaced the file, or its name is too long.
            line = fault_of_the_machine(error)
            self._text(HTTPStatus.SERVICE_UNAVAILABLE if line else HTTPStatus.NOT_FOUND, line or NOTHING)

    do_HEAD = do_GET

    def _refused(self) -> None:
        self.close_connection = True
        self._text(HTTPStatus.METHOD_NOT_ALLOWED, "this server is read only")

    do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_CONNECT = do_TRACE = _refused

    def log_message(self, format: str, *_: object) -> None:
        """Logs nothing, because the pages that a user looks at are private."""

    def version_string(self) -> str:
        return "gre-bench"

    @property
    def port(self) -> int:
        """Returns the port at which the request arrived."""
        return self.connection.getsockname()[1]

    def _is_asked_here(self) -> bool:
        name, _, port = self.headers.get("host", "").partition(":")
        return name in (HOST, "localhost") and port in ("", str(self.port))

    def _moved(self, path: str) -> None:
        self._head(HTTPStatus.FOUND, TYPES[".html"], 0, {"Location": quote(path)})

    def _text(self, status: HTTPStatus, line: str) -> None:
        self._body(f"{line}\n".encode(), "text/plain; charset=utf-8", status)

    def _body(self, body: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._head(status, kind, len(body))
        if self.command != "HEAD":
            self.wfile.write(body)

    def _file(self, path: Path, more: dict[str, str]) -> None:
        with path.open("rb") as file:
            size = path.stat().st_size
            self._head(HTTPStatus.OK, TYPES.get(path.suffix, "application/octet-stream"), size, more)
            if self.command != "HEAD":
                shutil.copyfileobj(file, self.wfile)

    def _head(self, status: HTTPStatus, kind: str, size: int, more: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(size), **HEADERS, **(more or {})}.items():
            self.send_header(name, value)
        self.end_headers()

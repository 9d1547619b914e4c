"""Provides what ``gre-bench view`` shows: the editions of a state folder with their runs, releases and pages."""

from __future__ import annotations

import json
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from gre_bench.core.errors import GreBenchError, SettingsError, describe_machine_fault
from gre_bench.pipeline.runs.job import read_last_run
from gre_bench.release import manifest
from gre_bench.release.pages.rendering import render_overview_page
from gre_bench.release.release_store import ReleaseStore
from gre_bench.reports.board_rows import format_release_leader_sentence
from gre_bench.reports.publish_editions import write_edition_pages
from gre_bench.reports.signatures import format_leader_sentence
from gre_bench.store import Store, find_editions

PAGES_OF = ("index.html", "candidates", "papers")
FRESH_S = 20.0
"""The minimum number of seconds before the pages of an edition that a run is writing are rebuilt."""
_SHOWN = (
    "state", "stage", "started_at", "updated_at", "due", "done", "pairs_per_s", "remaining_s", "message", "metrics",
)  # fmt: skip


class StatePages:
    """Makes the pages of the editions and releases in the folder *state*. Nothing is written to that folder.

    The pages are only shown on this machine, so they include texts of any licence. They are made on request, in a
    temporary folder that `close` deletes. Raises `SettingsError` if the folder cannot be made.
    """

    def __init__(self, state: Path):
        self.state = state
        try:
            self._folder = TemporaryDirectory(prefix="gre-bench-view-")
        except OSError as error:
            raise SettingsError(
                f"no temporary folder can be made: {error.strerror}; make room, or name a folder by TMPDIR"
            ) from None
        self._made: dict[str, tuple[float, str, Path]] = {}
        self._sentences: dict[str, str] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    def close(self) -> None:
        self._folder.cleanup()

    def overview(self) -> list[dict[str, Any]]:
        """Returns one row per edition: the status of its last run, whether a run is writing it, and its releases."""
        return [self._describe_edition(key) for key in find_editions(self.state)] + list(
            self._describe_editions_with_only_releases()
        )

    def page(self) -> str:
        """Returns the HTML of the page that lists the editions and follows their runs."""
        return render_overview_page(str(self.state.absolute()), self.overview())

    def file(self, parts: tuple[str, ...]) -> Path | None:
        """Returns the file to send for the *parts* of an address, such as ``("editions", KEY, "index.html")``.

        Returns None unless this is a page of an edition or a file that a release's manifest lists; links are not
        followed. Raises `GreBenchError` if an edition has no pages to show, or if a release's manifest was altered.
        """
        if len(parts) < 3 or any(part in ("", ".", "..") or re.search(r"[\x00-\x1f/\\]", part) for part in parts):
            return None
        kind, name, *rest = parts
        if kind == "editions" and name in find_editions(self.state) and rest[0] in PAGES_OF:
            root = self._update_pages(name)
        elif kind == "releases" and name in self._list_releases():
            root = self.state / "releases" / name
            if "/".join(rest) not in manifest.list_release_files(root):
                return None
        else:
            return None
        path = root.parent.resolve().joinpath(root.name, *rest)
        return path if path.resolve() == path and path.is_file() else None

    def _describe_edition(self, key: str) -> dict[str, Any]:
        store = Store(self.state, key)
        try:
            status = read_last_run(store) or {"state": "new", "message": "nothing was run yet"}
        except GreBenchError as error:
            status = {"state": "fault", "message": str(error)}
        known = {name: status[name] for name in _SHOWN if status.get(name) is not None}
        board = (
            self._cache_sentence(f"{key} {store.read_file.name}", lambda: format_leader_sentence(store))
            if store.is_readable
            else ""
        )
        return {"edition": key, "board": board, "writing": store.is_being_written(), "has_pages": store.is_readable,
                **known, "releases": ReleaseStore(self.state / "releases", key).names()[::-1]}  # fmt: skip

    def _describe_editions_with_only_releases(self) -> Iterator[dict[str, Any]]:
        known = set(find_editions(self.state))
        for key in dict.fromkeys(name.rpartition("-r")[0] for name in self._list_releases()):
            if key not in known:
                names = ReleaseStore(self.state / "releases", key).names()[::-1]
                board = self._cache_sentence(
                    names[0], partial(format_release_leader_sentence, self.state / "releases" / names[0])
                )
                yield {"edition": key, "board": board, "state": "released", "writing": False, "has_pages": False,
                       "releases": names}  # fmt: skip

    def _cache_sentence(self, name: str, read: Callable[[], str]) -> str:
        """Returns the sentence on a board that *read* makes, or the message of a `GreBenchError`.

        Caches the sentence under *name*, which names a release or one copy of an edition; neither ever changes.
        """
        if name not in self._sentences:
            try:
                self._sentences[name] = read()
            except GreBenchError as error:
                return str(error)
        return self._sentences[name]

    def _list_releases(self) -> list[str]:
        return sorted(
            path.name for path in (self.state / "releases").glob("*") if re.fullmatch(r"[^.].*-r\d+", path.name)
        )

    def _update_pages(self, key: str) -> Path:
        """Returns the folder of an edition's pages.

        If the edition's store has changed, the pages are rebuilt, but at most every `FRESH_S` seconds.
        """
        store = Store(self.state, key)
        with self._guard:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            copy = store.read_file.name
            made = self._made.get(key)
            if made and (made[1] == copy or time.monotonic() - made[0] < FRESH_S):
                return made[2]
            folder = Path(self._folder.name) / f"{key}-{time.monotonic_ns()}"
            folder.mkdir()
            try:
                write_edition_pages(store, folder)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            self._made[key] = (time.monotonic(), copy, folder)
            if made:
                shutil.rmtree(made[2], ignore_errors=True)
            return folder


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
"""Headers for a release's files. Their scripts may be malicious, so they can neither send requests nor access other
pages."""


def build_server(pages: StatePages, port: int) -> ThreadingHTTPServer:
    """Returns a server on *port* of this machine (0: any free port); raises `SettingsError` if the port is unusable."""
    handler = type("Handler", (_ViewHandler,), {"pages": pages})
    try:
        return _ViewServer((HOST, port), handler)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"port {port} cannot be served: {reason}; name another with --port") from None


class _ViewServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores errors from clients that disconnect; prints any other error, which is a bug."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _ViewHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60
    pages: StatePages

    def do_GET(self) -> None:
        name, _, port = self.headers.get("host", "").partition(":")
        if name not in (HOST, "localhost") or port not in ("", str(self.connection.getsockname()[1])):
            return self._send_text(HTTPStatus.FORBIDDEN, "ask for 127.0.0.1 or localhost")
        path = unquote(urlsplit(self.path).path)
        parts = tuple(path.split("/")[1:])
        try:
            if not path.startswith("/"):
                self._send_text(HTTPStatus.NOT_FOUND, NOTHING)
            elif parts == ("",):
                self._send_body(self.pages.page().encode(), TYPES[".html"])
            elif parts == ("status.json",):
                self._send_body(json.dumps(self.pages.overview()).encode(), TYPES[".json"])
            elif parts[0] in ("editions", "releases") and parts[1:] and not any(parts[2:]):
                to = quote(f"/{parts[0]}/{parts[1]}/index.html")
                self._send_head(HTTPStatus.FOUND, TYPES[".html"], 0, {"Location": to})
            elif file := self.pages.file(parts):
                self._send_file(file, OF_RELEASES if parts[0] == "releases" else {})
            else:
                self._send_text(HTTPStatus.NOT_FOUND, NOTHING)
        except GreBenchError as error:
            self._send_text(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
        except ConnectionError:
            raise
        except OSError as error:
            # Newer pages may just have replaced the file, or its name may be too long.
            line = describe_machine_fault(error)
            self._send_text(HTTPStatus.SERVICE_UNAVAILABLE if line else HTTPStatus.NOT_FOUND, line or NOTHING)

    do_HEAD = do_GET

    def _refuse_method(self) -> None:
        self.close_connection = True
        self._send_text(HTTPStatus.METHOD_NOT_ALLOWED, "this server is read only")

    do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_CONNECT = do_TRACE = _refuse_method

    def log_message(self, format: str, *_: object) -> None:
        """Logs nothing, because which pages a user looks at is private."""

    def version_string(self) -> str:
        return "gre-bench"

    def _send_text(self, status: HTTPStatus, line: str) -> None:
        self._send_body(f"{line}\n".encode(), "text/plain; charset=utf-8", status)

    def _send_body(self, body: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._send_head(status, kind, len(body))
        if self.command != "HEAD":
            self.wfile.write(body)

    def _send_file(self, path: Path, more: dict[str, str]) -> None:
        with path.open("rb") as file:
            size = path.stat().st_size
            self._send_head(HTTPStatus.OK, TYPES.get(path.suffix, "application/octet-stream"), size, more)
            if self.command != "HEAD":
                shutil.copyfileobj(file, self.wfile)

    def _send_head(self, status: HTTPStatus, kind: str, size: int, more: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(size), **HEADERS, **(more or {})}.items():
            self.send_header(name, value)
        self.end_headers()

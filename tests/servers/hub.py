"""A fake Hugging Face Hub with one model, which implements the part of the protocol that huggingface_hub needs."""

from __future__ import annotations

import hashlib
import http.server
import json
from contextlib import AbstractContextManager
from pathlib import Path

from tests.servers.scripted import serve_in_thread

REPOSITORY = "makers/tiny"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(http.server.ThreadingHTTPServer):
    """Serves the files of *folder* as `REPOSITORY` at `COMMIT`.

    *refusal*: (status, error code) of every answer; None to serve the files.
    """

    def __init__(self, folder: Path, refusal: tuple[int, str] | None = None):
        super().__init__(("127.0.0.1", 0), HubHandler)
        self.folder, self.refusal, self.fetched = folder, refusal, []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class HubHandler(http.server.BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        self.answer(body=True)

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def answer(self, body: bool) -> None:
        path, folder = self.path.partition("?")[0], self.server.folder
        start = f"/{REPOSITORY}/resolve/{COMMIT}/"
        names = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
        if self.server.refusal:
            return self.send(self.server.refusal[0], b"{}", {"X-Error-Code": self.server.refusal[1]}, body)
        if path.startswith(start) and path.removeprefix(start) in names:
            content = (folder / path.removeprefix(start)).read_bytes()
            if body:
                self.server.fetched.append(path.removeprefix(start))
            return self.send(200, content, {"ETag": f'"{hashlib.sha1(content).hexdigest()}"'}, body)
        if path == f"/api/models/{REPOSITORY}/revision/{COMMIT}":
            tree = {"id": REPOSITORY, "sha": COMMIT, "siblings": [{"rfilename": name} for name in names]}
            return self.send(200, json.dumps(tree).encode(), {}, body)
        if path.startswith(f"/api/models/{REPOSITORY}/tree/{COMMIT}"):
            entries = [
                {"type": "file", "path": name, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
                for name in names
                if (content := (folder / name).read_bytes()) is not None
            ]
            return self.send(200, json.dumps(entries).encode(), {}, body)
        known = REPOSITORY in path
        self.send(404, b"{}", {"X-Error-Code": "RevisionNotFound" if known else "RepoNotFound"}, body)

    def send(self, status: int, content: bytes, headers: dict[str, str], body: bool) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), "X-Repo-Commit": COMMIT, **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


def scripted_hub(folder: Path, refusal: tuple[int, str] | None = None) -> AbstractContextManager[Hub]:
    """Yields a running Hub that serves *folder*."""
    return serve_in_thread(Hub(folder, refusal))

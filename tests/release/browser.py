"""A headless Chromium over its DevTools protocol: what a page did, said and asked for."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def program() -> str | None:
    """The browser's program, if there is one."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@dataclass
class Tab:
    """One open page. *said*: console errors and exceptions; *asked*: every request beyond the page's own file."""

    socket: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    _number: int = 0

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to one command; events that come before it are noted."""
        self._number += 1
        self.socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv(timeout=60))
            self._note(message)
            if message.get("id") == self._number:
                assert "error" not in message, message
                return message["result"]

    def open(self, page: Path, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Loads *page* from disk."""
        self.said.clear()
        self.asked.clear()
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.send("Emulation.setEmulatedMedia", features=scheme)
        self.send("Page.navigate", url="about:blank")
        self.asked.clear()
        self.send("Page.navigate", url=page.resolve().as_uri())
        self.until("location.protocol + document.readyState === 'file:complete'")
        # At its limit of 50 entries, Chromium's history loses the entry before the next step.
        self.send("Page.resetNavigationHistory")
        self.asked[:] = [url for url in self.asked if url.split("#")[0] != page.resolve().as_uri()]

    def ask(self, expression: str) -> Any:
        """What *expression* comes to in the page; promises are waited for."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, expression: str) -> None:
        """Waits until *expression* is true in the page. A question asked while a page opens is asked again."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                if self.ask(expression):
                    return
            except AssertionError as error:
                if "navigated" not in str(error):
                    raise
            time.sleep(0.02)
        raise AssertionError(f"never true at {self.ask('location.href')}: {expression}")

    def arrive(self, page: str) -> None:
        """Waits until a page with *page* in its path is shown."""
        self.until(f"document.readyState === 'complete' && location.pathname.includes({json.dumps(page)})")

    def press(self, key: str) -> None:
        """One key, down and up."""
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def picture(self, path: Path, whole: bool = True) -> None:
        """A screenshot of the *whole* page."""
        data = self.send("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def _note(self, message: dict[str, Any]) -> None:
        what, more = message.get("method"), message.get("params", {})
        if what == "Network.requestWillBeSent":
            self.asked.append(more["request"]["url"])
        elif what == "Log.entryAdded" and more["entry"]["level"] in ("error", "warning"):
            self.said.append(more["entry"]["text"])
        elif what == "Runtime.exceptionThrown":
            self.said.append(more["exceptionDetails"]["text"])
        elif what == "Runtime.consoleAPICalled" and more["type"] in ("error", "warning"):
            self.said.append(str(more["args"]))


@contextmanager
def opened() -> Iterator[Tab]:
    """A tab of a browser that is closed afterwards; only where `program` finds one."""
    from websockets.sync.client import connect

    with tempfile.TemporaryDirectory(prefix="gre-bench-browser-", ignore_cleanup_errors=True) as home:
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--remote-debugging-port=0", f"--user-data-dir={home}", "--hide-scrollbars"]  # fmt: skip
        process = subprocess.Popen([program(), *options, "about:blank"], stderr=subprocess.DEVNULL)
        try:
            with connect(_address(Path(home), process), max_size=None, proxy=None) as socket:
                tab = Tab(socket)
                for part in ("Page", "Runtime", "Log", "Network"):
                    tab.send(f"{part}.enable")
                tab.send("Emulation.setFocusEmulationEnabled", enabled=True)
                yield tab
        finally:
            process.terminate()
            process.wait(20)


def _address(home: Path, process: subprocess.Popen[bytes]) -> str:
    """Where the first tab is reached, once the browser says so."""
    from urllib.request import ProxyHandler, build_opener

    deadline, file = time.monotonic() + 60, home / "DevToolsActivePort"
    while not (file.is_file() and file.read_text().strip()):
        assert process.poll() is None and time.monotonic() < deadline, "the browser did not start"
        time.sleep(0.05)
    port = file.read_text().split()[0]
    while True:
        with build_opener(ProxyHandler({})).open(f"http://127.0.0.1:{port}/json") as answer:
            pages = [one for one in json.load(answer) if one["type"] == "page"]
        if pages:
            return pages[0]["webSocketDebuggerUrl"]
        assert time.monotonic() < deadline
        time.sleep(0.05)

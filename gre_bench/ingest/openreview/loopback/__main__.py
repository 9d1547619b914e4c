"""``python -m gre_bench.ingest.openreview.loopback``: serves notes and PDFs on this machine as OpenReview does."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from gre_bench.core.errors import GreBenchError, SettingsError, Stopped
from gre_bench.ingest.openreview.loopback.fixture_store import REPORTED_LIMITS
from gre_bench.ingest.openreview.loopback.server import FAULTS, Account, Loopback, fault
from gre_bench.ingest.records.row_files import read_notes_file
from gre_bench.ingest.snapshot import Snapshot

BAD_INPUT = 2


def main(arguments: list[str] | None = None) -> int:
    """Runs the loopback server until it is stopped, and returns the exit code.

    Bad input prints one line on standard error and gives the code `BAD_INPUT`.
    """
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, _stop)
    try:
        _serve(_parser().parse_args(arguments))
    except GreBenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return BAD_INPUT
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gre_bench.ingest.openreview.loopback",
        description="Serve notes and PDFs on this machine as OpenReview does, both API versions, until stopped. "
        "It needs no account.",
        epilog=f"Faults: {', '.join(FAULTS)}.",
    )
    add = parser.add_argument
    add("source", metavar="SOURCE", type=Path, help="folder of a snapshot, or file of notes (.jsonl or .jsonl.gz)")
    add("--pdfs", metavar="FOLDER", type=Path, help="the papers' PDFs, <paper id>.pdf, beside a file of notes")
    add("--port", metavar="N", type=int, default=3000, help="port of API v1; v2 has the next; 0: free ones (3000)")
    add("--fault", metavar="NAME", action="append", default=[], help="a fault to inject, by its name; repeatable")
    add("--every", metavar="N", type=int, default=0, help="inject the faults at every N-th request, not once")
    add("--seconds", metavar="S", type=float, default=1.0, help="how long a refusal or a slow answer lasts (1)")
    add("--limits", action="store_true", help="refuse requests beyond the limits that users reported")
    add("--hour", metavar="S", type=float, default=3600.0, help="seconds that an hour of these limits lasts (3600)")
    add("--login", action="store_true", help="serve only the account in OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD")
    return parser


def _serve(arguments: argparse.Namespace) -> None:
    """Serves as *arguments* say until it is stopped; raises `SettingsError` for what cannot be used."""
    if not 0 <= arguments.port <= 65534 or arguments.every < 0 or arguments.seconds < 0 or arguments.hour <= 0:
        raise SettingsError("--port is 0 to 65534, --every and --seconds are at least 0, --hour is above 0")
    account = None
    if arguments.login:
        username, password = os.environ.get("OPENREVIEW_USERNAME"), os.environ.get("OPENREVIEW_PASSWORD")
        if not username or not password:
            raise SettingsError("--login takes the account from OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD; set both")
        account = Account(username, password)
    limits = {
        kind: replace(limit, seconds=limit.seconds * arguments.hour / 3600) for kind, limit in REPORTED_LIMITS.items()
    }
    when = {"seconds": arguments.seconds, **({"every": arguments.every} if arguments.every else {})}
    more: dict[str, Any] = {
        "account": account,
        "limits": limits if arguments.limits else {},
        "fault": [fault(name, **when) for name in arguments.fault],
        "port": arguments.port,
    }
    with Loopback(**_held(arguments.source, arguments.pdfs), **more) as loopback:
        print(f"API v1 ({len(loopback.fixture_stores[1].notes)} notes): {loopback.v1}")
        print(f"API v2 ({len(loopback.fixture_stores[2].notes)} notes): {loopback.v2}")
        print("Ctrl-C stops it", flush=True)
        try:
            while True:
                time.sleep(0.5)
        except (Stopped, KeyboardInterrupt):
            counts = ", ".join(f"{count} {kind}" for kind, count in sorted(loopback.counts.items()))
            print(f"stopped; requests: {counts or 'none'}")


def _held(source: Path, pdfs: Path | None) -> dict[str, Any]:
    """Returns the notes, versions and PDFs to serve, as keyword arguments of `Loopback`."""
    if source.is_dir():
        if pdfs is not None:
            raise SettingsError(f"{source} is a snapshot and has PDFs of its own; leave out --pdfs")
        snapshot = Snapshot.open(source)
        return {"notes": snapshot.notes(), "versions": dict(snapshot.histories()), "pdf": snapshot.pdf}
    if pdfs is None:
        return {"notes": read_notes_file(source)}
    if not pdfs.is_dir():
        raise SettingsError(f"--pdfs {pdfs} is no folder; name the one that has the papers' PDFs, <paper id>.pdf")
    files = {path.stem: path for path in pdfs.glob("*.pdf")}
    return {
        "notes": read_notes_file(source),
        "pdf": lambda paper: files[paper].read_bytes() if paper in files else None,
    }


def _stop(number: int, _frame: Any) -> None:
    raise Stopped(signal.Signals(number).name)


if __name__ == "__main__":
    sys.exit(main())

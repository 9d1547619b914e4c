"""Papers and reviews from OpenReview, the real one or one on this machine: ``gre-bench serve-openreview`` and kin."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from gre_bench.cli.commands import options
from gre_bench.cli.views import screen
from gre_bench.core.errors import SettingsError, Stopped

app = typer.Typer()

Served = Annotated[
    Path, typer.Argument(help="Snapshot folder; or a file of notes (.jsonl or .jsonl.gz), its PDFs by --pdfs.")
]
Port = Annotated[int, typer.Option("--port", min=0, max=65534, help="Port of API v1; v2 has the next. 0: free ones.")]
Mischief = Annotated[list[str] | None, typer.Option("--mischief", help="A way to misbehave, by its name; repeatable.")]
Every = Annotated[int, typer.Option("--every", min=0, help="Misbehave at every N-th request, not once.")]
Seconds = Annotated[float, typer.Option("--seconds", min=0.0, help="How long a refusal or a slow answer lasts.")]
Limits = Annotated[bool, typer.Option("--limits", help="Refuse requests beyond the limits that users reported.")]
Hour = Annotated[float, typer.Option("--hour", min=0.001, help="Seconds that an hour of these limits lasts.")]
Login = Annotated[
    bool,
    typer.Option("--login", help="Serve none but the account in OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD."),
]


@app.command("serve-openreview", epilog=options.EXIT_CODES)
def serve_openreview(
    snapshot: Served,
    pdfs: options.Pdfs = None,
    port: Port = 3000,
    mischief: Mischief = None,
    every: Every = 0,
    seconds: Seconds = 1.0,
    limits: Limits = False,
    hour: Hour = 3600.0,
    login: Login = False,
) -> None:
    """Serve notes and PDFs on this machine as OpenReview does, both API versions, until stopped; no account is needed.

    Ways to misbehave: 429-retry-after, 429-headers, 429-body, 429-login, 500, 502, 503, 504, reset, slow, stall,
    truncated, malformed, html, challenge, forbidden, bad-archive, expired-401, expired-403, wrong-host, short-pages,
    empty-page, duplicates, shifting, edits.
    """
    from gre_bench.ingest.openreview.loopback.fault_injection import mischief as named
    from gre_bench.ingest.openreview.loopback.limits import REPORTED_LIMITS
    from gre_bench.ingest.openreview.loopback.server import Account, Loopback

    account = None
    if login:
        username, password = os.environ.get("OPENREVIEW_USERNAME"), os.environ.get("OPENREVIEW_PASSWORD")
        if not username or not password:
            raise SettingsError("--login takes the account from OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD; set both")
        account = Account(username, password)
    kept = {kind: replace(limit, seconds=limit.seconds * hour / 3600) for kind, limit in REPORTED_LIMITS.items()}
    asked = [named(name, seconds=seconds, **({"every": every} if every else {})) for name in mischief or ()]
    more: dict[str, Any] = {"account": account, "limits": kept if limits else {}, "mischief": asked, "port": port}
    with Loopback(**_held(snapshot, pdfs), **more) as loopback:
        screen.say(f"API v1 ({len(loopback.shelves[1])} notes): {loopback.v1}")
        screen.say(f"API v2 ({len(loopback.shelves[2])} notes): {loopback.v2}")
        screen.say("Ctrl-C stops it")
        try:
            while True:
                time.sleep(0.5)
        except (Stopped, KeyboardInterrupt):
            counts = ", ".join(f"{count} {kind}" for kind, count in sorted(loopback.counts.items()))
            screen.say(f"stopped; requests: {counts or 'none'}")


def _held(source: Path, pdfs: Path | None) -> dict[str, Any]:
    """What a snapshot, or a file of notes and a folder of PDFs, holds, as arguments of a loopback."""
    from gre_bench.ingest.records.source_files import read_notes_file
    from gre_bench.ingest.snapshot.snapshot import Snapshot

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

"""``gre-bench verify``: checks that a snapshot or release is unchanged since it was written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gre_bench.cli.commands import options
from gre_bench.cli.views import screen
from gre_bench.cli.views.snapshots import show_changes, show_counts
from gre_bench.core.errors import SettingsError
from gre_bench.core.terminal import counted

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of a snapshot, or of a release.")]
Against = Annotated[
    Path | None, typer.Option("--against", metavar="FOLDER", help="An earlier snapshot: report what changed since.")
]
Public = Annotated[
    Path | None,
    typer.Option("--public", metavar="FILE", help="Write the publishable part of the snapshot to this .jsonl file."),
]
InStore = Annotated[
    bool, typer.Option("--store", help="For a release: compare its tables with those of the edition's store.")
]

Keys = Annotated[
    list[Path] | None,
    typer.Option("--key", metavar="FILE", help="For a release: a public key that must have signed it; repeatable."),
]
SeenHead = Annotated[
    str | None,
    typer.Option(
        "--log-head", metavar="DIGEST", help="For a release: an earlier head of its log, which verify printed."
    ),
]


def verify(
    folder: Folder,
    against: Against = None,
    public: Public = None,
    in_store: InStore = False,
    key: Keys = None,
    log_head: SeenHead = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Check every file of a snapshot or release by its digest.

    For a snapshot, it also reports what changed since another one and writes the publishable part. For a release, it
    also checks its place in the log, its signature (--key) and its tables against the edition's store (--store).
    """
    from gre_bench.release.manifest import is_release

    if is_release(folder) and not (against or public):
        return _verify_release(folder, state if in_store else None, key or [], log_head, as_json)
    if in_store or key or log_head:
        raise SettingsError(f"{folder} is no release, and --store, --key and --log-head ask about a release")
    from gre_bench.ingest.records.venues import venue_of
    from gre_bench.ingest.snapshot.diff import changes
    from gre_bench.ingest.snapshot.publication import write_public
    from gre_bench.ingest.snapshot.snapshot import Snapshot

    opened = Snapshot.open(folder)
    opened.verify()
    manifest = opened.manifest
    report: dict[str, Any] = {"snapshot": str(folder), "digest": opened.digest, "files": len(manifest.files)}
    report |= {"counts": manifest.counts, "remarks": manifest.remarks, "source": manifest.source}
    report |= {"changes": changes(Snapshot.open(against), opened)} if against else {}
    if public:
        report |= {"public": write_public(opened, venue_of(manifest.venue, manifest.year), public)}
    if as_json:
        return screen.print_json(report)
    screen.say(f"{folder}: {counted(report['files'], 'file')} as written; digest {opened.digest}")
    screen.say(f"{manifest.venue} {manifest.year}, {manifest.source}, made {manifest.created_at}")
    show_counts(manifest.counts)
    for remark in manifest.remarks:
        screen.say(f"note: {remark}")
    if against:
        show_changes(report["changes"])
    if public:
        texts = counted(report["public"]["texts"], "text")
        screen.say(f"{public}: {texts}, {report['public']['withheld']:,} withheld by licence")


def _verify_release(folder: Path, state: Path | None, keys: list[Path], log_head: str | None, as_json: bool) -> None:
    from gre_bench.release.signing import public_key
    from gre_bench.reports.verifying import verify_release

    report = verify_release(folder, state, [public_key(path) for path in keys], log_head)
    return screen.print_json(report) if as_json else _show_verified(folder, report)


def _show_verified(folder: Path, report: dict[str, Any]) -> None:
    screen.say(f"{folder}: {counted(report['files'], 'file')} as written; digest {report['digest']}")
    if report["agrees_with_store"]:
        screen.say(f"its tables are those of the store of {report['release'].rpartition('-')[0]}")
    screen.say(f"{report['release']}, made {report['created_at']}; texts: {report['texts']}")
    screen.say(f"signed by {report['signed_by']}" if report["signed_by"] else "not signed")
    if report["log_lines"]:
        screen.say(f"its log: {counted(report['log_lines'], 'line')}, head {report['log_head']}")
    for entry in report["errata"]:
        screen.say(f"{entry['what']} {entry['at'][:10]}: {entry['text']}")

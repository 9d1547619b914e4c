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

Folder = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="Folder of a snapshot or of a release, or the name of a release.")
]
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
Again = Annotated[
    bool,
    typer.Option("--again", help="For a release: make its numbers, pages and figures again from its own pairs."),
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
    again: Again = False,
    key: Keys = None,
    log_head: SeenHead = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Check every file of a snapshot or release by its digest.

    For a snapshot, it also reports what changed since another one and writes the publishable part. For a release, it
    also checks its place in the log, its signature (--key) and its tables against the edition's store (--store).
    --again needs nothing but the release: it names the first number or page that differs, and what it could not make.
    """
    from gre_bench.release.manifest import is_release
    from gre_bench.reports.board_rows import release_folder

    if not folder.exists():
        folder = release_folder(str(folder), state) or folder
    if is_release(folder) and not (against or public):
        return _verify_release(folder, state if in_store else None, key or [], log_head, again, as_json)
    if in_store or key or log_head or again:
        raise SettingsError(f"{folder} is no release, and --store, --key, --log-head and --again ask about a release")
    from gre_bench.ingest.records.venues import venue_of
    from gre_bench.ingest.snapshot import Snapshot, changes, write_public

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


def _verify_release(
    folder: Path, state: Path | None, keys: list[Path], log_head: str | None, again: bool, as_json: bool
) -> None:
    from gre_bench.release.signing import public_key
    from gre_bench.reports.verifying import verify_release

    report = verify_release(folder, state, [public_key(path) for path in keys], log_head, again)
    return screen.print_json(report) if as_json else _show_verified(folder, report)


def _show_verified(folder: Path, report: dict[str, Any]) -> None:
    screen.say(f"{folder}: whole, {counted(report['files'], 'file')} as written; digest {report['digest']}")
    if report["agrees_with_store"]:
        screen.say(f"its tables are those of the store of {report['release'].rpartition('-')[0]}")
    if report["made_again"]:
        _show_made_again(report["made_again"])
    screen.say(f"{report['release']}, made {report['created_at']}; texts: {report['texts']}")
    known = "a key you know" if report["known_key"] else "--key FILE tells whether that is a key you know"
    by = f"signed by {report['signed_by']}: {known}" if report["signed_by"] else "not signed: anybody may have made it"
    screen.say(by)
    if report["log_lines"]:
        newer = f"newer: {', '.join(report['newer'])}" if report["newer"] else "nothing newer known"
        screen.say(f"{newer}; its log: {counted(report['log_lines'], 'line')}, head {report['log_head']}")
    else:
        screen.say(f"no log beside it ({report['log']}): errata, retirement and later releases are unknown")
    for entry in report["errata"]:
        screen.say(f"{entry['what']} {entry['at'][:10]}: {entry['text']}")


def _show_made_again(made_again: dict[str, Any]) -> None:
    digits = "" if made_again["to_the_last_digit"] else " but for the last digits, which depend on the processor"
    counts = (counted(made_again[f"{name}s"], name) for name in ("score", "page", "figure"))
    made = ", ".join((*counts, *made_again["statistics"]))
    screen.say(f"made again from its own pairs, and equal{digits}: {made}")
    for left_out in made_again["left_out"]:
        screen.say(f"not made again: {left_out}")
    screen.say(f"as the release states it: {'; '.join(made_again['stated'])}")

"""``gre-bench publish`` and ``verify``: publish releases and errata, and check a snapshot or release."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import randrange
from typing import Any

from gre_bench.cli.commands import options
from gre_bench.cli.commands.groups import Answer
from gre_bench.cli.commands.options import argument, option
from gre_bench.cli.commands.running import stored_edition
from gre_bench.cli.views import screen
from gre_bench.cli.views.screen import say, show_changes, show_found
from gre_bench.core.errors import SettingsError
from gre_bench.core.settings import edition_of
from gre_bench.core.terminal import counted
from gre_bench.store import Frozen, find_editions


def publish(
    *,
    state: Path,
    edition: options.OneEdition = None,
    out: Path | None = option("--out -o FOLDER", "Folder of the releases; default: releases/ of the state.", None),
    all_texts: bool = option(
        "--all-texts", "Include texts of any licence, for a release that you keep to yourself.", False
    ),
    scores_only: bool = option(
        "--scores-only", "Leave out all texts, log-probabilities of tokens and pages of papers.", False
    ),
    again: bool = option("--again", "Make a new release even if no table has changed.", False),
    recount: int = option("--recount N", "First score N pairs again; publish nothing if one differs.", 0, min=0),
    seed: int | None = option("--seed N", "Seed of the pairs to score again; default: random.", None, min=0),
    sign: Path | None = option("--sign FILE", "Sign with this Ed25519 key: openssl genpkey -algorithm ed25519.", None),
    erratum: str | None = option(
        "--erratum TEXT", "Publish no release; note this erratum on the release of --of.", None
    ),
    release: str | None = option("--of RELEASE", "Release of --erratum, such as ICLR-2025-r1, or its folder.", None),
    retire: bool = option("--retire", "With --erratum: the release is no longer the latest. It is not deleted.", False),
    wait: options.Wait = 0.0,
) -> Answer:
    """Publish an edition as a numbered release, or note an erratum.

    A release is immutable: tables, manifest and pages. The link EDITION-latest points to the newest. A text
    is included only if its licence lets anyone pass it on; otherwise its SHA-256 replaces it. While a run is
    writing the edition, nothing is published (exit code 3). An erratum is kept beside the releases, and later pages
    show it.
    """
    if erratum is not None or release is not None or retire:
        if all_texts or scores_only or again or recount:
            raise SettingsError(
                "--erratum publishes nothing: leave out --all-texts, --scores-only, --again and --recount"
            )
        return _note(edition, erratum, release, retire, sign, out or state / "releases", state)
    if all_texts and scores_only:
        raise SettingsError("--all-texts and --scores-only contradict each other: choose one")
    from gre_bench.release.database import opened, rows
    from gre_bench.release.release_store import ReleaseStore
    from gre_bench.reports.publishing import key_of, publish_edition

    store = stored_edition(edition, state)
    release_store = ReleaseStore(out or state / "releases", store.key)
    recheck = _recounting(recount, randrange(2**31) if seed is None else seed, state) if recount else None
    key = key_of(sign, state, release_store.folder)
    published = publish_edition(store, release_store, all_texts, again, wait, recheck, key, scores_only=scores_only)
    with opened(published.folder) as connection:
        rights = rows(connection, "rights")
    report = {
        "release": published.name, "folder": str(published.folder), "digest": published.digest, "new": published.new,
        "signed_by": key.name if key else None, "texts": rights, "tables": dict(published.tables),
    }  # fmt: skip
    return Answer(report, lambda report: _show_published(report, published.problem, all_texts))


def _show_published(report: dict[str, Any], problem: str | None, all_texts: bool) -> None:
    from gre_bench.release.site import texts_given_out

    name, folder = report["release"], report["folder"]
    if not report["new"]:
        return say(f"{name} holds all this already: {folder}; --again makes a new release anyway")
    say(f"{name}: {folder}, digest {report['digest']}")
    if report["signed_by"]:
        say(f"signed by {report['signed_by']}")
    say(f"the page: {folder}/index.html")
    if problem:
        say(f"without figures: {problem}; then publish it --again")
    screen.say_all(texts_given_out(report["texts"]), "texts: ")
    if all_texts:
        say("texts: of any licence, so do not pass this release on")
    elif any(row["shown"] < row["known"] for row in report["texts"]):
        say(
            "texts are withheld where no licence allows to pass them on; import --licence and the setting "
            "writing.licence state one, and --all-texts makes a release that is not to be passed on"
        )


def _recounting(count: int, seed: int, state: Path) -> Callable[[Frozen], None]:
    """Returns a check before publishing: *count* pairs are scored again, and no score may differ."""
    from gre_bench.pipeline.runs.prefect_engine import configure_prefect

    configure_prefect(state)

    def recheck(edition: Frozen) -> None:
        from gre_bench.reports.why import recount_some
        from gre_bench.tasks import steps

        say(f"scoring {counted(count, 'pair')} once more, sampled with --seed {seed}", screen.err)
        compared = recount_some(edition, steps.undecorated(), count, seed, state.resolve())
        say(f"{counted(compared, 'pair')} came out as they are in the store", screen.err)

    return recheck


def _note(
    edition: str | None, text: str | None, release: str | None, retire: bool, sign: Path | None, out: Path, state: Path
) -> Answer:
    """Writes the erratum *text* on *release* to the log of the releases in *out*; *retire* marks it as retired too."""
    from gre_bench.reports.board_rows import release_store_of
    from gre_bench.reports.publishing import key_of

    if text is None or release is None:
        raise SettingsError("an erratum needs both: --erratum TEXT and --of RELEASE")
    release_store, name = release_store_of(release, out)
    if edition is not None and edition_of(edition).key != release_store.edition:
        raise SettingsError(f"{name} is no release of {edition}; leave out the edition, or name a release of it")
    if not text.strip() or not text.isprintable():
        raise SettingsError("an erratum is one line of text")
    key = key_of(sign, state, release_store.folder)
    with release_store.lock():
        release_store.log_event("retired" if retire else "erratum", name, {"text": text.strip()}, key)
        latest = release_store.point()
    log = str(release_store.log.path)
    report = {"release": name, "erratum": text.strip(), "retired": retire, "log": log, "latest": latest}
    line = f"{name}: {'retired' if retire else 'noted'} in {log}; latest is {latest or 'none'}"
    return Answer(report, lambda _: say(line))


def verify(
    *,
    state: Path,
    folder: Path = argument("FOLDER", "Folder of a snapshot or of a release, or the name of a release."),
    against: Path | None = option("--against FOLDER", "An earlier snapshot: report what changed since.", None),
    public: Path | None = option(
        "--public FILE", "Write the publishable part of the snapshot to this .jsonl file.", None
    ),
    in_store: bool = option("--store", "For a release: compare its tables with those of the edition's store.", False),
    again: bool = option(
        "--again", "For a release: make its numbers, pages and figures again from its own pairs.", False
    ),
    key: list[Path] | None = option(
        "--key FILE", "For a release: a public key that must have signed it; repeatable.", None
    ),
    log_head: str | None = option(
        "--log-head DIGEST", "For a release: an earlier head of its log, which verify printed.", None
    ),
) -> Answer:
    """Check every file of a snapshot or release by its digest.

    For a snapshot, it also reports what changed since another one and writes the publishable part. For a release, it
    also checks its place in the log, its signature (--key) and its tables against the edition's store (--store).
    --again needs nothing but the release: it names the first number or page that differs, and what it could not make.
    """
    from gre_bench.release.manifest import is_release
    from gre_bench.reports.board_rows import release_folder

    if not folder.exists():
        if str(folder) in find_editions(state):
            raise SettingsError(f"{folder} is an edition; name a release of it, such as {folder}-r1")
        folder = release_folder(str(folder), state) or folder
    if is_release(folder) and not (against or public):
        from gre_bench.release.signing import public_key
        from gre_bench.reports.verifying import verify_release

        keys = [public_key(path) for path in key or ()]
        verified = verify_release(folder, state if in_store else None, keys, log_head, again)
        return Answer(verified, lambda report: _show_verified(folder, report))
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

    def show(_: Any) -> None:
        say(f"{folder}: {counted(report['files'], 'file')} as written; digest {opened.digest}")
        say(f"{manifest.venue} {manifest.year}, {manifest.source}, made {manifest.created_at}")
        show_found(manifest.counts)
        screen.say_all(manifest.remarks, "note: ")
        if against:
            show_changes(report["changes"])
        if public:
            texts = counted(report["public"]["texts"], "text")
            say(f"{public}: {texts}, {report['public']['withheld']:,} withheld by licence")

    return Answer(report, show)


def _show_verified(folder: Path, report: dict[str, Any]) -> None:
    say(f"{folder}: whole, {counted(report['files'], 'file')} as written; digest {report['digest']}")
    if report["agrees_with_store"]:
        say(f"its tables are those of the store of {report['release'].rpartition('-')[0]}")
    if report["made_again"]:
        _show_made_again(report["made_again"])
    say(f"{report['release']}, made {report['created_at']}; texts: {report['texts']}")
    known = "a key you know" if report["known_key"] else "--key FILE tells whether that is a key you know"
    by = f"signed by {report['signed_by']}: {known}" if report["signed_by"] else "not signed: anybody may have made it"
    say(by)
    if report["log_lines"]:
        newer = f"newer: {', '.join(report['newer'])}" if report["newer"] else "nothing newer known"
        say(f"{newer}; its log: {counted(report['log_lines'], 'line')}, head {report['log_head']}")
    else:
        say(f"no log beside it ({report['log']}): errata, retirement and later releases are unknown")
    for entry in report["errata"]:
        say(f"{entry['what']} {entry['at'][:10]}: {entry['text']}")


def _show_made_again(made_again: dict[str, Any]) -> None:
    digits = "" if made_again["to_the_last_digit"] else " but for the last digits, which depend on the processor"
    counts = (counted(made_again[f"{name}s"], name) for name in ("score", "page", "figure"))
    made = ", ".join((*counts, *made_again["statistics"]))
    say(f"made again from its own pairs, and equal{digits}: {made}")
    screen.say_all(made_again["left_out"], "not made again: ")
    say(f"as the release states it: {'; '.join(made_again['stated'])}")

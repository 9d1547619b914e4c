"""``gre-bench publish`` and ``verify``: publish releases and errata, and check a snapshot or release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gre_bench.cli.commands import options
from gre_bench.cli.commands.groups import CommandResult
from gre_bench.cli.commands.options import argument, option
from gre_bench.cli.commands.running import open_stored_edition
from gre_bench.cli.views import screen
from gre_bench.cli.views.screen import say, show_snapshot_changes, show_snapshot_counts
from gre_bench.core.errors import SettingsError
from gre_bench.core.records import parse_edition_key
from gre_bench.core.terminal import counted
from gre_bench.store import find_editions


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
    erratum: str | None = option(
        "--erratum TEXT", "Publish no release; note this erratum on the release of --of.", None
    ),
    exchange: Path | None = option(
        "--every-eval-ever FOLDER", "Also write the release in this exchange schema to FOLDER.", None
    ),
    repository: Path | None = option(
        "--board-repository FOLDER", "Also make or update a repository of the board, which takes submissions.", None
    ),
    release: str | None = option(
        "--of RELEASE",
        "Publish nothing; use this release for --erratum, --every-eval-ever or --board-repository: a name such as "
        "ICLR-2025-r1, or its folder.",
        None,
    ),
    retire: bool = option("--retire", "With --erratum: the release is no longer the latest. It is not deleted.", False),
    wait: float,
) -> CommandResult:
    """Publish an edition as a numbered release, or note an erratum.

    A release is immutable: tables, manifest and pages. The link EDITION-latest points to the newest release. A text is
    included only if its licence allows anyone to redistribute it; otherwise its SHA-256 replaces it. Titles of your own
    papers are included. While a run is writing the edition, nothing is published (exit code 3). An erratum is stored
    next to the releases, and later pages show it.
    """
    if erratum is not None or release is not None or retire:
        if all_texts or scores_only or again:
            raise SettingsError("--of RELEASE publishes nothing: leave out --all-texts, --scores-only and --again")
        if (exchange or repository) and release and erratum is None and not retire:
            return _export_existing_release(release, exchange, repository, state)
        if exchange or repository:
            raise SettingsError(
                "an erratum writes no further files: give --every-eval-ever and --board-repository alone"
            )
        return _write_erratum(edition, erratum, release, retire, out or state / "releases")
    if all_texts and scores_only:
        raise SettingsError("--all-texts and --scores-only contradict each other: choose one")
    from gre_bench.pipeline.perturbed_reviews import count_harmed_candidates
    from gre_bench.release.public_tables import open_release_tables, run_page_query
    from gre_bench.release.release_store import ReleaseStore
    from gre_bench.reports.publish_editions import publish_edition

    store = open_stored_edition(edition, state)
    release_store = ReleaseStore(out or state / "releases", store.key)
    published = publish_edition(store, release_store, all_texts, again, wait, scores_only=scores_only)
    with open_release_tables(published.folder) as connection:
        rights = run_page_query(connection, "rights")
    report = {
        "release": published.name, "folder": str(published.folder), "digest": published.digest, "new": published.new,
        "texts": rights, "tables": dict(published.tables), "certificate_degrees": count_harmed_candidates(store),
    }  # fmt: skip
    report |= _write_exports(published.folder, exchange, repository)

    def print_answer(report: dict[str, Any]) -> None:
        _show_published_release(report, all_texts)
        _show_exports(report, exchange, repository)

    return CommandResult(report, print_answer)


def _export_existing_release(
    release: str, exchange: Path | None, repository: Path | None, state: Path
) -> CommandResult:
    """Writes the existing *release* in the exchange schema, or as the repository of its board."""
    from gre_bench.release.loading import find_release
    from gre_bench.reports.board_rows import release_folder

    report = _write_exports(release_folder(release, state) or find_release(release), exchange, repository)
    return CommandResult(report, lambda report: _show_exports(report, exchange, repository))


def _write_exports(folder: Path, exchange: Path | None, repository: Path | None) -> dict[str, Any]:
    from gre_bench.release.exchange import write_every_eval_ever
    from gre_bench.release.repository import write_repository

    report = {"every_eval_ever": list(map(str, write_every_eval_ever(folder, exchange)))} if exchange else {}
    return report | ({"repository": list(map(str, write_repository(folder, repository)))} if repository else {})


def _show_exports(report: dict[str, Any], exchange: Path | None, repository: Path | None) -> None:
    if written := report.get("every_eval_ever"):
        say(f"Every Eval Ever: {counted(len(written) // 2, 'model')} under {exchange}/data")
    if repository:
        say(f"the board's repository: {repository}; commit and push it; its README says how to enter a model")


def _show_published_release(report: dict[str, Any], all_texts: bool) -> None:
    from gre_bench.release.site import describe_included_texts

    name, folder = report["release"], report["folder"]
    if not report["new"]:
        return say(f"{name} holds all this already: {folder}; --again makes a new release anyway")
    say(f"{name}: {folder}")
    say(f"the page: {folder}/index.html")
    if report["certificate_degrees"]:
        degrees = counted(report["certificate_degrees"], "degree")
        say(f"it also holds {degrees} of harm, scored for a certificate; to keep such out, certify another sample: "
            "--set edition.sample=certificate")  # fmt: skip
    screen.say_nonempty(describe_included_texts(report["texts"]), "texts: ")
    if all_texts:
        say("texts: of any licence, so do not pass this release on")
    elif any(row["shown"] < row["known"] for row in report["texts"]):
        say(
            "texts are withheld where no licence allows to pass them on; import --licence and the setting "
            "writing.licence state one, and --all-texts makes a release that is not to be passed on"
        )
    if any((row["titles"] or 0) > row["shown"] for row in report["texts"]):
        say("titles of your own papers are in this release; --scores-only leaves them out with every other text")


def _write_erratum(
    edition: str | None, text: str | None, release: str | None, retire: bool, out: Path
) -> CommandResult:
    """Writes the erratum *text* on *release* to the log of the releases in *out*.

    If *retire*, the release is also marked as retired: it can no longer be the latest.
    """
    from gre_bench.reports.board_rows import locate_release_store

    if text is None or release is None:
        raise SettingsError("an erratum needs both: --erratum TEXT and --of RELEASE")
    release_store, name = locate_release_store(release, out)
    if edition is not None and parse_edition_key(edition).key != release_store.edition:
        raise SettingsError(f"{name} is no release of {edition}; leave out the edition, or name a release of it")
    if not text.strip() or not text.isprintable():
        raise SettingsError("an erratum is one line of text")
    with release_store.lock():
        release_store.log_event("retired" if retire else "erratum", name, {"text": text.strip()})
        latest = release_store.update_latest_link()
    log = str(release_store.log.path)
    report = {"release": name, "erratum": text.strip(), "retired": retire, "log": log, "latest": latest}
    line = f"{name}: {'retired' if retire else 'noted'} in {log}; latest is {latest or 'none'}"
    return CommandResult(report, lambda _: say(line))


def verify(
    *,
    state: Path,
    folder: Path = argument("FOLDER", "Folder of a snapshot or of a release, or the name of a release."),
    against: Path | None = option("--against FOLDER", "An earlier snapshot: report what changed since.", None),
    again: bool = option(
        "--again", "For a release: make its numbers, pages and figures again from its own pairs.", False
    ),
) -> CommandResult:
    """Check every file of a snapshot or release by its digest.

    For a snapshot, it also reports what changed since another snapshot. For a release, it also checks the entry in the
    log next to it, but not its cryptographic signature. --again recomputes all numbers and pages from the release
    alone. It names the first that differs, and what it could not recompute.
    """
    from gre_bench.release.manifest import is_release
    from gre_bench.release.release_store import ReleaseStore
    from gre_bench.reports.board_rows import release_folder

    if not folder.exists():
        if str(folder) in find_editions(state):
            names = ReleaseStore(state / "releases", str(folder)).names()
            todo = (
                f"name a release of it, such as {names[-1]}"
                if names
                else f"publish it first: gre-bench publish {folder}"
            )
            raise SettingsError(f"{folder} is an edition; {todo}")
        folder = release_folder(str(folder), state) or folder
    if is_release(folder) and not against:
        from gre_bench.reports.verifying import verify_release

        return CommandResult(verify_release(folder, again), lambda report: _show_verification_report(folder, report))
    if again:
        raise SettingsError(f"{folder} is no release, and --again asks about a release")
    from gre_bench.ingest.snapshot import Snapshot, compare_snapshots

    opened = Snapshot.open(folder)
    opened.verify()
    manifest = opened.manifest
    report: dict[str, Any] = {"snapshot": str(folder), "digest": opened.digest, "files": len(manifest.files)}
    report |= {"counts": manifest.counts, "remarks": manifest.remarks, "source": manifest.source}
    report |= {"changes": compare_snapshots(Snapshot.open(against), opened)} if against else {}

    def print_answer(_: Any) -> None:
        say(f"{folder}: {counted(report['files'], 'file')} as written")
        say(f"{manifest.venue} {manifest.year}, {manifest.source}, made {manifest.created_at}")
        show_snapshot_counts(manifest.counts)
        screen.say_nonempty(manifest.remarks, "note: ")
        if against:
            show_snapshot_changes(report["changes"])

    return CommandResult(report, print_answer)


def _show_verification_report(folder: Path, report: dict[str, Any]) -> None:
    say(f"{folder}: whole, {counted(report['files'], 'file')} as written")
    if report["made_again"]:
        _show_recomputed(report["made_again"])
    say(f"{report['release']}, made {report['created_at']}; texts: {report['texts']}")
    if report["signatures"]:
        say(f"signature not checked: {', '.join(report['signatures'])}")
    if report["log_lines"]:
        newer = f"newer: {', '.join(report['newer'])}" if report["newer"] else "nothing newer known"
        say(f"{newer}; its log: {counted(report['log_lines'], 'line')}")
    else:
        say(f"no log beside it ({report['log']}): errata, retirement and later releases are unknown")
    for entry in report["errata"]:
        say(f"{entry['what']} {entry['at'][:10]}: {entry['text']}")


def _show_recomputed(made_again: dict[str, Any]) -> None:
    digits = "" if made_again["to_the_last_digit"] else " but for the last digits, which depend on the processor"
    counts = (counted(made_again[f"{name}s"], name) for name in ("score", "page", "figure"))
    made = ", ".join((*counts, *made_again["statistics"]))
    say(f"made again from its own pairs, and equal{digits}: {made}")
    screen.say_nonempty(made_again["left_out"], "not made again: ")
    say(f"as the release states it: {'; '.join(made_again['stated'])}")

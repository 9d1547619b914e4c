"""``gre-bench publish``: publishes releases of an edition, and errata on them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import randrange
from typing import Annotated

import typer

from gre_bench.cli.commands import options
from gre_bench.cli.commands.running import stored_edition
from gre_bench.cli.views import screen
from gre_bench.core.errors import SettingsError
from gre_bench.core.settings import edition_of
from gre_bench.core.terminal import counted
from gre_bench.store import Frozen

Releases = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FOLDER", help="Folder of the releases; default: releases/ of the state."),
]
AllTexts = Annotated[
    bool, typer.Option("--all-texts", help="Include texts of any licence, for a release that you keep to yourself.")
]
Again = Annotated[bool, typer.Option("--again", help="Make a new release even if no table has changed.")]
Recount = Annotated[
    int,
    typer.Option("--recount", metavar="N", min=0, help="First score N pairs again; publish nothing if one differs."),
]
Seed = Annotated[
    int | None, typer.Option("--seed", metavar="N", min=0, help="Seed of the pairs to score again; default: random.")
]
Sign = Annotated[
    Path | None,
    typer.Option("--sign", metavar="FILE", help="Sign with this Ed25519 key: openssl genpkey -algorithm ed25519."),
]
Erratum = Annotated[
    str | None,
    typer.Option("--erratum", metavar="TEXT", help="Publish no release; note this erratum on the release of --of."),
]
Release = Annotated[
    str | None,
    typer.Option("--of", metavar="RELEASE", help="Release of --erratum, such as ICLR-2025-r1, or its folder."),
]
Retire = Annotated[
    bool, typer.Option("--retire", help="With --erratum: the release is no longer the latest. It is not deleted.")
]


def publish(
    edition: options.OneEdition = None,
    out: Releases = None,
    all_texts: AllTexts = False,
    again: Again = False,
    recount: Recount = 0,
    seed: Seed = None,
    sign: Sign = None,
    erratum: Erratum = None,
    release: Release = None,
    retire: Retire = False,
    wait: options.Wait = 0.0,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Publish an edition as a numbered release, or note an erratum.

    A release is immutable: tables, manifest and pages. The link EDITION-latest points to the newest. A text
    is included only if its licence lets anyone pass it on; otherwise its SHA-256 replaces it. While a run is
    writing the edition, nothing is published (exit code 3). An erratum is kept beside the releases, and later pages
    show it.
    """
    if erratum is not None or release is not None or retire:
        if all_texts or again or recount:
            raise SettingsError("--erratum publishes nothing: leave out --all-texts, --again and --recount")
        return _note(edition, erratum, release, retire, sign, out or state / "releases", state, as_json)
    from gre_bench.release.database import opened, rows
    from gre_bench.release.release_store import ReleaseStore
    from gre_bench.release.site import texts_given_out
    from gre_bench.reports.publishing import key_of, publish_edition

    store = stored_edition(edition, state)
    release_store = ReleaseStore(out or state / "releases", store.key)
    recheck = _recounting(recount, randrange(2**31) if seed is None else seed, state) if recount else None
    key = key_of(sign, state, release_store.folder)
    published = publish_edition(store, release_store, all_texts, again, wait, recheck, key)
    report = {
        "release": published.name,
        "folder": str(published.folder),
        "digest": published.digest,
        "new": published.new,
    }
    with opened(published.folder) as connection:
        rights = rows(connection, "rights")
    report |= {"signed_by": key.name if key else None, "texts": rights}
    if as_json:
        return screen.print_json(report | {"tables": dict(published.tables)})
    if not published.new:
        return screen.say(
            f"{published.name} holds all this already: {published.folder}; --again makes a new release anyway"
        )
    screen.say(f"{published.name}: {published.folder}, digest {published.digest}")
    if key:
        screen.say(f"signed by {key.name}")
    screen.say(f"the page: {published.folder / 'index.html'}")
    if published.problem:
        screen.say(f"without figures: {published.problem}; then publish it --again")
    for line in texts_given_out(rights):
        screen.say(f"texts: {line}")
    if all_texts:
        screen.say("texts: of any licence, so do not pass this release on")
    elif any(row["shown"] < row["known"] for row in rights):
        screen.say(
            "texts are withheld where no licence allows to pass them on; import --licence and the setting "
            "writing.licence state one, and --all-texts makes a release that is not to be passed on"
        )


def _recounting(count: int, seed: int, state: Path) -> Callable[[Frozen], None]:
    """Returns a check that runs before an edition is published: it scores a sample of pairs once more.

    *count* is the number of pairs, sampled with *seed*. The check raises an error if a new score differs from the
    stored one.
    """
    from gre_bench.pipeline.runs.prefect_engine import configure_prefect

    configure_prefect(state)

    def recheck(edition: Frozen) -> None:
        from gre_bench.reports.why import recount_some
        from gre_bench.tasks import steps

        screen.say(f"scoring {counted(count, 'pair')} once more, sampled with --seed {seed}", screen.err)
        compared = recount_some(edition, steps.undecorated(), count, seed, state.resolve())
        screen.say(f"{counted(compared, 'pair')} came out as they are in the store", screen.err)

    return recheck


def _note(
    edition: str | None,
    text: str | None,
    release: str | None,
    retire: bool,
    sign: Path | None,
    out: Path,
    state: Path,
    as_json: bool,
) -> None:
    """Writes the erratum *text* on *release* to the log of releases, and prints the entry.

    - *edition*: if given, the release must belong to it.
    - *retire*: whether the release is also marked as retired.
    - *sign*: the file of the signing key, if the entry is to be signed.
    - *out*: the folder of releases.
    """
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
    if as_json:
        return screen.print_json(
            {
                "release": name,
                "erratum": text.strip(),
                "retired": retire,
                "log": str(release_store.log.path),
                "latest": latest,
            }
        )
    screen.say(f"{name}: {'retired' if retire else 'noted'} in {release_store.log.path}; latest is {latest or 'none'}")

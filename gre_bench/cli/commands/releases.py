"""``gre-bench publish``, ``errata`` and ``plot``: releases of an edition, what is said of them later, their figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import randrange
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gre_bench.cli.commands import options
from gre_bench.cli.views import screen
from gre_bench.core.errors import SettingsError
from gre_bench.store import Frozen, Store, find_editions, no_edition

if TYPE_CHECKING:
    from gre_bench.release.signing import SigningKey

app = typer.Typer()

Out = Annotated[
    Path | None, typer.Option("--out", help="Folder that the releases stand in; releases/ of the state if not given.")
]
Private = Annotated[
    bool,
    typer.Option("--all-texts", help="Put in texts of any licence: for a release that you do not pass on."),
]
Again = Annotated[bool, typer.Option("--again", help="Make a new release even if no table has changed.")]
Recount = Annotated[
    int, typer.Option("--recount", min=0, help="Score so many pairs again first; publish nothing if one differs.")
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Of the pairs to recount; told if not given.")]
Sign = Annotated[
    Path | None,
    typer.Option("--sign", help="Sign it with this private Ed25519 key (PEM): openssl genpkey -algorithm ed25519."),
]
Release = Annotated[str, typer.Argument(help="Release, such as ICLR-2025-r1, or its folder.")]
Text = Annotated[str, typer.Argument(help="What is to be said of it, one line.")]
Retire = Annotated[bool, typer.Option("--retire", help="The release is no longer the latest; it stays where it is.")]
Plotted = Annotated[
    str, typer.Argument(help="Edition, release or its folder, or a published board: table6, table7, table10.")
]
Pictures = Annotated[Path, typer.Option("--out", help="Folder for the figures.")]


def register(app: typer.Typer) -> None:
    """Adds the commands to *app*."""
    for command in (publish, errata, plot):
        app.command(epilog=options.EXIT_CODES)(command)


def publish(
    edition: options.OneEdition = None,
    out: Out = None,
    all_texts: Private = False,
    again: Again = False,
    recount: Recount = 0,
    seed: Seed = None,
    sign: Sign = None,
    wait: options.Wait = 0.0,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Publish an edition as an immutable numbered release: database, Parquet, manifest, page; the latest points to it.

    Texts go in only where their licence lets anyone pass them on; else their SHA-256. What is published comes from the
    store itself: while a run is writing it, nothing is (exit code 3).
    """
    from gre_bench.release.figures.pictures import lacking
    from gre_bench.release.release_store import Shelf
    from gre_bench.reports.publishing import publish_edition

    store = Store(state, _edition(edition, state))
    shelf = Shelf(out or state / "releases", store.key)
    look = _recounting(recount, randrange(2**31) if seed is None else seed, state) if recount else None
    key = _key(sign, state, shelf.folder)
    made = publish_edition(store, shelf, all_texts, again, wait, look, key)
    found = {"release": made.name, "folder": str(made.folder), "digest": made.digest, "new": made.new}
    found |= {"signed_by": key.name if key else None}
    if as_json:
        return screen.print_json(found | {"tables": dict(made.tables)})
    if not made.new:
        return screen.say(f"{made.name} holds all this already: {made.folder}; --again makes a new release anyway")
    screen.say(f"{made.name}: {made.folder}, digest {made.digest}")
    if key:
        screen.say(f"signed by {key.name}")
    screen.say(f"the page: {made.folder / 'index.html'}")
    if problem := lacking():
        screen.say(f"without figures: {problem}; then publish it --again")
    if not all_texts:
        screen.say("texts: where their licence allows it; --all-texts makes a release that is not to be passed on")


def _key(path: Path | None, *outside: Path) -> SigningKey | None:
    """The key in the file *path*, which lies in none of the folders *outside*."""
    if path is None:
        return None
    from gre_bench.release.signing import signing_key

    return signing_key(path, outside)


def _recounting(count: int, seed: int, state: Path) -> Callable[[Frozen], None]:
    """What scores *count* pairs once more before they are published."""
    from gre_bench.pipeline.runs.prefect_engine import settle

    settle(state)

    def look(edition: Frozen) -> None:
        from gre_bench.reports.recount import recount_some
        from gre_bench.tasks import steps

        screen.say(f"scoring {count} pairs once more, drawn by --seed {seed}", screen.err)
        found = recount_some(edition, steps.undecorated(), count, seed, state.resolve())
        screen.say(f"{found} pairs came out as they are in the store", screen.err)

    return look


def errata(
    release: Release,
    text: Text,
    retire: Retire = False,
    sign: Sign = None,
    out: Out = None,
    state: options.State = Path("state"),
) -> None:
    """Say something of a release after the fact. It is written beside the releases, and stands on later pages."""
    from gre_bench.reports.publishing import shelf_of

    shelf, name = shelf_of(release, out or state / "releases")
    if not text.strip() or not text.isprintable():
        raise SettingsError("an erratum is one line of text")
    key = _key(sign, state, shelf.folder)
    with shelf.lock():
        shelf.say("retired" if retire else "erratum", name, {"text": text.strip()}, key)
        latest = shelf.point()
    screen.say(f"{name}: {'retired' if retire else 'noted'} in {shelf.log.path}; latest is {latest or 'none'}")


def plot(
    what: Plotted,
    out: Pictures,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Write the figures of a board as SVG and PNG; of a published table also its board as a page."""
    from gre_bench.reports.plotting import plotted

    written = plotted(what, out, state)
    if as_json:
        return screen.print_json([str(path) for path in written])
    for path in written:
        screen.say(str(path))
    if not written:
        screen.say(f"{what}: nothing to draw; figures need two ranked models whose size or knowledge cutoff is known")


def show_verified(folder: Path, found: dict[str, Any]) -> None:
    """What ``gre-bench verify`` finds of a release, in lines to read."""
    screen.say(f"{folder}: {found['files']} files are as they were written; digest {found['digest']}")
    if found["agrees_with_store"]:
        screen.say(f"its tables are those of the store of {found['release'].rpartition('-')[0]}")
    screen.say(f"{found['release']}, made {found['created_at']}; texts: {found['texts']}")
    screen.say(f"signed by {found['signed_by']}" if found["signed_by"] else "not signed")
    if found["log_lines"]:
        screen.say(f"its log: {found['log_lines']} lines, head {found['log_head']}")
    for entry in found["errata"]:
        screen.say(f"{entry['what']} {entry['at'][:10]}: {entry['text']}")


def _edition(edition: str | None, state: Path) -> str:
    if edition is not None:
        store = Store(state, edition)
        if not store.exists:
            raise no_edition(state, store.key)
        return store.key
    known = find_editions(state)
    if len(known) != 1:
        raise SettingsError(f"name an edition; known in {state.absolute()}: {', '.join(known) or 'none yet'}")
    return known[0]

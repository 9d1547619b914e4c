"""The doctor's checks of this machine: Python, packages, GPU, state folder, clock, store."""

from __future__ import annotations

import importlib.metadata
import platform
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from gre_bench.core.resources import resource
from gre_bench.core.settings import Settings
from gre_bench.pipeline.validation_records import expected_verdicts, gate
from gre_bench.preflight.doctor import Check, Finding
from gre_bench.store import Store
from gre_bench.store.queries import LAST_SETTINGS

OLDEST_PYTHON = (3, 11)
GIB = 2**30
CLOCK_SLACK_S = 120.0
TORCH_BACKENDS = ("transformers", "gem-smollm2")
INSTALL = f"pip install gre-bench -c {resource('constraints.txt')}"


def python(settings: Settings, state: Path) -> Iterator[Finding]:
    version = f"{platform.python_version()} in {sys.prefix}"
    fine = sys.version_info >= OLDEST_PYTHON
    yield Finding("python", "ok" if fine else "problem", version, "" if fine else "use Python 3.11 or newer")


def packages(settings: Settings, state: Path) -> Iterator[Finding]:
    """Checks that the packages of an install without extras are present, in the tested versions."""
    needed = [line for line in importlib.metadata.requires("gre-bench") or [] if "extra ==" not in line]
    missing = [name for name in map(_name, needed) if _version(name) is None]
    if missing:
        yield Finding("packages", "problem", f"not installed: {', '.join(missing)}", INSTALL)
        return
    tested = dict(line.split("==") for line in resource("constraints.txt").read_text().split() if "==" in line)
    # Version 2.13.0+cpu is a build of 2.13.0.
    installed = {name: version.partition("+")[0] for name in tested if (version := _version(name)) is not None}
    untested = [
        f"{name} {installed[name]} (tested: {tested[name]})" for name in installed if installed[name] != tested[name]
    ]
    if untested:
        more = f" and {len(untested) - 3} more" if len(untested) > 3 else ""
        yield Finding("packages", "warning", f"not the tested versions: {', '.join(untested[:3])}{more}", INSTALL)
    else:
        yield Finding("packages", "ok", f"{len(installed)} in the tested versions")


def gpu(settings: Settings, state: Path) -> Iterator[Finding]:
    """Checks torch and the devices that torch finds.

    Missing torch is a problem only if the evaluation LM or the embedder needs it. A missing GPU is a problem only if
    the settings name the device cuda.
    """
    from gre_bench.lm.weights import torch_here

    lm, torch = settings.evaluation_lm, torch_here()
    needed = lm.backend in TORCH_BACKENDS or settings.embedder.backend == "sentence-transformers"
    if torch is None:
        todo = "pip install 'gre-bench[lm]'"
        yield (
            Finding("torch", "problem", f"not installed; {lm.backend} needs it", todo)
            if needed
            else Finding("torch", "ok", f"not installed, and {lm.backend} does not need it")
        )
        return
    built = f"for CUDA {torch.cuda}" if torch.cuda else "for CPUs"
    yield Finding("torch", "ok", f"{torch.version}, built {built}")
    for device in torch.devices:
        yield Finding("gpu", "ok", f"{device.name}, {device.free / GIB:.1f} of {device.memory / GIB:.1f} GiB free")
    if torch.devices:
        return
    if needed and "cuda" in (lm.device, settings.embedder.device):
        todo = "install a driver and a torch for CUDA, or set device to auto or cpu"
        yield Finding("gpu", "problem", "none, and the settings ask for cuda", todo)
    elif lm.backend in TORCH_BACKENDS:
        yield Finding("gpu", "warning", "none: the evaluation LM runs on the CPU", "fine for small models only")
    else:
        yield Finding("gpu", "ok", f"none, and {lm.backend} does not need one")


def state_folder(settings: Settings, state: Path) -> Iterator[Finding]:
    """Checks that files can be written in the state folder, or that the folder can be created."""
    existing = _nearest(state)
    try:
        with tempfile.NamedTemporaryFile(dir=existing, prefix=".gre-bench-doctor-"):
            pass
        to_be_made = "" if existing == state.resolve() else f" (to be made in {existing})"
        yield Finding("state", "ok", f"{state} can be written{to_be_made}")
    except OSError as error:
        yield Finding(
            "state", "problem", f"{existing} cannot be written: {error.strerror}", "choose another by --state"
        )


def clock(settings: Settings, state: Path) -> Iterator[Finding]:
    """Checks that the clock does not lag behind the modification times of existing files.

    Run ids, budgets and schedules depend on the clock.
    """
    files = [*state.glob("editions/*/status.json"), *state.glob("spending.jsonl"), Path(__file__)]
    ahead = max((file.stat().st_mtime - time.time() for file in files if file.is_file()), default=0.0)
    time_now = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    if ahead > CLOCK_SLACK_S:
        yield Finding("clock", "problem", f"{time_now}, {ahead:.0f} s before the newest file here", "set it (NTP)")
    else:
        yield Finding("clock", "ok", time_now)


def store(settings: Settings, state: Path) -> Iterator[Finding]:
    """Checks that a store can be created, written and read.

    If the edition has a store, also checks that its read-only copy can be read.
    """
    with tempfile.TemporaryDirectory(prefix="gre-bench-") as folder:
        trial = Store(Path(folder), settings.edition.edition)
        with trial.lock("doctor"):
            trial.copy_for_readers()
        trial.read(LAST_SETTINGS)
    yield Finding("duckdb", "ok", f"{_version('duckdb')}: a store can be made, written and read")
    own = Store(state, settings.edition.edition)
    if own.read_file.is_file():
        own.read(LAST_SETTINGS)
        writing = ", being written now" if own.is_being_written() else ""
        yield Finding("edition", "ok", f"{own.key} can be read{writing}")


def validation(settings: Settings, state: Path) -> Iterator[Finding]:
    """Tells which metrics a year's board would leave out, by the validation records known here."""
    todo = "release.unvalidated decides; gre-bench study validate makes a record"
    for row in expected_verdicts(settings, state):
        line, fine = gate(row, settings), row["verdict"] in ("pass", "undecided")
        yield Finding("validation", "ok" if fine else "warning", line, "" if fine else todo)


CHECKS: dict[str, Check] = {
    "python": python, "packages": packages, "torch": gpu, "state": state_folder, "clock": clock, "duckdb": store,
    "validation": validation,
}  # fmt: skip


def _nearest(path: Path) -> Path:
    """Returns *path*, or the nearest existing folder above it."""
    whole = path.resolve()
    return next(folder for folder in (whole, *whole.parents) if folder.exists())


def _name(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None

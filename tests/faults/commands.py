"""``gre-bench`` as a process of its own: forked from a server that has imported it, so that a start costs nothing."""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.conftest import ROOT, SIXTEEN
from tests.flows.refreshing import use
from tests.forks import CONTEXT
from tests.scripted_lms import OverlapLM
from tests.servers.chat import MODEL, ScriptedChat

DEMO = ROOT / "tests" / "flows" / "notes_and_pdfs.toml"
SCRIPTED = ("--no-prefect", "--settings", str(DEMO), "--set", "evaluation_lm.backend=scripted")
"""The whole way from notes and PDFs to the board, scored by the scripted evaluation LM."""

SETTINGS = """
[edition]
venue = "SAMPLE"
year = 2026
papers = 16
[sources]
notes = "{notes}"
texts = "{texts}"
[writing]
models = "{models}"
judgments = "{writer}"
assw = "{writer}"
candidates = ["{candidate}"]
[evaluation_lm]
backend = "scripted"
[scoring]
metrics = ["gem", "gem_s_assw"]
[run]
chunk_papers = 1
read_copy_every_s = 0
"""
MODELS = '[[model]]\nname = "scripted"\nendpoint = "{url}"\nmodel = "{model}"\n'

Before = Callable[[], None]
"""What is done in the child before the command: limits, hooks."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: its exit code (minus the signal that killed it), and what it said."""

    code: int
    out: str
    err: str


def sample(folder: Path, chat: ScriptedChat | None = None) -> tuple[str, ...]:
    """Options of a refresh from notes and texts, of which *chat* writes all that is written; rules without it.

    No PDF is read, so that a refresh of a few papers takes a second.
    """
    folder.mkdir(parents=True, exist_ok=True)
    texts, models, file = folder / "texts.jsonl", folder / "models.toml", folder / "settings.toml"
    papers = [json.loads(line) for line in (SIXTEEN / "papers.jsonl").read_text().splitlines()]
    rows = [{"paper_id": one["paper_id"], "text": f"{one['title']}\n\nAbstract\n\n{one['abstract']}"} for one in papers]
    texts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    models.write_text(MODELS.format(url=chat.url if chat else "http://127.0.0.1:9/v1", model=MODEL))
    writers = ("scripted", "scripted") if chat else ("rule", "extractive-full")
    names = dict(zip(("writer", "candidate"), writers, strict=True))
    notes = SIXTEEN / "notes.jsonl"
    file.write_text(SETTINGS.format(notes=notes, texts=texts, models=models, **names))
    return ("--no-prefect", "--settings", str(file))


def start(arguments: Sequence[Any], folder: Path, before: Before | None = None) -> ForkServerProcess:
    """The command at work; what it says goes to ``out`` and ``err`` in *folder*."""
    process = CONTEXT.Process(target=_main, args=([str(one) for one in arguments], str(folder), before))
    process.start()
    return process


def ended(process: ForkServerProcess, folder: Path, within_s: float = 120.0) -> Ended:
    """How the command ended that `start` began."""
    process.join(within_s)
    if process.is_alive():
        process.kill()
        process.join()
        raise AssertionError(f"not ended within {within_s} s: {(folder / 'err').read_text()}")
    out, err = ((folder / name).read_text(errors="replace") for name in ("out", "err"))
    return Ended(process.exitcode or 0, out, err)


def command(*arguments: Any, before: Before | None = None, within_s: float = 120.0) -> Ended:
    """A command and how it ended."""
    with TemporaryDirectory(prefix="gre-bench-faults-") as folder:
        return ended(start(arguments, Path(folder), before), Path(folder), within_s)


def refresh(state: Path, *more: Any, before: Before | None = None, settings: Sequence[str] = SCRIPTED) -> Ended:
    """A refresh of the sample edition in *state*, by default the `SCRIPTED` one."""
    return command("refresh", *settings, *more, "--state", state, before=before)


def assert_one_line(found: Ended, code: int | tuple[int, ...], *words: str) -> None:
    """The command ended with one of *code* and one line that has all of *words*; never with a traceback."""
    assert found.code in ((code,) if isinstance(code, int) else code), (found.code, found.err[-3000:], found.out[-500:])
    assert found.err.count("\n") == 1, found.err[-3000:]
    assert all(word in found.err for word in words), (words, found.err)


def small_files(most_bytes: int) -> Before:
    """Files of at most so many bytes: what ``ulimit -f`` does. A write beyond is an error, as on a full disk."""
    return partial(_limit_files, most_bytes)


def _limit_files(most_bytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))


def _main(arguments: list[str], folder: str, before: Before | None) -> None:
    for number, name in ((1, "out"), (2, "err")):
        handle = os.open(Path(folder) / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, number)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    # What a terminal's width would break is one line here too.
    os.environ |= {"COLUMNS": "10000", "PYTHONUNBUFFERED": "1"}
    sys.argv = ["gre-bench", *arguments]
    use(OverlapLM())
    from gre_bench.cli.app import main
    from gre_bench.writing import http_writer

    http_writer.RetryPolicy = partial(http_writer.RetryPolicy, attempts=2, first_wait_s=0.01)
    if before:
        before()
    main()

"""What all tests share: where real inputs lie if they are there, and evaluation LMs made for the tests."""

from __future__ import annotations

import atexit
import gc
import importlib.util
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

try:
    import hypothesis
    import typer.main
    import typer.testing
except ModuleNotFoundError:  # a GPU machine with torch alone proves the kernels: pytest -m gpu tests/lm/test_cuda.py
    hypothesis = typer = None

from tests.once import begin
from tests.tiers import (  # noqa: F401 (hooks)
    pytest_collection_modifyitems,
    pytest_runtest_logreport,
    pytest_runtest_makereport,
    pytest_runtest_protocol,
    pytest_sessionfinish,
)

# Compiled modules are kept whatever the machine asks for: each worker and each child process would compile them anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Workers share the cores already: threads of theirs would wait for each other, at full load.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# What is not shown on a terminal is as wide as this says, and who runs the tests may have set it.
# The library readline sets it too, unseen by Python, for child processes alone.
os.environ.pop("COLUMNS", None)
os.unsetenv("COLUMNS")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
os.environ.setdefault("DO_NOT_TRACK", "1")
os.environ.setdefault("PREFECT_LOGGING_LEVEL", "CRITICAL")
os.environ.setdefault("PREFECT_SERVER_LOGGING_LEVEL", "CRITICAL")
os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
os.environ.setdefault("PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", "120")

# An example may take its time: a machine may be slow, and busy with other things. The same examples come each time,
# unless new ones are asked for, as `make test-all` does; then there are twice as many.
if hypothesis:
    hypothesis.settings.register_profile(
        "any_machine",
        deadline=None,
        max_examples=100 if "GRE_BENCH_NEW_EXAMPLES" in os.environ else 50,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
        derandomize="GRE_BENCH_NEW_EXAMPLES" not in os.environ,
    )
    hypothesis.settings.load_profile("any_machine")

# Only a test marked `pretrained` sees the models that this user has fetched: the others pass on a machine without them.
FETCHED = os.environ.get("GRE_BENCH_MODELS")
os.environ["GRE_BENCH_MODELS"] = NONE_FETCHED = os.path.join(os.sep, "nonexistent", "models")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    os.environ["GRE_BENCH_MODELS"] = NONE_FETCHED
    if item.get_closest_marker("pretrained"):
        os.environ.pop("GRE_BENCH_MODELS")
        os.environ |= {"GRE_BENCH_MODELS": FETCHED} if FETCHED else {}


ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"
SIXTEEN = ROOT / "tests" / "fixtures" / "sixteen"
"""The first sixteen papers of the sample edition: what most tests score, so that they stay quick."""


def script(name: str) -> ModuleType:
    """A script of the sample edition's folder, as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "data" / "sample" / f"{name}.py")
    assert spec and spec.loader
    # A dataclass looks its module up by name while it is being made.
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def real(*parts: str) -> Path:
    """A file or folder of real data; skips the test that asks for it if it is not there."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{'/'.join(parts)} is not on this machine")
    return path


# A million objects are made while tests are collected, and stay: no collection of garbage need look at them.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
    atexit.register(gc.unfreeze)


OWN_FOLDER = begin()
"""The folder of what is done once a run, in the process that made it."""

# The tree of commands is made of their signatures at each call: 30 ms, some hundred times a run.
if typer:
    typer.main.get_command = typer.testing._get_command = cache(typer.main.get_command)


def pytest_unconfigure() -> None:
    if OWN_FOLDER:
        shutil.rmtree(OWN_FOLDER, ignore_errors=True)


@pytest.fixture(autouse=True)
def same_environment() -> Iterator[None]:
    """Takes back what a test has set in the environment: a command sets Prefect's folder there, below its own state."""
    before = dict(os.environ)
    yield
    if os.environ != before:
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture
def iclr2023() -> Path:
    """The real ICLR 2023 reviews with GPT-4o judgments."""
    return real("iclr2023", "human_reviews.parquet")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Ends with what was skipped, counted by reason."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else str(report.longrepr)
        for report in terminalreporter.stats.get("skipped", ())
    )
    if reasons:
        terminalreporter.section("skipped, by reason")
        for reason, count in reasons.most_common():
            terminalreporter.line(f"{count:5}  {reason}")

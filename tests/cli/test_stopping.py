"""How a command ends that is stopped: in order if it can, in time if it cannot, at once if it is asked twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from gre_bench.cli import stopping
from gre_bench.cli.stopping import EXIT_CODE, LINE, LONGEST_S, ONE_STOP_S, handle_signals
from tests.conftest import ROOT

BEGIN = """
import signal, subprocess, sys, time
from gre_bench.cli import stopping
from gre_bench.core.errors import Stopped
child = subprocess.Popen(["sleep", "60"], start_new_session=True, stdout=-3, stderr=-3)
with stopping.handle_signals():
"""
ORDERLY = """
    try:
        print(child.pid, flush=True)
        time.sleep(60)
    except Stopped as stopped:
        time.sleep(1)
        print(stopped, flush=True)
        stopping.print_stopped_and_exit()
"""
DEAF = """
    for sign in stopping.SIGNS:
        signal.signal(sign, lambda *_: None)
    print(child.pid, flush=True)
    time.sleep(60)
"""
FAST = 0.7


def begun(program: str) -> tuple[subprocess.Popen[str], Path]:
    """*program* at work, and where its child is to be seen."""
    process = subprocess.Popen([sys.executable, "-c", BEGIN + program], cwd=ROOT, stdout=-1, stderr=-1, text=True)
    assert process.stdout is not None
    child = Path("/proc", process.stdout.readline().strip())
    assert child.exists()
    return process, child


def assert_ended(process: subprocess.Popen[str], child: Path, out: str) -> None:
    found = process.communicate(timeout=20)
    assert (process.returncode, *found) == (EXIT_CODE, out, f"{LINE}\n")
    deadline = time.monotonic() + 5
    # Nobody may wait for the child of a process that is gone: it stays as a name.
    while child.exists() and ") Z " not in (child / "stat").read_text():
        assert time.monotonic() < deadline, "a child was left behind"
        time.sleep(0.01)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_told_twice_by_a_terminal_and_by_timeout_is_one_stop(sign):
    process, child = begun(ORDERLY)
    for _ in range(2):
        process.send_signal(sign)
        time.sleep(ONE_STOP_S / 3)
    assert_ended(process, child, f"{sign.name}\n")


def test_a_second_signal_ends_at_once():
    process, child = begun(ORDERLY)
    process.send_signal(signal.SIGINT)
    time.sleep(2 * ONE_STOP_S)
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert_ended(process, child, "")
    assert time.monotonic() - began < FAST


def test_a_library_that_has_taken_the_signals_for_itself_is_not_waited_for():
    process, child = begun(DEAF)
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert_ended(process, child, "")
    assert LONGEST_S <= time.monotonic() - began < LONGEST_S + FAST


def test_a_command_that_was_not_stopped_leaves_the_signals_as_they_were():
    before = signal.getsignal(signal.SIGINT), signal.set_wakeup_fd(-1)
    with handle_signals():
        assert signal.getsignal(signal.SIGINT) is not before[0]
    assert (signal.getsignal(signal.SIGINT), signal.set_wakeup_fd(-1)) == before


def test_a_signal_while_the_block_ends_is_no_fault(monkeypatch):
    reading, writing = os.pipe()
    os.write(writing, bytes([signal.SIGTERM]))
    os.close(writing)
    ended = []
    monkeypatch.setattr(stopping, "print_stopped_and_exit", lambda: ended.append(True))
    monkeypatch.setattr(stopping, "LONGEST_S", 0.1)
    monkeypatch.setattr(stopping, "_heard", threading.Event())
    stopping._watch_signals(reading)
    os.close(reading)
    assert ended == [True]

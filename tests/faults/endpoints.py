"""Refreshes of the sample edition whose texts are all written by a chat server made for the tests, which misbehaves."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import sys
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gre_bench.cli import app
from gre_bench.http.lm_requests import RetryPolicy
from gre_bench.lm.backends import vllm_client
from gre_bench.pipeline.runs import spending
from gre_bench.store import Store
from gre_bench.writing import http_writer
from tests.cli.calling import call
from tests.faults.killing import by_lm
from tests.flows.refreshing import DEMO, EDITION, query, use
from tests.scripted_lms import OverlapLM
from tests.servers.chat import ScriptedChat

ATTEMPTS = 3
TIMEOUT_S = 60.0
SOON_S = 2.0
"""The retry policy for an endpoint whose fault is that it takes too long."""
SALT = "d"
"""With this one `some_chats` are a review, judgments and a synopsis, and each metric keeps a human review."""
CODES = {"done": 0, "fault": 1, "incomplete": 3}
"""Exit code by outcome of a run."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a refresh ended: its exit code, its summary if it came to one, else the line that says why not."""

    code: int
    summary: dict[str, Any]
    line: str

    @property
    def outcome(self) -> str:
        return self.summary.get("outcome", "refused")


def hurry(monkeypatch: pytest.MonkeyPatch, timeout_s: float = TIMEOUT_S) -> None:
    """Waits that a user has in minutes are hundredths of seconds; the number of attempts is bounded as ever."""
    quick = {"attempts": ATTEMPTS, "timeout_s": timeout_s, "first_wait_s": 0.01, "longest_wait_s": 0.5}
    for client in (http_writer, vllm_client):
        monkeypatch.setattr(client, "RetryPolicy", partial(RetryPolicy, **quick))


def said(*arguments: object) -> tuple[int, str, str]:
    """``gre-bench`` in this process as a user meets it: exit code, standard output, standard error."""
    out, err = io.StringIO(), io.StringIO()
    code, argv = 0, sys.argv
    sys.argv = ["gre-bench", *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            app.main()
    except SystemExit as stopped:
        code = stopped.code if isinstance(stopped.code, int) else 0
    except Exception:  # a bug: the test of exit codes shows it, the others go on
        code = -1
        err.write(traceback.format_exc())
    finally:
        sys.argv = argv
    return code, out.getvalue(), err.getvalue()


def refused(*arguments: object, says: str, code: int = 2) -> str:
    """The one line, which *says* so, by which a command ends with *code*; it writes nothing else."""
    found, out, err = said(*arguments)
    assert (found, out, err.count("\n")) == (code, "", 1) and says in err, (arguments, found, out, err)
    return err


def refresh(state: Path, server: ScriptedChat, *more: str, sets: tuple[str, ...] = (), limit: int = 2) -> Ended:
    """A refresh of the sample edition: candidate, judgments and synopses by *server*, scored by the scripted LM."""
    use(OverlapLM())
    metrics = "scoring.metrics=['gem', 'gem_s_assw', 'gem_raw']"
    chosen = by_lm(state, server, "evaluation_lm.backend=scripted", metrics, *sets)
    return refresh_by(chosen, limit, state, *more)


def refresh_by(chosen: Iterable[str], limit: int, state: Path, *more: str) -> Ended:
    """A refresh of the first papers of the sample edition with the settings *chosen*."""
    options = (*with_settings(*chosen), "--limit", limit, "--json", "--state", state)
    code, out, line = call("refresh", "--no-prefect", "--settings", DEMO, *options, *more)
    return Ended(code, json.loads(out) if out.strip() else {}, line)


def with_settings(*chosen: str) -> list[str]:
    """The options that set what is *chosen*."""
    return [part for setting in chosen for part in ("--set", setting)]


def outcomes(state: Path) -> dict[str, int]:
    """What became of the requests, as the status of the edition tells it."""
    spent = spending.summarise_spending(Store(state, EDITION))["spent_by_model"]
    return dict(spent["scripted"]["outcomes"]) if spent else {}


def texts(state: Path) -> dict[str, int]:
    """What became of the texts that were asked for, likewise."""
    found: dict[str, int] = {}
    for row in spending.summarise_spending(Store(state, EDITION))["texts"]:
        found[row["outcome"]] = found.get(row["outcome"], 0) + row["texts"]
    return found


def some_chats(behaviour: str, body: dict[str, Any]) -> str | None:
    """*behaviour* for some chats, the same ones whenever and in whatever order they come."""
    digest = hashlib.sha256(f"{SALT}{body['messages'][-1]['content']}".encode()).digest()
    return behaviour if digest[0] % 3 == 0 else None


def reasons(state: Path) -> set[tuple[str, str | None]]:
    """States and reasons of the pairs that have no score."""
    return set(query(state, "select distinct state, reason from pairs where state <> 'scored'"))

"""``gre-bench`` called in the process of a test: what is expected comes back as an exit code, whatever is a bug flies."""

from __future__ import annotations

import contextlib
import io
import sys

import pytest
from click.testing import Result
from typer.testing import CliRunner

from gre_bench.cli import app
from gre_bench.cli.views import screen
from gre_bench.core.errors import GreBenchError


def ended(*arguments: object) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the whole program, on screens of 400 columns."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setattr(sys, "argv", ["gre-bench", *map(str, arguments)])
        patch.setattr(screen, "out", screen.Console(width=400))
        patch.setattr(screen, "err", screen.Console(stderr=True, width=400))
        try:
            app.main()
        except SystemExit as stopped:
            code = stopped.code or 0
    return code, out.getvalue(), err.getvalue()


def call(*arguments: object) -> tuple[int, str, str]:
    """Exit code, standard output, and standard error or the line of an expected failure, as `cli.main` gives them."""
    done, failure = _ended(arguments)
    return (failure[0], done.stdout, failure[1]) if failure else (done.exit_code, done.stdout, done.stderr)


def shown(*arguments: object) -> tuple[int, str]:
    """Exit code, and standard output or the line of an expected failure."""
    done, failure = _ended(arguments)
    return failure or (done.exit_code, done.stdout)


def _ended(arguments: tuple[object, ...]) -> tuple[Result, tuple[int, str] | None]:
    """How it ended; exit code and line of an expected failure."""
    done = CliRunner().invoke(app.app, [*map(str, arguments)])
    if isinstance(done.exception, GreBenchError):
        return done, (app.choose_error_exit_code(done.exception), str(done.exception))
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done, None

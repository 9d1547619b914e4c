"""``gre-bench`` called in the process of a test: what is expected comes back as an exit code, whatever is a bug flies."""

from __future__ import annotations

from click.testing import Result
from typer.testing import CliRunner

from gre_bench.cli import app
from gre_bench.core.errors import GreBenchError


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
        return done, (app.exit_code(done.exception), str(done.exception))
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done, None

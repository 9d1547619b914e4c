"""``gre-bench doctor``: checks whether a run with the given settings would find everything that it needs."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from gre_bench.cli.commands import options
from gre_bench.cli.commands.running import settings_of
from gre_bench.cli.views import screen
from gre_bench.pipeline.runs.prefect_engine import configure_prefect

if TYPE_CHECKING:
    from gre_bench.preflight.doctor import Finding

OK, PROBLEM = 0, 2
COLOURS = {"ok": "green", "warning": "yellow", "problem": "red"}


def _show(finding: Finding) -> None:
    todo = f" → {finding.to_do}" if finding.to_do else ""
    screen.mark(f"{finding.verdict:<7}", COLOURS[finding.verdict], f"{finding.check}: {finding.found}{todo}")


def doctor(
    settings: options.SettingsFile = None,
    edition: options.Edition = None,
    override: options.Set = None,
    state: options.State = Path("state"),
    as_json: options.Json = False,
) -> None:
    """Check that everything a run needs is there.

    Checks all that a refresh with these settings needs, and says what is wrong and what to do. It sends no paid
    request. The exit code is 2 if there is a problem.
    """
    from gre_bench.preflight.doctor import examine

    chosen, findings = settings_of(settings, edition, override, state), []
    with tempfile.TemporaryDirectory(prefix="gre-bench-") as folder:
        # Secret blocks of the state's own Prefect count. Without one, a temporary Prefect leaves the state as it is.
        configure_prefect(state if (state / "prefect").is_dir() else Path(folder))
        for finding in examine(chosen, state):
            findings.append(finding)
            if not as_json:
                _show(finding)
    if as_json:
        screen.print_json([asdict(finding) for finding in findings])
    raise typer.Exit(PROBLEM if any(finding.verdict == "problem" for finding in findings) else OK)

"""Checks what a run needs before it starts; each finding says what to do about a problem.

No check costs money or changes the edition, and no finding contains a secret.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from gre_bench.core.errors import GreBenchError
from gre_bench.core.settings import Settings
from gre_bench.pipeline.runs.secrets import secrets_of, without

Verdict = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one *check*: what was *found*, and what *to_do* unless the verdict is ok."""

    check: str
    verdict: Verdict
    found: str
    to_do: str = ""


Check = Callable[[Settings, Path], Iterator[Finding]]


def examine(settings: Settings, state: Path) -> Iterator[Finding]:
    """Yields the findings of all checks as they come: first of the machine, then of services and endpoints.

    An error of a check becomes its finding, a problem. Secrets are masked.
    """
    from gre_bench.preflight import doctor_disk, doctor_machine, doctor_openreview, doctor_prefect, doctor_services

    hidden = secrets_of(settings)
    for checks_of in (doctor_machine, doctor_disk, doctor_services, doctor_prefect, doctor_openreview):
        for name, check in checks_of.CHECKS.items():
            try:
                for finding in check(settings, state):
                    yield _masked(finding, hidden)
            except GreBenchError as error:
                yield _masked(Finding(name, "problem", str(error)), hidden)


def _masked(finding: Finding, hidden: list[str]) -> Finding:
    return replace(finding, found=without(hidden, finding.found), to_do=without(hidden, finding.to_do))

"""Checks what a run needs before it starts; if a check finds a problem, its finding says what to do.

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
    """The result of one check.

    - *check*: the name of the check.
    - *found*: what the check found.
    - *to_do*: what the user should do; may be empty if the verdict is ok.
    """

    check: str
    verdict: Verdict
    found: str
    to_do: str = ""


Check = Callable[[Settings, Path], Iterator[Finding]]


def examine(settings: Settings, state: Path) -> Iterator[Finding]:
    """Runs all checks, and yields each finding as soon as it is known.

    The checks of the machine come first, then those of services and endpoints. If a check raises an error, the error
    becomes a finding with the verdict ``problem``. Secrets are masked.
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

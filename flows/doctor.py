"""What a run needs of its surroundings, looked at before it starts: each check says what to do where it finds fault.

Nothing is paid for, nothing of the edition is changed, and no secret is ever part of a finding.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tasks.errors import GreBenchError
from tasks.models import load as load_models
from tasks.settings import Settings

SHORTEST_SECRET = 8
"""A shorter one is a placeholder or a word: taking it out would only mangle the text."""
OTHER_SECRETS = ("PREFECT_API_KEY", "PREFECT_API_AUTH_STRING")

Verdict = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One *check*: what was *found*, and what *to_do* unless it is ok."""

    check: str
    verdict: Verdict
    found: str
    to_do: str = ""


Check = Callable[[Settings, Path], Iterator[Finding]]


def examine(settings: Settings, state: Path) -> Iterator[Finding]:
    """All findings, as they come; the machine first, then what it reaches."""
    from flows.doctor_machine import CHECKS as of_the_machine
    from flows.doctor_services import CHECKS as of_services

    hidden = secrets_of(settings)
    for name, check in {**of_the_machine, **of_services}.items():
        try:
            for finding in check(settings, state):
                yield _masked(finding, hidden)
        except GreBenchError as error:
            yield _masked(Finding(name, "problem", str(error), "mend what the line names"), hidden)


def secrets_of(settings: Settings) -> list[str]:
    """Values that must not be shown, the longest first: keys of models, accounts of OpenReview and Prefect."""
    names = {*OTHER_SECRETS, settings.evaluation_lm.key_env}
    with suppress(GreBenchError):  # a check of its own says what is wrong with the models file
        names |= {model.key_env for model in load_models(settings.writing.models).values()}
    fetch = settings.fetch
    for where in (fetch.username, fetch.password, fetch.token, fetch.mfa_code, fetch.totp_secret):
        names.add(where.removeprefix("env:"))
    values = {os.environ.get(name, "").strip() for name in names if name}
    return sorted((value for value in values if len(value) >= SHORTEST_SECRET), key=len, reverse=True)


def _masked(finding: Finding, hidden: list[str]) -> Finding:
    found, to_do = finding.found, finding.to_do
    for secret in hidden:
        found, to_do = found.replace(secret, "[secret]"), to_do.replace(secret, "[secret]")
    return replace(finding, found=found, to_do=to_do)

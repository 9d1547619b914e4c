"""The doctor's check of OpenReview: whether the login is accepted, and whether the service knows the venue."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from gre_bench.core.errors import Paused, SettingsError, SourceError
from gre_bench.core.settings import Settings
from gre_bench.ingest.openreview.client import Login, OpenReview, RetryPolicy
from gre_bench.ingest.openreview.fetching import SECRETS, budget_file, origin
from gre_bench.ingest.openreview.request_budget import RequestBudget
from gre_bench.ingest.records.venues import venue_of
from gre_bench.preflight.doctor import Check, Finding, Verdict

ONE_TRY = RetryPolicy(timeout_s=10.0, whole_s=30.0, attempts=1)


def openreview(settings: Settings, state: Path) -> Iterator[Finding]:
    """Checks the login for fetching by sending one request. The request counts against the service's limits."""
    from gre_bench.tasks.fetch import secret

    fetch, sources = settings.fetch, settings.sources
    has_sources = any((sources.notes, sources.snapshot, sources.papers, sources.reviews))
    login = Login(**{name: secret(getattr(fetch, name)) for name in SECRETS})
    if login.token:
        account = f"a token in {fetch.token}"
    elif login.username and login.password:
        account = f"an account in {fetch.username} and {fetch.password}"
    elif login.username or login.password:
        todo = f"set both {fetch.username} and {fetch.password}"
        yield Finding("OpenReview", "problem", "half a login: a user name without a password, or the reverse", todo)
        return
    elif not fetch.host:
        todo = "export OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD, or name notes or a snapshot in the settings"
        yield (
            Finding("OpenReview", "ok", "no login, and these settings need none")
            if has_sources
            else Finding("OpenReview", "warning", "no login: gre-bench fetch would be refused", todo)
        )
        return
    else:
        account = "no login"
    try:
        origin(settings)
    except SettingsError as error:
        yield (
            Finding("OpenReview", "ok", f"{account}; not tried: {error}")
            if has_sources
            else Finding("OpenReview", "warning", f"{account}; {error}", "or name notes or a snapshot in the settings")
        )
        return
    yield _login_trial(settings, state, login, account, "warning" if has_sources and not fetch.host else "problem")


CHECKS: dict[str, Check] = {"OpenReview": openreview}


def _login_trial(settings: Settings, state: Path, login: Login, account: str, verdict: Verdict) -> Finding:
    """Sends one request with *login*, and returns the finding.

    *verdict*: the verdict if the request is refused. *account*: a description of the login for the finding. If the
    folder *state* exists, the request is counted in the folder's record of requests.
    """
    service, venue = origin(settings), venue_of(settings.edition.venue, settings.edition.year)
    where, invitation = service.host.partition("//")[2], venue.listings[0]
    with tempfile.TemporaryDirectory(prefix="gre-bench-") as folder:
        budget = budget_file(state if state.is_dir() else Path(folder))
        client = OpenReview(service.api, service.host, RequestBudget(budget), login, ONE_TRY)  # type: ignore[arg-type]
        try:
            count = client.count(invitation)
        except Paused as pause:
            return Finding("OpenReview", "ok", f"{account}; not tried: {pause}")
        except SourceError as error:
            todo = "set the login again, check the service, or name notes or a snapshot in the settings"
            return Finding("OpenReview", verdict, f"{account}; {error}", todo)
    if not count:
        todo = f"is {venue.name} open yet? look at its entry in data/venues.toml"
        return Finding("OpenReview", "warning", f"{where} takes {account} and lists nothing under {invitation}", todo)
    return Finding("OpenReview", "ok", f"{where} takes {account}: {count} submissions under {invitation}")

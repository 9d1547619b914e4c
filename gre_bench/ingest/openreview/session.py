"""A session with one host of OpenReview: the real openreview-py client on our transport, which logs in if needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from gre_bench.core.errors import SourceError
from gre_bench.http.masking import masked
from gre_bench.http.totp import code_now
from gre_bench.ingest.openreview.request_budget import RequestBudget

if TYPE_CHECKING:
    from gre_bench.ingest.openreview.transport import Transport

SAID = 300
"""The most characters shown of a service's message."""


@dataclass(frozen=True, slots=True, repr=False)
class Login:
    """How to log in: a *token*, or a user with password.

    *mfa_code* is a current code, *totp_secret* generates codes.
    """

    username: str = ""
    password: str = ""
    token: str = ""
    mfa_code: str = ""
    totp_secret: str = ""

    def __repr__(self) -> str:
        return "Login(not shown)"


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Limits of a request, and how often a failing one is tried.

    *timeout_s*: seconds for a connection or the next byte. *whole_s*: seconds for a complete response. *attempts*:
    tries. *backoff_s*: seconds before the second try; each further wait is twice as long.
    """

    timeout_s: float = 60.0
    whole_s: float = 900.0
    attempts: int = 5
    backoff_s: float = 2.0


class Session:
    """Opens openreview-py's client of API v1 or v2 on first use, and again after `renew`."""

    def __init__(self, api: Literal[1, 2], host: str, budget: RequestBudget, login: Login, retry_policy: RetryPolicy):
        from gre_bench.ingest.openreview.transport import Transport

        self.api, self.host, self.login = api, host, login
        self.transport: Transport = Transport(budget, **asdict(retry_policy))
        self._client: Any = None
        self._spent = False

    def client(self) -> Any:
        """Returns the client, with a token if there is a login; raises `SourceError` if the login is refused."""
        if self._client is None:
            token = "" if self._spent else self.login.token
            if not token and self.login.password:
                token = self._log_in()
            self._client = self._plain(self.api, self.host, token)
        return self._client

    def renew(self) -> bool:
        """Forgets an expired token; returns whether a password can get another."""
        self._client, self._spent = None, True
        return bool(self.login.password)

    def said(self, error: Exception) -> str:
        """Returns an error of openreview-py as one line without secrets."""
        token = str(getattr(self._client, "token", None) or "")
        return masked(_line(error), [*asdict(self.login).values(), token])[:SAID]

    def _log_in(self) -> str:
        """Returns a token for user and password, from API v2, whose tokens both APIs accept.

        Raises `SourceError` if the login is refused.
        """
        from openreview import MfaRequiredException, OpenReviewException

        from gre_bench.ingest.openreview.transport import TokenExpired

        login, client = self.login, self._plain(2, self.host.replace("//api.", "//api2."), "")
        client.login_allowed = True
        code = _codes(login)
        try:
            client.login_user(login.username, login.password, mfa_code_provider=code)
        except MfaRequiredException:
            raise SourceError(
                f"{self.host}: the account asks for a second factor; set OPENREVIEW_TOTP_SECRET or OPENREVIEW_MFA_CODE"
            ) from None
        except (OpenReviewException, TokenExpired) as error:
            raise SourceError(f"{self.host}: the login was refused: {self.said(error)}") from None
        except (KeyError, TypeError, AttributeError):
            raise SourceError(f"{self.host}: the login returned no token; is it the API's address?") from None
        return str(client.token)

    def _plain(self, api: int, host: str, token: str) -> Any:
        """Returns a client of openreview-py on our transport that sends nothing on its own."""
        import openreview
        import openreview.api

        known = openreview.Client if api == 1 else openreview.api.OpenReviewClient

        class Quiet(known):  # type: ignore[misc, valid-type]
            """A client that does not log in when opened: that request would bypass the budget and the time limits."""

            login_allowed = False

            def login_user(self, *args: Any, **options: Any) -> Any:
                return super().login_user(*args, **options) if self.login_allowed else {}

        client = Quiet(baseurl=host)
        client.session.adapters.clear()
        for scheme in ("https://", "http://"):
            client.session.mount(scheme, self.transport)
        if token:
            client.token = token
            client.headers["Authorization"] = f"Bearer {token.removeprefix('Bearer ')}"
        return client


def _codes(login: Login) -> Callable[[str], str] | None:
    """Returns a function that gives openreview-py one-time codes; None if there is no source of codes."""
    if not login.mfa_code and not login.totp_secret:
        return None
    return lambda _method: login.mfa_code or code_now(login.totp_secret)


def _line(error: Exception) -> str:
    """Returns an error of openreview-py as one line."""
    detail = error.args[0] if error.args else str(error)
    text = f"{detail.get('name')}: {detail.get('message')}" if isinstance(detail, Mapping) else str(detail)
    return " ".join(text.split())

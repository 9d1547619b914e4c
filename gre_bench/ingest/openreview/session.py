"""A session with one OpenReview host: the openreview-py client over our own HTTP transport, logged in if needed."""

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
    """The credentials of an account: either *token*, or *username* and *password*. All are empty without a login.

    *mfa_code*: a one-time code that is valid now, if the account asks for a second factor.
    *totp_secret*: the secret that generates one-time codes, instead of *mfa_code*.
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
    """The time limits of a request, and how often a failing request is tried.

    *timeout_s*: seconds to wait for a connection or for the next bytes.
    *whole_s*: seconds for a complete response.
    *attempts*: the number of tries in all.
    *backoff_s*: seconds before the second try; each later wait is twice the one before.
    """

    timeout_s: float = 60.0
    whole_s: float = 900.0
    attempts: int = 5
    backoff_s: float = 2.0


class Session:
    """Opens the openreview-py client of one host at the first use, and opens it again after `renew`.

    *api*: the API version, 1 or 2. *host*: the host's URL. *budget*: limits when requests may be sent.
    """

    def __init__(self, api: Literal[1, 2], host: str, budget: RequestBudget, login: Login, retry_policy: RetryPolicy):
        from gre_bench.ingest.openreview.transport import Transport

        self.api, self.host, self.login = api, host, login
        self.transport: Transport = Transport(budget, **asdict(retry_policy))
        self._client: Any = None
        self._spent = False

    def client(self) -> Any:
        """Returns the openreview-py client, logged in if there are credentials.

        Raises `SourceError` if the login is refused.
        """
        if self._client is None:
            token = "" if self._spent else self.login.token
            if not token and self.login.password:
                token = self._log_in()
            self._client = self._plain(self.api, self.host, token)
        return self._client

    def renew(self) -> bool:
        """Forgets the client and its expired token. Returns whether the login has a password, to get a new token."""
        self._client, self._spent = None, True
        return bool(self.login.password)

    def masked_message(self, error: Exception) -> str:
        """Returns the message of an openreview-py error in one line, with all secrets masked."""
        token = str(getattr(self._client, "token", None) or "")
        return masked(_line(error), [*asdict(self.login).values(), token])[:SAID]

    def _log_in(self) -> str:
        """Logs in with user name and password at API v2, and returns a token that both APIs accept.

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
            raise SourceError(f"{self.host}: the login was refused: {self.masked_message(error)}") from None
        except (KeyError, TypeError, AttributeError):
            raise SourceError(f"{self.host}: the login returned no token; is it the API's address?") from None
        return str(client.token)

    def _plain(self, api: int, host: str, token: str) -> Any:
        """Returns an openreview-py client that uses our transport and sends no request when it is opened.

        *api*: the API version, 1 or 2. *token*: the login token; empty for none.
        """
        import openreview
        import openreview.api

        known = openreview.Client if api == 1 else openreview.api.OpenReviewClient

        class Quiet(known):  # type: ignore[misc, valid-type]
            """An openreview-py client that does not log in when it is opened.

            The login request at opening would bypass the request budget and the time limits.
            """

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
    """Returns a function that supplies one-time codes to openreview-py; None if *login* has no source of codes.

    The function takes the login method that openreview-py names, and ignores it.
    """
    if not login.mfa_code and not login.totp_secret:
        return None
    return lambda _method: login.mfa_code or code_now(login.totp_secret)


def _line(error: Exception) -> str:
    """Returns the message of an openreview-py error in one line."""
    detail = error.args[0] if error.args else str(error)
    text = f"{detail.get('name')}: {detail.get('message')}" if isinstance(detail, Mapping) else str(detail)
    return " ".join(text.split())

"""The one door to OpenReview: the real openreview-py client, of API v1 or v2, behind our own transport.

What comes out are the notes as the service sent them: openreview-py's own objects leave out fields that it does not
know. Each method is one request, so that its caller can keep what came before it asks for more.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from tasks.corpus.request_budget import RequestBudget
from tasks.corpus.totp import code_now
from tasks.errors import SourceError

if TYPE_CHECKING:
    from tasks.corpus.openreview_transport import Transport

Note = dict[str, Any]

PAGE = 1000
BATCH = 50
"""Most notes of a listing's page, and most PDFs of one archive, that the service gives."""

_NUMBER = re.compile(r"(\d+)_")


@dataclass(frozen=True, slots=True, repr=False)
class Login:
    """How to log in: a *token*, or a user with password; *mfa_code* is a code of now, *totp_secret* makes them."""

    username: str = ""
    password: str = ""
    token: str = ""
    mfa_code: str = ""
    totp_secret: str = ""

    def __repr__(self) -> str:
        return "Login(not shown)"


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds for a connection or between bytes, seconds for a whole response, and how often a fault is tried."""

    timeout_s: float = 60.0
    whole_s: float = 900.0
    attempts: int = 5
    backoff_s: float = 2.0


@dataclass(frozen=True, slots=True)
class Page:
    """Submissions of a listing with all their replies under ``details.replies``; *count* is of the whole listing."""

    notes: list[Note]
    count: int | None


class OpenReview:
    """A session with one host. Nothing is sent before the first question, and a login only where one is given.

    Every question may raise `Paused` (the budget is used up), `ServiceDown` or `SourceError`.
    """

    def __init__(
        self,
        api: Literal[1, 2],
        host: str,
        budget: RequestBudget,
        login: Login = Login(),
        patience: Patience = Patience(),
    ):
        self.api, self.host, self.login, self.patience = api, host.rstrip("/"), login, patience
        self.budget = budget
        self._client: Any = None
        self._transport: Transport | None = None
        self._spent = False

    @property
    def sent(self) -> Counter[str]:
        """How many requests went out, by kind."""
        return self._transport.sent if self._transport else Counter()

    def page(self, invitation: str, after: str | None = None, limit: int = PAGE) -> Page:
        """The submissions of *invitation* in the order of their ids, those that come *after* an id."""
        more = {"with_count": after is None} if self.api == 2 else {}
        more |= {"after": after} if after is not None else {}
        tree = self._ask(
            lambda client: client.get_notes(
                invitation=invitation, details="replies", sort="id", limit=limit, **more
            )
        )
        count = tree.get("count")
        return Page(_listed(tree, "notes", invitation), count if isinstance(count, int) else None)

    def forum(self, forum: str) -> list[Note]:
        """All notes of one forum, the submission among them."""
        tree = self._ask(lambda client: client.get_notes(forum=forum, limit=PAGE))
        return _listed(tree, "notes", f"forum {forum}")

    def history(self, note_id: str) -> list[Note]:
        """The versions of a note as the service keeps them, edits or (API v1) references; none if it shows none."""
        name = "edits" if self.api == 2 else "references"
        tree = self._ask(
            lambda client: (
                client.get_note_edits(note_id=note_id, sort="tcdate")
                if self.api == 2
                else client.get_references(referent=note_id, limit=PAGE)
            ),
            missing={name: []},
        )
        return _listed(tree, name, f"{name} of {note_id}")

    def pdf(self, paper_id: str) -> bytes | None:
        """The PDF of one paper; None if the service has none."""
        return self._file(lambda client: client.get_pdf(id=paper_id))

    def pdfs(self, numbers: Mapping[str, object]) -> dict[str, bytes]:
        """PDFs of some papers (paper id → number) in one request (API v2); those that it lacks are left out."""
        ids = list(numbers)
        data = self._file(lambda client: client.get_attachment(field_name="pdf", ids=ids))
        if data is None:
            return {}
        if len(ids) == 1:
            return {ids[0]: data}
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                return {
                    paper_id: archive.read(name)
                    for name in archive.namelist()
                    if (paper_id := _owner(name, numbers)) is not None
                }
        except (zipfile.BadZipFile, EOFError, NotImplementedError):
            return {}

    def _file(self, ask: Callable[[Any], bytes]) -> bytes | None:
        return self._guarded(ask, missing=None)

    def _ask(self, ask: Callable[[Any], object], **missing: Any) -> Mapping[str, Any]:
        """The JSON of the answer; *missing* in its place where the service has or shows nothing."""
        transport = self._transport_now()
        transport.last = None
        try:
            found = self._guarded(ask, **missing)
        except (KeyError, TypeError, AttributeError, ValueError, IndexError):
            # openreview-py makes objects of what came and trips over what it does not expect; we keep the JSON.
            found = None
        tree = found if missing and found is missing["missing"] else transport.last
        if not isinstance(tree, Mapping):
            raise SourceError(f"{self.host} gave no JSON object where notes were asked for; is it the API's address?")
        return tree

    def _guarded(self, ask: Callable[[Any], Any], **missing: Any) -> Any:
        """What *ask* gives, logged in again once where the token has expired; what the service refuses is one line."""
        from openreview import OpenReviewException

        from tasks.corpus.openreview_transport import TokenExpired

        for attempt in range(2):
            client = self._open()
            try:
                return ask(client)
            except TokenExpired as error:
                if attempt or not self.login.password:
                    raise SourceError(
                        f"{self.host}: the login is not valid (any more) ({error}); set a new OPENREVIEW_TOKEN, "
                        "or OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD"
                    ) from None
                self._client, self._spent = None, True
            except OpenReviewException as error:
                if missing and _status(error) in (403, 404):
                    return missing["missing"]
                raise SourceError(f"{self.host}: {_line(error)}") from None
        raise AssertionError("two attempts return or raise")

    def _open(self) -> Any:
        if self._client is None:
            token = "" if self._spent else self.login.token
            if not token and self.login.password:
                token = self._log_in()
            self._client = self._plain(self.api, self.host, token)
        return self._client

    def _log_in(self) -> str:
        """A token for user and password, by API v2, whose tokens both APIs take."""
        from openreview import MfaRequiredException, OpenReviewException

        from tasks.corpus.openreview_transport import TokenExpired

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
            raise SourceError(f"{self.host}: the login was refused: {_line(error)}") from None
        except (KeyError, TypeError, AttributeError):
            raise SourceError(f"{self.host}: the login gave no token; is it the API's address?") from None
        return str(client.token)

    def _plain(self, api: int, host: str, token: str) -> Any:
        """A client of openreview-py on our transport that sends nothing on its own."""
        import openreview
        import openreview.api

        known = openreview.Client if api == 1 else openreview.api.OpenReviewClient

        class Quiet(known):  # type: ignore[misc, valid-type]
            """Opening it must not log in: that request would be outside the budget and without time limits."""

            login_allowed = False

            def login_user(self, *args: Any, **options: Any) -> Any:
                return super().login_user(*args, **options) if self.login_allowed else {}

        client = Quiet(baseurl=host)
        client.session.adapters.clear()
        for scheme in ("https://", "http://"):
            client.session.mount(scheme, self._transport_now())
        if token:
            client.token = token
            client.headers["Authorization"] = f"Bearer {token.removeprefix('Bearer ')}"
        return client

    def _transport_now(self) -> Transport:
        from tasks.corpus.openreview_transport import Transport

        if self._transport is None:
            self._transport = Transport(self.budget, **asdict(self.patience))
        return self._transport


def _listed(tree: Mapping[str, Any], name: str, what: str) -> list[Note]:
    found = tree.get(name)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise SourceError(f"{what}: an answer without a list of {name}")
    return found


def _codes(login: Login) -> Callable[[str], str] | None:
    """What gives openreview-py a one-time code when it asks; None if nothing can."""
    if not login.mfa_code and not login.totp_secret:
        return None
    return lambda _method: login.mfa_code or code_now(login.totp_secret)


def _owner(name: str, numbers: Mapping[str, object]) -> str | None:
    """Whose PDF a file of an archive is: named by the paper's id, or by its number."""
    stem = name.rpartition("/")[2].removesuffix(".pdf")
    if stem in numbers:
        return stem
    found = _NUMBER.match(stem)
    owners = [paper_id for paper_id, number in numbers.items() if found and str(number) == found[1]]
    return owners[0] if len(owners) == 1 else None


def _status(error: Exception) -> int | None:
    detail = error.args[0] if error.args else None
    status = detail.get("status") if isinstance(detail, Mapping) else None
    if isinstance(status, int):
        return status
    return {"NotFoundError": 404, "ForbiddenError": 403}.get(detail.get("name") if isinstance(detail, Mapping) else "")


def _line(error: Exception) -> str:
    detail = error.args[0] if error.args else str(error)
    text = f"{detail.get('name')}: {detail.get('message')}" if isinstance(detail, Mapping) else str(detail)
    return " ".join(text.split())[:300]


def batches(ids: Sequence[str], size: int) -> list[list[str]]:
    """*ids* in runs of at most *size*."""
    return [list(ids[place : place + size]) for place in range(0, len(ids), size)]

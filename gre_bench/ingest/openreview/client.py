"""The only access to OpenReview: the openreview-py client, for API v1 or v2, over our own HTTP transport.

Notes are returned as the service sent them, because openreview-py's own objects drop unknown fields. Each method sends
one request, so the caller can store each answer before the next request. Only `OpenReview.forum` may send several.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from gre_bench.core.errors import SourceError
from gre_bench.http.masking import masked
from gre_bench.http.totp import code_now
from gre_bench.ingest.openreview.request_budget import RequestBudget

if TYPE_CHECKING:
    from gre_bench.ingest.openreview.transport import Transport


UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)
_NUMBER = re.compile(r"(\d+)_")


@dataclass(frozen=True, slots=True)
class Archive:
    """The PDFs read from one archive.

    *files*: paper id → the PDF's bytes.
    *damaged*: part of the archive could not be read.
    *strangers*: the number of files that belong to none of the requested papers.
    """

    files: dict[str, bytes]
    damaged: bool = False
    strangers: int = 0

    @property
    def complete(self) -> bool:
        """Whether a requested paper that is not in the archive certainly has no PDF at the service.

        It is true if the whole archive could be read and every file belongs to a requested paper.
        """
        return not self.damaged and not self.strangers


def unpacked(data: bytes, numbers: Mapping[str, object]) -> Archive:
    """Returns the PDFs in the zip archive *data*; damaged files are skipped.

    *numbers*: the requested papers, as paper id → submission number at the venue.
    """
    files, damaged, strangers = dict[str, bytes](), False, 0
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                paper_id = _owner(name, numbers)
                if paper_id is None:
                    strangers += 1
                    continue
                try:
                    files[paper_id] = archive.read(name)
                except UNREADABLE:
                    damaged = True
    except UNREADABLE:
        damaged = True
    return Archive(files, damaged, strangers)


def _owner(name: str, numbers: Mapping[str, object]) -> str | None:
    """Returns the id of the paper that the archived file *name* belongs to; None if no requested paper fits.

    The file's name holds the paper's id or submission number.
    *numbers*: the requested papers, as paper id → submission number at the venue.
    """
    stem = name.rpartition("/")[2].removesuffix(".pdf")
    if stem in numbers:
        return stem
    match = _NUMBER.match(stem)
    owners = [paper_id for paper_id, number in numbers.items() if match and str(number) == match[1]]
    return owners[0] if len(owners) == 1 else None


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


Note = dict[str, Any]

PAGE = 1000
BATCH = 50
"""The most PDFs that the service puts into one archive."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of notes: submissions of a listing, or the notes of a forum.

    *notes*: a submission of a listing has its replies under ``details.replies``.
    *count*: the number of notes on all pages together; None if the service does not state it.
    """

    notes: list[Note]
    count: int | None


class Forbidden(SourceError):
    """The service refuses to show an item to this account (403). The item may or may not exist."""


class OpenReview:
    """A session with one OpenReview host. It sends nothing before the first call, and logs in only if a login is given.

    Every method that sends a request may raise `Paused` (no request is allowed now), `ServiceDown`, `Forbidden` or
    another `SourceError`.
    """

    def __init__(
        self,
        api: Literal[1, 2],
        host: str,
        budget: RequestBudget,
        login: Login = Login(),
        retry_policy: RetryPolicy = RetryPolicy(),
    ):
        self.api, self.host, self.budget = api, host.rstrip("/"), budget
        self._session = Session(api, self.host, budget, login, retry_policy)

    @property
    def sent(self) -> Counter[str]:
        """Kind of request → number of requests sent."""
        return self._session.transport.sent

    def page(self, invitation: str, after: str | None = None, limit: int = PAGE, optional: bool = False) -> Page:
        """Returns the next submissions of *invitation*, sorted by id: at most *limit*, starting after the id *after*.

        *after*: None starts at the first submission.
        *optional*: the venue may lack this invitation; an unknown invitation then gives an empty page, not an error.
        """
        more = {"with_count": after is None} if self.api == 2 else {}
        more |= {"after": after} if after is not None else {}
        tree = self._ask(
            lambda client: client.get_notes(invitation=invitation, details="replies", sort="id", limit=limit, **more),
            **({"missing": {"notes": [], "count": 0}} if optional else {}),
        )
        count = tree.get("count")
        return Page(_listed(tree, "notes", invitation), count if isinstance(count, int) else None)

    def count(self, invitation: str) -> int | None:
        """Returns the number of submissions under *invitation* as the service states it; None if it states none."""
        return self.page(invitation, limit=1).count

    def forum(self, forum: str) -> Page:
        """Returns all visible notes of the forum with the id *forum*: the submission and its replies.

        Sends one request for every `PAGE` notes.
        """
        notes: dict[str, Note] = {}
        count, after = None, None
        while True:
            more = {"after": after} if after else {"with_count": True} if self.api == 2 else {}
            tree = self._ask(partial(_ask_forum, forum=forum, limit=PAGE, sort="id", **more))
            some = _listed(tree, "notes", f"forum {forum}")
            count = tree["count"] if isinstance(tree.get("count"), int) else count
            fresh = {str(note.get("id")): note for note in some if str(note.get("id")) not in notes}
            notes |= fresh
            # A page that is not full is the last, whatever the count says: it may include notes that are not public.
            if not fresh or len(some) < PAGE or len(notes) == count:
                return Page([*notes.values()], count)
            after = str(some[-1].get("id"))

    def history(self, note_id: str) -> list[Note]:
        """Returns the versions of a note in the service's form; empty if there are none.

        The versions are "edits" under API v2 and "references" under API v1.
        """
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
        """Returns the PDF of one paper; None if the service has none."""
        return self._file(lambda client: client.get_pdf(id=paper_id))

    def pdfs(self, numbers: Mapping[str, object]) -> Archive | None:
        """Returns the PDFs of several papers, fetched in one request (API v2); None if the service has none of them.

        *numbers*: paper id → submission number at the venue.
        """
        ids = list(numbers)
        data = self._file(lambda client: client.get_attachment(field_name="pdf", ids=ids))
        if data is None:
            return None
        return Archive({ids[0]: data}) if len(ids) == 1 else unpacked(data, numbers)

    def _file(self, ask: Callable[[Any], bytes]) -> bytes | None:
        return self._guarded(ask, missing=None)

    def _ask(self, ask: Callable[[Any], object], **missing: Any) -> Mapping[str, Any]:
        """Calls *ask* with the openreview-py client and returns the JSON object of the answer.

        With ``missing=VALUE``, a 404 answer returns VALUE. Without it, a 404 answer raises `SourceError`.
        """
        transport = self._session.transport
        transport.last = None
        try:
            answer = self._guarded(ask, **missing)
        except (KeyError, TypeError, AttributeError, ValueError, IndexError):
            # openreview-py builds objects from the answer and fails on unexpected content; we keep the JSON.
            answer = None
        tree = answer if missing and answer is missing["missing"] else transport.last
        if not isinstance(tree, Mapping):
            raise SourceError(f"{self.host} returned no JSON object for notes; is it the API's address?")
        return tree

    def _guarded(self, ask: Callable[[Any], Any], **missing: Any) -> Any:
        """Calls *ask* with the openreview-py client and returns the result.

        With ``missing=VALUE``, a 404 answer returns VALUE. Without it, a 404 answer raises `SourceError`. Logs in
        again, once, if the token has expired. Raises `Forbidden` for a 403 and `SourceError` for any further error.
        """
        from openreview import OpenReviewException

        from gre_bench.ingest.openreview.transport import TokenExpired

        for attempt in range(2):
            client = self._session.client()
            try:
                return ask(client)
            except TokenExpired as error:
                message = self._session.masked_message(error)
                if attempt or not self._session.renew():
                    raise SourceError(
                        f"{self.host}: the login is not valid (any more) ({message}); set a new OPENREVIEW_TOKEN, "
                        "or OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD"
                    ) from None
            except OpenReviewException as error:
                status = _status(error)
                if missing and status == 404:
                    return missing["missing"]
                kind = Forbidden if status == 403 else SourceError
                raise kind(f"{self.host}: {self._session.masked_message(error)}") from None
        raise AssertionError("two attempts return or raise")


def _ask_forum(client: Any, **query: Any) -> Any:
    return client.get_notes(**query)


def _listed(tree: Mapping[str, Any], name: str, subject: str) -> list[Note]:
    listed = tree.get(name)
    if not isinstance(listed, list) or not all(isinstance(note, dict) for note in listed):
        raise SourceError(f"{subject}: an answer without a list of {name}")
    return listed


def _status(error: Exception) -> int | None:
    detail = error.args[0] if error.args else None
    status = detail.get("status") if isinstance(detail, Mapping) else None
    if isinstance(status, int):
        return status
    name = str(detail.get("name")) if isinstance(detail, Mapping) else ""
    return {"NotFoundError": 404, "ForbiddenError": 403}.get(name)


def batches(ids: Sequence[str], size: int) -> list[list[str]]:
    """Splits *ids* into consecutive lists of at most *size* ids."""
    return [list(ids[index : index + size]) for index in range(0, len(ids), size)]

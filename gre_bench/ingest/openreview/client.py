"""The only code that contacts OpenReview, through API v1 or v2.

It uses openreview-py for login, URLs and headers, but sends all requests over our own transport. Notes are returned as
the service sent them, because openreview-py's own objects drop unknown fields. Each method sends one request, so that
the caller can store the answer before the next request. Only `OpenReview.fetch_forum` may send several.

A note is a submission, or a reply such as a review or a decision. A forum is a submission with its replies. An
invitation names a venue-year and a kind of its notes. A listing is all submissions under one invitation.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from gre_bench.core.errors import SourceError
from gre_bench.core.settings import FetchSettings
from gre_bench.http.lm_requests import mask_secrets
from gre_bench.http.totp import compute_totp_code
from gre_bench.ingest.openreview.request_budget import RequestBudget
from gre_bench.ingest.openreview.transport import TokenExpired, Transport

if TYPE_CHECKING:
    from requests import Response

Note = dict[str, Any]

PAGE = 1000
BATCH = 50
"""The service sends at most this many PDFs in one archive."""
SAID = 300
"""At most this many characters of a service's message are shown."""
UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)
_NUMBER = re.compile(r"(\d+)_")


@dataclass(frozen=True, slots=True, repr=False)
class Login:
    """An account's *token*, or its *username* and *password*.

    For an account with a second factor: *mfa_code* is a current code, *totp_secret* the secret that generates codes.
    """

    username: str = ""
    password: str = ""
    token: str = ""
    mfa_code: str = ""
    totp_secret: str = ""

    def __repr__(self) -> str:
        return "Login(not shown)"


@dataclass(frozen=True, slots=True)
class NotesPage:
    """One page of a listing (submissions, each with its replies under ``details.replies``), or the notes of a forum.

    *count*: the number of notes on all pages, if the service states it.
    """

    notes: list[Note]
    count: int | None


@dataclass(frozen=True, slots=True)
class PdfArchive:
    """The PDFs in one archive. *files*: paper id → bytes. *damaged*: whether any of the archive cannot be read.

    *unmatched*: how many files in the archive cannot be assigned to one requested paper.
    """

    files: dict[str, bytes]
    damaged: bool = False
    unmatched: int = 0

    @property
    def complete(self) -> bool:
        """Whether the service has no PDF of the requested papers that are not in *files*; otherwise that is unclear."""
        return not self.damaged and not self.unmatched


class ForbiddenItemError(SourceError):
    """The service refuses to show an item to this account (403). The item may or may not exist."""


class OpenReview:
    """A session with one OpenReview host. It sends nothing before the first call, and logs in only if a login is given.

    *settings*: only the time limits and the number of attempts are used.

    Its methods may raise `Paused` (no request is allowed now), `ServiceDown`, `ForbiddenItemError` or another
    `SourceError`.
    """

    def __init__(
        self,
        api: Literal[1, 2],
        host: str,
        budget: RequestBudget,
        login: Login = Login(),
        settings: FetchSettings = FetchSettings(),
    ):
        self.api, self.host, self.budget, self.login = api, host.rstrip("/"), budget, login
        self.transport = Transport(budget, settings)
        self._client: Any = None
        self._token_spent = False

    def fetch_page(
        self, invitation: str, after: str | None = None, limit: int = PAGE, optional: bool = False
    ) -> NotesPage:
        """Returns at most *limit* submissions under *invitation*, sorted by id.

        *after*: the last id of the previous page; None for the first page. *optional*: whether to return an empty page,
        instead of raising an error, if the invitation does not exist.
        """
        missing: Note | None = {"notes": [], "count": 0} if optional else None
        return self._fetch_notes_page(
            {"invitation": invitation, "details": "replies"}, after, limit, invitation, missing
        )

    def fetch_submission_count(self, invitation: str) -> int | None:
        return self.fetch_page(invitation, limit=1).count

    def fetch_forum(self, forum: str) -> NotesPage:
        """Returns all visible notes of a forum, including the submission; sends one request per `PAGE` notes."""
        notes: dict[str, Note] = {}
        count, after = None, None
        while True:
            page = self._fetch_notes_page({"forum": forum}, after, PAGE, f"forum {forum}")
            count = count if page.count is None else page.count
            fresh = {str(note.get("id")): note for note in page.notes if str(note.get("id")) not in notes}
            notes |= fresh
            # The last page is the one that is not full. The count may include notes that are not public.
            if not fresh or len(page.notes) < PAGE or len(notes) == count:
                return NotesPage([*notes.values()], count)
            after = str(page.notes[-1].get("id"))

    def fetch_note_versions(self, note_id: str) -> list[Note]:
        """Returns the versions of a note as the service sent them (API v2: "edits", v1: "references"); may be empty."""
        if self.api == 2:
            name, address, query = "edits", "note_edits_url", {"note.id": note_id, "sort": "tcdate"}
        else:
            name, address, query = "references", "reference_url", {"referent": note_id, "limit": PAGE}
        return _extract_note_list(self._fetch_json_object(address, query, {name: []}), name, f"{name} of {note_id}")

    def fetch_pdf(self, paper_id: str) -> bytes | None:
        response = self._send_get_request("pdf_url", {"id": paper_id})
        return None if response is None else response.content

    def fetch_pdfs(self, numbers: Mapping[str, object]) -> PdfArchive | None:
        """Returns the PDFs of several papers with one request (API v2); None if the service has none of them.

        *numbers*: paper id → submission number.
        """
        response = self._send_get_request("baseurl", {"name": "pdf", "ids": ",".join(numbers)}, "/attachment")
        if response is None:
            return None
        if len(numbers) == 1:  # the service sends the PDF itself
            return PdfArchive({next(iter(numbers)): response.content})
        return _extract_pdfs_from_archive(response.content, numbers)

    def _fetch_notes_page(
        self, query: Mapping[str, Any], after: str | None, limit: int, subject: str, missing: Note | None = None
    ) -> NotesPage:
        more = {"after": after} if after is not None else {"count": "true"} if self.api == 2 else {}
        tree = self._fetch_json_object("notes_url", {**query, "sort": "id", "limit": limit, **more}, missing)
        count = tree.get("count")
        return NotesPage(_extract_note_list(tree, "notes", subject), count if isinstance(count, int) else None)

    def _fetch_json_object(self, address: str, query: Mapping[str, Any], missing: Note | None) -> Mapping[str, Any]:
        """Returns the JSON object in the answer. After a 404, returns *missing*; raises `SourceError` if it is None."""
        if self._send_get_request(address, query, must_exist=missing is None) is None and missing is not None:
            return missing
        if not isinstance(self.transport.last, Mapping):
            raise SourceError(f"{self.host} returned no JSON object for notes; is it the API's address?")
        return self.transport.last

    def _send_get_request(
        self, address: str, query: Mapping[str, Any], path: str = "", must_exist: bool = False
    ) -> Response | None:
        """Returns the answer to one request. For a 404, returns None, or raises `SourceError` if *must_exist*.

        *address*: the attribute of openreview-py's client with the URL, such as ``pdf_url``. *path*: the end of the
        URL. If the token has expired, logs in again, once. Raises `ForbiddenItemError` for a 403.
        """
        for attempt in range(2):
            client = self._get_logged_in_client()
            try:
                response = client.session.get(getattr(client, address) + path, params=query, headers=client.headers)
            except TokenExpired as error:
                message = self._mask_service_message(str(error))
                self._client, self._token_spent = None, True
                if attempt or not self.login.password:
                    raise SourceError(
                        f"{self.host}: the login is not valid (any more) ({message}); set a new OPENREVIEW_TOKEN, "
                        "or OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD"
                    ) from None
                continue
            if response.ok:
                return response
            status, problem = None, f"Error: {response.text or response.reason}"
            if isinstance(tree := self.transport.last, Mapping):
                implied = {"NotFoundError": 404, "ForbiddenError": 403}.get(str(tree.get("name")))
                status = tree["status"] if isinstance(tree.get("status"), int) else implied
                problem = f"{tree.get('name')}: {tree.get('message')}"
            if status == 404 and not must_exist:
                return None
            raise (ForbiddenItemError if status == 403 else SourceError)(
                f"{self.host}: {self._mask_service_message(problem)}"
            )
        raise AssertionError("two attempts return or raise")

    def _get_logged_in_client(self) -> Any:
        """Returns openreview-py's client, with a token if there are credentials."""
        if self._client is None:
            token = "" if self._token_spent else self.login.token
            if not token and self.login.password:
                token = self._request_login_token()
            self._client = self._create_client_without_login(self.api, self.host)
            if token:
                self._client.token = token
                self._client.headers["Authorization"] = f"Bearer {token.removeprefix('Bearer ')}"
        return self._client

    def _request_login_token(self) -> str:
        from openreview import MfaRequiredException, OpenReviewException
        from openreview.api import OpenReviewClient

        # Both APIs accept a token of API v2.
        login, client = self.login, self._create_client_without_login(2, self.host.replace("//api.", "//api2."))
        second = login.mfa_code or login.totp_secret
        code = (lambda _: login.mfa_code or compute_totp_code(login.totp_secret)) if second else None
        try:
            OpenReviewClient.login_user(client, login.username, login.password, mfa_code_provider=code)
        except MfaRequiredException:
            raise SourceError(
                f"{self.host}: the account asks for a second factor; set OPENREVIEW_TOTP_SECRET or OPENREVIEW_MFA_CODE"
            ) from None
        except (OpenReviewException, TokenExpired) as error:
            detail = error.args[0] if error.args else ""
            message = f"{detail.get('name')}: {detail.get('message')}" if isinstance(detail, Mapping) else str(detail)
            raise SourceError(f"{self.host}: the login was refused: {self._mask_service_message(message)}") from None
        except (KeyError, TypeError, AttributeError):
            raise SourceError(f"{self.host}: the login returned no token; is it the API's address?") from None
        return str(client.token)

    def _create_client_without_login(self, api: int, host: str) -> Any:
        import openreview
        import openreview.api

        known = openreview.Client if api == 1 else openreview.api.OpenReviewClient

        class ClientWithoutLogin(known):  # type: ignore[misc, valid-type]
            """openreview-py's client without the login at its start, which would bypass the request budget."""

            def login_user(self, *_: Any, **__: Any) -> Any:
                return {}

        client = ClientWithoutLogin(baseurl=host)
        client.session.adapters.clear()
        for scheme in ("https://", "http://"):
            client.session.mount(scheme, self.transport)
        return client

    def _mask_service_message(self, text: str) -> str:
        """Returns *text*, the service's message, in one line with all secrets masked."""
        token = str(getattr(self._client, "token", None) or "")
        return mask_secrets(" ".join(text.split()), [*asdict(self.login).values(), token])[:SAID]


def _extract_note_list(tree: Mapping[str, Any], name: str, subject: str) -> list[Note]:
    listed = tree.get(name)
    if not isinstance(listed, list) or not all(isinstance(note, dict) for note in listed):
        raise SourceError(f"{subject}: an answer without a list of {name}")
    return listed


def _extract_pdfs_from_archive(data: bytes, numbers: Mapping[str, object]) -> PdfArchive:
    """Returns the PDFs in the zip archive *data*; damaged files are skipped.

    *numbers*: as in `OpenReview.fetch_pdfs`.
    """
    files, damaged, unmatched = dict[str, bytes](), False, 0
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                # The file's name contains the paper's id or its submission number.
                stem = name.rpartition("/")[2].removesuffix(".pdf")
                match = _NUMBER.match(stem)
                numbered = [paper_id for paper_id, number in numbers.items() if match and str(number) == match[1]]
                owners = [stem] if stem in numbers else numbered
                if len(owners) != 1:
                    unmatched += 1
                    continue
                try:
                    files[owners[0]] = archive.read(name)
                except UNREADABLE:
                    damaged = True
    except UNREADABLE:
        damaged = True
    return PdfArchive(files, damaged, unmatched)

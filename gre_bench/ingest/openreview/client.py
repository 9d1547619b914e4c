"""The only access to OpenReview: the openreview-py client, for API v1 or v2, over our own HTTP transport.

Notes are returned as the service sent them, because openreview-py's own objects drop unknown fields. Each method sends
one request, so the caller can store each answer before the next request. Only `OpenReview.forum` may send several.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from gre_bench.core.errors import SourceError
from gre_bench.ingest.openreview.pdf_archive import Archive, unpacked
from gre_bench.ingest.openreview.request_budget import RequestBudget
from gre_bench.ingest.openreview.session import Login, RetryPolicy, Session

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

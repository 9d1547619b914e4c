"""Handles refused items (403): the next run requests them again, and many refusals in a row end this run.

A missing item (404) is different: it is not requested again in the same fetch run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from gre_bench.core.errors import Paused, ServiceDown
from gre_bench.ingest.openreview.client import Forbidden
from gre_bench.ingest.openreview.journal import Journal, Kind

IN_A_ROW = 5
"""This many refusals in a row mean that the account or the machine is refused, not single items."""

ADVICE = {"pdf": "", "history": ", or do without earlier versions: --set fetch.histories=false"}


def due(journal: Journal, kind: Kind, items: Iterable[str], began: float) -> list[str]:
    """Returns the items that a run must still request. Items that an earlier run found refused come last.

    *kind*: whether *items* are ids of papers (``pdf``) or of notes (``history``).
    *began*: when the run began (epoch seconds). Items received, or refused since then, are left out.
    """
    known = journal.pdfs if kind == "pdf" else journal.histories
    lacking = [item for item in items if item not in known]
    return sorted(
        (item for item in lacking if journal.refused.get((kind, item), 0.0) < began),
        key=lambda item: (kind, item) in journal.refused,
    )


class Refusals:
    """Keeps track of refusals (403) of one kind of item during a run.

    Refusals without an answer between them form a series. The next answer ends the series, and its refusals are then
    recorded in the journal. If the series reaches `IN_A_ROW` refusals first, no further item is requested.
    """

    def __init__(self, journal: Journal, kind: Kind):
        self.journal = journal
        self.kind: Kind = kind
        self._count = 0
        self._items: list[str] = []

    def each(self, items: Iterable[str], ask: Callable[[str], None]) -> None:
        """Calls *ask* with each of *items*, and tracks the refusals that *ask* raises as `Forbidden`.

        After `IN_A_ROW` refusals in a row it raises `ServiceDown`. If earlier runs also met these refusals, it returns
        instead, without requesting the remaining items.
        """
        for item in items:
            known = (self.kind, item) in self.journal.refused
            if known and self._items:
                self.end()
            try:
                ask(item)
            except Forbidden as error:
                if known:
                    self._again(item)
                    if self._count >= IN_A_ROW:
                        return
                else:
                    self.add(error, item)
            except Paused:
                self.end()
                raise
            else:
                self.end()

    def add(self, error: Forbidden, item: str | None = None) -> None:
        """Adds one refused request to the current series of refusals.

        *error*: the refusal. *item*: the id of the refused item; None if the request was for several items.
        Raises `ServiceDown` if the series reaches `IN_A_ROW` refusals.
        """
        self._count += 1
        self._items += [item] if item is not None else []
        if self._count >= IN_A_ROW:
            problem = f"{self._count} requests in a row were refused, the last with {error}"
            raise ServiceDown(f"{problem}; see what the account may read{ADVICE[self.kind]}, and run it again later")

    def end(self) -> None:
        """Ends the current series of refusals, and records each refused item in the journal."""
        for item in self._items:
            self.journal.add_refusal(self.kind, item, time.time())
        self._count, self._items = 0, []

    def _again(self, item: str) -> None:
        self._count += 1
        self.journal.add_refusal(self.kind, item, time.time())

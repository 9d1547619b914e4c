"""What a service refuses (403): an item of its own is due again in the next run; many in a row end this one.

Missing (404) is another matter: that is an answer, and final for the take.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from gre_bench.core.errors import Paused, ServiceDown
from gre_bench.ingest.openreview.client import Forbidden
from gre_bench.ingest.openreview.journal import Journal, Kind

IN_A_ROW = 5
"""Refusals in a row that are no item's own: the account or the machine is refused."""

ADVICE = {"pdf": "", "history": ", or do without earlier versions: --set fetch.histories=false"}


def due(journal: Journal, kind: Kind, items: Iterable[str], began: float) -> list[str]:
    """Those of *items* to be asked for in a run that *began* then (epoch s): first those that were never refused."""
    known = journal.pdfs if kind == "pdf" else journal.histories
    lacking = [item for item in items if item not in known]
    return sorted(
        (item for item in lacking if journal.refused.get((kind, item), 0.0) < began),
        key=lambda item: (kind, item) in journal.refused,
    )


class Refusals:
    """The refusals of one kind of item in a run. Those in a row are kept once the row is over and was not too long."""

    def __init__(self, journal: Journal, kind: Kind):
        self.journal = journal
        self.kind: Kind = kind
        self._count = 0
        self._items: list[str] = []

    def each(self, items: Iterable[str], ask: Callable[[str], None]) -> None:
        """Does *ask* for each of *items*. Many in a row that were refused in a run before, too, end it in peace."""
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
        """One more in a row, of an *item* or of several at once; `ServiceDown` where it is one too many."""
        self._count += 1
        self._items += [item] if item is not None else []
        if self._count >= IN_A_ROW:
            what = f"{self._count} requests in a row were refused, the last with {error}"
            raise ServiceDown(f"{what}; see what the account may read{ADVICE[self.kind]}, and run it again later")

    def end(self) -> None:
        """The row is over: what was refused in it is the items' own."""
        for item in self._items:
            self.journal.add_refusal(self.kind, item, time.time())
        self._count, self._items = 0, []

    def _again(self, item: str) -> None:
        self._count += 1
        self.journal.add_refusal(self.kind, item, time.time())

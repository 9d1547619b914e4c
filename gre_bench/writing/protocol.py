"""What a writer is: an LM that answers chats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gre_bench.core.records import Chat, Reply, Sampling


class Writer(Protocol):
    """One reply for each chat, in the same order.

    ``identity`` (model and revision, whatever endpoint serves it) goes into signatures. A chat that cannot
    be answered gets a `Reply` that says why, so that it never takes its neighbours down; an exception means that
    the writer as a whole cannot be used.
    """

    @property
    def identity(self) -> str: ...

    def write(self, chats: Sequence[Chat], sampling: Sampling) -> list[Reply]: ...

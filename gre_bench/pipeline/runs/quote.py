"""Estimates what a study still has to pay for: the chats whose replies are not yet in the reply archive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gre_bench.core.records import Chat, Sampling
from gre_bench.pipeline.runs.spending import over
from gre_bench.writing.catalog import WriterContext
from gre_bench.writing.http_writer import HttpWriter
from gre_bench.writing.spend_log import cost, spend_log_of

CHARACTERS_A_TOKEN = 4.0

Asking = tuple[HttpWriter, Sequence[Chat], Sampling]
"""An LM's writer, the chats that it would be sent, and how its replies are sampled."""


def quoted(name: str, asking: Sequence[Asking]) -> dict[str, Any]:
    """Returns one row for the LM *name*: requests to send, replies in the archive, tokens, and cost in USD.

    *asking*: (writer, chats, sampling) for each group of chats that the LM would be sent. The cost is an upper bound if
    every reply is usable; an unusable reply would be requested again. The cost is None if a price is unknown.
    """
    requests = archived = most = characters = 0
    for writer, chats, sampling in asking:
        is_archived = writer.answered(chats, sampling)
        due = [chat for chat, done in zip(chats, is_archived, strict=True) if not done]
        requests, archived = requests + len(due), archived + len(chats) - len(due)
        characters += sum(len(chat.system) + len(chat.user) for chat in due)
        most += len(due) * sampling.max_tokens
    prompt = round(characters / CHARACTERS_A_TOKEN)
    usd = cost(asking[0][0].model, prompt, most) if asking else 0.0
    return {"model": name, "requests": requests, "archived": archived, "prompt_tokens": prompt,
            "reply_tokens_at_most": most, "usd_at_most": usd}  # fmt: skip


def over_budget(writer_context: WriterContext, rows: Sequence[dict[str, Any]]) -> list[str]:
    """Returns one line for each limit of the study's budget that the requests in *rows* may exceed.

    *rows* are rows that `quoted` returns. *writer_context* has the budget and the account.
    """
    bought = [row | {"reply_tokens": row["reply_tokens_at_most"], "usd": row["usd_at_most"]} for row in rows]
    return over(
        bought, writer_context.budget, spend_log_of(writer_context.archive.parent), writer_context.account, "at most"
    )

"""A writer that also hands over what the endpoint says of its tokens: their log-probabilities and the likeliest others.

A reply's text is then a JSON document, so that the reply archive keeps it like any other:
``{"text": the reply, "tokens": [{"token": ..., "logprob": ..., "top": [[token, logprob], ...]}, ...]}``.
Values are as the endpoint gives them: before its temperature, after it, that is the server's own rule.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

from gre_bench.core.records import Reply, Sampling
from gre_bench.writing.completion import CompletionResult, read_completion
from gre_bench.writing.http_writer import HttpWriter

TOP = 20
"""Others that are asked for at each place; the most that endpoints usually give."""


class LogprobWriter(HttpWriter):
    """An `HttpWriter` whose replies are documents of text and tokens."""

    @property
    def identity(self) -> str:
        return f"{self.model.identity} · top {TOP} log-probabilities"

    def _parameters(self, sampling: Sampling) -> dict[str, Any]:
        return {**super()._parameters(sampling), "logprobs": True, "top_logprobs": TOP}

    def _completion(self, body: bytes) -> CompletionResult:
        answer = read_completion(body)
        if answer.reply.outcome not in ("ok", "cut"):
            return answer
        tokens = _tokens(json.loads(body))
        if not tokens:
            return CompletionResult(Reply("failed", None, "endpoint gives no log-probabilities of its tokens"))
        document = json.dumps({"text": answer.reply.text, "tokens": tokens}, ensure_ascii=False)
        # A reply that was cut is whole for our purpose: its first tokens are all that is looked at.
        return replace(answer, reply=replace(answer.reply, outcome="ok", text=document))


def _tokens(tree: Any) -> list[dict[str, Any]]:
    """The tokens of a completion; none if what it says of them cannot be used."""
    try:
        content = tree["choices"][0]["logprobs"]["content"]
        return [
            {
                "token": _text(each["token"]),
                "logprob": _logprob(each["logprob"]),
                "top": [[_text(other["token"]), _logprob(other["logprob"])] for other in each["top_logprobs"] or []],
            }
            for each in content
        ]
    except (KeyError, IndexError, TypeError, ValueError):
        return []


def _text(token: object) -> str:
    if not isinstance(token, str):
        raise TypeError("a token is no text")
    return token.encode("utf-8", "replace").decode()


def _logprob(value: object) -> float:
    """*value* as a number up to 0; endpoints say -9999 for what is impossible."""
    number = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
    if not number <= 1e-6:
        raise ValueError("not a log-probability")
    return max(number, -9999.0)

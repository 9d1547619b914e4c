"""A writer that also returns the log-probabilities of the reply's tokens and of the likeliest alternatives.

The text of a reply is then a JSON document, which the reply archive stores like any other text: ``{"text": the reply,
"tokens": [{"token": ..., "logprob": ..., "top": [[token, logprob], ...]}, ...]}``. The endpoint decides whether its
log-probabilities are those before or after temperature.
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
"""Number of alternatives requested at each position; endpoints usually give no more."""


class LogprobWriter(HttpWriter):
    """An `HttpWriter` whose replies are JSON documents of text and tokens, as the module describes."""

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
            return CompletionResult(Reply("failed", None, "endpoint returns no log-probabilities of its tokens"))
        document = json.dumps({"text": answer.reply.text, "tokens": tokens}, ensure_ascii=False)
        # Only the first tokens of a reply are read, so a cut reply is as good as a complete one.
        return replace(answer, reply=replace(answer.reply, outcome="ok", text=document))


def _tokens(tree: Any) -> list[dict[str, Any]]:
    """Returns the tokens of the parsed completion *tree*, with log-probabilities; empty if an entry is unusable."""
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
    """Returns *value* as a number from -9999, which endpoints write for an impossible token, to about 0.

    Raises `ValueError` if it is no log-probability.
    """
    number = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
    if not number <= 1e-6:
        raise ValueError("not a log-probability")
    return max(number, -9999.0)

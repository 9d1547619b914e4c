"""A writer that also returns log-probabilities: of the reply's tokens, and of the likeliest alternatives to each token.

The `text` of each reply is a JSON document, which the reply archive stores like any other text: ``{"text": the reply,
"tokens": [{"token": ..., "logprob": ..., "top": [[token, logprob], ...]}, ...]}``. Whether the sampling temperature
affects the log-probabilities depends on the endpoint.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

from gre_bench.core.records import Sampling
from gre_bench.writing.completion import CompletionResult, read_completion
from gre_bench.writing.http_writer import HttpWriter

TOP = 20
"""Number of alternatives requested at each position; endpoints usually give no more."""


class LogprobWriter(HttpWriter):
    """An `HttpWriter` whose replies are JSON documents with the text, its tokens and their log-probabilities.

    The module's docstring shows the form of these documents.
    """

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
            problem = "endpoint returns no log-probabilities of its tokens"
            return replace(answer, reply=replace(answer.reply, outcome="failed", text=None, detail=problem))
        document = json.dumps({"text": answer.reply.text, "tokens": tokens}, ensure_ascii=False)
        # Only the first tokens of a reply are read, so a cut reply is as good as a complete one.
        return replace(answer, reply=replace(answer.reply, outcome="ok", text=document))


def _tokens(tree: Any) -> list[dict[str, Any]]:
    """Returns the tokens of *tree*, a parsed response, in the form of the list ``tokens`` in the module's docstring.

    The list is empty if any entry is unusable.
    """
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
    """Returns the log-probability *value* as a float; values below -9999 become -9999.

    Endpoints write -9999 for an impossible token. Raises `ValueError` if *value* is not a number, or is above 0 by more
    than a rounding error.
    """
    number = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
    if not number <= 1e-6:
        raise ValueError("not a log-probability")
    return max(number, -9999.0)

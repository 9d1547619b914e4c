"""A scripted vLLM server for tests: real HTTP on loopback, numbers by rule, faults on demand.

It serves ``/v1/models``, ``/version``, ``/v1/completions`` with ``prompt_logprobs`` and ``/inference/v1/generate`` with
``prompt_logprob_token_ids``, in the formats of vLLM 0.32. The log-probability of a token depends on the tokens up to it
(`logprobs_by_rule`). Each request for scores takes the next behaviour of the script: ok, a status, or a fault.
"""

from __future__ import annotations

import base64
import io
import json
import struct
import time
import zlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal

import numpy

from tests.servers.scripted import Handler, Scripted, serve_in_thread

Given = Literal["yes", "absent", "disabled", "old_runner", "ignored", "drops", "wrong", "rounded", "zeros"]
REFUSALS = {
    "absent": (404, "Not Found"),
    "disabled": (403, "Scale-out endpoints are disabled. Restart vllm serve with --enable-scale-out to enable them."),
    "old_runner": (400, "prompt_logprob_token_ids requires the V2 model runner (VLLM_USE_V2_MODEL_RUNNER=1)."),
}
REFUSED = {
    "long": (400, "This model's maximum context length is 128 tokens. However, your request has 300."),
    "key": (400, "bad request with {key}"),
    "nan_500": (500, "Out of range float values are not JSON compliant: nan"),
}
BLOCK = 16
"""The tokens in one block of the prefix cache."""
ROUNDED = 0.01
"""The difference in nats between the two kinds of request on a server that rounds."""
LIKELIEST = 7
"""The token that the server states in addition to the requested token."""


def logprobs_by_rule(ids: Sequence[int]) -> list[float]:
    """Returns the log-probabilities of all *ids* but the first, each computed from the tokens up to it, in float32."""
    state, found = 0, []
    for place, token in enumerate(ids):
        state = zlib.crc32(struct.pack("<Q", token), state)
        if place:
            found.append(float(numpy.float32(-0.75 - 8 * state / 2**32)))
    return found


class ScriptedVLLM(Scripted):
    """The server. ``requests``: (path, body) of each request."""

    def __init__(
        self, script: tuple[str, ...], given: Given = "yes", version: str = "0.32.0", cached: Any = "", **more: Any
    ):
        self.served: dict[str, int | None] = more.pop("served", {"tiny": 2048})
        self.retry_after: str | None = more.pop("retry_after", None)
        super().__init__(VLLMHandler, script, **more)
        self.given, self.version = given, version
        self.cached: Literal["", "zeros", "stale"] = cached
        """*cached*: what a *whole* answer states for a cached prefix: the truth, zeros, or the last numbers."""
        self._blocks: set[tuple[int, ...]] = set()
        self._last: list[float] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def logprobs(self, ids: Sequence[int]) -> list[float]:
        """Returns the log-probabilities that a *whole* answer states for all *ids* but the first."""
        found, known = logprobs_by_rule(ids), 0
        while self.cached and (known + 1) * BLOCK < len(ids) and tuple(ids[: (known + 1) * BLOCK]) in self._blocks:
            known += 1
        for place in range(max(0, known * BLOCK - 1)):
            found[place] = self._last[place] if self.cached == "stale" else 0.0
        self._blocks |= {tuple(ids[: end * BLOCK]) for end in range(1, len(ids) // BLOCK + 1)}
        self._last = [*found, *self._last[len(found) :]]
        return found

    def count(self, path: str) -> int:
        return sum(asked == path for asked, _ in self.requests)


def scripted_vllm(*script: str, **options: Any) -> AbstractContextManager[ScriptedVLLM]:
    """Yields a running server. *options*: the options of `Scripted`, and given, served, version, retry_after."""
    return serve_in_thread(ScriptedVLLM(script, **options))


class VLLMHandler(Handler):
    server: ScriptedVLLM

    def do_GET(self) -> None:
        if self.path == "/version":
            return self.send(200, {"version": self.server.version})
        if self.path != "/v1/models":
            return self._refuse(404, "Not Found")
        entries = [{"id": name, "object": "model", "max_model_len": size} for name, size in self.server.served.items()]
        self.send(200, {"object": "list", "data": entries})

    def do_POST(self) -> None:
        body = json.loads(self.read())
        given = self.path == "/inference/v1/generate"
        if not given and self.path != "/v1/completions":
            return self._refuse(404, "Not Found")
        if given and self.server.given in REFUSALS:
            self.server.requests.append((self.path, body))
            return self._refuse(*REFUSALS[self.server.given])
        ids = body["token_ids"] if given else body["prompt"]
        with self.server.behaviour((self.path, body), self.headers, ids) as due:
            if due.isdigit():
                more = {"Retry-After": self.server.retry_after} if self.server.retry_after else {}
                self._refuse(int(due), f"scripted {due}", **more)
            elif due in REFUSED:
                status, said = REFUSED[due]
                self._refuse(status, said.format(key=self.headers["Authorization"]))
            elif due == "reset":
                self.reset()
            elif due == "slow":
                time.sleep(30.0)
            elif due == "html":
                self.raw(200, b"<!DOCTYPE html><title>A gateway</title>", "text/html")
            elif due == "half":
                content = json.dumps(self._whole(body, "ok")).encode()
                self.raw(200, content[: len(content) // 2], length=len(content))
            elif due == "list":
                self.send(200, [1, 2])
            elif body["model"] not in self.server.served:
                self._refuse(404, f"The model `{body['model']}` does not exist.")
            else:
                self.send(200, self._given(body, due) if given else self._whole(body, due))

    def _given(self, body: dict[str, Any], due: str) -> dict[str, Any]:
        asked = body["sampling_params"]
        start, rows = asked["prompt_logprob_start"], asked["prompt_logprob_token_ids"]
        ids = body["token_ids"]
        assert len(rows) == len(ids) - 1 - start and [row[0] for row in rows] == ids[start + 1 :]
        scores = numpy.array(logprobs_by_rule(ids)[start:], dtype=numpy.float32)[:, None]
        if self.server.given == "zeros" and not asked["skip_reading_prefix_cache"]:
            scores[:2] = 0.0
        dropped = self.server.given == "drops" and not asked["skip_reading_prefix_cache"]
        if self.server.given == "wrong":
            scores = numpy.roll(scores, 1)
        if self.server.given == "rounded":
            scores = scores - numpy.float32(ROUNDED)
        if self.server.given == "ignored" or dropped:
            return {"prompt_token_id_logprobs": None, "choices": []}
        spoilt = {"nan": scores * numpy.nan, "short": scores[1:], "objects": scores.astype(str), "wide": scores.T}
        with io.BytesIO() as file:
            numpy.save(file, spoilt.get(due, scores), allow_pickle=False)
            text = base64.b64encode(file.getvalue()).decode()
        return {"prompt_token_id_logprobs": "no base64" if due == "garbled" else text, "choices": []}

    def _whole(self, body: dict[str, Any], due: str) -> dict[str, Any]:
        ids, logprobs = body["prompt"], self.server.logprobs(body["prompt"])
        places: list[Any] = [None]
        for token, value in zip(ids[1:], logprobs, strict=True):
            entry = {str(token): {"logprob": value, "rank": 3, "decoded_token": "x"}}
            if body["prompt_logprobs"]:
                entry.setdefault(str(LIKELIEST), {"logprob": -0.7, "rank": 1, "decoded_token": "y"})
            places.append(entry)
        if due == "one_zero":
            places[-1] = {str(ids[-1]): {"logprob": 0.0}}
        last = str(ids[-1])
        if due == "short":
            places = places[:-1]
        elif due == "shifted":
            places = [None, *places[:-1]]
        elif due == "bare":
            return {"choices": [{"index": 0, "text": "x"}]}
        elif due == "logits":
            places = [place and {token: {"logprob": 9.5} for token in place} for place in places]
        elif due == "all_zero":
            places = [place and {token: {"logprob": 0.0} for token in place} for place in places]
        elif due not in ("ok", "one_zero"):
            value = {"nan": float("nan"), "null": None, "positive": 0.5, "floor": -9999.0, "text": "-1.5"}[due]
            places[-1] = {last: {"logprob": value}}
        return {"model": body["model"], "choices": [{"index": 0, "text": "x", "prompt_logprobs": places}]}

    def _refuse(self, status: int, said: str, **headers: str) -> None:
        error = {"message": said, "type": "BadRequestError", "param": None, "code": status}
        self.send(status, {"error": error}, **headers)

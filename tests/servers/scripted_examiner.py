"""A scripted examiner, which grades a text by the quality that the text states (``quality 0.75``).

It answers in the form that its prompt asks for. Manners imitate the ways in which real LMs answer; an answer depends
only on the prompt.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable
from typing import Any

ASPECTS = ("Coherence", "Consistency", "Fluency", "Relevance")
_QUALITY = re.compile(r"quality ([01](?:\.\d+)?)")
MANNERS: dict[str, Callable[[str], str]] = {
    "exact": lambda score: score,
    "labelled": lambda score: f"Score: {score}",
    "stray": lambda score: f"Answer:\n{score}",
    "chatter": lambda score: f"Having read both texts with care, I would give it a {score}.",
    "reasons": lambda score: f"Score: {score}\nRationale: It names 2 of the 3 main points.",
    "wrong_language": lambda score: "Ich habe beide Texte gelesen und kann dazu nichts sagen.",
    "refusing": lambda score: "I am sorry, but I cannot grade this text.",
    "out_of_range": lambda score: "1000",
    "undecided": lambda score: "I would rate it between a 2 and maybe a 4.",
}


def examiner(manner: str = "exact", quality: Callable[[str], float] | None = None) -> Callable[[dict], str]:
    """Returns a function for the parameter *write* of `scripted_chat`.

    *quality*: a function that returns the quality of a text; by default, it is read from the text.
    """

    def write(body: dict[str, Any]) -> str:
        prompt = body["messages"][-1]["content"]
        if "redundant or not" in prompt:
            return "Yes" if "again and again" in prompt else "1. No\n2. It says everything once."
        value = quality(prompt) if quality else float(_QUALITY.findall(prompt)[-1])
        return reply(prompt, value, MANNERS[manner])

    return write


def reply(prompt: str, value: float, manner: Callable[[str], str] = MANNERS["exact"]) -> str:
    """Returns the grade *value* (0 to 1) as a reply to *prompt*."""
    if listed := re.search(r"Possible scores are ([^.\n]+(?:\.5[^.\n]*)*)\.", prompt):
        scores = re.split(r", | and ", listed[1])
        return manner(scores[min(len(scores) - 1, math.floor(value * len(scores)))])
    high = 100 if re.search(r"\(worst\) to 100|from 0 to 100|between 0 and 100", prompt) else 5
    low = 0 if high == 100 else 1
    score = round(low + value * (high - low))
    if any(
        mark in prompt
        for mark in ("Format the response", "each of the following aspects", "for each aspect", "to each aspect")
    ):
        return (
            "\n".join(f"{aspect}: {score}" for aspect in ASPECTS)
            if manner("4") in ("4", "Score: 4")
            else manner(str(score))
        )
    return manner(str(score))


def chooser_writer(bias: float = 0.0) -> Callable[[dict], str]:
    """Returns a writer that names the text of higher quality. *bias*: the share of prompts to which it says "one"."""

    def write(body: dict[str, Any]) -> str:
        prompt = body["messages"][-1]["content"]
        one, two = (float(value) for value in _QUALITY.findall(prompt)[-2:])
        # The same pair in the other order is another prompt, but must get the same random draw.
        pair = f"{min(one, two)} {max(one, two)}"
        draw = int.from_bytes(hashlib.sha256(pair.encode()).digest()[:4], "big") / 2**32
        return "one" if draw < bias or one > two else "two"

    return write


def logprobs_of(shares: dict[str, float]) -> Callable[[dict], list[dict]]:
    """Returns a function for the parameter *logprobs* of `scripted_chat`: one token with the probabilities *shares*."""
    likeliest = max(shares, key=shares.__getitem__)
    top = [{"token": token, "logprob": math.log(share)} for token, share in shares.items()]
    return lambda body: [{"token": likeliest, "logprob": math.log(shares[likeliest]), "top_logprobs": top}]

"""Much from little: the conversations of one epoch, made anew from the reviews of a few hundred papers.

The evaluation LM is to learn what a first review tells of a second, not the papers it is trained on. So lines change
their order, and in a part of the conversations rare tokens trade places, the same way from end to end: what stood for
content is then told by nothing but the text before it, which has to be read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from random import Random
from typing import Annotated

from pydantic import Field

from tasks.errors import SpanError
from tasks.lm.span import ChatTemplate, Conversation
from tasks.prompts.library import load, render
from tasks.records import Prediction
from tasks.tuning.batches import Example
from tasks.tuning.tokenizer import ASSISTANT, USER

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Above = Annotated[float, Field(gt=0, allow_inf_nan=False)]
ByEpoch = Annotated[tuple[Share, ...], Field(min_length=1)]
SUMMARY_HEADING = "Summary Of The Paper:"


@dataclass(frozen=True, slots=True)
class ReviewedPaper:
    """The reviews of one paper: their judgments, and beside each the original text (empty where it is not known)."""

    judgments: tuple[str, ...]
    originals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Variation:
    """How a paper's reviews become conversations; shares are of conversations, lists go by epoch, the last goes on.

    *exchanged*: rare tokens trade places; a token is *rare* in fewer than that share of the judgments. *shuffled*: the
    lines are. *synopses*: a synopsis is given, half of them a third review's judgments, half its summary of the paper.
    *originals*: the first review stands as it was written. *marginals*: of each paper's reviews, predicted from
    nothing. *weights* of the loss: reply, first review, synopsis.
    """

    exchanged: ByEpoch = (0.9, 0.7, 0.5)
    rare: Annotated[Share, Field(gt=0)] = 0.02
    shuffled: Share = 0.6
    synopses: Share = 0.25
    originals: ByEpoch = (0.15, 0.05, 0.0)
    marginals: Share = 0.5
    weights: tuple[Above, Weight, Weight] = (1.0, 0.5, 0.3)


class Conversations:
    """The examples of each epoch: call with its number and a seeded generator; the same two give the same ones."""

    def __init__(
        self, papers: Sequence[ReviewedPaper], template: ChatTemplate, variation: Variation, max_tokens: int = 1536
    ):
        self._papers, self._template, self._variation = papers, template, variation
        self._max_tokens = max_tokens
        self._shares = variation.originals, variation.exchanged
        tokenizer = template.tokenizer
        self._users, self._assistants = tokenizer.convert_tokens_to_ids([USER, ASSISTANT])
        (self._between,) = tokenizer(constants()[2])["input_ids"]
        self._partners = _partners([text for paper in papers for text in paper.judgments], template, variation.rare)

    def __call__(self, epoch: int, random: Random) -> list[Example]:
        """Every ordered pair of reviews of a paper, and some marginals; those too long are left out."""
        originals, exchanged = (shares[min(epoch, len(shares) - 1)] for shares in self._shares)
        found = []
        for paper in self._papers:
            for x, y in permutations(range(len(paper.judgments)), 2):
                first = paper.judgments[x]
                if paper.originals[x] and random.random() < originals:
                    first, y = paper.originals[x], random.choice((x, y))
                found.append(self._example(paper, first, {x, y}, y, exchanged, random))
            for y in range(len(paper.judgments)):
                if random.random() < self._variation.marginals:
                    found.append(self._example(paper, None, {y}, y, exchanged, random))
        return [example for example in found if example is not None]

    def plain(self) -> list[Example]:
        """Every ordered pair as it is scored, loss on the reply alone: what is measured on papers kept aside."""
        pairs = ((paper, pair) for paper in self._papers for pair in permutations(paper.judgments, 2))
        found = [self._encoded(Prediction(x, None, y), (1.0, 0.0, 0.0)) for _, (x, y) in pairs]
        return [example for example in found if example is not None]

    def _example(
        self, paper: ReviewedPaper, first: str | None, told: set[int], y: int, share: float, random: Random
    ) -> Example | None:
        x = self._shuffled(first, random) if first is not None else None
        synopsis = None
        others = sorted(set(range(len(paper.judgments))) - told)
        if others and random.random() < self._variation.synopses:
            other = random.choice(others)
            synopsis = summary_of(paper.originals[other]) if random.random() < 0.5 else None
            synopsis = synopsis or self._shuffled(paper.judgments[other], random)
        reply = self._shuffled(paper.judgments[y], random)
        example = self._encoded(Prediction(x, synopsis, reply), self._variation.weights)
        # Where nothing is known, content cannot be told by what stands before: the marginal learns it as it is.
        known = x is not None or synopsis is not None
        if example is not None and known and random.random() < share:
            return Example(trade(example.ids, self._partners, random), example.weights)
        return example

    def _shuffled(self, text: str, random: Random) -> str:
        if random.random() >= self._variation.shuffled:
            return text
        between = "\n\n" if "\n\n" in text else "\n"
        lines = [line for line in text.split(between) if line.strip()]
        return between.join(random.sample(lines, len(lines)))

    def _encoded(self, prediction: Prediction, weights: tuple[float, float, float]) -> Example | None:
        try:
            conversation = self._template.encode(render(prediction))
        except SpanError:
            return None
        if len(conversation.ids) > self._max_tokens:
            return None
        return Example(conversation.ids, self._weighted(conversation, prediction, weights))

    def _weighted(
        self, conversation: Conversation, prediction: Prediction, weights: tuple[float, float, float]
    ) -> tuple[float, ...]:
        """The weights of a conversation's tokens; what is the same in all of them has none."""
        ids = conversation.ids
        synopsis, first = ids.index(self._users) + 2, ids.index(self._between) + 1
        turn = len(ids) - 1 - ids[::-1].index(self._assistants)
        found = [0.0] * len(ids)
        for known, weight, start, end in (
            (prediction.synopsis, weights[2], synopsis, first - 1),
            (prediction.x, weights[1], first, turn - 1),
            (prediction.reply, weights[0], conversation.first, len(ids)),
        ):
            if known is not None:
                found[start:end] = [weight] * (end - start)
        return tuple(found)


def constants() -> tuple[str, ...]:
    """The texts that all predictions share: system text, what stands before the synopsis and before x, what is absent.

    A tokenizer for these conversations writes each as one token, but for newlines in front, which end what is before.
    """
    prompt = load("predict_judgments")
    before, between, after = re.split(r"\{\w+\}", prompt.user)
    return tuple(text.lstrip("\n") for text in (prompt.system, before, between, after, prompt.absent) if text)


def trade(ids: Sequence[int], partners: Sequence[Sequence[int]], random: Random) -> tuple[int, ...]:
    """*ids* with each token that has *partners* written as one of them: equal ones alike, different ones apart."""
    told: dict[int, int] = {}
    by_group: dict[int, list[int]] = {}
    for token in dict.fromkeys(ids):
        if partners[token]:
            by_group.setdefault(id(partners[token]), []).append(token)
    for tokens in by_group.values():
        told |= zip(tokens, random.sample(partners[tokens[0]], len(tokens)), strict=True)
    return tuple(told.get(token, token) for token in ids)


def summary_of(review: str) -> str | None:
    """What an ICLR review says under its first heading, the summary of the paper; None if it has no such heading."""
    _, found, rest = review.partition(SUMMARY_HEADING)
    summary = re.split(r"\n\n+[A-Z][^\n.]*:\s*\n", rest)[0].strip() if found else ""
    return summary or None


def _partners(texts: Sequence[str], template: ChatTemplate, rare: float) -> list[Sequence[int]]:
    """For each token those it may trade places with: the rare ones that start a word, or that go on with one."""
    tokenizer = template.tokenizer
    counts = Counter(token for text in texts for token in set(tokenizer(text)["input_ids"]))
    groups: tuple[list[int], list[int]] = ([], [])
    partners: list[Sequence[int]] = [()] * len(tokenizer)
    for sign, token in sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1]):
        word = sign.removeprefix("\u0120")
        if 0 < counts[token] < rare * len(texts) and word.isalpha() and word.isascii():
            group = groups[sign != word]
            group.append(token)
            partners[token] = group
    return partners

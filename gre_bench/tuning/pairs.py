"""Training examples of an evaluation LM: nine conversations for each paper and metric (Xu et al. 2025, appendix E).

Three reviews of a paper are used. Each is predicted from each of the other two, and once without another review. The
predictions are rendered and encoded as for scoring, so training and scoring see the same tokens.

The batches of an epoch depend only on the examples, the seed and the index of the epoch. An interrupted run can
therefore continue with the next batch.
"""

from __future__ import annotations

import hashlib
import random
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Literal

from gre_bench.core.errors import SpanError
from gre_bench.core.judgments import Form, folded, prepared, yields
from gre_bench.core.learnt_from import PaperTexts
from gre_bench.core.records import Prediction, SynopsisKind
from gre_bench.lm.span import ChatTemplate
from gre_bench.prompts.library import render

Metric = Literal["gem", "gem_s_abstract", "gem_s_assw"]
LearntTokens = Literal["reply", "full"]
SYNOPSES: Mapping[Metric, SynopsisKind] = {"gem": "none", "gem_s_abstract": "abstract", "gem_s_assw": "assw"}
REVIEWS = 3
_BUCKET = 50
"""Number of batches whose examples are sorted by length together: enough to save padding, few enough to shuffle."""


@dataclass(frozen=True, slots=True)
class JudgedPaper:
    """A paper to train on.

    - *judgments*: the judgments of each of the paper's reviews, one string per review.
    - *synopses*: kind of synopsis → text.
    - *reviews*: the texts of the reviews, where the source has them. *writers*: who wrote the judgments.
    """

    paper_id: str
    judgments: tuple[str, ...]
    synopses: Mapping[SynopsisKind, str] = field(default_factory=dict)
    reviews: tuple[str, ...] = ()
    writers: frozenset[str] = frozenset()

    @property
    def texts(self) -> PaperTexts:
        """What a register of what was learnt holds of this paper."""
        return PaperTexts(self.paper_id, self.synopses.get("abstract"), self.reviews)


@dataclass(frozen=True, slots=True)
class Example:
    """A tokenised conversation: token ids, and the weight of each token's loss; that of the first has no effect."""

    ids: tuple[int, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Lessons:
    """Training examples, and what was left out: *excluded* maps each reason to a number of papers or conversations."""

    examples: tuple[Example, ...]
    excluded: Mapping[str, int]


def nine(reviews: Sequence[str], synopsis: str | None) -> list[Prediction]:
    """Returns nine predictions of *reviews*, the judgments of three reviews of one paper.

    The first six predict each review from each of the other two. The last three predict each review without another.
    """
    pairs = [Prediction(x, synopsis, y) for x, y in permutations(reviews, 2)]
    return pairs + [Prediction(None, synopsis, y) for y in reviews]


def predictions(
    papers: Sequence[JudgedPaper],
    metrics: Sequence[Metric],
    seed: int,
    form: Form = "as_written",
    ascii_fold: bool = False,
) -> tuple[list[Prediction], Counter[str]]:
    """Returns nine predictions for each paper and metric, and the number of papers left out for each reason.

    A paper needs three reviews with judgments. If it has more, three of them are sampled by *seed*. *form* and
    *ascii_fold* say how the texts are prepared (`gre_bench.core.judgments.prepared`).
    """
    made: list[Prediction] = []
    excluded: Counter[str] = Counter()
    for paper in papers:
        texts = [prepared(text, form, ascii_fold) for text in paper.judgments]
        usable = [text for text in texts if yields(text, form)]
        if len(usable) < REVIEWS:
            excluded[f"papers with fewer than {REVIEWS} reviews with judgments"] += 1
            continue
        if len(usable) > REVIEWS:
            usable = random.Random(f"reviews {seed} {paper.paper_id}").sample(usable, REVIEWS)
        for metric in metrics:
            kind = SYNOPSES[metric]
            synopsis = paper.synopses.get(kind)
            if kind != "none" and not (synopsis or "").strip():
                excluded[f"papers without {kind}, for {metric}"] += 1
                continue
            made += nine(usable, folded(synopsis) if synopsis and ascii_fold else synopsis)
    return made, excluded


def lessons(
    papers: Sequence[JudgedPaper],
    metrics: Sequence[Metric],
    template: ChatTemplate,
    learnt: LearntTokens,
    max_tokens: int,
    seed: int,
    form: Form = "as_written",
    ascii_fold: bool = False,
) -> Lessons:
    """Returns the training examples of *papers* in their order, and counts of everything left out (see `predictions`).

    *learnt*: the tokens that have a loss: those of the scored span (``reply``), or all, as the authors do (``full``).
    Conversations of more than *max_tokens* tokens are left out.
    """
    made, excluded = predictions(papers, metrics, seed, form, ascii_fold)
    examples: list[Example] = []
    for prediction in made:
        try:
            conversation = template.encode(render(prediction))
        except SpanError as error:
            excluded[f"conversations that cannot be encoded: {error.code}"] += 1
            continue
        if len(conversation.ids) > max_tokens:
            excluded[f"conversations of more than {max_tokens} tokens"] += 1
            continue
        first = conversation.first if learnt == "reply" else 1
        weights = [0.0] * first + [1.0] * (len(conversation.ids) - first)
        examples.append(Example(conversation.ids, tuple(weights)))
    return Lessons(tuple(examples), dict(excluded))


def checked(examples: Sequence[Example], max_tokens: int) -> Sequence[Example]:
    """Returns *examples*; raises `ValueError` if one has more than *max_tokens* tokens or no usable weights."""
    for index, example in enumerate(examples):
        if len(example.ids) != len(example.weights):
            raise ValueError(f"example {index} has {len(example.ids)} tokens but {len(example.weights)} weights")
        if len(example.ids) > max_tokens:
            raise ValueError(f"example {index} has {len(example.ids)} tokens; at most {max_tokens} are allowed")
        if min(example.weights) < 0 or not any(example.weights[1:]):
            raise ValueError(f"example {index} has a weight below 0, or none above 0")
    return examples


def digest_of(examples: Sequence[Example]) -> str:
    """Returns the SHA-256 over the token ids and weights of *examples*, in their order."""
    total = hashlib.sha256()
    for example in examples:
        total.update(array("q", [len(example.ids), *example.ids]).tobytes())
        total.update(array("d", example.weights).tobytes())
    return total.hexdigest()


def batches_of(
    examples: Sequence[Example], size: int, seed: int, epoch: int, *, neighbours: bool = False
) -> list[list[Example]]:
    """Divides *examples* into batches of *size* examples of similar lengths, and returns the batches in random order.

    The last batch may be smaller. Each *epoch* (an index) has its own order. If *neighbours*, each batch holds
    consecutive examples instead, and only the order of batches is random.
    """
    shuffle = random.Random(f"batches {seed} {epoch}")
    if neighbours:
        cuts = shuffle.sample(starts := range(0, len(examples), size), len(starts))
        return [list(examples[cut : cut + size]) for cut in cuts]
    order = shuffle.sample(range(len(examples)), len(examples))
    batches = []
    for start in range(0, len(order), size * _BUCKET):
        bucket = sorted(order[start : start + size * _BUCKET], key=lambda index: len(examples[index].ids))
        batches += [[examples[index] for index in bucket[cut : cut + size]] for cut in range(0, len(bucket), size)]
    shuffle.shuffle(batches)
    return batches


def weight_of(batch: Sequence[Example]) -> float:
    """Returns the sum of the token weights of *batch*, by which its summed loss is divided for a mean."""
    return float(sum(sum(example.weights[1:]) for example in batch))

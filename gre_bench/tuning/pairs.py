"""Makes the training conversations of an evaluation LM: nine for each paper and metric (Xu et al. 2025, appendix E).

Three reviews of a paper are used. Each is predicted from each of the other two, and once without another review. The
predictions are rendered and encoded as for scoring, so training and scoring see the same tokens.
"""

from __future__ import annotations

import random
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
from gre_bench.tuning.batches import Example

Metric = Literal["gem", "gem_s_abstract", "gem_s_assw"]
LearntTokens = Literal["reply", "full"]
SYNOPSES: Mapping[Metric, SynopsisKind] = {"gem": "none", "gem_s_abstract": "abstract", "gem_s_assw": "assw"}
REVIEWS = 3


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


def encode(made: Sequence[Prediction], template: ChatTemplate, learnt: LearntTokens, max_tokens: int) -> Lessons:
    """Encodes the predictions *made* as training examples, and leaves out those of more than *max_tokens* tokens.

    *learnt*: which tokens have a loss. With ``reply``, they are the tokens of the scored span. With ``full``, they are
    all tokens, as the authors do.
    """
    examples: list[Example] = []
    excluded: Counter[str] = Counter()
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
    return Lessons(tuple(examples), excluded)


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
    """Returns the training examples of *papers* in their order, and counts of everything left out.

    The parameters mean the same as in `predictions` and `encode`.
    """
    made, papers_out = predictions(papers, metrics, seed, form, ascii_fold)
    encoded = encode(made, template, learnt, max_tokens)
    return Lessons(encoded.examples, dict(papers_out) | dict(encoded.excluded))

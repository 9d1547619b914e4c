"""Builds training examples for an evaluation LM: nine conversations per paper and metric (Xu et al. 2025, appendix E).

Three reviews of a paper are used. Each is predicted from each of the other two, and once without another review. The
predictions are rendered and encoded as for scoring, so training and scoring see the same tokens.

The batches of an epoch depend only on the examples, the seed and the index of the epoch. An interrupted run can
therefore continue with the next batch.
"""

from __future__ import annotations

import hashlib
import math
import random
import re
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, permutations, repeat
from typing import Literal

import numpy as np

from gre_bench.core.errors import SpanError
from gre_bench.core.judgments import Form, fold_to_ascii, has_judgments, prepare_judgments
from gre_bench.core.records import Prediction, SynopsisKind
from gre_bench.core.training_registers import PaperTexts
from gre_bench.lm.span import ChatTemplate
from gre_bench.prompts.library import render

Metric = Literal["gem", "gem_s_abstract", "gem_s_assw"]
TrainedTokens = Literal["reply", "full"]
SYNOPSES: Mapping[Metric, SynopsisKind] = {"gem": "none", "gem_s_abstract": "abstract", "gem_s_assw": "assw"}
REVIEWS = 3
_WORD = re.compile(r"[^\W\d_]{4,}")
_NEAR, _POOL = 40, 24
"""How many similar papers each paper's rivals come from, and how many of their reviews are compared by length."""
_BUCKET = 50
"""The number of batches whose examples are sorted by length together: many save padding, few keep the order random."""


@dataclass(frozen=True, slots=True)
class JudgedPaper:
    """A paper to train on. *judgments*: one string for each review. *synopses*: kind of synopsis → its text.

    *reviews*: the texts of the reviews, if the source has them. *writers*: the writers of the judgments. *passage*:
    judgments made from a passage of the paper's own text, for contrastive training.
    """

    paper_id: str
    judgments: tuple[str, ...]
    synopses: Mapping[SynopsisKind, str] = field(default_factory=dict)
    reviews: tuple[str, ...] = ()
    writers: frozenset[str] = frozenset()
    passage: str = ""

    @property
    def texts(self) -> PaperTexts:
        """The texts of this paper that go into the register of training data."""
        return PaperTexts(self.paper_id, self.synopses.get("abstract"), self.reviews)


@dataclass(frozen=True, slots=True)
class Example:
    """A tokenised conversation: token ids, and the weight of each token's loss; the first weight has no effect.

    *group*: in contrastive training, a pair (index of the paper and metric, index of the reply). The reply's index is
    -1 if the reply is predicted without a review. *wrong*: whether the reply is predicted from a rival (see
    `choose_rival_texts`). A wrong example serves for comparison only; the LM is not trained to predict its reply.
    """

    ids: tuple[int, ...]
    weights: tuple[float, ...]
    group: tuple[int, int] | None = None
    wrong: bool = False


@dataclass(frozen=True, slots=True)
class TrainingExamples:
    """Training examples. *excluded*: reason → the number of papers or conversations left out for it."""

    examples: tuple[Example, ...]
    excluded: Mapping[str, int]


def build_review_predictions(reviews: Sequence[str], synopsis: str | None) -> list[Prediction]:
    """Returns nine predictions of three *reviews* of one paper: six given another review, then three given none."""
    pairs = [Prediction(x, synopsis, y) for x, y in permutations(reviews, 2)]
    return pairs + [Prediction(None, synopsis, y) for y in reviews]


def choose_rival_texts(papers: Sequence[JudgedPaper], count: int, seed: int) -> list[tuple[str, ...]]:
    """Returns the rivals of each of *papers*: the judgments of *count* texts that are not reviews of the paper.

    The texts are hard to distinguish from the paper's own reviews. They are reviews of the `_NEAR` papers with the most
    similar words (cosine of TF-IDF); their judgments are by the same writers, and their length is similar. If *count*
    is two or more, the last text is instead the paper's passage, which names the topic but does not review. If the
    paper has no passage, the last text is a review of a random other paper by the same writers. There are fewer texts
    if the other papers have fewer distinct judgments.
    """
    from scipy.sparse import csr_array

    counts = [Counter(word for text in paper.judgments for word in _WORD.findall(text.lower())) for paper in papers]
    papers_with = Counter(word for each in counts for word in each)
    known = {word: at for at, (word, n) in enumerate(papers_with.items()) if 2 <= n <= max(2, len(papers) / 5)}
    cells = [
        (row, known[word], (1 + math.log(n)) * math.log(len(papers) / papers_with[word]))
        for row, each in enumerate(counts)
        for word, n in each.items()
        if word in known
    ]
    rows, columns, values = (np.array(each) for each in zip(*cells, strict=True)) if cells else ([], [], [])
    matrix = csr_array((values, (rows, columns)), shape=(len(papers), max(1, len(papers_with))))
    sizes = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel()) + 1e-12
    by_writers: dict[frozenset[str], list[int]] = {}
    for index, paper in enumerate(papers):
        by_writers.setdefault(paper.writers, []).append(index)
    rival_texts: list[tuple[str, ...]] = []
    for index, paper in enumerate(papers):
        draw = random.Random(f"rivals {seed} {paper.paper_id}")
        peers = np.array(by_writers[paper.writers])
        # pyrefly: ignore[missing-attribute]
        alike = (matrix[peers] @ matrix[[index]].T).toarray().ravel() / sizes[peers]
        nearest = peers[np.argsort(-alike, kind="stable")[: _NEAR + 1]].tolist()
        near = [other for other in nearest if papers[other].paper_id != paper.paper_id][:_NEAR]
        texts = sorted({text for other in near for text in papers[other].judgments} - set(paper.judgments))
        size = sum(map(len, paper.judgments)) / max(1, len(paper.judgments))
        some = sorted(
            draw.sample(texts, min(_POOL, len(texts))),
            key=lambda text, size=size: abs(math.log((len(text) + 1) / (size + 1))),
        )[: max(1, count - 1)]
        if count > 1 and paper.passage:
            rival_texts.append((*some, paper.passage))
            continue
        for other in draw.sample(peers.tolist(), min(_POOL, len(peers))) if count > 1 else ():
            strange = sorted({*papers[other].judgments} - {*paper.judgments, *some})
            if papers[other].paper_id != paper.paper_id and strange:
                some.append(draw.choice(strange))
                break
        rival_texts.append(tuple(some))
    return rival_texts


def build_training_predictions(
    papers: Sequence[JudgedPaper],
    metrics: Sequence[Metric],
    seed: int,
    form: Form = "as_written",
    ascii_fold: bool = False,
    others: int = 0,
) -> tuple[list[Prediction], Counter[str], list[tuple[int, bool]]]:
    """Returns predictions, reason → number of papers left out, and for each prediction a pair (index, from a rival).

    A paper and a metric together have one index, and nine predictions without rivals. A paper needs three reviews with
    judgments. If it has more, three of them are sampled by *seed*. *form*, *ascii_fold*: how the texts are prepared.
    *others*: the number of rivals, texts that are not reviews of the paper, from which each review is also predicted
    (`choose_rival_texts`).
    """
    made: list[Prediction] = []
    places: list[tuple[int, bool]] = []
    excluded: Counter[str] = Counter()
    ready = []
    for paper in papers:
        passage, *texts = (prepare_judgments(text, form, ascii_fold) for text in (paper.passage, *paper.judgments))
        usable = tuple(text for text in texts if has_judgments(text, form))
        ready.append(replace(paper, judgments=usable, passage=passage if has_judgments(passage, form) else ""))
    for paper, strange in zip(ready, choose_rival_texts(ready, others, seed) if others else repeat(()), strict=False):
        usable = list(paper.judgments)
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
            synopsis = fold_to_ascii(synopsis) if synopsis and ascii_fold else synopsis
            lesson = places[-1][0] + 1 if places else 0
            right, wrong = (
                build_review_predictions(usable, synopsis),
                [Prediction(x, synopsis, y) for x in strange for y in usable],
            )
            made += [*right, *wrong]
            places += [*[(lesson, False)] * len(right), *[(lesson, True)] * len(wrong)]
    return made, excluded, places


def build_training_examples(
    papers: Sequence[JudgedPaper],
    metrics: Sequence[Metric],
    template: ChatTemplate,
    learnt: TrainedTokens,
    max_tokens: int,
    seed: int,
    form: Form = "as_written",
    ascii_fold: bool = False,
    others: int = 0,
) -> TrainingExamples:
    """Returns the training examples of *papers* in order, and counts of everything that is left out.

    *learnt*: which tokens have a loss: those of the scored span (``reply``), or all, as in Xu et al. 2025 (``full``).
    The other parameters are as for `build_training_predictions`.
    """
    made, excluded, places = build_training_predictions(papers, metrics, seed, form, ascii_fold, others)
    replies: dict[str, int] = {}
    examples: list[Example] = []
    for prediction, (lesson, wrong) in zip(made, places, strict=True):
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
        reply = replies.setdefault(prediction.reply, len(replies)) if prediction.x else -1
        group = (lesson, reply) if others else None
        examples.append(Example(conversation.ids, tuple(weights), group, wrong))
    with_right = {example.group for example in examples if not example.wrong}
    kept = tuple(example for example in examples if not example.wrong or example.group in with_right)
    if alone := len(examples) - len(kept):
        excluded["conversations with a review of another paper, and none with one of the paper"] += alone
    return TrainingExamples(kept, dict(excluded))


def check_examples(examples: Sequence[Example], max_tokens: int) -> Sequence[Example]:
    """Returns *examples*; raises `ValueError` if one has more than *max_tokens* tokens or no usable weights."""
    for index, example in enumerate(examples):
        if len(example.ids) != len(example.weights):
            raise ValueError(f"example {index} has {len(example.ids)} tokens but {len(example.weights)} weights")
        if len(example.ids) > max_tokens:
            raise ValueError(f"example {index} has {len(example.ids)} tokens; at most {max_tokens} are allowed")
        if min(example.weights) < 0 or not any(example.weights[1:]):
            raise ValueError(f"example {index} has a weight below 0, or none above 0")
    return examples


def digest_examples(examples: Sequence[Example]) -> str:
    """Returns the SHA-256 over the token ids and weights of *examples*, in their order."""
    total = hashlib.sha256()
    for example in examples:
        total.update(array("q", [len(example.ids), *example.ids]).tobytes())
        total.update(array("d", example.weights).tobytes())
        if example.group is not None:
            total.update(array("q", [*example.group, example.wrong]).tobytes())
    return total.hexdigest()


def build_batches(
    examples: Sequence[Example], size: int, seed: int, epoch: int, *, neighbours: bool = False
) -> list[list[Example]]:
    """Divides *examples* into batches of *size* examples of similar lengths, and returns the batches in random order.

    One batch may be smaller. Each *epoch* (an index) has its own order. If *neighbours* is true, each batch holds
    consecutive examples instead. In contrastive training, a batch holds all examples of one paper and metric, whatever
    *size* is.
    """
    shuffle = random.Random(f"batches {seed} {epoch}")
    if examples and examples[0].group is not None:
        whole = [list(own) for _, own in groupby(examples, key=lambda example: example.group and example.group[0])]
        return shuffle.sample(whole, len(whole))
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


def sum_trained_weights(batch: Sequence[Example]) -> float:
    """Returns the sum of the trained tokens' weights in *batch*; the summed loss divided by it is the mean loss."""
    return float(sum(sum(example.weights[1:]) for example in batch if not example.wrong))

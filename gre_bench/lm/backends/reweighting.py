"""How much likelier each token becomes in a reply once a text about the same paper is known.

Factors f of all tokens bend the distribution of an LM: P(t | so far) · f(t) / Σ P(· | so far) · f, which is one again.
The logarithm of a factor is linear in a row of features: the token stands in the known text (by inverse document
frequency, by how often reviews of one paper share it beyond chance, by count), one that is alike does, or the text's
topics hold the token more often than topics do in general.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gre_bench.core.records import Prediction
from gre_bench.lm.backends.token_copies import Tokens
from gre_bench.lm.engine.protocol import give_back, is_out_of_memory, out_of_memory
from gre_bench.prompts.library import render

if TYPE_CHECKING:
    from torch import Tensor

    from gre_bench.lm.backends.transformers_lm import TransformersLM

FEATURES = ("same", "same_idf", "same_lift", "count_idf", "alike_idf", "topic_same", "topic_other")
ARRAYS = ("lift", "topical", "topics_of", "words_of")


class Bending:
    """Features and factors of known texts, from what is known of *tokens* and from *arrays*.

    ``lift``: per token log(pairs of reviews of a paper that share it / that would by chance). ``topical``: ids of the
    tokens in topics; ``topics_of`` (tokens × topics) P(topic | token known); ``words_of`` (topics × tokens)
    P(token | topic) / P(token).
    """

    def __init__(self, tokens: Tokens, arrays: Mapping[str, np.ndarray]):
        self._tokens = tokens
        self._lift, self._topical, self._topics_of, self._words_of = (arrays[name] for name in ARRAYS)
        self._place = np.full(len(tokens.idf), -1)
        self._place[self._topical] = np.arange(len(self._topical))

    def features(self, ids: np.ndarray) -> np.ndarray:
        """(`FEATURES` × tokens) of a known text of token *ids*; float64."""
        idf, alike = self._tokens.idf, self._tokens.alike
        known, counts = np.unique(ids[self._tokens.weight[ids] > 0], return_counts=True)
        same = np.zeros(len(idf), dtype=bool)
        same[known] = True
        kin = np.isin(alike, alike[known]) & ~same
        found = np.zeros((len(FEATURES), len(idf)))
        found[0, known] = 1
        found[1, known] = idf[known]
        found[2, known] = self._lift[known]
        found[3, known] = np.log(counts) * idf[known]
        found[4, kin] = idf[kin]
        topical = known[self._place[known] >= 0]
        if len(topical):
            topics = idf[topical] @ self._topics_of[self._place[topical]].astype(np.float64)
            ratio = np.log(topics / topics.sum() @ self._words_of)
            found[5, self._topical] = np.where(same[self._topical], ratio, 0)
            found[6, self._topical] = np.where(same[self._topical], 0, ratio)
        return found


def bent(rows: Tensor, ids: np.ndarray, log_factors: np.ndarray) -> np.ndarray:
    """log P(token) of each of *ids* (n) in nats under *rows* (n × tokens, probabilities) bent by *log_factors*.

    Tokens beyond those of *log_factors* keep their chances.
    """
    import torch

    # Divided by the largest, so that no factor overflows.
    largest = max(float(log_factors.max(initial=0.0)), 0.0)
    factors = torch.full((rows.shape[1],), float(np.exp(-largest)), dtype=rows.dtype)
    factors[: len(log_factors)] = torch.from_numpy(np.exp(log_factors - largest)).to(rows.dtype)
    norms = (rows @ factors.to(rows.device)).cpu().numpy().astype(np.float64)
    chances = rows[torch.arange(len(ids)), torch.from_numpy(ids)].cpu().numpy().astype(np.float64)
    with np.errstate(divide="ignore"):
        return np.log(chances) + log_factors[ids] - largest - np.log(norms)


def distributions(lm: TransformersLM, prediction: Prediction) -> Tensor:
    """P(token) over the whole vocabulary at each place of the reply of *prediction*, (n, tokens), float32.

    For predictions that *lm* gives a span for. `SpanError` if the chat cannot be written or memory runs out.
    """
    import torch

    conversation = lm.template.encode(render(prediction))
    model = lm.weights.model
    wanted = conversation.last - conversation.first + 1
    read = torch.tensor([conversation.ids[: conversation.last]], device=model.device)
    try:
        with torch.inference_mode():
            logits = model(read, attention_mask=torch.ones_like(read), use_cache=False, logits_to_keep=wanted).logits
            return torch.softmax(logits[0, -wanted:], dim=-1, dtype=torch.float32)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
    # Beyond the except, where the error no longer holds the tensors of the failed try.
    give_back()
    raise out_of_memory(conversation)

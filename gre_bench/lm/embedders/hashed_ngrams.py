"""An embedder without a model: it hashes the words, word pairs and character runs of a sentence into a vector.

This embedder compares spelling, not meaning: "unclear" is near "clearly" and far from "confusing". The embedder serves
where no sentence embedding model is available. BERTScore then measures a soft overlap of words. Signatures name the
embedder, so scores by different embedders never mix.

A feature is a word, a word pair or a character run. A feature that occurs n times has the weight 1 + ln n (sublinear
term frequency). The feature's hash chooses a dimension and a sign, and the signed weight is added to that dimension.
Collisions therefore cancel out on average (Weinberger et al. 2009).
"""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gre_bench.core.records import LMIdentity, digest

DIMENSION = 2048
RUNS = (3, 4, 5)
"""Lengths of the character runs; a blank is added at either end of the sentence."""

_WORD = re.compile(r"\w+|[^\w\s]")


class HashedNgrams:
    """An `Embedder` whose vectors have *dimension* dimensions and are the same on every machine."""

    asymmetric = False

    def __init__(self, dimension: int = DIMENSION):
        self.dimension = dimension
        made = {"dimension": dimension, "runs": RUNS, "hash": "blake2b-64", "folding": "NFKC, lower case"}
        self.identity = LMIdentity("hashed-ngrams", digest(made), "hashed-ngrams 1", dtype="float32")

    def embed(self, sentences: Sequence[str], query: bool = False) -> NDArray[np.float32]:
        """Returns a vector for each of *sentences*, shape (sentences, dimension); *query* has no effect."""
        vectors = np.zeros((len(sentences), self.dimension))
        for vector, sentence in zip(vectors, sentences, strict=True):
            for feature, count in Counter(_features(sentence)).items():
                number = _hash(feature)
                vector[number % self.dimension] += math.copysign(1 + math.log(count), (number >> 63) - 0.5)
            if not vector.any():
                # All features of a short text can cancel out in pairs; the hash of the whole text then stands in.
                vector[_hash(sentence) % self.dimension] = 1
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors.astype(np.float32)

    def embed_tokens(self, texts: Sequence[str], query: bool = False) -> list[NDArray[np.float32]]:
        """Returns one array for each text, with one row for each word and punctuation mark.

        Rows of the same word are equal, whatever the context. *query* has no effect.
        """
        words = [_WORD.findall(text) for text in texts]
        indices = {word: index for index, word in enumerate(dict.fromkeys(word for line in words for word in line))}
        vectors = self.embed(list(indices))
        return [vectors[[indices[word] for word in line]] for line in words]


def _features(sentence: str) -> Iterator[str]:
    words = _WORD.findall(unicodedata.normalize("NFKC", sentence).lower())
    for word in words:
        yield f"w {word}"
    for first, second in pairwise(words):
        yield f"p {first} {second}"
    line = f" {' '.join(words)} "
    for length in RUNS:
        for start in range(len(line) - length + 1):
            yield f"c {line[start : start + length]}"


@lru_cache(maxsize=1 << 18)
def _hash(feature: str) -> int:
    return int.from_bytes(hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")

"""`cache-ngram`: the embedded evaluation LM, made of counts and a copying cache; it needs only numpy.

The known text consists of the synopsis and the first review, each if the prediction has one. P(reply | known) is a
product over tokens of P(gap, capitals | kinds of tokens) · P(token | reply so far, known), where

    P(token | so far)        = μ₀ trigram + μ₁ earlier words of the reply + μ₂ continuations seen in the reply
    P(token | so far, known) = λ₀ P(token | so far) + λ₁ trigram reweighted towards the known text
                             + λ₂ words of the known text + λ₃ continuations seen in the known text

If a source has nothing to copy, its weight goes to the first term of its sum. A word outside the vocabulary has the
trigram's probability of an unknown word times the probability of its spelling. The product is therefore a distribution
over all texts without lone surrogates, and log-ratios between known texts are exact.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gre_bench.core.errors import LMError, SpanError
from gre_bench.core.records import LMIdentity, Prediction, SpanLogprob
from gre_bench.lm.ngram.backoff import NEWLINE_ID, UNKNOWN, Backoff, Contexts
from gre_bench.lm.ngram.copying import Copies, continued, earlier
from gre_bench.lm.ngram.folder import read_files
from gre_bench.lm.ngram.known_text import FEATURES, KnownText, Reading
from gre_bench.lm.ngram.segmentation import Alphabet, Form, is_word, split
from gre_bench.lm.ngram.spelling import Speller

ENGINE_VERSION = "cache-ngram-1"
_KEPT_TEXTS = 64


@dataclass(frozen=True, slots=True)
class Reply:
    """The parts of a reply's probability that do not depend on a known text; arrays have one value for each token.

    - *text*: the tokens of the reply.
    - *contexts*: their contexts in the trigram model.
    - *form*: log-probability of the token's gap and capitals.
    - *spelling*: log-probability of the characters of the token's word.
    - *trigram*, *unknown*: the trigram's probabilities of the word and of an unknown word.
    - *marginal*, *marginal_unknown*: the same two probabilities, by the weighted sum of all sources without a known
      text.
    """

    text: Reading
    contexts: Contexts
    form: np.ndarray
    spelling: np.ndarray
    trigram: np.ndarray
    unknown: np.ndarray
    marginal: np.ndarray
    marginal_unknown: np.ndarray


@dataclass(frozen=True, slots=True)
class Known:
    """The contribution of a known text to the probability of replies.

    *factors* holds a factor for each word of the vocabulary. *norms* holds the norms of the trigram model with these
    factors (`Backoff.norms`). *copies* gives the probabilities of copying from the text.
    """

    factors: np.ndarray
    norms: tuple[float, np.ndarray, np.ndarray]
    copies: Copies


class CacheNgram:
    """The evaluation LM made of *config*, *vocabulary* and *arrays*; open one with `load`."""

    def __init__(
        self,
        config: Mapping[str, Any],
        vocabulary: list[str],
        arrays: Mapping[str, np.ndarray],
        alphabet: Alphabet,
        digest: str = "unsaved",
    ):
        self.config, self.vocabulary = dict(config), vocabulary
        self.arrays, self.alphabet = dict(arrays), alphabet
        self._identity = LMIdentity("cache-ngram", digest, f"{ENGINE_VERSION}+unicode-{unicodedata.unidata_version}")
        self._ids = {word: number for number, word in enumerate(vocabulary)}
        self.backoff, self.known_text = Backoff(arrays), KnownText(vocabulary, arrays, config["papers"])
        self._form, self._speller = Form(arrays, alphabet), Speller(config["characters"], arrays, alphabet)
        self._log_mark = float(np.log((1 - config["word_share"]) / alphabet.mark))
        self._spellings = np.full(len(vocabulary), -np.inf)
        self._spellings[NEWLINE_ID + 1 :] = self._spell(vocabulary[NEWLINE_ID + 1 :])
        self.marginal_weights = np.array(config["marginal_weights"])
        self.conditional_weights = np.array(config["conditional_weights"])
        self.boosts = np.array([config["boosts"][feature] for feature in FEATURES])
        self._numbers: dict[str, int] = {}

    @classmethod
    def load(cls, folder: Path) -> CacheNgram:
        """Opens the model in *folder*; raises `LMError` if a file is missing, damaged or of another format."""
        files = read_files(folder)
        try:
            return cls(files.config, files.vocabulary, files.arrays, files.alphabet, files.digest)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise LMError(f"the evaluation LM in {folder} is damaged ({reason}): train it again") from error

    @property
    def identity(self) -> LMIdentity:
        """The signature of this LM: its name, the digest of its files, and two versions.

        The versions are those of this code and of Python's Unicode tables.
        """
        return self._identity

    def logprob(self, predictions: Sequence[Prediction]) -> list[SpanLogprob | SpanError]:
        """Returns log P(reply | x, synopsis) of each prediction in nats, for each token and for the end of the reply.

        A text with a lone surrogate gives a final `SpanError` with the code ``bad_text``; all others can be scored.
        """
        self._numbers.clear()
        replies: dict[str, Reply] = {}
        known: dict[str, Known | None] = {}
        answers: list[SpanLogprob | SpanError] = []
        for prediction in predictions:
            try:
                reply = _remembered(replies, prediction.reply, self.read_reply)
                source = "\n".join(text for text in (prediction.synopsis, prediction.x) if text is not None)
                logs = self.token_logprobs(reply, _remembered(known, source, self.read_known))
                answers.append(SpanLogprob(float(logs.sum()), tuple(reply.text.ids.tolist()), tuple(logs.tolist())))
            except UnicodeEncodeError:
                answers.append(SpanError("bad_text", "the text holds a lone surrogate, which is not valid Unicode"))
        return answers

    def token_logprobs(self, reply: Reply, known: Known | None) -> np.ndarray:
        """Returns log P(token | reply so far, known) in nats for each token of *reply* and for its end.

        *known* is the known text's contribution; None means no known text.
        """
        whole, unknown = reply.marginal, reply.marginal_unknown
        if known is not None:
            terms, escapes = self.conditional_terms(reply, known)
            whole, unknown = self.conditional_weights @ terms, self.conditional_weights @ escapes
        with np.errstate(divide="ignore"):
            return np.logaddexp(np.log(whole), np.log(unknown) + reply.spelling) + reply.form

    def read_reply(self, text: str) -> Reply:
        """Computes the parts of the probability of the reply *text* that do not depend on a known text."""
        spelled = split(text)
        reading = self._read(spelled.words)
        spelling = self._spellings[reading.ids]
        spelling[reading.ids == UNKNOWN] = self._spell(reading.unknown)
        contexts = self.backoff.contexts(reading.ids)
        unknown = self.backoff.chances(np.full(len(reading.ids), UNKNOWN), contexts)
        trigram = np.where(reading.ids == UNKNOWN, 0.0, self.backoff.chances(reading.ids, contexts))
        terms, escapes = self.marginal_terms(reading, trigram, unknown)
        return Reply(
            reading,
            contexts,
            self._form.logprobs(spelled),
            spelling,
            trigram,
            unknown,
            self.marginal_weights @ terms,
            self.marginal_weights @ escapes,
        )

    def read_known(self, text: str) -> Known | None:
        """Returns the contribution of the known *text* to replies; None if the text holds no word to copy.

        The result is valid until the next call of `logprob`.
        """
        reading = self.read(text)
        if not (self._weights(reading) > 0).any():
            return None
        factors = np.exp(self.known_text.features(reading) @ self.boosts)
        return Known(factors, self.backoff.norms(factors), Copies(reading.words, self._weights(reading), NEWLINE_ID))

    def read(self, text: str) -> Reading:
        """Returns the tokens of *text* without its end."""
        return self._read(split(text).words[:-1])

    def marginal_terms(self, text: Reading, trigram: np.ndarray, unknown: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns P(word) and P(unknown word) by each term of the module's formula for P(token | so far).

        Both arrays have the shape (terms, tokens of *text*). *trigram* and *unknown* mean the same as in `Reply`.
        """
        nothing = np.zeros(len(trigram))
        copied, followed = earlier(text.words, self._weights(text)), continued(text.words, NEWLINE_ID)
        return _with_fallback(trigram, unknown, [(trigram, unknown), (copied, nothing), (followed, nothing)])

    def conditional_terms(self, reply: Reply, known: Known) -> tuple[np.ndarray, np.ndarray]:
        """Returns P(word) and P(unknown word) by each term of the module's formula for P(token | so far, known).

        Both arrays have the shape (terms, tokens of *reply*).
        """
        norms = self.backoff.norms_at(known.norms, reply.contexts)
        reweighted = (
            reply.trigram * known.factors[reply.text.ids] / norms,
            reply.unknown * known.factors[UNKNOWN] / norms,
        )
        copied, followed = known.copies.copied(reply.text.words), known.copies.followed(reply.text.words)
        nothing = np.zeros(len(norms))
        alone = reply.marginal, reply.marginal_unknown
        return _with_fallback(*alone, [alone, reweighted, (copied, nothing), (followed, nothing)])

    def _read(self, words: list[str]) -> Reading:
        ids = np.array([self._ids.get(word, UNKNOWN) for word in words], dtype=np.int64)
        unknown = [words[index] for index in np.flatnonzero(ids == UNKNOWN)]
        numbers = ids.copy()
        first = len(self._ids)
        numbers[ids == UNKNOWN] = [self._numbers.setdefault(word, first + len(self._numbers)) for word in unknown]
        return Reading(ids, numbers, unknown)

    def _weights(self, text: Reading) -> np.ndarray:
        return self.known_text.copy_weights(text) ** self.config["idf_exponent"]

    def _spell(self, words: list[str]) -> np.ndarray:
        """Returns the log-probability of the spelling of each of *words* in nats.

        All punctuation marks are equally likely.
        """
        logs = np.full(len(words), self._log_mark)
        indices = [index for index, word in enumerate(words) if is_word(word)]
        if indices:
            share = np.log(self.config["word_share"])
            logs[indices] = share + self._speller.logprobs([words[index] for index in indices])
        return logs


def _with_fallback(
    whole: np.ndarray, unknown: np.ndarray, sources: list[tuple[np.ndarray, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray]:
    """Stacks the pairs (P(word), P(unknown word)) of *sources* into two arrays of shape (sources, tokens).

    Where a source has nothing to copy (NaN), *whole* and *unknown* replace its numbers.
    """
    terms = np.stack([np.where(np.isnan(term), whole, term) for term, _ in sources])
    escapes = np.stack([np.where(np.isnan(term), unknown, escape) for term, escape in sources])
    return terms, escapes


def _remembered(memory: dict[str, Any], text: str, read: Any) -> Any:
    if text not in memory:
        if len(memory) >= _KEPT_TEXTS:
            memory.pop(next(iter(memory)))
        memory[text] = read(text)
    return memory[text]

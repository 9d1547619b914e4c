"""`cache-ngram`, the evaluation LM that comes with the program: n-gram counts and a copying cache, on numpy alone.

The known text is what the LM has read before the reply: the synopsis followed by the given review. A prediction may
lack either. P(reply | known text) is the product of P(gap, capitals | kinds of tokens) · P(token | so far, known) over
the reply's tokens, where

    P(token | so far)        = μ₀ trigram + μ₁ earlier words of the reply + μ₂ continuations seen in the reply
    P(token | so far, known) = λ₀ P(token | so far) + λ₁ trigram reweighted towards the known text
                             + λ₂ words of the known text + λ₃ continuations seen in the known text

- *gap*: the white space before the token.
- *so far*: the tokens of the reply before this one.
- *continuations*: words that followed other occurrences of the previous word.

The weights μ sum to 1, and so do the weights λ. If a term has nothing to copy, the first term of its sum gets its
weight. For a word outside the vocabulary, the trigram model's probability of an unknown word is multiplied by the
probability of the word's spelling. `SpellingModel` computes it from the word's characters.

The probabilities of all texts without lone surrogates therefore sum to 1. A reply's log-probabilities given different
known texts can be compared without further normalisation.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gre_bench.core.errors import LMError, SourceError, SpanError
from gre_bench.core.incoming import read_bytes
from gre_bench.core.records import LMIdentity, Prediction, SpanLogprob
from gre_bench.core.strict import load_json
from gre_bench.lm.ngram.backoff import (
    NEWLINE_ID,
    UNKNOWN,
    BackoffTrigramModel,
    CopyModel,
    NgramContexts,
    compute_probability_of_continuations,
    compute_probability_of_copies_within_reply,
)
from gre_bench.lm.ngram.segmentation import (
    CharacterKindCounts,
    GapAndCapitalModel,
    SpellingModel,
    count_unicode_characters_by_kind,
    is_word,
    split_into_tokens,
)

ENGINE_VERSION = "cache-ngram-1"
FORMAT = 1
CONFIG, VOCABULARY, WEIGHTS = "config.json", "vocabulary.json", "weights.safetensors"
_KEPT_TEXTS = 64

KNOTS = np.array([0.3, 1.0, 1.75, 2.5, 3.25, 4.0, 4.75, 5.4])
"""The knots of the piecewise-linear effect of the inverse document frequency, in nats."""
FEATURES = (
    *(f"same_{knot}" for knot in KNOTS),
    *("count", "count_idf", "length", "stem", "stem_idf", "topic_same", "topic_other", "lift"),
)
_TYPICAL_WORDS = 60  # the number of different words in the judgments of an ordinary review
_ENDINGS = (
    "izations", "ization", "ations", "ation", "ingly", "ments", "ment", "ness", "ities", "ity", "ively", "ive", "ions",
    "ion", "ings", "ing", "edly", "ied", "ies", "ed", "es", "ly", "al", "s", "e", "y",
)  # fmt: skip
_STEM = 4


@dataclass(frozen=True, slots=True)
class TokenizedText:
    """The tokens of a text as integers.

    - *ids*: the index of each token in the vocabulary; 0 for an unknown word, i.e. one outside the vocabulary.
    - *words*: the same, except that each distinct unknown word has its own integer.
    - *unknown*: the unknown words, in the order of the text.
    """

    ids: np.ndarray
    words: np.ndarray
    unknown: list[str]


@dataclass(frozen=True, slots=True)
class ReplyProbabilityParts:
    """The parts of a reply's probability that do not depend on a known text: a value for each token and for the end.

    - *form*: the log-probability of gap and capitals, in nats.
    - *spelling*: the log-probability of the word's spelling, in nats.
    - *trigram*: P(the token's word) in the trigram model; 0 for a word outside the vocabulary.
    - *unknown*: P(a word outside the vocabulary) at this position in the trigram model.
    - *marginal*, *marginal_unknown*: the same two probabilities, but by the module's formula for P(token | so far).
    """

    text: TokenizedText
    contexts: NgramContexts
    form: np.ndarray
    spelling: np.ndarray
    trigram: np.ndarray
    unknown: np.ndarray
    marginal: np.ndarray
    marginal_unknown: np.ndarray


@dataclass(frozen=True, slots=True)
class KnownTextEffect:
    """The effect of a known text, which the LM has read before the reply, on the probabilities of the reply's words.

    *factors*: the factor of each word of the vocabulary (see `WordFactorModel`). *copies*: the model for copies of the
    known text's words.
    """

    factors: np.ndarray
    copies: CopyModel


class CacheNgram:
    """The evaluation LM `cache-ngram`; open one with `load`.

    - *vocabulary*: the words; a word's id is its index.
    - *arrays*: the arrays of counts and probabilities, by name.
    - *digest*: SHA-256 over the files of the model.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        vocabulary: list[str],
        arrays: Mapping[str, np.ndarray],
        alphabet: CharacterKindCounts,
        digest: str = "unsaved",
        name: str = "cache-ngram",
    ):
        self.config, self.vocabulary = dict(config), vocabulary
        self.arrays, self.alphabet = dict(arrays), alphabet
        self.identity = LMIdentity(name, digest, f"{ENGINE_VERSION}+unicode-{unicodedata.unidata_version}")
        self._ids = {word: number for number, word in enumerate(vocabulary)}
        self.backoff, self.known_text = (
            BackoffTrigramModel(arrays),
            WordFactorModel(vocabulary, arrays, config["papers"]),
        )
        self._form, self._speller = (
            GapAndCapitalModel(arrays, alphabet),
            SpellingModel(config["characters"], arrays, alphabet),
        )
        self._log_mark = float(np.log((1 - config["word_share"]) / alphabet.mark))
        self._spellings = np.full(len(vocabulary), -np.inf)
        self._spellings[NEWLINE_ID + 1 :] = self._compute_spelling_logprobs(vocabulary[NEWLINE_ID + 1 :])
        self.marginal_weights = np.array(config["marginal_weights"])
        self.conditional_weights = np.array(config["conditional_weights"])
        self.boosts = np.array([config["boosts"][feature] for feature in FEATURES])
        self._numbers: dict[str, int] = {}

    @classmethod
    def load(cls, folder: Path, name: str = "cache-ngram") -> CacheNgram:
        """Opens the model in *folder*; raises `LMError` if a file is missing, damaged or in another format."""
        from safetensors import SafetensorError
        from safetensors.numpy import load as load_arrays

        way_out = "restore the folder or train it again"
        try:
            files = {file: read_bytes(folder / file) for file in (CONFIG, VOCABULARY, WEIGHTS)}
            config = load_json(files[CONFIG])
            if config["format"] != FORMAT:
                raise LMError(
                    f"the evaluation LM in {folder} has format {config['format']!r}, this version reads {FORMAT}: "
                    "train it again with `gre-bench models tune cache-ngram`"
                )
            for file in (VOCABULARY, WEIGHTS):
                if hashlib.sha256(files[file]).hexdigest() != config["sha256"][file]:
                    raise ValueError(f"{file} is not the file that was saved")
            alphabet = CharacterKindCounts(**config["alphabet"])
            if alphabet.unicode != unicodedata.unidata_version:
                alphabet = count_unicode_characters_by_kind()
            digest = hashlib.sha256(b"".join(hashlib.sha256(data).digest() for data in files.values())).hexdigest()
            vocabulary, arrays = load_json(files[VOCABULARY]), load_arrays(files[WEIGHTS])
            way_out = "train it again"
            return cls(config, vocabulary, arrays, alphabet, digest, name)
        except FileNotFoundError as error:
            raise LMError(
                f"no evaluation LM in {folder}: {Path(error.filename).name} is missing; "
                "restore the folder or train one with `gre-bench models tune cache-ngram`"
            ) from error
        except (OSError, ValueError, LookupError, TypeError, AttributeError, SafetensorError, SourceError) as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise LMError(f"the evaluation LM in {folder} is damaged ({reason}): {way_out}") from error

    def logprob(self, predictions: Sequence[Prediction]) -> list[SpanLogprob | SpanError]:
        """Returns log P(reply | synopsis, given review) of each prediction in nats, in the order of *predictions*.

        Each result has one log-probability for each token of the reply and one for the reply's end. A text with a lone
        surrogate gives a `SpanError` with the code ``bad_text``. All other texts can be scored.
        """
        self._numbers.clear()
        replies: dict[str, ReplyProbabilityParts] = {}
        known: dict[str, KnownTextEffect | None] = {}
        answers: list[SpanLogprob | SpanError] = []
        for prediction in predictions:
            try:
                reply = _read_or_recall(replies, prediction.reply, self.compute_reply_parts)
                source = "\n".join(text for text in (prediction.synopsis, prediction.x) if text is not None)
                logs = self.token_logprobs(reply, _read_or_recall(known, source, self.compute_known_text_effect))
                answers.append(SpanLogprob(float(logs.sum()), tuple(reply.text.ids.tolist()), tuple(logs.tolist())))
            except UnicodeEncodeError:
                answers.append(SpanError("bad_text", "the text holds a lone surrogate, which is not valid Unicode"))
        return answers

    def token_logprobs(self, reply: ReplyProbabilityParts, known: KnownTextEffect | None) -> np.ndarray:
        """Returns log P(token | reply so far, known text) in nats for each token of *reply* and for its end."""
        whole, unknown = reply.marginal, reply.marginal_unknown
        if known is not None:
            terms, escapes = self.conditional_terms(reply, known)
            whole, unknown = self.conditional_weights @ terms, self.conditional_weights @ escapes
        with np.errstate(divide="ignore"):
            return np.logaddexp(np.log(whole), np.log(unknown) + reply.spelling) + reply.form

    def compute_reply_parts(self, text: str) -> ReplyProbabilityParts:
        """Reads the reply *text* and returns the parts of its probability that do not depend on a known text."""
        spelled = split_into_tokens(text)
        reading = self._number_words(spelled.words)
        spelling = self._spellings[reading.ids]
        spelling[reading.ids == UNKNOWN] = self._compute_spelling_logprobs(reading.unknown)
        contexts = self.backoff.build_contexts(reading.ids)
        unknown = self.backoff.compute_word_probabilities(np.full(len(reading.ids), UNKNOWN), contexts)
        trigram = np.where(reading.ids == UNKNOWN, 0.0, self.backoff.compute_word_probabilities(reading.ids, contexts))
        terms, escapes = self.marginal_terms(reading, trigram, unknown)
        marginal, marginal_unknown = self.marginal_weights @ terms, self.marginal_weights @ escapes
        form = self._form.logprobs(spelled)
        return ReplyProbabilityParts(reading, contexts, form, spelling, trigram, unknown, marginal, marginal_unknown)

    def compute_known_text_effect(self, text: str) -> KnownTextEffect | None:
        """Returns how *text*, read before a reply, changes the reply's probabilities; None if it has no word to copy.

        The result is valid until the next call of `logprob`, which renumbers the words outside the vocabulary.
        """
        reading = self.tokenize(text)
        if not (self._compute_copy_weights(reading) > 0).any():
            return None
        factors = np.exp(self.known_text.features(reading) @ self.boosts)
        return KnownTextEffect(factors, CopyModel(reading.words, self._compute_copy_weights(reading), NEWLINE_ID))

    def tokenize(self, text: str) -> TokenizedText:
        """Returns the tokens of *text* as integers, without the end-of-text token."""
        return self._number_words(split_into_tokens(text).words[:-1])

    def marginal_terms(
        self, text: TokenizedText, trigram: np.ndarray, unknown: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Computes the terms of the module's formula for P(token | so far), without the weights μ.

        Returns two arrays of shape (terms, tokens): P(the token's word) and P(unknown word) by each term. *trigram*,
        *unknown*: as in `ReplyProbabilityParts`.
        """
        nothing = np.zeros(len(trigram))
        copied, followed = (
            compute_probability_of_copies_within_reply(text.words, self._compute_copy_weights(text)),
            compute_probability_of_continuations(text.words, NEWLINE_ID),
        )
        return _stack_with_fallback(trigram, unknown, [(trigram, unknown), (copied, nothing), (followed, nothing)])

    def conditional_terms(self, reply: ReplyProbabilityParts, known: KnownTextEffect) -> tuple[np.ndarray, np.ndarray]:
        """Computes the terms of P(token | so far, known), without the weights λ, as `marginal_terms` does."""
        factors, norms = known.factors, self.backoff.compute_normalisers(known.factors, reply.contexts)
        reweighted = reply.trigram * factors[reply.text.ids] / norms, reply.unknown * factors[UNKNOWN] / norms
        copied, followed = (
            known.copies.compute_copy_probability(reply.text.words),
            known.copies.compute_continuation_probability(reply.text.words),
        )
        nothing = np.zeros(len(norms))
        alone = reply.marginal, reply.marginal_unknown
        return _stack_with_fallback(*alone, [alone, reweighted, (copied, nothing), (followed, nothing)])

    def _number_words(self, words: list[str]) -> TokenizedText:
        ids = np.array([self._ids.get(word, UNKNOWN) for word in words], dtype=np.int64)
        unknown = [words[index] for index in np.flatnonzero(ids == UNKNOWN)]
        numbers = ids.copy()
        first = len(self._ids)
        numbers[ids == UNKNOWN] = [self._numbers.setdefault(word, first + len(self._numbers)) for word in unknown]
        return TokenizedText(ids, numbers, unknown)

    def _compute_copy_weights(self, text: TokenizedText) -> np.ndarray:
        return self.known_text.compute_copy_weights(text) ** self.config["idf_exponent"]

    def _compute_spelling_logprobs(self, words: list[str]) -> np.ndarray:
        """Returns the log-probability, in nats, of the spelling of each of *words*; all marks have the same one."""
        logs = np.full(len(words), self._log_mark)
        indices = [index for index, word in enumerate(words) if is_word(word)]
        if indices:
            share = np.log(self.config["word_share"])
            logs[indices] = share + self._speller.logprobs([words[index] for index in indices])
        return logs


def _stack_with_fallback(
    whole: np.ndarray, unknown: np.ndarray, sources: list[tuple[np.ndarray, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray]:
    """Stacks P(the token's word) and P(unknown word) of several sources: two arrays of shape (sources, tokens).

    Where P(the token's word) of a source is NaN, it has nothing to copy. There, *whole* and *unknown* replace its two
    probabilities.
    """
    terms = np.stack([np.where(np.isnan(term), whole, term) for term, _ in sources])
    escapes = np.stack([np.where(np.isnan(term), unknown, escape) for term, escape in sources])
    return terms, escapes


def _read_or_recall(memory: dict[str, Any], text: str, read: Any) -> Any:
    if text not in memory:
        if len(memory) >= _KEPT_TEXTS:
            memory.pop(next(iter(memory)))
        memory[text] = read(text)
    return memory[text]


def write_files(
    folder: Path, config: Mapping[str, Any], vocabulary: list[str], arrays: Mapping[str, np.ndarray]
) -> None:
    """Writes the three files of a model to *folder*, which is created if missing; other files there stay."""
    from safetensors.numpy import save as save_arrays

    folder.mkdir(parents=True, exist_ok=True)
    files = {
        VOCABULARY: (json.dumps(vocabulary, ensure_ascii=False, indent=0) + "\n").encode(),
        WEIGHTS: save_arrays({name: np.ascontiguousarray(array) for name, array in sorted(arrays.items())}),
    }
    sha256 = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    whole = {**config, "format": FORMAT, "sha256": sha256}
    files[CONFIG] = (json.dumps(whole, ensure_ascii=False, indent=2) + "\n").encode()
    for name, data in files.items():
        (folder / name).write_bytes(data)


class WordFactorModel:
    """Computes how much likelier each word of *vocabulary* becomes if the LM has read a text about the same paper.

    Each word gets a factor, which multiplies its probability in the trigram model. The factor's logarithm is a weighted
    sum of the word's `FEATURES`. Features that do not apply are zero:

    - For words in the known text: the word's inverse document frequency (piecewise linear), its count, the length of
      the text, and the word's lift: how much more often two reviews of one paper share the word than by chance.
    - For other words: whether the known text contains a word of the same stem.
    - For words that belong to topics: how much likelier the known text's topics make the word.

    *arrays* holds document frequencies, topics and lifts, counted over *papers* papers.
    """

    def __init__(self, vocabulary: list[str], arrays: Mapping[str, np.ndarray], papers: int):
        self.words = np.array([is_word(word) for word in vocabulary])
        self.unseen_idf = float(np.log(papers))
        self.idf = np.where(self.words, np.log(papers / np.maximum(arrays["papers_with"], 1)), self.unseen_idf)
        self._hats = _piecewise_linear_basis(self.idf)
        self._lift = arrays["lift"].astype(np.float64)
        numbers: dict[str, int] = {}
        self._stems = np.array([numbers.setdefault(strip_ending(word), len(numbers)) for word in vocabulary])
        self._stem_numbers = numbers
        self._topical = arrays["topical"].astype(np.int64)
        self._topical_row = np.full(len(vocabulary), -1)
        self._topical_row[self._topical] = np.arange(len(self._topical))
        self._topics_of = arrays["topics_of"].astype(np.float64)
        of_topics = arrays["words_of"].astype(np.float64)
        # P(word | topic) / P(word), normalised again, because rounding has moved the mean of a column away from 1.
        self._words_of = of_topics / (arrays["topic_sizes"].astype(np.float64) @ of_topics)

    def features(self, text: TokenizedText) -> np.ndarray:
        """Returns the features of each word of the vocabulary for the known *text*: shape (vocabulary, `FEATURES`)."""
        ids, counts = np.unique(text.ids, return_counts=True)
        counts, ids = counts[self.words[ids]], ids[self.words[ids]]
        columns = np.zeros((len(FEATURES), len(self.words)))
        same, rest = np.zeros(len(self.words), dtype=bool), columns[len(KNOTS) :]
        same[ids] = True
        columns[: len(KNOTS), ids] = self._hats[ids].T
        rest[0, ids] = np.log(counts)
        rest[1, ids] = np.log(counts) * self.idf[ids] / 4
        rest[2, ids] = np.log(max(len(ids), 1) / _TYPICAL_WORDS)
        shared = np.zeros(len(self._stem_numbers), dtype=bool)
        shared[self._stems[ids]] = True
        shared[[self._stem_numbers[root] for root in map(strip_ending, text.unknown) if root in self._stem_numbers]] = (
            True
        )
        rest[3] = shared[self._stems] & self.words & ~same
        rest[4] = rest[3] * self.idf / 4
        rest[7, ids] = self._lift[ids]
        topical = ids[(self._topical_row[ids] >= 0) & (self.idf[ids] > 0)]
        if len(topical):
            topics = self.idf[topical] @ self._topics_of[self._topical_row[topical]]
            ratio = np.log(topics / topics.sum() @ self._words_of)
            rest[5, self._topical] = np.where(same[self._topical], ratio, 0)
            rest[6, self._topical] = np.where(same[self._topical], 0, ratio)
        return columns.T

    def compute_copy_weights(self, text: TokenizedText) -> np.ndarray:
        """Returns the weight of each token of *text* for copying: a word's inverse document frequency in nats, or 0."""
        words = self.words[text.ids]
        words[text.ids == 0] = [is_word(word) for word in text.unknown]
        return np.where(words, np.where(text.ids == 0, self.unseen_idf, self.idf[text.ids]), 0.0)


def strip_ending(word: str) -> str:
    """Returns *word* without the first of `_ENDINGS` whose removal leaves at least four characters."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _STEM:
            return word[: -len(ending)]
    return word


def _piecewise_linear_basis(values: np.ndarray) -> np.ndarray:
    """Returns the piecewise-linear basis over `KNOTS` at *values*, shape (values, knots).

    The entries of the two knots around a value sum to 1; all other entries are 0.
    """
    values = np.clip(values, KNOTS[0], KNOTS[-1])
    left = np.clip(np.searchsorted(KNOTS, values, side="right") - 1, 0, len(KNOTS) - 2)
    share = (values - KNOTS[left]) / (KNOTS[left + 1] - KNOTS[left])
    hats = np.zeros((len(values), len(KNOTS)))
    rows = np.arange(len(values))
    hats[rows, left], hats[rows, left + 1] = 1 - share, share
    return hats

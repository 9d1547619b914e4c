"""`cache-ngram`: the embedded evaluation LM, made of n-gram counts and a copying cache; it needs only numpy.

The known text is the synopsis followed by the first review; a prediction may lack either. P(reply | known text) is the
product of P(gap, capitals | kinds of tokens) · P(token | so far, known) over the reply's tokens, where

    P(token | so far)        = μ₀ trigram + μ₁ earlier words of the reply + μ₂ continuations seen in the reply
    P(token | so far, known) = λ₀ P(token | so far) + λ₁ trigram reweighted towards the known text
                             + λ₂ words of the known text + λ₃ continuations seen in the known text

- *gap*: the white space before the token.
- *so far*: the tokens of the reply before this one.
- *continuations*: words that followed other occurrences of the previous word.

The weights μ sum to 1, and so do the weights λ. If a term has nothing to copy, its weight goes to the first term of its
sum. For a word outside the vocabulary, the trigram model's probability of an unknown word is multiplied by the
probability of the spelling.

The probabilities of all texts without lone surrogates therefore sum to 1. Log-probabilities of a reply under different
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

from gre_bench.core.errors import LMError, SpanError
from gre_bench.core.records import LMIdentity, Prediction, SpanLogprob
from gre_bench.lm.ngram.backoff import NEWLINE_ID, UNKNOWN, Backoff, Contexts, Copies, continued, earlier
from gre_bench.lm.ngram.known_text import FEATURES, KnownText, Reading
from gre_bench.lm.ngram.segmentation import Alphabet, Form, Speller, alphabet_of_python, is_word, split

ENGINE_VERSION = "cache-ngram-1"
FORMAT = 1
CONFIG, VOCABULARY, WEIGHTS = "config.json", "vocabulary.json", "weights.safetensors"
_KEPT_TEXTS = 64


@dataclass(frozen=True, slots=True)
class Reply:
    """The parts of a reply's probability that do not depend on a known text.

    All arrays have one value for each token of the reply, its end included. Log-probabilities are in nats.

    - *text*: the tokens as integers.
    - *contexts*: the tokens' contexts in the trigram model.
    - *form*: the log-probability of the token's gap and capitals.
    - *spelling*: the log-probability of the spelling of the token's word.
    - *trigram*: P(the token's word) in the trigram model; 0 for a word outside the vocabulary.
    - *unknown*: P(a word outside the vocabulary) at this position in the trigram model.
    - *marginal*, *marginal_unknown*: the same two probabilities by the module's formula for P(token | so far).
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
    """The effect of a known text: the factor of each word, the norms with these factors, and the copies from it."""

    factors: np.ndarray
    norms: tuple[float, np.ndarray, np.ndarray]
    copies: Copies


class CacheNgram:
    """The evaluation LM `cache-ngram`; open one with `load`.

    - *config*: the settings and weights of the model.
    - *vocabulary*: the words; a word's id is its index.
    - *arrays*: the arrays of counts and probabilities, by name.
    - *alphabet*: the number of Unicode characters of each kind.
    - *digest*: SHA-256 over the files of the model.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        vocabulary: list[str],
        arrays: Mapping[str, np.ndarray],
        alphabet: Alphabet,
        digest: str = "unsaved",
        name: str = "cache-ngram",
    ):
        self.config, self.vocabulary = dict(config), vocabulary
        self.arrays, self.alphabet = dict(arrays), alphabet
        self.identity = LMIdentity(name, digest, f"{ENGINE_VERSION}+unicode-{unicodedata.unidata_version}")
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
    def load(cls, folder: Path, name: str = "cache-ngram") -> CacheNgram:
        """Opens the model in *folder* under the name *name*.

        Raises `LMError` if a file is missing, damaged or of another format.
        """
        from safetensors import SafetensorError
        from safetensors.numpy import load as load_arrays

        way_out = "restore the folder or train it again"
        try:
            files = {name: (folder / name).read_bytes() for name in (CONFIG, VOCABULARY, WEIGHTS)}
            config = json.loads(files[CONFIG])
            if config["format"] != FORMAT:
                raise LMError(
                    f"the evaluation LM in {folder} has format {config['format']!r}, this version reads {FORMAT}: "
                    "train it again with `gre-bench models tune cache-ngram`"
                )
            for name_of_file in (VOCABULARY, WEIGHTS):
                if hashlib.sha256(files[name_of_file]).hexdigest() != config["sha256"][name_of_file]:
                    raise ValueError(f"{name_of_file} is not the file that was saved")
            alphabet = Alphabet(**config["alphabet"])
            if alphabet.unicode != unicodedata.unidata_version:
                alphabet = alphabet_of_python()
            digest = hashlib.sha256(b"".join(hashlib.sha256(data).digest() for data in files.values())).hexdigest()
            vocabulary, arrays = json.loads(files[VOCABULARY]), load_arrays(files[WEIGHTS])
            way_out = "train it again"
            return cls(config, vocabulary, arrays, alphabet, digest, name)
        except FileNotFoundError as error:
            raise LMError(
                f"no evaluation LM in {folder}: {Path(error.filename).name} is missing; "
                "restore the folder or train one with `gre-bench models tune cache-ngram`"
            ) from error
        except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, SafetensorError) as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise LMError(f"the evaluation LM in {folder} is damaged ({reason}): {way_out}") from error

    def logprob(self, predictions: Sequence[Prediction]) -> list[SpanLogprob | SpanError]:
        """Returns log P(reply | synopsis, first review) of each prediction in nats, in the order of *predictions*.

        Each result has one log-probability for each token of the reply and one for the reply's end. If a text holds a
        lone surrogate, the result is a `SpanError` with the code ``bad_text``. All other texts can be scored.
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
        """Returns log P(token | reply so far, known text) in nats for each token of *reply* and for its end."""
        whole, unknown = reply.marginal, reply.marginal_unknown
        if known is not None:
            terms, escapes = self.conditional_terms(reply, known)
            whole, unknown = self.conditional_weights @ terms, self.conditional_weights @ escapes
        with np.errstate(divide="ignore"):
            return np.logaddexp(np.log(whole), np.log(unknown) + reply.spelling) + reply.form

    def read_reply(self, text: str) -> Reply:
        """Reads the reply *text* and returns the parts of its probability that do not depend on a known text."""
        spelled = split(text)
        reading = self._read(spelled.words)
        spelling = self._spellings[reading.ids]
        spelling[reading.ids == UNKNOWN] = self._spell(reading.unknown)
        contexts = self.backoff.contexts(reading.ids)
        unknown = self.backoff.chances(np.full(len(reading.ids), UNKNOWN), contexts)
        trigram = np.where(reading.ids == UNKNOWN, 0.0, self.backoff.chances(reading.ids, contexts))
        terms, escapes = self.marginal_terms(reading, trigram, unknown)
        marginal, marginal_unknown = self.marginal_weights @ terms, self.marginal_weights @ escapes
        form = self._form.logprobs(spelled)
        return Reply(reading, contexts, form, spelling, trigram, unknown, marginal, marginal_unknown)

    def read_known(self, text: str) -> Known | None:
        """Reads the known *text* and returns its effect on replies; None if *text* holds no word to copy.

        The result is valid until the next call of `logprob`, which gives new integers to the unknown words.
        """
        reading = self.read(text)
        if not (self._weights(reading) > 0).any():
            return None
        factors = np.exp(self.known_text.features(reading) @ self.boosts)
        return Known(factors, self.backoff.norms(factors), Copies(reading.words, self._weights(reading), NEWLINE_ID))

    def read(self, text: str) -> Reading:
        """Returns the tokens of *text* as integers, without the token for the end of the text."""
        return self._read(split(text).words[:-1])

    def marginal_terms(self, text: Reading, trigram: np.ndarray, unknown: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Computes the terms of the module's formula for P(token | so far), without the weights μ.

        Returns two arrays of shape (terms, tokens of *text*): P(the token's word) and P(unknown word) by each term.
        *trigram* and *unknown* mean the same as in `Reply`.
        """
        nothing = np.zeros(len(trigram))
        copied, followed = earlier(text.words, self._weights(text)), continued(text.words, NEWLINE_ID)
        return _with_fallback(trigram, unknown, [(trigram, unknown), (copied, nothing), (followed, nothing)])

    def conditional_terms(self, reply: Reply, known: Known) -> tuple[np.ndarray, np.ndarray]:
        """Computes the terms of P(token | so far, known), without the weights λ, as `marginal_terms` does."""
        norms = self.backoff.norms_at(known.norms, reply.contexts)
        factors = known.factors
        reweighted = reply.trigram * factors[reply.text.ids] / norms, reply.unknown * factors[UNKNOWN] / norms
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
        """Returns the log-probability of the spelling of each of *words* in nats; all punctuation marks are equal."""
        logs = np.full(len(words), self._log_mark)
        indices = [index for index, word in enumerate(words) if is_word(word)]
        if indices:
            share = np.log(self.config["word_share"])
            logs[indices] = share + self._speller.logprobs([words[index] for index in indices])
        return logs


def _with_fallback(
    whole: np.ndarray, unknown: np.ndarray, sources: list[tuple[np.ndarray, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray]:
    """Stacks P(the token's word) and P(unknown word) of several sources: two arrays of shape (sources, tokens).

    Where the first is NaN, the source has nothing to copy, and *whole* and *unknown* take its place.
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


def write_files(
    folder: Path, config: Mapping[str, Any], vocabulary: list[str], arrays: Mapping[str, np.ndarray]
) -> None:
    """Writes the three files of a model to *folder*, which is made if absent; other files there stay as they are."""
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

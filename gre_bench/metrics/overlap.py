"""Metrics that count words: BLEU, ROUGE-L, and review length, which is the baseline that every metric must beat.

All three follow Xu et al. 2025, D.1. BLEU is NLTK's sentence BLEU: up to 4-grams, unsmoothed, case-sensitive. If two
texts share no n-gram of some order, NLTK uses 2.2e-308 as the precision of that order. The score is then at most 1e-77,
but not 0, so texts are still ranked by their shorter n-grams. ROUGE-L is the F-measure of the longest common
subsequence (Lin 2004, equations 2-4 with β = 1), on the stemmed words of the library rouge-score.

NLTK's `word_tokenize` first splits a text into sentences with Punkt, which needs downloaded data. Here
`review_text.split_into_sections` finds the sentences instead. The words can differ from NLTK's only at the ends of
sentences: a final full stop is a separate word, and a full stop inside a sentence belongs to the word before it.
`split_into_sections` also ends sentences at headings, paragraphs and list marks ("1.", "- "). It has a list of
abbreviations whose full stops do not end a sentence.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Any, cast

from gre_bench.core import review_text
from gre_bench.core.errors import SettingsError
from gre_bench.core.metrics import Recipe
from gre_bench.core.records import Case, Problem, Score, make_score

Words = Sequence[str]


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure computed from the words of two texts, such as BLEU.

    *words*: a function that splits a text into words. *compare*: a function that takes the words of the candidate's
    text and of the reference (``()`` if there is none), and returns the score or None. *identity*: libraries, versions
    and options as one string, for the signature.
    """

    name: str
    needs_reference: bool
    words: Callable[[str], Words]
    compare: Callable[[Words, Words], float | None]
    identity: str


class OverlapMetric:
    """Scores cases by *measure*. A text without words gives a problem, not a score of 0."""

    def __init__(self, measure: Measure, signature_id: str):
        self.measure = measure
        self.signature_id = signature_id
        self.needs_reference = measure.needs_reference

    def score(self, cases: Sequence[Case]) -> list[Score]:
        """Returns one `Score` or problem for each of *cases*, in order; splits each distinct text into words once."""
        read = {case.candidate for case in cases}
        if self.needs_reference:
            read |= {case.reference for case in cases}
        words = {text: self._split_into_words(text) for text in read}
        return [make_score(self.signature_id, case, self._compare_case_texts(case, words)) for case in cases]

    def _split_into_words(self, text: str) -> Words | Problem:
        try:
            return self.measure.words(text)
        except Exception as error:  # the measure may come from another package
            return self._build_failure_problem(error)

    def _build_failure_problem(self, error: Exception) -> Problem:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        return Problem("no_score", f"{self.measure.name} failed on these two texts: {reason}")

    def _compare_case_texts(self, case: Case, words: dict[str, Words | Problem]) -> float | Problem:
        x, y = words[case.candidate], words[case.reference] if self.needs_reference else ()
        if isinstance(x, Problem):
            return x
        if isinstance(y, Problem):
            return y
        if not x:
            return Problem("empty_text", "the candidate's text has no words")
        if self.needs_reference and not y:
            return Problem("empty_text", "the reference's text has no words")
        try:
            value = self.measure.compare(x, y)
            if value is None or not math.isfinite(value):
                given = "none" if value is None else f"{value}, which is no number"
                return Problem("no_score", f"{self.measure.name} gives these two texts no score: {given}")
        except Exception as error:
            return self._build_failure_problem(error)
        return value


def split_bleu_words(text: str) -> Words:
    """Splits *text* into words with NLTK's tokenizer, sentence by sentence; case and punctuation are kept."""
    tokenizer = _create_nltk_tokenizer()
    return [word for piece in _list_headings_and_sentences(text) for word in tokenizer.tokenize(piece)]


def bleu(candidate: Words, reference: Words) -> float:
    """Returns NLTK's unsmoothed sentence BLEU of two texts, from 0 to 1 (Papineni et al. 2002)."""
    from nltk.translate.bleu_score import sentence_bleu

    with warnings.catch_warnings():
        # NLTK warns wherever an order of n-grams has no match.
        warnings.simplefilter("ignore", UserWarning)
        return float(cast(float, sentence_bleu([list(reference)], list(candidate))))


def split_rouge_words(text: str) -> Words:
    """Splits *text* into rouge-score's words: ASCII letters and digits, in lower case, stemmed if longer than three."""
    return _create_rouge_tokenizer().tokenize(text)


def rouge_l(candidate: Words, reference: Words) -> float:
    """Returns ROUGE-L's F = 2PR/(P + R), from 0 to 1; P and R are the common subsequence's share of each text."""
    # 2PR/(P + R) = 2L/(n + m), which needs no special case for L = 0.
    return 2 * common_subsequence_length(candidate, reference) / (len(candidate) + len(reference))


def common_subsequence_length(x: Words, y: Words) -> int:
    """Returns the number of words in the longest common subsequence, by Hyyrö's bit-vector algorithm (2004)."""
    positions: dict[str, int] = {}
    for position, word in enumerate(x):
        positions[word] = positions.get(word, 0) | 1 << position
    whole = (1 << len(x)) - 1
    row = whole
    for word in y:
        matched = row & positions.get(word, 0)
        row = ((row + matched) | (row - matched)) & whole
    return len(x) - row.bit_count()


def _list_headings_and_sentences(text: str) -> list[str]:
    pieces = []
    for section in review_text.split_into_sections(text):
        pieces.append(section.heading)
        for sentence in section.sentences:
            pieces += [sentence.mark, sentence.text]
    return pieces


@cache
def _create_nltk_tokenizer() -> Any:
    from nltk.tokenize import NLTKWordTokenizer

    return NLTKWordTokenizer()


@cache
def _create_rouge_tokenizer() -> Any:
    from rouge_score.tokenizers import DefaultTokenizer

    return DefaultTokenizer(use_stemmer=True)


_NLTK, _ROUGE = f"nltk {version('nltk')}", f"rouge-score {version('rouge-score')}"
_SPLIT = "sentences of review_text instead of Punkt's"

BLEU = Measure("bleu", True, split_bleu_words, bleu, f"{_NLTK} sentence_bleu, 4-grams, unsmoothed, cased, {_SPLIT}")
ROUGE_L = Measure("rouge_l", True, split_rouge_words, rouge_l, f"ROUGE-L F, words of {_ROUGE}, stemmed by {_NLTK}")
LENGTH = Measure("length", False, str.split, lambda candidate, _: float(len(candidate)), "words between blanks")


def load_measure(recipe: Recipe) -> Measure:
    module, _, name = (recipe.measure or "").partition(":")
    measure: Measure = getattr(import_module(module), name)
    if measure.needs_reference != recipe.needs_reference:
        raise SettingsError(
            f"metric {recipe.name}: needs_reference is {recipe.needs_reference} in its recipe and "
            f"{measure.needs_reference} in {recipe.measure}; make them equal"
        )
    return measure

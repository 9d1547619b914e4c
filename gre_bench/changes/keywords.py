"""Finds the keywords of a paper in its title and abstract (RAKE: Rose et al. 2010).

A phrase is a run of words between punctuation and function words such as "the". The degree of a word is the sum of the
lengths, in words, of all phrases that contain it. The weight of a word is its degree divided by its frequency. The
weight of a phrase is the sum of the weights of its words.
"""

from __future__ import annotations

import re
from collections import Counter

MOST = 12
"""Largest number of keywords of a paper."""

_LONGEST = 3
_BREAK = re.compile(r"[^\w\s'’-]+|\n")
_WORD = re.compile(r"[^\W\d_][\w-]+")
_SAID_OF_ANY = (
    "a about above across after all also although among an and any are as at be because been before being below "
    "between both but by can could did do does down during each either even every few first for from further had has "
    "have having here how however i if in into is it its just less many may might more most much must neither new no "
    "nor not of off on once one only or other our out over own per same second several shall should show shows since "
    "so some still such than that the their them then there these they this those three through thus to too two under "
    "until up upon us use used uses using very via was we well were what when where whether which while who whose why "
    "will with within without would yet you your paper propose proposed proposes present presents introduce based "
    "results result demonstrate demonstrates study studies work works approach approaches method methods"
)
_GRAMMAR = frozenset(_SAID_OF_ANY.split())


def keywords(title: str, abstract: str | None) -> list[str]:
    """Returns at most `MOST` keywords of one to three words each, heaviest first.

    The words of the title count twice.
    """
    phrases = _phrases(title) * 2 + _phrases(abstract or "")
    degree: Counter[str] = Counter()
    frequency: Counter[str] = Counter()
    for phrase in phrases:
        for word in phrase:
            frequency[word] += 1
            degree[word] += len(phrase)
    weights = {phrase: sum(degree[word] / frequency[word] for word in phrase) for phrase in phrases}
    return [" ".join(phrase) for phrase in sorted(weights, key=lambda phrase: (-weights[phrase], phrase))[:MOST]]


def _phrases(text: str) -> list[tuple[str, ...]]:
    results: list[tuple[str, ...]] = []
    for clause in _BREAK.split(text.lower()):
        run: list[str] = []
        for word in [*clause.split(), ""]:
            if _WORD.fullmatch(word) and word not in _GRAMMAR:
                run.append(word)
            else:
                results += [tuple(run[start : start + _LONGEST]) for start in range(0, len(run), _LONGEST)]
                run = []
    return results

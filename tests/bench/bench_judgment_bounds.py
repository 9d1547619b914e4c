"""Measures how close to GPT-4o's judgments an oracle choice among the rule's claims can come.

Run it as `python -m tests.bench.bench_judgment_bounds [first] [last]`; the default rows are 900-966. Precision and
recall are as in `bench_rule_judgments`: shares of content words per review, then their mean. For each review, a search
chooses the claims, at most one per clause, with the highest precision + weight x recall. The search is local, from
three starts, so its figures are not proven bounds. The recall of all claims together is exact, and no choice exceeds
it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

import numpy as np
from gre_bench.writing.rules.claims import claim_of
from gre_bench.writing.rules.clauses import STANCES, clauses_of

from gre_bench.writing.rules.judgments import judgments_of
from tests.bench.bench_rule_judgments import asked, judged, real_rows, words

Words = frozenset[str]
WEIGHTS = (1.0, 2.0, 3.0, 5.0)
_CUT = re.compile(r"[,;]| (?:and|that|which|in|on|for|of|with|to|by|as|from|because|when|where|such|due|since) ")


def told(text: str) -> Words:
    return words(f"The reviewer says {text}")


def lines(review: str) -> list[list[Words]]:
    """Returns the words of each line that the rule writes."""
    return [[words(line)] for line in judged(judgments_of(review))]


def claims(review: str) -> list[list[Words]]:
    """Returns the words of each clause's claim in any stance."""
    made = ({claim_of(clause, stance) for stance in STANCES} for clause in clauses_of(review))
    return [[told(claim) for claim in sorted(one) if claim] for one in made]


def cut_claims(review: str) -> list[list[Words]]:
    """Returns `claims`, and every claim cut at a comma, a preposition or the like."""
    found = []
    for clause in clauses_of(review):
        made = sorted({claim_of(clause, stance) for stance in STANCES})
        ends = ((claim, (len(claim), *(cut.start() for cut in _CUT.finditer(claim)))) for claim in made)
        parts = (told(claim[:end]) for claim, places in ends for end in places)
        found.append([part for part in parts if part])
    return found


def clause_texts(review: str) -> list[list[Words]]:
    return [[told(clause.text)] for clause in clauses_of(review)]


def best(groups: Sequence[Sequence[Words]], target: Words, weight: float) -> tuple[float, float] | None:
    """Returns (precision, recall) of the best choice found, at most one alternative per group; None if it is empty."""
    places = {
        word: place for place, word in enumerate(sorted(target.union(*(one for group in groups for one in group))))
    }
    bits = [[0, *(sum(1 << places[word] for word in one) for one in group)] for group in groups]
    goal = sum(1 << places[word] for word in target)

    def shares(union: int) -> tuple[float, float]:
        same = (union & goal).bit_count()
        return (same / union.bit_count(), same / len(target)) if union else (0.0, 0.0)

    def worth(union: int) -> float:
        precision, recall = shares(union)
        return precision + weight * recall

    found = 0
    for seed in range(3):
        chance = random.Random(seed)
        taken = [0 if seed == 0 else chance.choice(group) for group in bits]
        moved = True
        while moved:
            moved = False
            for place in chance.sample(range(len(bits)), len(bits)):
                rest = 0
                for other, union in enumerate(taken):
                    rest |= union if other != place else 0
                better = max(bits[place], key=lambda one: worth(rest | one))
                if worth(rest | better) > worth(rest | taken[place]) + 1e-12:
                    taken[place], moved = better, True
        union = 0
        for one in taken:
            union |= one
        found = max(found, union, key=worth)
    return shares(found) if found else None


def recall(texts: Sequence[Words], targets: Sequence[Words]) -> float:
    return float(np.mean([len(one & two) / len(two) for one, two in zip(texts, targets, strict=True)]))


def main() -> None:
    first, last = asked(900, 966)
    rows = [row for row in real_rows(first, last) if row["review"] and judged(row["judgments"] or "")]
    targets = [frozenset().union(*map(words, judged(row["judgments"]))) for row in rows]
    print(f"rows {first}-{last}: {len(rows)} reviews")
    whole = [told(row["review"]) for row in rows]
    print(f"the whole review: recall {recall(whole, targets):.3f}")
    kinds: dict[str, Callable[[str], list[list[Words]]]] = {
        "lines": lines,
        "claims, any stance": claims, "claims, cut anywhere": cut_claims, "whole clauses": clause_texts
    }  # fmt: skip
    for name, made in kinds.items():
        groups = [made(row["review"]) for row in rows]
        every = [frozenset().union(*(one for group in found for one in group)) for found in groups]
        print(f"{name}: recall of all {recall(every, targets):.3f}")
        for weight in WEIGHTS:
            reached = [best(group, target, weight) for group, target in zip(groups, targets, strict=True)]
            print("  precision {:.3f}, recall {:.3f}".format(*np.mean([one for one in reached if one], axis=0)))


if __name__ == "__main__":
    main()

"""Ablates one part of `rule-judgments-3` at a time, and measures the loss on the papers held out for model selection.

    python -m tests.bench.bench_writer_ablations FILES NEVER FOLDER [PART...]

FILES, NEVER and the sets are as in `tests.bench.bench_writer_forms`. FOLDER holds a `cache-ngram`. For each PART
(default: all) it prints how many reviews in the sets get other judgments. For each set it prints the AUC and its
difference from the complete rule, with the 95% interval by paper.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from gre_bench.lm.ngram.cache_ngram import CacheNgram
from gre_bench.writing.rules import claims, clauses, judgments
from gre_bench.writing.rules.judgments import judgments_of
from tests.bench.bench_choosing import gain
from tests.bench.bench_writer_forms import compare, sets

NEVER = re.compile("(?!)")


def empty(*_: object) -> str:
    return ""


def bare(clause: clauses.Clause, stance: clauses.Stance) -> str:
    """Returns the clause unchanged, truncated to the longest line, instead of a claim."""
    del stance
    return " ".join(claims._bare(clause.text).split()[: claims.LONGEST_LINE])  # pyright: ignore[reportPrivateUsage]


def checked(text: str, cut: bool = False) -> str:
    del cut
    return " ".join(text.split()[: claims.LONGEST_LINE])


PARTS: dict[str, tuple[tuple[Any, str, Any], ...]] = {
    "forms of claims": ((claims, "_by_form", empty),),
    "noun phrases": ((claims, "noun_of", empty),),
    "acts": ((claims, "act_of", empty),),
    "requests in the passive": ((claims, "request_of", empty),),
    "noun phrases, acts, passive": ((claims, "noun_of", empty), (claims, "act_of", empty), (claims, "request_of", empty)),
    "indirect questions": ((claims, "indirect", empty),),
    "lead-ins": ((claims, "LEAD", NEVER), (judgments, "LEAD", NEVER)),
    "fillers": ((claims, "FILLER", NEVER),),
    "asides": ((claims, "ASIDE", NEVER),),
    "third person": ((claims, "PERSONS", ()), (claims, "FIRST_PERSON", NEVER)),
    "broken claims": ((claims, "BROKEN", NEVER),),
    "checks of claims": ((claims, "_checked", checked),),
    "contractions": ((clauses, "CONTRACTIONS", ()),),
    "concessions": ((clauses, "CONCESSION", NEVER),),
    "cuts at clauses": ((clauses, "CONTRAST", NEVER), (clauses, "FURTHER", NEVER), (clauses, "CONCESSION", NEVER)),
    "hollow claims": ((judgments, "HOLLOW", frozenset()),),
    "cues of doubt, blame, requests": (
        (judgments, "WONDERS", NEVER), (judgments, "BLAMES", NEVER), (judgments, "REQUESTS", NEVER)),
    "lines said twice": ((judgments, "_same", lambda words, other: False),),
    "all grammar": ((judgments, "claim_of", bare),),
}  # fmt: skip
"""Part → its replacements, each as (module, name, replacement)."""


def main(files: Path, never: Path, folder: Path, parts: list[str]) -> None:
    lm, chosen = CacheNgram.load(folder), sets(files, never)
    reviews = [review for _, papers, given in chosen if not given for paper, _ in papers for review in paper.reviews]
    whole = [judgments_of(review) for review in reviews]
    before = [compare(judgments_of, lm, papers, given, ()) for _, papers, given in chosen]
    for part in parts:
        with pytest.MonkeyPatch.context() as patch:
            for module, name, instead in PARTS[part]:
                patch.setattr(module, name, instead)
            judgments_of.cache_clear()
            other = sum(judgments_of(review) != text for review, text in zip(reviews, whole, strict=True))
            line = f"{part}: {other} of {len(reviews)} reviews differ"
            for (title, papers, given), (old, ids, *_) in zip(chosen, before, strict=True):
                new, new_ids, tokens, _ = compare(judgments_of, lm, papers, given, ())
                if new_ids != ids:
                    line += f"; {title}: other pairs ({len(new_ids)} for {len(ids)})"
                    continue
                line += f"; {title}: {gain(*(each[:, :2] - each[:, 2:3] for each in (old, new)), ids, 1000)}"
                line += f", {tokens:.0f} tokens"
            print(line, flush=True)
        judgments_of.cache_clear()


if __name__ == "__main__":
    if len(sys.argv) < 4:
        raise SystemExit(f"{__doc__}\nparts: {', '.join(PARTS)}")
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:] or list(PARTS))

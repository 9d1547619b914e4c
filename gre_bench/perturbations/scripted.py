"""Scripts: fixed rules that write reviews in place of an LM. A script names a planted flaw with a stated probability.

Two copies of a paper have one planted flaw each. For each review, a script draws sentences at random from the paper's
human reviews, and may hide sentences about flaws among them. So two reviews of one paper by the same script differ as
independent reviews do. The scripts are:

- ``plain-50``: names the planted flaw in plain words with probability 50%. The number may be any from 0 to 100.
- ``oblique-50``: hints at the planted flaw in words that would fit other flaws, too.
- ``absent-50``: names a flaw that is not in the copy under review; it may be the flaw in the other copy.
- ``listing-100``: names every flaw of the catalogue once.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from gre_bench.core.errors import SettingsError
from gre_bench.core.review_text import split_into_sections
from gre_bench.perturbations.planted_flaws import PlantedText

SCRIPT = re.compile(r"(plain|oblique|absent|listing)-(100|\d{1,2})")
PREFIX = "scripted-"
SHARE = 0.6
"""The share of the human reviews' sentences that a script copies into its review."""


def is_script(candidate: str) -> bool:
    return candidate.startswith(PREFIX)


def parse_script(script: str) -> tuple[str, float]:
    """Returns (kind, probability) of *script*: ``plain-50`` → ("plain", 0.5). Raises `SettingsError` if malformed."""
    match = SCRIPT.fullmatch(script)
    if match is None:
        raise SettingsError(f"no script {script!r}; write plain, oblique, absent or listing, and a share: plain-50")
    return match[1], int(match[2]) / 100


def review_sentences(reviews: Sequence[str]) -> list[str]:
    """Returns the sentences of *reviews*, the human reviews of a paper, without list marks and headings."""
    texts = (
        sentence.text.strip()
        for review in reviews
        for section in split_into_sections(review)
        for sentence in section.sentences
    )
    return [text for text in texts if len(text.split()) > 3]


def sample_sentences(pool: Sequence[str], chance: random.Random) -> list[str]:
    kept = sorted(chance.sample(range(len(pool)), round(SHARE * len(pool))))
    return [pool[index] for index in kept]


def build_review_with_hidden_flaws(text: Sequence[str], named: Sequence[str], chance: random.Random) -> str:
    """Returns a review made of the sentences *text*: a summary, then weaknesses, with *named* inserted among these."""
    first, lines = list(text[: len(text) // 2]), list(text[len(text) // 2 :])
    for sentence in named:
        lines.insert(chance.randint(0, len(lines)), sentence)
    return "\n".join(["Summary:", *first, "", "Weaknesses:", *(f"- {line}" for line in lines)])


def write_scripted_review(
    script: str, pool: Sequence[str], planted: PlantedText | None, every: Sequence[PlantedText], chance: random.Random
) -> str:
    """Writes a review of a paper by the fixed rules of a script; returns the text of the review.

    Args:
        script: the name of the script, such as ``plain-50`` (see the module's docstring).
        pool: sentences of human reviews of the paper.
        planted: the copy under review, with its planted flaw; None if the text under review has no planted flaw.
        every: one item for each flaw of the catalogue. It fills the placeholders in the flaw's sentences.
        chance: the source of all random choices.
    """
    words, share = parse_script(script)
    text, happens = sample_sentences(pool, chance), chance.random() < share
    if words == "listing":
        listed = sorted(every, key=lambda item: item.flaw.name) if happens else []
        named = [item.fill_placeholders(item.flaw.plain)[0] for item in listed]
    elif words == "absent":
        wrong = chance.choice([item for item in every if planted is None or item.flaw.name != planted.flaw.name])
        named = [chance.choice(wrong.fill_placeholders(wrong.flaw.plain))] if happens else []
    elif planted is not None and happens:
        named = [chance.choice(planted.fill_placeholders(getattr(planted.flaw, words)))]
    else:
        named = []
    return build_review_with_hidden_flaws(text, named, chance)

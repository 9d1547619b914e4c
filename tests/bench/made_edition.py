"""Generates an edition of any size: papers, reviews and judgments of realistic lengths, made of random words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gre_bench.core.controls import CONTROLS
from gre_bench.core.judgments import OPENINGS

WRITER = "made-up"
HUMAN_REVIEWS = 3
TOKENS, SPREAD = 191.5, 0.389
"""Median and standard deviation of the logarithm of a judgment list's tokens: 5% are under 101, 5% over 363."""
CHARACTERS_PER_TOKEN = 6.2
LINES = 14
REVIEW, ABSTRACT, BODY = 2500, 1200, 40_000
"""The characters of an original review, an abstract and a paper's body."""
STATED = (
    "We propose a novel method that outperforms all of the strong baselines on the dataset. "
    "A limitation of our method is that it requires more data than the baselines do."
)
"""A passage in every section of every paper, in which a rule can find strengths and weaknesses."""
_WORDS = (
    "a", "the", "of", "in", "to", "and", "for", "with", "on", "is", "are", "not", "model", "method", "paper",
    "results", "baseline", "dataset", "proof", "theorem", "experiments", "ablation", "figure", "table", "novelty",
    "clarity", "comparison", "recent", "strong", "weak", "limited", "thorough", "theoretical", "empirical",
    "convergence", "assumptions", "sampling", "gradient", "attention", "graph", "kernel", "generalisation",
    "robustness", "evaluation",
)  # fmt: skip


def models(candidates: int) -> list[str]:
    """Returns the names of the model candidates. *candidates*: their number, plus the human and the controls."""
    return [f"model-{number:02d}" for number in range(1, candidates - len(CONTROLS))]


def write_edition(folder: Path, papers: int, candidates: int, seed: int = 0) -> tuple[Path, Path]:
    """Writes two files, of *papers* papers and of their human and model reviews, to *folder*; returns their paths."""
    random = np.random.default_rng(seed)
    made = folder / "papers.jsonl", folder / "reviews.jsonl"
    _write(made[0], (_paper(random, place) for place in range(papers)))
    _write(made[1], (row for place in range(papers) for row in _reviews(random, place, candidates)))
    return made


def _write(file: Path, rows: Iterator[dict[str, Any]]) -> None:
    with file.open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in rows)


def _paper(random: np.random.Generator, place: int) -> dict[str, Any]:
    body = "\n\n".join(f"{n} Section\n\n{STATED} {_text(random, BODY // 8)}." for n in range(1, 9))
    return {"paper_id": f"p{place:05d}", "title": _text(random, 60), "abstract": _text(random, ABSTRACT), "text": body}


def _reviews(random: np.random.Generator, place: int, candidates: int) -> Iterator[dict[str, Any]]:
    paper = f"p{place:05d}"
    for slot in range(HUMAN_REVIEWS):
        named = {"paper_id": paper, "candidate": "human", "review_id": f"{paper}-{slot}", "slot": slot}
        yield named | _content(random)
    for name in models(candidates):
        yield {"paper_id": paper, "candidate": name, **_content(random)}


def _content(random: np.random.Generator) -> dict[str, Any]:
    characters = CHARACTERS_PER_TOKEN * TOKENS * np.exp(SPREAD * random.standard_normal())
    each = max(8, int(characters / LINES) - len(OPENINGS[0]) - 2)
    openings = (OPENINGS[place % len(OPENINGS)] for place in range(LINES))
    judgments = "\n".join(f"{opening} {_text(random, each)}." for opening in openings)
    return {"review": _text(random, REVIEW), "judgments": judgments, "writer": WRITER}


def _text(random: np.random.Generator, characters: int) -> str:
    """Returns random words, truncated to *characters* characters."""
    chosen = random.integers(0, len(_WORDS), characters // 4 + 1)
    return " ".join(_WORDS[place] for place in chosen)[:characters].strip()

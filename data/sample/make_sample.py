"""Makes papers.jsonl, reviews.jsonl and candidates.jsonl, in the import format, from the sources beside this file.

    python data/sample/make_sample.py

The papers, the human reviews and the reviews of known quality are synthetic: invented for this project, about no real
paper. An LM's reviews are its replies in lm_attempts.jsonl, unchanged. ``reviewer-elsewhere`` submits the thorough
review of another paper.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
WRITER = "sample-author"
SECTIONS = ("summary", "strengths", "weaknesses", "questions")
THOROUGH, ELSEWHERE = "reviewer-thorough", "reviewer-elsewhere"


def paper(source: Path) -> dict[str, Any]:
    """Id, title, abstract and body (without references and appendix) of one source."""
    text = source.read_text(encoding="utf-8")
    title, abstract, body = re.fullmatch(r"# (.+?)\n+## Abstract\n+(.+?)\n+(## 1 .+)", text.strip(), re.S).groups()
    return {
        "paper_id": source.stem,
        "title": title.strip(),
        "abstract": abstract.strip(),
        "text": re.split(r"\n## References\b", body)[0].strip(),
    }


def as_text(review: dict[str, Any]) -> str:
    """The sections of a review, joined under their names."""
    return "\n\n".join(f"{name.capitalize()}:\n{review[name].strip()}" for name in SECTIONS)


def reviews(source: Path) -> list[dict[str, Any]]:
    """The reviews of one source, sections joined under their names."""
    return [
        {
            "paper_id": source.name.split(".")[0],
            "review_id": review["id"],
            "candidate": "human",
            "review": as_text(review),
            "judgments": "\n".join(review["judgments"]),
            "writer": WRITER,
            "rating": review["rating"],
        }
        for review in tomllib.loads(source.read_text(encoding="utf-8"))["review"]
    ]


def known_reviewers(sources: list[Path]) -> list[dict[str, Any]]:
    """The reviews of known quality. Who is elsewhere submits the thorough review of the paper half the list away."""
    written = [tomllib.loads(source.read_text(encoding="utf-8"))["review"] for source in sources]
    names = [source.name.split(".")[0] for source in sources]
    thorough = [as_text(next(item for item in own if item["candidate"] == THOROUGH)) for own in written]
    rows = []
    for place, (name, own) in enumerate(zip(names, written, strict=True)):
        texts = {item["candidate"]: as_text(item) for item in own}
        texts[ELSEWHERE] = thorough[(place + len(names) // 2) % len(names)]
        rows += [
            {"paper_id": name, "review_id": f"{name}:{candidate}", "candidate": candidate, "review": text}
            for candidate, text in texts.items()
        ]
    return rows


def lm_reviews(attempts: Path) -> list[dict[str, Any]]:
    """Returns the reply of each attempt that has one; `write_lm_reviews.py` keeps at most one reply per paper."""
    rows = [json.loads(line) for line in attempts.read_text(encoding="utf-8").splitlines()]
    return [
        {
            "paper_id": row["paper_id"],
            "review_id": f"{row['paper_id']}:{row['candidate']}",
            "candidate": row["candidate"],
            "review": row["text"],
        }
        for row in rows
        if row["text"]
    ]


def made() -> dict[str, str]:
    """File name → content, for the three files."""
    sources = HERE / "sources"
    rows = {
        "papers.jsonl": [paper(source) for source in sorted(sources.glob("*.md"))],
        "reviews.jsonl": [row for source in sorted(sources.glob("*.reviews.toml")) for row in reviews(source)],
        "candidates.jsonl": [
            *lm_reviews(HERE / "lm_attempts.jsonl"),
            *known_reviewers(sorted(sources.glob("*.candidates.toml"))),
        ],
    }
    return {name: "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in table) for name, table in rows.items()}


if __name__ == "__main__":
    for name, content in made().items():
        (HERE / name).write_text(content, encoding="utf-8")
        print(f"{name}: {content.count(chr(10))} rows")

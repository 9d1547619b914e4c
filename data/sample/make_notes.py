"""Makes notes.jsonl, OpenReview notes as API v2 gives them, from the sources beside this file.

    python data/sample/make_notes.py

The papers and reviews are synthetic: invented for this project, about no real paper. Ids, dates and signatures are
made from the names of the sources, so that the file comes out the same each time.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean
from typing import Any

HERE = Path(__file__).parent
GROUP = "SAMPLE.cc/2026/Conference"
SUBMITTED, REVIEWED, DECIDED = (
    datetime(*day, 12, tzinfo=UTC) for day in ((2025, 9, 24), (2025, 10, 31), (2026, 1, 25))
)
MINUTE = 60_000
LICENCE = "CC BY 4.0"
"""The licence that the notes state, so that anyone may publish a board of the sample with its texts."""

LEVELS = {1: "poor", 2: "fair", 3: "good", 4: "excellent"}
RATINGS = {
    1: "strong reject",
    3: "reject, not good enough",
    5: "marginally below the acceptance threshold",
    6: "marginally above the acceptance threshold",
    8: "accept, good paper",
    10: "strong accept, should be highlighted at the conference",
}
CONFIDENCES = {1: "a guess", 2: "not certain", 3: "fairly confident", 4: "confident", 5: "certain"}
ACCEPTED, SPOTLIGHT = 5.5, 7.0
"""Mean ratings from which a paper is accepted, and accepted as a spotlight."""


def notes(number: int, source: Path) -> list[dict[str, Any]]:
    """The notes of one paper: its submission, its reviews, its decision."""
    text = source.read_text(encoding="utf-8")
    title, abstract = re.match(r"# (.+?)\n+## Abstract\n+(.+?)\n+## 1 ", text.strip(), re.S).groups()
    reviews = tomllib.loads(source.with_suffix(".reviews.toml").read_text(encoding="utf-8"))["review"]
    rating = mean(review["rating"] for review in reviews)
    fate = "spotlight" if rating >= SPOTLIGHT else "poster" if rating >= ACCEPTED else None
    submission = {
        "title": title.strip(),
        "keywords": [],
        "abstract": abstract.strip(),
        "pdf": f"/pdf/{hashlib.sha1(text.encode()).hexdigest()}.pdf",
        "venue": f"SAMPLE 2026 {fate}" if fate else "Submitted to SAMPLE 2026",
        "venueid": GROUP if fate else f"{GROUP}/Rejected_Submission",
        "paperhash": "anonymous|" + re.sub(r"\W+", "_", title.strip().lower()),
    }
    decision = {"title": "Paper Decision", "decision": f"Accept ({fate})" if fate else "Reject", "comment": ""}
    authors = f"{GROUP}/Submission{number}/Authors"
    forum = source.stem
    made = [
        note(
            forum,
            forum,
            number,
            ["-/Submission", "-/Post_Submission", "-/Edit"],
            authors,
            submission,
            _ms(SUBMITTED, number),
        ),
        *(review_note(forum, number, place, review) for place, review in enumerate(reviews, start=1)),
        note(
            f"{forum}-d",
            forum,
            1,
            [f"Submission{number}/-/Decision", "-/Edit"],
            f"{GROUP}/Program_Chairs",
            decision,
            _ms(DECIDED, number),
        ),
    ]
    return made


def review_note(forum: str, number: int, place: int, review: dict[str, Any]) -> dict[str, Any]:
    """Returns one review as a note, in the form of the venue."""
    content = {field: review[field].strip() for field in ("summary", "strengths", "weaknesses", "questions")}
    content |= {
        field: f"{review[field]} {LEVELS[review[field]]}" for field in ("soundness", "presentation", "contribution")
    }
    content |= {
        "flag_for_ethics_review": ["No ethics review needed."],
        "rating": f"{review['rating']}: {RATINGS[review['rating']]}",
        "confidence": f"{review['confidence']}: {CONFIDENCES[review['confidence']]}",
        "code_of_conduct": "Yes",
    }
    signature = f"{GROUP}/Submission{number}/Reviewer_{letters(review['id'])}"
    invitations = [f"Submission{number}/-/Official_Review", "-/Edit"]
    return note(review["id"], forum, place, invitations, signature, content, _ms(REVIEWED, 100 * number + place))


def note(
    note_id: str, forum: str, number: int, invitations: list[str], signature: str, content: dict[str, Any], date: int
) -> dict[str, Any]:
    """Returns a note as API v2 gives it; dates are milliseconds since 1970."""
    return {
        "id": note_id,
        "forum": forum,
        **({"replyto": forum} if note_id != forum else {}),
        "number": number,
        "version": 2,
        "domain": GROUP,
        "invitations": [f"{GROUP}/{invitation}" for invitation in invitations],
        "cdate": date,
        "tcdate": date,
        "mdate": date + 30 * MINUTE,
        "tmdate": date + 30 * MINUTE,
        **({"odate": date + 7 * 24 * 60 * MINUTE} if note_id == forum else {}),
        "readers": ["everyone"],
        "license": LICENCE,
        "signatures": [signature],
        "writers": [GROUP, signature],
        "content": {field: {"value": value} for field, value in content.items()},
    }


def letters(name: str) -> str:
    """Returns four letters made from *name*, big and small in turn."""
    found = "".join(chr(ord("a") + byte % 26) for byte in hashlib.sha256(name.encode()).digest()[:4])
    return "".join(letter if place % 2 else letter.upper() for place, letter in enumerate(found))


def made() -> str:
    """The content of notes.jsonl."""
    rows = [
        note
        for number, source in enumerate(sorted((HERE / "sources").glob("*.md")), start=1)
        for note in notes(number, source)
    ]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _ms(day: datetime, minutes: int) -> int:
    return int(day.timestamp()) * 1000 + minutes * MINUTE


if __name__ == "__main__":
    content = made()
    (HERE / "notes.jsonl").write_text(content, encoding="utf-8")
    print(f"notes.jsonl: {content.count(chr(10))} notes")

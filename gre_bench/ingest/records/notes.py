"""Converts OpenReview notes of API v1 and v2 into papers, reviews and decisions, by the rules of a venue-year.

A note is any record of OpenReview, such as a submission, a review or a comment. The invitation that created it states
its kind.

Every note is counted under exactly one of `OUTCOMES`, and unexpected content is reported with the note's id. The text
of a review consists of the text fields that the venue's form has, each under its heading.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gre_bench.core.errors import SourceError
from gre_bench.core.known_names import format_name_list
from gre_bench.core.records import HUMAN, Paper, Review
from gre_bench.core.replies import without_thinking
from gre_bench.ingest.records.cells import ImportResult, is_name, is_utf8_text
from gre_bench.ingest.records.venues import VenueYear

OUTCOMES = (
    "papers", "reviews",
    "ai_reviews", "second_ai_review",  # reviews by the venue's own AI reviewers; second: another by the same one
    "decisions", "withdrawn", "desk_rejected",
    "other_status",  # submissions whose venueid is not known
    "deleted",  # notes with a deletion date
    "replies_left_out",  # reviews and decisions of submissions that are left out
    "no_text",
    "unknown_forum",  # reviews and decisions of missing submissions
    "second_decision",
    "other_replies",  # comments, meta-reviews, rebuttals and the like
    "duplicate",  # notes whose id occurred before
    "other_venue",  # notes whose invitation belongs to another venue-year
    "unknown_kind",
    "unreadable",  # notes without a usable id, forum, invitation, content, or decision
)  # fmt: skip
"""The possible outcomes of reading a note. Their counts add up to the count ``notes``."""

_RATING = re.compile(r"\s*(\d+)(?:\.0+)?\s*(?::.*)?", re.S)
_NUMBERED = re.compile(r"^paper\d+/", re.I)
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class NoteRecords:
    """The records in a venue-year's notes.

    *decisions*: {paper id: decision}. *reviews*: the reviews by humans and by the venue's AI reviewers.

    - *counts*: ``notes`` (all notes), a count for each of `OUTCOMES`, ``no_rating`` (kept reviews without a rating) and
      ``unclear`` (how often there was unexpected content).
    - *strange*: one line for each kind of unexpected content; *unclear*: {kind: the ids of all notes with it}.
    - *strata*: {(paper id, name of a stratum, such as track): the paper's value}.
    """

    papers: list[Paper]
    reviews: list[Review]
    decisions: dict[str, str]
    counts: dict[str, int]
    strange: list[str]
    unclear: dict[str, list[str]]
    strata: dict[tuple[str, str], str]


@dataclass(frozen=True, slots=True)
class _ParsedNote:
    note_id: str
    forum: str
    kind: str
    content: Mapping[str, Any]
    ai: str | None


def select_new_records(notes: NoteRecords, papers: Mapping[str, Paper], reviews: Mapping[str, Review]) -> ImportResult:
    """Returns the new records in *notes*; refuses a record that differs from the known record with the same id.

    *papers*, *reviews*: the known records by id. Only the title and the abstract of a paper are compared, because known
    papers may have fields that notes lack. If a note has no title, any known title is accepted; it may be from the PDF.
    """
    imported = ImportResult()
    for number, paper in enumerate(notes.papers, start=1):
        old = papers.get(paper.paper_id)
        if old is not None and (old.title, old.abstract) != (paper.title.strip() or old.title, paper.abstract):
            reason = "this paper id is already there with another title or abstract"
            imported.refuse(number, f"paper {paper.paper_id}", reason)
            continue
        imported.papers += [paper] if old is None else []
        imported.paper_ids.add(paper.paper_id)
        imported.count(changed=old is None)
    for number, review in enumerate(notes.reviews, start=1):
        known = reviews.get(review.review_id)
        if known not in (None, review):
            reason = "this review id is already there with other content"
            imported.refuse(number, f"review {review.review_id}", reason)
            continue
        imported.reviews += [review] if known is None else []
        imported.review_ids.add(review.review_id)
        imported.count(changed=known is None)
    return imported


def unwrap_value(value: Any) -> Any:
    """Returns the field value *value* without the mapping ``{"value": ...}`` in which API v2 wraps values."""
    return value["value"] if isinstance(value, Mapping) and "value" in value else value


def list_invitations(note: Mapping[str, Any]) -> list[str]:
    """Returns the invitations of a note of either API; entries that are not texts are left out."""
    named = note.get("invitations") or [note.get("invitation")]
    return [entry for entry in named if isinstance(entry, str)] if isinstance(named, list) else []


def find_creating_invitation(note: Mapping[str, Any]) -> str:
    """Returns the invitation that created a note of either API: the first that is not an edit, else the first.

    Returns an empty text if the note has no invitation.
    """
    named = list_invitations(note)
    return next(
        (invitation for invitation in named if parse_note_kind(invitation) != "Edit"), named[0] if named else ""
    )


def unwrap_fields(note: Mapping[str, Any]) -> dict[str, Any]:
    """Returns {field name: unwrapped value} for a note of either API; empty if the note has no usable content."""
    content = note.get("content")
    return {name: unwrap_value(value) for name, value in content.items()} if isinstance(content, Mapping) else {}


def find_invitation_in_venue_api(note: Mapping[str, Any], venue: VenueYear) -> str | None:
    """Returns the invitation that created *note*; None if *note* has no invitation in the form of the venue's API."""
    named = [note.get("invitation")] if venue.api == 1 else note.get("invitations")
    sound = isinstance(named, list) and all(isinstance(entry, str) for entry in named)
    return (find_creating_invitation({"invitations": named}) or None) if sound else None


def parse_note_kind(invitation: str) -> str:
    """Returns the kind of notes that *invitation* creates: the part after ``/-/``, without a prefix like ``Paper12/``.

    ``.../Submission5/Official_Review2/-/Rebuttal`` gives Rebuttal, and ``.../-/Paper7/Official_Review`` gives
    Official_Review.
    """
    return _NUMBERED.sub("", invitation.rpartition("/-/")[2])


def find_note_kind(note: Mapping[str, Any], venue: VenueYear) -> str | None:
    """Returns the kind of *note* at *venue*; None if *note* is of another venue-year or not in the form of its API."""
    invitation = find_invitation_in_venue_api(note, venue)
    return parse_note_kind(invitation) if invitation and invitation.startswith(f"{venue.group}/") else None


def parse_rating(value: object) -> int | None:
    """Returns the rating in *value* as a whole number: 6 for ``6: Weak Accept``, ``6`` or 6; None if there is none."""
    if isinstance(value, str):
        match = _RATING.fullmatch(value)
        return int(match[1]) if match else None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        return None
    return int(value)


class _NotesReader:
    """Reads the notes of one venue-year."""

    def __init__(self, venue: VenueYear):
        self.venue = venue
        self.counts: Counter[str] = Counter()
        self.problems: dict[str, list[str]] = defaultdict(list)
        self.papers: dict[str, Paper] = {}
        self.reviews: list[Review] = []
        self.decisions: dict[str, str] = {}
        self.strata: dict[tuple[str, str], str] = {}
        self.left_out: set[str] = set()
        self.by_ai: set[tuple[str, str]] = set()

    def read(self, notes: Iterable[Mapping[str, Any]]) -> NoteRecords:
        replies, seen = [], set[str]()
        about = {*self.venue.submissions, *self.venue.withdrawn, *self.venue.desk_rejected}
        for raw in notes:
            self.counts["notes"] += 1
            note = self._parse_raw_note(raw, seen)
            if isinstance(note, str):
                self.counts[note] += 1
            elif note.kind in about:
                self.counts[self._record_submission(note)] += 1
            else:
                replies.append(note)  # a listing may put replies before their submission
        if not self.papers and not self.left_out:
            firsts = (f"; {problem}: {format_name_list(ids, _SHOWN)}" for problem, ids in self.problems.items())
            first = f"; the first is of kind {replies[0].kind!r:.100}" if replies else next(firsts, "")
            raise SourceError(f"no submission of {self.venue.name} is among {self.counts['notes']} notes{first}")
        for note in replies:
            self.counts[self._record_reply(note)] += 1
        strange = [f"{problem}: {format_name_list(ids, _SHOWN)}" for problem, ids in self.problems.items()]
        self.counts["unclear"] = sum(len(ids) for ids in self.problems.values())
        counts = {name: self.counts[name] for name in ("notes", *OUTCOMES, "no_rating", "unclear")}
        papers = [*self.papers.values()]
        return NoteRecords(papers, self.reviews, self.decisions, counts, strange, dict(self.problems), self.strata)

    def _parse_raw_note(self, raw: Mapping[str, Any], seen: set[str]) -> _ParsedNote | str:
        """Returns the parsed note, or one of `OUTCOMES` if *raw* is not read further; adds the note's id to *seen*."""
        note_id, forum = (raw.get("id"), raw.get("forum")) if isinstance(raw, Mapping) else (None, None)
        if not isinstance(note_id, str) or not is_name(note_id):
            return self._record_problem("no usable id", f"note {self.counts['notes']}: {note_id!r:.60}", "unreadable")
        if note_id in seen:
            return self._record_problem("this id was there before; the first note is kept", note_id, "duplicate")
        seen.add(note_id)
        if raw.get("ddate") is not None:
            self.left_out |= {note_id} if note_id == forum else set()
            return "deleted"
        invitation = find_invitation_in_venue_api(raw, self.venue)
        if invitation is None:
            return self._record_problem(
                f"no invitation as notes of API v{self.venue.api} have it", note_id, "unreadable"
            )
        if not invitation.startswith(f"{self.venue.group}/"):
            return self._record_problem(
                f"its invitation does not begin with {self.venue.group}/", note_id, "other_venue"
            )
        if not isinstance(forum, str) or not isinstance(raw.get("content"), Mapping):
            return self._record_problem("no usable forum or content", note_id, "unreadable")
        kind, signed = parse_note_kind(invitation), raw.get("signatures")
        names = [name for name in signed if isinstance(name, str)] if isinstance(signed, list) else []
        # An AI reviewer's comments and answers are not reviews.
        own = [] if kind in (*self.venue.other_replies, *self.venue.decisions) else names
        return _ParsedNote(note_id, forum, kind, raw["content"], self.venue.find_ai_reviewer([invitation, *own]))

    def _record_submission(self, note: _ParsedNote) -> str:
        if note.note_id != note.forum:
            return self._record_problem("a submission in the forum of another", note.note_id, "unreadable")
        outcome = self._classify_submission(note)
        if outcome != "papers":
            self.left_out.add(note.note_id)
            return outcome
        title, abstract = self._read_field_text(note, "title"), self._read_field_text(note, "abstract")
        for name, text in (("title", title), ("abstract", abstract)):
            if text is None:
                self._record_problem(f"a submission without {name}", note.note_id)
        for name, stratum in self.venue.strata:
            if isinstance(self._read_field_value(note, name), str) and (value := self._read_field_text(note, name)):
                self.strata[note.note_id, stratum] = value
        self.papers[note.note_id] = Paper(note.note_id, title or "", abstract)
        return outcome

    def _classify_submission(self, note: _ParsedNote) -> str:
        apart = {"withdrawn": self.venue.withdrawn, "desk_rejected": self.venue.desk_rejected}
        for outcome, kinds in apart.items():
            if note.kind in kinds:
                return outcome
        if self.venue.status == "invitation":
            return "papers"
        venueid = self._read_field_value(note, "venueid")
        ending = venueid.removeprefix(self.venue.group) if isinstance(venueid, str) else None
        if ending is not None and ending in self.venue.kept:
            return "papers"
        for outcome, kinds in apart.items():
            if ending in [f"/{kind}" for kind in kinds]:
                return outcome
        return self._record_problem(
            f"a submission of unknown status, venueid {venueid!r:.100}", note.note_id, "other_status"
        )

    def _record_reply(self, note: _ParsedNote) -> str:
        if note.kind in self.venue.other_replies and not note.ai:
            return "other_replies"
        if not note.ai and note.kind not in (*self.venue.reviews, *self.venue.decisions):
            return self._record_problem(f"kind {note.kind!r:.100} is not known", note.note_id, "unknown_kind")
        if note.forum in self.left_out:
            return "replies_left_out"
        if note.forum not in self.papers:
            return self._record_problem(
                f"the {note.kind} of a submission that is not there", note.note_id, "unknown_forum"
            )
        return self._record_review(note) if note.ai or note.kind in self.venue.reviews else self._record_decision(note)

    def _record_review(self, note: _ParsedNote) -> str:
        if not note.ai:
            for field in sorted(set(note.content) - self.venue.fields):
                self._record_problem(f"review field {field!r:.100} is not known", note.note_id)
        fields = self.venue.ai_text if note.ai and self.venue.ai_text else self.venue.text
        parts = [(heading, self._read_field_text(note, field)) for field, heading in fields]
        if note.ai:
            thought = [(heading, *without_thinking(part or "")) for heading, part in parts]
            parts = [(heading, part) for heading, part, _ in thought]
            if thinking := sum(length for *_, length in thought):
                self._record_problem(
                    f"{thinking:,} characters of thinking, which are not part of a review", note.note_id
                )
        text = "\n\n".join(f"{heading}:\n{part}" if heading else part for heading, part in parts if part)
        if not text:
            by_ai = "by the venue's AI reviewer without any text; its entry's ai_text may name other fields"
            return self._record_problem(f"a review {by_ai if note.ai else 'without any text'}", note.note_id, "no_text")
        if not note.ai:
            self.reviews.append(Review(note.note_id, note.forum, HUMAN, text, rating=self._read_rating(note)))
            return "reviews"
        if (note.forum, note.ai) in self.by_ai:
            problem = f"the paper has a review by {note.ai} already; the first is kept"
            return self._record_problem(problem, note.note_id, "second_ai_review")
        self.by_ai.add((note.forum, note.ai))
        self.reviews.append(Review(note.note_id, note.forum, note.ai, text))
        return "ai_reviews"

    def _record_decision(self, note: _ParsedNote) -> str:
        decision = self._read_field_text(note, self.venue.decision)
        if decision is None:
            return self._record_problem(f"a decision without {self.venue.decision}", note.note_id, "unreadable")
        if note.forum in self.decisions:
            return self._record_problem(
                "the paper has a decision already; the first is kept", note.note_id, "second_decision"
            )
        self.decisions[note.forum] = self.strata[note.forum, "decision"] = decision
        return "decisions"

    def _read_rating(self, note: _ParsedNote) -> float | None:
        value = self._read_field_value(note, self.venue.rating) if self.venue.rating else None
        number = parse_rating(value)
        if value is not None and number not in self.venue.rating_scale:
            self._record_problem(f"rating {value!r:.60} is not on the scale", note.note_id)
            number = None
        self.counts["no_rating"] += number is None
        return None if number is None else float(number)

    def _read_field_text(self, note: _ParsedNote, field: str) -> str | None:
        """Returns the stripped text of *field* of *note*; None if it is absent, blank or not a valid text."""
        value = self._read_field_value(note, field)
        if value is not None and not is_utf8_text(value):
            is_no = "valid Unicode" if isinstance(value, str) else "text"
            self._record_problem(f"field {field!r} is not {is_no}", note.note_id)
            return None
        return value.strip() or None if value else None

    def _read_field_value(self, note: _ParsedNote, field: str) -> Any:
        """Returns the value of *field* of *note*; None if it is absent, empty, or not in the form of its API."""
        value = note.content.get(field)
        if self.venue.api == 2 and isinstance(value, Mapping) and "value" in value:
            value = unwrap_value(value)
        elif value is not None and (self.venue.api == 2 or isinstance(value, Mapping)):
            self._record_problem(f"field {field!r} has not the form of API v{self.venue.api}", note.note_id)
            return None
        return None if value == "" else value

    def _record_problem(self, problem: str, item: str, outcome: str = "") -> str:
        """Records that the note with the id *item* has unexpected content (*problem*); returns *outcome*."""
        self.problems[problem].append(item)
        return outcome


def read_notes(notes: Iterable[Mapping[str, Any]], venue: VenueYear) -> NoteRecords:
    """Returns the records in *notes*, in the same order; raises `SourceError` if none is a submission of *venue*."""
    return _NotesReader(venue).read(notes)


SCORES = ("soundness", "presentation", "contribution")


@dataclass(frozen=True, slots=True)
class ReviewFields:
    """The fields of one review, {name: text}. *written_ms*: when it was first written (epoch ms; None if unknown)."""

    review_id: str
    paper_id: str
    fields: Mapping[str, str]
    written_ms: int | None


def list_review_fields(notes: Iterable[Mapping[str, Any]], venue: VenueYear) -> list[ReviewFields]:
    """Returns the text fields, subscores (`SCORES`), ``rating`` and ``confidence`` of every human review in *notes*.

    A text field that the reviewer left blank is an empty text. Missing scores, and fields that the venue does not have,
    are left out.
    """
    raw = [note for note in notes if isinstance(note, Mapping)]
    human = {item.review_id: item.paper_id for item in read_notes(raw, venue).reviews if item.candidate == HUMAN}
    known = {name: name for name in SCORES if name in venue.other_fields}
    known |= {"rating": venue.rating, "confidence": venue.confidence}
    by_review: dict[str, ReviewFields] = {}
    for note in raw:
        review_id = note.get("id")
        if not isinstance(review_id, str) or review_id not in human or review_id in by_review:
            continue
        content = unwrap_fields(note) if venue.api == 2 else note["content"]
        content = {name: _format_field_value(value) for name, value in content.items()}
        texts = {name: content.get(name, "") for name, _ in venue.text}
        scores = {name: score for name, field in known.items() if field and (score := content.get(field))}
        dates = (note.get(name) for name in ("tcdate", "cdate"))
        written = (date for date in dates if isinstance(date, int) and not isinstance(date, bool) and date > 0)
        by_review[review_id] = ReviewFields(review_id, human[review_id], texts | scores, next(written, None))
    return list(by_review.values())


def _format_field_value(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}"
    return value.strip() if isinstance(value, str) else ""


ODD = 0.01
"""The largest accepted share of reviews with unexpected content, since a few odd notes do not prove another form."""


def check_review_form(venue: VenueYear, notes: NoteRecords) -> None:
    """Raises a `SourceError` that names each difference if *notes* do not have the form that *venue* assumes.

    Each of these is a difference: there is no human review; no review has a section of the form; more than half have no
    usable rating; the notes with one kind of unexpected content are more than 1% of the number of reviews.
    """
    human = [review for review in notes.reviews if review.candidate == HUMAN]
    reviews = len(human)
    wrong = [f"{problem} ({len(ids)} notes)" for problem, ids in notes.unclear.items() if len(ids) > ODD * reviews]
    for heading in venue.headings:
        if not any(f"{heading}\n" in (review.text or "") for review in human):
            wrong.append(f"no review has the section {heading.removesuffix(':')!r}")
    if venue.rating and notes.counts["no_rating"] > reviews / 2:
        wrong.append(f"{notes.counts['no_rating']} of {reviews} reviews have no usable {venue.rating}")
    if not reviews:
        wrong = [f"no note is a {' or '.join(venue.reviews)}"]
    if wrong:
        raise SourceError(
            f"the notes of {venue.name} do not have the form in data/venues.toml ({venue.note.split('.')[0]}): "
            f"{'; '.join(wrong)}. No PDF was requested and nothing was bought: correct or add its entry there"
        )

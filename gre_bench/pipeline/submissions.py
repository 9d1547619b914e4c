"""Packs one candidate's reviews as a submission to a board, and checks submissions before they are scored.

A submission is a folder with two files: `REVIEWS`, with ``paper_id`` and ``review`` in each line, and `FORM`, which
states who wrote them and how. It may come from anybody, so no other files or columns are read, and no value of the form
is used as a path. It has no judgments and no scores; the edition's organiser makes them. Each problem is one line of
the report.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ValidationError

from gre_bench.core.errors import SettingsError, SourceError, UnfinishedError
from gre_bench.core.incoming import explain_refused_file, read_bytes
from gre_bench.core.known_names import format_name_list
from gre_bench.core.records import Review
from gre_bench.core.terminal import counted
from gre_bench.ingest.pdf.audit import find_instructions
from gre_bench.ingest.pdf.text import INVISIBLE, TAGS
from gre_bench.ingest.records.cells import NO_PATH, is_name
from gre_bench.ingest.records.columns import ColumnOptions
from gre_bench.ingest.records.tables import read_new_reviews
from gre_bench.ingest.snapshot import is_redistributable
from gre_bench.pipeline.importing import file_sha256, parse_licence
from gre_bench.pipeline.own_reviews import check_candidate_name
from gre_bench.store import Store, queries

REVIEWS, FORM = "reviews.jsonl", "submission.toml"
LONGEST_ANSWER, LARGEST_FORM = 2_000, 100_000
"""The maximum number of characters of an answer in the form, and of bytes of the form."""
SHINGLE, NEARLY = 8, 0.9
"""The length of a shingle in words, and the share of shingles that makes two texts nearly equal.

A shingle is a run of consecutive words. Two texts are nearly equal if this share of the shingles of the one with fewer
also occurs in the other.
"""
SHOWN_PAPERS = 3
READING = ColumnOptions({"paper_id": ["paper_id"], "review": ["review"]})
"""How the file of a submission's reviews is read: only columns with these two names count."""
_HIDDEN = {code: chr(code - 0xE0000) for code in TAGS} | {code: None for code in INVISIBLE - {*TAGS}}
_REFUSED = re.compile(r"[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
"""Matches Unicode's tag characters, and its characters that embed, override or isolate the direction of text.

They can make a text say something other than what it shows. Other invisible characters are common in honest texts.
"""
_INSTRUCTIONS = re.compile(r"\b(?:ignore|disregard|forget)\s+(?:\w+\s+){0,3}instructions?\b", re.I)


def _check_one_line(text: str) -> str:
    if not text.strip() or not text.isprintable() or len(text) > LONGEST_ANSWER:
        raise ValueError(f"not one line of 1 to {LONGEST_ANSWER:,} printable characters")
    return text


def _check_submission_name(text: str) -> str:
    if not is_name(text):
        raise ValueError(f"letters, digits and . _ : / @ + -, at most 200{NO_PATH}")
    try:
        return check_candidate_name(text)
    except SettingsError as error:
        raise ValueError(str(error)) from None


def _check_licence(text: str) -> str:
    try:
        parse_licence(text)
    except SettingsError as error:
        raise ValueError(str(error)) from None
    if not is_redistributable(text):
        raise ValueError(f"a board passes reviews on, and {text} does not let it; choose CC BY 4.0, CC BY-SA or CC0")
    return text


def _check_date(text: str) -> str:
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text) or not date.fromisoformat(text):
        raise ValueError("not a day such as 2026-05-01")
    return text


Line = Annotated[str, AfterValidator(_check_one_line)]


class SubmissionForm(BaseModel, strict=True, extra="forbid", frozen=True):
    """The form of a submission; each answer is one line.

    - *name*: the candidate's name on the board. *model*, *model_version*, *date*: what wrote the reviews, and when,
      such as 2026-05-01.
    - *prompt*: how the reviews were written, or where the prompt can be read. *licence*: the licence of the reviews.
    - *contact*: who answers questions. *release*: the release whose papers were reviewed.
    - *reviews_sha256*: the digest of the file of reviews.
    """

    name: Annotated[str, AfterValidator(_check_submission_name)]
    model: Line
    model_version: Line
    date: Annotated[str, AfterValidator(_check_date)]
    prompt: Line
    licence: Annotated[str, AfterValidator(_check_licence)]
    contact: Line
    release: Line
    reviews_sha256: Line


@dataclass(frozen=True, slots=True)
class CheckedSubmission:
    """A submission after its check. *refused*: why it is refused; empty if it is accepted. *notes*: further remarks."""

    form: SubmissionForm | None = None
    reviews: Sequence[Review] = ()
    refused: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def build_submission_form(answers: dict[str, str | None], reviews: Sequence[Review]) -> SubmissionForm:
    """Returns the form with *answers* for *reviews*; raises one `SettingsError` that lists all missing answers."""
    missing = [f"--{name}".replace("_", "-") for name, answer in answers.items() if answer is None]
    if missing:
        raise SettingsError(f"the form lacks {', '.join(missing)}: each takes one line of text")
    try:
        return SubmissionForm.model_validate(
            answers | {"reviews_sha256": hashlib.sha256(_encode_reviews(reviews)).hexdigest()}
        )
    except ValidationError as error:
        raise SettingsError("; ".join(_format_form_errors(error))) from None


def _encode_reviews(reviews: Iterable[Review]) -> bytes:
    rows = ({"paper_id": review.paper_id, "review": review.text} for review in reviews)
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def write_submission(form: SubmissionForm, reviews: Sequence[Review], folder: Path) -> None:
    """Writes the submission to *folder*; raises `SettingsError` unless *folder* is missing or empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SettingsError(f"{folder} is there already; name a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / REVIEWS).write_bytes(_encode_reviews(reviews))
    # A JSON string of printable characters is also a TOML string.
    answers = (f"{name} = {json.dumps(answer, ensure_ascii=False)}\n" for name, answer in form)
    (folder / FORM).write_text("".join(answers), encoding="utf-8")


def find_text_faults(reviews: Sequence[Review]) -> list[str]:
    """Returns why texts of *reviews* are refused: duplicates, instructions to the reader, hidden or reordered text."""
    faults, papers = [], {}
    for review in reviews:
        papers.setdefault(_digest_words(review.text or ""), []).append(review.paper_id)
    faults += [
        f"one text for {counted(len(same), 'paper')}: {_format_first_papers(same)}"
        for same in papers.values()
        if same[1:]
    ]
    for review in reviews:
        text = review.text or ""
        seen = text.translate(_HIDDEN)
        spans = [(passage.start, passage.end) for passage in find_instructions(seen)]
        spans += [match.span() for match in _INSTRUCTIONS.finditer(seen)]
        if spans:
            quoted = ascii(" ".join(seen[spans[0][0] : spans[0][1]].split())[:80])
            faults.append(f"{review.paper_id}: an instruction to the review's reader: {quoted}")
        elif match := _REFUSED.search(text):
            faults.append(f"{review.paper_id}: a character that hides or reorders text: U+{ord(match[0]):04X}")
    return faults


def check_submission_folder(store: Store, folder: Path) -> CheckedSubmission:
    """Reads the submission in *folder* and checks it against the edition of *store*; writes nothing."""
    if not folder.is_dir():
        raise SettingsError(f"{folder} is not the folder of a submission; gre-bench submit makes one")
    entries = {path.name: explain_refused_file(path) or "" for path in sorted(folder.iterdir())}
    refused = [f"{name!a:.60} is no file of a submission" for name in entries if name not in (REVIEWS, FORM)]
    refused += [f"{name} is missing" for name in (FORM, REVIEWS) if name not in entries]
    refused += [f"{name}: {why}" for name, why in entries.items() if why and name in (REVIEWS, FORM)]
    if refused:
        return CheckedSubmission(refused=refused)
    try:
        form = SubmissionForm.model_validate(tomllib.loads(read_bytes(folder / FORM, LARGEST_FORM).decode()))
    except ValidationError as error:
        return CheckedSubmission(refused=[f"{FORM}: {fault}" for fault in _format_form_errors(error)])
    except (ValueError, RecursionError) as error:
        return CheckedSubmission(refused=[f"{FORM} cannot be read: {' '.join(ascii(str(error))[1:-1].split()):.200}"])
    if form.release.rpartition("-r")[0] != store.key:
        refused.append(f"it is for {form.release!a:.80}, and this is {store.key}")
    known = {row["candidate"] for row in store.read(queries.KNOWN_CANDIDATES)}
    if form.name.casefold() in {name.casefold() for name in known}:
        refused.append(f"{form.name} is on the board already; choose another name, such as one with a version")
    if file_sha256(folder / REVIEWS) != form.reviews_sha256:
        refused.append(f"{REVIEWS} is not the file of the form: its SHA-256 is another")
    papers = [row["paper_id"] for row in store.read(queries.PAPERS, bodies=False)]
    try:
        imported = read_new_reviews(folder / REVIEWS, {}, {}, papers, by=form.name, only=True, reading=READING)
    except SourceError as error:
        return CheckedSubmission(form, (), [*refused, str(error)])
    others = sorted({*imported.columns} - {"paper_id", "review"})
    refused += (
        [f"{REVIEWS} has more than paper_id and review: {format_name_list(map(ascii, others))}"] if others else []
    )
    refused += [refusal.format_line() for refusal in imported.refusals]
    refused += find_text_faults(imported.reviews)
    refused += _find_duplicates(imported.reviews, [Review(**row) for row in store.read(queries.REVIEWS)])
    sampled = _read_sampled_papers(store)
    reviewed = {review.paper_id for review in imported.reviews}
    lacking = [paper for paper in sampled if paper not in reviewed]
    if len(lacking) == len(sampled):
        refused.append(f"no review of a paper of the board, such as {_format_first_papers(sampled)}")
    imported.notes += [
        f"without a review: {len(lacking)} of {len(sampled)} papers ({_format_first_papers(lacking)})"
    ] * bool(lacking)
    return CheckedSubmission(form, imported.reviews, refused, imported.notes)


def _read_sampled_papers(store: Store) -> list[str]:
    """Returns the ids of the sampled papers; raises `UnfinishedError` if no sample was drawn."""
    sampled = list(dict.fromkeys(row["paper_id"] for row in store.read(queries.SAMPLE)))
    if not sampled:
        raise UnfinishedError(f"edition {store.key} has no board yet: gre-bench refresh --edition {store.key}")
    return sampled


def check_human_texts(store: Store) -> None:
    """Raises `SettingsError` if the edition lacks the human texts that a new candidate is scored against."""
    texts = {row["review_id"] for row in store.read(queries.REVIEWS) if row["text"]}
    texts |= {row["review_id"] for row in store.read(queries.JUDGMENTS) if row["text"]}
    references = [row["review_id"] for row in store.read(queries.SAMPLE) if row["role"] == "reference"]
    if lacking := sum(review not in texts for review in references):
        raise SettingsError(
            f"{store.key} lacks the texts of {lacking:,} of {counted(len(references), 'human review')}, so nothing can "
            "be scored here: its organiser scores it, on the edition that the release was made of"
        )


def _format_form_errors(error: ValidationError) -> list[str]:
    faults = []
    for fault in error.errors():
        name = ".".join(map(str, fault["loc"]))
        faults.append(f"{name!a:.60}".strip("'") + f": {fault['msg'].removeprefix('Value error, ')}")
    return faults


def _format_first_papers(papers: Sequence[str]) -> str:
    """Returns the first `SHOWN_PAPERS` of *papers*, joined by commas; "..." stands for the others."""
    return ", ".join(papers[:SHOWN_PAPERS]) + (", ..." if len(papers) > SHOWN_PAPERS else "")


def _normalise_words(text: str) -> list[str]:
    return re.findall(r"\w+", text.translate(_HIDDEN).casefold())


def _digest_words(text: str) -> str:
    """Returns the SHA-256 of the words of *text*, ignoring case, blanks and punctuation."""
    return hashlib.sha256(" ".join(_normalise_words(text)).encode()).hexdigest()


def _hash_shingles(text: str) -> set[int]:
    words = _normalise_words(text)
    return {hash(tuple(words[start : start + SHINGLE])) for start in range(len(words) - SHINGLE + 1)}


def _find_duplicates(own: Sequence[Review], others: Sequence[Review]) -> list[str]:
    """Returns a line per candidate in *others* with a text equal to one of *own*, or nearly equal on the same paper."""
    equal = {_digest_words(other.text): other for other in others if other.text}
    of_paper: dict[str, list[tuple[str, set[int]]]] = {}
    for other in others:
        of_paper.setdefault(other.paper_id, []).append((other.candidate, _hash_shingles(other.text or "")))
    faults: dict[str, list[str]] = {}
    for review in own:
        same = equal.get(_digest_words(review.text or ""))
        shingles = _hash_shingles(review.text or "")
        near = (
            name
            for name, theirs in of_paper.get(review.paper_id, ())
            if shingles and theirs and len(shingles & theirs) >= NEARLY * min(len(shingles), len(theirs))
        )
        if owner := same.candidate if same else next(near, None):
            faults.setdefault(owner, []).append(review.paper_id)
    return [f"{counted(len(papers), 'text')} equal or nearly equal to {owner}'s: {_format_first_papers(papers)}"
            for owner, papers in faults.items()]  # fmt: skip

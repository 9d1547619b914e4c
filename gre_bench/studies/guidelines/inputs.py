"""Reads the input of a guideline study: papers with their texts, human ratings, and the user's own guidelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gre_bench.core.errors import ReplyError, SourceError
from gre_bench.core.incoming import read_text
from gre_bench.core.records import HUMAN, Paper
from gre_bench.core.terminal import counted
from gre_bench.guidelines import checklist
from gre_bench.guidelines.ratings import Given, Rating, condition_of, given_ratings, shortened
from gre_bench.ingest.datasets.rated import HUMAN_FILE, REVIEW_FILES, read_human_ratings, read_rated_reviews
from gre_bench.ingest.pdf.matter import body_of
from gre_bench.ingest.records.tables import papers_from
from gre_bench.pipeline.intake import file_sha256
from gre_bench.prompts.conditions import RUBRIC, Condition, condition
from gre_bench.store import Store, no_edition
from gre_bench.store.queries import PAPERS, REVIEWS, TEXTS


@dataclass(frozen=True, slots=True)
class RatedPapers:
    """Papers to be reviewed, with human ratings.

    - *contents*: paper id → text.
    - *human*: paper id → human ratings.
    - *source*: what identifies the material, by name, such as ``papers`` → digest of the file.
    """

    contents: Mapping[str, str]
    human: Mapping[str, Sequence[float]]
    source: Mapping[str, str]


def from_files(papers: Path, ratings: Path, limit: int | None = None) -> RatedPapers:
    """Returns the papers in the file *papers* with the human ratings in the file *ratings*.

    *papers* has the format of ``gre-bench import papers``. Only papers with ratings are returned, in the order of the
    file, at most *limit*. References and appendices are cut off. Raises `SourceError` for a refused row, or if no paper
    has a rating.
    """
    human = read_human_ratings(ratings)
    imported = papers_from(papers, {})
    if imported.refusals:
        first = imported.refusals[0]
        raise SourceError(
            f"{papers.name}: {counted(len(imported.refusals), 'row')} refused, first {first.item}: {first.reason}"
        )
    chosen = [paper for paper in imported.papers if human.get(paper.paper_id)][:limit]
    if not chosen:
        raise SourceError(f"no paper of {papers.name} has a human rating in {ratings.name}")
    source = {"papers": file_sha256(papers), "ratings": file_sha256(ratings)}
    contents = {}
    for paper in chosen:
        body = body_of(paper.text or "")
        shown = replace(paper, abstract=paper.abstract or body.abstract, text=body.text)
        contents[paper.paper_id] = shown.whole if body.text else ""
    return RatedPapers(contents, {paper.paper_id: human[paper.paper_id] for paper in chosen}, source)


def from_edition(state: Path, edition: str, limit: int | None = None) -> RatedPapers:
    """Returns the papers of an edition that have human reviews with ratings, and these ratings.

    At most *limit* papers are returned. Raises `SettingsError` for a missing edition, `SourceError` for an edition
    without such papers.
    """
    store = Store(state, edition)
    if not store.exists:
        raise no_edition(state, edition)
    human: dict[str, list[float]] = {}
    for row in store.read(REVIEWS):
        if row["candidate"] == HUMAN and row["rating"] is not None:
            human.setdefault(row["paper_id"], []).append(float(row["rating"]))
    contents = {paper: text for paper, text in whole_texts(store).items() if human.get(paper)}
    contents = dict(list(contents.items())[:limit])
    if not contents:
        raise SourceError(f"edition {store.key} has no human review with a rating")
    return RatedPapers(contents, {paper: human[paper] for paper in contents}, {"edition": store.key})


def whole_texts(store: Store) -> dict[str, str]:
    """Returns the text of each paper of *store*, by its id, in the form that every LM reads; empty without a text."""
    read = {row["paper_id"]: row for row in store.read(TEXTS)}
    texts = {}
    for row in store.read(PAPERS):
        pdf = read.get(row["paper_id"], {})
        text = pdf.get("text") or row["text"]
        paper = Paper(row["paper_id"], row["title"], row["abstract"] or pdf.get("abstract"), text)
        texts[row["paper_id"]] = paper.whole if text else ""
    return texts


def from_reviews(folder: Path) -> tuple[list[Rating], dict[str, tuple[float, ...]], dict[str, str]]:
    """Reads existing reviews and their ratings from the files in *folder*, instead of having LMs write reviews.

    Returns the ratings in these reviews, paper id → human ratings, and file name → digest. Raises `SourceError` for a
    missing or faulty file.
    """
    if not folder.is_dir():
        raise SourceError(f"no folder {folder}; it holds {HUMAN_FILE} and {REVIEW_FILES[0]}")
    human = read_human_ratings(folder / HUMAN_FILE)
    rated = read_rated_reviews(folder)
    runs = {(review.model, review.run): condition_of(review.model, review.run) for review in rated}
    short = shortened(dict.fromkeys(runs.values()))
    reviews = [
        Given(review.paper_id, review.model, short[runs[review.model, review.run]], review.rating, review.text)
        for review in rated
    ]
    names = [name for name in (HUMAN_FILE, *REVIEW_FILES) if (folder / name).is_file()]
    source = {name: file_sha256(folder / name) for name in names}
    return given_ratings(reviews, [paper for paper, ratings in human.items() if ratings]), human, source


def conditions(names: Sequence[str], files: Mapping[str, Path]) -> list[Condition]:
    """Returns the conditions called *names*. A condition is a guideline that the LM is given, or none.

    If *names* is empty, these are the condition without a guideline and one condition for each of *files*. *files*:
    name → file with a guideline of the user. Raises `SourceError` for a file that cannot be read. Raises it also if the
    guideline of a rubric is not a checklist of ten good and ten bad questions.
    """
    texts = {}
    for name, path in files.items():
        try:
            texts[name] = read_text(path)
        except (OSError, UnicodeDecodeError) as error:
            raise SourceError(f"guideline {name}: {path} cannot be read: {error}") from None
    chosen_conditions = [condition(name, texts) for name in dict.fromkeys(names or ("none", *texts))]
    for chosen in chosen_conditions:
        if not chosen.rubric or chosen.name.removesuffix(RUBRIC) not in files:
            continue
        try:
            questions = checklist.read(chosen.guideline)
        except ReplyError as error:
            raise SourceError(f"condition {chosen.name}: {error}") from None
        if not questions.counts:
            counts = f"{len(questions.good)} good and {len(questions.bad)} bad"
            raise SourceError(
                f"condition {chosen.name}: a rubric needs 10 good and 10 bad questions, this has {counts}"
            )
    return chosen_conditions

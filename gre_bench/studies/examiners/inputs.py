"""Reads the input of an examiner study: texts with human scores, from a file or from an edition's graded reviews."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gre_bench.core.errors import SourceError
from gre_bench.core.records import Paper
from gre_bench.examiners.examiner import ItemKind
from gre_bench.examiners.wordings import Item
from gre_bench.ingest.datasets.rated import GradedText, read_graded_texts
from gre_bench.pipeline.intake import file_sha256
from gre_bench.store import Store, no_edition
from gre_bench.store.queries.ingest import PAPERS, REVIEWS, TEXTS, PaperRow, PaperTextRow


@dataclass(frozen=True, slots=True)
class GradedItems:
    """Texts to be graded, all of one *kind*.

    - *texts*: the texts with their human scores.
    - *source*: what identifies the material, by name, such as ``items`` → digest of the file.
    - *lacks*: text id → reason why the text cannot be graded.
    """

    kind: ItemKind
    texts: Sequence[GradedText]
    source: Mapping[str, str]
    lacks: Mapping[str, str]

    @property
    def items(self) -> list[Item]:
        """Returns the texts that can be graded, in order."""
        return [Item(text.item_id, text.source, text.text) for text in self.texts if text.item_id not in self.lacks]


def from_file(path: Path, limit: int | None = None) -> GradedItems:
    """Returns the first *limit* texts of the file *path* (`gre_bench.ingest.datasets.rated`)."""
    texts = read_graded_texts(path)[:limit]
    return GradedItems("summary", texts, {"items": file_sha256(path), "limit": str(limit)}, lacks_of(texts))


def from_edition(state: Path, edition: str, limit: int | None = None) -> GradedItems:
    """Returns the first *limit* reviews of the edition's graded papers, each with the text of its paper.

    Raises `SettingsError` for a missing edition, `SourceError` for one without graded reviews.
    """
    store = Store(state, edition)
    if not store.exists:
        raise no_edition(state, edition)
    read = {row["paper_id"]: row for row in store.read(TEXTS)}
    sources = {row["paper_id"]: _whole(row, read.get(row["paper_id"])) for row in store.read(PAPERS)}
    reviews = store.read(REVIEWS)
    graded = {row["paper_id"] for row in reviews if row["grade"] is not None}
    texts = [
        GradedText(row["review_id"], row["paper_id"], "", sources.get(row["paper_id"], ""), row["text"] or "",
                   row["grade"])
        for row in reviews
        if row["paper_id"] in graded
    ]  # fmt: skip
    if not texts:
        raise SourceError(f"edition {store.key} has no graded reviews; import some: gre-bench import graded --help")
    texts = texts[:limit]
    return GradedItems("review", texts, {"edition": store.key, "limit": str(limit)}, lacks_of(texts))


def _whole(paper: PaperRow, read: PaperTextRow | None) -> str:
    """Returns the full text of a paper in the form that every LM reads; an empty string if the paper has no text.

    *read*: the text extracted from the paper's PDF; None if there is none.
    """
    text = (read and read["text"]) or paper["text"]
    known = Paper(paper["paper_id"], paper["title"], paper["abstract"] or (read and read["abstract"]), text)
    return known.whole if text else ""


def lacks_of(texts: Sequence[GradedText]) -> dict[str, str]:
    """Returns text id → reason, for each of *texts* that cannot be compared with human scores."""
    reasons = {}
    for text in texts:
        if text.human is None:
            reasons[text.item_id] = "no_human_score"
        elif not text.source.strip():
            reasons[text.item_id] = "no_source"
        elif not text.text.strip():
            reasons[text.item_id] = "empty_text"
    return reasons

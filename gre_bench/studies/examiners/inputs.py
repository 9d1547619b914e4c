"""The input of an examiner study: texts with human scores, and the grid of examiners.

The texts come from a file or from an edition's graded reviews. The grid also says which examiner fills each row of the
published tables. Rows of different tables share one examiner if it would grade in the same way for both tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.records import digest
from gre_bench.examiners.examiner import Examiner, Item, ItemKind, examiner_of, sha256
from gre_bench.examiners.tables import layout
from gre_bench.ingest.datasets.rated import GradedText, read_graded_texts
from gre_bench.pipeline.intake import file_sha256
from gre_bench.store import Store, no_edition
from gre_bench.store.queries import REVIEWS
from gre_bench.studies.examiners.settings import StudySettings
from gre_bench.studies.guidelines.inputs import whole_texts


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
        """The texts that can be graded, in order."""
        return [Item(text.item_id, text.source, text.text) for text in self.texts if text.item_id not in self.lacks]


def from_file(path: Path, limit: int | None = None) -> GradedItems:
    """Returns the first *limit* texts of the file *path* (`gre_bench.ingest.datasets.rated`)."""
    texts = read_graded_texts(path)[:limit]
    return GradedItems("summary", texts, {"items": file_sha256(path), "limit": str(limit)}, _lacks(texts))


def from_edition(state: Path, edition: str, limit: int | None = None) -> GradedItems:
    """Returns the first *limit* reviews of the edition's graded papers, each with the text of its paper.

    The text of a paper has the form that every LM reads. Raises `SettingsError` for a missing edition, `SourceError`
    for one without graded reviews.
    """
    store = Store(state, edition)
    if not store.exists:
        raise no_edition(state, edition)
    sources = whole_texts(store)
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
    return GradedItems("review", texts, {"edition": store.key, "limit": str(limit)}, _lacks(texts))


def _lacks(texts: Sequence[GradedText]) -> dict[str, str]:
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


@dataclass(frozen=True, slots=True)
class Grid:
    """The examiners of a study, and the rows of published tables that they fill.

    *examiners*: name → examiner. *rows*: published table → row → name of the examiner that fills the row.
    """

    examiners: Mapping[str, Examiner]
    rows: Mapping[str, Mapping[str, str]]


def grid(settings: StudySettings, item: ItemKind, generated: Mapping[str, str]) -> Grid:
    """Returns the grid of *settings* for items of kind *item*.

    *generated*: examiner → instructions that an LM has written for it. Raises `SettingsError` if an examiner has faulty
    options or is made for another kind of items.
    """
    examiners: dict[str, Examiner] = {}
    for name, tree in settings.examiners.items():
        own = examiner_of({"item": item} | tree, f"examiners.{name}")
        if own.item != item:
            raise SettingsError(f"examiners.{name}: item = {own.item}, and the items are of kind {item}")
        examiners[name] = own
    for name, instructions in generated.items():
        tree = {"template": "generated", "item": item, "instructions": instructions}
        examiners[name] = examiner_of(tree, f"generated.{name}")
    known = {_key(examiner): name for name, examiner in examiners.items()}
    rows: dict[str, dict[str, str]] = {}
    for table in dict.fromkeys(settings.layouts):
        rows[table] = {}
        for row, examiner in layout(table).examiners(item).items():
            if (key := _key(examiner)) not in known:
                # A user's examiner may have the name of a different one in the tables; both are kept.
                known[key] = examiner.identity if examiner.name in examiners else examiner.name
                examiners[known[key]] = examiner
            rows[table][row] = known[key]
    return Grid(examiners, rows)


def _key(examiner: Examiner) -> str:
    """Returns a digest of everything that decides an examiner's grades; an unset option counts as its default."""
    mass = (examiner.mass or "normalised") if examiner.aggregation == "logprob" else None
    scale = examiner.form.scale
    binning = examiner.binning.model_dump() if examiner.binning else None
    # The random baseline sends nothing; only its template identifies it.
    template = examiner.template if examiner.form.answer == "nothing" else examiner.form.answer
    return digest(
        [sha256(examiner), template, list(examiner.aspects), examiner.aggregation, mass, examiner.times,
         examiner.filtering, binning, [scale.low, scale.high, list(scale.spellings), scale.only_declared],
         examiner.form.bare, examiner.form.rationale]
    )  # fmt: skip

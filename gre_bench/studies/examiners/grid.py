"""Builds the grid of a study: its examiners, and which examiner fills each row of the published tables.

Rows of different tables share one examiner if it would grade in the same way for both tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gre_bench.core.errors import SettingsError
from gre_bench.core.records import digest
from gre_bench.examiners.aggregation import Mass
from gre_bench.examiners.examiner import Examiner, ItemKind, examiner_of
from gre_bench.examiners.layouts import layout
from gre_bench.examiners.wordings import sha256
from gre_bench.studies.examiners.settings import StudySettings


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
    mass: Mass | None = (examiner.mass or "normalised") if examiner.aggregation == "logprob" else None
    scale = examiner.form.scale
    binning = examiner.binning.model_dump() if examiner.binning else None
    # The random baseline sends nothing; only its template identifies it.
    template = examiner.template if examiner.form.answer == "nothing" else examiner.form.answer
    return digest(
        [sha256(examiner), template, list(examiner.aspects), examiner.aggregation, mass, examiner.times,
         examiner.filtering, binning, [scale.low, scale.high, list(scale.spellings), scale.only_declared],
         examiner.form.bare, examiner.form.rationale]
    )  # fmt: skip

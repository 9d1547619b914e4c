"""The grid of a study: which examiners there are, and which row of which published table each of them fills.

Rows of different tables that would put the same texts to the same LM in the same way are one examiner.
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
    """The *examiners* by name, and by table and row the name of the examiner that fills it."""

    examiners: Mapping[str, Examiner]
    rows: Mapping[str, Mapping[str, str]]


def grid(settings: StudySettings, item: ItemKind, generated: Mapping[str, str]) -> Grid:
    """The grid of *settings* for items of kind *item*; *generated*: instructions that an LM has written, by name."""
    examiners: dict[str, Examiner] = {}
    for name, tree in settings.examiners.items():
        found = examiner_of({"item": item} | tree, f"examiners.{name}")
        if found.item != item:
            raise SettingsError(f"examiners.{name}: item = {found.item}, and the items are of kind {item}")
        examiners[name] = found
    for name, instructions in generated.items():
        tree = {"template": "generated", "item": item, "instructions": instructions}
        examiners[name] = examiner_of(tree, f"generated.{name}")
    known = {_key(one): name for name, one in examiners.items()}
    rows: dict[str, dict[str, str]] = {}
    for table in dict.fromkeys(settings.layouts):
        rows[table] = {}
        for row, examiner in layout(table).examiners(item).items():
            if (key := _key(examiner)) not in known:
                # A name of one's own may be that of another examiner of the tables: neither takes the other's place.
                known[key] = examiner.identity if examiner.name in examiners else examiner.name
                examiners[known[key]] = examiner
            rows[table][row] = known[key]
    return Grid(examiners, rows)


def _key(examiner: Examiner) -> str:
    """Digest of all that decides an examiner's grades: what is left open counts as what it stands for."""
    mass: Mass | None = (examiner.mass or "normalised") if examiner.aggregation == "logprob" else None
    scale = examiner.form.scale
    binning = examiner.binning.model_dump() if examiner.binning else None
    # The random baseline asks nothing; its template is what tells it.
    template = examiner.template if examiner.form.answer == "nothing" else examiner.form.answer
    return digest(
        [sha256(examiner), template, list(examiner.aspects), examiner.aggregation, mass, examiner.times,
         examiner.filtering, binning, [scale.low, scale.high, list(scale.spellings), scale.only_declared],
         examiner.form.bare, examiner.form.rationale]
    )  # fmt: skip

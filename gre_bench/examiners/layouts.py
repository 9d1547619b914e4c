"""The settings of the examiner behind each row of the tables in Kim et al. 2023 and Kotonya et al. 2023.

Rows are in printed order and have the names used in ``data/published/001_table1.csv`` and the like. Results can thus
stand beside the printed values. Table 9 of Kim et al. counts errors in rationales. It is not here, because a human
fills it in (`results.error_sheet`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gre_bench.core.errors import SettingsError
from gre_bench.examiners.examiner import Examiner, ItemKind, examiner_of
from gre_bench.examiners.templates import TEMPLATES

FINE = {"granularity": "fine"}
GUIDELINES = {"Human": {"template": "human"} | FINE, "Model": {"template": "model"} | FINE}


@dataclass(frozen=True, slots=True)
class TableLayout:
    """A printed table: its *title*, and *rows*, which maps a row's name to the settings of its examiner."""

    title: str
    rows: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def examiners(self, item: ItemKind = "summary") -> dict[str, Examiner]:
        """Returns the examiner of each row, by the row's name; *item* is the kind of text to grade."""
        return {name: examiner_of({**tree, "item": item}, name) for name, tree in self.rows.items()}


def layout(table: str) -> TableLayout:
    """Returns the layout of *table*, such as ``001_table1``; raises `SettingsError` for an unknown table."""
    if table not in LAYOUTS:
        raise SettingsError(f"no layout of a table {table}; there are: {', '.join(LAYOUTS)}")
    return LAYOUTS[table]


def _templates(*granularities: str) -> dict[str, dict[str, Any]]:
    return {
        f"{name} | {'o' if each == 'fine' else 'x'} | x | Direct": {"template": name.lower(), "granularity": each}
        for each in granularities
        for name in ("Base", "Human", "Model")
    }


def _aggregations() -> dict[str, dict[str, Any]]:
    return {
        f"{name} | o | x | {each}": tree | {"aggregation": each.lower()}
        for name, tree in GUIDELINES.items()
        for each in ("Approximation", "Logprob", "Direct")
    }


def _demonstrations(name: str, template: str, *kinds: str) -> dict[str, dict[str, Any]]:
    return {
        f"{name} | o | {kind} | Direct": {"template": template, "demonstration": kind.lower().replace("-", "_")} | FINE
        for kind in kinds
    }


def _variants(choice: str, *values: str) -> dict[str, dict[str, Any]]:
    return {
        f"{name} | {value}": tree | {choice: value.lower().replace("-", "_")}
        for name, tree in GUIDELINES.items()
        for value in values
    }


def _under(group: str, rows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {f"{group} | {name}": tree for name, tree in rows.items()}


_TEST = {"template": "human_test"} | FINE
_STANDARD = ("P1", "P2", "P3", "P4", "P7", "P8")

LAYOUTS = {
    "001_table1": TableLayout(
        "Main result",
        {
            **_under("Prompting", _templates("coarse", "fine")),
            **_under(
                "Demonstration",
                _demonstrations("Human", "human", "Base-worst", "Base-best", "Reason-worst", "Reason-best"),
            ),
            **_under("Aggregation", _aggregations()),
            "Explainability | Rationale | o | x | Direct": {"template": "rationale"} | FINE,
            **_under("Explainability", _demonstrations("Rationale", "rationale", "Reason-worst", "Reason-best")),
        },
    ),
    "001_table2": TableLayout(
        "Test set",
        {
            "Human": _TEST,
            "Filtering": _TEST | {"filtering": True},
            "Binning": _TEST | {"filtering": True, "binning": {}},
        },
    ),
    "001_table4": TableLayout("Templates and models", _templates("coarse", "fine")),
    "001_table5": TableLayout("Aggregation and models", _aggregations()),
    "001_table6": TableLayout("Task description", _variants("description", "Base", "Expert", "Short", "Long")),
    "001_table7": TableLayout(
        "Evaluation criteria", _variants("criteria", "AD", "AD-GPT", "HT", "HT-GPT", "MT", "MT-GPT")
    ),
    "001_table8": TableLayout("Evaluation steps", _variants("steps", "Base", "Complex")),
    "003_table8": TableLayout(
        "Prompts and approaches",
        {
            **{
                f"{name.upper()} | {' '.join(TEMPLATES[name].labels)}": {"template": name}
                for name in ("p1", "p2", "p12", "p14", "p10", "p6", "p9", "p11", "p13", "p5", "p4", "p7", "p3", "p8")
            },
            "Baseline | Direct Assessment": {"template": "direct_assessment"},
            "Baseline | Random": {"template": "random"},
        },
    ),
    "003_text": TableLayout("Test set", {name: {"template": name.lower()} for name in ("P6", "P1", "P2")}),
    "003_table9": TableLayout("Score ranges", {name: {"template": name.lower()} for name in _STANDARD}),
}
"""Every table that a run can fill, by the name of its file of published values."""

"""Domains (kinds of reviewed items) from ``data/domains.toml``, each with its prompts, synopsis and perturbations.

A new domain needs an entry in that file and its prompt files, but no code (Xu et al. 2025, §4.1 and A.4).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator, model_validator

from gre_bench.core import strict
from gre_bench.core.errors import PromptError, SettingsError
from gre_bench.core.judgments import is_judgment
from gre_bench.core.resources import locate_resource
from gre_bench.perturbations.by_name import PERTURBATIONS
from gre_bench.prompts import library

Part = Literal["title", "abstract", "categories"]
Names = tuple[str, ...]

PEER_REVIEW = "peer-review"
"""The domain of an edition whose settings name no domain."""

IMPORTED_SYNOPSIS = "given"
"""The name that replaces the writer of a synopsis if the synopsis was imported with its item."""


class Domain(strict.NamedEntry, frozen=True):
    """One kind of reviewed item, such as papers or restaurants.

    - *item*: the word for one item, such as ``paper``.
    - *source*: where the domain is described.
    - *synopsis*: the kind of synopsis that GEM-S uses, ``abstract`` or ``categories``.
    - *synopsis_of*: the parts of an item that are joined to the text of its synopsis, in this order.
    - *predict*: the name of the evaluation LM's prompt.
    - *judgments*: the name of the prompt for a writer of judgments.
    - *abstract*: the name of the prompt with which an LM writes an abstract; None if every item has an abstract.
    - *headings*: the headings of a review's sections, as the review form prints them.
    - *grades*: the names of the human grades, worst first; empty if grades are numbers.
    - *perturbations*: the perturbations that apply to reviews of this domain.
    - *left_out*: a perturbation that does not apply → why.
    - *generic*: the judgments of the control ``generic``, one per line.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    item: str = Field(min_length=1)
    synopsis: Literal["abstract", "categories"]
    synopsis_of: tuple[Part, ...] = Field(min_length=1)
    predict: str
    judgments: str
    abstract: str | None = None
    headings: Names = ()
    grades: Names = ()
    perturbations: Names = ()
    left_out: Mapping[str, str] = {}
    generic: str
    source: str = Field(min_length=1)

    def explain_excluded_perturbation(self, change: str) -> str | None:
        """Returns why the perturbation *change* does not apply, or None if it applies.

        Raises `SettingsError` for an unknown perturbation.
        """
        if change not in PERTURBATIONS:
            raise SettingsError(f"no change {change!r}; the changes are: {', '.join(PERTURBATIONS)}")
        return self.left_out.get(change)

    @field_validator("generic")
    @classmethod
    def _check_judgments(cls, text: str) -> str:
        text = text.strip()
        stray = [line for line in text.split("\n") if not is_judgment(line)]
        if stray or not text:
            raise ValueError(f"not a judgment: {(stray or [''])[0]!r}; a line opens as 'The reviewer suggests' does")
        return text

    @field_validator("grades")
    @classmethod
    def _check_grades(cls, grades: Names) -> Names:
        if len(set(grades)) != len(grades) or len(grades) == 1:
            raise ValueError("grades are at least two different names, the worst first")
        return grades

    @model_validator(mode="after")
    def _check_fields_agree(self) -> Domain:
        if unknown := sorted(name for name in (*self.perturbations, *self.left_out) if name not in PERTURBATIONS):
            raise ValueError(f"no change {unknown[0]!r}; the changes are: {', '.join(PERTURBATIONS)}")
        for change in PERTURBATIONS.own:
            if [*self.perturbations, *self.left_out].count(change) != 1:
                raise ValueError(f"change {change} has to stand once, in changes or with its reason in left_out")
            if (
                change in self.perturbations
                and "abstract" in PERTURBATIONS[change].needs
                and self.synopsis != "abstract"
            ):
                raise ValueError(f"change {change} needs an abstract, and the synopsis is {self.synopsis}")
        if self.synopsis not in self.synopsis_of:
            raise ValueError(f"synopsis_of lacks {self.synopsis}")
        for name, fields in ((self.predict, {"synopsis", "x"}), (self.judgments, {"review"}), (self.abstract, None)):
            if name is None:
                continue
            try:
                placeholders = set(library.load(name).fields)
            except PromptError as error:
                raise ValueError(str(error)) from None
            # The prompt for abstracts has one field, of any name.
            if placeholders != fields if fields else len(placeholders) != 1:
                wanted = ", ".join(sorted(fields)) if fields else "one field"
                raise ValueError(f"prompt {name} takes {', '.join(sorted(placeholders))}, and has to take {wanted}")
        return self


@cache
def load_domains(path: Path | None = None) -> dict[str, Domain]:
    """Returns the domains of *path* (None: ``data/domains.toml``); raises `SettingsError` for an invalid entry."""
    return strict.read_toml_entries(
        path or locate_resource("data", "domains.toml"), "domains file", "domain", Domain, named=True
    )


def load_domain(name: str, path: Path | None = None) -> Domain:
    """Returns the domain *name* of the file *path*; raises `SettingsError`, with all names, if there is none."""
    known = load_domains(path)
    if name not in known:
        raise SettingsError(f"no domain {name!r}; the domains are: {', '.join(known)}; add it to data/domains.toml")
    return known[name]

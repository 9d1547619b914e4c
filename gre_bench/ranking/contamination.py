"""Determines contamination: whether a model may have been trained on an edition's reviews. Also finds related models.

Each candidate that is a model, the evaluation LM and the writers have a *status* for an edition:

- *clean*: the knowledge cutoff precedes the day on which the edition's reviews were first shown;
- *contaminated*: the knowledge cutoff does not precede that day;
- *unknown*: the cutoff or that day is unknown;
- *none*: the writer is a rule without trained weights, not an LM.

A model trained by this program, such as an adapter or the weights of a rule, has a register of its training data. The
model is contaminated if it was trained on any of the edition's papers; without a register, its status is unknown. If it
was trained on none of them, it has the status of its pretrained base; without a base, it is clean.

The status of the evaluation LM matters, too. If this LM was trained on a reference, it gives that reference a higher
probability even without a review.

A candidate has a *conflict* if it shares a family or a maker with the evaluation LM or with a writer. An LM may assign
a higher probability to phrasing that is typical of its own family.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal

from gre_bench.catalogs.models import Model, map_aliases_to_names
from gre_bench.core.training_registers import Register
from gre_bench.prompts.conditions import split_condition

Role = Literal["candidate", "evaluation_lm", "writer", "synopsis_writer"]
Status = Literal["clean", "contaminated", "unknown", "none"]

BASE_RELEASED = {"smollm2-135m": date(2024, 11, 2)}
"""The release days of pretrained bases whose knowledge cutoff is not stated.

A base cannot have been trained on texts that were first shown after its release.
"""

_PLAIN = ("rule", "none", "extractive", "the paper's own", "the item's own", "unchanged")
"""The beginnings of names that do not refer to an LM."""

ROLE_NAMES: dict[Role, str] = {
    "candidate": "candidate",
    "evaluation_lm": "evaluation LM",
    "writer": "writer of the judgments",
    "synopsis_writer": "writer of the synopses",
}


@dataclass(frozen=True, slots=True)
class Contamination:
    """Whether one model may have been trained on the reviews of an edition; a row of the table ``exposures``.

    - *status*: as the module's docstring defines it.
    - *cutoff*: the model's knowledge cutoff. *released*: the day on which the edition's reviews were first shown.
    - *learnt*: how many of the edition's papers the model was trained on; None if it has no register.
    - *papers*: how many of the edition's papers were compared with the register; None if it has none.
    - *register*: the digest of the register; None if there is none.
    """

    role: Role
    name: str
    status: Status
    family: str | None
    cutoff: date | None
    released: date | None
    learnt: int | None = None
    papers: int | None = None
    register: str | None = None


def find_contamination(
    role: Role,
    name: str,
    models: Mapping[str, Model],
    released: date | None,
    own: tuple[Register, int, int] | None = None,
    base: str | None = None,
) -> Contamination:
    """Returns whether the model *name* may have been trained on reviews that were first shown on the day *released*.

    - *own*: for a model that this program trained, a triple: its register, how many of the edition's papers it was
      trained on, and how many were compared with the register.
    - *base*: the name of the model's pretrained base.
    """
    if own is None and role != "candidate" and name.startswith(_PLAIN):
        return Contamination(role, name, "none", None, None, released)
    model = find_model_entry(base or name, models)
    cutoff = model.knowledge_cutoff if model else None
    status: Status = "unknown"
    if cutoff and released:
        status = "clean" if cutoff < released else "contaminated"
    elif released and base in BASE_RELEASED and BASE_RELEASED[base] < released:
        status, cutoff = "clean", BASE_RELEASED[base]
    family = model.family if model else None
    if own is None:
        return Contamination(role, name, status, family, cutoff, released)
    register, learnt, papers = own
    if register.entries is None:
        return Contamination(role, name, "unknown", family, cutoff, released)
    status = "contaminated" if learnt else status if base else "clean"
    return Contamination(role, name, status, family, cutoff, released, learnt, papers, register.digest)


def find_model_entry(name: str, models: Mapping[str, Model]) -> Model | None:
    """Returns the entry in *models* of the model that a candidate, a writer or an evaluation LM called *name* uses.

    Returns None if no model fits, or if several models fit that differ in family or knowledge cutoff. *name* may have
    these forms:

    - for a candidate: ``name``, ``name@condition`` or ``name+protocol``;
    - for a writer: ``name@revision · prompt ...``;
    - for an evaluation LM: the name of its folder, the model's own name, or ``maker/name``.
    """
    bare = name.split(" · ")[0].partition("+")[0]
    known = map_aliases_to_names(models)
    for spelling in (bare, split_condition(bare)[0], bare.rpartition("@")[0]):
        if spelling.lower() in known:
            return models[known[spelling.lower()]]
    maker, _, last = (bare.rpartition("@")[0] or bare).lower().rpartition("/")
    same = []
    for model in models.values():
        spelt = [other.lower().rpartition("/") for other in (model.name, model.model)]
        if any(name[2] == last for name in spelt) and (not maker or any(name[0] == maker for name in spelt)):
            same.append(model)
    return same[0] if same and len({(model.family, model.knowledge_cutoff) for model in same}) == 1 else None


def describe_conflict(candidate: str, others: Mapping[Role, str], models: Mapping[str, Model]) -> str | None:
    """Returns in words which of *others* share a family or a maker with *candidate*; None if none is known to do so.

    *others*: role → name of the evaluation LM or of a writer.
    """
    own = find_model_entry(candidate, models)
    if own is None:
        return None
    kin = [
        f"{ROLE_NAMES[role]} {other.name}"
        for role, name in others.items()
        if (other := find_model_entry(name, models)) and _are_related_models(own, other)
    ]
    return f"of the family of the {' and the '.join(kin)}" if kin else None


def _are_related_models(first: Model, second: Model) -> bool:
    """Whether two models have the same maker or family; "Llama 3" and "Llama 3.1" count as one family."""
    families = [(model.family or "").split(" ")[0].lower() for model in (first, second)]
    makers = [model.model.partition("/")[0].lower() if "/" in model.model else "" for model in (first, second)]
    return any(pair[0] and pair[0] == pair[1] for pair in (families, makers))

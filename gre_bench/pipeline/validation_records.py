"""Certificates: what the validation of a metric, with one evaluation LM and one writer, came to.

One JSON file a signature and edition, in ``validations`` of the state folder (those made here) and of ``data`` (those
that ship); every edition scored under that signature shows what they come to. What has none, or not passed, is
unvalidated. Where an edition's own validation decided nothing, a failure on another one stands before a pass; what is
left open, for too few papers, undoes neither.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from gre_bench.core.errors import StoreError
from gre_bench.core.records import Signature, digest
from gre_bench.core.resources import resource
from gre_bench.core.settings import ValidationSettings
from gre_bench.stats.verdicts import Verdict, overall
from gre_bench.store import Row, Store, now

SHIPPED = resource("data", "validations")


@dataclass(frozen=True, slots=True)
class ValidationRecord:
    """The verdict over all changes of *edition*, with each change's own; *detail* is one line for readers.

    *made_by*: who made each change, a rule or a writer. *papers*: fewest that any effect rests on. *rules*: the margins
    and the bootstrap by which it was judged.
    """

    signature_id: str
    verdict: Verdict
    edition: str
    detail: str
    validated_at: str
    signature: dict[str, str | bool]
    changes: dict[str, Verdict]
    made_by: dict[str, str] = field(default_factory=dict)
    papers: int | None = None
    rules: dict[str, Any] = field(default_factory=dict)


def grant(
    state: Path,
    edition: str,
    signature: Signature,
    effects: Sequence[Mapping[str, Any]],
    untried: Sequence[str],
    settings: ValidationSettings,
) -> ValidationRecord:
    """Writes the validation record of *signature* into *state*, in the place of an earlier one of the same edition."""
    changes: dict[str, Verdict] = dict.fromkeys(untried, "undecided")
    changes = {row["change"]: row["verdict"] for row in effects} | changes
    wanting = [f"{name} ({found})" for name, found in changes.items() if found != "pass"]
    papers = min((row["papers"] for row in effects if row["d"] is not None), default=0)
    rules = settings.model_dump(mode="json", include=set(_RULES))
    detail = f"passes {len(changes) - len(wanting)} of {len(changes)} changes on {papers} papers"
    usual = ValidationSettings()
    unusual = [f"{name} {rules[name]}" for name in ("margin", "smallest") if rules[name] != getattr(usual, name)]
    detail += f" by {', '.join(unusual)}" if unusual else ""
    detail += f"; not {', '.join(wanting)}" if wanting else ""
    made = ValidationRecord(
        signature.signature_id,
        overall(changes.values()),
        edition,
        detail,
        now().isoformat(timespec="seconds"),
        asdict(signature),
        changes,
        {row["change"]: row["made_by"] for row in effects},
        papers,
        rules,
    )
    folder = state / "validations" / edition
    folder.mkdir(parents=True, exist_ok=True)
    beside = folder / f".{made.signature_id}.json"
    kept = asdict(made)
    beside.write_text(json.dumps(kept | {"sha256": digest(kept)}, indent=1) + "\n", encoding="utf-8")
    beside.replace(folder / f"{made.signature_id}.json")
    return made


def certify(store: Store, state: Path, signature_ids: Sequence[str]) -> None:
    """Stores what is known of the validation of each signature; what has no validation record any more is forgotten."""
    found = [made for name in signature_ids if (made := validation_record(state, name, store.key))]
    rows = [asdict(made) | {"validated_at": datetime.fromisoformat(made.validated_at)} for made in found]
    store.write(
        ("clear_validations", {"signature_ids": list(signature_ids)}),
        ("put_validations", [{name: row[name] for name in _COLUMNS} for row in rows]),
    )


def validation_record(state: Path, signature_id: str, edition: str | None = None) -> ValidationRecord | None:
    """The record that counts for a signature in *edition*: its own if that decides, else the newest that fails.

    Else the newest that passes, else the newest. Of one edition the one made in *state* counts, not the one that ships.
    `StoreError` for a file that is damaged.
    """
    found: dict[str, ValidationRecord] = {}
    for folder in (SHIPPED, state / "validations"):
        for file in (*folder.glob(f"{signature_id}.json"), *folder.glob(f"*/{signature_id}.json")):
            made = _read(file)
            found[made.edition] = made

    def weight(made: ValidationRecord) -> tuple[int, float]:
        own = made.edition == edition and made.verdict != "undecided"
        order = -1 if own else ("fail", "pass", "undecided").index(made.verdict)
        return order, -datetime.fromisoformat(made.validated_at).timestamp()

    return min(found.values(), key=weight, default=None)


def known_for(state: Path, metric: str, evaluation_lm: str, writer: str | None) -> bool:
    """Whether *metric* was validated with this evaluation LM and a writer of this name, judging by names alone."""
    made = (_read(file) for folder in (SHIPPED, state / "validations") for file in folder.glob("**/[!.]*.json"))
    return any(
        one.signature["metric"] == metric
        and one.signature["evaluation_lm"] == evaluation_lm
        and (writer is None or str(one.signature["writer"]).startswith(writer))
        for one in made
    )


def unproven(state: Path, edition: str, signatures: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Of the *signatures* of an edition's board those whose metric has not held up.

    Each with its metric, signature_id, verdict and detail. The verdict is ``fail``, or ``missing`` where no record is
    known; what is undecided was tried on too few papers and is none of these.
    """
    found: list[Row] = []
    for row in signatures:
        made = validation_record(state, row["signature_id"], edition)
        told = {"metric": row["metric"], "signature_id": row["signature_id"]}
        if made is None:
            found.append(told | {"verdict": "missing", "detail": "never validated"})
        elif made.verdict == "fail":
            found.append(told | {"verdict": "fail", "detail": f"{made.detail}, on {made.edition}"})
    return found


def _read(file: Path) -> ValidationRecord:
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        if kept.pop("sha256", digest(kept)) != digest(kept):
            raise ValueError(f"{file} is not as it was written")
        made = ValidationRecord(**kept)
        datetime.fromisoformat(made.validated_at)
        if made.verdict not in ("pass", "fail", "undecided") or made.signature_id != file.stem:
            raise ValueError(f"{file} is none")
        return made
    except (OSError, ValueError, TypeError, AttributeError):
        raise StoreError(f"{file} is damaged; remove it, or validate again: gre-bench study validate") from None


_RULES = ("level", "splitter", "seed", "resamples", "margin", "smallest")
_COLUMNS = ("signature_id", "verdict", "edition", "detail", "validated_at")

"""Validation records: the result of validating a metric with one evaluation LM and one writer.

There is one JSON file per signature and edition. Validations write it to the folder ``validations`` of the state.
Further records are shipped in the folder ``data``. An edition that is scored under a record's signature shows the
record's verdict. A metric without a record that passes is unvalidated. If an edition's own validation is undecided,
records of other editions decide: the verdict is a failure if one of them fails, else a pass if one of them passes.
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
    """The verdict on a metric under one signature, and the verdict on each change of reviews that led to it.

    - *signature_id*, *signature*: the id and the parts of the signature.
    - *verdict*: the verdict over all changes.
    - *edition*: the edition whose reviews were changed.
    - *detail*: one line for readers.
    - *validated_at*: the time of the verdict, in ISO format.
    - *changes*: change → verdict.
    - *made_by*: change → who made it: ``rule`` or the name of a writer.
    - *papers*: the smallest number of papers behind an effect.
    - *rules*: the margins and the bootstrap settings behind the verdict.
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


def write_validation_record(
    state: Path,
    edition: str,
    signature: Signature,
    effects: Sequence[Mapping[str, Any]],
    untried: Sequence[str],
    settings: ValidationSettings,
) -> ValidationRecord:
    """Writes the validation record of *signature* into the folder *state*, and returns it.

    - *edition*: the validated edition; its earlier record is replaced.
    - *effects*: one row per change that was made (`EffectRow`).
    - *untried*: the changes that were not made; each counts as undecided.
    """
    changes: dict[str, Verdict] = dict.fromkeys(untried, "undecided")
    changes = {row["change"]: row["verdict"] for row in effects} | changes
    wanting = [f"{name} ({verdict})" for name, verdict in changes.items() if verdict != "pass"]
    papers = min((row["papers"] for row in effects if row["d"] is not None), default=0)
    rules = settings.model_dump(mode="json", include=set(_RULES))
    detail = f"passes {len(changes) - len(wanting)} of {len(changes)} changes on {papers} papers"
    usual = ValidationSettings()
    unusual = [f"{name} {rules[name]}" for name in ("margin", "smallest") if rules[name] != getattr(usual, name)]
    detail += f" by {', '.join(unusual)}" if unusual else ""
    detail += f"; not {', '.join(wanting)}" if wanting else ""
    record = ValidationRecord(
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
    beside = folder / f".{record.signature_id}.json"
    content = asdict(record)
    beside.write_text(json.dumps(content | {"sha256": digest(content)}, indent=1) + "\n", encoding="utf-8")
    beside.replace(folder / f"{record.signature_id}.json")
    return record


def store_validation_records(store: Store, state: Path, signature_ids: Sequence[str]) -> None:
    """Copies the validation record of each signature into *store*, where it replaces the copy of an earlier run.

    The records lie in the folder *state* or among the shipped files (see `validation_record`).
    """
    records = [record for name in signature_ids if (record := validation_record(state, name, store.key))]
    rows = [asdict(record) | {"validated_at": datetime.fromisoformat(record.validated_at)} for record in records]
    store.write(
        ("clear_validations", {"signature_ids": list(signature_ids)}),
        ("put_validations", [{name: row[name] for name in _COLUMNS} for row in rows]),
    )


def validation_record(state: Path, signature_id: str, edition: str | None = None) -> ValidationRecord | None:
    """Returns the validation record that decides about a signature in *edition*; None if there is none.

    The edition's own record decides if its verdict is pass or fail. Otherwise the newest record that fails decides,
    else the newest record that passes, else the newest undecided record. If both *state* and the shipped files have a
    record of one edition, the record in *state* counts. Raises `StoreError` for a damaged file.
    """
    by_edition: dict[str, ValidationRecord] = {}
    for folder in (SHIPPED, state / "validations"):
        for file in (*folder.glob(f"{signature_id}.json"), *folder.glob(f"*/{signature_id}.json")):
            record = _read(file)
            by_edition[record.edition] = record

    def weight(record: ValidationRecord) -> tuple[int, float]:
        own = record.edition == edition and record.verdict != "undecided"
        order = -1 if own else ("fail", "pass", "undecided").index(record.verdict)
        return order, -datetime.fromisoformat(record.validated_at).timestamp()

    return min(by_edition.values(), key=weight, default=None)


def known_for(state: Path, metric: str, evaluation_lm: str, writer: str | None) -> bool:
    """Returns whether there is a validation record of *metric* with this evaluation LM and this writer.

    Only names are compared, not whole signatures. *writer*: None means any writer.
    """
    records = (_read(file) for folder in (SHIPPED, state / "validations") for file in folder.glob("**/[!.]*.json"))
    return any(
        record.signature["metric"] == metric
        and record.signature["evaluation_lm"] == evaluation_lm
        and (writer is None or str(record.signature["writer"]).startswith(writer))
        for record in records
    )


def unproven(state: Path, edition: str, signatures: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Returns the rows of *signatures* whose metric failed validation or was never validated.

    *signatures*: the rows of an edition's board. A returned row has metric, signature_id, verdict and detail. The
    verdict is ``fail``, or ``missing`` if there is no record. Signatures with an undecided record are left out.
    """
    rows: list[Row] = []
    for row in signatures:
        record = validation_record(state, row["signature_id"], edition)
        named = {"metric": row["metric"], "signature_id": row["signature_id"]}
        if record is None:
            rows.append(named | {"verdict": "missing", "detail": "never validated"})
        elif record.verdict == "fail":
            rows.append(named | {"verdict": "fail", "detail": f"{record.detail}, on {record.edition}"})
    return rows


def _read(file: Path) -> ValidationRecord:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if content.pop("sha256", digest(content)) != digest(content):
            raise ValueError(f"{file} is not as it was written")
        record = ValidationRecord(**content)
        datetime.fromisoformat(record.validated_at)
        if record.verdict not in ("pass", "fail", "undecided") or record.signature_id != file.stem:
            raise ValueError(f"{file} is none")
        return record
    except (OSError, ValueError, TypeError, AttributeError):
        raise StoreError(f"{file} is damaged; remove it, or validate again: gre-bench study validate") from None


_RULES = ("level", "splitter", "seed", "resamples", "margin", "smallest")
_COLUMNS = ("signature_id", "verdict", "edition", "detail", "validated_at")

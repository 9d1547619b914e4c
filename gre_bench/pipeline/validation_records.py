"""Validation records: the result of validating a metric with one evaluation LM and one writer.

There is one JSON file per signature and edition, in the folder ``validations`` of the state folder. Records that ship
with the program are in ``data``. A board shows the verdict in its signature's record. A record also counts for
signatures that differ only in how scores are rounded (`Signature.validation_signature`). Without a passing record, a
metric is unvalidated. If an edition's own validation is undecided, records of other editions decide: the verdict is a
failure if one of them fails, else a pass if one of them passes.

The command ``gre-bench year`` publishes the boards of metrics whose verdict is pass or undecided. Undecided means that
the metric failed on no perturbation, but some perturbations had too few papers or could not be made. An undecided board
is marked as unvalidated. A metric without a record is validated first. The setting ``release.unvalidated`` decides
about a metric that failed, or that still has no record.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SourceError, StoreError
from gre_bench.core.incoming import read_bytes
from gre_bench.core.metrics import find_recipe
from gre_bench.core.records import Signature, build_signature_from_row, digest
from gre_bench.core.resources import locate_resource
from gre_bench.core.settings import Settings, ValidationSettings
from gre_bench.core.strict import load_json
from gre_bench.core.terminal import counted
from gre_bench.core.whole_files import write_file
from gre_bench.metrics.scoring import signature_writer_name
from gre_bench.pipeline.certificates import FOLDER as CERTIFICATES
from gre_bench.pipeline.certificates import find_certificate
from gre_bench.pipeline.training_overlap import TrainingOverlap
from gre_bench.stats.effects import MARGIN, SMALLEST, Verdict, combine_verdicts
from gre_bench.store import Store, now
from gre_bench.store.queries import CERTIFIED
from gre_bench.writing.rules.writer import RuleTextWriter
from gre_bench.writing.writers import is_rule

SHIPPED = locate_resource("data", "validations")
EFFECT = ("d", "low", "high", "p", "p_holm", "length_d", "length_low", "length_high", "pairs", "papers")
"""Numbers that a record keeps for the effect of a perturbation.

Cohen's d with its 95% interval; the p-value by paper, raw and after Holm's correction; d at fixed length with its
interval; and the numbers of pairs and papers.
"""


@dataclass(frozen=True, slots=True)
class ValidationRecord:
    """The verdict on a metric under one signature, with the verdicts for single perturbations that led to it.

    - *edition*: the edition whose reviews were perturbed. *detail*: one line for readers.
    - *validated_at*: the time of the verdict, in ISO format.
    - *changes*: perturbation → whether the metric passes, fails or is undecided on it. *made_by*: perturbation → who
      made the perturbed reviews: the name of a rule, such as ``rule``, or of a writer.
    - *papers*: the smallest number of papers behind an effect.
    - *rules*: the margins and the bootstrap settings behind the verdict.
    - *registers*: name of the evaluation LM or writer → digest of the training register that the papers were compared
      with, or ``unknown``. *left_out*: the number of papers left out because they are in a register.
    - *effects*: perturbation → the numbers `EFFECT` (see `EffectRow`). Records of older versions have none.
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
    registers: dict[str, str] = field(default_factory=dict)
    left_out: int = 0
    effects: dict[str, dict[str, float | int | None]] = field(default_factory=dict)


def write_validation_record(
    state: Path, edition: str, signature: Signature, effects: Sequence[Mapping[str, Any]], untried: Sequence[str],
    settings: ValidationSettings, trained_on: TrainingOverlap,
) -> ValidationRecord:  # fmt: skip
    """Writes the validation record of *signature* to the folder *state*, replacing an earlier one; returns the record.

    - *edition*: the validated edition, or several as ``ICLR-2023+ICLR-2024``.
    - *effects*: one row per perturbation (`EffectRow`). *untried*: the perturbations that were not made, which count as
      undecided.
    - *trained_on*: the papers that were left out because the evaluation LM or the writer was trained on them.
    """
    changes: dict[str, Verdict] = dict.fromkeys(untried, "undecided")
    changes = {row["change"]: row["verdict"] for row in effects} | changes
    wanting = [f"{name} ({verdict})" for name, verdict in changes.items() if verdict != "pass"]
    papers = min((row["papers"] for row in effects if row["d"] is not None), default=0)
    rules = settings.model_dump(mode="json", include={"level", "splitter", "seed", "resamples"})
    rules |= {"margin": MARGIN, "smallest": SMALLEST}
    detail = f"passes {len(changes) - len(wanting)} of {len(changes)} changes on {papers} papers"
    detail += f"; {counted(len(trained_on.papers), 'learnt paper')} left out" if trained_on.papers else ""
    unread = [name for name, register in trained_on.registers.items() if register == "unknown"]
    detail += f"; unknown what {' and '.join(unread)} was learnt from" if unread else ""
    detail += f"; not {', '.join(wanting)}" if wanting else ""
    record = ValidationRecord(
        signature.signature_id,
        combine_verdicts(changes.values()),
        edition,
        detail,
        now().isoformat(timespec="seconds"),
        asdict(signature),
        changes,
        {row["change"]: row["made_by"] for row in effects},
        papers,
        rules,
        trained_on.registers,
        len(trained_on.papers),
        {row["change"]: {name: row.get(name) for name in EFFECT} for row in effects},
    )
    folder, content = state / "validations" / edition, asdict(record)
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content | {"sha256": digest(content)}, indent=1) + "\n"
    write_file(folder / f"{record.signature_id}.json", text.encode())
    return record


def store_validation_records(store: Store, state: Path, signatures: Sequence[Signature]) -> None:
    """Copies the validation record of each signature into *store*, where it replaces an earlier copy.

    The detail of the copy ends with the sentence of the signature's certificate, if there is one.
    """
    rows = []
    for signed in signatures:
        if record := find_validation_record(state, signed, store.key):
            certificate = find_certificate(state, signed)
            detail = record.detail + (f"{CERTIFIED}{certificate.sentence}" if certificate else "")
            rows.append({"signature_id": signed.signature_id, "verdict": record.verdict, "edition": record.edition,
                         "detail": detail, "validated_at": datetime.fromisoformat(record.validated_at)})  # fmt: skip
    ids = [signed.signature_id for signed in signatures]
    store.write(("clear_validations", {"signature_ids": ids}), ("put_validations", rows))


def find_validation_record(state: Path, signature: Signature, edition: str | None = None) -> ValidationRecord | None:
    """Returns the record whose verdict on *signature* counts for *edition*; None if there is none.

    The edition's own record counts if its verdict is pass or fail. Otherwise the newest failing record counts, else the
    newest passing one, else the newest undecided one. Among the records of one edition, those in *state* take
    precedence over shipped ones. Next, a record of this very signature takes precedence over one with other rounding.
    Raises `StoreError` for a damaged file.
    """
    by_edition: dict[str, ValidationRecord] = {}
    for folder in (SHIPPED, state / "validations"):
        for record in sorted(_read_records(folder), key=lambda record: record.signature_id == signature.signature_id):
            other = build_signature_from_row(record.signature)
            if other.validation_signature == signature.validation_signature:
                how = "" if other == signature else f" (by {other.engine_version} in {other.dtype})"
                by_edition[record.edition] = replace(record, detail=record.detail + how)
    return _choose_deciding_record(by_edition.values(), edition)


def _choose_deciding_record(records: Iterable[ValidationRecord], edition: str | None) -> ValidationRecord | None:
    """Returns the one of *records* whose verdict counts for *edition*; None if *records* is empty.

    The choice follows the rules of `find_validation_record`. Each record is of one edition, or of several editions that
    were validated together. A record of several editions counts as the own record of each of them. It is preferred to
    an edition's record by itself.
    """

    def sort_key(record: ValidationRecord) -> tuple[int, float]:
        names = record.edition.split("+")
        own = edition in names and record.verdict != "undecided"
        order = -len(names) if own else ("fail", "pass", "undecided").index(record.verdict)
        return order, -datetime.fromisoformat(record.validated_at).timestamp()

    return min(records, key=sort_key, default=None)


def read_verdicts(state: Path, edition: str, signatures: Iterable[Signature]) -> list[dict[str, Any]]:
    """Returns a row with metric, signature_id, verdict and detail for each of a board's *signatures*.

    The verdict is taken from `find_validation_record`, or ``missing`` if there is no record.
    """
    return [
        {"metric": signed.metric, "signature_id": signed.signature_id}
        | _build_verdict_fields(find_validation_record(state, signed, edition))
        for signed in signatures
    ]


def predict_verdicts(settings: Settings, state: Path) -> list[dict[str, Any]]:
    """Predicts the rows of `read_verdicts` (metric, verdict, detail) for the metrics of *settings*, before any scoring.

    Compares only the names of metric, evaluation LM and writer, because whole signatures need the LM's weights.
    """
    records = [record for folder in (SHIPPED, state / "validations") for record in _read_records(folder)]
    rows: list[dict[str, Any]] = []
    for metric in settings.scoring.metrics:
        scorer, writer = _predict_signature_names(settings, metric)
        known = {
            record.edition: record
            for record in records
            if record.signature["metric"] == metric
            and str(record.signature["evaluation_lm"]).startswith(scorer or "")
            and str(record.signature["writer"]).startswith(writer or "")
        }
        rows.append(
            {"metric": metric}
            | _build_verdict_fields(_choose_deciding_record(known.values(), settings.edition.edition.key))
        )
    return rows


def format_gate_decision(row: Mapping[str, Any], settings: Settings) -> str:
    """Returns a line for users: the verdict in *row*, from `read_verdicts`, and what ``gre-bench year`` does."""
    marked = "publishes its board, marked as unvalidated"
    failed = {"hide": "leaves its board out of the release", "refuse": "publishes nothing", "show": marked}
    does = {
        "pass": "publishes its board", "undecided": marked, "fail": failed[settings.release.unvalidated],
        "missing": "validates it before it publishes",
    }[row["verdict"]]  # fmt: skip
    known = row["detail"] if row["verdict"] == "missing" else f"{row['verdict']} ({row['detail']})"
    return f"{row['metric']}: {known}; gre-bench year {does}"


def _build_verdict_fields(record: ValidationRecord | None) -> dict[str, Any]:
    if record is None:
        return {"verdict": "missing", "detail": "no validation known with this evaluation LM and writer"}
    return {"verdict": record.verdict, "detail": f"{record.detail}, on {record.edition}"}


def _predict_signature_names(settings: Settings, metric: str) -> tuple[str | None, str | None]:
    """Returns the names of evaluation LM and writer in the signature of *metric*.

    A name is None if the metric needs neither an LM nor an embedder, or if the settings do not state it. If the writer
    is an LM, the name is only the start of its identity.
    """
    recipe, scoring, lm, embedder = find_recipe(metric), settings.scoring, settings.evaluation_lm, settings.embedder
    scorer = {
        "evaluation_lm": lm.folder.name if lm.folder else lm.served_model or lm.backend,
        "embedder": embedder.folder.name if embedder.folder else embedder.backend,
        "writer": scoring.examiner,
        "nothing": None,
    }[recipe.asks]
    writer = scoring.writer or settings.writing.judgments
    if writer and is_rule(writer):
        writer = RuleTextWriter(writer).identity("judgments")
    return scorer, signature_writer_name(recipe, writer or "") or None


def _read_records(folder: Path) -> list[ValidationRecord]:
    """Returns the records in *folder*, the newest last."""
    files = sorted(folder.glob("**/[!.]*.json"))
    shown = (file for file in files if CERTIFICATES.name not in file.relative_to(folder).parts)
    records = map(load_validation_record, shown)
    return sorted(records, key=lambda record: datetime.fromisoformat(record.validated_at).timestamp())


def load_validation_record(file: Path) -> ValidationRecord:
    try:
        content = load_json(read_bytes(file))
        if content.pop("sha256", digest(content)) != digest(content):
            raise ValueError(f"{file} is not as it was written")
        record = ValidationRecord(**content)
        signed = build_signature_from_row(record.signature)
        datetime.fromisoformat(record.validated_at).timestamp()
        texts = [record.edition, record.detail, *(asdict(signed) | {"ascii_fold": ""}).values()]
        known = record.verdict in ("pass", "fail", "undecided") and all(isinstance(text, str) for text in texts)
        if not known or not record.signature_id == file.stem == signed.signature_id:
            raise ValueError(f"{file} is none")
        return record
    except (OSError, ValueError, TypeError, AttributeError, SourceError):
        raise StoreError(f"{file} is damaged; remove it, or validate again: gre-bench study validate") from None

"""Certificates: what the validation of a metric, with one evaluation LM and one writer, came to.

One JSON file a signature, in ``validations`` of the state folder (those made here) and of ``data`` (those that ship);
every edition scored under that signature shows it. What has none, or not passed, is unvalidated.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from tasks.errors import StoreError
from tasks.records import Signature
from tasks.settings import checkout
from tasks.stats.verdicts import Verdict
from tasks.store import Store, now

SHIPPED = checkout() / "data" / "validations"


@dataclass(frozen=True, slots=True)
class Certificate:
    """The verdict over all changes of *edition*, with each change's own; *detail* is one line for readers."""

    signature_id: str
    verdict: Verdict
    edition: str
    detail: str
    validated_at: str
    signature: dict[str, str | bool]
    changes: dict[str, str]


def grant(state: Path, edition: str, signature: Signature, verdict: Verdict, changes: dict[str, str]) -> Certificate:
    """Writes the certificate of *signature* into *state*, in the place of an earlier one."""
    wanting = [f"{name} ({found})" for name, found in changes.items() if found != "pass"]
    detail = f"passes {len(changes) - len(wanting)} of {len(changes)} changes"
    detail += f"; not {', '.join(wanting)}" if wanting else ""
    made = Certificate(
        signature.signature_id,
        verdict,
        edition,
        detail,
        now().isoformat(timespec="seconds"),
        asdict(signature),
        changes,
    )
    folder = state / "validations"
    folder.mkdir(parents=True, exist_ok=True)
    beside = folder / f".{made.signature_id}.json"
    beside.write_text(json.dumps(asdict(made), indent=1) + "\n", encoding="utf-8")
    beside.replace(folder / f"{made.signature_id}.json")
    return made


def certify(store: Store, state: Path, signature_ids: Sequence[str]) -> None:
    """Stores what is known of the validation of each signature."""
    found = [made for name in signature_ids if (made := certificate(state, name))]
    rows = [asdict(made) | {"validated_at": datetime.fromisoformat(made.validated_at)} for made in found]
    store.write(("put_validations", [{name: row[name] for name in _COLUMNS} for row in rows]))


def certificate(state: Path, signature_id: str) -> Certificate | None:
    """The certificate of a signature, one made in *state* first; `StoreError` for a file that is damaged."""
    for folder in (state / "validations", SHIPPED):
        file = folder / f"{signature_id}.json"
        try:
            return Certificate(**json.loads(file.read_text(encoding="utf-8")))
        except FileNotFoundError:
            continue
        except (OSError, ValueError, TypeError):
            raise StoreError(f"{file} is damaged; remove it, or validate again: gre-bench validate") from None
    return None


_COLUMNS = ("signature_id", "verdict", "edition", "detail", "validated_at")

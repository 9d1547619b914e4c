"""Certificates: how much damage to reviews a metric detects with one evaluation LM and one writer of judgments.

A signature states everything that a score depends on, such as the metric, the evaluation LM and the writer. There is
one JSON file per signature and edition, in the folder ``validations/certificates`` of the state folder.
Certificates that ship with the program are in the same folder of ``data``. The same inputs give the same file.

A certificate is also valid for signatures that differ only in how scores are rounded
(`Signature.validation_signature`). A certificate in the state folder takes precedence over a shipped one.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SourceError, StoreError
from gre_bench.core.incoming import read_bytes
from gre_bench.core.records import Signature, build_signature_from_row, digest
from gre_bench.core.resources import locate_resource
from gre_bench.core.strict import load_json
from gre_bench.core.whole_files import write_file
from gre_bench.perturbations.harms import DEGREES, HARMS

FOLDER = Path("validations", "certificates")
SHIPPED = locate_resource("data", *FOLDER.parts)
PAPERS = "113"
"""A certificate's sentence states from which degree the metric detects a degradation on this many papers."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a metric detects under one signature: the content of a certificate's file.

    - *edition*: the edition whose reviews were damaged. *seed*: the seed of the harms and of the bootstrap.
    - *harms*: harm → how the score falls or rises with the harm's degree, in the order of `HARMS`. Each value has the
      fields of `gre_bench.stats.degrees.DegreeCurve`, with JSON's types.
    - *untried*: harm → why it is not in *harms*.
    - *registers*, *left_out*: as in `ValidationRecord`. *degrees*: the measured degrees, in tenths.
    """

    signature_id: str
    edition: str
    signature: dict[str, str | bool]
    seed: int
    harms: dict[str, dict[str, Any]]
    untried: dict[str, str] = field(default_factory=dict)
    registers: dict[str, str] = field(default_factory=dict)
    left_out: int = 0
    degrees: list[int] = field(default_factory=lambda: list(DEGREES))

    @property
    def sentence(self) -> str:
        """What the metric detects: ``on 113 papers tells garbling from 20%; not negation; padding pays from 30%``.

        Each degradation is listed as detected or not. A manipulation is listed only if it raises the score. If the
        number of measured papers is not 113, the sentence states it.
        """
        harms = [(HARMS[name], curve["told"][PAPERS], curve["pays"]) for name, curve in self.harms.items()]
        degraded = [row for row in harms if row[0].family == "degradation"]
        seen = ", ".join(f"{harm.said} from {10 * least}%" for harm, least, _ in degraded if least)
        unseen = " or ".join(harm.said for harm, least, pays in degraded if not (least or pays))
        parts = [f"tells {seen}" if seen else "", f"not {unseen}" if unseen else ""]
        parts += [f"{harm.said} pays from {10 * pays}%" for harm, _, pays in harms if pays]
        parts += [f"{HARMS[name].said} untried" for name in self.untried]
        measured = str(self.papers)
        return f"on {PAPERS} papers{'' if measured == PAPERS else f' (computed from {measured})'} " + "; ".join(
            filter(None, parts)
        )

    @property
    def papers(self) -> int:
        """The number of papers on which the harms were measured."""
        return max((curve["papers"] for curve in self.harms.values()), default=0)


def write_certificate(state: Path, certificate: Certificate) -> Path:
    """Writes *certificate* to the folder *state*, replacing an earlier one; returns its file."""
    file = state / FOLDER / certificate.edition / f"{certificate.signature_id}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    content = asdict(certificate)
    write_file(file, (json.dumps(content | {"sha256": digest(content)}, indent=1) + "\n").encode())
    return file


def find_certificate(state: Path, signature: Signature) -> Certificate | None:
    """Returns the certificate for *signature*; None if there is none.

    A certificate in the folder *state* is preferred to a shipped one; next, the one with the most papers is preferred.
    Raises `StoreError` for a damaged file.
    """
    known = [
        (folder == state / FOLDER, certificate.papers, certificate)
        for folder in (SHIPPED, state / FOLDER)
        for file in sorted(folder.glob("*/[!.]*.json"))
        if build_signature_from_row((certificate := load_certificate(file)).signature).validation_signature
        == signature.validation_signature
    ]
    return max(known, key=lambda row: row[:2])[2] if known else None


def load_certificate(file: Path) -> Certificate:
    try:
        content = load_json(read_bytes(file))
        if content.pop("sha256", None) != digest(content):
            raise ValueError(f"{file} is not as it was written")
        certificate = Certificate(**content)
        known = certificate.signature_id == file.stem == build_signature_from_row(certificate.signature).signature_id
        if not (known and certificate.sentence):
            raise ValueError(f"{file} is none")
        return certificate
    except (OSError, ValueError, TypeError, KeyError, AttributeError, SourceError):
        again = "gre-bench study validate --certificate"
        raise StoreError(f"{file} is damaged; remove it, or make it again: {again}") from None

"""Prints the included certificates of one evaluation LM and edition as a Markdown table.

    python -m tests.bench.certificate_table EVALUATION_LM EDITION [--picture FILE]

A cell has the least degrees that are detected with 60, 113 and 300 papers, and the degree from which a harm raises the
score. *--picture* draws the curves of the same certificates.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gre_bench.core.metrics import METRICS, find_recipe
from gre_bench.perturbations.harms import HARMS
from gre_bench.pipeline.certificates import SHIPPED, Certificate, load_certificate
from gre_bench.stats.degrees import PAPERS
from gre_bench.studies.certificate import draw_certificates


def cell(curve: dict[str, Any] | None) -> str:
    if curve is None:
        return "untried"
    told = [curve["told"][str(papers)] for papers in PAPERS]
    text = ", ".join(f"{10 * degree}%" if degree else "–" for degree in told) if any(told) else "–"
    return text + (f"; pays from {10 * curve['pays']}%" if curve["pays"] else "")


def table(certificates: list[Certificate]) -> str:
    """Returns the table of *certificates*: one column per metric, one row per harm."""
    titles = [find_recipe(str(item.signature["metric"])).title for item in certificates]
    rows = [["harm", *titles], ["---"] * (len(titles) + 1)]
    rows += [[harm.said, *(cell(item.harms.get(name)) for item in certificates)] for name, harm in HARMS.items()]
    papers = (str(item.papers) for item in certificates)
    return "\n".join(f"| {' | '.join(row)} |" for row in [*rows, ["papers", *papers]])


def load_shipped_certificates(edition: str) -> list[Certificate]:
    """Returns the shipped certificates of *edition*, one per signature, in the order of the metrics."""
    certificates = [load_certificate(file) for file in sorted((SHIPPED / edition).glob("[!.]*.json"))]
    return sorted(certificates, key=lambda item: list(METRICS).index(str(item.signature["metric"])))


def certificates_of(lm: str, edition: str) -> list[Certificate]:
    return [item for item in load_shipped_certificates(edition) if item.signature["evaluation_lm"] == lm]


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("lm")
    asked.add_argument("edition")
    asked.add_argument("--picture", type=Path)
    given = asked.parse_args()
    found = certificates_of(given.lm, given.edition)
    print(table(found))
    if given.picture:
        draw_certificates([asdict(item) for item in found], given.picture, f"{given.lm}: scores by degree of harm")

"""Tests that every included certificate has a record, a picture and a known register, and how two LMs are compared."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest

from gre_bench.core.records import build_signature_from_row
from gre_bench.pipeline.certificates import SHIPPED, find_certificate
from gre_bench.studies.certificate import draw_certificates
from tests.bench.bench_certificate import compare_resistance, resistance
from tests.bench.certificate_table import certificates_of, load_shipped_certificates
from tests.conftest import ROOT

SHOWN = sorted(
    {
        (str(item.signature["evaluation_lm"]), folder.name)
        for folder in SHIPPED.iterdir()
        for item in load_shipped_certificates(folder.name)
    }
)


@pytest.mark.parametrize(("lm", "edition"), SHOWN)
def test_a_certificate_that_ships_has_a_record_and_rests_on_papers_that_were_checked(lm, edition, tmp_path):
    printed = {json.loads(path.read_text())["printed_by"] for path in (ROOT / "data" / "measurements").glob("*.json")}
    assert f"python -m tests.bench.certificate_table {lm} {edition}" in printed
    for item in certificates_of(lm, edition):
        assert item.registers and "unknown" not in item.registers.values()
        assert find_certificate(tmp_path, build_signature_from_row(item.signature)) == item


def test_the_sentences_that_boards_quote_are_those_of_the_curves():
    said = {item.signature["metric"]: item.sentence for item in certificates_of("cache-ngram-3", "ICLR-2023+ICLR-2024")}
    assert said == {
        "gem": "on 113 papers tells garbling from 10%, invention from 10%; not negation; "
        "copying of the abstract pays from 10%",
        "gem_s_abstract": "on 113 papers tells garbling from 20%, invention from 10%; not negation",
        "gem_raw": "on 113 papers tells garbling from 10%, negation from 100%, invention from 10%; "
        "copying of the abstract pays from 10%",
    }


def test_the_picture_of_the_page_is_that_of_the_certificates_that_ship(tmp_path):
    items = [asdict(item) for item in certificates_of("cache-ngram-3", "ICLR-2023+ICLR-2024")]
    drawn = draw_certificates(items, tmp_path / "certificate.svg", "cache-ngram-3: scores by degree of harm")
    assert drawn.read_text() == (ROOT / "docs" / "images" / "certificate.svg").read_text()


def test_judges_are_compared_on_the_same_papers():
    papers = np.random.default_rng(1).normal(size=60)
    falls = papers - papers.mean() - 1
    assert resistance(falls) == pytest.approx(1 / papers.std(ddof=1))
    difference, low, high = compare_resistance(falls, falls - 1)
    assert low < high < 0 and difference == pytest.approx(-1 / papers.std(ddof=1))
    assert compare_resistance(falls, falls) == (0, 0, 0)

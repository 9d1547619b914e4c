"""The sixteen papers that most tests score are the first ones of the sample edition, word for word."""

from __future__ import annotations

import json

import pytest

from tests.conftest import ROOT, SIXTEEN

SAMPLE = ROOT / "data" / "sample"


@pytest.mark.parametrize(
    ("file", "whole"),
    [("papers", "papers"), ("reviews", "reviews"), ("notes", "notes"), ("lm_reviews", "candidates")],
)
def test_the_rows_of_the_sixteen_papers_stand_in_the_sample(file, whole):
    rows = [json.loads(line) for line in (SIXTEEN / f"{file}.jsonl").read_text().splitlines()]
    known = {line for line in (SAMPLE / f"{whole}.jsonl").read_text().splitlines()}
    assert rows and all(json.dumps(row, ensure_ascii=False) in known for row in rows)


def test_the_pdfs_are_the_same_files():
    names = sorted(path.name for path in (SIXTEEN / "pdfs").iterdir())
    assert names == [f"s{number:02d}.pdf" for number in range(1, 17)]
    assert all((SIXTEEN / "pdfs" / name).read_bytes() == (SAMPLE / "pdfs" / name).read_bytes() for name in names)

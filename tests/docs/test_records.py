"""Measurements: each table of a page is that of its record, and each record says what measures it."""

from __future__ import annotations

import json
import re
import sys
from copy import deepcopy
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from gre_bench.reports import contrasts
from tests.bench import measure
from tests.conftest import ROOT
from tests.docs.named import Command, wrong

sys.path.insert(0, str(ROOT / "docs" / "hooks"))
import records

ALL = records.records()
FIELDS = {"title", "commands", "needs", "printed_by", "measured", "commit", "inputs", "notes", "table"}


@pytest.mark.parametrize("name", ALL)
def test_a_record_has_its_day_the_digests_of_its_inputs_and_commands_that_the_program_has(name):
    record = ALL[name]
    assert set(record) == FIELDS and record["title"] and (record["commands"] or record["notes"] or record["table"])
    assert date(2026, 1, 1) < date.fromisoformat(record["measured"]) <= date.today()
    assert re.fullmatch(r"[0-9a-f]{8}", record["commit"])
    assert set(record["inputs"]) <= set(record["needs"])
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in record["inputs"].values())
    if record["table"]:
        assert {len(row) for row in record["table"]["rows"]} == {len(record["table"]["head"])}
    for line in (*record["commands"], *filter(None, [record["printed_by"]])):
        words = line.split()
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.M), line
        elif words[0] == "pytest":
            assert (ROOT / words[-1]).is_file(), line
        else:
            assert not (problem := wrong(Command(f"record {name}", tuple(words), False))), f"{line}: {problem}"


@pytest.fixture(scope="module")
def compared_once():
    """A release is the same wherever it is loaded: its contrasts, of which several tables are made, come once."""
    compare, reports = contrasts.compute_contrasts_of_file, {}

    def compare_once(state: Path, edition: str, path: Path) -> dict[str, Any]:
        key = (*sorted(folder.name for folder in (state / "releases").glob(f"{edition}-r*")), path)
        if key not in reports:
            reports[key] = compare(state, edition, path)
        return deepcopy(reports[key])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contrasts, "compute_contrasts_of_file", compare_once)
        yield


@pytest.mark.parametrize("name", [name for name, record in ALL.items() if record["printed_by"]])
def test_a_table_that_a_command_prints_is_the_one_of_its_record(compared_once, name):
    assert measure.printed(ALL[name]) == ALL[name]["table"]


def test_what_prints_no_table_is_no_table():
    assert measure.rows_of("x\n| a | b |\n|---|---|\n| 1 | |\n") == {"head": ["a", "b"], "rows": [["1", ""]]}
    with pytest.raises(ValueError, match="no table"):
        measure.rows_of("nothing")


def test_a_page_holds_the_tables_of_its_records_and_one_that_differs_is_found_and_renewed(tmp_path, monkeypatch):
    assert records.stale() == []
    page = tmp_path / "page.md"
    page.write_text("Before.\n<!-- record one -->\n| old |\n<!-- end of record -->\nAfter.\n")
    (tmp_path / "one.json").write_text(json.dumps({"table": {"head": ["a", "b"], "rows": [["1", "+2"]]}}))
    for name, value in (("FOLDER", tmp_path), ("PAGES", (page,)), ("PICTURES", {}), ("ROOT", tmp_path)):
        monkeypatch.setattr(records, name, value)
    assert records.stale() == ["page.md"]
    assert records.stale(write=True) == ["page.md"] and records.stale() == []
    assert page.read_text() == (
        "Before.\n<!-- record one -->\n\n| a | b |\n| --- | --- |\n| 1 | +2 |\n\n<!-- end of record -->\nAfter.\n"
    )
    page.write_text(page.read_text().replace("record one", "record two"))
    with pytest.raises(KeyError):
        records.stale()


def test_what_a_user_decides_by_is_short_and_the_rest_is_listed():
    page = (ROOT / "docs" / "measurements.md").read_text()
    assert len(page.splitlines()) <= 250
    listed = records.measurements_page()
    assert all(f"{{#{name}}}" in listed for name in ALL)

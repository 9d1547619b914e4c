"""A release as a data set of the Hugging Face Hub: the tools that its readers use open the folder."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
import yaml

from gre_bench.core.whole_files import sha256
from gre_bench.release import manifest
from gre_bench.release.public_tables import open_release_tables, run_page_query
from tests.release.made_up import EDITION


@pytest.fixture(scope="module")
def folder(state) -> Path:
    return state / "releases" / f"{EDITION}-r1"


def head(folder: Path) -> dict:
    _, text, _ = (folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(text)


def with_rows(folder: Path) -> dict[str, int]:
    return {name: count for name, count in manifest.read_manifest(folder)["tables"].items() if count}


def test_the_card_names_each_table_with_rows_once_and_the_board_first(folder):
    configs = head(folder)["configs"]
    assert configs[0]["config_name"] == "board" and configs[0]["default"]
    assert sorted(config["config_name"] for config in configs) == sorted(with_rows(folder))
    for config in configs:
        (file,) = config["data_files"]
        assert parquet.read_metadata(folder / file["path"]).num_rows == with_rows(folder)[config["config_name"]]


def test_the_card_shows_what_the_board_shows_and_no_order_where_the_metric_is_not_validated(folder):
    text = (folder / "README.md").read_text(encoding="utf-8")
    with open_release_tables(folder) as connection:
        board = [row for row in run_page_query(connection, "boards") if row["score"] is not None]
    assert board and not any(row["validation"].startswith("validated") for row in board)
    lines = [line.split(" | ") for line in text.splitlines() if line.startswith("| –")]
    assert [line[1].replace("\\", "") for line in lines] == [row["candidate"] for row in board]
    assert "| 1" not in text


def test_the_benchmark_has_a_task_for_each_metric_on_the_page(folder):
    stated = yaml.safe_load((folder / "eval.yaml").read_text(encoding="utf-8"))
    with open_release_tables(folder) as connection:
        metrics = list(dict.fromkeys(row["metric"] for row in run_page_query(connection, "boards")))
    assert stated["tasks"] == [{"id": metric, "config": "board", "split": "test"} for metric in metrics]
    assert stated["name"] == f"GRE-bench {EDITION}-r1" and stated["evaluation_framework"] == "gre-bench"


def test_the_croissant_file_states_the_digest_of_each_table_and_all_its_columns(folder):
    stated = json.loads((folder / "croissant.json").read_text(encoding="utf-8"))
    files = {file["contentUrl"]: file["sha256"] for file in stated["distribution"]}
    assert files == {f"tables/{name}.parquet": sha256(folder / f"tables/{name}.parquet")
                     for name in with_rows(folder)}  # fmt: skip
    for records in stated["recordSet"]:
        schema = parquet.read_schema(folder / "tables" / f"{records['name']}.parquet")
        assert [field["source"]["extract"]["column"] for field in records["field"]] == schema.names


def test_datasets_loads_every_table_of_the_folder(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets", reason="datasets of Hugging Face is not installed: the extra `hub`")
    for name, count in with_rows(folder).items():
        loaded = datasets.load_dataset(str(folder), name, split="test", cache_dir=str(tmp_path))
        assert len(loaded) == count
    board = datasets.load_dataset(str(folder), split="test", cache_dir=str(tmp_path))
    assert board["candidate"] == parquet.read_table(folder / "tables/board.parquet")["candidate"].to_pylist()


def test_mlcroissant_finds_no_fault_and_reads_the_board(folder):
    mlcroissant = pytest.importorskip("mlcroissant", reason="mlcroissant is not installed: the extra `hub`")
    found = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    assert not found.metadata.ctx.issues.errors and not found.metadata.ctx.issues.warnings
    read = [row["board/candidate"].decode() for row in found.records("board")]
    assert read == parquet.read_table(folder / "tables/board.parquet")["candidate"].to_pylist()

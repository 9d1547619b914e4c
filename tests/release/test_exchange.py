"""A release in the schema Every Eval Ever: its own validator takes it, and its instances give the board again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path
from statistics import fmean

import pytest

from gre_bench.core.errors import SourceError
from gre_bench.release import exchange
from gre_bench.release.exchange import write_every_eval_ever
from gre_bench.release.loading import find_release
from gre_bench.release.manifest import verify_release
from gre_bench.release.public_tables import open_release_tables, run_page_query
from tests.release.made_up import EDITION


@pytest.fixture(scope="module")
def folder(state) -> Path:
    return state / "releases" / f"{EDITION}-r1"


@pytest.fixture(scope="module")
def written(folder, tmp_path_factory) -> dict[Path, list[dict]]:
    """The file of each model → its samples."""
    out = tmp_path_factory.mktemp("exchange")
    files = [path for path in write_every_eval_ever(folder, out) if path.suffix == ".json"]
    samples = {path: path.with_name(f"{path.stem}_samples.jsonl").read_text("utf-8").splitlines() for path in files}
    return {path: [json.loads(line) for line in lines] for path, lines in samples.items()}


def test_the_mean_of_the_instances_is_the_score_and_both_are_the_board(written, folder):
    with open_release_tables(folder) as connection:
        board = {(row["candidate"], row["signature_id"]): row for row in run_page_query(connection, "boards")
                 if row["kind"] == "model"}  # fmt: skip
    seen = 0
    for path, samples in written.items():
        record = json.loads(path.read_text("utf-8"))
        scores = defaultdict(list)
        for sample in samples:
            scores[sample["evaluation_result_id"]].append(sample["evaluation"]["score"])
        for result in record["evaluation_results"]:
            row = board[record["model_info"]["name"], result["evaluation_result_id"]]
            details = result["score_details"]
            assert details["score"] == row["score"] == pytest.approx(fmean(scores[row["signature_id"]]), rel=1e-12)
            assert len(scores[row["signature_id"]]) == row["papers"] == details["uncertainty"]["num_samples"]
            interval = details["uncertainty"]["confidence_interval"]
            assert (interval["lower"], interval["upper"]) == (row["low"], row["high"])
            seen += 1
    assert seen == len(board) > 1


def test_what_the_schema_has_a_place_for_stands_there_and_the_rest_beside_it(written, folder):
    with open_release_tables(folder) as connection:
        human = {
            row["signature_id"]: row["score"] for row in run_page_query(connection, "boards") if row["kind"] == "human"
        }
    for path in written:
        record = json.loads(path.read_text("utf-8"))
        for result in record["evaluation_results"]:
            judge = result["metric_config"]["llm_scoring"]
            assert judge["expert_baseline"] == human[result["evaluation_result_id"]]
            assert judge["additional_details"]["signature_id"] == result["evaluation_result_id"]
            assert judge["input_prompt"] == "SHA-256 p", "the program has no prompt of this digest"
            told = result["score_details"]["details"]
            assert "vs_human" in told and "rank" not in told, "nothing is validated here, so nobody has a rank"


def test_a_prompt_of_the_program_is_given_in_words(tmp_path):
    (path, *_) = (
        path for path in write_every_eval_ever(find_release("ICLR-2022-llms"), tmp_path) if path.suffix == ".json"
    )
    (result, *_) = json.loads(path.read_text("utf-8"))["evaluation_results"]
    judge = result["metric_config"]["llm_scoring"]
    assert "{synopsis}" in judge["input_prompt"] and judge["judges"][0]["model_info"]["name"] == "cache-ngram-3"
    assert result["score_details"]["details"]["rank"], "this metric is validated"


def test_a_prompt_is_found_by_its_digest_whatever_name_the_settings_of_the_release_give_it(monkeypatch, tmp_path):
    stated = {"scoring": {"prompt": "a_prompt_of_another_lab"}}
    monkeypatch.setattr(exchange, "verify_release", lambda folder: verify_release(folder) | {"settings": stated})
    (path, *_) = (
        path for path in write_every_eval_ever(find_release("ICLR-2022-llms"), tmp_path) if path.suffix == ".json"
    )
    (result, *_) = json.loads(path.read_text("utf-8"))["evaluation_results"]
    assert "{synopsis}" in result["metric_config"]["llm_scoring"]["input_prompt"]


def test_the_same_release_gives_the_same_files_and_no_text_of_it(folder, written, tmp_path):
    again = write_every_eval_ever(folder, tmp_path)
    texts = {path.name: path.read_bytes() for path in again}
    assert texts.keys() == {name for path in written for name in (path.name, f"{path.stem}_samples.jsonl")}
    assert all(path.read_bytes() == texts[path.name] for path in written)


def test_a_release_that_was_altered_is_not_passed_on(folder, tmp_path):
    copy = tmp_path / folder.name
    shutil.copytree(folder, copy)
    page = copy / "index.html"
    page.chmod(0o644)
    page.write_text("other")
    with pytest.raises(SourceError, match="not as it was written"):
        write_every_eval_ever(copy, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command_writes_the_release_that_is_there_or_the_one_that_it_makes(own, call, tmp_path):
    code, out, _ = call("publish", "--every-eval-ever", tmp_path / "a", "--of", f"{EDITION}-r1", "--state", own)
    assert code == 0 and "models under" in out
    code, out, _ = call("publish", EDITION, "--every-eval-ever", tmp_path / "b", "--state", own)
    assert code == 0 and "models under" in out and "holds all this already" in out
    names = [sorted(path.name for path in (tmp_path / folder).rglob("*.json*")) for folder in "ab"]
    assert names[0] == names[1] and len(names[0]) > 1


def test_the_validator_of_the_schema_takes_every_file(written):
    """Its package needs Python 3.12; ``GRE_BENCH_EVERY_EVAL_EVER`` names its command in an environment of its own."""
    command = os.environ.get("GRE_BENCH_EVERY_EVAL_EVER") or shutil.which("every_eval_ever")
    if not command:
        pytest.skip("every_eval_ever is not installed (Python 3.12); GRE_BENCH_EVERY_EVAL_EVER names its command")
    files = [name for path in written for name in (path, path.with_name(f"{path.stem}_samples.jsonl"))]
    out = next(iter(written)).parents[4]
    words = [command, "validate", "--format", "json", *(str(path.relative_to(out)) for path in files)]
    found = subprocess.run(words, cwd=out, capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stdout + found.stderr
    assert [entry["valid"] for entry in json.loads(found.stdout)] == [True] * len(files)

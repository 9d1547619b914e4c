"""Writes a release in the exchange schema Every Eval Ever, version 0.3.0 (https://evalevalai.com).

Each model has two files: one with its rows on the boards of all metrics, one with its mean scores on each paper.

    data/gre-bench-EDITION/DEVELOPER/MODEL/UUID.json      data/gre-bench-EDITION/DEVELOPER/MODEL/UUID_samples.jsonl

The schema calls a scored item a *sample*; here, this is a paper under one metric. Samples contain no texts, but refer
by id to the texts in the release. The schema has fields for intervals and a human baseline. Everything else is text in
``additional_details`` or ``details``: the signature, ranks, p-values, the verdict of the validation.

The same release always gives the same files.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from gre_bench.core.errors import SourceError
from gre_bench.core.whole_files import write_file
from gre_bench.prompts.library import find_prompt_by_digest
from gre_bench.release.manifest import compute_release_digest, verify_release
from gre_bench.release.public_tables import open_release_tables, read_table, run_page_query
from gre_bench.store import Row

SCHEMA = "0.3.0"
LEVEL = 0.9
"""The confidence level of a board's intervals."""
UNSTATED = {"deployment_type": "unknown", "model_availability": "unknown"}
"""Values for facts about a model that the schema requires but a release does not state."""
_UNSAFE = re.compile(r'[<>:"\\|?*\x00-\x1f/]+')


def write_every_eval_ever(release: Path, out: Path) -> list[Path]:
    """Writes the release folder *release* in the exchange format Every Eval Ever to the folder *out*.

    Each model with a score gets two files: its rows on the boards, and its mean scores on each paper. Returns the
    files' paths. Raises `SourceError` if the release was altered or has no model with a score.
    """
    about, digest = verify_release(release), compute_release_digest(release)
    with open_release_tables(release) as connection:
        signatures = {row["signature_id"]: row for row in read_table(connection, "signatures")}
        by_model: dict[str, list[Row]] = defaultdict(list)
        human: dict[str, float] = {}
        for row in run_page_query(connection, "boards"):
            if row["kind"] == "human" and row["score"] is not None:
                human[row["signature_id"]] = row["score"]
            elif row["kind"] == "model" and row["score"] is not None:
                by_model[row["candidate"]].append(row)
        papers: dict[str, list[Row]] = defaultdict(list)
        for row in run_page_query(connection, "paper_means"):
            papers[row["candidate_id"]].append(row)
    if not by_model:
        raise SourceError(f"{release}: no model has a score, so there is nothing to exchange")
    written = []
    for candidate, own in by_model.items():
        head = _build_record_head(about, digest, own[0])
        samples = _build_samples(head, papers[candidate])
        place = out / _build_record_folder_name(about["edition"], head["model_info"]["id"])
        name = place / str(UUID(bytes=hashlib.sha256(f"{digest} {candidate}".encode()).digest()[:16], version=4))
        lines = "".join(json.dumps(sample, ensure_ascii=False) + "\n" for sample in samples)
        record = head | {
            "evaluation_results": [_build_result(about, row, signatures[row["signature_id"]], human) for row in own],
            "detailed_evaluation_results": {
                "format": "jsonl",
                "file_path": f"{name.relative_to(out).as_posix()}_samples.jsonl",
                "hash_algorithm": "sha256",
                "checksum": hashlib.sha256(lines.encode()).hexdigest(),
                "total_rows": len(samples),
            },
        }
        place.mkdir(parents=True, exist_ok=True)
        texts = {
            f"{name}_samples.jsonl": lines,
            f"{name}.json": json.dumps(record, indent=1, ensure_ascii=False) + "\n",
        }
        for path, text in texts.items():
            write_file(Path(path), text.encode())
            written.append(Path(path))
    return written


def _build_record_folder_name(edition: str, model: str) -> str:
    developer, _, name = model.partition("/")
    parts = (f"gre-bench-{edition}", developer, name)
    return "/".join(["data", *(_UNSAFE.sub("_", part).strip(". ") or "unnamed" for part in parts)])


def _build_record_head(about: Mapping[str, Any], digest: str, row: Row) -> dict[str, Any]:
    """Returns the parts of a record that do not depend on a metric."""
    candidate = row["candidate"]
    model = candidate if "/" in candidate else f"unknown/{candidate}"
    made = str(int(datetime.fromisoformat(about["created_at"]).timestamp()))
    details = {
        "release": about["release"], "digest": digest, "texts": about["texts"],
        "not_here": "the human baseline and controls as candidates, tests between models, scores of single pairs",
    }  # fmt: skip
    known = {
        **UNSTATED, "candidate": candidate, "model": row["model"], "guideline": row["guideline"],
        "group": row["group_name"], "note": row["note"], "knowledge_cutoff": row["cutoff"],
        "contamination": row["contamination"],
    }  # fmt: skip
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"gre-bench/{about['release']}/{model}/{made}",
        "retrieved_timestamp": made,
        "source_metadata": {
            "source_name": f"GRE-bench {about['release']}",
            "source_type": "evaluation_run",
            "source_organization_name": "the publisher of the release",
            "evaluator_relationship": "third_party",
            "additional_details": details,
        },
        "eval_library": {"name": "gre-bench", "version": about["program"]["version"]},
        "model_info": {
            "name": candidate, "id": model, "developer": model.partition("/")[0],
            "additional_details": _convert_values_to_text(known),
        },
    }  # fmt: skip


def _convert_values_to_text(values: Mapping[str, Any]) -> dict[str, str]:
    """Returns the *values* that are not None as texts, as the schema requires."""
    return {name: str(value) for name, value in values.items() if value is not None}


def _build_result(
    about: Mapping[str, Any], row: Row, signature: Mapping[str, Any], human: Mapping[str, float]
) -> dict[str, Any]:
    compared = ("vs_human", "vs_human_low", "vs_human_high", "above_chance", "surely_above_chance", "unranked")
    in_order = ("rank", "rank_low", "rank_high", "p") if row["validation"].startswith("validated") else ()
    test = {name: row[name] for name in (*in_order, *compared)}
    pairs = {name: row[name] for name in ("planned", "scored", "failed", "excluded", "missing", "papers")}
    return {
        "evaluation_result_id": row["signature_id"],
        "evaluation_name": f"{about['edition']}: {row['metric_title'] or row['metric']}",
        "source_data": {"dataset_name": about["edition"], "source_type": "other",
                        "additional_details": _convert_values_to_text(
                            {"papers": about.get("papers"), "release": about["release"]})},
        "metric_config": {
            "metric_id": f"gre_bench.{row['metric']}",
            "metric_name": row["metric_title"] or row["metric"],
            "metric_kind": "mutual_information",
            "metric_unit": row["unit"] or "nats",
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": "-Infinity",
            "max_score": "Infinity",
            "llm_scoring": _build_judge(signature, human.get(row["signature_id"])),
            "additional_details": _convert_values_to_text({
                "signature_id": row["signature_id"], "validation": row["validation"],
                "is_correct_applicable": "false"}),
        },
        "score_details": {
            "score": row["score"],
            "details": _convert_values_to_text(test | pairs),
            "uncertainty": _build_uncertainty(row),
        },
    }  # fmt: skip


def _build_uncertainty(row: Row) -> dict[str, Any]:
    interval = {"lower": row["low"], "upper": row["high"], "confidence_level": LEVEL,
                "method": "Student's t of the papers' means"}  # fmt: skip
    known = row["low"] is not None and row["high"] is not None
    return {"num_samples": row["papers"]} | ({"confidence_interval": interval} if known else {})


def _build_judge(signature: Mapping[str, Any], human: float | None) -> dict[str, Any]:
    """Returns the evaluation LM of *signature* as the schema's judge; *human*: the score of the human baseline."""
    lm = signature["evaluation_lm"]
    prompt = find_prompt_by_digest(signature["prompt_sha256"])
    return {
        "judges": [{"model_info": {"name": lm, "id": lm if "/" in lm else f"gre-bench/{lm}",
                                   "additional_details": UNSTATED | {"deployment_type": "self_deployed"}},
                    "additional_details": {"reads": "its log-probabilities; it answers nothing"}}],
        "input_prompt": f"{prompt.system}\n\n{prompt.user}" if prompt else f"SHA-256 {signature['prompt_sha256']}",
        "additional_details": _convert_values_to_text(signature),
    } | ({"expert_baseline": human} if human is not None else {})  # fmt: skip


def _build_samples(head: Mapping[str, Any], papers: Sequence[Row]) -> list[dict[str, Any]]:
    """Returns one sample per paper and metric. In place of texts, a sample has their ids in the release."""
    return [
        {
            "schema_version": SCHEMA,
            "evaluation_id": head["evaluation_id"],
            "model_id": head["model_info"]["id"],
            "evaluation_name": row["metric"],
            "evaluation_result_id": row["signature_id"],
            "sample_id": row["paper_id"],
            "interaction_type": "single_turn",
            "input": {"raw": f"paper {row['paper_id']}", "reference": [f"review {name}" for name in row["references"]]},
            "output": {"raw": [f"review {row['review_id'] or 'of this candidate'}"]},
            "answer_attribution": [],
            "evaluation": {"score": row["score"], "is_correct": False},
            "metadata": {"pairs": row["pairs"], "unit": "nats"},
        }
        for row in papers
    ]

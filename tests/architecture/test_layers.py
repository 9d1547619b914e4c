"""The structure of the house: who may import whom, and what no file may hold."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

GROUND = {"gre_bench.core.records", "gre_bench.core.errors"}
FIRST = GROUND | {
    "gre_bench.core.settings",
    "gre_bench.stats",
    "gre_bench.core.judgments",
    "gre_bench.core.controls",
    "gre_bench.prompts",
    "gre_bench.core.review_text",
    "gre_bench.core.replies",
    "gre_bench.changes",
    "gre_bench.catalogs.models",
    "gre_bench.catalogs.domains",
    "gre_bench.ranking.published",
    "gre_bench.ranking.comparison",
    "gre_bench.ranking.exposure",
    "gre_bench.ranking.rank_statistics",
    "gre_bench.ranking.hygiene",
    "gre_bench.http.retry",
    "gre_bench.http.endpoints",
    "gre_bench.http.body_limits",
    "gre_bench.http.masking",
    "gre_bench.core.pretrained",
    "gre_bench.core.known_names",
}
ROOMS = {
    "gre_bench.lm",
    "gre_bench.ingest",
    "gre_bench.examiners",
    "gre_bench.guidelines",
    "gre_bench.metrics",
    "gre_bench.release",
    "gre_bench.tuning",
    "gre_bench.studies.simulations",
    "gre_bench.writing",
}
MAY_IMPORT = {
    "gre_bench.core.records": set(),
    "gre_bench.core.errors": set(),
    "gre_bench.core.settings": GROUND | {"gre_bench.core.judgments", "gre_bench.core.pretrained"},
    "gre_bench.core.pretrained": GROUND,
    "gre_bench.core.known_names": GROUND,
    "gre_bench.stats": GROUND,
    "gre_bench.core.judgments": GROUND,
    "gre_bench.core.controls": GROUND,
    "gre_bench.prompts": FIRST,
    "gre_bench.lm": FIRST,
    "gre_bench.ingest": FIRST | {"gre_bench.lm"},
    "gre_bench.examiners": FIRST | {"gre_bench.lm"},
    "gre_bench.guidelines": FIRST,
    "gre_bench.metrics": FIRST | {"gre_bench.lm", "gre_bench.examiners"},
    "gre_bench.release": FIRST | {"gre_bench.store"},
    "gre_bench.tuning": FIRST | {"gre_bench.lm"},
    "gre_bench.studies.simulations": FIRST | {"gre_bench.lm", "gre_bench.metrics"},
    "gre_bench.writing": FIRST,
    "gre_bench.core.replies": GROUND | {"gre_bench.core.judgments"},
    "gre_bench.catalogs.models": GROUND | {"gre_bench.core.settings", "gre_bench.http.endpoints"},
    "gre_bench.catalogs.domains": GROUND
    | {"gre_bench.core.settings", "gre_bench.core.judgments", "gre_bench.prompts", "gre_bench.changes"},
    "gre_bench.core.review_text": GROUND,
    "gre_bench.changes": GROUND
    | {"gre_bench.core.judgments", "gre_bench.core.review_text", "gre_bench.core.replies", "gre_bench.core.controls"},
    "gre_bench.ranking.published": GROUND | {"gre_bench.core.settings"},
    "gre_bench.ranking.exposure": GROUND | {"gre_bench.catalogs.models", "gre_bench.prompts"},
    "gre_bench.ranking.hygiene": GROUND | {"gre_bench.stats", "gre_bench.ranking.rank_statistics"},
    "gre_bench.ranking.rank_statistics": GROUND | {"gre_bench.stats"},
    "gre_bench.http.retry": set(),
    "gre_bench.http.endpoints": GROUND,
    "gre_bench.http.body_limits": set(),
    "gre_bench.http.masking": set(),
    "gre_bench.ranking.comparison": GROUND | {"gre_bench.ranking.published"},
    "gre_bench.store": FIRST,
    "gre_bench.tasks.steps": FIRST | ROOMS,
    "flows": FIRST | ROOMS | {"gre_bench.store", "gre_bench.tasks.steps", "tasks", "flows"},
}
FLOWS_MAY_IMPORT = {
    "stages": set(),
    "guidelines": {"stages"},
    "examiners": {"stages", "guidelines", ""},
    "boards": {"stages"},
    "operations": {"stages", ""},
    "": {"stages", "guidelines", "examiners", "screens"},
    "screens": {"guidelines", "examiners"},
    "commands": {"", "stages", "boards", "examiners", "guidelines", "operations", "screens"},
}
"""Rooms of ``flows``; "" holds the flows themselves. The command line may import all of them."""
ONLY_IN = {
    "prefect": {"gre_bench.tasks.steps", "flows"},
    "duckdb": {"gre_bench.store", "gre_bench.release"},
    "torch": {"gre_bench.lm", "gre_bench.tuning"},
    "transformers": {"gre_bench.lm", "gre_bench.tuning"},
    "peft": {"gre_bench.lm", "gre_bench.tuning"},
    "sentence_transformers": {"gre_bench.lm"},
    "nltk": {"gre_bench.metrics"},
    "rouge_score": {"gre_bench.metrics"},
    "bitsandbytes": {"gre_bench.lm", "gre_bench.tuning"},
    "altair": {
        "gre_bench.guidelines",
        "gre_bench.metrics",
        "gre_bench.release",
        "gre_bench.tuning",
        "gre_bench.studies.simulations",
    },
    "pandas": {"gre_bench.ingest"},
    "pymupdf": {"gre_bench.ingest"},
    "jinja2": {"gre_bench.release"},
    "yaml": {"gre_bench.guidelines"},
    "openai": {"gre_bench.writing"},
    "httpx2": {"gre_bench.lm", "gre_bench.writing", "gre_bench.http.body_limits"},
    "openreview": {"gre_bench.ingest"},
    "requests": {"gre_bench.ingest"},
}


def modules() -> list[Path]:
    return sorted([*(ROOT / "tasks").rglob("*.py"), *(ROOT / "flows").rglob("*.py")])


def room(path: Path) -> str:
    """``gre_bench.lm`` for a file in that folder, ``gre_bench.stats`` for a module beside it, ``flows`` for any flow."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return "flows" if parts[0] == "flows" else ".".join(parts[:2])


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            names |= {
                f"{node.module}.{alias.name}" if node.module in ("tasks", "flows") else node.module
                for alias in node.names
            }
    return names


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_what_its_room_may(path):
    here = room(path)
    if here == "tasks.__init__":
        return
    for name in imported(path):
        top = name.split(".")[0]
        if top in ("tasks", "flows"):
            target = "flows" if top == "flows" else ".".join(name.split(".")[:2])
            assert target == here or target in MAY_IMPORT[here], f"{here} imports {target}"
        elif top in ONLY_IN:
            assert here in ONLY_IN[top], f"{here} imports {top}"


@pytest.mark.parametrize("path", sorted((ROOT / "flows").rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_part_of_the_flows_imports_only_what_it_may(path):
    rooms = {folder.name for folder in (ROOT / "flows").iterdir()}
    here = path.parent.name if path.parent.name in FLOWS_MAY_IMPORT else ""
    if path.name == "cli.py":
        return
    for name in imported(path):
        top, _, rest = name.partition(".")
        if top == "flows":
            target = rest.split(".")[0] if rest.split(".")[0] in rooms else ""
            assert target in FLOWS_MAY_IMPORT[here] | {here}, f"{path.name} in {here or 'flows'} imports {name}"


def tracked() -> list[Path]:
    found = subprocess.run(["git", "ls-files"], cwd=ROOT, text=True, capture_output=True)
    if found.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / line for line in found.stdout.splitlines() if (ROOT / line).is_file()]


def test_no_file_can_run_code_when_it_is_loaded():
    names = [path.name for path in tracked()]
    assert not [name for name in names if name.endswith((".pkl", ".pickle", ".pt", ".pth", ".bin", ".npz", ".joblib"))]
    for path in modules():
        text = path.read_text()
        assert "import pickle" not in text, path
        assert "trust_remote_code=True" not in text, path


def test_sql_stands_in_files_only():
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not node.value.lower().lstrip().startswith(("select ", "insert into", "delete from")), path

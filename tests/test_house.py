"""The structure of the house: who may import whom, and what no file may hold."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

GROUND = {"tasks.records", "tasks.errors"}
FIRST = GROUND | {
    "tasks.settings",
    "tasks.stats",
    "tasks.judgments",
    "tasks.controls",
    "tasks.prompts",
    "tasks.review_text",
    "tasks.replies",
    "tasks.changes",
    "tasks.models",
    "tasks.domains",
    "tasks.published",
    "tasks.comparison",
    "tasks.exposure",
    "tasks.standings",
    "tasks.hygiene",
    "tasks.patience",
    "tasks.endpoints",
    "tasks.body_limits",
    "tasks.masking",
    "tasks.pretrained",
    "tasks.known_names",
}
ROOMS = {"tasks.lm", "tasks.corpus", "tasks.examiners", "tasks.guidelines", "tasks.metrics", "tasks.release", "tasks.tuning", "tasks.worlds", "tasks.writing"}
MAY_IMPORT = {
    "tasks.records": set(),
    "tasks.errors": set(),
    "tasks.settings": GROUND | {"tasks.judgments", "tasks.pretrained"},
    "tasks.pretrained": GROUND,
    "tasks.known_names": GROUND,
    "tasks.stats": GROUND,
    "tasks.judgments": GROUND,
    "tasks.controls": GROUND,
    "tasks.prompts": FIRST,
    "tasks.lm": FIRST,
    "tasks.corpus": FIRST | {"tasks.lm"},
    "tasks.examiners": FIRST | {"tasks.lm"},
    "tasks.guidelines": FIRST,
    "tasks.metrics": FIRST | {"tasks.lm", "tasks.examiners"},
    "tasks.release": FIRST | {"tasks.store"},
    "tasks.tuning": FIRST | {"tasks.lm"},
    "tasks.worlds": FIRST | {"tasks.lm", "tasks.metrics"},
    "tasks.writing": FIRST,
    "tasks.replies": GROUND | {"tasks.judgments"},
    "tasks.models": GROUND | {"tasks.settings", "tasks.endpoints"},
    "tasks.domains": GROUND | {"tasks.settings", "tasks.judgments", "tasks.prompts", "tasks.changes"},
    "tasks.review_text": GROUND,
    "tasks.changes": GROUND | {"tasks.judgments", "tasks.review_text", "tasks.replies", "tasks.controls"},
    "tasks.published": GROUND | {"tasks.settings"},
    "tasks.exposure": GROUND | {"tasks.models", "tasks.prompts"},
    "tasks.hygiene": GROUND | {"tasks.stats", "tasks.standings"},
    "tasks.standings": GROUND | {"tasks.stats"},
    "tasks.patience": set(),
    "tasks.endpoints": GROUND,
    "tasks.body_limits": set(),
    "tasks.masking": set(),
    "tasks.comparison": GROUND | {"tasks.published"},
    "tasks.store": FIRST,
    "tasks.steps": FIRST | ROOMS,
    "flows": FIRST | ROOMS | {"tasks.store", "tasks.steps", "tasks", "flows"},
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
    "prefect": {"tasks.steps", "flows"},
    "duckdb": {"tasks.store", "tasks.release"},
    "torch": {"tasks.lm", "tasks.tuning"},
    "transformers": {"tasks.lm", "tasks.tuning"},
    "peft": {"tasks.lm", "tasks.tuning"},
    "sentence_transformers": {"tasks.lm"},
    "nltk": {"tasks.metrics"},
    "rouge_score": {"tasks.metrics"},
    "bitsandbytes": {"tasks.lm", "tasks.tuning"},
    "altair": {"tasks.guidelines", "tasks.metrics", "tasks.release", "tasks.tuning", "tasks.worlds"},
    "pandas": {"tasks.corpus"},
    "pymupdf": {"tasks.corpus"},
    "jinja2": {"tasks.release"},
    "yaml": {"tasks.guidelines"},
    "openai": {"tasks.writing"},
    "httpx2": {"tasks.lm", "tasks.writing", "tasks.body_limits"},
    "openreview": {"tasks.corpus"},
    "requests": {"tasks.corpus"},
}


def modules() -> list[Path]:
    return sorted([*(ROOT / "tasks").rglob("*.py"), *(ROOT / "flows").rglob("*.py")])


def room(path: Path) -> str:
    """``tasks.lm`` for a file in that folder, ``tasks.stats`` for a module beside it, ``flows`` for any flow."""
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

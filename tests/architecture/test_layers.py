"""What import contracts (`make lint`) cannot say: they cover every room, all names lie in the package, no file is code."""

from __future__ import annotations

import ast
import subprocess
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from tests.architecture.syntax import nodes
from tests.conftest import ROOT

LINKS = {"data", "deployments", "flows", "sql", "tasks"}
MOST_FILES = 22
"""Modules in one folder, before it is two rooms."""
MOST_PATHS = 30
"""Cyclomatic complexity of a function, where radon's grade E begins; ruff's C901 leaves out ``and`` and ``or``."""


def modules(*folders: str) -> list[Path]:
    return sorted(
        path for folder in folders or ("gre_bench", "flows", "tasks") for path in (ROOT / folder).rglob("*.py")
    )


def imported(path: Path) -> set[str]:
    names = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            names.add(node.module or "")
    return names


def test_flows_and_tasks_are_imported_by_the_one_name_that_is_installed():
    paths = modules("gre_bench", "flows", "tasks", "tests", "deployments")
    assert len(paths) > 600
    found = [(path, name) for path in paths for name in imported(path)]
    assert not [(path, name) for path, name in found if name.split(".")[0] in LINKS - {"deployments"}]


def test_what_is_installed_imports_no_test():
    paths = modules("gre_bench", "flows", "tasks", "deployments")
    assert not [path for path in paths if any(name.partition(".")[0] == "tests" for name in imported(path))]


def test_the_folders_beside_the_package_lie_in_it_as_links():
    links = {path.name: path.readlink() for path in (ROOT / "gre_bench").iterdir() if path.is_symlink()}
    assert links == {name: Path("..", name) for name in LINKS | {"constraints.txt"}}


def test_every_room_has_its_place_in_the_import_contracts():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    placed = {name.strip() for layer in contracts[0]["layers"] for name in layer.replace("|", ":").split(":")}
    rooms = {path.parent for path in (ROOT / "gre_bench").glob("*/__init__.py")}
    lacking = {path.name for path in rooms if f"gre_bench.{path.name}" not in placed}
    assert lacking == {"studies"}, "its parts have places of their own"
    parts = {path.stem for path in (ROOT / "gre_bench" / "studies").iterdir() if not path.name.startswith("_")}
    assert {f"gre_bench.studies.{name}" for name in parts} <= placed


def test_no_folder_holds_more_modules_than_one_takes_in():
    counts = Counter(path.parent for path in modules() if path.name != "__init__.py")
    assert {folder: count for folder, count in counts.items() if count > MOST_FILES} == {}


def test_flows_hold_flows_and_tasks_hold_tasks():
    for path in modules("flows"):
        assert path.name == "__init__.py" or "@flow(" in path.read_text(encoding="utf-8"), path


def test_no_file_can_run_code_when_it_is_loaded():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, text=True, capture_output=True)
    if tracked.returncode:
        pytest.skip("not a git checkout")
    kinds = (".pkl", ".pickle", ".pt", ".pth", ".bin", ".npz", ".joblib")
    assert not [line for line in tracked.stdout.splitlines() if line.endswith(kinds) and (ROOT / line).is_file()]


def test_sql_stands_in_files_only():
    for path in modules():
        for node in nodes(path):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not node.value.lower().lstrip().startswith(("select ", "insert into", "delete from")), path


def complexity(function: ast.AST) -> int:
    """McCabe's number as radon counts it: decisions, conditions, loops, handlers and cases, and one."""
    found = 1
    for node in ast.walk(function):
        match node:
            case ast.If() | ast.IfExp() | ast.For() | ast.While() | ast.Assert() | ast.Lambda() | ast.ExceptHandler():
                found += 1
            case ast.BoolOp(values=values):
                found += len(values) - 1
            case ast.comprehension(ifs=ifs):
                found += len(ifs) + 1
            case ast.match_case(pattern=pattern):
                found += not (isinstance(pattern, ast.MatchAs) and pattern.pattern is None)
    return found


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("def f(): return 1", 1),
        ("def f(a, b): return a and b or 1", 3),
        ("def f(a):\n if a:\n  return [x for x in a if x]\n elif a is None:\n  pass", 5),
    ],
)
def test_complexity_counts_as_radon_does(text, number):
    assert complexity(ast.parse(text).body[0]) == number


def test_no_function_has_more_paths_than_one_follows():
    over = {}
    for path in modules():
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef) and (found := complexity(node)) > MOST_PATHS:
                over[f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"] = found
    assert over == {}


def test_no_class_name_means_three_things():
    places = defaultdict(list)
    for path in modules():
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(ROOT)))
    assert {name: where for name, where in places.items() if len(where) > 2} == {}


def test_no_parameter_is_called_run_and_typed_any():
    for path in modules():
        for node in nodes(path):
            if isinstance(node, ast.arg) and node.arg in ("run", "steps", "store", "_run") and node.annotation:
                assert ast.unparse(node.annotation) != "Any", f"{path}:{node.lineno}"


def test_the_type_checker_reads_every_folder_of_the_package_where_it_lies():
    """It follows no symlink, so a folder that is linked into the package has to be named."""
    given = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pyrefly"]["project-includes"]
    checked = {pattern.split("/")[0] for pattern in given}
    linked = {link.name for link in (ROOT / "gre_bench").iterdir() if link.is_symlink() and any(link.glob("*.py"))}
    assert linked - {"data"} <= checked


def test_one_module_opens_every_connection_to_a_database():
    """`sandbox` opens the user's own query, by itself: it imports nothing of this package."""
    opening = {ROOT / "gre_bench" / "store" / name for name in ("database.py", "sandbox.py")}
    found = []
    for path in set(modules()) - opening:
        for node in nodes(path):
            called = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "duckdb"
            if (called and node.attr.islower()) or (isinstance(node, ast.ImportFrom) and node.module == "duckdb"):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert found == []
    assert all("enable_external_access" in path.read_text() for path in opening)

"""What an installation brings: every package of the default install is locked to one version, within what is asked for."""

from __future__ import annotations

import ast
import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.architecture.syntax import nodes
from tests.conftest import ROOT
from tests.flows.refreshing import refreshed

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCKED = {
    canonicalize_name(name): version
    for name, version in re.findall(r"^([A-Za-z0-9._-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
}
CODE = sorted(
    path for folder in ("gre_bench", "flows", "tasks", "deployments") for path in (ROOT / folder).rglob("*.py")
)
PICKLES = {"pickle", "_pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
RUNS_CODE = re.compile(r"(Auto\w+\.from_pretrained|SentenceTransformer)")
"""Calls that run code which a model brings, unless they are told not to."""


def brought(texts: list[str], extra: str = "") -> dict[str, list[Requirement]]:
    """Every package that these requirements bring here, directly or not, with all that is asked of its version."""
    found: dict[str, list[Requirement]] = {}
    due = [(Requirement(text), extra) for text in texts]
    while due:
        wanted, extra = due.pop()
        if wanted.marker and not wanted.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(wanted.name)
        asked = found.setdefault(name, [])
        if any(str(wanted) == str(known) for known in asked):
            continue
        asked.append(wanted)
        try:
            more = requires(name) or []
        except PackageNotFoundError:
            continue
        due += [(Requirement(text), each) for text in more for each in (wanted.extras or {""})]
    return found


def test_every_package_of_the_default_install_is_locked():
    found = brought(PROJECT["dependencies"])
    assert len(found) > 100
    assert sorted(found.keys() - LOCKED.keys()) == []


def test_a_locked_version_is_one_that_everything_takes():
    for name, asked in brought(PROJECT["dependencies"]).items():
        for wanted in asked:
            assert wanted.specifier.contains(LOCKED[name], prereleases=True), f"{name} {LOCKED[name]}: {wanted}"


def test_a_lock_is_one_exact_version_from_the_registry():
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", line)] == []
    assert len(lines) == len(LOCKED), "a package is locked twice"


def lock_of(name: str) -> dict[str, tuple[str, list[str]]]:
    """Version and hashes of each package of a lock file with hashes."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    found = re.findall(
        r"^([A-Za-z0-9._-]+)==([^ ;]+)[^\n]*((?:\n +--hash=sha256:[0-9a-f]{64}(?: \\)?)*)", text, re.MULTILINE
    )
    blocks = {canonicalize_name(one): (version, re.findall(r"sha256:(\w+)", hashes)) for one, version, hashes in found}
    assert len(blocks) == len(re.findall(r"^[A-Za-z]", text, re.MULTILINE)), "a line that is no locked package"
    return blocks


@pytest.mark.parametrize("name", ["build", "base", "test", "lint", "torch", "torch-cpu"])
def test_a_lock_file_has_the_version_of_the_constraints_and_hashes_for_each_package(name):
    for package, (version, hashes) in lock_of(name).items():
        assert hashes and len(hashes) == len(set(hashes)), package
        assert LOCKED.get(package, version) == version.removesuffix("+cpu"), package


def test_the_lock_files_hold_all_that_an_installation_takes():
    base, test = lock_of("base").keys(), lock_of("test").keys()
    assert brought(PROJECT["dependencies"]).keys() <= base <= test and "setuptools" in base
    extras = PROJECT["optional-dependencies"]
    wanted = brought([text for name in ("test", "lm") for text in extras[name] if "gre-bench" not in text])
    torch = lock_of("torch").keys()
    assert wanted.keys() <= test | torch and not test & torch and lock_of("torch-cpu").keys() == {"torch"}
    assert {name.split("-")[0] for name in torch} == {"cuda", "nvidia", "torch", "triton"}


def test_make_installs_what_is_locked_and_nothing_else():
    lines = [line for line in (ROOT / "Makefile").read_text().splitlines() if "pip install" in line or "$(PIP)" in line]
    own = [line for line in lines if not re.search(r"TOOLS|VLLM|^PIP ", line)]
    assert own and all("--no-deps" in line and "--no-build-isolation" in line for line in own), own
    assert [line for line in own if "--require-hashes" not in line] == [
        "OWN    := $(PIP) --no-deps --no-build-isolation -e ."
    ]


def test_no_module_reads_or_writes_a_pickle():
    for path in CODE:
        for node in nodes(path):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not PICKLES & {name.split(".")[0] for name in names}, path
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                called, given = ast.unparse(node.func), {word.arg: ast.unparse(word.value) for word in node.keywords}
                assert called not in ("torch.load", "torch.save"), path
                if called in ("numpy.load", "np.load", "numpy.save", "np.save", "numpy.savez", "np.savez"):
                    assert given.get("allow_pickle") == "False", path


def test_no_module_lets_a_model_bring_code():
    """A call says so itself, or by what it is given with ``**``, of which its module says so."""
    seen = 0
    for path in CODE:
        text = path.read_text()
        for node in nodes(path):
            if isinstance(node, ast.Call) and RUNS_CODE.fullmatch(ast.unparse(node.func)):
                seen += 1
                given = {word.arg: ast.unparse(word.value) for word in node.keywords}
                told = given.get("trust_remote_code") == "False"
                assert told or (None in given and '"trust_remote_code": False' in text), (path, node.lineno)
    assert seen > 4


def test_no_file_that_a_refresh_leaves_is_a_pickle(tmp_path):
    files = [path for path in refreshed(tmp_path).rglob("*") if path.is_file()]
    assert len(files) > 5
    begins = {path: path.read_bytes()[:2] for path in files}
    assert not [path for path, two in begins.items() if two[:1] == b"\x80" and two[1:] <= b"\x05"]

"""What an installation brings: every package of the default install is locked to one version, within what is asked for."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCKED = {
    canonicalize_name(name): version
    for name, version in re.findall(r"^([A-Za-z0-9._-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
}


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

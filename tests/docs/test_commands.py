"""Every command block of the README and the site: it runs on the sample edition, or says why it does not."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from gre_bench.catalogs.models import Model
from gre_bench.core import settings
from gre_bench.core.metrics import METRICS
from gre_bench.lm.opening import BACKENDS
from gre_bench.perturbations.by_name import PERTURBATIONS
from gre_bench.prompts.library import ADDED
from gre_bench.reports.contrasts import PlannedContrast
from tests.cli.calling import call
from tests.conftest import ROOT
from tests.docs.blocks import PAGES, Block, blocks
from tests.once import once
from tests.snapshots import make_sample

KINDS = {"sh", "python", "sql", "text", "toml", "toml models", "toml contrasts"}
ALL = [block for page in PAGES for block in blocks(page)]
RUN = {
    page.stem: [block for block in blocks(page) if (block.kind in ("sh", "python") or block.file) and not block.reason]
    for page in PAGES
}


def test_every_block_says_what_it_is_and_if_it_is_not_run_why():
    assert {block.kind for block in ALL} <= KINDS
    assert sum(block.text.count("\n") for block in ALL if block.reason is None) > 40
    for page in PAGES:
        assert page.read_text().count("\n```") == 2 * len(blocks(page)), f"{page.name}: a block is not closed"
    for block in ALL:
        if block.reason is not None:
            assert block.kind in ("sh", "python") and len(block.reason.split()) >= 2, block


def test_no_line_of_a_block_is_wider_than_a_terminal():
    assert not [f"{block.page.name}: {line}" for block in ALL for line in block.text.splitlines() if len(line) > 80]


def test_targets_settings_and_models_that_are_shown_are_taken():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    for block in ALL:
        if block.kind == "sh":
            made = [target for words in block.commands if words[0] == "make" for target in words[1:]]
            assert {*made} <= {*targets}, f"{block.page.name}: make {made}"
        elif block.kind == "toml" and not block.file:
            settings.parse_settings(tomllib.loads(block.text), block.page.name)
        elif block.kind == "toml models":
            for entry in tomllib.loads(block.text).get("model", ()):
                Model.model_validate(entry)
        elif block.kind == "toml contrasts":
            for entry in tomllib.loads(block.text)["contrast"]:
                PlannedContrast.model_validate(entry)


@pytest.mark.parametrize("page", [page for page, found in RUN.items() if found])
def test_the_blocks_of_a_page_run_one_after_the_other(page, tmp_path, monkeypatch):
    """In a folder as ``make demo`` leaves it."""
    shutil.copytree(once("sample-demo", make_sample), tmp_path / "state", symlinks=True)
    for name in ("data", "deployments"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path / "installed")
    for block in RUN[page]:
        run(block)
    forget_additions()


def forget_additions() -> None:
    """What installed packages add is looked up anew from here on."""
    for catalogue in (METRICS, PERTURBATIONS, BACKENDS, ADDED):
        vars(catalogue).pop("added", None)


def run(block: Block) -> None:
    if block.file:
        Path(block.file).parent.mkdir(exist_ok=True)
        Path(block.file).write_text(block.text, encoding="utf-8")
        return
    if block.kind == "python":
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(block.text, block.page.name, "exec"), {})
        return
    for words in block.commands:
        if words[0] == "gre-bench":
            code, _, said = call(*words[1:])
        elif words[:3] == ["pip", "install", "--editable"]:
            options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", "installed"]
            done = subprocess.run(
                [sys.executable, "-m", "pip", "install", *options, *words[3:]], text=True, capture_output=True
            )
            code, said = done.returncode, done.stderr
            forget_additions()
        else:
            assert words[:2] == ["python", "-m"], f"{block.page.name}: nothing here runs {words[0]}"
            done = subprocess.run([sys.executable, *words[1:]], cwd=ROOT, text=True, capture_output=True)
            code, said = done.returncode, done.stderr
        assert code == 0, f"{block.page.name}: {' '.join(words)}: {said}"

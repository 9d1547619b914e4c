"""The tests of a GPU need torch, transformers and pytest, and none of what the pipeline is made of."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT

PIPELINE = ("prefect", "duckdb", "pandas", "pyarrow", "openreview", "pymupdf", "hypothesis")
CHILD = f"""
import sys
sys.modules.update(dict.fromkeys({PIPELINE!r}))
import tests.conftest, tests.lm.test_cuda
print(tests.lm.test_cuda.DEVICE)
"""


def test_the_tests_of_a_gpu_are_collected_where_the_pipeline_is_not_installed() -> None:
    pytest.importorskip("torch", reason="the evaluation LM needs the extra `lm`")
    child = subprocess.run([sys.executable, "-c", CHILD], cwd=ROOT, capture_output=True, text=True)
    assert (child.returncode, child.stdout.split()) == (0, ["cuda"]), child.stderr

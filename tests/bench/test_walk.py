"""Tests that the call path of one score does not grow longer."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.bench.walk import STEPS
from tests.conftest import ROOT

FUNCTIONS, ROOMS = 25, 8


def test_one_score_goes_from_a_file_to_the_screen_through_few_functions():
    command = [sys.executable, "-m", "tests.bench.walk"]
    found = subprocess.run(command, cwd=ROOT, text=True, capture_output=True)
    assert found.returncode == 0, found.stderr
    assert set(re.findall(r"^\* (\S+)$", found.stdout, re.M)) == set(STEPS)
    counted = re.search(r"^(\d+) functions in (\d+) rooms", found.stdout, re.M)
    assert counted and int(counted[1]) <= FUNCTIONS and int(counted[2]) <= ROOMS, found.stdout

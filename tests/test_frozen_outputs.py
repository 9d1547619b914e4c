"""What users see does not change while code only moves."""

from __future__ import annotations

import shutil

from tests import frozen_outputs
from tests.once import once


def test_helps_screens_release_and_texts_of_pdfs_are_those_of_the_file(tmp_path):
    shutil.copytree(once("sample-demo", frozen_outputs.make_sample), tmp_path / "state", symlinks=True)
    now = frozen_outputs.outputs(tmp_path / "state", tmp_path / "out")
    assert frozen_outputs.differences(now) == [], "read the difference, then: python -m tests.frozen_outputs --write"
    assert frozen_outputs.differences(now | {"help": "0"}) == ["help: changed"]
    assert frozen_outputs.differences({name: now[name] for name in now if name != "help"}) == ["help: gone"]

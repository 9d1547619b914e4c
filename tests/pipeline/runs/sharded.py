"""The scripted evaluation LM for workers in other processes: imported as they start, it makes itself known there.

The environment says how it behaves: SCRIPTED_PIDS names a folder in which each process that scores leaves its id,
SCRIPTED_OPENING a file that it writes when it is opened, which then takes for ever,
SCRIPTED_DEATH a file whose absence makes the process that scores `DOOMED` write it and die at once.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

from gre_bench.core.errors import SpanError
from gre_bench.core.records import Prediction, SpanLogprob
from gre_bench.lm import opening
from tests.conftest import SIXTEEN
from tests.scripted_lms import OverlapLM

DOOMED = "s05"
"""The paper that is fatal to the process that scores it."""

_PAPERS = (SIXTEEN / "papers.jsonl").read_text().splitlines()
_FATAL = next(paper["abstract"] for paper in map(json.loads, _PAPERS) if paper["paper_id"] == DOOMED)


class WorkerLM(OverlapLM):
    def __init__(self) -> None:
        super().__init__(pause_s=float(os.environ.get("SCRIPTED_LM_PAUSE_S", "0")))
        if opening := os.environ.get("SCRIPTED_OPENING"):
            Path(opening).touch()
            time.sleep(3600)

    def logprob(self, predictions: Sequence[Prediction]) -> list[SpanLogprob | SpanError]:
        if folder := os.environ.get("SCRIPTED_PIDS"):
            (Path(folder) / str(os.getpid())).touch()
        death = os.environ.get("SCRIPTED_DEATH")
        if death and not Path(death).exists() and any(_FATAL in (item.synopsis or "") for item in predictions):
            Path(death).touch()
            os._exit(9)
        return super().logprob(predictions)


opening.BACKENDS.own["scripted"] = lambda _settings: WorkerLM()

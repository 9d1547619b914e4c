"""The board of a year made from a loopback OpenReview, with a roster whose one model is a scripted chat server."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from gre_bench.core.metrics import find_recipe
from gre_bench.core.settings import EvaluationLMSettings, ScoringSettings, ValidationSettings, load
from gre_bench.ingest.openreview import fetching
from gre_bench.lm.opening import open_lm
from gre_bench.metrics.scoring import build_signature
from gre_bench.pipeline.training_overlap import TrainingOverlap
from gre_bench.pipeline.validation_records import write_validation_record
from gre_bench.reports.yearly import YearJob, make_yearly_board, year_job
from gre_bench.stats.effects import Verdict
from gre_bench.writing.rules.writer import RuleTextWriter
from tests.flows.fetching import LOGIN, QUICK, without_waits
from tests.servers.chat import MODEL

ON = date(2026, 6, 1)
"""A day on which 2026 is the sample's newest year."""
ROSTER = """
about = "One model, made for the tests."
controls = ["extractive-full"]
{models}
[writing]
judgments = "{judgments}"
models = "models.toml"

[scoring]
metrics = ["gem_s_abstract"]
"""
LM = f'[[model]]\nname = "{{name}}"\nendpoint = "{{url}}"\nmodel = "{MODEL}"\n'


def roster(folder: Path, url: str, models: str = '[[model]]\nname = "scripted"\n', judgments: str = "rule") -> str:
    """The file of a roster, with its models file beside it."""
    stand_ins(folder, url, ["scripted"])
    (folder / "roster.toml").write_text(ROSTER.format(models=models, judgments=judgments))
    return str(folder / "roster.toml")


def stand_ins(folder: Path, url: str, names: Sequence[str]) -> Path:
    """A models file whose models are all the one at *url*."""
    file = folder / "models.toml"
    file.write_text("".join(LM.format(name=name, url=url) for name in names))
    return file


def records(folder: Path, edition: str, verdicts: Mapping[str, Verdict]) -> Path:
    """A folder of validation records, as they could ship: metric → verdict by ``cache-ngram``, judgments by rule."""
    lm, scoring, rule = open_lm(EvaluationLMSettings()).identity, ScoringSettings(), RuleTextWriter("rule")
    for metric, verdict in verdicts.items():
        signed = build_signature(find_recipe(metric), lm, scoring, rule.identity("judgments"), rule.identity("assw"))
        row = {"papers": 289, "d": 0.0, "made_by": "rule"}
        effects = [
            {"change": "generic", "verdict": "pass"} | row,
            {"change": "abstract_only", "verdict": verdict} | row,
        ]
        write_validation_record(folder, edition, signed, effects, [], ValidationSettings(), TrainingOverlap(0, {}))
    return folder / "validations"


def job(
    host: str | None, named: str | None, state: Path, *overrides: str, on: date = ON, year: int | None = None
) -> YearJob:
    """The job of the sample's board of the year that is the newest *on* a day."""
    os.environ |= LOGIN
    fetching._open_session.cache_clear()
    asked = (f"fetch.host={host}",) if host else ()
    more = (f"roster={named}",) if named else ()
    chosen = load(None, (*more, *asked, *QUICK, "edition.papers=6", *overrides))
    return year_job("SAMPLE", None, year, chosen, state, False, False, on)


def made(*asked: Any, **more: Any) -> dict[str, Any]:
    """The summary of a board made without the Prefect engine."""
    with without_waits():
        return make_yearly_board(job(*asked, **more))


def make_until(host: str, named: str, state: str, stage: str, overrides: tuple[str, ...]) -> None:
    """Makes the board in this process, and is killed where *stage* is about to begin."""
    import signal

    from gre_bench.reports import yearly

    def killed(job: YearJob) -> dict[str, Any]:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    yearly.STAGES[stage] = killed
    made(host, named, Path(state), *overrides)

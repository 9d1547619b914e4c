"""Known answers: the product's own scoring and intervals in worlds whose information is exact.

Trials hold intervals and orders against the truth (Xu et al. 2025, Prop. 3.1, Prop. B.1); learning curves show how far
learnt evaluation LMs are from it. Worlds are independent, so they are shared out over processes.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import active_children, get_context
from typing import Any

from gre_bench.core.metrics import METRICS as CATALOG
from gre_bench.core.records import Case
from gre_bench.core.settings import ScoringSettings
from gre_bench.lm.protocol import EvaluationLM
from gre_bench.metrics.logprobs import LogprobMetric
from gre_bench.studies.learning_curves import learning_curve, lessons, taught
from gre_bench.studies.simulations import findings
from gre_bench.studies.simulations.trial import Trial, try_world

CHUNK = 20

OnDone = Callable[[int, int], None]
"""Told how much of all the work is done."""


def known_answers(
    worlds: int = 2000,
    papers: int = 300,
    seed: int = 0,
    processes: int | None = None,
    learn: bool = True,
    on_done: OnDone = lambda done, due: None,
) -> dict[str, Any]:
    """All findings as rows: exactness, coverage, ordering, chance, bias. The same numbers whatever the *processes*."""
    seeds = range(seed * 1_000_000, seed * 1_000_000 + worlds)
    chunks = [(seeds[start : start + CHUNK], papers) for start in range(0, worlds, CHUNK)]
    due = lessons(seeds.start) if learn else []
    jobs = [*((taught, lesson) for lesson in due), *((tried, *chunk) for chunk in chunks)]
    taught_rows, trials = [], []
    # Long lessons first, so that no process is left alone with one at the end.
    for done, (place, found) in enumerate(_run(jobs, processes or os.cpu_count() or 1), 1):
        if place < len(due):
            taught_rows.append((place, found))
        else:
            trials += found
        on_done(done, len(jobs))
    trials.sort(key=lambda trial: trial.seed)
    rows = [row for _, found in sorted(taught_rows, key=lambda pair: pair[0]) for row in found]
    return {
        "worlds": worlds,
        "papers": papers,
        "seed": seed,
        "exactness": findings.exactness(trials),
        "coverage": findings.coverage(trials),
        "ordering": findings.ordering(trials),
        "chance": findings.against_chance(trials),
        "bias": learning_curve(rows),
    }


def score_cases(metric: str, lm: EvaluationLM, cases: Sequence[Case]) -> list[float]:
    """Values of *metric* for *cases* by the product's scoring; a case without one is a fault here."""
    scores = LogprobMetric(CATALOG[metric], lm, ScoringSettings(), "known-answers").score(cases)
    if missing := next((score for score in scores if score.value is None), None):
        raise RuntimeError(f"a case of a known world has no score: {missing.problem}")
    return [score.value for score in scores if score.value is not None]


def tried(seeds: Sequence[int], papers: int) -> list[Trial]:
    """One trial for each seed."""
    return [try_world(seed, papers, score_cases) for seed in seeds]


def _run(jobs: Sequence[tuple[Any, ...]], processes: int) -> Iterator[tuple[int, Any]]:
    """The place of each of *jobs*, (function, *arguments*), and what it gave, as they end."""
    if processes == 1:
        yield from ((place, job[0](*job[1:])) for place, job in enumerate(jobs))
        return
    others = set(active_children())
    pool = ProcessPoolExecutor(processes, get_context("spawn"), _leave_stopping_to_the_parent)
    try:
        places = {pool.submit(*job): place for place, job in enumerate(jobs)}
        for future in as_completed(places):
            yield places[future], future.result()
    except BaseException:
        # A lesson lasts many seconds: whoever stops the run does not wait for it.
        for child in set(active_children()) - others:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _leave_stopping_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)

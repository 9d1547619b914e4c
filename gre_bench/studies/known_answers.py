"""Checks the benchmark's scoring and intervals in simulations whose information is known exactly.

Trials compare intervals and orders of candidates with the truth (Xu et al. 2025, Prop. 3.1, Prop. B.1). Learning curves
show how far the scores of trained evaluation LMs are from the truth. Simulations are independent, so several processes
compute them.
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
from gre_bench.metrics.scoring import LogprobMetric
from gre_bench.studies.learning_curves import learning_curve, lessons, taught
from gre_bench.studies.simulations import findings
from gre_bench.studies.simulations.trial import Trial, run_trial

CHUNK = 20

OnDone = Callable[[int, int], None]
"""A function called with the number of finished jobs and of all jobs."""


def known_answers(
    simulations: int = 2000,
    papers: int = 300,
    seed: int = 0,
    processes: int | None = None,
    learn: bool = True,
    on_done: OnDone = lambda done, due: None,
) -> dict[str, Any]:
    """Runs *simulations* trials of *papers* papers each; returns all results as rows.

    The keys of the results are exactness, coverage, ordering, chance and bias.

    - *learn*: whether to compute learning curves too.
    - *processes*: how many processes compute; None means one per core. The results do not depend on this number.
    - *on_done*: called after each finished job with the numbers of jobs done and due.
    """
    seeds = range(seed * 1_000_000, seed * 1_000_000 + simulations)
    chunks = [(seeds[start : start + CHUNK], papers) for start in range(0, simulations, CHUNK)]
    due = lessons(seeds.start) if learn else []
    jobs = [*((taught, lesson) for lesson in due), *((trials_of, *chunk) for chunk in chunks)]
    taught_rows, trials = [], []
    # Long lessons first, so that none runs alone at the end.
    for done, (index, result) in enumerate(_run(jobs, processes or os.cpu_count() or 1), 1):
        if index < len(due):
            taught_rows.append((index, result))
        else:
            trials += result
        on_done(done, len(jobs))
    trials.sort(key=lambda trial: trial.seed)
    rows = [row for _, result in sorted(taught_rows, key=lambda pair: pair[0]) for row in result]
    return {
        "simulations": simulations,
        "papers": papers,
        "seed": seed,
        "exactness": findings.exactness(trials),
        "coverage": findings.coverage(trials),
        "ordering": findings.ordering(trials),
        "chance": findings.against_chance(trials),
        "bias": learning_curve(rows),
    }


def score_cases(metric: str, lm: EvaluationLM, cases: Sequence[Case]) -> list[float]:
    """Returns the values of *metric* for *cases*, in nats, by the benchmark's own scoring.

    Raises RuntimeError if a case has no value.
    """
    scores = LogprobMetric(CATALOG[metric], lm, ScoringSettings(), "known-answers").score(cases)
    if missing := next((score for score in scores if score.value is None), None):
        raise RuntimeError(f"a case of a known simulation has no score: {missing.problem}")
    return [score.value for score in scores if score.value is not None]


def trials_of(seeds: Sequence[int], papers: int) -> list[Trial]:
    """Returns one trial, of *papers* papers, for each of *seeds*."""
    return [run_trial(seed, papers, score_cases) for seed in seeds]


def _run(jobs: Sequence[tuple[Any, ...]], processes: int) -> Iterator[tuple[int, Any]]:
    """Calls each of *jobs* in *processes* processes. A job is a tuple of a function and its arguments.

    Yields (index of the job, its result) in order of completion. If the caller stops iterating, the processes are
    ended.
    """
    if processes == 1:
        yield from ((index, job[0](*job[1:])) for index, job in enumerate(jobs))
        return
    others = set(active_children())
    pool = ProcessPoolExecutor(processes, get_context("spawn"), _leave_stopping_to_the_parent)
    try:
        index_of = {pool.submit(*job): index for index, job in enumerate(jobs)}
        for future in as_completed(index_of):
            yield index_of[future], future.result()
    except BaseException:
        # A lesson takes many seconds; a stopped run must not wait for it.
        for child in set(active_children()) - others:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _leave_stopping_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)

"""Checks the benchmark's scoring and intervals in simulations whose information is known exactly.

Trials compare intervals and orders of candidates with the truth (Xu et al. 2025, Prop. 3.1, Prop. B.1). Learning curves
show the bias of evaluation LMs trained on a simulation, by number of training papers. Simulations are independent, so
several processes compute them.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import active_children, get_context
from typing import Any

from gre_bench.core.errors import GreBenchError
from gre_bench.core.metrics import METRICS as CATALOG
from gre_bench.core.records import Case
from gre_bench.core.settings import ScoringSettings
from gre_bench.lm.protocol import EvaluationLM
from gre_bench.metrics.scoring import LogprobMetric
from gre_bench.studies.simulations import findings
from gre_bench.studies.simulations.known_lm import bias, counted_lm
from gre_bench.studies.simulations.simulation import random_simulation, sample_papers
from gre_bench.studies.simulations.trial import METRICS, Trial, run_trial

COUNTED_PAPERS = (10, 30, 100, 300, 1000, 3000, 10_000)
NGRAM_PAPERS = (60, 200, 600)
COUNTED_SIMULATIONS, NGRAM_SIMULATIONS = 40, 3
CHUNK = 20

OnDone = Callable[[int, int], None]
"""A function called with the number of finished jobs and of all jobs."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """One training run of an LM on sampled papers of a simulation.

    *lm*: the kind of LM. *papers*: the number of training papers. *seed*: the seed of the simulation.
    """

    lm: str
    papers: int
    seed: int


def lessons(seed: int) -> list[Lesson]:
    """Returns all training runs, the longest first.

    The simulations of the runs have consecutive seeds, from *seed* on.
    """
    slow = [Lesson("cache-ngram", size, seed + n) for size in reversed(NGRAM_PAPERS) for n in range(NGRAM_SIMULATIONS)]
    return [*slow, *(Lesson("counted", size, seed + n) for size in COUNTED_PAPERS for n in range(COUNTED_SIMULATIONS))]


def taught(lesson: Lesson) -> list[dict[str, Any]]:
    """Trains an LM as *lesson* says; returns one row per metric with the LM's bias in nats.

    A row also has the two parts of the bias. If training fails, each row has the reason under *failed* instead.
    """
    simulation = random_simulation(lesson.seed)
    fields = {"lm": lesson.lm, "papers": lesson.papers, "seed": lesson.seed}
    lm: EvaluationLM
    texts = sample_papers(simulation, lesson.papers, lesson.seed + 500_000)
    try:
        if lesson.lm == "counted":
            lm = counted_lm(texts)
        else:
            from gre_bench.tuning.cache_ngram import Recipe, train

            # A simulation has about twenty words, and each of them may be a topic.
            lm, _ = train(texts.reviews(), recipe=Recipe(topics=6, common=1.1))
    except GreBenchError as error:
        return [{**fields, "metric": metric, "failed": str(error)} for metric in METRICS]
    rows = []
    for metric, with_synopsis in METRICS.items():
        measured = bias(simulation, lm, with_synopsis)
        errors = {"marginal_error": measured.marginal_error, "conditional_error": measured.conditional_error}
        rows.append({**fields, "metric": metric, "truth": measured.truth, "bias": measured.bias, **errors})
    return rows


def learning_curve(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns one row per metric, kind of LM and number of papers, from the *rows* of `taught`, in nats.

    A row has the mean, the least and the largest bias over simulations. It also has the means of the bias's two parts,
    and how many training runs failed.
    """
    groups: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["metric"], row["lm"], row["papers"]), []).append(row)
    curve = []
    for (metric, lm, papers), members in sorted(groups.items()):
        trained = [row for row in members if "failed" not in row]
        values = [row["bias"] for row in trained]
        parts = ("truth", "bias", "marginal_error", "conditional_error")
        means = [sum(row[part] for row in trained) / len(trained) if trained else None for part in parts]
        curve.append({
            "metric": metric, "lm": lm, "papers": papers, "simulations": len(trained),
            "failed": len(members) - len(trained),
            "reason": next((row["failed"] for row in members if "failed" in row), None), "truth": means[0],
            "mean": means[1], "least": min(values, default=None), "largest": max(values, default=None),
            "marginal_error": means[2], "conditional_error": means[3],
        })  # fmt: skip
    return curve


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

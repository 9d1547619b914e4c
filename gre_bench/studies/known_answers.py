"""Checks the benchmark's scoring and intervals in simulations whose information is known exactly.

Trials compare intervals and orders of candidates with the truth (Xu et al. 2025, Prop. 3.1, Prop. B.1). Learning curves
show the bias of evaluation LMs trained on a simulation, by number of training papers. Simulations are independent, so
several processes compute them.
"""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import active_children, get_context
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from gre_bench.core.errors import GreBenchError, SettingsError
from gre_bench.core.metrics import METRICS as CATALOG
from gre_bench.core.records import Case
from gre_bench.core.settings import ScoringSettings
from gre_bench.lm.protocol import EvaluationLM
from gre_bench.metrics.scoring import LogprobMetric
from gre_bench.studies.simulations.simulation import bias, counted_lm, random_simulation, sample_papers
from gre_bench.studies.simulations.trial import ALPHA, BLUR, LEVEL, METRICS, Trial, run_trial

COUNTED_PAPERS = (10, 30, 100, 300, 1000, 3000, 10_000)
NGRAM_PAPERS = (60, 200, 600)
COUNTED_SIMULATIONS, NGRAM_SIMULATIONS = 40, 3
CHUNK = 20

T = TypeVar("T")
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
    """Returns all training runs, the longest first, of simulations with consecutive seeds from *seed* on."""
    slow = [Lesson("cache-ngram", size, seed + n) for size in reversed(NGRAM_PAPERS) for n in range(NGRAM_SIMULATIONS)]
    return [*slow, *(Lesson("counted", size, seed + n) for size in COUNTED_PAPERS for n in range(COUNTED_SIMULATIONS))]


def taught(lesson: Lesson) -> list[dict[str, Any]]:
    """Returns a row per metric with the bias of an LM so trained, in nats, and its parts; or why it *failed*."""
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
    curve = []
    for (metric, lm, papers), members in sorted(_groups(rows, "metric", "lm", "papers"), key=itemgetter(0)):
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
        "simulations": simulations, "papers": papers, "seed": seed, "exactness": exactness(trials),
        "coverage": coverage(trials), "ordering": ordering(trials), "chance": against_chance(trials),
        "bias": learning_curve(rows),
    }  # fmt: skip


def score_cases(metric: str, lm: EvaluationLM, cases: Sequence[Case]) -> list[float]:
    """Returns the values of *metric* in nats, by the benchmark's own scoring; raises RuntimeError if one lacks."""
    scores = LogprobMetric(CATALOG[metric], lm, ScoringSettings(), "known-answers").score(cases)
    if missing := next((score for score in scores if score.value is None), None):
        raise RuntimeError(f"a case of a known simulation has no score: {missing.problem}")
    return [score.value for score in scores if score.value is not None]


def trials_of(seeds: Sequence[int], papers: int) -> list[Trial]:
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


if TYPE_CHECKING:
    import altair


TOLERANCE = 0.02
"""Allowed difference between an interval's coverage, or a test's power, and the nominal one."""

LEVEL_TOLERANCE = 0.01
"""Allowed difference between a test's level and the nominal one."""

Row = dict[str, Any]


def exactness(trials: Iterable[Trial]) -> list[Row]:
    """Returns a row per metric: the mean true information, and the exact LM's largest error, in nats."""
    trials = list(trials)
    truths = {"gem": lambda trial: trial.information, "gem_s_abstract": lambda trial: trial.conditional}
    return [
        {
            "metric": metric,
            "simulations": len(trials),
            "mean_information": math.fsum(map(truth, trials)) / len(trials),
            "largest_error": max(trial.errors[metric] for trial in trials),
            "holds": all(trial.errors[metric] <= BLUR for trial in trials),
        }
        for metric, truth in truths.items()
    ]


def coverage(trials: Iterable[Trial]) -> list[Row]:
    """Returns one row per metric, quantity and kind of interval: how often the interval contains the true value.

    *verdict*: ``inside`` if this share is within 2 percentage points of the nominal level. If the share is further off
    by more than two standard errors, the verdict is ``outside``. Otherwise it is ``unsure``.
    """
    rows = []
    intervals = (interval for trial in trials for interval in trial.covered)
    for (metric, quantity, kind), members in _groups(intervals, "metric", "quantity", "interval"):
        share = sum(member.holds for member in members) / len(members)
        error = math.sqrt(LEVEL * (1 - LEVEL) / len(members))
        rows.append({
            "metric": metric, "quantity": quantity, "interval": kind, "simulations": len(members), "nominal": LEVEL,
            "covered": share, "standard_error": error, "verdict": _verdict(abs(share - LEVEL), TOLERANCE, error),
            "mean_width": math.fsum(member.high - member.low for member in members) / len(members),
        })  # fmt: skip
    return rows


def against_chance(trials: Iterable[Trial]) -> list[Row]:
    """Returns one row per metric and candidate: the share of simulations in which the test rejects chance at 5%.

    *expected*: 5% for a candidate who knows nothing, otherwise the mean predicted power. *verdict*: as in `coverage`,
    with other limits. The share may differ by 1 percentage point from the 5%, or by 2 from the power.
    """
    rows = []
    for (metric, candidate), tests in _groups(
        (test for trial in trials for test in trial.chance), "metric", "candidate"
    ):
        share = sum(test.p < ALPHA for test in tests) / len(tests)
        expected = math.fsum(test.power for test in tests) / len(tests)
        error = math.sqrt(expected * (1 - expected) / len(tests))
        allowed = TOLERANCE if candidate == "knows something" else LEVEL_TOLERANCE
        rows.append({
            "metric": metric, "candidate": candidate, "simulations": len(tests), "rejected": share,
            "expected": expected, "standard_error": error, "verdict": _verdict(abs(share - expected), allowed, error),
            "mean_effect": math.fsum(test.effect for test in tests) / len(tests),
        })  # fmt: skip
    return rows


def _groups(items: Iterable[T], *names: str) -> list[tuple[tuple[Any, ...], list[T]]]:
    """Returns the *items* that have the same values of the fields *names*, in order of first appearance."""
    groups: dict[tuple[Any, ...], list[T]] = {}
    for item in items:
        fields = item if isinstance(item, dict) else {name: getattr(item, name) for name in names}
        groups.setdefault(tuple(fields[name] for name in names), []).append(item)
    return list(groups.items())


def _verdict(away: float, allowed: float, error: float) -> str:
    return "inside" if away <= allowed else "outside" if away > allowed + 2 * error else "unsure"


def ordering(trials: Iterable[Trial]) -> list[Row]:
    """Returns one row per metric and LM: how often a garbled candidate scores higher than the original candidate.

    - *beyond_allowed*: how often it scores higher by more than Prop. 3.1 of Xu et al. 2025 allows. The allowed excess
      is 0 for the exact LM, otherwise max KL(truth ‖ LM).
    - *beyond_printed*: how often it scores higher by more than max KL(LM ‖ truth), the excess that the proposition
      prints.
    """
    return [
        {
            "metric": metric,
            "lm": lm,
            "simulations": len(orders),
            "garbled_higher": sum(order.excess > BLUR for order in orders),
            "largest_excess": max(order.excess for order in orders),
            "mean_epsilon": math.fsum(order.allowed for order in orders) / len(orders),
            "beyond_allowed": sum(not order.holds for order in orders),
            "beyond_printed": sum(order.excess > order.printed_epsilon + BLUR for order in orders),
            "holds": all(order.holds for order in orders),
        }
        for (metric, lm), orders in _groups((order for trial in trials for order in trial.ordered), "metric", "lm")
    ]


COLOURS = {"counted": "#31639c", "cache-ngram": "#c2571a"}


def chart(rows: Sequence[dict[str, Any]], titles: dict[str, str]) -> altair.FacetChart:
    """Returns a chart of mean bias (nats) by number of training papers, with a band from the least to the largest bias.

    There is one panel per metric. *rows*: those of `learning_curve`. *titles*: the title of each metric. Raises
    `SettingsError` if the drawing library is not installed.
    """
    try:
        import altair
    except ImportError as error:
        raise SettingsError("altair is not installed: pip install 'gre-bench[plots]'") from error
    values = [{**row, "panel": titles[row["metric"]]} for row in rows]
    shown = [name for name in COLOURS if any(row["lm"] == name for row in rows)]
    x = altair.X(
        "papers:Q",
        title="papers to learn from",
        scale=altair.Scale(type="log"),
        axis=altair.Axis(grid=False, values=[10**power for power in range(1, 6)], format="d"),
    )
    colour = altair.Color(
        "lm:N",
        title=None,
        scale=altair.Scale(domain=shown, range=[COLOURS[name] for name in shown]),
        legend=altair.Legend(orient="top", symbolType="stroke", symbolStrokeWidth=3, symbolOpacity=1, labelLimit=300),
    )
    base = altair.Chart()
    band = base.mark_area(opacity=0.18).encode(
        x=x, y=altair.Y("least:Q", title="score − information, nats"), y2="largest:Q", color=colour
    )
    line = base.mark_line(strokeWidth=2, point=True).encode(x=x, y="mean:Q", color=colour)
    zero = base.mark_rule(strokeDash=[4, 3], color="#777777").encode(y=altair.datum(0))
    panels = altair.layer(zero, band, line, data=altair.Data(values=values)).properties(width=300, height=260)
    panel = altair.Facet("panel:N", title=None, sort=list(titles.values()))
    whole = panels.facet(column=panel, title=altair.Title("Bias of learnt evaluation LMs", anchor="start"))  # pyright: ignore[reportArgumentType]
    return whole.configure_view(stroke=None).configure_axis(gridColor="#e8e8e8")

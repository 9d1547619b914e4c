"""A finite simulation: a paper's hidden state, reviews and a synopsis sampled from it, and evaluation LMs of it.

Given the state w of a paper, three things are sampled independently: its synopsis s from P(s | w), the candidate's
review x from P(x | w), and every reference y from P(y | w). A garbled candidate passes x through one more channel, Γ.
The original candidate therefore dominates the garbled one in Blackwell's order (Xu et al. 2025, §3.1). All sets are
finite, so mutual information is a finite sum.

One evaluation LM knows the joint distribution, two diverge from it in known ways, and one counts the reviews of sampled
papers. They treat each line of a review as one token. The log-probability of a line, log P(line | earlier lines, x,
synopsis), is computed by enumeration. These LMs refuse a text that is not in the simulation.

The bias of any evaluation LM is exact too, without sampling papers: E[score] − I = KL(P(y | s) ‖ LM(y | s)) −
KL(P(y | x, s) ‖ LM(y | x, s)). The first divergence is a mean over s, the second a mean over (x, s). If the LM predicts
y badly without x, scores are too high. If the LM misreads x, scores are too low.

A trial compares scores of sampled papers with the truth. It has intervals that should contain the true information, and
scores that garbling must not raise. It also has tests for scores above chance, which should have their level, and their
power at a known effect.

With probability *share* a candidate knows the paper it reviews. Otherwise its review is about another, random paper.
The distribution of the candidate's reviews does not depend on the share. The expected score above chance is therefore
the share times the expected score above chance of a candidate who always knows the paper.

A candidate who always knows the paper scores above chance by the difference of two expected scores. In the first, the
candidate's review and the human review are about one paper. In the second, the candidate's review is independent of the
paper and of the human review.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product
from typing import Any

import numpy as np

from gre_bench.core.errors import SpanError
from gre_bench.core.records import Case, LMIdentity, Prediction, SpanLogprob, digest
from gre_bench.lm.protocol import EvaluationLM, compute_checked_span_logprobs
from gre_bench.metrics.cases import MovableReview, plan_moves
from gre_bench.stats.intervals import clustered_test, flat_interval, paired_test
from tests.scripted_lms import scores_of

Array = np.ndarray[Any, np.dtype[np.float64]]
Numbers = np.ndarray[Any, np.dtype[np.intp]]
REFERENCES = 2
"""References per paper (Xu et al. 2025, §5)."""
STATES = 6
"""Hidden states of a paper in a random simulation."""

LINES = (
    ("The reviewer appreciates the clear writing.", "The reviewer criticizes the confusing notation."),
    ("The reviewer appreciates the novelty of the idea.", "The reviewer questions how it differs from earlier work."),
    ("The reviewer suggests adding stronger baselines.", "The reviewer appreciates the thorough experiments."),
)
"""For each line of a review, the two judgments that it may hold."""

VERDICTS = tuple(product(range(2), repeat=len(LINES)))
"""Every review, as the index of its judgment on each line."""

REVIEWS = tuple("\n".join(pair[side] for pair, side in zip(LINES, verdict, strict=True)) for verdict in VERDICTS)
"""Every review, as the text of its judgments."""

SYNOPSES = (
    "We prove a bound on the error of a known estimator.",
    "We measure how two known methods compare on public data.",
    "We propose a new architecture and train it from scratch.",
)
_LEAST = 1e-3
"""The uniform share of each channel, so that nothing is impossible and every logarithm is finite."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """The distributions of a simulation with W states of a paper; each row of an array is a distribution.

    - *states*: P(w), shape (W,).
    - *candidate*: P(x | w), shape (W, reviews).
    - *reference*: P(y | w), shape (W, reviews).
    - *synopsis*: P(s | w), shape (W, synopses).
    - *garbling*: the channel Γ, shape (reviews, reviews).
    """

    states: Array
    candidate: Array
    reference: Array
    synopsis: Array
    garbling: Array

    def garbled(self, steps: int) -> Array:
        """Returns P(x | w) after *steps* passes of the candidate's review through Γ; 0 steps leave it as it is."""
        return self.candidate @ np.linalg.matrix_power(self.garbling, steps)

    def joint(self, candidate: Array | None = None) -> Array:
        """Returns P(s, x, y), shape (synopses, reviews, reviews); *candidate* replaces P(x | w)."""
        of_x = self.candidate if candidate is None else candidate
        return np.einsum("w,ws,wx,wy->sxy", self.states, self.synopsis, of_x, self.reference)

    def common_review(self) -> int:
        """Returns the index of the review that the candidate writes most often."""
        return int((self.states @ self.candidate).argmax())

    def evading(self) -> Array:
        """Returns P(x | w) of a candidate who writes the review with the most similar P(y | x) for `common_review`.

        This is a garbling too. If an LM misreads just the replaced review, the garbled candidate scores higher.
        """
        joint = self.joint().sum(axis=0)
        of_y = joint / joint.sum(axis=1, keepdims=True)
        common = self.common_review()
        away = (of_y[common] * np.log(of_y[common] / of_y)).sum(axis=1)
        away[common] = np.inf
        channel = np.eye(len(REVIEWS))
        channel[common] = channel[int(away.argmin())]
        return self.candidate @ channel


def random_simulation(seed: int) -> Simulation:
    """Returns a random simulation.

    Each state has one fitting review and one fitting synopsis. Noisy channels emit it with a random probability
    (reviews: 20 to 70%, synopses: 20 to 90%), else any text.
    """
    random = np.random.default_rng([seed, 1])
    fitting = random.permutation(len(REVIEWS))[:STATES]
    synopsis_of = random.permutation(STATES) % len(SYNOPSES)
    return Simulation(
        random.dirichlet(np.full(STATES, 2.0)),
        _channel(random, np.eye(len(REVIEWS))[fitting], random.uniform(0.2, 0.7)),
        _channel(random, np.eye(len(REVIEWS))[fitting], random.uniform(0.2, 0.7)),
        _channel(random, np.eye(len(SYNOPSES))[synopsis_of], random.uniform(0.2, 0.9)),
        _channel(random, np.eye(len(REVIEWS)), random.uniform(0.4, 0.9)),
    )


def information(joint: Array) -> float:
    """Returns I(X; Y) in nats of *joint* = P(s, x, y)."""
    return conditional_information(joint.sum(axis=0, keepdims=True))


def conditional_information(joint: Array) -> float:
    """Returns I(X; Y | S) in nats of *joint* = P(s, x, y) (Xu et al. 2025, Prop. B.1)."""
    of_s, of_sx, of_sy = (np.broadcast_to(joint.sum(axis=axes, keepdims=True), joint.shape) for axes in ((1, 2), 2, 1))
    possible = joint > 0
    return float(
        (joint[possible] * np.log(joint[possible] * of_s[possible] / (of_sx[possible] * of_sy[possible]))).sum()
    )


def _channel(random: np.random.Generator, fitting: Array, share: float) -> Array:
    """Returns a channel that emits the fitting output of an input with probability *share*, else a random one.

    *fitting*: shape (inputs, outputs), with a 1 at the fitting output of each input.
    """
    rows, size = fitting.shape
    mixed = share * fitting + (1 - share) * random.dirichlet(np.full(size, 0.5), rows)
    return np.asarray((1 - _LEAST) * mixed + _LEAST / size)


@dataclass(frozen=True, slots=True)
class Papers:
    """Sampled papers as indices into `SYNOPSES` and `REVIEWS`.

    Shapes: *synopses* (papers,), *candidates* (papers, garblings + 1), *references* (papers, 2). Column n of
    *candidates* is the candidate's review after n passes through the garbling channel Γ.
    """

    synopses: Numbers
    candidates: Numbers
    references: Numbers

    def reviews(self) -> list[list[str]]:
        """Returns the texts of each paper's reviews, the candidate's first, to train an LM with."""
        rows = np.concatenate([self.candidates[:, :1], self.references], axis=1)
        return [[REVIEWS[index] for index in row] for row in rows]


def sample_papers(simulation: Simulation, count: int, seed: int, garblings: int = 0) -> Papers:
    """Returns *count* papers of *simulation*, with *garblings* garbled versions of the candidate's reviews."""
    random = np.random.default_rng([seed, 3])
    states = random.choice(len(simulation.states), size=count, p=simulation.states)
    candidates = [_pass(random, simulation.candidate, states)]
    for _ in range(garblings):
        candidates.append(_pass(random, simulation.garbling, candidates[-1]))
    references = [_pass(random, simulation.reference, states) for _ in range(REFERENCES)]
    return Papers(_pass(random, simulation.synopsis, states), np.stack(candidates, 1), np.stack(references, 1))


@cache
def all_cases(with_synopsis: bool) -> tuple[Case, ...]:
    """Returns a case for every (synopsis, x, y), or every (x, y), in nested loops with y in the innermost."""
    synopses: list[int | None] = [*range(len(SYNOPSES))] if with_synopsis else [None]
    indices = range(len(REVIEWS))
    return tuple(case_of(s, x, y, f"s{s}", f"y{y}") for s in synopses for x in indices for y in indices)


def case_of(synopsis: int | None, x: int, y: int, paper_id: str, reference_id: str) -> Case:
    """Returns the case of review *x* against *y*, given *synopsis*; all three are indices."""
    synopsis_text = None if synopsis is None else SYNOPSES[synopsis]
    return Case(paper_id, f"x{x}", reference_id, "judgments", REVIEWS[x], REVIEWS[y], synopsis_text)


def _pass(random: np.random.Generator, channel: Array, given: Numbers) -> Numbers:
    """Sends each of *given*, indices of inputs, once through *channel*, whose row i is P(output | input i)."""
    return np.asarray((random.random((len(given), 1)) > channel.cumsum(axis=1)[given, :-1]).sum(axis=1))


PRIOR = 2.0
"""Weight of the coarser distribution in backing off: as much as this number of counted pairs."""

_X: dict[str | None, int] = {text: index for index, text in enumerate((*REVIEWS, None))}
_S: dict[str | None, int] = {text: index for index, text in enumerate((*SYNOPSES, None))}
_Y = {text: index for index, text in enumerate(REVIEWS)}
_END = 2 * len(LINES)
_IDS = tuple((*(2 * line + side for line, side in enumerate(verdict)), _END) for verdict in VERDICTS)


class TabulatedLM:
    """An LM defined by its *table* P(y | x, synopsis), shape (synopses + 1, reviews + 1, reviews).

    The last index of the first two axes stands for no synopsis, and for no x.
    """

    def __init__(self, name: str, table: Array):
        self.name, self.table, self._spans = name, table, _spans(table)
        self.identity = LMIdentity(name, digest([name, REVIEWS, SYNOPSES, table.tolist()]), "tabulated-1")

    def logprob(self, predictions: Sequence[Prediction]) -> list[SpanLogprob | SpanError]:
        return [self._span(prediction) for prediction in predictions]

    def _span(self, prediction: Prediction) -> SpanLogprob | SpanError:
        key = _S.get(prediction.synopsis), _X.get(prediction.x), _Y.get(prediction.reply)
        if None not in key:
            return self._spans[key]  # type: ignore[index]
        try:
            f"{prediction.x}{prediction.synopsis}{prediction.reply}".encode()
        except UnicodeEncodeError:
            return SpanError("bad_text", "the text holds a lone surrogate")
        return SpanError("outside", "a text is not one of this simulation's; ask another evaluation LM")


def exact_lm(simulation: Simulation, candidate: Array | None = None) -> TabulatedLM:
    """Returns an LM that knows P(s, x, y) of *simulation*; *candidate* replaces P(x | w)."""
    return TabulatedLM("exact", conditionals(simulation.joint(candidate)))


def noisy_lm(simulation: Simulation, share: float, seed: int) -> TabulatedLM:
    """Returns an LM that is exact without x. With x, *share* of its distribution is a random one."""
    table = conditionals(simulation.joint())
    wrong = np.random.default_rng([seed, 2]).dirichlet(np.full(len(REVIEWS), 0.3), table[:, :-1].shape[:2])
    table[:, :-1] = (1 - share) * table[:, :-1] + share * wrong
    return TabulatedLM("noisy", table)


def blind_lm(simulation: Simulation) -> TabulatedLM:
    """Returns an LM with the true probabilities but one, after the candidate's commonest review, cut to a millionth.

    It is that of the reply whose true probability is nearest to 10%. KL(truth ‖ LM) is therefore large, while
    KL(LM ‖ truth) is small.
    """
    table = conditionals(simulation.joint())
    rows = table[:, simulation.common_review()]
    rows[:, int(abs(rows[-1] - 0.1).argmin())] *= 1e-6
    rows /= rows.sum(axis=1, keepdims=True)
    return TabulatedLM("blind", table)


def conditionals(joint: Array) -> Array:
    """Returns the table P(y | x, s) of a `TabulatedLM` from *joint* = P(s, x, y), which must be positive everywhere."""
    with_absent = np.concatenate([joint, joint.sum(axis=0, keepdims=True)])
    with_absent = np.concatenate([with_absent, with_absent.sum(axis=1, keepdims=True)], axis=1)
    return np.asarray(with_absent / with_absent.sum(axis=2, keepdims=True))


def _spans(table: Array) -> dict[tuple[int, int, int], SpanLogprob]:
    """Returns the log-probabilities of every possible prediction by (synopsis, x, y), all indices."""
    cells = table.reshape(*table.shape[:2], *[2] * len(LINES))
    heads: list[Any] = [np.log(cells.sum(axis=tuple(range(line + 2, cells.ndim)))) for line in range(len(LINES) + 1)]
    spans = {}
    for s, x in np.ndindex(*table.shape[:2]):
        for y, verdict in enumerate(VERDICTS):
            logs = [float(heads[line][(s, x, *verdict[:line])]) for line in range(len(LINES) + 1)]
            lines = (*(min(after - before, 0.0) for before, after in pairwise(logs)), 0.0)
            spans[s, x, y] = SpanLogprob(sum(lines), _IDS[y], lines)
    return spans


def counted_lm(papers: Papers) -> TabulatedLM:
    """Returns an LM whose P(y | x, s) is estimated from the counts of (s, x, y) over the references of *papers*.

    Each estimate backs off to a coarser one: (count(·, y) + prior · coarser(y)) / (count(·) + prior). P(y | x, s) backs
    off to P(y | x). P(y | x) and P(y | s) back off to P(y), which backs off to the uniform distribution.
    """

    def backed_off(counts: Array, coarser: Array) -> Array:
        return np.asarray((counts + PRIOR * coarser) / (counts.sum(axis=-1, keepdims=True) + PRIOR))

    size = len(REVIEWS)
    counts = np.zeros((len(SYNOPSES), size, size))
    np.add.at(counts, (papers.synopses[:, None], papers.candidates[:, :1], papers.references), 1.0)
    of_y = backed_off(counts.sum(axis=(0, 1)), np.full(size, 1 / size))
    of_x, of_s = backed_off(counts.sum(axis=0), of_y), backed_off(counts.sum(axis=1), of_y)
    with_s = np.concatenate([backed_off(counts, of_x[None]), of_s[:, None]], axis=1)
    return TabulatedLM("counted", np.concatenate([with_s, np.concatenate([of_x, of_y[None]])[None]]))


def expected_score(scores: Array, joint: Array) -> float:
    """Returns Σ P(s, x, y) · score; shapes (synopses, reviews, reviews), or (1, reviews, reviews) for *scores*."""
    return float((joint * scores).sum())


def divergence(simulation: Simulation, lm: TabulatedLM, with_synopsis: bool) -> tuple[float, float]:
    """Returns the largest KL(truth ‖ LM) and the largest KL(LM ‖ truth) of P(y | x, ·) over all (x, ·), in nats.

    The proof of Prop. 3.1 needs the first; the proposition prints the second (Xu et al. 2025, §3.1 and appendix B).
    """
    truth = conditionals(simulation.joint())
    places = slice(0, -1) if with_synopsis else slice(-1, None)
    p, q = truth[places, :-1], lm.table[places, :-1]
    logs = np.log(p / q)
    return float((p * logs).sum(axis=-1).max()), float((-q * logs).sum(axis=-1).max())


@dataclass(frozen=True, slots=True)
class Bias:
    """The *expected* score of an LM, in nats: the information *truth* + *marginal_error* − *conditional_error*.

    The errors are the LM's mean divergences from the truth without the candidate's review, and with it.
    """

    truth: float
    expected: float
    marginal_error: float
    conditional_error: float

    @property
    def bias(self) -> float:
        return self.expected - self.truth


def bias(simulation: Simulation, lm: EvaluationLM, with_synopsis: bool) -> Bias:
    """Returns the bias of GEM by *lm*, or of GEM-S *with_synopsis*; raises `SpanError` if the LM refuses a text."""
    joint = simulation.joint() if with_synopsis else simulation.joint().sum(axis=0, keepdims=True)
    synopses: tuple[str | None, ...] = SYNOPSES if with_synopsis else (None,)
    totals = []
    for answer in compute_checked_span_logprobs(
        lm, [Prediction(x, s, y) for s in synopses for x in (*REVIEWS, None) for y in REVIEWS]
    ):
        if isinstance(answer, SpanError):
            raise answer
        totals.append(answer.total)
    # log LM(y | x, s); the last index of x stands for no candidate's review.
    logs = np.array(totals).reshape(len(synopses), len(REVIEWS) + 1, len(REVIEWS))
    off = np.log(conditionals(joint)[: len(synopses)]) - logs
    return Bias(
        conditional_information(joint),
        expected=float((joint * (logs[:, :-1] - logs[:, -1:])).sum()),
        marginal_error=float((joint.sum(axis=1) * off[:, -1]).sum()),
        conditional_error=float((joint * off[:, :-1]).sum()),
    )


METRICS = {"gem": False, "gem_s_abstract": True}
"""Metric under test → whether it uses the synopsis."""

GARBLINGS = 3
LEVEL = 0.90
NOISE = 0.25
"""Share of the wrong channel in the noisy LM."""

BLUR = 1e-9
"""Scores that differ by less than this count as equal, because of rounding."""

ALPHA, POWER = 0.05, 0.8
FEWEST = 8
"""The fewest papers on which the test is tried."""

PROBED = 4000
"""How many papers are sampled to estimate the standard deviation of a simulation's differences."""


@dataclass(frozen=True, slots=True)
class AgainstChance:
    """One test for scores above chance: *effect*, the expected score in nats; *power*, the predicted P(p < 0.05)."""

    metric: str
    candidate: str
    effect: float
    power: float
    p: float


def excess(scores: Array, joint: Array) -> float:
    """Returns the expected score above chance in nats; *scores* and *joint* as in `expected_score`."""
    of_x = joint.sum(axis=(0, 2), keepdims=True)
    return expected_score(scores, joint) - expected_score(scores, of_x * joint.sum(axis=1, keepdims=True))


def chance_findings(
    simulation: Simulation, metric: str, scores: Array, papers: int, seed: int
) -> tuple[AgainstChance, ...]:
    """Tests two candidates for scores above chance on *papers* sampled papers; returns both results.

    The first knows nothing. The second knows so large a share of the papers that the test should be significant with a
    probability of 80%. *scores*: those of *metric*, by (synopsis, review x, reference y).
    """
    from scipy.stats import nct, t

    known = excess(scores, simulation.joint())
    units = papers // 2
    # Student's two-sided test over the swaps; the effect is in standard errors.
    edge = float(t.ppf(1 - ALPHA / 2, units - 1))
    needed = edge + float(t.ppf(POWER, units - 1))
    share = min(1.0, needed * _spread(simulation, scores, 0.0, seed) / math.sqrt(units) / known)
    # A swap is a group of papers that exchange their reviews; a paper's chance score is by the review it receives.
    names = [f"p{index}" for index in range(papers)]
    index_of = {name: index for index, name in enumerate(names)}
    swaps = plan_moves([MovableReview(name, name, frozenset((name,)), 1) for name in names], seed)
    sources = np.array([index_of[move.source] for move in swaps])
    clusters = np.repeat([index_of[move.swap] for move in swaps], REFERENCES).tolist()
    results = []
    for part in (0.0, share):
        test = clustered_test(_scored(simulation, scores, part, sources, seed).ravel().tolist(), clusters)
        effect, power = part * known, ALPHA
        if part:
            shift = effect * math.sqrt(units) / _spread(simulation, scores, part, seed)
            power = float(nct.sf(edge, units - 1, shift) + nct.cdf(-edge, units - 1, shift))
        results.append(AgainstChance(metric, f"knows {'something' if part else 'nothing'}", effect, power, test.p))
    return tuple(results)


def _scored(simulation: Simulation, scores: Array, share: float, sources: Numbers, seed: int) -> Array:
    """Samples papers and a candidate's reviews of them; returns score minus chance, shape (papers, references).

    *share*: that of papers that the candidate knows. *sources*: for each paper, the one whose review gives the chance
    score.
    """
    papers, elsewhere = (sample_papers(simulation, len(sources), own) for own in (seed, seed + 250_000))
    knows = np.random.default_rng([seed, 4]).random(len(sources)) < share
    reviews = np.where(knows, papers.candidates[:, 0], elsewhere.candidates[:, 0])
    return _scores_of(scores, papers, reviews) - _scores_of(scores, papers, reviews[sources])


def _scores_of(scores: Array, papers: Papers, reviews: Numbers) -> Array:
    """Returns the scores of *reviews* on the references of *papers*, shape (papers, references)."""
    synopses = papers.synopses if len(scores) > 1 else np.zeros_like(papers.synopses)
    return np.asarray(scores[synopses[:, None], reviews[:, None], papers.references])


def _spread(simulation: Simulation, scores: Array, share: float, seed: int) -> float:
    """Returns the standard deviation of the mean score above chance of a swap of two papers, from `PROBED` papers."""
    sources = np.arange(PROBED) ^ 1
    differences = _scored(simulation, scores, share, sources, seed + 750_000)
    return float(differences.reshape(PROBED // 2, -1).mean(axis=1).std(ddof=1))


@dataclass(frozen=True, slots=True)
class Covered:
    """An interval for a *quantity* under a metric, and the quantity's true value; *interval* is its kind."""

    metric: str
    quantity: str
    interval: str
    truth: float
    low: float
    high: float

    @property
    def holds(self) -> bool:
        return self.low <= self.truth <= self.high


@dataclass(frozen=True, slots=True)
class Ordered:
    """Expected scores by one LM, in nats.

    - *scores*: of the original candidate, after 1, 2, ... passes through Γ, and of `Simulation.evading`.
    - *allowed*: how much higher a garbled candidate may score; 0 or the LM's ε. *printed_epsilon*: that of Prop. 3.1.
    """

    metric: str
    lm: str
    scores: tuple[float, ...]
    allowed: float
    printed_epsilon: float

    @property
    def excess(self) -> float:
        return max(self.scores[1:]) - self.scores[0]

    @property
    def holds(self) -> bool:
        return self.excess <= self.allowed + BLUR


@dataclass(frozen=True, slots=True)
class Trial:
    """The results of one simulation, in nats: I(X; Y), I(X; Y | S), and by metric how far the exact LM is from it."""

    seed: int
    information: float
    conditional: float
    errors: dict[str, float]
    covered: tuple[Covered, ...]
    ordered: tuple[Ordered, ...]
    chance: tuple[AgainstChance, ...] = ()


def run_trial(seed: int, papers: int) -> Trial:
    """Compares the scores of sampled *papers* with the known truth."""
    simulation = random_simulation(seed)
    garbled = [simulation.garbled(steps) for steps in range(GARBLINGS + 1)]
    joints = [simulation.joint(candidate) for candidate in (*garbled, simulation.evading())]
    sampled = sample_papers(simulation, papers, seed, GARBLINGS)
    exact, once = exact_lm(simulation), exact_lm(simulation, garbled[1])
    errors: dict[str, float] = {}
    covered: list[Covered] = []
    ordered: list[Ordered] = []
    chance: list[AgainstChance] = []
    for metric, with_synopsis in METRICS.items():
        table, known_once = score_table(metric, exact), score_table(metric, once)
        expected = [expected_score(table, joint) for joint in joints]
        inform = conditional_information if with_synopsis else information
        # An LM that knows the garbled candidate's own joint distribution gives its information.
        truth, truth_once = inform(joints[0]), inform(joints[1])
        errors[metric] = max(abs(expected[0] - truth), abs(expected_score(known_once, joints[1]) - truth_once))
        covered += _around(metric, "information", truth, look_up(table, sampled, 0))
        covered += _around(metric, "information, garbled", truth_once, look_up(known_once, sampled, 1))
        if papers >= FEWEST:
            chance += chance_findings(simulation, metric, table, papers, seed)
        difference = (look_up(table, sampled, 1) - look_up(table, sampled, 0)).mean(axis=1)
        test = paired_test(difference.tolist(), LEVEL)
        change = expected[1] - expected[0]
        covered.append(Covered(metric, "garbled − candidate", "paired", change, test.low, test.high))
        ordered.append(Ordered(metric, exact.name, tuple(expected), 0.0, 0.0))
        for lm in (noisy_lm(simulation, NOISE, seed), blind_lm(simulation)):
            scores = score_table(metric, lm)
            expected_scores = tuple(expected_score(scores, joint) for joint in joints)
            ordered.append(Ordered(metric, lm.name, expected_scores, *divergence(simulation, lm, with_synopsis)))
    return Trial(seed, information(joints[0]), conditional_information(joints[0]), errors, (*covered,),
                 (*ordered,), (*chance,))  # fmt: skip


def score_cases(metric: str, lm: EvaluationLM, cases: Sequence[Case]) -> list[float]:
    """Returns the values of *metric* in nats, by the benchmark's own scoring; raises RuntimeError if one lacks."""
    scores = scores_of(metric, lm, cases)
    if missing := next((score for score in scores if score.value is None), None):
        raise RuntimeError(f"a case of a known simulation has no score: {missing.problem}")
    return [score.value for score in scores if score.value is not None]


def score_table(metric: str, lm: EvaluationLM) -> Array:
    """Returns the scores by *lm* of every (synopsis, x, y), shape (synopses or 1, reviews, reviews)."""
    return np.array(score_cases(metric, lm, all_cases(METRICS[metric]))).reshape(-1, len(REVIEWS), len(REVIEWS))


def look_up(table: Array, papers: Papers, garbled: int) -> Array:
    """Returns the scores of *papers* whose reviews were *garbled* so often, shape (papers, references)."""
    return _scores_of(table, papers, papers.candidates[:, garbled])


def _around(metric: str, quantity: str, truth: float, scores: Array) -> list[Covered]:
    """Returns the leaderboard's two intervals for the mean of *scores*, shape (papers, references)."""
    values, clusters = scores.ravel().tolist(), np.repeat(np.arange(len(scores)), REFERENCES).tolist()
    flat, clustered = flat_interval(values, LEVEL), clustered_test(values, clusters, LEVEL)
    return [
        Covered(metric, quantity, "flat", truth, flat.low, flat.high),
        Covered(metric, quantity, "by paper", truth, clustered.low, clustered.high),
    ]

"""The templates of examiners, by name: prompt, scale, form of the reply, and the settings that can be varied.

Templates p1 to p14 are the prompts P1 to P14 of Kotonya et al. 2023.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Scale:
    """A scale of scores from *low* to *high*.

    - *declared*: the scores that the prompt lists, as pairs (spelling in a reply, value); () if it lists none.
    - *only_declared*: whether only declared scores count. *words*: whether the scores are words, such as Good.
    """

    low: float
    high: float
    declared: tuple[tuple[str, float], ...] = ()
    only_declared: bool = False
    words: bool = False

    @property
    def spellings(self) -> tuple[str, ...]:
        return tuple(spelling for spelling, _ in self.declared)

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(value for _, value in self.declared)

    def admits(self, value: float) -> bool:
        return value in self.values if self.only_declared else self.low <= value <= self.high


def number_scale(values: Iterable[float], *, only: bool = False) -> Scale:
    """Returns the scale with the declared scores *values*, which ascend. *only*: whether no other scores count."""
    declared = tuple((f"{value:g}", float(value)) for value in values)
    return Scale(declared[0][1], declared[-1][1], declared, only)


def label_scale(*names: str) -> Scale:
    """Returns the scale whose scores are the words *names*, from worst to best, with the values 1, 2, 3 and so on."""
    return Scale(1.0, float(len(names)), tuple((name, float(index)) for index, name in enumerate(names, 1)), True, True)


FIVE = number_scale(range(1, 6))
"""1 to 5; a reply may say 3.5."""
LEVELS = number_scale(range(1, 6), only=True)
HALVES = number_scale([step / 2 for step in range(2, 11)], only=True)
FREE_FIVE = Scale(1.0, 5.0)
"""Any number from 1 to 5, such as a mean; no scores are declared."""
HUNDRED = number_scale(range(101))
"""Any number from 0 to 100; the integers are declared, so only their probabilities are computed."""
UNITS = number_scale(range(101), only=True)
TENS = number_scale(range(0, 101, 10), only=True)
FIVES = number_scale(range(0, 101, 5), only=True)
FIFTIES = number_scale(range(-100, 101, 50), only=True)
GRADES = label_scale("Very Poor", "Poor", "Average", "Good", "Very Good")
VERDICTS = label_scale("Incomprehensible", "Poor", "Average", "Good", "Excellent")


Answer = Literal["score", "aspects", "nothing"]

DEVELOPMENT = ("coherence", "consistency", "fluency", "relevance")
"""The aspects of the development set (Kim et al. 2023, §3.1.1)."""
TEST = ("relevance", "factuality", "fluency")
"""The aspects of the test set (Kim et al. 2023, Appendix B)."""


@dataclass(frozen=True, slots=True)
class Template:
    """A prompt for grading, and its properties.

    - *seed*: the three-digit number of the paper that the prompt is from: `KIM`, `KOTONYA` or `PRE`.
    - *prompt*: the name of the prompt's file, in which ``{item}`` stands for ``summary`` or ``review``.
    - *answer*: whether a reply holds one score, a score for each of *aspects*, or nothing because no LM is used.
    - *granularities*: whether the prompt can be about the text as a whole (``coarse``) or about one aspect (``fine``).
    - *bare*: whether the prompt requests only the score. The probability of such a reply is that of the score.
    - *criteria*: the default set of criteria; None if the prompt states no criteria.
    - *repeats*: whether a reply may score an aspect several times, sentence by sentence; the mean counts.
    """

    name: str
    seed: str
    prompt: str
    scale: Scale
    answer: Answer = "score"
    aspects: tuple[str, ...] = DEVELOPMENT
    granularities: tuple[str, ...] = ("coarse",)
    bare: bool = True
    rationale: bool = False
    demonstrations: bool = False
    criteria: str | None = None
    repeats: bool = False


KIM, KOTONYA, PRE = "001", "003", "000"
BOTH = ("coarse", "fine")


def _make_standard_template(name: str, scale: Scale) -> Template:
    return Template(name, KOTONYA, f"little_giants/{{item}}/{name}", scale)


def _make_stepwise_template(name: str, scale: Scale, **more: Any) -> Template:
    return Template(name, KOTONYA, f"little_giants/{{item}}/{name}", scale, "aspects", bare=False, **more)


TEMPLATES = {
    template.name: template
    for template in (
        Template("base", KIM, "dsba/{item}/base", HUNDRED, granularities=BOTH),
        Template("human", KIM, "dsba/{item}/human", FIVE, granularities=BOTH, demonstrations=True, criteria="ht"),
        Template("model", KIM, "dsba/{item}/model", FIVE, granularities=BOTH, demonstrations=True, criteria="mt"),
        Template("human_test", KIM, "dsba/{item}/human_test", HUNDRED, aspects=TEST, granularities=("fine",),
                 criteria="ht"),
        Template("rationale", KIM, "dsba/{item}/rationale", FIVE, granularities=BOTH, bare=False, rationale=True,
                 demonstrations=True, criteria="ht"),
        _make_standard_template("p1", HALVES),
        _make_standard_template("p2", TENS),
        _make_standard_template("p3", FREE_FIVE),
        _make_standard_template("p4", FIVES),
        _make_standard_template("p5", UNITS),
        _make_standard_template("p6", FIFTIES),
        _make_standard_template("p7", GRADES),
        _make_standard_template("p8", VERDICTS),
        _make_stepwise_template("p9", FIVE, rationale=True),
        _make_stepwise_template("p10", HUNDRED),
        _make_stepwise_template("p11", FIVE),
        _make_stepwise_template("p12", HUNDRED),
        _make_stepwise_template("p13", FIVE, repeats=True),
        _make_stepwise_template("p14", HUNDRED),
        _make_stepwise_template("explanation", FIVE, rationale=True),
        _make_stepwise_template("generated", FIVE),
        Template("direct_assessment", KOTONYA, "dsba/{item}/base", HUNDRED),
        Template("random", KOTONYA, "", HUNDRED, "nothing", bare=False),
        Template("five_level", PRE, "pre/{item}/five_level", LEVELS),
        Template("hundred_level", PRE, "pre/{item}/hundred_level", HUNDRED),
    )
}  # fmt: skip

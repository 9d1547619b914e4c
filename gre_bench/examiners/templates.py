"""The templates of examiners by name: prompt, scale, form of the reply, and the settings that can be varied.

Templates p1 to p14 are the prompts P1 to P14 of Kotonya et al. 2023. Each has the approaches that Table 8 of the paper
lists, even where the text of the prompt suggests others. P10 counts there as one-shot although it shows no example. P12
is nearly the same prompt and counts as zero-shot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from gre_bench.examiners import scales
from gre_bench.examiners.scales import Scale

Answer = Literal["score", "aspects", "nothing"]

DEVELOPMENT = ("coherence", "consistency", "fluency", "relevance")
"""Aspects of the development set (Kim et al. 2023, §3.1.1)."""
TEST = ("relevance", "factuality", "fluency")
"""Aspects of the test set (Kim et al. 2023, Appendix B)."""

APPROACHES = {
    1: "Standard Prompt",
    2: "Annotator Instructions",
    3: "LLM-generated",
    4: "Manual Prompt Rewriting",
    5: "Instruction Enhancement",
    6: "CoT",
    7: "Zero-shot",
    8: "One-shot",
}
"""The eight approaches to prompting (Kotonya et al. 2023, §3), by the short names of Table 8."""


@dataclass(frozen=True, slots=True)
class Template:
    """A prompt for grading, and how it is used.

    - *seed*: the number of the paper that defines the prompt: `KIM`, `KOTONYA` or `PRE`.
    - *prompt*: the name of the prompt's file; ``{item}`` in it stands for ``summary`` or ``review``.
    - *answer*: whether a reply holds one score, a score for each of *aspects*, or nothing because no LM is asked.
    - *granularities*: whether the prompt can ask about the text as a whole (``coarse``), about one aspect (``fine``),
      or both.
    - *bare*: whether the prompt requests the score alone, so that probabilities of whole replies are meaningful.
    - *rationale*: whether the prompt requests reasons.
    - *demonstrations*: whether the prompt can hold an example.
    - *criteria*: the default set of criteria; None if the prompt states no criteria.
    - *repeats*: whether a reply may score an aspect several times, sentence by sentence; the mean counts.
    - *approaches*: the approaches that the prompt takes, as numbers of `APPROACHES`.
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
    approaches: tuple[int, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The approaches as Table 8 of Kotonya et al. 2023 names them, such as ``(1) Standard Prompt``."""
        return tuple(f"({number}) {APPROACHES[number]}" for number in self.approaches)


KIM, KOTONYA, PRE = "001", "003", "000"
BOTH = ("coarse", "fine")


def _standard(name: str, scale: Scale) -> Template:
    return Template(name, KOTONYA, f"little_giants/{{item}}/{name}", scale, approaches=(1, 7))


def _stepwise(name: str, scale: Scale, approaches: tuple[int, ...], **more: Any) -> Template:
    prompt = f"little_giants/{{item}}/{name}"
    return Template(name, KOTONYA, prompt, scale, "aspects", bare=False, approaches=approaches, **more)


TEMPLATES = {
    template.name: template
    for template in (
        Template("base", KIM, "dsba/{item}/base", scales.HUNDRED, granularities=BOTH),
        Template(
            "human", KIM, "dsba/{item}/human", scales.FIVE, granularities=BOTH, demonstrations=True, criteria="ht"
        ),
        Template(
            "model", KIM, "dsba/{item}/model", scales.FIVE, granularities=BOTH, demonstrations=True, criteria="mt"
        ),
        Template(
            "human_test",
            KIM,
            "dsba/{item}/human_test",
            scales.HUNDRED,
            aspects=TEST,
            granularities=("fine",),
            criteria="ht",
        ),
        Template(
            "rationale",
            KIM,
            "dsba/{item}/rationale",
            scales.FIVE,
            granularities=BOTH,
            bare=False,
            rationale=True,
            demonstrations=True,
            criteria="ht",
        ),
        _standard("p1", scales.HALVES),
        _standard("p2", scales.TENS),
        _standard("p3", scales.FREE_FIVE),
        _standard("p4", scales.FIVES),
        _standard("p5", scales.UNITS),
        _standard("p6", scales.FIFTIES),
        _standard("p7", scales.GRADES),
        _standard("p8", scales.VERDICTS),
        _stepwise("p9", scales.FIVE, (6, 7), rationale=True),
        _stepwise("p10", scales.HUNDRED, (3, 6, 8)),
        _stepwise("p11", scales.FIVE, (3, 6, 8)),
        _stepwise("p12", scales.HUNDRED, (2, 6, 7)),
        _stepwise("p13", scales.FIVE, (6, 8), repeats=True),
        _stepwise("p14", scales.HUNDRED, (3, 6, 7)),
        _stepwise("explanation", scales.FIVE, (), rationale=True),
        _stepwise("generated", scales.FIVE, (3, 5)),
        Template("direct_assessment", KOTONYA, "dsba/{item}/base", scales.HUNDRED),
        Template("random", KOTONYA, "", scales.HUNDRED, "nothing", bare=False),
        Template("five_level", PRE, "pre/{item}/five_level", scales.LEVELS),
        Template("hundred_level", PRE, "pre/{item}/hundred_level", scales.HUNDRED),
    )
}

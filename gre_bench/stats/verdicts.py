"""Does a metric pass? A verdict on each change of reviews, from its effect on the scores, and a verdict on all changes.

A degradation must lower the score, and a manipulation must not raise it. If there are too few papers to tell, the
verdict is *undecided*, never *pass*.

The rule of Xu et al. 2025 (§4.2-4.3) is reported beside these verdicts. That rule takes the absence of a significant
increase as robustness, however few the papers. The rule also makes no correction for several tests.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from gre_bench.stats.effects import Effect

Verdict = Literal["pass", "fail", "undecided"]
ChangeKind = Literal["degradation", "manipulation"]


def degradation_verdict(effect: Effect, p_holm: float, smallest: float = 0.2, alpha: float = 0.05) -> Verdict:
    """Returns the verdict on a degradation from its *effect* on the scores.

    - *pass*: the score falls, and *p_holm* is below *alpha*.
    - *fail*: the interval of d lies above −*smallest*, so the score does not fall by as much as *smallest*.
    - *undecided*: all other cases.

    *p_holm* is the effect's p-value by paper, after `holm` over the degradations of the same metric, evaluation LM and
    writer. *smallest* is in the unit of d, standard deviations.
    """
    if effect.value < 0 and p_holm < alpha:
        return "pass"
    return "fail" if effect.low > -smallest else "undecided"


def manipulation_verdict(effect: Effect, margin: float = 0.1) -> Verdict:
    """Returns the verdict on a manipulation from its *effect* on the scores.

    - *pass*: the interval of d lies below *margin*.
    - *fail*: the interval lies at or above *margin*.
    - *undecided*: the interval contains *margin*.

    *margin* is the largest rise that is tolerated, in standard deviations, the unit of d. A metric passes only if every
    manipulation passes. This is an intersection-union test, so no correction for several tests is needed.
    """
    if effect.high < margin:
        return "pass"
    return "fail" if effect.low >= margin else "undecided"


def paper_rule(kind: ChangeKind, effect: Effect, alpha: float = 0.05) -> Verdict:
    """Returns the verdict by the rule of Xu et al. 2025, from the effect's *flat_p* at level *alpha*.

    A degradation passes if it lowers the score significantly. A manipulation passes unless it raises the score
    significantly. The rule knows no undecided case.
    """
    significant = effect.flat_p < alpha
    if kind == "degradation":
        return "pass" if significant and effect.value < 0 else "fail"
    return "fail" if significant and effect.value > 0 else "pass"


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """Returns one verdict for several: fail if any is fail, else undecided if any is undecided, else pass.

    Raises ValueError if there are no verdicts.
    """
    given = set(verdicts)
    if not given:
        raise ValueError("no change was tried: there is nothing to judge the metric by")
    return "fail" if "fail" in given else "undecided" if "undecided" in given else "pass"

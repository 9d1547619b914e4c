"""Does a metric pass? A verdict for each change from its effect, and one over all changes.

A metric must fall when a review is degraded, and must not rise when it is merely manipulated. A question that too few
papers leave open is *undecided*, never a pass. The paper's rule (Xu et al. 2025, §4.2-4.3) is reported beside ours. The
paper's rule takes the absence of a significant increase as robustness, however few the papers. It makes no correction
for several tests.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from gre_bench.stats.effects import Effect

Verdict = Literal["pass", "fail", "undecided"]
ChangeKind = Literal["degradation", "manipulation"]


def degradation_verdict(effect: Effect, p_holm: float, smallest: float = 0.2, alpha: float = 0.05) -> Verdict:
    """Returns the verdict on a degradation: pass if the score falls and *p_holm* is below *alpha*.

    The verdict is fail if the interval of d excludes a fall as large as *smallest*. Otherwise it is undecided. *p_holm*
    is the p-value that `holm` adjusts over the degradations of the same metric, evaluation LM and writer.
    """
    if effect.value < 0 and p_holm < alpha:
        return "pass"
    return "fail" if effect.low > -smallest else "undecided"


def manipulation_verdict(effect: Effect, margin: float = 0.1) -> Verdict:
    """Returns the verdict on a manipulation: pass if the interval of d lies below *margin*.

    The verdict is fail if the interval lies at or above *margin*. Otherwise it is undecided. All manipulations together
    pass only if each stays below the margin. That is an intersection-union test, so no correction is needed.
    """
    if effect.high < margin:
        return "pass"
    return "fail" if effect.low >= margin else "undecided"


def paper_rule(kind: ChangeKind, effect: Effect, alpha: float = 0.05) -> Verdict:
    """Returns the published verdict by the flat p-value, at level *alpha*.

    A degradation passes if it lowers the score significantly. A manipulation passes if it does not raise the score
    significantly.
    """
    significant = effect.flat_p < alpha
    if kind == "degradation":
        return "pass" if significant and effect.value < 0 else "fail"
    return "fail" if significant and effect.value > 0 else "pass"


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """Returns the verdict over all of *verdicts*; raises ValueError if there are none.

    It is fail if one of them is fail. Otherwise it is undecided if one is undecided, and pass if none is.
    """
    given = set(verdicts)
    if not given:
        raise ValueError("no change was tried: there is nothing to judge the metric by")
    return "fail" if "fail" in given else "undecided" if "undecided" in given else "pass"

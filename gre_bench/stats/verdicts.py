"""Does a metric pass? A verdict for each change from its effect, and one over all changes.

A metric must fall when a review is degraded, and must not rise when it is merely manipulated. A question that too few
papers leave open is *undecided*, never a pass. The paper's rule (Xu et al. 2025, §4.2-4.3) is reported beside ours. It
takes the absence of a significant increase as robustness, however few the papers, and corrects for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from gre_bench.stats.effects import Effect

Verdict = Literal["pass", "fail", "undecided"]
ChangeKind = Literal["degradation", "manipulation"]


def degradation_verdict(effect: Effect, p_holm: float, smallest: float = 0.2, alpha: float = 0.05) -> Verdict:
    """Returns the verdict on a degradation: pass if the score falls and *p_holm* is below *alpha*.

    Fail if the interval of d excludes a fall as large as *smallest*, else undecided.
    *p_holm* is the p-value that `holm` adjusts over the degradations of the same metric, evaluation LM and writer.
    """
    if effect.value < 0 and p_holm < alpha:
        return "pass"
    return "fail" if effect.low > -smallest else "undecided"


def manipulation_verdict(effect: Effect, margin: float = 0.1) -> Verdict:
    """Returns the verdict on a manipulation: pass if the interval of d lies below *margin*.

    Fail if the interval lies at or above *margin*, else undecided.
    All manipulations together pass only if each stays below the margin. That is an intersection-union test, so no
    correction is needed.
    """
    if effect.high < margin:
        return "pass"
    return "fail" if effect.low >= margin else "undecided"


def paper_rule(kind: ChangeKind, effect: Effect, alpha: float = 0.05) -> Verdict:
    """Returns the published verdict by the flat p-value, at level *alpha*.

    A degradation passes if it falls significantly, a manipulation if it does not rise significantly.
    """
    significant = effect.flat_p < alpha
    if kind == "degradation":
        return "pass" if significant and effect.value < 0 else "fail"
    return "fail" if significant and effect.value > 0 else "pass"


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """Returns fail if any of *verdicts* is fail, else undecided if any is, else pass; raises ValueError without any."""
    given = set(verdicts)
    if not given:
        raise ValueError("no change was tried: there is nothing to judge the metric by")
    return "fail" if "fail" in given else "undecided" if "undecided" in given else "pass"

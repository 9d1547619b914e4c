"""Turns any examiner into a metric: the score of a case is the grade of the candidate's review.

The examiner reads the paper from the synopsis of the case, which must hold the paper's full text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace

from gre_bench.core.errors import SettingsError
from gre_bench.core.records import Case, LMIdentity, Problem, Sampling, Score, digest
from gre_bench.examiners.examiner import Examiner, Item
from gre_bench.examiners.grading import Grade, binned, samplings

Grader = Callable[[Sequence[Item]], list[Grade]]


def identity_with(
    examiner: Examiner, writer: str | None = None, base: Sampling | None = None, lm: LMIdentity | None = None
) -> LMIdentity:
    """Returns the identity that signatures record: that of *examiner* and of the LM that grades for it.

    If *lm* is given, the LM is an evaluation LM with the identity *lm*. Otherwise the LM is a writer with the identity
    *writer*, and *base* holds its own sampling options.
    """
    description = f"examiner {examiner.identity}"
    if lm is not None:
        return replace(lm, engine_version=f"{lm.engine_version}, {description}")
    description += f", sampling {digest([asdict(sampling) for sampling in samplings(examiner, base)])[:8]}"
    return LMIdentity(writer or "none", digest(writer or "none"), description, dtype="none")


def check_metric(examiner: Examiner) -> None:
    """Raises `SettingsError` if *examiner* cannot be a metric of reviews.

    A metric must grade reviews. The score of a text must not depend on other graded texts. Quantile bins are refused
    for that reason.
    """
    if examiner.item != "review":
        raise SettingsError(f'examiner {examiner.name} is for summaries: as a metric, set item = "review"')
    if examiner.binning and examiner.binning.method != "equal_width":
        raise SettingsError(
            f"examiner {examiner.name}: quantile bins depend on the other graded texts; "
            'as a metric, set binning.method = "equal_width"'
        )


class ExaminerMetric:
    """A `Metric` that scores each case by the grade of the candidate's text; it needs no reference.

    *grader* turns items into grades.
    """

    needs_reference = False
    reads = "review"

    def __init__(self, examiner: Examiner, grader: Grader, signature_id: str):
        check_metric(examiner)
        self.examiner = examiner
        self.grader = grader
        self.signature_id = signature_id

    def score(self, cases: Sequence[Case]) -> list[Score]:
        """Returns one `Score` for each of *cases*, in order; each holds a value or a problem."""
        lacks = [_lack(case) for case in cases]
        items = [
            Item(case.name, case.synopsis or "", case.candidate)
            for case, lack in zip(cases, lacks, strict=True)
            if lack is None
        ]
        graded = iter(self.grader(items) if items else [])
        scale, binning = self.examiner.form.scale, self.examiner.binning
        scores = []
        for case, lack in zip(cases, lacks, strict=True):
            ids = self.signature_id, case.paper_id, case.candidate_id, case.reference_id
            grade = Grade(case.name, None, lack) if lack else next(graded)
            if grade.problem is not None:
                problem = replace(grade.problem, message=f"{case.name}: {grade.problem.message}")
                scores.append(Score(*ids, None, problem))
            elif binning and grade.value is not None:
                scores.append(Score(*ids, binned([grade.value], binning, scale.low, scale.high).values[0]))
            else:
                scores.append(Score(*ids, grade.value))
        return scores


def _lack(case: Case) -> Problem | None:
    """Returns the problem that keeps the examiner from grading *case*; None if there is none."""
    if not (case.synopsis or "").strip():
        return Problem("no_paper", "there is no text of the paper to grade the review by")
    return None if case.candidate.strip() else Problem("empty_text", "the candidate's text is empty")

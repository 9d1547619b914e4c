"""Turns any examiner into a metric: the score of a case is the grade of the candidate's review.

The examiner reads the paper from the synopsis of the case, which must hold the paper's full text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace

from gre_bench.core.errors import SettingsError
from gre_bench.core.records import Case, LMIdentity, Problem, Sampling, Score, Writer, digest
from gre_bench.examiners.examiner import Examiner, Item
from gre_bench.examiners.grading import Grade, binned, grade, samplings
from gre_bench.examiners.weighing import grade_by_endpoint, grade_by_lm
from gre_bench.lm.chats import ChatLM

Grader = Callable[[Sequence[Item]], list[Grade]]


def by_writer(examiner: Examiner, asker: Writer, base: Sampling | None = None) -> Grader:
    """Returns a grader that sends chats to the LM *asker* and reads scores from the replies.

    *base* holds the LM's own sampling options.
    """
    return lambda items: grade(examiner, items, asker, base)


def by_chance(examiner: Examiner) -> Grader:
    """Returns the grader of the random baseline, which asks no LM."""
    return lambda items: grade(examiner, items, None)


def by_lm(examiner: Examiner, lm: ChatLM) -> Grader:
    """Returns a grader that uses the probabilities which the evaluation LM *lm* gives to the declared scores."""
    return lambda items: grade_by_lm(examiner, items, lm)


def by_endpoint(examiner: Examiner, asker: Writer, writer: Writer, base: Sampling | None = None) -> Grader:
    """Returns a grader that uses the log-probabilities which an endpoint returns with its replies.

    - *asker*: returns the replies with log-probabilities (`gre_bench.writing.logprob_writer`).
    - *writer*: returns plain replies; only the filter of redundant texts asks it.
    - *base*: the LM's own sampling options.
    """
    return lambda items: grade_by_endpoint(examiner, items, asker, base, writer)[0]


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

    *grader* turns items into grades. After a call of `score`, the attribute `grades` holds the grade of each case.
    """

    needs_reference = False
    reads = "review"

    def __init__(self, examiner: Examiner, grader: Grader, signature_id: str):
        check_metric(examiner)
        self.examiner = examiner
        self.grader = grader
        self.signature_id = signature_id
        self.grades: list[Grade] = []

    def score(self, cases: Sequence[Case]) -> list[Score]:
        """Returns one `Score` for each of *cases*, in order; each holds a value or a problem."""
        lacks = [_lack(case) for case in cases]
        items = [
            Item(case.name, case.synopsis or "", case.candidate)
            for case, lack in zip(cases, lacks, strict=True)
            if lack is None
        ]
        graded = iter(self.grader(items) if items else [])
        self.grades = [
            next(graded) if lack is None else Grade(case.name, None, lack)
            for case, lack in zip(cases, lacks, strict=True)
        ]
        return [self._score(case, grade) for case, grade in zip(cases, self.grades, strict=True)]

    def _score(self, case: Case, grade: Grade) -> Score:
        ids = self.signature_id, case.paper_id, case.candidate_id, case.reference_id
        if grade.problem is not None:
            return Score(*ids, None, replace(grade.problem, message=f"{case.name}: {grade.problem.message}"))
        value, scale = grade.value, self.examiner.form.scale
        if self.examiner.binning and value is not None:
            [value] = binned([value], self.examiner.binning, scale.low, scale.high).values
        return Score(*ids, value)


def _lack(case: Case) -> Problem | None:
    """Returns the problem that keeps the examiner from grading *case*; None if there is none."""
    if not (case.synopsis or "").strip():
        return Problem("no_paper", "there is no text of the paper to grade the review by")
    return None if case.candidate.strip() else Problem("empty_text", "the candidate's text is empty")

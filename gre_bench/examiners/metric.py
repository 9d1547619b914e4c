"""Any examiner is a metric: a case's candidate is the text it grades, its synopsis the whole text it is about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace

from gre_bench.core.errors import SettingsError
from gre_bench.core.records import Case, LMIdentity, Problem, Sampling, Score, Writer, digest
from gre_bench.examiners.binning import binned
from gre_bench.examiners.examiner import Examiner
from gre_bench.examiners.grading import Grade, grade, samplings
from gre_bench.examiners.weighing import grade_by_endpoint, grade_by_lm
from gre_bench.examiners.wordings import Item
from gre_bench.lm.chats import ChatLM

Grader = Callable[[Sequence[Item]], list[Grade]]


def by_writer(examiner: Examiner, asker: Writer, base: Sampling | None = None) -> Grader:
    """Grades by what an LM writes."""
    return lambda items: grade(examiner, items, asker, base)


def by_nobody(examiner: Examiner) -> Grader:
    """Grades of an examiner that asks no LM: the random baseline."""
    return lambda items: grade(examiner, items, None)


def by_lm(examiner: Examiner, lm: ChatLM) -> Grader:
    """Grades by what an evaluation LM finds likely."""
    return lambda items: grade_by_lm(examiner, items, lm)


def by_endpoint(examiner: Examiner, asker: Writer, writer: Writer, base: Sampling | None = None) -> Grader:
    """Grades by what an endpoint shows of its likeliest tokens."""
    return lambda items: grade_by_endpoint(examiner, items, asker, base, writer)[0]


def asked(
    examiner: Examiner, writer: str | None = None, base: Sampling | None = None, lm: LMIdentity | None = None
) -> LMIdentity:
    """What of an examiner and of whom it asks belongs in a signature: a *writer*, its *base* sampling, or an *lm*."""
    of = f"examiner {examiner.identity}"
    if lm is not None:
        return replace(lm, engine_version=f"{lm.engine_version}, {of}")
    of += f", sampling {digest([asdict(one) for one in samplings(examiner, base)])[:8]}"
    return LMIdentity(writer or "none", digest(writer or "none"), of, dtype="none")


def check_metric(examiner: Examiner) -> None:
    """`SettingsError` if *examiner* can grade texts and yet be no metric of reviews."""
    if examiner.item != "review":
        raise SettingsError(f'examiner {examiner.name} is for summaries: as a metric, set item = "review"')
    if examiner.binning and examiner.binning.method != "equal_width":
        raise SettingsError(
            f"examiner {examiner.name}: quantile bins depend on which other texts are graded; "
            'as a metric, set binning.method = "equal_width"'
        )


class ExaminerMetric:
    """A `Metric` that needs no reference. Keeps the *grades* of its last `score`, one for each case."""

    needs_reference = False
    reads = "review"

    def __init__(self, examiner: Examiner, grader: Grader, signature_id: str):
        check_metric(examiner)
        self.examiner = examiner
        self.grader = grader
        self.signature_id = signature_id
        self.grades: list[Grade] = []

    def score(self, cases: Sequence[Case]) -> list[Score]:
        """One score or problem for each of *cases*, in order."""
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
        return [self._score(case, found) for case, found in zip(cases, self.grades, strict=True)]

    def _score(self, case: Case, found: Grade) -> Score:
        ids = self.signature_id, case.paper_id, case.candidate_id, case.reference_id
        if found.problem is not None:
            return Score(*ids, None, replace(found.problem, message=f"{case.name}: {found.problem.message}"))
        value, scale = found.value, self.examiner.form.scale
        if self.examiner.binning and value is not None:
            [value] = binned([value], self.examiner.binning, scale.low, scale.high).values
        return Score(*ids, value)


def _lack(case: Case) -> Problem | None:
    """Why the examiner cannot be asked about *case*."""
    if not (case.synopsis or "").strip():
        return Problem("no_paper", "there is no text of the paper to grade the review by")
    return None if case.candidate.strip() else Problem("empty_text", "the candidate's text is empty")

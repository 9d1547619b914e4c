"""LMExaminer: an LM reads the whole paper and one review of it, and grades the review (Xu et al. 2025, D.1).

The score is the number inside ``<overall_score>``, 0 to 10. Where it cannot be read the authors silently put 5.0; here
the LM is asked again with another seed, and what still cannot be read is missing, with its reason.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from gre_bench.core.errors import ReplyError
from gre_bench.core.records import Case, Chat, Problem, Reply, Sampling, Score, Writer
from gre_bench.core.replies import without_thinking
from gre_bench.prompts.library import fill

PROMPT = "lm_examiner"
LOWEST, HIGHEST = 0.0, 10.0
RETRIES = 2
"""How often a reply without a score is asked for anew, with another seed."""

_TAG = re.compile(r"<overall_score>([^<>]*)</overall_score>", re.IGNORECASE)
_NUMBER = re.compile(r"([0-9]{1,2}(?:\.[0-9]+)?)(?:\s?/\s?10)?")


class LMExaminer:
    """Scores cases by an LM. A case's synopsis is the whole text of its paper; its reference is not read."""

    needs_reference = False

    def __init__(self, writer: Writer, sampling: Sampling, signature_id: str):
        self.writer = writer
        self.sampling = sampling
        self.signature_id = signature_id

    def score(self, cases: Sequence[Case]) -> list[Score]:
        """One score or problem for each of *cases*, in order."""
        found: dict[int, float | Problem] = {}
        due = {}
        for place, case in enumerate(cases):
            if lack := _lack(case):
                found[place] = lack
            else:
                due[place] = chat(case)
        for attempt in range(RETRIES + 1):
            if not due:
                break
            answers = self.writer.write(list(due.values()), self._sampling(attempt))
            for place, reply in zip(list(due), answers, strict=True):
                found[place] = _read(reply)
                if not _unparsable(found[place]):
                    del due[place]
        return [self._score(case, found[place]) for place, case in enumerate(cases)]

    def _sampling(self, attempt: int) -> Sampling:
        return replace(self.sampling, seed=(self.sampling.seed or 0) + attempt) if attempt else self.sampling

    def _score(self, case: Case, found: float | Problem) -> Score:
        ids = self.signature_id, case.paper_id, case.candidate_id, case.reference_id
        if isinstance(found, Problem):
            return Score(*ids, None, replace(found, message=f"{case.name}: {found.message}"))
        return Score(*ids, found)


def chat(case: Case) -> Chat:
    """What the examiner is asked about *case*: the paper and the candidate's review."""
    return fill(PROMPT, paper=case.synopsis or "", review=case.candidate)


def overall_score(text: str) -> float:
    """The number inside the last ``<overall_score>`` of *text*, thinking aside; `ReplyError` if there is none.

    ``7``, ``7.5`` and ``7/10`` are numbers, and no words may stand beside them. A tag that is not closed holds nothing:
    its number may have been cut.
    """
    inside = _TAG.findall(without_thinking(text)[0])
    if not inside:
        raise ReplyError("no <overall_score> in the reply")
    said = inside[-1].strip()
    number = _NUMBER.fullmatch(said)
    if number is None or not LOWEST <= float(number[1]) <= HIGHEST:
        raise ReplyError(f"<overall_score> holds no number from 0 to 10 but {said[:40]!r}")
    return float(number[1])


def _read(reply: Reply) -> float | Problem:
    if reply.outcome not in ("ok", "cut") or not reply.text:
        return Problem(reply.outcome, f"the examiner gave no reply: {reply.detail or reply.outcome}", reply.final)
    try:
        return overall_score(reply.text)
    except ReplyError as error:
        cut = ", which was cut at the token limit" if reply.outcome == "cut" else ""
        return Problem("unparsable", f"{error}{cut}")


def _unparsable(found: float | Problem) -> bool:
    return isinstance(found, Problem) and found.code == "unparsable"


def _lack(case: Case) -> Problem | None:
    """Why the examiner cannot be asked about *case*."""
    if not (case.synopsis or "").strip():
        return Problem("no_paper", "there is no text of the paper to grade the review by")
    return None if case.candidate.strip() else Problem("empty_text", "the candidate's text is empty")

"""LMExaminer: an LM reads the whole paper and one review of it, and grades the review (Xu et al. 2025, D.1).

The score is the number from 0 to 10 inside the reply's ``<overall_score>``. If this number cannot be read, the code of
Xu et al. silently uses 5.0. Here, the request is retried with another seed, at most twice. If there is still no
readable number, the score is missing and the reason is stored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gre_bench.core.asking import ChatOutcome, request_chat_outcomes
from gre_bench.core.errors import ReplyError
from gre_bench.core.records import (
    Case,
    Chat,
    Completion,
    Problem,
    Sampling,
    Score,
    Writer,
    explain_missing_text,
    make_score,
)
from gre_bench.core.replies import without_thinking
from gre_bench.prompts.library import fill_prompt

PROMPT = "lm_examiner"
LOWEST, HIGHEST = 0.0, 10.0
_TAG = re.compile(r"<overall_score>([^<>]*)</overall_score>", re.IGNORECASE)
_NUMBER = re.compile(r"([0-9]{1,2}(?:\.[0-9]+)?)(?:\s?/\s?10)?")


class LMExaminer:
    """Scores cases by the LM of *writer*, which reads the review and the paper's full text, but no reference."""

    needs_reference = False

    def __init__(self, writer: Writer, sampling: Sampling, signature_id: str):
        self.writer = writer
        self.sampling = sampling
        self.signature_id = signature_id

    def score(self, cases: Sequence[Case]) -> list[Score]:
        lacks = [explain_missing_text(case) for case in cases]
        chats = [build_examiner_chat(case) for case, lack in zip(cases, lacks, strict=True) if lack is None]
        answers = iter(
            request_chat_outcomes(
                self.writer, chats, self.sampling, lambda reply: ChatOutcome(_parse_examiner_reply(reply)), step=1
            )
        )
        results = (lack or next(answers).read for lack in lacks)
        return [make_score(self.signature_id, case, result) for case, result in zip(cases, results, strict=True)]


def build_examiner_chat(case: Case) -> Chat:
    return fill_prompt(PROMPT, paper=case.synopsis or "", review=case.candidate)


def parse_overall_score(text: str) -> float:
    """Returns the number inside the ``<overall_score>`` of the reply *text*, ignoring the LM's thinking.

    If there are several such tags, all must hold the same number, because one may be a quotation from the review. The
    number may be written as ``7``, ``7.5`` or ``7/10``, without any words. A tag without its end tag does not count,
    because its number may be cut off. Raises `ReplyError` if there is no number from 0 to 10.
    """
    inside = _TAG.findall(without_thinking(text)[0])
    if not inside:
        raise ReplyError("no <overall_score> in the reply")
    content = inside[-1].strip()
    number = _NUMBER.fullmatch(content)
    if number is None or not LOWEST <= float(number[1]) <= HIGHEST:
        raise ReplyError(f"<overall_score> must hold a number from 0 to 10, not {content[:40]!r}")
    if others := [each for each in map(str.strip, inside) if each != content]:
        raise ReplyError(f"several <overall_score>: {others[0][:40]!r} and {content[:40]!r}")
    return float(number[1])


def _parse_examiner_reply(reply: Completion) -> float | Problem:
    if reply.outcome not in ("ok", "cut") or not reply.text:
        return Problem(reply.outcome, f"the examiner gave no reply: {reply.detail or reply.outcome}", reply.final)
    try:
        return parse_overall_score(reply.text)
    except ReplyError as error:
        cut = ", which was cut at the token limit" if reply.outcome == "cut" else ""
        return Problem("unparsable", f"{error}{cut}")

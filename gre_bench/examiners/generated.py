"""Asks an LM to write or improve instructions for grading, and checks the result for faults.

Kotonya et al. 2023, §5.2, found two kinds of faults by hand. One is numbering such as 2, 3, 4, 4 where the original has
1, 2, 3, 4. The other is a stray "Answer:" in the middle of the text.
"""

from __future__ import annotations

import re
from typing import Literal

from gre_bench.core.errors import ReplyError
from gre_bench.core.records import Chat
from gre_bench.core.replies import repeats_itself
from gre_bench.prompts.library import fill

Phrase = Literal["improve", "rewrite", "precise", "best"]
"""The four prompts that ask for better instructions (§3.2, Table 5)."""

_NUMBERED = re.compile(r"^[ \t]{0,8}(\d{1,3})[.)](?=\s)", re.MULTILINE)
_ANSWER = re.compile(r"^[ \t]*Answer[ \t]*:", re.IGNORECASE | re.MULTILINE)
_FIELD = re.compile(r"\{\w+\}")


def writing_chat(item: Literal["summary", "review"]) -> Chat:
    """Returns the chat that asks an LM to write new instructions for grading (Kotonya et al. 2023, Table 4).

    *item* says what the instructions are to grade: a summary or a review.
    """
    return fill("little_giants/generate" if item == "summary" else "little_giants/generate_review")


def improving_chat(instructions: str, phrase: Phrase = "improve") -> Chat:
    """Returns the chat that asks an LM to rewrite *instructions*; *phrase* says which of four prompts asks for it."""
    return fill(f"little_giants/{phrase}", instructions=instructions)


def sound(reply: str) -> str:
    """Returns the instructions in *reply*, without quotation marks around them.

    Raises `ReplyError` if `findings` reports a fault.
    """
    instructions = reply.strip().strip('"“”').strip()
    if faults := findings(instructions):
        raise ReplyError(faults[0])
    return instructions


def findings(instructions: str) -> list[str]:
    """Returns the faults of *instructions*, each in a few words; empty if there are none.

    An LM wrote the instructions. The numbers of a list must rise by one. They may start again at 1, because an example
    within the instructions has its own numbering.
    """
    faults = []
    before = 0
    for number in map(int, _NUMBERED.findall(instructions)):
        if number not in (before + 1, 1):
            faults.append(f"number {number} follows {before}" if before else f"the numbering begins with {number}")
        before = number
    if stray := len(_ANSWER.findall(instructions)):
        faults.append(f'{stray} stray "Answer:"')
    if fields := _FIELD.findall(instructions):
        faults.append(f"a field {fields[0]} is left in the text")
    if repeats_itself(instructions):
        faults.append("it ends in a loop")
    return faults if re.search(r"[^\W\d_]", instructions) else ["there is no text"]

"""Prompts that an LM writes or improves, and the checks that Kotonya et al. 2023, §5.2, made of them by hand.

What went wrong there: numbering such as 2, 3, 4, 4 where the original has 1, 2, 3, 4, and an "Answer:" in the middle.
"""

from __future__ import annotations

import re
from typing import Literal

from gre_bench.core.errors import ReplyError
from gre_bench.core.records import Chat
from gre_bench.core.replies import repeats_itself
from gre_bench.prompts.library import fill

Phrase = Literal["improve", "rewrite", "precise", "best"]
"""The four ways to ask for better instructions (§3.2, Table 5)."""

_NUMBERED = re.compile(r"^[ \t]{0,8}(\d{1,3})[.)](?=\s)", re.MULTILINE)
_ANSWER = re.compile(r"^[ \t]*Answer[ \t]*:", re.IGNORECASE | re.MULTILINE)
_FIELD = re.compile(r"\{\w+\}")


def writing_chat(item: Literal["summary", "review"]) -> Chat:
    """What asks an LM to write instructions from nothing (Table 4)."""
    return fill("little_giants/generate" if item == "summary" else "little_giants/generate_review")


def improving_chat(instructions: str, phrase: Phrase = "improve") -> Chat:
    """What asks an LM to write *instructions* anew."""
    return fill(f"little_giants/{phrase}", instructions=instructions)


def sound(reply: str) -> str:
    """The instructions of a *reply*, without the quotation marks around them; `ReplyError` if they are not sound."""
    instructions = reply.strip().strip('"“”').strip()
    if found := findings(instructions):
        raise ReplyError(found[0])
    return instructions


def findings(instructions: str) -> list[str]:
    """What is wrong with *instructions* that an LM has written, each in a few words; nothing if they are sound.

    A numbering may start again at 1 (an example has its own), and must else go up by one.
    """
    found = []
    before = 0
    for number in map(int, _NUMBERED.findall(instructions)):
        if number not in (before + 1, 1):
            found.append(f"number {number} follows {before}" if before else f"the numbering begins with {number}")
        before = number
    if stray := len(_ANSWER.findall(instructions)):
        found.append(f'{stray} stray "Answer:"')
    if fields := _FIELD.findall(instructions):
        found.append(f"a field {fields[0]} is left in the text")
    if repeats_itself(instructions):
        found.append("it ends in a loop")
    return found if re.search(r"[^\W\d_]", instructions) else ["there is no text"]

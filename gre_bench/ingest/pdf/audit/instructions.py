"""Finds passages that instruct a paper's reviewers, or the language models that review it.

A rule is a pattern with a name. The rules of `ANYWHERE` apply to any text. They are strict, because papers on language
models are full of sentences that give a model orders. The rules of `UNSEEN` are looser: an order alone suffices. They
apply only to text that no reader sees.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_MODEL = (
    r"(?:(?:large\s+)?language\s+models?|l+ms?|a\.?i\.?|gpt(?:-?\d\w*)?|chatgpt|claude|gemini"
    r"|chat\s?bots?|assistants?|agents?)"
)
_READER = (
    rf"(?:(?:{_MODEL}|automated|automatic|machine|virtual)[\s-]+"
    r"(?:based\s+|generated\s+|powered\s+)?(?:peer[\s-]+)?(?:reviewers?|referees?))"
)
_ADDRESS = rf"(?:{_READER}|{_MODEL}|(?:peer[\s-]+)?reviewers?|referees?|area\s+chairs?|meta-?reviewers?)"
_PRAISE = (
    r"(?:positive(?:ly)?|favou?rabl[ey]|strong(?:ly)?|high(?:est|ly)?|excellent|outstanding|exceptional|glowing|perfect"
    r"|top|maximum|max|best|good|great|generous(?:ly)?|accept(?:ance|ed|ing)?|flattering|enthusiastic)"
)
_VERDICT = (
    r"(?:reviews?|scores?|ratings?|rates?|recommendations?|evaluations?|assessments?|verdicts?|decisions?|marks?"
    r"|grades?|opinions?|feedback|comments?|judg(?:e?ments?))"
)
_FAULT = (
    r"(?:negatives?|negative\s+(?:\w+\s+){0,2}\w+|weakness(?:es)?|limitations?|flaws?|faults?|shortcomings?"
    r"|criticisms?|problems?|concerns?)"
)
_WORK = r"(?:(?:this|the|our|present)\s+(?:\w+\s+)?(?:paper|work|manuscript|submission|article|study))"
_GAP = r"[^.!?;]{0,60}?\b"
_START = r"(?:^|[.!?:;]\s+|\b(?:please|must|always|just|now)\s+)"


def _compiled(rules: dict[str, str]) -> dict[str, re.Pattern[str]]:
    return {name: re.compile(pattern, re.I | re.X) for name, pattern in rules.items()}


ANYWHERE = _compiled(
    {
        "sets instructions aside": r"""
            \b(?:ignore|disregard|forget|override|bypass|do\s+not\s+follow)\s+
            (?:(?:all|any|every|of|the|your|my|these|those|other)\s+){0,3}
            (?:previous|prior|preceding|above|earlier|foregoing|existing|system|former)\s+(?:\w+\s+)?
            (?:instructions?|prompts?|directions?|guidelines?|rules?|commands?|orders?)\b""",
        "asks for praise alone": rf"""
            \b(?:give|write|provide|produce|output|return|generate|submit|assign|deliver|issue|offer)\s+
            (?:only\s+|nothing\s+but\s+|exclusively\s+|just\s+)?(?:me\s+|us\s+|it\s+|{_WORK}\s+)?
            (?:only\s+|an?\s+|the\s+|nothing\s+but\s+)*(?:\w+ly\s+|very\s+|overall\s+)*
            {_PRAISE}[\s,]+(?:\w+\s+)?(?:peer[\s-]+)?(?:reviews?|recommendations?|verdicts?)\b
            (?=\s*(?:only|(?:of|for|to)\s+{_WORK}|and\s+(?:do\s+not|never|ignore|no)|[.!\n]|$))""",
        "forbids criticism": rf"""
            (?<!\bwe\s)(?<!they\s)(?<!who\s)(?<!and\s)(?<!that\s)(?<!which\s)(?<!papers\s)(?<!authors\s)
            \b(?:do\s+not|don['’]?t|never|avoid|refrain\s+from|without)\s+(?:ever\s+)?
            (?:mention|highlight|point\s+out|list|include|raise|report|discuss|note|state|name|criticis|criticiz
            |writ|find|bring\s+up)(?:e|ing)?\s+(?:any\s+|of\s+|the\s+|its\s+|a\s+|out\s+)*{_FAULT}\b""",
        "speaks to a model reviewer": rf"""
            \b(?:
            (?:notes?|attention|message|instructions?|important|hint|warning|reminder|dear|hello)\b[\s:,–—-]*
            (?:to|for)?\s*(?:all\s+|any\s+|the\s+)?{_READER}
            |{_READER}\s*[:,]\s*(?:please|you|give|do|ignore|accept|rate|recommend|focus|note)
            |{_READER}s?\s+(?:must|should|shall|are\s+(?:asked|instructed|required)\s+to|have\s+to)\s+
            (?:\w+\s+){{0,2}}(?:accept|recommend|rate|score|give|praise|include|ignore|emphasi[sz]e|highlight|write
            |use|add|assign|favou?r))""",
        "speaks to a model as the reader": rf"""
            \b(?:if\s+you\s+are|(?<!such\s)as|you\s+are|when|since\s+you\s+are)\s+(?:an?\s+|the\s+|being\s+)?
            (?:{_READER}|{_MODEL}){_GAP}(?:review(?:ing)?|accept|recommend|rate|score|grade|evaluat\w+)\s+
            (?:\w+\s+){{0,2}}{_WORK}""",
        "tells the referee what to find": rf"""
            \b(?:(?:dear|as\s+(?:the|a))\s+)(?:reviewer|referee)s?\b{_GAP}
            (?:will|must|should|shall|please|have\s+to)\b{_GAP}
            (?:accept|recommend|rate|score|grade|praise|find\s+only|favou?r)""",
        "asks for acceptance": rf"""
            (?:{_START}|\b(?:should|strongly|only)\s+)(?:strongly\s+)?(?:recommend|suggest|advise|vote\s+for)\s+
            (?:the\s+|a\s+|an\s+)?(?:strong\s+|clear\s+|unconditional\s+|immediate\s+)?
            (?:accept(?:ance)?|accepting)\b(?:\s+of)?(?:\s+{_WORK})?
            |{_START}accept\s+{_WORK}\b""",
        "asks for a mark in the review": rf"""
            \b(?:include|insert|add|use|mention|write|begin|start|end)\b{_GAP}
            (?:phrases?|words?|sentences?|terms?|keywords?|strings?|code\s?words?)\b[^.!?]{{0,80}}?
            \bin\s+(?:your|the|any)\s+(?:peer[\s-]+)?(?:review|report|summary\s+of\s+the\s+paper|assessment)\b""",
        "carries a conversation's control marks": r"""
            <\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id)\|>\s*\w*[^<]{0,80}?
            \b(?:review|accept|score|rate|ignore)""",
    }
)
UNSEEN = _compiled(
    {
        "asks for a good grade": rf"""
            \b(?:give|write|assign|output|return|rate|score|grade|recommend|provide|generate|produce|award|praise
            |emphasi[sz]e|highlight|stress|say|state|conclude|respond|answer|mark)\b[^.!?]{{0,80}}?
            \b(?:{_PRAISE}|\d{{1,2}}\s*(?:/|out\s+of)\s*\d{{1,2}})\b""",
        "speaks to a reviewer or model": rf"""
            \b(?:dear|attention|note\s+to|as\s+an?|as\s+the|you\s+are|if\s+you\s+are|for|to\s+the|to\s+all)\s+
            (?:an?\s+|the\s+|any\s+)?{_ADDRESS}\b""",
        "tells what to leave out": rf"""
            \b(?:do\s+not|don['’]?t|never|avoid|ignore|disregard|forget)\b{_GAP}
            (?:{_FAULT}|instructions?|prompts?|rules?|guidelines?)\b""",
        "speaks of the verdict": rf"""
            \b(?:{_PRAISE})\b{_GAP}{_VERDICT}\b|\b(?:must|should|always|please)\b{_GAP}(?:accept|{_VERDICT})\b""",
        "carries a prompt's marks": r"""
            <\|\w+\|>|\[/?INST\]|\#\#\#\s*(?:instruction|system)|\b(?:system|user)\s+prompt\b
            |\bBEGIN\s+(?:SYSTEM|INSTRUCTIONS?)\b""",
    }
)


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage ``text[start:end]`` of a text that matches the rule named *rule*."""

    rule: str
    start: int
    end: int


def instructions_in(text: str, *, unseen: bool = False) -> list[Passage]:
    """Returns the passages of *text* that instruct reviewers or models, in order and without overlaps.

    *unseen* says that no reader of the page sees *text*. The looser rules of `UNSEEN` then apply as well.
    """
    rules = ANYWHERE | UNSEEN if unseen else ANYWHERE
    matches = [Passage(name, *match.span()) for name, rule in rules.items() for match in rule.finditer(text)]
    passages: list[Passage] = []
    for passage in sorted(matches, key=lambda passage: (passage.start, -passage.end)):
        if not passages or passage.start >= passages[-1].end:
            passages.append(passage)
    return passages

"""Patterns that turn a clause into a claim: the words that follow "The reviewer criticizes", "suggests" and so on.

Each row holds a pattern of a whole clause, the claim that the clause becomes, and a kind of words. The row applies only
if the pattern's group ``X`` matches words of this kind. The kinds are:

- ``noun``: words without a verb of their own;
- ``clause``: words with a verb;
- ``verb``: words that begin with the base form of a verb, which becomes a gerund;
- ``wh``: a question such as "how it works" or "whether it works";
- ``any``: any words.

`judgment_claims` puts the words of ``X`` into the claim.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from gre_bench.writing.rules.clause_stance import Stance

Part = Literal["noun", "clause", "verb", "wh", "any"]


class Form(NamedTuple):
    """One row of the patterns.

    - *pattern*: matches a whole clause, and has a group ``X``.
    - *made*: the claim that the clause becomes, as a format string with the field ``X``.
    - *part*: the kind of words that ``X`` must match.
    """

    pattern: re.Pattern[str]
    made: str
    part: Part


def _forms(*rows: tuple[str, str, Part]) -> tuple[Form, ...]:
    return tuple(
        Form(re.compile(re.sub("(?<!P)<X>", "(?P<X>.+)", pattern) + "$", re.I), made, part)
        for pattern, made, part in rows
    )


_I = r"(?:the reviewer|we)"
_ADVERB = r"(?:\w+ly |also |still |even )?"
_PAPER = r"(?:the |this )?(?:paper|work|authors?|manuscript|submission|article|it|they)"
_NO = r"(?:do(?:es)?|did|ha(?:s|ve)|could|can) ?not " + _ADVERB
_GOOD = (
    r"(?:better|good|great|nice|helpful|useful|interesting|beneficial|valuable|ideal|best|desirable|recommended|"
    r"encouraged|suggested|informative|important|worthwhile|necessary)"
)
_ASKED = r"(?:wonder(?:s|ing|ed)?|curious|(?:not |un)?sure|certain|unclear|clear|obvious|unsure|puzzled|confused)"
_WOULD = r"(?:would|might|could|will|may|can|is|['’]d)"
_ADJECTIVE = r"(?P<A>(?:too |not |so )?[\w-]+)"

_CONCERN: tuple[str, str, Part] = (
    rf"{_I} (?:has|have|had) (?:\w+ ){{0,2}}(?:concerns?|doubts?|reservations?|issues?|problems?|questions?) (?:about|on|regarding|with|for) <X>",
    "{X}",
    "noun",
)

FORMS: dict[Stance, tuple[Form, ...]] = {
    "appreciates": _forms(
        (rf"{_PAPER} (?:\w+ly |also )?(?:proposes?d?|presents?|presented|provides?d?|introduces?d?|offers?|gives?|contains?|includes?|conducts?|"
         r"conducted|performs?|performed|develops?|developed|ha(?:s|ve)) (?P<X>.+)", "{X}", "noun"),
        (rf"(?:{_I} )?{_ADVERB}(?:does )?(?:appreciate[sd]?|like[sd]?|enjoy(?:s|ed)?|loves?) (?:that|how) <X>", "that {X}", "clause"),
        (rf"(?:{_I} )?{_ADVERB}(?:does )?(?:appreciate[sd]?|like[sd]?|enjoy(?:s|ed)?|loves?) <X>", "{X}", "noun"),
        (rf"(?:{_I} )?{_ADVERB}(?:does )?(?:appreciate[sd]?|like[sd]?|enjoy(?:s|ed)?|loves?) <X>", "that {X}", "clause"),
        (rf"{_PAPER} is (?:overall |generally |mostly )?(?P<X>well[- ]\w+|clear|novel|interesting|clearly written|easy to \w+)", "the {X} paper", "any"),
    ),
    "criticizes": _forms(
        (r"(?:(?:in|from|with|without|based) [^,]{3,60}, )?(?:it is |it was |it becomes |is )?(?:hard|difficult|challenging)(?: for \w+(?: \w+)?)? to <X>", "the difficulty of {X}", "verb"),
        (r"(?:it|this|that) makes it (?:hard|difficult|challenging)(?: for \w+(?: \w+)?)? to <X>", "the difficulty of {X}", "verb"),
        (r"there (?:is|are|exists?|seems to be) (?:an? |some )?(?:\w+ )?(?:lacks?|absence) of <X>", "the lack of {X}", "noun"),
        (r"there (?:is|are) (?:no|not (?:any|enough|much|sufficient)|little|insufficient) <X>", "the lack of {X}", "noun"),
        (rf"{_PAPER} (?:lacks?|misses|is missing|are missing|is lacking|lacked)(?: of| in)? <X>", "the lack of {X}", "noun"),
        (r"(?:the )?(?:lacks?|lacking|absence|missing|no|not (?:much|many|enough|any|sufficient))(?: of)? <X>", "the lack of {X}", "noun"),
        (rf"(?:{_PAPER}|{_I}) {_NO}(?:provide[d]?|include[d]?|give[n]?|find|see|offer|contain|present|have|report|show) (?:any |enough |sufficient )?<X>", "the lack of {X}", "noun"),
        (rf"(?:{_PAPER}) {_NO}compared? (?P<W>with|to|against) <X>", "the lack of comparison {W} {X}", "noun"),
        (r"(?P<X>.{3,80}) (?:is|are) (?:missing|absent|lacking)", "the lack of {X}", "noun"),
        (r"there (?:is|are|exists?) <X>", "{X}", "noun"),
        (rf"{_I} (?:miss|missed|misses) <X>", "the lack of {X}", "noun"),
        _CONCERN,
        (r"(?:the )?(?P<X>\w+(?: \w+)?) (?:is|are) (?P<A>limited|incremental|weak|unclear|poor|insufficient)", "the {A} {X}", "any"),
    ),
    "questions": _forms(
        (rf"(?:{_I} )?(?:\w+ly )?doubts? (?:that |if |whether )?<X>", "whether {X}", "clause"),
        (rf"(?:.{{0,60}}\b)?(?:{_ASKED}|understand|see|get|know|interested in|tell|follow|grasp|learn|hear)(?: to (?:the reviewer|see|know))?"
         r"(?:,? (?:about|of|on))?,? (?P<X>(?:whether|if|how|why|(?:in |under |to |for |by )?(?:what|which)|where|when|who)\b.+)", "{X}", "wh"),
        (r"(?:.{0,30}\b)(?:curious|wonder(?:s|ing)?|interested|confused|puzzled|unclear|(?:not |un)sure|questions?) (?:about|on|by|in|regarding|of) <X>", "{X}", "noun"),
        (rf"{_I} (?:is|was) (?:not|un)(?: \w+)? ?(?:sure|certain|convinced)(?: that)? <X>", "whether {X}", "clause"),
        (rf"{_I} (?:is|was) (?:not|un)(?: \w+)? ?(?:sure|certain|convinced) (?:about|of|on|by|with) <X>", "{X}", "noun"),
        (rf"{_I} (?:cannot|can not|could not) (?:\w+ly )?(?:judge|check|verify|evaluate|assess|tell) (?P<X>(?:whether|if|how|why|what|which) .+)", "{X}", "wh"),
        (rf"{_I} (?:cannot|can not|could not) (?:\w+ly )?(?:judge|check|verify|evaluate|assess|tell) <X>", "{X}", "noun"),
        (r"<X> (?:is|are|seems?|remains?) (?:\w+ )?(?:questionable|debatable|unclear(?: to the reviewer)?|not (?:\w+ )?clear(?: to the reviewer)?)", "{X}", "noun"),
        _CONCERN,
        (rf"{_I} {_NO}(?:\w+ly )?(?:understand|see|get|follow|grasp) <X>", "{X}", "noun"),
        (r"(?:(?:could|can|would|will) (?:the )?authors? )?(?:\w+ly )?(?:clarify|explain|comment on|elaborate on|elaborate|justify|"
         r"discuss|describe|specify|provide|give|say|tell)(?: (?:more|a bit more|further))?(?: (?:on|about))?,? "
         r"(?P<X>(?:whether|if|how|why|what|which|where|when)\b.+)", "{X}", "wh"),
        (r"(?:(?:could|can|would|will) (?:the )?authors? )?(?:\w+ly )?(?:clarify|explain|comment on|elaborate on|elaborate|justify|"
         r"describe|specify)(?: (?:more|further))?(?: (?:on|about))?,? <X>", "{X}", "noun"),
        (r"(?:what|how) (?:about|is|are|was|were) (?P<X>(?:the|its|their) .+)", "{X}", "noun"),
        (r"any <X>", "whether there is any {X}", "noun"),
    ),
    "suggests": _forms(
        (rf"(?:(?:{_I}|it|this) )?(?:think )?{_WOULD} (?:be )?(?:\w+ ){{0,2}}{_GOOD}(?: for the (?:authors|readers?))? (?:to|if the (?:authors|paper) (?:can|could)?) ?(?:\w+ly )?<X>", "{X}", "verb"),
        (rf"(?:{_I} )?(?:would )?(?:\w+ly )?(?:suggest|recommend|encourage|advise)s?(?: that)? (?:the )?authors? (?:should |could |can )?(?:to )?(?:\w+ly )?(?:consider )?<X>", "{X}", "verb"),
        (rf"(?:{_I} )?(?:would )?(?:\w+ly )?(?:suggest|recommend|encourage|advise)s? (?:to )?<X>", "{X}", "verb"),
        (rf"(?:{_I} )?(?:would )?(?:\w+ly )?(?:suggest|recommend|encourage|advise)s? (?:that )?<X>", "that {X}", "clause"),
        (rf"(?:{_I} )?(?:would )?(?:\w+ly )?(?:suggest|recommend|encourage|advise)s? <X>", "{X}", "noun"),
        (rf"{_I} (?:would|will) (?:\w+ )?(?:like|love|appreciate)(?:d)?(?: to)? (?:see|have|suggest) <X>", "{X}", "noun"),
        (rf"{_I} (?:would|will) (?:\w+ )?like(?:d)? to (?:see|know|understand) (?P<X>(?:how|whether|why|what|if) .+)", "showing {X}", "wh"),
        (rf"{_I} (?:would|will) appreciate <X>", "{X}", "noun"),
        (r"(?:can|could|would|will) (?:the )?authors? (?:\w+ly )?<X>", "{X}", "verb"),
        (r"(?:the )?authors? (?:is|are) (?:\w+ly )?(?:suggested|encouraged|advised|recommended|expected|requested|asked) to (?:\w+ly )?<X>", "{X}", "verb"),
        (r"(?:the )?(?:authors?|paper) (?:might|may|would) (?:want|wish|like) to (?:\w+ly )?<X>", "{X}", "verb"),
        (r"(?:the )?(?:authors?|paper) (?:should|could|may|might|can|needs? to|must|ha(?:s|ve) to)(?: consider)? (?:\w+ly )?<X>", "{X}", "verb"),
        (r"(?:what|how) about <X>", "{X}", "noun"),
        (r"why not <X>", "{X}", "verb"),
        (r"(?:to )?<X>", "{X}", "verb"),
    ),
}  # fmt: skip

"""What a clause says of a thing, as one noun: "the proofs are long" as "the long proofs", "X is not shown" as its lack.

That is how judgments are usually worded; where a clause has another form, nothing is made of it here.
"""

from __future__ import annotations

import re
from typing import Literal

from tasks.writing.english_forms import DETERMINERS, PREPOSITIONS, VERBS, finite, gerund, participle_of

_SAYS = re.compile(
    r"(?P<S>[^,;:]{3,120}?) (?:is|are|was|were|(?:seem|appear|look|feel|sound)s?(?: to be)?)(?P<N> not)?(?: all| both)? "
    r"(?P<A>[^,;:]+(?:, [\w -]+)*)",
    re.I,
)
_LEFT_OUT = {
    "provided": "", "included": "", "given": "", "available": "", "present": "", "presented": "", "shown": "",
    "discussed": "discussion of ", "mentioned": "mention of ", "explained": "explanation of ",
    "described": "description of ", "compared": "comparison of ", "analyzed": "analysis of ",
    "evaluated": "evaluation of ", "justified": "justification of ", "reported": "report of ",
    "defined": "definition of ", "addressed": "treatment of ", "studied": "study of ", "investigated": "study of ",
    "tested": "test of ", "motivated": "motivation of ", "specified": "specification of ", "cited": "citation of ",
    "introduced": "introduction of ", "considered": "consideration of ", "clarified": "clarification of ",
}  # fmt: skip
"""What is not done with a thing, and what is lacking then."""

_DONE = {
    "written": "writing", "presented": "presentation", "explained": "explanation", "described": "description",
    "motivated": "motivation", "organized": "organization", "structured": "structure", "stated": "statement",
    "defined": "definition", "discussed": "discussion", "illustrated": "illustration", "justified": "justification",
}  # fmt: skip
_QUALITY = {
    "novel": "novelty", "original": "originality", "reproducible": "reproducibility", "simple": "simplicity",
    "readable": "readability",
}  # fmt: skip
_DENIED = {
    "clear": "unclear", "convincing": "unconvincing", "sufficient": "insufficient", "consistent": "inconsistent",
    "fair": "unfair", "necessary": "unnecessary", "realistic": "unrealistic", "surprising": "unsurprising",
    "complete": "incomplete", "adequate": "inadequate", "correct": "incorrect", "accurate": "inaccurate",
    "enough": "insufficient", "significant": "insignificant", "reproducible": "irreproducible",
}  # fmt: skip
_ADJECTIVE = re.compile(
    r"(?:[\w-]*(?:[a-z]al|ive|ous|ful|ic|able|ible|ant|ent|ary|less|ing)|(?:well|ill|self|over|under|non)-?\w+ed|"
    r"limited|incremental|weak|strong|clear|unclear|novel|good|great|nice|poor|bad|simple|solid|sound|thorough|"
    r"rigorous|small|large|low|high|new|neat|fine|fair|unfair|hard|easy|confusing|vague|minor|major|marginal|"
    r"detailed|complicated|complex|motivated|restricted|concise|precise|dense|short|brief|long|wrong|incorrect|"
    r"correct|elegant|robust|useful|timely|appropriate|adequate|inadequate|accurate|inaccurate|unjustified|"
    r"unconvinced|unmotivated|outdated|flawed|biased|slow|fast|unusual|complete|incomplete|tight|loose|mild|"
    r"organized|structured|written|designed|straightforward|readable|narrow|broad|misleading|questionable|"
    r"well-\w+|easy-to-\w+|hard-to-\w+|difficult-to-\w+|underexplored|overstated|exaggerated|oversimplified|naive)",
    re.I,
)
_DEGREE = frozenset(["too", "so", "fairly", "relatively", "highly", "extremely", "overly", "clearly", "generally", "mostly",
                     "technically", "rather", "more", "less", "not", "intuitively", "theoretically", "empirically", "pretty"])  # fmt: skip
_NO_SUBJECT = frozenset("it they this that these those there he she i we you which who what how why where one reviewer".split())
_FEASIBLE = re.compile(r"\b(easy|hard|difficult|straightforward|simple) to (\w+)\b", re.I)
_WELL = re.compile(r"\b(well|clearly|nicely|poorly|badly) (?=\w+(?:ed|en)\b)", re.I)


def noun_of(text: str, stance: Literal["appreciates", "criticizes", "questions", "suggests"]) -> str:
    """The noun that *text* says something of, with what it says; empty if *text* has another form."""
    found = _SAYS.fullmatch(text)
    if not found:
        return ""
    subject = _thing(found["S"])
    if not subject:
        return ""
    said, denied = found["A"].strip(), bool(found["N"])
    if denied and stance == "criticizes" and said.lower() in _LEFT_OUT:
        return f"the lack of {_LEFT_OUT[said.lower()]}{found['S'][0].lower()}{found['S'][1:]}"
    if denied:
        return f"the {_DENIED[said]} {subject}" if stance == "criticizes" and said in _DENIED else ""
    if done := re.fullmatch(r"clearly (\w+)|(\w+) clearly", said):
        noun = _DONE.get(done[1] or done[2])
        return f"the clear {noun} of the {subject}" if noun else ""
    if said in _QUALITY and stance == "appreciates":
        return f"the {_QUALITY[said]} of the {subject}"
    said = _WELL.sub(r"\1-", _FEASIBLE.sub(r"\1-to-\2", said))
    return f"the {said} {subject}" if _qualifies(said) else ""


def _qualifies(said: str) -> bool:
    """Whether *said* can stand before a noun: adjectives alone, joined by commas, "and" and "but"."""
    words = re.split(r"[ ,]+", said.lower())
    if not words or len(words) > 7 or words[-1] in _DEGREE:
        return False
    adjectives = [word for word in words if word not in _DEGREE and word not in ("and", "but", "yet", "or")]
    joined = sum(word in ("and", "but", "yet", "or") for word in words) + said.count(",")
    joined -= len(re.findall(r", (?:and|but|yet|or) ", said))
    return len(adjectives) == joined + 1 and all(_ADJECTIVE.fullmatch(word) for word in adjectives)


def _thing(subject: str) -> str:
    """*subject* without its article; empty if it is a pronoun or more than a noun and what hangs on it."""
    words = subject.split()
    while words and words[0].lower() in _ARTICLES:
        words = words[1:]
    low = [word.lower() for word in words]
    if not words or low[0] in _NO_SUBJECT | DETERMINERS | PREPOSITIONS or low[0].endswith("ing") or " to " in subject:
        return ""
    if finite(subject) > 0 or {"that", "which", "who", "and", "how", "why", "if", "because", "as"} & set(low) or low[-1] in VERBS - _NOUNS:
        return ""
    first = words[0]
    return " ".join([first.lower() if first[1:].islower() else first, *words[1:]])


_ARTICLES = frozenset("the this these those their its all overall".split())
_NOUNS = frozenset("use work focus test experiment study result claim design need support change state list plot".split())
_SHOULD = re.compile(
    r"(?P<S>[^,;:]{3,100}?) (?:should|could|must|can|might|needs? to|ha(?:s|ve) to|ought to)(?: \w+ly)? be (?P<A>\w+(?:ly)? )?"
    r"(?P<V>\w+(?:ed|en|n|t|un))(?P<R>(?: .+)?)",
    re.I,
)


def request_of(text: str) -> str:
    """``moving the proofs to an appendix`` for ``the proofs should be moved to an appendix``; or empty."""
    found = _SHOULD.fullmatch(text)
    if not found or found["A"] or found["S"].split()[0].lower() in _NO_SUBJECT or finite(found["S"]) > 0:
        return ""
    verb = participle_of(found["V"].lower())
    if not verb or found["S"].lower().split()[0] in PREPOSITIONS:
        return ""
    subject = found["S"] if found["S"].split()[0][1:] != found["S"].split()[0][1:].lower() else found["S"][0].lower() + found["S"][1:]
    return f"{gerund(verb)} {subject}{found['R']}"

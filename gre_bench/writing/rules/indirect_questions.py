"""Turns questions into indirect questions that can follow "The reviewer questions".

For example, "How does it scale?" becomes "how it scales". If the subject or the verb of a question cannot be found, the
result is empty.
"""

from __future__ import annotations

import re

from gre_bench.writing.rules.english_clauses import finite, stated
from gre_bench.writing.rules.english_forms import (
    BE,
    DETERMINERS,
    VERBS,
    lowered,
    participle_of,
)

VERB = r"(?:is|are|was|were|can|could|would|will|should|has|have|do|does|did|might|may)"
_WHICH = r"(?:(?:in|to|under|for|by|with|at|on|from|of|through) )?(?:what|which)"
WH = re.compile(rf"(?:how(?: many| much| \w+ly)?|why|{_WHICH}|where|when|who|whether|if|to what extent)\b", re.I)
_ASKING = re.compile(
    rf"(?P<W>how (?:many|much) [\w-]+(?: [\w-]+)?|how (?:large|small|big|well|good|often|long|far|fast|important|"
    rf"sensitive|robust|expensive|likely|different|close)|{_WHICH} (?!{VERB}\b)[\w-]+(?: (?!{VERB}\b)[\w-]+){{0,2}}|"
    r"(?:whether|how|why|when|what) (?:and|or) (?:how|why|when|what)|how(?: \w+ly)?|why|what|where|when|who) "
    rf"(?P<V>{VERB})(?P<N> not)? (?P<R>.+)",
    re.I,
)
YES = re.compile(rf"(?P<V>{VERB})(?: not)? (?P<R>.+)", re.I)
_WHY = re.compile(r"why (?P<N>not )?(?:to )?(?P<V>\w+) (?P<R>.+)", re.I)
_BEFORE = re.compile(
    rf"(?P<L>[^?]{{3,200}}?), (?:and |so |but |then |if so, )?(?P<Q>(?:how|why|{_WHICH}|where|when|{VERB})\b.+)", re.I
)
_JOINED = re.compile(
    r"(?:but|and|so|then|also|or|hence|thus|specifically|namely|if (?:so|not|yes)|for (?:example|instance))[, ]+(?=\w)",
    re.I,
)
_ADDED = re.compile(
    r"(?:which|who) (?:\w+ly )?(?:"
    r"\w+s|can|could|would|should|will|may|might|has|have|make|means?)\b",
    re.I,
)
_LEADS = re.compile(r"(?:in|for|on|at|from|if|when|with|under|during|after) [^,]{3,60}$", re.I)


def indirect(text: str) -> str:
    """Returns the question *text* as an indirect question: "how it scales" for "how does it scale".

    The result is empty if *text* is no question or its subject cannot be found.
    """
    text = _JOINED.sub("", text, count=1) if _JOINED.match(text) else text
    before = None if WH.match(text) else _BEFORE.fullmatch(text)
    if before and (inner := indirect(before["Q"])):
        return f"{inner} {lowered(before['L'])}" if _LEADS.fullmatch(before["L"]) else inner
    if match := _ASKING.fullmatch(text):
        return _inverted(match["W"].lower(), match["V"].lower(), match["R"], bool(match["N"]))
    if match := YES.fullmatch(text):
        rest = match["R"]
        if rest.lower().startswith("there "):
            return f"whether there {match['V'].lower()} {rest[6:]}"
        statement = stated(match["V"], rest)
        return statement and f"whether {statement}"
    if (match := _WHY.fullmatch(text)) and (match["V"].lower() in VERBS or match["V"].endswith("ing")):
        if match["V"].endswith("ing"):
            return f"the reason for {match['N'] or ''}{match['V'].lower()} {match['R']}"
        return f"why the authors {'do not ' if match['N'] else ''}{match['V'].lower()} {match['R']}"
    if text.lower().startswith(("how to ", "what to ", "whether to ", "where to ", "when to ")):
        return lowered(text)
    if text.lower().startswith("if ") and ", " in text:
        return ""
    if text.lower().startswith("what if "):
        return f"what happens if {text[8:]}"
    if WH.match(text) and not _ADDED.match(text):
        return lowered(text) if finite(f"it {text.split(' ', 1)[-1]}") > 0 else ""
    return ""


def _inverted(word: str, verb: str, rest: str, negated: bool) -> str:
    """Returns the indirect question "how it scales" for *word* "how", *verb* "does" and *rest* "it scale".

    If *negated*, the indirect question contains "not". The result is empty if the subject cannot be found.
    """
    if word.startswith(("what ", "which ", "who", "how m")) and verb in BE and participle_of(rest.split()[0].lower()):
        return f"{word} {verb}{' not' if negated else ''} {rest}"
    if statement := stated(verb, rest, negated):
        return f"{word} {statement}"
    first = rest.split()[0].lower()
    if verb in BE and finite(f"it {rest}") < 0 and first in DETERMINERS and not negated:
        if len(rest.split()) <= 8:
            return f"{word} {lowered(rest)} {verb}"
        return lowered(rest) if word == "what" else ""
    subject = (
        word.startswith(("what", "which", "who"))
        or " what " in word
        or " which " in word
        or word.startswith(("how many", "how much"))
    )
    if subject and verb not in ("do", "does", "did") and first not in DETERMINERS and not negated:
        return f"{word} {verb} {rest}"
    return ""

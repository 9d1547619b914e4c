"""A clause of a review as what follows "The reviewer criticizes" and the like: a noun, "that ...", "how ...", a gerund.

A clause that no rule puts into a sentence gives nothing, for a broken sentence would be worse than none.
"""

from __future__ import annotations

import re
from itertools import pairwise

from tasks.writing import review_lexicon as lexicon
from tasks.writing.claim_patterns import FORMS, Part
from tasks.writing.clause_stance import Stance
from tasks.writing.english_forms import (
    AUXILIARIES,
    BE,
    DETERMINERS,
    MODALS,
    PREPOSITIONS,
    THIRD,
    VERBS,
    dangles,
    ends_with_verb,
    finite,
    gerund,
    is_noun,
    participle_of,
    stated,
    third,
)
from tasks.writing.noun_claims import act_of, noun_of, request_of
from tasks.writing.review_clauses import Clause

LONGEST_LINE = 30
"""Words of a line after its opening, at most."""

_LATE = 9
"""Words that stay when a claim is cut, at least."""

_VERB = r"(?:is|are|was|were|can|could|would|will|should|has|have|do|does|did|might|may)"
_WHICH = r"(?:(?:in|to|under|for|by|with|at|on|from|of|through) )?(?:what|which)"
_WH = re.compile(rf"(?:how(?: many| much| \w+ly)?|why|{_WHICH}|where|when|who|whether|if|to what extent)\b", re.I)
_ASKING = re.compile(
    rf"(?P<W>how (?:many|much) [\w-]+(?: [\w-]+)?|how (?:large|small|big|well|good|often|long|far|fast|important|sensitive|robust|"
    rf"expensive|likely|different|close)|{_WHICH} (?!{_VERB}\b)[\w-]+(?: (?!{_VERB}\b)[\w-]+){{0,2}}|(?:whether|how|why|when|what) (?:and|or) (?:how|why|when|what)|how(?: \w+ly)?|why|what|where|when|who) "
    rf"(?P<V>{_VERB})(?P<N> not)? (?P<R>.+)",
    re.I,
)
_YES = re.compile(rf"(?P<V>{_VERB})(?: not)? (?P<R>.+)", re.I)
_WHY = re.compile(r"why (?P<N>not )?(?:to )?(?P<V>\w+) (?P<R>.+)", re.I)
_BEFORE = re.compile(
    rf"(?P<L>[^?]{{3,200}}?), (?:and |so |but |then |if so, )?(?P<Q>(?:how|why|{_WHICH}|where|when|{_VERB})\b.+)", re.I
)
_OPEN_QUOTE, _END_QUOTE = re.compile(r"(?<![\w.,)])['‘“](?=\w)"), re.compile(r"(?<=[\w.,)])(?<!s)['’”](?!\w)")
_JOINED = re.compile(r"(?:but|and|so|then|also|or|hence|thus|specifically|namely|if so|if not|if yes|for (?:example|instance))[, ]+(?=\w)", re.I)
_LATER = re.compile(rf"[;,:] (?:and |so |but |then )?(?:{_VERB}|how|why|what|which|where)\b", re.I)
_LED = re.compile(r"that (?:because|since|if|while|although|when|as|though|given|despite|unlike)\b", re.I)
_ADDED = re.compile(r"(?:which|who) (?:\w+ly )?(?:\w+s|can|could|would|will|may|might|has|have|make|means?)\b", re.I)
_LEADS = re.compile(r"(?:in|for|on|at|from|if|when|with|under|during|after) [^,]{3,60}$", re.I)
_TAG = re.compile(r"[, ]+(?:right|correct|no|or not|why|am I right)$", re.I)
_PREDICATE = re.compile(
    r"(?:(?:well|clearly|nicely|badly|poorly|easily)[- ]\w+|(?:easy|hard|difficult|straightforward) to|not (?:\w+ )?"
    r"(?:clear|sure|convincing|novel|well|easy|convinced|surprising)|(?:un)?clear(?:ly written| and| how| why| what| whether| if| that)\b|"
    r"interesting and|too \w+|good to)",
    re.I,
)


def claim_of(clause: Clause, stance: Stance) -> str:
    """What *stance* takes as its object, made of *clause*; empty if no rule makes a sentence of it."""
    text = _bare(clause.text)
    if len(text) < 3:
        return ""
    return _shortened(_asked(text, stance) if clause.asks else _said(text, stance))


def _bare(text: str) -> str:
    """*text* without what leads to it, labels, fillers and asides, the reviewer in the third person."""
    text = lexicon.ASIDE.sub("", text).strip(" \t-–—:;,*.?!\"'()[]<>•")
    for _ in range(3):
        text = lexicon.LEAD.sub("", text).strip(" ,:;")
        if label := lexicon.LABEL.match(text):
            text = text[label.end() :]
    text = " ".join(lexicon.FILLER.sub("", text).split())
    text = lexicon.FIRST_PERSON.sub(lambda found: _third_person(found[1], found[2]), text)
    for pattern, word in lexicon.PERSONS:
        text = pattern.sub(word, text)
    return text.strip(" ,:;-")


def _third_person(adverb: str, verb: str) -> str:
    said = "is" if verb == "am" else third(verb) if verb in VERBS and verb not in ("put", "read") else verb
    return f"the reviewer {adverb}{said}"


def _said(text: str, stance: Stance) -> str:
    """The claim of a statement."""
    noun = request_of(text) if stance == "suggests" else noun_of(text, stance) or act_of(text, stance)
    if noun:
        return noun
    for pattern, made, part in FORMS[stance]:
        if (found := pattern.match(text)) and (part_text := _part(found["X"], part)):
            others = {name: group for name, group in found.groupdict().items() if name != "X" and group}
            return made.format(X=part_text, **others)
    first, _, rest = text.partition(" ")
    first = first.lower().strip(",")
    if stance == "questions":
        return ("" if first in ("which", "who") else _wh(text)) or _part(text, "noun")
    if first in ("which", "who"):
        text, first = f"this {rest}", "this"
    if first in ("because", "since", "if", "while", "although", "when", "as", "though") and "," not in text:
        return ""
    if _PREDICATE.match(text) and finite(text) < 0:
        return f"that the paper is {_lowered(text)}"
    if first in AUXILIARIES or (first in THIRD and finite(text) < 0 and not rest.startswith("of ")):
        return f"that the paper {_lowered(text)}" if rest else ""
    if first in VERBS and rest.partition(" ")[0].lower() in DETERMINERS:
        return f"that the paper {third(first)} {rest}"
    if participle_of(first) and finite(text) < 0 and rest.partition(" ")[0].lower() in DETERMINERS | _NEW:
        return f"that the paper {_lowered(text)}"
    if finite(text) > 0:
        return "" if _WH.match(text) and stance != "criticizes" else f"that {_lowered(text)}"
    return _part(text, "noun", open_article=True)


def _asked(text: str, stance: Stance) -> str:
    """The claim of a question."""
    if stance in ("suggests", "questions"):
        for pattern, made, part in FORMS[stance]:
            if (found := pattern.match(text)) and (part_text := _part(found["X"], part)):
                return made.format(X=part_text)
    if stance != "questions":
        return ""
    if asked := _wh(text):
        return asked
    said = _TAG.sub("", text)
    if _LATER.search(said):
        return ""
    return f"whether {_lowered(said)}" if finite(said) > 0 and not _WH.match(said) and not _YES.match(said) else ""


def _wh(text: str) -> str:
    """*text* as an indirect question; empty if it asks nothing."""
    text = _JOINED.sub("", text, count=1) if _JOINED.match(text) else text
    if before := _BEFORE.fullmatch(text):
        if (inner := _wh(before["Q"])) and not _WH.match(text):
            return f"{inner} {_lowered(before['L'])}" if _LEADS.fullmatch(before["L"]) else inner
    if found := _ASKING.fullmatch(text):
        return _inverted(found["W"].lower(), found["V"].lower(), found["R"], bool(found["N"]))
    if found := _YES.fullmatch(text):
        rest = found["R"]
        if rest.lower().startswith("there "):
            return f"whether there {found['V'].lower()} {rest[6:]}"
        said = stated(found["V"], rest)
        return said and f"whether {said}"
    if (found := _WHY.fullmatch(text)) and (found["V"].lower() in VERBS or found["V"].endswith("ing")):
        if found["V"].endswith("ing"):
            return f"the reason for {found['N'] or ''}{found['V'].lower()} {found['R']}"
        return f"why the authors {'do not ' if found['N'] else ''}{found['V'].lower()} {found['R']}"
    if text.lower().startswith(("how to ", "what to ", "whether to ", "where to ", "when to ")):
        return _lowered(text)
    if text.lower().startswith("what if "):
        return f"what happens if {text[8:]}"
    if _WH.match(text) and not _ADDED.match(text):
        return _lowered(text) if finite(f"it {text.split(' ', 1)[-1]}") > 0 else ""
    return ""


def _inverted(word: str, verb: str, rest: str, negated: bool) -> str:
    """The indirect question of *word* ("how"), *verb* ("does") and *rest* ("it scale"); empty if it cannot be told."""
    if said := stated(verb, rest, negated):
        return f"{word} {said}"
    first = rest.split()[0].lower()
    if verb in BE and finite(f"it {rest}") < 0 and first in DETERMINERS and not negated:
        if len(rest.split()) <= 8:
            return f"{word} {_lowered(rest)} {verb}"
        return _lowered(rest) if word == "what" else ""
    subject = word.startswith(("what", "which", "who")) or " what " in word or " which " in word or word.startswith(("how many", "how much"))
    if subject and verb not in ("do", "does", "did") and first not in DETERMINERS and not negated:
        return f"{word} {verb} {rest}"
    return ""


def _part(text: str, part: Part, open_article: bool = False) -> str:
    """*text* as the part of a claim that it has to be; empty if it is not."""
    text = text.strip(" ,")
    first, _, rest = text.partition(" ")
    low = first.lower().strip(",")
    if part == "any":
        return _lowered(text)
    if part == "clause":
        return _lowered(text) if finite(text) > 0 and not _WH.match(text) else ""
    if part == "wh":
        return _wh(text)
    if part == "verb":
        if low not in VERBS or low in ("be",) or not rest or rest.split()[0].lower() in AUXILIARIES | {"of", "to", "that"} - {"that"}:
            return ""
        return f"{gerund(low)} {_parallel(rest)}"
    if finite(text) > 0 or low in AUXILIARIES | PREPOSITIONS | _OPENERS or (low.endswith("ly") and low != "early"):
        return ""
    if text.split()[-1].lower() in PREPOSITIONS or " and it " in text or " and they " in text:
        return ""
    if (low in VERBS and rest and rest.split()[0].lower() in DETERMINERS) or _AUTHORS.match(text):
        return ""
    bare = low in DETERMINERS or low.endswith(("ing", "s")) or not open_article
    return ("" if bare else "the ") + _lowered(text)


_AUTHORS = re.compile(r"(?:the )?(?:authors?|reviewer) (?!of\b)", re.I)
_AFTER_VERB = DETERMINERS | {"how", "why", "if"}
_NEW = frozenset("extensive new novel thorough comprehensive several various many".split())
_OPENERS = frozenset(
    "to that which who because since if while although when as though and or but not so then also however there it "
    "they he she we you due based such regarding very too i e.g i.e".split()
)


def _parallel(text: str) -> str:
    """*text* with the base forms after "and" as gerunds: "adding a study and comparing it"."""
    words = text.split()
    for place, (one, two) in enumerate(pairwise(words)):
        later = words[place + 2] if place + 2 < len(words) else ""
        if one in ("and", "or") and two in VERBS and (later.lower() in _AFTER_VERB or not is_noun(two)):
            words[place + 1] = gerund(two)
        elif one in ("and", "or") and two.endswith("ly") and later in VERBS and not is_noun(later):
            words[place + 2] = gerund(later)
    return " ".join(words)


def _lowered(text: str) -> str:
    """*text* with a small first letter, unless its first word is an acronym or a name with capitals inside."""
    first = text.split(" ", 1)[0].split("-")[0].strip(",")
    return text[0].lower() + text[1:] if len(first) == 1 or first[1:].islower() or "'" in first else text


def _shortened(text: str) -> str:
    """*text*, or as much of it as makes a sentence where it is too long or broken; empty if nothing does."""
    words = text.split()
    if len(words) <= LONGEST_LINE and (whole := _checked(text)):
        return whole
    text = " ".join(words[: LONGEST_LINE + 1])
    for places in (lexicon.SOFT, lexicon.PHRASE):
        for cut in reversed(list(places.finditer(text))):
            part = _checked(text[: cut.start()], cut=True) if text.count(" ", 0, cut.start()) >= _LATE else ""
            if part and not ends_with_verb(part):
                return part
    return ""


def _checked(text: str, cut: bool = False) -> str:
    """*text* without what cannot end it; empty if something in it shows that it is no sentence."""
    words = text.split()
    asks = bool(_WH.match(text))
    kept = BE if asks else frozenset()
    kept = kept if cut else kept | PREPOSITIONS
    while words and words[-1].lower().strip(",") in (lexicon.UNFINISHED | MODALS) - kept:
        words.pop()
    text = " ".join(words[:LONGEST_LINE]).rstrip(" ,;:.-([?!\"'")
    if len(_OPEN_QUOTE.findall(text)) != len(_END_QUOTE.findall(text)) or text.count('"') % 2:
        text = _END_QUOTE.sub("", _OPEN_QUOTE.sub("", text)).replace('"', "")
    if not text or lexicon.BROKEN.search(text) or text.count("(") != text.count(")") or dangles(text):
        return ""
    if (asks and len(words) < 3) or (_LED.match(text) and finite(text.partition(", ")[2]) < 1):
        return ""
    return "" if text.startswith("that ") and finite(text[5:]) < 0 else text

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
    finite,
    gerund,
    stated,
    third,
)
from tasks.writing.review_clauses import Clause

LONGEST_LINE = 25
"""Words of a line after its opening, at most."""

_LATE = 9
"""Words that stay when a claim is cut, at least."""

_WH = re.compile(r"(?:how(?: many| much| \w+ly)?|why|what|which|where|when|who|whether|if|to what extent)\b", re.I)
_ASKING = re.compile(
    r"(?P<W>how (?:many|much) [\w-]+|(?:what|which) (?!(?:is|are|was|were|can|could|do|does|did|would|will|has|have)\b)[\w-]+(?: [\w-]+)?|"
    r"how(?: \w+ly)?|why|what|where|when|who|to what extent) (?P<V>is|are|was|were|can|could|would|will|should|has|"
    r"have|do|does|did)(?:n['’]t)? (?P<R>.+)",
    re.I,
)
_YES = re.compile(r"(?P<V>is|are|was|were|can|could|would|will|should|has|have|do|does|did)(?P<N>n['’]t)? (?P<R>.+)", re.I)
_BEFORE = re.compile(
    r"(?P<L>(?:in|for|on|at|from|if|when|with|regarding|about|given|since|as|under|during|after|because) [^,?]{3,90}), "
    r"(?P<Q>(?:how|why|what|where|when|which|is|are|was|were|can|could|would|will|do|does|did|has|have)\b.+)",
    re.I,
)
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
    return _checked(_shortened(_asked(text, stance) if clause.asks else _said(text, stance)))


def _bare(text: str) -> str:
    """*text* without what leads to it, labels, fillers and asides, the reviewer in the third person."""
    text = lexicon.ASIDE.sub("", text.replace("’", "'")).strip(" \t-–—:;,*.?!\"'()[]<>•")
    for _ in range(3):
        text = lexicon.LEAD.sub("", text).strip(" ,:;")
        if label := lexicon.LABEL.match(text):
            text = text[label.end() :]
    text = " ".join(lexicon.FILLER.sub("", text).split())
    text = lexicon.FIRST_PERSON.sub(lambda found: _third_person(found[1] or "", found[2]), text)
    for pattern, word in lexicon.PERSONS:
        text = pattern.sub(word, text)
    return text.strip(" ,:;-")


def _third_person(adverb: str, verb: str) -> str:
    formed = {"am": "is", "'m": "is", "have": "has", "'ve": "has", "do": "does", "don't": "doesn't", "'d": "would"}
    said = formed.get(verb.lower()) or (third(verb) if verb in VERBS else verb)
    return f"the reviewer {adverb}{said}"


def _said(text: str, stance: Stance) -> str:
    """The claim of a statement."""
    for pattern, made, part in FORMS[stance]:
        if (found := pattern.match(text)) and (part_text := _part(found["X"], part)):
            others = {name: group for name, group in found.groupdict().items() if name != "X" and group}
            return made.format(X=part_text, **others)
    first, _, rest = text.partition(" ")
    first = first.lower().strip(",")
    if stance == "questions":
        return _wh(text) or _part(text, "noun")
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
    if finite(text) > 0:
        return "" if _WH.match(text) and stance != "criticizes" else f"that {_lowered(text)}"
    return _part(text, "noun", open_article=True)


def _asked(text: str, stance: Stance) -> str:
    """The claim of a question."""
    if stance in ("suggests", "questions"):
        for pattern, made, part in FORMS[stance]:
            if (found := pattern.match(text)) and (part_text := _part(found["X"], part)):
                return made.format(X=part_text)
    return _wh(text) if stance == "questions" else ""


def _wh(text: str) -> str:
    """*text* as an indirect question; empty if it asks nothing."""
    if before := _BEFORE.match(text):
        inner = _wh(before["Q"])
        return f"{inner} {_lowered(before['L'])}" if inner else ""
    if found := _ASKING.match(text):
        word, verb, rest = found["W"].lower(), found["V"].lower(), found["R"]
        negated = " not" if "n't" in text[: found.start("R")] else ""
        if said := stated(verb, rest):
            if negated:
                said = re.sub(rf"\b{verb}\b", f"{verb} not", said, count=1) if f" {verb} " in said else ""
            return said and f"{word} {said}"
        if verb in BE and word in ("what", "how", "why", "where", "who") and finite(f"it {rest}") < 0:
            return f"{word} {_lowered(rest)} {verb}" if len(rest.split()) <= 6 else ""
        if word in ("what", "which", "who") or " " in word:
            return f"{word} {verb} {rest}" if verb not in ("do", "does", "did") and rest.split()[0].lower() not in DETERMINERS else ""
        return ""
    if found := _YES.match(text):
        rest = found["R"]
        if rest.lower().startswith("there "):
            return f"whether there {found['V'].lower()} {rest[6:]}"
        said = stated(found["V"], rest)
        return said and f"whether {said}"
    if _WH.match(text):
        return _lowered(text) if finite(f"it {text.split(' ', 1)[-1]}") > 0 else ""
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
    if low in VERBS and rest and rest.split()[0].lower() in DETERMINERS:
        return ""
    bare = low in DETERMINERS or low.endswith(("ing", "s")) or not open_article
    return ("" if bare else "the ") + _lowered(text)


_OPENERS = frozenset(
    "to that which who because since if while although when as though and or but not so then also however there it "
    "they he she we you due based such regarding very too i e.g i.e".split()
)


def _parallel(text: str) -> str:
    """*text* with the base forms after "and" as gerunds: "adding a study and comparing it"."""
    words = text.split()
    for place, (one, two) in enumerate(pairwise(words)):
        joins = one in ("and", "or")
        if joins and two in VERBS and place + 2 < len(words) and words[place + 2].lower() in DETERMINERS | {"how", "why", "if"}:
            words[place + 1] = gerund(two)
    return " ".join(words)


def _lowered(text: str) -> str:
    """*text* with a small first letter, unless its first word is an acronym or a name with capitals inside."""
    first = text.split(" ", 1)[0].split("-")[0].strip(",")
    return text[0].lower() + text[1:] if len(first) == 1 or first[1:].islower() or "'" in first else text


def _shortened(text: str) -> str:
    """The first words of *text*, cut where a clause ends if there is such a place late enough."""
    words = text.split()
    if len(words) > LONGEST_LINE:
        text = " ".join(words[: LONGEST_LINE + 1])
        cuts = [cut.start() for cut in lexicon.SOFT.finditer(text) if text.count(" ", 0, cut.start()) >= _LATE]
        if not cuts:
            cuts = [cut.start() for cut in lexicon.PHRASE.finditer(text) if text.count(" ", 0, cut.start()) >= _LATE]
        text = text[: cuts[-1]] if cuts else ""
    words = text.split()
    while words and words[-1].lower().strip(",") in lexicon.FUNCTION | MODALS:
        words.pop()
    return " ".join(words).rstrip(" ,;:.-([?!\"'")


def _checked(text: str) -> str:
    """*text* unless something in it shows that it is no sentence."""
    if not text or lexicon.BROKEN.search(text) or text.count('"') % 2 or text.count("(") != text.count(")"):
        return ""
    if text.startswith("that ") and finite(text[5:]) < 0:
        return ""
    return text

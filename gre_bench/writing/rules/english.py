"""English words and forms of verbs; finds the verb of a clause, and turns questions into statements.

The functions use only lists of words and the endings of words. If these do not suffice, a function returns -1, 0 or an
empty text, which means "unknown". The callers then write nothing rather than a broken sentence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gre_bench.core.resources import word_lists


def listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


LISTS = word_lists()


def pairs(name: str) -> dict[str, str]:
    return dict(pair.split(":") for pair in LISTS[name])


VERBS = frozenset(LISTS["verbs"])
_IRREGULAR = pairs("irregular past")
IRREGULAR_PAST = frozenset(_IRREGULAR.values()) - {"put", "read"}
PARTICIPLES = frozenset(LISTS["participles"])
BE = frozenset(["is", "are", "was", "were"])
MODALS = listed("can could should would may might will must cannot")
HAVE, DO = frozenset(["has", "have", "had"]), frozenset(["do", "does", "did"])
AUXILIARIES = BE | MODALS | HAVE | DO
PREPOSITIONS, DETERMINERS = frozenset(LISTS["prepositions"]), frozenset(LISTS["determiners"])
PRONOUNS = listed("it they this that these those there he she we you i authors everything nothing one")
AMBIGUOUS = frozenset(LISTS["ambiguous"])
_DOUBLED = listed("run put plot get cut let stop overfit fit spot map split omit set")
"""Verbs whose last letter is doubled in the gerund."""

ADJECTIVE = re.compile(r"\w+(?:al|ive|ous|ful|ic|able|ible|ant|ent|ary|less|ical)$")
WORD = re.compile(r"[^\s,;:()\"]+|[,;:]")


def third(verb: str) -> str:
    """Returns the third person singular of the base form *verb*: ``compares`` for ``compare``."""
    if verb in ("have", "be", "do", "go"):
        return {"have": "has", "be": "is", "do": "does", "go": "goes"}[verb]
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "x", "z", "ch", "sh")) else "s")


def gerund(verb: str) -> str:
    """Returns the gerund of the base form *verb*: ``comparing`` for ``compare``."""
    if verb in _DOUBLED:
        return verb + verb[-1] + "ing"
    if verb in ("lie", "tie"):
        return verb[:-2] + "ying"
    return (verb[:-1] if verb.endswith("e") and not verb.endswith("ee") and verb != "be" else verb) + "ing"


def past(verb: str) -> str:
    """Returns the past tense of the base form *verb*: ``compared`` for ``compare``."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ied"
    if verb in ("plot", "stop", "fit", "map", "omit", "spot"):
        return verb + verb[-1] + "ed"
    return verb + ("d" if verb.endswith("e") else "ed")


_BASES = {past(verb): verb for verb in VERBS if verb not in ("be", "have", "do")} | {
    "written": "write", "shown": "show", "given": "give", "made": "make", "taken": "take", "run": "run", "done": "do",
    "rewritten": "rewrite", "put": "put", "drawn": "draw",
}  # fmt: skip


def participle_of(word: str) -> str:
    """Returns the base form of the verb whose past tense or past participle is *word*; empty if no verb is known."""
    return _BASES.get(word, "")


THIRD = {third(verb): verb for verb in VERBS if verb not in ("be", "have", "do")}
PAST = {past(verb) for verb in VERBS if verb not in ("be", "have", "do", "put", "read")}


def ends_with_verb(text: str) -> bool:
    """Whether the last word of *text* is a verb, which suggests that the verb's object is missing."""
    last = text.split()[-1].lower()
    return last in AUXILIARIES or ((last in THIRD or last in VERBS) and last not in AMBIGUOUS)


def lowered(text: str) -> str:
    """Returns *text* with a small first letter, unless its first word is an acronym or has a later capital."""
    first = text.split(" ", 1)[0].split("-")[0].strip(",")
    return text[0].lower() + text[1:] if len(first) == 1 or first[1:].islower() or "'" in first else text


def finite(text: str) -> int:
    """Returns the index of the first word of *text* that is a finite verb after its subject; -1 if there is none.

    A comma, semicolon or colon counts as a word. Verbs of clauses that begin with "that", "which" and the like are
    skipped, because such a clause is not a sentence by itself.
    """
    words = WORD.findall(text)
    low = [word.lower().replace("’", "'") for word in words]
    within = hung = False
    for index, word in enumerate(low):
        if word in _RELATIVES and index:
            within = True
        if _is_verb(low, index):
            if not within and not (hung and low[index - 1] in ("and", "or")):
                return index
            hung, within = within or hung, False
    return -1


_ADVERBS = listed("only also still never already often even just not")
_LINKING = listed("appear seem remain become look felt became seemed looked remained appeared sounded")
_AGENTS = listed("author authors paper it they we reviewer article manuscript he method")
_SAID_OF = listed(
    "achieved outperformed showed proposed provided improved demonstrated presented introduced used made gave"
)
_ARTICLES = listed("a an the its their no")
_RELATIVES = listed("that which who whom whose where whether how why what when if because since")
_OPENING = listed("which who whom whose where how why what whether because if when although while since")
_VERB_FORMS = AUXILIARIES | THIRD.keys() | PAST | VERBS | IRREGULAR_PAST


def dangles(text: str) -> bool:
    """Whether *text* ends in an unfinished clause: no verb follows its last "which", "how", "why" or similar word."""
    low = [word.lower() for word in WORD.findall(text)]
    opened = max((index for index, word in enumerate(low) if word in _OPENING and index), default=-1)
    later = low[opened + 1 :]
    return opened >= 0 and later[:1] != ["to"] and _VERB_FORMS.isdisjoint(later)


def _is_verb(low: Sequence[str], index: int) -> bool:
    """Whether the word at *index* of *low*, a clause in lower case, is probably a finite verb after its subject."""
    word, before = low[index], _subject_end(low, index)
    after = low[index + 1] if index + 1 < len(low) else ""
    if not before or before == "to":
        return False
    if before in (",", ";"):
        return index > 1 and (word in AUXILIARIES or (word in THIRD and word not in AMBIGUOUS))
    if word in AUXILIARIES:
        return True
    if before in PREPOSITIONS or (before in DETERMINERS and before not in PRONOUNS):
        return False
    if word in _LINKING or (word in THIRD and (before in _AGENTS or before in ("that", "which", "who"))):
        return True
    if word in THIRD:
        return _is_third(word, before, after)
    if word in PAST or word in IRREGULAR_PAST:
        return _is_past(word, before, after)
    if len(word) > 3 and after in _ARTICLES and _ends_in_s(word):
        return before not in PREPOSITIONS and not ADJECTIVE.match(before)
    return word in VERBS and _is_plural(word, before, after)


def _subject_end(low: Sequence[str], index: int) -> str:
    """Returns the last word before *index* that is not an adverb: the end of the subject of a verb at *index*."""
    earlier = index - 1
    while earlier > 0 and (low[earlier] in _ADVERBS or low[earlier].endswith("ly")):
        earlier -= 1
    return low[earlier] if index else ""


def _opens_object(word: str) -> bool:
    """Whether the object or complement of a verb can start with *word*."""
    return _opens_noun(word) or word in PREPOSITIONS or word.endswith("ing") or word in ("out", "up")


def _opens_noun(word: str) -> bool:
    """Whether a noun phrase, or a clause used as a noun, can start with *word*."""
    return word in DETERMINERS or word in ("that", "how", "why", "what", "whether", "it")


def _ends_in_s(word: str) -> bool:
    """Whether *word* ends with the "s" that marks a plural or the third person of a verb."""
    return word.endswith("s") and not word.endswith(("ss", "us", "is", "'s"))


def _is_third(word: str, before: str, after: str) -> bool:
    """Whether *word* is a verb in the third person, not a plural noun, between the words *before* and *after*."""
    opens, adjective = _opens_object(after), bool(ADJECTIVE.match(before))
    if after == "of" or (adjective and not opens):
        return False
    return word not in AMBIGUOUS or (opens and not adjective)


def _is_past(word: str, before: str, after: str) -> bool:
    """Whether *word* is a verb in the past tense, not a participle, between the words *before* and *after*."""
    if before in _AGENTS or word in _LINKING:
        return True
    if word not in _SAID_OF or before in (",", "and", "or", "not"):
        return _opens_noun(after)
    return bool(after) and not after.endswith("ly") and after not in PREPOSITIONS | {",", "and", "or"}


def _is_plural(word: str, before: str, after: str) -> bool:
    """Whether *word*, the base form of a verb, is the verb of a plural subject that ends with *before*."""
    pronoun = before in ("they", "we", "i", "you", "authors", "which")
    if not (pronoun or (_ends_in_s(before) and not before.endswith("ous"))):
        return False
    return before not in THIRD.keys() - AMBIGUOUS and (word not in AMBIGUOUS or _opens_object(after))


def stated(auxiliary: str, rest: str, negated: bool = False) -> str:
    """Turns "is" and "the bound tight" into "the bound is tight"; empty if the subject has no clear end."""
    words, low = rest.split(), [word.lower().strip(",") for word in rest.split()]
    auxiliary = auxiliary.lower()
    index = next((index for index in range(1, min(len(low), 16)) if _starts_predicate(auxiliary, low, index)), 0)
    if not index:
        return ""
    subject, predicate = " ".join(words[:index]), words[index:]
    if negated and low[index] != "not":
        predicate, low = ["not", *predicate], [*low[:index], "not", *low[index:]]
    verb = low[index]
    if auxiliary not in DO or verb == "not":
        return " ".join([subject, auxiliary, *predicate])
    formed = {"do": verb, "does": third(verb), "did": past(verb) if verb != "be" else "was"}[auxiliary]
    return " ".join([subject, formed, *predicate[1:]])


def _starts_predicate(auxiliary: str, low: Sequence[str], index: int) -> bool:
    """Whether the predicate of a question can start at *index* of *low*, its words after *auxiliary* in lower case."""
    word, before = low[index], low[index - 1]
    after = low[index + 1] if index + 1 < len(low) else ""
    pronoun = index == 1 and before in PRONOUNS
    if before in PREPOSITIONS or (before in DETERMINERS and not pronoun) or before in ("and", "or"):
        return False
    if word == "not" or (auxiliary in BE and word in ("a", "an", "the")):
        return True
    # "this" is the whole subject of "is this correct", and not of "is this proof correct".
    if pronoun and (
        before not in ("this", "that", "these", "those")
        or word in DETERMINERS | PREPOSITIONS | VERBS
        or _SAID.match(word)
    ):
        return True
    if index == 1 and before in DETERMINERS:
        return False
    if auxiliary in MODALS | DO:
        return word in VERBS and not (word in AMBIGUOUS and after in VERBS)
    if auxiliary in HAVE:
        return word in PARTICIPLES or word.endswith("ed")
    return _is_adjective(word, after)


def _is_adjective(word: str, following: str) -> bool:
    """Whether *word* is an adjective or participle that no noun follows; *following* is the next word."""
    if not (_SAID.match(word) or word in PARTICIPLES):
        return False
    if not following or following in PREPOSITIONS | DETERMINERS | _AFTER or following.endswith("ly"):
        return True
    return word in _LATER or word.endswith("ly")


_LATER = listed("still also only always so too very really even not just due because better worse")
_AFTER = listed("if when because and or but while since compared that enough here there")
_SAID = re.compile(
    r"(?:\w+(?:ed|ing|al|ive|ous|ful|ic|able|ible|ant|ent|ary|less|ly|er)|still|also|only|always|so|too|very|even|due|"
    r"because|new|same|fair|true|good|bad|high|low|large|small|hard|tight|robust|wrong|correct|in|on|out|similar|"
    r"enough|clear|necessary|important|possible|available|more|less|sure|fast|slow|close|equal|specific)$"
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
    r"(?:which|who) (?:\w+ly )?(?:\w+s|can|could|would|should|will|may|might|has|have|make|means?)\b", re.I
)
_LEADS = re.compile(r"(?:in|for|on|at|from|if|when|with|under|during|after) [^,]{3,60}$", re.I)


def indirect(text: str) -> str:
    """Returns "how it scales" for "how does it scale"; empty if *text* is no question, or has no clear subject."""
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
    """Returns "how it scales" for *word* "how", *verb* "does" and *rest* "it scale"; empty if it finds no subject."""
    if word.startswith(("what ", "which ", "who", "how m")) and verb in BE and participle_of(rest.split()[0].lower()):
        return f"{word} {verb}{' not' if negated else ''} {rest}"
    if statement := stated(verb, rest, negated):
        return f"{word} {statement}"
    first = rest.split()[0].lower()
    if verb in BE and finite(f"it {rest}") < 0 and first in DETERMINERS and not negated:
        if len(rest.split()) <= 8:
            return f"{word} {lowered(rest)} {verb}"
        return lowered(rest) if word == "what" else ""
    subject = word.startswith(("what", "which", "who", "how many", "how much")) or " what " in word or " which " in word
    if subject and verb not in ("do", "does", "did") and first not in DETERMINERS and not negated:
        return f"{word} {verb} {rest}"
    return ""

"""Finds the verb of an English clause, and turns questions into statements.

The functions use only lists of words and the endings of words. If these do not suffice, a function returns -1, 0 or an
empty text, which means "unknown". The callers then write nothing rather than a broken sentence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gre_bench.writing.rules.english_forms import (
    ADJECTIVE,
    AMBIGUOUS,
    AUXILIARIES,
    BE,
    DETERMINERS,
    DO,
    HAVE,
    IRREGULAR_PAST,
    MODALS,
    PARTICIPLES,
    PAST,
    PREPOSITIONS,
    PRONOUNS,
    THIRD,
    VERBS,
    WORD,
    listed,
    past,
    third,
)


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


def dangles(text: str) -> bool:
    """Whether *text* ends in an unfinished clause: no verb follows its last "which", "how", "why" or similar word."""
    low = [word.lower() for word in WORD.findall(text)]
    opened = max((index for index, word in enumerate(low) if word in _OPENING and index), default=-1)
    if opened < 0 or low[opened + 1 : opened + 2] == ["to"]:
        return False
    return not any(
        word in AUXILIARIES or word in THIRD or word in PAST or word in VERBS or word in IRREGULAR_PAST
        for word in low[opened + 1 :]
    )


_OPENING = listed("which who whom whose where how why what whether because if when although while since")


def _is_verb(low: Sequence[str], index: int) -> bool:
    """Whether the word at *index* of *low* is probably a finite verb after its subject.

    *low* holds the words of a clause in lower case.
    """
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
    """Returns the word that could end the subject of a verb at *index*; empty if *index* is 0.

    This is the last word before *index* that is not an adverb. *low* holds the words of a clause in lower case.
    """
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
    """Whether *word* is used as a verb. By its form, it could be a verb in the third person or a plural noun.

    *before* is the word before *word*, and *after* the word after it.
    """
    opens, adjective = _opens_object(after), bool(ADJECTIVE.match(before))
    if after == "of" or (adjective and not opens):
        return False
    return word not in AMBIGUOUS or (opens and not adjective)


def _is_past(word: str, before: str, after: str) -> bool:
    """Whether *word* is used as a verb in the past tense. By its form, it could also be a participle.

    *before* is the word before *word*, and *after* the word after it.
    """
    if before in _AGENTS or word in _LINKING:
        return True
    if word not in _SAID_OF or before in (",", "and", "or", "not"):
        return _opens_noun(after)
    return (
        bool(after) and after not in PREPOSITIONS and not after.endswith("ly") and after not in (",", "and", "or", "to")
    )


def _is_plural(word: str, before: str, after: str) -> bool:
    """Whether *word*, the base form of a verb, is the verb of a plural subject that ends directly before *word*.

    *before* is the word before *word*, and *after* the word after it.
    """
    pronoun = before in ("they", "we", "i", "you", "authors", "which")
    if not (pronoun or (_ends_in_s(before) and not before.endswith("ous"))):
        return False
    return before not in THIRD.keys() - AMBIGUOUS and (word not in AMBIGUOUS or _opens_object(after))


def stated(auxiliary: str, rest: str, negated: bool = False) -> str:
    """Turns a question into a statement: *auxiliary* "is" and *rest* "the bound tight" give "the bound is tight".

    If *negated*, the statement contains "not". The result is empty if the end of the subject cannot be found.
    """
    words, low = rest.split(), [word.lower().strip(",") for word in rest.split()]
    auxiliary = auxiliary.lower()
    index = _predicate(auxiliary, low)
    if not index:
        return ""
    subject, predicate = " ".join(words[:index]), words[index:]
    if negated and low[index] != "not":
        predicate, low = ["not", *predicate], [*low[:index], "not", *low[index:]]
    if auxiliary not in DO:
        return " ".join([subject, auxiliary, *predicate])
    verb = low[index]
    if verb == "not":
        return " ".join([subject, auxiliary, *predicate])
    formed = {"do": verb, "does": third(verb), "did": past(verb) if verb != "be" else "was"}[auxiliary]
    return " ".join([subject, formed, *predicate[1:]])


def _predicate(auxiliary: str, low: Sequence[str]) -> int:
    """Returns the index in *low* at which the predicate starts; 0 if the start cannot be found.

    *low* holds the words of a question after its *auxiliary*, in lower case: first the subject, then the predicate.
    """
    return next((index for index in range(1, min(len(low), 16)) if _starts_predicate(auxiliary, low, index)), 0)


def _starts_predicate(auxiliary: str, low: Sequence[str], index: int) -> bool:
    """Whether the predicate of a question can start at *index* of *low*.

    *low* holds the words of the question after its *auxiliary*, in lower case.
    """
    word, before = low[index], low[index - 1]
    pronoun = index == 1 and before in PRONOUNS
    if before in PREPOSITIONS or (before in DETERMINERS and not pronoun) or before in ("and", "or"):
        return False
    if word == "not" or (auxiliary in BE and word in ("a", "an", "the")):
        return True
    if pronoun and (before not in ("this", "that", "these", "those") or _stands_after_subject(word)):
        return True
    if index == 1 and before in DETERMINERS:
        return False
    if auxiliary in MODALS | DO:
        return word in VERBS and not (word in AMBIGUOUS and index + 1 < len(low) and low[index + 1] in VERBS)
    if auxiliary in HAVE:
        return word in PARTICIPLES or word.endswith("ed")
    return _is_adjective(word, low[index + 1] if index + 1 < len(low) else "")


def _stands_after_subject(word: str) -> bool:
    """Whether "this" is the whole subject of a question that begins with "is this" and *word*.

    True for "correct", as in "is this correct"; false for "proof", as in "is this proof correct".
    """
    return word in DETERMINERS | PREPOSITIONS | VERBS or bool(_SAID.match(word))


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

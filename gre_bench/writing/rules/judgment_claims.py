"""Turns a clause of a review into a claim: the words that follow "The reviewer criticizes", "suggests" and so on.

A claim is a noun phrase, a clause with "that", an indirect question or a gerund. The claim is empty if no rule gives a
correct sentence, because a broken sentence would be worse than none.
"""

from __future__ import annotations

import re
from itertools import pairwise

from gre_bench.writing.rules import review_lexicon as lexicon
from gre_bench.writing.rules.claim_patterns import FORMS, Part
from gre_bench.writing.rules.clause_stance import Stance
from gre_bench.writing.rules.english_clauses import dangles, finite
from gre_bench.writing.rules.english_forms import (
    AUXILIARIES,
    BE,
    DETERMINERS,
    MODALS,
    PREPOSITIONS,
    THIRD,
    VERBS,
    ends_with_verb,
    gerund,
    is_noun,
    lowered,
    participle_of,
    third,
)
from gre_bench.writing.rules.indirect_questions import VERB, WH, YES, indirect
from gre_bench.writing.rules.noun_claims import act_of, describes, noun_of, request_of
from gre_bench.writing.rules.review_clauses import Clause

LONGEST_LINE = 30
"""The largest number of words in a claim."""

_LATE = 9
"""The smallest number of blanks before the cut when a claim is shortened."""

_OPEN_QUOTE, _END_QUOTE = re.compile(r"(?<![\w.,)])['‘“](?=\w)"), re.compile(r"(?<=[\w.,)])(?<!s)['’”](?!\w)")
_LATER = re.compile(rf"[;,:] (?:and |so |but |then )?(?:{VERB}|how|why|what|which|where)\b", re.I)
_HIDDEN_VERB = re.compile(
    r"(?:this|it) (?!is\b|has\b)[a-z]{2,}(?<!s)s [a-z]|"
    r"(?!that |whether |how )(?:[\w'-]+,? ){1,9}(?<!the )(?<!a )(?<!no )(?<!of )(?<!to )(?<!this )"
    r"(?:need|require|deserve) (?:to be|to |more |some |a |further |major |much |additional |improvement)",
    re.I,
)
"""Beginnings of sentences whose verb `finite` cannot find, because it could as well be a noun."""
_LATE_SUBJECT = re.compile(r"(?<=\w), (?:the authors|authors|we|it|they) (?:must|should|need|have to)\b")
_LED = re.compile(r"that (?:because|since|if|while|although|when|as|though|given|despite|unlike)\b", re.I)
_TAG = re.compile(r"[, ]+(?:right|correct|no|or not|why|am I right)$", re.I)
_PREDICATE = re.compile(
    r"(?:(?:well|clearly|nicely|badly|poorly|easily)[- ]\w+|(?:easy|hard|difficult|straightforward) to|not (?:\w+ )?"
    r"(?:clear|sure|convincing|novel|well|easy|convinced|surprising)|(?:un)?clear"
    r"(?:ly written| and| how| why| what| whether| if| that)\b|interesting and|too \w+|good to)",
    re.I,
)


def claim_of(clause: Clause, stance: Stance) -> str:
    """Returns the claim that *clause* makes: the words that follow "The reviewer" and *stance*, such as "criticizes".

    The claim is empty if no rule gives a correct sentence.
    """
    text = _bare(clause.text)
    if len(text) < 3:
        return ""
    return _shortened(_question_claim(text, stance) if clause.asks else _statement_claim(text, stance))


def _bare(text: str) -> str:
    """Returns the clause *text* without lead-ins, labels, fillers and asides.

    First persons are put into the third person: "I" becomes "the reviewer".
    """
    text = lexicon.ASIDE.sub("", text).strip(" \t-–—:;,*.?!\"'()[]<>•")
    for _ in range(3):
        text = lexicon.LEAD.sub("", text).strip(" ,:;")
        if label := lexicon.LABEL.match(text):
            text = text[label.end() :]
    text = " ".join(lexicon.FILLER.sub("", text).split())
    text = lexicon.FIRST_PERSON.sub(lambda match: _third_person(match[1], match[2]), text)
    for pattern, word in lexicon.PERSONS:
        text = pattern.sub(word, text)
    return text.strip(" ,:;-")


def _third_person(adverb: str, verb: str) -> str:
    inflected = "is" if verb == "am" else third(verb) if verb in VERBS and verb not in ("put", "read") else verb
    return f"the reviewer {adverb}{inflected}"


def _statement_claim(text: str, stance: Stance) -> str:
    """Returns the claim for *text*, a clause that is a statement; empty if no rule gives a claim."""
    noun = request_of(text) if stance == "suggests" else noun_of(text, stance) or act_of(text, stance)
    if noun:
        return noun
    for pattern, made, part in FORMS[stance]:
        if (match := pattern.match(text)) and (part_text := _part(match["X"], part, inner=match.start("X") > 0)):
            others = {name: group for name, group in match.groupdict().items() if name != "X" and group}
            return made.format(X=part_text, **others)
    first, _, rest = text.partition(" ")
    relative = first.lower().strip(",") in ("which", "who")
    if stance == "questions":
        return ("" if relative else indirect(text)) or _part(text, "noun")
    return _stated(f"this {rest}" if relative else text, stance)


def _stated(text: str, stance: Stance) -> str:
    """Returns the claim for *text*, a statement that no row of `claim_patterns` matches.

    In most cases, the claim is "that", followed by the statement. The claim is empty if no rule gives one.
    """
    first, _, rest = text.partition(" ")
    first = first.lower().strip(",")
    if first in ("because", "since", "if", "while", "although", "when", "as", "though") and "," not in text:
        return ""
    if _PREDICATE.match(text) and finite(text) < 0:
        return f"that the paper is {lowered(text)}"
    if first in MODALS:
        return ""
    if (claim := _without_subject(text, first, rest)) is not None:
        return claim
    if finite(text) > 0:
        return "" if WH.match(text) and stance != "criticizes" else f"that {lowered(text)}"
    if describes(text):
        return f"that the paper is {lowered(text)}"
    return f"that {lowered(text)}" if _ACTS.match(text) else _part(text, "noun", open_article=True)


def _without_subject(text: str, first: str, rest: str) -> str | None:
    """Returns the claim for *text*, a statement that lacks a subject: "that the paper is clear" for "is clear".

    *first* is the first word of *text*, and *rest* holds the other words. Returns None if *text* does not start with
    its verb. The result is empty if no words follow the verb.
    """
    if first in AUXILIARIES or (first in THIRD and finite(text) < 0 and not rest.startswith("of ")):
        return f"that the paper {lowered(text)}" if rest else ""
    if first in VERBS and rest.partition(" ")[0].lower() in DETERMINERS:
        return f"that the paper {third(first)} {rest}"
    if participle_of(first) and finite(text) < 0 and rest.partition(" ")[0].lower() in DETERMINERS | _NEW:
        return f"that the paper {lowered(text)}"
    return None


def _question_claim(text: str, stance: Stance) -> str:
    """Returns the claim for *text*, a clause that is a question; empty if no rule gives a claim."""
    if stance in ("suggests", "questions"):
        for pattern, made, part in FORMS[stance]:
            if (match := pattern.match(text)) and (part_text := _part(match["X"], part, inner=match.start("X") > 0)):
                return made.format(X=part_text)
    if stance != "questions":
        return ""
    if question := indirect(text):
        return question
    statement = _TAG.sub("", text)
    if _LATER.search(statement):
        return ""
    return (
        f"whether {lowered(statement)}"
        if finite(statement) > 0 and not WH.match(statement) and not YES.match(statement)
        else ""
    )


def _part(text: str, part: Part, open_article: bool = False, inner: bool = False) -> str:
    """Returns *text* in the form in which a claim can contain it; empty if *text* is not of the kind *part*.

    - *part*: a kind of words, as `claim_patterns` describes.
    - *open_article*: whether to put "the" before a noun that needs an article.
    - *inner*: whether *text* comes from the middle of its clause. A capital first letter is then kept, except in a
      determiner such as "The".
    """
    text = text.strip(" ,")
    first, _, rest = text.partition(" ")
    low = first.lower().strip(",")
    small = text if inner and low not in DETERMINERS else lowered(text)
    if part == "any":
        return small
    if part == "clause":
        return small if finite(text) > 0 and not WH.match(text) else ""
    if part == "wh":
        return indirect(text)
    if part == "verb":
        if low not in VERBS or low in ("be",) or not rest or rest.split()[0].lower() in AUXILIARIES | {"of", "to"}:
            return ""
        return f"{gerund(low)} {_parallel(rest)}"
    if finite(text) > 0 or low in AUXILIARIES | PREPOSITIONS | _OPENERS or (low.endswith("ly") and low != "early"):
        return ""
    if text.split()[-1].lower() in PREPOSITIONS or _SENTENCE.search(text):
        return ""
    if low in THIRD and not is_noun(low):
        return ""
    if participle_of(low) and rest.split(" ")[0].lower() in DETERMINERS:
        return ""
    if (low in VERBS and rest and rest.split()[0].lower() in DETERMINERS) or _AUTHORS.match(text):
        return ""
    bare = low in DETERMINERS or low.endswith(("ing", "s")) or not open_article
    return ("" if bare else "the ") + small


_AUTHORS = re.compile(r"(?:the )?(?:authors?|reviewer) (?!of\b)", re.I)
_ACTS = re.compile(
    r"(?:the |this )(?:paper|work|author|method|approach) (?:\w+ly )?\w+[^su\W]s (?!of\b|and\b|in\b)", re.I
)
_SENTENCE = re.compile(r" and (?:it|they) |: ")
_AFTER_VERB = DETERMINERS | {"how", "why", "if"}
_NEW = frozenset(["extensive", "new", "novel", "thorough", "comprehensive", "several", "various", "many"])
_OPENERS = frozenset(
    [
        "to",
        "that",
        "which",
        "who",
        "because",
        "since",
        "if",
        "while",
        "although",
        "when",
        "as",
        "though",
        "and",
        "or",
        "but",
        "not",
        "so",
        "then",
        "also",
        "however",
        "there",
        "it",
        "they",
        "he",
        "she",
        "we",
        "you",
        "due",
        "based",
        "such",
        "regarding",
        "very",
        "too",
        "i",
        "e.g",
        "i.e",
    ]
)


def _parallel(text: str) -> str:
    """Turns base forms of verbs after "and" or "or" in *text* into gerunds. *text* holds the words after a gerund.

    In "adding a study and compare it", the words after "adding" become "a study and comparing it".
    """
    words = text.split()
    for index, (first, second) in enumerate(pairwise(words)):
        later = words[index + 2] if index + 2 < len(words) else ""
        if (
            first in ("and", "or", "and/or")
            and second in VERBS
            and (later.lower() in _AFTER_VERB or not is_noun(second))
        ):
            words[index + 1] = gerund(second)
        elif first in ("and", "or") and second.endswith("ly") and later in VERBS and not is_noun(later):
            words[index + 2] = gerund(later)
    return " ".join(words)


def _shortened(text: str) -> str:
    """Returns the claim *text* as it is, or cut at the end of a phrase if the claim is too long or broken.

    The result is empty if every cut leaves a broken claim.
    """
    words = text.split()
    if len(words) <= LONGEST_LINE and (whole := _checked(text)):
        return whole
    text = " ".join(words[: LONGEST_LINE + 1])
    for pattern in (lexicon.SOFT, lexicon.PHRASE):
        for cut in reversed(list(pattern.finditer(text))):
            part = _checked(text[: cut.start()], cut=True) if text.count(" ", 0, cut.start()) >= _LATE else ""
            if part and not ends_with_verb(part):
                return part
    return ""


def _checked(text: str, cut: bool = False) -> str:
    """Returns the claim *text* without trailing words that cannot end a sentence, such as "the".

    The result is empty if the claim would still make a broken sentence. *cut* is true if *text* is only the beginning
    of a claim.
    """
    words = text.split()
    asks = bool(WH.match(text))
    kept = frozenset() if not asks else BE if cut else BE | PREPOSITIONS
    whole = len(words)
    while words and words[-1].lower().strip(",") in (lexicon.UNFINISHED | MODALS) - kept:
        words.pop()
    text = " ".join(words[:LONGEST_LINE]).rstrip(" ,;:.-([?!\"'")
    if len(_OPEN_QUOTE.findall(text)) != len(_END_QUOTE.findall(text)) or text.count('"') % 2:
        text = _END_QUOTE.sub("", _OPEN_QUOTE.sub("", text)).replace('"', "")
    if not text or lexicon.BROKEN.search(text) or text.count("(") != text.count(")") or dangles(text):
        return ""
    if len(words) < whole and (ends_with_verb(text) or participle_of(words[-1].lower())):
        return ""
    if (asks and len(words) < 3) or (_LED.match(text) and finite(text.partition(", ")[2]) < 1):
        return ""
    text = _LATE_SUBJECT.split(text, maxsplit=1)[0]
    if _HIDDEN_VERB.match(text) and not asks:
        text = f"that {text}"
    return "" if text.startswith("that ") and finite(text[5:]) < 0 and not _HIDDEN_VERB.match(text[5:]) else text

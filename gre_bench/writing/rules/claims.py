"""Turns a clause of a review into a claim: the words that follow "The reviewer criticizes", "suggests" and so on.

A claim is a noun phrase, a clause with "that", an indirect question or a gerund. The claim is empty if no rule gives a
correct sentence, because a broken sentence would be worse than none.

Judgments are usually worded as noun phrases: "the proofs are long" becomes "the long proofs", and "X is not shown"
becomes "the lack of X". Each function for nouns handles one form of clauses, which an example in its docstring shows.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Literal

from gre_bench.core.resources import patterns
from gre_bench.writing.rules.clauses import ANY_CASE, LABEL, Clause, Stance
from gre_bench.writing.rules.english import (
    AMBIGUOUS,
    AUXILIARIES,
    BE,
    DETERMINERS,
    LISTS,
    MODALS,
    PREPOSITIONS,
    THIRD,
    VERB,
    VERBS,
    WH,
    YES,
    dangles,
    ends_with_verb,
    finite,
    gerund,
    indirect,
    listed,
    lowered,
    pairs,
    participle_of,
    third,
)

LEAD = re.compile(
    r"^(?:(?:however|moreover|furthermore|besides|additionally|also|and|but|yet|so|thus|hence|therefore|overall|in "
    r"general|generally(?: speaking)?|\w+ly|first|second|third|last|next|then|in addition|in particular|for example|"
    r"for instance|e\.g\.?|i\.e\.?|nevertheless|nonetheless|(?:having |that being |that )said|on the (?:other|one) "
    r"hand|in (?:summary|conclusion|short|sum)|to (?:sum up|summarize|me|conclude|be honest|be fair)|as a result|"
    r"indeed|further|still|again|otherwise|(?:in|from) my (?:\w+ )?(?:opinion|view|understanding|perspective)|(?:to|"
    r"from) (?:the best of )?my (?:knowledge|understanding)|as far as i \w+|for me|imo|imho|meanwhile|at the same "
    r"time|in fact|of course|(?:apart|other|aside) (?:from|than) that|(?:most|more) (?:importantly|specifically)|"
    r"major|minor|nit(?:pick)?|typo|(?:question|q|weakness|w|s|strength|comment|c|point|concern|con|pro)s? "
    r"?#?\d*)\s*[\],:]\s*|(?:however|moreover|furthermore|additionally|and|but|so|thus|hence|therefore|overall|also|"
    r"besides) (?=(?:i|the|it|there|this|some|we|in|authors?|its|their)\b)|(?:i|we)(?:['’](?:m|d|ve))?(?: (?:\w+ly|am|"
    r"was|have|had|do|would|can|could|will|also|still|just|a bit))* (?:(?:think|believe|feel|guess|suspect|say|argue|"
    r"assume|note|noticed?|wish|hope)(?: that)?,? (?!(?:of|about|to|like|in|for|on)\b)|(?:find|found|agree|consider|"
    r"convinced|aware|afraid|happy|glad|point out|worried|concerned|want to (?:point out|note|mention)) that |"
    r"(?:worried|concerned) about )|it (?:also )?(?:seems?|appears?|looks?)(?: to me)? (?:like |that |as if |as "
    r"though )|it (?:should|must) be noted that |note that |one (?:can|may|could) (?:argue|say) that |(?:my(?: "
    r"\w+){0,3}|one|another|(?:the|a|an|some|one|another)(?: \w+){1,3}) (?:concern|weakness|issue|problem|drawback|"
    r"limitation|strength|question|worry|complaint|criticism|impression|understanding|opinion|comment|downside|"
    r"suggestion|shortcoming)(?:s|es)?(?: (?:here|i have|(?:of|with|in|for|about) (?:this|the) (?:paper|work|method|"
    r"approach|submission)))* (?:is|are|was|would be)(?: that| about| with| on| regarding)?:?,? )",
    ANY_CASE,
)
FILLER = re.compile(
    r"\b(?:very|quite|really|basically|actually|simply|just|definitely|certainly|obviously|probably|perhaps|"
    r"maybe|i (?:think|believe|feel|guess)(?: that)?|(?:at least )?(?:to|for) me|a (?:little )?bit|somewhat|some(?= (?!of|other|are|is|cases|extent|sense)\w)|"
    r"(?:kind|sort) of|in general|of course|as well(?! as)|etc\.?|also|please|kindly|so far|"
    r"respectively|(?:in|from) my (?:\w+ )?(?:opinion|view|point of view|perspective|understanding)|to (?:the best of )?my (?:knowledge|understanding)|"
    r"(?:in|of) (?:this|the) (?:paper|work|manuscript|submission)|as far as i \w+)\b(?!['’-]),?\s?",
    ANY_CASE,
)
WORD = re.compile(r"[A-Za-z][\w'’-]*")
FUNCTION = frozenset(LISTS["function"])
HOLLOW = frozenset(LISTS["hollow"])
UNFINISHED = frozenset(LISTS["unfinished"]) | (
    FUNCTION - {"paper", "authors", "work", "manuscript", "submission", "article", "it", "this", "more"}
)
ASIDE = re.compile(r"\s*\([^()]{0,300}\)|\s*\[[^\[\]]{0,100}\]")
FIRST_PERSON = re.compile(r"\bI ((?:(?:\w+ly|also|still|just|even) )*)(?!is\b|are\b|and\b|or\b|in\b|of\b)([a-z]+)\b")
PERSONS = tuple(
    (re.compile(pattern), word)
    for pattern, word in (
        (r"\b[Yy]ours?\b", "the"), (r"\b[Yy]ou\b", "the authors"), (r"\bI\b(?![.)])", "the reviewer"),
        (r"\b[Mm]y\b", "the"), (r"\bme\b", "the reviewer"), (r"\bmyself\b", "the reviewer"),
    )
)  # fmt: skip
SOFT = re.compile(
    r",? (?:which|because|since|so that|where|whereas|while|although|and (?:the|it|this|there|they|is|are|does|do)\b|but|so)(?= )|;|:|, (?=\w+ing\b|e\.g|i\.e|such as|especially|and|or|as|if|when|for|in|with)|\s[-–—]+\s"
)
PHRASE = re.compile(
    r" (?=(?:in|for|on|with|by|from|at|across|under|when|if|such as|compared|without|during|through|over|and|using)\b)"
)
BROKEN = re.compile(
    r"->|=>|[|<>~¤]|==|\b(?:in|of|by|with|from|than|for|the|an?|and|as|at|that|to)(?:[,;:]| (?:is|are|was|were)\b)(?<!that is)(?<!that are)(?<!that was)|"
    r"\b(?:how|why|where) (?:is|are) \w+ed\b|\b(?:how|why|where|when) (?:is|are|do|does|did|can|should|was|were) (?:the|this|these|it|they|authors)\b|\b(?:I|[Ww]e['’](?:re|ve))\b|^that (?:to|so|not|better to|(?:what|how|why) (?:is|are|do|does)|only \w+ed|which|that|who|because|and|or|but|[,.:])\b|"
    r" and \w$|\b(?!that|had)(\w+) \1\b|\b(?:arxiv|proceedings|https?)\b|[.?!] [A-Z]|[.?!]['\"]? (?=[a-z]+ )(?<!al. )(?<!eq. )"
)

Part = Literal["noun", "clause", "verb", "wh", "any"]
"""A kind of words: those without a verb of their own, those with a verb, those that begin with the base form of a verb
(which becomes a gerund), a question such as "how it works", or any."""

FORMS: dict[str, list[tuple[re.Pattern[str], str, Part]]] = {
    stance: [
        (re.compile(re.sub("(?<!P)<X>", "(?P<X>.+)", pattern) + "$", re.I), claim, part)
        for part, claim, pattern in rows
    ]
    for stance, rows in patterns("forms")["forms"].items()
}
"""Stance → rows: a pattern of a whole clause, the claim that it becomes, and the kind of words that X must match."""

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
    """Returns the words that follow "The reviewer" and *stance*; empty if no rule gives a correct sentence."""
    text = _bare(clause.text)
    if len(text) < 3:
        return ""
    return _shortened(_question_claim(text, stance) if clause.asks else _statement_claim(text, stance))


def _bare(text: str) -> str:
    """Returns the clause *text* without lead-ins, labels, fillers and asides, in the third person."""
    text = ASIDE.sub("", text).strip(" \t-–—:;,*.?!\"'()[]<>•")
    for _ in range(3):
        text = LEAD.sub("", text).strip(" ,:;")
        if label := LABEL.match(text):
            text = text[label.end() :]
    text = " ".join(FILLER.sub("", text).split())
    text = FIRST_PERSON.sub(lambda match: _third_person(match[1], match[2]), text)
    for pattern, word in PERSONS:
        text = pattern.sub(word, text)
    return text.strip(" ,:;-")


def _third_person(adverb: str, verb: str) -> str:
    inflected = "is" if verb == "am" else third(verb) if verb in VERBS and verb not in ("put", "read") else verb
    return f"the reviewer {adverb}{inflected}"


def _by_form(text: str, stance: Stance) -> str:
    """Returns the claim by the first row of `FORMS` that applies to the clause *text*; empty if none does."""
    for pattern, made, part in FORMS[stance]:
        if (match := pattern.match(text)) and (words := _part(match["X"], part, inner=match.start("X") > 0)):
            return made.format(**{name: group for name, group in match.groupdict().items() if group} | {"X": words})
    return ""


def _statement_claim(text: str, stance: Stance) -> str:
    noun = request_of(text) if stance == "suggests" else noun_of(text, stance) or act_of(text, stance)
    if claim := noun or _by_form(text, stance):
        return claim
    first, _, rest = text.partition(" ")
    relative = first.lower().strip(",") in ("which", "who")
    if stance == "questions":
        return ("" if relative else indirect(text)) or _part(text, "noun")
    return _stated(f"this {rest}" if relative else text, stance)


def _stated(text: str, stance: Stance) -> str:
    """Returns the claim for a statement that no row of `FORMS` matches, usually "that", followed by the statement."""
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
    return f"that {lowered(text)}" if _PAPER_ACTS.match(text) else _part(text, "noun", open_article=True)


def _without_subject(text: str, first: str, rest: str) -> str | None:
    """Returns the claim for *text*, a statement that lacks a subject: "that the paper is clear" for "is clear".

    None if *text* does not start with its verb; empty if no words follow the verb.
    """
    if first in AUXILIARIES or (first in THIRD and finite(text) < 0 and not rest.startswith("of ")):
        return f"that the paper {lowered(text)}" if rest else ""
    if first in VERBS and rest.partition(" ")[0].lower() in DETERMINERS:
        return f"that the paper {third(first)} {rest}"
    if participle_of(first) and finite(text) < 0 and rest.partition(" ")[0].lower() in DETERMINERS | _NEW:
        return f"that the paper {lowered(text)}"
    return None


def _question_claim(text: str, stance: Stance) -> str:
    claim = _by_form(text, stance) if stance in ("suggests", "questions") else ""
    if stance == "questions":
        claim = claim or indirect(text)
    if claim or stance != "questions":
        return claim
    statement = _TAG.sub("", text)
    if _LATER.search(statement) or finite(statement) <= 0 or WH.match(statement) or YES.match(statement):
        return ""
    return f"whether {lowered(statement)}"


def _part(text: str, part: Part, open_article: bool = False, inner: bool = False) -> str:
    """Returns *text* in the form in which a claim can contain it; empty if *text* is not of the kind *part*.

    *open_article*: whether to put "the" before a noun that needs an article. *inner*: whether *text* comes from the
    middle of its clause. A capital first letter is then kept, except in a determiner such as "The".
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
        if low not in VERBS or low == "be" or not rest or rest.split()[0].lower() in AUXILIARIES | {"of", "to"}:
            return ""
        return f"{gerund(low)} {_parallel(rest)}"
    if finite(text) > 0 or low in _OPENERS or (low.endswith("ly") and low != "early"):
        return ""
    if text.split()[-1].lower() in PREPOSITIONS or _SENTENCE.search(text) or (low in THIRD and low not in AMBIGUOUS):
        return ""
    if ((participle_of(low) or low in VERBS) and rest.split(" ")[0].lower() in DETERMINERS) or _AUTHORS.match(text):
        return ""
    bare = low in DETERMINERS or low.endswith(("ing", "s")) or not open_article
    return ("" if bare else "the ") + small


_OPENERS = AUXILIARIES | PREPOSITIONS | frozenset(LISTS["openers"])
_AUTHORS = re.compile(r"(?:the )?(?:authors?|reviewer) (?!of\b)", re.I)
_PAPER_ACTS = re.compile(
    r"(?:the |this )(?:paper|work|author|method|approach) (?:\w+ly )?\w+[^su\W]s (?!of\b|and\b|in\b)", re.I
)
_SENTENCE = re.compile(r" and (?:it|they) |: ")
_AFTER_VERB = DETERMINERS | {"how", "why", "if"}
_NEW = listed("extensive new novel thorough comprehensive several various many")


def _parallel(text: str) -> str:
    """Turns "a study and compare it", the words after a gerund such as "adding", into "a study and comparing it"."""
    words = text.split()
    for index, (first, second) in enumerate(pairwise(words)):
        later = words[index + 2] if index + 2 < len(words) else ""
        plainly = later.lower() in _AFTER_VERB or second not in AMBIGUOUS
        if first in ("and", "or", "and/or") and second in VERBS and plainly:
            words[index + 1] = gerund(second)
        elif first in ("and", "or") and second.endswith("ly") and later in VERBS and later not in AMBIGUOUS:
            words[index + 2] = gerund(later)
    return " ".join(words)


def _shortened(text: str) -> str:
    """Returns the claim, or a cut of it at the end of a phrase; empty if every cut leaves a broken claim."""
    words = text.split()
    if len(words) <= LONGEST_LINE and (whole := _checked(text)):
        return whole
    text = " ".join(words[: LONGEST_LINE + 1])
    for pattern in (SOFT, PHRASE):
        for cut in reversed(list(pattern.finditer(text))):
            part = _checked(text[: cut.start()], cut=True) if text.count(" ", 0, cut.start()) >= _LATE else ""
            if part and not ends_with_verb(part):
                return part
    return ""


def _checked(text: str, cut: bool = False) -> str:
    """Returns the claim *text* without trailing words that cannot end a sentence, such as "the".

    It is empty if it would still make a broken sentence. *cut*: whether *text* is only the beginning of a claim.
    """
    words = text.split()
    asks = bool(WH.match(text))
    kept = frozenset() if not asks else BE if cut else BE | PREPOSITIONS
    whole = len(words)
    while words and words[-1].lower().strip(",") in (UNFINISHED | MODALS) - kept:
        words.pop()
    text = " ".join(words[:LONGEST_LINE]).rstrip(" ,;:.-([?!\"'")
    if len(_OPEN_QUOTE.findall(text)) != len(_END_QUOTE.findall(text)) or text.count('"') % 2:
        text = _END_QUOTE.sub("", _OPEN_QUOTE.sub("", text)).replace('"', "")
    if not text or BROKEN.search(text) or text.count("(") != text.count(")") or dangles(text):
        return ""
    if len(words) < whole and (ends_with_verb(text) or participle_of(words[-1].lower())):
        return ""
    if (asks and len(words) < 3) or (_LED.match(text) and finite(text.partition(", ")[2]) < 1):
        return ""
    text = _LATE_SUBJECT.split(text, maxsplit=1)[0]
    if _HIDDEN_VERB.match(text) and not asks:
        text = f"that {text}"
    return "" if text.startswith("that ") and finite(text[5:]) < 0 and not _HIDDEN_VERB.match(text[5:]) else text


_SAYS = re.compile(
    r"(?P<S>[^,;:]{3,120}?) (?:is|are|was|were|(?:seem|appear|look|feel|sound)s?(?: to be)?)(?P<N> not)?(?: all| "
    r"both)? (?P<A>[^,;:]+(?:, [\w -]+)*)",
    re.I,
)
_ACTS = {verb: f"{noun} of" for verb, noun in pairs("acts").items()}
"""Verbs with the nouns of their actions, each with "of"."""

_GIVES = listed("provide present introduce include report write state")
"""Verbs after which the object is judged, not the action."""

_UNDONE = listed("provided included given available present presented shown")
"""Participles whose negation means that the thing itself is lacking: "no code is provided" is a lack of code."""

_QUALITY = {
    "novel": "novelty", "original": "originality", "reproducible": "reproducibility", "readable": "readability",
    "sound": "soundness", "technically sound": "technical soundness", "correct": "correctness",
}  # fmt: skip
"""Adjectives with their nouns, where "the novelty of the method" is more usual than "the novel method"."""

_QUALITY_FOR = _QUALITY | pairs("qualities")
"""Adjectives with their nouns, before "for", "to" or "in": "the importance for robotics"."""
_DENIED = pairs("denied")
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
_DEGREE = listed(
    "too so fairly relatively highly extremely overly clearly generally mostly technically rather more less not "
    "intuitively theoretically empirically pretty"
)  # fmt: skip
_DONE = re.compile(
    r"(?:(?P<M>\w+ly) )?(?P<V>\w+(?:ed|en))(?: (?P<N>\w+ly))?(?P<R> (?:in|by|for|on|through|via|across|under) .+)?",
    re.I,
)
_ACT = re.compile(
    r"(?:the |this )?(?:paper|work|authors?|manuscript|submission|article|study|they|it|reviewer) "
    r"(?P<N>(?:do|does|did) not )?(?P<M>\w+ly )?(?P<V>\w+) (?P<O>.+)",
    re.I,
)
_NO_SUBJECT = listed("it they this that these those there he she i we you which who what how why where one reviewer")
_FEASIBLE = re.compile(r"\b(easy|hard|difficult|straightforward|simple) to (\w+)\b", re.I)
_WELL = re.compile(r"\b(well|clearly|nicely|poorly|badly) (?=\w+(?:ed|en)\b)", re.I)


def noun_of(text: str, stance: Stance) -> str:
    """Returns ``the long proofs`` for ``the proofs are long``; a clause with "not" needs ``criticizes``."""
    match = _SAYS.fullmatch(text)
    if not match:
        return ""
    subject = _thing(match["S"])
    if not subject:
        return ""
    predicate, denied = match["A"].strip(), bool(match["N"])
    whole = _article(match["S"])
    if denied:
        return _undone(subject, whole, predicate.lower()) if stance == "criticizes" else ""
    if predicate in _QUALITY and stance == "appreciates":
        return f"the {_QUALITY[predicate]} of {whole}"
    quality = re.fullmatch(r"(?:highly |directly |broadly |widely |overly |too )?(\w+) ((?:for|to|in) .+)", predicate)
    to_act = bool(quality) and quality[2].split()[0] == "to" and quality[2].split()[1] in VERBS
    if quality and quality[1] in _QUALITY_FOR and finite(quality[2]) < 0 and not to_act:
        return f"the {_QUALITY_FOR[quality[1]]} of {whole} {quality[2]}"
    if done := _DONE.fullmatch(predicate):
        noun = _ACTS.get(participle_of(done["V"].lower()))
        manner = done["M"] or done["N"]
        if noun and (manner or done["R"] or stance == "appreciates") and (not done["R"] or finite(done["R"]) < 0):
            return f"the {_manner(manner)}{noun} {whole}{done['R'] or ''}"
    predicate = _WELL.sub(r"\1-", _FEASIBLE.sub(r"\1-to-\2", predicate))
    return f"the {predicate} {subject}" if describes(predicate) else ""


def act_of(text: str, stance: Stance) -> str:
    """Returns ``the exploration of four tasks`` for ``the authors explore four tasks``; empty for another form."""
    match = _ACT.fullmatch(text) if stance in ("appreciates", "criticizes") else None
    if not match or (match["N"] and stance == "appreciates"):
        return ""
    verb = match["V"].lower()
    base = verb if verb in _ACTS else THIRD.get(verb) or participle_of(verb)
    thing = match["O"]
    if thing.split()[0].lower() in _NO_SUBJECT | PREPOSITIONS or finite(thing) > 0 or thing.split()[0].endswith("ly"):
        return ""
    if base not in _ACTS or base in _GIVES:
        return ""
    manner = _manner(match["M"])
    return f"the {'lack of ' if match['N'] else ''}{manner}{_ACTS[base]} {_article(thing)}"


def _undone(subject: str, whole: str, predicate: str) -> str:
    """Returns ``the unclear proof`` for "the proof is not clear"; *subject* is *whole* without its article."""
    if predicate in _UNDONE:
        return f"the lack of {whole}"
    if predicate in _DENIED:
        return f"the {_DENIED[predicate]} {subject}"
    done = re.fullmatch(
        r"(?:(?P<M>well|sufficiently|adequately|fully|clearly|properly|thoroughly|carefully) )?"
        r"(?P<V>\w+)(?: (?:at all|enough|here|yet))?",
        predicate,
    )
    noun = _ACTS.get(participle_of(done["V"])) if done else None
    return f"the {'insufficient' if done['M'] else 'lack of'} {noun} {whole}" if done and noun else ""


def _manner(adverb: str | None) -> str:
    """Returns the adjective of *adverb* with a blank after it: ``clear `` for ``clearly``; empty for "only", "also"."""
    word = (adverb or "").strip().lower()
    return "" if word in ("", "only", "also") else word[:-2] + " "


def _article(thing: str) -> str:
    """Returns the noun phrase *thing* with a small first letter, except for names such as "GPU" and "ImageNet"."""
    first = thing.split(" ", 1)[0]
    return thing[0].lower() + thing[1:] if first[1:].islower() or len(first) == 1 else thing


def describes(predicate: str) -> bool:
    """Whether *predicate*, adjectives joined by commas, "and" and the like, can stand before a noun."""
    words = re.split(r"[ ,]+", predicate.lower())
    if not words or len(words) > 7 or words[-1] in _DEGREE:
        return False
    adjectives = [word for word in words if word not in _DEGREE and word not in ("and", "but", "yet", "or")]
    joined = sum(word in ("and", "but", "yet", "or") for word in words) + predicate.count(",")
    joined -= len(re.findall(r", (?:and|but|yet|or) ", predicate))
    return len(adjectives) == joined + 1 and all(_ADJECTIVE.fullmatch(word) for word in adjectives)


def _thing(subject: str) -> str:
    """Returns *subject* without its article; empty if it is not a noun with only attributes before it."""
    words = subject.split()
    while words and words[0].lower() in _ARTICLES:
        words = words[1:]
    low = [word.lower() for word in words]
    if not words or low[0] in _NO_SUBJECT | DETERMINERS | PREPOSITIONS or low[0].endswith("ing") or " to " in subject:
        return ""
    if (
        finite(subject) > 0
        or {"that", "which", "who", "and", "how", "why", "if", "because", "as"} & set(low)
        or low[-1] in VERBS - _NOUNS
    ):
        return ""
    first = words[0]
    return " ".join([first.lower() if first[1:].islower() else first, *words[1:]])


_ARTICLES = listed("the this these those their its all overall")
_NOUNS = listed("use work focus test experiment study result claim design need support change state list plot")
_SHOULD = re.compile(
    r"(?P<S>[^,;:]{3,100}?) (?:should|could|must|can|might|needs? to|ha(?:s|ve) to|ought to|would)(?: \w+ly)? be "
    r"(?P<A>(?:\w+ly|further|better) )?(?P<V>\w+(?:ed|en|un))(?P<R>(?: .+)?)",
    re.I,
)


def request_of(text: str) -> str:
    """Returns ``moving the proofs`` for ``the proofs should be moved``; empty for another form."""
    match = _SHOULD.fullmatch(text)
    first = match["S"].split()[0].lower() if match else ""
    if not match or first in _NO_SUBJECT | PREPOSITIONS or finite(match["S"]) > 0 or " if " in match["R"]:
        return ""
    verb = participle_of(match["V"].lower())
    return f"{(match['A'] or '').lower()}{gerund(verb)} {_article(match['S'])}{match['R']}" if verb else ""

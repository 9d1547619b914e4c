"""Turns clauses into noun phrases: "the proofs are long" into "the long proofs", "X is not shown" into "the lack of X".

Judgments are usually worded as noun phrases. Each function handles one form of clauses, which an example in its
docstring shows. For clauses of another form, the function returns an empty text.
"""

from __future__ import annotations

import re

from gre_bench.writing.rules.clauses import Stance
from gre_bench.writing.rules.english import (
    DETERMINERS,
    PREPOSITIONS,
    THIRD,
    VERBS,
    finite,
    gerund,
    listed,
    pairs,
    participle_of,
)

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
    """Returns ``the long proofs`` for the clause ``the proofs are long``; empty if *text* has another form.

    *stance* restricts the forms: a clause with "not" gives a noun phrase only if the stance is ``criticizes``.
    """
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
    """Returns ``the exploration of four tasks`` for the clause ``the authors explore four tasks``.

    The result is empty if *text* has another form, or if *stance* is ``questions`` or ``suggests``.
    """
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
    """Returns ``the unclear proof`` for "the proof is not clear"; empty if no rule gives a noun phrase.

    *subject* has no article, and *whole* is the subject with its article.
    """
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
    """Whether the words *predicate* can stand before a noun, such as "clear and short".

    All words must be adjectives, joined by commas, "and", "but" and the like.
    """
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
    """Returns ``moving the proofs to an appendix`` for the clause ``the proofs should be moved to an appendix``.

    The result is empty if *text* has another form.
    """
    match = _SHOULD.fullmatch(text)
    first = match["S"].split()[0].lower() if match else ""
    if not match or first in _NO_SUBJECT | PREPOSITIONS or finite(match["S"]) > 0 or " if " in match["R"]:
        return ""
    verb = participle_of(match["V"].lower())
    return f"{(match['A'] or '').lower()}{gerund(verb)} {_article(match['S'])}{match['R']}" if verb else ""

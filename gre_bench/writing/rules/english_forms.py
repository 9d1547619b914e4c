"""Small English: forms of verbs, where a clause's verb stands, and questions in the order of statements.

Lists and endings only; what they cannot tell is left, and the callers write nothing rather than a broken sentence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence


def listed(words: str) -> frozenset[str]:
    """The words of a list."""
    return frozenset(words.split())


VERBS = listed(
    "talk contradict "
    "follow provide see understand make show use improve propose learn help find compare consider address "
    "reproduce perform read achieve explain give seem evaluate generate solve add demonstrate train claim discuss "
    "include clarify support reduce get present suggest say obtain lead mention benefit implement justify know "
    "recommend introduce verify identify prove estimate increase compute predict require avoid take validate "
    "argue conduct analyze analyse measure try produce change refer explore check handle define describe "
    "generalize comment accept judge tell construct capture release expect run outperform combine hold tackle "
    "select extend allow look determine encourage motivate ensure highlight go interpret choose report affect "
    "appear want represent assess incorporate develop investigate optimize strengthen contain leverage derive "
    "minimize elaborate build keep raise enable draw match answer detect reflect create assume deal converge "
    "approximate reject mitigate establish exist come start guarantee become alleviate reach depend quantify "
    "write cause put fix offer map indicate prevent enhance resolve remove extract specify illustrate meet "
    "distinguish cite parse fail imagine overcome emphasize tune preserve utilize replace convince adapt "
    "contribute recover serve maintain happen yield accelerate cover involve share boost hurt guide calculate "
    "account satisfy suffer maximize integrate fit connect augment confirm reconstruct adjust expand replicate "
    "move treat simulate vary enforce employ compress ask exhibit inspire decrease formulate promise facilitate "
    "bridge showcase encode infer reconsider examine wish exploit assign call observe conclude initialize align "
    "denote modify aggregate summarize decide impose relate unify discover push convey fine-tune play revise "
    "differentiate aid warrant publish save store prefer adopt drive occur induce acknowledge matter realize "
    "visualize hinder translate lie characterize grasp express synthesize ignore carry fall pay convert inject "
    "gather stabilize pick notice refine rephrase classify collect suffice recognize defend decompose continue "
    "operate reveal let overfit beat confuse decouple memorize break stop spend divide lose spot trust retrain "
    "lack need rely work focus study test experiment investigate ablate apply isolate halve limit scale behave "
    "arise originate think believe feel doubt wonder worry hope like appreciate enjoy agree disagree miss omit "
    "overlook neglect differ resemble correspond correlate interact sample transfer update select sort free bound "
    "undermine weaken overstate overclaim exaggerate hide complement rewrite reorganize polish proofread correct "
    "restructure shorten state list plot adapt vote support pose raise score vote seek shed underlie rest stand "
    "ensure thank commend urge request admit lean rate hesitate struggle rush misunderstand regard redo redesign "
    "open close bring mean sense guess hypothesize refine finetune initialise optimise generalise penalize "
    "regularize influence leave remain receive deserve exceed surpass impact complicate have do be"
)
"""Base forms of the verbs that reviews use most."""

_IRREGULAR = {
    "have": "had", "do": "did", "choose": "chose", "make": "made", "get": "got", "take": "took",
    "find": "found", "give": "gave", "see": "saw", "know": "knew", "come": "came", "put": "put", "go": "went",
    "hold": "held", "draw": "drew", "write": "wrote", "run": "ran", "keep": "kept", "build": "built",
    "lead": "led", "leave": "left", "read": "read", "think": "thought", "feel": "felt", "say": "said",
    "become": "became", "show": "showed", "understand": "understood", "begin": "began", "lose": "lost",
}  # fmt: skip
_PAST = frozenset(_IRREGULAR.values()) - {"put", "read"}
_PARTICIPLES = listed(
    "been done shown seen given made found taken chosen known held drawn written run kept built led left read "
    "said become set understood lost gotten got drawn driven hidden split"
)
BE = frozenset(["is", "are", "was", "were"])
MODALS = listed("can could should would may might will must cannot")
_HAVE, _DO = frozenset(["has", "have", "had"]), frozenset(["do", "does", "did"])
AUXILIARIES = BE | MODALS | _HAVE | _DO
PREPOSITIONS = listed(
    "of in for on with to from by at as into between over under about via through without within against across "
    "than during after before among per like beyond regarding towards toward using"
)
DETERMINERS = listed(
    "the a an this that these those its their his her our your my some any all both each many several most more "
    "no every such another other few fewer less only one two three four five"
)
PRONOUNS = listed("it they this that these those there he she we you i authors everything nothing one")
_AMBIGUOUS = listed(
    "results claims uses studies designs tests measures limits changes estimates guarantees matches aids points "
    "means works needs benefits supports samples plots runs builds lists states reports comments shares models "
    "experiments bounds updates scales answers questions holds puts calls plays moves focus study test experiment "
    "work need use limit scale sample update bound share change measure report comment result claim estimate "
    "benefit support guarantee match aid plot run list state answer impact impacts account causes cause "
    "highlights highlight leaves"
)
"""Forms of verbs that are as often nouns."""

_ADJECTIVE = re.compile(r"\w+(?:al|ive|ous|ful|ic|able|ible|ant|ent|ary|less|ical)$")
WORD = re.compile(r"[^\s,;:()\"]+|[,;:]")


def third(verb: str) -> str:
    """``compares`` for ``compare``."""
    if verb in ("have", "be", "do", "go"):
        return {"have": "has", "be": "is", "do": "does", "go": "goes"}[verb]
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "x", "z", "ch", "sh")) else "s")


def gerund(verb: str) -> str:
    """``comparing`` for ``compare``."""
    if verb in (
        "run",
        "put",
        "plot",
        "get",
        "cut",
        "let",
        "stop",
        "overfit",
        "fit",
        "spot",
        "map",
        "split",
        "omit",
        "set",
    ):
        return verb + verb[-1] + "ing"
    if verb in ("lie", "tie"):
        return verb[:-2] + "ying"
    return (verb[:-1] if verb.endswith("e") and not verb.endswith("ee") and verb != "be" else verb) + "ing"


def past(verb: str) -> str:
    """``compared`` for ``compare``."""
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
    """The verb whose past participle *word* is, or empty."""
    return _BASES.get(word, "")


THIRD = {third(verb): verb for verb in VERBS if verb not in ("be", "have", "do")}
PAST = {past(verb): verb for verb in VERBS if verb not in ("be", "have", "do", "put", "read")}


def finite(text: str) -> int:
    """The place of the first word of *text* that is the verb of a clause with a subject before it; -1 if none is.

    A verb within "that", "which" and the like does not count, for it makes no sentence of what stands before.
    """
    words = WORD.findall(text)
    low = [word.lower().replace("’", "'") for word in words]
    within = hung = False
    for place, word in enumerate(low):
        if word in _RELATIVES and place:
            within = True
        if _is_verb(low, place):
            if not within and not (hung and low[place - 1] in ("and", "or")):
                return place
            hung, within = within or hung, False
    return -1


_ADVERBS = listed("only also still never already often even just not always")
_LINKING = listed("appear seem remain become look felt became seemed looked remained appeared sounded")
_AGENTS = listed("author authors paper it they we reviewer article manuscript he method")
_SAID_OF = listed(
    "achieved outperformed showed proposed provided improved demonstrated presented introduced used made gave"
)
_ARTICLES = listed("a an the its their no")
_RELATIVES = listed("that which who whom whose where whether how why what when if because since")


def ends_with_verb(text: str) -> bool:
    """Whether the last word of *text* is a verb that something should follow."""
    last = text.split()[-1].lower()
    return last in AUXILIARIES or ((last in THIRD or last in VERBS) and last not in _AMBIGUOUS)


def is_noun(word: str) -> bool:
    """Whether *word*, the form of a verb, is as often a noun."""
    return word in _AMBIGUOUS


def dangles(text: str) -> bool:
    """Whether *text* ends within a clause that "which", "how", "why" and the like open: no verb comes after them."""
    low = [word.lower() for word in WORD.findall(text)]
    opened = max((place for place, word in enumerate(low) if word in _OPENING and place), default=-1)
    if opened < 0 or low[opened + 1 : opened + 2] == ["to"]:
        return False
    return not any(
        word in AUXILIARIES or word in THIRD or word in PAST or word in VERBS or word in _PAST
        for word in low[opened + 1 :]
    )


_OPENING = listed("which who whom whose where how why what whether because if when although while since")


def _is_verb(low: Sequence[str], place: int) -> bool:
    """Whether the word at *place* is likely a finite verb after its subject."""
    word, earlier = low[place], place - 1
    while earlier > 0 and (low[earlier] in _ADVERBS or low[earlier].endswith("ly")):
        earlier -= 1
    before = low[earlier] if place else ""
    after = low[place + 1] if place + 1 < len(low) else ""
    if not before or before == "to":
        return False
    if before in (",", ";"):
        return place > 1 and (word in AUXILIARIES or (word in THIRD and word not in _AMBIGUOUS))
    if word in AUXILIARIES:
        return True
    if before in PREPOSITIONS or (before in DETERMINERS and before not in PRONOUNS):
        return False
    opens = after in DETERMINERS or after in ("that", "how", "why", "what", "whether", "it") or after in PREPOSITIONS
    opens = opens or after.endswith("ing") or after in ("out", "up")
    if word in _LINKING or (word in THIRD and (before in _AGENTS or before in ("that", "which", "who"))):
        return True
    if word in THIRD:
        return not (after == "of" or (word in _AMBIGUOUS and (not opens or _ADJECTIVE.match(before)))) and not (
            _ADJECTIVE.match(before) and not opens
        )
    if word in PAST or word in _PAST:
        if before in _AGENTS or word in _LINKING:
            return True
        if word in _SAID_OF and before not in (",", "and", "or", "not"):
            return (
                bool(after)
                and after not in PREPOSITIONS
                and not after.endswith("ly")
                and after not in (",", "and", "or", "to")
            )
        return after in DETERMINERS or after in ("that", "how", "why", "what", "whether", "it")
    if len(word) > 3 and after in _ARTICLES and word.endswith("s") and not word.endswith(("ss", "us", "is", "'s")):
        return before not in PREPOSITIONS and not _ADJECTIVE.match(before)
    if word in VERBS:
        plural = before in ("they", "we", "i", "you", "authors", "which") or (
            before.endswith("s") and not before.endswith(("ss", "us", "is", "'s", "ous"))
        )
        return plural and before not in THIRD.keys() - _AMBIGUOUS and (word not in _AMBIGUOUS or opens)
    return False


def stated(auxiliary: str, rest: str, negated: bool = False) -> str:
    """ "the bound is tight" for "is" and "the bound tight": a question's words in the order of a statement; or ""."""
    words, low = rest.split(), [word.lower().strip(",") for word in rest.split()]
    auxiliary = auxiliary.lower()
    place = _predicate(auxiliary, low)
    if not place:
        return ""
    subject, predicate = " ".join(words[:place]), words[place:]
    if negated and low[place] != "not":
        predicate, low = ["not", *predicate], [*low[:place], "not", *low[place:]]
    if auxiliary not in _DO:
        return " ".join([subject, auxiliary, *predicate])
    verb = low[place]
    if verb == "not":
        return " ".join([subject, auxiliary, *predicate])
    formed = {"do": verb, "does": third(verb), "did": past(verb) if verb != "be" else "was"}[auxiliary]
    return " ".join([subject, formed, *predicate[1:]])


def _predicate(auxiliary: str, low: Sequence[str]) -> int:
    """Where what is said of the subject starts in the words *low* after an *auxiliary*; 0 if that is not to be told."""
    for place in range(1, min(len(low), 16)):
        word, before = low[place], low[place - 1]
        pronoun = place == 1 and before in PRONOUNS
        if before in PREPOSITIONS or (before in DETERMINERS and not pronoun) or before in ("and", "or"):
            continue
        if word == "not" or (auxiliary in BE and word in ("a", "an", "the") and before not in PREPOSITIONS):
            return place
        alone = pronoun
        if alone and before in ("this", "that", "these", "those"):
            alone = word in DETERMINERS | PREPOSITIONS | VERBS or bool(_SAID.match(word))
        if alone:
            return place
        if place == 1 and before in DETERMINERS:
            continue
        if auxiliary in MODALS | _DO:
            if word in VERBS and not (word in _AMBIGUOUS and place + 1 < len(low) and low[place + 1] in VERBS):
                return place
        elif auxiliary in _HAVE:
            if word in _PARTICIPLES or word.endswith("ed"):
                return place
        elif _SAID.match(word) or word in _PARTICIPLES:
            following = low[place + 1] if place + 1 < len(low) else ""
            if not following or following in PREPOSITIONS | DETERMINERS | _AFTER or following.endswith("ly"):
                return place
            if word in _LATER or word.endswith("ly"):
                return place
    return 0


_LATER = listed("still also only always so too very really even not just due because better worse")
_AFTER = listed("if when because and or but while since compared that enough here there")
_SAID = re.compile(
    r"(?:\w+(?:ed|ing|al|ive|ous|ful|ic|able|ible|ant|ent|ary|less|ly|er)|still|also|only|always|so|too|very|even|due|"
    r"because|new|same|fair|true|good|bad|high|low|large|small|hard|tight|robust|wrong|correct|in|on|out|similar|"
    r"enough|clear|necessary|important|possible|available|more|less|sure|fast|slow|close|equal|specific)$"
)


def lowered(text: str) -> str:
    """*text* with a small first letter, unless its first word is an acronym or a name with capitals inside."""
    first = text.split(" ", 1)[0].split("-")[0].strip(",")
    return text[0].lower() + text[1:] if len(first) == 1 or first[1:].islower() or "'" in first else text

"""Lists of English words, and functions that form verbs by their endings. `english_clauses` uses both to find verbs."""

from __future__ import annotations

import re


def listed(words: str) -> frozenset[str]:
    """Returns the set of the words in *words*, a text with blanks between the words."""
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
    "regularize influence leave remain receive deserve exceed surpass impact complicate grow shrink diverge saturate "
    "degrade deteriorate oscillate fluctuate vanish disappear deviate emerge tend begin have do be"
)
"""Base forms of the verbs that reviews use most."""

_IRREGULAR = {
    "have": "had", "do": "did", "choose": "chose", "make": "made", "get": "got", "take": "took",
    "find": "found", "give": "gave", "see": "saw", "know": "knew", "come": "came", "put": "put", "go": "went",
    "hold": "held", "draw": "drew", "write": "wrote", "run": "ran", "keep": "kept", "build": "built",
    "lead": "led", "leave": "left", "read": "read", "think": "thought", "feel": "felt", "say": "said",
    "become": "became", "show": "showed", "understand": "understood", "begin": "began", "lose": "lost",
    "grow": "grew", "shrink": "shrank",
}  # fmt: skip
IRREGULAR_PAST = frozenset(_IRREGULAR.values()) - {"put", "read"}
PARTICIPLES = listed(
    "been done shown seen given made found taken chosen known held drawn written run kept built led left read "
    "said become set understood lost gotten got drawn driven hidden split"
)
BE = frozenset(["is", "are", "was", "were"])
MODALS = listed("can could should would may might will must cannot")
HAVE, DO = frozenset(["has", "have", "had"]), frozenset(["do", "does", "did"])
AUXILIARIES = BE | MODALS | HAVE | DO
PREPOSITIONS = listed(
    "of in for on with to from by at as into between over under about via through without within against across "
    "than during after before among per like beyond regarding towards toward using"
)
DETERMINERS = listed(
    "the a an this that these those its their his her our your my some any all both each many several most more "
    "no every such another other few fewer less only one two three four five"
)
PRONOUNS = listed("it they this that these those there he she we you i authors everything nothing one")
AMBIGUOUS = listed(
    "results claims uses studies designs tests measures limits changes estimates guarantees matches aids points "
    "means works needs benefits supports samples plots runs builds lists states reports comments shares models "
    "experiments bounds updates scales answers questions holds puts calls plays moves focus study test experiment "
    "work need use limit scale sample update bound share change measure report comment result claim estimate "
    "benefit support guarantee match aid plot run list state answer impact impacts account causes cause "
    "highlights highlight leaves"
)
"""Forms of verbs that are as often nouns, such as "results"."""

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
PAST = {past(verb): verb for verb in VERBS if verb not in ("be", "have", "do", "put", "read")}


def ends_with_verb(text: str) -> bool:
    """Whether the last word of *text* is a verb, which suggests that the verb's object is missing."""
    last = text.split()[-1].lower()
    return last in AUXILIARIES or ((last in THIRD or last in VERBS) and last not in AMBIGUOUS)


def is_noun(word: str) -> bool:
    """Whether *word*, a form of a verb, is as often a noun as a verb, such as "results" (`AMBIGUOUS`)."""
    return word in AMBIGUOUS


def lowered(text: str) -> str:
    """Returns *text* with a small first letter.

    *text* is returned unchanged if its first word is an acronym or has a capital after the first letter.
    """
    first = text.split(" ", 1)[0].split("-")[0].strip(",")
    return text[0].lower() + text[1:] if len(first) == 1 or first[1:].islower() or "'" in first else text

"""Judgments of a review by rule: no LM, the same lines every time (the embedded stand-in for Xu et al. 2025, C.1).

Each evaluation of a review becomes one line. The section it stands in and the words it uses decide whether the
reviewer appreciates, criticizes, questions or suggests it; the sentence's own content words are kept, for they carry
the information, while first persons, connectives and citations go. What only describes the paper judges nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Literal

from tasks.review_text import Kind, Section, split

WRITER = "rule-judgments-1"
LONGEST_LINE = 25
"""Words of a line after its opening, at most."""

Stance = Literal["appreciates", "criticizes", "questions", "suggests"]

_LONGEST_SENTENCE = 2000
_ALIKE = 0.8
_COMPARED = 100
_I = re.IGNORECASE


def _stems(listed: str) -> tuple[str, ...]:
    return tuple(listed.split())


def _phrases(*listed: str) -> re.Pattern[str]:
    return re.compile(r"(?<![\w-])(?:" + "|".join(listed) + r")(?!\w)", _I)


# A word counts if it starts with one of the stems or is one of the words.
_GOOD_STEMS = _stems(
    "interesting novel original clear clarity strong excellen impressi convincing solid sound thorough extensive "
    "comprehensive importan signific useful valuabl effective efficien elegan simplicity intuitive nice outperform "
    "state-of-the-art sota improvement promising rigor reproduc relevan timely insight enjoy appreciat adequate "
    "reasonabl sensibl practical competitive superior high-quality readab robust flexib meaningful benefi advantage "
    "innovati creativ compelling motivated well- helpful satisf appealing principled straightforward crucial "
    "challenging worth favor favour concise precise careful exciting easy easily easier demonstrat sufficient correct"
)
_GOOD = frozenset(_stems(
    "good great simple better best improves improved contributes supported provides provided new well fair fairly "
    "neat fine general detailed addresses addressed liked solves details validates advances organized written"
))
_BAD_STEMS = _stems(
    "n't n’t cannot can't can’t lack missing absen unclear unconvinc unfair unjustif unsubstan unnecess unrealis "
    "unsatisf unfortun unmotiv unsupport unsurpris unexplain undefined unread unspecif unreliab uncertain limited "
    "limitation weak incremental concern hard difficult confus insufficien inadequa poor fail trivial overclaim "
    "over-claim overstate typo mistake incorrect wrong misleading vague ambigu inconsisten incomplete marginal "
    "outdated restrict questionab doubt problematic drawback shortcoming disappoint expensive costly complicated "
    "ad-hoc heuristic arbitrar unlikely worse suffer flaw narrow ignor omit overlook neglect undermin merely simply "
    "contradict mess sloppy awkward suspicious borrow degrad inferior redundan simplistic struggl hardly underwhelm "
    "overly subpar insignific"
)
_BAD = frozenset(_stems(
    "not no none nor never misses missed however only without error errors little few minor small too old issue "
    "issues slow heavy complex less below hinders loose somewhat surprised harder similar dense already unfortunately"
))
_WEAK_BAD = frozenset(_stems(
    "small complex only however few minor less heavy old issue issues without similar restrict hard dense"
))
_NOT_BAD = _phrases(
    r"not only", r"(?:no|without) (?:doubt|loss|any|sacrific\w+|requiring|needing|(?:major |significant )?(?:issues?|"
    r"concerns?|problems?|complaints?))",
    r"(?:limitations?|drawbacks|shortcomings|issues?|problems?|weaknesses) (?:of|in|with) (?:the )?(?:existing|"
    r"previous|prior|current|standard)",
    r"(?:address|solv|tackl|overcom|alleviat|mitigat|resolv)\w* (?:the |this |these |an? |some |important |my |all |"
    r"existing |both )*(?:limitations?|issues?|"
    r"problems?|concerns?|drawbacks?|difficult\w+|lack)", r"(?:few|zero)-shot", r"hard(?:ware)?-\w+",
    r"do(?:es)?(?: not|n['’]t) (?:require|need|rely|suffer)",
    r"reduc\w+ (?:the )?(?:error|cost)s?", r"error (?:rate|bound|analysis|bars?)",
    r"difficult (?:problem|task|setting)s?", r"hard (?:problem|task)s?",
)
_SUGGESTS = _phrases(
    r"should(?! be (?:\w+ )?(?:easy|interesting|straightforward|reproducible|possible|able|useful|fine|enough|"
    r"sufficient))", r"(?:would|might|could|will|can|may) (?:\w+ )?be (?:\w+ ){0,2}(?:better|good|great|nice|helpful|"
    r"useful|interesting|beneficial|valuable|ideal|"
    r"best|desirable|appreciated|improved|strengthened|enhanced|clearer|stronger|easier|worth\w*|informative|"
    r"important|more \w+|included|added|moved|"
    r"shortened|clarified|required|needed)", r"(?:i|we|reviewer)(?:['’]d| would)? (?:\w+ly |also )*(?:suggest|"
    r"encourage|advise|recommend|prefer)",
    r"(?:would|i['’]?d) (?:\w+ )?like(?:d)? to (?:see|have|suggest|understand)", r"please", r"needs? to be",
    r"would benefit", r"could benefit", r"better to",
    r"would (?:\w+ )?(?:help|improve|strengthen|provide|make|enhance)",
    r"(?:is|are) (?:suggested|recommended|encouraged|advised|expected|needed|desired|required|desirable)",
    r"(?:authors?|paper|work|manuscript) (?:may|might|could|can|needs? to|must|ought to|ha(?:s|ve) to) (?:\w+ly |"
    r"also )?(?!be |not )\w+",
    r"suggestions?(?: would be| is|:)", r"(?:better|helpful|useful|good|nice|great|interesting|recommended|"
    r"encouraged)(?: for \w+ \w+)? (?:if|to (?:see|have|add|include|provide|"
    r"show|discuss|know|compare|give))", r"why not", r"consider \w+ing", r"i (?:was|am) hoping", r"must be",
    r"i(?: would|['’]d) expect",
)
_VERBS = _stems(
    "add include consider provide discuss clarify explain fix remove change move replace define use report compare "
    "cite show improve try rephrase mention expand elaborate describe specify correct check avoid give see have know "
    "evaluate run test perform conduct release present extend investigate analyze study explore make highlight "
    "justify demonstrate apply address revise state introduce motivate verify emphasize share rewrite reorganize "
    "polish comment train plot put"
)
_IMPERATIVE = re.compile(rf"(?:{'|'.join(_VERBS[:36])})\b(?! (?:of|is|are|to be|cases?)\b)", _I)
_EXPLAINING = _stems("clarify explain elaborate justify discuss comment describe specify know see have state")
_REQUEST = re.compile(
    r"(?:could|can|would|will) (?:you|the authors?)(?: \w+)? "
    rf"(?:{'|'.join(verb for verb in _VERBS if verb not in _EXPLAINING)})\b", _I)
_WONDERS = _phrases(
    r"(?:i|we|reviewer)(?:['’]m| am| was| is|['’]d be| would be)?(?: also| still| just| really| a bit| therefore| "
    r"\w+ly)* (?:wonder(?:ing)?|curious|interested in)",
    r"(?:not|n['’]t) (?:\w+ly |quite |very |so |too )*(?:sure|certain|clear|obvious)(?: to me)?,? (?:why|how|what|"
    r"whether|if|which|when|where|about)",
    r"(?:i|we|reviewer) (?:do not|don['’]t|did not|didn['’]t|can ?not|can['’]t|could not)(?: \w+)? "
    r"(?:understand|see|get|follow|know)", r"fail to (?:see|understand)",
    r"unclear(?: to me)?,? (?:why|how|what|whether|if|which|when|where|to what)",
    r"(?:please|could you|can you|can the authors?|could the authors?)(?: \w+)? "
    r"(?:clarify|explain|comment|elaborate|justify)", r"questions? (?:is|about|on|regarding)",
    r"(?:is|are) (?:questionable|puzzling|debatable)", r"i question",
)
_NO_JUDGMENT = re.compile(
    r"(?:see|refer to|mentioned|described|detailed|listed)\b.{0,30}\b(?:above|below|section)\b.{0,25}$|^(?:none|n/?a|"
    r"as is|yes|no)\W*$|^(?:please )?(?:see|refer to) |^@|^\S+ ?= ?\{|thanks?\b|"
    r"\b(?:weak |clear |strong |borderline )?(?:accept(?:ance|ing)?|reject(?:ion|ing)?)\b|\b(?:my|the|initial|"
    r"current) (?:score|rating|recommendation|opinion|assessment|evaluation)\b|"
    r"\b(?:raise|increase|keep|lower|change)\w* (?:\w+ )?(?:score|rating)|not (?:an? |very |really |that |so |too "
    r")*(?:expert|specialist|familiar)|n['’]t (?:\w+ )?(?:familiar|check|read the|run|go through)|"
    r"(?:did|have|has) not (?:\w+ )?(?:check|read|run|verif|go|reviewed|have enough time)|after (?:reading|the "
    r"rebuttal|discussion)|^(?:i|we) have (?:several|some|a few|the following)|"
    r"(?:the )?following (?:\w+ )?(?:points|questions|comments|concerns|issues|strengths|weaknesses)|here are|et "
    r"al\.?,? ?\W*(?:19|20)\d\d\W*$|arxiv|proceedings|conference on|"
    r"(?:[A-Z][\w-]+, [A-Z]\.,? ){2}|^(?:\W*[A-Z][\w-]+ [A-Z][\w-]+,){2}", _I)
_REFERENCE = re.compile(r"^\s*(?:[-*] )?\[[\w+]{1,12}\][: ]")
_OPINION = re.compile(r"\b(?:I|[Mm]y|[Uu]nfortunately|interesting|well[- ]written|well[- ]motivated|impressive|"
    r"convincing|unclear|promising)\b")

_LEAD = re.compile(
    r"^(?:(?:however|moreover|furthermore|besides|additionally|also|and|but|yet|so|thus|hence|therefore|overall|in "
    r"general|generally(?: speaking)?|\w+ly|first|second|third|last|next|"
    r"then|in addition|in particular|for example|for instance|e\.g\.?|i\.e\.?|nevertheless|nonetheless|(?:having |"
    r"that being |that )said|on the (?:other|one) hand|"
    r"in (?:summary|conclusion|short|sum)|to (?:sum up|summarize|me|conclude|be honest|be fair)|as a result|indeed|"
    r"further|still|again|otherwise|(?:in|from) my (?:\w+ )?(?:opinion|view|"
    r"understanding|perspective)|(?:to|from) (?:the best of )?my (?:knowledge|understanding)|as far as i \w+|for me|"
    r"imo|imho|meanwhile|at the same time|in fact|of course|(?:apart|other|aside) "
    r"(?:from|than) that|(?:most|more) (?:importantly|specifically)|major|minor|nit(?:pick)?|typo|(?:question|q|"
    r"weakness|w|s|strength|comment|c|point|concern|con|pro)s? ?#?\d*)\s*[\],:]\s*"
    r"|(?:however|moreover|furthermore|additionally|and|but|so|thus|hence|therefore|overall|also|besides) (?=(?:i|"
    r"the|it|there|this|some|we|in|authors?|its|their)\b)"
    r"|(?:i|we)(?:['’](?:m|d|ve))?(?: (?:\w+ly|am|was|have|had|do|would|can|could|will|also|still|just))* (?:think|"
    r"believe|feel|find|found|guess|suspect|say|argue|agree|assume|note|noticed?|"
    r"consider|wish|hope|afraid|happy|glad|worried|concerned|convinced|aware|want to (?:point out|note|mention))(?: "
    r"(?:that|about))?,? "
    r"|it (?:also )?(?:seems?|appears?|looks?)(?: to me)? (?:like |that |as if |as though )|it (?:should|must) be "
    r"noted that |note that |one (?:can|may|could) (?:argue|say) that "
    r"|(?:my|the|a|one|another|an|some)(?: \w+){0,3} (?:concern|weakness|issue|problem|drawback|limitation|strength|"
    r"question|worry|complaint|criticism|impression|understanding|opinion|comment|"
    r"downside|suggestion|shortcoming)(?:s|es)?(?: (?:here|i have|(?:of|with|in|for|about) (?:this|the) (?:paper|"
    r"work|method|approach|submission)))* (?:is|are|was|would be)"
    r"(?: that| about| with| on| regarding)?:?,? )", _I)
_CITATION = re.compile(
    r"\s*\[[\d, –-]{1,30}\]|\s*\((?:e\.g\.,?|see|cf\.?|i\.e\.,?)[^()]{0,300}\)|\s*\([^()]{0,200}\b(?:19|"
    r"20)\d\d[^()]{0,100}\)|\s*\[[^\[\]]{0,80}\b(?:19|20)\d\d\w?\]"
    r"|(?:,? see:?)?\s*https?://[^\s)]*[^\s).,;]|\s*\([^()]{0,20}(?:fig|tab|sec|eq|page|line|appendix|section|table|"
    r"see)\b[^()]{0,40}\)", _I)
_MATH = re.compile(r"\$\$?[^$\n]{0,400}\$\$?")
_DRESS = re.compile(r"\*\*|__|`+|</?\w{1,20}/?>|(?<!\w)\*(?=\w)|(?<=\w)\*(?!\w)|^#+\s*|~~|&\w{2,6};|\\(?:cite|ref|"
    r"url)\w?\{[^}]{0,80}\}")
_LABEL = re.compile(r"^([A-Z][\w/&' -]{0,40}|\d{1,2}(?:\.\d)*)\s*[:.)]\s+(?=[A-Z\"'])")
_FILLER = re.compile(
    r"\b(?:very|quite|really|rather|basically|actually|simply|just|definitely|certainly|obviously|probably|perhaps|"
    r"maybe|i (?:think|believe|feel|guess)(?: that)?|(?:at least )?(?:to|for) me|a (?:little )?bit|"
    r"(?:kind|sort) of|in general|of course|as well(?! as)|etc\.?|also|please|kindly|the fact that|so far|"
    r"respectively|(?:in|from) my (?:opinion|view)|to (?:the best of )?my (?:knowledge|understanding)|"
    r"(?:in|of) (?:this|the) (?:paper|work|manuscript|submission)|as far as i \w+)\b,?\s?", _I)
_PERSONS = tuple((re.compile(pattern), word) for pattern, word in (
    (r"\b[Yy]our\b", "the"), (r"\b[Yy]ou(?:['’]re| are)\b", "the authors are"), (r"\b[Yy]ou\b", "the authors"),
    (r"\bI(?:['’]m| am)\b", "the reviewer is"), (r"\bI(?:['’](?:ve|d))?\b(?!\.)", "the reviewer"),
    (r"\b[Mm]y\b", "the"), (r"\bme\b", "the reviewer"),
    (r"\bthe reviewer do\b", "the reviewer does"), (r"\bthe reviewer have\b", "the reviewer has"),
    (r"\bthe reviewer (see|think|admit|feel|find|suggest|want|need|like|know|prefer)\b", r"the reviewer \1s"),
))
_CONTRAST = re.compile(
    r"\s*;\s+|,?\s+(?:but|however|yet|although|though|whereas|while)(?: also)?,?\s+(?=(?:the|it|this|there|i|its|"
    r"their|some|they|these|not|lacks?|is|are|authors?|a|an|no|more|in|my|we|"
    r"only|seems?|has|have|does|many|what|how|could|needs?)\b)|,\s+(?:and|so)\s+(?=(?:the|it|this|there|i|its|some|"
    r"they|these|authors?)\s+[\w-]+)", _I)
_CONCESSION = re.compile(r"^(?:although|while|though|even though|whereas)\s+([^,]{12,200}),\s+(.{10,})$", _I | re.S)
_FINITE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|does|do|did|can|could|should|would|may|might|will|must|cannot|seems?|"
    r"appears?|lacks?|shows?|provide[sd]?|propose[sd]?|present(?:s|ed)|outperform(?:s|ed)|"
    r"fail(?:s|ed)|make[s]?|uses?|introduce[sd]?|achieve[sd]?|demonstrate[sd]?|gives?|address(?:es)?|requires?|"
    r"needs?|relies|suffers?|remains?|contains?|includes?|leads?|improve[sd]?|claims?|"
    r"considers?|focus(?:es)?|looks?|depends?|works?|helps?|allows?|compare[sd]?|evaluate[sd]?|combines?|follows|"
    r"limits|contributes?|explores?|studies|investigates?|tackles|discuss(?:es)?|"
    r"(?:the|this) (?:authors?|paper|work) (?!of |in )\w+|(?:the|this) \w+(?: \w+)? \w*[^s\W]s (?!of|for|and|or|in|"
    r"on|with|to|from|by|at|as)\w+|explains?|describes|offers|extends|performs?|reads|feels?|"
    r"sounds|\w+n['’]t)\b", _I)
_INNER = re.compile(r"(?<= of )(?:The|An?|Any|This|Some)\b")
_SOFT = re.compile(r",|;|:| \(| (?:which|because|since|so that|such as|where|whereas|while|as well as|and|when) ")
_WORD = re.compile(r"[A-Za-z][\w'’-]*")
_FUNCTION = frozenset(_stems(
    "the a an of to in for and or is are be that this it with as on by from at its their not which than into if when "
    "while but i.e e.g such more between whether how what paper authors"
))
_DETERMINED = frozenset(_stems(
    "the a an this that these those its their some any all both each many several most more no how why whether what "
    "which it there if"
))


def _forms(*pairs: tuple[str, str]) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern + "$", _I | re.S), replacement) for pattern, replacement in pairs)


_PAPER = r"(?:the |this )?(?:paper|work|authors?|manuscript|method|approach|it|submission)"
_BE, _AUX = "is|are|was|were", "is|are|was|were|can|could|would|will|should|has|have"
_SUBJECT = "the authors|authors|it|this|they|there|these"
_FORMS = {
    "appreciates": _forms(
        (r"(?:(?:the reviewer|i|we) )?(?:\w+ly )?(?:appreciated?|like[ds]?|enjoy(?:ed)?|love) (?:that )?(.+)", r"\1"),
        (r"(?:the|this) (?:paper|work|manuscript|submission) is (?:overall |generally |mostly )?(well[- ]\w+|clear|"
            r"novel|interesting|clearly written|easy to \w+)", r"the \1 paper"),
    ),
    "criticizes": _forms(
        (r"there (?:is|are|exists?) (?:an? |some )?(?:\w+ )?(?:lacks?|absence) of (.+)", r"the lack of \1"),
        (r"there (?:is|are) (?:no|not (?:any|enough|much|sufficient)|little|insufficient) (.+)", r"the lack of \1"),
        (rf"{_PAPER}(?: also)? (?:lacks?|misses|is missing|are missing|is lacking|lacked)(?: of)? (.+)",
        r"the lack of \1"),
        (r"(?:the )?(?:lacks?|lacking|absence|missing|no)(?: of)? (.+)", r"the lack of \1"),
        (r"(.{3,80}) (?:is|are) (?:missing|absent|lacking|not (?:provided|given|included|reported|discussed|"
            r"presented|shown))", r"the lack of \1"),
        (r"(?:the )?(\w+(?: \w+)?) (?:is|are) (limited|incremental|weak|unclear)", r"the \2 \1"),
    ),
    "questions": _forms(
        (r"(?:.{0,40}\b(?:wonder(?:ing)?|curious|sure|certain|understand|see|interested in|know|unclear|clear|"
            r"obvious))(?: to the reviewer)?(?: about| of)?,? "
         r"((?:whether|if|how|why|what|which|where|when|the)\b.+)", r"\1"),
        (r"(?:(?:could|can|would|will) (?:the )?authors )?(?:\w+ly )?(?:clarify|explain|comment on|elaborate on|"
            r"elaborate|justify|discuss|describe|specify|provide|give)(?: (?:more )?on)?,? (.+)", r"\1"),
        (r"(?:is|are) there (.+)", r"whether there is \1"),
        (rf"({_AUX}) ({_SUBJECT}) (.+)", r"whether \2 \1 \3"),
        (rf"(how|why|what|where|when) ({_AUX}) ({_SUBJECT}) (.+)", r"\1 \3 \2 \4"),
        (rf"(?:do|does|did|{_AUX}) (.+)", r"whether \1"),
        (r"(how|why|what|where|when|which \w+|what \w+) (?:do|does|did) (.+)", r"\1 \2"),
    ),
    "suggests": _forms(
        (r"(?:it )?(?:would|might|could|will|may|is) (?:be )?(?:\w+ ){0,2}(?:better|good|great|nice|helpful|useful|"
            r"interesting|beneficial|valuable|ideal|best|desirable|recommended|encouraged|suggested)"
         r"(?: for the authors)? (?:to|if the authors (?:can|could)?|if authors (?:can|could)?) ?(.+)", r"\1"),
        (r"(?:the reviewer )?(?:would )?(?:\w+ly )?(?:suggest|recommend|encourage|advise)s?(?: that)? (?:the "
            r")?authors?(?: should| could)?(?: to)? (.+)", r"\1"),
        (r"(?:the reviewer )?(?:would )?(?:\w+ly )?(?:suggest|recommend|encourage|advise)s? (?:to |that )?(.+)", r"\1"),
        (r"(?:the reviewer )?would (?:\w+ )?like(?:d)? to (?:see|have|suggest) (.+)", r"\1"),
        (r"(?:can|could|would|will) (?:the )?authors? (.+)", r"\1"),
        (r"(?:the )?authors? (?:should|could|may|might|can|needs? to|must|ha(?:s|ve) to)(?: consider)? (.+)", r"\1"),
    ),
}


def judgments_of(review: str) -> str:
    """The judgments of *review*, one a line, each with one of the four openings; empty if nothing is judged.

    A review whose headings leave no room for judgments (all of it under "Summary") is read without them.
    """
    sections = split(review)
    return _lines(sections) or _lines([replace(section, kind="other") for section in sections])


def _lines(sections: Iterable[Section]) -> str:
    lines: list[str] = []
    seen: list[frozenset[str]] = []
    for section in sections:
        for stance, claim in _evaluations(section):
            words = frozenset(word.lower() for word in _WORD.findall(claim)) - _FUNCTION
            if words and not any(len(words & other) > _ALIKE * len(words | other) for other in seen[-_COMPARED:]):
                seen.append(words)
                lines.append(f"The reviewer {stance} {claim}.")
    return "\n".join(lines)


def _evaluations(section: Section) -> Iterator[tuple[Stance, str]]:
    """Stance and claim of every evaluation in *section*."""
    if section.kind == "references":
        return
    signs = [one.mark.strip(" ()\t>") for one in section.sentences]
    kind, citing = section.kind, False
    for place, one in enumerate(section.sentences):
        opens = place == 0 or bool(one.mark.strip()) or "\n" in section.sentences[place - 1].gap
        if opens:
            citing = bool(_REFERENCE.match(one.mark + one.text))
            if section.kind == "mixed" and "+" in signs:
                kind = "strengths" if signs[place] == "+" else "weaknesses" if signs[place] == "-" else kind
        if citing:
            continue
        text = _cleaned(one.text)
        if place == 0 and kind == "aspects" and len(text.split()) <= 3 and not _FINITE.search(text):
            text = f"{text.rstrip('. ')} {section.name}"
        for clause, contrast in _clauses(text):
            stance = _stance(clause, kind, opens and not contrast, contrast)
            if stance and (claim := _claim(clause, stance)):
                yield stance, claim


def _cleaned(text: str) -> str:
    """*text* in one line, without citations, formulas and markup."""
    text = _DRESS.sub("", _CITATION.sub("", text[:_LONGEST_SENTENCE]))
    return " ".join(_MATH.sub(lambda math: _symbol(math[0]), text).split())


def _symbol(math: str) -> str:
    inner = re.sub(r"[\\$]", "", math)
    return inner if len(inner) <= 12 else ""


def _clauses(text: str) -> list[tuple[str, bool]]:
    """The evaluations that *text* joins, and whether each is a contrast to the one before."""
    if text.endswith("?"):
        return [(text, False)]
    if found := _CONCESSION.match(text):
        return [(found[1], False), (found[2], True)]
    pieces, start = [], 0
    for cut in _CONTRAST.finditer(text):
        if len(text[start : cut.start()].split()) >= 4 and len(text[cut.end() :].split()) >= 3:
            pieces.append((text[start : cut.start()], start > 0))
            start = cut.end()
    return [*pieces, (text[start:], start > 0)]


def _weigh(clause: str) -> tuple[int, int]:
    """How much praise and how much blame the words of *clause* carry."""
    good = bad = 0
    for word in _WORD.findall(_NOT_BAD.sub(" ", clause.lower())):
        if word in _BAD or word.startswith(_BAD_STEMS) or word.endswith(("n't", "n’t")):
            bad += 1 if word in _WEAK_BAD else 2
        elif word in _GOOD or word.startswith(_GOOD_STEMS):
            good += 1
    return good, bad


def _stance(clause: str, kind: Kind, opens: bool, contrast: bool) -> Stance | None:
    """What the reviewer does in *clause*: None if nothing is judged. *opens*: it starts an item or a paragraph."""
    if len(clause.split()) < 2 or _NO_JUDGMENT.search(clause) or (kind == "summary" and not _OPINION.search(clause)):
        return None
    if clause.rstrip(" \"')").endswith("?"):
        return "suggests" if _REQUEST.search(clause) else "questions"
    if kind != "strengths":
        if _WONDERS.search(clause):
            return "questions"
        if _SUGGESTS.search(clause) or _IMPERATIVE.match(_LEAD.sub("", clause)):
            return "suggests"
    good, bad = _weigh(clause)
    if kind == "questions":
        return "questions" if opens or bad else None
    if kind == "strengths":
        blamed = (contrast and bad) or bad > good + 2
        return "criticizes" if blamed else "appreciates" if opens or good else None
    if kind == "weaknesses":
        if good and not bad and not opens and not contrast:
            return "appreciates"
        return "criticizes" if opens or bad else None
    if kind == "minor":
        return "criticizes" if bad else "suggests" if opens else None
    if bad > good or (bad and contrast):
        return "criticizes"
    return "appreciates" if good else None


def _claim(clause: str, stance: Stance) -> str:
    """*clause* as what follows "The reviewer criticizes" and the like, at most `LONGEST_LINE` words."""
    text = clause.strip(" \t-–—:;,*.?!\"'()[]<>")
    for _ in range(3):
        text = _LEAD.sub("", text).strip(" ,:;")
        if (label := _LABEL.match(text)) and not any(_weigh(label[1])):
            text = text[label.end() :]
    text = " ".join(_FILLER.sub("", text).split())
    for pattern, word in _PERSONS:
        text = pattern.sub(word, text)
    return _shortened(_complement(text.strip(" ,:;-"), stance))


def _complement(text: str, stance: Stance) -> str:
    if len(text) < 3:
        return ""
    for pattern, replacement in _FORMS[stance]:
        if found := pattern.match(text):
            text, formed = _INNER.sub(lambda article: article[0].lower(), found.expand(replacement)), True
            break
    else:
        formed = False
    first = text.split()[0].lower()
    if stance == "suggests" and first in _VERBS:
        return gerund(first) + text[len(first) :]
    if formed or stance == "questions":
        return _lowered(text)
    if _FINITE.search(text.split(":")[0]):
        return "that " + _lowered(text)
    return ("" if first in _DETERMINED or first.endswith(("ing", "s")) else "the ") + _lowered(text)


def gerund(verb: str) -> str:
    """``comparing`` for ``compare``; for the verbs of requests."""
    if verb in ("run", "put", "plot"):
        return verb + verb[-1] + "ing"
    return (verb[:-1] if verb.endswith("e") and verb != "see" else verb) + "ing"


def _lowered(text: str) -> str:
    """*text* with a small first letter, unless its first word is an acronym."""
    first = text.split(" ", 1)[0]
    return text[0].lower() + text[1:] if len(first) == 1 or first[1:].islower() else text


def _shortened(text: str) -> str:
    """The first words of *text*, cut where a clause ends if there is such a place late enough."""
    words = text.split()
    if len(words) > LONGEST_LINE:
        text = " ".join(words[:LONGEST_LINE])
        late = [cut.start() for cut in _SOFT.finditer(text) if text.count(" ", 0, cut.start()) >= 13]
        words = (text[: late[-1]] if late else text).split()
        while words and words[-1].lower().strip(",") in _FUNCTION:
            words.pop()
    return " ".join(words).rstrip(" ,;:.-([?!\"'")

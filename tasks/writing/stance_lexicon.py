"""The words by which a review's sentences are told apart, for judgments by rule: stances, forms, fillers.

Patterns only; `rule_judgments` says what is done with them.
"""

from __future__ import annotations

import re

ANY_CASE = re.IGNORECASE


def stems(listed: str) -> tuple[str, ...]:
    return tuple(listed.split())


def phrases(*listed: str) -> re.Pattern[str]:
    return re.compile(r"(?<![\w-])(?:" + "|".join(listed) + r")(?!\w)", ANY_CASE)


# A word counts if it starts with one of the stems or is one of the words.
GOOD_STEMS = stems(
    "interesting novel original clear clarity strong excellen impressi convincing solid sound thorough extensive "
    "comprehensive importan signific useful valuabl effective efficien elegan simplicity intuitive nice outperform "
    "state-of-the-art sota improvement promising rigor reproduc relevan timely insight enjoy appreciat adequate "
    "reasonabl sensibl practical competitive superior high-quality readab robust flexib meaningful benefi advantage "
    "innovati creativ compelling motivated well- helpful satisf appealing principled straightforward crucial "
    "challenging worth favor favour concise precise careful exciting easy easily easier demonstrat sufficient correct"
)
GOOD = frozenset(
    stems(
        "good great simple better best improves improved contributes supported provides provided new well fair fairly "
        "neat fine general detailed addresses addressed liked solves details validates advances organized written"
    )
)
BAD_STEMS = stems(
    "n't n’t cannot can't can’t lack missing absen unclear unconvinc unfair unjustif unsubstan unnecess unrealis "
    "unsatisf unfortun unmotiv unsupport unsurpris unexplain undefined unread unspecif unreliab uncertain limited "
    "limitation weak incremental concern hard difficult confus insufficien inadequa poor fail trivial overclaim "
    "over-claim overstate typo mistake incorrect wrong misleading vague ambigu inconsisten incomplete marginal "
    "outdated restrict questionab doubt problematic drawback shortcoming disappoint expensive costly complicated "
    "ad-hoc heuristic arbitrar unlikely worse suffer flaw narrow ignor omit overlook neglect undermin merely simply "
    "contradict mess sloppy awkward suspicious borrow degrad inferior redundan simplistic struggl hardly underwhelm "
    "overly subpar insignific"
)
BAD = frozenset(
    stems(
        "not no none nor never misses missed however only without error errors little few minor small too old issue "
        "issues slow heavy complex less below hinders loose somewhat surprised harder similar dense already unfortunately"
    )
)
WEAK_BAD = frozenset(
    stems("small complex only however few minor less heavy old issue issues without similar restrict hard dense")
)
NOT_BAD = phrases(
    r"not only",
    r"(?:no|without) (?:doubt|loss|any|sacrific\w+|requiring|needing|(?:major |significant )?(?:issues?|"
    r"concerns?|problems?|complaints?))",
    r"(?:limitations?|drawbacks|shortcomings|issues?|problems?|weaknesses) (?:of|in|with) (?:the )?(?:existing|"
    r"previous|prior|current|standard)",
    r"(?:address|solv|tackl|overcom|alleviat|mitigat|resolv)\w* (?:the |this |these |an? |some |important |my |all |"
    r"existing |both )*(?:limitations?|issues?|"
    r"problems?|concerns?|drawbacks?|difficult\w+|lack)",
    r"(?:few|zero)-shot",
    r"hard(?:ware)?-\w+",
    r"do(?:es)?(?: not|n['’]t) (?:require|need|rely|suffer)",
    r"reduc\w+ (?:the )?(?:error|cost)s?",
    r"error (?:rate|bound|analysis|bars?)",
    r"difficult (?:problem|task|setting)s?",
    r"hard (?:problem|task)s?",
)
SUGGESTS = phrases(
    r"should(?! be (?:\w+ )?(?:easy|interesting|straightforward|reproducible|possible|able|useful|fine|enough|"
    r"sufficient))",
    r"(?:would|might|could|will|can|may) (?:\w+ )?be (?:\w+ ){0,2}(?:better|good|great|nice|helpful|"
    r"useful|interesting|beneficial|valuable|ideal|"
    r"best|desirable|appreciated|improved|strengthened|enhanced|clearer|stronger|easier|worth\w*|informative|"
    r"important|more \w+|included|added|moved|"
    r"shortened|clarified|required|needed)",
    r"(?:i|we|reviewer)(?:['’]d| would)? (?:\w+ly |also )*(?:suggest|"
    r"encourage|advise|recommend|prefer)",
    r"(?:would|i['’]?d) (?:\w+ )?like(?:d)? to (?:see|have|suggest|understand)",
    r"please",
    r"needs? to be",
    r"would benefit",
    r"could benefit",
    r"better to",
    r"would (?:\w+ )?(?:help|improve|strengthen|provide|make|enhance)",
    r"(?:is|are) (?:suggested|recommended|encouraged|advised|expected|needed|desired|required|desirable)",
    r"(?:authors?|paper|work|manuscript) (?:may|might|could|can|needs? to|must|ought to|ha(?:s|ve) to) (?:\w+ly |"
    r"also )?(?!be |not )\w+",
    r"suggestions?(?: would be| is|:)",
    r"(?:better|helpful|useful|good|nice|great|interesting|recommended|"
    r"encouraged)(?: for \w+ \w+)? (?:if|to (?:see|have|add|include|provide|"
    r"show|discuss|know|compare|give))",
    r"why not",
    r"consider \w+ing",
    r"i (?:was|am) hoping",
    r"must be",
    r"i(?: would|['’]d) expect",
)
VERBS = stems(
    "add include consider provide discuss clarify explain fix remove change move replace define use report compare "
    "cite show improve try rephrase mention expand elaborate describe specify correct check avoid give see have know "
    "evaluate run test perform conduct release present extend investigate analyze study explore make highlight "
    "justify demonstrate apply address revise state introduce motivate verify emphasize share rewrite reorganize "
    "polish comment train plot put"
)
IMPERATIVE = re.compile(rf"(?:{'|'.join(VERBS[:36])})\b(?! (?:of|is|are|to be|cases?)\b)", ANY_CASE)
EXPLAINING = stems("clarify explain elaborate justify discuss comment describe specify know see have state")
REQUEST = re.compile(
    r"(?:could|can|would|will) (?:you|the authors?)(?: \w+)? "
    rf"(?:{'|'.join(verb for verb in VERBS if verb not in EXPLAINING)})\b",
    ANY_CASE,
)
WONDERS = phrases(
    r"(?:i|we|reviewer)(?:['’]m| am| was| is|['’]d be| would be)?(?: also| still| just| really| a bit| therefore| "
    r"\w+ly)* (?:wonder(?:ing)?|curious|interested in)",
    r"(?:not|n['’]t) (?:\w+ly |quite |very |so |too )*(?:sure|certain|clear|obvious)(?: to me)?,? (?:why|how|what|"
    r"whether|if|which|when|where|about)",
    r"(?:i|we|reviewer) (?:do not|don['’]t|did not|didn['’]t|can ?not|can['’]t|could not)(?: \w+)? "
    r"(?:understand|see|get|follow|know)",
    r"fail to (?:see|understand)",
    r"unclear(?: to me)?,? (?:why|how|what|whether|if|which|when|where|to what)",
    r"(?:please|could you|can you|can the authors?|could the authors?)(?: \w+)? "
    r"(?:clarify|explain|comment|elaborate|justify)",
    r"questions? (?:is|about|on|regarding)",
    r"(?:is|are) (?:questionable|puzzling|debatable)",
    r"i question",
)
NO_JUDGMENT = re.compile(
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
    r"(?:[A-Z][\w-]+, [A-Z]\.,? ){2}|^(?:\W*[A-Z][\w-]+ [A-Z][\w-]+,){2}",
    ANY_CASE,
)
REFERENCE = re.compile(r"^\s*(?:[-*] )?\[[\w+]{1,12}\][: ]")
OPINION = re.compile(
    r"\b(?:I|[Mm]y|[Uu]nfortunately|interesting|well[- ]written|well[- ]motivated|impressive|"
    r"convincing|unclear|promising)\b"
)

LEAD = re.compile(
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
    r"(?: that| about| with| on| regarding)?:?,? )",
    ANY_CASE,
)
CITATION = re.compile(
    r"\s*\[[\d, –-]{1,30}\]|\s*\((?:e\.g\.,?|see|cf\.?|i\.e\.,?)[^()]{0,300}\)|\s*\([^()]{0,200}\b(?:19|"
    r"20)\d\d[^()]{0,100}\)|\s*\[[^\[\]]{0,80}\b(?:19|20)\d\d\w?\]"
    r"|(?:,? see:?)?\s*https?://[^\s)]*[^\s).,;]|\s*\([^()]{0,20}(?:fig|tab|sec|eq|page|line|appendix|section|table|"
    r"see)\b[^()]{0,40}\)",
    ANY_CASE,
)
MATH = re.compile(r"\$\$?[^$\n]{0,400}\$\$?")
DRESS = re.compile(
    r"\*\*|__|`+|</?\w{1,20}/?>|(?<!\w)\*(?=\w)|(?<=\w)\*(?!\w)|^#+\s*|~~|&\w{2,6};|\\(?:cite|ref|"
    r"url)\w?\{[^}]{0,80}\}"
)
LABEL = re.compile(r"^([A-Z][\w/&' -]{0,40}|\d{1,2}(?:\.\d)*)\s*[:.)]\s+(?=[A-Z\"'])")
FILLER = re.compile(
    r"\b(?:very|quite|really|rather|basically|actually|simply|just|definitely|certainly|obviously|probably|perhaps|"
    r"maybe|i (?:think|believe|feel|guess)(?: that)?|(?:at least )?(?:to|for) me|a (?:little )?bit|"
    r"(?:kind|sort) of|in general|of course|as well(?! as)|etc\.?|also|please|kindly|the fact that|so far|"
    r"respectively|(?:in|from) my (?:opinion|view)|to (?:the best of )?my (?:knowledge|understanding)|"
    r"(?:in|of) (?:this|the) (?:paper|work|manuscript|submission)|as far as i \w+)\b,?\s?",
    ANY_CASE,
)
PERSONS = tuple(
    (re.compile(pattern), word)
    for pattern, word in (
        (r"\b[Yy]our\b", "the"),
        (r"\b[Yy]ou(?:['’]re| are)\b", "the authors are"),
        (r"\b[Yy]ou\b", "the authors"),
        (r"\bI(?:['’]m| am)\b", "the reviewer is"),
        (r"\bI(?:['’](?:ve|d))?\b(?!\.)", "the reviewer"),
        (r"\b[Mm]y\b", "the"),
        (r"\bme\b", "the reviewer"),
        (r"\bthe reviewer do\b", "the reviewer does"),
        (r"\bthe reviewer have\b", "the reviewer has"),
        (r"\bthe reviewer (see|think|admit|feel|find|suggest|want|need|like|know|prefer)\b", r"the reviewer \1s"),
    )
)
CONTRAST = re.compile(
    r"\s*;\s+|,?\s+(?:but|however|yet|although|though|whereas|while)(?: also)?,?\s+(?=(?:the|it|this|there|i|its|"
    r"their|some|they|these|not|lacks?|is|are|authors?|a|an|no|more|in|my|we|"
    r"only|seems?|has|have|does|many|what|how|could|needs?)\b)|,\s+(?:and|so)\s+(?=(?:the|it|this|there|i|its|some|"
    r"they|these|authors?)\s+[\w-]+)",
    ANY_CASE,
)
CONCESSION = re.compile(
    r"^(?:although|while|though|even though|whereas)\s+([^,]{12,200}),\s+(.{10,})$", ANY_CASE | re.S
)
FINITE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|does|do|did|can|could|should|would|may|might|will|must|cannot|seems?|"
    r"appears?|lacks?|shows?|provide[sd]?|propose[sd]?|present(?:s|ed)|outperform(?:s|ed)|"
    r"fail(?:s|ed)|make[s]?|uses?|introduce[sd]?|achieve[sd]?|demonstrate[sd]?|gives?|address(?:es)?|requires?|"
    r"needs?|relies|suffers?|remains?|contains?|includes?|leads?|improve[sd]?|claims?|"
    r"considers?|focus(?:es)?|looks?|depends?|works?|helps?|allows?|compare[sd]?|evaluate[sd]?|combines?|follows|"
    r"limits|contributes?|explores?|studies|investigates?|tackles|discuss(?:es)?|"
    r"(?:the|this) (?:authors?|paper|work) (?!of |in )\w+|(?:the|this) \w+(?: \w+)? \w*[^s\W]s (?!of|for|and|or|in|"
    r"on|with|to|from|by|at|as)\w+|explains?|describes|offers|extends|performs?|reads|feels?|"
    r"sounds|\w+n['’]t)\b",
    ANY_CASE,
)
INNER = re.compile(r"(?<= of )(?:The|An?|Any|This|Some)\b")
SOFT = re.compile(r",|;|:| \(| (?:which|because|since|so that|such as|where|whereas|while|as well as|and|when) ")
WORD = re.compile(r"[A-Za-z][\w'’-]*")
FUNCTION = frozenset(
    stems(
        "the a an of to in for and or is are be that this it with as on by from at its their not which than into if when "
        "while but i.e e.g such more between whether how what paper authors"
    )
)
DETERMINED = frozenset(
    stems(
        "the a an this that these those its their some any all both each many several most more no how why whether what "
        "which it there if"
    )
)


def forms(*pairs: tuple[str, str]) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern + "$", ANY_CASE | re.S), replacement) for pattern, replacement in pairs)


PAPER = r"(?:the |this )?(?:paper|work|authors?|manuscript|method|approach|it|submission)"
BE, AUX = "is|are|was|were", "is|are|was|were|can|could|would|will|should|has|have"
SUBJECT = "the authors|authors|it|this|they|there|these"
FORMS = {
    "appreciates": forms(
        (r"(?:(?:the reviewer|i|we) )?(?:\w+ly )?(?:appreciated?|like[ds]?|enjoy(?:ed)?|love) (?:that )?(.+)", r"\1"),
        (
            r"(?:the|this) (?:paper|work|manuscript|submission) is (?:overall |generally |mostly )?(well[- ]\w+|clear|"
            r"novel|interesting|clearly written|easy to \w+)",
            r"the \1 paper",
        ),
    ),
    "criticizes": forms(
        (r"there (?:is|are|exists?) (?:an? |some )?(?:\w+ )?(?:lacks?|absence) of (.+)", r"the lack of \1"),
        (r"there (?:is|are) (?:no|not (?:any|enough|much|sufficient)|little|insufficient) (.+)", r"the lack of \1"),
        (
            rf"{PAPER}(?: also)? (?:lacks?|misses|is missing|are missing|is lacking|lacked)(?: of)? (.+)",
            r"the lack of \1",
        ),
        (r"(?:the )?(?:lacks?|lacking|absence|missing|no)(?: of)? (.+)", r"the lack of \1"),
        (
            r"(.{3,80}) (?:is|are) (?:missing|absent|lacking|not (?:provided|given|included|reported|discussed|"
            r"presented|shown))",
            r"the lack of \1",
        ),
        (r"(?:the )?(\w+(?: \w+)?) (?:is|are) (limited|incremental|weak|unclear)", r"the \2 \1"),
    ),
    "questions": forms(
        (
            r"(?:.{0,40}\b(?:wonder(?:ing)?|curious|sure|certain|understand|see|interested in|know|unclear|clear|"
            r"obvious))(?: to the reviewer)?(?: about| of)?,? "
            r"((?:whether|if|how|why|what|which|where|when|the)\b.+)",
            r"\1",
        ),
        (
            r"(?:(?:could|can|would|will) (?:the )?authors )?(?:\w+ly )?(?:clarify|explain|comment on|elaborate on|"
            r"elaborate|justify|discuss|describe|specify|provide|give)(?: (?:more )?on)?,? (.+)",
            r"\1",
        ),
        (r"(?:is|are) there (.+)", r"whether there is \1"),
        (rf"({AUX}) ({SUBJECT}) (.+)", r"whether \2 \1 \3"),
        (rf"(how|why|what|where|when) ({AUX}) ({SUBJECT}) (.+)", r"\1 \3 \2 \4"),
        (rf"(?:do|does|did|{AUX}) (.+)", r"whether \1"),
        (r"(how|why|what|where|when|which \w+|what \w+) (?:do|does|did) (.+)", r"\1 \2"),
    ),
    "suggests": forms(
        (
            r"(?:it )?(?:would|might|could|will|may|is) (?:be )?(?:\w+ ){0,2}(?:better|good|great|nice|helpful|useful|"
            r"interesting|beneficial|valuable|ideal|best|desirable|recommended|encouraged|suggested)"
            r"(?: for the authors)? (?:to|if the authors (?:can|could)?|if authors (?:can|could)?) ?(.+)",
            r"\1",
        ),
        (
            r"(?:the reviewer )?(?:would )?(?:\w+ly )?(?:suggest|recommend|encourage|advise)s?(?: that)? (?:the "
            r")?authors?(?: should| could)?(?: to)? (.+)",
            r"\1",
        ),
        (r"(?:the reviewer )?(?:would )?(?:\w+ly )?(?:suggest|recommend|encourage|advise)s? (?:to |that )?(.+)", r"\1"),
        (r"(?:the reviewer )?would (?:\w+ )?like(?:d)? to (?:see|have|suggest) (.+)", r"\1"),
        (r"(?:can|could|would|will) (?:the )?authors? (.+)", r"\1"),
        (r"(?:the )?authors? (?:should|could|may|might|can|needs? to|must|ha(?:s|ve) to)(?: consider)? (.+)", r"\1"),
    ),
}

"""Patterns with which the rule for judgments splits a review into clauses and cleans the clauses.

`review_clauses` and `judgment_claims` use the patterns and describe their effect.
"""

from __future__ import annotations

import re

from gre_bench.writing.rules.english_forms import listed

ANY_CASE = re.IGNORECASE

REFERENCE = re.compile(r"^\s*(?:[-*] )?\[[\w+]{1,12}\][: ]")
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
    r"|(?:i|we)(?:['’](?:m|d|ve))?(?: (?:\w+ly|am|was|have|had|do|would|can|could|will|also|still|just|a bit))* "
    r"(?:(?:think|believe|feel|guess|suspect|say|argue|assume|note|noticed?|wish|hope)(?: that)?,? "
    r"(?!(?:of|about|to|like|in|for|on)\b)"
    r"|(?:find|found|agree|consider|convinced|aware|afraid|happy|glad|point out|worried|concerned|want to (?:point out|"
    r"note|mention)) that |(?:worried|concerned) about )"
    r"|it (?:also )?(?:seems?|appears?|looks?)(?: to me)? (?:like |that |as if |as though )|it (?:should|must) be "
    r"noted that |note that |one (?:can|may|could) (?:argue|say) that "
    r"|(?:my(?: \w+){0,3}|one|another|(?:the|a|an|some|one|another)(?: \w+){1,3}) (?:concern|weakness|issue|problem|drawback|limitation|strength|"
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
CONTRACTIONS = tuple(
    (re.compile(pattern, ANY_CASE), spelled)
    for pattern, spelled in (
        (r"\bcan(?:'t|t| not)\b", "cannot"),
        (r"\bwon't\b", "will not"),
        (r"\b(do|does|did|is|are|was|were|has|have|had|could|should|would)n'?t\b", r"\1 not"),
        (r"\b(it|there|that|what|here|how)'s\b", r"\1 is"),
        (r"\b(they|you|we)'re\b", r"\1 are"),
        (r"\b(i|they|you|we)'ve\b", r"\1 have"),
        (r"\b(i|they|you|we|it)'d\b", r"\1 would"),
        (r"\b(i|they|you|we|it)'ll\b", r"\1 will"),
        (r"\bi'm\b", "I am"),
        (
            r"\bits (?=(?:not|un\w+|hard|difficult|better|also|very|really|clear|possible|good|nice|a|an|the)\b)",
            "it is ",
        ),
        (r"\s+(?=[.,;:)](?:\s|$))|(?<=[,;:])[.,;:]+(?=\s)|\(\s*\)", ""),
    )
)
LABEL = re.compile(
    r"^(?:[A-Z][\w/&'., -]{0,40}|\d{1,2}(?:\.\d)*)\s*[:)]\s+(?=[A-Z\"']|(?:what|how|why|is|are|can|could|do|does|the|there)\b)"
    r"|^\d{1,2}(?:\.\d)*[-.]+\s+(?=[A-Z\"'])"
    r"|^[A-Z]\d{1,2}\s*[-.:]\s*(?=[A-Z])"
)
LATEX = re.compile(r"\\(?:math\w+|text\w*|left|right|rm|bf|mathbf)\b|[{}\\$]|\^(?=\{)|_(?=\{)")
FILLER = re.compile(
    r"\b(?:very|quite|really|basically|actually|simply|just|definitely|certainly|obviously|probably|perhaps|"
    r"maybe|i (?:think|believe|feel|guess)(?: that)?|(?:at least )?(?:to|for) me|a (?:little )?bit|somewhat|some(?= (?!of|other|are|is|cases|extent|sense)\w)|"
    r"(?:kind|sort) of|in general|of course|as well(?! as)|etc\.?|also|please|kindly|so far|"
    r"respectively|(?:in|from) my (?:\w+ )?(?:opinion|view|point of view|perspective|understanding)|to (?:the best of )?my (?:knowledge|understanding)|"
    r"(?:in|of) (?:this|the) (?:paper|work|manuscript|submission)|as far as i \w+)\b(?!['’-]),?\s?",
    ANY_CASE,
)
CONTRAST = re.compile(
    r"(?P<sets>\s*;\s+|,?\s+(?:but|however|yet|although|though|whereas|while)(?: also)?,?\s+(?=(?:the|it|this|there|i|its|"
    r"their|some|they|these|not|lacks?|is|are|authors?|a|an|no|more|in|my|we|only|seems?|has|have|does|many|what|how|"
    r"could|needs?)\b))|,?\s+(?:and|so)\s+(?=(?:the|it|this|there|i|its|some|their|they|these|authors?)\s+[\w-]+)",
    ANY_CASE,
)
FURTHER = re.compile(
    r"\s*;\s+|,? and (?=(?:how|why|what|which|where|when|is|are|do|does|can|could) (?:is|are|do|does|did|can|could|the|it|this)\b)",
    ANY_CASE,
)
"""Matches the text between two questions of a sentence."""
CONCESSION = re.compile(
    r"^(?:although|while|though|even though|whereas)\s+([^,]{12,200}),\s+(.{10,})$", ANY_CASE | re.S
)
WORD = re.compile(r"[A-Za-z][\w'’-]*")
FUNCTION = listed(
    "the a an of to in for and or is are be that this it with as on by from at its their not which than into if "
    "when while but i.e e.g such more between whether how what paper authors work manuscript submission article"
)
"""Words that say little about the judged thing."""
HOLLOW = listed(
    "issue issues concern concerns problem problems weakness weaknesses strength strengths limitation limitations "
    "point points comment comments question questions remark remarks suggestion suggestions drawback drawbacks "
    "downside shortcoming shortcomings flaw flaws main major minor biggest key primary first second third last one two "
    "other another general overall following specific detailed additional further potential some few several"
)
"""Words of lead-ins such as "The main issue": a claim of these alone judges nothing."""
UNFINISHED = (
    FUNCTION - {"paper", "authors", "work", "manuscript", "submission", "article", "it", "this", "more"}
) | listed(
    "over under about without against based has have had because since where who also very so both either such "
    "using including include includes compared due i.e e.g if was were been being can only namely like"
)
"""Words that no claim ends with."""
WONDERS = re.compile(
    r"\b(?:I|we|reviewer)(?: am| was)?(?: also| still| just| really| a bit| therefore| \w+ly)* (?:wonder(?:ing)?|curious|doubt)\b|"
    r"\b(?:not|un) ?(?:\w+ly |quite |very |so |too |100% )*(?:sure|certain|clear|obvious)(?: to me)?,? (?:why|how|what|whether|if|which|when|"
    r"where|about)\b|\bunclear(?: to me)?,? (?:why|how|what|whether|if|which|when|where)\b",
    ANY_CASE,
)
"""Matches questions without a question mark."""
NO_JUDGMENT = re.compile(
    r"\bthank(?:s|ful)?\b|^\W*(?:please )?(?:see|refer to) (?:the )?(?:above|below|strengths?|weakness\w*)\b|"
    r"^(?:\w+ )?(?:remarks?|(?:surrounding )?(?:paragraphs|passages?|pages))\b.*\b(?:remarks?|manuscript|part|section|topic|matter)\b",
    ANY_CASE,
)
"""Matches thanks, mere references to other parts of the review, and sentences about the review itself."""
BLAMES = re.compile(
    r"\b(?:poor(?:ly)?|weak|unclear|insufficient|inadequate|questionable|unconvincing|confusing|missing|lacks?|lacking|wrong|"
    r"incorrect|flawed|crude|vague|(?:limited|restricted|narrow) (?:to|in)|not (?:novel|new|clear|convincing|enough))\b",
    ANY_CASE,
)
"""Matches words of blame."""
REQUESTS = re.compile(
    r"^(?:could|can|would|will) (?:you|the authors?)(?: \w+ly| please| also| maybe)* (?!(?:clarify|explain|elaborate|justify|discuss|comment|"
    r"describe|specify|know|see|have|state|tell|say|confirm|be|give|provide)\b)\w+",
    ANY_CASE,
)
"""Matches requests in the form of a question."""
ASIDE = re.compile(r"\s*\([^()]{0,300}\)|\s*\[[^\[\]]{0,100}\]")
FIRST_PERSON = re.compile(r"\bI ((?:(?:\w+ly|also|still|just|even) )*)(?!is\b|are\b|and\b|or\b|in\b|of\b)([a-z]+)\b")
PERSONS = tuple(
    (re.compile(pattern), word)
    for pattern, word in (
        (r"\b[Yy]ours?\b", "the"),
        (r"\b[Yy]ou\b", "the authors"),
        (r"\bI\b(?![.)])", "the reviewer"),
        (r"\b[Mm]y\b", "the"),
        (r"\bme\b", "the reviewer"),
        (r"\bmyself\b", "the reviewer"),
    )
)
SOFT = re.compile(
    r",? (?:which|because|since|so that|where|whereas|while|although|and (?:the|it|this|there|they|is|are|does|do)\b|but|so)(?= )|;|:|, (?=\w+ing\b|e\.g|i\.e|such as|especially|and|or|as|if|when|for|in|with)|\s[-–—]+\s"
)
PHRASE = re.compile(
    r" (?=(?:in|for|on|with|by|from|at|across|under|when|if|such as|compared|without|during|through|over|and|using)\b)"
)
BROKEN = re.compile(
    r"->|=>|[|<>~¤]|==|\b(?:in|of|by|with|from|than|for|the|an?|and|as|at|that|to)(?:[,;:]| (?:is|are|was|were)\b)(?<!that is)(?<!that are)(?<!that was)|"
    r"\b(?:how|why|where) (?:is|are) \w+ed\b|\b(?:how|why|where|when) (?:is|are|do|does|did|can|should|was|were) (?:the|this|these|it|they|authors)\b|\b(?:I|[Ww]e['’](?:re|ve))\b|^that (?:to|so|not|better to|(?:what|how|why) (?:is|are|do|does)|only \w+ed|which|that|who|because|and|or|but|[,.:])\b|"
    r" and \w$|\b(?!that|had)(\w+) \1\b|\b(?:arxiv|proceedings|https?)\b|[.?!] [A-Z]|[.?!]['\"]? (?=[a-z]+ )(?<!al. )(?<!eq. )",
)

"""Finds by rule the strengths and weaknesses that the authors of a paper state themselves.

This rule can replace an LM that gets the prompt of Xu et al. 2025, C.4. A strength is a sentence in which the authors
claim a contribution or a result. A weakness is a sentence in which they state a limitation or leave something to future
work. Strengths and weaknesses are the paper's own sentences without citations and connectives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gre_bench.core.review_text import list_sentences

WRITER = "rule-assw-1"
MOST = 8

LONGEST_POINT = 45

_I = re.IGNORECASE
_SHORTEST_POINT = 6
_HEADING = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]*(?P<marked>\S.{0,120})|"
    r"(?P<plain>(?:\d{1,2}(?:\.\d{1,2})*\.?[ \t]+)?[A-Z][A-Za-z,&\- ]{2,60}))[ \t]*$"
)
_ENDS = re.compile(r"\W*(?:[\dA-Z]{0,2}\.?\s*)?(?:references|bibliography|appendi(?:x|ces)|acknowledge?ments?)\b", _I)
_MODEST = re.compile(r"(?:(?!.*(?:conclu|discussion)).*)\b(?:limitations?|future|broader impact)\b", _I)
_HEADING_WEIGHTS = {
    "introduction": 2, "conclu": 2, "discussion": 1, "contribution": 2, "summary": 1,
    "related": -3, "background": -3, "preliminar": -2, "proof": -2,
}  # fmt: skip
_CLAIM = re.compile(
    r"\b(?:we|this paper|this work|our (?:\w+ ){0,3}?(?:method|approach|model|framework|algorithm|work|paper|results?|"
    r"experiments?|analysis|contributions?))\s+(?:\w+ly |also |first |then |further |is the first to "
    r")*(?P<verb>propos|introduc|present|develop|show|prove|demonstrat|achiev|outperform|improv|establish|provid|"
    r"deriv|design|obtain|surpass|reduc|confirm|reveal|indicat|verif|validat|is |are )",
    _I,
)
_RESULT = re.compile(
    r"\b(?:outperform\w*|state-of-the-art|sota|superior|significant(?:ly)?|better (?:than|performance)|improv\w+|"
    r"achiev\w+|effective\w*|efficient\w*|faster|consistent(?:ly)?|competitive|for the first time|the first|"
    r"guarantee\w*|robust\w*|novel|simple|up to|orders? of magnitude|\d+(?:\.\d+)? ?(?:%|percent|x|times))",
    _I,
)
_OWN = re.compile(r"\b(?:we|our|ours|this paper|this work|the proposed|proposed)\b", _I)
_ADMITS = re.compile(
    r"\b(?:(?:a|one|another|main|key|potential|important|our|some|several|the) (?:\w+ )?(?:limitations?|drawbacks?|"
    r"shortcomings?|weakness\w*|caveats?)|limitations? (?:of|is|are|include)|limited (?:to|by|in)|future (?:work|"
    r"research|direction\w*|stud\w+)|in (?:the )?future|(?:we|is|are) (?:\w+ )?leav\w*|left (?:for|to|as)|beyond the "
    r"scope|out of (?:the )?scope|remains? (?:an? )?(?:open|unclear|unknown|challeng\w+|difficult|to be)|open "
    r"(?:question|problem)s?|we (?:do|did|have|can) ?not|not yet|only (?:consider|focus|evaluate|test|study|appl)\w*|"
    r"may not|might not|fails? (?:to|when|on|in)|cannot|does not (?:hold|scale|generalize|guarantee|improve|address|"
    r"account)|at the (?:cost|expense) of|requires? (?:more|additional|access|a large|careful)|plan to|would be "
    r"interesting|promising direction|underperform\w*|worse than)\b",
    _I,
)
_STRONG_ADMISSION = re.compile(
    r"\b(?:limitations?|drawbacks?|shortcomings?|caveats?|future (?:work|research|"
    r"direction\w*)|in (?:the )?future|leave|left (?:for|to)|beyond the scope)\b",
    _I,
)
_OTHERS = re.compile(
    r"\b(?:existing|previous|prior|conventional|traditional) \w+|\b(?:existing|previous|prior|current|traditional|"
    r"conventional|these|such|other|those|their|standard|recent|most|many|earlier|past|baselines?) (?:\w+ "
    r"){0,3}(?:methods?|work|works|approaches?|models?|algorithms?|stud\w+|techniques?|solutions?|literature|"
    r"limitations?|drawbacks|shortcomings?)\b|\b(?:address|overcom|alleviat|mitigat|tackl|circumvent|remed|without|"
    r"avoid)\w* (?:\w+ ){0,3}(?:limitations?|drawbacks?|shortcomings?|issues?|problems?)|et al",
    _I,
)
_CITATION = re.compile(
    r"\s*\[[\d, –-]{1,40}\]|\s*\([^()]{0,300}\b(?:19|20)\d\d\w?[^()]{0,200}\)|\s*\((?:see|"
    r"cf\.?)[^()]{0,100}\)|\s*\((?:Fig|Tab|Sec|Eq|App)[^()]{0,60}\)",
    _I,
)
_LEAD = re.compile(
    r"^(?:(?:however|moreover|furthermore|additionally|in addition|finally|therefore|thus|hence|overall|specifically|"
    r"in particular|to this end|to summarize|in summary|in this (?:paper|work|"
    r"study|section)|in conclusion|first(?:ly)?|second(?:ly)?|third(?:ly)?|lastly|also|nevertheless|notably|here|"
    r"consequently|as a result|besides|meanwhile|(?:i+|\d)[.)])[,:]?\s+)+",
    _I,
)
_LIST_MARK = re.compile(r"^(?:[-*+•‣]|\(?(?:\d{1,2}|[a-z]|i{1,3}|iv|v)[.)])\s+|\*\*[^*]{1,60}\*\*[.:]?\s*")
_WORD = re.compile(r"[A-Za-z][A-Za-z-]+")


@dataclass(frozen=True, slots=True)
class PaperSentence:
    """A sentence of a paper, cleaned by `clean_sentence`.

    *heading*: the last heading before it, in lower case; ``abstract`` in the abstract, empty before the first heading.
    """

    heading: str
    text: str


def extract_assw_sentences(abstract: str | None, text: str) -> tuple[list[str], list[str]]:
    """Returns the strengths and weaknesses that the authors state: at most `MOST` sentences each, in paper order."""
    read = list(statements(abstract, text))
    weak = _select_best_statements(read, [weigh_as_weakness(statement) for statement in read])
    return _select_best_statements(
        read, [0 if statement.text in weak else weigh_as_strength(statement) for statement in read]
    ), weak


def assw_text(strengths: Sequence[str], weaknesses: Sequence[str]) -> str:
    """Returns the text of a synopsis: *strengths*, an empty line, then *weaknesses*, with one point on each line."""
    return "\n".join(strengths) + "\n\n" + "\n".join(weaknesses)


def statements(abstract: str | None, text: str | None) -> Iterator[PaperSentence]:
    """Yields the sentences of *abstract* and *text* up to the references, without tables and captions."""
    for sentence in list_sentences(" ".join((abstract or "").split())):
        if point := clean_sentence(sentence):
            yield PaperSentence("abstract", point)
    heading = ""
    for paragraph in _yield_paragraphs(text or ""):
        if paragraph.startswith("#"):
            heading = paragraph[1:].lower()
            if _ENDS.match(heading):
                return
        elif not (abstract and "abstract" in heading):
            for sentence in list_sentences(paragraph):
                if point := clean_sentence(sentence):
                    yield PaperSentence(heading, point)


def clean_sentence(sentence: str) -> str:
    """Returns *sentence* without citations, list mark and opening connectives, cut to `LONGEST_POINT` words.

    Returns an empty text for a caption, and for a sentence that is mostly formulas, is short, or has more than twice
    `LONGEST_POINT` words.
    """
    text = " ".join(_CITATION.sub("", sentence[:2000]).replace("**", "").split())
    text = _LEAD.sub("", _LIST_MARK.sub("", text)).strip(" ,;:")
    words = text.split()
    letters = sum(map(str.isalpha, text))
    if len(words) < _SHORTEST_POINT or text.count("$") > 2 or text.count("\\") > 1 or letters < 0.7 * len(text):
        return ""
    if text.startswith(("Figure", "Table", "Fig.", "|", "!", "<")) or len(words) > 2 * LONGEST_POINT:
        return ""
    if len(words) > LONGEST_POINT:
        text = " ".join(words[:LONGEST_POINT])
        text = text[: text.rfind(",")] if text.rfind(",") > len(text) // 2 else text
    return text[0].upper() + text[1:]


def weigh_as_strength(statement: PaperSentence) -> float:
    """Returns how strongly *statement* claims a strength of the authors' own work; 0 or less: it claims none."""
    claim = _CLAIM.search(statement.text)
    results = len(set(match[0].lower() for match in _RESULT.finditer(statement.text)))
    if not claim and not (results and _OWN.search(statement.text)):
        return 0
    if _OTHERS.search(statement.text) and not claim:
        return 0
    place = next((weight for name, weight in _HEADING_WEIGHTS.items() if name in statement.heading), 0)
    weight = (2 if claim else 0) + min(results, 3) + (3 if statement.heading == "abstract" else place)
    return weight - (2 if _ADMITS.search(statement.text) else 0)


def weigh_as_weakness(statement: PaperSentence) -> float:
    """Returns how strongly *statement* admits a weakness of the authors' own work; 0: it admits none."""
    modest = bool(_MODEST.match(statement.heading))
    admits = {match[0].lower() for match in _ADMITS.finditer(statement.text)}
    strong = bool(_STRONG_ADMISSION.search(statement.text))
    if _OTHERS.search(statement.text) and not modest:
        return 0
    if not modest and not (admits and (strong or _OWN.search(statement.text))):
        return 0
    late = 2 if re.search(r"conclu|discussion|limitation|future", statement.heading) else -1
    weight = min(len(admits), 2) + (3 if strong else 0) + late + (1 if modest else 0)
    return weight if weight >= 2 else 0


def _select_best_statements(statements: Sequence[PaperSentence], weights: Sequence[float]) -> list[str]:
    """Returns the texts of at most `MOST` *statements*, those of largest positive weight, in paper order.

    Of statements that say nearly the same, only one is returned.
    """
    kept: dict[int, frozenset[str]] = {}
    for index in sorted(range(len(statements)), key=lambda index: (-weights[index], index)):
        words = frozenset(word.lower() for word in _WORD.findall(statements[index].text))
        if weights[index] <= 0 or len(kept) == MOST:
            break
        if words and not any(len(words & other) > 0.6 * min(len(words), len(other)) for other in kept.values()):
            kept[index] = words
    return [statements[index].text for index in sorted(kept)]


def _yield_paragraphs(text: str) -> Iterator[str]:
    """Yields the headings and paragraphs of *text*, each on one line; each heading starts with "#"."""
    lines: list[str] = []
    for line in [*text.split("\n"), ""]:
        heading = _HEADING.match(line[:200]) if len(line) < 200 else None
        if not line.strip() or heading or _LIST_MARK.match(line.lstrip()[:80]):
            if lines:
                yield " ".join(" ".join(lines).split())
            lines = []
        if heading:
            yield "#" + (heading["marked"] or heading["plain"]).strip()
        elif line.strip() and not line.lstrip().startswith(("|", "![", "$$", "\\[", "<")):
            lines.append(line)

"""Parses the replies of LMs that grade or compare texts; a verdict counts only if the reply states exactly one.

A verdict is a score, a label such as Good, or a choice between two texts. A reply states it in one of these ways:

- a first or last line that holds only the verdict (``4``, ``two``);
- a field with a label (``Score: 4``, ``Output: two``), at the start of a clause;
- a clause that states it ("I rate this 4.", "The score is 4.", "Review two is better.").

Quotations, and what a reviewer or the authors say, are not verdicts. List numbers, ranges (``1 to 5``), denominators
(``out of 5``), references (``Table 3``) and counts ("it has 3 errors") are not scores. A reply is refused if it states
a second, different verdict, or denies or retracts its verdict. "Answer:" at the start of a line is ignored, because LMs
add it without being asked (Kotonya et al. 2023, §5.2). All functions take linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from gre_bench.core.errors import ReplyError
from gre_bench.examiners.templates import Scale

_NUMBER = r"[-+−]?[0-9]{1,9}(?:\.[0-9]{1,9})?"
_OPEN = r"(?<![\w.,/])(?<!\bor )"
_SHUT = r"(?![\w/+]|[.,][0-9]|[ \t]{0,3}(?:-|–|—|→|->|to|or|and)[ \t]{0,3}[0-9])"
_OUT_OF = rf"(?:[ \t]{{0,3}}(?:/|(?i:out of|of))[ \t]{{0,3}}(?P<most>{_NUMBER})(?![\w/]|[.,][0-9]))?"
_SCORE = rf"{_OPEN}(?P<score>{_NUMBER})(?P<percent>\s?%)?{_OUT_OF}{_SHUT}"
_GOES_ON = (
    "and|as|at|based|because|but|by|considering|due|for|from|given|here|however|if|in|instead|is|marks?|not|on|or|out|"
    "overall|points?|rather|seems?|since|so|stars?|than|that|though|to|too|was|when|which|with"
)
_LONE = rf"{_SCORE}(?![ \t]{{1,3}}(?!(?:{_GOES_ON})\b)[a-z])"
"""A number that is not a count: the next word does not name counted things."""
_REMARK = r"(?:\([^()\n]{0,40}\)|[-–—] ?[^\n\d]{1,60})?"
_ALONE = re.compile(rf"(?P<label>[^\W\d][^\n:=]{{0,40}}[:=]\s*)?{_SCORE}\s*{_REMARK}\s*\.?")
_LABELS = (
    "scores?|ratings?|overall|coherence|consistency|fluency|relevance|factuality|final|verdict|grade|mark|evaluation|"
    "assessment"
)
_LABELLED = re.compile(rf"\b(?i:{_LABELS})\b[^\n:=\d]{{0,30}}[:=]\s*{_SCORE}")
_FIELD = re.compile(rf"\W{{0,6}}(?:[^\W\d][^\n:=\d]{{0,40}}?\b)??(?i:{_LABELS})\b[^\n:=\d]{{0,30}}[:=]\s*{_LONE}")
_NAMED = re.compile(_LONE)
_SENTENCE = re.compile(r"(?:[^.!?\n]|[.!?](?!\s|\Z))+[.!?]?")
_BREAK = re.compile(
    r"[,;](?=\s)|[{}\[\]]|\s[-–—]{1,3}\s(?=[^\W\d])|"
    r"\b(?:because|(?<!anything )but|although|though|since|while|whereas|however)\b",
    re.IGNORECASE,
)
_GRADING = re.compile(r"\b(?:scor|rat(?:e|ing)|grad|giv|gave|assign|award|mark|verdict)", re.IGNORECASE)
_OWN = re.compile(
    r"\b(?:I|we)(?:['’](?:d|ll|ve))?\b.{0,80}?\b(?:scor|rat(?:e|ing)|grad|giv|gave|assign|award|mark|say|settle|put|"
    r"lower|rais|revis|chang)|\b(?:my|mine|our|maybe|perhaps|possibly|probably)\b|"
    r"\b(?:score|rating|grade|mark|verdict|evaluation|assessment)\b.{0,60}?\b(?:is|would be|should be|becomes)\b",
    re.IGNORECASE,
)
"""How an LM states its verdict in a sentence: in the first person, or as "the score is"."""
_PAPER = r"(?:paper|submission|manuscript|article|work)"
_OF_PAPER = re.compile(rf"(?:(?!\b(?:review|summary)\b).)*\b{_PAPER}\b(?!['’])", re.IGNORECASE)
_MARKS_OF = r"(?:scores?|ratings?|grades?|marks?|verdicts?|recommendations?)"
_OTHERS = re.compile(
    r"\b(?:review(?:er)?s?|authors?|he|she|they|it|one)\s(?:(?!is\b|was\b|be\b|been\b)\w{1,20}\s){0,2}(?:gives|gave|"
    r"rates|grades|assigns|awards|awarded|states|stated|says|said|calls|called|writes|wrote|reads|closes|ends|concludes|"
    r"claims|reports|mentions|cites|quotes|suggests|recommends|puts)\b|"
    r"\b(?:reviewers|authors|they)\s(?:give|rate|rated|grade|graded|assign|award|state|say|call|write|claim|prefer)\b|"
    r"\breviewer\s(?:rated|graded|prefers|preferred)\b|"
    rf"\b(?:reviewers?|authors?)(?:['’]s?)?\s(?:\w{{1,20}}\s){{0,2}}{_MARKS_OF}\b|"
    rf"\breview['’]s\s(?:own\b|(?:\w{{1,20}}\s){{0,2}}(?:ratings?|grades?|marks?|verdicts?|recommendations?)\b)|"
    rf"\b(?:rat|grad|scor|mark|giv)\w{{0,5}}\b(?:(?!review|summar)[^.]){{0,20}}?\b(?:the|this|a)\s{_PAPER}\b(?!['’])|"
    rf"\b{_PAPER}['’]s\s(?:\w{{1,20}}\s){{0,2}}{_MARKS_OF}\b",
    re.IGNORECASE,
)
"""What a reviewer or the authors state, or a grade of the paper instead of the review."""
_SAID_BY = re.compile(
    r"\b(?:says|said|states|writes|claims|notes)\s(?:the|this|a)\s(?:review|reviewer|author)s?\b", re.IGNORECASE
)
_SUPPOSED = re.compile(r"\W*(?:if|unless|had|were)\b(?!\s(?:I|asked|forced)\b)", re.IGNORECASE)
_DENIED = re.compile(
    r"\b(?:not|never|cannot|unable|refuse|decline|neither|nor|unless|if|whether|between|inflated|undeserved|"
    r"unjustified)\b|n['’]t\b|\bno (?:more|less|higher|lower|better|longer)\b|"
    r"\b(?:more|less|higher|lower|fewer) than\b|\bat (?:least|most)\b|\b(?:above|below|under|up to)\b|"
    r"\b(?:anything but|far from)\b|\btoo (?:high|low|generous|harsh|kind|strict|lenient|much)\b",
    re.IGNORECASE,
)
"""A clause that denies the value that it names, only bounds it, or only supposes it."""
_TAKEN_BACK = re.compile(
    r"\b(?:wait|correction|sorry|scratch that|take (?:that|it) back|(?:second|further) thoughts?|on reflection)\b",
    re.IGNORECASE,
)
_RANGE = re.compile(
    rf"{_OPEN}{_NUMBER}\s{{0,3}}(?:\([^()\n]{{0,30}}\)\s{{0,3}})?(?:-|–|—|→|->|to|or|and)\s{{0,3}}{_NUMBER}(?![\w/]|[.,][0-9])"
)
_REFERENCE = re.compile(
    r"\b(?:tables?|sections?|figures?|figs?\.?|eqs?\.?|equations?|theorems?|lemmas?|lines?|pages?|questions?|steps?|"
    r"reviewers?|algorithms?)\s{1,2}#?[0-9]{1,4}\b|\b[0-9]{1,3}[- ](?:point|level) scale\b",
    re.IGNORECASE,
)
_NUMBERING = re.compile(r"^[ \t]{0,8}[0-9]{1,3}[.)](?=[ \t]{1,8}\S)", re.MULTILINE)
_ORNAMENT = re.compile(r"[*_`#]{1,3}")
_STRAY = re.compile(r"^[ \t>-]{0,8}Answer[ \t]{0,3}:[ \t]*", re.IGNORECASE | re.MULTILINE)
_QUOTED = re.compile(r"\"[^\"\n]*\"|“[^“”\n]*”|«[^«»\n]*»|^[ \t]{0,8}>[^\n]*", re.MULTILINE)
_BRIEF = re.compile(r".[^:=>]{0,16}.")
_TAG = re.compile(r"<(/?)([^\W\d][\w -]{0,30})>")
_REDUNDANT = re.compile(r"\bredundan(?:t|cy|cies)\b", re.IGNORECASE)
_NOT_REDUNDANT = re.compile(
    r"(?:\b(?:not|no|never|non|without)|n't|n’t)[\s-]{1,3}(?:[\w’']{1,20}\s){0,2}redundan(?:t|cy|cies)\b", re.IGNORECASE
)
_IS_REDUNDANT = re.compile(
    r"\b(?:review|summary|text|it)(?:\sis|['’]s)(?P<denied>\snot|n['’]t)?\s(?:\w{1,20}\s){0,1}redundant\b",
    re.IGNORECASE,
)
_NO_ANSWER = re.compile(
    r"\W*(?:(?:yes|no)\W{0,3}(?:or|and|/)\W{0,3}(?:yes|no)\b|no\s(?:doubt|question|wonder|idea|matter)\b)",
    re.IGNORECASE,
)
_CHOICES = {"one": 0, "two": 1, "1": 0, "2": 1, "first": 0, "second": 1, "former": 0, "latter": 1}
_KIND = r"(?:review|summary|text|output|answer|option|number)"
_NAME = rf"{_KIND}\s{{0,2}}[:#]?\s{{0,2}}(?P<named>one|two|1|2)\b"
_PICK = rf"(?:the\s)?(?:{_KIND}\s{{0,2}}[:#]?\s{{0,2}})?['\"“‘]?(?P<pick>one|two|1|2)['\"”’]?"
_PREFERENCE = "better|best|preferred|preferable|superior|stronger|winning|final|chosen"
_CHOSEN = re.compile(
    rf"\W*(?:(?:so|thus|therefore|hence|overall)\W{{1,3}})?(?:"
    rf"(?:(?:the|my|your|{_PREFERENCE}|{_KIND}|choice|preference|verdict|decision|winner|result|selection|one)\s{{0,2}}){{1,4}}"
    rf"(?:[:=]|(?:is|would be)\b:?)\s{{0,3}}|"
    rf"the\s{_KIND}\s(?:that|which)\s.{{1,80}}?\bis\s|"
    rf"I(?:['’]d|\swould|\swill)?\s(?:choose|pick|prefer|select|say|favou?r|go with|vote for)\s)"
    rf"{_PICK}\W*",
    re.IGNORECASE,
)
"""A field or a clause that ends with the choice."""
_BARE = re.compile(rf"\W*{_PICK}\W*", re.IGNORECASE)
_NAMED_ALONE = re.compile(rf"\W*(?:the\s)?{_NAME}\W*", re.IGNORECASE)
_PRAISED = re.compile(
    rf"\W*(?:(?:so|thus|therefore|hence|overall|I think|I believe)\W{{1,3}})?(?:that\s)?(?:the\s)?{_NAME}.{{0,100}}?"
    rf"\b(?:{_PREFERENCE}|wins|better|more\s\w{{3,20}})\b",
    re.IGNORECASE,
)
_BLAMED = re.compile(
    r"\b(?:worse|worst|weaker|inferior|less|lacks?|fails?|could|should|might|needs?|not|never|hardly|if|whether|unless)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)
_MENTION = re.compile(
    rf"\b{_KIND}\s{{0,2}}[:#]?\s{{0,2}}(?P<a>one|two|1|2)\b|\b(?P<b>first|second)\s(?:one|{_KIND})\b|"
    rf"\bthe\s(?P<c>former|latter|first|second)\b(?!\s[a-z])|"
    rf"\b(?:than|over|not|or|and|nor|vs|versus|against)\s(?P<d>one|two|1|2)\b(?!\s[a-z])",
    re.IGNORECASE,
)
_REASON = re.compile(r"\b(?:Rationale|Explanation|Reason|Reasons)\b[^\n:]{0,20}:\s*", re.IGNORECASE)


def score(text: str, scale: Scale) -> float:
    """Returns the single score on *scale* that the reply states; raises `ReplyError` for no score or different scores.

    Three kinds of statements must agree: fields such as ``Score: 4``, a first or last line that is only a score, and
    statements such as "I rate this 4" or "The score is 4". If there are none, a number in a clause about grading
    counts. If there is no such number either, a first line of the form ``LABEL: 4`` counts, with any label.
    """
    text = _strip_markup_and_quotations(text)
    if scale.words:
        return _parse_label(text, scale)
    ranged = _REFERENCE.sub(" ", _RANGE.sub(" ", _NUMBERING.sub(" ", text)))
    lines = [line.strip() for line in ranged.splitlines() if line.strip()]
    stated = [only for line in {*lines[:1], *lines[-1:]} if (only := _ALONE.fullmatch(line)) and not only["label"]]
    loose: list[re.Match[str]] = []
    denied: set[float] = set()
    for clause, is_question in _split_into_clauses(ranged):
        numbers = list(_NAMED.finditer(clause))
        if not numbers or is_question or _OTHERS.search(clause):
            continue
        if field := _FIELD.match(clause):
            stated.append(field)
        elif _DENIED.search(clause):
            denied |= {_read_score_number(each) for each in numbers}
        elif _OWN.search(clause):
            stated += numbers
        elif _GRADING.search(clause):
            loose += numbers
    if not (stated or loose) and lines and not _OTHERS.search(lines[0]) and (alone := _ALONE.fullmatch(lines[0])):
        loose = [alone]
    if not (stated or loose):
        raise ReplyError("no_score")
    value = _require_single_score(stated or loose, scale)
    if value in denied:
        raise ReplyError("negated")
    if _TAKEN_BACK.search(text):
        raise ReplyError("taken_back")
    return value


def parse_aspect_scores(text: str, scale: Scale, names: Sequence[str], *, repeats: bool = False) -> dict[str, float]:
    """Returns aspect → the score on *scale* that the reply *text* states, for each of the aspects *names*.

    *repeats*: whether an aspect may have different scores; it then gets their mean. Raises `ReplyError` with the
    aspect's name if an aspect has no score, or has different scores and *repeats* is false.
    """
    text = "\n".join(line for line in _strip_markup_and_quotations(text).splitlines() if not _OTHERS.search(line[:200]))
    results = {}
    for name in names:
        stated = rf"\b(?i:{re.escape(name)})\b[^\n:=\d]{{0,30}}[:=]\s*"
        values = [_check_score_value(each, scale) for each in re.finditer(stated + _LONE, text)]
        if not values:
            raise ReplyError(f"missing_aspect: {name}")
        if not repeats and len(set(values)) > 1:
            raise ReplyError(f"ambiguous_aspect: {name}")
        results[name] = sum(values) / len(values)
    return results


def extract_rationale(text: str) -> str | None:
    """Returns the reasons that the reply *text* gives for its score; None if there are none.

    The reasons are the text after a label such as "Rationale:", or else all lines except those that state the score.
    """
    text = strip_markup(text)
    if announced := _REASON.search(text):
        return text[announced.end() :].strip() or None
    rest = [line for line in text.splitlines() if not (_ALONE.fullmatch(line.strip()) or _LABELLED.fullmatch(line))]
    return "\n".join(rest).strip() or None


def parse_yes_or_no(text: str) -> bool:
    """Whether the reply *text* says Yes, which means that the LM calls the graded text redundant.

    Raises ``ReplyError("neither_yes_nor_no")`` if the reply begins with neither. Raises ``ReplyError("contradiction")``
    if the reply contradicts its answer, as in "Yes, the review is not redundant". A later sentence that begins with the
    other answer is a contradiction, too.
    """
    text = _NUMBERING.sub(" ", strip_markup(text))
    opening = text[:200]
    words = re.findall(r"[^\W\d]+", opening)
    if not words or words[0].lower() not in ("yes", "no") or _NO_ANSWER.match(opening):
        raise ReplyError("neither_yes_nor_no")
    yes, sentences = words[0].lower() == "yes", [each.strip() for each in _SENTENCE.findall(text)]
    first = sentences[0][:200]
    denied = [bool(each["denied"]) for sentence in sentences[1:] for each in _IS_REDUNDANT.finditer(sentence)]
    other = re.compile(
        rf"\W*(?:(?:wait|actually|rather|so|thus)\W{{1,3}})?{'no' if yes else 'yes'}(?:\W*\Z|,)", re.IGNORECASE
    )
    if (
        (_REDUNDANT.search(first) and yes == bool(_NOT_REDUNDANT.search(first)))
        or yes in denied
        or any(other.match(sentence) for sentence in sentences[1:])
        or _TAKEN_BACK.search(text)
    ):
        raise ReplyError("contradiction")
    return yes


def parse_preferred_text_index(text: str) -> int:
    """Returns which of two texts the reply *text* prefers: 0 for the first text, 1 for the second.

    ``one``, ``'two'.``, ``Output: one`` and ``Summary two is better`` are choices; "one" or "two" elsewhere in a longer
    reply is not. Raises `ReplyError` if the reply chooses neither text, also names the other text, or retracts its
    choice.
    """
    text = _NUMBERING.sub(" ", _strip_markup_and_quotations(text))
    lines = [line for line in text.splitlines() if line.strip()]
    clauses = [
        clause for clause, is_question in _split_into_clauses(text) if not is_question and not _OTHERS.search(clause)
    ]
    picks = [match["pick"] for line in {*lines[:1], *lines[-1:]} if (match := _BARE.fullmatch(line))]
    picks += [match["named"] for clause in {*clauses[:1], *clauses[-1:]} if (match := _NAMED_ALONE.fullmatch(clause))]
    for clause in clauses:
        if _BLAMED.search(clause):
            continue
        if match := _CHOSEN.fullmatch(clause):
            picks.append(match["pick"])
        elif match := _PRAISED.match(clause):
            picks.append(match["named"])
    chosen = {_CHOICES[word.lower()] for word in picks}
    if not chosen:
        raise ReplyError("no_choice")
    blamed = [clause for clause, _ in _split_into_clauses(text) if _BLAMED.search(clause)]
    named = {_CHOICES[word.lower()] for match in _MENTION.finditer(text) for word in match.groups() if word}
    against = {_CHOICES[match["a"].lower()] for clause in blamed for match in _MENTION.finditer(clause) if match["a"]}
    if len(chosen | named) > 1 or chosen & against or _TAKEN_BACK.search(text):
        raise ReplyError("ambiguous")
    return chosen.pop()


def strip_markup(text: str) -> str:
    """Returns *text* without Markdown emphasis, Markdown headings, enclosing quotes and "Answer:" at line starts."""
    return _STRAY.sub("", _ORNAMENT.sub("", text)).strip().strip("\"'“”‘’").strip()


def count_hallucinated_answers(text: str) -> int:
    """Returns how many lines after the first begin with "Answer:" (Kotonya et al. 2023, Table 10)."""
    return len(_STRAY.findall(_ORNAMENT.sub("", text).strip(), 1))


def _strip_markup_and_quotations(text: str) -> str:
    """Returns *text* without markup (see `strip_markup`) or quotations; ``<score>4</score>`` becomes ``Score: 4``.

    A short quotation without a label stays, as in: My score is "4".
    """
    text = _TAG.sub(lambda tag: "\n" if tag[1] else f"\n{tag[2]}: ", strip_markup(text)).strip()
    return _QUOTED.sub(lambda quoted: quoted[0] if _BRIEF.fullmatch(quoted[0]) else " ", text)


def _split_into_clauses(text: str) -> Iterator[tuple[str, bool]]:
    """Yields (clause, whether its sentence is a question) for each clause of *text*.

    Skips sentences that begin with "if" or the like, and sentences with phrases such as "says the review".
    """
    for sentence in _SENTENCE.findall(text):
        if not (_SAID_BY.search(sentence) or _SUPPOSED.match(sentence)):
            yield from ((clause.strip(), sentence.endswith("?")) for clause in _BREAK.split(sentence) if clause.strip())


def _require_single_score(matches: Iterable[re.Match[str]], scale: Scale) -> float:
    values = {_check_score_value(each, scale) for each in matches}
    if len(values) > 1:
        raise ReplyError("ambiguous")
    return values.pop()


def _read_score_number(match: re.Match[str]) -> float:
    return float(match["score"].replace("−", "-"))


def _check_score_value(match: re.Match[str], scale: Scale) -> float:
    """Returns the number in *match*; raises `ReplyError` if it is not on *scale*, or the reply names another scale."""
    most = match["most"]
    if (most is not None and float(most) != scale.high) or (match["percent"] and scale.high != 100):
        raise ReplyError("other_scale")
    value = _read_score_number(match)
    if scale.high == 100 and 0 < value < 1 and not match["percent"]:
        raise ReplyError("other_scale")  # 0.95 may be on a scale from 0 to 1 or from 0 to 100
    if not scale.low <= value <= scale.high:
        raise ReplyError("out_of_range")
    if not scale.admits(value):
        raise ReplyError("not_declared")
    return value


def _parse_label(text: str, scale: Scale) -> float:
    """Returns the value of the label that *text* states. The labels are the scores of *scale*, words such as Good.

    Raises `ReplyError` for no label, several labels, or a label after "not". Very Poor counts as one label, although it
    contains the label Poor.
    """
    worth = {spelling.lower(): value for spelling, value in scale.declared}
    longest_first = "|".join(map(re.escape, sorted(worth, key=len, reverse=True)))
    if re.search(rf"(?:\b(?:not|never)|n't|n’t)\s{{1,3}}(?:an?\s)?(?:{longest_first})(?!\w)", text, re.IGNORECASE):
        raise ReplyError("negated")
    labels = {each.lower() for each in re.findall(rf"(?<!\w)(?:{longest_first})(?!\w)", text, re.IGNORECASE)}
    stated = re.compile(
        rf"\W*(?:[^:=\n]{{0,60}}[:=]\s*)?(?:{longest_first})\W*|"
        r".{0,80}\b(?:is|as|be|of|it|review|summary|text|rating|score)\s(?:an?\s|overall\s|['\"“])?"
        rf"(?:{longest_first})['\"”]?"
        r"(?:\s(?:overall|review|summary|text|quality|score|rating|one|for|in|on|with|as|\W).{0,200})?\W*",
        re.IGNORECASE,
    )
    if len(labels) != 1:
        raise ReplyError("ambiguous" if labels else "no_label")
    clauses = [
        clause for clause, is_question in _split_into_clauses(text) if not (is_question or _OF_PAPER.match(clause))
    ]
    if not any(stated.fullmatch(each) and not _OTHERS.search(each) and not _DENIED.search(each) for each in clauses):
        raise ReplyError("no_label")
    if _TAKEN_BACK.search(text):
        raise ReplyError("taken_back")
    return worth[labels.pop()]

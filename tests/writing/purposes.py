"""Every purpose that an LM is asked for, through the steps of the pipeline: what was asked, used, and failed why."""

from __future__ import annotations

import json
import re
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest.mock import patch

from gre_bench.core import asking
from gre_bench.core.records import Case, Paper, Problem
from gre_bench.examiners import grading
from gre_bench.examiners.examiner import GradingItem, build_improvement_chat, build_instruction_chat, parse_examiner
from gre_bench.examiners.pairwise import TextPair
from gre_bench.examiners.templates import TEMPLATES, Template
from gre_bench.guidelines.quality_points import CRITERIA, FieldedReview
from gre_bench.ingest.records.venues import find_venue_entry
from gre_bench.metrics import lm_examiner
from gre_bench.perturbations.by_name import PERTURBATIONS
from gre_bench.perturbations.material import PerturbationInput
from gre_bench.prompts.conditions import SHIPPED, load_condition
from gre_bench.tasks import steps
from gre_bench.writing import lm_writer
from gre_bench.writing.spend_log import FILE
from gre_bench.writing.writers import WriterContext, open_examiner
from tests.conftest import ROOT, SIXTEEN

SAMPLE = SIXTEEN
SEEDS = {"001": "DSBA", "003": "Little Giants", "000": "PRE"}
INSTRUCTIONS = "1. Read the paper.\n2. Compare the review with it.\n3. Give each aspect a score from 1 to 5."
HEADINGS = find_venue_entry("SAMPLE", 2026).headings

_INSIDE = re.compile(r"the reply cannot be read \((.+?)\):")

Outcome = str | None
"""Why an item has no value; None: its reply was used."""


@dataclass(frozen=True)
class Tally:
    """What became of the items of one *purpose*: *asked* = *used* + all *failed*; *replies*: requests by outcome."""

    purpose: str
    asked: int
    used: int
    failed: Mapping[str, int]
    replies: Mapping[str, int]
    seconds: float

    @property
    def row(self) -> str:
        failed = "; ".join(f"{reason} {count}" for reason, count in sorted(self.failed.items())) or "–"
        cut = self.replies.get("cut", 0)
        return f"| {self.purpose} | {self.asked} | {self.used} | {failed} | {sum(self.replies.values())} | {cut} |"


@dataclass(frozen=True)
class Texts:
    """What is asked about: *papers*, the *reviews* of them by field, and the same as *prose* by their ids."""

    papers: Sequence[Paper]
    reviews: Sequence[FieldedReview]
    prose: Mapping[str, str]

    def paper_of(self, review: FieldedReview) -> Paper:
        return next(paper for paper in self.papers if paper.paper_id == review.paper_id)


def sample_texts(papers: int, reviews: int, characters: int | None = None) -> Texts:
    """The sample's first *papers* with *reviews* of each; *characters*: how much of each text, None: all."""
    chosen = [
        Paper(row["paper_id"], row["title"], row["abstract"][:characters], row["text"][:characters])
        for row in _rows("papers.jsonl")[:papers]
    ]
    found = [review for paper in chosen for review in _reviews(paper.paper_id, characters)[:reviews]]
    ids = {review.review_id for review in found}
    prose = {row["review_id"]: row["review"][:characters] for row in _rows("reviews.jsonl") if row["review_id"] in ids}
    return Texts(chosen, found, prose)


def tallies(
    name: str, context: WriterContext, texts: Texts, only: Callable[[str], bool] = lambda purpose: True
) -> Iterator[Tally]:
    """One tally for each purpose that *only* names, each item asked of the LM *name*."""
    for purpose, ask in _purposes(name, context, texts):
        if only(purpose):
            before, began = _replies(context), time.monotonic()
            outcomes = ask()
            failed = Counter(outcome for outcome in outcomes if outcome is not None)
            used = len(outcomes) - failed.total()
            replies = _replies(context) - before
            yield Tally(purpose, len(outcomes), used, failed, replies, time.monotonic() - began)


@contextmanager
def frugal(tokens: int) -> Iterator[None]:
    """No reply over *tokens*, and none asked for twice: at temperature 0 a local server answers alike for every seed."""
    with ExitStack() as patched:
        for module in (asking, lm_writer):
            patched.enter_context(patch.object(module, "RETRIES", 0))
        patched.enter_context(patch.object(grading, "LONG", tokens))
        yield


def _purposes(name: str, context: WriterContext, texts: Texts) -> Iterator[tuple[str, Callable[[], list[Outcome]]]]:
    ask: dict[str, Any] = {"name": name, "writer_context": context}
    prose = list(texts.prose.items())
    yield "review", lambda: [_outcome(one) for one in steps.write_reviews(**ask, papers=texts.papers)]
    guided = partial(steps.write_reviews, name=f"{name}@iclr", writer_context=context, papers=texts.papers[:1])
    yield "review under a guideline", lambda: [_outcome(one) for one in guided()]
    yield "judgments", lambda: [_outcome(one) for one in steps.write_judgments(**ask, reviews=prose)]
    yield "ASSW", lambda: [_outcome(one) for one in steps.write_assw(**ask, papers=texts.papers)]
    changes = [change.name for change in PERTURBATIONS.values() if change.task and change.name != "rephrase_2"]
    materials = [_material(review, texts) for review in texts.reviews[:2]]
    for change in changes:
        made = partial(steps.write_perturbations, change=change, **ask, materials=materials)
        yield f"change: {change.removesuffix('_1')}", lambda made=made: [_outcome(one) for one in made()]
    yield "LM examiner", lambda: _lm_examiner(name, context, texts)
    review = texts.reviews[0]
    items = [GradingItem(review.review_id, texts.paper_of(review).abstract or "", texts.prose[review.review_id])]
    for family, templates in _families().items():
        yield family, lambda templates=templates: [one for form in templates for one in _graded(ask, form, items)]
    yield "examiner: filter", lambda: _graded(ask, TEMPLATES["human_test"], items, filtering=True)
    yield "examiner: logprob", lambda: _graded(ask, TEMPLATES["human"], items, aggregation="logprob")
    first, second = texts.reviews[0], texts.reviews[-1]
    pair = TextPair("pair", items[0].source, "A", "B", texts.prose[first.review_id], texts.prose[second.review_id])
    yield "preference", lambda: [_outcome(one) for one in steps.prefer_pairs(**ask, pairs=[pair], item="review")]
    chats = [
        build_instruction_chat("review"),
        *(build_improvement_chat(INSTRUCTIONS, phrase) for phrase in ("improve", "rewrite")),
    ]
    yield "instructions", lambda: [_outcome(steps.write_instructions(**ask, chat=chat)) for chat in chats]
    for criterion in CRITERIA:
        judged = partial(steps.judge_reviews, **ask, criterion=criterion, reviews=texts.reviews[:1])
        yield f"points: {criterion}", lambda judged=judged: [_outcome(one) for one in judged()]
    contents = [(paper.paper_id, paper.whole) for paper in texts.papers[:1]]
    conditions = [load_condition(one) for one in SHIPPED if one in ("none", "neurips", "good", "good+rubric")]
    rated = [partial(steps.rate_papers, **ask, condition=each, papers=contents) for each in conditions]
    yield "rating under a guideline", lambda: [_outcome(one) for rate in rated for one in rate()]
    yield "guideline", lambda: [_outcome(steps.generate_guideline(**ask, reviews=texts.reviews))]


def _families() -> dict[str, list[Template]]:
    """The templates that ask an LM, by the paper they come from and what a reply holds."""
    found: dict[str, list[Template]] = {}
    for form in TEMPLATES.values():
        if form.answer != "nothing":
            what = "a score" if form.answer == "score" else "a score for each aspect"
            found.setdefault(f"examiner: {SEEDS[form.seed]}, {what}", []).append(form)
    return found


def _graded(ask: Mapping[str, Any], form: Template, items: Sequence[GradingItem], **more: Any) -> list[Outcome]:
    tree = {"template": form.name, "granularity": form.granularities[0]} | more
    tree |= {"instructions": INSTRUCTIONS} if form.name == "generated" else {}
    return [_outcome(one) for one in steps.grade_items(**ask, examiner=parse_examiner(tree), items=items)]


def _lm_examiner(name: str, context: WriterContext, texts: Texts) -> list[Outcome]:
    found = open_examiner(name, context)
    cases = [
        Case(one.paper_id, name, "none", "review", texts.prose[one.review_id], "", texts.paper_of(one).whole)
        for one in texts.reviews[:1]
    ]
    return [_outcome(one) for one in lm_examiner.LMExaminer(found.writer, found.sampling, "signature").score(cases)]


def _material(review: FieldedReview, texts: Texts) -> PerturbationInput:
    paper = texts.paper_of(review)
    return PerturbationInput(
        review.review_id, texts.prose[review.review_id], paper.title, paper.abstract, headings=HEADINGS
    )


def _outcome(found: Any) -> Outcome:
    """None for what has a value; else its problem, as ``code: reason`` without what follows from the text itself."""
    problem = getattr(found, "problem", None) or getattr(found, "read", None)
    if isinstance(problem, Problem):
        return reason_of(problem.code, problem.message)
    if hasattr(found, "outcome"):
        return None if found.text else reason_of(found.outcome, found.detail)
    return None


def reason_of(code: str, message: str) -> str:
    """*code* and, of *message*, what names the reason and not the item."""
    if code != "unparsable":
        return code
    inside = _INSIDE.search(message)
    return "unparsable: " + re.sub(r"^paper .*?: ", "", inside[1] if inside else message).partition(":")[0]


def _replies(context: WriterContext) -> Counter[str]:
    """Requests of the state of *context* by what they came to, as its spend log has them."""
    log = context.archive.parent / FILE
    lines: Iterable[str] = log.read_text(encoding="utf-8").splitlines() if log.is_file() else ()
    return Counter(row["outcome"] for row in map(json.loads, lines) if row["event"] == "answered")


def _reviews(paper_id: str, characters: int | None) -> list[FieldedReview]:
    rows = tomllib.loads(
        (ROOT / "data" / "sample" / "sources" / f"{paper_id}.reviews.toml").read_text(encoding="utf-8")
    )["review"]
    fields = [{name: str(value)[:characters] for name, value in row.items() if name != "judgments"} for row in rows]
    return [FieldedReview(row["id"], paper_id, texts) for row, texts in zip(rows, fields, strict=True)]


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SAMPLE / name).read_text(encoding="utf-8").splitlines()]

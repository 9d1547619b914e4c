"""Writers by rule: they need no LM, cost nothing and write the same text every time.

They replace LMs where no LM is available.

- ``rule`` writes everything except reviews.
- ``rule-2`` only rephrases, in another style than ``rule``.
- ``extractive-full`` and ``extractive-abstract`` write reviews.

Four functions change a review in place of an LM that gets a prompt of Xu et al. 2025. `fill_in_vague_sentences`
replaces the prompt in D.3.2, `write_abstract_review` that in D.3.3, and `summarise_stances` that in D.4.2.
`rephrase_review` of `gre_bench.perturbations.wording` replaces that in D.4.1; it has two styles, because D.4.1 uses two
LMs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from gre_bench.core.errors import PerturbationError, SettingsError
from gre_bench.core.records import Paper, WrittenText
from gre_bench.core.resources import load_word_lists, locate_resource
from gre_bench.core.review_text import Kind, Section, split_into_sections
from gre_bench.perturbations.by_name import PERTURBATIONS, WriterTask, find_applicable_perturbation
from gre_bench.perturbations.edits import MISSING, add_section_openings, blank_even_sentences
from gre_bench.perturbations.material import PerturbationInput
from gre_bench.perturbations.wording import rephrase_review
from gre_bench.writing.rules import extractive, judgments, synopsis
from gre_bench.writing.rules.extractive import write_extractive_review
from gre_bench.writing.rules.judgments import write_rule_judgments

RULE = "rule"
EXTRACTIVE: dict[str, extractive.Kind] = {"extractive-full": "full", "extractive-abstract": "abstract"}
"""Writer of reviews by rule, which serves as a control → the kind of review that it writes."""

STYLES = {RULE: 1, "rule-2": 2}
"""Writer by rule that can rephrase → its style."""

NAMES = (RULE, *EXTRACTIVE, "rule-2")
WRITERS = {"completion": "rule-completion-1", "abstract_only": "rule-abstract-only-1",
           "elongation": "rule-elongation-4"}  # fmt: skip
REPHRASERS = {1: "rule-rephrase-1", 2: "rule-rephrase-2"}
"""Style → the name of its writer in records and signatures."""
_IDENTITIES = {"judgments": judgments.WRITER, "assw": synopsis.WRITER, **WRITERS}


class RuleTextWriter:
    """A `TextWriter` by rule. *name* is one of `NAMES`.

    `identity`, `write_reviews` and `write_perturbed_reviews` raise `SettingsError` if this writer cannot do the task.
    """

    def __init__(self, name: str):
        self.name = name

    def identity(self, task: str) -> str:
        if task == "rephrase":
            return REPHRASERS[self._require_style(task)]
        if self.name in STYLES and self.name != RULE:
            raise SettingsError(f"writer {self.name} only rephrases; for {task} take {RULE} or a model")
        return _IDENTITIES.get(task, f"{self.name}-1")

    def write_judgments(self, reviews: Sequence[tuple[str, str]]) -> list[WrittenText]:
        return [
            _make_written_text(item, judgments.write_rule_judgments(text), "no_judgments") for item, text in reviews
        ]

    def write_assw(self, papers: Sequence[Paper]) -> list[WrittenText]:
        return [_make_written_text(paper.paper_id, _extract_assw(paper), "no_text") for paper in papers]

    def write_reviews(self, papers: Sequence[Paper]) -> list[WrittenText]:
        if self.name not in EXTRACTIVE:
            raise SettingsError(f"writer {self.name} writes no reviews; reviewers by rule: {', '.join(EXTRACTIVE)}")
        return [_write_review(paper, EXTRACTIVE[self.name]) for paper in papers]

    def write_perturbed_reviews(self, task: WriterTask, items: Sequence[PerturbationInput]) -> list[WrittenText]:
        style = 0 if task in WRITERS else self._require_style(task)
        return perturb_applicable_reviews(
            task, items, lambda able: [_perturb_review(task, item, style) for item in able]
        )

    def _require_style(self, task: str) -> int:
        if self.name not in STYLES:
            known = ", ".join(STYLES)
            raise SettingsError(f"writer {self.name} cannot do the task {task}; writers by rule that can: {known}")
        return STYLES[self.name]


def perturb_applicable_reviews(
    task: WriterTask,
    items: Sequence[PerturbationInput],
    write: Callable[[Sequence[PerturbationInput]], list[WrittenText]],
) -> list[WrittenText]:
    """Returns one result per item, in order: from *write*, or an error's code if *task* cannot change the item."""
    change = next(change.name for change in PERTURBATIONS.values() if change.task == task)
    results: dict[int, WrittenText] = {}
    for index, item in enumerate(items):
        try:
            find_applicable_perturbation(change, "review", item)
        except PerturbationError as error:
            results[index] = WrittenText(item.key, None, error.code, str(error))
    able = [index for index in range(len(items)) if index not in results]
    results |= dict(zip(able, write([items[index] for index in able]) if able else (), strict=True))
    return [results[index] for index in range(len(items))]


def _perturb_review(task: WriterTask, item: PerturbationInput, style: int) -> WrittenText:
    if task == "completion":
        return _make_written_text(item.key, fill_in_vague_sentences(item), "no_text")
    if task == "abstract_only":
        return _make_written_text(item.key, write_abstract_review(item.title, item.abstract or ""), "no_review")
    if task == "rephrase":
        return _make_written_text(item.key, rephrase_review(item.text, style), "no_text")
    strengths, weaknesses = summarise_stances(item.text)
    if not strengths or not weaknesses:
        lacking = "strengths" if not strengths else "weaknesses"
        return WrittenText(item.key, None, "no_summary", f"no {lacking} were found by rule")
    return WrittenText(item.key, add_section_openings(item, strengths, weaknesses), "ok")


def _write_review(paper: Paper, kind: extractive.Kind) -> WrittenText:
    if not (paper.text if kind == "full" else paper.abstract):
        return WrittenText(paper.paper_id, None, "no_text" if kind == "full" else "no_abstract")
    review = extractive.write_extractive_review(paper.title, paper.abstract, paper.text, kind)
    return _make_written_text(paper.paper_id, review, "no_review")


def _extract_assw(paper: Paper) -> str:
    if not paper.text and not paper.abstract:
        return ""
    strengths, weaknesses = synopsis.extract_assw_sentences(paper.abstract, paper.text or "")
    return synopsis.assw_text(strengths, weaknesses) if strengths or weaknesses else ""


def _make_written_text(item: str, text: str, problem: str) -> WrittenText:
    return WrittenText(item, text, "ok") if text else WrittenText(item, None, problem)


_UNFINISHED = frozenset(load_word_lists()["unfinished"])
_LONGEST_CLAIM = 12
"""The most words of a claim that a summary keeps."""

_ASPECTS = (
    "The abstract is written in a clear way. The quality of the work seems reasonable from its description. The "
    "novelty over existing work is not easy to judge. Whether the results can be reproduced depends on details that "
    "the abstract does not give."
)
_VERDICT = (
    "{summary} The topic is relevant, and the claims of the abstract are promising. The evidence for them has to be "
    "convincing for the paper to be accepted."
)


@cache
def read_vague_sentences() -> tuple[str, ...]:
    """Returns sentences that fit a review of any paper: they neither judge nor name anything."""
    return tuple(locate_resource("data", "rules", "vague.txt").read_text("utf-8").splitlines())


def fill_in_vague_sentences(material: PerturbationInput) -> str:
    """Returns the review with vague sentences in place of those that `delete_even_sentences` deletes.

    No vague sentence is repeated until all have been used.
    """
    chance = material.make_random("completion")
    first, *pieces = blank_even_sentences(material).split(MISSING)
    fillers: list[str] = []
    while len(fillers) < len(pieces):
        fillers += chance.sample(read_vague_sentences(), len(read_vague_sentences()))
    return first + "".join(filler + piece for filler, piece in zip(fillers, pieces, strict=False))


def write_abstract_review(title: str, abstract: str) -> str:
    """Returns a review in four sections, in the form of reviews at ICLR 2023, from title and abstract alone.

    The first two sections come from the rule `extractive`; the last two have sentences that fit any abstract. The
    review is empty if the rule finds nothing.
    """
    extractive_review = write_extractive_review(title, abstract, None, "abstract")
    parts: dict[Kind, Section] = {part.kind: part for part in split_into_sections(extractive_review)}
    if not parts:
        return ""
    summary = " ".join(sentence.text for sentence in parts["summary"].sentences)
    lists: list[str] = []
    for kind in ("strengths", "weaknesses", "questions"):
        points = [f"{number}. {sentence.text}" for number, sentence in enumerate(parts[kind].sentences, start=1)]
        lists.append("\n".join([f"{kind.capitalize()}:", *points]))
    sections = (
        ("Summary Of The Paper", summary),
        ("Strength And Weaknesses", "\n\n".join(lists)),
        ("Clarity, Quality, Novelty And Reproducibility", _ASPECTS),
        ("Summary Of The Review", _VERDICT.format(summary=summary)),
    )
    return "\n\n".join(f"{heading}:\n\n{text}" for heading, text in sections)


def summarise_stances(review: str) -> tuple[str, str]:
    """Returns (phrase of strengths, phrase of weaknesses) of *review*; a phrase is empty if there is nothing to sum up.

    Each phrase joins the first two claims that the review appreciates, or criticizes. Long claims are cut. If there is
    no criticism, suggestions count as weaknesses; if there are no suggestions either, questions do.
    """
    claims: dict[str, list[str]] = {}
    for line in write_rule_judgments(review).splitlines():
        stance, claim = line.removeprefix("The reviewer ").rstrip(".").split(" ", 1)
        claims.setdefault(stance, []).append(claim)
    weak = claims.get("criticizes") or claims.get("suggests") or claims.get("questions") or []
    return _join_short_claims(claims.get("appreciates", [])), _join_short_claims(weak)


def _join_short_claims(claims: Sequence[str]) -> str:
    kept = []
    for claim in claims[:2]:
        words = claim.split()[:_LONGEST_CLAIM]
        while len(words) > 1 and words[-1].lower().strip(",;:(") in _UNFINISHED:
            words.pop()
        kept.append(" ".join(words).rstrip(" ,;:(-"))
    return " and ".join(kept)

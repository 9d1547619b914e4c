"""Tasks of studies, in which LMs rate papers, judge reviews, grade texts, and write guidelines and instructions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gre_bench.core.asking import ChatOutcome
from gre_bench.core.errors import SettingsError
from gre_bench.core.records import Chat, LMIdentity
from gre_bench.core.settings import EvaluationLMSettings
from gre_bench.guidelines.quality_points import FieldedReview
from gre_bench.guidelines.ratings import Rating
from gre_bench.lm.opening import open_lm
from gre_bench.lm.protocol import require_chat_lm
from gre_bench.prompts.conditions import GuidelineCondition
from gre_bench.tasks.policy import writing_step
from gre_bench.writing.writers import ExaminerLM, WriterContext, open_examiner, open_logprob_writer

if TYPE_CHECKING:
    from gre_bench.examiners.examiner import Examiner, GradingItem, ItemKind
    from gre_bench.examiners.grading import Grade, Grader
    from gre_bench.examiners.pairwise import Preference, TextPair


@writing_step("rate under guideline", "{name} under {condition.name}")
def rate_papers(
    name: str, writer_context: WriterContext, condition: GuidelineCondition, papers: Sequence[tuple[str, str]]
) -> list[Rating]:
    """Returns one rating per paper, in order, by the LM *name*.

    *condition*: the variant of the prompt, such as one with a guideline. *papers*: (paper id, content). A paper without
    a usable rating has a problem instead.
    """
    from gre_bench.guidelines.ratings import rate_papers_under_condition

    lm = open_examiner_lm(name, writer_context)
    return rate_papers_under_condition(lm.writer, lm.sampling, name, condition, papers)


@writing_step("judge review quality", "{criterion} by {name}")
def judge_reviews(
    name: str, writer_context: WriterContext, criterion: str, reviews: Sequence[FieldedReview]
) -> list[ChatOutcome[int]]:
    """Returns the points (or a problem) that the LM *name* gives each of *reviews* for *criterion* (see `CRITERIA`)."""
    from gre_bench.guidelines.quality_points import CRITERIA
    from gre_bench.guidelines.yaml_replies import request_and_parse_replies

    lm, rubric = open_examiner_lm(name, writer_context), CRITERIA[criterion]
    return request_and_parse_replies(lm.writer, lm.sampling, [rubric.chat(review) for review in reviews], rubric.points)


@writing_step("generate guideline", "guideline by {name}")
def generate_guideline(name: str, writer_context: WriterContext, reviews: Sequence[FieldedReview]) -> ChatOutcome[str]:
    """Returns a guideline that the LM *name* makes from a group of *reviews*, or a problem."""
    from gre_bench.guidelines.checklist import generate_checklist

    lm = open_examiner_lm(name, writer_context)
    return generate_checklist(lm.writer, lm.sampling, reviews)


def open_examiner_lm(name: str, writer_context: WriterContext) -> ExaminerLM:
    """Opens the LM *name* of the models file; raises `SettingsError` with the known names for an unknown one."""
    from gre_bench.catalogs.models import load as load_models

    if name not in (models := load_models(writer_context.models)):
        raise SettingsError(f"no model {name!r} in the models file; known: {', '.join(models)}")
    return open_examiner(name, writer_context)


def build_grader(
    examiner: Examiner, name: str | None, writer_context: WriterContext,
    evaluation_lm: EvaluationLMSettings | None = None,
) -> tuple[Grader, LMIdentity]:  # fmt: skip
    """Returns a function that grades items with *examiner*, and the identity of the grader for signatures.

    *name*: an LM of the models file; None if the examiner uses none. *evaluation_lm*: the LM that computes token
    probabilities for the aggregation ``logprob``; if None, the endpoint of *name* does, but only for the likeliest
    tokens.
    """
    from gre_bench.examiners.grading import grade_by_endpoint, grade_by_lm, grade_by_replies, grading_identity

    if examiner.form.answer == "nothing":
        return lambda items: grade_by_replies(examiner, items, None), grading_identity(examiner)
    if examiner.aggregation == "logprob" and evaluation_lm is not None:
        lm = require_chat_lm(open_lm(evaluation_lm))
        return lambda items: grade_by_lm(examiner, items, lm), grading_identity(examiner, lm=lm.identity)
    opened = open_examiner(name, writer_context)
    writer, sampling = opened.writer, opened.sampling
    if examiner.aggregation != "logprob":
        identity = grading_identity(examiner, writer.identity, sampling)
        return lambda items: grade_by_replies(examiner, items, writer, sampling), identity
    shown = open_logprob_writer(name, writer_context)
    identity = grading_identity(examiner, shown.identity, sampling)
    return lambda items: grade_by_endpoint(examiner, items, shown, writer, sampling), identity


@writing_step("grade by examiner", "{examiner.name} by {name}")
def grade_items(
    name: str | None, writer_context: WriterContext, examiner: Examiner, items: Sequence[GradingItem],
    evaluation_lm: EvaluationLMSettings | None = None,
) -> list[Grade]:  # fmt: skip
    """Returns one grade (before binning) or problem per item, in order; parameters as in `build_grader`."""
    return build_grader(examiner, name, writer_context, evaluation_lm)[0](items)


@writing_step("prefer one of two", "pairs by {name}")
def prefer_pairs(
    name: str, writer_context: WriterContext, pairs: Sequence[TextPair], item: ItemKind
) -> list[Preference]:
    """Returns which text of each pair the LM *name* prefers; the LM sees each pair twice, once in each order."""
    from gre_bench.examiners.pairwise import ask_preferences

    return ask_preferences(pairs, open_examiner(name, writer_context).writer, item)


@writing_step("write instructions", "instructions by {name}")
def write_instructions(name: str, writer_context: WriterContext, chat: Chat) -> ChatOutcome[str]:
    """Returns the LM *name*'s reply to *chat*: instructions for examiners, or a problem if they are unusable."""
    from gre_bench.examiners.examiner import extract_instructions
    from gre_bench.examiners.grading import ask_and_parse

    opened = open_examiner(name, writer_context)
    return ask_and_parse(opened.writer, [chat], opened.sampling, extract_instructions)[0]

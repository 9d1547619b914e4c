"""What the published experiments would take, in one table: requests, tokens, money, GPU hours. Nothing is read or sent.

It works without the data: sizes are those that the papers print, lengths of texts are assumed, and every assumption is
stated with the result. What an experiment has to be given by its user is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gre_bench.catalogs.domains import PEER_REVIEW
from gre_bench.catalogs.experiments import Experiment
from gre_bench.catalogs.models import Model
from gre_bench.catalogs.models import load as load_models
from gre_bench.core.errors import SettingsError
from gre_bench.core.metrics import recipe_of
from gre_bench.core.settings import Settings
from gre_bench.core.settings import load as load_settings
from gre_bench.guidelines.consistency import CRITERIA
from gre_bench.pipeline.changes import chosen_changes
from gre_bench.preflight.plan_ahead import (
    CHARACTERS_A_TOKEN,
    JUDGMENT_TOKENS,
    PAPER_TOKENS,
    PROMPT_TOKENS,
    REVIEW_TOKENS,
    SYNOPSIS_TOKENS,
)
from gre_bench.studies.examiners.grid import grid
from gre_bench.studies.examiners.settings import load_study
from gre_bench.writing.budget import cost
from gre_bench.writing.catalog import by_rule
from gre_bench.writing.fit import room

SOURCE_CHARACTERS, SUMMARY_CHARACTERS = 2_100, 344
"""Means of the 1,280 texts of the development set of Eval4NLP 2023."""
SMALL_ITEM_TOKENS = 1_000
GUIDELINE_TOKENS, GUIDED_TOKENS, VERDICT_TOKENS, ONE_LINE = 1_500, 900, 200, 40
PAIR_TOKENS, RAW_PAIR_TOKENS = 333, 5_000
"""Tokens that an evaluation LM reads for a pair: of judgments with shared prefixes read once (12.6 million for 37,800
pairs), and of whole reviews cut at 10,000 characters."""
FLOPS, BANDWIDTH, TOGETHER = 4e14, 2.4e12, 32
"""Of one GPU: operations a second, bytes of weights read a second, replies written at a time."""
ASSUMED = (
    f"{PAPER_TOKENS:,} tokens a paper, {REVIEW_TOKENS} a review, {JUDGMENT_TOKENS} a review's judgments, "
    f"{SMALL_ITEM_TOKENS:,} what is no paper; thinking is not counted",
    f"a summary of {SUMMARY_CHARACTERS} characters of a source of {SOURCE_CHARACTERS:,}",
    f"GPU hours: {FLOPS / 1e12:.0f} TFLOP/s and {BANDWIDTH / 1e12:.1f} TB/s, about half of what one H200 states, "
    f"{TOGETHER} replies at a time; LMs at 127.0.0.1 are one's own",
    "prices are those of the models file; + marks a sum without the models whose price is not known",
)


@dataclass(frozen=True, slots=True)
class Asking:
    """Requests to one LM, and the tokens that each reads and writes."""

    model: str
    requests: int
    reads: float
    writes: float


def plan_published(chosen: Sequence[Experiment]) -> dict[str, Any]:
    """One row an experiment and the assumptions. USD None: no price known; *unpriced*: LMs left out of the sum."""
    models = load_models()
    return {"experiments": [row_of(one, models) for one in chosen], "assumed": list(ASSUMED)}


def row_of(one: Experiment, models: dict[str, Model]) -> dict[str, Any]:
    """What *one* experiment takes: requests, tokens, USD, GPU hours, what to give, and how it is run."""
    asked, read = _work(one)
    asked = [asking for asking in asked if asking.requests]
    for asking in asked:
        if asking.model not in models:
            raise SettingsError(f"{one.name}: no model {asking.model!r} in the models file")
    hours = _scoring_hours(read, one.billions)
    bought, unpriced, tight = 0.0, set[str](), set[str]()
    for asking in asked:
        model = models[asking.model]
        left = room(model, model.sampling.max_tokens)
        tight |= {model.name} if left is not None and asking.reads > left else set()
        prompt, reply = round(asking.requests * asking.reads), round(asking.requests * asking.writes)
        usd = cost(model, prompt, reply)
        if "127.0.0.1" in model.endpoint:
            hours += _writing_hours(prompt, reply, model.parameters or 0.0)
        elif usd is None:
            unpriced.add(model.name)
        else:
            bought += usd
    return {
        "experiment": one.name, "paper": one.paper, "title": one.title, "published": list(one.published),
        "requests": sum(asking.requests for asking in asked),
        "prompt_tokens": round(sum(asking.requests * asking.reads for asking in asked)),
        "reply_tokens": round(sum(asking.requests * asking.writes for asking in asked)),
        "usd": round(bought, 2), "unpriced": sorted(unpriced), "does_not_fit": sorted(tight),
        "scored_tokens": round(read),
        "gpu_hours": round(hours, 2), "give": dict(one.files), "run": one.call,
        "compare": [f"gre-bench compare --published {table} RUN" for table in one.published], "note": one.note,
    }  # fmt: skip


def _work(one: Experiment) -> tuple[list[Asking], float]:
    """What LMs are asked, and the tokens that the evaluation LM reads."""
    if one.command == "examiners":
        return list(_examiners(one)), 0.0
    if one.command.startswith("guidelines"):
        return list(_guidelines(one)), 0.0
    settings = load_settings(one.path)
    if one.command == "refresh":
        return list(_board(one, settings)), _scored(settings, one.items * 2 * (1 + len(settings.writing.candidates)))
    if one.command == "validate":
        changes = chosen_changes(settings)
        return list(_validation(one, settings, changes)), _scored(settings, one.items * 2 * (1 + len(changes)))
    reviews = one.reviews or one.items * 3
    pairs = reviews * (reviews // one.items - 1) if one.command == "agree" else 5_328
    return list(_graded(one, settings, reviews)), _scored(settings, pairs)


def _board(one: Experiment, settings: Settings) -> Iterator[Asking]:
    writing = settings.writing
    for name in writing.candidates:
        yield Asking(name, one.items, PAPER_TOKENS + PROMPT_TOKENS, REVIEW_TOKENS)
    yield from _judged(settings, one.items * (len(writing.candidates) + 3))
    if any(recipe_of(name).synopsis == "assw" for name in settings.scoring.metrics) and not by_rule(writing.assw):
        yield Asking(writing.assw, one.items, PAPER_TOKENS + PROMPT_TOKENS, SYNOPSIS_TOKENS)


def _validation(one: Experiment, settings: Settings, changes: dict[str, str]) -> Iterator[Asking]:
    asked, review = settings.validation, REVIEW_TOKENS + PROMPT_TOKENS
    makers = {
        "completion": Asking(asked.completion, one.items, review, REVIEW_TOKENS),
        "abstract_only": Asking(asked.abstract_only, one.items, SYNOPSIS_TOKENS + PROMPT_TOKENS, REVIEW_TOKENS),
        "rephrase_1": Asking(asked.rephrase[0], one.items, review, REVIEW_TOKENS),
        "rephrase_2": Asking(asked.rephrase[1], one.items, review, REVIEW_TOKENS),
        "elongation": Asking(asked.elongation, 2 * one.items, review, ONE_LINE),
    }
    yield from (made for name, made in makers.items() if name in changes and not by_rule(made.model))
    yield from _judged(settings, one.items * (3 + len(changes)))
    yield from _examined(settings, one.items * (1 + len(changes)))


def _graded(one: Experiment, settings: Settings, reviews: int) -> Iterator[Asking]:
    if one.command == "agree" and not by_rule(settings.writing.assw):
        yield Asking(settings.writing.assw, one.items, PROMPT_TOKENS + REVIEW_TOKENS, SYNOPSIS_TOKENS)
    yield from _judged(settings, reviews)
    yield from _examined(settings, reviews)


def _judged(settings: Settings, texts: int) -> Iterator[Asking]:
    name = settings.writing.judgments
    if name and not by_rule(name):
        yield Asking(name, texts, REVIEW_TOKENS + PROMPT_TOKENS, JUDGMENT_TOKENS)


def _examined(settings: Settings, texts: int) -> Iterator[Asking]:
    item = PAPER_TOKENS if settings.edition.domain == PEER_REVIEW else SMALL_ITEM_TOKENS
    if settings.scoring.examiner and "lm_examiner" in settings.scoring.metrics:
        yield Asking(settings.scoring.examiner, texts, item + REVIEW_TOKENS + PROMPT_TOKENS, REVIEW_TOKENS)


def _scored(settings: Settings, pairs: int) -> float:
    """Tokens that the evaluation LM reads for *pairs* under the metrics that ask it; controls are not counted."""
    asking = [recipe for name in settings.scoring.metrics if (recipe := recipe_of(name)).asks == "evaluation_lm"]
    # BARTScore's three share their log-probabilities.
    kinds = {recipe.name if recipe.formula == "pmi" else "bartscore": recipe for recipe in asking}
    return float(sum(pairs * (PAIR_TOKENS if one.source == "judgments" else RAW_PAIR_TOKENS) for one in kinds.values()))


def _guidelines(one: Experiment) -> Iterator[Asking]:
    told = one.lms
    if one.command == "guidelines compare":
        for name in told["models"]:
            for condition in told["conditions"]:
                guideline = 0 if condition == "none" else GUIDELINE_TOKENS
                yield Asking(name, one.items, PAPER_TOKENS + PROMPT_TOKENS + guideline, GUIDED_TOKENS)
    elif one.command == "guidelines quality":
        yield Asking(told["judge"], one.items * len(CRITERIA), REVIEW_TOKENS + PROMPT_TOKENS, VERDICT_TOKENS)
    else:
        yield Asking(told["model"], len(told["groups"]), one.items * REVIEW_TOKENS + PROMPT_TOKENS, GUIDELINE_TOKENS)


def _examiners(one: Experiment) -> Iterator[Asking]:
    """The chats of every examiner on a text of the mean length, as often as each is answered."""
    from gre_bench.examiners.panel.pairwise import SAMPLING as PREFERENCE
    from gre_bench.examiners.wordings import Item, chats, filter_chat
    from gre_bench.studies.examiners.job import needs_model

    settings = load_study(one.path)
    item = Item("text", "s" * SOURCE_CHARACTERS, "t" * SUMMARY_CHARACTERS)
    made = grid(settings, settings.item or "summary", dict.fromkeys(settings.generated, "Not yet written."))
    for name in settings.models:
        for examiner in made.examiners.values():
            if not needs_model(settings, examiner):
                continue
            length = 300 if examiner.form.rationale else ONE_LINE if examiner.form.answer == "aspects" else 4
            for chat in chats(examiner, item):
                yield Asking(name, one.items * examiner.times, _tokens(chat.system, chat.user), length)
            if examiner.filtering:
                asked = filter_chat(examiner, item)
                yield Asking(name, one.items, _tokens(asked.system, asked.user), ONE_LINE)
        if settings.pairwise:
            # Every pair of the texts of one source, in both orders.
            games = settings.pairwise.games or round(one.items * (one.items / (one.sources or one.items) - 1) / 2)
            yield Asking(
                name, 2 * games, _tokens("s" * SOURCE_CHARACTERS, "t" * SUMMARY_CHARACTERS * 2), PREFERENCE.max_tokens
            )


def _tokens(*texts: str) -> float:
    return sum(map(len, texts)) / CHARACTERS_A_TOKEN


def _scoring_hours(tokens: float, billions: float | None) -> float:
    return tokens * 2 * (billions or 0.0) * 1e9 / FLOPS / 3600


def _writing_hours(prompt: float, reply: float, billions: float) -> float:
    """Prompts at the speed of arithmetic, replies at that of memory: all weights in 16 bits once for a step of all."""
    return _scoring_hours(prompt, billions) + reply * 2 * billions * 1e9 / BANDWIDTH / TOGETHER / 3600

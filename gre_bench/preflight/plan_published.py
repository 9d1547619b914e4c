"""Estimates what the published experiments would take: requests, tokens, cost, GPU hours. Reads and sends nothing.

The numbers of papers, models and texts are those printed in the publications; lengths of texts are assumed. The result
states every assumption, and names the files that a user must provide for each experiment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gre_bench.catalogs.domains import PEER_REVIEW
from gre_bench.catalogs.experiments import Experiment
from gre_bench.catalogs.models import Model
from gre_bench.catalogs.models import load as load_models
from gre_bench.core.errors import SettingsError
from gre_bench.core.metrics import recipe_of
from gre_bench.core.settings import Settings
from gre_bench.core.settings import load as load_settings
from gre_bench.guidelines.review_quality import CRITERIA
from gre_bench.pipeline.changes import chosen_changes
from gre_bench.pipeline.rosters import named_lms
from gre_bench.preflight.bill import (
    CHARACTERS_A_TOKEN,
    JUDGMENT_TOKENS,
    PAPER_TOKENS,
    PROMPT_TOKENS,
    REVIEW_TOKENS,
    SYNOPSIS_TOKENS,
    Asking,
    judgments,
    refresh_texts,
)
from gre_bench.studies.examiners.inputs import grid, load_study
from gre_bench.writing.catalog import by_rule
from gre_bench.writing.fit import room

SOURCE_CHARACTERS, SUMMARY_CHARACTERS = 2_100, 344
"""Mean lengths of the 1,280 texts in the development set of Eval4NLP 2023."""
SMALL_ITEM_TOKENS = 1_000
GUIDELINE_TOKENS, GUIDED_TOKENS, VERDICT_TOKENS, ONE_LINE = 1_500, 900, 200, 40
PAIR_TOKENS, RAW_PAIR_TOKENS = 333, 5_000
"""How many tokens an evaluation LM reads for a pair, of judgments and of whole reviews.

For judgments, shared prefixes are read once (12.6 million tokens for 37,800 pairs); whole reviews are cut at 10,000
characters.
"""
FLOPS, BANDWIDTH, TOGETHER = 4e14, 2.4e12, 32
"""One GPU: operations per second, bytes of weights read per second, replies written in parallel."""
ASSUMED = (
    f"{PAPER_TOKENS:,} tokens a paper, {REVIEW_TOKENS} a review, {JUDGMENT_TOKENS} a review's judgments, "
    f"{SMALL_ITEM_TOKENS:,} an item that is no paper; thinking is not counted",
    f"a summary of {SUMMARY_CHARACTERS} characters of a source of {SOURCE_CHARACTERS:,}",
    f"GPU hours: {FLOPS / 1e12:.0f} TFLOP/s and {BANDWIDTH / 1e12:.1f} TB/s, about half of what one H200 states, "
    f"{TOGETHER} replies at a time; LMs at 127.0.0.1 run on the user's own GPU",
    "prices are those of the models file; + marks a sum without the models whose price is not known",
)


def plan_published(chosen: Sequence[Experiment]) -> dict[str, Any]:
    """Returns ``experiments``, one row (see `row_of`) for each of *chosen*, and ``assumed``, all assumptions."""
    models = load_models()
    return {"experiments": [row_of(experiment, models) for experiment in chosen], "assumed": list(ASSUMED)}


def row_of(experiment: Experiment, models: dict[str, Model]) -> dict[str, Any]:
    """Returns what *experiment* takes (requests, tokens, USD, GPU hours, the user's files), and the command to run it.

    ``usd`` is the cost of the LMs whose prices are known; ``unpriced`` lists the others. Raises `SettingsError` for an
    LM that is not in *models*.
    """
    requests, tokens = _work(experiment)
    requests = [asking for asking in requests if asking.requests]
    hours = _scoring_hours(tokens, experiment.billions)
    usd_total, unpriced, not_fitting = 0.0, set[str](), set[str]()
    for asking in requests:
        model = models.get(asking.name)
        if model is None:
            raise SettingsError(f"{experiment.name}: no model {asking.name!r} in the models file")
        left = room(model, model.sampling.max_tokens)
        not_fitting |= {model.name} if left is not None and asking.reads > left else set()
        usd = asking.usd(model)
        if "127.0.0.1" in model.endpoint:
            hours += _writing_hours(asking.prompt_tokens, asking.reply_tokens, model.parameters or 0.0)
        elif usd is None:
            unpriced.add(model.name)
        else:
            usd_total += usd
    return {
        "experiment": experiment.name, "paper": experiment.paper, "title": experiment.title,
        "published": list(experiment.published),
        "requests": sum(asking.requests for asking in requests),
        "prompt_tokens": round(sum(asking.requests * asking.reads for asking in requests)),
        "reply_tokens": round(sum(asking.requests * asking.writes for asking in requests)),
        "usd": round(usd_total, 2), "unpriced": sorted(unpriced), "does_not_fit": sorted(not_fitting),
        "scored_tokens": round(tokens),
        "gpu_hours": round(hours, 2), "give": dict(experiment.files), "run": experiment.calls,
        "compare": [f"gre-bench compare --published {table} RUN" for table in experiment.published],
        "note": experiment.note,
    }  # fmt: skip


def _work(experiment: Experiment) -> tuple[list[Asking], float]:
    """Returns the requests that *experiment* sends to LMs, and the number of tokens that the evaluation LM reads."""
    if experiment.command.startswith("study examiners"):
        return list(_examiners(experiment)), 0.0
    if experiment.command.startswith("study guidelines"):
        return list(_guidelines(experiment)), 0.0
    settings = load_settings(experiment.path)
    if experiment.command == "refresh":
        candidates = len(settings.writing.candidates)
        texts = refresh_texts(named_lms(settings), experiment.items, experiment.items * (candidates + 3))
        return list(texts), _scored(settings, experiment.items * 2 * (1 + candidates))
    if experiment.command == "study validate":
        changes = chosen_changes(settings)
        # Two references a paper: each candidate is scored against both, and each reference against the other.
        pairs = experiment.items * 2 * (2 + len(changes))
        return list(_validation(experiment, settings, changes)), _scored(settings, pairs)
    reviews = experiment.reviews or experiment.items * 3
    pairs = reviews * (reviews // experiment.items - 1) if experiment.command == "study agree" else 5_328
    return list(_graded(experiment, settings, reviews)), _scored(settings, pairs)


def _validation(experiment: Experiment, settings: Settings, changes: dict[str, str]) -> Iterator[Asking]:
    items = experiment.items
    for change, name in settings.validation.makers.items():
        if change in changes and not by_rule(name):
            text = SYNOPSIS_TOKENS if change == "abstract_only" else REVIEW_TOKENS
            times, reply = (2, ONE_LINE) if change == "elongation" else (1, REVIEW_TOKENS)
            yield Asking(change, name, times * items, text + PROMPT_TOKENS, reply)
    yield from _judged(settings, experiment.items * (3 + len(changes)))
    yield from _examined(settings, experiment.items * (1 + len(changes)))


def _graded(experiment: Experiment, settings: Settings, reviews: int) -> Iterator[Asking]:
    if experiment.command == "study agree" and not by_rule(settings.writing.assw):
        abstract = PROMPT_TOKENS + REVIEW_TOKENS
        yield Asking("synopses", settings.writing.assw, experiment.items, abstract, SYNOPSIS_TOKENS)
    yield from _judged(settings, reviews)
    yield from _examined(settings, reviews)


def _judged(settings: Settings, texts: int) -> Iterator[Asking]:
    if judge := named_lms(settings).judge:
        yield judgments(judge, texts)


def _examined(settings: Settings, texts: int) -> Iterator[Asking]:
    item = PAPER_TOKENS if settings.edition.domain == PEER_REVIEW else SMALL_ITEM_TOKENS
    if settings.scoring.examiner and "lm_examiner" in settings.scoring.metrics:
        yield Asking("grades", settings.scoring.examiner, texts, item + REVIEW_TOKENS + PROMPT_TOKENS, REVIEW_TOKENS)


def _scored(settings: Settings, pairs: int) -> float:
    """Returns the tokens that the evaluation LM reads for *pairs* pairs, without those of controls, of its metrics."""
    asking = [recipe for name in settings.scoring.metrics if (recipe := recipe_of(name)).asks == "evaluation_lm"]
    # The three variants of BARTScore share their log-probabilities.
    kinds = {recipe.name if recipe.formula == "pmi" else "bartscore": recipe for recipe in asking}
    sources = [recipe.source for recipe in kinds.values()]
    return float(sum(pairs * (PAIR_TOKENS if source == "judgments" else RAW_PAIR_TOKENS) for source in sources))


def _guidelines(experiment: Experiment) -> Iterator[Asking]:
    lms = experiment.lms
    if experiment.command == "study guidelines compare":
        for name in lms["models"]:
            for condition in lms["conditions"]:
                guideline = 0 if condition == "none" else GUIDELINE_TOKENS
                yield Asking("ratings", name, experiment.items, PAPER_TOKENS + PROMPT_TOKENS + guideline, GUIDED_TOKENS)
    elif experiment.command == "study guidelines quality":
        verdicts, review = experiment.items * len(CRITERIA), REVIEW_TOKENS + PROMPT_TOKENS
        yield Asking("points", lms["judge"], verdicts, review, VERDICT_TOKENS)
    else:
        group = experiment.items * REVIEW_TOKENS + PROMPT_TOKENS
        yield Asking("guidelines", lms["model"], len(lms["groups"]), group, GUIDELINE_TOKENS)


def _examiners(experiment: Experiment) -> Iterator[Asking]:
    """Yields the requests of an examiner study: every chat of every examiner, on a text of mean length."""
    from gre_bench.examiners.examiner import Item, chats, filter_chat
    from gre_bench.examiners.pairwise import SAMPLING as PREFERENCE
    from gre_bench.studies.examiners.job import needs_model

    settings = load_study(experiment.path)
    item = Item("text", "s" * SOURCE_CHARACTERS, "t" * SUMMARY_CHARACTERS)
    grid_of_study = grid(settings, settings.item or "summary", dict.fromkeys(settings.generated, "Not yet written."))
    for name in settings.models:
        for examiner in grid_of_study.examiners.values():
            if not needs_model(settings, examiner):
                continue
            length = 300 if examiner.form.rationale else ONE_LINE if examiner.form.answer == "aspects" else 4
            for chat in chats(examiner, item):
                yield Asking("grades", name, experiment.items * examiner.times, _tokens(chat.system, chat.user), length)
            if examiner.filtering:
                chat = filter_chat(examiner, item)
                yield Asking("filter", name, experiment.items, _tokens(chat.system, chat.user), ONE_LINE)
        if settings.pairwise:
            # Every pair of texts about one source, in both orders.
            games = settings.pairwise.games or round(
                experiment.items * (experiment.items / (experiment.sources or experiment.items) - 1) / 2
            )
            length = _tokens("s" * SOURCE_CHARACTERS, "t" * SUMMARY_CHARACTERS * 2)
            yield Asking("pairs", name, 2 * games, length, PREFERENCE.max_tokens)


def _tokens(*texts: str) -> float:
    return sum(map(len, texts)) / CHARACTERS_A_TOKEN


def _scoring_hours(tokens: float, billions: float | None) -> float:
    return tokens * 2 * (billions or 0.0) * 1e9 / FLOPS / 3600


def _writing_hours(prompt: float, reply: float, billions: float) -> float:
    """Returns the GPU hours that an LM of *billions* parameters takes to read *prompt* and to write *reply* tokens.

    Reading is limited by arithmetic. Writing is limited by memory bandwidth: each step reads all weights in 16 bits
    once, for all replies in parallel.
    """
    return _scoring_hours(prompt, billions) + reply * 2 * billions * 1e9 / BANDWIDTH / TOGETHER / 3600

"""The doctor's checks of the settings and of what they use: budget, evaluation LM, endpoints of LMs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from gre_bench.catalogs.models import Model
from gre_bench.catalogs.models import load as load_models
from gre_bench.core.errors import LMError, SettingsError, SpanError
from gre_bench.core.metrics import recipe_of
from gre_bench.core.records import Paper, Prediction
from gre_bench.core.settings import Settings
from gre_bench.core.terminal import counted
from gre_bench.preflight.doctor import Check, Finding
from gre_bench.prompts.conditions import guided
from gre_bench.writing.catalog import by_rule

LINE = "The reviewer criticizes the lack of an ablation of the second stage."
CLOCK_SLACK_S = 60.0


def use(settings: Settings, state: Path) -> Iterator[Finding]:
    """Checks that a refresh with *settings* could start."""
    from gre_bench.flows.annual_refresh import usable
    from gre_bench.pipeline.runs.job import Job

    usable(Job(settings, state))
    yield Finding("settings", "ok", f"edition {settings.edition.edition.key}, {', '.join(settings.scoring.metrics)}")


def budget(settings: Settings, state: Path) -> Iterator[Finding]:
    """Checks that all prices which the budget needs are known, and reports what is spent or used up."""
    from gre_bench.pipeline.runs.spending import check
    from gre_bench.writing.spend_log import ModelBudget, remaining, spend_log_of, spending_line

    check(settings.budget, settings.writing.models)
    spend_log, key, bounds = spend_log_of(state), settings.edition.edition.key, settings.budget
    for model in _named_models(settings):
        ModelBudget(spend_log, key, bounds, model)
    spent, by_model = spend_log.whole(key), spend_log.models(key)
    if spend_log.damaged:
        yield Finding("spend log", "warning", f"{spend_log.damaged} lines cannot be read and are not counted",
                      f"look at {spend_log.path}; lower the limits by what they cost")  # fmt: skip
    left = remaining(bounds, spent) | {
        f"models.{name}.{bound}": value
        for name, own in bounds.models.items() if name in by_model
        for bound, value in remaining(own, by_model[name]).items()
    }  # fmt: skip
    over = [f"budget.{name}" for name, value in left.items() if value <= 0]
    if over:
        yield Finding(
            "budget", "warning", f"reached: {', '.join(over)}; spent: {spending_line(spent)}", "raise it to go on"
        )
    else:
        yield Finding("budget", "ok", f"spent: {spending_line(spent)}" if spent.requests else "nothing spent yet")


def evaluation_lm(settings: Settings, state: Path) -> Iterator[Finding]:
    """Opens the evaluation LM and the embedder, if a metric needs them, and runs each once.

    The evaluation LM must find a review likelier when the same review comes before it. If it does not, the finding is a
    warning.
    """
    recipes = [recipe_of(name) for name in settings.scoring.metrics]
    if any(recipe.formula for recipe in recipes):
        from gre_bench.lm.catalog import open_lm
        from gre_bench.lm.protocol import checked

        began = time.monotonic()
        lm = open_lm(settings.evaluation_lm)
        conditional, marginal = map(checked, lm.logprob([Prediction(LINE, None, LINE), Prediction(None, None, LINE)]))
        if isinstance(conditional, SpanError) or isinstance(marginal, SpanError):
            broken = conditional if isinstance(conditional, SpanError) else marginal
            yield Finding("evaluation LM", "problem", str(broken), "use another model, dtype or engine")
        elif conditional.total <= marginal.total:
            line = f"{lm.identity.name}: a review is no likelier after the same review than without it"
            yield Finding(
                "evaluation LM", "warning", line, "its scores may say nothing: gre-bench study validate tells"
            )
        else:
            seconds = time.monotonic() - began
            yield Finding("evaluation LM", "ok", f"{lm.identity.name}, {seconds:.1f} s to open and to ask")
    if any(recipe.asks == "embedder" for recipe in recipes):
        from gre_bench.lm.embedders import open_embedder

        vectors = open_embedder(settings.embedder).embed([LINE])
        yield Finding("embedder", "ok", f"{settings.embedder.backend}, vectors of {vectors.shape[-1]} dimensions")


def learnt(settings: Settings, state: Path) -> Iterator[Finding]:
    """Checks whether the evaluation LM or the writer of judgments was learnt from papers of the edition."""
    from gre_bench.pipeline.learnt import learnt_here

    exam = learnt_here(settings, state)
    todo = "validate elsewhere; draw a sample without such papers: --set edition.avoid_learnt=..."
    for note in exam.notes:
        yield Finding("learnt from", "warning", note, todo)
    if not exam.notes:
        papers = f"none of the {counted(exam.compared, 'paper')} here" if exam.compared else "no papers are here yet"
        names = " and ".join(exam.registers) or "nothing was learnt here"
        yield Finding("learnt from", "ok", f"{names}: {papers}")


def endpoints(settings: Settings, state: Path) -> Iterator[Finding]:
    """Checks the API key, the endpoint and the model's name of each LM in the settings, at no cost."""
    from gre_bench.writing.http_writer import check_endpoint

    for model in _named_models(settings):
        check = f"LM {model.name}"
        try:
            answer = check_endpoint(model)
        except LMError as error:
            yield Finding(check, "problem", str(error), f"export {model.key_env}=...")
            continue
        where, key = urlsplit(model.endpoint).netloc, f", key in {model.key_env}" if model.key_env else ""
        if answer.status is None:
            yield Finding(
                check, "problem", f"{where} does not answer: {answer.trouble}", "start it or correct endpoint"
            )
        elif answer.status in (401, 403):
            yield Finding(check, "problem", f"{where} refuses the key ({answer.status})", f"renew {model.key_env}")
        elif answer.lists is None:
            yield Finding(check, "warning", f"{where} answers ({answer.status}) and lists no models{key}",
                          "try it: gre-bench refresh --limit 2")  # fmt: skip
        elif model.model not in answer.lists:
            yield Finding(check, "warning", f"{where} does not list {model.model}", "correct model in the models file")
        else:
            yield Finding(check, "ok", f"{where} serves {model.model}{key}")
        if answer.ahead_s is not None and abs(answer.ahead_s) > CLOCK_SLACK_S:
            yield Finding("clock", "warning", f"{answer.ahead_s:+.0f} s off that of {where}", "set it (NTP)")


def fit(settings: Settings, state: Path) -> Iterator[Finding]:
    """Checks that the edition's papers fit the context of each LM that reads papers.

    If the store has no papers, a paper of usual length is checked instead.
    """
    from gre_bench.pipeline.backends import writer_context
    from gre_bench.pipeline.planning import sampled_papers
    from gre_bench.pipeline.runs.job import Job
    from gre_bench.preflight.fit_report import fit_rows
    from gre_bench.preflight.plan_ahead import CHARACTERS_A_TOKEN, PAPER_TOKENS
    from gre_bench.store import Store

    store = Store(state, settings.edition.edition)
    papers = [paper for paper in sampled_papers(store) if paper.text] if store.exists else []
    usual = f"a paper of {PAPER_TOKENS:,} tokens"
    for row in fit_rows(
        settings, writer_context(store, Job(settings, state)),
        papers or [Paper("usual", "", None, "x" * round(PAPER_TOKENS * CHARACTERS_A_TOKEN))],
    ):  # fmt: skip
        described = f"{row.papers} papers" if papers else usual
        check, todo = f"fit {row.name}", "take an LM with a longer context, or --set writing.over_long=truncate"
        if row.max_output is not None and row.reply > row.max_output:
            yield Finding(check, "problem", row.trouble, "lower sampling.max_tokens in the models file")
        elif row.unknown:
            yield Finding(
                check, "warning", f"{described}: its context is not known", "state context in the models file"
            )
        elif row.trouble:
            verdict = "warning" if row.over_long == "truncate" or not row.does_not_fit else "problem"
            yield Finding(check, verdict, row.trouble if papers else f"{usual}: {row.trouble}", todo)
        else:
            yield Finding(check, "ok", f"{described}: the longest prompt has {row.longest} tokens ({row.basis})")


CHECKS: dict[str, Check] = {
    "settings": use, "budget": budget, "evaluation LM": evaluation_lm, "learnt from": learnt, "LMs": endpoints,
    "fit": fit,
}  # fmt: skip


def _named_models(settings: Settings) -> list[Model]:
    """Returns the LMs that the settings name, each once.

    Raises `SettingsError` for an LM that is not in the models file.
    """
    writing, scoring, validation = settings.writing, settings.scoring, settings.validation
    named = [writing.judgments, *writing.candidates, validation.completion, validation.abstract_only,
             *validation.rephrase, validation.elongation]  # fmt: skip
    named += [writing.assw] if any(recipe_of(name).synopsis == "assw" for name in scoring.metrics) else []
    if any(recipe_of(name).asks == "writer" for name in scoring.metrics):
        named.append(scoring.examiner)
    wanted = dict.fromkeys(guided(name)[0] for name in named if name and not by_rule(name))
    models = load_models(writing.models)
    for name in wanted:
        if name not in models:
            raise SettingsError(f"no model {name!r} in the models file; known: {', '.join(models)}")
    return [models[name] for name in wanted]

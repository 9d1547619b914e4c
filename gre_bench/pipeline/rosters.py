"""Decides the year and the models of a year's board, and checks the models before anything is paid for."""

from __future__ import annotations

from datetime import date
from typing import Any

from gre_bench.catalogs.models import Model
from gre_bench.catalogs.models import load as load_models
from gre_bench.core.errors import SettingsError
from gre_bench.core.metrics import recipe_of
from gre_bench.core.settings import Settings, parse
from gre_bench.ingest.records.venues import newest_year, venue_of
from gre_bench.prompts.conditions import guided
from gre_bench.writing.catalog import by_rule
from gre_bench.writing.rules.writer import EXTRACTIVE


def of_the_year(settings: Settings, venue: str, year: int | None, on: date) -> Settings:
    """Returns *settings* with *venue* and *year* set.

    If *year* is None, the newest year whose reviews are public on the day *on* is used. Raises `SettingsError` if the
    settings rank no model, or name a model that is not in the models file.
    """
    chosen = newest_year(venue, on) if year is None else year
    venue_of(venue, chosen)
    tree: dict[str, Any] = settings.model_dump(exclude_unset=True)
    tree["edition"] = tree.get("edition", {}) | {"venue": venue, "year": chosen}
    sources = tree.get("sources", {})
    tree["sources"] = {"unverified_venue": "confirm"} | sources
    settings_of_year = parse(tree)
    needed_models(settings_of_year)
    return settings_of_year


def check_models(settings: Settings) -> None:
    """Raises an error if a model that *settings* use cannot be asked.

    Raises `LMError` if the model's API key is not set. Raises `SettingsError` if the budget limits USD and the model's
    prices are not known.
    """
    for model in needed_models(settings):
        model.key()
        own = settings.budget.models.get(model.name, settings.budget)
        if (settings.budget.usd or own.usd) is not None and None in (model.price_in, model.price_out):
            raise SettingsError(
                f"the budget limits money (usd), and model {model.name} has no prices: give it price_in and price_out "
                "in the models file, or limit requests or tokens"
            )


def needed_models(settings: Settings) -> list[Model]:
    """Returns the LMs that *settings* use: the ranked LMs, the writers, and the examiner if a metric needs one.

    Raises `SettingsError` if the settings rank no model, or name a model that is not in the models file.
    """
    writing, validation = settings.writing, settings.validation
    ranked = [name for name in writing.candidates if name not in EXTRACTIVE]
    if not ranked:
        raise SettingsError(
            "the roster names no model: a year's board ranks language models. Name a roster that has a [[model]] "
            '(roster = "yearly"), or set writing.candidates'
        )
    others = [writing.judgments, writing.assw, validation.completion, validation.abstract_only, *validation.rephrase,
              validation.elongation]  # fmt: skip
    if any(recipe_of(name).asks == "writer" for name in settings.scoring.metrics):
        others.append(settings.scoring.examiner)
    known, models = load_models(writing.models), dict[str, Model]()
    for name in dict.fromkeys([*ranked, *(name for name in others if name and not by_rule(name))]):
        model = guided(name)[0]
        if model not in known:
            raise SettingsError(f"the roster names {name}, which the models file has not: {', '.join(known)}")
        models[model] = known[model].sampled(writing.sampling.get(model))
    if unknown := sorted(writing.sampling.keys() - known.keys()):
        raise SettingsError(f"writing.sampling names {unknown[0]}, which the models file has not")
    return [*models.values()]

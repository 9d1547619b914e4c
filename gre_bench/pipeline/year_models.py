"""Determines the year and the models of a year's board, and checks the models before anything is paid for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from gre_bench.catalogs.models import Model
from gre_bench.catalogs.models import load as load_models
from gre_bench.core.errors import SettingsError
from gre_bench.core.metrics import find_recipe
from gre_bench.core.settings import Settings, parse_settings
from gre_bench.ingest.records.venues import find_newest_year, find_venue_entry
from gre_bench.prompts.conditions import split_condition
from gre_bench.writing.rules.writer import EXTRACTIVE
from gre_bench.writing.writers import is_rule


@dataclass(frozen=True, slots=True)
class NamedLMs:
    """The LMs that the settings name, by role; rules are left out.

    *judge* writes the judgments. *assw* writes the ASSW (author-stated strengths and weaknesses), and *examiner* grades
    reviews; both are None unless a metric needs them. *changers* perturb reviews for a validation.
    """

    reviewers: list[str]
    judge: str | None
    assw: str | None
    changers: list[str]
    examiner: str | None

    @property
    def all(self) -> list[str]:
        """Every LM once: *judge*, *reviewers*, *changers*, *assw* and *examiner*, in this order."""
        named = (self.judge, *self.reviewers, *self.changers, self.assw, self.examiner)
        return list(dict.fromkeys(name for name in named if name))


def list_named_lms(settings: Settings) -> NamedLMs:
    """Returns the LMs that *settings* name for the metrics and for a validation."""
    writing = settings.writing
    recipes = [find_recipe(name) for name in settings.scoring.metrics]
    judge = writing.judgments
    return NamedLMs(
        [name for name in writing.candidates if not is_rule(name)],
        None if judge is None or is_rule(judge) else judge,
        writing.assw if any(recipe.synopsis == "assw" for recipe in recipes) and not is_rule(writing.assw) else None,
        [name for name in settings.validation.makers.values() if not is_rule(name)],
        settings.scoring.examiner if any(recipe.asks == "writer" for recipe in recipes) else None,
    )


def set_board_year(settings: Settings, venue: str, year: int | None, on: date) -> Settings:
    """Returns *settings* with *venue* and *year* set.

    *year*: None means the newest year whose reviews are public on the day *on*. Raises `SettingsError` if the settings
    rank no model, or name a model that is not in the models file.
    """
    chosen = find_newest_year(venue, on) if year is None else year
    find_venue_entry(venue, chosen)
    tree: dict[str, Any] = settings.model_dump(exclude_unset=True)
    tree["edition"] = tree.get("edition", {}) | {"venue": venue, "year": chosen}
    tree["sources"] = {"unverified_venue": "confirm"} | tree.get("sources", {})
    settings_of_year = parse_settings(tree)
    list_needed_models(settings_of_year)
    return settings_of_year


def check_model_keys_and_prices(settings: Settings) -> None:
    """Raises `LMError` if the API key of a model that *settings* use is not set.

    Raises `SettingsError` if the budget limits USD and the model's prices are not known.
    """
    for model in list_needed_models(settings):
        model.read_api_key()
        own = settings.budget.models.get(model.name, settings.budget)
        if (settings.budget.usd or own.usd) is not None and None in (model.price_in, model.price_out):
            raise SettingsError(
                f"the budget limits money (usd), and model {model.name} has no prices: give it price_in and price_out "
                "in the models file, or limit requests or tokens"
            )


def list_needed_models(settings: Settings) -> list[Model]:
    """Returns the models file's entries for the LMs that *settings* use, ranked models first.

    Raises `SettingsError` if the settings rank no model, or name a model that is not in the models file.
    """
    writing = settings.writing
    ranked = [name for name in writing.candidates if name not in EXTRACTIVE]
    if not ranked:
        raise SettingsError(
            "the roster names no model: a year's board ranks language models. Name a roster that has a [[model]] "
            '(roster = "yearly"), or set writing.candidates'
        )
    known, models = load_models(writing.models), dict[str, Model]()
    for name in dict.fromkeys([*ranked, *list_named_lms(settings).all]):
        model = split_condition(name)[0]
        if model not in known:
            raise SettingsError(f"the roster names {name}, which the models file has not: {', '.join(known)}")
        models[model] = known[model].override_sampling(writing.sampling.get(model))
    if unknown := sorted(writing.sampling.keys() - known.keys()):
        raise SettingsError(f"writing.sampling names {unknown[0]}, which the models file has not")
    return [*models.values()]

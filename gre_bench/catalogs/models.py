"""Reads a TOML file of the LMs that can write reviews, judgments and synopses, with endpoint, prices and sampling."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError, ValidationInfo, field_validator, model_validator

from gre_bench.core import strict
from gre_bench.core.errors import LMError, SettingsError
from gre_bench.core.known_names import leaves_parent_folder
from gre_bench.core.records import Sampling
from gre_bench.core.resources import locate_resource
from gre_bench.core.urls import normalise_base_url


class RateLimits(BaseModel, frozen=True, extra="forbid"):
    """The rate limits of one endpoint, shared by all its models. A limit per minute that is None means no limit."""

    concurrency: int | None = Field(default=None, ge=1, le=1024, description="requests in flight at once; default: 8")
    requests_per_minute: float | None = Field(default=None, gt=0, description="requests, evenly spaced")
    tokens_per_minute: float | None = Field(default=None, gt=0, description="tokens read and written")

    def compute_seconds_per_request_and_token(self) -> tuple[float, float]:
        """Returns the shortest average times that the limits allow: (seconds per request, seconds per token).

        0 means no limit.
        """
        requests, tokens = self.requests_per_minute, self.tokens_per_minute
        return 60 / requests if requests else 0.0, 60 / tokens if tokens else 0.0


class Model(BaseModel, frozen=True, extra="forbid"):
    """One LM, at an OpenAI-compatible chat endpoint or a provider of inspect_ai.

    The API key itself is never stored here. *key_env* names the environment variable with the key; None if the LM needs
    no key. For other fields, None means that the value is unknown.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]*$", description="name of the candidate or writer")
    provider: Literal["openai", "inspect"] = Field(
        default="openai", description="openai: an OpenAI-compatible endpoint; inspect: a provider of inspect_ai"
    )
    endpoint: str = Field(
        default="",
        validate_default=True,
        description="base URL, such as http://127.0.0.1:8000/v1; inspect: default: the provider's own",
    )
    model: str = Field(
        min_length=1, description="name of the model at the endpoint; inspect: with its provider, as in anthropic/NAME"
    )
    revision: str | None = Field(
        default=None,
        min_length=1,
        description="version of the model, for signatures; default: its name at the endpoint",
    )
    family: str | None = Field(default=None, description="such as Llama 3.1")
    parameters: float | None = Field(default=None, gt=0, description="billions of parameters, all experts counted")
    knowledge_cutoff: date | None = Field(default=None, description="last possible day of its training texts")
    released: date | None = Field(default=None, description="first day on which anybody could use it")
    price_in: float | None = Field(default=None, ge=0, description="USD per million prompt tokens")
    price_out: float | None = Field(default=None, ge=0, description="USD per million reply tokens, thinking included")
    key_env: str | None = Field(
        default=None, pattern=r"^[A-Z][A-Z0-9_]*$", description="environment variable with the API key"
    )
    sampling: Sampling = Field(default=Sampling(), description='temperature ("none": not sent), max_tokens, top_p')
    limit_as: Literal["max_tokens", "max_completion_tokens"] = Field(
        default="max_tokens", description="name of the reply's token limit in a request"
    )
    context: int | None = Field(default=None, gt=0, description="longest prompt and reply together, in tokens")
    max_output: int | None = Field(default=None, gt=0, description="longest possible reply in tokens")
    tokenizer: str | None = Field(
        default=None, min_length=1, description="folder with its tokenizer.json, or a name from gre-bench models list"
    )
    aliases: tuple[str, ...] = Field(default=(), description="other names of the same model")
    source: str = Field(default="", description="where cutoff, context and limits were read, and when")
    note: str = ""
    limits: RateLimits = Field(
        default=RateLimits(), exclude=True, description="limits of its endpoint, from the entry [[endpoint]]"
    )

    @property
    def identity(self) -> str:
        """The name of the LM in signatures: ``name@revision``. The field `model` replaces an unknown revision."""
        return f"{self.name}@{self.revision or self.model}"

    @property
    def server(self) -> str:
        """What the rate limits apply to: the endpoint's URL, or a provider such as ``inspect/anthropic``."""
        return self.endpoint or f"inspect/{self.model.partition('/')[0]}"

    @field_validator("name")
    @classmethod
    def _check_name_is_no_path(cls, name: str) -> str:
        if leaves_parent_folder(name):
            raise ValueError("a part between slashes is . or ..")
        return name

    @field_validator("endpoint")
    @classmethod
    def _normalise_endpoint(cls, url: str, entry: ValidationInfo) -> str:
        if not url and entry.data.get("provider") == "openai":
            raise ValueError('missing (only provider = "inspect" does without one)')
        return normalise_base_url(url) if url else url

    @field_validator("model")
    @classmethod
    def _check_provider_prefix(cls, model: str, entry: ValidationInfo) -> str:
        if entry.data.get("provider") == "inspect" and not all(model.partition("/")):
            raise ValueError("write it with its provider, as in anthropic/NAME")
        return model

    @field_validator("sampling", mode="before")
    @classmethod
    def _parse_none_values(cls, table: Any) -> Any:
        if not isinstance(table, dict):
            return table
        return {name: None if value == "none" and name != "max_tokens" else value for name, value in table.items()}

    @field_validator("sampling")
    @classmethod
    def _check_sampling(cls, sampling: Sampling) -> Sampling:
        if sampling.temperature is not None and not 0 <= sampling.temperature <= 2:
            raise ValueError("temperature is not between 0 and 2")
        if sampling.top_p is not None and not 0 < sampling.top_p <= 1:
            raise ValueError("top_p is not above 0 and up to 1")
        if sampling.max_tokens < 1:
            raise ValueError("max_tokens is below 1")
        return sampling

    @model_validator(mode="after")
    def _check_cutoff(self) -> Model:
        if self.knowledge_cutoff and self.released and self.released < self.knowledge_cutoff:
            raise ValueError(f"released {self.released}, before its knowledge cutoff {self.knowledge_cutoff}")
        return self

    def override_sampling(self, table: Mapping[str, Any] | None) -> Model:
        """Returns a copy whose sampling settings are those of *table*, a table like ``sampling`` in the models file.

        Settings that *table* lacks get their defaults. If *table* is None or empty, returns the model itself. Raises
        `SettingsError` for an invalid value.
        """
        if not table:
            return self
        try:
            return Model.model_validate(self.model_dump() | {"sampling": dict(table), "limits": self.limits})
        except ValidationError as error:
            raise SettingsError(
                f"writing.sampling of {self.name}: {'; '.join(strict.format_validation_faults(error, 'entry'))}"
            ) from None

    def read_api_key(self) -> str | None:
        """Returns the API key from the variable `key_env`, or None if the model needs no key.

        Raises `LMError` if the variable is not set, or its value cannot be a key.
        """
        if self.key_env is None:
            return None
        key = os.environ.get(self.key_env, "").strip()
        if not key:
            raise LMError(f"model {self.name} needs an API key: set the environment variable {self.key_env}")
        if not key.isascii() or not key.isprintable() or " " in key:
            raise LMError(
                f"model {self.name}: the value of {self.key_env} is not an API key (blanks or odd characters)"
            )
        return key


def load(path: Path | None = None) -> dict[str, Model]:
    """Returns model name → model, for all models of the file *path* (None: ``data/models.toml``), in file order.

    Each model has the limits of its endpoint. Raises `SettingsError` for an invalid entry. The message names the entry
    but shows none of its values, because somebody may have pasted an API key there.
    """
    path = path or locate_resource("data", "models.toml")
    try:
        tree = strict.read_toml_with_title(path, "models file")
    except FileNotFoundError:
        raise SettingsError(f"no models file {path}") from None
    entries, endpoints = tree.pop("model", []), tree.pop("endpoint", [])
    if tree or not isinstance(entries, list) or not isinstance(endpoints, list):
        names = ", ".join(sorted(tree)) or "[model]"
        raise SettingsError(
            f"models file {path}: write every entry as [[model]] or [[endpoint]], nothing else; found {names}"
        )
    models: dict[str, Model] = {}
    for number, entry in enumerate(entries, 1):
        name = entry.get("name") if isinstance(entry, dict) else None
        where = f"models file {path}, model {name!r} (entry {number})"
        if isinstance(entry, dict) and "limits" in entry:
            raise SettingsError(f"{where}: limits: they are the endpoint's, write them under [[endpoint]]")
        try:
            model = Model.model_validate(entry)
        except ValidationError as error:
            raise SettingsError(f"{where}: {'; '.join(strict.format_validation_faults(error, 'entry'))}") from None
        if model.name in models:
            raise SettingsError(f"models file {path}: two entries are named {model.name!r}")
        models[model.name] = model
    owners = {name.lower(): name for name in models}
    for model in models.values():
        for alias in model.aliases:
            owner = owners.setdefault(alias.lower(), model.name)
            if owner != model.name:
                raise SettingsError(f"models file {path}: {alias!r} names both {owner} and {model.name}")
    limits = parse_endpoint_limits(path, endpoints, {model.server for model in models.values()})
    return {name: model.model_copy(update={"limits": limits.get(model.server, RateLimits())})
            for name, model in models.items()}  # fmt: skip


def map_aliases_to_names(models: Mapping[str, Model] | None = None) -> dict[str, str]:
    """Returns each name and alias in lower case → the model's *name*. *models*: None means ``data/models.toml``."""
    models = load() if models is None else models
    return {alias.lower(): model.name for model in models.values() for alias in (*model.aliases, model.name)}


def parse_endpoint_limits(path: Path, endpoints: list[Any], known: set[str]) -> dict[str, RateLimits]:
    """Returns base URL → rate limits. *endpoints*: the entries ``[[endpoint]]`` in the models file *path*.

    *known*: the URLs of the models. Raises `SettingsError` for an invalid entry, or for a URL that no model has.
    """
    results: dict[str, RateLimits] = {}
    for index, entry in enumerate(endpoints, 1):
        where = f"models file {path}, endpoint (entry {index})"
        entry = dict(entry) if isinstance(entry, dict) else {}
        try:
            url = str(entry.pop("url", ""))
            url = url if url in known else normalise_base_url(url)
            limits = RateLimits.model_validate(entry)
        except ValidationError as error:
            raise SettingsError(f"{where}: {'; '.join(strict.format_validation_faults(error, 'entry'))}") from None
        except ValueError as error:
            raise SettingsError(f"{where}: url: {error}") from None
        if url in results:
            raise SettingsError(f"{where}: {url} stands there twice")
        if url not in known:
            unknown = "is the endpoint of no model there: write the URL as the model's entry does"
            raise SettingsError(f"{where}: {url} {unknown}")
        results[url] = limits
    return results

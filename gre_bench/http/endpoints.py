"""The limits of LM endpoints, which all models behind an endpoint share, as the models file states them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gre_bench.core import strict
from gre_bench.core.errors import SettingsError
from gre_bench.core.urls import base_url


class Limits(BaseModel):
    """The limits of one endpoint, shared by all models behind it. A limit per minute of None means no limit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    concurrency: int | None = Field(default=None, ge=1, le=1024, description="requests in flight at once; default: 8")
    requests_per_minute: float | None = Field(default=None, gt=0, description="requests, evenly spaced")
    tokens_per_minute: float | None = Field(default=None, gt=0, description="tokens read and written")

    @property
    def seconds(self) -> tuple[float, float]:
        """(seconds per request, seconds per token): the shortest average intervals that the limits allow.

        An interval is 0 if the limit per minute is not set.
        """
        requests, tokens = self.requests_per_minute, self.tokens_per_minute
        return 60 / requests if requests else 0.0, 60 / tokens if tokens else 0.0


def limits_of(path: Path, endpoints: list[Any], known: set[str]) -> dict[str, Limits]:
    """Returns base URL → limits, from the entries *endpoints* of the models file *path*.

    *known*: the base URLs of all models in the file.
    Raises `SettingsError` for a wrong entry, such as one whose URL no model uses.
    """
    results: dict[str, Limits] = {}
    for index, entry in enumerate(endpoints, 1):
        where = f"models file {path}, endpoint (entry {index})"
        entry = dict(entry) if isinstance(entry, dict) else {}
        try:
            url = base_url(str(entry.pop("url", "")))
            limits = Limits.model_validate(entry)
        except ValidationError as error:
            raise SettingsError(f"{where}: {'; '.join(strict.faults(error, 'entry'))}") from None
        except ValueError as error:
            raise SettingsError(f"{where}: url: {error}") from None
        if url in results:
            raise SettingsError(f"{where}: {url} stands there twice")
        if url not in known:
            unknown = "is the endpoint of no model there: write the URL as the model's entry does"
            raise SettingsError(f"{where}: {url} {unknown}")
        results[url] = limits
    return results

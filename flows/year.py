"""The board of a year, from OpenReview to a release, as a Prefect flow whose stages are subflows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Annotated

from prefect import flow
from pydantic import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from gre_bench.core.settings import Settings
from gre_bench.pipeline.runs.prefect_engine import run_and_return_prefect_state, unwrap_flow_summary
from gre_bench.reports.yearly import Summary, make_yearly_board, year_job


class VenueHiddenInSettings:
    """Removes venue and year from the settings in Prefect's form for `year`, because the form has fields for both."""

    @staticmethod
    def __get_pydantic_json_schema__(core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler(core_schema)
        edition = handler.resolve_ref_schema(handler.resolve_ref_schema(schema)["properties"]["edition"])
        for name in ("venue", "year"):
            edition["properties"].pop(name, None)
        return schema


@flow(name="year", flow_run_name="{venue}", persist_result=False)
def year(
    venue: str,
    roster: str | None = None,
    year: int | None = None,
    settings: Annotated[Settings, VenueHiddenInSettings] | None = None,
    state: Path = Path("state"),
    gpu: bool = False,
    retry_failed: bool = False,
    on: date | None = None,
    strict: bool = False,
) -> Summary:
    """Makes and publishes the board of one year of a venue; the summary has the summaries of all stages.

    Args:
        venue: The venue's key in data/venues.toml, such as ICLR.
        roster: The models to rank: a file, or a name in data/rosters. Default: those that the settings name, or yearly.
        year: Default: the newest year whose reviews are public on the day *on*.
        settings: Settings that replace those of the roster.
        state: Folder that keeps everything a run makes.
        gpu: Whether scoring and validation run in the work pool for GPUs.
        retry_failed: Whether to retry the texts and scores that failed for good in earlier runs.
        on: The day that is used to find the newest year. Default: today.
        strict: Whether an outcome that needs attention fails the flow run. A pause or a wait never does.
    """

    def run_year_job() -> Summary:
        job = year_job(venue, roster, year, settings or Settings(), state, gpu, retry_failed, on)
        return make_yearly_board(job, run_as_flow)

    return run_and_return_prefect_state(run_year_job, strict=strict)


def run_as_flow(name: str, stage: Callable[[], Summary]) -> Summary:
    """Runs *stage* as a Prefect subflow of the year's flow run; its final state is named after the outcome."""

    @flow(name=name, flow_run_name=name, persist_result=False)
    def run_stage() -> Summary:
        return run_and_return_prefect_state(stage)

    return unwrap_flow_summary(run_stage())

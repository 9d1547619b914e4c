"""What a domain sets for a run, and what its settings may set otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from gre_bench.core.settings import load
from gre_bench.pipeline.intake import in_domain
from gre_bench.pipeline.runs.job import Job


@pytest.mark.parametrize(
    ("asked", "prompt", "parts"),
    [
        ((), "predict_judgments", ("abstract",)),
        (("edition.domain=yelp",), "predict_judgments_yelp", ("categories",)),
        (('scoring.synopsis_of=["title"]',), "predict_judgments", ("title",)),
        (("scoring.prompt=predict_judgments", "edition.domain=yelp"), "predict_judgments", ("categories",)),
    ],
)
def test_prompt_and_synopsis_are_those_of_the_domain_unless_they_are_named(asked, prompt, parts, tmp_path: Path):
    job = in_domain(Job(load(None, ("edition.year=2026", *asked)), tmp_path))
    assert job.settings.scoring.synopsis_of == parts
    assert job.settings.scoring.prompt == prompt
    assert in_domain(job).settings == job.settings

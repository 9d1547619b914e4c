"""Makes certificates: harms human reviews in several degrees, and finds which degrees a metric detects.

The steps are those of a validation; each harm in each degree is one more candidate. As in a validation, an interrupted
run can be continued, and further editions can be included.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from gre_bench.core.errors import SettingsError
from gre_bench.core.metrics import find_recipe
from gre_bench.core.records import HUMAN
from gre_bench.core.settings import ValidationSettings
from gre_bench.core.whole_files import write_file
from gre_bench.perturbations.harms import HARMS
from gre_bench.pipeline.certificates import Certificate, write_certificate
from gre_bench.pipeline.pair_scoring import end_run
from gre_bench.pipeline.perturbed_reviews import list_harm_degrees
from gre_bench.pipeline.refreshing import check_scoring_job
from gre_bench.pipeline.runs.job import Job
from gre_bench.pipeline.validating import (
    join_edition_names,
    load_metric_scores,
    merge_edition_scores,
    score_additional_edition,
    score_all_pairs,
)
from gre_bench.plots.drawing import Curve, draw_curve_panels
from gre_bench.reports.publish_editions import open_release_store
from gre_bench.stats.degrees import compute_degree_curve
from gre_bench.stats.samples import Array
from gre_bench.store import Row

Rows = Mapping[str, Sequence[Row]]
"""Candidate → one row for each planned pair of a paper and a reference."""


def certify_metrics(job: Job) -> dict[str, Any]:
    """Scores each harm in the degrees of the settings; returns the run's summary, with each metric's certificate.

    Only metrics of pointwise mutual information are certified. Certificates are stored only if the run covers all
    sampled papers and no score is missing. Raises `SettingsError` if the settings have no metric to certify. Also
    raises it if an edition has a release, because its next release would contain the harmed reviews of all degrees.
    """
    for key in (job.store.key, *job.settings.validation.together_with):
        if newest := open_release_store(job.state, key).find_latest_entry():
            raise SettingsError(
                f"edition {key} has the release {newest['release']}, and the next one would hold every degree of the "
                "certificate; certify on another edition: --set edition.sample=certificate makes one of the same papers"
            )
    job = check_scoring_job(job)
    metrics = tuple(name for name in job.settings.scoring.metrics if find_recipe(name).formula == "pmi")
    if not metrics:
        raise SettingsError("scoring.metrics: a certificate is of GEM, GEM-S or GEM-raw; name one of them")
    changes, left_out = list_harm_degrees(job.settings)
    settings = job.settings.model_copy(update={
        "scoring": job.settings.scoring.model_copy(update={"metrics": metrics}),
        "validation": job.settings.validation.model_copy(update={"level": "judgments"}),
    })  # fmt: skip
    job = replace(job, settings=settings, perturbations=changes)
    beside = [score_additional_edition(job, key) for key in settings.validation.together_with]
    with score_all_pairs(job) as (store, work, progress):
        progress.stage("certifying")
        trained_on = work.trained_on.union_with(other.trained_on for other in beside)
        certificates = {}
        for metric, signature in work.signatures.items():
            rows = merge_edition_scores(
                [load_metric_scores(store, job, work, metric), *(other.scores[metric] for other in beside)]
            ).rows
            curves, untried = compute_harm_curves(rows, job.perturbations, settings.validation)
            certificates[metric] = Certificate(
                signature.signature_id, join_edition_names(store, beside), asdict(signature), settings.validation.seed,
                curves, left_out | untried, trained_on.registers, len(trained_on.papers),
                [degree // 10 for degree in settings.validation.degrees],
            )  # fmt: skip
        summary = end_run(store, work, progress, certificates=[
            asdict(item) | {"metric": metric, "line": item.sentence}
            for metric, item in certificates.items()
        ])  # fmt: skip
        if summary["outcome"] == "done" and work.papers == work.sampled:
            for item in certificates.values():
                write_certificate(job.state, item)
        return summary | {"edition": join_edition_names(store, beside)}


def compute_harm_curves(
    rows: Rows, changes: Mapping[str, str], settings: ValidationSettings
) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:  # fmt: skip
    """Returns harm → its curve (`DegreeCurve` as JSON), and harm → why it has no curve, for the harms in *changes*.

    A harm's curve gives the mean change of scores by the harm's degree. *changes*: harm and degree, such as ``HARM-50``
    → its candidate in *rows*.
    """
    curves, untried = dict[str, dict[str, Any]](), dict[str, str]()
    degrees = [degree // 10 for degree in settings.degrees]
    for name in HARMS:
        if f"{name}-{settings.degrees[0]}" not in changes:
            continue
        differences = compute_differences_from_baseline(
            rows, [changes[f"{name}-{degree}"] for degree in settings.degrees]
        )
        if len(differences) < 2:
            untried[name] = "fewer than two papers have scores of all degrees"
        else:
            curve = asdict(compute_degree_curve(differences, degrees, settings.seed))
            curves[name] = {key: list(value) if isinstance(value, tuple) else value for key, value in curve.items()}
    return curves, untried


def compute_differences_from_baseline(rows: Rows, candidates: Sequence[str]) -> Array:
    """Returns each candidate's mean difference from the human baseline on each paper, in nats.

    The shape is (papers, candidates). The mean is over the references on which the baseline and all *candidates* have a
    score. Papers without such a reference are left out; the others are in the order of their ids.
    """
    values = [
        {(row["paper_id"], row["reference_id"]): row["value"] for row in rows[name] if row["state"] == "scored"}
        for name in (HUMAN, *candidates)
    ]
    by_paper: dict[str, list[list[float]]] = defaultdict(list)
    for key in sorted(set.intersection(*(set(some) for some in values))):
        by_paper[key[0]].append([some[key] - values[0][key] for some in values[1:]])
    return np.array([[fmean(column) for column in zip(*pairs, strict=True)] for pairs in by_paper.values()])


def draw_certificates(certificates: Sequence[Mapping[str, Any]], path: Path, title: str) -> Path:
    """Plots *certificates* (each a `Certificate` as JSON) into the SVG *path*: a panel per harm, a curve per metric."""
    panels = {
        HARMS[name].said: [
            Curve(
                find_recipe(item["signature"]["metric"]).title,
                [(0.0, 0.0), *_yield_curve_points(item["degrees"], item["harms"][name])],
                look,
            )
            for item, look in zip(certificates, ("main", "second", "pale", "level"), strict=False)
            if name in item["harms"]
        ]
        for name in HARMS
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(
        path,
        draw_curve_panels(
            panels, "degree of the harm, %", "change of the score, in its sd over papers", title=title
        ).encode(),
    )
    return path


def _yield_curve_points(degrees: Sequence[int], curve: Mapping[str, Any]) -> Iterator[tuple[float, float]]:
    for degree, mean, sd in zip(degrees, curve["means"], curve["sds"], strict=True):
        yield 10.0 * degree, mean / sd if sd else math.nan
